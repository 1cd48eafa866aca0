//! The system calls themselves, as an application makes them.
//!
//! Relative paths resolve in the current directory: the rank has changed into the
//! run directory. Absolute paths that begin with its path do so too, because another directory
//! may have got that path since; those in a further directory of the program resolve there
//! (`Roots`). Which names a program may use is the lexical rule's business (`super::lexical`); what
//! it does not cover needs [`super::Beneath`], or is refused here.
//!
//! `EINTR` is returned like every other errno; the caller decides. (On Linux only
//! calls that wait can give it: `open` of a FIFO, transfers on network file
//! systems mounted with `intr`, `fallocate` and `close`. After `EINTR` from `close` the
//! descriptor is gone: it must not be closed again.)

use super::api::{Backend, Capabilities, Look, SAFE_ALIGNMENT_BYTES};
use super::caches;
use super::lexical::{self, protect_marker};
use super::mapped::Maps;
use super::resolve::{Held, Roots};
use super::ring::Ring;
use crate::call::{Call, Fd, Names, QueueSettings, Queued, Reply, Submitted, Tag};
use crate::entries;
use crate::host::usage::rusage;
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files of the operating system, by direct system calls.
#[derive(Debug)]
pub struct Posix {
    pub(crate) roots: Roots,
    /// The program is trusted with all names but the marker's.
    trusted: bool,
    /// The paths of the call lie in two directories.
    spans: bool,
    drop_caches: Result<File, i32>,
    /// The kernel counts what is fetched from storage.
    counts_fetched: bool,
    maps: Maps,
    ring: Option<Box<Ring>>,
}

impl Posix {
    /// Takes the current directory as run directory, by the path that it has.
    pub fn new() -> io::Result<Posix> {
        Posix::known_as(&std::env::current_dir()?)
    }

    /// Takes the current directory as run directory, which the program knows by this path. Call it after
    /// changing into the directory: it opens the directory (for syncfs)
    /// and /proc/sys/vm/drop_caches (whose errno is kept and given by `DropCaches`).
    pub fn known_as(path: &Path) -> io::Result<Posix> {
        let drop_caches = OpenOptions::new()
            .write(true)
            .open("/proc/sys/vm/drop_caches")
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO));
        Ok(Posix {
            roots: Roots::new(path.as_os_str().as_bytes().to_vec(), File::open(".")?),
            trusted: false,
            spans: false,
            drop_caches,
            counts_fetched: Path::new("/proc/self/io").exists(),
            maps: Maps::default(),
            ring: None,
        })
    }

    /// The same with further directories.
    pub fn with_directories(mut self, held: Vec<Held>) -> Posix {
        self.roots.extend(held);
        self
    }

    /// The same for a program that is trusted: names may lead anywhere.
    pub fn trusting(self) -> Posix {
        Posix { trusted: true, ..self }
    }

    #[inline(always)]
    fn check(&self, call: &Call<'_>) -> Result<(), i32> {
        if self.trusted {
            return protect_marker(call);
        }
        lexical::check(call, |path| self.roots.locate(path))?;
        if lexical::exception(call).is_some() { Err(libc::EXDEV) } else { Ok(()) }
    }

    /// Makes the directory of a call's paths the current one of this process. Of two it is that of
    /// the second path.
    #[cold]
    fn enter(&mut self, names: Names<'_>) -> Result<(), i32> {
        self.spans = false;
        let root = match names {
            Names::None => return Ok(()),
            Names::One { path, .. } | Names::Link { path, .. } => self.roots.find(path),
            Names::Two { from, to } => {
                let root = self.roots.find(to);
                self.spans = root != self.roots.find(from);
                root
            }
        };
        self.roots.enter(root)
    }

    /// A path of the program, relative to the current directory if it lies in it.
    #[inline(always)]
    fn at(&self, path: &CStr) -> *const libc::c_char {
        match path.to_bytes().first() {
            Some(b'/') => self.roots.relative(path),
            _ => path.as_ptr(),
        }
    }

    /// Executes a call on what this path leads to, whatever path it has itself.
    pub(crate) fn issue_on(&mut self, call: Call<'_>, path: *const libc::c_char) -> Reply {
        match self.maps.issue(call) {
            Ok(reply) => reply,
            Err(call) => self.issue_at(call, |_| path),
        }
    }

    #[inline(always)]
    fn issue_at(&self, call: Call<'_>, at: impl Fn(&CStr) -> *const libc::c_char) -> Reply {
        match call {
            Call::Syncfs { fd: None } => syncfs(Fd(self.roots.fd(0))),
            Call::SyncDirectory { path } => syncfs(Fd(self.roots.fd(self.roots.find(path)))),
            Call::Rename { from, to, flags } if self.spans => {
                let (old, new) = (self.roots.fd(self.roots.find(from)), libc::AT_FDCWD);
                let (from, to) = (at(from), at(to));
                // SAFETY: ends of paths that are borrowed for the call.
                reply(unsafe { libc::syscall(libc::SYS_renameat2, old, from, new, to, flags) })
            }
            Call::Link { from, to } if self.spans => {
                let old = self.roots.fd(self.roots.find(from));
                // SAFETY: as above.
                reply(unsafe { libc::linkat(old, at(from), libc::AT_FDCWD, at(to), 0) })
            }
            Call::DropCaches {} => self.drop_caches(),
            call => issue(call, at),
        }
    }

    fn drop_caches(&self) -> Reply {
        match &self.drop_caches {
            Ok(file) => {
                // SAFETY: the buffer is as long as said.
                let written = unsafe { libc::write(file.as_raw_fd(), c"3".as_ptr().cast(), 1) };
                reply(written as i64)
            }
            Err(errno) => -Reply::from(*errno),
        }
    }
}

