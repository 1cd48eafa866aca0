//! The syntax tree, in flat arenas: nodes are small, refer to each other by
//! number, and a program of a million statements needs no million allocations.
//!
//! Strings are not stored: an `Expr::Str` is its span, and [`crate::text`] takes
//! the raw token apart (escapes, interpolation) whenever someone asks.

use model::Op;
use model::group::Tag;
use model::plan::{BinaryOp, LabelKind, Span, UnaryOp};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Number of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub u32);
/// Number of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StmtId(pub u32);
/// Number of an interned identifier, as it was written (without `$`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

/// A run of numbers in [`Ast::lists`]; [`Ast::exprs_in`] and [`Ast::stmts_in`] read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// First entry.
    pub start: u32,
    /// Number of entries.
    pub len: u32,
}

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// Could not be parsed; reported already.
    Error,
    /// `12`, `4k`
    Int(i64),
    /// `0.25`
    Float(f64),
    /// `true`, `false`
    Bool(bool),
    /// `30s`, in nanoseconds
    Duration(i64),
    /// `1000/s`, per second
    Rate(i64),
    /// `"..."`: the expression's span is the token, quotes included.
    Str,
    /// `$name`
    Var(Name),
    /// `$$name`
    Internal(Name),
    /// `$$env(NAME)`
    Env(Name),
    /// `-a`, `!a`
    Unary(UnaryOp, ExprId),
    /// `a + b`
    Binary(BinaryOp, ExprId, ExprId),
    /// `a ? b : c`
    Conditional(ExprId, ExprId, ExprId),
    /// `(a)`: kept for the formatter and for warnings about precedence.
    Paren(ExprId),
    /// `min(a, b)`
    Call(Name, List),
    /// `[a, b]`
    List(List),
    /// `a[b]`
    Index(ExprId, ExprId),
    /// `name=a` among the arguments of a call.
    Named(Name, ExprId),
    /// A bare word among the arguments of a call: `SEEK_SET`.
    Word(Name),
}

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stmt {
    /// Could not be parsed; reported already.
    Error,
    /// `;`
    Empty,
    /// `{ ... }`
    Block(List),
    /// `$name = value;` ([`Expr::Call`] of an operation that gives a handle included)
    Assign(Name, ExprId),
    /// `global $name = value;`, `global $list[at] = value;`: an [`Expr::Var`] or [`Expr::Index`] and the value.
    Global(ExprId, ExprId),
    /// `global push($list, value);`: the arguments.
    GlobalPush(List),
    /// `return;`, `return value;`
    Return(Option<ExprId>),
    /// `$list[at] = value;`, `$list[at][at] = value;`: an [`Expr::Index`] and the value.
    SetItem(ExprId, ExprId),
    /// `write("a", 1);` — `paren`: written with parentheses around the arguments.
    /// An operation of the table.
    Op {
        /// The operation.
        op: Op,
        /// Written with parentheses around the arguments.
        paren: bool,
        /// Arguments.
        args: List,
    },
    /// `checkpoint("a", 1);`: a proc, or an unknown word.
    Call {
        /// Its name.
        name: Name,
        /// Arguments.
        args: List,
    },
    /// Number in [`Ast::repeats`].
    Repeat(u32),
    /// Number in [`Ast::times`].
    Time(u32),
    /// `group "g" body`: the name's string expression.
    Group(ExprId, StmtId),
    /// `split (value) body`
    Split(ExprId, StmtId),
    /// `master body`, `master sync body`: a barrier follows.
    Master {
        /// Member 0 of the active group executes the body.
        body: StmtId,
        /// `sync`
        sync: bool,
    },
    /// `barrier;`, `barrier("g");`
    Barrier(Option<ExprId>),
    /// Number in [`Ast::ifs`].
    If(u32),
    /// `while (cond) body`
    While(ExprId, StmtId),
    /// `break;` inside a loop of the same proc, which the parser ensures.
    Break,
    /// `continue;` — in a loop, like `break`.
    Continue,
    /// `with (name=value, ...) body`: a list of [`Expr::Named`].
    With(List, StmtId),
    /// `include "path";` and what the file held.
    Include(ExprId, List),
    /// `param $n = value;` or `define param "n" $n "value"`: number in [`Ast::params`].
    Param(u32),
    /// `define groups {...}`: start and length in [`Ast::groups`].
    Groups(List),
    /// `define pattern ...`: number in [`Ast::patterns`].
    Pattern(u32),
    /// `define proc ...`: number in [`Ast::procs`].
    Proc(u32),
    /// `define hints "name" = value;`: the name's string and the value.
    Hints(ExprId, ExprId),
    /// Number in [`Ast::mixes`].
    Mix(u32),
    /// Number in [`Ast::shares`].
    Share(u32),
}

