//! MPI, initialised: who this process is among the ranks, and what all ranks can do together
//! before and after the program. Nothing here blocks inside MPI: a rank that waits looks, and passes the time between
//! two looks with [`Patience`].
//!
//! Calls are collective where they say so: all ranks of the communicator make them, in the
//! same order.

use crate::error::MpiError;
use crate::launcher;
use crate::launcher::Launcher;
use crate::shim::Shim;
use crate::signals::Deadline;
use engine::clock::monotonic_raw_ns;
use model::run::spans;
use std::ffi::c_int;
use std::rc::Rc;
use std::time::Duration;

/// Transfers longer than an `int` can count are cut into pieces of this size.
const PIECE_BYTES: usize = 1 << 30;
/// Seconds in which the processes of a job have to meet in MPI_Init, unless [`WAIT_VARIABLE`] sets another
/// limit: 256 ranks on two busy CPUs took 84 s.
const INIT_LIMIT_S: u32 = 300;
/// More seconds for every rank: launchers start them one after the other.
const INIT_LIMIT_OF_RANK_S: u32 = 1;
/// Environment variable with the limit in seconds, for jobs that start more slowly or are to fail sooner.
const WAIT_VARIABLE: &str = "PARABENCH_MPI_WAIT";
/// Seconds that MPI_Finalize may take; where it works, it takes less than one.
const FINALIZE_LIMIT_S: u32 = 10;
/// Exit code of wrong input.
const WRONG_INPUT: u8 = 2;
/// Tag of [`World::send`].
const BYTES_TAG: c_int = 12;

/// Reductions over all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Sum.
    Sum = 0,
    /// Smallest.
    Min = 1,
    /// Largest.
    Max = 2,
    /// Bitwise or.
    Or = 3,
}

/// A communicator's handle in the shim's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub(crate) c_int);

impl Handle {
    /// The number that functions of the shim take.
    pub fn number(self) -> c_int {
        self.0
    }
}

/// The communicator of all processes that were started.
const STARTED: Handle = Handle(0);
/// The communicator of this process alone.
pub const SELF: Handle = Handle(1);

/// MPI, initialised; ended by [`World::finalize`]. Or some of its ranks, a world of their own:
/// [`World::part`].
pub struct World {
    shim: Rc<Shim>,
    /// The communicator of its ranks.
    pub all: Handle,
    /// Rank in it.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Number of this rank's machine, from 0, in the order of their first ranks.
    pub node: u32,
    /// Number of machines.
    pub nodes: u32,
    /// The machine of each rank.
    pub machines: Vec<u32>,
    /// Rank within the machine.
    pub node_rank: u32,
    /// Number of ranks on this machine.
    pub node_size: u32,
    /// Thread level that MPI gives, 0 (single) to 3 (multiple).
    pub thread_level: i32,
    /// Processors that the ranks of this machine may use, all together.
    pub node_cpus: u32,
    /// Their numbers: spans, first and last.
    pub node_cpu_numbers: Vec<[u32; 2]>,
    /// How ranks of this machine may wait.
    pub crowd: Crowd,
    /// The communicator of this machine's ranks.
    pub node_comm: Handle,
}

impl World {
    /// Initialises MPI. Collective. If some processes of the job do not come within the limit, the others
    /// say so and end the job.
    ///
    /// # Errors
    /// [`MpiError::Mismatch`] when the launcher has started more ranks than MPI knows of: then
    /// the shim was compiled for another MPI.
    pub fn init(shim: Shim) -> Result<World, MpiError> {
        // Some libraries end the process when they find another MPI's launcher.
        expect_kin(&shim)?;
        let _deadline = launcher::job().map(init_deadline);
        let mut thread_level = 0;
        // SAFETY: one valid pointer; called once per process.
        shim.check("MPI_Init_thread", unsafe { (shim.init)(&mut thread_level) })?;
        let mut world = World::over(Rc::new(shim), STARTED, thread_level)?;
        world.expect_launched()?;
        // Nobody may spin while others still start.
        world.crowd = Crowd::new(world.size, count(&affinity()));
        world.find_node()?;
        Ok(world)
    }

