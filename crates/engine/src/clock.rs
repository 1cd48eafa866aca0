//! The only source of time. Nanoseconds since the start of the run.
//!
//! [`best`] gives the calibrated time stamp counter where it is trustworthy and a
//! clock of the kernel otherwise; [`Virtual`] is for tests and simulation. A
//! clock is made (and restarted) by the supervisor before it forks, so that all
//! ranks of a machine share origin and calibration and need no alignment. Clocks of
//! different machines are brought on one time line afterwards: rank 0's.
//!
//! The time stamp counter of x86 is trustworthy where it is invariant and the kernel trusts it.
//! Readings of the counter are not fenced: a system call lies between the two that matter, and a fence would
//! cost as much as the reading. Its frequency is measured against `CLOCK_MONOTONIC_RAW`, good to a few parts
//! per million.
//!
//! `CLOCK_MONOTONIC_RAW` is not slewed by NTP, but a real system call on kernels whose vDSO lacks it; there
//! `CLOCK_MONOTONIC` is taken, which NTP makes run faster or slower by up to 500 ppm.
//!
//! Whether the clock of a run was right is checked by comparing it with the kernel's raw clock at both ends of the
//! run ([`Check`]).
//!
//! ```text
//! own clock   ├──────────────── run ────────────────┤
//! raw clock   ├──────────────── run ────────────────┤   the difference, divided by the raw time: drift
//! ```
//!
//! A calibration that was disturbed, a guest that moved to another machine and a clock that NTP slews
//! show as drift; a machine that slept shows in `CLOCK_BOOTTIME`, which goes on meanwhile.
//!
//! ```text
//! rank r     sent ──────────────▶ received      its own clock
//! rank 0            reads its clock             the reference
//! ```
//!
//! The reference was read somewhere between `sent` and `received`; their middle is off by
//! at most half the round trip, so the shortest of several round trips tells most
//! (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). Two
//! such comparisons, before and after the program, give offset and drift; between them
//! the offset is taken as linear in time.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// The clock of a rank. [`Clock::now`] is what brackets every back-end call: one branch, which
/// always goes the same way.
#[derive(Clone, Debug)]
pub enum Clock {
    /// A clock of this machine.
    Real(Real),
    /// Stands still until somebody moves it.
    Virtual(Virtual),
}

impl From<Real> for Clock {
    fn from(clock: Real) -> Clock {
        Clock::Real(clock)
    }
}

impl From<Virtual> for Clock {
    fn from(clock: Virtual) -> Clock {
        Clock::Virtual(clock)
    }
}

impl Clock {
    /// Nanoseconds since the start of the run.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self {
            Clock::Real(clock) => clock.now(),
            Clock::Virtual(clock) => clock.now(),
        }
    }

    /// Time passes while the program works; otherwise only calls and sleeps let it pass.
    pub fn passes_by_itself(&self) -> bool {
        matches!(self, Clock::Real(_))
    }

    /// Lets time pass without using the CPU until 20 us before its end; returns early when a signal
    /// arrives.
    pub fn sleep(&self, ns: u64) {
        match self {
            Clock::Real(clock) => doze(clock, ns),
            Clock::Virtual(clock) => clock.advance(ns),
        }
    }

    /// Lets time pass while using the CPU.
    pub fn spin(&self, ns: u64) {
        match self {
            Clock::Real(clock) => burn(clock, ns),
            Clock::Virtual(clock) => clock.advance(ns),
        }
    }
}

/// Is called after a reading.
type Read = Rc<dyn Fn(&Virtual)>;

/// Virtual time. Clones share it: the mem back-end advances what the machine reads.
#[derive(Clone, Default)]
pub struct Virtual {
    now_ns: Rc<Cell<u64>>,
    read: Option<Read>,
}

impl fmt::Debug for Virtual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Virtual({} ns)", self.now_ns.get())
    }
}

