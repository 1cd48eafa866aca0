//! Messages between ranks while a program runs, and rank 0's second task: releasing ranks from waits that can
//! never end.
//!
//! ```text
//! any rank ──Signal──▶ members of a group
//! any rank ──Status, Interrupt──▶ coordinator (rank 0) ──Release, Interrupt──▶ ranks
//! ```
//!
//! Ranks report that they have ended, and that they have waited for long. When all of them wait or have ended
//! and nothing changes for `--timeout`, or for two seconds once a rank has ended, the waiting ranks are
//! released, and named with their places. The rehearsal of a program finds deadlocks before; this one ends a
//! job that would hang.

use engine::comm::{Activity, End, blame};
use model::RankSet;
use model::plan::{Pc, SetId};
use serde::{Deserialize, Serialize};

/// Longest text in a message, bytes: people read it, nothing else.
const TEXT_BYTES: usize = 256;
/// Bytes of the longest message: each byte of a text that is not UTF-8 becomes 3.
pub(crate) const MESSAGE_BYTES: usize = 64 + 3 * TEXT_BYTES;
/// The timeout after a rank has ended: what the others wait for will hardly come.
const AFTER_END_NS: u64 = 2_000_000_000;

/// Messages and their receivers.
pub(crate) type Letters = Vec<(u32, Message)>;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A counter grows by 1.
    Signal { key: u64 },
    /// The state of a rank.
    Status(Status),
    /// The wait of this epoch can never end; the rank that is to blame and how it ended.
    Release { epoch: u64, blame: Option<(u32, End)> },
    /// Stop at the next statement.
    Interrupt,
}

/// The state of a rank, and the number of waits that it has finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) doing: Doing,
    pub(crate) epoch: u64,
}

/// The state of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Doing {
    #[default]
    Running,
    /// It waits: `what` in words, and the set whose other members it waits for.
    Waits { site: Pc, what: String, set: Option<SetId> },
    /// It has ended its program.
    Ended(End),
}

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Packing into memory cannot fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// `None` for bytes that [`Message::encode`] has not made.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Message> {
        postcard::from_bytes(bytes).ok()
    }
}

/// The name of a signal or a file, cut so that messages have room for it.
pub(crate) fn short_name(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(TEXT_BYTES - 64)]).into_owned()
}

/// State of all ranks, on rank 0. Messages and the time go in, messages come out.
pub(crate) struct Coordinator {
    sets: Vec<RankSet>,
    ranks: Vec<Status>,
    /// By rank: it was released from the wait that it has reported.
    released: Vec<bool>,
    timeout_ns: u64,
    /// When a rank last reported something.
    changed_ns: u64,
    interrupted: bool,
    /// The waits from which ranks were released although no rank is to blame.
    pub(crate) deadlock: Vec<Activity>,
}