    /// The ranks of a communicator, without knowing their machines.
    fn over(shim: Rc<Shim>, all: Handle, thread_level: i32) -> Result<World, MpiError> {
        let mut world = World {
            shim,
            all,
            rank: 0,
            size: 1,
            node: 0,
            nodes: 1,
            machines: vec![0],
            node_rank: 0,
            node_size: 1,
            thread_level,
            node_cpus: 0,
            node_cpu_numbers: Vec::new(),
            crowd: Crowd::default(),
            node_comm: SELF,
        };
        (world.rank, world.size) = world.place_in(all)?;
        Ok(world)
    }

    /// Some of the ranks as a world of their own, in the same order; `None` on the others.
    /// `is_member`: this one belongs to it. Collective over this world.
    pub fn part(&self, is_member: bool) -> Result<Option<World>, MpiError> {
        let Some(all) = self.split(self.all, is_member.then_some(0), self.rank)? else {
            return Ok(None);
        };
        let mut part = World::over(Rc::clone(&self.shim), all, self.thread_level)?;
        part.crowd = self.crowd;
        part.find_node()?;
        Ok(Some(part))
    }

    /// A library of another MPI than the launcher's makes every process a world of its own.
    fn expect_launched(&self) -> Result<(), MpiError> {
        let Some(job) = launcher::job() else { return Ok(()) };
        if self.size == 1 && job.ranks.is_some_and(|ranks| ranks > 1) {
            let library = self.library();
            return Err(MpiError::Mismatch { library, job });
        }
        Ok(())
    }

    /// The ranks of this rank's machine. MPICH's MPI_Comm_split_type blocks, which 64 ranks on two
    /// CPUs pay for with seconds.
    fn split_node(&self) -> Result<Handle, MpiError> {
        let mut node = -1;
        // SAFETY: a valid pointer and the world's handle.
        self.check("MPI_Comm_split_type", unsafe {
            (self.shim.comm_split_node)(self.all.0, &mut node)
        })?;
        Ok(Handle(node))
    }

    /// Finds the machine of every rank.
    fn find_node(&mut self) -> Result<(), MpiError> {
        self.node_comm = self.split_node()?;
        (self.node_rank, self.node_size) = self.place_in(self.node_comm)?;
        if self.node_size == self.size {
            // Of the fourth communicator MPICH takes 1.9 MB for a thousand more ranks, on every rank, and an MPI file
            // has one too.
            self.free(self.node_comm)?;
            self.node_comm = self.all;
        }
        // The machines are numbered in the order of their first ranks.
        let mut firsts = vec![0; self.size as usize];
        firsts[self.rank as usize] = i64::from(self.node_rank == 0);
        self.reduce_all(self.all, &mut firsts, Reduce::Max)?;
        let first = self.reduce(self.node_comm, [i64::from(self.rank)], Reduce::Min)?[0];
        self.nodes = firsts.iter().sum::<i64>() as u32;
        self.node = firsts[..first as usize].iter().sum::<i64>() as u32;
        let mut machines = vec![0; self.size as usize];
        machines[self.rank as usize] = self.node.into();
        self.reduce_all(self.all, &mut machines, Reduce::Sum)?;
        self.machines = machines.into_iter().map(|machine| machine as u32).collect();
        let cpus = self.reduce(self.node_comm, affinity(), Reduce::Or)?;
        (self.node_cpus, self.node_cpu_numbers) = (count(&cpus), numbers(&cpus));
        self.crowd = Crowd::new(self.node_size, self.node_cpus);
        Ok(())
    }

    /// The functions of the shim.
    pub fn shim(&self) -> &Shim {
        &self.shim
    }