impl Virtual {
    /// A clock that shows 0 until it is moved.
    pub fn start() -> Virtual {
        Virtual::default()
    }

    /// The same time; `read` is called after each reading of this clone, and may move it on.
    pub fn watched(self, read: impl Fn(&Virtual) + 'static) -> Virtual {
        Virtual { read: Some(Rc::new(read)), ..self }
    }

    /// "virtual"
    pub fn name(&self) -> &'static str {
        "virtual"
    }

    /// Nanoseconds since the start of the run.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        let now_ns = self.now_ns.get();
        if let Some(read) = &self.read {
            read(self);
        }
        now_ns
    }

    /// Lets time pass; it stops at the end of time.
    #[inline(always)]
    pub fn advance(&self, ns: u64) {
        self.now_ns.set(self.now_ns.get().saturating_add(ns));
    }

    /// Sets the time, as when another simulated rank gets its turn.
    #[inline(always)]
    pub fn set(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
    }
}

/// A sleep of the kernel usually ends so much later than asked for: the CPU must wake up. Pauses of
/// 50 us, of which a program may make thousands, would be half as long again.
const LATE_NS: u64 = 20_000;

/// Sleeps, and spins at the end; returns early when a signal handler has run.
fn doze(clock: &Real, ns: u64) {
    let end_ns = clock.now().saturating_add(ns);
    if ns <= LATE_NS || nanosleep(ns - LATE_NS) {
        burn(clock, end_ns.saturating_sub(clock.now()));
    }
}

/// Sleeps by the kernel; false when a signal handler has run, after which it returns early.
fn nanosleep(ns: u64) -> bool {
    // The slack by which the kernel may put timers together is 50 us by default.
    // SAFETY: this option takes a number and touches the calling thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
    let request = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    let remaining = std::ptr::null_mut();
    // SAFETY: `request` lives across the call; the remainder is not asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &request, remaining) == 0 }
}

/// Burns time until `ns` have passed on `clock`.
fn burn(clock: &Real, ns: u64) {
    let end_ns = clock.now().saturating_add(ns);
    while clock.now() < end_ns {
        std::hint::spin_loop();
    }
}

const CALIBRATION_NS: u64 = 5_000_000;
const SHIFT: u32 = 32;
/// The slewed clock of the kernel is preferred if the raw one costs more than this multiple of it.
const DEARER: f64 = 3.0;

/// A clock of this machine, counted from an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Real {
    /// Nanoseconds per tick of the time stamp counter times 2^[`SHIFT`]; 0: it is a clock of the kernel.
    mult: u64,
    /// Number of the kernel's clock.
    id: i64,
    /// Ticks or nanoseconds.
    origin: u64,
}

/// Numbers that make the same clock in another process of the same machine.
pub type Words = [u64; 3];

/// The cheapest trustworthy clock of this machine; it starts at 0 now. Takes some milliseconds where it
/// calibrates.
pub fn best() -> Real {
    if let Some(mult) = calibrate() {
        return Real { mult, id: 0, origin: 0 }.restarted();
    }
    let costs = [Real::raw(), Real::slewed()].map(|clock| clock.reading_cost_ns());
    cheaper(costs)
}

/// The better clock of the kernel for the costs of a reading of the raw and of the slewed one, nanoseconds.
fn cheaper([raw_ns, slewed_ns]: [f64; 2]) -> Real {
    if raw_ns > DEARER * slewed_ns { Real::slewed() } else { Real::raw() }
}

impl Real {
    /// `CLOCK_MONOTONIC_RAW`, from now.
    pub fn raw() -> Real {
        Real { mult: 0, id: libc::CLOCK_MONOTONIC_RAW.into(), origin: 0 }.restarted()
    }

    /// `CLOCK_MONOTONIC`, from now.
    fn slewed() -> Real {
        Real { mult: 0, id: libc::CLOCK_MONOTONIC.into(), origin: 0 }.restarted()
    }

