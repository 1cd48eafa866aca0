//! Runs the generator of a pattern: plan code that does nothing but compute and give extents.
//!
//! ```text
//! define pattern "mine" level 0 { repeat $i 100 extent(($i*$$gsize + $$grank)*64k, 64k); }
//! ```
//!
//! The checker, the command line and the ranks all ask here, so that they agree. The code sees
//! its own variables, `$$grank` and `$$gsize`; lowering has refused everything else. What a user
//! can do wrong in it (division by zero, a negative position) is an error with a place.

use super::{Extent, sum};
use crate::function;
use crate::limits;
use crate::permutation::perm;
use crate::plan::{
    Args, BinaryOp, Function, Instr, Internal, LoopCode, Operand, Pc, Plan, Slot, Source,
};
use crate::value::{self, Eval, EvalError, Value};

/// Instructions that a generator may execute for a member: less than a second, and four for each
/// of the most extents. A rank does not hear of an interrupt meanwhile.
pub const MAX_STEPS: u64 = 1 << 23;

/// Most extents of a member that a generator may give: 32 MiB of memory.
const MAX_EXTENTS: usize = 1 << 21;

/// Why a generator gave no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// The instruction.
    pub site: Pc,
    /// What is wrong, as a sentence.
    pub message: String,
    /// It was not wrong, only not done after all of its steps.
    pub unfinished: bool,
    /// Instructions that it was allowed.
    pub steps: u64,
}

/// The extents that a generator gives for a member.
///
/// # Errors
/// Where the code has no value, goes on for more than `steps` instructions ([`MAX_STEPS`] in a
/// run), or gives extents that are none.
pub fn generate(
    plan: &Plan,
    proc: u32,
    member: u32,
    members: u32,
    steps: u64,
) -> Result<Vec<Extent>, GenerateError> {
    let Some(code) = plan.procs.get(proc as usize) else { return Ok(Vec::new()) };
    let mut run = Generation {
        plan,
        frame: vec![Value::Unset; code.locals as usize],
        member,
        members,
        extents: Vec::new(),
        bytes: 0,
    };
    let mut pc = code.entry;
    for _ in 0..steps {
        match run.step(pc) {
            Ok(Some(next)) => pc = next,
            Ok(None) => return Ok(run.extents),
            Err(error) => {
                let message = error.to_string();
                return Err(GenerateError { site: pc, message, unfinished: false, steps });
            }
        }
    }
    let message =
        format!("the pattern is not finished after {steps} steps: is there an end to it?");
    Err(GenerateError { site: pc, message, unfinished: true, steps })
}

struct Generation<'p> {
    plan: &'p Plan,
    frame: Vec<Value>,
    member: u32,
    members: u32,
    extents: Vec<Extent>,
    /// Of all extents so far.
    bytes: u64,
}

