//! Figures that are counted by label and a second number: the bytes of a label by directory, work that ranks
//! claim and schedules of arrivals by place in the program.

use super::area::{Area, At};
use super::layout::{Key, Kind, words_of};
use bytemuck::{Pod, Zeroable};
use model::merged;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A counter of a label. Bytes, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Count {
    /// Written through the page cache, and not fsynced within the same occurrence.
    Unstable,
    /// Read with O_DIRECT.
    DirectRead,
    /// Fetched from storage while the label, or another one shortly before or after it, read:
    /// an upper bound.
    Fetched,
    /// Files opened for reading; a number.
    Opened,
    /// Sizes of the sampled files among them that are read through the page cache.
    Looked,
    /// Bytes of those files in the page cache.
    Cached,
    /// Sizes of the files whose extents were sampled.
    Mapped,
    /// Bytes of those files in holes or in extents that were never written.
    Holes,
    /// Bytes of those files stored in another form: compressed, encrypted.
    Encoded,
    /// Names that were looked up; a number.
    Names,
    /// Looked-up names that were searched in the name cache before; a number.
    LookedNames,
    /// Looked-up names found there; a number.
    CachedNames,
    /// Calls that were handed over to a queue in which others may be under way; a number, as what
    /// follows.
    Queued,
    /// Calls that had ended when the call returned that handed them over.
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
    /// Checked bytes that were zeros where the rank knows of no write.
    Zeros,
    /// Places of those; a number.
    ZeroPlaces,
    /// Wrong places with zeros ([`crate::verify::Kind`]); a number, as the next two.
    WrongZeros,
    /// Wrong places with older data.
    WrongOlder,
    /// Wrong places with other data.
    WrongOther,
    /// Written and read in the directory; counted where there are several.
    Written,
    /// See [`Count::Written`].
    Read,
    /// Operations of `engine="null"`; a number.
    Nulled,
    /// Bytes of those operations that count as written, and as read.
    NullWritten,
    /// See [`Count::NullWritten`].
    NullRead,
    /// Bytes that were filled without being verified: a sample, each weighted by the bytes it represents.
    MadeSample,
    /// The time that took, nanoseconds.
    MadeSampleNs,
    /// The time it took to make memory for data while the program ran, nanoseconds.
    MemoryNs,
    /// How often the page cache was dropped; a number.
    Drops,
    /// How often that was refused; a number.
    DropsRefused,
    /// Sizes of open files after that.
    DropLooked,
    /// Bytes of those files that stayed in the page cache.
    DropKept,
    /// How often `fadvise` "dontneed" was called; a number.
    Advised,
    /// Sizes of the files sampled then.
    AdviceLooked,
    /// Bytes of those files that stayed in the page cache.
    AdviceKept,
    /// Loops that their time limit ended, and times the label was entered inside of a loop with a limit; a number.
    Timed,
}

impl Count {
    /// Number of counts.
    pub const COUNT: usize = 40;
}

merged! {
    /// The part of one rank in the executions of a `share` inside one label. Separate groups claim work at the
    /// same time: over ranks the longest time counts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
    #[repr(C)]
    pub struct ClaimedWork {
        /// Executions that ended; 0: the rank ended inside of one.
        pub executions: u64 => max,
        /// Members of the group, summed over executions.
        pub members: u64 => sum,
        /// Indices executed.
        pub indices: u64 => sum,
        /// Claims that gave indices.
        pub claims: u64 => sum,
        /// Operations executed.
        pub operations: u64 => sum,
        /// Bytes moved.
        pub bytes: u64 => sum,
        /// Indices, in thousandths, until the first member had nothing left.
        pub steady_milli_indices: u64 => sum,
        /// Operations until then, in thousandths.
        pub steady_milli_operations: u64 => sum,
        /// Bytes until then.
        pub steady_bytes: u64 => sum,
        /// Time at the end that this rank waited for the others.
        pub idle_ns: u64 => sum,
        /// From the first member's start to the end of all.
        pub whole_ns: u64 => max,
        /// From the first member's start until the first one had nothing left.
        pub steady_ns: u64 => max,
    }
}

