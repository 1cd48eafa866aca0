//! Where the bytes of a label came from and went to: what the rows do not tell.
//!
//! Block [`Kind::Traffic`]: label | directory << 32, then one word for each [`Count`].

use super::area::Area;
use super::layout::{Kind, pair};
use model::directory::DIRECTORIES_MAX;
use model::event::NO_ID;

/// What is counted of a label. Bytes, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Count {
    /// Written through the page cache, and not made stable within the same occurrence.
    Unstable,
    /// Read with O_DIRECT.
    DirectRead,
    /// Fetched from storage while the label, or another one shortly before or after it, read:
    /// an upper bound.
    Fetched,
    /// Files opened for reading; a number.
    Opened,
    /// Sizes of the files among them that were looked at and are read through the page cache.
    Looked,
    /// What the page cache held of those.
    Cached,
    /// Sizes of the files whose extents were looked at.
    Mapped,
    /// What of those lies in holes or in extents that were never written.
    Holes,
    /// What of those is stored in another form: compressed, encrypted.
    Encoded,
    /// Names that were looked up; a number.
    Names,
    /// Of those, the ones that were looked for in the name cache before; a number.
    LookedNames,
    /// Of those, the ones that were in it; a number.
    CachedNames,
    /// Calls that were handed over to a queue in which others may be under way; a number, as what
    /// follows.
    Queued,
    /// Of those, the ones that had ended when the call returned that handed them over.
    AtOnce,
    /// How often something was handed over.
    HandedOver,
    /// Bytes that were filled to be verified later.
    Filled,
    /// The time that took, nanoseconds.
    FillNs,
    /// Bytes that were read and checked.
    Checked,
    /// The time that took, nanoseconds.
    CheckNs,
    /// Of the checked bytes, zeros where the rank knows of no write.
    Zeros,
    /// Places of those; a number.
    ZeroPlaces,
    /// Wrong places of [`crate::verify::Kind::Lost`]; a number, as what follows.
    Lost,
    /// Of [`crate::verify::Kind::Stale`].
    Stale,
    /// Of [`crate::verify::Kind::Torn`].
    Torn,
    /// Of [`crate::verify::Kind::Foreign`].
    Foreign,
    /// Of [`crate::verify::Kind::Corrupted`].
    Corrupted,
    /// Written and read in the directory; counted where there are several.
    Written,
    /// See [`Count::Written`].
    Read,
    /// Operations of `engine="null"`; a number.
    Nulled,
    /// Of those, bytes that count as written, and as read.
    NullWritten,
    /// See [`Count::NullWritten`].
    NullRead,
    /// Bytes that were filled without being verified: a sample, each counted as often as it stands for others.
    MadeSample,
    /// The time that took, nanoseconds.
    MadeSampleNs,
    /// How often the page cache was dropped; a number.
    Drops,
    /// How often that was refused; a number.
    DropsRefused,
    /// Sizes of open files after that.
    DropLooked,
    /// What of those stayed in the page cache.
    DropKept,
    /// How often files were said to be needed no more; a number.
    Advised,
    /// Sizes of those that were looked at then.
    AdviceLooked,
    /// What of those stayed in the page cache.
    AdviceKept,
    /// Loops that their time limit ended, and times the label was entered inside of a loop with a limit; a number.
    Timed,
}

impl Count {
    /// Number of counts.
    pub const COUNT: usize = 41;
}

/// The run directory and further ones.
const DIRECTORIES: usize = 1 + DIRECTORIES_MAX;

/// Words of a block.
pub(super) const TRAFFIC_WORDS: usize = 1 + Count::COUNT;

/// Where a label's traffic is counted; stays valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficId(u32);

impl TrafficId {
    /// Nowhere: there was no room, or nobody has asked yet.
    pub fn is_nowhere(self) -> bool {
        self.0 == 0
    }
}

/// The blocks of a recorder.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// By label, and by directory.
    blocks: Vec<[TrafficId; DIRECTORIES]>,
    /// Of what stands in no label.
    outside: [TrafficId; DIRECTORIES],
}

impl Traffic {
    /// The counters of a label ([`NO_ID`]: of none) in a directory; 0 is the run directory.
    pub(super) fn of(&mut self, area: &mut Area, label: u32, directory: u32) -> TrafficId {
        let (at, known) = (label as usize, self.blocks.len());
        if label != NO_ID && at >= known {
            self.blocks.resize(at + 1, [TrafficId::default(); DIRECTORIES]);
        }
        let blocks = if label == NO_ID { &mut self.outside } else { &mut self.blocks[at] };
        let block = &mut blocks[directory as usize];
        if block.is_nowhere() {
            let key = pair(label, directory);
            let at = area.append(Kind::Traffic, TRAFFIC_WORDS, |words| words[0] = key);
            *block = TrafficId(at.unwrap_or(0));
        }
        *block
    }
}

/// A counter of a block; `None`: nowhere.
#[inline(always)]
pub(super) fn word(area: &mut Area, block: TrafficId, count: Count) -> Option<&mut u64> {
    let words = (!block.is_nowhere()).then(|| area.array::<TRAFFIC_WORDS>(block.0))?;
    Some(&mut words[1 + count as usize])
}
