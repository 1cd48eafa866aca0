//! Expressions: constants are folded with the operators of [`model::value`], the
//! rest becomes instructions whose results stand in hidden slots.

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use crate::word::{Word, classify};
use model::internal::{Bound, INTERNALS, InternalRow, Read, Sameness};
use model::limits;
use model::plan::{Args, BinaryOp, Instr, Internal, Operand, Slot, Span, UnaryOp};
use model::types::{self, Types};
use model::value::{self, EvalError};
use model::{Op, Value};

impl Lower<'_> {
    /// The value of an expression, a result in a hidden slot.
    pub(super) fn expr(&mut self, id: ExprId) -> Ev {
        self.expr_to(id, None)
    }

    /// The value of an expression; a result goes to `dst` if there is one.
    pub(super) fn expr_to(&mut self, id: ExprId, dst: Option<Slot>) -> Ev {
        let span = self.ast.expr_span(id);
        match self.ast.expr(id) {
            Expr::Error => Ev::BAD,
            Expr::Int(n) => self.known(Value::Int(n)),
            Expr::Float(x) => self.known(Value::Float(x)),
            Expr::Bool(b) => self.known(Value::Bool(b)),
            Expr::Duration(ns) => self.known(Value::Duration(ns)),
            Expr::Str => self.string(span),
            Expr::Var(name) => self.variable(name, span),
            Expr::Internal(name) => self.internal(name, span, dst),
            Expr::Env(name) => self.environment(self.ast.names.text(name), span),
            Expr::Unary(op, a) => self.unary(op, a, span, dst),
            Expr::Binary(op @ (BinaryOp::Or | BinaryOp::And), a, b) => {
                self.short_circuit(op, a, b, span, dst)
            }
            Expr::Binary(op, a, b) => self.binary(op, a, b, span, dst),
            Expr::Paren(inner) => self.expr_to(inner, dst),
            Expr::Call(name, args) => self.call(name, args, span, dst),
            Expr::List(items) => self.list(items, span, dst),
            Expr::Index(list, at) => self.index(list, at, span, dst),
            // As it is said everywhere: operations per second.
            Expr::Rate(n) => self.known(Value::Int(n)),
            Expr::Named(..) | Expr::Word(_) => self.word_as_value(span),
        }
    }

    /// An instruction whose result is a value.
    pub(super) fn computed(
        &mut self,
        dst: Option<Slot>,
        types: Types,
        differs: bool,
        span: Span,
        instr: impl FnOnce(Slot) -> Instr,
    ) -> Ev {
        let slot = dst.unwrap_or_else(|| self.frame().temp());
        self.emit(instr(slot), span);
        Ev { operand: Operand::slot(slot), types, differs }
    }

    /// Like [`Lower::computed`]; the result takes the place of an intermediate list among the operands.
    /// One that stayed there would share its elements, and they would be copied when the list changes.
    pub(super) fn computed_over(
        &mut self,
        operands: &[Ev],
        dst: Option<Slot>,
        types: Types,
        span: Span,
        instr: impl FnOnce(Slot) -> Instr,
    ) -> Ev {
        let lists = operands.iter().filter(|ev| ev.types.may(Types::LIST));
        let held = lists.filter_map(|ev| self.frame().held(ev.operand)).next();
        let differs = operands.iter().any(|ev| ev.differs);
        self.computed(held.or(dst), types, differs, span, instr)
    }

    fn unary(&mut self, op: UnaryOp, a: ExprId, span: Span, dst: Option<Slot>) -> Ev {
        let a = self.expr(a);
        if a.is_bad() {
            return Ev::BAD;
        }
        if let Some(value) = self.constant(a) {
            match value::unary(op, value) {
                Ok(value) => return self.known(value),
                Err(error) if self.is_alive() => return self.no_value(error, span),
                Err(_) => {}
            }
        }
        let types = types::unary(op, a.types);
        if types.is_none() && self.is_alive() {
            let sign = if op == UnaryOp::Neg { "-" } else { "!" };
            let message = format!("`{sign}` cannot be applied to {}", a.types.describe());
            return self.wrong_type(span, message);
        }
        self.computed(dst, types.or_any(), a.differs, span, |dst| Instr::Unary {
            op,
            dst,
            a: a.operand,
        })
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId, span: Span, dst: Option<Slot>) -> Ev {
        // Integers alone are computed without a constant for every step.
        if let Some(Ok(value)) = self
            .literal(a)
            .zip(self.literal(b))
            .map(|(a, b)| value::binary(op, &Value::Int(a), &Value::Int(b)))
        {
            return self.known(value);
        }
        if op == BinaryOp::Add && (self.ast.is_text(a) || self.ast.is_text(b)) {
            return self.text_in_row(a, b, span);
        }
        let a = self.expr(a);
        let b = self.expr(b);
        if a.is_bad() || b.is_bad() {
            return Ev::BAD;
        }
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            match value::binary(op, x, y) {
                Ok(value) => return self.known(value),
                Err(error) if self.is_alive() => return self.no_value(error, span),
                Err(_) => {}
            }
        }
        let types = types::binary(op, a.types, b.types);
        if types.is_none() && self.is_alive() {
            let (left, right) = (a.types.describe(), b.types.describe());
            return self
                .wrong_type(span, format!("`{}` cannot join {left} and {right}", op.symbol()));
        }
        let by_zero = matches!(op, BinaryOp::Div | BinaryOp::Rem)
            && matches!(self.constant(b), Some(Value::Int(0)));
        if by_zero && self.is_alive() {
            return self.no_value(EvalError::DivisionByZero, span);
        }
        self.computed(dst, types.or_any(), a.differs || b.differs, span, |dst| Instr::Binary {
            op,
            dst,
            a: a.operand,
            b: b.operand,
        })
    }

    /// The value of an expression that is made of integers alone and has one.
    fn literal(&self, id: ExprId) -> Option<i64> {
        match self.ast.expr(id) {
            Expr::Int(n) => Some(n),
            Expr::Paren(inner) => self.literal(inner),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.literal(a)?, self.literal(b)?);
                match value::binary(op, &Value::Int(a), &Value::Int(b)) {
                    Ok(Value::Int(n)) => Some(n),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `a || b`, `a && b`: `b` is evaluated only if `a` leaves it open.
    fn short_circuit(
        &mut self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        span: Span,
        dst: Option<Slot>,
    ) -> Ev {
        let decides = op == BinaryOp::Or;
        let slot = self.frame().temp();
        let left = self.condition_to(a, Some(slot));
        let known = self.constant(left).and_then(|value| value.as_condition().ok());
        if known == Some(decides) {
            let right = self.never_executed(b);
            let bad = left.is_bad() || right.is_bad();
            return if bad { Ev::BAD } else { self.known(Value::Bool(decides)) };
        }
        if known.is_some() {
            let right = self.condition_value(b);
            let bad = left.is_bad() || right.is_bad();
            return if bad { Ev::BAD } else { self.as_boolean(right, span, dst) };
        }
        self.test_into(slot, left, span);
        let cond = Operand::slot(slot);
        let jump = self.emit(Instr::JumpIf { cond, when: decides, to: 0 }, span);
        let outer = self.around.differs;
        if left.differs {
            self.around.differs = Some(self.ast.expr_span(a));
        }
        let right = self.condition_to(b, Some(slot));
        self.around.differs = outer;
        self.test_into(slot, right, span);
        self.patch_here(jump);
        if left.is_bad() || right.is_bad() {
            return Ev::BAD;
        }
        Ev { operand: cond, types: Types::BOOL, differs: left.differs || right.differs }
    }

    /// The truth of a condition in a hidden slot, where it may be already.
    fn test_into(&mut self, slot: Slot, ev: Ev, span: Span) {
        if ev.operand != Operand::slot(slot) || ev.types != Types::BOOL {
            self.emit(Instr::Test { dst: slot, a: ev.operand }, span);
        }
    }

    /// A condition that constants switch off: checked, but no code is left of it.
    fn never_executed(&mut self, id: ExprId) -> Ev {
        let (code, dead) = (self.plan.code.len(), self.notes.dead_code.len());
        let ev = self.switched_off(true, |lower| lower.condition_value(id));
        self.plan.code.truncate(code);
        self.plan.spans.truncate(code);
        self.notes.dead_code.truncate(dead);
        ev
    }

    fn as_boolean(&mut self, ev: Ev, span: Span, dst: Option<Slot>) -> Ev {
        match self.constant(ev).map(Value::as_condition) {
            Some(Ok(known)) => self.known(Value::Bool(known)),
            _ => self.computed(dst, Types::BOOL, ev.differs, span, |dst| Instr::Test {
                dst,
                a: ev.operand,
            }),
        }
    }

    /// The value of an expression that has to be a condition.
    pub(super) fn condition_value(&mut self, id: ExprId) -> Ev {
        self.condition_to(id, None)
    }

    fn condition_to(&mut self, id: ExprId, dst: Option<Slot>) -> Ev {
        let ev = self.expr_to(id, dst);
        if ev.is_bad() || ev.types.may(Types::CONDITION) || !self.is_alive() {
            return ev;
        }
        let message = format!(
            "expected a condition (a boolean or an integer), found {}",
            ev.types.describe()
        );
        self.wrong_type(self.ast.expr_span(id), message)
    }

    fn list(&mut self, items: List, span: Span, dst: Option<Slot>) -> Ev {
        let evs: Vec<Ev> = self.ast.exprs_in(items).map(|id| self.expr(id)).collect();
        if evs.iter().any(|ev| ev.is_bad()) {
            return Ev::BAD;
        }
        let constants: Option<Vec<Value>> =
            evs.iter().map(|ev| self.constant(*ev).cloned()).collect();
        if let Some(values) = constants {
            return match limits::list(values) {
                Ok(list) => self.known(list),
                Err(error) => self.no_value(error, span),
            };
        }
        let differs = evs.iter().any(|ev| ev.differs);
        let args = self.push_args(evs.iter().map(|ev| ev.operand));
        self.computed(dst, Types::LIST, differs, span, |dst| Instr::List { dst, args })
    }

    fn index(&mut self, list: ExprId, at: ExprId, span: Span, dst: Option<Slot>) -> Ev {
        let whole = self.expr(list);
        let number = self.expr(at);
        if whole.is_bad() || number.is_bad() {
            return Ev::BAD;
        }
        if !whole.types.may(Types::LIST) && self.is_alive() {
            let message = format!("expected a list before `[`, found {}", whole.types.describe());
            return self.wrong_type(self.ast.expr_span(list), message);
        }
        if !number.types.may(Types::AS_INT) && self.is_alive() {
            let message = format!("expected an integer index, found {}", number.types.describe());
            return self.wrong_type(self.ast.expr_span(at), message);
        }
        if let (Some(items), Some(at)) = (self.constant(whole), self.constant(number)) {
            match value::index(items, at).cloned() {
                Ok(value) => return self.known(value),
                Err(error) if self.is_alive() => return self.no_value(error, span),
                Err(_) => {}
            }
        }
        let types = match self.constant(whole) {
            Some(Value::List(items)) => {
                items.iter().map(Types::of).fold(Types::NONE, Types::or).or_any()
            }
            _ => Types::ANY,
        };
        let (list, index) = (whole.operand, number.operand);
        self.computed_over(&[whole, number], dst, types, span, |dst| Instr::Index {
            dst,
            list,
            index,
        })
    }

    /// `$$name`
    fn internal(&mut self, name: Name, span: Span, dst: Option<Slot>) -> Ev {
        let text = self.ast.names.text(name);
        let Some(row) = InternalRow::find(text) else {
            self.unknown_internal(text, span);
            return Ev::BAD;
        };
        match row.read {
            Read::Bound(bound) => self.known(Value::Int(self.bound_value(bound))),
            Read::Running(_) if !self.internal_fits(row, span) => Ev::BAD,
            Read::Running(what) => {
                self.note_internal(what, span);
                let differs = what.differs_between_ranks();
                self.computed(dst, row.types, differs, span, |dst| Instr::Internal { what, dst })
            }
        }
    }

    /// An internal variable that is a constant.
    pub(super) fn bound_value(&self, bound: Bound) -> i64 {
        match bound {
            Bound::Ranks => self.plan.ranks.into(),
            Bound::Nodes => self.binding.nodes().into(),
        }
    }

    /// Remembers what reading an internal variable means for the checks.
    pub(super) fn note_internal(&mut self, what: Internal, span: Span) {
        if what.row().sameness == Sameness::OfGroupInStep {
            let what =
                format!("$${}, which must be read equally often by all members,", what.row().name);
            self.collective(&what, span);
        }
    }

    #[cold]
    pub(super) fn unknown_internal(&mut self, text: &str, span: Span) {
        let names = || INTERNALS.iter().map(|row| row.name);
        let help = match (text, nearest(text, names())) {
            ("env", _) => "write $$env(NAME) with the name of an environment variable".into(),
            (_, Some(name)) => format!("the nearest is $${name}"),
            _ => {
                let all: Vec<String> = names().map(|name| format!("$${name}")).collect();
                format!("there are {} $$env(NAME)", all.join(" "))
            }
        };
        let message = format!("expected an internal variable, found $${text}");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }

    /// `$$env(NAME)`
    pub(super) fn environment(&mut self, name: &str, span: Span) -> Ev {
        match self.environment_text(name) {
            Some(text) => self.known_text(text.as_bytes()),
            None => {
                let message = format!("the environment has no variable {name}");
                let help = format!("set it before the run: {name}=... parabench run ...");
                self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
                Ev::BAD
            }
        }
    }

    pub(super) fn environment_text(&self, name: &str) -> Option<String> {
        match name {
            "PWD" => Some(self.binding.directory.clone().unwrap_or_else(|| ".".into())),
            _ => (self.binding.env)(name),
        }
    }

    #[cold]
    fn word_as_value(&mut self, span: Span) -> Ev {
        let text = self.reader.text(span);
        let message = format!("expected a value, found `{text}`");
        let help =
            format!("variables begin with `$`, texts stand in quotes: ${text} or \"{text}\"");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        Ev::BAD
    }

    /// An operation where a value is wanted.
    #[cold]
    pub(super) fn op_as_value(&mut self, op: Op, span: Span) -> Ev {
        let help = match op.row().gives_handle {
            true => format!("it stands alone: $h = {}(...);", op.name()),
            false if op.is_io() => format!("its result is assigned: $ok = {op}(...); if ($ok) ..."),
            false => format!("it is a statement: {}", op.row().example),
        };
        let message = format!("expected a value, found the operation {}", op.name());
        self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        Ev::BAD
    }

    /// The name of what is called is an operation.
    pub(super) fn called_op(&self, name: Name) -> Option<Op> {
        match classify(self.ast.names.text(name)).0 {
            Word::Op(op) => Some(op),
            _ => None,
        }
    }

    /// A constant expression without a value.
    #[cold]
    pub(super) fn no_value(&mut self, error: EvalError, span: Span) -> Ev {
        let code = match error {
            EvalError::DivisionByZero | EvalError::Overflow(_) => Code::Arithmetic,
            EvalError::Type(..) | EvalError::Operands(..) | EvalError::Unset => Code::WrongType,
            EvalError::Index(..) | EvalError::Range(..) | EvalError::Asserted(_) => Code::BadValue,
        };
        self.reports.push(Diagnostic::new(code, span, error.to_string()));
        Ev::BAD
    }

    #[cold]
    pub(super) fn wrong_type(&mut self, span: Span, message: String) -> Ev {
        self.reports.push(Diagnostic::new(Code::WrongType, span, message));
        Ev::BAD
    }

    /// Operands side by side in [`model::Plan::args`].
    pub(super) fn push_args(&mut self, operands: impl IntoIterator<Item = Operand>) -> Args {
        let start = self.plan.args.len() as u32;
        self.plan.args.extend(operands);
        Args { start, len: self.plan.args.len() as u32 - start }
    }
}
