//! Messages between ranks while a program runs, packed into words.
//!
//! ```text
//! any rank ──Signal──▶ members of a group
//! any rank ──Status, Interrupt──▶ coordinator (rank 0) ──Release, Interrupt──▶ ranks
//! ```

use engine::comm::{End, Joint};
use model::plan::{Pc, SetId};
use serde::{Deserialize, Serialize};

/// Longest name of a signal or a file in a message, bytes: people read it, nothing else.
const NAME_BYTES: usize = 256;
/// Words of a status without its counts: packed numbers take up to 10 bytes, and each byte of a name
/// that is not UTF-8 becomes 3.
const STATUS_WORDS: usize = 16 + 3 * NAME_BYTES / 8;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// A counter grows by 1.
    Signal { key: u64 },
    /// The state of a rank.
    Status(Status),
    /// The wait of this epoch can never end; the rank that is to blame and how it ended.
    Release { epoch: u64, blame: Option<(u32, End)> },
    /// Stop at the next statement.
    Interrupt,
}

/// The state of a rank, and how far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    pub(super) doing: Doing,
    /// Number of waits that it has finished.
    pub(super) epoch: u64,
    /// Barriers that it has come to, by set.
    pub(super) barriers: Vec<u32>,
}

/// The state of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    #[default]
    Running,
    /// It waits for the other members of a set, at a barrier or before a collective call.
    AtBarrier { set: SetId, site: Pc, what: Option<Joint> },
    /// It waits for a signal that was given `count` times until it is given `target` times.
    AtWait { site: Pc, count: u64, target: u64, name: String },
    /// It waits for a lock of a file.
    AtLock { site: Pc, name: String },
    /// It has ended its program.
    Ended(End),
}

impl Message {
    /// Words of the longest message for a plan with this number of sets.
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

    /// `None` for words that [`Message::encode`] has not made.
    pub(super) fn decode(words: &[i64]) -> Option<Message> {
        let (count, words) = words.split_first()?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        postcard::from_bytes(bytes.get(..usize::try_from(*count).ok()?)?).ok()
    }
}

/// The name of a signal or a file, cut to the length that messages have room for.
pub(super) fn short_name(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let status =
            |doing| Message::Status(Status { doing, epoch: u64::MAX, barriers: vec![u32::MAX; 9] });
        let name = short_name(&[0xff; 1000]);
        let what = Some(Joint::Op(model::Op::Pfwrite));
        for message in [
            Message::Signal { key: u64::MAX },
            Message::Release { epoch: 3, blame: Some((7, End::Killed(9))) },
            Message::Release { epoch: 0, blame: None },
            Message::Interrupt,
            status(Doing::Running),
            status(Doing::AtBarrier { set: 8, site: Pc::MAX, what }),
            status(Doing::AtWait { site: Pc::MAX, count: 1, target: u64::MAX, name: name.clone() }),
            status(Doing::AtLock { site: 0, name }),
            status(Doing::Ended(End::Released)),
        ] {
            let mut words = Vec::new();
            message.encode(&mut words);
            assert!(words.len() <= Message::max_words(9), "{message:?}");
            assert_eq!(Message::decode(&words), Some(message));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_words_can_be_decoded(words in proptest::collection::vec(-2..12i64, 0..30)) {
            let _ = Message::decode(&words);
        }
    }
}
