//! One rank's view of files in memory: its descriptors, its clock and what its calls cost. Besides calls, a
//! rehearsal looks at the files and plants some.

use super::content::Content;
use super::files::Files;
use super::node::{Done, Follow, Kind, MemFs, Used};
use crate::backend::api::{Backend, Bulk, BulkFile, Capabilities};
use crate::backend::lexical;
use crate::call::{Call, Fd, Memory, MpiFile, Queued, Reply, Submitted, Tag, Target, Work};
use crate::clock::Virtual;
use model::directory::below;
use model::pattern::Run;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Virtual time of calls. A call costs the fixed time of its class, and one that moves bytes their number
/// divided by the bandwidth (rounded up) in addition. Failed calls cost the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// `open`.
    pub open_ns: u64,
    /// `close`.
    pub close_ns: u64,
    /// A transfer, besides its bytes.
    pub data_ns: u64,
    /// Calls on names and attributes, `lseek` included.
    pub metadata_ns: u64,
    /// `fsync`, `fdatasync`, `syncfs`, and dropping the caches.
    pub sync_ns: u64,
    /// Bytes moved per microsecond (the same number as MB/s); 0: moving costs nothing.
    pub bytes_per_us: u64,
}

impl Default for Cost {
    /// A middling local disk behind a page cache: 2 us to open, 1 us for a name,
    /// 1 us and 2,000 MB/s for a transfer, 1 ms to sync.
    fn default() -> Cost {
        Cost {
            open_ns: 2_000,
            close_ns: 500,
            data_ns: 1_000,
            metadata_ns: 1_000,
            sync_ns: 1_000_000,
            bytes_per_us: 2_000,
        }
    }
}

impl Cost {
    /// The fixed part.
    fn fixed_ns(&self, work: Work) -> u64 {
        match work {
            Work::Open => self.open_ns,
            Work::Close => self.close_ns,
            Work::Data => self.data_ns,
            Work::Metadata => self.metadata_ns,
            Work::Sync => self.sync_ns,
            Work::Nothing => 0,
        }
    }

    /// The part for the bytes that were moved.
    fn bytes_ns(&self, moved: Reply) -> u64 {
        let bytes = u128::try_from(moved).unwrap_or(0);
        match self.bytes_per_us {
            0 => 0,
            rate => (bytes * 1_000).div_ceil(u128::from(rate)) as u64,
        }
    }
}

/// One rank's view of a [`MemFs`].
#[derive(Debug)]
pub struct Mem {
    pub(crate) fs: Rc<RefCell<MemFs>>,
    pub(crate) files: Files,
    clock: Virtual,
    cost: Cost,
    /// Transfers under way: when they end, and with which reply.
    under_way: BinaryHeap<Reverse<(u64, Tag, Reply)>>,
}

impl Mem {
    /// A rank without open files.
    pub fn new(fs: Rc<RefCell<MemFs>>, clock: Virtual, cost: Cost) -> Mem {
        Mem { fs, files: Files::default(), clock, cost, under_way: BinaryHeap::new() }
    }

    /// Executes a call without letting time pass; its reply, and how long it takes.
    fn execute_costing(&mut self, call: Call<'_>) -> (Reply, u64) {
        let work = call.work();
        if work == Work::Nothing {
            return (call.done_in_full(), 0);
        }
        let reply = self.execute(call).unwrap_or_else(|errno| -Reply::from(errno));
        let moving_ns = if work == Work::Data { self.cost.bytes_ns(reply) } else { 0 };
        (reply, self.cost.fixed_ns(work) + moving_ns)
    }

    fn advance_to(&self, ns: u64) {
        self.clock.advance(ns.saturating_sub(self.clock.now()));
    }

