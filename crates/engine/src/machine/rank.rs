//! A rank that executes its plan. A machine can be left and entered again (simulated ranks share a thread): all
//! of its state is data. Not here: which rank runs when (`comm`), processes (`supervise`).

use super::control::Scratch;
use super::eval::Env;
use super::execute::{Pause, Position, execute};
use super::io::Io;
use super::prepare::{Prepared, Settings};
use super::{files, note};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::comm::{Comm, End};
use crate::recorder::{Recorder, State, Usage};
use model::plan::Pc;

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
    pub(super) prepared: &'p Prepared<'p>,
    pub(super) position: Position,
    pub(super) env: Env<'p>,
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
        files::give_all_back(&mut self.io, comm);
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
