//! The plan: flat, printable code, every name resolved, every constant folded.
//!
//! ```text
//!   0  loop      $i = 0..10000            -> 3
//!   1  io        write "./env/f-{$i}" 1024
//!   2  next      $i                       -> 1
//!   3  halt
//! ```
//!
//! One plan serves all ranks of a run: the number of ranks, the parameters and
//! the groups are bound, the rank itself is read at run time
//! ([`Internal::Rank`]), so that 10,000 simulated ranks share one copy and all
//! ranks can prove that they execute the same code.
//!
//! Not here: how code is made (crate `ppl`) and executed (crate `engine`).
//!
//! As bytes it is what rank 0 of an MPI job sends to the others, and what a run writes beside its
//! records so that a reader finds its sites even if it is killed.
//!
//! ```text
//! parabench plan 0.1.0\n | checksum, 8 bytes | the plan in postcard's format
//! ```
//!
//! Only the version that wrote the bytes reads them: it is no exchange format.

use crate::directory::{self, Directory};
pub use crate::format::Format;
pub use crate::function::Function;
pub use crate::internal::Internal;
use crate::op::Op;
pub use crate::operand::{Args, NO_SLOT, Operand, Slot, Source};
use crate::pattern::builtin::Geometry;
use crate::permutation::fnv1a;
use crate::rank_set::RankSet;
use crate::value::Value;
pub use crate::value::{BinaryOp, UnaryOp};
pub use crate::with::Options;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Index of an instruction; also the *site* of an operation in events and reports.
pub type Pc = u32;
/// Index into [`Plan::groups`].
pub type GroupId = u32;
/// Index into [`Plan::sets`].
pub type SetId = u32;

/// A place in the program text: bytes `start..end` in the joined text of all
/// files ([`Plan::files`] tells which file).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The place of anything that comes from the command line, not from the text.
    pub const COMMAND_LINE: Span = Span { start: u32::MAX, end: u32::MAX };
}

/// One instruction. Sites are instruction numbers; `Plan::spans` has their places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // fields: dst takes the result, to and skip are targets, args operands
pub enum Instr {
    /// `dst = src`
    Move { dst: Slot, src: Operand },
    /// `dst = op a`
    Unary { op: UnaryOp, dst: Slot, a: Operand },
    /// `dst = a op b`; never `||` or `&&`.
    Binary { op: BinaryOp, dst: Slot, a: Operand, b: Operand },
    /// `dst = function(args)`
    Function { function: Function, dst: Slot, args: Args },
    /// `dst = $$what`
    Internal { what: Internal, dst: Slot },
    /// `dst = [args]`
    List { dst: Slot, args: Args },
    /// `list[index][index] = value`: the indices, at most [`MAX_LIST_DEPTH`](crate::limits::MAX_LIST_DEPTH), and the value.
    SetItem { list: Slot, args: Args },
    /// `push(list[index], value)`: like `SetItem`; there may be no index.
    Push { list: Slot, args: Args },
    /// `dst = list[index]`
    Index { dst: Slot, list: Operand, index: Operand },
    /// `dst = condition as boolean` (checks the type).
    Test { dst: Slot, a: Operand },
    /// Go on at `to`.
    Jump { to: Pc },
    /// Go on at `to` if the condition has the value `when`.
    JumpIf { cond: Operand, when: bool, to: Pc },
    /// Start of a `repeat` ([`Plan::loops`]): evaluates its range once, sets the
    /// first value and falls into the body, or goes on at `exit`.
    Loop { code: u32 },
    /// End of a `repeat` body: sets the next value and jumps to the body, or falls through.
    Next { code: u32 },
    /// Start of a `share`: evaluates how many indices there are, and how many are claimed at a time.
    Share { count: Operand, by: Operand },
    /// Sets the next index that this rank claims and falls into the body, or goes on at `exit`.
    Claim { dst: Slot, exit: Pc },
    /// End of a `share`: waits until the other members have nothing left either.
    ShareEnd,
    /// Time limit of a loop: go on at `exit` if the next iteration would begin at `end` (since the start of
    /// the run) or later. Where operations are due at times, it begins when the next one is.
    Limit { end: Slot, exit: Pc },
    /// Start of a label.
    LabelEnter { label: u32 },
    /// End of the innermost label.
    LabelLeave,
    /// Enter a group; go on at `skip` if this rank is not a member.
    GroupEnter { group: GroupId, skip: Pc },
    /// The members of the active set with the same value become the active set.
    SplitEnter { split: u32, value: Operand, end: Pc },
    /// Leave the innermost group or split.
    GroupLeave,
    /// Go on at `skip` unless this rank is member 0 of the active group.
    Master { skip: Pc },
    /// Barrier on the active group, or on a named one.
    Barrier { group: Option<GroupId> },
    /// Options for the I/O up to the matching `WithLeave`.
    WithEnter { options: u32 },
    /// End of the innermost `with`.
    WithLeave,
    /// A command of the operation table. `args` points at as many operands in
    /// [`Plan::args`] as the table has parameters ([`Operand::ABSENT`] where left out);
    /// for [`Op::Print`] the first is a constant with their number.
    Op { op: Op, dst: Slot, args: u32 },
    /// Call a proc.
    CallProc { proc: u32, args: Args },
    /// Extents of a pattern, only in its generator: offset, length, and where they are given the number of
    /// equal extents and the distance from one to the next.
    Extent { args: Args },
    /// Return from a proc.
    Return,
    /// End of the program.
    Halt,
}

