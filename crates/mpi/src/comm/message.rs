//! What ranks tell each other while a program runs, packed into words.
//!
//! ```text
//! any rank ──Signal──▶ members of a group
//! any rank ──Status, Progress──▶ coordinator (rank 0) ──Probe, Release, Interrupt──▶ ranks
//! ```

use engine::comm::{End, Joint, Standing};
use model::plan::{Pc, SetId};
use serde::{Deserialize, Serialize};

/// Longest name of a signal or a label in a message, bytes: it is shown to people only.
const NAME_BYTES: usize = 256;
/// Words of a status without its counts: packed numbers take up to 10 bytes, and each byte of a name
/// that is not UTF-8 becomes 3.
const STATUS_WORDS: usize = 16 + 3 * NAME_BYTES / 8;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How far the ranks of a machine are.
    Progress(Standing),
}

/// What a rank is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    #[default]
    Running,
    /// It waits for the other members of a set, at a barrier or before a call that they make
    /// together. `apart`: they have come, but to different calls.
    AtBarrier { set: SetId, site: Pc, what: Option<Joint>, apart: bool },
    /// It waits for a signal.
    AtWait { site: Pc, count: u64, target: u64, name: String },
    /// It waits for a lock of a file, and has tried so often to get it.
    AtLock { site: Pc, name: String, tries: u64 },
    /// It has ended its program.
    Ended(End),
}

impl Message {
    /// Words that the longest message can have. `sets`: those of the plan.
    pub(super) fn max_words(sets: usize) -> usize {
        STATUS_WORDS + sets
    }

    /// The number of bytes, then the bytes.
    pub(super) fn encode(&self, words: &mut Vec<i64>) {
        // Packing into memory cannot fail.
        let bytes = postcard::to_stdvec(self).unwrap_or_default();
        words.clear();
        words.push(bytes.len() as i64);
        words.extend(bytes.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            i64::from_ne_bytes(word)
        }));
    }

    /// `None`: not a message of ours.
    pub(super) fn decode(words: &[i64]) -> Option<Message> {
        let (count, words) = words.split_first()?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        postcard::from_bytes(bytes.get(..usize::try_from(*count).ok()?)?).ok()
    }
}

/// The name of a signal or a label as messages have it.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::comm::Slowest;
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
                let what = op.and_then(model::Op::from_u8).map(Joint::Op);
                Doing::AtBarrier { set, site, what, apart }
            }),
            ends().prop_map(Doing::Ended),
            ("[ -~]{0,30}", any::<(Pc, u64, u64)>()).prop_map(|(name, (site, count, target))| {
                Doing::AtWait { site, count, target, name }
            }),
            ("[ -~]{0,30}", any::<(Pc, u64)>()).prop_map(|(name, (site, tries))| Doing::AtLock {
                site,
                name,
                tries
            }),
        ]
    }

    fn standings() -> impl Strategy<Value = Standing> {
        let slowest = any::<(u32, u64, u64)>();
        let slowest = slowest.prop_map(|(rank, done, all)| Slowest { rank, done, all });
        let label = prop::collection::vec(any::<u8>(), 0..1000).prop_map(|path| shown(&path));
        let label = prop::option::of((label, any::<u32>()));
        let sums = any::<(u64, u64, Option<u64>)>();
        (sums, label, prop::option::of(slowest)).prop_map(
            |((at_ns, operations, bytes), label, slowest)| Standing {
                at_ns,
                operations,
                bytes,
                label,
                slowest,
            },
        )
    }

    fn messages() -> impl Strategy<Value = Message> {
        let status = (doings(), any::<[u64; 4]>(), prop::collection::vec(any::<u32>(), 0..9));
        prop_oneof![
            any::<u64>().prop_map(|key| Message::Signal { key }),
            any::<u64>().prop_map(|round| Message::Probe { round }),
            (any::<u64>(), prop::option::of((0..u32::MAX, ends())))
                .prop_map(|(epoch, blame)| Message::Release { epoch, blame }),
            Just(Message::Interrupt),
            standings().prop_map(Message::Progress),
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
