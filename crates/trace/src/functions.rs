//! Functions of the kernel, the C library and MPI by name: what they do, and what their arguments are.
//!
//! ```text
//! strace      pread64(3, "..", 4096, 8192) = 4096           ┐
//! Recorder    0.1 0.2 pread 1 0 ( /d/f 0x7ffe 4096 8192 )   ├─▶ On(Fread) of 4096 bytes at 8192
//! the library that records a program: slot of kind 21       ┘
//! ```
//!
//! Arguments have a letter each, in the order of the prototype: `f`ile that is open, name to look up
//! (`p`ath) and `d`irectory where it starts; `F`, `q`, `D`: the same for a second file; `c`ount of bytes,
//! `z`: size of an element, `v`ector of buffers, `o`ffset, `O`: where it is stored, `P`: the second of
//! them; `w`hence, fla`g`s and `M`ode of opening, `m`ode of a file, `s`tatus, `a`: flags of the name,
//! `x`: flags that close at exec, `r`: of renaming, `n`: of mapping, `h`: of what is shared; `t`ext that
//! is given back; `.` for others.

use crate::record::Act::{self, *};
use crate::record::Shares;
use hashbrown::HashMap;
use model::Op;
use rustc_hash::FxBuildHasher;
use std::sync::LazyLock;