    /// Turns an MPI error code into data.
    pub fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        self.shim.check(call, code)
    }

    /// Waits for a transfer, resting between looks.
    fn settle(&self, call: &'static str, code: c_int, request: c_int) -> Result<(), MpiError> {
        self.settle_with(Patience::new(self.crowd), call, code, request)
    }

    fn settle_with(
        &self,
        mut patience: Patience,
        call: &'static str,
        code: c_int,
        request: c_int,
    ) -> Result<(), MpiError> {
        self.check(call, code)?;
        loop {
            let mut done = 0;
            // SAFETY: a valid pointer; the shim gave the handle and it is not done yet.
            self.check(call, unsafe { (self.shim.done)(request, &mut done) })?;
            if done != 0 {
                return Ok(());
            }
            patience.rest();
        }
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

    /// Copies a communicator, resting between looks: [`World::split`] blocks in MPI, which many
    /// ranks on few CPUs pay for. Collective.
    pub fn copy(&self, comm: Handle) -> Result<Handle, MpiError> {
        let (mut copy, mut made) = (-1, -1);
        // SAFETY: a valid pointer, a handle the shim gave.
        let code = unsafe { (self.shim.comm_copy_start)(comm.0, &mut copy) };
        self.check("MPI_Comm_idup", code)?;
        let mut patience = Patience::new(self.crowd);
        while made < 0 {
            // SAFETY: a valid pointer; the shim gave the copy, which is not done yet.
            let code = unsafe { (self.shim.comm_copy_test)(copy, &mut made) };
            self.check("MPI_Comm_idup", code)?;
            patience.rest();
        }
        Ok(Handle(made))
    }

    /// Frees a communicator. Collective.
    pub fn free(&self, comm: Handle) -> Result<(), MpiError> {
        // SAFETY: a handle the shim gave, freed once.
        self.check("MPI_Comm_free", unsafe { (self.shim.comm_free)(comm.0) })
    }

    /// Waits for all ranks of a communicator. Collective.
    pub fn barrier(&self, comm: Handle) -> Result<(), MpiError> {
        self.reduce(comm, [0], Reduce::Min).map(|_| ())
    }

    /// Reduces integers over all ranks of a communicator; every rank has the result. Collective.
    pub fn reduce<const N: usize>(
        &self,
        comm: Handle,
        mut values: [i64; N],
        how: Reduce,
    ) -> Result<[i64; N], MpiError> {
        self.reduce_all(comm, &mut values, how)?;
        Ok(values)
    }

    /// The same in place, for any number of integers (the same on all ranks). Collective.
    pub fn reduce_all(
        &self,
        comm: Handle,
        values: &mut [i64],
        how: Reduce,
    ) -> Result<(), MpiError> {
        let mut pieces = values.chunks_mut(PIECE_BYTES / 8);
        pieces.try_for_each(|piece| self.reduce_piece(Patience::new(self.crowd), comm, piece, how))
    }

    fn reduce_piece(
        &self,
        patience: Patience,
        comm: Handle,
        piece: &mut [i64],
        how: Reduce,
    ) -> Result<(), MpiError> {
        let (values, count, mut request) = (piece.as_mut_ptr(), piece.len() as c_int, -1);
        // SAFETY: pointer and length belong to one slice, which is borrowed until the
        // transfer is done.
        let code =
            unsafe { (self.shim.iallreduce)(comm.0, values, count, how as c_int, &mut request) };
        self.settle_with(patience, "MPI_Iallreduce", code, request)
    }

    /// Rank 0's bytes on every rank of the world. Collective.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), MpiError> {
        self.broadcast_from(0, bytes)
    }

    /// The bytes of rank `root` on every rank of the world. Collective.
    pub fn broadcast_from(&self, root: u32, bytes: &mut Vec<u8>) -> Result<(), MpiError> {
        let own = if self.rank == root { bytes.len() as i64 } else { 0 };
        let length = self.reduce(self.all, [own], Reduce::Max)?[0];
        self.broadcast_length(root, bytes, length)
    }

    /// The same for a rank that may have to wait for long, without loading the CPU: rank 0
    /// calls [`World::broadcast`], the others this.
    pub fn await_broadcast(&self) -> Result<Vec<u8>, MpiError> {
        let (mut bytes, mut length) = (Vec::new(), [0]);
        self.reduce_piece(Patience::asleep(), self.all, &mut length, Reduce::Max)?;
        self.broadcast_length(0, &mut bytes, length[0])?;
        Ok(bytes)
    }

    fn broadcast_length(
        &self,
        root: u32,
        bytes: &mut Vec<u8>,
        length: i64,
    ) -> Result<(), MpiError> {
        bytes.resize(length as usize, 0);
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            let (start, count, mut request) = (piece.as_mut_ptr(), piece.len() as c_int, -1);
            let (all, root) = (self.all.0, root as c_int);
            // SAFETY: pointer and length belong to one slice, borrowed until the transfer is done.
            let code = unsafe { (self.shim.ibcast)(all, start.cast(), count, root, &mut request) };
            self.settle("MPI_Ibcast", code, request)?;
        }
        Ok(())
    }

    /// Numbers of a communicator's rank 0 on all of its ranks. Collective.
    pub(crate) fn share<const N: usize>(
        &self,
        comm: Handle,
        words: [u64; N],
    ) -> Result<[u64; N], MpiError> {
        // The others give what is less than anything.
        let is_first = self.place_in(comm)?.0 == 0;
        let own = words.map(|word| if is_first { word as i64 } else { i64::MIN });
        Ok(self.reduce(comm, own, Reduce::Max)?.map(|word| word as u64))
    }

    /// Rank 0's numbers on every rank of the world, such as a clock's. Collective.
    pub fn shared_words<const N: usize>(&self, words: [u64; N]) -> Result<[u64; N], MpiError> {
        self.share(self.all, words)
    }

    /// Sends bytes to a rank, which must [`World::receive`] them.
    pub fn send(&self, to: u32, bytes: &[u8]) -> Result<(), MpiError> {
        self.send_piece(to, &(bytes.len() as u64).to_ne_bytes())?;
        bytes.chunks(PIECE_BYTES).try_for_each(|piece| self.send_piece(to, piece))
    }

    /// Sends bytes whose number the receiver knows.
    pub(crate) fn send_piece(&self, to: u32, piece: &[u8]) -> Result<(), MpiError> {
        let (start, count, mut request) = (piece.as_ptr(), piece.len() as c_int, -1);
        // SAFETY: pointer and length belong to one slice, borrowed until the transfer is done.
        let code = unsafe {
            (self.shim.isend)(self.all.0, start.cast(), count, to as c_int, BYTES_TAG, &mut request)
        };
        self.settle("MPI_Isend", code, request)
    }

    /// The next bytes that a rank sends here.
    pub fn receive(&self, from: u32) -> Result<Vec<u8>, MpiError> {
        let mut length = [0; 8];
        self.receive_piece(from, &mut length)?;
        let mut bytes = vec![0; u64::from_ne_bytes(length) as usize];
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            self.receive_piece(from, piece)?;
        }
        Ok(bytes)
    }

    /// Receives bytes whose number the sender knows.
    pub(crate) fn receive_piece(&self, from: u32, piece: &mut [u8]) -> Result<(), MpiError> {
        let (start, count, mut request) = (piece.as_mut_ptr(), piece.len() as c_int, -1);
        // SAFETY: pointer and length belong to one slice, borrowed until the transfer is done.
        let code = unsafe {
            (self.shim.irecv)(
                self.all.0,
                start.cast(),
                count,
                from as c_int,
                BYTES_TAG,
                &mut request,
            )
        };
        self.settle("MPI_Irecv", code, request)
    }

    /// A message to a rank of a communicator, without waiting for anything.
    pub(crate) fn post(&self, comm: Handle, bytes: &[u8], to: u32) -> Result<(), MpiError> {
        let (start, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
        // SAFETY: pointer and length belong to one slice, which the shim copies.
        self.check("MPI_Isend", unsafe { (self.shim.post)(comm.0, start, count, to as c_int) })
    }

    /// A message that has come from anybody: the sender and its length.
    pub(crate) fn take(
        &self,
        comm: Handle,
        bytes: &mut [u8],
    ) -> Result<Option<(u32, usize)>, MpiError> {
        let (mut from, mut count) = (0, -1);
        let (start, max) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: pointer and length belong to one slice, the others are valid.
        let code = unsafe { (self.shim.take)(comm.0, start, max, &mut from, &mut count) };
        self.check("MPI_Recv", code)?;
        Ok((count >= 0).then_some((from as u32, count as usize)))
    }

    /// Number of messages that have not left yet.
    pub(crate) fn posted(&self) -> Result<u32, MpiError> {
        let mut waiting = 0;
        // SAFETY: a valid pointer.
        self.check("MPI_Test", unsafe { (self.shim.posted)(&mut waiting) })?;
        Ok(waiting as u32)
    }

    /// Starts a barrier that can be looked at instead of waited for: all members give a number and get the smallest
    /// and the largest. Collective.
    pub(crate) fn start_min_max(
        &self,
        comm: Handle,
        value: i64,
    ) -> Result<PendingMinMax, MpiError> {
        let values = Box::into_raw(Box::new([value, value.wrapping_neg()]));
        let (how, mut request) = (Reduce::Min as c_int, -1);
        // SAFETY: two numbers, which are freed when the reduction is done; if it never is, never.
        let code = unsafe { (self.shim.iallreduce)(comm.0, values.cast(), 2, how, &mut request) };
        self.check("MPI_Iallreduce", code)?;
        Ok(PendingMinMax { request, values })
    }

    /// The result, once all members have come. Not to be asked again then.
    pub(crate) fn test_min_max(&self, pending: &PendingMinMax) -> Result<Option<MinMax>, MpiError> {
        let mut done = 0;
        // SAFETY: a valid pointer; the shim gave the handle, and it is not done yet.
        self.check("MPI_Test", unsafe { (self.shim.done)(pending.request, &mut done) })?;
        if done == 0 {
            return Ok(None);
        }
        // SAFETY: the pointer of a box, given up in `start_min_max`; MPI is done with it, and nobody asks again.
        let [smallest, opposite] = *unsafe { Box::from_raw(pending.values) };
        Ok(Some(MinMax { smallest, largest: opposite.wrapping_neg() }))
    }

    /// Ends all ranks at once with this exit code, as far as MPI can.
    pub fn abort(&self, code: i32) {
        // SAFETY: MPI is initialised.
        unsafe { (self.shim.abort)(code) };
    }

    /// The ranks of this machine as a world of their own, which has no communicator to give back.
    pub fn machine(&self) -> Result<World, MpiError> {
        let machine = World::over(Rc::clone(&self.shim), self.node_comm, self.thread_level)?;
        Ok(World { crowd: self.crowd, ..machine })
    }

    /// Gives the communicators of a part back. Collective over it.
    pub fn release(self) -> Result<(), MpiError> {
        self.release_node()?;
        self.free(self.all)
    }

    fn release_node(&self) -> Result<(), MpiError> {
        let is_own = ![SELF, self.all].contains(&self.node_comm);
        if is_own { self.free(self.node_comm) } else { Ok(()) }
    }

    /// Ends MPI like [`World::finalize`], as the last act of a process that ends with `code`. If the library
    /// hangs, the process ends without it: results are stored by then.
    pub fn leave(self, code: u8) -> Result<(), MpiError> {
        // Everybody has printed what there was to print.
        self.barrier(self.all)?;
        let message = match self.rank {
            0 => {
                "note: MPI_Finalize hangs, a known problem of MPICH 4.0 on several machines. Results are \
                  stored, and the job ends without it (docs/clusters.md).\n"
            }
            _ => "",
        };
        // Ranks that share CPUs are slower.
        let limit_s = FINALIZE_LIMIT_S + self.size / 10;
        let _deadline = Deadline::start(limit_s, message, "cmd=finalize\n", code);
        self.finalize()
    }

    /// Ends MPI. Collective; nothing of MPI may be used afterwards, parts included.
    pub fn finalize(self) -> Result<(), MpiError> {
        self.release_node()?;
        // SAFETY: MPI is initialised, and `self` is gone afterwards.
        self.shim.check("MPI_Finalize", unsafe { (self.shim.finalize)() })
    }

    /// Name and version of the library, one line.
    pub fn library(&self) -> String {
        self.shim.library_name()
    }
}

