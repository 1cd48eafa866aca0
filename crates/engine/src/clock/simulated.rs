//! A clock that stands still until somebody moves it: for tests and simulation.

use super::Clock;
use std::cell::Cell;
use std::rc::Rc;

/// Virtual time. Clones share it: the mem back-end advances what the machine reads.
#[derive(Clone, Debug, Default)]
pub struct Virtual {
    now_ns: Rc<Cell<u64>>,
}

impl Virtual {
    /// Starts at 0.
    pub fn start() -> Virtual {
        Virtual::default()
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

impl Clock for Virtual {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn passes_by_itself(&self) -> bool {
        false
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.now_ns.get()
    }

    fn sleep(&self, ns: u64) {
        self.advance(ns);
    }

    fn spin(&self, ns: u64) {
        self.advance(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_time() {
        let clock = Virtual::start();
        let other = clock.clone();
        other.advance(5);
        clock.sleep(7);
        clock.spin(1);
        assert_eq!((clock.now(), other.now()), (13, 13));
        other.set(3);
        assert_eq!(clock.now(), 3);
        clock.advance(u64::MAX);
        assert_eq!(clock.now(), u64::MAX);
        assert_eq!(super::super::reading_cost_ns(&clock), 0.0);
    }
}
