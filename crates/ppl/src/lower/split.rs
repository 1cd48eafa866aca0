//! `split (value) body`: the members of the active group with the same value become the active group.
//!
//! ```text
//! $row = $$rank / 4;
//! split ($row) { ... barrier; ... }        ranks 0 to 3, ranks 4 to 7, ...
//! ```
//!
//! Which ranks have the same value is known before the run, so that entering costs no message and
//! every communicator is there from the start. So the value has to follow from what each rank knows of
//! all others; the rest is refused here. Which sets there are: [`super::sets`].

use super::Lower;
use super::stmt::Nest;
use crate::ast::{Expr, ExprId, List, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId, holds};
use crate::text;
use model::function::FunctionRow;
use model::internal::{InternalRow, Read};
use model::iteration;
use model::plan::{BinaryOp, Input, Instr, Internal, NO_SLOT, Source, Span, Split, UnaryOp};
use model::types::Types;
use model::value::{self, Eval};
use model::{Value, limits};

/// Operators and functions in the value of a split.
const MAX_PARTS: usize = 1_000;
/// Combinations of loop variables in it.
const MAX_CASES: u64 = 4_096;

/// What a split goes by.
pub(super) struct Parted {
    pub(super) by: Formula,
    /// Its value in the text.
    pub(super) span: Span,
}

/// What a variable was set to.
#[derive(Clone, Copy)]
pub(super) struct Assigned {
    value: ExprId,
    /// Where: see [`super::Around::scope`].
    scope: u32,
}

/// The value of a split, without names.
pub(super) enum Formula {
    Value(Value),
    Internal(Internal),
    /// A loop variable, by its place in [`Split::inputs`].
    Input(usize),
    Unary(UnaryOp, Box<Formula>),
    Binary(BinaryOp, Box<[Formula; 2]>),
    Call(&'static FunctionRow, Vec<Formula>),
    List(Vec<Formula>),
    Index(Box<[Formula; 2]>),
}

/// A rank whose value is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) rank: u32,
    /// Its number among the members of the active set, and how many they are.
    pub(super) member: u32,
    pub(super) members: u32,
    /// Its machine, and its number on it.
    pub(super) place: (u32, u32),
    pub(super) inputs: &'a [i64],
    pub(super) seed: u64,
}

impl Formula {
    /// The value on a rank.
    pub(super) fn value(&self, asked: &Asked<'_>) -> Eval<Value> {
        let truth = |side: &Formula| side.value(asked)?.as_condition();
        Ok(match self {
            Formula::Value(value) => value.clone(),
            Formula::Internal(what) => Value::Int(asked.internal(*what)),
            Formula::Input(at) => Value::Int(asked.inputs[*at]),
            Formula::Unary(op, a) => value::unary(*op, &a.value(asked)?)?,
            Formula::Binary(BinaryOp::Or, ab) => Value::Bool(truth(&ab[0])? || truth(&ab[1])?),
            Formula::Binary(BinaryOp::And, ab) => Value::Bool(truth(&ab[0])? && truth(&ab[1])?),
            Formula::Binary(op, ab) => {
                value::binary(*op, &ab[0].value(asked)?, &ab[1].value(asked)?)?
            }
            Formula::Call(row, args) => {
                let args = args.iter().map(|arg| arg.value(asked)).collect::<Eval<Vec<_>>>()?;
                row.pure(&args, asked.seed).unwrap_or(Err(value::EvalError::Unset))?
            }
            Formula::List(items) => {
                limits::list(items.iter().map(|item| item.value(asked)).collect::<Eval<_>>()?)?
            }
            Formula::Index(ab) => value::index(&ab[0].value(asked)?, &ab[1].value(asked)?)?.clone(),
        })
    }

    /// The value as the number that ranks are told apart by.
    pub(super) fn number(&self, asked: &Asked<'_>) -> Eval<i64> {
        match self.value(asked)? {
            Value::Bool(holds) => Ok(holds.into()),
            value => value.as_int(),
        }
    }
}

impl Asked<'_> {
    fn internal(&self, what: Internal) -> i64 {
        i64::from(match what {
            Internal::GroupRank => self.member,
            Internal::GroupSize => self.members,
            Internal::Node => self.place.0,
            Internal::NodeRank => self.place.1,
            _ => self.rank,
        })
    }
}

