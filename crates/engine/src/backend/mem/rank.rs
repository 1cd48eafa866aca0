//! One rank's view of files in memory: its descriptors, its clock and what its calls cost.

use super::corrupt::Corruptions;
use super::cost::Cost;
use super::faults::{self, Fault, Faults};
use super::files::Files;
use super::fs::MemFs;
use crate::backend::api::{Backend, Capabilities};
use crate::backend::lexical;
use crate::call::{Call, Fd, Memory, Queued, Reply, Submitted, Tag, Target, Work};
use crate::clock::Virtual;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Descriptors a rank may have open at one time, unless told otherwise.
pub const OPEN_FILES_MAX: usize = 1 << 20;

/// One rank's view of a [`MemFs`].
#[derive(Debug)]
pub struct Mem {
    pub(super) fs: Rc<RefCell<MemFs>>,
    pub(super) files: Files,
    clock: Virtual,
    cost: Cost,
    /// Transfers under way: when they end, and with which reply.
    under_way: BinaryHeap<Reverse<(u64, Tag, Reply)>>,
    faults: Option<Faults>,
    corruptions: Option<Corruptions>,
}

impl Mem {
    /// A rank without open files.
    pub fn new(fs: Rc<RefCell<MemFs>>, clock: Virtual, cost: Cost) -> Mem {
        let files = Files::new(OPEN_FILES_MAX);
        Mem {
            fs,
            files,
            clock,
            cost,
            under_way: BinaryHeap::new(),
            faults: None,
            corruptions: None,
        }
    }

    /// The same with another limit of open files (`EMFILE` beyond it).
    pub fn with_open_files_max(mut self, open_files_max: usize) -> Mem {
        self.files.set_limit(open_files_max);
        self
    }

    /// The same with faults.
    pub fn with_faults(mut self, faults: Faults) -> Mem {
        self.faults = Some(faults);
        self
    }

    /// The same with writes that go wrong without an error.
    pub fn with_corruptions(mut self, corruptions: Corruptions) -> Mem {
        self.corruptions = Some(corruptions);
        self
    }

    /// Executes a call that no fault strikes.
    pub(crate) fn issue_unharmed(&mut self, call: Call<'_>) -> Reply {
        let (reply, ns) = self.execute_costing(call);
        self.clock.advance(ns);
        reply
    }

    /// Executes a queued call, or the part of it that faults leave; its reply, and how long it takes.
    fn execute_queued(&mut self, call: &mut Queued) -> (Reply, u64) {
        let len = call.memory.parts().1;
        let (fault, delay_ns) = match &mut self.faults {
            Some(faults) => faults.next(len),
            None => (Fault::Nothing, 0),
        };
        self.note(fault, delay_ns, true);
        let most = match fault {
            Fault::Error(errno) => return (-Reply::from(errno), delay_ns),
            Fault::Partial(most) => most,
            Fault::Nothing => len,
        };
        let offset = call.offset;
        let (reply, ns) = match (call.target, call.memory.memory()) {
            (Target::Mpi { .. }, _) => (-Reply::from(libc::ENOSYS), 0),
            (Target::Sync { fd, data: false }, _) => self.execute_costing(Call::Fsync { fd }),
            (Target::Sync { fd, data: true }, _) => self.execute_costing(Call::Fdatasync { fd }),
            (Target::File(fd), Memory::Read(buf)) => {
                let buf = &mut buf[..most];
                self.execute_costing(Call::Pread { fd, buf, offset, rest: false })
            }
            (Target::File(fd), Memory::Write(buf)) => {
                self.execute_costing(Call::Pwrite { fd, buf: &buf[..most], offset })
            }
        };
        (reply, ns + delay_ns)
    }

    /// Executes a call, or what faults leave of it. One that cannot be refused any more is executed, and
    /// fails all the same: close(2) takes the descriptor whatever it says.
    #[cold]
    fn issue_struck(&mut self, call: Call<'_>, fault: Fault, delay_ns: u64) -> Reply {
        let fixed_ns = self.cost.of(&call);
        let (reply, ns) = match (fault, call) {
            (Fault::Error(errno), call @ Call::Close { .. }) => {
                (-Reply::from(errno), self.execute_costing(call).1)
            }
            (Fault::Error(errno), _) => (-Reply::from(errno), fixed_ns),
            (Fault::Partial(most), call) => self.execute_costing(faults::shortened(call, most)),
            (Fault::Nothing, call) => self.execute_costing(call),
        };
        self.clock.advance(ns + delay_ns);
        self.note(fault, 0, false);
        reply
    }