/// The first process of each machine speaks a second before the others, which it then ends.
fn init_deadline(job: launcher::Job) -> Deadline {
    let ranks = job.ranks.unwrap_or_default();
    let wanted = std::env::var(WAIT_VARIABLE).ok().and_then(|text| text.parse().ok());
    let limit_s = wanted
        .filter(|limit_s| *limit_s > 0)
        .unwrap_or_else(|| INIT_LIMIT_S.saturating_add(INIT_LIMIT_OF_RANK_S.saturating_mul(ranks)));
    let message = format!(
        "error: rank {} on {}: not all processes of this job have started MPI within {limit_s} s\n  help: let \
         a script call parabench run on all ranks or on none; {WAIT_VARIABLE}=SECONDS sets another limit\n",
        job.rank,
        engine::host::machine().name,
    );
    let later_s = u32::from(!launcher::is_first_of_machine());
    let farewell = launcher::abort_command(WRONG_INPUT);
    Deadline::start(limit_s.saturating_add(later_s), &message, &farewell, WRONG_INPUT)
}

/// Open MPI's launcher starts no ranks of MPICH's family, and Open MPI finds no launcher without PMIx.
fn expect_kin(shim: &Shim) -> Result<(), MpiError> {
    let Some(job) = launcher::job() else { return Ok(()) };
    let library = shim.library_name();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let stranger = match job.launcher {
        Launcher::OpenMpi => ["MPICH", "MVAPICH", "Intel"].iter().any(|one| library.contains(one)),
        _ => library.starts_with("Open MPI") && !launcher::serves_open_mpi(job.launcher, names),
    };
    if stranger { Err(MpiError::Mismatch { library, job }) } else { Ok(()) }
}

