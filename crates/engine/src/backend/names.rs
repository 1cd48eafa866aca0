//! Whether the kernel knows a name without asking the file system: openat2(2) with
//! `RESOLVE_CACHED`, Linux 5.12 and newer.

/// Looks for a NUL-terminated path, relative to an open directory, in the cache; `None` where that is unknown. A name that is
/// known to be missing is in it too.
///
/// # Safety
/// The path must be NUL-terminated.
pub(super) unsafe fn is_cached(directory: i32, path: *const libc::c_char) -> Option<bool> {
    // SAFETY: zeros are a value of this structure of integers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_CACHED | libc::RESOLVE_BENEATH;
    let (at, size) = (directory, size_of::<libc::open_how>());
    // SAFETY: the caller's path, and a structure of the size that is given.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, at, path, &raw const how, size) };
    if fd >= 0 {
        // SAFETY: a fresh descriptor that nobody else owns.
        unsafe { libc::close(fd as i32) };
        return Some(true);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Some(false),
        Some(libc::ENOENT | libc::ENOTDIR) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_just_made_is_known() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let name = |name: &str| {
            let path = folder.path().join(name).into_os_string().into_string().expect("UTF-8");
            std::ffi::CString::new(path).expect("no NUL")
        };
        let (made, unknown) = (name("made"), name("unknown"));
        std::fs::write(folder.path().join("made"), "").expect("written");
        // SAFETY: both texts are NUL-terminated.
        let found = unsafe { [made, unknown].map(|path| is_cached(libc::AT_FDCWD, path.as_ptr())) };
        match found {
            [None, None] => eprintln!("not tested: this kernel cannot tell"),
            found => assert_eq!(found, [Some(true), Some(false)]),
        }
    }
}
