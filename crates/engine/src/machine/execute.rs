//! The execute loop: one instruction after the other until the rank has to stop.

use super::arrivals;
use super::control::{self, Scratch};
use super::eval::Env;
use super::files::open_left_out;
use super::functions;
use super::handles::Handles;
use super::io::Io;
use super::perform::{perform, size_of};
use super::prepare::Prepared;
use super::schedule::NOT_DUE;
use super::step::Step;
use super::tally::{Fault, Flow};
use super::work_claims::Claimed;
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::comm::{Check, Comm, Numbers};
use model::evaluate::{self, Frame};
use model::function::Calc;
use model::plan::{Args, Function, Instr, NO_SLOT, Operand, Pc, Plan};
use model::value::{Eval, EvalError, Outcome};
use model::{Op, Value, limits};

/// Procs that can run inside each other.
const CALLS_MAX: usize = 10_000;

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
    calls: Vec<Call>,
    /// The first part of a label's end with `sync` is done: only the barrier is left.
    label_ended: bool,
}

impl Position {
    /// The calls of the procs that are running, the innermost first.
    pub(super) fn callers(&self) -> impl Iterator<Item = Pc> {
        self.calls.iter().rev().map(|call| call.return_to - 1)
    }
}

/// A running proc.
#[derive(Clone, Copy, Debug)]
struct Call {
    return_to: Pc,
    outer_base: usize,
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Finished,
    Pending,
    Released,
    Interrupted,
}

