//! Transfers that wait in a queue: several are under way, and they end in any order.

use super::file::{Memory, MpiFile};
use super::table::{Fd, Reply};

/// Number of a transfer under way, unique among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// File of a queued transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An open file.
    File(Fd),
    /// fsync of an open file, `data`: fdatasync; no bytes.
    Sync {
        /// The file.
        fd: Fd,
        /// Only what is needed to read the data.
        data: bool,
    },
    /// An MPI file; `collective`: all members have to start it.
    Mpi {
        /// The file.
        file: MpiFile,
        /// All members call.
        collective: bool,
    },
}

/// Settings of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Most calls under way at one time.
    pub depth: u32,
    /// A thread of the kernel takes what is submitted, without a system call.
    pub sqpoll: bool,
    /// The kernel asks the device for ends instead of being interrupted.
    pub iopoll: bool,
}

/// A transfer for the queue.
#[derive(Debug)]
pub struct Queued {
    /// Where it goes to.
    pub target: Target,
    /// Position in the file, or in the view of an MPI file, bytes.
    pub offset: u64,
    /// From or to where.
    pub memory: Lent,
    /// Bytes of the transfer before it was cut at the end of the file.
    pub asked_bytes: u64,
}

/// Answer to a transfer that was given to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It ends later: `Backend::ended`.
    UnderWay,
    /// It is over.
    Done(Reply),
}

/// Memory of a transfer that is under way: it is lent until the transfer has ended.
#[derive(Debug)]
pub struct Lent {
    address: *mut u8,
    len: usize,
    write: bool,
}

impl Lent {
    /// Lends memory.
    ///
    /// # Safety
    /// Until the transfer has ended, the memory must stay where it is; nothing may read it if it
    /// is read into, and nothing may write it.
    pub unsafe fn new(mut memory: Memory<'_>) -> Lent {
        Lent { address: memory.address(), len: memory.len(), write: memory.is_written() }
    }

    /// Address, size in bytes, and whether it is written to the file.
    pub fn parts(&self) -> (*mut u8, usize, bool) {
        (self.address, self.len, self.write)
    }

    /// The same memory once more, for a look at it when the transfer has ended.
    pub(crate) fn again(&self) -> Lent {
        Lent { address: self.address, len: self.len, write: self.write }
    }

    /// Fills memory that is about to be written to the file.
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut [u8])) {
        // SAFETY: the memory is lent to this transfer alone, which is not under way yet.
        fill(unsafe { std::slice::from_raw_parts_mut(self.address, self.len) });
    }

    /// The memory itself.
    pub fn memory(&mut self) -> Memory<'_> {
        // SAFETY: whoever lent it vouches that it is there and used by nobody else.
        unsafe {
            match self.write {
                true => Memory::Write(std::slice::from_raw_parts(self.address, self.len)),
                false => Memory::Read(std::slice::from_raw_parts_mut(self.address, self.len)),
            }
        }
    }
}
