//! A rank that executes its plan. A machine can be left and entered again (simulated ranks share a
//! thread), so all of its state is data, defined here; the other files of this folder work on it.
//! Not here: which rank runs when (`comm`), processes (`supervise`).

use super::eval::Env;
use super::figures::Exchange;
use super::io::Io;
use super::prepare::{Prepared, Settings};
use super::step::Step;
use super::tally::Flow;
use super::work_claims::WorkClaims;
use crate::backend::Backend;
use crate::call::Fd;
use crate::clock::Clock;
use crate::comm::Comm;
use crate::recorder::Recorder;
use model::plan::{Operand, Pc, Plan, SetId, Source};
use model::value::{Eval, EvalError};
use model::{Op, Value};
use std::collections::HashMap;

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
    pub(super) io: Io<'p, B>,
    pub(super) scratch: Scratch,
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
            io: Io::new(backend, clock, recorder, settings, prepared.plan),
            scratch: Scratch::default(),
        }
    }
}

impl<B: Backend> Machine<'_, B> {
    /// The place of the first argument's handle, and its file.
    #[inline(always)]
    pub(super) fn file(&mut self, step: Step<'_>) -> Eval<(Option<usize>, Option<Fd>)> {
        self.file_of(step, 0)
    }

    /// The same of another argument.
    #[inline(always)]
    pub(super) fn file_of(
        &mut self,
        step: Step<'_>,
        arg: usize,
    ) -> Eval<(Option<usize>, Option<Fd>)> {
        let at = self.io.handles.find(self.env.value(step.site, step.args[arg])?)?;
        Ok((at, at.and_then(|at| self.io.handles.fd(at))))
    }

    /// The handle that a transfer goes to: its place in the table and its file. `None`: a bad one, and
    /// the operation is over.
    #[inline(always)]
    pub(super) fn handle(&mut self, step: Step<'_>) -> Flow<Option<(usize, Fd)>> {
        match self.file(step)? {
            (Some(at), Some(fd)) => Ok(Some((at, fd))),
            (at, _) => self.io.bad_handle(step, at).map(|()| None),
        }
    }
}

/// Parameters of every operation: one load where the table itself would take several.
static PARAMS: [u8; Op::COUNT] = {
    let mut params = [0; Op::COUNT];
    let mut op = 0;
    while op < Op::COUNT {
        params[op] = model::op::OPS[op].params.len() as u8;
        op += 1;
    }
    params
};

/// Where the rank is in the program.
#[derive(Debug, Default)]
pub(super) struct Position {
    pub(super) pc: Pc,
    pub(super) calls: Vec<Call>,
    /// The first part of a label's end with `sync` is done: only the barrier is left.
    pub(super) label_ended: bool,
    /// In steps: the rank has started.
    pub(super) is_entered: bool,
}

impl Position {
    /// The calls of the procs that are running, the innermost first.
    pub(super) fn callers(&self) -> impl Iterator<Item = Pc> {
        self.calls.iter().rev().map(|call| call.return_to - 1)
    }
}

/// A running proc.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) return_to: Pc,
    pub(super) outer_base: usize,
}

/// Texts and sums that control statements use again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) line: Vec<u8>,
    /// Sums of the numbers that waits asked for so far, by set and name.
    pub(super) waited: HashMap<(SetId, Vec<u8>), u64>,
    /// Key of the wait in progress.
    pub(super) key: (SetId, Vec<u8>),
    /// Values of the members of a collective function.
    pub(super) given: Vec<Value>,
    /// The exchange of a label's figures in progress.
    pub(super) exchange: Option<Exchange>,
    /// Work that is shared.
    pub(super) work_claims: WorkClaims,
}

/// The operands of a command; `print` has their number first.
#[inline(always)]
pub(super) fn arguments(plan: &Plan, op: Op, at: u32) -> Result<&[Operand], EvalError> {
    let at = at as usize;
    if op != Op::Print {
        return Ok(&plan.args[at..at + usize::from(PARAMS[op as usize])]);
    }
    let count = match plan.args[at].source() {
        Source::Const(index) => plan.consts[index as usize].as_size()?,
        _ => 0,
    };
    Ok(&plan.args[at + 1..at + 1 + count as usize])
}