/// The particulars of a `repeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopCode {
    /// Three hidden slots: value of the running iteration, iterations left after it (as bits), step.
    pub state: Slot,
    /// The loop variable, or [`NO_SLOT`].
    pub var: Slot,
    /// First value; a plain `repeat n` has the constant 0.
    pub from: Operand,
    /// End, exclusive; a plain `repeat n` has the count here.
    pub to: Operand,
    /// Step, not 0.
    pub step: Operand,
    /// It was written as a count, so that a negative `to` is an error.
    pub counted: bool,
    /// It has a time limit: how many iterations there are shows when it runs.
    pub timed: bool,
    /// First instruction of the body.
    pub body: Pc,
    /// Instruction after the loop.
    pub exit: Pc,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// `start..end` of [`Plan::text`].
    Text {
        /// First byte.
        start: u32,
        /// One past the last byte.
        end: u32,
    },
    /// A value, rendered as `print` does.
    Value(Operand),
    /// A number in a format.
    Formatted {
        /// The number.
        value: Operand,
        /// How it is shown.
        format: Format,
    },
    /// An internal variable.
    Internal(Internal),
}

/// A text with variables in it: a run of [`Plan::pieces`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// First piece.
    pub start: u32,
    /// One past the last piece.
    pub end: u32,
}

/// The time that a label measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelKind {
    /// `time`: wall clock of the body on this rank.
    Wall,
    /// `ctime`: sum of the operations' own times inside.
    Calls,
}

/// A `time` or `ctime` statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its text, rendered on entry.
    pub text: Operand,
    /// The time it measures.
    pub kind: LabelKind,
    /// `time["l", sync]`: barriers before and after, outside the interval.
    pub sync: bool,
    /// One of [`PARTS`], which no statement of the program wrote.
    pub part: bool,
}

/// Labels of the parts of `repeat ... until T level`: what lies before the limit, and the iterations
/// that make members equal.
pub const PARTS: [&str; 2] = ["until", "wear-out"];

/// The label around the parts of a loop, `write` of `write/until`; itself if it is no part.
pub fn around_parts(path: &str) -> &str {
    let mut path = path;
    loop {
        let (outer, last) = path.rsplit_once('/').unwrap_or(("", path));
        if !PARTS.contains(&last) {
            return path;
        }
        path = outer;
    }
}

/// A group of ranks: contiguous by construction (language.md section 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// World ranks of its members.
    pub members: Range<u32>,
}

/// A set of ranks that can become active: the world, the members of groups, or what a split makes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSet {
    /// World ranks.
    pub members: RankSet,
    /// For every group: the set that is active after `GroupEnter` from here; the world where none can be.
    pub enter: Vec<SetId>,
    /// Its classes under splits, by split and case.
    pub splits: Vec<Classes>,
}

impl MemberSet {
    /// The set that a split makes of the members with a value; `None`: no member has it.
    pub fn class(&self, split: u32, case: u32, value: i64) -> Option<SetId> {
        let place = (split, case);
        let at = self.splits.binary_search_by_key(&place, |classes| (classes.split, classes.case));
        let classes = &self.splits[at.ok()?].classes;
        let at = classes.binary_search_by_key(&value, |class| class.0);
        Some(classes[at.ok()?].1)
    }
}

