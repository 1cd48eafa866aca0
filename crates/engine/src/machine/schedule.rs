//! When operations are due ([`super::arrivals`]): the times of a rate, and what became of them.

use crate::recorder::{Arrived, Process};
use crate::rng::RankRng;
use model::plan::Pc;
use std::sync::Arc;

/// The running operation is due at no time.
pub(super) const NOT_DUE: u64 = u64::MAX;
/// The schedules of a rank.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// When the running operation was due.
    pub(super) due_ns: u64,
    open: Vec<Schedule>,
    /// Schedules so far.
    begun: u32,
}

/// A `with (rate=...)` that the rank is in.
#[derive(Debug)]
struct Schedule {
    label: u32,
    site: Pc,
    /// The operations that are not started.
    next: Times,
    /// Those that were not due at the latest look.
    later: Times,
    first: At,
    last: At,
    /// The figures so far.
    figures: Arrived,
}

/// A start of an operation.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    due_ns: u64,
    start_ns: u64,
}

impl Arrivals {
    pub(super) fn new() -> Arrivals {
        Arrivals { due_ns: NOT_DUE, open: Vec::new(), begun: 0 }
    }

    /// Enters a `with (rate=...)` inside of a label; the number of its schedule.
    pub(super) fn enter(
        &mut self,
        rate: &Rate,
        (label, site): (u32, Pc),
        (seed, rank): (u64, u32),
        now_ns: u64,
    ) -> u32 {
        // So that operations under way and the stack need no memory later.
        let next = Times::new(rate, now_ns, (seed, rank, self.begun));
        self.begun += 1;
        let figures = Arrived {
            executions: 1,
            process: rate.process as u64,
            asked_milli: (rate.own_ops_s * 1e3).round() as u64,
            ..Arrived::default()
        };
        let later = next.clone();
        let (first, last) = (At::default(), At::default());
        self.open.push(Schedule { label, site, next, later, first, last, figures });
        self.open.len() as u32
    }

    /// The schedule with this number and those inside of it are over: what is to be kept of them.
    pub(super) fn leave(
        &mut self,
        number: u32,
        now_ns: u64,
    ) -> impl Iterator<Item = (u32, Pc, Arrived)> + '_ {
        let from = (number as usize).saturating_sub(1).min(self.open.len());
        self.open.drain(from..).map(move |schedule| schedule.over(now_ns))
    }

    /// The next operation of a schedule starts.
    pub(super) fn start(&mut self, number: u32, now_ns: u64) {
        if let Some(schedule) = self.open.get_mut(number as usize - 1) {
            self.due_ns = schedule.start(now_ns);
        }
    }

    pub(super) fn next_due_ns(&self, number: u32) -> u64 {
        self.open.get(number as usize - 1).map_or(0, |schedule| schedule.next.due_ns())
    }
}

impl Schedule {
    /// Starts the next operation; when it was due.
    fn start(&mut self, now_ns: u64) -> u64 {
        let at = At { due_ns: self.next.due_ns(), start_ns: now_ns };
        self.next.advance();
        if self.figures.operations == 0 {
            self.first = at;
        }
        self.last = at;
        let late_ns = now_ns.saturating_sub(at.due_ns);
        let backlog = self.backlog(now_ns);
        let figures = &mut self.figures;
        figures.operations += 1;
        figures.late_ns = figures.late_ns.saturating_add(late_ns);
        figures.latest_ns = figures.latest_ns.max(late_ns);
        figures.backlog_max = figures.backlog_max.max(backlog);
        at.due_ns
    }

    /// Times of the schedule that have passed without an operation.
    fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.later.due_ns() <= now_ns {
            self.later.advance();
        }
        self.later.given().saturating_sub(self.next.given())
    }

    fn over(mut self, now_ns: u64) -> (u32, Pc, Arrived) {
        let backlog_end = self.backlog(now_ns);
        let figures = Arrived {
            gaps: self.figures.operations.saturating_sub(1),
            due_span_ns: self.last.due_ns - self.first.due_ns,
            start_span_ns: self.last.start_ns - self.first.start_ns,
            backlog_max: self.figures.backlog_max.max(backlog_end),
            backlog_end,
            ..self.figures
        };
        (self.label, self.site, figures)
    }
}

