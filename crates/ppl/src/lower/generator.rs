//! `define pattern "p" level n { ... extent(offset, length); ... }`: the body becomes a proc that
//! nothing calls; [`model::pattern::generate`] runs it.

use super::Lower;
use super::procs::OpenProc;
use crate::ast::{List, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId};
use crate::kinds::Arguments;
use model::function::{Calc, FunctionRow};
use model::internal::InternalRow;
use model::pattern::{Extent, GenerateError, Geometry, MAX_STEPS, Run, generate};
use model::plan::{Instr, Pattern, Proc, Span};
use model::types::Types;
use model::{Op, Value};
use rustc_hash::FxHashSet;

/// Instructions that the checker spends on the generators of a program, all members together.
const CHECK_STEPS: u64 = 2_000_000;

/// Instructions that show whether a kind exists for a member.
const KIND_STEPS: u64 = 4096;

/// Members of a kind at each end of a group that are checked.
const ALIKE: u32 = 64;

/// Extents of a member that are compared with each other.
const MAX_COMPARED: usize = 1 << 16;

/// Parameters of the body of a kind, their values, and the place of the definition.
type Bound = (List, Arguments, Span);

/// A generator whose body is still to be lowered.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Index into [`model::Plan::patterns`].
    pattern: usize,
    body: StmtId,
    kind: Option<Bound>,
}

/// A place where a pattern is used by a group of known size.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) name: String,
    pub(super) members: u32,
    /// MPI-IO writes it.
    pub(super) written: bool,
    pub(super) span: Span,
}

