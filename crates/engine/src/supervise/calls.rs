//! The system calls a rank will make, written as strace writes them.
//!
//! Found by running the plan with simulated ranks on files in memory that start
//! empty: nothing on disk is touched.

use super::StartError;
use super::mpi_calls;
use super::sim::{alone, simulate};
use crate::backend::{Backend, Capabilities, Cost, Mem, MemFs};
use crate::buffer::Buffers;
use crate::call::{Call, Fd, FileCall, Queued, Reply, Submitted, Tag};
use crate::clock::Virtual;
use crate::comm::{Sample, World};
use crate::config::{BackendKind, Config};
use crate::machine::flags;
use model::Plan;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::fmt::Write;
use std::ops::Range;
use std::rc::Rc;

/// A simulation that makes no calls gives up after so many turns (of up to a million statements).
const TURNS_WITHOUT_CALLS_MAX: u64 = 1_000_000;

/// The first calls of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls by rank, each in order.
    pub ranks: Vec<(u32, Vec<String>)>,
    /// Why ranks ended before their program did, in sentences.
    pub errors: Vec<String>,
}

struct Log {
    ranks: Range<u32>,
    count: usize,
    lines: Vec<Vec<String>>,
    /// Ranks that still want lines.
    wanting: usize,
    total: u64,
}

/// The first `count` calls of each of `ranks`.
pub fn list_calls(
    plan: &Plan,
    config: &Config,
    ranks: Range<u32>,
    count: usize,
) -> Result<Calls, StartError> {
    let lines = vec![Vec::new(); ranks.len()];
    let log = Log { wanting: ranks.len(), ranks: ranks.clone(), count, lines, total: 0 };
    let log = Rc::new(RefCell::new(log));
    let mut config = Config { backend: BackendKind::Mem, events: None, ..config.clone() };
    config.settings.print_fd = None;
    let fs = MemFs::shared(&config.directory.to_string_lossy(), false);
    let clock = Virtual::start();
    let backend = |rank: u32, clock: Virtual| {
        let inner = Mem::new(Rc::clone(&fs), clock, Cost::default());
        Logged { inner, rank, log: Rc::clone(&log), opened: 0, under_way: VecDeque::new() }
    };
    let (mut seen, mut idle) = (0, 0);
    let mut enough = |world: &World, _: &dyn Fn() -> Sample| {
        let log = log.borrow();
        idle = if log.total == seen { idle + 1 } else { 0 };
        seen = log.total;
        if (log.wanting == 0 || idle > TURNS_WITHOUT_CALLS_MAX) && !world.is_interrupted() {
            world.interrupt();
        }
    };
    let make = (backend, alone);
    let outcome = simulate(plan, &config, clock, Buffers::unfilled(), make, &mut enough)?;
    let mut errors: Vec<String> = outcome.deadlock_message(plan).into_iter().collect();
    // Ranks that went on after the last call that is shown were refused everything.
    let whole = log.borrow().wanting > 0;
    for record in outcome.records.iter().filter(|_| whole) {
        for (site, message) in &record.errors {
            let place = site.and_then(|site| plan.locate_site(site));
            let place = place.map_or(String::new(), |(file, line, column)| {
                format!(" at {file}:{line}:{column}")
            });
            errors.push(format!("rank {} ends{place}: {message}", record.rank));
        }
    }
    let lines = std::mem::take(&mut log.borrow_mut().lines);
    Ok(Calls { ranks: ranks.zip(lines).collect(), errors })
}

/// Writes down the calls of some ranks.
struct Logged {
    inner: Mem,
    rank: u32,
    log: Rc<RefCell<Log>>,
    /// MPI files opened so far.
    opened: i32,
    /// Transfers under way and their bytes, the oldest first.
    under_way: VecDeque<(Tag, Reply)>,
}

