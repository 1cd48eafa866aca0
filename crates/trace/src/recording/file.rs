//! The file of a thread: a header, then slots of 64 bytes.

use crate::functions::KINDS;
use crate::record::Act;
use bytemuck::{Pod, Zeroable};
use model::Op;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// "PABREC", version 2.
const MAGIC: u64 = 0x0002_4345_5242_4150;
const HEADER_BYTES: u64 = 4096;
const SLOT: usize = size_of::<Slot>();
/// Bytes that are read at once; the longest call has 8,256.
const PIECE: u64 = 32 << 10;
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
    /// Its streams are recorded.
    pub streams: u32,
    /// Flags of clone(2) of a forked process.
    pub shares: u32,
    /// Time that recording adds to a call of this program, nanoseconds; 0: not measured.
    pub call_ns: u32,
    /// The rank of MPI, which the thread has initialised, and 1; 0: none.
    mpi: u32,
    end_ns: u64,
}

impl Header {
    /// When the thread ended its process, ns on the machine's monotonic clock; `None`: nobody saw that.
    pub fn process_end_ns(&self) -> Option<u64> {
        Some(self.end_ns).filter(|ns| *ns > 0)
    }

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

    /// Bytes of it and the slots behind it that belong to it.
    fn size(&self) -> usize {
        let texts = [self.text_bytes, self.text2_bytes];
        let slots = texts.map(|bytes| usize::from(bytes).div_ceil(SLOT));
        (1 + slots[0] + slots[1]) * SLOT
    }
}

/// A file that is read.
pub struct Recorded {
    path: PathBuf,
    /// The program and thread that recorded it.
    pub header: Header,
    /// The current slot; `None` before the first.
    slot: Option<Slot>,
    /// Its place in the file, and in the bytes that were read.
    at: u64,
    start: usize,
    bytes: Vec<u8>,
}

impl Recorded {
    /// Reads the header. `None`: it is no such file, or its thread came to nothing.
    pub fn open(path: &Path) -> io::Result<Option<Recorded>> {
        let mut header = Header::default();
        match File::open(path)?.read_exact(bytemuck::bytes_of_mut(&mut header)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let (path, bytes) = (path.to_path_buf(), Vec::new());
        let recorded = Recorded { path, header, slot: None, at: 0, start: 0, bytes };
        Ok(Some(recorded).filter(|recorded| recorded.header.magic == MAGIC))
    }

    /// The current call; `None`: the thread begins.
    pub fn slot(&self) -> Option<&Slot> {
        self.slot.as_ref()
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
        let mut step = self.slot.map_or(HEADER_BYTES, |slot| slot.size() as u64);
        loop {
            self.at = self.at.saturating_add(step);
            self.start = self.start.saturating_add(step as usize);
            if !self.fill(SLOT)? {
                break;
            }
            let slot: Slot =
                bytemuck::pod_read_unaligned(&self.bytes[self.start..self.start + SLOT]);
            if slot.kind == 0 || !self.fill(slot.size())? {
                break;
            }
            if slot.kind != SKIP {
                self.slot = Some(slot);
                return Ok(true);
            }
            step = slot.bytes.max(1).saturating_mul(SLOT as u64);
        }
        // The memory is given back.
        self.bytes = Vec::new();
        Ok(false)
    }

    /// Reads until `length` bytes from the slot on are in memory; false if the file has fewer.
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        let has_all =
            |bytes: &[u8], start| bytes.get(start..).is_some_and(|rest| rest.len() >= length);
        if !has_all(&self.bytes, self.start) {
            let mut file = File::open(&self.path)?;
            self.bytes.clear();
            self.start = 0;
            // A seek to where a damaged slot leads may be refused: file systems limit the size of a file.
            if self.at < file.metadata()?.len() {
                file.seek(SeekFrom::Start(self.at))?;
                file.take(PIECE).read_to_end(&mut self.bytes)?;
            }
        }
        Ok(has_all(&self.bytes, self.start))
    }

    /// The texts of the current call.
    pub fn texts(&self) -> (&[u8], &[u8]) {
        let Some(slot) = &self.slot else { return (b"", b"") };
        let lengths = (usize::from(slot.text_bytes), usize::from(slot.text2_bytes));
        let first = self.start + SLOT;
        let second = first + lengths.0.div_ceil(SLOT) * SLOT;
        let text =
            |start: usize, length: usize| self.bytes.get(start..start + length).unwrap_or_default();
        (text(first, lengths.0), text(second, lengths.1))
    }
}
