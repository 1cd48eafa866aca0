//! The only source of time. Nanoseconds since the start of the run.
//!
//! [`best`] gives the calibrated time stamp counter where it is trustworthy and
//! `CLOCK_MONOTONIC_RAW` otherwise; [`Virtual`] is for tests and simulation. A
//! clock is made (and restarted) by the supervisor before it forks, so that all
//! ranks of a machine share origin and calibration and need no alignment.

mod monotonic;
mod simulated;
#[cfg(target_arch = "x86_64")]
mod tsc;

pub use monotonic::{MonotonicRaw, monotonic_raw_ns};
pub use simulated::Virtual;
#[cfg(target_arch = "x86_64")]
pub use tsc::Tsc;

/// A clock. `now` is what brackets every back-end call.
pub trait Clock {
    /// Its name in the run: "tsc", "monotonic_raw", "virtual".
    fn name(&self) -> &'static str;
    /// Nanoseconds since the start of the run.
    fn now(&self) -> u64;
    /// Lets time pass without using the processor; returns early when a signal arrives.
    fn sleep(&self, ns: u64);
    /// Lets time pass while using the processor.
    fn spin(&self, ns: u64);
}

/// A clock of this machine. Match on it once, outside every loop, so that the
/// loop is compiled for the clock.
#[derive(Clone, Copy, Debug)]
pub enum Real {
    /// The calibrated time stamp counter.
    #[cfg(target_arch = "x86_64")]
    Tsc(Tsc),
    /// The kernel's clock.
    Monotonic(MonotonicRaw),
}

/// The cheapest trustworthy clock of this machine; it starts at 0 now. Takes
/// some milliseconds where it calibrates.
pub fn best() -> Real {
    #[cfg(target_arch = "x86_64")]
    if let Some(tsc) = Tsc::calibrate() {
        return Real::Tsc(tsc);
    }
    Real::Monotonic(MonotonicRaw::start())
}

impl Real {
    /// The same clock with its origin moved to now.
    pub fn restarted(self) -> Real {
        match self {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => Real::Tsc(clock.restarted()),
            Real::Monotonic(_) => Real::Monotonic(MonotonicRaw::start()),
        }
    }
}

/// Median cost of one reading in nanoseconds, as two readings around nothing
/// show it; stored in the run, never subtracted from a time.
pub fn reading_cost_ns(clock: &impl Clock) -> f64 {
    const BATCHES: usize = 101;
    const READINGS: u32 = 100;
    let mut costs_ns: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start_ns = clock.now();
            for _ in 1..READINGS {
                std::hint::black_box(clock.now());
            }
            (clock.now() - start_ns) as f64 / f64::from(READINGS)
        })
        .collect();
    costs_ns.sort_unstable_by(f64::total_cmp);
    costs_ns[BATCHES / 2]
}

/// Sleeps by the kernel; returns early when a signal handler has run.
fn nanosleep(ns: u64) {
    let request = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `request` lives across the call; the remainder is not asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &request, std::ptr::null_mut()) };
}

/// Burns time until `ns` have passed on `clock`.
fn burn(clock: &impl Clock, ns: u64) {
    let end_ns = clock.now().saturating_add(ns);
    while clock.now() < end_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never_goes_back(clock: &impl Clock) {
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
        assert!(reading_cost_ns(clock) > 0.0);
    }

    #[test]
    fn real_clocks_never_go_back() {
        never_goes_back(&MonotonicRaw::start());
        match best() {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => never_goes_back(&clock),
            Real::Monotonic(clock) => never_goes_back(&clock),
        }
    }
}