/// The extremes of the members' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinMax {
    /// The smallest of their numbers.
    pub smallest: i64,
    /// The largest.
    pub largest: i64,
}

/// A reduction that was started, and where MPI puts the smallest number and the opposite of the largest.
#[derive(Debug)]
pub(crate) struct PendingMinMax {
    request: c_int,
    values: *mut [i64; 2],
}

/// Words for 4,096 CPUs.
const AFFINITY_WORDS: usize = 64;

fn count(cpus: &[i64; AFFINITY_WORDS]) -> u32 {
    cpus.iter().map(|word| word.count_ones()).sum()
}

/// The numbers of CPUs of which each has a bit.
fn numbers(cpus: &[i64; AFFINITY_WORDS]) -> Vec<[u32; 2]> {
    let is_set = |at: &u32| cpus[(at / i64::BITS) as usize] >> (at % i64::BITS) & 1 == 1;
    spans((0..AFFINITY_WORDS as u32 * i64::BITS).filter(is_set))
}

/// The CPUs this process may use, one bit each.
fn affinity() -> [i64; AFFINITY_WORDS] {
    let mut words = [0i64; AFFINITY_WORDS];
    // SAFETY: the call writes at most the given size, that of the words.
    unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) };
    words
}

/// Looks before the CPU is offered to others where every rank has one of its own.
const SPINS: u32 = 2_000;
/// Looks before sleeping where ranks share CPUs.
const YIELDS: u32 = 3;
/// First sleep; it doubles up to the longest.
const FIRST_NS: u64 = 10_000;
/// Longest sleep of a rank that is done and only waits for the others.
const IDLE_NS: u64 = 1_000_000;
/// Longest sleep of a rank that others measure without.
const ASLEEP_NS: u64 = 10_000_000;

