//! Tree -> plan, and all checks that need names, types and values on the way.
//!
//! ```text
//! repeat $i 10 write("f-$i", 4k);      0  loop  $i = 0..10      -> 3
//!                                      1  io    write "f-{$i}" 4096
//!                                      2  next                  -> 1
//! ```
//!
//! One pass in the order of the text, after a survey of all names and a pass over
//! the definitions (parameters, groups, procs, patterns), which hold everywhere. The
//! code of procs is made last, behind the main program. Errors do not stop the
//! pass: what has no meaning gets the value [`value::Ev::BAD`], about which
//! nothing more is said. Not here: checks of the finished plan ([`crate::check::directories`]).

mod argument;
mod assign;
mod data;
mod define;
mod expr;
mod function;
mod generator;
mod groups;
mod handles;
mod hints;
mod intern;
mod listed;
pub(crate) mod lists;
mod mix;
mod names;
pub(crate) mod notes;
pub(crate) mod op;
mod open;
mod params;
mod passed;
mod path;
mod patterns;
mod procs;
mod repeat;
pub(crate) mod report;
mod returns;
mod sets;
mod share;
mod slots;
mod split;
mod stmt;
mod template;
mod until;
mod value;
mod with;

use crate::ast::Ast;
use crate::binding::Binding;
use crate::check::{self, ranks::asserted_ranks, ranks::speaks_of_ranks};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, Kind, SymbolId};
use crate::source::{Reader, Sources};
use intern::Interner;
use model::Plan;
use model::directory::Directory;
use model::plan::{Instr, Pc, Span};
use model::with::InForce;
use names::Variables;
use notes::{Collective, Notes};
use params::Params;
use procs::OpenProc;
use report::Reports;
use rustc_hash::FxHashMap;
use slots::Frame;
use std::ops::Range;
use std::rc::Rc;
use stmt::{Nest, OpenLoop};
use value::Ev;

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
fn end_of_program(sources: &Sources) -> Span {
    let end = sources.files().first().map_or(0, |file| file.start + file.text.len() as u32);
    Span { start: end, end }
}

/// Number of ranks. Unless asked, it is the one that the program asserts, and a program that does not
/// speak of ranks is for one.
fn ranks_of(ast: &Ast, sources: &Sources, binding: &Binding) -> u32 {
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
struct Lower<'a> {
    ast: &'a Ast,
    facts: &'a Facts,
    binding: &'a Binding,
    /// Absolute paths of the directories in which the program may work.
    roots: Vec<String>,
    reader: Reader<'a>,
    plan: Plan,
    interner: Interner,
    reports: Reports,
    /// For passes over the finished code.
    notes: Notes,
    variables: Variables,
    params: Params<'a>,
    hints: FxHashMap<SymbolId, Ev>,
    globals: Frame,
    /// The proc whose body is being lowered.
    proc: Option<OpenProc>,
    open: open::Open<'a>,
    /// The hidden variable for what procs give.
    returned: Option<model::plan::Slot>,
    /// Patterns whose bodies are still to be lowered.
    generators: Vec<generator::Waiting>,
    /// Where patterns are used by groups of known size.
    pattern_uses: Vec<generator::Use>,
    /// The body of a pattern is being lowered.
    in_generator: bool,
    /// By split: what it goes by.
    splits: Vec<split::Parted>,
    /// What variables were set to last.
    assigned: FxHashMap<SymbolId, split::Assigned>,
    around: Around,
    string: template::Reading,
    /// Files of lists that were read, by name; `None`: it was reported that there is none.
    lists: FxHashMap<String, Option<Rc<listed::Lists>>>,
    /// Values in lists of files so far.
    listed: usize,
}

/// What stands around the current statement.
struct Around {
    /// What it stands in, outermost first.
    nests: Vec<Nest>,
    /// The loops among them.
    loops: Vec<OpenLoop>,
    /// Statements that constants switch off.
    dead: u32,
    /// Statements that may not be executed, or not on all ranks.
    unsure: u32,
    /// The innermost condition that differs between ranks.
    differs: Option<Span>,
    /// The innermost `with` that asks for direct=true.
    direct: Option<Span>,
    /// Inside with (comm="self").
    alone: bool,
    /// The options in force that can contradict each other; in procs they are not known.
    in_force: InForce,
    /// World ranks of the active group; `None` in procs, where it is not known.
    active: Option<Range<u32>>,
    /// The innermost group or split, or the running proc, by a number; 0: the world.
    scope: u32,
    /// Numbers given to scopes so far.
    scopes: u32,
}

