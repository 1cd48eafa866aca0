//! A back-end with faults, by seed: partial transfers, interrupted calls, errors, and delays that make calls
//! end in any order. Calls of a queue are struck; on request also those that are made at once.
//!
//! It lies around real files and lets virtual time pass, so that the same seed gives the same figures.
#![allow(dead_code)] // every test binary uses a part of it

use engine::backend::{Backend, Beneath, Capabilities, Posix};
use engine::call::{Call, Fd, Memory, Queued, Reply, Submitted, Tag, Target, Work};
use engine::clock::Virtual;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Mutex;
use tempfile::TempDir;

/// Virtual time of a call besides its bytes, and bytes that are moved per nanosecond.
const CALL_NS: u64 = 1_000;
const BYTES_PER_NS: u64 = 2;
/// The longest delay, nanoseconds of virtual time.
const LONGEST_DELAY_NS: u64 = 1_000_000;

/// Faults that strike calls.
#[derive(Debug)]
pub struct Faults {
    random: ChaCha8Rng,
    injected: Injected,
    /// One in this number of calls outside a queue is struck; 0: none.
    one_in: u32,
}

/// The errors that were injected so far, interruptions not among them.
#[derive(Clone, Debug, Default)]
pub struct Injected(Rc<RefCell<Vec<InjectedError>>>);

/// A call that was made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedError {
    /// When it ended, nanoseconds of virtual time.
    pub at_ns: u64,
    /// The error.
    pub errno: i32,
    /// It was a call of a queue.
    pub queued: bool,
}

impl Injected {
    /// Number of errors.
    pub fn count(&self) -> u64 {
        self.0.borrow().len() as u64
    }

    /// All of them, in the order of the calls.
    pub fn list(&self) -> Vec<InjectedError> {
        self.0.borrow().clone()
    }
}

/// Fault of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    Nothing,
    /// It moves at most this number of bytes.
    Partial(usize),
    /// It is not executed.
    Error(i32),
}

impl Faults {
    /// The faults of a seed, and what they have done so far. They strike calls of a queue.
    pub fn new(seed: u64) -> (Faults, Injected) {
        let injected = Injected::default();
        let random = ChaCha8Rng::seed_from_u64(seed);
        (Faults { random, injected: injected.clone(), one_in: 0 }, injected)
    }

    /// The same faults also strike one in `every` calls outside a queue.
    pub fn of_all_calls(self, one_in: u32) -> Faults {
        Faults { one_in, ..self }
    }

    /// Fault of the next queued call of `len` bytes, and its delay in nanoseconds.
    fn next(&mut self, len: usize) -> (Fault, u64) {
        let delay_ns = self.random.random_range(0..LONGEST_DELAY_NS);
        let fault = match self.random.random_range(0..100) {
            0..10 if len > 1 => Fault::Partial(self.random.random_range(1..len)),
            10..13 => Fault::Error(libc::EINTR),
            13..15 => Fault::Error(libc::EAGAIN),
            15..18 => Fault::Error(libc::EIO),
            18..20 => Fault::Error(libc::ENOSPC),
            _ => Fault::Nothing,
        };
        (fault, delay_ns)
    }

    /// Fault of a call outside a queue, and its delay in nanoseconds.
    fn strike(&mut self, call: &Call<'_>) -> (Fault, u64) {
        let is_struck = self.one_in > 0 && self.random.random_range(0..self.one_in) == 0;
        if !is_struck || call.work() == Work::Nothing {
            return (Fault::Nothing, 0);
        }
        let delay_ns = self.random.random_range(0..LONGEST_DELAY_NS);
        let (divisible, can_fail) = weakness(call);
        let fault = match self.random.random_range(0..4) {
            0 if divisible > 1 => Fault::Partial(self.random.random_range(1..divisible)),
            1 if divisible > 0 => Fault::Error(libc::EINTR),
            2 if can_fail => Fault::Error(libc::EIO),
            3 if can_fail => Fault::Error(libc::ENOSPC),
            _ => Fault::Nothing,
        };
        (fault, delay_ns)
    }

