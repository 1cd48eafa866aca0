//! Executes a plan as one rank.
//!
//! ```text
//! execute (loop over instructions)
//!   ├─ eval, append            values, operands, templates
//!   ├─ random, scope           random numbers, groups
//!   ├─ work_claims             work that goes to the rank that claims it first
//!   ├─ arrivals                when operations are due
//!   ├─ control                 print, sleep, signal, wait, ...
//!   ├─ perform                 which calls each operation is, one arm for each
//!   │    ├─ files              operations on open files
//!   │    ├─ task               operations of several calls: which comes next
//!   │    ├─ now                makes calls one after the other, between two clock readings
//!   │    ├─ queued             makes calls of one operation of which several are under way
//!   │    ├─ pending            operations that are under way together
//!   │    └─ extents            the extents of patterns for this rank
//!   ├─ mpi_io                  statements of MPI-IO become calls on MPI files
//!   ├─ traffic                 what becomes stable, what is fetched, what caches hold
//!   ├─ io, tally, event        what calls come to; counting
//!   └─ explain                 why it ended, in words
//! ```
//!
//! A machine can be left and entered again (simulated ranks share a thread): all
//! of its state is data. Not here: who runs when (`comm`), processes (`supervise`).

mod append;
mod arrivals;
mod attributes;
mod clearing;
mod control;
mod copy;
mod driver;
mod eval;
mod event;
mod execute;
mod explain;
mod extents;
mod fault;
mod files;
mod fillings;
pub(crate) mod flags;
mod handles;
mod io;
mod labels;
mod lock;
mod mpi_io;
pub mod note;
mod options;
mod perform;
mod place;
mod prepare;
mod queue;
mod random;
mod scope;
mod tally;
mod task;
mod text;
mod traffic;
mod words;
mod work_claims;

pub use prepare::Prepared;

use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::comm::{Comm, End};
use crate::recorder::{Recorder, State, Usage};
use control::Scratch;
use eval::Env;
use execute::{Pause, Position, execute};
use io::Io;
use model::plan::Pc;
use std::os::fd::RawFd;

/// How a rank executes its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// `sleep` does nothing.
    pub agile: bool,
    /// A failed operation ends the rank.
    pub stop_on_error: bool,
    /// Short operations count as failed.
    pub strict: bool,
    /// I/O inside labels is executed only in these and in what is inside them; empty: everywhere.
    pub only: Vec<String>,
    /// Where `print` writes; `None`: nowhere.
    pub print_fd: Option<RawFd>,
    /// Tells verified data of this run from that of others.
    pub run_mark: u16,
}

/// Why a rank gave control back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It reached the end of the program.
    Finished,
    /// A statement cannot be executed.
    Failed {
        /// The statement.
        site: Pc,
        /// Why.
        message: String,
    },
    /// It has to wait for others: run it again later.
    Pending,
    /// It waited for something that cannot come.
    Released {
        /// Where.
        site: Pc,
        /// Why it cannot.
        message: String,
    },
    /// It was asked to stop.
    Interrupted,
}

/// A rank.
pub struct Machine<'p, B> {
    prepared: &'p Prepared<'p>,
    position: Position,
    env: Env<'p>,
    io: Io<'p, B>,
    scratch: Scratch,
}

impl<'p, B: Backend> Machine<'p, B> {
    /// A rank at the start of its program.
    pub fn new(
        prepared: &'p Prepared<'p>,
        settings: &'p Settings,
        backend: B,
        comm: &dyn Comm,
        clock: impl Into<Clock>,
        recorder: Recorder,
    ) -> Self {
        let clock = clock.into();
        Machine {
            prepared,
            position: Position::default(),
            env: Env::new(prepared, comm.rank(), comm.place(), clock.clone()),
            io: Io::new(backend, clock, recorder, settings).among(prepared.plan),
            scratch: Scratch::default(),
        }
    }

    /// Executes until the rank has to stop. The buffers may be other ones every time, the
    /// communicator is the rank's own.
    pub fn run(&mut self, comm: &mut dyn Comm, buffers: &mut Buffers) -> Stop {
        let pause = execute(
            self.prepared,
            &mut self.position,
            &mut self.env,
            &mut self.io,
            comm,
            buffers,
            &mut self.scratch,
        );
        let pause = match pause {
            Ok(Pause::Finished) => self.io.finish_all().map(|()| Pause::Finished),
            other => other,
        };
        self.io.notes |= note::of_data(buffers.take_wrote());
        let site = self.position.pc;
        match pause {
            Ok(Pause::Finished) => Stop::Finished,
            Ok(Pause::Pending) => Stop::Pending,
            Ok(Pause::Interrupted) => Stop::Interrupted,
            Ok(Pause::Released) => {
                Stop::Released { site, message: self.released(comm.release_reason(), site) }
            }
            Err(fault) => Stop::Failed { site, message: self.explain(fault, site) },
        }
    }

    /// Ends the rank: others do not wait for it any longer, its files are closed, and
    /// what it recorded is complete. `usage` is asked after the files are closed. Gives the
    /// recorder and the rank's remarks ([`note`]).
    pub fn finish(
        mut self,
        stop: &Stop,
        comm: &mut dyn Comm,
        usage: impl FnOnce(u64) -> Usage,
    ) -> (Recorder, u32) {
        // What is under way uses memory of this rank.
        while !self.io.queue.is_idle() && self.io.wait_for(1).is_ok() {}
        let end_ns = self.io.clock.now();
        let (end, state) = match stop {
            Stop::Finished => (End::Finished, State::Finished),
            Stop::Failed { .. } => (End::Failed, State::Failed),
            Stop::Released { .. } => (End::Released, State::Interrupted),
            Stop::Interrupted | Stop::Pending => (End::Interrupted, State::Interrupted),
        };
        if let Stop::Failed { site, message } | Stop::Released { site, message } = stop {
            self.io.recorder.rank_error(Some(*site), message);
        }
        self.scratch.work_claims.cut_off(&mut self.io);
        self.io.leave_schedule(1);
        lock::give_all_back(&mut self.io, comm);
        comm.leave(end);
        self.io.close_all();
        self.io.last_label_ended();
        self.io.recorder.finish(state, &usage(end_ns));
        (self.io.recorder, self.io.notes)
    }

    /// Operations executed so far.
    pub fn operations(&self) -> u64 {
        self.io.operations
    }
}