/// The return value of a C function as a reply: not negative, or minus errno.
#[inline(always)]
pub(crate) fn reply(returned: impl Into<i64>) -> Reply {
    let returned = returned.into();
    if returned >= 0 { returned } else { last_errno() }
}

#[cold]
fn last_errno() -> Reply {
    // SAFETY: the address of this thread's errno is always valid.
    -Reply::from(unsafe { *libc::__errno_location() })
}

/// The bits of a position or size: values beyond i64 become negative, which the
/// kernel refuses with `EINVAL`.
#[inline(always)]
fn off(bytes: u64) -> libc::off_t {
    bytes as libc::off_t
}

impl Backend for Posix {
    fn capabilities(&mut self) -> Capabilities {
        Capabilities { name: "posix", keeps_data: true, ..Capabilities::default() }
    }

    fn look(&mut self, fd: Fd) -> Option<Look> {
        caches::look(fd)
    }

    #[inline(always)]
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.check(call)?;
        if self.roots.is_one() { Ok(()) } else { self.enter(call.names()) }
    }

    fn knows_name(&mut self, path: &CStr) -> Option<bool> {
        let directory = self.roots.fd(self.roots.find(path));
        // SAFETY: a directory that is held open, and an end of a path that is borrowed for the call.
        let (directory, path) =
            unsafe { (BorrowedFd::borrow_raw(directory), CStr::from_ptr(self.at(path))) };
        caches::is_cached(directory, path)
    }

    fn fetched_bytes(&mut self) -> Option<u64> {
        self.counts_fetched.then(fetched_bytes)
    }

    fn alignment(&mut self, fd: Fd) -> u32 {
        // SAFETY: a file that is open.
        alignment(unsafe { BorrowedFd::borrow_raw(fd.0) }).unwrap_or(SAFE_ALIGNMENT_BYTES)
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        // SAFETY: no memory is involved.
        u64::try_from(unsafe { libc::lseek(fd.0, 0, libc::SEEK_CUR) }).ok()
    }

    #[inline(always)]
    fn issue(&mut self, call: Call<'_>) -> Reply {
        match self.maps.issue(call) {
            Ok(reply) => reply,
            Err(call) => self.issue_at(call, |path| self.at(path)),
        }
    }

    fn open_queue(&mut self, settings: &QueueSettings) -> Result<(), i32> {
        // The kernel gives the old one's memory back first.
        self.ring = None;
        self.ring = Some(Box::new(Ring::open(settings)?));
        Ok(())
    }

    fn lend_memory(&mut self, memory: &mut [u8]) {
        self.ring.iter_mut().for_each(|ring| ring.lend_memory(memory));
    }

    fn leave_file(&mut self, fd: Fd) {
        self.ring.iter_mut().for_each(|ring| ring.leave_file(fd));
    }

    #[inline(always)]
    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        let Some(ring) = &mut self.ring else {
            return Submitted::Done(call.execute(self));
        };
        match ring.push(tag, &call) {
            Ok(()) => Submitted::UnderWay,
            Err(errno) => Submitted::Done(-Reply::from(errno)),
        }
    }

    #[inline(always)]
    fn hand_over(&mut self, wait: u32) -> Reply {
        self.ring.as_mut().map_or(0, |ring| ring.hand_over(wait))
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        self.ring.as_mut().map_or(0, |ring| ring.wait_within(ns))
    }

    #[inline(always)]
    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.ring.as_mut()?.ended()
    }
}

/// `read_bytes` of /proc/self/io in its cheapest form (getrusage(2) counts blocks of 512 bytes).
fn fetched_bytes() -> u64 {
    rusage().ru_inblock as u64 * 512
}