/// The classes into which a split divides a set of ranks, for some values of the loop variables in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Index into [`Plan::splits`].
    pub split: u32,
    /// The values of its loop variables: [`Split::case`].
    pub case: u32,
    /// Values in ascending order, and the ranks that have each.
    pub classes: Vec<(i64, SetId)>,
}

/// A `split` statement: the loop variables that its value goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// They are the same on all ranks.
    pub inputs: Vec<Input>,
}

impl Split {
    /// Number of cases: combinations of values. Saturates.
    pub fn cases(&self) -> u64 {
        self.inputs.iter().fold(1, |cases, input| cases.saturating_mul(input.count.into()))
    }

    /// The number of the case with these values of the inputs; `None`: a loop does not give one of them.
    pub fn case(&self, mut value: impl FnMut(Slot) -> Option<i64>) -> Option<u32> {
        self.inputs.iter().try_fold(0u32, |case, input| {
            let at = input.position(value(input.slot)?)?;
            case.checked_mul(input.count)?.checked_add(at)
        })
    }

    /// The values of the inputs in a case.
    pub fn values(&self, mut case: u64) -> Vec<i64> {
        let mut values: Vec<i64> = Vec::with_capacity(self.inputs.len());
        for input in self.inputs.iter().rev() {
            let count = u64::from(input.count.max(1));
            values.push(input.value((case % count) as u32));
            case /= count;
        }
        values.reverse();
        values
    }
}

/// A loop variable whose values the text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The variable.
    pub slot: Slot,
    /// Its first value.
    pub from: i64,
    /// Step to the next value, not 0.
    pub step: i64,
    /// Number of values.
    pub count: u32,
}

impl Input {
    fn value(&self, at: u32) -> i64 {
        self.from.wrapping_add(self.step.wrapping_mul(at.into()))
    }

    fn position(&self, value: i64) -> Option<u32> {
        let at = value.checked_sub(self.from)?.checked_div(self.step)?;
        let at = u32::try_from(at).ok().filter(|at| *at < self.count)?;
        (self.value(at) == value).then_some(at)
    }
}

/// A procedure of the program: `proc name($a) { ... }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// First instruction.
    pub entry: Pc,
    /// Number of parameters: the first slots of its frame.
    pub params: u32,
    /// Number of slots of its frame, parameters included.
    pub locals: u32,
}

/// A pattern: which bytes the members of a group access, and with which calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Its name; operations have it as a constant.
    pub name: String,
    /// Extents of the members.
    pub geometry: Geometry,
    /// The definition in full: `tiled(nx=2, ...)`, or "extents" of a body in the program.
    pub definition: String,
    /// Level of parallelism, 0 to 3: bit 0 collective, bit 1 all pieces in one call.
    pub level: u8,
    /// The group whose members count; absent: the active group.
    pub group: Option<String>,
}

/// A source file of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Name as given by the caller.
    pub name: String,
    /// Where its text starts in the joined text that spans refer to.
    pub start: u32,
    /// Its text, shared by all who hold the file: a program may have hundreds of megabytes.
    pub text: Arc<String>,
}

/// A file beside the program from which it takes the data that it writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Its name in the program.
    pub name: String,
    /// Content, at least one byte; shared by the ranks of a process.
    pub bytes: Arc<Vec<u8>>,
}

/// Code and everything it refers to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The code; starts at 0, ends with [`Instr::Halt`] before the procs.
    pub code: Vec<Instr>,
    /// The place of every instruction.
    pub spans: Vec<Span>,
    /// Operands of calls.
    pub args: Vec<Operand>,
    /// Constants.
    pub consts: Vec<Value>,
    /// Texts with variables in them, rendered on use.
    pub templates: Vec<Template>,
    /// Pieces of templates.
    pub pieces: Vec<Piece>,
    /// Bytes of literal text.
    pub text: Vec<u8>,
    /// Loops over ranges: variables, limits and where their bodies begin and end.
    pub loops: Vec<LoopCode>,
    /// `time` and `ctime` statements.
    pub labels: Vec<Label>,
    /// `with` statements.
    pub options: Vec<Options>,
    /// Procedures and generators of patterns.
    pub procs: Vec<Proc>,
    /// Names of the slots of each proc's frame ("" for hidden ones), parallel to `procs`.
    pub locals: Vec<Vec<String>>,
    /// Patterns in order of definition.
    pub patterns: Vec<Pattern>,
    /// Names of global slots ("" for hidden ones); their number is that of the globals.
    pub globals: Vec<String>,
    /// Groups in order of definition.
    pub groups: Vec<Group>,
    /// Sets of ranks that can become active; 0 is the world.
    pub sets: Vec<MemberSet>,
    /// Names of counters that all ranks share (`next`). Each has a set of all ranks for its own, the last of `sets`.
    pub counters: Vec<String>,
    /// `split` statements.
    pub splits: Vec<Split>,
    /// Number of ranks the plan was bound to.
    pub ranks: u32,
    /// Parameters and their values as bound.
    pub params: Vec<(String, Value)>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Directories that it uses besides the run directory.
    pub directories: Vec<Directory>,
    /// Files from which data is taken (`with (data="file:NAME")`).
    pub samples: Vec<Sample>,
    /// The program text, then files beside it that hold lists.
    pub files: Vec<SourceFile>,
}

