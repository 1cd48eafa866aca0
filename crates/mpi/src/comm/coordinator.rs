//! Rank 0's second task: releasing ranks from waits that can never be over.
//!
//! It learns who has ended (every rank tells it once) and who has been waiting for long. It
//! never acts by itself: messages go in, messages come out.
//!
//! Members that have met, but before different calls inside MPI, say so at once: they are stuck.
//!
//! A barrier can never be met when a member has ended before it came to it. Everybody is stuck
//! when two rounds of questions in a row find every rank ended or in the same wait as before,
//! no barrier complete, and no signal under way (all that were sent have been received):
//! Mattern, "Algorithms for distributed termination detection", Distributed Computing 2, 1987.

use super::message::{Doing, Message, Status};
use engine::comm::{Activity, End, Joint, Sample, Standing, blame};
use model::RankSet;
use std::collections::{BTreeMap, BTreeSet};

/// Messages and the ranks they are for.
pub(super) type Letters = Vec<(u32, Message)>;

/// What is known of the ranks.
pub(super) struct Coordinator {
    sets: Vec<RankSet>,
    ranks: Vec<Status>,
    /// Ranks that were told to stop waiting and have not answered yet.
    released: Vec<bool>,
    /// By set: the fewest barriers that a member has started who has ended.
    ended_started: Vec<Option<u32>>,
    waiting: usize,
    ended: usize,
    round: u64,
    /// Answers that the round still misses.
    missing: usize,
    answers: Vec<Option<Status>>,
    /// What the round before found, if all were stuck then.
    before: Option<Vec<Status>>,
    /// What the round after it found, if ranks wait for locks: each has to try once more.
    locked: Option<Vec<Status>>,
    interrupted: bool,
    /// Who waited for what when everybody was stuck.
    pub(super) deadlock: Vec<Activity>,
    /// How far the ranks of each machine are, by its first rank.
    standings: BTreeMap<u32, Standing>,
}

impl Coordinator {
    pub(super) fn new(ranks: u32, sets: &[RankSet]) -> Coordinator {
        let ranks = ranks as usize;
        Coordinator {
            ended_started: vec![None; sets.len()],
            sets: sets.to_vec(),
            ranks: vec![Status::default(); ranks],
            released: vec![false; ranks],
            waiting: 0,
            ended: 0,
            round: 0,
            missing: 0,
            answers: vec![None; ranks],
            before: None,
            locked: None,
            interrupted: false,
            deadlock: Vec::new(),
            standings: BTreeMap::new(),
        }
    }

    /// A rank has told something.
    pub(super) fn take(&mut self, from: u32, message: Message, out: &mut Letters) {
        match message {
            Message::Status(status) => self.status(from, status, out),
            Message::Progress(standing) => {
                self.standings.insert(from, standing);
            }
            Message::Interrupt => self.interrupt(out),
            Message::Signal { .. } | Message::Probe { .. } | Message::Release { .. } => {}
        }
    }

    /// Somebody asked the run to stop: all are told, once.
    pub(super) fn interrupt(&mut self, out: &mut Letters) {
        if std::mem::replace(&mut self.interrupted, true) {
            return;
        }
        out.extend((0..self.ranks.len() as u32).map(|rank| (rank, Message::Interrupt)));
    }

    fn status(&mut self, from: u32, status: Status, out: &mut Letters) {
        let at = from as usize;
        let answers = status.round == self.round && self.missing > 0 && self.answers[at].is_none();
        if answers {
            self.answers[at] = Some(status.clone());
            self.missing -= 1;
        }
        self.count(at, -1);
        let was_released = self.released[at];
        self.released[at] &= waits(&status.doing) && status.epoch == self.ranks[at].epoch;
        let newly_ended = matches!(status.doing, Doing::Ended(_))
            && !matches!(self.ranks[at].doing, Doing::Ended(_));
        self.ranks[at] = status;
        self.count(at, 1);
        if newly_ended {
            self.ended(from, out);
        } else if !was_released || !self.released[at] {
            self.release_if_broken(from, out);
            self.release_apart(from, out);
        }
        if answers && self.missing == 0 {
            self.judge(out);
        }
    }

