//! System calls as owned values, and how they are carried out on a back-end.

use engine::backend::Backend;
use engine::call::{Call, Fd, Reply};
use std::ffi::{CStr, CString};
use std::fmt;
use std::io::{IoSlice, IoSliceMut};

/// Open files of a script, by one letter each.
pub const SLOTS: usize = 4;

/// Bytes to write, shown in short.
#[derive(Clone, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}*{}", self.0.first(), self.0.len())
    }
}

/// One system call. Slots are `0..SLOTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Open(usize, CString, i32, u32),
    Close(usize),
    Pread(usize, usize, u64),
    Pwrite(usize, Data, u64),
    Append(usize, Data),
    Seek(usize, i64, bool),
    /// Slot; to be written.
    Map(usize, bool),
    Unmap(usize),
    MapRead(usize, usize, u64),
    MapWrite(usize, Data, u64),
    /// Bytes; to the end of the file.
    Nothing(u64, bool),
    Msync(usize),
    Fsync(usize),
    Fdatasync(usize),
    Ftruncate(usize, u64),
    /// Slot, mode, offset, size.
    Fallocate(usize, i32, u64, u64),
    Fadvise(usize, u64, u64, i32),
    /// From a slot and offset to a slot and offset, bytes.
    CopyRange((usize, u64), (usize, u64), usize),
    /// From one slot to another.
    Clone(usize, usize),
    /// From a slot and offset to a slot and offset, bytes.
    CloneRange((usize, u64), (usize, u64), u64),
    /// Slot, lengths of the buffers, offset; the bytes in order.
    Preadv(usize, Vec<usize>, u64),
    Pwritev(usize, Vec<Data>, u64),
    Flock(usize, i32),
    LinkFile(usize, CString),
    SyncfsOf(usize),
    Fstat(usize),
    /// Rewinds and lists to the end; the entries, or an errno.
    List(usize),
    Stat(CString),
    Access(CString),
    Unlink(CString),
    Rename(CString, CString),
    /// With flags.
    Rename2(CString, CString, u32),
    Setxattr(CString, CString, Data),
    /// Path, name, room; the value.
    Getxattr(CString, CString, usize),
    Listxattr(CString, usize),
    Removexattr(CString, CString),
    Mkdir(CString),
    Rmdir(CString),
    Truncate(CString, u64),
    Link(CString, CString),
    Symlink(CString, CString),
    Readlink(CString),
    Chmod(CString, u32),
    Utime(CString),
    Lstat(CString),
    Statfs(CString),
    Syncfs,
}

/// The steps, one a line, with long names as scripts write them.
pub fn show_steps(steps: &[Step]) -> String {
    let mut text: String = steps.iter().map(|step| format!("{step:?}\n")).collect();
    for length in [5000, 256, 255] {
        text = text.replace(&"n".repeat(length), &format!("@{length}"));
    }
    text
}

/// What a step gave.
#[derive(Clone, PartialEq, Eq)]
pub enum Outcome {
    Errno(&'static str),
    Number(i64),
    Bytes(Vec<u8>),
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Errno(name) => f.write_str(name),
            Outcome::Number(number) => write!(f, "{number}"),
            Outcome::Bytes(bytes) => write!(f, "{} bytes, sum {}", bytes.len(), sum(bytes)),
        }
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// A back-end with the open files of a script.
pub struct Runner<B: Backend> {
    backend: B,
    slots: [Option<(Fd, bool)>; SLOTS],
}

impl<B: Backend> Runner<B> {
    pub fn new(backend: B) -> Runner<B> {
        Runner { backend, slots: [None; SLOTS] }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        match self.backend.prepare(&call) {
            Ok(()) => self.backend.issue(call),
            Err(errno) => -Reply::from(errno),
        }
    }

    /// The descriptor in a slot; one that is never open where it is empty.
    fn fd(&self, slot: usize) -> Fd {
        self.slots[slot].map_or(Fd(900_000_000), |(fd, _)| fd)
    }

    fn is_directory(&mut self, path: &CStr) -> bool {
        self.opens(path, libc::O_PATH | libc::O_DIRECTORY)
    }

    /// No link to one, either; slashes behind a link follow it.
    fn is_directory_itself(&mut self, path: &CStr) -> bool {
        self.opens(path, libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
    }

    fn opens(&mut self, path: &CStr, flags: i32) -> bool {
        let fd = self.issue(Call::Open { path, flags, mode: 0 });
        fd >= 0 && self.issue(Call::Close { fd: Fd(fd as i32) }) == 0
    }

    pub fn run(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Pread(slot, length, offset) => self.pread(*slot, *length, *offset),
            Step::MapRead(slot, length, offset) => self.map_read(*slot, *length, *offset),
            Step::Preadv(slot, lengths, offset) => self.preadv(*slot, lengths, *offset),
            Step::Getxattr(path, name, room) => {
                let mut buf = vec![0xee; *room];
                let reply = self.issue(Call::Getxattr { path, name, buf: &mut buf });
                outcome_of_bytes(reply, &buf)
            }
            step => outcome(self.reply(step)),
        }
    }

