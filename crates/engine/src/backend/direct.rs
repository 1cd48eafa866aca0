//! `O_DIRECT`: what it wants, and why it was refused.

use std::mem::MaybeUninit;

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
    let mut facts = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is a constant, the structure is as large as the kernel's.
    let done = unsafe {
        let (path, flags) = (c"".as_ptr(), libc::AT_EMPTY_PATH);
        libc::statx(fd, path, flags, libc::STATX_DIOALIGN, facts.as_mut_ptr())
    };
    // SAFETY: all zeros is a value of this structure of integers.
    let facts = unsafe { facts.assume_init() };
    let reported = done == 0 && facts.stx_mask & libc::STATX_DIOALIGN != 0;
    if !reported || facts.stx_dio_offset_align == 0 {
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

/// Why a transfer with `O_DIRECT` would be refused; `None` if it is aligned.
pub fn explain_transfer(offset: u64, length: u64, alignment: Alignment) -> Option<String> {
    let block = u64::from(alignment.offset_bytes);
    let wrong = [("position", offset), ("size", length)];
    let (what, bytes) = wrong.into_iter().find(|(_, bytes)| bytes % block != 0)?;
    Some(format!(
        "with direct=true the {what} of a transfer must be a multiple of {block_bytes}, \
         found {bytes}; use a multiple, or leave out direct=true",
        block_bytes = model::words::count(block, "byte")
    ))
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

    #[test]
    fn positions_and_sizes_are_checked() {
        assert_eq!(explain_transfer(8192, 4096, SAFE), None);
        let text = explain_transfer(8192, 100, SAFE).expect("100 is no multiple");
        assert!(text.contains("the size") && text.contains("found 100"), "{text}");
        let text = explain_transfer(1, 100, SAFE).expect("1 is no multiple");
        assert!(text.contains("the position"), "{text}");
    }
}
