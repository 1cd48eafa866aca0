//! A rank that executes its plan, from its start to its end, and why it ended. A machine can be left and entered
//! again (simulated ranks share a thread), so all of its state is data, defined here; the other files of this
//! folder work on it. Not here: which rank runs when (`comm`), processes (`supervise`).

use super::eval::Env;
use super::io::Io;
use super::note;
use super::prepare::{Prepared, Settings};
use super::step::Step;
use super::tally::{Fault, Flow, Pause, Why};
use super::work_claims::WorkClaims;
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::Fd;
use crate::clock::Clock;
use crate::comm::{Check, Comm, End};
use crate::recorder::{Recorder, State, Usage};
use model::plan::{Function, Instr, Operand, Pc, Plan, SetId, Source};
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
pub struct Machine<'p> {
    pub(super) prepared: &'p Prepared<'p>,
    pub(super) position: Position,
    pub(super) env: Env<'p>,
    pub(super) io: Io<'p>,
    pub(super) scratch: Scratch,
}

impl<'p> Machine<'p> {
    /// A rank at the start of its program.
    pub fn new(
        prepared: &'p Prepared<'p>,
        settings: &'p Settings,
        backend: Box<dyn Backend + 'p>,
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

impl Machine<'_> {
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

/// Calls of procs inside each other that are named.
const CALLERS: usize = 3;

impl Machine<'_> {
    /// Executes until the rank has to stop. The buffers may be other ones every time, the
    /// communicator is the rank's own.
    pub fn run(&mut self, comm: &mut dyn Comm, buffers: &mut Buffers) -> Stop {
        self.run_as::<false>(comm, buffers)
    }

    /// The same for somebody who looks on: the communicator is asked before each instruction and may pause the rank
    /// ([`Comm::begins`]).
    pub fn run_in_steps(&mut self, comm: &mut dyn Comm, buffers: &mut Buffers) -> Stop {
        self.run_as::<true>(comm, buffers)
    }

    fn run_as<const STEPS: bool>(&mut self, comm: &mut dyn Comm, buffers: &mut Buffers) -> Stop {
        self.io.take_area(buffers);
        let done = self.execute::<STEPS>(comm, buffers).and_then(|pause| {
            if pause == Pause::Finished { self.io.finish_all().map(|()| pause) } else { Ok(pause) }
        });
        self.io.notes |= note::of_data(buffers.take_wrote());
        let site = self.position.pc;
        let pause = match done.map_err(Fault::why) {
            Ok(pause) | Err(Why::Pause(pause)) => pause,
            Err(why) => return Stop::Failed { site, message: self.explain(why, site) },
        };
        match pause {
            Pause::Finished => Stop::Finished,
            Pause::Pending => Stop::Pending,
            Pause::Interrupted => Stop::Interrupted,
            // A rank that was released because the run was interrupted was interrupted.
            Pause::Released if comm.check() == Check::Interrupted => Stop::Interrupted,
            Pause::Released => {
                Stop::Released { site, message: self.released(comm.release_reason(), site) }
            }
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
        self.io.wait_for_all();
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
        self.io.give_all_back(comm);
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

    /// The sentence for a fault at a site.
    #[cold]
    fn explain(&mut self, why: Why, site: Pc) -> String {
        let mut text = match why {
            Why::Pause(_) => String::new(),
            Why::Message(text) => text,
            Why::Eval(EvalError::Unset) => match self.unset_name(site) {
                Some(name) => format!("the variable ${name} has no value yet: assign one first"),
                None => EvalError::Unset.to_string(),
            },
            Why::Eval(error) => error.to_string(),
        };
        text.push_str(&self.callers());
        text
    }

    /// Why a wait cannot end, in words of the program: it does not say that members meet at the limit of
    /// `until ... level`.
    fn released(&self, reason: String, site: Pc) -> String {
        match reason.split_once(" cannot be met: ") {
            Some((_, why)) if self.is_of_limit(site) => {
                format!("{why}, and in `until ... level` all members come together at the limit")
            }
            _ => reason,
        }
    }

    /// The instruction asks what all members of a loop with a time limit have reached.
    fn is_of_limit(&self, site: Pc) -> bool {
        let plan = self.prepared.plan;
        let Some(Instr::Function { function: Function::Gmax, .. }) = plan.code.get(site as usize)
        else {
            return false;
        };
        let limits = plan.code.iter().zip(&plan.spans);
        let limits = limits.filter(|(instr, _)| matches!(instr, Instr::Limit { .. }));
        limits.map(|(_, span)| *span).any(|span| span == plan.spans[site as usize])
    }

    /// The places from which the procs were called that are running, the innermost first.
    fn callers(&self) -> String {
        let plan = self.prepared.plan;
        let places = self.position.callers().take(CALLERS).filter_map(|site| {
            let (file, line, column) = plan.locate_site(site)?;
            Some(format!("{file}:{line}:{column}"))
        });
        let places: Vec<String> = places.collect();
        match places.is_empty() {
            true => String::new(),
            false => format!(" (called at {})", places.join(", from ")),
        }
    }

    /// The name of a global variable without a value that the text of a statement uses.
    fn unset_name(&self, site: Pc) -> Option<&str> {
        let plan = self.prepared.plan;
        let span = *plan.spans.get(site as usize)?;
        let file = plan.files.iter().rev().find(|file| file.start <= span.start)?;
        let [start, end] = [span.start, span.end].map(|at| (at - file.start) as usize);
        let no_letter = |c: char| c != '_' && !c.is_alphanumeric();
        let names = file.text.get(start..end)?.split('$').skip(1);
        let names: Vec<&str> = names.filter_map(|rest| rest.split(no_letter).next()).collect();
        let mut globals = plan.globals.iter().zip(&self.env.values);
        let is_meant = |(name, value): &(&String, &Value)| {
            matches!(value, Value::Unset) && names.contains(&name.as_str())
        };
        globals.find(is_meant).map(|(name, _)| name.as_str())
    }
}

/// Bytes that a rank gives at a time.
const WORD: usize = 8;

/// Bytes of every rank on their way to all: 8 in each gather, until the longest are through.
#[derive(Debug)]
pub(super) struct Exchange {
    own: Vec<u8>,
    /// Words that all have given; `None`: the number of bytes comes first.
    given: Option<usize>,
    /// Bytes of each rank, and how many of them count.
    pub(super) all: Vec<(Vec<u8>, usize)>,
}

impl Exchange {
    pub(super) fn new(own: Vec<u8>) -> Exchange {
        Exchange { own, given: None, all: Vec::new() }
    }

    /// All ranks have given all.
    pub(super) fn is_done(&self) -> bool {
        let longest = self.all.iter().map(|(_, length)| *length).max().unwrap_or(0);
        self.given.is_some_and(|words| words * WORD >= longest)
    }

    /// The number that this rank gives next.
    pub(super) fn next(&self) -> i64 {
        let Some(words) = self.given else { return self.own.len() as i64 };
        let rest = self.own.get(words * WORD..).unwrap_or_default();
        let mut word = [0; WORD];
        let length = rest.len().min(WORD);
        word[..length].copy_from_slice(&rest[..length]);
        i64::from_le_bytes(word)
    }

    /// Takes the numbers that all have given.
    pub(super) fn take(&mut self, given: &[Value]) {
        let numbers = given.iter().map(|value| value.as_int().unwrap_or(0));
        match &mut self.given {
            None => {
                self.all = numbers.map(|length| (Vec::new(), length as usize)).collect();
                self.given = Some(0);
            }
            Some(words) => {
                *words += 1;
                for ((bytes, _), number) in self.all.iter_mut().zip(numbers) {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
    }
}