    fn count(&mut self, at: usize, by: isize) {
        let counter = match &self.ranks[at].doing {
            Doing::Running => return,
            Doing::Ended(_) => &mut self.ended,
            Doing::AtBarrier { .. } | Doing::AtWait { .. } | Doing::AtLock { .. } => {
                &mut self.waiting
            }
        };
        *counter = counter.saturating_add_signed(by);
    }

    fn ended(&mut self, from: u32, out: &mut Letters) {
        let status = &self.ranks[from as usize];
        let mut broken = false;
        for (set, (ranks, started)) in self.sets.iter().zip(&status.started).enumerate() {
            if ranks.contains(from) {
                let fewest = self.ended_started[set].map_or(*started, |other| other.min(*started));
                broken |= self.ended_started[set].replace(fewest) != Some(fewest);
            }
        }
        if status.doing == Doing::Ended(End::Interrupted) {
            self.interrupt(out);
        }
        if broken && self.waiting > 0 {
            (0..self.ranks.len() as u32).for_each(|rank| self.release_if_broken(rank, out));
        }
    }

    /// Releases a rank from a barrier to which an ended rank can never come.
    fn release_if_broken(&mut self, rank: u32, out: &mut Letters) {
        let status = &self.ranks[rank as usize];
        let Doing::AtBarrier { set, apart: false, .. } = status.doing else { return };
        let set = set as usize;
        let (Some(mine), Some(fewest)) =
            (status.started.get(set).copied(), self.ended_started.get(set).copied().flatten())
        else {
            return;
        };
        if fewest >= mine || self.released[rank as usize] {
            return;
        }
        let epoch = status.epoch;
        let never_come = self.sets[set].iter().filter_map(|other| {
            let status = &self.ranks[other as usize];
            match &status.doing {
                Doing::Ended(end) if status.started[set] < mine => Some((other, end.clone())),
                _ => None,
            }
        });
        let blame = blame(never_come);
        self.released[rank as usize] = true;
        out.push((rank, Message::Release { epoch, blame }));
    }

    /// Releases the members of a set that stand before different calls, as soon as all have said so.
    fn release_apart(&mut self, rank: u32, out: &mut Letters) {
        let Doing::AtBarrier { set, apart: true, .. } = self.ranks[rank as usize].doing else {
            return;
        };
        let is_apart = |rank: u32| match self.ranks[rank as usize].doing {
            Doing::AtBarrier { set: other, apart, .. } => apart && other == set,
            _ => false,
        };
        let members = self.sets[set as usize].clone();
        if members.iter().all(is_apart) {
            members.iter().for_each(|rank| self.release_stuck(rank, out));
        }
    }

    /// Notes what a rank waits for in vain, and releases it.
    fn release_stuck(&mut self, rank: u32, out: &mut Letters) {
        let status = &self.ranks[rank as usize];
        let (site, what) = match &status.doing {
            Doing::AtBarrier { site, what, .. } => (*site, Joint::awaited(*what)),
            Doing::AtWait { site, count, target, name } => {
                (*site, format!("the signal \"{name}\" ({count} of {target})"))
            }
            Doing::AtLock { site, name, .. } => (*site, format!("a lock of \"{name}\"")),
            Doing::Running | Doing::Ended(_) => return,
        };
        out.push((rank, Message::Release { epoch: status.epoch, blame: None }));
        self.deadlock.push(Activity { rank, site, what });
        self.released[rank as usize] = true;
    }

    /// Asks everybody when nobody seems to go on. Called every now and then.
    pub(super) fn look(&mut self, out: &mut Letters) {
        let all = self.waiting + self.ended == self.ranks.len();
        let answering = self.missing > 0 || self.released.contains(&true);
        if !all || self.waiting == 0 || answering || self.interrupted {
            return;
        }
        self.round += 1;
        self.missing = self.ranks.len();
        self.answers.fill(None);
        let round = self.round;
        out.extend((0..self.ranks.len() as u32).map(|rank| (rank, Message::Probe { round })));
    }

