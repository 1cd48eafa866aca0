//! One executed operation as it is stored: a fixed-width record.
//!
//! Written by the engine (and later by trace import), read by reports.

use crate::op::Part;

/// Marks an absent path or label id.
pub const NO_ID: u32 = u32::MAX;

/// `requested_bytes` of a chmod whose mode the log does not tell: no mode is as large.
pub const MODE_UNKNOWN: u64 = NO_ID as u64;

/// `requested_bytes` of a rename that does not replace what is there, as the flag of renameat2(2).
pub const RENAME_NOREPLACE: u64 = 1;
/// The same of one by which two names change places.
pub const RENAME_EXCHANGE: u64 = 2;

/// How a rename deals with what is there, as a word of the language; `None`: it replaces that.
pub fn rename_word(requested_bytes: u64) -> Option<&'static str> {
    match requested_bytes {
        RENAME_NOREPLACE => Some("noreplace"),
        RENAME_EXCHANGE => Some("exchange"),
        _ => None,
    }
}

/// The operation failed with an errno that the program did not expect.
pub const FLAG_FAILED: u8 = 1;
/// The operation moved fewer bytes than requested because the file ended.
pub const FLAG_SHORT: u8 = 2;
/// The operation failed with an errno that `with (expect=...)` names.
pub const FLAG_EXPECTED: u8 = 4;

/// Nobody knows which bytes of the file the operation moved: those at a shared file pointer, or
/// pieces for which there was no memory.
pub const FLAG_UNPLACED: u8 = 8;

/// The call named no position: it worked at the one of its open instance and moved it, as read(2)
/// does and pread(2) does not. Only of imported logs.
pub const FLAG_AT_POSITION: u8 = 16;

/// The program set a time for the operation (`with (rate=...)`): `intended_start_ns`.
pub const FLAG_DUE: u8 = 32;

/// The same of the file that a copy reads: it read at the position of its open instance and moved
/// it. Only of imported logs.
pub const FLAG_FROM_POSITION: u8 = 64;
/// Allocating left the size of the file as it was (`fallocate` with "keep"). Only of imported logs.
pub const FLAG_KEEPS_SIZE: u8 = 128;

/// One executed operation. All times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Event {
    /// Number of the event on its rank, from 0, in order of start.
    pub seq: u64,
    /// Clock before the first back-end call.
    pub start_ns: u64,
    /// Clock after the last back-end call.
    pub end_ns: u64,
    /// When the operation was due; `start_ns` where the program sets no time for it.
    pub intended_start_ns: u64,
    /// Sum of the back-end calls' times: the operation's own time.
    pub busy_ns: u64,
    /// Position in the file, bytes; of several pieces that of the first; 0 where the operation
    /// has none.
    pub offset_bytes: u64,
    /// Position in the file that a copy reads, bytes; 0 elsewhere.
    pub from_bytes: u64,
    /// Bytes asked for; for "rest of the file" the bytes moved. Of truncations the size that is set, of
    /// chmod the mode ([`MODE_UNKNOWN`]), of rename the `RENAME_` flag.
    pub requested_bytes: u64,
    /// Bytes moved.
    pub done_bytes: u64,
    /// Times of the parts, by [`Part`]; all 0 for a simple operation.
    pub parts_ns: [u64; Part::COUNT],
    /// Site: the plan's instruction number.
    pub site: u32,
    /// Label path id in the rank's table; [`NO_ID`] outside every label.
    pub label: u32,
    /// Path id in the rank's table; of symlink the text that the link holds, of fcopy the file that is
    /// written.
    pub path: u32,
    /// Second path (rename, link, copy; of fcopy the file that is read); [`NO_ID`] where there is none.
    pub path2: u32,
    /// Linux errno; 0 for success.
    pub errno: u16,
    /// [`crate::Op`] as a number.
    pub op: u8,
    /// `FLAG_` bits.
    pub flags: u8,
    /// Thread of the rank that executed it; 0 for ranks of Parabench, which have one.
    pub thread: u32,
    /// Pieces of the file that were asked for, where they are several or a pattern's; else 0.
    pub pieces: u32,
    /// Number of an entry in the rank's table of extents, from 1; 0: none. The first extent of the entry is at
    /// `offset_bytes`, the others keep their distances from it.
    pub extents: u32,
}

/// Facts of an operation that only logs have, beside its [`Event`]. A record of fixed width, too: imports
/// sort them on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Details {
    /// Line of the log, from 1; of a call on two lines the one on which it begins. 0: the log has no
    /// lines.
    pub line: u64,
    /// Number of the log in `run.trace.logs`.
    pub log: u32,
    /// Number of the open instance (open file description): from its opening to its last close, over
    /// duplicates and processes. [`NO_ID`] for operations on names.
    pub instance: u32,
    /// The same of the file that fcopy reads; [`NO_ID`] elsewhere.
    pub instance2: u32,
    /// Number of the file: the same under all its names, another one for a new file under an old
    /// name. [`NO_ID`] where it is unknown.
    pub file: u32,
    /// Flags of open(2) on Linux, where the operation opens; else [`NO_ID`].
    pub open_flags: u32,
    /// Name of the call in the log, in the import's table; [`NO_ID`] for none.
    pub call: u32,
    /// Pause of its thread between its last operation and this one, as far as the log shows it,
    /// microseconds.
    pub waited_us: u64,
}

impl Default for Details {
    fn default() -> Details {
        Details {
            line: 0,
            log: 0,
            instance: NO_ID,
            instance2: NO_ID,
            file: NO_ID,
            open_flags: NO_ID,
            call: NO_ID,
            waited_us: 0,
        }
    }
}