    /// A call has ended so.
    fn note(&self, fault: Fault, at_ns: u64, queued: bool) {
        if let Fault::Error(errno @ (libc::EIO | libc::ENOSPC)) = fault {
            self.injected.0.borrow_mut().push(InjectedError { at_ns, errno, queued });
        }
    }
}

/// A fresh directory, in memory where that is possible: nothing here waits for a disk.
pub fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Files of a directory, which the program knows by the name `/run`.
pub fn files_in(directory: &Path) -> Beneath {
    // The current directory belongs to the process; the back-end keeps it open from here on.
    static CURRENT: Mutex<()> = Mutex::new(());
    let _alone = CURRENT.lock();
    std::env::set_current_dir(directory).expect("chdir");
    Beneath::new(Posix::known_as(Path::new("/run")).expect("posix")).expect("openat2")
}

/// A back-end whose calls have faults. A transfer that is submitted is made at once, and ends later.
pub struct Faulty<B> {
    inner: B,
    clock: Virtual,
    faults: Option<Faults>,
    /// Transfers under way: when they end, and with which reply.
    under_way: BinaryHeap<Reverse<(u64, Tag, Reply)>>,
}

impl<B: Backend> Faulty<B> {
    pub fn new(inner: B, clock: Virtual, faults: Option<Faults>) -> Faulty<B> {
        Faulty { inner, clock, faults, under_way: BinaryHeap::new() }
    }

    /// Executes a call that no fault strikes.
    pub fn issue_unharmed(&mut self, call: Call<'_>) -> Reply {
        let is_data = call.work() == Work::Data;
        let reply = self.inner.issue(call);
        let moved = if is_data { u64::try_from(reply).unwrap_or(0) } else { 0 };
        self.clock.advance(CALL_NS + moved / BYTES_PER_NS);
        reply
    }

    fn note(&self, fault: Fault, at_ns: u64, queued: bool) {
        self.faults.iter().for_each(|faults| faults.note(fault, at_ns, queued));
    }

    fn execute(&mut self, call: Queued, most: usize) -> Reply {
        let Queued { target, offset, mut memory, asked_bytes } = call;
        if matches!(target, Target::Sync { .. }) {
            return Queued { target, offset, memory, asked_bytes }.execute(&mut self.inner);
        }
        let part = match memory.memory() {
            Memory::Read(buf) => Memory::Read(&mut buf[..most]),
            Memory::Write(buf) => Memory::Write(&buf[..most]),
        };
        match (target, part) {
            (Target::File(fd), Memory::Read(buf)) => {
                self.inner.issue(Call::Pread { fd, buf, offset, rest: false })
            }
            (Target::File(fd), Memory::Write(buf)) => {
                self.inner.issue(Call::Pwrite { fd, buf, offset })
            }
            _ => -Reply::from(libc::ENOSYS),
        }
    }
}

impl<B: Backend> Backend for Faulty<B> {
    // What else the inner one knows (caches, extents) differs from run to run.
    fn capabilities(&mut self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.inner.position(fd)
    }