impl Plan {
    /// A path as `NAME:path` if it lies in a further directory.
    pub fn named<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        directory::named(self.directories.iter().map(|one| (&*one.name, &*one.path)), path)
    }

    /// File name, line and column (from 1) of a span's start.
    pub fn locate(&self, span: Span) -> Option<(&str, usize, usize)> {
        let file = self.files.iter().rev().find(|file| file.start <= span.start)?;
        let before = file.text.get(..(span.start - file.start) as usize)?;
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Some((&file.name, line, column))
    }

    /// The text that an operand always is: a constant, or a template without values.
    pub fn literal(&self, operand: Operand) -> Option<&[u8]> {
        match operand.source() {
            Source::Const(index) => match self.consts.get(index as usize)? {
                Value::Str(text) => Some(text),
                _ => None,
            },
            Source::Template(index) => {
                let template = self.templates.get(index as usize)?;
                match self.pieces.get(template.start as usize..template.end as usize)? {
                    [Piece::Text { start, end }] => self.text.get(*start as usize..*end as usize),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// File name, line and column (from 1) of an instruction.
    pub fn locate_site(&self, site: Pc) -> Option<(&str, usize, usize)> {
        self.locate(*self.spans.get(site as usize)?)
    }
}

const _: () = assert!(size_of::<Instr>() <= 16);

impl Plan {
    /// For each instruction: it is in a loop `until` a time limit that is `counted`, also in a proc that is
    /// called there. `counted` is asked with the instruction of the limit. The loops of `level` are none: there
    /// all members come to the same number of iterations.
    pub fn timed(&self, counted: impl Fn(Pc) -> bool) -> Vec<bool> {
        let mut timed = vec![false; self.code.len()];
        for (pc, instr) in (0..).zip(&self.code) {
            if let Instr::Limit { exit, .. } = instr
                && counted(pc)
            {
                self.add_timed(pc, *exit, &mut timed);
            }
        }
        timed
    }

    /// Adds instructions and, as long as there are new ones, the procs that they call.
    fn add_timed(&self, from: Pc, to: Pc, timed: &mut [bool]) {
        let mut parts = vec![(from, to)];
        while let Some((from, to)) = parts.pop() {
            for pc in from as usize..(to as usize).min(timed.len()) {
                let is_new = !std::mem::replace(&mut timed[pc], true);
                if let (true, Instr::CallProc { proc, .. }) = (is_new, self.code[pc]) {
                    parts.extend(self.body_of(proc));
                }
            }
        }
    }

    /// The instructions of a proc: up to the next one.
    fn body_of(&self, proc: u32) -> Option<(Pc, Pc)> {
        let entry = self.procs.get(proc as usize)?.entry;
        let later = self.procs.iter().map(|other| other.entry).filter(|other| *other > entry);
        Some((entry, later.min().unwrap_or(self.code.len() as Pc)))
    }
}

/// The first bytes of every plan.
const MAGIC: &[u8] = b"parabench plan ";
/// The only version that reads what this one writes.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Plan {
    /// The plan as bytes; [`Plan::from_bytes`] gives an equal one back.
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = postcard::to_stdvec(self).expect("all lengths are known, memory grows");
        let checksum = fnv1a(&payload).to_le_bytes();
        [MAGIC, VERSION.as_bytes(), b"\n", &checksum, &payload].concat()
    }

    /// A number that changes when the plan does, wherever the program and the directories `paths` lie: of equal
    /// length, such as fresh names beside each other, they count as the same.
    pub fn fingerprint<'a>(&self, paths: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut plan = self.clone();
        for file in &mut plan.files {
            let start = file.name.rfind('/').map_or(0, |slash| slash + 1);
            file.name.drain(..start);
        }
        let mut bytes = plan.to_bytes();
        // The checksum in the head knows the paths.
        bytes.drain(..bytes.len().min(MAGIC.len() + VERSION.len() + 1 + 8));
        paths.into_iter().for_each(|path| blank(&mut bytes, path));
        fnv1a(&bytes)
    }

    /// The plan that [`Plan::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// A sentence: the bytes are no plan, one of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("expected a plan, found something else")?;
        let rest = rest.strip_prefix(VERSION.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n"));
        let rest =
            rest.ok_or_else(|| format!("the plan was made by another parabench than {VERSION}"))?;
        let (checksum, payload) =
            rest.split_first_chunk().ok_or_else(|| damaged("its head is cut off"))?;
        if u64::from_le_bytes(*checksum) != fnv1a(payload) {
            return Err(damaged("its checksum is wrong"));
        }
        postcard::from_bytes(payload).map_err(|error| damaged(&error.to_string()))
    }
}

