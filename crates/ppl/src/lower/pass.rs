//! The pass over the tree that makes the plan: its order, and the definitions that hold in the whole program.
//!
//! ```text
//! repeat $i 10 write("f-$i", 4k);      0  loop  $i = 0..10      -> 3
//!                                      1  io    write "f-{$i}" 4096
//!                                      2  next                  -> 1
//! ```
//!
//! One pass in the order of the text, after the definitions (parameters, groups, procs, patterns). The
//! code of procs is made last, behind the main program. Errors do not stop the pass: an expression
//! without meaning gets the value [`super::state::Ev::BAD`], about which nothing more is reported.

use super::groups::WORLD;
use super::state::Lower;
use crate::ast::{Ast, GroupSize, List, Stmt};
use crate::check;
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, Kind};
use crate::source::{Binding, Sources};
use crate::word::suggest;
use model::group::{self, GroupDef, Remark, Size};
use model::plan::{Instr, Pattern, Span};
use model::{Plan, Value};

/// Makes the plan. It is only good for something if there are no errors.
pub(crate) fn lower(
    ast: &Ast,
    facts: &Facts,
    sources: &Sources,
    binding: &Binding,
) -> (Plan, Vec<Diagnostic>) {
    let mut lower = Lower::new(ast, facts, sources, binding);
    lower.definitions();
    lower.statements(ast.top);
    lower.emit(Instr::Halt, end_of_program(sources));
    lower.proc_bodies();
    lower.generator_bodies();
    lower.check_uses();
    lower.check_notes();
    lower.finish()
}

/// The end of the root file.
pub(crate) fn end_of_program(sources: &Sources) -> Span {
    let end = sources.files().first().map_or(0, |file| file.start + file.text.len() as u32);
    Span { start: end, end }
}

impl Lower<'_> {
    pub(crate) fn finish(mut self) -> (Plan, Vec<Diagnostic>) {
        self.member_sets();
        self.plan.globals = self.globals.names;
        (self.plan, self.reports.finish())
    }

    /// Passes over what was noted; the code is finished.
    fn check_notes(&mut self) {
        let (notes, sources) = (std::mem::take(&mut self.notes), self.sources);
        let mut found = check::notes::warn_of_collectives(&notes);
        found.extend(check::notes::warn_of_unused(&notes, self.facts, sources));
        if !self.binding.mpi {
            found.extend(check::notes::warn_of_mpi(&notes));
        }
        if !self.reports.has_errors() {
            found.extend(check::options::warn_of_no_effect(&self.plan, &notes, sources));
            found.extend(check::access::warn_of_access(self.ast, self.facts, sources));
            found.extend(check::closed::find_uses_after_close(self.ast, self.facts, sources));
        }
        found.into_iter().for_each(|diagnostic| self.reports.push(diagnostic));
    }
}

/// More groups than this are refused: all their intersections are worked out.
const MAX_GROUPS: usize = 256;

/// A group of the program and its place.
struct Defined {
    def: GroupDef,
    span: Span,
}

