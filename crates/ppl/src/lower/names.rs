//! Variables: what is visible where, and what is known about it.
//!
//! Visible is what is assigned textually earlier at top level, or in the same proc; procs
//! can read globals that are assigned before their definition. A variable that
//! the whole program sets once, and certainly, to a constant is that constant.

use super::Lower;
use super::value::Ev;
use crate::ast::{Ast, Expr, ExprId, Name, Stmt};
use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use crate::word::{Word, classify};
use model::Op;
use model::internal::InternalRow;
use model::plan::{BinaryOp, NO_SLOT, Operand, Slot, Span, UnaryOp};
use model::types::Types;

/// No constant.
const NONE: u32 = u32::MAX;

/// Where a name's value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its slot, or [`NO_SLOT`].
    pub(super) slot: Slot,
    /// The constant it always is, or [`NONE`].
    konst: u32,
    /// When it became visible.
    since: u32,
    /// Its value differs between ranks.
    pub(super) differs: bool,
}

impl Place {
    pub(super) const NOWHERE: Place =
        Place { slot: NO_SLOT, konst: NONE, since: u32::MAX, differs: false };

    fn is_visible(self) -> bool {
        self.since != u32::MAX
    }
}

/// What is known about a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameInfo {
    global: Place,
    /// In the proc being lowered.
    local: Place,
    /// What its definitions give, wherever they stand.
    types: Types,
    /// Number of definitions in the whole program.
    pub(super) definitions: u32,
    /// It was reported that it is not visible.
    reported: bool,
}

/// Looks through the tree once for what defines each name.
pub(super) fn survey(ast: &Ast) -> Vec<NameInfo> {
    let mut names: Vec<NameInfo> = Vec::new();
    let mut define = |name: Name, types: Types| {
        let at = name.0 as usize;
        if at >= names.len() {
            names.resize(at + 1, UNKNOWN);
        }
        names[at].types = names[at].types.or(types);
        names[at].definitions += 1;
    };
    for stmt in &ast.stmts {
        match stmt {
            Stmt::Assign(name, value) | Stmt::Global(name, value) => {
                define(*name, guess(ast, *value));
            }
            // What is changed is no constant.
            stmt => {
                if let Some(name) = changed_list(ast, *stmt) {
                    define(name, Types::NONE);
                }
            }
        }
    }
    for repeat in &ast.repeats {
        if let Some((name, _)) = repeat.var {
            define(name, if repeat.in_list { Types::ANY } else { Types::INT });
        }
    }
    for param in &ast.params {
        let old = if param.public.is_some() { Types::STR } else { Types::NONE };
        define(param.var.0, guess(ast, param.default).or(old));
    }
    for proc in &ast.procs {
        for id in ast.exprs_in(proc.params) {
            if let Some(name) = ast.param_name(id) {
                define(name, Types::ANY);
            }
        }
    }
    for later in &ast.laters {
        if let Some(Expr::Var(name)) = ast.exprs_in(later.exprs).next().map(|id| ast.expr(id)) {
            define(name, Types::INT);
        }
    }
    names
}

/// The variable whose list a statement changes.
fn changed_list(ast: &Ast, stmt: Stmt) -> Option<Name> {
    let list = match stmt {
        Stmt::SetItem(item, _) => match ast.expr(item) {
            Expr::Index(list, _) => list,
            _ => return None,
        },
        Stmt::Call { name, args } if ast.names.text(name) == super::lists::PUSH => {
            ast.exprs_in(args).next()?
        }
        _ => return None,
    };
    if let Expr::Var(name) = ast.expr(list) { Some(name) } else { None }
}

const UNKNOWN: NameInfo = NameInfo {
    global: Place::NOWHERE,
    local: Place::NOWHERE,
    types: Types::NONE,
    definitions: 0,
    reported: false,
};