    /// All have answered.
    fn judge(&mut self, out: &mut Letters) {
        let answers: Vec<Status> = self.answers.iter_mut().filter_map(Option::take).collect();
        let stuck = self.all_stuck(&answers);
        let before = self.before.take().filter(|before| stuck && all(before, &answers, goes_on));
        let locked = self.locked.take().filter(|_| before.is_some());
        match (before, locked) {
            // Between the rounds nobody gave a lock back, and since then all have tried.
            (Some(_), Some(locked)) if all(&locked, &answers, tried) => self.release_all(out),
            (Some(before), Some(locked)) => {
                (self.before, self.locked) = (Some(before), Some(locked));
            }
            (Some(_), None) if !answers.iter().any(|answer| answer.doing.is_at_lock()) => {
                self.release_all(out);
            }
            (Some(before), None) => (self.before, self.locked) = (Some(before), Some(answers)),
            (None, _) => self.before = stuck.then_some(answers),
        }
    }

    fn release_all(&mut self, out: &mut Letters) {
        (0..self.ranks.len() as u32).for_each(|rank| self.release_stuck(rank, out));
    }

    fn all_stuck(&self, answers: &[Status]) -> bool {
        let sum =
            |figure: fn(&Status) -> u64| answers.iter().map(figure).fold(0, u64::wrapping_add);
        let under_way = sum(|status| status.sent) != sum(|status| status.received);
        let is_stuck = |status: &Status| match &status.doing {
            Doing::Running => false,
            Doing::Ended(_) => true,
            Doing::AtWait { count, target, .. } => count < target,
            Doing::AtLock { .. } => true,
            Doing::AtBarrier { apart: true, .. } => true,
            Doing::AtBarrier { set, .. } => {
                let set = *set as usize;
                let mine = status.started[set];
                self.sets[set].iter().any(|rank| answers[rank as usize].started[set] < mine)
            }
        };
        !under_way && answers.iter().all(is_stuck)
    }

    /// How far the ranks are, as far as they have told it. `machines`: those of the ranks.
    pub(super) fn progress(&self, machines: &[u32]) -> Sample {
        let mut standings = self.standings.values().cloned();
        let first = standings.next().unwrap_or_default();
        let node = |(first, standing): (&u32, &Standing)| {
            Some((*machines.get(*first as usize)?, standing.clone()))
        };
        let all_machines: BTreeSet<&u32> = machines.iter().collect();
        Sample {
            silent: all_machines.len().saturating_sub(self.standings.len()) as u32,
            at_ns: 0,
            all: standings.fold(first, |sum, standing| sum.and(&standing)),
            running: (self.ranks.len() - self.ended) as u32,
            waiting: self.waiting as u32,
            nodes: self.standings.iter().filter_map(node).collect(),
        }
    }

    /// How the ranks have ended; a rank that has not told it is lost.
    pub(super) fn ends(&self) -> Vec<End> {
        let end = |status: &Status| match &status.doing {
            Doing::Ended(end) => end.clone(),
            _ => End::Lost,
        };
        self.ranks.iter().map(end).collect()
    }
}

fn waits(doing: &Doing) -> bool {
    matches!(doing, Doing::AtBarrier { .. } | Doing::AtWait { .. } | Doing::AtLock { .. })
}

impl Doing {
    fn is_at_lock(&self) -> bool {
        matches!(self, Doing::AtLock { .. })
    }
}

/// Something holds between what each rank said in one round and in a later one.
fn all(before: &[Status], after: &[Status], holds: fn(&Status, &Status) -> bool) -> bool {
    before.iter().zip(after).all(|(before, after)| holds(before, after))
}

/// A rank still waits as before; it may have tried again to get a lock.
fn goes_on(before: &Status, after: &Status) -> bool {
    let same = match (&before.doing, &after.doing) {
        (Doing::AtLock { site, name, .. }, Doing::AtLock { site: again, name: other, .. }) => {
            (site, name) == (again, other)
        }
        (before, after) => before == after,
    };
    same && before.epoch == after.epoch
}

