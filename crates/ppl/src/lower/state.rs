//! The state of the pass that makes the plan, which all its parts share: the code so far, where values are, and the
//! surroundings of the current statement. Not here: what a statement or an expression means.
//!
//! Hidden slots (intermediate results, counters of loops) and loop variables are used again by later
//! statements, so that a long program needs few.

use super::notes::{Collective, Inside, Notes};
use crate::ast::{Ast, Expr, ExprId, List, Name, StmtId};
use crate::check::tree::{asserted_ranks, speaks_of_ranks};
use crate::diag::Reports;
use crate::facts::{Facts, Kind, SymbolId};
use crate::kinds::Arguments;
use crate::source::{Binding, Sources};
use model::directory::Directory;
use model::plan::{Input, Instr, NO_SLOT, Operand, Pc, Slot, Span};
use model::types::Types;
use model::with::InForce;
use model::{Plan, Value};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

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
    pub(crate) open: Open<'a>,
    /// The hidden variable for what procs give.
    pub(crate) returned: Option<Slot>,
    /// Patterns whose bodies are still to be lowered.
    pub(crate) generators: Vec<Waiting>,
    /// Where patterns are used by groups of known size.
    pub(crate) pattern_uses: Vec<Use>,
    /// The body of a pattern is being lowered.
    pub(crate) in_generator: bool,
    /// By split: what it goes by.
    pub(crate) splits: Vec<Parted>,
    /// The rank for which the value of a split is being worked out.
    pub(crate) asked: Option<Asked>,
    /// The last assignment of each variable.
    pub(crate) assigned: FxHashMap<SymbolId, Assigned>,
    pub(crate) around: Around,
    /// Where procs are called in expressions, in ascending order.
    pub(crate) calls: Vec<u32>,
    /// Files of lists that were read, by name; `None`: it was reported that there is none.
    pub(crate) lists: FxHashMap<String, Option<Rc<Lists>>>,
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
    /// Operations in the innermost `with` so far, or outside of all.
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

impl Around {
    /// The program ends here for certain.
    pub(crate) fn fail(&mut self) {
        self.dead += 1;
    }
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
            open: Open::default(),
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
            calls: calls_of_procs(ast, facts),
            lists: FxHashMap::default(),
            listed: 0,
        }
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
}

/// Where expressions call procs.
fn calls_of_procs(ast: &Ast, facts: &Facts) -> Vec<u32> {
    if ast.procs.is_empty() {
        return Vec::new();
    }
    let is_proc = |name: Name| facts.find(Kind::Proc, ast.names.text(name)).is_some();
    let exprs = ast.exprs.iter().zip(&ast.expr_spans);
    let calls = exprs.filter_map(|(expr, span)| match expr {
        Expr::Call(name, _) if is_proc(*name) => Some(span.start),
        _ => None,
    });
    let mut places: Vec<u32> = calls.collect();
    places.sort_unstable();
    places
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

/// An evaluated expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ev {
    /// Where the value is.
    pub(crate) operand: Operand,
    /// Its possible types; none: it was reported that there is no value.
    pub(crate) types: Types,
    /// It differs between ranks.
    pub(crate) differs: bool,
}

impl Ev {
    /// It was reported that there is no value; nothing more is said about it.
    pub(crate) const BAD: Ev = Ev { operand: Operand::ABSENT, types: Types::NONE, differs: false };

    pub(crate) fn is_bad(self) -> bool {
        self.types.is_none()
    }
}

/// No constant.
pub(crate) const NO_CONSTANT: u32 = u32::MAX;

/// Where a symbol's value is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its slot, or [`NO_SLOT`].
    pub(crate) slot: Slot,
    /// The constant it always is, or [`NO_CONSTANT`].
    pub(crate) konst: u32,
    /// Its value differs between ranks.
    pub(crate) differs: bool,
}

impl Place {
    pub(crate) const NOWHERE: Place = Place { slot: NO_SLOT, konst: NO_CONSTANT, differs: false };

    pub(crate) fn is_somewhere(self) -> bool {
        self.slot != NO_SLOT || self.konst != NO_CONSTANT
    }
}

/// The values of all symbols.
pub(crate) struct Variables {
    /// By [`SymbolId`].
    pub(crate) places: Vec<Place>,
    /// The mention that is probably asked for next.
    pub(crate) next: Cell<usize>,
    /// Names of which it was reported that they are not visible.
    pub(crate) unknown: FxHashSet<Name>,
}

impl Variables {
    pub(crate) fn new(facts: &Facts) -> Variables {
        let places = vec![Place::NOWHERE; facts.symbols().len()];
        Variables { places, next: Cell::new(0), unknown: FxHashSet::default() }
    }
}