    fn note(&self, fault: Fault, later_ns: u64, queued: bool) {
        if let Some(faults) = &self.faults {
            faults.note(fault, self.clock.now() + later_ns, queued);
        }
    }

    fn close_all(&mut self) {
        self.files.close_all(&mut self.fs.borrow_mut());
    }

    /// Executes a call without letting time pass; its reply, and how long it takes.
    fn execute_costing(&mut self, call: Call<'_>) -> (Reply, u64) {
        let moves = call.work() == Work::Data;
        if call.work() == Work::Nothing {
            return (call.done_in_full(), 0);
        }
        let ns = self.cost.of(&call) + self.cost.jitter();
        let reply = self.execute_or_corrupt(call).unwrap_or_else(|errno| -Reply::from(errno));
        (reply, ns + if moves { self.cost.of_bytes(reply) } else { 0 })
    }

    fn execute_or_corrupt(&mut self, call: Call<'_>) -> Result<Reply, i32> {
        match (call, &mut self.corruptions) {
            (Call::Pwrite { fd, buf, offset }, Some(corruptions)) => {
                let written = corruptions.apply(buf, offset);
                for (buf, offset) in &written {
                    self.execute(Call::Pwrite { fd, buf, offset: *offset })?;
                }
                Ok(buf.len() as Reply)
            }
            (call, _) => self.execute(call),
        }
    }

    fn execute(&mut self, call: Call<'_>) -> Result<Reply, i32> {
        let fs = &mut *self.fs.borrow_mut();
        let files = &mut self.files;
        match call {
            Call::Open { path, flags, mode } => files.open(fs, path.to_bytes(), flags, mode),
            Call::Close { fd } => files.close(fs, fd),
            Call::Pread { fd, buf, offset, .. } => files.pread(fs, fd, buf, offset),
            Call::Pwrite { fd, buf, offset } => files.pwrite(fs, fd, buf, offset),
            Call::Append { fd, buf } => files.write(fs, fd, buf),
            Call::Map { fd, write } => files.map(fs, fd, write),
            Call::Unmap { fd } => files.unmap(fd),
            Call::MapRead { fd, buf, offset, .. } => files.map_read(fs, fd, buf, offset),
            Call::MapWrite { fd, buf, offset } => files.map_write(fs, fd, buf, offset),
            Call::Msync { fd } => files.mapped(fd).map(|_| 0),
            Call::Seek { fd, offset, end } => files.seek(fs, fd, (offset, end)),
            Call::Fsync { fd } | Call::Fdatasync { fd } => files.sync(fd),
            Call::Ftruncate { fd, size } => files.truncate(fs, fd, size),
            Call::Fallocate { fd, mode, offset, size } => {
                files.allocate(fs, fd, mode, (offset, size))
            }
            Call::Fadvise { fd, size, .. } if size > i64::MAX as u64 => {
                files.sync(fd).and(Err(libc::EINVAL))
            }
            Call::Fadvise { fd, .. } => files.sync(fd),
            Call::CopyRange { from, to, len, .. } => files.copy(fs, from, to, len),
            Call::Clone { from, to } => files.share(fs, (from, 0), (to, 0), 0),
            Call::CloneRange { from, to, len } => files.share(fs, from, to, len),
            Call::Preadv { fd, bufs, offset } => files.preadv(fs, fd, bufs, offset),
            Call::Pwritev { fd, bufs, offset } => files.pwritev(fs, fd, bufs, offset),
            Call::Flock { fd, operation } => files.flock(fs, fd, operation),
            Call::LinkFile { fd, path } => {
                let ino = files.ino(fd).ok_or(libc::EBADF)?;
                fs.link_file(ino, path.to_bytes())
            }
            Call::Fstat { fd } => files.stat(fs, fd),
            Call::Getdents { fd, buf } => files.list(fs, fd, buf),
            Call::Stat { path } => fs.stat(path.to_bytes()),
            Call::Lstat { path } => fs.lstat(path.to_bytes()),
            Call::Access { path }
            | Call::Utime { path }
            | Call::Statfs { path }
            | Call::SyncDirectory { path } => fs.exists(path.to_bytes()),
            Call::Unlink { path } => fs.unlink(path.to_bytes()),
            Call::Rename { from, to, flags } => fs.rename(from.to_bytes(), to.to_bytes(), flags),
            Call::Setxattr { path, name, value } => fs.setxattr(path.to_bytes(), name, value),
            Call::Getxattr { path, name, buf } => fs.getxattr(path.to_bytes(), name, buf),
            Call::Listxattr { path, buf } => fs.listxattr(path.to_bytes(), buf),
            Call::Removexattr { path, name } => fs.removexattr(path.to_bytes(), name),
            Call::Syncfs { fd: Some(fd) } => files.sync(fd),
            Call::Mkdir { path } => fs.mkdir(path.to_bytes()),
            Call::Rmdir { path } => fs.rmdir(path.to_bytes()),
            Call::Truncate { path, size } => fs.truncate(path.to_bytes(), size),
            Call::Link { from, to } => fs.link(from.to_bytes(), to.to_bytes()),
            Call::Symlink { target, path } => fs.symlink(target.to_bytes(), path.to_bytes()),
            Call::Readlink { path } => fs.readlink(path.to_bytes()),
            Call::Chmod { path, mode } => fs.chmod(path.to_bytes(), mode),
            Call::Syncfs { fd: None } | Call::DropCaches {} => Ok(0),
            Call::Nothing { .. } => Ok(call.done_in_full()),
        }
    }
}

