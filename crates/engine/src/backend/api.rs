//! The interface of storage back-ends: the smallest that holds them all (after fio's queue/getevents), and the
//! smallest back-end: [`Null`], which does nothing.

use super::lexical;
use crate::call::{
    At, Call, Fd, FileCall, Memory, MpiFile, QueueSettings, Queued, Reply, Submitted, Tag, Target,
};
use crate::comm::Members;
use crate::verify::examine::Checked;
use model::Op;
use model::pattern::Run;
use model::plan::Pc;
use model::rehearsal::BufferBytes;
use model::run::MpiFileFacts;
use std::ffi::CStr;

/// The name of a back-end and the abilities that the engine asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name for users: "posix", "null", "mem".
    pub name: &'static str,
    /// Bytes written can be read back.
    pub keeps_data: bool,
    /// Most bytes of one transfer on an MPI file; 0: it executes no calls on them.
    pub mpi_call_bytes: u64,
    /// It keeps its own account of what a program does, as a rehearsal: it gets every operation that
    /// has ended ([`Backend::concluded`]), and bytes in bulk ([`Backend::move_bulk`]) in place of the
    /// calls that move them. The recorder counts nothing then.
    pub accounts: bool,
}

/// Alignment that `O_DIRECT` takes everywhere that matters: no device in use has larger blocks.
pub(crate) const SAFE_ALIGNMENT_BYTES: u32 = 4096;

/// Where the bytes of an open file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Size of the file, bytes.
    pub size_bytes: u64,
    /// Bytes of it in the page cache; `None` where that is unknown.
    pub cached_bytes: Option<u64>,
    /// Its extents; `None` where they are unknown.
    pub extents: Option<Extents>,
}

/// Written and unwritten parts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Bytes of the file that this speaks of.
    pub mapped_bytes: u64,
    /// Bytes of them that were never written: holes, and extents that were only allocated.
    pub hole_bytes: u64,
    /// Bytes of them that are stored in another form: compressed, encrypted.
    pub encoded_bytes: u64,
}

/// Equal extents of an open file that an operation moves, with as many calls as that takes.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    /// The file that the bytes are read from or written to.
    pub file: BulkFile,
    /// The extents. At a shared pointer the offset means nothing.
    pub run: Run,
    /// They are written.
    pub write: bool,
    /// The file is read to its end.
    pub rest: bool,
    /// Memory that the calls under way at one time need, bytes.
    pub buffer_bytes: u64,
    /// The same by kind.
    pub memory: BufferBytes,
}

/// The file of a [`Bulk`].
#[derive(Clone, Copy, Debug)]
pub enum BulkFile {
    /// An open file.
    Posix(Fd),
    /// An MPI file.
    Mpi(MpiFile),
    /// An MPI file at its shared pointer.
    MpiShared(MpiFile),
}

/// The options in force that a back-end around another one has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// Written blocks carry marks, and blocks that are read are checked against them (`with (verify=true)`).
    pub verify: bool,
    /// The program expects names to be missing (`ENOENT`).
    pub expects_missing: bool,
    /// The program expects names that it makes to be there already (`EEXIST`).
    pub expects_existing: bool,
    /// The program expects names to be of another kind than the operation is for (`ENOTDIR`, `EINVAL`).
    pub expects_other_kind: bool,
    /// The program expects fewer bytes than it asks for.
    pub expects_short: bool,
    /// Size of files that were there before the program (`filesize`), bytes.
    pub found_bytes: Option<u64>,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Over<'a> {
    /// The operation.
    pub op: Op,
    /// Id of the innermost label around it.
    pub label: u32,
    /// The statement.
    pub site: Pc,
    /// The path, of two the second one, or that of the file; empty without one.
    pub path: &'a [u8],
    /// Bytes asked for.
    pub requested_bytes: u64,
    /// Bytes moved.
    pub done_bytes: u64,
    /// Fewer than were asked for.
    pub short: bool,
    /// Why it failed; 0: it did not, or was expected to.
    pub errno: i32,
}