/// The slots of the globals or of one proc.
#[derive(Default)]
pub(crate) struct Frame {
    /// Slots are relative to a proc's frame.
    local: bool,
    /// Names of all slots; "" for hidden ones.
    pub(crate) names: Vec<String>,
    temps: Vec<Slot>,
    /// How many of `temps` the current statement uses.
    used: usize,
    /// First of the three hidden slots of the loop at each depth.
    loops: Vec<Slot>,
    depth: usize,
    /// Loop variables whose loop has ended.
    free: FxHashMap<Name, Vec<Slot>>,
}

impl Frame {
    pub(crate) fn of_proc() -> Frame {
        Frame { local: true, ..Frame::default() }
    }

    /// A slot for a variable.
    pub(crate) fn fresh(&mut self, name: &str) -> Slot {
        let index = self.names.len() as u32;
        self.names.push(name.into());
        if self.local { Slot::local(index) } else { Slot(index) }
    }

    /// A slot for an intermediate result, until [`Frame::end_statement`].
    pub(crate) fn temp(&mut self) -> Slot {
        if self.used == self.temps.len() {
            let slot = self.fresh("");
            self.temps.push(slot);
        }
        self.used += 1;
        self.temps[self.used - 1]
    }

    /// The slot of an intermediate result of the current statement.
    pub(crate) fn held(&self, operand: Operand) -> Option<Slot> {
        self.temps[..self.used].iter().copied().find(|slot| Operand::slot(*slot) == operand)
    }

    /// Intermediate results are not needed any more.
    pub(crate) fn end_statement(&mut self) {
        self.used = 0;
    }

    /// How many intermediate results the current statement uses.
    pub(crate) fn used_temps(&self) -> usize {
        self.used
    }

    /// Those behind this number of them are not needed any more.
    pub(crate) fn reuse_temps(&mut self, used: usize) {
        self.used = used;
    }

    /// The three hidden slots of a loop, until [`Frame::leave_loop`].
    pub(crate) fn enter_loop(&mut self) -> Slot {
        if self.depth == self.loops.len() {
            let slot = self.fresh("");
            self.fresh("");
            self.fresh("");
            self.loops.push(slot);
        }
        self.depth += 1;
        self.loops[self.depth - 1]
    }

    pub(crate) fn leave_loop(&mut self) {
        self.depth -= 1;
    }

    /// A slot for the variable of a loop.
    pub(crate) fn loop_variable(&mut self, name: Name, text: &str) -> Slot {
        match self.free.get_mut(&name).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.fresh(text),
        }
    }

    /// The loop of this variable has ended.
    pub(crate) fn release(&mut self, name: Name, slot: Slot) {
        self.free.entry(name).or_default().push(slot);
    }
}

/// Slots of the constants that were used last.
const RECENT: usize = 1 << 10;

/// Finds constants that were used recently: generated programs repeat sizes and names near each
/// other, and have millions that do not repeat. A slot has the hash and the number of a value:
/// constants are far apart in memory, so only a probably equal one is read.
pub(crate) struct Interner(Box<[(u32, u32)]>);

impl Default for Interner {
    fn default() -> Interner {
        Interner(vec![(0, u32::MAX); RECENT].into())
    }
}

impl Interner {
    /// The number of a constant with this hash that was used lately; or, and true, that of a new one.
    pub(crate) fn find(
        &mut self,
        consts: &[Value],
        hash: impl FnOnce(&mut FxHasher),
        is_same: impl FnOnce(&Value) -> bool,
    ) -> (u32, bool) {
        let mut hasher = FxHasher::default();
        hash(&mut hasher);
        // The upper bits are the best ones of this hash.
        let hash = (hasher.finish() >> 32) as u32;
        let slot = &mut self.0[hash as usize % RECENT];
        let is_new = slot.0 != hash || !consts.get(slot.1 as usize).is_some_and(is_same);
        if is_new {
            *slot = (hash, consts.len() as u32);
        }
        (slot.1, is_new)
    }
}

/// Few lists of one length are different.
#[inline]
pub(crate) fn hash_value(value: &Value, hasher: &mut FxHasher) {
    match value {
        Value::Str(text) => text.hash(hasher),
        Value::Int(n) | Value::Duration(n) => n.hash(hasher),
        Value::Float(x) => x.to_bits().hash(hasher),
        Value::Bool(b) => b.hash(hasher),
        Value::List(items) => items.len().hash(hasher),
        Value::Unset | Value::Handle(..) | Value::Outcome(_) => {}
    }
}

/// A statement that has to be left in order when a loop around it ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nest {
    Loop,
    Label,
    Group,
    With,
    /// The body of a `share`: a loop that must not be left.
    Share,
}

