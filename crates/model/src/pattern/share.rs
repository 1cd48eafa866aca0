//! The extents of one member: a pattern for a given place in a given group.
//!
//! ```text
//! let share = pattern.share(&plan, member, members, steps)?;      once, outside of timed windows
//! for extent in share.extents() { ... }                           the same extents every time
//! ```
//!
//! The generator of a pattern is plan code that does nothing but compute and give extents:
//!
//! ```text
//! define pattern "mine" level 0 { repeat $i 100 extent(($i*$$gsize + $$grank)*64k, 64k); }
//! ```
//!
//! The checker, the command line and the ranks all call [`generate`], so that they agree. The code sees
//! its own variables, `$$grank` and `$$gsize`; lowering has refused everything else. What a user
//! can do wrong in it (division by zero, a negative position) is an error with a place.

use super::builtin::Geometry;
use super::extent::{Extent, Extents, MAX_RUNS, Run, Runs, View, describe_overflow, product, sum};
use crate::evaluate::{self, Frame};
use crate::limits;
use crate::op::Op;
use crate::plan::{
    Args, Instr, Internal, LoopCode, Operand, Pattern, Pc, Piece, Plan, Slot, Source,
};
use crate::value::{Eval, EvalError, Value};

/// The extents of one member.
#[derive(Debug)]
pub struct Share<'p> {
    geometry: &'p Geometry,
    runs: Vec<Run>,
    /// Number of extents before each run.
    before: Vec<u64>,
    member: u32,
    members: u32,
}

impl Pattern {
    /// The name of its kind, such as "tiled"; "extents" of a body in the program.
    pub fn kind(&self) -> &str {
        self.definition.split('(').next().unwrap_or_default()
    }

    /// Its extents are computed by a body in the program, not by a kind.
    pub fn is_of_program(&self) -> bool {
        self.definition == Pattern::EXTENTS
    }

    /// The definition of a pattern whose extents a body in the program computes.
    pub const EXTENTS: &'static str = "extents";

    /// Describes for the user why a generator failed for this number of members.
    pub fn describe_failure(&self, error: &GenerateError, members: u32) -> String {
        match (self.is_of_program(), error.overflow, error.unfinished) {
            (false, true, _) => describe_overflow(members),
            (false, _, true) => format!(
                "expected fewer rows of pieces: a member needs more than {} steps to compute its own",
                error.steps
            ),
            _ => error.message.clone(),
        }
    }

    /// The extents of member `member` of `members`. A generator is run here, with at most
    /// `steps` instructions.
    ///
    /// # Errors
    /// A sentence for the user if the pattern does not exist for this number of members.
    pub fn share<'p>(
        &'p self,
        plan: &'p Plan,
        member: u32,
        members: u32,
        steps: u64,
    ) -> Result<Share<'p>, String> {
        let geometry = &self.geometry;
        geometry.check(members)?;
        let runs = match geometry {
            Geometry::Generator { proc } => {
                let runs = generate(plan, *proc, member, members, steps);
                runs.map_err(|error| self.describe_failure(&error, members))?
            }
            built_in => built_in.runs(member, members),
        };
        let mut extents = 0u64;
        let before = runs.iter().map(|run| {
            let before = extents;
            extents = extents.saturating_add(run.count);
            before
        });
        Ok(Share { geometry, before: before.collect(), runs, member, members })
    }
}

impl Share<'_> {
    /// Its place in the group.
    pub fn member(&self) -> u32 {
        self.member
    }

    /// Size of the group.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// The extents in the order of access, as runs of equal extents.
    pub fn runs(&self) -> Runs<'_> {
        self.runs.iter().copied()
    }

    /// The extents in the order of access.
    pub fn extents(&self) -> Extents<Runs<'_>> {
        Extents::new(self.runs())
    }

    /// The `i`-th extent, counted from 0.
    pub fn extent(&self, i: u64) -> Option<Extent> {
        let at = self.before.partition_point(|before| *before <= i).checked_sub(1)?;
        self.runs[at].extent(i - self.before[at])
    }

    /// Number of extents.
    pub fn count(&self) -> u64 {
        let last = self.before.last().zip(self.runs.last());
        last.map_or(0, |(before, run)| before.saturating_add(run.count))
    }

    /// Bytes of all extents.
    pub fn bytes(&self) -> u64 {
        self.runs().map(|run| run.count * run.length_bytes).sum()
    }

    /// One past the last byte of this member's extents.
    pub fn end_bytes(&self) -> u64 {
        self.runs().map(|run| run.end_bytes()).max().unwrap_or(0)
    }

    /// The extents as a file view.
    pub fn view(&self) -> View {
        let built_in = self.geometry.view(self.member, self.members);
        built_in.unwrap_or_else(|| View::of_runs(&self.runs))
    }
}

/// Instructions that a generator may execute for a member: less than a second, and four for each
/// of the most extents. A rank does not hear of an interrupt meanwhile.
pub const MAX_STEPS: u64 = 1 << 23;

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
