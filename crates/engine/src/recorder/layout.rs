//! The format of an area: 64-bit words of the machine that wrote it.
//!
//! ```text
//! Header
//! block      kind, payload words, payload: a plain struct, then a tail where the kind has one
//! block      ...                                              up to `Header::used` words
//! ```
//!
//! Texts are bytes padded with zeros to whole words. Ids count blocks of a kind from 0 in order of
//! appearance. Label 0 is [`MORE_LABEL`]; stat 0 takes operations that found no room in a full area.

use bytemuck::{CheckedBitPattern, Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::clock::Alignment;
use crate::host::Usage;
use model::run::MpiFileFacts;

/// First word of an area: eight bytes, the same on every machine.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"PBRANK\r\n");
/// Read back as another number by a machine of another byte order.
pub const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;
/// Version of this format.
pub const VERSION: u64 = 5;

/// Label path of labels beyond the limits.
pub const MORE_LABEL: &[u8] = b"(more)";
/// Label paths of one rank, [`MORE_LABEL`] not counted.
pub const MAX_LABELS: usize = 4096;
/// Longest label path, bytes; a longer one goes to [`MORE_LABEL`].
pub const MAX_LABEL_BYTES: usize = 4096;
/// Occurrences of a label kept from the first on.
pub const KEPT_FIRST: u64 = 500;
/// Latest occurrences of a label kept.
pub const KEPT_LAST: u64 = 500;
/// One more than [`KEPT_LAST`]: a slot is filled before the oldest is given up.
pub const RING_SLOTS: u64 = KEPT_LAST + 1;
/// Intervals in which the occurrences of a label that were not kept were executed.
pub const BUSY_INTERVALS: usize = 1024;
/// Sites whose counters share a block.
pub const SITES_PER_BLOCK: usize = 16;
/// Failed operations kept per site.
pub const MAX_FAILURES_PER_SITE: u64 = 10;
/// Sites whose failed operations are kept; failures at further sites are only counted.
pub const MAX_FAILING_SITES: usize = 4096;

/// The first words of an area.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    /// `MAGIC`.
    pub magic: u64,
    /// `BYTE_ORDER`.
    pub byte_order: u64,
    /// `VERSION`.
    pub version: u64,
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the world.
    pub ranks: u32,
    /// Words in use, the header included. Advanced when a block is complete.
    pub used: u64,
    /// Number of complete blocks: lags `used` by at most one.
    pub sequence: u64,
    /// [`State`].
    pub state: u64,
    /// Events that were not kept.
    pub dropped_events: u64,
    /// Events left out because the sample did not choose them.
    pub left_out_events: u64,
    /// Nanoseconds spent on making room for events.
    pub event_overhead_ns: u64,
    /// Executions of labels that went to `MORE_LABEL`.
    pub labels_beyond_limit: u64,
    /// Figures lost because the area could not grow.
    pub lost: u64,
    /// How often the second of two clock readings was below the first.
    pub clock_backward: u64,
    /// Id of the innermost label that the rank is inside of, and one; 0: in none.
    pub inside: u64,
}

/// Words of the header.
pub const HEADER_WORDS: usize = words_of::<Header>();

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Kind {
    /// [`Label`], then its path.
    Label = 1,
    /// [`Stat`].
    Stat = 2,
    /// [`Times`].
    Times = 3,
    /// [`Chunk`].
    Chunk = 4,
    /// [`Occurrences`], then a [`Slot`] for each.
    Occurrences = 5,
    /// [`Busy`].
    Busy = 6,
    /// [`Sites`].
    Sites = 7,
    /// [`FailureCount`].
    FailureCount = 8,
    /// Bytes of a path name that events refer to (a word), then the path.
    Path = 9,
    /// Number of events (a word), then room for [`model::Event`].
    Events = 10,
    /// Number of extents of a file that events refer to (a word), then a [`model::pattern::Run`] for each run
    /// of equal ones. Blocks are numbered from 1.
    Extents = 11,
    /// [`Key`] and [`super::counters::Traffic`].
    Traffic = 12,
    /// [`Key`] and [`super::counters::ClaimedWork`].
    ClaimedWork = 13,
    /// [`Key`] and [`super::counters::Arrived`].
    Arrivals = 14,
    /// [`Zeros`], then the path.
    Zeros = 15,
    /// Bytes of a [`Message`] (a word), then the message, packed by postcard.
    Message = 16,
}