    fn execute(&mut self, call: Call<'_>) -> Done {
        let fs = &mut *self.fs.borrow_mut();
        let files = &mut self.files;
        match call {
            Call::Open { path, flags, .. } => files.open(fs, path.to_bytes(), flags),
            Call::Close { fd } => files.close(fs, fd),
            Call::Pread { fd, buf, offset, .. } => {
                files.transfer(fs, fd, (offset, buf.len()), false)
            }
            Call::Pwrite { fd, buf, offset } => files.transfer(fs, fd, (offset, buf.len()), true),
            Call::Preadv { fd, bufs, offset } => {
                let len = bufs.iter().map(|buf| buf.len()).sum();
                files.transfer(fs, fd, (offset, len), false)
            }
            Call::Pwritev { fd, bufs, offset } => {
                let len = bufs.iter().map(|buf| buf.len()).sum();
                files.transfer(fs, fd, (offset, len), true)
            }
            Call::Append { fd, buf } => files.append(fs, fd, buf.len()),
            Call::Map { fd, write } => files.map(fs, fd, write),
            Call::Unmap { fd } => files.unmap(fd),
            Call::MapRead { fd, buf, offset, .. } => {
                files.access_map(fs, fd, (offset, buf.len()), false)
            }
            Call::MapWrite { fd, buf, offset } => {
                files.access_map(fs, fd, (offset, buf.len()), true)
            }
            Call::Msync { fd } => files.mapped(fd, false).map(|_| 0),
            Call::Seek { fd, offset, end } => files.seek(fs, fd, (offset, end)),
            Call::Fadvise { fd, size, .. } if size > i64::MAX as u64 => {
                files.file(fd).and(Err(libc::EINVAL))
            }
            Call::Fsync { fd }
            | Call::Fdatasync { fd }
            | Call::Fadvise { fd, .. }
            | Call::Syncfs { fd: Some(fd) } => files.file(fd).map(|_| 0),
            Call::Ftruncate { fd, size } => files.truncate(fs, fd, size),
            Call::Fallocate { fd, mode, offset, size } => {
                files.allocate(fs, fd, mode, (offset, size))
            }
            Call::CopyRange { from, to, len, .. } => files.copy(fs, from, to, len),
            Call::Clone { from, to } => files.share(fs, (from, 0), (to, 0), 0),
            Call::CloneRange { from, to, len } => files.share(fs, from, to, len),
            Call::Flock { fd, operation } => files.flock(fs, fd, operation),
            Call::LinkFile { fd, path } => fs.link_file(files.get(fd)?.ino, path.to_bytes()),
            Call::Fstat { fd } => Ok(fs.size(files.get(fd)?.ino)),
            Call::Getdents { fd, buf } => files.list(fs, fd, buf),
            Call::Stat { path } => fs.stat(path.to_bytes(), Follow::Yes),
            Call::Lstat { path } => fs.stat(path.to_bytes(), Follow::Slash),
            Call::Access { path }
            | Call::Chmod { path, .. }
            | Call::Utime { path }
            | Call::Statfs { path }
            | Call::SyncDirectory { path } => fs.exists(path.to_bytes()),
            Call::Unlink { path } => fs.unlink(path.to_bytes()),
            Call::Rename { from, to, flags } => fs.rename(from.to_bytes(), to.to_bytes(), flags),
            Call::Setxattr { path, name, value } => fs.setxattr(path.to_bytes(), name, value),
            Call::Getxattr { path, name, buf } => fs.getxattr(path.to_bytes(), name, buf),
            Call::Listxattr { path, buf } => fs.listxattr(path.to_bytes(), buf),
            Call::Removexattr { path, name } => fs.removexattr(path.to_bytes(), name),
            Call::Mkdir { path } => fs.mkdir(path.to_bytes()),
            Call::Rmdir { path } => fs.rmdir(path.to_bytes()),
            Call::Truncate { path, size } => fs.truncate(path.to_bytes(), size),
            Call::Link { from, to } => fs.link(from.to_bytes(), to.to_bytes()),
            Call::Symlink { target, path } => fs.symlink(target.to_bytes(), path.to_bytes()),
            Call::Readlink { path } => fs.readlink(path.to_bytes()),
            Call::Syncfs { fd: None } | Call::DropCaches {} => Ok(0),
            Call::Nothing { .. } => Ok(call.done_in_full()),
        }
    }
}

impl Backend for Mem {
    fn capabilities(&mut self) -> Capabilities {
        Capabilities { name: "mem", ..Capabilities::default() }
    }