/// How ranks of this machine may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Longest sleep between two looks; 0: every rank has a CPU of its own.
    longest_ns: u64,
}

impl Crowd {
    /// `ranks` on `cpus`. With more ranks than CPUs the sleep grows
    /// with their ratio, so that looking takes a bounded share of the machine.
    pub fn new(ranks: u32, cpus: u32) -> Crowd {
        let ratio = u64::from(ranks.div_ceil(cpus.max(1)));
        let longest_ns = if ranks <= cpus { 0 } else { (25_000 * ratio).clamp(50_000, 5_000_000) };
        Crowd { longest_ns }
    }

    /// There are more ranks than CPUs.
    pub fn is_crowded(self) -> bool {
        self.longest_ns > 0
    }
}

/// One wait.
#[derive(Debug)]
pub struct Patience {
    longest_ns: u64,
    looks: u32,
    next_ns: u64,
    since_ns: u64,
}

impl Patience {
    /// Starts to wait for something that other ranks do soon.
    pub fn new(crowd: Crowd) -> Patience {
        let since_ns = monotonic_raw_ns();
        Patience { longest_ns: crowd.longest_ns, looks: 0, next_ns: FIRST_NS, since_ns }
    }

    /// Starts to wait without hurry, leaving the CPU to others.
    pub fn idle(crowd: Crowd) -> Patience {
        let longest_ns = crowd.longest_ns.max(IDLE_NS);
        Patience { longest_ns, ..Patience::new(crowd) }
    }

