//! Kinds of slots: `PB_KINDS` of the recording library, in its order.

use super::file::Slot;
use crate::record::{At, Call, Fd, Name, Shares};
use model::Op;
use model::event::{RENAME_EXCHANGE, RENAME_NOREPLACE};

/// How the fields of a slot are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Nothing,
    Unseen,
    Directory,
    Shown,
    Execute,
    Exit,
    Spawn,
    Open,
    Close,
    CloseRange,
    Dup,
    CloseAtExec,
    SetFlags,
    NoFile,
    Read,
    Write,
    Copy,
    Send,
    Clone,
    Seek,
    List,
    Attributes,
    NameAttributes {
        itself: bool,
    },
    Resize,
    Allocate,
    Map,
    SyncAll,
    Handle(Op),
    /// fchmod: its mode stands where others have bytes.
    Change,
    Named(Op),
    ReadLink,
    Remove,
    RemoveDirectory,
    MakeDirectory,
    Rename,
    Link,
    Symlink,
    Enter,
    EnterHandle,
    Unshare,
    Without,
    /// A call of MPI-IO: the calls of POSIX below it are recorded, too.
    Mpi(Op),
    MpiOther,
    /// All members of a communicator wait for each other: how many stands where others have bytes.
    Meeting,
}

use Shape::*;

/// Name and meaning of each kind; the first is number 1.
pub const KINDS: &[(&str, Shape)] = &[
    ("skip", Nothing),
    ("directory", Directory),
    ("shown", Shown),
    ("execute", Execute),
    ("exit", Exit),
    ("spawn", Spawn),
    ("unseen", Unseen),
    ("open", Open),
    ("openat", Open),
    ("creat", Open),
    ("close", Close),
    ("close_range", CloseRange),
    ("dup", Dup),
    ("dup2", Dup),
    ("dup3", Dup),
    ("fcntl_dup", Dup),
    ("fcntl_setfd", CloseAtExec),
    ("fcntl_setfl", SetFlags),
    ("no_file", NoFile),
    ("read", Read),
    ("pread64", Read),
    ("readv", Read),
    ("preadv", Read),
    ("preadv2", Read),
    ("write", Write),
    ("pwrite64", Write),
    ("writev", Write),
    ("pwritev", Write),
    ("pwritev2", Write),
    ("copy_file_range", Copy),
    ("sendfile", Send),
    ("splice", Send),
    ("ioctl_clone", Clone),
    ("lseek", Seek),
    ("getdents64", List),
    ("fstat", Attributes),
    ("stat", NameAttributes { itself: false }),
    ("lstat", NameAttributes { itself: true }),
    ("newfstatat", NameAttributes { itself: false }),
    ("statx", NameAttributes { itself: false }),
    ("ftruncate", Resize),
    ("truncate", Named(Op::Truncate)),
    ("fallocate", Allocate),
    ("fallocate_other", Without),
    ("fsync", Handle(Op::Fsync)),
    ("fdatasync", Handle(Op::Fdatasync)),
    ("syncfs", Handle(Op::Syncfs)),
    ("sync", SyncAll),
    ("fadvise64", Handle(Op::Fadvise)),
    ("sync_file_range", Without),
    ("msync", Without),
    ("mmap", Map),
    ("fsetxattr", Handle(Op::Setxattr)),
    ("fgetxattr", Handle(Op::Getxattr)),
    ("flistxattr", Handle(Op::Listxattr)),
    ("fremovexattr", Handle(Op::Removexattr)),
    ("setxattr", Named(Op::Setxattr)),
    ("getxattr", Named(Op::Getxattr)),
    ("listxattr", Named(Op::Listxattr)),
    ("removexattr", Named(Op::Removexattr)),
    ("fchmod", Change),
    ("chmod", Named(Op::Chmod)),
    ("fchmodat", Named(Op::Chmod)),
    ("futimens", Handle(Op::Utime)),
    ("utimensat", Named(Op::Utime)),
    ("fstatfs", Handle(Op::Statfs)),
    ("statfs", Named(Op::Statfs)),
    ("access", Named(Op::Lookup)),
    ("faccessat", Named(Op::Lookup)),
    ("readlink", ReadLink),
    ("readlinkat", ReadLink),
    ("unlink", Remove),
    ("unlinkat", Remove),
    ("rmdir", RemoveDirectory),
    ("mkdir", MakeDirectory),
    ("mkdirat", MakeDirectory),
    ("rename", Rename),
    ("renameat", Rename),
    ("renameat2", Rename),
    ("link", Link),
    ("linkat", Link),
    ("symlink", Symlink),
    ("symlinkat", Symlink),
    ("chdir", Enter),
    ("fchdir", EnterHandle),
    ("flock", Without),
    ("fcntl_lock", Without),
    ("fchown", Without),
    ("chown", Without),
    ("fchownat", Without),
    ("mknod", Without),
    ("mpi_open", Mpi(Op::Pfopen)),
    ("mpi_close", Mpi(Op::Pfclose)),
    ("mpi_read", Mpi(Op::Pfread)),
    ("mpi_write", Mpi(Op::Pfwrite)),
    ("mpi_sync", Mpi(Op::Pfsync)),
    ("mpi_set_size", Mpi(Op::Pfsetsize)),
    ("mpi_preallocate", Mpi(Op::Pfpreallocate)),
    ("mpi_seek", Mpi(Op::Pfseek)),
    ("mpi_delete", Mpi(Op::Pdelete)),
    ("mpi_other", MpiOther),
    ("unshare", Unshare),
    ("mpi_barrier", Meeting),
];