/// How due times are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Process {
    /// Evenly.
    #[default]
    Fixed = 0,
    /// With exponential gaps.
    Poisson = 1,
    /// At times of a list.
    Times = 2,
}

impl Process {
    /// The process with this number, if there is one.
    pub(crate) fn from_u64(number: u64) -> Option<Process> {
        [Process::Fixed, Process::Poisson, Process::Times]
            .into_iter()
            .find(|process| *process as u64 == number)
    }

    /// Name in PPL.
    pub fn name(self) -> &'static str {
        match self {
            Process::Fixed => "fixed",
            Process::Poisson => "poisson",
            Process::Times => "times",
        }
    }
}

merged! {
    /// How a rank kept to its schedule of arrivals: the executions of one `with (rate=...)` inside one label.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
    #[repr(C)]
    pub struct Arrived {
        /// Executions.
        pub executions: u64 => max,
        /// How due times are drawn: [`Process`].
        pub process: u64 => max,
        /// Requested rate of the latest execution, thousandths of 1/s.
        pub asked_milli: u64 => sum,
        /// Operations that were started.
        pub operations: u64 => sum,
        /// Gaps between them: one less for each execution.
        pub gaps: u64 => sum,
        /// From when the first was due to when the last was.
        pub due_span_ns: u64 => sum,
        /// From the start of the first to the start of the last.
        pub start_span_ns: u64 => sum,
        /// How late they started, sum.
        pub late_ns: u64 => sum,
        /// How late the latest did.
        pub latest_ns: u64 => max,
        /// The most that were due at one time and not started.
        pub backlog_max: u64 => max,
        /// The number of those at the end of the worst execution.
        pub backlog_end: u64 => sum,
    }
}

/// Where the bytes of a label came from and went to, by [`Count`].
pub(crate) type Traffic = [u64; Count::COUNT];

/// Where a label's traffic is counted; stays valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficId(pub(crate) Option<At<Traffic>>);

impl TrafficId {
    /// There was no room, or nobody has requested it yet.
    pub fn is_nowhere(self) -> bool {
        self.0.is_none()
    }

    /// A counter; `None`: nowhere.
    #[inline(always)]
    pub(crate) fn word(self, area: &mut Area, count: Count) -> Option<&mut u64> {
        Some(&mut area.get(self.0?)[count as usize])
    }
}

/// Places of figures by label and second number.
pub(crate) type Keyed<T> = HashMap<(u32, u32), At<T>>;

impl ClaimedWork {
    /// Adds a later execution on the same rank.
    pub(crate) fn add_later(&mut self, later: &ClaimedWork) {
        add_words(self, later);
    }
}

impl Arrived {
    /// Adds a later execution on the same rank, whose rate holds.
    pub(crate) fn add_later(&mut self, later: &Arrived) {
        let before = *self;
        add_words(self, later);
        (self.process, self.asked_milli) = (later.process, later.asked_milli);
        self.latest_ns = before.latest_ns.max(later.latest_ns);
        self.backlog_max = before.backlog_max.max(later.backlog_max);
        self.backlog_end = before.backlog_end.max(later.backlog_end);
    }
}

/// The figures of a label and place, made when they are needed first.
pub(crate) fn find<T: Pod>(
    known: &mut Keyed<T>,
    area: &mut Area,
    kind: Kind,
    (label, place): (u32, u32),
) -> Option<At<T>> {
    if let Some(at) = known.get(&(label, place)) {
        return Some(*at);
    }
    let at = area.append_with(kind, &Key { label, place }, words_of::<T>(), |_| ())?;
    let at = at.behind(size_of::<Key>());
    known.insert((label, place), at);
    Some(at)
}

/// Adds word by word.
fn add_words<T: Pod>(sum: &mut T, more: &T) {
    let words = bytemuck::cast_slice_mut::<T, u64>(std::slice::from_mut(sum));
    for (sum, more) in
        words.iter_mut().zip(bytemuck::cast_slice::<T, u64>(std::slice::from_ref(more)))
    {
        *sum = sum.saturating_add(*more);
    }
}