    fn pread(&mut self, slot: usize, length: usize, offset: u64) -> Outcome {
        let mut buf = vec![0xee; length];
        let fd = self.fd(slot);
        let reply = self.issue(Call::Pread { fd, buf: &mut buf, offset, rest: false });
        outcome_of_bytes(reply, &buf)
    }

    fn map_read(&mut self, slot: usize, length: usize, offset: u64) -> Outcome {
        let mut buf = vec![0xee; length];
        let fd = self.fd(slot);
        let reply = self.issue(Call::MapRead { fd, buf: &mut buf, offset, rest: false });
        outcome_of_bytes(reply, &buf)
    }

    fn preadv(&mut self, slot: usize, lengths: &[usize], offset: u64) -> Outcome {
        let fd = self.fd(slot);
        let mut buf = vec![0xee; lengths.iter().sum()];
        let mut rest = buf.as_mut_slice();
        let mut bufs = Vec::new();
        for length in lengths {
            let (one, others) = rest.split_at_mut(*length);
            bufs.push(IoSliceMut::new(one));
            rest = others;
        }
        let reply = self.issue(Call::Preadv { fd, bufs: &mut bufs, offset });
        outcome_of_bytes(reply, &buf)
    }

    fn open(&mut self, slot: usize, path: &CStr, flags: i32, mode: u32) -> Reply {
        if let Some((fd, _)) = self.slots[slot].take() {
            self.issue(Call::Close { fd });
        }
        let fd = self.issue(Call::Open { path, flags, mode });
        if fd < 0 {
            return fd;
        }
        self.slots[slot] = Some((Fd(fd as i32), self.is_directory(path)));
        0
    }

    fn list(&mut self, fd: Fd) -> Reply {
        let rewound = self.issue(Call::Seek { fd, offset: 0, end: false });
        if rewound < 0 {
            return rewound;
        }
        let mut entries = 0;
        let mut buf = [0u8; 512];
        loop {
            match self.issue(Call::Getdents { fd, buf: &mut buf }) {
                0 => return entries,
                listed @ 1.. => entries += listed - 1,
                errno => return errno,
            }
        }
    }

    fn reply(&mut self, step: &Step) -> Reply {
        match step {
            Step::Open(slot, path, flags, mode) => self.open(*slot, path, *flags, *mode),
            Step::Close(slot) => {
                let fd = self.fd(*slot);
                self.slots[*slot] = None;
                self.issue(Call::Close { fd })
            }
            Step::List(slot) => self.list(self.fd(*slot)),
            Step::Fstat(slot) => {
                let size = self.issue(Call::Fstat { fd: self.fd(*slot) });
                self.without_directory_size(size, self.slots[*slot].is_some_and(|(_, dir)| dir))
            }
            Step::Stat(path) => {
                let size = self.issue(Call::Stat { path });
                let directory = self.is_directory(path);
                self.without_directory_size(size, directory)
            }
            Step::Lstat(path) => {
                let size = self.issue(Call::Lstat { path });
                let directory = self.is_directory_itself(path);
                self.without_directory_size(size, directory)
            }
            Step::Seek(..) | Step::Fsync(..) | Step::Fdatasync(..) => self.on_file(step),
            Step::Pwrite(..) | Step::Append(..) => self.on_file(step),
            Step::Map(..) | Step::Unmap(..) => self.on_file(step),
            Step::MapWrite(..) | Step::Msync(..) => self.on_file(step),
            Step::Ftruncate(..) | Step::Fallocate(..) | Step::Fadvise(..) => self.on_file(step),
            Step::CopyRange(..) | Step::Clone(..) | Step::CloneRange(..) | Step::Pwritev(..) => {
                self.on_file(step)
            }
            // Back-ends differ in what they look at first, and programs never get here.
            Step::LinkFile(slot, _) if self.slots[*slot].is_none() => -Reply::from(libc::EBADF),
            Step::Flock(..) | Step::LinkFile(..) | Step::SyncfsOf(..) => self.on_file(step),
            step => self.on_name(step),
        }
    }

    /// File systems differ in the size of directories.
    fn without_directory_size(&self, size: Reply, directory: bool) -> Reply {
        if directory { size.min(0) } else { size }
    }