/// Number of Poisson gaps that are scaled to the length of as many mean gaps. So the mean rate is
/// exact; independent gaps would be off by 1 % after 10,000 of them. Bursts within a block stay
/// as in a Poisson process, whose times are uniform if their number is given.
const POISSON_BLOCK: usize = 256;

/// The rate of one rank that a `with` asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) process: Process,
    /// Operations of this rank, 1/s, above 0.
    pub(super) own_ops_s: f64,
    /// Number of this rank among those whose rate it is, and how many they are.
    pub(super) member: (u32, u32),
    /// The times of [`Process::Times`]: ascending, nanoseconds, the last above 0.
    pub(super) times: Arc<[u64]>,
}

/// Times one after the other.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Times before the current one.
    given: u64,
    due_ns: f64,
    gaps: Gaps,
}

#[derive(Clone, Debug)]
enum Gaps {
    Fixed { first_ns: f64, gap_ns: f64 },
    Poisson(Box<Poisson>),
    Listed { start_ns: f64, times: Arc<[u64]>, member: (u32, u32) },
}

/// The n-th time of a member in a list; after the last the list begins anew.
fn listed_ns(times: &[u64], (member, members): (u32, u32), nth: u64) -> f64 {
    let at = u64::from(member) + nth * u64::from(members);
    let (round, at) = (at / times.len() as u64, at % times.len() as u64);
    round as f64 * times[times.len() - 1] as f64 + times[at as usize] as f64
}

impl Times {
    /// Times from `now_ns` on; the `nth` schedule of a rank has its own random numbers.
    pub(super) fn new(rate: &Rate, now_ns: u64, (seed, rank, nth): (u64, u32, u32)) -> Times {
        let gap_ns = 1e9 / rate.own_ops_s;
        let start_ns = now_ns as f64;
        match rate.process {
            Process::Fixed => {
                let (member, members) = rate.member;
                let first_ns = start_ns + f64::from(member) / f64::from(members) * gap_ns;
                Times { given: 0, due_ns: first_ns, gaps: Gaps::Fixed { first_ns, gap_ns } }
            }
            Process::Poisson => {
                let stream = RankRng::of_schedule(seed, rank, nth);
                let mut poisson = Box::new(Poisson::new(gap_ns, stream));
                let due_ns = start_ns + poisson.gap_ns();
                Times { given: 0, due_ns, gaps: Gaps::Poisson(poisson) }
            }
            Process::Times => {
                let (times, member) = (Arc::clone(&rate.times), rate.member);
                let due_ns = start_ns + listed_ns(&times, member, 0);
                Times { given: 0, due_ns, gaps: Gaps::Listed { start_ns, times, member } }
            }
        }
    }

    /// The current time.
    #[inline(always)]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Goes on to the next one.
    pub(super) fn advance(&mut self) {
        self.given += 1;
        self.due_ns = match &mut self.gaps {
            // Sums of rounded gaps would drift.
            Gaps::Fixed { first_ns, gap_ns } => *first_ns + self.given as f64 * *gap_ns,
            Gaps::Poisson(poisson) => self.due_ns + poisson.gap_ns(),
            Gaps::Listed { start_ns, times, member } => {
                *start_ns + listed_ns(times, *member, self.given)
            }
        };
    }
}

/// Exponential gaps. The next block is drawn while this one is used, because its sum has to be
/// known.
#[derive(Clone, Debug)]
struct Poisson {
    stream: RankRng,
    mean_ns: f64,
    gaps: [f32; POISSON_BLOCK],
    at: usize,
    /// Nanoseconds of a gap of 1.
    scale_ns: f64,
    /// Sum of the gaps that are drawn for the next block.
    sum: f64,
}