/// A place where files live. What a back-end around another one leaves out is done by that one
/// ([`Backend::inner`]).
pub trait Backend {
    /// The back-end that this one lies around.
    #[inline(always)]
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        None
    }

    /// Name and abilities; a back-end around another one reports the inner one's.
    fn capabilities(&mut self) -> Capabilities {
        self.inner().map_or_else(Capabilities::default, |inner| inner.capabilities())
    }

    /// The untimed part of a call: the lexical rule, which looks at every name
    /// (`lexical`). Called before the first clock reading of every call; an error (errno) replaces
    /// the call.
    #[inline(always)]
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        match self.inner() {
            Some(inner) => inner.prepare(call),
            None => lexical::check(call, |path| Some((0, path))),
        }
    }

    /// Where the bytes of an open file are; `None` where that is unknown. Never timed.
    fn look(&mut self, fd: Fd) -> Option<Look> {
        self.inner()?.look(fd)
    }

    /// Whether a path can be resolved from the name cache of this machine; `None` where that
    /// is unknown. Never timed.
    fn knows_name(&mut self, path: &CStr) -> Option<bool> {
        self.inner()?.knows_name(path)
    }

    /// Bytes that this process has fetched from storage so far; `None` where nobody counts them.
    /// Never timed.
    fn fetched_bytes(&mut self) -> Option<u64> {
        self.inner()?.fetched_bytes()
    }

    /// Alignment in bytes of the position and length of transfers on an open file with `O_DIRECT`. Never timed.
    fn alignment(&mut self, fd: Fd) -> u32 {
        self.inner().map_or(SAFE_ALIGNMENT_BYTES, |inner| inner.alignment(fd))
    }

    /// Where an open file's next byte would be read; after [`Call::Append`] the end of what it wrote.
    /// `None` where that is unknown. Never timed.
    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.inner()?.position(fd)
    }

    /// Flags and size of an open file, by the descriptor or the MPI file. `None` where only the file system knows
    /// them. Never timed.
    fn flags_and_size(&mut self, file: Result<Fd, MpiFile>) -> Option<(i32, u64)> {
        self.inner()?.flags_and_size(file)
    }

    /// Executes the call. Nothing else happens between two clock readings.
    fn issue(&mut self, call: Call<'_>) -> Reply;

    /// [`Backend::prepare`] for a call on MPI files. Members of a collective call agree here
    /// on what has to be the same for all of them.
    fn prepare_file(&mut self, call: &FileCall<'_>) -> Result<(), i32> {
        match call {
            FileCall::Open { path, mode, .. } => {
                let flags = if mode.write { libc::O_RDWR } else { libc::O_RDONLY };
                self.prepare(&Call::Open { path, flags, mode: 0 })
            }
            FileCall::Delete { path } => self.prepare(&Call::Unlink { path }),
            _ => Ok(()),
        }
    }

    /// [`Backend::issue`] for a call on MPI files; `ENOSYS` where there are none.
    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        self.inner().map_or(-Reply::from(libc::ENOSYS), |inner| inner.issue_file(call))
    }

    /// [`Backend::prepare`] for a transfer that is about to be submitted. Never timed.
    fn prepare_queued(&mut self, tag: Tag, call: &mut Queued) {
        self.inner().into_iter().for_each(|inner| inner.prepare_queued(tag, call));
    }

    /// Takes a transfer whose end is not waited for; as many as the caller wants are under way. A
    /// back-end without a queue executes it. Transfers on MPI files need no handing over.
    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        match self.inner() {
            Some(inner) => inner.submit(tag, call),
            None => Submitted::Done(call.execute(self)),
        }
    }

    /// Makes a queue for calls on files ready, in place of an earlier one; nothing is under way. A
    /// back-end whose calls need none has nothing to do. Never timed.
    ///
    /// # Errors
    /// An errno: there is no such queue on this machine.
    fn open_queue(&mut self, settings: &QueueSettings) -> Result<(), i32> {
        self.inner().map_or(Ok(()), |inner| inner.open_queue(settings))
    }

    /// Most transfers of the queue use this memory, until another one is lent. Never timed.
    fn lend_memory(&mut self, memory: &mut [u8]) {
        self.inner().into_iter().for_each(|inner| inner.lend_memory(memory));
    }

    /// The queue forgets a file that is about to be closed. Never timed.
    fn leave_file(&mut self, fd: Fd) {
        self.inner().into_iter().for_each(|inner| inner.leave_file(fd));
    }

    /// Hands over the submitted transfers, and waits until `wait` of those under way have ended:
    /// [`Backend::ended`] gives them. Of transfers on MPI files it waits for one.
    fn hand_over(&mut self, wait: u32) -> Reply {
        self.inner().map_or(0, |inner| inner.hand_over(wait))
    }

    /// The same for one end, but waits no longer than `ns` nanoseconds.
    fn wait_within(&mut self, ns: u64) -> Reply {
        self.inner().map_or(0, |inner| inner.wait_within(ns))
    }

    /// An end that is there already.
    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.inner()?.ended()
    }

    /// Facts about a file that was just opened; never timed.
    fn opened_facts(
        &mut self,
        file: MpiFile,
        members: &Members,
        hints: &str,
    ) -> Option<MpiFileFacts> {
        self.inner()?.opened_facts(file, members, hints)
    }

    /// Explanation of the last call that failed besides its errno: class and
    /// text of an MPI error.
    fn explanation(&mut self) -> Option<&str> {
        self.inner()?.explanation()
    }

    /// Other options are in force from here on. Never timed.
    fn set_options(&mut self, options: &InForce) {
        self.inner().into_iter().for_each(|inner| inner.set_options(options));
    }

    /// Takes the amounts that were filled and checked since the last call (`verify=true`). Never timed.
    #[inline(always)]
    fn take_checked(&mut self) -> Option<Checked> {
        self.inner()?.take_checked()
    }

    /// An instruction begins its operation, or asks `size` or `exists`. `uses_result`: the program uses the
    /// result, so the name of a [`Call::Access`] may be missing. Only of a back-end that accounts
    /// ([`Capabilities::accounts`]).
    fn begins(&mut self, site: Pc, uses_result: bool) {
        self.inner().into_iter().for_each(|inner| inner.begins(site, uses_result));
    }

    /// Moves extents without data; the bytes moved, or minus the errno. Only of a back-end that
    /// keeps no data.
    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        self.inner().map_or(-Reply::from(libc::ENOSYS), |inner| inner.move_bulk(bulk))
    }

    /// An operation has ended. Only of a back-end that accounts ([`Capabilities::accounts`]).
    fn concluded(&mut self, over: &Over<'_>) {
        self.inner().into_iter().for_each(|inner| inner.concluded(over));
    }
}

