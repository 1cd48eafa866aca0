//! `define pattern`: numbers alone, kinds with arguments by their table ([`crate::kinds`]), bodies of
//! extents; and the names that refer to a pattern.
//!
//! A body becomes a proc that nothing calls; [`model::pattern::generate`] runs it.

use super::state::{Bound, Ev, Lower, OpenProc, Use, Waiting};
use crate::ast::{Expr, ExprId, List, Name, PatternDef, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId};
use crate::kinds::{Arguments, KINDS, KindRow, Parameter, find_kind};
use crate::word::nearest;
use model::function::{Calc, FunctionRow};
use model::internal::InternalRow;
use model::pattern::{
    Extent, Extents, Geometry, MAX_STEPS, Random, Run, Strided, Subarray, generate,
};
use model::plan::{Instr, Pattern, Proc, Span};
use model::types::Types;
use model::{Op, Value};
use rustc_hash::FxHashSet;

/// More patterns than this are refused: every rank works out all of them for each of its groups.
const MAX_PATTERNS: usize = 256;

impl Lower<'_> {
    /// Looks at the name of a pattern, which holds in the whole program.
    pub(crate) fn pattern_definition(&mut self, number: u32) {
        let place = self.ast.expr_span(self.ast.patterns[number as usize].name);
        let Some((name, ordinal)) = self.pattern_name(number) else { return };
        if Value::str(&name).as_int().is_ok() {
            let message =
                format!("expected a name for the pattern that is no number, found \"{name}\"");
            self.reports.push(Diagnostic::new(Code::BadValue, place, message));
            // Nothing can use it, so that this is not said as well.
            self.use_pattern(&name);
        }
        if ordinal as usize == MAX_PATTERNS {
            let message = format!("expected at most {MAX_PATTERNS} patterns, found one more");
            self.reports.push(Diagnostic::new(Code::BadValue, place, message));
        }
    }

    /// The name of a pattern and its place among all, if this is its first definition.
    fn pattern_name(&mut self, number: u32) -> Option<(String, u32)> {
        let name = self.plain_string(self.ast.patterns[number as usize].name)?;
        let symbol = self.facts.symbol(self.facts.find(Kind::Pattern, &name)?);
        (symbol.number == number).then_some((name, symbol.ordinal))
    }

    /// The definition in the text: it sees the constants of this moment.
    pub(crate) fn pattern_defined(&mut self, number: u32, span: Span) {
        let def = self.ast.patterns[number as usize];
        let Some((name, ordinal)) = self.pattern_name(number) else { return };
        if ordinal as usize > MAX_PATTERNS {
            return;
        }
        let place = self.ast.expr_span(def.name);
        let pattern = match (def.kind, def.body) {
            (None, None) => {
                let values: Vec<ExprId> = self.ast.exprs_in(def.values).collect();
                self.pattern(name, &values, place)
            }
            (kind, body) => {
                let level = match def.level {
                    Some(level) => self.constant_in(level, 0, 3, "a level"),
                    None => Some(0),
                };
                let known = match (kind, body) {
                    (Some(kind), _) => self.pattern_of_kind(kind, &def, span),
                    (_, Some(body)) => {
                        Some((self.generator(body, None), Pattern::EXTENTS.to_string()))
                    }
                    (None, None) => None,
                };
                let whole = level.zip(known);
                whole.map(|(level, (geometry, definition))| Pattern {
                    name,
                    geometry,
                    definition,
                    level: level as u8,
                    group: None,
                })
            }
        };
        self.plan.patterns.extend(pattern);
    }

    /// `[type,] iterations, elements, level [, group]`
    fn pattern(&mut self, name: String, values: &[ExprId], place: Span) -> Option<Pattern> {
        let last_is_text =
            values.last().is_some_and(|id| self.ast.expr(*id) == Expr::Str) && values.len() > 3;
        let (numbers, group) = match values.split_last() {
            Some((last, rest)) if last_is_text => (rest, Some(*last)),
            _ => (values, None),
        };
        let (kind, [iterations, elements, level]) = match numbers {
            [a, b, c] => (None, [*a, *b, *c]),
            [kind, a, b, c] => (Some(*kind), [*a, *b, *c]),
            _ => {
                let message = format!(
                    "expected {{name, [type 1 or 2,] iterations, elements, level [, group]}}, \
                     found {} values",
                    values.len() + 1
                );
                self.reports.push(Diagnostic::new(Code::Arguments, place, message));
                return None;
            }
        };
        let group = group.map(|id| self.group_name(id));
        let kind = kind.map_or(Some(1), |id| self.constant_in(id, 1, 2, "the pattern's type"))?;
        let strided = Strided {
            count: self.constant_in(iterations, 0, i64::MAX, "a number of iterations")?,
            block_bytes: self.constant_in(elements, 0, i64::MAX, "a number of elements (bytes)")?,
            header_bytes: 0,
            as_subarray: kind == 2,
        };
        let Strided { block_bytes, count, .. } = strided;
        Some(Pattern {
            name,
            geometry: Geometry::Strided(strided),
            definition: format!("strided(block={block_bytes}, count={count}, header=0)"),
            level: self.constant_in(level, 0, 3, "a level")? as u8,
            group: group.flatten(),
        })
    }

    /// A constant integer of a range.
    fn constant_in(&mut self, id: ExprId, least: i64, most: i64, what: &str) -> Option<u64> {
        let ev = self.integer(id, what);
        if ev.is_bad() {
            return None;
        }
        let span = self.ast.expr_span(id);
        let found = self.constant(ev).and_then(|value| value.as_int().ok());
        match found {
            Some(n) if (least..=most).contains(&n) => Some(n as u64),
            _ => {
                let found =
                    found.map_or("an expression that is not constant".into(), |n| n.to_string());
                let range = match most {
                    i64::MAX => format!("at least {least}"),
                    _ => format!("from {least} to {most}"),
                };
                let message = format!("expected {what} {range}, found {found}");
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                None
            }
        }
    }

    /// The active group uses a pattern here; its existence for that number of members is checked when
    /// all are defined. `written`: by MPI-IO, perhaps through a view.
    pub(crate) fn note_use(&mut self, name: &str, written: bool, span: Span) {
        if let Some(active) = self.around.active.as_ref().filter(|_| self.is_alive())
            && let Ok(members) = u32::try_from(active.len())
            && members > 0
        {
            self.pattern_uses.push(Use { name: name.into(), members, written, span });
        }
    }

    /// A name that has to be a pattern's; `None`: there is none of that name.
    pub(crate) fn use_pattern(&mut self, name: &str) -> Option<()> {
        let symbol = self.facts.find(Kind::Pattern, name)?;
        self.notes.used.insert(symbol);
        Some(())
    }

    /// A value that only a run knows may be the name of each pattern: it is not said that nothing uses them.
    pub(crate) fn may_name_patterns(&mut self, ev: Ev) {
        if self.constant(ev).is_none() && ev.types.may(Types::STR) {
            let names = self.facts.names(Kind::Pattern);
            let symbols = names.filter_map(|name| self.facts.find(Kind::Pattern, name));
            self.notes.used.extend(symbols);
        }
    }

    #[cold]
    pub(crate) fn unknown_pattern(&mut self, name: &str, span: Span) {
        let near = nearest(name, self.facts.names(Kind::Pattern));
        let help = match near {
            Some(near) => {
                // It was meant, so it is not said that nothing uses it.
                self.use_pattern(near);
                format!("the nearest is {near}")
            }
            None => format!("define it: define pattern {{\"{name}\", 10, 1m, 0}};"),
        };
        let message = format!("expected the name of a pattern, found \"{name}\"");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }

    /// The pattern that a kind and its arguments make.
    fn pattern_of_kind(
        &mut self,
        name: Name,
        def: &PatternDef,
        span: Span,
    ) -> Option<(Geometry, String)> {
        let Some(row) = find_kind(self.ast.names.text(name)) else {
            self.unknown_kind(name, span);
            return None;
        };
        let mut given: Vec<(&'static str, Value)> = Vec::new();
        let mut complete = true;
        for id in self.ast.exprs_in(def.values) {
            match self.kind_argument(row, &given, id) {
                Some(argument) => given.push(argument),
                None => complete = false,
            }
        }
        if !complete {
            return None;
        }
        let arguments = match row.complete(&given) {
            Ok(arguments) => arguments,
            Err(Parameter { name, doc, .. }) => {
                let message = format!("the argument `{name}` of {} is missing: {doc}", row.name);
                self.arguments_of_kind(row, span, message, None);
                return None;
            }
        };
        let definition = arguments.definition();
        let geometry = match def.body {
            Some(body) => self.generator(body, Some((def.params, arguments, span))),
            None => self.built_in(row, &arguments),
        };
        Some((geometry, definition))
    }

    /// A kind that the run knows by itself.
    fn built_in(&self, row: &KindRow, arguments: &Arguments) -> Geometry {
        let number = |name| arguments.number(name);
        let header_bytes = number("header");
        match row.name {
            "random" => Geometry::Random(Random {
                min_bytes: number("min"),
                max_bytes: number("max"),
                count: number("count"),
                header_bytes,
                seed: self.plan.seed,
            }),
            "subarray" => Geometry::Subarray(Subarray {
                sizes: arguments.numbers("sizes"),
                grid: arguments.numbers("grid"),
                element_bytes: number("elem"),
                header_bytes,
            }),
            _ => Geometry::Strided(Strided {
                block_bytes: number("block"),
                count: number("count"),
                header_bytes,
                as_subarray: false,
            }),
        }
    }

    /// `name=value`
    fn kind_argument(
        &mut self,
        row: &'static KindRow,
        given: &[(&'static str, Value)],
        id: ExprId,
    ) -> Option<(&'static str, Value)> {
        let span = self.ast.expr_span(id);
        let Expr::Named(name, value) = self.ast.expr(id) else {
            let message = format!("expected name=value, found {}", self.sources.text(span));
            self.arguments_of_kind(row, span, message, None);
            return None;
        };
        let text = self.ast.names.text(name);
        let Some(param) = row.param(text) else {
            let near = nearest(text, row.params.iter().map(|param| param.name));
            let message = format!("{} has no argument `{text}`", row.name);
            self.arguments_of_kind(row, span, message, near);
            return None;
        };
        if given.iter().any(|(known, _)| *known == param.name) {
            let message = format!("the argument `{text}` is there twice");
            self.arguments_of_kind(row, span, message, None);
            return None;
        }
        Some((param.name, self.accepted(row, param, value)?))
    }

    fn accepted(
        &mut self,
        row: &'static KindRow,
        param: &'static Parameter,
        id: ExprId,
    ) -> Option<Value> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let accepted = match self.constant(ev) {
            Some(value) => param.accepts.accept(value),
            None => Err(format!(
                "expected {} made of constants and parameters",
                param.accepts.expected()
            )),
        };
        let span = self.ast.expr_span(id);
        let described = |said: String| {
            let help = format!("{} is: {}; {}", param.name, param.doc, written(row));
            Diagnostic::new(Code::BadValue, span, said).help(help)
        };
        accepted.map_err(|said| self.reports.push(described(said))).ok()
    }

    #[cold]
    fn arguments_of_kind(
        &mut self,
        row: &KindRow,
        span: Span,
        message: String,
        near: Option<&str>,
    ) {
        let help = match near {
            Some(near) => format!("the nearest is {near}; {}", written(row)),
            None => written(row),
        };
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
    }

    #[cold]
    fn unknown_kind(&mut self, name: Name, span: Span) {
        let text = self.ast.names.text(name);
        let names = KINDS.iter().map(|row| row.name);
        let help = match nearest(text, names.clone()).and_then(find_kind) {
            Some(row) => format!("the nearest is {}; {}", row.name, written(row)),
            None => format!("there are {}", names.collect::<Vec<_>>().join(" ")),
        };
        let message = format!("expected a kind of pattern, found `{text}`");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }
}

fn written(row: &KindRow) -> String {
    format!("it is written {}", row.signature())
}

/// Instructions that the checker spends on the generators of a program, all members together.
const CHECK_STEPS: u64 = 2_000_000;

/// Members of a kind at each end of a group that are checked.
const ALIKE: u32 = 64;

/// Extents of a member that are compared with each other.
const MAX_COMPARED: usize = 1 << 16;

impl Lower<'_> {
    /// A pattern with a body; its code is made behind that of the procs.
    fn generator(&mut self, body: StmtId, kind: Option<Bound>) -> Geometry {
        self.generators.push(Waiting { pattern: self.plan.patterns.len(), body, kind });
        Geometry::Generator { proc: u32::MAX }
    }

    /// The code of all generators.
    pub(crate) fn generator_bodies(&mut self) {
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
                // The place of a kind's code is its definition in the program.
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
    pub(crate) fn refused_in_generator(&mut self, id: StmtId) -> bool {
        let what = match self.ast.stmt(id) {
            Stmt::Op { op, .. } if op != Op::Assert => format!("the operation {op}"),
            Stmt::Time(_) => "a label".into(),
            Stmt::Group(..) | Stmt::Split(..) | Stmt::Master { .. } | Stmt::Barrier(_) => {
                "a statement about groups".into()
            }
            Stmt::With(..) => "`with`".into(),
            Stmt::Share(_) => "`share`".into(),
            Stmt::Repeat(number) if self.ast.repeats[number as usize].until.is_some() => {
                "a time limit".into()
            }
            _ => return false,
        };
        self.is_refused_in_pattern(&what, self.ast.stmt_span(id))
    }

    /// The body of a pattern does nothing and calls nobody.
    pub(crate) fn is_refused_in_pattern(&mut self, what: &str, span: Span) -> bool {
        if self.in_generator {
            let message =
                format!("{what} is not allowed in a pattern, which only computes extents");
            self.not_in_generator(span, message);
        }
        self.in_generator
    }

    fn not_in_generator(&mut self, span: Span, message: String) {
        let help = "write as in { repeat $i 100 extent(($i*$$gsize + $$grank)*64k, 64k); }";
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }

    /// Whether an internal variable can be read here; if not, it is reported.
    pub(crate) fn internal_fits(&mut self, row: &InternalRow, span: Span) -> bool {
        let fits = !self.in_generator || row.in_patterns;
        if !fits {
            let message = format!(
                "$${} is not allowed in a pattern, which depends on $$grank and $$gsize alone",
                row.name
            );
            self.not_in_generator(span, message);
        }
        fits
    }

    /// Whether a function can be called here; if not, it is reported.
    pub(crate) fn function_fits(&mut self, row: &FunctionRow, span: Span) -> bool {
        let fits = !self.in_generator || row.is_pure() || matches!(row.calc, Calc::Read);
        if !fits {
            let message = format!(
                "{} is not allowed in a pattern, which is the same whenever it is asked for",
                row.name
            );
            self.not_in_generator(span, message);
        }
        fits
    }

    /// A variable of the program that is no constant cannot be read by a generator.
    #[cold]
    pub(crate) fn global_in_generator(&mut self, symbol: SymbolId, span: Span) {
        let name = self.sources.text(self.facts.symbol(symbol).span);
        let message = format!(
            "{name} cannot be read in a pattern: it is neither a constant nor a parameter nor \
             set in the pattern"
        );
        self.not_in_generator(span, message);
    }

    /// `extent(offset, length [, count [, stride]]);`
    pub(crate) fn extent(&mut self, args: List, span: Span) {
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
            let (ev, place) = (self.expr(id), self.ast.expr_span(id));
            let ev = self.of_type(ev, Types::INT.or(Types::STR), what, place);
            if ev.is_bad() {
                return;
            }
            if let Some(Err(error)) = self.constant(ev).map(Value::as_size) {
                self.no_value(error, place);
                return;
            }
            operands.push(ev.operand);
        }
        let args = self.push_args(operands);
        self.emit(Instr::Extent { args }, span);
    }

    /// Checks that patterns exist for the groups of known size that use them.
    pub(crate) fn check_uses(&mut self) {
        let mut budget = Budget { steps: CHECK_STEPS, went_on: false };
        if self.reports.has_errors() {
            budget = Budget { steps: 0, went_on: true };
        }
        let mut seen: FxHashSet<(String, u32, bool)> = FxHashSet::default();
        for Use { name, members, written, span } in std::mem::take(&mut self.pattern_uses) {
            let found = self.plan.patterns.iter().find(|pattern| pattern.name == name);
            let pattern = found.cloned();
            let is_new = seen.insert((name, members, written));
            let Some(pattern) = pattern.filter(|_| is_new) else { continue };
            let checked = match pattern.geometry {
                Geometry::Generator { proc } => {
                    let compare = written && pattern.level >= 2;
                    self.check_generator(&pattern, proc, members, &mut budget, compare)
                }
                _ => pattern.geometry.check(members).map(|()| None).map_err(|said| (None, said)),
            };
            match checked {
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

    /// Whether a generator gives extents for this number of members; if not, where and why. Longer
    /// computations are left to the run. If it does, and they are compared: the first member whose
    /// extents overlap.
    fn check_generator(
        &self,
        pattern: &Pattern,
        proc: u32,
        members: u32,
        budget: &mut Budget,
        compare: bool,
    ) -> Result<Option<u32>, (Option<Span>, String)> {
        let mut overlapping = None;
        // Members of a kind are alike: those at both ends show what is wrong.
        let (first, last) = match pattern.is_of_program() {
            true => (members, 0),
            false => (members.min(ALIKE), members.saturating_sub(ALIKE)),
        };
        let checked: Vec<u32> = (0..first).chain(last.max(first)..members).collect();
        for (at, member) in checked.iter().copied().enumerate() {
            let share = budget.steps / (checked.len() - at) as u64;
            let give = |steps| generate(&self.plan, proc, member, members, steps);
            let mut given = give(share);
            if given.as_ref().is_err_and(|error| error.unfinished) {
                budget.steps -= share;
                // One that is not done may go on as far as in a run: so one without an end is found.
                if pattern.is_of_program() && !std::mem::replace(&mut budget.went_on, true) {
                    given = give(MAX_STEPS);
                }
            }
            match given {
                Ok(extents) => {
                    budget.steps = budget.steps.saturating_sub(extents.len() as u64);
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
        let message = format!(
            "there is no pattern \"{name}\" for {counted_members}: {said}",
            counted_members = model::words::count(members, "member")
        );
        let mut diagnostic = Diagnostic::new(code, place.unwrap_or(span), message)
            .help(format!("see parabench pattern FILE --name \"{name}\" -n RANKS"));
        if place.is_some() {
            diagnostic = diagnostic.related(span, "it is used here");
        }
        self.reports.push(diagnostic);
    }
}

/// Instructions that the checker gives to generators.
struct Budget {
    /// Those that are left for all of them.
    steps: u64,
    /// One has been given as many as a run gives.
    went_on: bool,
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
    let all = Extents::new(runs.iter().copied());
    let mut extents: Vec<Extent> = all.take(MAX_COMPARED).collect();
    extents.sort_unstable_by_key(|extent| extent.offset_bytes);
    extents.windows(2).any(|pair| pair[0].end_bytes() > pair[1].offset_bytes)
}