    fn is_raw(&self) -> bool {
        self.mult == 0 && self.id == i64::from(libc::CLOCK_MONOTONIC_RAW)
    }

    /// The same clock with its origin moved to now.
    pub fn restarted(self) -> Real {
        Real { origin: if self.mult > 0 { ticks() } else { read_ns(self.id as i32) }, ..self }
    }

    /// The clock as numbers.
    pub fn to_words(self) -> Words {
        bytemuck::cast(self)
    }

    /// The clock that another process of this machine has made numbers of.
    pub fn from_words(words: Words) -> Real {
        bytemuck::cast(words)
    }

    /// The same clock showing `ns` less.
    pub fn set_back(self, ns: i64) -> Real {
        let counts = match self.mult {
            0 => i128::from(ns),
            mult => (i128::from(ns) << SHIFT) / i128::from(mult),
        };
        let origin = (i128::from(self.origin) + counts).clamp(0, i128::from(u64::MAX));
        Real { origin: origin as u64, ..self }
    }

    /// Its name in the run.
    pub fn name(&self) -> &'static str {
        match self {
            Real { mult: 1.., .. } => "tsc",
            _ if self.is_raw() => "monotonic_raw",
            _ => "monotonic",
        }
    }

    /// Nanoseconds since its origin.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        if self.mult > 0 {
            return scale(ticks().saturating_sub(self.origin), self.mult);
        }
        read_ns(self.id as i32).saturating_sub(self.origin)
    }

    /// Median cost of one reading in nanoseconds, as two readings around nothing show it; stored in the run,
    /// never subtracted from a time.
    pub fn reading_cost_ns(&self) -> f64 {
        const BATCHES: usize = 101;
        const READINGS: u32 = 100;
        let batch = |_| {
            let start_ns = self.now();
            for _ in 1..READINGS {
                std::hint::black_box(self.now());
            }
            (self.now() - start_ns) as f64 / f64::from(READINGS)
        };
        let mut costs_ns: Vec<f64> = (0..BATCHES).map(batch).collect();
        costs_ns.sort_unstable_by(f64::total_cmp);
        costs_ns[BATCHES / 2]
    }
}

/// The kernel's raw clock, nanoseconds.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// The kernel's clock at its last tick (1 to 10 ms ago), nanoseconds. It costs a fifth of the others: it is for what
/// is asked between all statements.
#[inline(always)]
pub fn coarse_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_COARSE)
}