impl Queued {
    /// Executes it at once, as back-ends without a queue do.
    pub fn execute(mut self, backend: &mut (impl Backend + ?Sized)) -> Reply {
        let (offset, memory) = (self.offset, self.memory.memory());
        match (self.target, memory) {
            (Target::File(fd), Memory::Read(buf)) => {
                backend.issue(Call::Pread { fd, buf, offset, rest: false })
            }
            (Target::File(fd), Memory::Write(buf)) => {
                backend.issue(Call::Pwrite { fd, buf, offset })
            }
            (Target::Sync { fd, data: false }, _) => backend.issue(Call::Fsync { fd }),
            (Target::Sync { fd, data: true }, _) => backend.issue(Call::Fdatasync { fd }),
            (Target::Mpi { file, collective }, memory) => {
                let at = At::Offset { offset, collective };
                backend.issue_file(FileCall::Transfer { file, at, memory, order: None })
            }
        }
    }
}

/// Returns at once. Every call succeeds and moves all the bytes asked for, except
/// reading to the end of a file, which finds the end at once. Descriptors are
/// always 3: nothing tells files apart here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Backend for Null {
    fn capabilities(&mut self) -> Capabilities {
        Capabilities { name: "null", mpi_call_bytes: u64::MAX, ..Capabilities::default() }
    }

    #[inline(always)]
    fn issue(&mut self, call: Call<'_>) -> Reply {
        call.done_in_full()
    }

    #[inline(always)]
    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        call.done_in_full()
    }
}
