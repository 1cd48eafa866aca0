//! Faults of queued calls, by seed: partial transfers, interrupted calls, errors, and delays that make
//! calls end in any order.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::Cell;
use std::rc::Rc;

/// The longest delay, nanoseconds of virtual time.
const LONGEST_DELAY_NS: u64 = 1_000_000;

/// What happens to calls of a queue.
#[derive(Debug)]
pub struct Faults {
    random: ChaCha8Rng,
    errors: Rc<Cell<u64>>,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    Nothing,
    /// It moves only so many of its bytes.
    Partial(usize),
    /// It is not executed.
    Error(i32),
}

impl Faults {
    /// The faults of a seed, and the number of errors (not counting interruptions) so far.
    pub fn new(seed: u64) -> (Faults, Rc<Cell<u64>>) {
        let errors = Rc::new(Cell::new(0));
        (Faults { random: ChaCha8Rng::seed_from_u64(seed), errors: Rc::clone(&errors) }, errors)
    }

    /// What happens to the next call, which has so many bytes, and how much later it ends.
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
        if matches!(fault, Fault::Error(libc::EIO | libc::ENOSPC)) {
            self.errors.set(self.errors.get() + 1);
        }
        (fault, delay_ns)
    }
}