const AT_REMOVEDIR: u32 = 0x200;
const CLOSE_RANGE_CLOEXEC: u32 = 4;
const CLONE_FS: u32 = 0x200;
const CLONE_FILES: u32 = 0x400;
const O_CLOEXEC: u32 = 0o2000000;
const CREAT: u32 = 0o1101;

/// Other threads feel these before they have ended.
pub fn is_felt_early(kind: u16) -> bool {
    let kind = KINDS.get(usize::from(kind).wrapping_sub(1));
    kind.is_some_and(|kind| matches!(kind.1, Close | Spawn))
}

/// The call of a slot.
pub fn call<'a>(shape: Shape, slot: &Slot, text: &'a [u8], text2: &'a [u8]) -> Call<'a> {
    let fd = handle(slot.fd);
    match shape {
        Nothing | Unseen | Mpi(_) | MpiOther => Call::Other,
        Shown => Call::Shown { fd: Fd { shown: text, ..fd } },
        Exit => Call::Exit,
        Spawn => Call::Spawn { shares: Shares::default() },
        Execute => Call::Execute { name: name(text) },
        Directory => Call::TellDirectory { name: name(text) },
        Close => Call::Close { fd },
        CloseRange => Call::CloseRange {
            first: slot.fd.into(),
            last: slot.fd2.into(),
            at_exec: slot.flags & CLOSE_RANGE_CLOEXEC != 0,
        },
        Dup => {
            let over = u32::try_from(slot.fd2).ok().map(i64::from);
            Call::Dup { fd, over, at_exec: slot.flags & O_CLOEXEC != 0 }
        }
        CloseAtExec => Call::CloseAtExec { fd, on: slot.flags != 0 },
        SetFlags => Call::SetFlags { fd, flags: slot.flags },
        NoFile => {
            Call::NoFile { fds: [slot.fd, slot.fd2].map(|fd| (fd >= 0).then_some(fd.into())) }
        }
        Read => Call::Read { fd, bytes: slot.bytes, offset: offset(slot.offset) },
        Write => Call::Write { fd, bytes: slot.bytes, offset: offset(slot.offset) },
        Copy | Send | Clone => between(shape, slot, text),
        Seek => Call::Seek { fd },
        List => Call::List { fd },
        Attributes => Call::Attributes { fd, size_bytes: offset(slot.offset) },
        Resize => Call::Resize { fd, size_bytes: slot.bytes },
        Allocate => Call::Allocate { fd, end_bytes: slot.bytes, keeps_size: slot.offset & 1 != 0 },
        Map => Call::Map { fd, bytes: slot.bytes },
        SyncAll => Call::SyncAll,
        Handle(op) => Call::Handle { op, fd },
        Change => {
            let at = At { dir: fd, name: Name::default() };
            Call::Named { op: Op::Chmod, at, bytes: slot.bytes }
        }
        EnterHandle => Call::Enter { at: At { dir: fd, name: Name::default() } },
        Meeting => Call::Meet { members: slot.bytes },
        Unshare => Call::Unshare { shares: shares(slot.flags) },
        Without => Call::WithoutOperation,
        _ => on_name(shape, slot, At { dir: fd, name: name(text) }, text2),
    }
}