/// CPU time that this thread has used, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A clock of the kernel, nanoseconds; 0 where the kernel lacks it.
#[inline(always)]
fn read_ns(id: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives across the call.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Ticks to nanoseconds: one 64 x 64 bit multiplication, no overflow below 584 years.
#[inline(always)]
fn scale(ticks: u64, mult: u64) -> u64 {
    ((u128::from(ticks) * u128::from(mult)) >> SHIFT) as u64
}

/// Measures the frequency of the time stamp counter. `None` where it is not invariant, the kernel has dropped
/// it, or the frequency is absurd.
fn calibrate() -> Option<u64> {
    if !is_invariant() || !is_trusted_by_kernel() {
        return None;
    }
    let (first_ticks, first_ns) = ticks_and_ns();
    nanosleep(CALIBRATION_NS);
    let (last_ticks, last_ns) = ticks_and_ns();
    multiplier(last_ticks.checked_sub(first_ticks)?, last_ns - first_ns)
}

/// `None` unless the counter runs between 50 MHz and 20 GHz.
fn multiplier(ticks: u64, ns: u64) -> Option<u64> {
    let mult = ((u128::from(ns) << SHIFT) / u128::from(ticks.max(1))) as u64;
    ((1u64 << SHIFT) / 20..=(1u64 << SHIFT) * 20).contains(&mult).then_some(mult)
}

/// Ticks and nanoseconds of one moment; of several tries the one that took the fewest ticks.
fn ticks_and_ns() -> (u64, u64) {
    let tries = (0..32).map(|_| {
        let before = ticks();
        let raw_ns = monotonic_raw_ns();
        let took = ticks().wrapping_sub(before);
        (took, (before.wrapping_add(took / 2), raw_ns))
    });
    tries.min_by_key(|found| found.0).map_or((0, 0), |found| found.1)
}

/// Intel SDM volume 3, section 18.17.1: CPUID 0x80000007, EDX bit 8.
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    const LEAF: u32 = 0x8000_0007;
    let (highest, power) = (__cpuid(0x8000_0000), __cpuid(LEAF));
    highest.eax >= LEAF && power.edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_invariant() -> bool {
    false
}

/// The kernel drops "tsc" from its list when its watchdog finds it unstable. A missing list (a container
/// without /sys) leaves the word of the CPU.
fn is_trusted_by_kernel() -> bool {
    let list = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    std::fs::read_to_string(list)
        .map_or(true, |names| names.split_whitespace().any(|name| name == "tsc"))
}

/// Readings for one moment, of which the best counts.
const TRIES: usize = 32;
/// A drift is reported if it is known to this accuracy (parts per billion): after 10 ms where the readings at
/// both ends are exact to 100 ns in sum.
const EXACT_PPB: i128 = 10_000;
/// Shorter sleeps are the noise of reading two clocks one after the other.
const SHORTEST_SLEEP_NS: u64 = 1_000_000;

/// Both clocks at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moment {
    own_ns: u64,
    raw_ns: u64,
    /// Largest distance between the readings `own_ns` and `raw_ns`.
    width_ns: u64,
    /// Time that the machine has slept since it was started.
    slept_ns: u64,
}

/// A clock under observation.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    clock: Real,
    start: Moment,
}

/// Drift and sleep of the observed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How much faster the clock ran than the kernel's raw clock, parts per billion; `None` where it
    /// is the raw clock, or the run too short to tell.
    pub drift_ppb: Option<i64>,
    /// Time that the machine slept meanwhile.
    pub suspended_ns: u64,
}

impl Check {
    /// Observes a clock from now on.
    pub fn start(clock: Real) -> Check {
        Check { clock, start: moment(&clock) }
    }

    /// Drift and sleep until now.
    pub fn compare(&self) -> Checked {
        let seen = between(&self.start, &moment(&self.clock));
        Checked { drift_ppb: seen.drift_ppb.filter(|_| !self.clock.is_raw()), ..seen }
    }
}

impl Checked {
    /// As numbers to find the largest of.
    pub fn to_words(self) -> [i64; 3] {
        let drift = |sign: i64| self.drift_ppb.map_or(i64::MIN, |ppb| ppb.saturating_mul(sign));
        [drift(1), drift(-1), self.suspended_ns.min(i64::MAX as u64) as i64]
    }

    /// The worst of all machines, from the largest of their numbers.
    pub fn from_largest([fast, slow, suspended]: [i64; 3]) -> Checked {
        let drift = if fast >= slow { fast } else { slow.saturating_neg() };
        Checked {
            drift_ppb: (fast.max(slow) != i64::MIN).then_some(drift),
            suspended_ns: suspended.max(0) as u64,
        }
    }
}

fn moment(clock: &Real) -> Moment {
    let tries = (0..TRIES).map(|_| {
        let before_ns = clock.now();
        let raw_ns = monotonic_raw_ns();
        let after_ns = clock.now();
        let width_ns = after_ns.abs_diff(before_ns);
        Moment { own_ns: before_ns.midpoint(after_ns), raw_ns, width_ns, slept_ns: 0 }
    });
    let best = tries.min_by_key(|moment| moment.width_ns).unwrap_or_default();
    Moment { slept_ns: slept_ns(), ..best }
}

