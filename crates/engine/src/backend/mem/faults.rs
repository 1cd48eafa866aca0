//! Faults of calls, by seed: partial transfers, interrupted calls, errors, and delays that make calls end
//! in any order. Calls of a queue are struck; on request also those that are made at once.

use crate::call::{Call, Work};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::rc::Rc;

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
pub(super) enum Fault {
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
    pub(super) fn next(&mut self, len: usize) -> (Fault, u64) {
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
    pub(super) fn strike(&mut self, call: &Call<'_>) -> (Fault, u64) {
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
    pub(super) fn note(&self, fault: Fault, at_ns: u64, queued: bool) {
        if let Fault::Error(errno @ (libc::EIO | libc::ENOSPC)) = fault {
            self.injected.0.borrow_mut().push(InjectedError { at_ns, errno, queued });
        }
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
pub(super) fn shortened(call: Call<'_>, most: usize) -> Call<'_> {
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