impl Backend for Logged {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { mpi_files: true, ..self.inner.capabilities() }
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if self.log.borrow().wanting == 0 {
            // What comes now is of no interest, and one statement can make millions of calls.
            return -Reply::from(libc::EIO);
        }
        self.log.borrow_mut().add(self.rank, || line(&call));
        self.inner.issue(call)
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        if let Some(line) = mpi_calls::line(&call) {
            self.log.borrow_mut().add(self.rank, || line);
        }
        let opened = Reply::from(self.opened);
        self.opened += i32::from(matches!(call, FileCall::Open { .. }));
        call.done_in_full(opened)
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        self.log.borrow_mut().add(self.rank, || mpi_calls::started(&call));
        self.under_way.push_back((tag, call.memory.parts().1 as Reply));
        Submitted::UnderWay
    }

    fn reap(&mut self) -> Option<(Tag, Reply)> {
        self.log.borrow_mut().add(self.rank, || "MPI_Wait".into());
        self.under_way.pop_front()
    }
}

impl Log {
    fn add(&mut self, rank: u32, line: impl FnOnce() -> String) {
        self.total += 1;
        if !self.ranks.contains(&rank) {
            return;
        }
        let lines = &mut self.lines[(rank - self.ranks.start) as usize];
        if lines.len() < self.count {
            lines.push(line());
            self.wanting -= usize::from(lines.len() == self.count);
        }
    }
}

/// The call as strace writes it, with lengths in place of contents.
fn line(call: &Call<'_>) -> String {
    let path = |path: &CStr| quoted(path.to_bytes());
    match call {
        Call::Open { path: name, flags, mode } if flags & libc::O_CREAT != 0 => {
            format!("openat({}, {}, {mode:04o})", path(name), flag_names(*flags))
        }
        Call::Open { path: name, flags, .. } => {
            format!("openat({}, {})", path(name), flag_names(*flags))
        }
        Call::Close { fd } => on_file("close", *fd, &[]),
        Call::Pread { fd, buf, offset, .. } => {
            on_file("pread64", *fd, &[buf.len() as u64, *offset])
        }
        Call::Pwrite { fd, buf, offset } => on_file("pwrite64", *fd, &[buf.len() as u64, *offset]),
        Call::Append { fd, buf } => on_file("write", *fd, &[buf.len() as u64]),
        Call::Seek { fd, offset } => format!("lseek({}, {offset}, SEEK_SET)", fd.0),
        Call::Fsync { fd } => on_file("fsync", *fd, &[]),
        Call::Fdatasync { fd } => on_file("fdatasync", *fd, &[]),
        Call::Ftruncate { fd, size } => on_file("ftruncate", *fd, &[*size]),
        Call::Fallocate { fd, mode, offset, size } => {
            on_file("fallocate", *fd, &[*mode as u64, *offset, *size])
        }
        Call::Fadvise { fd, offset, size, advice } => {
            on_file("fadvise64", *fd, &[*offset, *size, *advice as u64])
        }
        Call::CopyRange { from, to, len, .. } => {
            let ((from, start), (to, end)) = (*from, *to);
            format!("copy_file_range({}, [{start}], {}, [{end}], {len}, 0)", from.0, to.0)
        }
        Call::Clone { from, to } => format!("ioctl({}, FICLONE, {})", to.0, from.0),
        Call::Preadv { fd, bufs, offset } => {
            vectored("preadv", *fd, bufs.iter().map(|buf| buf.len()), *offset)
        }
        Call::Pwritev { fd, bufs, offset } => {
            vectored("pwritev", *fd, bufs.iter().map(|buf| buf.len()), *offset)
        }
        Call::Flock { fd, operation } => format!("flock({}, {})", fd.0, lock_names(*operation)),
        Call::LinkFile { fd, path: name } => {
            format!("linkat(\"/proc/self/fd/{}\", {}, AT_SYMLINK_FOLLOW)", fd.0, path(name))
        }
        Call::Setxattr { path: name, name: key, value } => {
            format!("setxattr({}, {}, {}, 0)", path(name), path(key), value.len())
        }
        Call::Getxattr { path: name, name: key, buf } => {
            format!("getxattr({}, {}, {})", path(name), path(key), buf.len())
        }
        Call::Listxattr { path: name, buf } => format!("listxattr({}, {})", path(name), buf.len()),
        Call::Removexattr { path: name, name: key } => {
            format!("removexattr({}, {})", path(name), path(key))
        }
        Call::Fstat { fd } => on_file("fstat", *fd, &[]),
        Call::Getdents { fd, buf } => on_file("getdents64", *fd, &[buf.len() as u64]),
        Call::Stat { path: name } => format!("stat({})", path(name)),
        Call::Access { path: name } => format!("access({}, F_OK)", path(name)),
        Call::Unlink { path: name } => format!("unlink({})", path(name)),
        Call::Rename { from, to, flags: 0 } => format!("rename({}, {})", path(from), path(to)),
        Call::Rename { from, to, flags } => {
            let flag = if *flags == libc::RENAME_EXCHANGE {
                "RENAME_EXCHANGE"
            } else {
                "RENAME_NOREPLACE"
            };
            format!("renameat2({}, {}, {flag})", path(from), path(to))
        }
        Call::Mkdir { path: name } => format!("mkdir({}, 0777)", path(name)),
        Call::Rmdir { path: name } => format!("rmdir({})", path(name)),
        Call::Truncate { path: name, size } => format!("truncate({}, {size})", path(name)),
        Call::Link { from, to } => format!("link({}, {})", path(from), path(to)),
        Call::Symlink { target, path: name } => {
            format!("symlink({}, {})", path(target), path(name))
        }
        Call::Readlink { path: name } => format!("readlink({})", path(name)),
        Call::Chmod { path: name, mode } => format!("chmod({}, {mode:04o})", path(name)),
        Call::Utime { path: name } => format!("utimensat({}, UTIME_NOW)", path(name)),
        Call::Statfs { path: name } => format!("statfs({})", path(name)),
        Call::Syncfs { fd: Some(fd) } => on_file("syncfs", *fd, &[]),
        Call::Syncfs { fd: None } => "syncfs(\".\")".into(),
        Call::DropCaches => "write(\"/proc/sys/vm/drop_caches\", \"3\")".into(),
    }
}