impl Lower<'_> {
    /// A pattern with a body; its code is made behind that of the procs.
    pub(super) fn generator(&mut self, body: StmtId, kind: Option<Bound>) -> Geometry {
        self.generators.push(Waiting { pattern: self.plan.patterns.len(), body, kind });
        Geometry::Generator { proc: u32::MAX }
    }

    /// The code of all generators.
    pub(super) fn generator_bodies(&mut self) {
        self.around.active = None;
        for Waiting { pattern, body, kind } in std::mem::take(&mut self.generators) {
            let owner = self.plan.patterns.get(pattern);
            let owner = owner.and_then(|pattern| self.facts.find(Kind::Pattern, &pattern.name));
            self.proc = Some(OpenProc::new(None, owner));
            self.in_generator = true;
            let entry = self.here_pc();
            if let Some((params, arguments, span)) = &kind {
                self.bind_arguments(*params, arguments, *span);
            }
            self.statement(body);
            let end = self.ast.stmt_span(body).end;
            self.emit(Instr::Return, Span { start: end.saturating_sub(1), end });
            if let Some((_, _, span)) = kind {
                // Code of a kind stands at its definition in the program.
                self.plan.spans[entry as usize..].fill(span);
            }
            self.in_generator = false;
            let Some(open) = self.proc.take() else { continue };
            let locals = open.frame.names.len() as u32;
            let number = self.plan.procs.len() as u32;
            let Some(pattern) = self.plan.patterns.get_mut(pattern) else { continue };
            pattern.geometry = Geometry::Generator { proc: number };
            let name = format!("pattern \"{}\"", pattern.name);
            self.plan.procs.push(Proc { name, entry, params: 0, locals });
            self.plan.locals.push(open.frame.names);
        }
    }

    /// Sets the parameters of a kind's body to its arguments.
    fn bind_arguments(&mut self, params: List, arguments: &Arguments, span: Span) {
        for (id, value) in self.ast.exprs_in(params).zip(arguments.values()) {
            let Some(name) = self.ast.param_name(id) else { continue };
            let dst = self.bind_parameter(name, self.ast.expr_span(id));
            let src = self.known(value.clone()).operand;
            self.emit(Instr::Move { dst, src }, span);
        }
    }

    /// A statement that a generator cannot have; true: it was reported.
    pub(super) fn refused_in_generator(&mut self, id: StmtId) -> bool {
        let what = match self.ast.stmt(id) {
            Stmt::Op { op, .. } if op != Op::Assert => format!("the operation {op}"),
            Stmt::Time(_) => "a label".into(),
            Stmt::Group(..) | Stmt::Split(..) | Stmt::Master(_) | Stmt::Barrier(_) => {
                "a statement about groups".into()
            }
            Stmt::With(..) => "`with`".into(),
            Stmt::Share(_) => "`share`".into(),
            Stmt::Repeat(number) if self.ast.repeats[number as usize].until.is_some() => {
                "a time limit".into()
            }
            _ => return false,
        };
        let message = format!("{what} cannot stand in a pattern, which only computes extents");
        self.not_in_generator(self.ast.stmt_span(id), message);
        true
    }

    fn not_in_generator(&mut self, span: Span, message: String) {
        let help = "write as in { repeat $i 100 extent(($i*$$gsize + $$grank)*64k, 64k); }";
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }

    /// Whether an internal variable can be read here; if not, it is reported.
    pub(super) fn internal_fits(&mut self, row: &InternalRow, span: Span) -> bool {
        let fits = !self.in_generator || row.in_patterns;
        if !fits {
            let message = format!(
                "$${} cannot stand in a pattern, which depends on $$grank and $$gsize alone",
                row.name
            );
            self.not_in_generator(span, message);
        }
        fits
    }

    /// Whether a function can be called here; if not, it is reported.
    pub(super) fn function_fits(&mut self, row: &FunctionRow, span: Span) -> bool {
        let fits = !self.in_generator || row.is_pure() || matches!(row.calc, Calc::Read);
        if !fits {
            let message = format!(
                "{} cannot stand in a pattern, which is the same whenever it is asked for",
                row.name
            );
            self.not_in_generator(span, message);
        }
        fits
    }

    /// A variable of the program that is no constant cannot be read by a generator.
    #[cold]
    pub(super) fn global_in_generator(&mut self, symbol: SymbolId, span: Span) {
        let name = self.reader.text(self.facts.symbol(symbol).span);
        let message = format!(
            "{name} cannot be read in a pattern: it is neither a constant nor a parameter nor \
             set in the pattern"
        );
        self.not_in_generator(span, message);
    }

    /// `extent(offset, length [, count [, stride]]);`
    pub(super) fn extent(&mut self, args: List, span: Span) {
        const WHAT: [&str; 4] = [
            "a position in bytes",
            "a number of bytes",
            "a number of pieces",
            "a distance in bytes",
        ];
        let ids: Vec<_> = self.ast.exprs_in(args).collect();
        if !(2..=WHAT.len()).contains(&ids.len()) {
            let message = format!(
                "expected extent(offset, length [, count [, stride]]), found {} arguments",
                args.len
            );
            self.reports.push(Diagnostic::new(Code::Arguments, span, message));
            return;
        }
        let mut operands = Vec::with_capacity(ids.len());
        for (id, what) in ids.into_iter().zip(WHAT) {
            let ev = self.expr(id);
            if ev.is_bad() {
                return;
            }
            let place = self.ast.expr_span(id);
            if !ev.types.may(Types::INT.or(Types::STR)) {
                let message = format!("expected {what}, found {}", ev.types.describe());
                self.reports.push(Diagnostic::new(Code::WrongType, place, message));
                return;
            }
            if let Some(Err(error)) = self.constant(ev).map(Value::as_size) {
                self.no_value(error, place);
                return;
            }
            operands.push(ev.operand);
        }
        let args = self.push_args(operands.into_iter());
        self.emit(Instr::Extent { args }, span);
    }

    /// Where patterns are used by groups of known size: do they exist for so many members?
    pub(super) fn check_uses(&mut self) {
        let runs = !self.reports.has_errors();
        let mut effort = Effort { steps: CHECK_STEPS, tried: false, runs };
        let mut seen: FxHashSet<(String, u32, bool)> = FxHashSet::default();
        for Use { name, members, written, span } in std::mem::take(&mut self.pattern_uses) {
            let found = self.plan.patterns.iter().find(|pattern| pattern.name == name);
            let pattern = found.cloned();
            let is_new = seen.insert((name, members, written));
            let Some(pattern) = pattern.filter(|_| is_new) else { continue };
            let compare = written && pattern.level >= 2;
            match self.exists(&pattern, members, &mut effort, compare) {
                Err((place, said)) => {
                    self.no_such_pattern(&pattern.name, members, span, place, said);
                }
                Ok(Some(member)) => {
                    self.view_overlaps(&pattern, (member, members), span);
                }
                Ok(None) => {}
            }
        }
    }

    /// Whether a pattern exists for a group of so many; if not, where and why. What takes more
    /// effort to find out is left to the run. If it exists, and they are compared: the first member whose
    /// extents overlap.
    fn exists(
        &self,
        pattern: &Pattern,
        members: u32,
        effort: &mut Effort,
        compare: bool,
    ) -> Result<Option<u32>, (Option<Span>, String)> {
        let Geometry::Generator { proc } = pattern.geometry else {
            let shape = pattern.geometry.shape();
            let checked = shape.map_or(Ok(()), |shape| shape.check(members));
            return checked.map(|()| None).map_err(|said| (None, said));
        };
        if !effort.runs {
            return Ok(None);
        }
        let mut overlapping = None;
        // Members of a kind are alike: those at both ends show what is wrong.
        let (first, last) = match pattern.is_of_program() {
            true => (members, 0),
            false => (members.min(ALIKE), members.saturating_sub(ALIKE)),
        };
        let checked: Vec<u32> = (0..first).chain(last.max(first)..members).collect();
        for (at, member) in checked.iter().copied().enumerate() {
            let extents = |steps| generate(&self.plan, proc, member, members, steps);
            // A kind has an end.
            match effort.spend(checked.len() - at, pattern.is_of_program(), extents) {
                Ok(extents) => {
                    if compare && overlapping.is_none() && overlap(&extents) {
                        overlapping = Some(member);
                    }
                }
                Err(error) if error.unfinished && error.steps < MAX_STEPS => {}
                Err(error) => {
                    let said = pattern.describe_failure(&error, members);
                    if !pattern.is_of_program() {
                        return Err((None, said));
                    }
                    let place = self.plan.spans.get(error.site as usize).copied();
                    return Err((place, format!("for member {member} of {members}: {said}")));
                }
            }
        }
        Ok(overlapping)
    }

    #[cold]
    fn view_overlaps(&mut self, pattern: &Pattern, (member, members): (u32, u32), span: Span) {
        let (name, level) = (&pattern.name, pattern.level);
        let message = format!(
            "the pattern \"{name}\" of level {level} accesses bytes twice (member {member} of {members}): \
             MPI forbids to write through such a view"
        );
        let help = "use level 0 or 1, or extents that do not overlap";
        self.reports.push(Diagnostic::new(Code::ViewOverlaps, span, message).help(help));
    }

    #[cold]
    fn no_such_pattern(
        &mut self,
        name: &str,
        members: u32,
        span: Span,
        place: Option<Span>,
        said: String,
    ) {
        let code = match self.binding.ranks_assumed {
            true => Code::PatternMembersAssumed,
            false => Code::PatternMembers,
        };
        let message = format!("there is no pattern \"{name}\" for {members} members: {said}");
        let mut diagnostic = Diagnostic::new(code, place.unwrap_or(span), message)
            .help(format!("see parabench pattern FILE --name \"{name}\" -n RANKS"));
        if place.is_some() {
            diagnostic = diagnostic.related(span, "it is used here");
        }
        self.reports.push(diagnostic);
    }
}

