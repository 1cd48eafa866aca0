//! `O_DIRECT`: what it wants, and why it was refused.

use rustix::fs::{AtFlags, StatxFlags, statx};
use std::os::fd::BorrowedFd;

/// Alignment of transfers on a file opened with `O_DIRECT`, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Address of the buffer.
    pub memory_bytes: u32,
    /// Position and length of the transfer.
    pub offset_bytes: u32,
}

/// Holds everywhere that matters: no device in use has larger blocks.
pub const SAFE: Alignment = Alignment { memory_bytes: 4096, offset_bytes: 4096 };

/// The alignment that the file system reports for this open file (statx `STATX_DIOALIGN`,
/// Linux 6.1); [`SAFE`] where it does not say.
pub fn alignment(fd: i32) -> Alignment {
    // SAFETY: a descriptor of a file that is open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let Ok(facts) = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return SAFE;
    };
    if facts.stx_mask & StatxFlags::DIOALIGN.bits() == 0 || facts.stx_dio_offset_align == 0 {
        return SAFE;
    }
    Alignment {
        memory_bytes: facts.stx_dio_mem_align.max(1),
        offset_bytes: facts.stx_dio_offset_align,
    }
}

/// Why an `open` with `O_DIRECT` failed, if that is the likely reason: Linux
/// file systems that cannot do it answer `EINVAL` (open(2)), some `EOPNOTSUPP`.
pub fn explain_open(errno: i32, file_system: &str) -> Option<String> {
    matches!(errno, libc::EINVAL | libc::EOPNOTSUPP).then(|| {
        format!(
            "the file system {file_system} does not support O_DIRECT; \
             leave out direct=true or choose a directory on another file system"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn refusals_are_explained() {
        let text = explain_open(libc::EINVAL, "tmpfs").expect("EINVAL is the sign");
        assert!(text.contains("the file system tmpfs does not support O_DIRECT"), "{text}");
        assert_eq!(explain_open(libc::ENOENT, "tmpfs"), None);
    }

    #[test]
    fn a_file_tells_its_alignment_or_a_safe_one_is_taken() {
        let file = tempfile::tempfile().expect("a temporary file");
        let reported = alignment(file.as_raw_fd());
        assert!(reported.offset_bytes.is_power_of_two() && reported.memory_bytes.is_power_of_two());
        let silent = std::fs::File::open("/proc/self/stat").expect("/proc is mounted");
        assert_eq!(alignment(silent.as_raw_fd()), SAFE);
    }
}
