//! Lines of a log of `strace -k`: each call with the place in the program that made it.
//!
//! ```text
//! read(3, "..", 4096) = 4096
//!  > /usr/lib/x86_64-linux-gnu/libc.so.6(read+0xe) [0xf7d0e]
//!  > /usr/bin/app(read_config+0x12) [0x1234]                   the innermost frame outside of the C library
//!  > /usr/bin/app(main+0x50) [0x1300]
//! ```
//!
//! The frames stand behind the call, so lines are read on to the next call.

use crate::gaps::{Gap, Gaps};
use crate::scanner::Lines;
use std::io;

const FRAME: &[u8] = b" > ";
/// Longest name of a function; templates of C++ have longer ones.
const SITE_MAX: usize = 80;

/// Lines that are no frames, one after the other.
pub struct Calls {
    lines: Lines,
    /// `lines` is at the next call; `None`: nothing was read ahead.
    ahead: Option<io::Result<bool>>,
    /// The line.
    pub line: Vec<u8>,
    /// Its number, from 1.
    pub number: u64,
    /// The function that made the call; empty: the log does not tell.
    pub site: Vec<u8>,
}

impl Calls {
    /// Calls of `lines`.
    pub fn new(lines: Lines) -> Calls {
        Calls { lines, ahead: None, line: Vec::new(), number: 0, site: Vec::new() }
    }

    /// Reads the next line, and on to the one behind its frames; false at the end of the log.
    ///
    /// # Errors
    /// The input cannot be read, or not be decompressed.
    pub fn advance(&mut self, gaps: &mut Gaps) -> io::Result<bool> {
        let ahead = self.ahead.take();
        if !ahead.unwrap_or_else(|| self.lines.advance())? {
            self.ahead = Some(Ok(false));
            return Ok(false);
        }
        if self.lines.is_cut() {
            self.lines.count(Gap::LongLines, gaps);
        }
        self.line.clear();
        self.line.extend_from_slice(self.lines.line());
        self.number = self.lines.number();
        self.site.clear();
        self.ahead = Some(self.read_frames());
        Ok(true)
    }

    /// Reads on to the line behind the frames.
    fn read_frames(&mut self) -> io::Result<bool> {
        while self.lines.advance()? {
            let Some(frame) = self.lines.line().strip_prefix(FRAME) else { return Ok(true) };
            if self.site.is_empty() {
                name_site(frame, &mut self.site);
            }
        }
        Ok(false)
    }
}

/// `/usr/bin/app(read_config+0x12) [0x1234]`: `read_config`; without symbols `app+0x12`.
fn name_site(frame: &[u8], site: &mut Vec<u8>) {
    let end = memchr::memmem::rfind(frame, b" [0x").unwrap_or(frame.len());
    let frame = frame[..end].strip_suffix(b")").unwrap_or(&frame[..end]);
    let Some(open) = memchr::memchr(b'(', frame) else { return };
    let (file, inside) = (&frame[..open], &frame[open + 1..]);
    let file = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    if is_of_c(file) {
        return;
    }
    let plus = memchr::memmem::rfind(inside, b"+0x").unwrap_or(inside.len());
    match &inside[..plus] {
        [] => {
            site.extend_from_slice(file);
            site.extend_from_slice(inside);
        }
        function => site.extend_from_slice(function),
    }
    site.truncate(SITE_MAX);
    // Labels within labels are written with slashes.
    site.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'|');
}

/// The C library, threads and the dynamic linker: places in them say nothing of the program.
fn is_of_c(file: &[u8]) -> bool {
    const HEADS: &[&[u8]] = &[b"libc.", b"libc-", b"libpthread", b"ld-", b"ld.", b"librt"];
    HEADS.iter().any(|head| file.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_functions_outside_of_the_c_library() {
        for (frame, expected) in [
            ("/usr/lib/libc.so.6(read+0xe) [0xf7d0e]", ""),
            ("/usr/lib/libc-2.31.so(read+0xe) [0xf7d0e]", ""),
            ("/lib64/ld-linux-x86-64.so.2(_dl_catch_error+0x26f0) [0x1ab70]", ""),
            ("/usr/bin/app(read_config+0x12) [0x1234]", "read_config"),
            ("/usr/bin/app(A::at(unsigned long)+0x12) [0x1]", "A::at(unsigned long)"),
            ("/usr/bin/app(operator/(A, B)+0x1) [0x1]", "operator|(A, B)"),
            ("/usr/bin/app() [0x1234]", "app"),
            ("/usr/bin/app(+0x1234) [0x1234]", "app+0x1234"),
            ("unexpected_backtracing_error [0x7f]", ""),
            ("no matching address range found", ""),
            ("", ""),
        ] {
            let mut site = Vec::new();
            name_site(frame.as_bytes(), &mut site);
            assert_eq!(String::from_utf8_lossy(&site), expected, "{frame}");
        }
    }
}
