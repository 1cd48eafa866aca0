//! Rank 0's second task: releasing ranks from waits that can never end.
//!
//! Ranks report that they have ended, and that they have waited for long. Messages and the time go in,
//! messages come out.
//!
//! | a rank waits | it is released |
//! |---|---|
//! | at a barrier that a member has ended without coming to | at once |
//! | for anything, while all other ranks wait or have ended | after `--timeout` without any change; soon, if a rank has failed |
//!
//! The rehearsal of a program finds deadlocks before; this one ends a job that would hang.

use super::message::{Doing, Message, Status};
use engine::comm::{Activity, End, Joint, blame};
use model::RankSet;

/// Messages and their receivers.
pub(super) type Letters = Vec<(u32, Message)>;

/// The timeout after a rank has failed: the run is lost anyway, and what was measured is to be reported.
const AFTER_FAILURE_NS: u64 = 2_000_000_000;

/// State of all ranks, on rank 0.
pub(super) struct Coordinator {
    sets: Vec<RankSet>,
    ranks: Vec<Status>,
    /// By rank: it was released from the wait that it has reported.
    released: Vec<bool>,
    timeout_ns: u64,
    /// When a rank last reported something.
    changed_ns: u64,
    interrupted: bool,
    /// The waits from which all ranks were released after the timeout.
    pub(super) deadlock: Vec<Activity>,
}

impl Coordinator {
    pub(super) fn new(ranks: u32, sets: &[RankSet], timeout_ns: u64) -> Coordinator {
        Coordinator {
            sets: sets.to_vec(),
            ranks: vec![Status::default(); ranks as usize],
            released: vec![false; ranks as usize],
            timeout_ns,
            changed_ns: 0,
            interrupted: false,
            deadlock: Vec::new(),
        }
    }

    /// Takes the report of a rank.
    pub(super) fn receive(&mut self, from: u32, status: Status, now_ns: u64, out: &mut Letters) {
        let at = from as usize;
        self.changed_ns = now_ns;
        self.released[at] &= status.waits() && status.epoch == self.ranks[at].epoch;
        let has_ended = matches!(status.doing, Doing::Ended(_));
        if status.doing == Doing::Ended(End::Interrupted) {
            self.interrupt(out);
        }
        self.ranks[at] = status;
        match has_ended {
            true => (0..self.ranks.len() as u32).for_each(|rank| self.release_if_broken(rank, out)),
            false => self.release_if_broken(from, out),
        }
    }

    /// Somebody asked the run to stop: all ranks learn it, once.
    pub(super) fn interrupt(&mut self, out: &mut Letters) {
        if !std::mem::replace(&mut self.interrupted, true) {
            out.extend((0..self.ranks.len() as u32).map(|rank| (rank, Message::Interrupt)));
        }
    }

    /// Releases a rank from a barrier to which a member that has ended can never come.
    fn release_if_broken(&mut self, rank: u32, out: &mut Letters) {
        let status = &self.ranks[rank as usize];
        let Doing::AtBarrier { set, .. } = status.doing else { return };
        if self.released[rank as usize] {
            return;
        }
        let barriers = |status: &Status| status.barriers[set as usize];
        let absent = self.sets[set as usize].iter().filter_map(|member| {
            let other = &self.ranks[member as usize];
            match &other.doing {
                Doing::Ended(end) if barriers(other) < barriers(status) => {
                    Some((member, end.clone()))
                }
                _ => None,
            }
        });
        let blame = blame(absent);
        if blame.is_some() {
            out.push((rank, Message::Release { epoch: status.epoch, blame }));
            self.released[rank as usize] = true;
        }
    }

    /// Called now and then: releases all ranks if nothing has changed for too long while nobody runs.
    pub(super) fn look(&mut self, now_ns: u64, out: &mut Letters) {
        let failed = |status: &Status| match &status.doing {
            Doing::Ended(end) => *end != End::Finished,
            _ => false,
        };
        let is_running = |status: &Status| status.doing == Doing::Running;
        if self.interrupted || self.ranks.iter().any(is_running) {
            return;
        }
        let timeout_ns = match self.ranks.iter().any(failed) {
            true => self.timeout_ns.min(AFTER_FAILURE_NS),
            false => self.timeout_ns,
        };
        if now_ns.saturating_sub(self.changed_ns) > timeout_ns {
            (0..self.ranks.len() as u32).for_each(|rank| self.release_stuck(rank, out));
        }
    }

    /// Notes the wait of a rank, and releases it.
    fn release_stuck(&mut self, rank: u32, out: &mut Letters) {
        let status = &self.ranks[rank as usize];
        let (site, what) = match &status.doing {
            Doing::AtBarrier { site, what, .. } => (*site, Joint::awaited(*what)),
            Doing::AtWait { site, count, target, name } => {
                (*site, format!("the signal \"{name}\" ({count} of {target})"))
            }
            Doing::AtLock { site, name } => (*site, format!("a lock of \"{name}\"")),
            Doing::Running | Doing::Ended(_) => return,
        };
        if !std::mem::replace(&mut self.released[rank as usize], true) {
            out.push((rank, Message::Release { epoch: status.epoch, blame: None }));
            self.deadlock.push(Activity { rank, site, what });
        }
    }