impl<'a> Lower<'a> {
    fn new(
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
            reader: Reader::new(sources),
            plan: empty_plan(ast, ranks, binding),
            interner: Interner::default(),
            reports: Reports::default(),
            notes: Notes::default(),
            variables: Variables::new(facts),
            params: Params::new(binding),
            hints: FxHashMap::default(),
            globals: Frame::default(),
            proc: None,
            open: open::Open::default(),
            returned: None,
            generators: Vec::new(),
            pattern_uses: Vec::new(),
            in_generator: false,
            splits: Vec::new(),
            assigned: FxHashMap::default(),
            around: Around {
                nests: Vec::new(),
                loops: Vec::new(),
                dead: 0,
                unsure: 0,
                differs: None,
                direct: None,
                alone: false,
                in_force: InForce::DEFAULT,
                active: Some(0..ranks),
                scope: 0,
                scopes: 0,
            },
            string: template::Reading::default(),
            lists: FxHashMap::default(),
            listed: 0,
        }
    }

    fn finish(mut self) -> (Plan, Vec<Diagnostic>) {
        self.member_sets();
        self.plan.globals = self.globals.names;
        (self.plan, self.reports.finish())
    }

    /// The slots of the running scope.
    #[inline]
    fn frame(&mut self) -> &mut Frame {
        match &mut self.proc {
            Some(proc) => &mut proc.frame,
            None => &mut self.globals,
        }
    }

    /// Adds an instruction.
    #[inline]
    fn emit(&mut self, instr: Instr, span: Span) -> Pc {
        self.plan.code.push(instr);
        self.plan.spans.push(span);
        self.plan.code.len() as Pc - 1
    }

    /// The number of the next instruction.
    fn here_pc(&self) -> Pc {
        self.plan.code.len() as Pc
    }

    /// Lets a jump lead to the next instruction, whose number it gives.
    fn patch_here(&mut self, jump: Pc) -> Pc {
        let target = self.here_pc();
        self.patch(jump, target);
        target
    }

    fn patch(&mut self, jump: Pc, target: Pc) {
        match &mut self.plan.code[jump as usize] {
            Instr::Jump { to } | Instr::JumpIf { to, .. } => *to = target,
            Instr::GroupEnter { skip, .. } | Instr::Master { skip } => *skip = target,
            Instr::SplitEnter { end, .. } => *end = target,
            Instr::Claim { exit, .. } | Instr::Limit { exit, .. } => *exit = target,
            _ => {}
        }
    }

    /// No constant around this place switches it off, so that values in it matter.
    fn is_alive(&self) -> bool {
        self.around.dead == 0
    }

    /// Does something that is only executed if constants let it.
    fn switched_off<T>(&mut self, off: bool, then: impl FnOnce(&mut Self) -> T) -> T {
        self.around.dead += u32::from(off);
        let start = self.here_pc();
        let result = then(self);
        self.around.dead -= u32::from(off);
        if off {
            self.notes.dead_code.push(start..self.here_pc());
        }
        result
    }

    /// Reports a construct that this version does not execute.
    #[cold]
    fn later(&mut self, span: Span, what: &str, instead: &str) {
        let message = format!("{what} is not executed by this version of Parabench");
        let diagnostic = Diagnostic::new(Code::Later, span, message);
        self.reports.push(diagnostic.help(instead));
    }

    /// Something that all members of the active group must do stands here.
    fn collective(&mut self, what: &str, span: Span) {
        let several = self.around.active.as_ref().is_none_or(|ranks| ranks.len() > 1);
        let Some(condition) = self.around.differs.filter(|_| several && self.plan.ranks > 1) else {
            return;
        };
        let what = what.to_string();
        self.notes.collectives.push(Collective { what, span, condition });
    }

    /// Passes over what was noted; the code is finished.
    fn check_notes(&mut self) {
        let (notes, sources) = (std::mem::take(&mut self.notes), self.reader.sources);
        let mut found = check::collectives::check(&notes);
        found.extend(check::handles::check(&notes, self.facts, sources));
        found.into_iter().for_each(|diagnostic| self.reports.push(diagnostic));
        let is_pattern = |text: &str| self.facts.find(Kind::Pattern, text).is_some();
        let wrong = check::passed::wrong_names(&notes.passed, is_pattern);
        self.notes = notes;
        for (text, span) in wrong {
            self.unknown_pattern(&text, span);
        }
        let mut found = check::unused::check(&self.notes, self.facts, sources);
        if !self.binding.mpi {
            found.extend(check::mpi::check(self.ast));
        }
        if !self.reports.has_errors() {
            found.extend(check::options::check(&self.plan, &self.notes, sources));
            found.extend(check::signals::check(&self.plan));
            found.extend(check::access::check(self.ast, self.facts, sources));
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
    plan.templates.reserve(statements);
    plan.pieces.reserve(statements);
    plan.text.reserve(statements * 16);
    plan
}