/// A rank that waits for a lock has tried since.
fn tried(before: &Status, after: &Status) -> bool {
    match (&before.doing, &after.doing) {
        (Doing::AtLock { tries, .. }, Doing::AtLock { tries: more, .. }) => more > tries,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(ranks: u32) -> Coordinator {
        Coordinator::new(ranks, &[(0..ranks).into(), (0..2).into()])
    }

    fn barrier(started: [u32; 2], set: u32) -> Status {
        let doing = Doing::AtBarrier { set, site: 7, what: None, apart: false };
        Status { doing, started: started.to_vec(), ..Status::default() }
    }

    fn waiting(count: u64, target: u64) -> Status {
        let doing = Doing::AtWait { site: 9, count, target, name: "go".into() };
        Status { doing, started: vec![0, 0], ..Status::default() }
    }

    fn ended(started: [u32; 2], end: End) -> Status {
        Status { doing: Doing::Ended(end), started: started.to_vec(), ..Status::default() }
    }

    fn tell(coordinator: &mut Coordinator, from: u32, status: Status) -> Letters {
        let mut out = Vec::new();
        coordinator.take(from, Message::Status(status), &mut out);
        out
    }

    fn released(letters: &Letters) -> Vec<(u32, Option<(u32, End)>)> {
        let release = |(rank, message): &(u32, Message)| match message {
            Message::Release { blame, .. } => Some((*rank, blame.clone())),
            _ => None,
        };
        letters.iter().filter_map(release).collect()
    }

    #[test]
    fn a_rank_that_ended_breaks_the_barriers_it_never_came_to() {
        let mut world = world(3);
        assert_eq!(tell(&mut world, 0, barrier([3, 0], 0)), []);
        let out = tell(&mut world, 2, ended([2, 0], End::Failed));
        assert_eq!(released(&out), [(0, Some((2, End::Failed)))]);
        // Told once; the rank that comes later is told at once.
        assert_eq!(tell(&mut world, 0, barrier([3, 0], 0)), []);
        let out = tell(&mut world, 1, barrier([3, 0], 0));
        assert_eq!(released(&out), [(1, Some((2, End::Failed)))]);
    }

    #[test]
    fn a_rank_that_ended_after_the_barrier_does_not_break_it() {
        let mut world = world(2);
        assert_eq!(tell(&mut world, 1, ended([3, 1], End::Finished)), []);
        assert_eq!(tell(&mut world, 0, barrier([3, 0], 0)), []);
        assert_eq!(
            released(&tell(&mut world, 0, barrier([3, 2], 1))),
            [(0, Some((1, End::Finished)))]
        );
    }

    /// One round of questions; every rank answers with what it was given.
    fn round(world: &mut Coordinator, answers: &[Status]) -> Letters {
        let mut asked = Vec::new();
        world.look(&mut asked);
        let Some((_, Message::Probe { round })) = asked.first().cloned() else { return asked };
        let mut out = Vec::new();
        for (status, rank) in answers.iter().zip(0..) {
            let answer = Message::Status(Status { round, ..status.clone() });
            world.take(rank, answer, &mut out);
        }
        out
    }

    fn at_lock(tries: u64) -> Status {
        let doing = Doing::AtLock { site: 4, name: "f".into(), tries };
        Status { doing, started: vec![0, 0], ..Status::default() }
    }

    #[test]
    fn locks_that_all_wait_for_are_tried_once_more_before_it_is_a_deadlock() {
        let mut world = world(2);
        tell(&mut world, 0, at_lock(0));
        tell(&mut world, 1, waiting(0, 1));
        for tries in [3, 3, 3, 3] {
            assert_eq!(round(&mut world, &[at_lock(tries), waiting(0, 1)]), []);
        }
        let out = round(&mut world, &[at_lock(4), waiting(0, 1)]);
        assert_eq!(released(&out), [(0, None), (1, None)]);
        assert_eq!(world.deadlock[0].what, "a lock of \"f\"");
    }

    #[test]
    fn a_rank_that_gets_its_lock_is_not_in_a_deadlock() {
        let mut world = world(2);
        tell(&mut world, 0, at_lock(0));
        tell(&mut world, 1, at_lock(0));
        for tries in 1..9 {
            let other = Status { epoch: tries, ..at_lock(tries) };
            assert_eq!(round(&mut world, &[at_lock(tries), other]), []);
        }
    }

    #[test]
    fn two_rounds_find_a_deadlock() {
        let answers = [waiting(1, 2), ended([0, 0], End::Finished), barrier([1, 0], 0)];
        let mut world = Coordinator::new(3, &[(0..3).into(), (0..2).into()]);
        tell(&mut world, 0, answers[0].clone());
        tell(&mut world, 2, barrier([0, 0], 0));
        assert_eq!(round(&mut world, &answers), [], "rank 1 still runs");
        tell(&mut world, 1, ended([1, 0], End::Finished));
        let answers = [waiting(1, 2), ended([1, 0], End::Finished), barrier([1, 0], 0)];
        assert_eq!(released(&round(&mut world, &answers)), []);
        let out = round(&mut world, &answers);
        assert_eq!(released(&out), [(0, None), (2, None)]);
        let told: Vec<&str> = world.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        assert_eq!(told, ["the signal \"go\" (1 of 2)", "a barrier"]);
        assert_eq!(round(&mut world, &answers), [], "nobody is asked before they have answered");
    }

    #[test]
    fn members_before_different_calls_are_released_when_all_have_said_so() {
        let apart = |what| {
            let doing = Doing::AtBarrier { set: 1, site: 7, what, apart: true };
            Status { doing, started: vec![0, 1], epoch: 3, ..Status::default() }
        };
        // Rank 2 is no member and goes on.
        let mut world = world(3);
        assert_eq!(tell(&mut world, 0, apart(Some(Joint::Op(model::Op::Pfwrite)))), []);
        let out = tell(&mut world, 1, apart(None));
        assert_eq!(released(&out), [(0, None), (1, None)]);
        let told: Vec<&str> = world.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        assert_eq!(told, ["the other members of pfwrite", "a barrier"]);
        assert_eq!(tell(&mut world, 0, apart(None)), [], "they are told once");
    }

    #[test]
    fn what_is_under_way_or_moves_is_no_deadlock() {
        let sent = Status { sent: 1, ..ended([0, 0], End::Finished) };
        for answers in [
            // A signal is under way.
            [waiting(0, 1), sent.clone()],
            // The barrier is complete.
            [barrier([1, 1], 1), barrier([1, 1], 1)],
            // The wait is over.
            [waiting(1, 1), ended([0, 0], End::Finished)],
        ] {
            let mut world = world(2);
            for (status, rank) in answers.iter().zip(0..) {
                tell(&mut world, rank, status.clone());
            }
            for _ in 0..3 {
                assert_eq!(released(&round(&mut world, &answers)), []);
            }
        }
        // Another wait than in the round before.
        let mut world = world(1);
        tell(&mut world, 0, waiting(0, 1));
        for epoch in 0..3 {
            let answer = Status { epoch, ..waiting(0, 1) };
            assert_eq!(released(&round(&mut world, &[answer])), []);
        }
    }

    #[test]
    fn one_interrupt_reaches_everybody_once() {
        let mut world = world(2);
        let out = tell(&mut world, 1, ended([0, 0], End::Interrupted));
        assert_eq!(out, [(0, Message::Interrupt), (1, Message::Interrupt)]);
        assert_eq!(tell(&mut world, 0, ended([0, 0], End::Interrupted)), []);
        assert_eq!(world.ends(), [End::Interrupted, End::Interrupted]);
    }

    #[test]
    fn the_latest_word_of_every_machine_counts() {
        let mut world = world(4);
        let mut out = Vec::new();
        let done = |operations| Standing { operations, ..Standing::default() };
        for (from, operations, silent) in [(2, 6, 1), (0, 5, 0), (2, 7, 0)] {
            world.take(from, Message::Progress(done(operations)), &mut out);
            assert_eq!(world.progress(&[0, 0, 1, 1]).silent, silent);
        }
        let nodes = vec![(0, done(5)), (1, done(7))];
        let all = Sample { all: done(12), running: 4, nodes, ..Sample::default() };
        assert_eq!(world.progress(&[0, 0, 1, 1]), all);
        assert_eq!(out, []);
    }
}