impl Poisson {
    fn new(mean_ns: f64, stream: RankRng) -> Poisson {
        let gaps = [0.0; POISSON_BLOCK];
        let mut poisson = Poisson { stream, mean_ns, gaps, at: 0, scale_ns: 0.0, sum: 0.0 };
        for _ in 0..POISSON_BLOCK {
            poisson.gap_ns();
        }
        poisson
    }

    fn gap_ns(&mut self) -> f64 {
        let fresh = self.stream.exponential_of_1() as f32;
        let gap = std::mem::replace(&mut self.gaps[self.at], fresh);
        let gap_ns = f64::from(gap) * self.scale_ns;
        self.sum += f64::from(fresh);
        self.at += 1;
        if self.at == POISSON_BLOCK {
            self.scale_ns = self.mean_ns * POISSON_BLOCK as f64 / self.sum;
            (self.at, self.sum) = (0, 0.0);
        }
        gap_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(process: Process, ops_s: f64, count: usize) -> Vec<u64> {
        let rate = Rate { process, own_ops_s: ops_s, member: (0, 1), times: Arc::new([]) };
        let mut times = Times::new(&rate, 1_000, (42, 3, 0));
        let mut next = || {
            let due_ns = times.due_ns();
            times.advance();
            due_ns
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn fixed_gaps_do_not_drift() {
        let due_ns = times(Process::Fixed, 3.0, 3_000_001);
        assert_eq!(
            (due_ns[0], due_ns[3], due_ns[3_000_000]),
            (1_000, 1_000_001_000, 1_000_000_000_001_000)
        );
    }

    #[test]
    fn poisson_gaps_are_exponential_and_keep_their_mean() {
        for ops_s in [1_000.0, 50_000.0] {
            let count = (10.0 * ops_s) as usize;
            let due_ns = times(Process::Poisson, ops_s, count);
            let mean_ns = 1e9 / ops_s;
            let mean = due_ns[count - 1] as f64 / count as f64 / mean_ns;
            assert!((0.995..1.005).contains(&mean), "{ops_s}: {mean}");
            let gaps: Vec<f64> =
                due_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / mean_ns).collect();
            // P(gap > x) = e^-x.
            for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
                let share = gaps.iter().filter(|gap| **gap > x).count() as f64 / gaps.len() as f64;
                assert!((share - (-x).exp()).abs() < 0.02, "{ops_s}: {share} above {x}");
            }
            // As many arrivals in windows of 10 mean gaps as variance.
            let mut windows = vec![0.0; count / 10 + 1];
            due_ns.iter().for_each(|at| {
                windows[((*at as f64 / mean_ns / 10.0) as usize).min(count / 10)] += 1.0
            });
            let variance = windows.iter().map(|n: &f64| (n - 10.0).powi(2)).sum::<f64>()
                / windows.len() as f64;
            assert!((8.5..11.0).contains(&variance), "{ops_s}: {variance}");
        }
    }

    #[test]
    fn listed_times_begin_anew_and_members_share_them() {
        let listed = |member, members| -> Vec<f64> {
            (0..4).map(|nth| listed_ns(&[10, 20, 50], (member, members), nth)).collect()
        };
        assert_eq!(listed(0, 1), [10.0, 20.0, 50.0, 60.0]);
        assert_eq!(listed(0, 2), [10.0, 50.0, 70.0, 110.0]);
        assert_eq!(listed(1, 2), [20.0, 60.0, 100.0, 120.0]);
    }

    #[test]
    fn a_seed_gives_the_same_times_and_each_schedule_others() {
        let process = Process::Poisson;
        let rate = Rate { process, own_ops_s: 1e3, member: (0, 1), times: Arc::new([]) };
        let first = |seed, rank, nth| Times::new(&rate, 0, (seed, rank, nth)).due_ns();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let others = [first(1, 2, 3), first(2, 2, 3), first(1, 3, 3), first(1, 2, 4)];
        assert!((1..4).all(|at| !others[..at].contains(&others[at])), "{others:?}");
    }
}
