//! Runs the generator of a pattern: plan code that does nothing but compute and give extents.
//!
//! ```text
//! define pattern "mine" level 0 { repeat $i 100 extent(($i*$$gsize + $$grank)*64k, 64k); }
//! ```
//!
//! The checker, the command line and the ranks all ask here, so that they agree. The code sees
//! its own variables, `$$grank` and `$$gsize`; lowering has refused everything else. What a user
//! can do wrong in it (division by zero, a negative position) is an error with a place.

use super::extent::{Run, product, sum};
use crate::evaluate::{self, Frame};
use crate::limits;
use crate::op::Op;
use crate::plan::{Args, Instr, Internal, LoopCode, Operand, Pc, Piece, Plan, Slot, Source};
use crate::value::{Eval, EvalError, Value};

/// Instructions that a generator may execute for a member: less than a second, and four for each
/// of the most extents. A rank does not hear of an interrupt meanwhile.
pub const MAX_STEPS: u64 = 1 << 23;

/// Most runs of a member: 64 MiB of memory.
pub(super) const MAX_RUNS: usize = 1 << 21;

const BEYOND_FILE: &str = "an extent must end before 2^63 bytes";
const BEYOND_SUM: &str = "the extents of a member must be less than 2^63 bytes together";

/// Why a generator gave no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// The instruction.
    pub site: Pc,
    /// The problem in a sentence.
    pub message: String,
    /// It was not wrong, only not done after all of its steps.
    pub unfinished: bool,
    /// It reaches beyond the largest position in a file.
    pub overflow: bool,
    /// Instructions that it was allowed.
    pub steps: u64,
}

/// The extents that a generator gives for a member, in the order of access. Neighbours of one length at
/// one distance are one run, so that a loop of extents takes no more memory than one of them.
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
) -> Result<Vec<Run>, GenerateError> {
    let Some(code) = plan.procs.get(proc as usize) else { return Ok(Vec::new()) };
    let mut run = Generation {
        plan,
        frame: vec![Value::Unset; code.locals as usize],
        arguments: Vec::new(),
        texts: [Value::Unset, Value::Unset],
        member,
        members,
        runs: Vec::new(),
        bytes: 0,
    };
    let mut pc = code.entry;
    for _ in 0..steps {
        match run.step(pc) {
            Ok(Some(next)) => pc = next,
            Ok(None) => return Ok(run.runs),
            Err(error) => {
                let overflow = matches!(
                    error,
                    EvalError::Overflow(_) | EvalError::Range(BEYOND_FILE | BEYOND_SUM, _)
                );
                let message = error.to_string();
                return Err(GenerateError {
                    site: pc,
                    message,
                    unfinished: false,
                    overflow,
                    steps,
                });
            }
        }
    }
    let message =
        format!("the pattern is not finished after {steps} steps: is there an end to it?");
    Err(GenerateError { site: pc, message, unfinished: true, overflow: false, steps })
}

struct Generation<'p> {
    plan: &'p Plan,
    frame: Vec<Value>,
    arguments: Vec<Value>,
    /// Texts with variables that are operands of the current instruction.
    texts: [Value; 2],
    member: u32,
    members: u32,
    runs: Vec<Run>,
    /// Sum of the lengths of all extents so far.
    bytes: u64,
}

