//! How far a run is, for somebody who looks at it: the first rank of each machine reads now and then
//! what the ranks there have recorded, and tells rank 0, which shows it.
//!
//! ```text
//! rank-0 rank-1 ... ──read──▶ first rank of the machine ──Progress──▶ rank 0 ──▶ whoever started the run
//! ```
//!
//! It is done between two statements or while the rank waits, inside of labels too, and so rarely
//! that it takes less than a thousandth of the time. A rank inside of one long call tells nothing.

use super::message;
use crate::world::World;
use engine::clock::thread_cpu_ns;
use engine::comm::Standing;
use engine::config::Config;
use engine::supervise::Crew;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// Looking takes at most one part of so many of the time.
const SHARE: u64 = 2_000;
/// Rank 0 takes at most so many words per second: with more machines each tells less often.
const WORDS_PER_S: u64 = 500;

/// The first rank of a machine, if somebody looks.
pub(super) struct Lookout {
    crew: Crew,
    path: Box<dyn Fn(u32) -> Option<PathBuf>>,
    period_ns: u64,
    next_ns: u64,
    /// Processor time of this rank when it began to look.
    began_cpu_ns: u64,
}

impl Lookout {
    /// `None` on other ranks, and where nobody looks. `now_ns`: the run starts.
    pub(super) fn new(world: &World, config: &Config, now_ns: u64) -> Option<Lookout> {
        let period = config.watch.filter(|_| world.node_rank == 0)?;
        let own = (0..).zip(&world.machines).filter(|(_, machine)| **machine == world.node);
        let crew = Crew::new(own.map(|(rank, _)| rank), config);
        let records = config.records.clone();
        let period_ns = period_ns(period, world.nodes);
        let path = Box::new(move |rank| records.path(rank));
        // Rank 0 waits for the first words of the others, which look at the same time.
        let later_ns = if world.rank == 0 && world.nodes > 1 { period_ns / 10 } else { 0 };
        let next_ns = now_ns.saturating_add(period_ns).saturating_add(later_ns);
        Some(Lookout { crew, path, period_ns, next_ns, began_cpu_ns: 0 })
    }

    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// How far the ranks of this machine are; one that has no file in memory is not seen.
    pub(super) fn look(&mut self) -> Standing {
        self.began_cpu_ns = thread_cpu_ns();
        let path = &self.path;
        let standing = self.crew.look(|rank| File::open(path(rank)?).ok());
        let label = standing.label.map(|(label, ranks)| (message::shown(label.as_bytes()), ranks));
        Standing { label, ..standing }
    }

    /// It has looked, and told it. Only processor time counts: a rank that others interrupt has paid no
    /// more for it.
    pub(super) fn rest(&mut self, now_ns: u64) {
        self.rest_after(now_ns, thread_cpu_ns().saturating_sub(self.began_cpu_ns));
    }

    fn rest_after(&mut self, now_ns: u64, took_ns: u64) {
        self.next_ns = now_ns + self.period_ns.max(took_ns.saturating_mul(SHARE));
    }
}

fn period_ns(period: Duration, nodes: u32) -> u64 {
    let least_ns = u64::from(nodes) * 1_000_000_000 / WORDS_PER_S;
    u64::try_from(period.as_nanos()).unwrap_or(u64::MAX / 2).max(least_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_takes_less_than_a_thousandth_of_the_time() {
        let crew = Crew::new([], &Config::default());
        let mut lookout = Lookout {
            crew,
            path: Box::new(|_| None),
            period_ns: 1000,
            next_ns: 1000,
            began_cpu_ns: 0,
        };
        let (mut now_ns, mut looked_ns) = (0, 0);
        for took_ns in [1, 300, 20_000, 7, 1_000_000] {
            now_ns = lookout.next_ns.max(now_ns);
            assert!(lookout.is_due(now_ns));
            (now_ns, looked_ns) = (now_ns + took_ns, looked_ns + took_ns);
            lookout.rest_after(now_ns, took_ns);
            assert!(!lookout.is_due(now_ns));
            assert!(looked_ns * 1000 < lookout.next_ns, "{looked_ns} of {}", lookout.next_ns);
        }
    }

    #[test]
    fn many_machines_tell_less_often() {
        let second = Duration::from_secs(1);
        assert_eq!(period_ns(second, 4), 1_000_000_000);
        assert_eq!(period_ns(second, 10_000), 20_000_000_000);
    }
}
