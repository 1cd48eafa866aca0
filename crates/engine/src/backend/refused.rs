//! Arguments that the kernel refuses before it looks at any name.

/// Flags that contradict each other, which the kernel refuses with `EINVAL` before it looks at any
/// name (open(2); O_CREAT with O_DIRECTORY since Linux 6.4).
pub(crate) fn refuses_flags(flags: i32) -> bool {
    const CREATE_DIRECTORY: i32 = libc::O_CREAT | libc::O_DIRECTORY;
    let nameless = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let is_read_only = flags & libc::O_ACCMODE == libc::O_RDONLY;
    flags & libc::O_PATH == 0
        && (flags & CREATE_DIRECTORY == CREATE_DIRECTORY || nameless && is_read_only)
}

/// The kernel's checks of a path before it looks at any name.
pub(crate) fn check_path(path: &[u8]) -> Result<(), i32> {
    match path.len() {
        0 => Err(libc::ENOENT),
        length if length >= libc::PATH_MAX as usize => Err(libc::ENAMETOOLONG),
        _ => Ok(()),
    }
}
