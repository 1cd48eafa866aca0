//! The only source of time. Nanoseconds since the start of the run.
//!
//! [`best`] gives the calibrated time stamp counter where it is trustworthy and a
//! clock of the kernel otherwise; [`Virtual`] is for tests and simulation. A
//! clock is made (and restarted) by the supervisor before it forks, so that all
//! ranks of a machine share origin and calibration and need no alignment. Clocks of
//! different machines are brought on one time line afterwards ([`align`]). At the end of a run its
//! clock is compared with the kernel's ([`check`]).

pub mod align;
pub mod check;
mod monotonic;
mod simulated;
#[cfg(target_arch = "x86_64")]
mod tsc;

pub use monotonic::{Monotonic, Source, monotonic_raw_ns, thread_cpu_ns};
pub use simulated::Virtual;
#[cfg(target_arch = "x86_64")]
pub use tsc::Tsc;

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

    /// Lets time pass without using the processor until 20 us before its end; returns early when a signal
    /// arrives.
    pub fn sleep(&self, ns: u64) {
        match self {
            Clock::Real(clock) => doze(clock, ns),
            Clock::Virtual(clock) => clock.advance(ns),
        }
    }

    /// Lets time pass while using the processor.
    pub fn spin(&self, ns: u64) {
        match self {
            Clock::Real(clock) => burn(clock, ns),
            Clock::Virtual(clock) => clock.advance(ns),
        }
    }
}

/// A clock of this machine.
#[derive(Clone, Copy, Debug)]
pub enum Real {
    /// The calibrated time stamp counter.
    #[cfg(target_arch = "x86_64")]
    Tsc(Tsc),
    /// A clock of the kernel.
    Monotonic(Monotonic),
}

/// The cheapest trustworthy clock of this machine; it starts at 0 now. Takes
/// some milliseconds where it calibrates.
pub fn best() -> Real {
    #[cfg(target_arch = "x86_64")]
    if let Some(tsc) = Tsc::calibrate() {
        return Real::Tsc(tsc);
    }
    Real::Monotonic(Monotonic::cheaper())
}

impl Real {
    /// The same clock with its origin moved to now.
    pub fn restarted(self) -> Real {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => Real::Tsc(clock.restarted()),
            Real::Monotonic(clock) => Real::Monotonic(clock.restarted()),
        }
    }
}

/// Numbers that make the same clock in another process of the same machine: kind, origin,
/// calibration.
pub type Words = [u64; 3];

impl Real {
    /// The clock as numbers.
    pub fn to_words(self) -> Words {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => {
                let (origin, calibration) = clock.to_words();
                [1, origin, calibration]
            }
            Real::Monotonic(clock) => {
                [0, clock.origin_ns(), u64::from(clock.source() == Source::Slewed)]
            }
        }
    }

    /// The clock that [`Real::to_words`] of a process of this machine told. What is no
    /// clock of this machine becomes one that starts now.
    pub fn from_words(words: Words) -> Real {
        match words {
            #[cfg(target_arch = "x86_64")]
            [1, origin, calibration] => Real::Tsc(Tsc::from_words(origin, calibration)),
            [0, origin_ns, 0] => Real::Monotonic(Monotonic::from_origin(Source::Raw, origin_ns)),
            [0, origin_ns, 1] => Real::Monotonic(Monotonic::from_origin(Source::Slewed, origin_ns)),
            _ => Real::Monotonic(Monotonic::start(Source::Raw)),
        }
    }

    /// The same clock set back by so much (forward if negative).
    pub fn set_back(self, ns: i64) -> Real {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => Real::Tsc(clock.set_back(ns)),
            Real::Monotonic(clock) => {
                let origin_ns = clock.origin_ns().saturating_add_signed(ns);
                Real::Monotonic(Monotonic::from_origin(clock.source(), origin_ns))
            }
        }
    }

    /// Its name in the run.
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => clock.name(),
            Real::Monotonic(clock) => clock.name(),
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => clock.now(),
            Real::Monotonic(clock) => clock.now(),
        }
    }

    /// Median cost of one reading: [`reading_cost_ns`].
    pub fn reading_cost_ns(&self) -> f64 {
        reading_cost_ns(|| self.now())
    }
}

/// Median cost of one reading in nanoseconds, as two readings around nothing
/// show it; stored in the run, never subtracted from a time.
pub fn reading_cost_ns(now: impl Fn() -> u64) -> f64 {
    const BATCHES: usize = 101;
    const READINGS: u32 = 100;
    let mut costs_ns: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start_ns = now();
            for _ in 1..READINGS {
                std::hint::black_box(now());
            }
            (now() - start_ns) as f64 / f64::from(READINGS)
        })
        .collect();
    costs_ns.sort_unstable_by(f64::total_cmp);
    costs_ns[BATCHES / 2]
}

/// A sleep of the kernel usually ends so much later than asked for: the processor must wake up. Pauses of
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

#[cfg(test)]
mod tests {
    use super::*;

    fn never_goes_back(clock: Real) {
        let clock = Clock::from(clock);
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
        assert!(reading_cost_ns(|| clock.now()) > 0.0);
    }

    #[test]
    fn a_clock_travels_as_numbers_and_can_be_set() {
        let kernels =
            [Source::Raw, Source::Slewed].map(|source| Real::Monotonic(Monotonic::start(source)));
        for clock in kernels.into_iter().chain([best()]) {
            let same = Real::from_words(clock.to_words());
            let (before_ns, here_ns, after_ns) = (clock.now(), same.now(), clock.now());
            assert!((before_ns..=after_ns).contains(&here_ns));
            let ahead = clock.set_back(-5_000_000_000);
            let difference_ns = ahead.now() - clock.now();
            assert!((4_000_000_000..=5_000_000_001).contains(&difference_ns), "{difference_ns}");
            assert_eq!(same.name(), clock.name());
        }
        assert_eq!(Real::from_words([9, 9, 9]).name(), "monotonic_raw");
    }

    #[test]
    fn real_clocks_never_go_back() {
        never_goes_back(Real::Monotonic(Monotonic::start(Source::Raw)));
        never_goes_back(Real::Monotonic(Monotonic::start(Source::Slewed)));
        never_goes_back(best());
    }
}
