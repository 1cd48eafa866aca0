//! The file of a thread: a header, then slots of 64 bytes.

use crate::functions::KINDS;
use crate::record::Act;
use bytemuck::{Pod, Zeroable};
use model::Op;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// "PABREC", version 1.
const MAGIC: u64 = 0x0001_4345_5242_4150;
const HEADER_BYTES: u64 = 4096;
const SLOT: usize = size_of::<Slot>();
/// Bytes that are read at once; the longest call has 8,256.
const PIECE: usize = 32 << 10;
/// No file is longer.
const END_MAX: u64 = 1 << 62;
/// The kind of a slot behind which others are free.
const SKIP: u16 = 1;

/// How a thread came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// By executing a program; the thread may have been there before.
    Executed,
    /// As a copy of its parent.
    Forked,
    /// As a thread of its parent's process.
    Thread,
}

/// `struct pb_header`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    magic: u64,
    /// Process and thread.
    pub process: u32,
    /// The number of the thread.
    pub thread: u32,
    /// The thread that started it.
    pub parent: u32,
    birth: u32,
    /// When it began, ns on the machine's monotonic clock.
    pub birth_ns: u64,
    epoch_ns: i64,
    /// Calls for which there was no room.
    pub dropped: u64,
    /// Its streams are recorded.
    pub streams: u32,
    /// Flags of clone(2) of a forked process.
    pub shares: u32,
    /// Time that recording adds to a call of this program, nanoseconds; 0: not measured.
    pub call_ns: u32,
    /// The rank of MPI, which the thread has initialised, and 1; 0: none.
    mpi: u32,
}

impl Header {
    /// The rank of the thread in its MPI job.
    pub fn mpi_rank(&self) -> Option<u32> {
        self.mpi.checked_sub(1)
    }

    /// How the thread came to be.
    pub fn birth(&self) -> Birth {
        match self.birth {
            1 => Birth::Executed,
            2 => Birth::Forked,
            _ => Birth::Thread,
        }
    }
}

/// `struct pb_slot`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    pub start_ns: u64,
    pub end_ns: u64,
    pub value: i64,
    pub offset: i64,
    pub bytes: u64,
    pub fd: i32,
    pub fd2: i32,
    pub flags: u32,
    pub kind: u16,
    pub error: u16,
    pub text_bytes: u16,
    pub text2_bytes: u16,
    /// Wait of the thread since the slot before, microseconds.
    pub waited_us: u32,
}

impl Slot {
    /// Other threads feel the call before it has ended.
    fn is_felt_early(&self) -> bool {
        let kind = KINDS.get(usize::from(self.kind).wrapping_sub(1));
        kind.is_some_and(|kind| matches!(kind.1, Act::On(Op::Fclose) | Act::Spawn(_)))
    }

    /// Slots behind it that belong to it.
    fn more(&self) -> usize {
        usize::from(self.text_bytes).div_ceil(SLOT) + usize::from(self.text2_bytes).div_ceil(SLOT)
    }
}

/// A file that is read.
pub struct Recorded {
    path: PathBuf,
    /// The program and thread that recorded it.
    pub header: Header,
    /// Bytes from `from` on in the file.
    piece: Vec<u8>,
    from: u64,
    /// Place of the current slot; `None` before the first.
    at: Option<u64>,
    slot: Slot,
}

impl Recorded {
    /// Reads the header. `None`: it is no such file, or its thread came to nothing.
    pub fn open(path: &Path) -> io::Result<Option<Recorded>> {
        let mut header = Header::default();
        let read = File::open(path)?.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0);
        match read {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let path = path.to_path_buf();
        let (piece, slot) = (Vec::new(), Slot::default());
        Ok((header.magic == MAGIC).then_some(Recorded {
            path,
            header,
            piece,
            from: 0,
            at: None,
            slot,
        }))
    }

    /// The current call; `None`: the thread begins.
    pub fn slot(&self) -> Option<&Slot> {
        self.at.map(|_| &self.slot)
    }

    /// When others feel the current call, ns on the log's clock: a close when it begins, all others
    /// when they have ended.
    pub fn time_ns(&self) -> u64 {
        let ns = match self.slot() {
            None => self.header.birth_ns,
            Some(slot) if slot.is_felt_early() => slot.start_ns,
            Some(slot) => slot.end_ns,
        };
        self.clock_ns(ns)
    }

    /// The time of day.
    pub fn clock_ns(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.header.epoch_ns)
    }

    /// Goes on to the next call; false at the end.
    pub fn advance(&mut self) -> io::Result<bool> {
        let mut at = match self.at {
            None => HEADER_BYTES,
            Some(at) => at + ((1 + self.slot.more()) * SLOT) as u64,
        };
        loop {
            let Some(slot) = self.load(at)? else { return Ok(self.end()) };
            if slot.kind != SKIP {
                (self.at, self.slot) = (Some(at), slot);
                return Ok(true);
            }
            let Some(bytes) = slot.bytes.max(1).checked_mul(SLOT as u64) else {
                return Ok(self.end());
            };
            at = at.saturating_add(bytes);
        }
    }

    /// The memory is given back.
    fn end(&mut self) -> bool {
        self.piece = Vec::new();
        false
    }

    /// The slot at a place with all that belongs to it. `None`: there is none, or not all of it.
    fn load(&mut self, at: u64) -> io::Result<Option<Slot>> {
        if at >= END_MAX {
            return Ok(None);
        }
        if !self.holds(at, SLOT) {
            self.read(at)?;
        }
        let Some(slot) = self.slot_at(at) else { return Ok(None) };
        let bytes = (1 + slot.more()) * SLOT;
        if !self.holds(at, bytes) {
            self.read(at)?;
        }
        let whole = slot.kind != 0 && self.holds(at, bytes);
        Ok(self.slot_at(at).filter(|_| whole))
    }

    fn holds(&self, at: u64, bytes: usize) -> bool {
        at >= self.from && at - self.from + bytes as u64 <= self.piece.len() as u64
    }

    fn slot_at(&self, at: u64) -> Option<Slot> {
        let start = at.checked_sub(self.from)? as usize;
        self.piece.get(start..start.checked_add(SLOT)?).map(bytemuck::pod_read_unaligned)
    }

    fn read(&mut self, at: u64) -> io::Result<()> {
        self.piece.resize(PIECE, 0);
        let file = File::open(&self.path)?;
        let mut filled = 0;
        while filled < PIECE {
            match file.read_at(&mut self.piece[filled..], at.saturating_add(filled as u64)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => match other? {
                    0 => break,
                    count => filled += count,
                },
            }
        }
        self.piece.truncate(filled);
        self.from = at;
        Ok(())
    }

    /// The texts of the current call.
    pub fn texts(&self) -> (&[u8], &[u8]) {
        let Some(at) = self.at else { return (b"", b"") };
        let first = (at - self.from) as usize + SLOT;
        let lengths = (usize::from(self.slot.text_bytes), usize::from(self.slot.text2_bytes));
        let second = first + lengths.0.div_ceil(SLOT) * SLOT;
        let text =
            |start: usize, length: usize| self.piece.get(start..start + length).unwrap_or_default();
        (text(first, lengths.0), text(second, lengths.1))
    }
}
