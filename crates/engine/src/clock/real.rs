//! The clocks of a machine: the time stamp counter of x86, where it is invariant and the kernel trusts it,
//! otherwise a clock of the kernel.
//!
//! Readings of the counter are not fenced: a system call lies between the two that matter, and a fence would
//! cost as much as the reading. Its frequency is measured against `CLOCK_MONOTONIC_RAW`, good to a few parts
//! per million.
//!
//! `CLOCK_MONOTONIC_RAW` is not slewed by NTP, but a real system call on kernels whose vDSO lacks it; there
//! `CLOCK_MONOTONIC` is taken, which NTP makes run faster or slower by up to 500 ppm.

use super::nanosleep;
use bytemuck::{Pod, Zeroable};

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

    /// It is [`Real::raw`].
    pub(super) fn is_raw(&self) -> bool {
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
pub(super) fn read_ns(id: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives across the call.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
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
    let (first_ticks, first_ns) = moment();
    nanosleep(CALIBRATION_NS);
    let (last_ticks, last_ns) = moment();
    multiplier(last_ticks.checked_sub(first_ticks)?, last_ns - first_ns)
}

/// `None` unless the counter runs between 50 MHz and 20 GHz.
fn multiplier(ticks: u64, ns: u64) -> Option<u64> {
    let mult = ((u128::from(ns) << SHIFT) / u128::from(ticks.max(1))) as u64;
    ((1u64 << SHIFT) / 20..=(1u64 << SHIFT) * 20).contains(&mult).then_some(mult)
}

/// Ticks and nanoseconds of one moment; of several tries the one that took the fewest ticks.
fn moment() -> (u64, u64) {
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
/// without /sys) leaves the word of the processor.
fn is_trusted_by_kernel() -> bool {
    let list = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    std::fs::read_to_string(list)
        .map_or(true, |names| names.split_whitespace().any(|name| name == "tsc"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