    /// Starts to wait for what may take hours, without loading the CPU.
    pub fn asleep() -> Patience {
        Patience { longest_ns: ASLEEP_NS, ..Patience::new(Crowd::default()) }
    }

    /// How long it has lasted.
    pub fn waited_ns(&self) -> u64 {
        monotonic_raw_ns().saturating_sub(self.since_ns)
    }

    /// Number of looks so far.
    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Passes some time.
    pub fn rest(&mut self) {
        self.looks = self.looks.wrapping_add(1).max(1);
        let before = if self.longest_ns == 0 { SPINS } else { YIELDS };
        if self.looks > before && self.longest_ns > 0 {
            // The only sleep of a rank that is not the program's.
            std::thread::sleep(Duration::from_nanos(self.next_ns));
            self.next_ns = (2 * self.next_ns).min(self.longest_ns);
        } else if self.looks > before || self.longest_ns > 0 {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod patience_tests {
    use super::*;

    #[test]
    fn only_crowded_ranks_sleep() {
        assert_eq!(Crowd::new(4, 4), Crowd { longest_ns: 0 });
        assert_eq!(Crowd::new(3, 2), Crowd { longest_ns: 50_000 });
        assert_eq!(Crowd::new(256, 2), Crowd { longest_ns: 3_200_000 });
        assert_eq!(Crowd::new(10_000, 1), Crowd { longest_ns: 5_000_000 });
        assert!(Crowd::new(3, 2).is_crowded() && !Crowd::new(2, 2).is_crowded());
        let mut patience = Patience::idle(Crowd::default());
        for _ in 0..20 {
            patience.rest();
        }
        assert!(patience.waited_ns() > 1_000_000);
        assert_eq!(patience.looks(), 20);
    }
}