/// What the checker spends on generators.
struct Effort {
    /// Instructions that are left for all of them.
    steps: u64,
    /// One that was not done was given as many instructions as in a run.
    tried: bool,
    /// The code has no errors, so that it can be run.
    runs: bool,
}

impl Effort {
    /// Runs a generator with this member's share of what is left for `members`. The first that is
    /// not done with it may go on as far as in a run, so that one without an end is found out.
    fn spend(
        &mut self,
        members: usize,
        may_be_endless: bool,
        generate: impl Fn(u64) -> Result<Vec<Run>, GenerateError>,
    ) -> Result<Vec<Run>, GenerateError> {
        let share = self.steps / members.max(1) as u64;
        let share = if may_be_endless { share } else { share.min(KIND_STEPS) };
        match generate(share) {
            Ok(runs) => {
                self.steps = self.steps.saturating_sub(runs.len() as u64);
                Ok(runs)
            }
            Err(error) if error.unfinished => {
                self.steps = self.steps.saturating_sub(share);
                if !may_be_endless || std::mem::replace(&mut self.tried, true) {
                    Err(error)
                } else {
                    generate(MAX_STEPS)
                }
            }
            Err(error) => Err(error),
        }
    }
}

/// Some byte is in two extents, as far as they are compared.
fn overlap(runs: &[Run]) -> bool {
    let is_used = |run: &&Run| run.count > 0 && run.length_bytes > 0;
    let runs: Vec<Run> = runs.iter().filter(is_used).copied().collect();
    if runs.iter().any(|run| run.count > 1 && run.stride_bytes < run.length_bytes) {
        return true;
    }
    if runs.windows(2).all(|two| two[0].end_bytes() <= two[1].offset_bytes) {
        return false;
    }
    let each = |run: &Run| {
        (0..run.count).filter_map({
            let run = *run;
            move |i| run.extent(i)
        })
    };
    let mut extents: Vec<Extent> = runs.iter().flat_map(each).take(MAX_COMPARED).collect();
    extents.sort_unstable_by_key(|extent| extent.offset_bytes);
    extents.windows(2).any(|pair| pair[0].end_bytes() > pair[1].offset_bytes)
}