/// `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`.
fn slept_ns() -> u64 {
    let difference = |_| {
        let awake_ns = read_ns(libc::CLOCK_MONOTONIC);
        read_ns(libc::CLOCK_BOOTTIME).saturating_sub(awake_ns)
    };
    (0..TRIES).map(difference).min().unwrap_or(0)
}

fn between(start: &Moment, end: &Moment) -> Checked {
    let passed = |from: u64, to: u64| i128::from(to) - i128::from(from);
    let (own, raw) = (passed(start.own_ns, end.own_ns), passed(start.raw_ns, end.raw_ns));
    let width = i128::from(start.width_ns) + i128::from(end.width_ns);
    let ppb = |ns: i128| ns * 1_000_000_000 / raw.max(1);
    let is_known = raw > 0 && ppb(width) <= EXACT_PPB;
    let slept_ns = end.slept_ns.saturating_sub(start.slept_ns);
    Checked {
        drift_ppb: is_known.then(|| ppb(own - raw).clamp(i64::MIN.into(), i64::MAX.into()) as i64),
        suspended_ns: if slept_ns < SHORTEST_SLEEP_NS { 0 } else { slept_ns },
    }
}

/// One exchange with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Own clock when the question left.
    pub sent_ns: u64,
    /// The reference clock in between.
    pub reference_ns: u64,
    /// Own clock when the answer was there.
    pub received_ns: u64,
}

/// How far a clock is ahead of the reference at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Own clock at that time.
    pub at_ns: u64,
    /// Own clock minus reference clock.
    pub ahead_ns: i64,
    /// The offset is right to half of this.
    pub round_trip_ns: u64,
}

/// The offset that the exchange with the shortest round trip tells; `None` without any.
pub fn offset(exchanges: &[Exchange]) -> Option<Offset> {
    let round_trip_ns = |exchange: &&Exchange| exchange.received_ns.abs_diff(exchange.sent_ns);
    let best = exchanges.iter().min_by_key(round_trip_ns)?;
    let at_ns = best.sent_ns.midpoint(best.received_ns);
    Some(Offset {
        at_ns,
        ahead_ns: at_ns.wrapping_sub(best.reference_ns) as i64,
        round_trip_ns: round_trip_ns(&best),
    })
}

/// How the clock of one rank relates to rank 0's during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// Before the program.
    pub start: Offset,
    /// After it; `None` for a rank that was cut off.
    pub end: Option<Offset>,
}

impl Alignment {
    /// A time of this rank's clock on rank 0's clock; never below 0.
    pub fn aligned(&self, own_ns: u64) -> u64 {
        (i128::from(own_ns) - self.ahead_at(own_ns)).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// The offset at a time of this clock, linear through both comparisons.
    fn ahead_at(&self, own_ns: u64) -> i128 {
        let start = i128::from(self.start.ahead_ns);
        let Some(end) = self.end else { return start };
        let between = i128::from(end.at_ns) - i128::from(self.start.at_ns);
        if between <= 0 {
            return start;
        }
        let passed = i128::from(own_ns) - i128::from(self.start.at_ns);
        start + (i128::from(end.ahead_ns) - start) * passed / between
    }
}

#[cfg(test)]
mod align_tests {
    use super::*;
    use proptest::prelude::*;

    /// A clock that was `ahead_ns` ahead at reference time 0 and runs `ppm` too fast.
    fn read(reference_ns: u64, ahead_ns: i64, ppm: f64) -> u64 {
        (reference_ns as f64 * (1.0 + ppm * 1e-6)) as u64 + ahead_ns as u64
    }