/// A label path.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Label {
    /// [`model::plan::LabelKind`].
    pub kind: u32,
    /// Length of the path.
    pub path_bytes: u32,
    /// Number of occurrences.
    pub count: u64,
    /// Start of the occurrence under way plus 1; 0: none is.
    pub entered: u64,
}

/// Exact figures of times whose distribution is in [`Chunk`]s.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Summary {
    /// Number of times.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The shortest; `u64::MAX` without any.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Summary {
    /// No times yet.
    pub const EMPTY: Summary = Summary { count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 };
}

/// Figures of one label and operation.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Stat {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// [`model::Op`].
    pub op: u32,
    /// Operations that did not fail: [`Owner::DONE`].
    pub done: Summary,
    /// Operations that failed, expectedly or not: [`Owner::FAILED`].
    pub failed_times: Summary,
    /// Operations that failed unexpectedly.
    pub failed: u64,
    /// Operations that failed as expected.
    pub expected: u64,
    /// Operations that were short; they did not fail.
    pub short: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Earliest start of those that did not fail; `u64::MAX` without any.
    pub first_ns: u64,
    /// Latest end of those that did not fail.
    pub last_ns: u64,
    /// The part of the sum of times that is no time of this rank in such operations: counted more than once,
    /// because they were under way together, or from when they were due to their start.
    pub overlap_ns: u64,
}

/// The stat or label that times belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Owner {
    /// Id of a stat, or of a label for [`Owner::MORE`].
    pub id: u32,
    /// One of the constants below.
    pub which: u32,
}

impl Owner {
    /// Operations of a stat that did not fail.
    pub const DONE: u32 = 0;
    /// Operations of a stat that failed, expectedly or not.
    pub const FAILED: u32 = 1;
    /// First of the parts of a stat, in order of [`model::Part`].
    pub const PARTS: u32 = 2;
    /// Occurrences of a label that were not kept.
    pub const MORE: u32 = 7;
    /// Own times of operations of a stat that were due at a time.
    pub const SERVICE: u32 = 8;
}

/// Times other than the two of a [`Stat`].
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Times {
    /// Stat or label.
    pub owner: Owner,
    /// Their exact figures.
    pub summary: Summary,
}

/// Counters of one octave of one histogram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Chunk {
    /// Stat or label.
    pub owner: Owner,
    /// Number of the octave: buckets from `SUB_BUCKETS` times it on.
    pub number: u64,
    /// Counters of the buckets.
    pub counts: [u64; model::histogram::SUB_BUCKETS],
}

/// Room for occurrences of a label. From [`KEPT_FIRST`] on it is a ring of [`RING_SLOTS`]: occurrence `i` lies
/// in slot `(i - KEPT_FIRST) % RING_SLOTS`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Occurrences {
    /// Label id.
    pub label: u64,
    /// Index of the first that was put here.
    pub first: u64,
}

/// An occurrence.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    /// Clock at its start.
    pub start_ns: u64,
    /// Clock at its end.
    pub end_ns: u64,
    /// Sum of the operations' own times inside.
    pub own_ns: u64,
}

/// When a label was executed, of the occurrences that were not kept one by one. The intervals may cover more
/// than the occurrences do, never less: also while a full block is being thinned out.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Busy {
    /// Label id.
    pub label: u64,
    /// Gaps between occurrences shorter than this were closed; 0: none.
    pub gap_ns: u64,
    /// Sum of the occurrences' wall times.
    pub sum_ns: u64,
    /// Number of intervals.
    pub count: u64,
    /// Start and end, ascending.
    pub intervals: [[u64; 2]; BUSY_INTERVALS],
}