/// A loop being lowered.
#[derive(Default)]
pub(crate) struct OpenLoop {
    /// Jumps to the instruction after it.
    pub(crate) breaks: Vec<Pc>,
    /// Jumps to its next turn.
    pub(crate) continues: Vec<Pc>,
}

/// The proc whose body is being lowered.
pub(crate) struct OpenProc {
    pub(crate) frame: Frame,
    /// Index into [`crate::ast::Ast::procs`]; `None`: the body of a pattern.
    pub(crate) number: Option<u32>,
    /// The proc or pattern.
    pub(crate) owner: Option<SymbolId>,
    /// Variables of the program that it has read so far.
    pub(crate) read: Vec<SymbolId>,
}

impl OpenProc {
    /// One whose body comes next.
    pub(crate) fn new(number: Option<u32>, owner: Option<SymbolId>) -> OpenProc {
        OpenProc { frame: Frame::of_proc(), number, owner, read: Vec::new() }
    }
}

/// Parameters found so far.
pub(crate) struct Params<'a> {
    /// Their public names.
    pub(crate) names: FxHashSet<String>,
    /// Those of the command line: the last text of each.
    pub(crate) given: FxHashMap<&'a str, &'a str>,
    /// By index into [`crate::ast::Ast::params`]: the constant that is its value.
    pub(crate) values: FxHashMap<u32, u32>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(binding: &'a Binding) -> Params<'a> {
        let given = binding.params.iter().map(|(name, text)| (&**name, &**text)).collect();
        Params { names: FxHashSet::default(), given, values: FxHashMap::default() }
    }
}

/// The value of a `split`. For each rank it is lowered once more with what that rank knows, so that
/// constant folding gives the value.
pub(crate) struct Parted {
    pub(crate) value: ExprId,
    /// Its scope: see [`Around::scope`].
    pub(crate) scope: u32,
    /// Loop variables in it, in the order of [`model::plan::Split::inputs`].
    pub(crate) loops: Vec<SymbolId>,
}

/// The last assignment to a variable.
#[derive(Clone, Copy)]
pub(crate) struct Assigned {
    pub(crate) value: ExprId,
    /// Where: see [`Around::scope`].
    pub(crate) scope: u32,
}

/// A rank for which the value of a split is worked out.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) rank: u32,
    /// Its number among the members of the active set, and how many they are.
    pub(crate) member: u32,
    pub(crate) members: u32,
    /// Its machine, and its number on it.
    pub(crate) place: (u32, u32),
    /// Loop variables and their values.
    pub(crate) loops: Vec<(SymbolId, i64)>,
    /// The ranges of loops that were met, which happens when the value is read in its place.
    pub(crate) inputs: Vec<Input>,
    /// The value in the text, and its scope.
    pub(crate) split: Span,
    pub(crate) split_scope: u32,
    /// The scope of the expression being read: of the split, or of an assignment.
    pub(crate) scope: u32,
    /// Assignments read so far.
    pub(crate) assignments: usize,
}

/// A value with variables in it.
#[derive(Clone, Debug)]
pub(crate) struct OpenText {
    /// As a string of the program, with its quotes.
    pub(crate) raw: Rc<str>,
    /// The parameter.
    pub(crate) span: Span,
}

/// The parameters of such values.
#[derive(Default)]
pub(crate) struct Open<'a> {
    pub(crate) texts: FxHashMap<SymbolId, OpenText>,
    /// How many of them are being read, one in the other.
    pub(crate) depth: u32,
    /// The place in the program where they are read.
    pub(crate) place: u32,
    /// Variables by name, in the order of their definitions; made when first asked for.
    pub(crate) variables: FxHashMap<&'a str, Vec<SymbolId>>,
}

/// Parameters of the body of a kind, their values, and the place of the definition.
pub(crate) type Bound = (List, Arguments, Span);

/// A generator whose body is still to be lowered.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Index into [`model::Plan::patterns`].
    pub(crate) pattern: usize,
    pub(crate) body: StmtId,
    pub(crate) kind: Option<Bound>,
}

/// A place where a pattern is used by a group of known size.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) members: u32,
    /// MPI-IO writes it.
    pub(crate) written: bool,
    pub(crate) span: Span,
}

/// A file of lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// All of it.
    pub(crate) text: Arc<String>,
    /// Lists by name.
    pub(crate) parts: BTreeMap<String, Part>,
}

/// A list in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its lines.
    pub(crate) bytes: Range<usize>,
    /// The number of the first one.
    pub(crate) line: usize,
    /// How many values it has, if its heading says so.
    pub(crate) count: Option<usize>,
}
