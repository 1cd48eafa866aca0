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
//! nothing more is said. Not here: what needs the finished plan ([`crate::check::proof`]).

mod argument;
mod assign;
mod define;
mod expr;
mod function;
mod generator;
mod groups;
mod handles;
mod hints;
mod intern;
mod kinds;
mod lists;
mod names;
pub(crate) mod notes;
mod op;
mod open;
mod params;
mod passed;
mod path;
mod patterns;
mod procs;
mod repeat;
pub(crate) mod report;
mod returns;
mod slots;
mod stmt;
mod template;
mod value;
mod with;

use crate::ast::{Ast, Name};
use crate::binding::Binding;
use crate::check::{self, ranks::speaks_of_ranks};
use crate::diag::{Code, Diagnostic};
use crate::source::Sources;
use intern::Interner;
use model::plan::{Instr, Pc, Piece, Span};
use model::{Op, Plan};
use names::NameInfo;
use notes::{Collective, Notes};
use procs::{OpenProc, ProcInfo};
use report::Reports;
use rustc_hash::{FxHashMap, FxHashSet};
use slots::Frame;
use std::ops::Range;
use stmt::{Nest, OpenLoop};

/// Makes the plan. It is only good for something if there are no errors.
pub(crate) fn lower(ast: &Ast, sources: &Sources, binding: &Binding) -> (Plan, Vec<Diagnostic>) {
    let mut lower = Lower::new(ast, sources, binding);
    lower.definitions();
    lower.statements(ast.top);
    lower.emit(Instr::Halt, end_of_program(sources));
    lower.proc_bodies();
    lower.generator_bodies();
    lower.check_uses();
    lower.check_notes();
    lower.say_needs_mpi();
    lower.unused_definitions();
    lower.finish()
}

/// The end of the root file.
fn end_of_program(sources: &Sources) -> Span {
    let end = sources.files().first().map_or(0, |file| file.start + file.text.len() as u32);
    Span { start: end, end }
}

/// Number of ranks: a program that does not speak of them is for one, unless asked.
fn ranks_of(ast: &Ast, sources: &Sources, binding: &Binding) -> u32 {
    match binding.ranks_assumed && !speaks_of_ranks(ast, sources, &binding.params) {
        true => 1,
        false => binding.ranks.max(1),
    }
}

/// Code being made.
struct Lower<'a> {
    ast: &'a Ast,
    sources: &'a Sources,
    binding: &'a Binding,
    plan: Plan,
    reports: Reports,
    interner: Interner,
    /// By [`Name`].
    names: Vec<NameInfo>,
    /// Counts what became visible, so that "earlier" can be asked.
    now: u32,
    globals: Frame,
    /// The proc whose body is being lowered.
    proc: Option<OpenProc>,
    procs: FxHashMap<Name, ProcInfo>,
    /// By index into [`Ast::procs`]: when it was defined, see [`Lower::now`].
    proc_times: FxHashMap<u32, u32>,
    /// Public names of the parameters defined so far.
    param_names: FxHashSet<String>,
    /// Parameters of the command line: the last text of each.
    params_given: FxHashMap<&'a str, &'a str>,
    open: open::Open,
    /// The hidden variable for what procs give.
    returned: Option<model::plan::Slot>,
    /// By index into [`Ast::params`]: the constant that is its value.
    param_values: FxHashMap<u32, u32>,
    /// Names of groups and their numbers.
    groups: FxHashMap<String, u32>,
    patterns: FxHashMap<String, patterns::PatternInfo>,
    /// Patterns whose bodies are still to be lowered.
    generators: Vec<generator::Waiting>,
    /// Where patterns are used by groups of known size.
    pattern_uses: Vec<generator::Use>,
    /// For passes over the finished code.
    notes: Notes,
    /// The body of a pattern is being lowered.
    in_generator: bool,
    hints: FxHashMap<String, hints::HintsInfo>,
    /// What the current statement stands in, outermost first.
    nests: Vec<Nest>,
    /// The loops among them.
    loops: Vec<OpenLoop>,
    /// Statements around this one that constants switch off.
    dead: u32,
    /// Statements around this one that may not be executed, or not on all ranks.
    unsure: u32,
    /// The innermost condition around this statement that differs between ranks.
    differs: Option<Span>,
    /// The innermost `with` around this statement that asks for direct=true.
    direct: Option<Span>,
    /// World ranks of the active group; `None` in procs, where it is not known.
    active: Option<Range<u32>>,
    /// A group stands in a group, or may be.
    groups_nest: bool,
    /// The first statement in the text that needs MPI, where that is to be said.
    mpi_first: Option<(Op, Span)>,
    /// Constants that were checked as open flags.
    flags_seen: Vec<u32>,
    /// Pieces of the string being read.
    pieces: Vec<Piece>,
    /// Start of its literal text that is no piece yet.
    text_from: usize,
    /// Names in strings, by a cheap hash.
    recent: [Option<Name>; 64],
    /// Text of the file that was asked for last, and its place.
    file: (&'a str, u32),
    /// For counting lines: a place and its line.
    line: (u32, u32),
}

