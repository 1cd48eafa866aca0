//! A clock that stands still until somebody moves it: for tests and simulation.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

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

#[cfg(test)]
mod tests {
    use super::super::{Clock, reading_cost_ns};
    use super::*;

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
        assert_eq!(reading_cost_ns(|| clock.now()), 0.0);
    }
}