impl Lower<'_> {
    /// `split (value) body`
    pub(super) fn split(&mut self, value: ExprId, body: StmtId, span: Span) {
        let place = self.ast.expr_span(value);
        let ev = self.expr(value);
        let fits = ev.is_bad() || ev.types.may(Types::CONDITION.or(Types::AS_INT));
        if !fits && self.is_alive() {
            let found = ev.types.describe();
            let message = format!("expected an integer or a condition to split by, found {found}");
            self.reports.push(Diagnostic::new(Code::WrongType, place, message));
        } else if !ev.is_bad() {
            self.goes_by(value, place);
        }
        let split = (self.splits.len() as u32).saturating_sub(1);
        let outer = self.around.active.take();
        let enter = self.emit(Instr::SplitEnter { split, value: ev.operand, end: 0 }, span);
        self.in_scope(|lower| lower.same_inside(value, body));
        self.emit(Instr::GroupLeave, span);
        self.patch_here(enter);
        self.around.active = outer;
    }

    /// The body. A variable that ranks are told apart by is the same on all members.
    fn same_inside(&mut self, value: ExprId, body: StmtId) {
        let symbol = match self.ast.expr(self.bare(value)) {
            Expr::Var(_) => self.visible(self.ast.expr_span(self.bare(value)).start),
            _ => None,
        };
        let symbol = symbol.map(|mention| mention.symbol);
        let before = symbol.map(|symbol| self.set_differs(symbol, false));
        self.nested(Nest::Group, body);
        if let (Some(symbol), Some(true)) = (symbol, before) {
            self.set_differs(symbol, true);
        }
    }

    fn bare(&self, id: ExprId) -> ExprId {
        match self.ast.expr(id) {
            Expr::Paren(inner) => self.bare(inner),
            _ => id,
        }
    }

    /// Lowers what stands in a group, a split or a proc.
    pub(super) fn in_scope<T>(&mut self, then: impl FnOnce(&mut Self) -> T) -> T {
        self.around.scopes += 1;
        let outer = std::mem::replace(&mut self.around.scope, self.around.scopes);
        let result = then(self);
        self.around.scope = outer;
        result
    }

    /// Remembers what a variable was set to; only splits ask.
    #[inline]
    pub(super) fn note_value(&mut self, symbol: SymbolId, value: ExprId) {
        if self.ast.splits > 0 {
            let assigned = Assigned { value, scope: self.around.scope };
            self.assigned.insert(symbol, assigned);
        }
    }

    /// Takes in what a split goes by, or refuses it.
    fn goes_by(&mut self, value: ExprId, span: Span) {
        let scope = self.around.scope;
        let mut builder = Builder { lower: self, split: span, scope, inputs: Vec::new(), parts: 0 };
        let by = builder.formula(value);
        let split = Split { inputs: builder.inputs };
        if let Some(by) = by {
            if split.cases() > MAX_CASES {
                let message = format!(
                    "the loops around this split give it {} combinations of values; the limit is \
                     {MAX_CASES}",
                    split.cases()
                );
                self.reports.push(Diagnostic::new(Code::SplitValue, span, message));
            }
            self.splits.push(Parted { by, span });
            self.plan.splits.push(split);
        }
    }
}

/// Makes a formula of an expression.
struct Builder<'b, 'a> {
    lower: &'b mut Lower<'a>,
    /// The value of the split.
    split: Span,
    /// Where the expression is evaluated: see [`super::Around::scope`].
    scope: u32,
    inputs: Vec<Input>,
    parts: usize,
}

impl Builder<'_, '_> {
    fn formula(&mut self, id: ExprId) -> Option<Formula> {
        self.parts += 1;
        let span = self.lower.ast.expr_span(id);
        if self.parts > MAX_PARTS {
            return self.refuse(span, "is too long");
        }
        let ast = self.lower.ast;
        Some(match ast.expr(id) {
            Expr::Int(n) => Formula::Value(Value::Int(n)),
            Expr::Float(x) => Formula::Value(Value::Float(x)),
            Expr::Bool(b) => Formula::Value(Value::Bool(b)),
            Expr::Duration(ns) => Formula::Value(Value::Duration(ns)),
            Expr::Str => self.text(span)?,
            Expr::Var(_) => return self.variable(span),
            Expr::Internal(name) => return self.internal(ast.names.text(name), span),
            Expr::Env(name) => {
                let text = self.lower.environment_text(ast.names.text(name))?;
                Formula::Value(Value::str(&text))
            }
            Expr::Unary(op, a) => Formula::Unary(op, Box::new(self.formula(a)?)),
            Expr::Binary(op, a, b) => {
                Formula::Binary(op, Box::new([self.formula(a)?, self.formula(b)?]))
            }
            Expr::Paren(inner) => self.formula(inner)?,
            Expr::List(items) => Formula::List(self.formulas(items)?),
            Expr::Index(list, at) => {
                Formula::Index(Box::new([self.formula(list)?, self.formula(at)?]))
            }
            Expr::Call(name, args) => {
                let row = FunctionRow::find(ast.names.text(name)).filter(|row| row.is_pure());
                let Some(row) = row else {
                    return self.refuse(span, "is found out while the program runs");
                };
                Formula::Call(row, self.formulas(args)?)
            }
            Expr::Error | Expr::Rate(_) | Expr::Named(..) | Expr::Word(_) => return None,
        })
    }