impl Generation<'_> {
    /// Executes an instruction; the next one, or `None` at the end.
    fn step(&mut self, pc: Pc) -> Eval<Option<Pc>> {
        let Some(instr) = self.plan.code.get(pc as usize) else { return Ok(None) };
        match *instr {
            Instr::Extent { args } => self.extent(pc, args)?,
            Instr::Op { op: Op::Assert, args, .. } => self.assert(pc, args as usize)?,
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

    fn known_internal(&self, what: Internal) -> Eval<u32> {
        match what {
            Internal::GroupRank => Ok(self.member),
            Internal::GroupSize => Ok(self.members),
            _ => Err(EvalError::Type("$$grank or $$gsize in a pattern", format!("{what:?}"))),
        }
    }

    /// Appends a text with variables in it.
    fn render(&self, template: u32, out: &mut Vec<u8>) -> Eval<()> {
        let plan = self.plan;
        let template = plan.templates[template as usize];
        for piece in &plan.pieces[template.start as usize..template.end as usize] {
            match *piece {
                Piece::Text { start, end } => {
                    out.extend_from_slice(&plan.text[start as usize..end as usize]);
                }
                Piece::Value(value) => match value.source() {
                    Source::Template(inner) => self.render(inner, out)?,
                    _ => self.peek(value, 0).render(out)?,
                },
                Piece::Formatted { value, format } => format.render(self.peek(value, 0), out)?,
                Piece::Internal(what) => {
                    Value::Int(self.known_internal(what)?.into()).render(out)?
                }
            }
        }
        limits::check_text(out.len())
    }

    /// `assert(condition, message)`
    fn assert(&mut self, site: Pc, args: usize) -> Eval<()> {
        let [condition, message] = [self.plan.args[args], self.plan.args[args + 1]];
        self.ready(site, condition, 0)?;
        if self.peek(condition, 0).as_condition()? {
            return Ok(());
        }
        if message == Operand::ABSENT {
            return Err(EvalError::Asserted("assertion failed".into()));
        }
        self.ready(site, message, 0)?;
        Err(EvalError::Asserted(self.peek(message, 0).to_string()))
    }

    /// `extent(offset, length, count, stride)`
    fn extent(&mut self, site: Pc, args: Args) -> Eval<()> {
        let plan = self.plan;
        let mut numbers = [0, 0, 1, 0];
        for (number, operand) in numbers.iter_mut().zip(&plan.args[args.range()]) {
            *number = self.size(site, *operand)?;
        }
        let [offset_bytes, length_bytes, count, stride_bytes] = numbers;
        let stride_bytes = if args.len < 4 { length_bytes } else { stride_bytes };
        let run = Run { offset_bytes, length_bytes, stride_bytes, count };
        let found = || format!("extent({offset_bytes}, {length_bytes})");
        let reach = product(&[count.saturating_sub(1), stride_bytes])
            .and_then(|reach| sum(sum(offset_bytes, reach)?, length_bytes));
        if reach.is_none() {
            return Err(EvalError::Range(BEYOND_FILE, found()));
        }
        // Extents may overlap, so that together they can be more than a file has.
        let bytes = product(&[length_bytes, count]).and_then(|bytes| sum(self.bytes, bytes));
        self.bytes = bytes.ok_or_else(|| EvalError::Range(BEYOND_SUM, found()))?;
        self.append(run)
    }

    fn append(&mut self, run: Run) -> Eval<()> {
        if self.runs.last_mut().is_some_and(|last| join_runs(last, &run)) || run.count == 0 {
            return Ok(());
        }
        if self.runs.len() >= MAX_RUNS {
            let what = "a generator can give 2^21 runs of extents to a member; use extent(offset, \
                        length, count, stride) for several at equal distances";
            return Err(EvalError::Range(what, "more".into()));
        }
        self.runs.push(run);
        Ok(())
    }
}

/// Makes a run longer by the extent that follows it at its distance; false: it does not.
fn join_runs(last: &mut Run, next: &Run) -> bool {
    if next.count != 1 || next.length_bytes != last.length_bytes {
        return false;
    }
    let Some(distance) = next.offset_bytes.checked_sub(last.offset_bytes) else { return false };
    match last.count {
        1 => last.stride_bytes = distance,
        count if product(&[count, last.stride_bytes]) != Some(distance) => return false,
        _ => {}
    }
    last.count += 1;
    true
}

impl<'p> Frame<'p> for Generation<'p> {
    fn plan(&self) -> &'p Plan {
        self.plan
    }

    fn ready(&mut self, _site: Pc, operand: Operand, place: usize) -> Eval<()> {
        if let Source::Template(index) = operand.source() {
            let mut text = Vec::new();
            self.render(index, &mut text)?;
            self.texts[place] = Value::Str(text);
        }
        Ok(())
    }

    fn peek(&self, operand: Operand, place: usize) -> &Value {
        let value = match operand.source() {
            Source::Slot(slot) => self.frame.get(index_of(slot)),
            Source::Const(index) => self.plan.consts.get(index as usize),
            Source::Template(_) => self.texts.get(place),
            Source::Absent => None,
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
        let n = self.known_internal(what)?;
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
