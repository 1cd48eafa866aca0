//! The raw loops: the same system calls as the programs of [`crate::cases`], and nothing else.

use crate::cases::{BLOCKS, BYTES, CALLS, FILES, POOL_BYTES, SLICES};
use crate::{Result, worker::now_ns};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, stat};
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{close, unlink, write};
use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// A label with start and end of its loop, CLOCK_MONOTONIC.
pub type Timed = (String, u64, u64);

fn timed(label: &str, body: impl FnOnce() -> Result<()>) -> Result<Timed> {
    let start_ns = now_ns();
    body()?;
    Ok((label.to_owned(), start_ns, now_ns()))
}

/// Loops of [`crate::cases::DATA`] on a file of this process.
pub fn data(rank: &str) -> Result<Vec<Timed>> {
    let mut buffer = vec![0x5a; BYTES];
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_TRUNC;
    let file = open(format!("data-{rank}").as_str(), flags, Mode::from_bits_truncate(0o666))?;
    write(&file, &vec![0x5a; BYTES * BLOCKS as usize])?;
    let mut times = Vec::new();
    through("pread", &mut times, |offset| pread(&file, &mut buffer, offset))?;
    through("pwrite", &mut times, |offset| pwrite(&file, &buffer, offset))?;
    let pool: Vec<u8> = (0..POOL_BYTES).map(|at| (at / BYTES) as u8).collect();
    let mut blocks = pool.chunks_exact(BYTES).cycle();
    through("pwrite distinct", &mut times, |offset| {
        pwrite(&file, blocks.next().unwrap_or(&buffer), offset)
    })?;
    same("pread same", &mut times, || pread(&file, &mut buffer, 0))?;
    same("pwrite same", &mut times, || pwrite(&file, &buffer, 0))?;
    Ok(times)
}

fn through(
    label: &str,
    times: &mut Vec<Timed>,
    mut call: impl FnMut(i64) -> nix::Result<usize>,
) -> Result<()> {
    let blocks_of_slice = |slice: u64| {
        let first = slice * CALLS % BLOCKS;
        first..first + CALLS
    };
    for blocks in (0..SLICES).map(blocks_of_slice) {
        times.push(timed(label, || {
            blocks.into_iter().try_for_each(|block| full(call((block * BYTES as u64) as i64)?))
        })?);
    }
    Ok(())
}

fn same(
    label: &str,
    times: &mut Vec<Timed>,
    mut call: impl FnMut() -> nix::Result<usize>,
) -> Result<()> {
    for _ in 0..SLICES {
        times.push(timed(label, || (0..CALLS).try_for_each(|_| full(call()?)))?);
    }
    Ok(())
}

/// Loops of [`crate::cases::METADATA`] in the current directory.
pub fn metadata() -> Result<Vec<Timed>> {
    let buffer = vec![0x5a; BYTES];
    let mut name = Name::new();
    let mut times = Vec::new();
    let slices = || (0..SLICES).map(|slice| slice * FILES..(slice + 1) * FILES);
    for mut files in slices() {
        let create = |i: u64| Ok(close(create(name.file(i))?)?);
        times.push(timed("create", || files.try_for_each(create))?);
    }
    for _ in 0..SLICES {
        let stat = |i: u64| Ok(stat(name.file(i)).map(drop)?);
        times.push(timed("stat", || (0..SLICES * FILES).try_for_each(stat))?);
    }
    same("stat same", &mut times, || stat(c"file-1").map(|_| BYTES))?;
    let mut write_file = |i: u64| -> Result<()> {
        let file = create(name.file(i))?;
        full(write(&file, &buffer)?)?;
        Ok(close(file)?)
    };
    (0..SLICES * FILES).try_for_each(&mut write_file)?;
    for mut files in slices() {
        times.push(timed("write", || files.try_for_each(&mut write_file))?);
    }
    for mut files in slices() {
        let delete = |i: u64| Ok(unlink(name.file(i))?);
        times.push(timed("delete", || files.try_for_each(delete))?);
    }
    Ok(times)
}

fn create(name: &CStr) -> Result<OwnedFd> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
    Ok(open(name, flags, Mode::from_bits_truncate(0o666))?)
}

fn full(bytes: usize) -> Result<()> {
    if bytes == BYTES { Ok(()) } else { Err("a call moved fewer bytes than asked".into()) }
}

/// Makes `file-N` without allocating: what any loop over different names has to do.
struct Name {
    text: [u8; 32],
}

impl Name {
    fn new() -> Name {
        let mut text = [0; 32];
        text[..5].copy_from_slice(b"file-");
        Name { text }
    }

    fn file(&mut self, number: u64) -> &CStr {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut rest = number;
        for at in (5..5 + digits).rev() {
            self.text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.text[5 + digits] = 0;
        CStr::from_bytes_until_nul(&self.text).unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_programs() {
        let mut name = Name::new();
        for number in [0, 7, 10, 39_999, 5] {
            assert_eq!(name.file(number).to_str(), Ok(format!("file-{number}").as_str()));
        }
    }
}
