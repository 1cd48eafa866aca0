//! Communicators over the shim: what `parabench run` needs before and after the
//! program, and what the machine needs during it.

use crate::error::MpiError;
use crate::shim::Shim;
use std::ffi::c_int;

/// Messages longer than an `int` can count are cut into pieces of this size.
const PIECE_BYTES: usize = 1 << 30;

/// Reductions over all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Sum.
    Sum = 0,
    /// Smallest.
    Min = 1,
    /// Largest.
    Max = 2,
}

/// A communicator's handle in the shim's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(c_int);

/// The world communicator's handle.
pub const WORLD: Handle = Handle(0);

/// MPI, initialised; finalised by [`World::finalize`].
pub struct World {
    shim: Shim,
    /// World rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Number of this rank's machine, from 0.
    pub node: u32,
    /// Number of machines.
    pub nodes: u32,
    /// Rank within the machine.
    pub node_rank: u32,
    /// Thread level that MPI gives, 0 (single) to 3 (multiple).
    pub thread_level: i32,
}

impl World {
    /// Initialises MPI.
    pub fn init(shim: Shim) -> Result<World, MpiError> {
        let mut thread_level = 0;
        // SAFETY: one valid pointer; called once per process.
        shim.check("MPI_Init_thread", unsafe { (shim.init)(&mut thread_level) })?;
        let mut world =
            World { shim, rank: 0, size: 1, node: 0, nodes: 1, node_rank: 0, thread_level };
        (world.rank, world.size) = world.place_in(WORLD)?;
        world.find_node()?;
        Ok(world)
    }

    fn find_node(&mut self) -> Result<(), MpiError> {
        let mut node = -1;
        // SAFETY: a valid pointer and the world's handle.
        self.check("MPI_Comm_split_type", unsafe { (self.shim.comm_split_node)(0, &mut node) })?;
        let node = Handle(node);
        self.node_rank = self.place_in(node)?.0;
        // The machines are numbered in the order of their first ranks.
        let leader = self.split(WORLD, (self.node_rank == 0).then_some(0), self.rank)?;
        let mut number = [0i64; 2];
        if let Some(leaders) = leader {
            let (rank, size) = self.place_in(leaders)?;
            number = [i64::from(rank), i64::from(size)];
            self.free(leaders)?;
        }
        let number = self.reduce(node, number, Reduce::Max)?;
        (self.node, self.nodes) = (number[0] as u32, number[1] as u32);
        self.free(node)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        self.shim.check(call, code)
    }

    /// Rank and size in a communicator.
    pub fn place_in(&self, comm: Handle) -> Result<(u32, u32), MpiError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: valid pointers, a handle the shim gave.
        self.check("MPI_Comm_rank", unsafe { (self.shim.comm_rank)(comm.0, &mut rank) })?;
        // SAFETY: as above.
        self.check("MPI_Comm_size", unsafe { (self.shim.comm_size)(comm.0, &mut size) })?;
        Ok((rank as u32, size as u32))
    }

    /// Splits a communicator; ranks without color get none. Collective.
    pub fn split(
        &self,
        comm: Handle,
        color: Option<u32>,
        key: u32,
    ) -> Result<Option<Handle>, MpiError> {
        let mut made = -1;
        let color = color.map_or(-1, |color| color as c_int);
        // SAFETY: a valid pointer, a handle the shim gave.
        let code = unsafe { (self.shim.comm_split)(comm.0, color, key as c_int, &mut made) };
        self.check("MPI_Comm_split", code)?;
        Ok((made >= 0).then_some(Handle(made)))
    }

    /// Frees a communicator. Collective.
    pub fn free(&self, comm: Handle) -> Result<(), MpiError> {
        // SAFETY: a handle the shim gave, freed once.
        self.check("MPI_Comm_free", unsafe { (self.shim.comm_free)(comm.0) })
    }

    /// Waits for all ranks of a communicator.
    pub fn barrier(&self, comm: Handle) -> Result<(), MpiError> {
        // SAFETY: a handle the shim gave.
        self.check("MPI_Barrier", unsafe { (self.shim.barrier)(comm.0) })
    }

    /// Rank 0's bytes on every rank of the world. Collective.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), MpiError> {
        let length =
            self.reduce(WORLD, [bytes.len() as i64 * i64::from(self.rank == 0)], Reduce::Max)?[0];
        bytes.resize(length as usize, 0);
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            // SAFETY: pointer and length belong to one slice.
            let code =
                unsafe { (self.shim.bcast)(0, piece.as_mut_ptr().cast(), piece.len() as c_int, 0) };
            self.check("MPI_Bcast", code)?;
        }
        Ok(())
    }

    /// Reduces integers over all ranks of a communicator; every rank has the result.
    pub fn reduce<const N: usize>(
        &self,
        comm: Handle,
        mut values: [i64; N],
        how: Reduce,
    ) -> Result<[i64; N], MpiError> {
        // SAFETY: the array has N elements.
        let code =
            unsafe { (self.shim.allreduce)(comm.0, values.as_mut_ptr(), N as c_int, how as c_int) };
        self.check("MPI_Allreduce", code)?;
        Ok(values)
    }

    /// Ends all ranks at once with this exit code.
    pub fn abort(&self, code: i32) {
        // SAFETY: MPI is initialised.
        unsafe { (self.shim.abort)(code) };
    }

    /// Ends MPI. Collective; nothing of MPI may be used afterwards.
    pub fn finalize(self) -> Result<(), MpiError> {
        // SAFETY: MPI is initialised, and `self` is gone afterwards.
        self.shim.check("MPI_Finalize", unsafe { (self.shim.finalize)() })
    }

    /// Library and standard version, for `parabench mpi info` and the run.
    pub fn describe(&self) -> String {
        let (version, subversion) = self.shim.standard_version();
        format!("{} (MPI {version}.{subversion})", self.shim.library_version())
    }
}
