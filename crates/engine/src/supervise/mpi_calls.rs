//! Calls of MPI-IO in a list of calls: the functions of MPI, with files, positions and bytes.

use crate::call::{At, FileCall, MpiFile, Queued, Target};

/// The call as a line; `None`: it is no call of MPI-IO, or not a part of the operation.
pub(super) fn line(call: &FileCall<'_>) -> Option<String> {
    let on = |name: &str, file: &MpiFile| format!("MPI_File_{name}({}", file.0);
    Some(match call {
        FileCall::Open { path, hints, .. } => {
            let hints = if hints.is_empty() { String::new() } else { format!(", \"{hints}\"") };
            format!("MPI_File_open(\"{}\"{hints})", path.to_string_lossy())
        }
        FileCall::Close { file } => on("close", file) + ")",
        FileCall::Delete { path } => format!("MPI_File_delete(\"{}\")", path.to_string_lossy()),
        FileCall::Sync { file } => on("sync", file) + ")",
        FileCall::SetSize { file, size } => format!("{}, {size})", on("set_size", file)),
        FileCall::Preallocate { file, size } => format!("{}, {size})", on("preallocate", file)),
        FileCall::Seek { file, offset } => format!("{}, {offset})", on("seek", file)),
        FileCall::SetAtomic { file } => on("set_atomicity", file) + ", true)",
        FileCall::SetView { file, view: Some(_) } => on("set_view", file) + ", view)",
        FileCall::SetView { file, view: None } => on("set_view", file) + ", bytes)",
        FileCall::Transfer { file, at, memory, .. } => {
            let way = match memory {
                crate::call::Memory::Read(_) => "read",
                crate::call::Memory::Write(_) => "write",
            };
            let bytes = memory.len();
            match at {
                At::Offset { offset, collective } => {
                    let all = if *collective { "_all" } else { "" };
                    format!("{}, {offset}, {bytes})", on(&format!("{way}_at{all}"), file))
                }
                At::Shared { ordered } => {
                    let which = if *ordered { "ordered" } else { "shared" };
                    format!("{}, {bytes})", on(&format!("{way}_{which}"), file))
                }
            }
        }
        FileCall::MakeView { .. } | FileCall::Most { .. } | FileCall::Position { .. } => {
            return None;
        }
    })
}

/// A transfer that is started and waited for later, as a line.
pub(super) fn started(call: &Queued) -> String {
    let (_, bytes, write) = call.memory.parts();
    let (way, offset) = (if write { "write" } else { "read" }, call.offset);
    match call.target {
        Target::File(fd) => format!("io_uring p{way}64({}, {bytes}, {offset})", fd.0),
        Target::Sync { fd, data: false } => format!("io_uring fsync({})", fd.0),
        Target::Sync { fd, data: true } => format!("io_uring fdatasync({})", fd.0),
        Target::Mpi { file, collective } => {
            let all = if collective { "_all" } else { "" };
            format!("MPI_File_i{way}_at{all}({}, {offset}, {bytes})", file.0)
        }
    }
}
