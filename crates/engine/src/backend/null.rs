//! The back-end that does nothing: the tool measured by itself, and `--dry-run`.

use super::{Backend, Capabilities};
use crate::call::{Call, Fd, FileCall, Reply};

/// Returns at once. Every call succeeds and moves all the bytes asked for, except
/// reading to the end of a file, which finds the end at once. Descriptors are
/// always 3: nothing tells files apart here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

/// The descriptor of every open.
const FD: Fd = Fd(3);

impl Backend for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { keeps_data: false, keeps_names: false, direct: false, mpi_files: true }
    }

    #[inline(always)]
    fn issue(&mut self, call: Call<'_>) -> Reply {
        match call {
            Call::Open { .. } => i64::from(FD.0),
            Call::Pread { rest: true, .. } => 0,
            Call::Pread { buf, .. } => buf.len() as Reply,
            Call::Pwrite { buf, .. } | Call::Append { buf, .. } => buf.len() as Reply,
            Call::Preadv { bufs, .. } => bufs.iter().map(|buf| buf.len() as Reply).sum(),
            Call::Pwritev { bufs, .. } => bufs.iter().map(|buf| buf.len() as Reply).sum(),
            Call::CopyRange { rest: true, .. } => 0,
            Call::CopyRange { len, .. } => len as Reply,
            Call::Getxattr { buf, .. } => buf.len() as Reply,
            Call::Seek { offset, .. } => offset as Reply,
            Call::Close { .. }
            | Call::Fsync { .. }
            | Call::Fdatasync { .. }
            | Call::Ftruncate { .. }
            | Call::Fallocate { .. }
            | Call::Fadvise { .. }
            | Call::Clone { .. }
            | Call::Flock { .. }
            | Call::LinkFile { .. }
            | Call::Setxattr { .. }
            | Call::Listxattr { .. }
            | Call::Removexattr { .. }
            | Call::Fstat { .. }
            | Call::Stat { .. }
            | Call::Access { .. }
            | Call::Unlink { .. }
            | Call::Rename { .. }
            | Call::Mkdir { .. }
            | Call::Rmdir { .. }
            | Call::Truncate { .. }
            | Call::Getdents { .. }
            | Call::Link { .. }
            | Call::Symlink { .. }
            | Call::Readlink { .. }
            | Call::Chmod { .. }
            | Call::Utime { .. }
            | Call::Statfs { .. }
            | Call::Syncfs { .. }
            | Call::DropCaches => 0,
        }
    }

    #[inline(always)]
    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        call.done_in_full(i64::from(FD.0))
    }
}