impl<'a> Lower<'a> {
    fn new(ast: &'a Ast, sources: &'a Sources, binding: &'a Binding) -> Lower<'a> {
        let ranks = ranks_of(ast, sources, binding);
        let mut plan = Plan { ranks, seed: binding.seed, ..Plan::default() };
        let statements = ast.stmts.len();
        plan.code.reserve(statements + statements / 4);
        plan.spans.reserve(statements + statements / 4);
        plan.args.reserve(statements * 2);
        plan.templates.reserve(statements);
        plan.pieces.reserve(statements);
        plan.text.reserve(statements * 16);
        Lower {
            ast,
            sources,
            binding,
            plan,
            reports: Reports::default(),
            interner: Interner::default(),
            names: names::survey(ast),
            now: 0,
            globals: Frame::default(),
            proc: None,
            procs: FxHashMap::default(),
            proc_times: FxHashMap::default(),
            param_names: FxHashSet::default(),
            params_given: binding.params.iter().map(|(name, text)| (&**name, &**text)).collect(),
            open: open::Open::default(),
            returned: None,
            param_values: FxHashMap::default(),
            groups: FxHashMap::default(),
            patterns: FxHashMap::default(),
            generators: Vec::new(),
            pattern_uses: Vec::new(),
            notes: Notes::default(),
            in_generator: false,
            hints: FxHashMap::default(),
            nests: Vec::new(),
            loops: Vec::new(),
            dead: 0,
            unsure: 0,
            differs: None,
            direct: None,
            active: Some(0..ranks),
            groups_nest: false,
            mpi_first: None,
            flags_seen: Vec::new(),
            pieces: Vec::new(),
            text_from: 0,
            recent: [None; 64],
            file: ("", u32::MAX),
            line: (0, 1),
        }
    }

    fn finish(mut self) -> (Plan, Vec<Diagnostic>) {
        self.member_sets();
        self.plan.globals = self.globals.names;
        (self.plan, self.reports.finish())
    }

    /// The text of a place.
    #[inline]
    fn raw(&mut self, span: Span) -> &'a str {
        let (text, base) = self.file;
        if span.start >= base
            && let Some(found) =
                text.get((span.start - base) as usize..span.end.saturating_sub(base) as usize)
        {
            return found;
        }
        let file = self.sources.file(self.sources.file_at(span.start));
        self.file = (&file.text, file.start);
        self.sources.text(span)
    }

    /// The line of a place, from 1; cheap if asked in the order of the text.
    fn line_of(&mut self, place: u32) -> u32 {
        let file = self.sources.file(self.sources.file_at(place));
        let (from, line) = self.line;
        let (from, line) =
            if from < file.start || from > place { (file.start, 1) } else { (from, line) };
        let between = file.text.get((from - file.start) as usize..(place - file.start) as usize);
        let lines = between.unwrap_or("").bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.line = (place, line + lines);
        line + lines
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
            _ => {}
        }
    }

    /// No constant around this place switches it off, so that values in it matter.
    fn is_alive(&self) -> bool {
        self.dead == 0
    }

    /// Does something that is only executed if constants let it.
    fn switched_off<T>(&mut self, off: bool, then: impl FnOnce(&mut Self) -> T) -> T {
        self.dead += u32::from(off);
        let start = self.here_pc();
        let result = then(self);
        self.dead -= u32::from(off);
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
        let several = self.active.as_ref().is_none_or(|ranks| ranks.len() > 1);
        let Some(condition) = self.differs.filter(|_| several && self.plan.ranks > 1) else {
            return;
        };
        let what = what.to_string();
        self.notes.collectives.push(Collective { what, span, condition });
    }

    /// Passes over what was noted; the code is finished.
    fn check_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        let definitions =
            |name: Name| self.names.get(name.0 as usize).map_or(0, |info| info.definitions);
        let mut found = check::collectives::check(&notes);
        found.extend(check::handles::check(&notes, self.ast, definitions));
        found.into_iter().for_each(|diagnostic| self.reports.push(diagnostic));
        let is_pattern = |text: &str| self.patterns.contains_key(text);
        for (text, span) in check::passed::wrong_names(&notes.passed, is_pattern) {
            self.unknown_pattern(&text, span);
        }
        if !self.reports.has_errors() {
            let mut found = check::options::check(&self.plan, &notes, self.sources);
            found.extend(check::signals::check(&self.plan));
            found.into_iter().for_each(|diagnostic| self.reports.push(diagnostic));
        }
    }
}