    fn compare(at_ns: u64, delays_ns: &[(u64, u64)], ahead_ns: i64, ppm: f64) -> Offset {
        let exchanges: Vec<Exchange> = delays_ns
            .iter()
            .map(|(there, back)| Exchange {
                sent_ns: read(at_ns - there, ahead_ns, ppm),
                reference_ns: at_ns,
                received_ns: read(at_ns + back, ahead_ns, ppm),
            })
            .collect();
        offset(&exchanges).expect("there are some")
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        assert_eq!(offset(&[]), None);
        let delays = [(9_000, 1_000), (700, 700), (100_000, 2_000)];
        let found = compare(1_000_000, &delays, 5_000_000, 0.0);
        assert_eq!(found, Offset { at_ns: 6_000_000, ahead_ns: 5_000_000, round_trip_ns: 1_400 });
    }

    #[test]
    fn without_a_second_comparison_the_first_one_holds() {
        let start = Offset { at_ns: 10, ahead_ns: -500, round_trip_ns: 0 };
        let cut_off = Alignment { start, end: None };
        assert_eq!((cut_off.aligned(0), cut_off.aligned(1_000)), (500, 1_500));
        let same_time = Alignment { start, end: Some(Offset { ahead_ns: 7, ..start }) };
        assert_eq!(same_time.aligned(0), 500);
        let late = Offset { at_ns: 10, ahead_ns: 500, round_trip_ns: 0 };
        assert_eq!(Alignment { start: late, end: None }.aligned(100), 0, "never before the start");
    }

