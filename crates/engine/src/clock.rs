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
mod real;

pub use real::{Real, Words, best, coarse_ns, monotonic_raw_ns, thread_cpu_ns};

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
    /// Starts at 0.
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
}
