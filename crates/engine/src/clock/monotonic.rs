//! The kernel's clocks: everywhere on Linux, and dearer than the time stamp counter.
//!
//! `CLOCK_MONOTONIC_RAW` is not slewed by NTP, but a real system call on kernels whose vDSO lacks it;
//! there `CLOCK_MONOTONIC` is taken, which NTP makes run faster or slower by up to 500 ppm.

/// The other clock is preferred if the raw one costs more than this multiple of it.
const DEARER: f64 = 3.0;

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `CLOCK_MONOTONIC_RAW`
    Raw,
    /// `CLOCK_MONOTONIC`
    Slewed,
}

impl Source {
    fn id(self) -> libc::clockid_t {
        match self {
            Source::Raw => libc::CLOCK_MONOTONIC_RAW,
            Source::Slewed => libc::CLOCK_MONOTONIC,
        }
    }

    /// The better one for these costs of a reading, nanoseconds.
    fn of_costs(raw_ns: f64, slewed_ns: f64) -> Source {
        if raw_ns > DEARER * slewed_ns { Source::Slewed } else { Source::Raw }
    }
}

/// A clock of the kernel, counted from an origin.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    source: Source,
    id: libc::clockid_t,
    origin_ns: u64,
}

impl Monotonic {
    /// Starts at 0 now.
    pub fn start(source: Source) -> Monotonic {
        Monotonic::from_origin(source, read_ns(source.id()))
    }

    /// The raw clock, unless reading it is much dearer; starts at 0 now.
    pub fn cheaper() -> Monotonic {
        let cost_ns = |source| {
            let clock = Monotonic::start(source);
            super::reading_cost_ns(|| clock.now())
        };
        Monotonic::start(Source::of_costs(cost_ns(Source::Raw), cost_ns(Source::Slewed)))
    }

    /// The same clock with its origin moved to now.
    pub(super) fn restarted(self) -> Monotonic {
        Monotonic::start(self.source)
    }

    /// The clock with this origin: what the kernel's clock showed when it showed 0.
    pub(super) fn from_origin(source: Source, origin_ns: u64) -> Monotonic {
        Monotonic { source, id: source.id(), origin_ns }
    }

    pub(super) fn source(self) -> Source {
        self.source
    }

    pub(super) fn origin_ns(self) -> u64 {
        self.origin_ns
    }
}

impl Monotonic {
    /// "monotonic_raw" or "monotonic".
    pub fn name(&self) -> &'static str {
        match self.source {
            Source::Raw => "monotonic_raw",
            Source::Slewed => "monotonic",
        }
    }

    /// Nanoseconds since its origin.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        read_ns(self.id).saturating_sub(self.origin_ns)
    }
}

/// The raw monotonic clock of the kernel, nanoseconds since some fixed point.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// Processor time that this thread has used, nanoseconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_clock_that_is_a_system_call_is_not_taken() {
        for (raw_ns, slewed_ns, taken) in [
            (20.0, 20.0, Source::Raw),
            (60.0, 20.0, Source::Raw),
            (61.0, 20.0, Source::Slewed),
            // Where both are system calls nothing is gained.
            (300.0, 310.0, Source::Raw),
        ] {
            assert_eq!(Source::of_costs(raw_ns, slewed_ns), taken, "{raw_ns} {slewed_ns}");
        }
        assert_eq!(Monotonic::start(Source::Slewed).name(), "monotonic");
    }
}