/// Alignment in bytes that the file system reports for offsets with `O_DIRECT` (statx `STATX_DIOALIGN`, since Linux
/// 6.1). `None`: it reports none.
fn alignment(file: BorrowedFd<'_>) -> Option<u32> {
    let facts = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_said = facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    Some(facts.stx_dio_offset_align).filter(|bytes| is_said && *bytes > 0)
}

fn syncfs(fd: Fd) -> Reply {
    // SAFETY: no pointers.
    reply(unsafe { libc::syncfs(fd.0) })
}

/// Executes a call on files; `at` says where a path is.
#[inline(always)]
fn issue(call: Call<'_>, at: impl Fn(&CStr) -> *const libc::c_char) -> Reply {
    // SAFETY: every path, also an end of one, is NUL-terminated and every buffer as long as said;
    // both are borrowed for the duration of the call. Descriptors of a program are its own.
    let returned = unsafe {
        match call {
            Call::Open { path, flags, mode } => i64::from(libc::open(at(path), flags, mode)),
            Call::Close { fd } => i64::from(libc::close(fd.0)),
            Call::Pread { fd, buf, offset, .. } => {
                libc::pread(fd.0, buf.as_mut_ptr().cast(), buf.len(), off(offset)) as i64
            }
            Call::Pwrite { fd, buf, offset } => {
                libc::pwrite(fd.0, buf.as_ptr().cast(), buf.len(), off(offset)) as i64
            }
            Call::Append { fd, buf } => libc::write(fd.0, buf.as_ptr().cast(), buf.len()) as i64,
            Call::Seek { fd, offset, end } => {
                libc::lseek(fd.0, offset, if end { libc::SEEK_END } else { libc::SEEK_SET })
            }
            Call::Fsync { fd } => i64::from(libc::fsync(fd.0)),
            Call::Fdatasync { fd } => i64::from(libc::fdatasync(fd.0)),
            Call::Ftruncate { fd, size } => i64::from(libc::ftruncate(fd.0, off(size))),
            Call::Fallocate { fd, mode, offset, size } => {
                i64::from(libc::fallocate(fd.0, mode, off(offset), off(size)))
            }
            Call::Fadvise { fd, offset, size, advice } => {
                // It returns the errno.
                let errno = libc::posix_fadvise(fd.0, off(offset), off(size), advice);
                return -Reply::from(errno);
            }
            Call::CopyRange { from, to, len, .. } => {
                let (mut from_offset, mut to_offset) = (off(from.1), off(to.1));
                let (start, end) = (&raw mut from_offset, &raw mut to_offset);
                libc::copy_file_range(from.0.0, start, to.0.0, end, len, 0) as i64
            }
            Call::Clone { from, to } => i64::from(libc::ioctl(to.0, libc::FICLONE, from.0)),
            Call::CloneRange { from, to, len } => {
                let range = libc::file_clone_range {
                    src_fd: from.0.0.into(),
                    src_offset: from.1,
                    src_length: len,
                    dest_offset: to.1,
                };
                i64::from(libc::ioctl(to.0.0, libc::FICLONERANGE, &raw const range))
            }
            Call::Preadv { fd, bufs, offset } => {
                libc::preadv(fd.0, bufs.as_mut_ptr().cast(), count(bufs.len()), off(offset)) as i64
            }
            Call::Pwritev { fd, bufs, offset } => {
                libc::pwritev(fd.0, bufs.as_ptr().cast(), count(bufs.len()), off(offset)) as i64
            }
            Call::Flock { fd, operation } => i64::from(libc::flock(fd.0, operation)),
            Call::LinkFile { fd, path } => return link_file(fd, libc::AT_FDCWD, at(path)),
            Call::Fstat { fd } => return size_of_file(|stat| libc::fstat(fd.0, stat)),
            Call::Stat { path } => return size_of_file(|stat| libc::stat(at(path), stat)),
            Call::Lstat { path } => return size_of_file(|stat| libc::lstat(at(path), stat)),
            Call::Access { path } => i64::from(libc::access(at(path), libc::F_OK)),
            Call::Unlink { path } => i64::from(libc::unlink(at(path))),
            Call::Rename { from, to, flags: 0 } => i64::from(libc::rename(at(from), at(to))),
            Call::Rename { from, to, flags } => {
                let here = libc::AT_FDCWD;
                libc::syscall(libc::SYS_renameat2, here, at(from), here, at(to), flags)
            }
            Call::Mkdir { path } => i64::from(libc::mkdir(at(path), 0o777)),
            Call::Rmdir { path } => i64::from(libc::rmdir(at(path))),
            Call::Truncate { path, size } => i64::from(libc::truncate(at(path), off(size))),
            Call::Getdents { fd, buf } => return getdents(fd, buf),
            Call::Link { from, to } => i64::from(libc::link(at(from), at(to))),
            Call::Symlink { target, path } => i64::from(libc::symlink(target.as_ptr(), at(path))),
            Call::Readlink { path } => {
                let mut target = MaybeUninit::<[u8; libc::PATH_MAX as usize]>::uninit();
                let room = libc::PATH_MAX as usize;
                libc::readlink(at(path), target.as_mut_ptr().cast(), room) as i64
            }
            Call::Chmod { path, mode } => i64::from(libc::chmod(at(path), mode)),
            Call::Utime { path } => {
                i64::from(libc::utimensat(libc::AT_FDCWD, at(path), std::ptr::null(), 0))
            }
            Call::Statfs { path } => {
                let mut facts = MaybeUninit::<libc::statfs>::uninit();
                i64::from(libc::statfs(at(path), facts.as_mut_ptr()))
            }
            Call::Setxattr { path, name, value } => {
                let (value, size) = (value.as_ptr().cast(), value.len());
                i64::from(libc::setxattr(at(path), name.as_ptr(), value, size, 0))
            }
            Call::Getxattr { path, name, buf } => {
                let (value, size) = (buf.as_mut_ptr().cast(), buf.len());
                libc::getxattr(at(path), name.as_ptr(), value, size) as i64
            }
            Call::Listxattr { path, buf } => {
                libc::listxattr(at(path), buf.as_mut_ptr().cast(), buf.len()) as i64
            }
            Call::Removexattr { path, name } => {
                i64::from(libc::removexattr(at(path), name.as_ptr()))
            }
            Call::Syncfs { fd: Some(fd) } => return syncfs(fd),
            Call::Nothing { .. } => return call.done_in_full(),
            // Others execute them.
            Call::Syncfs { fd: None }
            | Call::SyncDirectory { .. }
            | Call::DropCaches {}
            | Call::Map { .. }
            | Call::Unmap { .. }
            | Call::MapRead { .. }
            | Call::MapWrite { .. }
            | Call::Msync { .. } => return -Reply::from(libc::ENOSYS),
        }
    };
    reply(returned)
}