    /// Links that lead up are made as by `Beneath`, whatever the program runs on later.
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        let fs = self.fs.borrow();
        lexical::check(call, |path| fs.locate(path))?;
        lexical::check_link(call, |path| fs.locate(path))
    }

    fn flags_and_size(&mut self, file: Result<Fd, MpiFile>) -> Option<(i32, u64)> {
        let open = self.files.get(file.ok()?).ok()?;
        let size = self.fs.borrow().size(open.ino);
        Some((open.flags(), u64::try_from(size).unwrap_or(0)))
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.files.file(fd).ok().map(|open| open.position)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        let (reply, ns) = self.execute_costing(call);
        self.clock.advance(ns);
        reply
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        let BulkFile::Posix(fd) = bulk.file else { return -Reply::from(libc::ENOSYS) };
        let moved = self.files.access(&mut self.fs.borrow_mut(), fd, &bulk.run, bulk.write);
        let moved = moved.unwrap_or_else(|errno| -Reply::from(errno));
        self.clock.advance(self.cost.data_ns + self.cost.bytes_ns(moved));
        moved
    }

    /// Calls under way at one time take as long as each alone, so that they end in the order of their
    /// sizes; what it does is seen at once.
    fn submit(&mut self, tag: Tag, mut call: Queued) -> Submitted {
        let offset = call.offset;
        let (reply, ns) = match (call.target, call.memory.memory()) {
            (Target::Mpi { .. }, _) => return Submitted::Done(-Reply::from(libc::ENOSYS)),
            (Target::Sync { fd, .. }, _) => self.execute_costing(Call::Fsync { fd }),
            (Target::File(fd), Memory::Read(buf)) => {
                self.execute_costing(Call::Pread { fd, buf, offset, rest: false })
            }
            (Target::File(fd), Memory::Write(buf)) => {
                self.execute_costing(Call::Pwrite { fd, buf, offset })
            }
        };
        self.under_way.push(Reverse((self.clock.now().saturating_add(ns), tag, reply)));
        Submitted::UnderWay
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        let mut ends: Vec<u64> = self.under_way.iter().map(|Reverse(end)| end.0).collect();
        ends.sort_unstable();
        let last = (wait as usize).checked_sub(1).and_then(|at| ends.get(at));
        last.into_iter().for_each(|end_ns| self.advance_to(*end_ns));
        0
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        let latest_ns = self.clock.now().saturating_add(ns);
        let next_ns = self.under_way.peek().map_or(latest_ns, |Reverse(end)| end.0);
        self.advance_to(next_ns.min(latest_ns));
        0
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        let Reverse((end_ns, ..)) = self.under_way.peek()?;
        if *end_ns > self.clock.now() {
            return None;
        }
        let Reverse((_, tag, reply)) = self.under_way.pop()?;
        Some((tag, reply))
    }
}

impl Drop for Mem {
    fn drop(&mut self) {
        self.files.close_all(&mut self.fs.borrow_mut());
    }
}

/// A file or directory that a rehearsal puts where a program's would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    Directory,
    /// A file of this size, all of which takes room.
    File(u64),
    /// A file from before the program; reads find what they ask for.
    Found,
}

impl MemFs {
    /// Space in use now, by directory: the run directory, then further ones.
    pub(crate) fn used(&self) -> &[Used] {
        &self.nodes.used
    }

    /// [`MemFs::used`] may be too much.
    pub(crate) fn is_rough(&self) -> bool {
        self.nodes.is_rough
    }

    /// The further directory that an absolute path lies in: its path.
    pub(crate) fn root_of(&self, path: &[u8]) -> Option<&[u8]> {
        let mut roots = self.roots[1..].iter().map(|(root, _)| &root[..]);
        roots.find(|root| below(path, root).is_some())
    }

    /// Number of what is at a path; symbolic links at its end are not followed.
    pub(crate) fn number(&self, path: &[u8]) -> Result<u32, i32> {
        self.find(path, Follow::No)
    }

    /// The same for a directory, or what a link leads to.
    pub(crate) fn is_directory(&self, number: u32) -> bool {
        self.nodes.is_directory(number)
    }