    proptest! {
        /// Offset and drift are taken out, up to half a round trip.
        #[test]
        fn artificial_offset_and_drift_are_found(
            ahead_ns in 0i64..2_000_000_000,
            ppm in -200.0..200.0f64,
            run_ns in 1_000_000_000u64..3_600_000_000_000,
            there in 500u64..5_000,
            back in 500u64..5_000,
            part in 0.0..1.0f64,
        ) {
            let (first, last) = (1_000_000, 1_000_000 + run_ns);
            let delays = [(there + 9_000, back), (there, back)];
            let alignment = Alignment {
                start: compare(first, &delays, ahead_ns, ppm),
                end: Some(compare(last, &delays, ahead_ns, ppm)),
            };
            let time_ns = first + (run_ns as f64 * part) as u64;
            let found_ns = alignment.aligned(read(time_ns, ahead_ns, ppm));
            let error_ns = found_ns.abs_diff(time_ns);
            prop_assert!(error_ns <= (there + back) / 2 + 3, "{error_ns} ns");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_clocks_never_go_back() {
        for clock in [Real::raw(), best()].map(Clock::from) {
            let mut last_ns = clock.now();
            for _ in 0..10_000 {
                let now_ns = clock.now();
                assert!(now_ns >= last_ns);
                last_ns = now_ns;
            }
            clock.spin(1_000_000);
            assert!(clock.now() >= last_ns + 1_000_000);
            let before_ns = clock.now();
            clock.sleep(1_000_000);
            assert!(clock.now() > before_ns);
        }
    }

    #[test]
    fn clones_share_the_time() {
        let clock = Virtual::start();
        let other = clock.clone();
        other.advance(5);
        Clock::from(clock.clone()).sleep(7);
        Clock::from(clock.clone()).spin(1);
        assert_eq!((clock.now(), other.now()), (13, 13));
        other.set(3);
        assert_eq!(clock.now(), 3);
        clock.advance(u64::MAX);
        assert_eq!(clock.now(), u64::MAX);
    }

    #[test]
    fn a_raw_clock_that_is_a_system_call_is_not_taken() {
        for (raw_ns, slewed_ns, taken) in [
            (20.0, 20.0, "monotonic_raw"),
            (60.0, 20.0, "monotonic_raw"),
            (61.0, 20.0, "monotonic"),
            // Where both are system calls nothing is gained.
            (300.0, 310.0, "monotonic_raw"),
        ] {
            assert_eq!(cheaper([raw_ns, slewed_ns]).name(), taken, "{raw_ns} {slewed_ns}");
        }
    }

    #[test]
    fn a_clock_travels_as_numbers_and_can_be_set() {
        for clock in [Real::raw(), Real::slewed(), best()] {
            let same = Real::from_words(clock.to_words());
            let (before_ns, here_ns, after_ns) = (clock.now(), same.now(), clock.now());
            assert!((before_ns..=after_ns).contains(&here_ns));
            let ahead = clock.set_back(-5_000_000_000);
            let difference_ns = ahead.now() - clock.now();
            assert!((4_000_000_000..=5_000_000_001).contains(&difference_ns), "{difference_ns}");
            assert_eq!(same.name(), clock.name());
            assert!(clock.reading_cost_ns() > 0.0);
        }
    }

    #[test]
    fn ticks_become_nanoseconds_exactly() {
        for (hz, seconds) in [(1_000_000_000u64, 10), (2_600_000_000, 1), (4_000_000_000, 86_400)] {
            let mult = multiplier(hz, 1_000_000_000).unwrap();
            let exact_ns = seconds * 1_000_000_000;
            let error_ns = scale(hz * seconds, mult).abs_diff(exact_ns);
            assert!(error_ns * 100_000_000 <= exact_ns, "{hz} Hz: {error_ns} ns");
        }
    }

    #[test]
    fn an_absurd_frequency_is_refused() {
        assert_eq!(multiplier(0, 1_000_000), None);
        assert_eq!(multiplier(1 << 50, 1_000_000), None);
    }

    const START: Moment = Moment { own_ns: 500, raw_ns: 7_000, width_ns: 60, slept_ns: 9_000 };

    fn after(own_ns: u64, raw_ns: u64) -> Moment {
        Moment { own_ns: START.own_ns + own_ns, raw_ns: START.raw_ns + raw_ns, ..START }
    }

    #[test]
    fn drift_is_reported_where_it_is_known() {
        for (own_ns, raw_ns, drift_ppb) in [
            (1_000_000_000, 1_000_000_000, Some(0)),
            (1_000_100_000, 1_000_000_000, Some(100_000)),
            (999_900_000, 1_000_000_000, Some(-100_000)),
            // 120 ns of 12 ms are 10 ppm.
            (12_000_000, 12_000_000, Some(0)),
            (11_000_000, 11_000_000, None),
            (0, 0, None),
        ] {
            let found = between(&START, &after(own_ns, raw_ns)).drift_ppb;
            assert_eq!(found, drift_ppb, "{own_ns} {raw_ns}");
        }
        // The counter of a guest began anew on another machine.
        let anew = Moment { own_ns: 0, ..after(0, 1_000_000_000) };
        assert_eq!(between(&START, &anew).drift_ppb, Some(-1_000_000_500));
    }

    #[test]
    fn sleep_of_the_machine_is_reported() {
        let slept = |ns| Moment { slept_ns: START.slept_ns + ns, ..after(1, 1) };
        assert_eq!(between(&START, &slept(5_000_000_000)).suspended_ns, 5_000_000_000);
        assert_eq!(between(&START, &slept(900_000)).suspended_ns, 0);
    }

    #[test]
    fn the_worst_of_all_machines_counts() {
        let of = |drift_ppb, suspended_ns| Checked { drift_ppb, suspended_ns };
        for (one, other, worst) in [
            (of(Some(5), 0), of(Some(-7), 3), of(Some(-7), 3)),
            (of(Some(9), 4), of(Some(-7), 3), of(Some(9), 4)),
            (of(None, 2), of(Some(0), 1), of(Some(0), 2)),
            (of(None, 0), of(None, 0), of(None, 0)),
        ] {
            let (one, other) = (one.to_words(), other.to_words());
            let largest = [0, 1, 2].map(|at: usize| one[at].max(other[at]));
            assert_eq!(Checked::from_largest(largest), worst);
        }
    }

    #[test]
    fn clocks_of_this_machine_can_be_checked() {
        let raw = Real::raw();
        assert_eq!(Check::start(raw).compare().drift_ppb, None);
        assert_eq!(Check::start(best()).compare().suspended_ns, 0);
    }
}
