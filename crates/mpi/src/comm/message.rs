//! What ranks tell each other while a program runs, as words.
//!
//! ```text
//! any rank ──Signal──▶ members of a group
//! any rank ──Status, Progress──▶ coordinator (rank 0) ──Probe, Release, Interrupt──▶ ranks
//! ```

use engine::comm::End;
use model::Op;
use model::plan::{Pc, SetId};

/// Longest name of a signal in a message, bytes: it is shown to people only.
const NAME_BYTES: usize = 256;
/// Words of a status without its counts.
const STATUS_WORDS: usize = 13 + NAME_BYTES / 8;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A counter grows by 1.
    Signal { key: u64 },
    /// What a rank is doing.
    Status(Status),
    /// Tell me what you are doing.
    Probe { round: u64 },
    /// What you wait for in this epoch can never come; the rank to blame.
    Release { epoch: u64, blame: Option<(u32, End)> },
    /// Stop at your next statement.
    Interrupt,
    /// How far a rank is.
    Progress { label_depth: u32, operations: u64 },
}

/// What a rank is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The probe this answers; 0: told unasked.
    pub(super) round: u64,
    pub(super) doing: Doing,
    /// Number of waits it has ended.
    pub(super) epoch: u64,
    /// Signals sent and received so far.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Barriers and agreements it has started, by set.
    pub(super) started: Vec<u32>,
}

/// What a rank is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Running,
    /// It waits for the other members of a set, at a barrier or before a call that they make
    /// together. `apart`: they have come, but to different calls.
    AtBarrier { set: SetId, site: Pc, op: Option<Op>, apart: bool },
    /// It waits for a signal.
    AtWait { site: Pc, count: u64, target: u64, name: String },
    /// It has ended its program.
    Ended(End),
}

impl Message {
    /// Words that the longest message can have. `sets`: those of the plan.
    pub(super) fn max_words(sets: usize) -> usize {
        STATUS_WORDS + sets
    }

    pub(super) fn encode(&self, words: &mut Vec<i64>) {
        words.clear();
        match self {
            Message::Signal { key } => words.extend([0, *key as i64]),
            Message::Status(status) => status.encode(words),
            Message::Probe { round } => words.extend([2, *round as i64]),
            Message::Release { epoch, blame } => {
                let (rank, end) = blame.clone().unwrap_or((u32::MAX, End::Lost));
                words.extend([3, *epoch as i64, i64::from(rank)]);
                words.extend(end_words(&end));
            }
            Message::Interrupt => words.push(4),
            Message::Progress { label_depth, operations } => {
                words.extend([5, i64::from(*label_depth), *operations as i64]);
            }
        }
    }

    /// `None`: not a message of ours.
    pub(super) fn decode(words: &[i64]) -> Option<Message> {
        Some(match words {
            [0, key] => Message::Signal { key: *key as u64 },
            [1, rest @ ..] => Message::Status(Status::decode(rest)?),
            [2, round] => Message::Probe { round: *round as u64 },
            [3, epoch, rank, end @ ..] => {
                let rank = u32::try_from(*rank).ok()?;
                let end = end_of(end.try_into().ok()?);
                let blame = (rank != u32::MAX).then_some((rank, end));
                Message::Release { epoch: *epoch as u64, blame }
            }
            [4] => Message::Interrupt,
            [5, depth, operations] => Message::Progress {
                label_depth: u32::try_from(*depth).ok()?,
                operations: *operations as u64,
            },
            _ => return None,
        })
    }
}

