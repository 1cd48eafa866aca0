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
use crate::evaluate::{self, Frame};
use crate::plan::{Instr, Internal, LoopCode, Operand, Pc, Plan, Slot, Source};
use crate::value::{Eval, EvalError, Value};

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
        arguments: Vec::new(),
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
    arguments: Vec<Value>,
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
            Instr::Extent { offset, length } => self.extent(pc, offset, length)?,
            Instr::Return | Instr::Halt => return Ok(None),
            _ => {
                let next = evaluate::step(self, pc, instr)?;
                let refused = || EvalError::Type("a computation", "an operation".into());
                return next.ok_or_else(refused).map(Some);
            }
        }
        Ok(Some(pc + 1))
    }

    fn size(&mut self, site: Pc, operand: Operand) -> Eval<u64> {
        self.ready(site, operand, 0)?;
        self.peek(operand, 0).as_size()
    }

    fn extent(&mut self, site: Pc, offset: Operand, length: Operand) -> Eval<()> {
        let (offset_bytes, length_bytes) = (self.size(site, offset)?, self.size(site, length)?);
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

impl<'p> Frame<'p> for Generation<'p> {
    fn plan(&self) -> &'p Plan {
        self.plan
    }

    fn ready(&mut self, _: Pc, operand: Operand, _: usize) -> Eval<()> {
        match operand.source() {
            Source::Template(_) => {
                let found = "a text with variables in it".into();
                Err(EvalError::Type("a number in a pattern", found))
            }
            _ => Ok(()),
        }
    }

    fn peek(&self, operand: Operand, _: usize) -> &Value {
        let value = match operand.source() {
            Source::Slot(slot) => self.frame.get(index_of(slot)),
            Source::Const(index) => self.plan.consts.get(index as usize),
            Source::Template(_) | Source::Absent => None,
        };
        value.unwrap_or(&Value::Unset)
    }

    fn variable(&mut self, slot: Slot) -> &mut Value {
        &mut self.frame[index_of(slot)]
    }

    fn set(&mut self, slot: Slot, value: Value) {
        if let Some(place) = self.frame.get_mut(index_of(slot)) {
            *place = value;
        }
    }

    fn internal(&mut self, _: Pc, dst: Slot, what: Internal) -> Eval<()> {
        let n = match what {
            Internal::GroupRank => self.member,
            Internal::GroupSize => self.members,
            _ => {
                return Err(EvalError::Type(
                    "$$grank or $$gsize in a pattern",
                    format!("{what:?}"),
                ));
            }
        };
        self.set_int(dst, n.into());
        Ok(())
    }

    fn state(&mut self, code: &LoopCode) -> &mut [Value] {
        let at = index_of(code.state);
        &mut self.frame[at..at + 3]
    }

    fn arguments(&mut self) -> &mut Vec<Value> {
        &mut self.arguments
    }
}

fn index_of(slot: Slot) -> usize {
    (slot.0 & !Slot::LOCAL) as usize
}