/// Executions of neighbouring places in the program.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Sites {
    /// Number of the first one.
    pub first: u64,
    /// Counters of each.
    pub sites: [SiteCount; SITES_PER_BLOCK],
}

/// Executions of one place in the program.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct SiteCount {
    /// Executions.
    pub count: u64,
    /// Sum of their own times.
    pub busy_ns: u64,
}

/// All failed operations of a site.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct FailureCount {
    /// Instruction number.
    pub site: u64,
    /// Failed operations.
    pub count: u64,
}

/// The label and place that figures belong to.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Key {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// Instruction number, or for traffic the directory: 0 is the run directory, others are one more than their
    /// place in the plan.
    pub place: u32,
}

/// A range of zeros that verified reads found where the rank knows of no write.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Zeros {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// Length of the path.
    pub path_bytes: u32,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Facts that are written once, and rarely.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// One failed operation.
    Failure(FailureRecord),
    /// Why the rank did not finish: site and text.
    RankError(Option<u32>, String),
    /// Resources the rank used.
    Usage(Usage),
    /// How the rank's clock relates to rank 0's. The last one holds.
    Clock(Alignment),
    /// An MPI file as it was opened.
    MpiFile(MpiFileFacts),
    /// A figure that the program computed.
    Score(ScoreRecord),
}

impl Message {
    /// It may take the last words of a full area.
    pub fn is_about_the_end(&self) -> bool {
        matches!(self, Message::RankError(..) | Message::Usage(_) | Message::Clock(_))
    }
}

/// A figure that the program computed (`score`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreRecord {
    /// Its name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Unit of the value; "" without one.
    pub unit: String,
}

/// A failed operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Instruction number.
    pub site: u32,
    /// The operation.
    pub op: model::Op,
    /// Path as far as it is known.
    pub path: Vec<u8>,
    /// Position in the file.
    pub offset_bytes: u64,
    /// Linux errno.
    pub errno: u16,
    /// When the operation ended, nanoseconds of the run's clock.
    pub at_ns: u64,
    /// More from the back-end: class and text of an MPI error.
    pub detail: String,
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, CheckedBitPattern)]
#[repr(u64)]
pub enum State {
    /// It has not ended, or was killed.
    #[default]
    Running = 0,
    /// It reached the end of the program.
    Finished = 1,
    /// A failed evaluation or `--on-error stop` ended it.
    Failed = 2,
    /// It was asked to stop, or released because of another rank.
    Interrupted = 3,
}

/// Words of a struct.
pub const fn words_of<T: Pod>() -> usize {
    assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() <= 8);
    size_of::<T>() / 8
}

/// Words that hold this number of bytes.
pub const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// The first word of a block.
#[inline(always)]
pub fn block_head(kind: Kind, payload_words: usize) -> u64 {
    u64::from(kind as u32) | (payload_words as u64) << 32
}

/// Kind (a number) and payload words of a block, from its first word.
#[inline(always)]
pub fn split_head(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The kind with this number.
pub fn kind_of(number: u32) -> Option<Kind> {
    bytemuck::checked::try_cast(number).ok()
}

/// The bytes of words.
pub fn as_bytes(words: &[u64]) -> &[u8] {
    bytemuck::cast_slice(words)
}

/// Writes a text into words; what is left of the words keeps its value.
pub fn put_text(words: &mut [u64], text: &[u8]) {
    bytemuck::cast_slice_mut(words)[..text.len()].copy_from_slice(text);
}

/// The largest length up to a limit at which a text can be cut.
pub fn cut_at(text: &str, max_bytes: usize) -> usize {
    (0..=max_bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A struct at the start of words, and the words behind it.
pub fn split_off<T: Pod>(words: &[u64]) -> Option<(&T, &[u64])> {
    let (own, rest) = words.split_at_checked(words_of::<T>())?;
    Some((&bytemuck::cast_slice(own)[0], rest))
}