/// Executes from `position` on. After an error `position.pc` is its site.
pub(super) fn execute<B: Backend>(
    prepared: &Prepared<'_>,
    position: &mut Position,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
    scratch: &mut Scratch,
) -> Result<Pause, Fault> {
    let plan = prepared.plan;
    let mut pc = position.pc;
    loop {
        position.pc = pc;
        let Some(instr) = plan.code.get(pc as usize) else { return Ok(Pause::Finished) };
        let next = match *instr {
            Instr::Op { op, dst, args } => {
                if let Some(pause) = check(comm) {
                    return Ok(pause);
                }
                let step = Step { op, site: pc, dst, args: arguments(plan, op, args)? };
                match operation(step, prepared, env, io, comm, buffers, scratch)? {
                    Flow::Next => pc + 1,
                    flow => return Ok(pause(flow, comm)),
                }
            }
            Instr::Halt => return Ok(Pause::Finished),
            Instr::Next { code } => {
                if let Some(pause) = check(comm) {
                    return Ok(pause);
                }
                if io.accounts {
                    ahead(code, plan, env, io, comm);
                }
                evaluate::next(env, pc, code)?
            }
            Instr::Jump { to } => {
                if to <= pc
                    && let Some(pause) = check(comm)
                {
                    return Ok(pause);
                }
                to
            }
            _ => match evaluate::step(env, pc, instr)? {
                Some(to) => to,
                None => match structure(instr, pc, position, env, io, comm, scratch)? {
                    Ok(to) => to,
                    Err(flow) => return Ok(pause(flow, comm)),
                },
            },
        };
        pc = next;
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

/// The flow after the check before an instruction.
fn flow(pause: Pause) -> Flow {
    if pause == Pause::Interrupted { Flow::Interrupted } else { Flow::Pending }
}

/// A rank that was released because the run was interrupted was interrupted.
fn pause(flow: Flow, comm: &mut dyn Comm) -> Pause {
    match flow {
        Flow::Next | Flow::Pending => Pause::Pending,
        Flow::Interrupted => Pause::Interrupted,
        Flow::Released if comm.check() == Check::Interrupted => Pause::Interrupted,
        Flow::Released => Pause::Released,
    }
}

/// The operands of a command; `print` has their number first.
#[inline(always)]
pub(super) fn arguments(plan: &Plan, op: Op, at: u32) -> Result<&[Operand], EvalError> {
    let at = at as usize;
    if op != Op::Print {
        return Ok(&plan.args[at..at + usize::from(PARAMS[op as usize])]);
    }
    let count = match plan.args[at].source() {
        model::plan::Source::Const(index) => plan.consts[index as usize].as_size()?,
        _ => 0,
    };
    Ok(&plan.args[at + 1..at + 1 + count as usize])
}

#[inline(always)]
fn operation<B: Backend>(
    step: Step<'_>,
    prepared: &Prepared<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
    scratch: &mut Scratch,
) -> Result<Flow, Fault> {
    if !io.queue.is_idle() {
        io.wait_before(step, env)?;
    }
    if io.labels.is_selected() || !step.op.is_io() {
        let scheduled = io.options.active().schedule != 0 && step.op.is_io();
        if scheduled {
            match arrivals::wait(io, comm)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        match perform(step, prepared, env, io, comm, buffers, scratch)? {
            Flow::Next => {}
            flow => return Ok(flow),
        }
        if scheduled {
            io.arrivals.due_ns = NOT_DUE;
        }
    } else {
        io.outcome = Outcome::default();
        leave_out(step, env, io);
    }
    if step.dst != NO_SLOT {
        take_outcome(step, env, io)?;
    }
    Ok(Flow::Next)
}

/// `$ok = mkdir("a");`: a handle learns the error of its open. In place where it can be, as
/// [`Frame::set_int`] does.
#[inline(always)]
fn take_outcome<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Eval<()> {
    let outcome = io.outcome;
    let at = env.at(step.dst);
    match &mut env.values[at] {
        _ if step.op == Op::Readdir => {
            let names = std::mem::take(&mut io.names);
            env.set(step.dst, limits::list(names)?);
        }
        Value::Outcome(old) => *old = outcome,
        Value::Handle(_, errno) if step.op.row().gives_handle() => *errno = outcome.errno,
        _ => env.set(step.dst, Value::Outcome(outcome)),
    }
    Ok(())
}

/// An operation outside the labels of `--only`: texts are rendered all the same, so that
/// random numbers in them are drawn as in the whole run.
#[cold]
fn leave_out<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) {
    for operand in step.args {
        let _ = env.ready(step.site, *operand, 0);
    }
    if step.op.row().gives_handle() {
        open_left_out(step, env, io);
    }
}

/// Instructions that are executed less often. Inner `Err`: the rank cannot go on now.
#[inline(never)]
fn structure<B: Backend>(
    instr: &Instr,
    pc: Pc,
    position: &mut Position,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    scratch: &mut Scratch,
) -> Result<Result<Pc, Flow>, Fault> {
    let plan = env.plan;
    if !io.queue.is_idle() {
        io.wait_before_instr(instr)?;
    }
    if ends_pause(instr) {
        io.ended_ns = 0;
    }
    match *instr {
        Instr::Function { function: Function::Tested, dst, args } => {
            let tested = control::tested(pc, &plan.args[args.range()], env, comm, scratch)?;
            env.set(dst, Value::Bool(tested));
        }
        Instr::Function { function, dst, args } if function.row().is_collective() => {
            let own = plan.args[args.range()][0];
            match control::collective(pc, function, own, env, comm, scratch)? {
                Ok(value) => env.set(dst, value),
                Err(flow) => return Ok(Err(flow)),
            }
        }
        Instr::Function { function, dst, args } => {
            let size = |env: &mut Env<'_>, path| size_of((pc, function), path, env, io);
            functions::call(env, pc, function, dst, args, size)?;
        }
        Instr::Share { count, by } => {
            let [count, by] = [env.int(pc, count)?, env.int(pc, by)?];
            scratch.work_claims.begin(env.scope.members(), pc, [count, by], io)?;
        }
        Instr::Claim { dst, exit } => {
            if let Some(pause) = check(comm) {
                return Ok(Err(flow(pause)));
            }
            let members = env.scope.members();
            return match scratch.work_claims.claim(members, io, comm)? {
                Claimed::Index(index) => {
                    env.set(dst, Value::Int(index));
                    Ok(Ok(pc + 1))
                }
                Claimed::Nothing => Ok(Ok(exit)),
                Claimed::Later => Ok(Err(Flow::Pending)),
            };
        }
        Instr::ShareEnd => {
            let members = env.scope.members();
            return Ok(match scratch.work_claims.end(members, pc, io, comm)? {
                Flow::Next => Ok(pc + 1),
                flow => Err(flow),
            });
        }
        Instr::Limit { end, exit } => {
            let end_ns = env.value(pc, Operand::slot(end))?.as_duration_ns()?;
            return Ok(match arrivals::reaches(end_ns, io, comm)? {
                Ok(true) => {
                    io.limit_reached(pc);
                    Ok(exit)
                }
                Ok(false) => Ok(pc + 1),
                Err(flow) => Err(flow),
            });
        }
        Instr::LabelEnter { label } => return label_enter(plan, label, pc, env, io, comm),
        Instr::LabelLeave => return Ok(label_leave(pc, position, env, io, comm)),
        Instr::GroupEnter { group, skip } if !env.scope.enter(plan, group) => return Ok(Ok(skip)),
        Instr::GroupEnter { .. } => {}
        Instr::SplitEnter { split, value, .. } => split_enter(pc, split, value, env)?,
        Instr::GroupLeave => env.scope.leave(plan),
        Instr::Master { skip } if !env.scope.is_master() => return Ok(Ok(skip)),
        Instr::Master { .. } => {}
        Instr::Barrier { group } => return barrier(plan, group, pc, env, comm),
        Instr::WithEnter { options } => {
            let rate = io.options.enter(env, pc, &plan.options[options as usize])?;
            options_changed(env, io)?;
            if let Some(rate) = rate {
                let (seed, label) = ((plan.seed, env.scope.rank), io.labels.id());
                let schedule = io.arrivals.enter(&rate, (label, pc), seed, io.clock.now());
                io.options.follow(schedule);
            }
        }
        Instr::WithLeave => {
            let schedule = io.options.active().schedule;
            io.options.leave();
            if schedule > io.options.active().schedule {
                io.leave_schedule(schedule);
            }
            options_changed(env, io)?;
        }
        Instr::CallProc { proc, args } => {
            if let Some(pause) = check(comm) {
                return Ok(Err(flow(pause)));
            }
            return call_proc(plan, proc, args, pc, position, env).map(Ok);
        }
        Instr::Return => return Ok(Ok(return_from(plan, position, env))),
        // The evaluator and the execute loop have taken them.
        Instr::Move { .. }
        | Instr::Unary { .. }
        | Instr::Binary { .. }
        | Instr::Test { .. }
        | Instr::List { .. }
        | Instr::Index { .. }
        | Instr::SetItem { .. }
        | Instr::Push { .. }
        | Instr::Internal { .. }
        | Instr::Loop { .. }
        | Instr::Next { .. }
        | Instr::Jump { .. }
        | Instr::JumpIf { .. }
        | Instr::Op { .. }
        | Instr::Halt => {}
        Instr::Extent { .. } => {
            return Err(Fault::message("extent stands outside of a pattern"));
        }
    }
    Ok(Ok(pc + 1))
}

/// A pause that follows counts from its own start: the rank waits here, or asks the file system, or a
/// label measures all that is inside of it.
fn ends_pause(instr: &Instr) -> bool {
    match *instr {
        Instr::Function { function, .. } => {
            matches!(function.row().calc, Calc::Met(_) | Calc::Asked(_))
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

/// A rehearsal may leave iterations out: the loop's own state is among the numbers that it moves on.
#[inline(never)]
fn ahead<B: Backend>(
    code: u32,
    plan: &Plan,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) {
    let of = plan.loops[code as usize];
    let at = env.at(of.state);
    if of.timed {
        if !comm.iterated_in_time() {
            env.values[at + 1] = Value::Int(0);
        }
        return;
    }
    if let Value::Int(left) = env.values[at + 1] {
        comm.iterated(
            at as u32,
            left as u64,
            &mut Counted { values: &mut env.values, handles: &mut io.handles },
        );
    }
}

/// What a rank counts with: integers of variables, and positions in open files.
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

/// Other options are in force: passes on those that concern more than the next operation.
fn options_changed<B: Backend>(env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    io.open_queue()?;
    env.begin_in(io.options.active().directory, &mut io.paths);
    io.backend.set_options(&io.options.active().in_force());
    Ok(())
}

fn barrier(
    plan: &Plan,
    group: Option<u32>,
    pc: Pc,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
) -> Result<Result<Pc, Flow>, Fault> {
    let Some(group) = group else { return Ok(wait_for(env, comm, pc)) };
    let name = &plan.groups[group as usize].name;
    let members =
        env.scope.whole_group(plan, group).filter(|members| members.ranks.contains(env.scope.rank));
    let Some(members) = members else {
        return Err(Fault::message(format!(
            "barrier(\"{name}\") by rank {}, which is not a member of the group",
            env.scope.rank
        )));
    };
    Ok(match comm.barrier(&members, pc, None).into() {
        Flow::Next => Ok(pc + 1),
        flow => Err(flow),
    })
}

/// The members of the active set that have the same value, which the text tells: nobody is asked.
fn split_enter(pc: Pc, split: u32, value: Operand, env: &mut Env<'_>) -> Result<(), Fault> {
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

/// Barrier of the active group; then the instruction after `pc`.
fn wait_for(env: &mut Env<'_>, comm: &mut dyn Comm, pc: Pc) -> Result<Pc, Flow> {
    match comm.barrier(env.scope.members(), pc, None).into() {
        Flow::Next => Ok(pc + 1),
        flow => Err(flow),
    }
}

/// The barrier of `sync` comes before the interval.
fn label_enter<B: Backend>(
    plan: &Plan,
    label: u32,
    pc: Pc,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Result<Pc, Flow>, Fault> {
    let label = &plan.labels[label as usize];
    if label.sync
        && let Err(flow) = wait_for(env, comm, pc)
    {
        return Ok(Err(flow));
    }
    io.label_text.clear();
    env.render(pc, label.text, &mut io.label_text)?;
    io.label_changes();
    io.labels.enter(&mut io.recorder, &io.label_text, label);
    io.recorder.inside(io.labels.id());
    if env.is_timed(pc) {
        io.label_timed();
    }
    io.labels.start(&mut io.recorder, io.clock.now());
    Ok(Ok(pc + 1))
}

/// The barrier of `sync` comes after the interval.
fn label_leave<B: Backend>(
    pc: Pc,
    position: &mut Position,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Pc, Flow> {
    if !position.label_ended {
        let end_ns = io.clock.now();
        io.label_changes();
        let sync = io.labels.leave(&mut io.recorder, end_ns);
        io.recorder.inside(io.labels.id());
        if !sync {
            return Ok(pc + 1);
        }
    }
    let met = wait_for(env, comm, pc);
    position.label_ended = met == Err(Flow::Pending);
    met
}

/// Arguments become the first slots of a new frame.
fn call_proc(
    plan: &Plan,
    proc: u32,
    args: Args,
    pc: Pc,
    position: &mut Position,
    env: &mut Env<'_>,
) -> Result<Pc, Fault> {
    let proc = &plan.procs[proc as usize];
    if position.calls.len() == CALLS_MAX {
        return Err(Fault::message(format!(
            "proc {} calls itself without end: {CALLS_MAX} calls are open",
            proc.name
        )));
    }
    let base = env.values.len();
    for operand in &plan.args[args.range()] {
        env.ready(pc, *operand, 0)?;
        let value = env.copied(*operand)?;
        env.values.push(value);
    }
    env.values.resize(base + proc.locals as usize, Value::Unset);
    position.calls.push(Call { return_to: pc + 1, outer_base: env.base });
    env.base = base;
    Ok(proc.entry)
}

/// Drops the frame; texts in it are kept for reuse.
fn return_from(plan: &Plan, position: &mut Position, env: &mut Env<'_>) -> Pc {
    let Some(call) = position.calls.pop() else { return plan.code.len() as Pc };
    env.drop_frame();
    env.base = call.outer_base;
    call.return_to
}