/// The types of an expression as far as it tells by itself.
fn guess(ast: &Ast, id: ExprId) -> Types {
    match ast.expr(id) {
        Expr::Int(_) => Types::INT,
        Expr::Float(_) => Types::FLOAT,
        Expr::Bool(_) => Types::BOOL,
        Expr::Duration(_) => Types::DURATION,
        Expr::Str | Expr::Env(_) => Types::STR,
        Expr::List(_) => Types::LIST,
        Expr::Paren(inner) => guess(ast, inner),
        Expr::Unary(UnaryOp::Not, _) => Types::BOOL,
        Expr::Unary(UnaryOp::Neg, _) => Types::NUMBER,
        Expr::Binary(BinaryOp::Add, a, b) => {
            let lists = guess(ast, a).and(guess(ast, b)).and(Types::LIST);
            guess_binary(BinaryOp::Add).or(lists)
        }
        Expr::Binary(op, ..) => guess_binary(op),
        Expr::Call(name, _) => guess_call(ast.names.text(name)),
        Expr::Internal(name) => {
            InternalRow::find(ast.names.text(name)).map_or(Types::ANY, |row| row.types)
        }
        _ => Types::ANY,
    }
}

fn guess_binary(op: BinaryOp) -> Types {
    use BinaryOp as B;
    match op {
        B::Add => Types::NUMBER.or(Types::STR),
        B::Sub | B::Rem | B::Mul | B::Div | B::Pow => Types::NUMBER,
        _ => Types::BOOL,
    }
}

fn guess_call(name: &str) -> Types {
    match classify(name).0 {
        Word::Op(Op::Pfopen) => Types::MPI,
        Word::Op(Op::Readdir) => Types::LIST,
        Word::Op(op) if op.row().gives_handle => Types::HANDLE,
        Word::Op(_) => Types::OUTCOME,
        _ => Types::ANY,
    }
}

