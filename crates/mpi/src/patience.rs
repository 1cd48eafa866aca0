//! How a rank passes the time between two looks at what it waits for.

use engine::clock::monotonic_raw_ns;
use std::time::Duration;

/// Looks before the CPU is offered to others where every rank has one of its own.
const SPINS: u32 = 2_000;
/// Looks before sleeping where ranks share CPUs.
const YIELDS: u32 = 3;
/// First sleep; it doubles up to the longest.
const FIRST_NS: u64 = 10_000;
/// Longest sleep of a rank that is done and only waits for the others.
const IDLE_NS: u64 = 1_000_000;
/// Longest sleep of a rank that others measure without.
const ASLEEP_NS: u64 = 10_000_000;

/// How ranks of this machine may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Longest sleep between two looks; 0: every rank has a CPU of its own.
    longest_ns: u64,
}

impl Crowd {
    /// `ranks` on `cpus`. With more ranks than CPUs the sleep grows
    /// with their ratio, so that looking takes a bounded share of the machine.
    pub fn new(ranks: u32, cpus: u32) -> Crowd {
        let ratio = u64::from(ranks.div_ceil(cpus.max(1)));
        let longest_ns = if ranks <= cpus { 0 } else { (25_000 * ratio).clamp(50_000, 5_000_000) };
        Crowd { longest_ns }
    }

    /// There are more ranks than CPUs.
    pub fn is_crowded(self) -> bool {
        self.longest_ns > 0
    }
}

/// One wait.
#[derive(Debug)]
pub struct Patience {
    longest_ns: u64,
    looks: u32,
    next_ns: u64,
    since_ns: u64,
}

impl Patience {
    /// Starts to wait for something that other ranks do soon.
    pub fn new(crowd: Crowd) -> Patience {
        let since_ns = monotonic_raw_ns();
        Patience { longest_ns: crowd.longest_ns, looks: 0, next_ns: FIRST_NS, since_ns }
    }

    /// Starts to wait without hurry, leaving the CPU to others.
    pub fn idle(crowd: Crowd) -> Patience {
        let longest_ns = crowd.longest_ns.max(IDLE_NS);
        Patience { longest_ns, ..Patience::new(crowd) }
    }

    /// Starts to wait for what may take hours, without loading the CPU.
    pub fn asleep() -> Patience {
        Patience { longest_ns: ASLEEP_NS, ..Patience::new(Crowd::default()) }
    }

    /// How long it has lasted.
    pub fn waited_ns(&self) -> u64 {
        monotonic_raw_ns().saturating_sub(self.since_ns)
    }

    /// Number of looks so far.
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Passes some time.
    pub fn rest(&mut self) {
        self.looks = self.looks.wrapping_add(1).max(1);
        let before = if self.longest_ns == 0 { SPINS } else { YIELDS };
        if self.looks > before && self.longest_ns > 0 {
            // The only sleep of a rank that is not the program's.
            std::thread::sleep(Duration::from_nanos(self.next_ns));
            self.next_ns = (2 * self.next_ns).min(self.longest_ns);
        } else if self.looks > before || self.longest_ns > 0 {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crowded_ranks_sleep() {
        assert_eq!(Crowd::new(4, 4), Crowd { longest_ns: 0 });
        assert_eq!(Crowd::new(3, 2), Crowd { longest_ns: 50_000 });
        assert_eq!(Crowd::new(256, 2), Crowd { longest_ns: 3_200_000 });
        assert_eq!(Crowd::new(10_000, 1), Crowd { longest_ns: 5_000_000 });
        assert!(Crowd::new(3, 2).is_crowded() && !Crowd::new(2, 2).is_crowded());
        let mut patience = Patience::idle(Crowd::default());
        for _ in 0..20 {
            patience.rest();
        }
        assert!(patience.waited_ns() > 1_000_000);
        assert_eq!(patience.looks(), 20);
    }
}