    fn formulas(&mut self, list: List) -> Option<Vec<Formula>> {
        let ids: Vec<ExprId> = self.lower.ast.exprs_in(list).collect();
        ids.into_iter().map(|id| self.formula(id)).collect()
    }

    fn text(&mut self, span: Span) -> Option<Formula> {
        let raw = self.lower.reader.text(span);
        if raw.contains('$') {
            return self.refuse(span, "is a text with variables in it");
        }
        Some(Formula::Value(Value::Str(text::plain(raw).to_vec())))
    }

    fn internal(&mut self, name: &str, span: Span) -> Option<Formula> {
        match InternalRow::find(name)?.read {
            Read::Bound(bound) => Some(Formula::Value(Value::Int(self.lower.bound_value(bound)))),
            Read::Running(what) => match what {
                Internal::Rank | Internal::Node | Internal::NodeRank => {
                    Some(Formula::Internal(what))
                }
                Internal::GroupRank | Internal::GroupSize => self.of_group(what, span),
                Internal::GroupName => self.refuse(span, "is the same on all members"),
                Internal::Rand | Internal::CommonRand | Internal::Time | Internal::Now => {
                    self.refuse(span, "is found out while the program runs")
                }
            },
        }
    }

    /// What the active group says: that of the split, or of where a variable was set.
    fn of_group(&mut self, what: Internal, span: Span) -> Option<Formula> {
        let ranks = i64::from(self.lower.plan.ranks);
        match (self.scope == self.lower.around.scope, self.scope, what) {
            (true, ..) => Some(Formula::Internal(what)),
            (_, 0, Internal::GroupRank) => Some(Formula::Internal(Internal::Rank)),
            (_, 0, _) => Some(Formula::Value(Value::Int(ranks))),
            _ => self.refuse(span, "is read in another group than the one that is split"),
        }
    }

    fn variable(&mut self, span: Span) -> Option<Formula> {
        let symbol = self.lower.visible(span.start)?.symbol;
        if let Some(value) = self.lower.constant_of(symbol) {
            return Some(Formula::Value(value.clone()));
        }
        let known = *self.lower.facts.symbol(symbol);
        match known.kind {
            Kind::Loop => self.input(symbol, span),
            Kind::Argument => self.refuse(span, "is a parameter of a proc"),
            _ if known.definitions > 1 => self.refuse(span, "is set more than once"),
            _ => match self.lower.assigned.get(&symbol).copied() {
                Some(assigned) => self.assigned(assigned),
                None => self.refuse(span, "is found out while the program runs"),
            },
        }
    }

    fn assigned(&mut self, Assigned { value, scope }: Assigned) -> Option<Formula> {
        let outer = std::mem::replace(&mut self.scope, scope);
        let formula = self.formula(value);
        self.scope = outer;
        formula
    }

    /// The variable of a loop around the split.
    fn input(&mut self, symbol: SymbolId, span: Span) -> Option<Formula> {
        let slot = self.lower.place(symbol).slot;
        let body = self.lower.facts.symbol(symbol).within;
        let around = body
            .is_some_and(|body| holds(self.lower.ast.stmt_span(body), self.split.start))
            && slot != NO_SLOT;
        let open =
            self.lower.plan.loops.iter().rev().find(|code| code.var == slot && code.exit == 0);
        let Some(code) = open.filter(|_| around).copied() else {
            return self
                .refuse(span, "is the variable of a loop over a list, or of one that has ended");
        };
        if let Some(at) = self.inputs.iter().position(|input| input.slot == slot) {
            return Some(Formula::Input(at));
        }
        let int = |operand: model::plan::Operand| match operand.source() {
            Source::Const(index) => self.lower.plan.consts[index as usize].as_int().ok(),
            _ => None,
        };
        let (Some(from), Some(to), Some(step)) = (int(code.from), int(code.to), int(code.step))
        else {
            return self.refuse(span, "is the variable of a loop whose range is no constant");
        };
        let count = u32::try_from(iteration::count(from, to, step)).unwrap_or(u32::MAX);
        self.inputs.push(Input { slot, from, step, count });
        Some(Formula::Input(self.inputs.len() - 1))
    }

    #[cold]
    fn refuse(&mut self, span: Span, why: &str) -> Option<Formula> {
        let text = self.lower.reader.text(span);
        let message = format!(
            "expected a value to split by that all ranks know of each other, found {text}, which {why}"
        );
        let mut diagnostic = Diagnostic::new(Code::SplitValue, self.split, message).help(
            "it can be made of $$rank $$grank $$size $$gsize $$node $$noderank, parameters, \
             variables that are set once to such a value, and loops over constants",
        );
        if !(self.split.start <= span.start && span.end <= self.split.end) {
            diagnostic = diagnostic.related(span, "here");
        }
        self.lower.reports.push(diagnostic);
        None
    }
}