    /// How the ranks have ended; a rank that has not reported it is lost.
    pub(super) fn ends(&self) -> Vec<End> {
        let end = |status: &Status| match &status.doing {
            Doing::Ended(end) => end.clone(),
            _ => End::Lost,
        };
        self.ranks.iter().map(end).collect()
    }
}

impl Status {
    fn waits(&self) -> bool {
        !matches!(self.doing, Doing::Running | Doing::Ended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT_NS: u64 = 60_000_000_000;

    fn coordinator(ranks: u32) -> Coordinator {
        Coordinator::new(ranks, &[(0..ranks).into(), (0..2).into()], TIMEOUT_NS)
    }

    fn status(doing: Doing, barriers: [u32; 2]) -> Status {
        Status { doing, barriers: barriers.to_vec(), epoch: 0 }
    }

    fn at_barrier(barriers: [u32; 2], set: u32) -> Status {
        status(Doing::AtBarrier { set, site: 7, what: None }, barriers)
    }

    fn at_wait() -> Status {
        status(Doing::AtWait { site: 9, count: 1, target: 2, name: "go".into() }, [0, 0])
    }

    fn at_lock() -> Status {
        status(Doing::AtLock { site: 4, name: "f".into() }, [0, 0])
    }

    fn ended(barriers: [u32; 2], end: End) -> Status {
        status(Doing::Ended(end), barriers)
    }

    fn report(coordinator: &mut Coordinator, from: u32, status: Status) -> Letters {
        let mut out = Vec::new();
        coordinator.receive(from, status, 0, &mut out);
        out
    }

    fn look(coordinator: &mut Coordinator, now_ns: u64) -> Vec<u32> {
        let mut out = Vec::new();
        coordinator.look(now_ns, &mut out);
        out.iter().map(|(rank, _)| *rank).collect()
    }

    fn release(rank: u32, blame: (u32, End)) -> (u32, Message) {
        (rank, Message::Release { epoch: 0, blame: Some(blame) })
    }

    #[test]
    fn an_ended_rank_breaks_barriers_it_never_reached() {
        let mut ranks = coordinator(3);
        assert_eq!(report(&mut ranks, 0, at_barrier([3, 0], 0)), []);
        let out = report(&mut ranks, 2, ended([2, 0], End::Failed));
        assert_eq!(out, [release(0, (2, End::Failed))]);
        // Released once; a rank that comes later is released at once.
        assert_eq!(report(&mut ranks, 0, at_barrier([3, 0], 0)), []);
        let out = report(&mut ranks, 1, at_barrier([3, 0], 0));
        assert_eq!(out, [release(1, (2, End::Failed))]);
    }

    #[test]
    fn a_rank_that_passed_a_barrier_does_not_break_it() {
        let mut ranks = coordinator(2);
        assert_eq!(report(&mut ranks, 1, ended([3, 1], End::Finished)), []);
        assert_eq!(report(&mut ranks, 0, at_barrier([3, 0], 0)), []);
        let out = report(&mut ranks, 0, at_barrier([3, 2], 1));
        assert_eq!(out, [release(0, (1, End::Finished))]);
    }

    #[test]
    fn ranks_that_wait_in_vain_are_released_after_the_timeout() {
        let mut ranks = coordinator(4);
        report(&mut ranks, 0, at_wait());
        report(&mut ranks, 1, at_lock());
        report(&mut ranks, 2, ended([1, 0], End::Finished));
        assert_eq!(look(&mut ranks, 2 * TIMEOUT_NS), [0; 0], "rank 3 runs");
        report(&mut ranks, 3, at_barrier([1, 0], 0));
        assert_eq!(look(&mut ranks, TIMEOUT_NS), [0; 0]);
        assert_eq!(look(&mut ranks, TIMEOUT_NS + 1), [0, 1, 3]);
        let what: Vec<&str> = ranks.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        assert_eq!(what, ["the signal \"go\" (1 of 2)", "a lock of \"f\"", "a barrier"]);
        assert_eq!(look(&mut ranks, 3 * TIMEOUT_NS), [0; 0], "released once");
    }

    #[test]
    fn a_failed_rank_shortens_the_timeout() {
        let mut ranks = coordinator(2);
        report(&mut ranks, 0, at_wait());
        report(&mut ranks, 1, ended([0, 0], End::Failed));
        assert_eq!(look(&mut ranks, AFTER_FAILURE_NS), [0; 0]);
        assert_eq!(look(&mut ranks, AFTER_FAILURE_NS + 1), [0]);
    }

    #[test]
    fn one_interrupt_reaches_all_ranks_once() {
        let mut ranks = coordinator(2);
        let out = report(&mut ranks, 1, ended([0, 0], End::Interrupted));
        assert_eq!(out, [(0, Message::Interrupt), (1, Message::Interrupt)]);
        assert_eq!(report(&mut ranks, 0, ended([0, 0], End::Interrupted)), []);
        assert_eq!(ranks.ends(), [End::Interrupted, End::Interrupted]);
    }
}
