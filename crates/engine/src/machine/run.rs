//! A rank runs until it has to stop, says why, and ends.

use super::note;
use super::rank::{Machine, Stop};
use super::tally::{Fault, Pause, Why};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::comm::{Check, Comm, End};
use crate::recorder::{Recorder, State, Usage};
use model::Value;
use model::plan::{Function, Instr, Pc};
use model::value::EvalError;

/// Calls of procs inside each other that are named.
const CALLERS: usize = 3;

impl<B: Backend> Machine<'_, B> {
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