impl Coordinator {
    pub(crate) fn new(ranks: u32, sets: &[RankSet], timeout_ns: u64) -> Coordinator {
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
    pub(crate) fn receive(&mut self, from: u32, status: Status, now_ns: u64, out: &mut Letters) {
        let at = from as usize;
        self.changed_ns = now_ns;
        self.released[at] &= status.epoch == self.ranks[at].epoch;
        if status.doing == Doing::Ended(End::Interrupted) {
            self.interrupt(out);
        }
        self.ranks[at] = status;
    }

    /// Somebody asked the run to stop: all ranks learn it, once.
    pub(crate) fn interrupt(&mut self, out: &mut Letters) {
        if !std::mem::replace(&mut self.interrupted, true) {
            out.extend((0..self.ranks.len() as u32).map(|rank| (rank, Message::Interrupt)));
        }
    }

    /// Called now and then: releases all ranks if nothing has changed for too long while nobody runs.
    pub(crate) fn look(&mut self, now_ns: u64, out: &mut Letters) {
        let mut states = self.ranks.iter().map(|status| &status.doing);
        if self.interrupted || states.clone().any(|doing| *doing == Doing::Running) {
            return;
        }
        let timeout_ns = match states.any(|doing| matches!(doing, Doing::Ended(_))) {
            true => self.timeout_ns.min(AFTER_END_NS),
            false => self.timeout_ns,
        };
        if now_ns.saturating_sub(self.changed_ns) > timeout_ns {
            (0..self.ranks.len() as u32).for_each(|rank| self.release(rank, out));
        }
    }

    /// Releases a rank that waits: a member of the set that has ended is to blame, or nobody.
    fn release(&mut self, rank: u32, out: &mut Letters) {
        let Status { doing: Doing::Waits { site, what, set }, epoch } = &self.ranks[rank as usize]
        else {
            return;
        };
        if std::mem::replace(&mut self.released[rank as usize], true) {
            return;
        }
        let members = set.iter().flat_map(|set| self.sets[*set as usize].iter());
        let blame = blame(members.filter_map(|member| Some((member, self.end(member)?))));
        if blame.is_none() {
            self.deadlock.push(Activity { rank, site: *site, what: what.clone() });
        }
        out.push((rank, Message::Release { epoch: *epoch, blame }));
    }

    fn end(&self, rank: u32) -> Option<End> {
        match &self.ranks[rank as usize].doing {
            Doing::Ended(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// How the ranks have ended; a rank that has not reported it is lost.
    pub(crate) fn ends(&self) -> Vec<End> {
        (0..self.ranks.len() as u32).map(|rank| self.end(rank).unwrap_or(End::Lost)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT_NS: u64 = 60_000_000_000;

    fn coordinator(ranks: u32) -> Coordinator {
        Coordinator::new(ranks, &[(0..ranks).into(), (0..2).into()], TIMEOUT_NS)
    }

    fn waits(what: &str, set: Option<SetId>) -> Doing {
        Doing::Waits { site: 7, what: what.into(), set }
    }

    fn report(coordinator: &mut Coordinator, from: u32, doing: Doing) -> Letters {
        let mut out = Vec::new();
        coordinator.receive(from, Status { doing, epoch: 0 }, 0, &mut out);
        out
    }

    fn look(coordinator: &mut Coordinator, now_ns: u64) -> Letters {
        let mut out = Vec::new();
        coordinator.look(now_ns, &mut out);
        out
    }

    fn release(rank: u32, blame: Option<(u32, End)>) -> (u32, Message) {
        (rank, Message::Release { epoch: 0, blame })
    }

    #[test]
    fn an_ended_member_is_to_blame_for_its_set() {
        let mut ranks = coordinator(3);
        report(&mut ranks, 0, waits("a barrier", Some(0)));
        report(&mut ranks, 1, waits("a barrier", Some(1)));
        report(&mut ranks, 2, Doing::Ended(End::Failed));
        assert_eq!(look(&mut ranks, AFTER_END_NS), []);
        let out = look(&mut ranks, AFTER_END_NS + 1);
        assert_eq!(out, [release(0, Some((2, End::Failed))), release(1, None)]);
        assert_eq!(look(&mut ranks, TIMEOUT_NS), [], "released once");
        assert_eq!(ranks.deadlock.len(), 1);
    }

    #[test]
    fn ranks_that_all_wait_are_released_after_the_timeout() {
        let mut ranks = coordinator(2);
        report(&mut ranks, 0, waits("the signal \"go\" (1 of 2)", None));
        assert_eq!(look(&mut ranks, 2 * TIMEOUT_NS), [], "rank 1 runs");
        report(&mut ranks, 1, waits("a barrier", Some(0)));
        assert_eq!(look(&mut ranks, TIMEOUT_NS), []);
        assert_eq!(look(&mut ranks, TIMEOUT_NS + 1), [release(0, None), release(1, None)]);
        let what: Vec<&str> = ranks.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        assert_eq!(what, ["the signal \"go\" (1 of 2)", "a barrier"]);
    }

    #[test]
    fn one_interrupt_reaches_all_ranks_once() {
        let mut ranks = coordinator(2);
        let out = report(&mut ranks, 1, Doing::Ended(End::Interrupted));
        assert_eq!(out, [(0, Message::Interrupt), (1, Message::Interrupt)]);
        assert_eq!(report(&mut ranks, 0, Doing::Ended(End::Interrupted)), []);
        assert_eq!(ranks.ends(), [End::Interrupted, End::Interrupted]);
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let status = |doing| Message::Status(Status { doing, epoch: u64::MAX });
        let what = engine::comm::awaited_signal(&short_name(&[0xff; 1000]), u64::MAX, u64::MAX);
        for message in [
            Message::Signal { key: u64::MAX },
            Message::Release { epoch: 3, blame: Some((7, End::Killed(9))) },
            Message::Interrupt,
            status(Doing::Running),
            status(Doing::Waits { site: Pc::MAX, what, set: Some(SetId::MAX) }),
            status(Doing::Ended(End::Released)),
        ] {
            let bytes = message.encode();
            assert!(bytes.len() <= MESSAGE_BYTES, "{message:?}");
            assert_eq!(Message::decode(&bytes), Some(message));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_decoded(bytes in proptest::collection::vec(0..12u8, 0..60)) {
            let _ = Message::decode(&bytes);
        }
    }
}
