//! A window of memory mapped again and again, one mapping behind the other.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

/// Address space in which one window of memory repeats; empty at first.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    base: usize,
    len: usize,
}

impl Repeated {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match self.len {
            0 => &[],
            // SAFETY: `len` bytes are mapped at `base` for reading as long as `self` lives, and
            // only `window_mut`, which borrows `self` alone, writes them.
            len => unsafe { std::slice::from_raw_parts(self.base as *const u8, len) },
        }
    }

    /// The window, for writing: what is written shows in all its repetitions.
    pub(super) fn window_mut(&mut self, window_bytes: usize) -> &mut [u8] {
        match self.len {
            0 => &mut [],
            // SAFETY: the first window is mapped for reading and writing; `self` is borrowed alone,
            // so nobody looks at it through the other mappings meanwhile.
            _ => unsafe { std::slice::from_raw_parts_mut(self.base as *mut u8, window_bytes) },
        }
    }

    /// Makes it at least `len` bytes long, filled anew.
    #[cold]
    pub(super) fn grow(
        &mut self,
        len: usize,
        window_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let len = len.checked_next_multiple_of(window_bytes).ok_or_else(too_large)?;
        let window = window(window_bytes, fill)?;
        *self = Repeated::default();
        let whole = map(
            ptr::null_mut(),
            len,
            libc::PROT_NONE,
            libc::MAP_ANONYMOUS | libc::MAP_PRIVATE,
            -1,
        )?;
        (self.base, self.len) = (whole as usize, len);
        for at in (0..len).step_by(window_bytes) {
            let place = (self.base + at) as *mut libc::c_void;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE;
            let writable = if at == 0 { libc::PROT_WRITE } else { 0 };
            map(place, window_bytes, libc::PROT_READ | writable, flags, window.as_raw_fd())?;
        }
        Ok(())
    }
}

/// Memory without a name that holds what `fill` writes.
fn window(len: usize, fill: impl FnOnce(&mut [u8])) -> io::Result<File> {
    // SAFETY: a constant name; the result is checked.
    let fd = unsafe { libc::memfd_create(c"parabench-buffer".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(len as u64)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let base = map(ptr::null_mut(), len, protection, libc::MAP_SHARED, fd)?;
    // SAFETY: `len` bytes are mapped at `base`, for this function alone until munmap.
    unsafe {
        fill(std::slice::from_raw_parts_mut(base.cast(), len));
        libc::munmap(base, len);
    }
    Ok(file)
}

fn map(
    place: *mut libc::c_void,
    len: usize,
    protection: i32,
    flags: i32,
    fd: i32,
) -> io::Result<*mut libc::c_void> {
    // SAFETY: without MAP_FIXED the kernel chooses a free place; with it the place lies inside
    // the address space that `Repeated` has reserved for itself.
    let base = unsafe { libc::mmap(place, len, protection, flags, fd, 0) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base) }
}

impl Drop for Repeated {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: this address space belongs to `self`, and nothing refers to it any more.
            unsafe { libc::munmap(self.base as *mut libc::c_void, self.len) };
        }
    }
}