/// `repeat`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeat {
    /// The loop variable and its place.
    pub var: Option<(Name, Span)>,
    /// Count, or start of a range, or a list.
    pub from: ExprId,
    /// `in`: it is a list, whose elements the variable takes.
    pub in_list: bool,
    /// End of a range, exclusive.
    pub to: Option<ExprId>,
    /// `step`
    pub step: Option<ExprId>,
    /// `until`
    pub until: Option<Until>,
    /// The repeated statement.
    pub body: StmtId,
}

/// The time limit of a `repeat`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// How long.
    pub limit: ExprId,
    /// `level`: afterwards all members go on to what the fastest one has reached.
    pub level: bool,
}

/// `share`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its variable and the variable's place.
    pub var: (Name, Span),
    /// How many indices there are.
    pub count: ExprId,
    /// `by`: how many are claimed at a time.
    pub by: Option<ExprId>,
    /// The statement for each index.
    pub body: StmtId,
}

/// `mix`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Weights, expressions.
    pub weights: List,
    /// As many statements.
    pub bodies: List,
}

/// `time`, `ctime`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// `time` or `ctime`.
    pub kind: LabelKind,
    /// The label's string.
    pub label: Option<ExprId>,
    /// `, sync`
    pub sync: bool,
    /// The measured statement.
    pub body: StmtId,
}

/// `if`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct If {
    /// The condition.
    pub cond: ExprId,
    /// If it holds.
    pub then: StmtId,
    /// If not.
    pub otherwise: Option<StmtId>,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// `define param "name" ...`: the name for the command line; absent: that of the variable.
    pub public: Option<ExprId>,
    /// The variable and its place.
    pub var: (Name, Span),
    /// Its default.
    pub default: ExprId,
}

/// One group of `define groups`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupDef {
    /// Its name's string expression.
    pub name: ExprId,
    /// Tag.
    pub tag: Tag,
    /// Number after the tag; 0 without one.
    pub subtag: i64,
    /// `= size`
    pub size: Option<GroupSize>,
    /// Its place.
    pub span: Span,
}

/// Size of a group as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupSize {
    /// `= 4`, any expression of constants and parameters.
    Ranks(ExprId),
    /// `= 50%`
    Percent(ExprId),
}

/// `define pattern`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternDef {
    /// Its name's string expression.
    pub name: ExprId,
    /// Layers 1-2: the values in braces after the name. Layer 3: the arguments.
    pub values: List,
    /// Layer 3: `level n`.
    pub level: Option<ExprId>,
    /// Layer 3: the kind's name (`tiled`, ...).
    pub kind: Option<Name>,
    /// Layer 3: a body of extents, in the program or of the kind.
    pub body: Option<StmtId>,
    /// Parameters of the kind's body.
    pub params: List,
}

impl PatternDef {
    /// A definition without arguments.
    pub(crate) fn new(name: ExprId) -> PatternDef {
        let (values, params) = (List::default(), List::default());
        PatternDef { name, values, level: None, kind: None, body: None, params }
    }
}

/// `define proc`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcDef {
    /// Its name and place.
    pub name: (Name, Span),
    /// Parameters: a list of [`Expr::Var`], and of [`Expr::Named`] for those with a default.
    pub params: List,
    /// Body.
    pub body: StmtId,
    /// A `return value;` is in it.
    pub gives_value: bool,
}