/// The properties that flags of clone(2) and unshare(2) name.
pub fn shares(flags: u32) -> Shares {
    Shares { process: false, files: flags & CLONE_FILES != 0, directory: flags & CLONE_FS != 0 }
}

/// Calls on names.
fn on_name<'a>(shape: Shape, slot: &Slot, at: At<'a>, text2: &'a [u8]) -> Call<'a> {
    let to = At { dir: handle(slot.fd2), name: name(text2) };
    let size_bytes = offset(slot.offset);
    match shape {
        Open if KINDS[usize::from(slot.kind) - 1].0 == "creat" => Call::Open { at, flags: CREAT },
        Open => Call::Open { at, flags: slot.flags },
        NameAttributes { .. } if at.name.text.is_empty() => {
            Call::Attributes { fd: at.dir, size_bytes }
        }
        NameAttributes { itself } => Call::NameAttributes { at, size_bytes, itself },
        Named(op) => Call::Named { op, at, bytes: slot.bytes },
        ReadLink => Call::ReadLink { at, target: name(text2) },
        Remove => Call::Remove { at, directory: slot.flags & AT_REMOVEDIR != 0, size_bytes },
        RemoveDirectory => Call::Remove { at, directory: true, size_bytes: None },
        MakeDirectory => Call::MakeDirectory { at },
        Rename => Call::Rename {
            from: at,
            to,
            flags: u64::from(slot.flags) & (RENAME_NOREPLACE | RENAME_EXCHANGE),
        },
        Link => Call::Link { from: at, to },
        Symlink => Call::Symlink { target: at.name, at: to },
        Enter => Call::Enter { at },
        _ => Call::Other,
    }
}

/// The offset of the other side stands where a name would.
fn between<'a>(shape: Shape, slot: &Slot, text: &[u8]) -> Call<'a> {
    let to_offset = text.try_into().ok().map(i64::from_ne_bytes).and_then(offset);
    let (from, from_offset) = (handle(slot.fd), offset(slot.offset));
    let (to, bytes) = (handle(slot.fd2), slot.bytes);
    match shape {
        Copy => Call::Copy { from, from_offset, to, to_offset, bytes },
        Clone => {
            let [from_offset, to_offset] = [from_offset, to_offset].map(Option::unwrap_or_default);
            Call::Clone { from, from_offset, to, to_offset, bytes }
        }
        _ => Call::Send { from, from_offset, to, to_offset, bytes },
    }
}

fn handle(fd: i32) -> Fd<'static> {
    Fd::bare(fd.into())
}

fn name(text: &[u8]) -> Name<'_> {
    Name { text, escaped: false, cut: false }
}

/// An offset; -1 is the current position.
fn offset(offset: i64) -> Option<u64> {
    u64::try_from(offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library numbers its kinds by their places in this list.
    #[test]
    fn the_library_has_the_same_kinds() {
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/preload/record.h");
        let header = std::fs::read_to_string(header).expect("the header");
        let list = header.split("#define PB_KINDS(K)").nth(1).expect("the list");
        let list = list.split("enum pb_kind").next().expect("its end");
        let names: Vec<&str> =
            list.split("K(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert_eq!(names, KINDS.iter().map(|kind| kind.0).collect::<Vec<_>>());
    }

    #[test]
    fn no_directory_is_the_current_one() {
        assert_eq!(handle(-100).number, crate::record::CWD);
    }
}