    /// One that cannot be refused any more is executed, and fails all the same: close(2) takes the
    /// descriptor whatever it says.
    fn issue(&mut self, call: Call<'_>) -> Reply {
        let Some(faults) = &mut self.faults else { return self.issue_unharmed(call) };
        let (fault, delay_ns) = faults.strike(&call);
        let reply = match (fault, call) {
            (Fault::Error(errno), call @ Call::Close { .. }) => {
                self.issue_unharmed(call);
                -Reply::from(errno)
            }
            (Fault::Error(errno), _) => {
                self.clock.advance(CALL_NS);
                -Reply::from(errno)
            }
            (Fault::Partial(most), call) => self.issue_unharmed(shortened(call, most)),
            (Fault::Nothing, call) => self.issue_unharmed(call),
        };
        self.clock.advance(delay_ns);
        self.note(fault, self.clock.now(), false);
        reply
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        if matches!(call.target, Target::Mpi { .. }) {
            return Submitted::Done(-Reply::from(libc::ENOSYS));
        }
        let len = call.memory.parts().1;
        let (fault, delay_ns) = match &mut self.faults {
            Some(faults) => faults.next(len),
            None => (Fault::Nothing, 0),
        };
        let reply = match fault {
            Fault::Error(errno) => -Reply::from(errno),
            Fault::Partial(most) => self.execute(call, most),
            Fault::Nothing => self.execute(call, len),
        };
        let end_ns = self.clock.now() + CALL_NS + len as u64 / BYTES_PER_NS + delay_ns;
        self.note(fault, end_ns, true);
        self.under_way.push(Reverse((end_ns, tag, reply)));
        Submitted::UnderWay
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        let mut ends: Vec<u64> = self.under_way.iter().map(|Reverse(end)| end.0).collect();
        ends.sort_unstable();
        if let Some(end_ns) = (wait as usize).checked_sub(1).and_then(|at| ends.get(at)) {
            self.clock.advance(end_ns.saturating_sub(self.clock.now()));
        }
        0
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        let latest_ns = self.clock.now().saturating_add(ns);
        let next_ns = self.under_way.peek().map_or(latest_ns, |Reverse(end)| end.0);
        self.clock.advance(next_ns.min(latest_ns).saturating_sub(self.clock.now()));
        0
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        let Reverse((end_ns, ..)) = self.under_way.peek()?;
        if *end_ns > self.clock.now() {
            return None;
        }
        let Reverse((_, tag, reply)) = self.under_way.pop()?;
        Some((tag, reply))
    }
}

/// How many bytes a call can be interrupted in, and whether the kernel may say that it failed.
fn weakness(call: &Call<'_>) -> (usize, bool) {
    match call {
        Call::Pread { buf, .. } => (buf.len(), true),
        Call::Pwrite { buf, .. } | Call::Append { buf, .. } => (buf.len(), true),
        Call::Preadv { bufs, .. } => (bufs.iter().map(|buf| buf.len()).sum(), true),
        Call::Pwritev { bufs, .. } => (bufs.iter().map(|buf| buf.len()).sum(), true),
        // What else fails gives no bytes, and what lies in a mapping comes whole or not at all.
        Call::Seek { .. } | Call::Unmap { .. } => (0, false),
        _ => (0, true),
    }
}

/// A transfer of some of its bytes; of several buffers, of those that they fill.
fn shortened(call: Call<'_>, most: usize) -> Call<'_> {
    match call {
        Call::Pread { fd, buf, offset, rest } => {
            Call::Pread { fd, buf: &mut buf[..most], offset, rest }
        }
        Call::Pwrite { fd, buf, offset } => Call::Pwrite { fd, buf: &buf[..most], offset },
        Call::Append { fd, buf } => Call::Append { fd, buf: &buf[..most] },
        Call::Preadv { fd, bufs, offset } => {
            let whole = whole_buffers(bufs.iter().map(|buf| buf.len()), most);
            Call::Preadv { fd, bufs: &mut bufs[..whole], offset }
        }
        Call::Pwritev { fd, bufs, offset } => {
            let whole = whole_buffers(bufs.iter().map(|buf| buf.len()), most);
            Call::Pwritev { fd, bufs: &bufs[..whole], offset }
        }
        other => other,
    }
}

/// Number of buffers that this number of bytes fills; at least those up to the first that holds some, because moving
/// nothing is the end of the file.
fn whole_buffers(lens: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut sum = 0;
    let filled = |len: &usize| {
        let is_first = sum == 0;
        sum += *len;
        is_first || sum <= most
    };
    lens.take_while(filled).count()
}