impl Lower<'_> {
    /// Takes in the definitions of the program and its included files.
    pub(crate) fn definitions(&mut self) {
        let mut groups = Vec::new();
        self.collect(self.ast.top, &mut groups);
        self.unknown_params();
        self.resolve_groups(groups);
        self.hide_params();
    }

    fn collect(&mut self, list: List, groups: &mut Vec<Defined>) {
        for id in self.ast.stmts_in(list) {
            match self.ast.stmt(id) {
                Stmt::Include(_, inner) => self.collect(inner, groups),
                Stmt::Param(number) => self.param_definition(number),
                Stmt::Groups(list) => self.group_definitions(list, groups),
                Stmt::Pattern(number) => self.pattern_definition(number),
                Stmt::Hints(name, value) => self.hints_definition(name, value),
                _ => {}
            }
        }
    }

    fn group_definitions(&mut self, list: List, groups: &mut Vec<Defined>) {
        for at in list.start..list.start + list.len {
            let def = self.ast.groups[at as usize];
            // One too many is enough to refuse them.
            if groups.len() > MAX_GROUPS {
                return;
            }
            let Some(name) = self.group_name(def.name) else { continue };
            let span = self.ast.expr_span(def.name);
            let symbol = self.facts.find(Kind::Group, &name);
            if symbol.is_some_and(|symbol| self.facts.symbol(symbol).span != span) {
                continue;
            }
            let size = def.size.and_then(|size| self.group_size(size));
            let (tag, subtag) = (def.tag, def.subtag);
            groups.push(Defined { def: GroupDef { name, tag, subtag, size }, span });
        }
    }

    fn group_size(&mut self, size: GroupSize) -> Option<Size> {
        let (GroupSize::Ranks(id) | GroupSize::Percent(id)) = size;
        let percent = matches!(size, GroupSize::Percent(_));
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let span = self.ast.expr_span(id);
        let found = match self.constant(ev) {
            None => {
                let message = "expected a size made of constants and parameters";
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                return None;
            }
            Some(value) if percent => value.as_float().map(Size::Percent),
            Some(value) => value.as_size().map(Size::Ranks),
        };
        match found {
            Ok(Size::Percent(percent)) if !(0.0..=100.0).contains(&percent) => {
                let message = format!("expected a share from 0% to 100%, found {percent}%");
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                None
            }
            Ok(size) => Some(size),
            Err(error) => {
                self.no_value(error, span);
                None
            }
        }
    }

    fn resolve_groups(&mut self, mut groups: Vec<Defined>) {
        if let Some(too_many) = groups.get(MAX_GROUPS) {
            let message = format!("expected at most {MAX_GROUPS} groups, found one more");
            let help = "ranks that do the same share a group; $$grank tells them apart";
            self.reports.push(Diagnostic::new(Code::BadValue, too_many.span, message).help(help));
            groups.truncate(MAX_GROUPS);
        }
        self.sizes_given(&mut groups);
        let defs: Vec<GroupDef> = groups.iter().map(|group| group.def.clone()).collect();
        let (resolved, remarks) = group::resolve(&defs, self.plan.ranks);
        for remark in remarks {
            self.group_remark(remark, &groups[remark.group()]);
        }
        self.plan.groups = resolved;
        let of_pattern = |pattern: &Pattern| pattern.group.as_deref() == Some(WORLD);
        if self.plan.patterns.iter().any(of_pattern)
            && self.facts.find(Kind::Group, WORLD).is_none()
        {
            self.world(WORLD);
        }
    }

    /// Sizes of the command line win over sizes of the program.
    fn sizes_given(&mut self, groups: &mut [Defined]) {
        for (name, size) in &self.binding.groups {
            let name = name.trim();
            let names = || groups.iter().map(|group| group.def.name.as_str());
            let Some(at) = names().position(|known| known == name) else {
                let define = "groups are defined in the program: define groups {...};";
                let help = suggest(name, names()).unwrap_or(define.into());
                let message = format!("--group {name}: the program has no group of this name");
                let diagnostic = Diagnostic::new(Code::UnknownName, Span::COMMAND_LINE, message);
                self.reports.push(diagnostic.help(help));
                continue;
            };
            match size.as_deref().map(|text| (text, parse_size(text))) {
                None => {}
                Some((_, Some(size))) => groups[at].def.size = Some(size),
                Some((text, None)) => {
                    let message = format!(
                        "--group {name}: expected a number of ranks or a percentage, found {text:?}"
                    );
                    let diagnostic = Diagnostic::new(Code::BadValue, Span::COMMAND_LINE, message);
                    self.reports
                        .push(diagnostic.help("for example --group writers:4 or writers:50%"));
                }
            }
        }
    }

    fn group_remark(&mut self, remark: Remark, group: &Defined) {
        let asked_for_none = matches!(group.def.size, Some(Size::Ranks(0)));
        if self.binding.ranks_assumed && !asked_for_none {
            return;
        }
        let ranks = model::words::count(self.plan.ranks, "rank");
        let message = format!("group \"{}\" on {ranks}: {remark}", group.def.name);
        self.reports.push(Diagnostic::new(Code::EmptyGroup, group.span, message));
    }
}

fn parse_size(text: &str) -> Option<Size> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(Size::Percent(percent))
        }
        None => Value::str(text).as_size().ok().map(Size::Ranks),
    }
}
