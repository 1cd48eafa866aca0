//! The execute loop: one instruction after the other until the rank has to stop.

use super::eval::Env;
use super::handles::Handles;
use super::options::Engine;
use super::rank::{Call, Machine, arguments};
use super::schedule::NOT_DUE;
use super::step::Step;
use super::tally::{Fault, Flow, Pause, came};
use crate::buffer::Buffers;
use crate::comm::{Check, Comm, Numbers};
use model::evaluate::{self, Frame};
use model::function::Calc;
use model::op::{Param, ParamKind};
use model::plan::{Args, Function, Instr, NO_SLOT, Operand, Pc};
use model::value::{Eval, Outcome};
use model::{Op, Value, limits};

/// Procs that can run inside each other.
const CALLS_MAX: usize = 10_000;

impl Machine<'_> {
    /// Executes from `position` on. After an error `position.pc` is its site. `STEPS`: the communicator is asked
    /// before each instruction; other ranks are compiled without the question.
    pub(super) fn execute<const STEPS: bool>(
        &mut self,
        comm: &mut dyn Comm,
        buffers: &mut Buffers,
    ) -> Flow<Pause> {
        let plan = self.prepared.plan;
        let mut pc = self.position.pc;
        // An instruction at which the rank had to wait is entered again, and not asked for again.
        let mut is_asked = STEPS && std::mem::replace(&mut self.position.is_entered, true);
        loop {
            self.position.pc = pc;
            let Some(instr) = plan.code.get(pc as usize) else { return Ok(Pause::Finished) };
            if STEPS
                && !std::mem::take(&mut is_asked)
                && let Some(pause) = self.asks(instr, pc, comm)
            {
                return Ok(pause);
            }
            let next = match *instr {
                Instr::Op { op, dst, args } => {
                    if let Some(pause) = check(comm) {
                        return Ok(pause);
                    }
                    let step = Step { op, site: pc, dst, args: arguments(plan, op, args)? };
                    self.operation(step, comm, buffers)?;
                    pc + 1
                }
                Instr::Halt => return Ok(Pause::Finished),
                Instr::Next { code } => {
                    if let Some(pause) = check(comm) {
                        return Ok(pause);
                    }
                    if self.io.accounts {
                        self.ahead(code, comm);
                    }
                    evaluate::next(&mut self.env, pc, code)?
                }
                Instr::Jump { to } => {
                    if to <= pc
                        && let Some(pause) = check(comm)
                    {
                        return Ok(pause);
                    }
                    to
                }
                _ => match evaluate::step(&mut self.env, pc, instr)? {
                    Some(to) => to,
                    None => self.structure(instr, pc, comm)?,
                },
            };
            pc = next;
        }
    }

    /// In steps: a pause before the instruction. An operation is asked for when it is really this rank's turn, and asked
    /// for again if it was not.
    fn asks(&mut self, instr: &Instr, pc: Pc, comm: &mut dyn Comm) -> Option<Pause> {
        if matches!(instr, Instr::Op { .. })
            && let Some(pause) = check(comm)
        {
            self.position.is_entered = false;
            return Some(pause);
        }
        (!comm.begins(pc, self.position.calls.len())).then_some(Pause::Pending)
    }

    #[inline(always)]
    fn operation(&mut self, step: Step<'_>, comm: &mut dyn Comm, buffers: &mut Buffers) -> Flow {
        if !self.io.queue.is_idle() {
            self.wait_before(step)?;
        }
        if self.io.labels.is_selected() || !step.op.is_io() {
            let scheduled = self.io.options.active().schedule != 0 && step.op.is_io();
            if scheduled {
                self.io.wait_until_due(comm)?;
            }
            self.perform(step, comm, buffers)?;
            if scheduled {
                self.io.arrivals.due_ns = NOT_DUE;
            }
        } else {
            self.io.outcome = Outcome::default();
            self.leave_out(step);
        }
        if step.dst != NO_SLOT {
            self.take_outcome(step)?;
        }
        Ok(())
    }

    /// `$ok = mkdir("a");`: a handle learns the error of its open. In place where it can be, as
    /// [`Frame::set_int`] does.
    #[inline(always)]
    fn take_outcome(&mut self, step: Step<'_>) -> Eval<()> {
        let outcome = self.io.outcome;
        let at = self.env.at(step.dst);
        match &mut self.env.values[at] {
            _ if step.op == Op::Readdir => {
                let names = std::mem::take(&mut self.io.names);
                self.env.set(step.dst, limits::list(names)?);
            }
            Value::Outcome(old) => *old = outcome,
            Value::Handle(_, errno) if step.op.row().gives_handle() => *errno = outcome.errno,
            _ => self.env.set(step.dst, Value::Outcome(outcome)),
        }
        Ok(())
    }

    /// An operation outside the labels of `--only`: texts are rendered all the same, so that
    /// random numbers in them are drawn as in the whole run.
    #[cold]
    fn leave_out(&mut self, step: Step<'_>) {
        for operand in step.args {
            let _ = self.env.ready(step.site, *operand, 0);
        }
        if step.op.row().gives_handle() {
            self.open_left_out(step);
        }
    }

    /// Instructions that are executed less often; which comes next.
    #[inline(never)]
    fn structure(&mut self, instr: &Instr, pc: Pc, comm: &mut dyn Comm) -> Flow<Pc> {
        let plan = self.env.plan;
        if !self.io.queue.is_idle() {
            self.io.wait_before_instr(instr)?;
        }
        if ends_pause(instr) {
            self.io.ended_ns = 0;
        }
        match *instr {
            Instr::Function { function: Function::Tested, dst, args } => {
                let tested = self.tested(pc, &plan.args[args.range()], comm)?;
                self.env.set(dst, Value::Bool(tested));
            }
            Instr::Function { function: Function::Next, dst, args } => {
                check_inside(comm)?;
                let value = self.next_number(plan.args[args.range()][0], comm)?;
                self.env.set(dst, value);
            }
            Instr::Function { function, dst, args } if function.row().is_of_all_ranks() => {
                let value = self.measured(pc, function, &plan.args[args.range()], comm)?;
                self.env.set(dst, value);
            }
            Instr::Function { function, dst, args } if function.row().is_collective() => {
                let value = self.collective(pc, function, &plan.args[args.range()], comm)?;
                self.env.set(dst, value);
            }
            Instr::Function { function, dst, args } => {
                self.function(pc, function, dst, args)?;
            }
            Instr::Share { count, by } => {
                let [count, by] = [self.env.int(pc, count)?, self.env.int(pc, by)?];
                let members = self.env.scope.members();
                self.scratch.work_claims.begin(members, pc, [count, by], &self.io)?;
            }
            Instr::Claim { dst, exit } => {
                check_inside(comm)?;
                let members = self.env.scope.members();
                match self.scratch.work_claims.claim(members, &mut self.io, comm)? {
                    Some(index) => self.env.set(dst, Value::Int(index)),
                    None => return Ok(exit),
                }
            }
            Instr::ShareEnd => {
                let members = self.env.scope.members();
                self.scratch.work_claims.end(members, pc, &mut self.io, comm)?;
            }
            Instr::Limit { end, exit } => {
                let end_ns = self.env.value(pc, Operand::slot(end))?.as_duration_ns()?;
                if self.io.reaches_limit(end_ns, comm)? {
                    self.io.limit_reached(pc);
                    return Ok(exit);
                }
            }
            Instr::LabelEnter { label } => self.label_enter(label, pc, comm)?,
            Instr::LabelLeave => self.label_leave(pc, comm)?,
            Instr::GroupEnter { group, skip } if !self.env.scope.enter(plan, group) => {
                return Ok(skip);
            }
            Instr::GroupEnter { .. } => {}
            Instr::SplitEnter { split, value, .. } => split_enter(pc, split, value, &mut self.env)?,
            Instr::GroupLeave => self.env.scope.leave(plan),
            Instr::Master { skip } if !self.env.scope.is_master() => return Ok(skip),
            Instr::Master { .. } => {}
            Instr::Barrier { group } => self.barrier(group, pc, comm)?,
            Instr::WithEnter { options } => {
                let rate =
                    self.io.options.enter(&mut self.env, pc, &plan.options[options as usize])?;
                self.options_changed()?;
                if let Some(rate) = rate {
                    let (seed, label) = ((plan.seed, self.env.scope.rank), self.io.labels.id());
                    let schedule =
                        self.io.arrivals.enter(&rate, (label, pc), seed, self.io.clock.now());
                    self.io.options.follow(schedule);
                }
            }
            Instr::WithLeave => {
                let schedule = self.io.options.active().schedule;
                self.io.options.leave();
                if schedule > self.io.options.active().schedule {
                    self.io.leave_schedule(schedule);
                }
                self.options_changed()?;
            }
            Instr::CallProc { proc, args } => {
                check_inside(comm)?;
                return self.call_proc(proc, args, pc);
            }
            Instr::Return => return Ok(self.return_from()),
            Instr::Extent { .. } => {
                return Err(Fault::message("extent stands outside of a pattern"));
            }
            // The evaluator and the execute loop have taken the others.
            _ => {}
        }
        Ok(pc + 1)
    }

    /// An operation is about to be executed while others are under way.
    #[cold]
    pub(super) fn wait_before(&mut self, step: Step<'_>) -> Flow {
        let queues = matches!(self.io.options.active().engine, Engine::Uring { .. });
        let is_handle = |param: &&Param| param.kind == ParamKind::Handle && param.default.is_none();
        match step.op {
            // They wait by themselves.
            Op::Fread | Op::Fwrite | Op::Fsync | Op::Fdatasync if queues => Ok(()),
            // They need not wait.
            Op::Fopen | Op::Fcreat | Op::Tmpfile => self.io.hand_over_fresh(),
            Op::Print | Op::Assert | Op::Score | Op::Sleep | Op::Compute => {
                self.io.hand_over_fresh()
            }
            op if op.row().params.iter().filter(is_handle).count() == 1 => match self.file(step)? {
                (Some(at), Some(_)) => self.io.finish_file(at),
                _ => Ok(()),
            },
            _ => self.io.finish_all(),
        }
    }

    /// A rehearsal may leave iterations out: the loop's own state is among the numbers that it moves on.
    #[inline(never)]
    fn ahead(&mut self, code: u32, comm: &mut dyn Comm) {
        let plan = self.prepared.plan;
        let of = plan.loops[code as usize];
        let at = self.env.at(of.state);
        if of.timed {
            if !comm.iterated_in_time() {
                self.env.values[at + 1] = Value::Int(0);
            }
            return;
        }
        if let Value::Int(left) = self.env.values[at + 1] {
            comm.iterated(
                at as u32,
                left as u64,
                &mut Counted { values: &mut self.env.values, handles: &mut self.io.handles },
            );
        }
    }

    /// Other options are in force: passes on those that concern more than the next operation.
    fn options_changed(&mut self) -> Flow {
        self.io.open_queue()?;
        self.env.begin_in(self.io.options.active().directory, &mut self.io.paths);
        self.io.backend.set_options(&self.io.options.active().in_force());
        Ok(())
    }

    fn barrier(&mut self, group: Option<u32>, pc: Pc, comm: &mut dyn Comm) -> Flow {
        let (scope, plan) = (&self.env.scope, self.prepared.plan);
        let Some(group) = group else { return came(comm.barrier(scope.members(), pc, None)) };
        let members = scope.whole_group(plan, group);
        match members.filter(|members| members.ranks.contains(scope.rank)) {
            Some(members) => came(comm.barrier(&members, pc, None)),
            None => Err(Fault::message(format!(
                "barrier(\"{}\") by rank {}, which is not a member of the group",
                plan.groups[group as usize].name, scope.rank
            ))),
        }
    }

    /// The barrier of `sync` comes before the interval.
    fn label_enter(&mut self, label: u32, pc: Pc, comm: &mut dyn Comm) -> Flow {
        let plan = self.prepared.plan;
        let label = &plan.labels[label as usize];
        if label.sync {
            self.barrier(None, pc, comm)?;
        }
        self.io.label_text.clear();
        self.env.render(pc, label.text, &mut self.io.label_text)?;
        self.io.label_changes();
        self.io.labels.enter(&mut self.io.recorder, &self.io.label_text, label);
        self.io.recorder.inside(self.io.labels.id());
        if self.env.is_timed(pc) {
            self.io.label_timed();
        }
        self.io.labels.start(&mut self.io.recorder, self.io.clock.now());
        Ok(())
    }

    /// The barrier of `sync` comes after the interval.
    fn label_leave(&mut self, pc: Pc, comm: &mut dyn Comm) -> Flow {
        if !self.position.label_ended {
            let end_ns = self.io.clock.now();
            self.io.label_changes();
            let sync = self.io.labels.leave(&mut self.io.recorder, end_ns);
            self.io.recorder.inside(self.io.labels.id());
            if !sync {
                return Ok(());
            }
            self.position.label_ended = true;
        }
        self.barrier(None, pc, comm)?;
        self.position.label_ended = false;
        Ok(())
    }

    /// Arguments become the first slots of a new frame.
    fn call_proc(&mut self, proc: u32, args: Args, pc: Pc) -> Flow<Pc> {
        let plan = self.prepared.plan;
        let proc = &plan.procs[proc as usize];
        if self.position.calls.len() == CALLS_MAX {
            return Err(Fault::message(format!(
                "proc {} calls itself without end: {CALLS_MAX} calls are open",
                proc.name
            )));
        }
        let base = self.env.values.len();
        for operand in &plan.args[args.range()] {
            self.env.ready(pc, *operand, 0)?;
            let value = self.env.copied(*operand)?;
            self.env.values.push(value);
        }
        self.env.values.resize(base + proc.locals as usize, Value::Unset);
        self.position.calls.push(Call { return_to: pc + 1, outer_base: self.env.base });
        self.env.base = base;
        Ok(proc.entry)
    }

    /// Drops the frame; texts in it are kept for reuse.
    fn return_from(&mut self) -> Pc {
        let plan = self.prepared.plan;
        let Some(call) = self.position.calls.pop() else { return plan.code.len() as Pc };
        self.env.drop_frame();
        self.env.base = call.outer_base;
        call.return_to
    }
}