    /// Size of a file and the room it takes, bytes.
    pub(crate) fn extent(&self, number: u32) -> (u64, u64) {
        self.nodes.content(number).map_or((0, 0), |content| (content.size(), content.room_bytes()))
    }

    /// The number is that of a file, directory or link.
    pub(crate) fn is_there(&self, number: u32) -> bool {
        !matches!(self.nodes.get(number).kind, Kind::Free)
    }

    /// The number that is free for the next file: that of the one which went last.
    pub(crate) fn freed_last(&self) -> Option<u32> {
        self.nodes.freed_last()
    }

    /// A file grows by what iterations would have added that a rehearsal leaves out.
    pub(crate) fn grow(&mut self, number: u32, size_bytes: u64, room_bytes: u64) {
        let _ = self.nodes.change(number, |content| content.grow(size_bytes, room_bytes));
    }

    /// Puts something where nothing is; the directory above must be there.
    pub(crate) fn plant(&mut self, path: &[u8], what: Planted) -> Result<(), i32> {
        let spot = self.spot(path, Follow::No)?;
        let (parent, name) = (spot.parent, spot.name.to_vec());
        let mut content = Content::default();
        content.found = what == Planted::Found;
        let kind = match what {
            Planted::Directory => Kind::Directory { names: Box::default(), parent },
            _ => Kind::File(content),
        };
        let number = self.nodes.create(parent, &name, kind);
        match what {
            Planted::File(size) => {
                self.nodes.change(number, |content| content.put(&Run::single(0, size)))
            }
            _ => Ok(()),
        }
    }

    /// Puts a symbolic link where nothing is, unless it leaves the directory.
    pub(crate) fn plant_link(&mut self, path: &[u8], target: &[u8]) -> Result<(), i32> {
        match lexical::stays(target, path, |path| self.locate(path)) {
            true => self.symlink(target, path).map(drop),
            false => Err(libc::EXDEV),
        }
    }

    /// Gives a planted file of unknown size this one; `false`: its size is known.
    pub(crate) fn found_has_size(&mut self, number: u32, size: u64) -> bool {
        let is_found = self.nodes.content(number).is_ok_and(|file| file.found);
        let give = |content: &mut Content| {
            content.found = false;
            content.put(&Run::single(0, size.max(content.size())));
        };
        is_found && self.nodes.change(number, give).is_ok()
    }

    /// Turns a planted file of unknown kind into a directory; `false`: it has
    /// been written or is none of those.
    pub(crate) fn found_is_directory(&mut self, path: &[u8]) -> bool {
        let (Ok(number), Ok(spot)) = (self.number(path), self.spot(path, Follow::No)) else {
            return false;
        };
        let parent = spot.parent;
        let is_blank = self.nodes.content(number).is_ok_and(|file| file.found && file.size() == 0);
        if is_blank {
            let node = self.nodes.get_mut(number);
            node.kind = Kind::Directory { names: Box::default(), parent };
        }
        is_blank
    }
}

impl Mem {
    /// The file behind a descriptor.
    pub(crate) fn number(&mut self, fd: Fd) -> Option<u32> {
        self.files.get(fd).ok().map(|open| open.ino)
    }

    /// Writes through this descriptor go to the end of the file.
    pub(crate) fn appends(&mut self, fd: Fd) -> bool {
        self.files.file(fd).is_ok_and(|open| open.appends())
    }

    /// The size of the file is unknown.
    pub(crate) fn has_unknown_size(&mut self, fd: Fd) -> bool {
        let number = self.number(fd);
        let fs = self.fs.borrow();
        number.and_then(|number| fs.nodes.content(number).ok()).is_some_and(|file| file.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cost_their_share_of_the_bandwidth() {
        let cost = Cost { bytes_per_us: 1_000, ..Cost::default() };
        assert_eq!(cost.bytes_ns(4_096), 4_096);
        assert_eq!(cost.bytes_ns(0), 0);
        assert_eq!(cost.bytes_ns(-5), 0);
        assert_eq!(Cost { bytes_per_us: 3_000, ..cost }.bytes_ns(1), 1);
        assert_eq!(Cost { bytes_per_us: 0, ..cost }.bytes_ns(1 << 40), 0);
    }
}