fn damaged(why: &str) -> String {
    format!("the plan is damaged: {why}")
}

/// Overwrites a path wherever it stands.
fn blank(bytes: &mut [u8], path: &[u8]) {
    let mut at = 0;
    while !path.is_empty() && at + path.len() <= bytes.len() {
        let here = &mut bytes[at..at + path.len()];
        if here == path {
            here.fill(0);
            at += path.len();
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_LIST_DEPTH;
    use crate::value::Value;
    use proptest::prelude::*;

    #[test]
    fn procs_of_limited_loops_belong_to_them() {
        let limit = Instr::Limit { end: Slot(0), exit: 3 };
        let call = |proc| Instr::CallProc { proc, args: Args::default() };
        let code = vec![
            Instr::LabelLeave,
            limit,
            call(1),
            call(0),
            Instr::Halt,
            Instr::Return,
            call(1),
            Instr::Return,
        ];
        let proc = |entry| Proc { name: String::new(), entry, params: 0, locals: 0 };
        let plan = Plan { code, procs: vec![proc(5), proc(6)], ..Plan::default() };
        let timed = plan.timed(|pc| pc == 1);
        assert_eq!(timed, [false, true, true, false, false, false, true, true]);
        assert!(!plan.timed(|_| false).contains(&true));
    }

    fn plan() -> Plan {
        let text = "print [1, [\"a\"]];".to_string();
        let list = Value::List([Value::Int(1), Value::List([Value::str("a")].into())].into());
        Plan {
            code: vec![Instr::Halt],
            spans: vec![Span { start: 0, end: 3 }],
            consts: vec![list, Value::Float(f64::NAN), Value::Unset],
            files: vec![SourceFile { name: "x.ppl".into(), start: 0, text: text.into() }],
            ..Plan::default()
        }
    }

    #[test]
    fn a_plan_survives() {
        assert_eq!(Plan::from_bytes(&plan().to_bytes()), Ok(plan()));
        assert_eq!(Plan::from_bytes(&Plan::default().to_bytes()), Ok(Plan::default()));
    }

    #[test]
    fn every_damage_is_found() {
        let bytes = plan().to_bytes();
        for at in 0..bytes.len() {
            assert!(Plan::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            assert!(Plan::from_bytes(&changed).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let other = [MAGIC, b"9.8.7\n"].concat();
        let error = Plan::from_bytes(&other).unwrap_err();
        assert_eq!(error, format!("the plan was made by another parabench than {VERSION}"));
        assert_eq!(Plan::from_bytes(b"PAR1").unwrap_err(), "expected a plan, found something else");
    }

    #[test]
    fn lists_are_not_nested_beyond_the_limit() {
        // A list of one list: its number in the enum, then its length.
        let read = |depth| {
            let number = postcard::to_stdvec(&Value::List([].into())).unwrap()[0];
            let mut bytes = [number, 1].repeat(depth);
            bytes.extend(postcard::to_stdvec(&Value::Int(7)).unwrap());
            postcard::from_bytes::<Value>(&bytes).is_ok()
        };
        assert!(read(MAX_LIST_DEPTH));
        assert!(!read(MAX_LIST_DEPTH + 1));
        assert!(!read(1_000_000));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_plan_or_a_sentence(payload: Vec<u8>) {
            let _ = Plan::from_bytes(&payload);
        }
    }
}
