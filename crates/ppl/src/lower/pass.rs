//! The pass over the tree that makes the plan: its state, its order, and the definitions that hold in the
//! whole program.
//!
//! ```text
//! repeat $i 10 write("f-$i", 4k);      0  loop  $i = 0..10      -> 3
//!                                      1  io    write "f-{$i}" 4096
//!                                      2  next                  -> 1
//! ```
//!
//! One pass in the order of the text, after the definitions (parameters, groups, procs, patterns). The
//! code of procs is made last, behind the main program. Errors do not stop the pass: an expression
//! without meaning gets the value [`Ev::BAD`], about which nothing more is reported.

use super::groups::WORLD;
use super::notes::{Collective, Inside, Notes};
use super::params::Params;
use super::procs::OpenProc;
use super::stmt::{Nest, OpenLoop};
use super::values::{Ev, Frame, Interner, Variables};
use crate::ast::{Ast, GroupSize, List, Stmt};
use crate::check;
use crate::check::tree::{asserted_ranks, speaks_of_ranks};
use crate::diag::{Code, Diagnostic, Reports};
use crate::facts::{Facts, Kind, SymbolId};
use crate::source::{Binding, Sources};
use crate::word::suggest;
use model::directory::Directory;
use model::group::{self, GroupDef, Remark, Size};
use model::plan::{Instr, Pattern, Pc, Span};
use model::with::InForce;
use model::{Plan, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;

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

/// Number of ranks. Unless asked, it is the one that the program asserts, and a program that does not
/// speak of ranks is for one.
pub(crate) fn ranks_of(ast: &Ast, sources: &Sources, binding: &Binding) -> u32 {
    let asked = binding.ranks.max(1);
    match binding.ranks_assumed {
        false => asked,
        true if !speaks_of_ranks(ast, sources, &binding.params) => 1,
        true => asserted_ranks(ast).filter(|ranks| *ranks <= RANKS_ASSERTED_MAX).unwrap_or(asked),
    }
}

/// More ranks are not assumed because a program says so: it is rehearsed with all of them.
const RANKS_ASSERTED_MAX: u32 = 4096;

/// Code being made.
pub(crate) struct Lower<'a> {
    pub(crate) ast: &'a Ast,
    pub(crate) facts: &'a Facts,
    pub(crate) binding: &'a Binding,
    /// Absolute paths of the directories in which the program may work.
    pub(crate) roots: Vec<String>,
    pub(crate) sources: &'a Sources,
    pub(crate) plan: Plan,
    pub(crate) interner: Interner,
    pub(crate) reports: Reports,
    /// For passes over the finished code.
    pub(crate) notes: Notes,
    pub(crate) variables: Variables,
    pub(crate) params: Params<'a>,
    pub(crate) hints: FxHashMap<SymbolId, Ev>,
    pub(crate) globals: Frame,
    /// The proc whose body is being lowered.
    pub(crate) proc: Option<OpenProc>,
    pub(crate) open: super::template::Open<'a>,
    /// The hidden variable for what procs give.
    pub(crate) returned: Option<model::plan::Slot>,
    /// Patterns whose bodies are still to be lowered.
    pub(crate) generators: Vec<super::patterns::Waiting>,
    /// Where patterns are used by groups of known size.
    pub(crate) pattern_uses: Vec<super::patterns::Use>,
    /// The body of a pattern is being lowered.
    pub(crate) in_generator: bool,
    /// By split: what it goes by.
    pub(crate) splits: Vec<super::groups::Parted>,
    /// The rank for which the value of a split is being worked out.
    pub(crate) asked: Option<super::groups::Asked>,
    /// The last assignment of each variable.
    pub(crate) assigned: FxHashMap<SymbolId, super::groups::Assigned>,
    pub(crate) around: Around,
    /// Files of lists that were read, by name; `None`: it was reported that there is none.
    pub(crate) lists: FxHashMap<String, Option<Rc<super::data::Lists>>>,
    /// Values in lists of files so far.
    pub(crate) listed: usize,
}

/// The surroundings of the current statement.
#[derive(Default)]
pub(crate) struct Around {
    /// Statements around it, outermost first.
    pub(crate) nests: Vec<Nest>,
    /// The loops among them.
    pub(crate) loops: Vec<OpenLoop>,
    /// Statements that constants switch off.
    dead: u32,
    /// Statements that may not be executed, or not on all ranks.
    pub(crate) unsure: u32,
    /// The innermost condition that differs between ranks.
    pub(crate) differs: Option<Span>,
    /// The innermost `with` that asks for direct=true, and that for blocks that repeat.
    pub(crate) direct: Option<Span>,
    pub(crate) dedup: Option<Span>,
    /// The largest transfer, if it is limited by a known number.
    pub(crate) transfer: Option<u64>,
    /// What stands in the innermost `with`, or in none, so far.
    pub(crate) inside: Inside,
    /// Inside with (comm="self").
    pub(crate) alone: bool,
    /// The options in force that can contradict each other; in procs they are not known.
    pub(crate) in_force: InForce,
    /// World ranks of the active group; `None` in procs, where it is not known.
    pub(crate) active: Option<Range<u32>>,
    /// The innermost group or split, or the running proc, by a number; 0: the world.
    pub(crate) scope: u32,
    /// Numbers given to scopes so far.
    pub(crate) scopes: u32,
}