/// A number of buffers; more than the kernel takes (1024) give `EINVAL` there.
#[inline(always)]
fn count(buffers: usize) -> i32 {
    i32::try_from(buffers).unwrap_or(i32::MAX)
}

/// Gives an open file a name by way of /proc, as open(2) says for those without the rights that
/// linkat with `AT_EMPTY_PATH` wants.
///
/// # Safety
/// The path must be NUL-terminated.
pub(crate) unsafe fn link_file(fd: Fd, parent: i32, path: *const libc::c_char) -> Reply {
    let file = FdPath::new(fd);
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths are NUL-terminated.
    reply(unsafe { libc::linkat(here, file.as_ptr(), parent, path, follow) })
}

/// `/proc/self/fd/N`, which leads to an open file.
pub(crate) struct FdPath([u8; FdPath::ROOM]);

impl FdPath {
    const START: &'static [u8] = b"/proc/self/fd/";
    /// The start, ten digits and a NUL.
    const ROOM: usize = Self::START.len() + 11;

    pub(crate) fn new(fd: Fd) -> FdPath {
        let mut text = [0; FdPath::ROOM];
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(fd.0.unsigned_abs()).as_bytes();
        text[..FdPath::START.len()].copy_from_slice(FdPath::START);
        text[FdPath::START.len()..][..digits.len()].copy_from_slice(digits);
        FdPath(text)
    }

    pub(crate) fn as_ptr(&self) -> *const libc::c_char {
        self.0.as_ptr().cast()
    }
}

/// The size that a stat function finds. It must fill the structure when it returns 0.
#[inline(always)]
pub(crate) fn size_of_file(stat: impl FnOnce(*mut libc::stat) -> i32) -> Reply {
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    match stat(facts.as_mut_ptr()) {
        // SAFETY: the call succeeded, so it has filled the structure.
        0 => unsafe { facts.assume_init() }.st_size,
        _ => last_errno(),
    }
}

/// The entries are counted inside the call, as an application has to walk them:
/// about a nanosecond each, where the kernel takes some tens.
#[inline(always)]
fn getdents(fd: Fd, buf: &mut [u8]) -> Reply {
    // SAFETY: the buffer is writable for its whole length during the call.
    let filled = unsafe { libc::syscall(libc::SYS_getdents64, fd.0, buf.as_mut_ptr(), buf.len()) };
    match reply(filled) {
        filled @ 1.. => {
            entries::end(buf, filled as usize);
            entries::count_visible(&buf[..filled as usize]) as Reply + 1
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_alignment_or_a_safe_one_is_taken() {
        let mut posix = Posix::new().expect("posix");
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(posix.alignment(Fd(file.as_raw_fd())).is_power_of_two());
        let silent = File::open("/proc/self/stat").expect("/proc is mounted");
        assert_eq!(posix.alignment(Fd(silent.as_raw_fd())), SAFE_ALIGNMENT_BYTES);
    }
}
