//! The counters of `share` under MPI: words in a window that every rank adds to by one-sided calls.
//!
//! The word of a set lies with its first member, which does nothing for claims. The next claim is under
//! way while the work of the last one is done, so that a member seldom waits for it. Between two
//! executions, when all have come, the first member sets the word to the next one: the
//! compare-and-swap by which other communicators do so ends the process under Open MPI 4.1 where its
//! transport only emulates atomic operations (btl/vader).

use crate::error::MpiError;
use crate::world::World;
use engine::comm::{Claim, Members};
use model::RankSet;
use model::plan::SetId;
use std::ffi::c_int;

/// The first claim, for which words are made.
const FIRST: Claim = Claim { execution: 1, numbers: 0 };

/// The window, for one run of a program.
pub(crate) struct Claims {
    handle: c_int,
    /// By set: words of sets of one rank, which nobody else sees.
    alone: Vec<u64>,
    /// A claim of this set is under way.
    under_way: Vec<bool>,
}

impl Claims {
    /// A word for each set. Collective over the world.
    pub(crate) fn new(world: &World, sets: &[RankSet]) -> Result<Claims, MpiError> {
        let mut handle = -1;
        let words = sets.len().max(1) as c_int;
        // SAFETY: a valid pointer and the world's handle.
        let made = unsafe {
            let (initial, shared) = (FIRST.start() as i64, c_int::from(world.nodes == 1));
            (world.shim().claims_make)(world.all.number(), words, initial, shared, &mut handle)
        };
        world.check("MPI_Win_allocate", made)?;
        world.barrier(world.all)?;
        let (alone, under_way) = (vec![0; sets.len()], vec![false; sets.len()]);
        Ok(Claims { handle, alone, under_way })
    }

    /// Collective over the world; what is under way is completed.
    pub(crate) fn free(self, world: &World) -> Result<(), MpiError> {
        // SAFETY: a handle that was given and not freed yet.
        world.check("MPI_Win_free", unsafe { (world.shim().claims_free)(self.handle) })
    }

    /// See [`engine::comm::Comm::claim`].
    pub(crate) fn claim(
        &mut self,
        world: &World,
        members: &Members,
        claim: Claim,
    ) -> Result<u64, MpiError> {
        let set = members.set as usize;
        let Some(place) = self.place(world, members) else {
            let number = claim.number(self.alone[set]).unwrap_or(0);
            self.alone[set] = claim.start() + number + 1;
            return Ok(number);
        };
        if !std::mem::take(&mut self.under_way[set]) {
            place.start()?;
        }
        let number = claim.number(place.added()?).unwrap_or(claim.numbers);
        if number + 1 < claim.numbers {
            place.start()?;
            self.under_way[set] = true;
        }
        Ok(number)
    }

    /// All members have come to the end of an execution: the word is made ready for the next one. They
    /// have to meet once more before they claim.
    pub(crate) fn over(
        &mut self,
        world: &World,
        members: &Members,
        claim: Claim,
    ) -> Result<(), MpiError> {
        match self.place(world, members) {
            Some(place) if place.rank == world.rank as c_int => {
                place.set(claim.following().start())
            }
            _ => Ok(()),
        }
    }

    /// Where the word of several members is.
    fn place<'w>(&self, world: &'w World, members: &Members) -> Option<Place<'w>> {
        let first = members.ranks.first().filter(|_| members.ranks.len() > 1)?;
        Some(Place { world, handle: self.handle, rank: first as c_int, set: members.set })
    }
}

/// A word of the window.
struct Place<'w> {
    world: &'w World,
    handle: c_int,
    rank: c_int,
    set: SetId,
}

impl Place<'_> {
    fn word(&self) -> c_int {
        self.set as c_int
    }

    /// Starts to add 1.
    fn start(&self) -> Result<(), MpiError> {
        let shim = self.world.shim();
        // SAFETY: a handle that was given; the shim keeps the memory that the call uses.
        let started = unsafe { (shim.claim_start)(self.handle, self.rank, self.word()) };
        self.world.check("MPI_Fetch_and_op", started)
    }

    /// The word before 1 was added.
    fn added(&self) -> Result<u64, MpiError> {
        let mut found = 0;
        let (shim, word) = (self.world.shim(), self.word());
        // SAFETY: a handle that was given and a valid pointer.
        let waited = unsafe { (shim.claim_wait)(self.handle, self.rank, word, &mut found) };
        self.world.check("MPI_Win_flush", waited)?;
        Ok(found as u64)
    }

    /// Nobody adds to it meanwhile.
    fn set(&self, word: u64) -> Result<(), MpiError> {
        let set = self.world.shim().claim_set;
        // SAFETY: a handle that was given.
        let replaced = unsafe { set(self.handle, self.rank, self.word(), word as i64) };
        self.world.check("MPI_Fetch_and_op", replaced)
    }
}
