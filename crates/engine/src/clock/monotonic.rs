//! `CLOCK_MONOTONIC_RAW`: everywhere on Linux, not slewed by NTP.

use super::{Clock, burn, nanosleep};

/// The kernel's raw monotonic clock, counted from an origin.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicRaw {
    origin_ns: u64,
}

impl MonotonicRaw {
    /// Starts at 0 now.
    pub fn start() -> MonotonicRaw {
        MonotonicRaw { origin_ns: monotonic_raw_ns() }
    }
}

impl MonotonicRaw {
    /// The clock with this origin: [`monotonic_raw_ns`] when it showed 0.
    pub(super) fn from_origin(origin_ns: u64) -> MonotonicRaw {
        MonotonicRaw { origin_ns }
    }

    pub(super) fn origin_ns(self) -> u64 {
        self.origin_ns
    }
}

impl Clock for MonotonicRaw {
    fn name(&self) -> &'static str {
        "monotonic_raw"
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        monotonic_raw_ns().saturating_sub(self.origin_ns)
    }

    fn sleep(&self, ns: u64) {
        nanosleep(ns);
    }

    fn spin(&self, ns: u64) {
        burn(self, ns);
    }
}

/// The raw monotonic clock of the kernel, nanoseconds since some fixed point.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives across the call; the clock exists since Linux 2.6.28.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