/// Names with the same meaning, what they do, and their arguments.
type Row = (&'static str, Act<'static>, &'static str);

/// Kinds of slots, by number from 1: `PB_KINDS` of the recording library, in its order.
pub const KINDS: &[Row] = &[
    ("skip", Other, ""),
    ("directory", TellDirectory, ""),
    ("shown", Shown, ""),
    ("execute", Execute, ""),
    ("exit", Exit, ""),
    ("spawn", Spawn(Shares::NOTHING), ""),
    ("open", On(Op::Fopen), "pg."),
    ("openat", On(Op::Fopen), "dpg."),
    ("creat", On(Op::Fcreat), "p."),
    ("close", On(Op::Fclose), "f"),
    ("close_range", CloseRange, "fFx"),
    ("dup", Dup, "f"),
    ("dup2", Dup, "fF"),
    ("dup3", Dup, "fFx"),
    ("fcntl_dup", Dup, ""),
    ("fcntl_setfd", CloseAtExec, ""),
    ("fcntl_setfl", SetFlags, ""),
    ("no_file", NoFile, ""),
    ("read", On(Op::Fread), "f.c"),
    ("pread64", On(Op::Fread), "f.co"),
    ("readv", On(Op::Fread), "fv."),
    ("preadv", On(Op::Fread), "fv.o"),
    ("preadv2", On(Op::Fread), "fv.o."),
    ("write", On(Op::Fwrite), "f.c"),
    ("pwrite64", On(Op::Fwrite), "f.co"),
    ("writev", On(Op::Fwrite), "fv."),
    ("pwritev", On(Op::Fwrite), "fv.o"),
    ("pwritev2", On(Op::Fwrite), "fv.o."),
    ("copy_file_range", On(Op::Fcopy), "fOFPc."),
    ("sendfile", Send, "FfOc"),
    ("splice", Send, "fOFPc."),
    ("ioctl_clone", On(Op::Freflink), ""),
    ("lseek", On(Op::Fseek), "fow"),
    ("getdents64", On(Op::Readdir), "f.."),
    ("fstat", On(Op::Fstat), "fs"),
    ("stat", On(Op::Stat), "ps"),
    ("lstat", On(Op::Lstat), "ps"),
    ("newfstatat", On(Op::Stat), "dpsa"),
    ("statx", On(Op::Stat), "dpa.s"),
    ("ftruncate", On(Op::Ftruncate), "fc"),
    ("truncate", On(Op::Truncate), "pc"),
    ("fallocate", On(Op::Fallocate), "f.oc"),
    ("fallocate_other", WithoutOperation, ""),
    ("fsync", On(Op::Fsync), "f"),
    ("fdatasync", On(Op::Fdatasync), "f"),
    ("syncfs", On(Op::Syncfs), "f"),
    ("sync", On(Op::Sync), ""),
    ("fadvise64", On(Op::Fadvise), "f..."),
    ("sync_file_range", WithoutOperation, ""),
    ("msync", WithoutOperation, ""),
    ("mmap", Map, ".c.nf."),
    ("fsetxattr", On(Op::Setxattr), "f...."),
    ("fgetxattr", On(Op::Getxattr), "f..."),
    ("flistxattr", On(Op::Listxattr), "f.."),
    ("fremovexattr", On(Op::Removexattr), "f."),
    ("setxattr", On(Op::Setxattr), "p...."),
    ("getxattr", On(Op::Getxattr), "p..."),
    ("listxattr", On(Op::Listxattr), "p.."),
    ("removexattr", On(Op::Removexattr), "p."),
    ("fchmod", On(Op::Chmod), "fm"),
    ("chmod", On(Op::Chmod), "pm"),
    ("fchmodat", On(Op::Chmod), "dpm."),
    ("futimens", On(Op::Utime), "f."),
    ("utimensat", On(Op::Utime), "dp.."),
    ("fstatfs", On(Op::Statfs), "f."),
    ("statfs", On(Op::Statfs), "p."),
    ("access", On(Op::Lookup), "p."),
    ("faccessat", On(Op::Lookup), "dp.."),
    ("readlink", On(Op::Readlink), "pt."),
    ("readlinkat", On(Op::Readlink), "dpt."),
    ("unlink", On(Op::Delete), "p"),
    ("unlinkat", On(Op::Delete), "dpa"),
    ("rmdir", On(Op::Rmdir), "p"),
    ("mkdir", On(Op::Mkdir), "p."),
    ("mkdirat", On(Op::Mkdir), "dp."),
    ("rename", On(Op::Rename), "pq"),
    ("renameat", On(Op::Rename), "dpDq"),
    ("renameat2", On(Op::Rename), "dpDqr"),
    ("link", On(Op::Link), "pq"),
    ("linkat", On(Op::Link), "dpDq."),
    ("symlink", On(Op::Symlink), "pq"),
    ("symlinkat", On(Op::Symlink), "pDq"),
    ("chdir", Enter, "p"),
    ("fchdir", Enter, "f"),
    ("flock", WithoutOperation, ""),
    ("fcntl_lock", WithoutOperation, ""),
    ("fchown", WithoutOperation, ""),
    ("chown", WithoutOperation, ""),
    ("fchownat", WithoutOperation, ""),
    ("mknod", WithoutOperation, ""),
    ("mpi_open", Mpi(Op::Pfopen), ""),
    ("mpi_close", Mpi(Op::Pfclose), ""),
    ("mpi_read", Mpi(Op::Pfread), ""),
    ("mpi_write", Mpi(Op::Pfwrite), ""),
    ("mpi_sync", Mpi(Op::Pfsync), ""),
    ("mpi_set_size", Mpi(Op::Pfsetsize), ""),
    ("mpi_preallocate", Mpi(Op::Pfpreallocate), ""),
    ("mpi_seek", Mpi(Op::Pfseek), ""),
    ("mpi_delete", Mpi(Op::Pdelete), ""),
    ("mpi_other", Above, ""),
    ("unshare", Unshare(Shares::NOTHING), "h"),
    ("mpi_barrier", Barrier, ""),
    ("opaque", Opaque, ""),
    // bind(2) of a socket in the file system, which makes its name.
    ("bound", On(Op::Create), ""),
];

/// Other functions, several names in a row where they mean the same.
const OTHERS: &[Row] = &[
    ("pread", On(Op::Fread), "f.co"),
    ("pwrite", On(Op::Fwrite), "f.co"),
    ("openat2", On(Op::Fopen), "dpg."),
    ("_llseek llseek seek", On(Op::Fseek), "f...."),
    ("getdents", On(Op::Readdir), "f.."),
    ("fstatat", On(Op::Stat), "dpsa"),
    ("posix_fadvise", On(Op::Fadvise), "f..."),
    ("utime utimes", On(Op::Utime), "p."),
    ("futimesat", On(Op::Utime), "dp."),
    ("lsetxattr", On(Op::Setxattr), "p...."),
    ("lgetxattr", On(Op::Getxattr), "p..."),
    ("llistxattr", On(Op::Listxattr), "p.."),
    ("lremovexattr", On(Op::Removexattr), "p."),
    ("getcwd", TellDirectory, "p."),
    ("fork vfork", Spawn(Shares::NOTHING), ""),
    ("clone clone3", Spawn(Shares::NOTHING), "h"),
    ("execve", Execute, "p.."),
    ("execveat", Execute, "dp..."),
    ("exit_group", Exit, ""),
    ("socket accept accept4 epoll_create epoll_create1 eventfd signalfd signalfd4", NoFile, ""),
    ("timerfd_create inotify_init inotify_init1 memfd_create userfaultfd", NoFile, ""),
    ("perf_event_open pidfd_open io_uring_setup bpf fanotify_init", NoFile, ""),
    ("readahead tee vmsplice lchown mknodat quotactl swapon", WithoutOperation, ""),
    ("name_to_handle_at open_by_handle_at", WithoutOperation, ""),
    ("mount umount2 chroot pivot_root", WithoutOperation, ""),
    ("io_uring_enter io_submit io_getevents", Opaque, ""),
    // Of the C library.
    ("fopen", On(Op::Fopen), "pM"),
    ("fclose", On(Op::Fclose), "f"),
    ("fread", On(Op::Fread), ".zcf"),
    ("fgets", On(Op::Fread), ".cf"),
    ("fwrite", On(Op::Fwrite), ".zcf"),
    ("fprintf vfprintf", On(Op::Fwrite), "fc"),
    ("fputs", On(Op::Fwrite), ".f"),
    ("fseek fseeko", On(Op::Fseek), "fow"),
    ("rewind", On(Op::Fseek), "f"),
    ("__fxstat", On(Op::Fstat), ".f."),
    ("__xstat", On(Op::Stat), ".p."),
    ("__lxstat", On(Op::Lstat), ".p."),
    ("__fxstatat", On(Op::Stat), ".dp.."),
    ("remove", On(Op::Delete), "p"),
    // The log has no calls that read the directory: opening it counts as reading it.
    ("opendir", Whole(Op::Readdir), "p"),
    ("readdir closedir fileno ftell ftello fdopen fflush munmap umask wait waitpid", Other, ""),
];

static BY_NAME: LazyLock<HashMap<&[u8], Row, FxBuildHasher>> = LazyLock::new(|| {
    let rows = OTHERS.iter().chain(KINDS);
    rows.flat_map(|row| row.0.split(' ').map(|name| (name.as_bytes(), *row))).collect()
});

/// The action and arguments of a function, by its name; `64` and `2` at its end are ignored, unless
/// it has a row. `None` if it is not known to touch files.
pub fn find_function(name: &[u8]) -> Option<(Act<'static>, &'static [u8])> {
    let plain = || name.strip_suffix(b"64").or(name.strip_suffix(b"2"));
    let row = BY_NAME.get(name).or_else(|| BY_NAME.get(plain()?))?;
    Some((row.1, row.2.as_bytes()))
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
    fn names_are_found_with_their_endings() {
        let act = |name: &str| find_function(name.as_bytes()).map(|row| row.0);
        assert_eq!(act("fstatat64"), Some(On(Op::Stat)));
        assert_eq!(act("accept4"), Some(NoFile));
        assert_eq!([act("preadv2"), act("mmap2")], [Some(On(Op::Fread)), Some(Map)]);
        assert_eq!([act("brk"), act("2"), act("")], [None, None, None]);
    }
}