    fn on_file(&mut self, step: &Step) -> Reply {
        let slices: Vec<IoSlice<'_>>;
        let call = match step {
            Step::Pwrite(slot, data, offset) => {
                Call::Pwrite { fd: self.fd(*slot), buf: &data.0, offset: *offset }
            }
            Step::Append(slot, data) => Call::Append { fd: self.fd(*slot), buf: &data.0 },
            Step::Map(slot, write) => Call::Map { fd: self.fd(*slot), write: *write },
            Step::Unmap(slot) => Call::Unmap { fd: self.fd(*slot) },
            Step::MapWrite(slot, data, offset) => {
                Call::MapWrite { fd: self.fd(*slot), buf: &data.0, offset: *offset }
            }
            Step::Msync(slot) => Call::Msync { fd: self.fd(*slot) },
            Step::Seek(slot, offset, end) => {
                Call::Seek { fd: self.fd(*slot), offset: *offset, end: *end }
            }
            Step::Fsync(slot) => Call::Fsync { fd: self.fd(*slot) },
            Step::Fdatasync(slot) => Call::Fdatasync { fd: self.fd(*slot) },
            Step::Ftruncate(slot, size) => Call::Ftruncate { fd: self.fd(*slot), size: *size },
            Step::Fallocate(slot, mode, offset, size) => {
                let (fd, mode, offset, size) = (self.fd(*slot), *mode, *offset, *size);
                Call::Fallocate { fd, mode, offset, size }
            }
            Step::Fadvise(slot, offset, size, advice) => {
                let (fd, offset, size, advice) = (self.fd(*slot), *offset, *size, *advice);
                Call::Fadvise { fd, offset, size, advice }
            }
            Step::CopyRange((from, start), (to, at), len) => {
                let (from, to) = ((self.fd(*from), *start), (self.fd(*to), *at));
                Call::CopyRange { from, to, len: *len, rest: false }
            }
            Step::Clone(from, to) => Call::Clone { from: self.fd(*from), to: self.fd(*to) },
            Step::CloneRange((from, start), (to, at), len) => {
                let (from, to) = ((self.fd(*from), *start), (self.fd(*to), *at));
                Call::CloneRange { from, to, len: *len }
            }
            Step::Pwritev(slot, data, offset) => {
                slices = data.iter().map(|data| IoSlice::new(&data.0)).collect();
                Call::Pwritev { fd: self.fd(*slot), bufs: &slices, offset: *offset }
            }
            Step::Flock(slot, operation) => {
                Call::Flock { fd: self.fd(*slot), operation: *operation }
            }
            Step::LinkFile(slot, path) => Call::LinkFile { fd: self.fd(*slot), path },
            Step::SyncfsOf(slot) => Call::Syncfs { fd: Some(self.fd(*slot)) },
            other => panic!("{other:?} is not a call on a file"),
        };
        self.issue(call)
    }

    fn on_name(&mut self, step: &Step) -> Reply {
        let mut buf: Vec<u8>;
        let call = match step {
            Step::Access(path) => Call::Access { path },
            Step::Unlink(path) => Call::Unlink { path },
            Step::Rename(from, to) => Call::Rename { from, to, flags: 0 },
            Step::Rename2(from, to, flags) => Call::Rename { from, to, flags: *flags },
            Step::Setxattr(path, name, value) => Call::Setxattr { path, name, value: &value.0 },
            Step::Removexattr(path, name) => Call::Removexattr { path, name },
            Step::Listxattr(path, room) => {
                buf = vec![0; *room];
                Call::Listxattr { path, buf: &mut buf }
            }
            Step::Mkdir(path) => Call::Mkdir { path },
            Step::Rmdir(path) => Call::Rmdir { path },
            Step::Truncate(path, size) => Call::Truncate { path, size: *size },
            Step::Link(from, to) => Call::Link { from, to },
            Step::Symlink(target, path) => Call::Symlink { target, path },
            Step::Readlink(path) => Call::Readlink { path },
            Step::Chmod(path, mode) => Call::Chmod { path, mode: *mode },
            Step::Utime(path) => Call::Utime { path },
            Step::Statfs(path) => Call::Statfs { path },
            Step::Syncfs => Call::Syncfs { fd: None },
            Step::Nothing(bytes, rest) => Call::Nothing { bytes: *bytes, rest: *rest },
            other => panic!("{other:?} is not a call on a name"),
        };
        self.issue(call)
    }
}

impl<B: Backend> Drop for Runner<B> {
    fn drop(&mut self) {
        for slot in 0..SLOTS {
            if let Some((fd, _)) = self.slots[slot].take() {
                self.backend.issue(Call::Close { fd });
            }
        }
    }
}

fn outcome_of_bytes(reply: Reply, buf: &[u8]) -> Outcome {
    match reply {
        read @ 0.. => Outcome::Bytes(buf[..read as usize].to_vec()),
        errno => outcome(errno),
    }
}

fn outcome(reply: Reply) -> Outcome {
    match u16::try_from(-reply) {
        Ok(errno) if errno > 0 => Outcome::Errno(model::errno::name(errno)),
        _ => Outcome::Number(reply),
    }
}