impl Backend for Mem {
    fn capabilities(&mut self) -> Capabilities {
        let keeps_data = self.fs.borrow().keeps_data;
        Capabilities { name: "mem", keeps_data, ..Capabilities::default() }
    }

    /// Links that lead up are made as by `Beneath`, whatever the program runs on later.
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        let fs = self.fs.borrow();
        lexical::check(call, |path| fs.locate(path))?;
        lexical::check_link(call, |path| fs.locate(path))
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.files.position(fd)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if let Some(faults) = &mut self.faults {
            let (fault, delay_ns) = faults.strike(&call);
            return self.issue_struck(call, fault, delay_ns);
        }
        self.issue_unharmed(call)
    }

    /// Calls under way at one time take as long as each alone, so that they end in the order of their
    /// sizes; what it does is seen at once.
    fn submit(&mut self, tag: Tag, mut call: Queued) -> Submitted {
        if matches!(call.target, Target::Mpi { .. }) {
            return Submitted::Done(-Reply::from(libc::ENOSYS));
        }
        let (reply, ns) = self.execute_queued(&mut call);
        self.under_way.push(Reverse((self.clock.now().saturating_add(ns), tag, reply)));
        Submitted::UnderWay
    }

    fn reap(&mut self) -> Option<(Tag, Reply)> {
        let Reverse((end_ns, tag, reply)) = self.under_way.pop()?;
        self.clock.advance(end_ns.saturating_sub(self.clock.now()));
        Some((tag, reply))
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        let mut ends: Vec<u64> = self.under_way.iter().map(|Reverse(end)| end.0).collect();
        ends.sort_unstable();
        if let Some(end_ns) = (wait as usize).checked_sub(1).and_then(|at| ends.get(at)) {
            self.clock.advance(end_ns.saturating_sub(self.clock.now()));
        }
        0
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        let latest_ns = self.clock.now().saturating_add(ns);
        let next_ns = self.under_way.peek().map_or(latest_ns, |Reverse(end)| end.0);
        self.clock.advance(next_ns.min(latest_ns).saturating_sub(self.clock.now()));
        0
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        let Reverse((end_ns, ..)) = self.under_way.peek()?;
        (*end_ns <= self.clock.now()).then(|| self.reap()).flatten()
    }
}

impl Drop for Mem {
    fn drop(&mut self) {
        self.close_all();
    }
}