impl Generation<'_> {
    /// Executes an instruction; the next one, or `None` at the end.
    fn step(&mut self, pc: Pc) -> Eval<Option<Pc>> {
        let Some(instr) = self.plan.code.get(pc as usize) else { return Ok(None) };
        match *instr {
            Instr::Move { dst, src } => self.set(dst, self.value(src)?.clone()),
            Instr::Unary { op, dst, a } => self.set(dst, value::unary(op, self.value(a)?)?),
            Instr::Binary { op, dst, a, b } => {
                self.set(dst, value::binary(op, self.value(a)?, self.value(b)?)?);
            }
            Instr::Internal { what, dst } => self.set(dst, self.internal(what)?),
            Instr::Test { dst, a } => self.set(dst, Value::Bool(self.value(a)?.as_condition()?)),
            Instr::Function { function, dst, args } => {
                self.set(dst, self.call(function, args)?);
            }
            Instr::List { dst, args } => self.set(dst, self.list(args)?),
            Instr::Index { dst, list, index } => {
                self.set(dst, value::index(self.value(list)?, self.value(index)?)?);
            }
            Instr::Jump { to } => return Ok(Some(to)),
            Instr::JumpIf { cond, when, to } => {
                let taken = self.value(cond)?.as_condition()? == when;
                return Ok(Some(if taken { to } else { pc + 1 }));
            }
            Instr::Loop { code } => return self.first_turn(&self.plan.loops[code as usize]),
            Instr::Next { code } => return self.next_turn(&self.plan.loops[code as usize], pc),
            Instr::Extent { offset, length } => self.extent(offset, length)?,
            Instr::Return | Instr::Halt => return Ok(None),
            _ => return Err(EvalError::Type("a computation", "an operation".into())),
        }
        Ok(Some(pc + 1))
    }

    fn value(&self, operand: Operand) -> Eval<&Value> {
        let value = match operand.source() {
            Source::Slot(slot) => self.frame.get(index_of(slot)),
            Source::Const(index) => self.plan.consts.get(index as usize),
            Source::Template(_) => {
                let found = "a text with variables in it".into();
                return Err(EvalError::Type("a number in a pattern", found));
            }
            Source::Absent => None,
        };
        match value {
            None | Some(Value::Unset) => Err(EvalError::Unset),
            Some(value) => Ok(value),
        }
    }

    fn set(&mut self, slot: Slot, value: Value) {
        if let Some(place) = self.frame.get_mut(index_of(slot)) {
            *place = value;
        }
    }

    fn internal(&self, what: Internal) -> Eval<Value> {
        match what {
            Internal::GroupRank => Ok(Value::Int(self.member.into())),
            Internal::GroupSize => Ok(Value::Int(self.members.into())),
            _ => Err(EvalError::Type("$$grank or $$gsize in a pattern", format!("{what:?}"))),
        }
    }

    fn list(&self, args: Args) -> Eval<Value> {
        let items = self.plan.args[args.range()].iter();
        let items: Eval<Vec<Value>> = items.map(|item| self.value(*item).cloned()).collect();
        limits::list(items?)
    }

    fn call(&self, function: Function, args: Args) -> Eval<Value> {
        let Value::List(values) = self.list(args)? else { return Err(EvalError::Unset) };
        match function {
            Function::Min => function::extreme(&values, BinaryOp::Lt),
            Function::Max => function::extreme(&values, BinaryOp::Gt),
            Function::Abs => function::absolute(&values[0]),
            Function::Len => function::length(&values[0]),
            Function::Perm => {
                perm(values[0].as_int()?, values[1].as_int()?, self.plan.seed).map(Value::Int)
            }
            _ => Err(EvalError::Type("min, max, abs, len or perm", format!("{function:?}"))),
        }
    }

    fn first_turn(&mut self, code: &LoopCode) -> Eval<Option<Pc>> {
        let (from, to) = (self.value(code.from)?.as_int()?, self.value(code.to)?.as_int()?);
        let step = self.value(code.step)?.as_int()?;
        if code.counted && to < 0 {
            return Err(EvalError::Range("a repeat count must not be negative", to.to_string()));
        }
        if step == 0 {
            return Err(EvalError::Range("the step of a repeat must not be 0", step.to_string()));
        }
        for (at, n) in [(1, to), (2, step)] {
            self.set(Slot(code.state.0 + at), Value::Int(n));
        }
        Ok(Some(self.turn(code, from, to, step)))
    }

    fn next_turn(&mut self, code: &LoopCode, pc: Pc) -> Eval<Option<Pc>> {
        let state = |at| Operand::slot(Slot(code.state.0 + at));
        let [at, to, step] = [0, 1, 2].map(|at| self.value(state(at)).and_then(Value::as_int));
        let next = self.turn(code, at?, to?, step?);
        Ok(Some(if next == code.exit { pc + 1 } else { next }))
    }

    /// Begins the turn of a value, or goes on after the loop.
    fn turn(&mut self, code: &LoopCode, at: i64, to: i64, step: i64) -> Pc {
        let inside = if step > 0 { at < to } else { at > to };
        if !inside {
            return code.exit;
        }
        // Beyond the numbers there is no further turn: the end is reached before.
        self.set(code.state, Value::Int(at.checked_add(step).unwrap_or(to)));
        if code.var != crate::plan::NO_SLOT {
            self.set(code.var, Value::Int(at));
        }
        code.body
    }

    fn extent(&mut self, offset: Operand, length: Operand) -> Eval<()> {
        let offset_bytes = self.value(offset)?.as_size()?;
        let length_bytes = self.value(length)?.as_size()?;
        let found = || format!("extent({offset_bytes}, {length_bytes})");
        if sum(offset_bytes, length_bytes).is_none() {
            return Err(EvalError::Range("an extent must end before 2^63 bytes", found()));
        }
        // Extents may overlap, so that together they can be more than a file has.
        self.bytes = sum(self.bytes, length_bytes).ok_or_else(|| {
            let what = "the extents of a member must be less than 2^63 bytes together";
            EvalError::Range(what, found())
        })?;
        if self.extents.len() >= MAX_EXTENTS {
            let what = "a generator can give 2^21 extents to a member; use a kind such as strided";
            return Err(EvalError::Range(what, "more".into()));
        }
        self.extents.push(Extent { offset_bytes, length_bytes });
        Ok(())
    }
}

fn index_of(slot: Slot) -> usize {
    (slot.0 & !Slot::LOCAL) as usize
}