fn on_file(name: &str, fd: Fd, numbers: &[u64]) -> String {
    let mut text = format!("{name}({}", fd.0);
    for number in numbers {
        let _ = write!(text, ", {number}");
    }
    text + ")"
}

fn vectored(name: &str, fd: Fd, lens: impl Iterator<Item = usize>, offset: u64) -> String {
    let lens: Vec<String> = lens.map(|len| len.to_string()).collect();
    format!("{name}({}, [{}], {offset})", fd.0, lens.join(", "))
}

fn lock_names(operation: i32) -> &'static str {
    match operation & !libc::LOCK_NB {
        libc::LOCK_SH => "LOCK_SH|LOCK_NB",
        libc::LOCK_EX => "LOCK_EX|LOCK_NB",
        _ => "LOCK_UN",
    }
}

fn flag_names(flags: i32) -> String {
    let access = match flags & libc::O_ACCMODE {
        libc::O_WRONLY => "O_WRONLY",
        libc::O_RDWR => "O_RDWR",
        _ => "O_RDONLY",
    };
    let mut rest = flags & !libc::O_ACCMODE;
    let mut text = access.to_string();
    let mut names: Vec<(&str, i32)> = flags::NAMES.to_vec();
    // O_SYNC contains O_DSYNC, O_TMPFILE contains O_DIRECTORY: the larger ones first.
    names.sort_by_key(|row| std::cmp::Reverse(row.1.count_ones()));
    for (name, bits) in names {
        if bits != 0 && rest & bits == bits {
            rest &= !bits;
            text = text + "|" + name;
        }
    }
    text
}

/// A text in double quotes with strace's escapes.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text + "\""
}