impl Status {
    fn encode(&self, words: &mut Vec<i64>) {
        words.extend([1, self.round, self.epoch, self.sent, self.received].map(|word| word as i64));
        let (doing, name) = match &self.doing {
            Doing::Running => ([0, 0, 0, 0], ""),
            Doing::AtBarrier { set, site, op, apart } => {
                let op = op.map_or(0, |op| 1 + i64::from(op as u8));
                let at = [i64::from(*set), i64::from(*site)];
                ([1, at[0], at[1], op << 1 | i64::from(*apart)], "")
            }
            Doing::AtWait { site, count, target, name } => {
                ([2, i64::from(*site), *count as i64, *target as i64], name.as_str())
            }
            Doing::Ended(end) => {
                let [kind, signal] = end_words(end);
                ([3, kind, signal, 0], "")
            }
        };
        words.extend(doing);
        words.push(self.started.len() as i64);
        words.extend(self.started.iter().map(|count| i64::from(*count)));
        let name = &name.as_bytes()[..name.len().min(NAME_BYTES)];
        words.push(name.len() as i64);
        words.extend(name.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            i64::from_ne_bytes(word)
        }));
    }

    fn decode(words: &[i64]) -> Option<Status> {
        let (&[round, epoch, sent, received, kind, a, b, c, sets], rest) =
            words.split_first_chunk()?;
        let (started, rest) = rest.split_at_checked(usize::try_from(sets).ok()?)?;
        let started =
            started.iter().map(|count| u32::try_from(*count).ok()).collect::<Option<_>>()?;
        let (name_bytes, name) = rest.split_first()?;
        let name: Vec<u8> = name.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let name = name.get(..usize::try_from(*name_bytes).ok()?)?;
        let doing = match kind {
            0 => Doing::Running,
            1 => Doing::AtBarrier {
                set: a as SetId,
                site: b as Pc,
                op: u8::try_from((c >> 1) - 1).ok().and_then(Op::from_u8),
                apart: c & 1 != 0,
            },
            2 => Doing::AtWait {
                site: a as Pc,
                count: b as u64,
                target: c as u64,
                name: String::from_utf8_lossy(name).into_owned(),
            },
            3 => Doing::Ended(end_of([a, b])),
            _ => return None,
        };
        let [round, epoch, sent, received] = [round, epoch, sent, received].map(|word| word as u64);
        Some(Status { round, doing, epoch, sent, received, started })
    }
}

fn end_words(end: &End) -> [i64; 2] {
    match end {
        End::Finished => [0, 0],
        End::Failed => [1, 0],
        End::Interrupted => [2, 0],
        End::Released => [3, 0],
        End::Killed(signal) => [4, i64::from(*signal)],
        End::Lost => [5, 0],
    }
}

fn end_of(words: [i64; 2]) -> End {
    match words {
        [0, _] => End::Finished,
        [1, _] => End::Failed,
        [2, _] => End::Interrupted,
        [3, _] => End::Released,
        [4, signal] => End::Killed(signal as i32),
        _ => End::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends() -> impl Strategy<Value = End> {
        prop_oneof![
            Just(End::Finished),
            Just(End::Failed),
            Just(End::Interrupted),
            Just(End::Released),
            Just(End::Lost),
            (1..64).prop_map(End::Killed),
        ]
    }

    fn doings() -> impl Strategy<Value = Doing> {
        prop_oneof![
            Just(Doing::Running),
            any::<(SetId, Pc, Option<u8>, bool)>().prop_map(|(set, site, op, apart)| {
                Doing::AtBarrier { set, site, op: op.and_then(Op::from_u8), apart }
            }),
            ends().prop_map(Doing::Ended),
            ("[ -~]{0,30}", any::<(Pc, u64, u64)>()).prop_map(|(name, (site, count, target))| {
                Doing::AtWait { site, count, target, name }
            }),
        ]
    }

    fn messages() -> impl Strategy<Value = Message> {
        let status = (doings(), any::<[u64; 4]>(), prop::collection::vec(any::<u32>(), 0..9));
        prop_oneof![
            any::<u64>().prop_map(|key| Message::Signal { key }),
            any::<u64>().prop_map(|round| Message::Probe { round }),
            (any::<u64>(), prop::option::of((0..u32::MAX, ends())))
                .prop_map(|(epoch, blame)| Message::Release { epoch, blame }),
            Just(Message::Interrupt),
            any::<(u32, u64)>().prop_map(|(label_depth, operations)| {
                Message::Progress { label_depth, operations }
            }),
            status.prop_map(|(doing, [round, epoch, sent, received], started)| {
                Message::Status(Status { round, doing, epoch, sent, received, started })
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives(message in messages()) {
            let mut words = Vec::new();
            message.encode(&mut words);
            prop_assert!(words.len() <= Message::max_words(9));
            prop_assert_eq!(Message::decode(&words), Some(message));
        }

        #[test]
        fn any_words_are_taken(words in prop::collection::vec(-2..12i64, 0..30)) {
            let _ = Message::decode(&words);
        }
    }
}