impl<'a> Lower<'a> {
    pub(crate) fn new(
        ast: &'a Ast,
        facts: &'a Facts,
        sources: &'a Sources,
        binding: &'a Binding,
    ) -> Lower<'a> {
        let ranks = ranks_of(ast, sources, binding);
        Lower {
            ast,
            facts,
            binding,
            roots: binding.roots(),
            sources,
            plan: empty_plan(ast, ranks, binding),
            interner: Interner::default(),
            reports: Reports::default(),
            notes: Notes::default(),
            variables: Variables::new(facts),
            params: Params::new(binding),
            hints: FxHashMap::default(),
            globals: Frame::default(),
            proc: None,
            open: super::template::Open::default(),
            returned: None,
            generators: Vec::new(),
            pattern_uses: Vec::new(),
            in_generator: false,
            splits: Vec::new(),
            asked: None,
            assigned: FxHashMap::default(),
            around: Around {
                in_force: InForce::DEFAULT,
                active: Some(0..ranks),
                ..Around::default()
            },
            lists: FxHashMap::default(),
            listed: 0,
        }
    }

    pub(crate) fn finish(mut self) -> (Plan, Vec<Diagnostic>) {
        self.member_sets();
        self.plan.globals = self.globals.names;
        (self.plan, self.reports.finish())
    }

    /// The slots of the running scope.
    #[inline]
    pub(crate) fn frame(&mut self) -> &mut Frame {
        match &mut self.proc {
            Some(proc) => &mut proc.frame,
            None => &mut self.globals,
        }
    }

    /// Adds an instruction.
    #[inline]
    pub(crate) fn emit(&mut self, instr: Instr, span: Span) -> Pc {
        self.plan.code.push(instr);
        self.plan.spans.push(span);
        self.plan.code.len() as Pc - 1
    }

    /// The number of the next instruction.
    pub(crate) fn here_pc(&self) -> Pc {
        self.plan.code.len() as Pc
    }

    /// Lets jumps lead to the next instruction.
    pub(crate) fn patch_here(&mut self, jumps: impl IntoIterator<Item = Pc>) {
        let target = self.here_pc();
        jumps.into_iter().for_each(|jump| self.patch(jump, target));
    }

    pub(crate) fn patch(&mut self, jump: Pc, target: Pc) {
        match &mut self.plan.code[jump as usize] {
            Instr::Jump { to } | Instr::JumpIf { to, .. } => *to = target,
            Instr::GroupEnter { skip, .. } | Instr::Master { skip } => *skip = target,
            Instr::SplitEnter { end, .. } => *end = target,
            Instr::Claim { exit, .. } | Instr::Limit { exit, .. } => *exit = target,
            _ => {}
        }
    }

    /// No constant around this place switches it off, so that values in it matter.
    pub(crate) fn is_alive(&self) -> bool {
        self.around.dead == 0
    }

    /// Does something that is only executed if constants let it.
    pub(crate) fn switched_off<T>(&mut self, off: bool, then: impl FnOnce(&mut Self) -> T) -> T {
        self.around.dead += u32::from(off);
        let result = then(self);
        self.around.dead -= u32::from(off);
        result
    }

    /// Does something that may not be executed; `differs`: the condition that differs between ranks.
    pub(crate) fn under<T>(
        &mut self,
        is_unsure: bool,
        differs: Option<Span>,
        then: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += u32::from(is_unsure);
        self.around.differs = differs.or(outer.1);
        let result = then(self);
        (self.around.unsure, self.around.differs) = outer;
        result
    }

    /// Something that all members of the active group must do stands here.
    pub(crate) fn collective(&mut self, what: &str, span: Span) {
        let several = self.around.active.as_ref().is_none_or(|ranks| ranks.len() > 1);
        let Some(condition) = self.around.differs.filter(|_| several && self.plan.ranks > 1) else {
            return;
        };
        let what = what.to_string();
        self.notes.collectives.push(Collective { what, span, condition });
    }

    /// Passes over what was noted; the code is finished.
    fn check_notes(&mut self) {
        let (notes, sources) = (std::mem::take(&mut self.notes), self.sources);
        let mut found = check::notes::warn_of_collectives(&notes);
        found.extend(check::notes::warn_of_unused(&notes, self.facts, sources));
        if !self.binding.mpi {
            found.extend(check::tree::warn_of_mpi(self.ast));
        }
        if !self.reports.has_errors() {
            found.extend(check::options::warn_of_no_effect(&self.plan, &notes, sources));
            found.extend(check::access::warn_of_access(self.ast, self.facts, sources));
        }
        found.into_iter().for_each(|diagnostic| self.reports.push(diagnostic));
    }
}

/// Without code, but with place for it.
fn empty_plan(ast: &Ast, ranks: u32, binding: &Binding) -> Plan {
    let granted = binding.directories.iter().map(|(name, path)| Directory::granted(name, path));
    let (seed, directories) = (binding.seed, granted.collect());
    let mut plan = Plan { ranks, seed, directories, ..Plan::default() };
    let statements = ast.stmts.len();
    plan.code.reserve(statements + statements / 4);
    plan.spans.reserve(statements + statements / 4);
    plan.args.reserve(statements * 2);
    plan.consts.reserve(statements);
    plan.templates.reserve(statements);
    plan.pieces.reserve(statements);
    plan.text.reserve(statements * 16);
    plan
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