impl Lower<'_> {
    pub(super) fn info(&mut self, name: Name) -> &mut NameInfo {
        let at = name.0 as usize;
        if at >= self.names.len() {
            self.names.resize(at + 1, UNKNOWN);
        }
        &mut self.names[at]
    }

    /// Where a name can be read from here.
    pub(super) fn visible(&self, name: Name) -> Option<Place> {
        let info = self.names.get(name.0 as usize)?;
        if self.proc.is_some() && info.local.is_visible() {
            return Some(info.local);
        }
        let limit = self.proc.as_ref().map_or(u32::MAX, |proc| proc.defined);
        (info.global.since < limit).then_some(info.global)
    }

    /// The value of a variable.
    pub(super) fn variable(&mut self, name: Name, span: Span) -> Ev {
        match self.visible(name) {
            Some(place)
                if self.in_generator && place.konst == NONE && place.slot.0 & Slot::LOCAL == 0 =>
            {
                self.global_in_generator(self.ast.names.text(name), span);
                Ev::BAD
            }
            Some(_) if self.open_text(name).is_some() => {
                self.opened_text(name, span).unwrap_or(Ev::BAD)
            }
            Some(place) => {
                self.note_read(name);
                self.at(name, place)
            }
            None => {
                self.not_visible(name, span);
                Ev::BAD
            }
        }
    }

    fn at(&self, name: Name, place: Place) -> Ev {
        if place.konst != NONE {
            let types = Types::of(&self.plan.consts[place.konst as usize]);
            return Ev { operand: Operand::constant(place.konst), types, differs: false };
        }
        let types = self.names[name.0 as usize].types;
        Ev { operand: Operand::slot(place.slot), types, differs: place.differs }
    }

    /// Remembers which variables of the program a proc reads.
    fn note_read(&mut self, name: Name) {
        let Some(proc) = &mut self.proc else { return };
        if !self.names[name.0 as usize].local.is_visible() && !proc.read.contains(&name) {
            proc.read.push(name);
        }
    }

    /// The slot of a variable of the program that was visible at a time.
    pub(super) fn global_slot(&mut self, name: Name, limit: u32, differs: bool) -> Option<Slot> {
        let global = &mut self.info(name).global;
        let is_there = global.since < limit && global.slot != NO_SLOT;
        global.differs |= is_there && differs;
        is_there.then_some(global.slot)
    }

    /// Reports an undefined variable, each once.
    #[cold]
    fn not_visible(&mut self, name: Name, span: Span) {
        if std::mem::replace(&mut self.info(name).reported, true) {
            return;
        }
        if self.reports.is_full() {
            self.reports.push(Diagnostic::new(Code::UnknownVariable, span, ""));
            return;
        }
        let diagnostic = self.unknown_variable(self.ast.names.text(name), span);
        self.reports.push(diagnostic);
    }

    pub(super) fn unknown_variable(&self, text: &str, span: Span) -> Diagnostic {
        let message = format!("expected a variable that is set before this place, found ${text}");
        let diagnostic = Diagnostic::new(Code::UnknownVariable, span, message);
        diagnostic.help(self.variable_help(text))
    }

    fn variable_help(&self, text: &str) -> String {
        let known = self.ast.names.find(text);
        let info = known.and_then(|name| self.names.get(name.0 as usize));
        if info.is_some_and(|info| info.definitions > 0) {
            return match self.proc {
                Some(_) => format!(
                    "${text} is set elsewhere; a proc sees its parameters, its own variables and \
                     the globals that are set before its definition"
                ),
                None => format!(
                    "${text} is set only later, in a proc, or by a repeat, whose variable lives in \
                     its loop; set it before: ${text} = ..."
                ),
            };
        }
        let candidates =
            (0..self.names.len() as u32).map(Name).filter(|name| self.visible(*name).is_some());
        match nearest(text, candidates.map(|name| self.ast.names.text(name))) {
            Some(name) => format!("the nearest is ${name}"),
            None => format!("set it before: ${text} = ..."),
        }
    }

    /// Makes a name visible in the running scope, in a slot. `differs`: its value.
    pub(super) fn define(&mut self, name: Name, differs: bool) -> Slot {
        let here = self.here(name);
        if here.slot != NO_SLOT {
            let differs = here.differs || differs;
            self.set_place(name, Place { differs, ..here });
            return here.slot;
        }
        let text = self.ast.names.text(name);
        let slot = self.frame().fresh(text);
        self.set_new(name, slot, differs);
        slot
    }

    /// Makes a name visible as a slot that is there already.
    pub(super) fn set_new(&mut self, name: Name, slot: Slot, differs: bool) {
        self.now += 1;
        let place = Place { slot, konst: NONE, since: self.now, differs };
        self.set_place(name, place);
    }

    /// Makes a name visible as a constant.
    pub(super) fn define_constant(&mut self, name: Name, konst: u32) {
        self.now += 1;
        let place = Place { slot: NO_SLOT, konst, since: self.now, differs: false };
        self.set_place(name, place);
    }

    /// The name's place in the running scope; procs do not write globals.
    pub(super) fn here(&mut self, name: Name) -> Place {
        let in_proc = self.proc.is_some();
        let info = self.info(name);
        if in_proc { info.local } else { info.global }
    }

    pub(super) fn set_place(&mut self, name: Name, place: Place) {
        if let Some(proc) = &mut self.proc {
            proc.locals.push(name);
            self.info(name).local = place;
        } else {
            self.info(name).global = place;
        }
    }

    /// Nothing in the program but this one definition sets the name.
    pub(super) fn is_set_once(&self, name: Name) -> bool {
        self.names.get(name.0 as usize).is_some_and(|info| info.definitions == 1)
    }

    /// The proc ends: its own names are gone.
    pub(super) fn forget_locals(&mut self, locals: &[Name]) {
        for name in locals {
            self.names[name.0 as usize].local = Place::NOWHERE;
        }
    }
}
