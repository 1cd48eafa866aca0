//! The format of an area: 64-bit words of the machine that wrote it.
//!
//! ```text
//! header     HEADER_WORDS words, see H_ constants
//! block      kind | payload words << 32, payload
//! block      ...                                     up to H_USED words
//! ```
//!
//! Texts are bytes padded with zeros to whole words. Ids count blocks of a kind
//! from 0 in order of appearance. Label 0 is [`MORE_LABEL`]; stat 0 takes operations
//! that found no room in a full area.

/// First word of an area: eight bytes, the same on every machine.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"PBRANK\r\n");
/// Tells the byte order of the writer.
pub const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;
/// Version of this format.
pub const VERSION: u64 = 3;

/// Words of the header.
pub const HEADER_WORDS: usize = 32;
/// Index of [`MAGIC`].
pub const H_MAGIC: usize = 0;
/// Index of [`BYTE_ORDER`].
pub const H_BYTE_ORDER: usize = 1;
/// Index of [`VERSION`].
pub const H_VERSION: usize = 2;
/// World rank | number of ranks << 32.
pub const H_RANK: usize = 3;
/// Words in use, the header included. Advanced when a block is complete.
pub const H_USED: usize = 4;
/// Number of complete blocks: lags `H_USED` by at most one.
pub const H_SEQUENCE: usize = 5;
/// [`super::State`].
pub const H_STATE: usize = 6;
/// Events that were not kept.
pub const H_DROPPED_EVENTS: usize = 7;
/// Nanoseconds spent on making room for events.
pub const H_EVENT_OVERHEAD_NS: usize = 8;
/// Executions of labels that went to [`MORE_LABEL`].
pub const H_LABELS_BEYOND: usize = 9;
/// Figures lost because the area could not grow.
pub const H_LOST: usize = 10;
/// Events left out because the sample did not choose them.
pub const H_LEFT_OUT_EVENTS: usize = 11;
/// Times between two readings of the clock of which the second showed less.
pub const H_CLOCK_BACKWARD: usize = 12;
/// Id of the innermost label that the rank is inside of, and one; 0: in none.
pub const H_INSIDE: usize = 13;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A label path: [`super::labels`].
    Label = 1,
    /// Figures of one label and operation: [`super::stats`].
    Stat = 2,
    /// Figures of the parts of a compound operation: [`super::stats`].
    Parts = 3,
    /// Counters of one octave of one histogram: [`super::histograms`].
    Chunk = 4,
    /// Early occurrences of a label: [`super::labels`].
    Occurrences = 5,
    /// Latest occurrences of a label: [`super::labels`].
    Ring = 6,
    /// Summary of a label's occurrences that were not kept: [`super::labels`].
    More = 7,
    /// Counters of [`SITES_PER_BLOCK`] neighbouring sites: [`super::sites`].
    Sites = 8,
    /// One failed operation: [`super::failures`].
    Failure = 9,
    /// All failed operations of a site: [`super::failures`].
    FailureCount = 10,
    /// Why the rank did not finish: [`super::failures`].
    RankError = 11,
    /// A path name: [`super::events`].
    Path = 12,
    /// Events: [`super::events`].
    Events = 13,
    /// What the rank used: [`super::recorder`].
    Usage = 14,
    /// How the rank's clock relates to rank 0's: [`super::recorder`]. The last one holds.
    Clock = 15,
    /// An MPI file as it was opened: [`super::files`].
    MpiFile = 16,
    /// When a label was executed whose occurrences were not all kept: [`super::busy`].
    Busy = 17,
    /// Where a label's bytes came from and went to: [`super::traffic`].
    Traffic = 18,
    /// Pieces of a file that events refer to: [`super::extents`].
    Extents = 19,
    /// What the rank had of work that was shared: [`super::shares`].
    Share = 20,
    /// Own times of operations that were due at a time: [`super::stats`].
    Service = 21,
    /// What became of a schedule of arrivals: [`super::arrivals`].
    Arrivals = 22,
    /// Where verified reads found zeros: [`super::zeros`].
    Zeros = 23,
}

impl Kind {
    const ALL: [Kind; 23] = [
        Kind::Label,
        Kind::Stat,
        Kind::Parts,
        Kind::Chunk,
        Kind::Occurrences,
        Kind::Ring,
        Kind::More,
        Kind::Sites,
        Kind::Failure,
        Kind::FailureCount,
        Kind::RankError,
        Kind::Path,
        Kind::Events,
        Kind::Usage,
        Kind::Clock,
        Kind::MpiFile,
        Kind::Busy,
        Kind::Traffic,
        Kind::Extents,
        Kind::Share,
        Kind::Service,
        Kind::Arrivals,
        Kind::Zeros,
    ];

    /// The kind with this number.
    pub fn from_u32(number: u32) -> Option<Kind> {
        Kind::ALL.get((number as usize).checked_sub(1)?).copied()
    }
}

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
/// Words of an occurrence: start, end, own time.
pub const OCCURRENCE_WORDS: usize = 3;
/// Intervals in which the occurrences of a label that were not kept were executed.
pub const BUSY_INTERVALS: usize = 1024;
/// Sites whose counters share a block.
pub const SITES_PER_BLOCK: usize = 16;
/// Failed operations kept per site.
pub const MAX_FAILURES_PER_SITE: u64 = 10;
/// Sites whose failed operations are kept; those of further ones are only counted.
pub const MAX_FAILING_SITES: usize = 4096;

/// Words that hold so many bytes.
pub fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Two halves in a word.
#[inline(always)]
pub fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The halves of a word.
#[inline(always)]
pub fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The bytes of words.
pub fn as_bytes(words: &[u64]) -> &[u8] {
    bytemuck::cast_slice(words)
}

/// Writes bytes into words; what is left of the words keeps its value.
pub fn put_bytes(words: &mut [u64], bytes: &[u8]) {
    bytemuck::cast_slice_mut(words)[..bytes.len()].copy_from_slice(bytes);
}