/// A program with everything it includes.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// Expressions.
    pub exprs: Vec<Expr>,
    /// Their places.
    pub expr_spans: Vec<Span>,
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// Their places.
    pub stmt_spans: Vec<Span>,
    /// Members of lists.
    pub lists: Vec<u32>,
    /// See [`Stmt::Repeat`].
    pub repeats: Vec<Repeat>,
    /// See [`Stmt::Time`].
    pub times: Vec<Time>,
    /// See [`Stmt::If`].
    pub ifs: Vec<If>,
    /// See [`Stmt::Param`].
    pub params: Vec<Param>,
    /// See [`Stmt::Groups`].
    pub groups: Vec<GroupDef>,
    /// See [`Stmt::Pattern`].
    pub patterns: Vec<PatternDef>,
    /// See [`Stmt::Proc`].
    pub procs: Vec<ProcDef>,
    /// See [`Stmt::Mix`].
    pub mixes: Vec<Mix>,
    /// See [`Stmt::Share`].
    pub shares: Vec<Share>,
    /// Number of [`Stmt::Split`].
    pub splits: u32,
    /// Comments in order of position, for the formatter.
    pub comments: Vec<Span>,
    /// Keywords and operations that are not written in lower case.
    pub capitals: Vec<Span>,
    /// Expressions `a % b` in order of the text, for the warning about precedence.
    pub remainders: Vec<ExprId>,
    /// Identifiers.
    pub names: Names,
    /// Statements of the program.
    pub top: List,
}

/// Identifiers, each kept once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, Name>,
}

impl Names {
    /// The number of an identifier.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let name = Name(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, name);
        name
    }

    /// The number of an identifier that was interned before.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// The identifier.
    pub fn text(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
    }
}

impl Ast {
    /// An expression.
    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs[id.0 as usize]
    }

    /// Its place.
    pub fn expr_span(&self, id: ExprId) -> Span {
        self.expr_spans[id.0 as usize]
    }

    /// The variable of a proc's parameter.
    pub fn param_name(&self, id: ExprId) -> Option<Name> {
        match self.expr(id) {
            Expr::Var(name) | Expr::Named(name, _) => Some(name),
            _ => None,
        }
    }

    /// The target of an assignment to `$list[at][at]`: the variable's expression, and the indices.
    pub fn element(&self, mut id: ExprId) -> (ExprId, Vec<ExprId>) {
        let mut indices = Vec::new();
        while let Expr::Index(list, at) = self.expr(id) {
            indices.push(at);
            id = list;
        }
        indices.reverse();
        (id, indices)
    }

    /// A string in quotes, a sum that has one in it, or a choice between such: its `+` makes text.
    pub fn is_text(&self, id: ExprId) -> bool {
        match self.expr(id) {
            Expr::Str => true,
            Expr::Paren(inner) => self.is_text(inner),
            Expr::Binary(BinaryOp::Add, a, b) => self.is_text(a) || self.is_text(b),
            Expr::Conditional(_, a, b) => self.is_text(a) && self.is_text(b),
            _ => false,
        }
    }

    /// A statement.
    pub fn stmt(&self, id: StmtId) -> Stmt {
        self.stmts[id.0 as usize]
    }

    /// Its place.
    pub fn stmt_span(&self, id: StmtId) -> Span {
        self.stmt_spans[id.0 as usize]
    }

    /// The expressions of a list.
    pub fn exprs_in(&self, list: List) -> impl ExactSizeIterator<Item = ExprId> + '_ {
        self.lists[list.start as usize..(list.start + list.len) as usize].iter().map(|n| ExprId(*n))
    }

    /// The statements of a list.
    pub fn stmts_in(&self, list: List) -> impl ExactSizeIterator<Item = StmtId> + '_ {
        self.lists[list.start as usize..(list.start + list.len) as usize].iter().map(|n| StmtId(*n))
    }

    /// Adds an expression.
    #[inline]
    pub fn push_expr(&mut self, expr: Expr, span: Span) -> ExprId {
        self.exprs.push(expr);
        self.expr_spans.push(span);
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Adds a statement.
    #[inline]
    pub fn push_stmt(&mut self, stmt: Stmt, span: Span) -> StmtId {
        self.stmts.push(stmt);
        self.stmt_spans.push(span);
        StmtId(self.stmts.len() as u32 - 1)
    }

    /// Adds a list of node numbers.
    pub fn push_list(&mut self, numbers: &[u32]) -> List {
        let start = self.lists.len() as u32;
        self.lists.extend_from_slice(numbers);
        List { start, len: numbers.len() as u32 }
    }
}

const _: () = assert!(size_of::<Expr>() <= 16 && size_of::<Stmt>() <= 16);