#[inline(always)]
pub(super) fn check(comm: &mut dyn Comm) -> Option<Pause> {
    match comm.check() {
        Check::GoOn => None,
        Check::Yield => Some(Pause::Pending),
        Check::Interrupted => Some(Pause::Interrupted),
    }
}

/// The same inside of a statement.
fn check_inside(comm: &mut dyn Comm) -> Flow {
    check(comm).map_or(Ok(()), |pause| Err(pause.into()))
}

/// A pause that follows counts from its own start: the rank waits here, or asks the file system, or a
/// label measures all that is inside of it.
fn ends_pause(instr: &Instr) -> bool {
    match *instr {
        Instr::Function { function, .. } => {
            matches!(
                function.row().calc,
                Calc::Collective(_) | Calc::Measured(_) | Calc::Queried(_)
            )
        }
        Instr::Share { .. }
        | Instr::Claim { .. }
        | Instr::ShareEnd
        | Instr::LabelEnter { .. }
        | Instr::LabelLeave
        | Instr::Barrier { .. } => true,
        _ => false,
    }
}

/// The numbers of a rank that a loop can advance: integers of variables, and positions in open
/// files.
struct Counted<'a> {
    values: &'a mut [Value],
    handles: &'a mut Handles,
}

impl Numbers for Counted<'_> {
    fn read(&self) -> Vec<i64> {
        let number = |value: &Value| if let Value::Int(number) = value { *number } else { 0 };
        self.values.iter().map(number).chain(self.handles.positions().map(|at| at as i64)).collect()
    }

    fn write(&mut self, numbers: &[i64]) {
        let (values, positions) = numbers.split_at(self.values.len().min(numbers.len()));
        for (value, number) in self.values.iter_mut().zip(values) {
            if let Value::Int(old) = value {
                *old = *number;
            }
        }
        self.handles.set_positions(positions.iter().map(|at| *at as u64));
    }
}

/// The members of the active set that have the same value, which the text tells: nobody is asked.
fn split_enter(pc: Pc, split: u32, value: Operand, env: &mut Env<'_>) -> Flow {
    env.ready(pc, value, 0)?;
    let value = match env.peek(value, 0) {
        Value::Bool(holds) => i64::from(*holds),
        value => value.as_int()?,
    };
    let plan = env.plan;
    let case = plan.splits[split as usize].case(|slot| match env.values[env.at(slot)] {
        Value::Int(n) => Some(n),
        _ => None,
    });
    match case.is_some_and(|case| env.scope.split(plan, (split, case), value)) {
        true => Ok(()),
        false => Err(Fault::message(
            "the value of this split is another one than that which the program's text gives",
        )),
    }
}
