//! Expressions, calls of functions, and lists: constants are folded, the rest becomes code.

use super::state::{Ev, Lower};
use crate::ast::{Expr, ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::foreign::words;
use crate::resolve::result_of;
use crate::word::{Word, classify, nearest, suggest};
use model::function::{Accepts, Calc, FUNCTIONS, Function, FunctionRow};
use model::internal::{Bound, INTERNALS, InternalRow, Read, Sameness};
use model::limits::MAX_LIST_DEPTH;
use model::op::ParamKind;
use model::plan::{Args, BinaryOp, Instr, Internal, NO_SLOT, Operand, Slot, Source, Span, UnaryOp};
use model::types::{self, Types};
use model::value::{self, EvalError};
use model::{Op, Value, limits};

/// Counters of a program: each is a communicator under MPI.
const COUNTERS_MAX: usize = 64;

/// Why a rank cannot know what another one draws or asks for.
pub(crate) const RUNNING: &str = "is found out while the program runs";

impl Lower<'_> {
    /// The value of an expression, a result in a hidden slot.
    pub(crate) fn expr(&mut self, id: ExprId) -> Ev {
        self.expr_to(id, None)
    }

    /// The value of an expression; a result goes to `dst` if there is one.
    pub(crate) fn expr_to(&mut self, id: ExprId, dst: Option<Slot>) -> Ev {
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
            Expr::Binary(op, a, b) => match self.literal(id, 4) {
                Some(n) => self.known(Value::Int(n)),
                None => self.binary(op, a, b, span, dst),
            },
            Expr::Conditional(cond, a, b) => self.conditional([cond, a, b], dst, Self::expr_to),
            Expr::Paren(inner) => self.expr_to(inner, dst),
            Expr::Call(name, args) => self.call(name, args, span, dst),
            Expr::List(items) => self.list(items, span, dst),
            Expr::Index(list, at) => self.index(list, at, span, dst),
            // As it is said everywhere: operations per second.
            Expr::Rate(n) => self.known(Value::Int(n)),
            Expr::Named(..) | Expr::Word(_) => self.word_as_value(span),
        }
    }

    /// The value of operators between integers: only the result becomes a constant of the plan. Not for
    /// many operators in a row, which would be looked at again and again where a variable stands among them.
    fn literal(&self, id: ExprId, height: u32) -> Option<i64> {
        match self.ast.expr(id) {
            Expr::Int(n) => Some(n),
            Expr::Binary(op, a, b) if height > 0 => {
                let (a, b) = (self.literal(a, height - 1)?, self.literal(b, height - 1)?);
                match value::binary(op, &Value::Int(a), &Value::Int(b)) {
                    Ok(Value::Int(n)) => Some(n),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An instruction whose result is a value.
    pub(crate) fn computed(
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
    fn computed_over(
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
        let makes_text = op == BinaryOp::Add && (self.ast.is_text(a) || self.ast.is_text(b));
        let ids = [a, b];
        let a = self.expr(a);
        let a = self.kept(a, span);
        let b = self.expr(b);
        if makes_text {
            self.warn_number_in_text(ids, [a, b], span);
            return self.joined_text([a, b], span);
        }
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

    /// `"5" + 5` is "55".
    fn warn_number_in_text(&mut self, ids: [ExprId; 2], [a, b]: [Ev; 2], span: Span) {
        let numeric = Types::INT.or(Types::FLOAT);
        let is_number = |ev: Ev| !ev.is_bad() && ev.types.and(numeric) == ev.types;
        let is_plain = |id| !self.sources.text(self.ast.expr_span(id)).contains('$');
        let holds_number = |id, ev: Ev| match self.constant(ev) {
            Some(text @ Value::Str(_)) => is_plain(id) && value::number(text).is_ok(),
            _ => false,
        };
        if holds_number(ids[0], a) && is_number(b) || is_number(a) && holds_number(ids[1], b) {
            let message = "`+` joins a text in quotes and a number: \"5\" + 5 is \"55\"";
            let help = "write the number without quotes for the sum, or one text: \"5$x\"";
            self.reports.push(Diagnostic::new(Code::NumberInText, span, message).help(help));
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
            let right = self.never_executed(|lower| lower.condition_value(b));
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
        let differs = left.differs.then(|| self.ast.expr_span(a));
        let right = self.under(false, differs, |lower| lower.condition_to(b, Some(slot)));
        self.test_into(slot, right, span);
        self.patch_here([jump]);
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

    /// Something that constants switch off: checked, but no code is left of it.
    fn never_executed(&mut self, evaluate: impl FnOnce(&mut Self) -> Ev) -> Ev {
        let code = self.plan.code.len();
        let ev = self.switched_off(true, evaluate);
        self.plan.code.truncate(code);
        self.plan.spans.truncate(code);
        ev
    }

    /// `cond ? a : b`: one of the two is evaluated, by `branch`.
    fn conditional(
        &mut self,
        [cond, a, b]: [ExprId; 3],
        dst: Option<Slot>,
        branch: fn(&mut Self, ExprId, Option<Slot>) -> Ev,
    ) -> Ev {
        let place = self.ast.expr_span(cond);
        let cond = self.condition_value(cond);
        if let Some(holds) = self.known_condition(cond) {
            let (taken, other) = if holds { (a, b) } else { (b, a) };
            let left_out = self.never_executed(|lower| branch(lower, other, None));
            let ev = branch(self, taken, dst);
            return if left_out.is_bad() { Ev::BAD } else { ev };
        }
        let slot = dst.unwrap_or_else(|| self.frame().temp());
        let differs = cond.differs.then_some(place);
        let otherwise = self.jump_unless(cond, place);
        let a = self.under(false, differs, |lower| lower.branch_to(slot, a, branch));
        let over = self.emit(Instr::Jump { to: 0 }, place);
        self.patch_here(otherwise);
        let b = self.under(false, differs, |lower| lower.branch_to(slot, b, branch));
        self.patch_here([over]);
        if [cond, a, b].iter().any(|ev| ev.is_bad()) {
            return Ev::BAD;
        }
        let differs = cond.differs || a.differs || b.differs;
        Ev { operand: Operand::slot(slot), types: a.types.or(b.types), differs }
    }

    fn branch_to(
        &mut self,
        slot: Slot,
        id: ExprId,
        branch: fn(&mut Self, ExprId, Option<Slot>) -> Ev,
    ) -> Ev {
        let ev = branch(self, id, Some(slot));
        if !ev.is_bad() && ev.operand != Operand::slot(slot) {
            self.emit(Instr::Move { dst: slot, src: ev.operand }, self.ast.expr_span(id));
        }
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
    pub(crate) fn condition_value(&mut self, id: ExprId) -> Ev {
        self.condition_to(id, None)
    }

    fn condition_to(&mut self, id: ExprId, dst: Option<Slot>) -> Ev {
        let ev = self.expr_to(id, dst);
        let what = "a condition (a boolean or an integer)";
        self.of_type(ev, Types::CONDITION, what, self.ast.expr_span(id))
    }

    /// The value if it can be of these types; if not, it is reported.
    pub(crate) fn of_type(&mut self, ev: Ev, wanted: Types, what: &str, span: Span) -> Ev {
        if ev.is_bad() || ev.types.may(wanted) || !self.is_alive() {
            return ev;
        }
        let message = format!("expected {what}, found {}", self.describe(ev));
        self.wrong_type(span, message)
    }

    /// A value in words, as far as it is known.
    pub(crate) fn describe(&self, ev: Ev) -> String {
        self.constant(ev).map_or_else(|| ev.types.describe(), Value::describe)
    }

    fn list(&mut self, items: List, span: Span, dst: Option<Slot>) -> Ev {
        let items: Vec<ExprId> = self.ast.exprs_in(items).collect();
        let evs: Vec<Ev> = items.into_iter().map(|id| self.taken_and_kept(id, span)).collect();
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
        let whole = self.kept(whole, span);
        let number = self.expr(at);
        let whole = self.of_type(whole, Types::LIST, "a list before `[`", self.ast.expr_span(list));
        let place = self.ast.expr_span(at);
        let number = self.of_type(number, Types::AS_INT, "an integer index", place);
        if whole.is_bad() || number.is_bad() {
            return Ev::BAD;
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
                items.iter().map(Types::of_value).fold(Types::NONE, Types::or).or_any()
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
        self.internal_value(self.ast.names.text(name), span, dst)
    }

    /// The value of an internal variable by its name.
    pub(crate) fn internal_value(&mut self, text: &str, span: Span, dst: Option<Slot>) -> Ev {
        let Some(row) = InternalRow::find(text) else {
            self.unknown_internal(text, span);
            return Ev::BAD;
        };
        match row.read {
            Read::Bound(bound) => self.known(Value::Int(self.bound_value(bound))),
            Read::Running(_) if !self.internal_fits(row, span) => Ev::BAD,
            Read::Running(what) if self.asked.is_some() => self.internal_on_rank(what, span),
            Read::Running(what) => {
                self.note_internal(what, span);
                let differs = what.differs_between_ranks();
                self.computed(dst, row.types, differs, span, |dst| Instr::Internal { what, dst })
            }
        }
    }

    /// An internal variable that is a constant.
    pub(crate) fn bound_value(&self, bound: Bound) -> i64 {
        match bound {
            Bound::Ranks => self.plan.ranks.into(),
            Bound::Nodes => self.binding.nodes().into(),
        }
    }

    /// Remembers what reading an internal variable means for the checks.
    pub(crate) fn note_internal(&mut self, what: Internal, span: Span) {
        if what.row().sameness == Sameness::OfGroupInStep {
            let what =
                format!("$${}, which must be read equally often by all members,", what.row().name);
            self.collective(&what, span);
        }
    }

    #[cold]
    pub(crate) fn unknown_internal(&mut self, text: &str, span: Span) {
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
    pub(crate) fn environment(&mut self, name: &str, span: Span) -> Ev {
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

    fn environment_text(&self, name: &str) -> Option<String> {
        match name {
            "PWD" => Some(self.binding.directory.clone().unwrap_or_else(|| ".".into())),
            _ => (self.binding.env)(name),
        }
    }

    #[cold]
    fn word_as_value(&mut self, span: Span) -> Ev {
        let text = self.sources.text(span);
        let message = format!("expected a value, found `{text}`");
        let help = format!("variables begin with `$`; put a text in quotes: ${text} or \"{text}\"");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        Ev::BAD
    }

    /// `2 * read("a")`: the result of an operation.
    fn operation_value(&mut self, op: Op, args: List, span: Span, dst: Option<Slot>) -> Ev {
        if !op.is_io() {
            return self.op_as_value(op, span);
        }
        if self.is_refused_here(&format!("the operation {op}"), span) {
            return Ev::BAD;
        }
        let Some(args) = self.op_arguments(op, args, span) else { return Ev::BAD };
        let slot = dst.unwrap_or_else(|| self.frame().temp());
        self.emit_op(op, slot, args, span);
        let differs = self.around.differs.is_some() || !op.row().gives_handle();
        Ev { operand: Operand::slot(slot), types: result_of(op), differs }
    }

    /// The value of an expression whose handle somebody keeps, who closes the file:
    /// `return fopen($path, "r");`
    pub(crate) fn taken(&mut self, id: ExprId, dst: Option<Slot>) -> Ev {
        let span = self.ast.expr_span(id);
        match self.ast.expr(id) {
            Expr::Paren(inner) => self.taken(inner, dst),
            Expr::Conditional(cond, a, b) => self.conditional([cond, a, b], dst, Self::taken),
            Expr::Call(name, args) => match self.called_op(name) {
                Some(op) => self.operation_value(op, args, span, dst),
                None => self.call(name, args, span, dst),
            },
            _ => self.expr_to(id, dst),
        }
    }

    /// A part of `whole` that is still needed after the others.
    pub(crate) fn taken_and_kept(&mut self, id: ExprId, whole: Span) -> Ev {
        let ev = self.taken(id, None);
        self.kept(ev, whole)
    }

    /// The value of a part of an expression, whatever the variables become that a proc called in the
    /// expression sets.
    pub(crate) fn kept(&mut self, ev: Ev, whole: Span) -> Ev {
        Ev { operand: self.kept_operand(ev.operand, whole), ..ev }
    }

    pub(crate) fn kept_operand(&mut self, operand: Operand, whole: Span) -> Operand {
        let first = self.calls.partition_point(|place| *place <= whole.start);
        let is_called = self.calls.get(first).is_some_and(|place| *place < whole.end);
        // Also a variable that no proc can change: where it is not set, the call does not come about.
        let is_fixed = match operand.source() {
            Source::Slot(_) => self.frame().held(operand).is_some(),
            Source::Template(_) => false,
            Source::Const(_) | Source::Absent => true,
        };
        if is_fixed || !is_called {
            return operand;
        }
        let dst = self.frame().temp();
        self.emit(Instr::Move { dst, src: operand }, whole);
        Operand::slot(dst)
    }

    /// Nothing is executed here; that is reported.
    pub(crate) fn is_refused_here(&mut self, what: &str, span: Span) -> bool {
        if self.asked.is_some() {
            self.refuse(span, RUNNING);
            return true;
        }
        self.is_refused_in_pattern(what, span)
    }

    /// The file that is opened could never be closed.
    #[cold]
    fn lost_handle(&mut self, op: Op, span: Span) -> Ev {
        let message = format!("the handle that {op} gives is lost here");
        let help = format!("assign it before: $h = {op}(...);");
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
        Ev::BAD
    }

    /// An operation without a result where a value is wanted.
    #[cold]
    pub(crate) fn op_as_value(&mut self, op: Op, span: Span) -> Ev {
        let help = format!("it is a statement: {}", op.row().example);
        let message = format!("expected a value, found the operation {}", op.name());
        self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        Ev::BAD
    }

    /// The name of what is called is an operation.
    pub(crate) fn called_op(&self, name: Name) -> Option<Op> {
        match classify(self.ast.names.text(name)).0 {
            Word::Op(op) => Some(op),
            _ => None,
        }
    }

    /// A constant expression without a value.
    #[cold]
    pub(crate) fn no_value(&mut self, error: EvalError, span: Span) -> Ev {
        let code = match error {
            EvalError::DivisionByZero | EvalError::Overflow(_) => Code::Arithmetic,
            EvalError::Type(..) | EvalError::Operands(..) | EvalError::Unset => Code::WrongType,
            EvalError::Index(..) | EvalError::Range(..) | EvalError::Asserted(_) => Code::BadValue,
        };
        self.reports.push(Diagnostic::new(code, span, error.to_string()));
        Ev::BAD
    }

    #[cold]
    pub(crate) fn wrong_type(&mut self, span: Span, message: String) -> Ev {
        self.reports.push(Diagnostic::new(Code::WrongType, span, message));
        Ev::BAD
    }

    /// Operands side by side in [`model::Plan::args`].
    pub(crate) fn push_args(&mut self, operands: impl IntoIterator<Item = Operand>) -> Args {
        let start = self.plan.args.len() as u32;
        self.plan.args.extend(operands);
        Args { start, len: self.plan.args.len() as u32 - start }
    }

    /// `name(args)` in an expression.
    pub(crate) fn call(&mut self, name: Name, args: List, span: Span, dst: Option<Slot>) -> Ev {
        if let Some(op) = self.called_op(name) {
            return match op.row().gives_handle() {
                true => self.lost_handle(op, span),
                false => self.operation_value(op, args, span, dst),
            };
        }
        let text = self.ast.names.text(name);
        if self.facts.find(Kind::Proc, text).is_some() {
            return self.proc_value(name, args, span, dst);
        }
        let Some(row) = FunctionRow::find(text) else {
            return self.unknown_function(name, span);
        };
        if self.asked.is_some() && !row.is_pure() {
            return self.refuse(span, RUNNING);
        }
        if !self.function_fits(row, span) {
            return Ev::BAD;
        }
        if !row.takes(args.len as usize) {
            let message = format!("expected {}, found {} arguments", row.form, args.len);
            self.reports.push(Diagnostic::new(Code::Arguments, span, message));
            return Ev::BAD;
        }
        self.function(row, args, span, dst)
    }

    fn function(&mut self, row: &FunctionRow, args: List, span: Span, dst: Option<Slot>) -> Ev {
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let numbered = ids.iter().enumerate();
        let evs = numbered.map(|(at, id)| {
            let ev = self.function_argument(row.accepts(at), *id);
            self.kept(ev, span)
        });
        let evs: Vec<Ev> = evs.collect();
        if evs.iter().any(|ev| ev.is_bad()) {
            return Ev::BAD;
        }
        if matches!(row.calc, Calc::Read) {
            return self.list_of_file(&ids, &evs);
        }
        if let Some(result) = self.fold_function(row, &evs, span) {
            return result;
        }
        if let Some(error) = self.refuses(row, &evs) {
            return self.no_value(error, span);
        }
        if row.is_of_all_ranks() && self.is_for_some_ranks(row, span) {
            return Ev::BAD;
        }
        let mut is_right = true;
        for (at, (id, ev)) in ids.iter().zip(&evs).enumerate() {
            let (wanted, words) = row.accepts(at).types();
            is_right &= !self.of_type(*ev, wanted, words, self.ast.expr_span(*id)).is_bad();
        }
        if !is_right {
            return Ev::BAD;
        }
        if row.mixes(evs.iter().map(|ev| ev.types)) && self.is_alive() {
            let message = format!("{} cannot mix durations with other numbers", row.name);
            return self.wrong_type(span, message);
        }
        let function = row.function;
        if row.is_collective() {
            self.collective(row.name, span);
        }
        self.around.inside.asks |= row.takes_path();
        if function == Function::Next && !self.counter(&evs[0], self.ast.expr_span(ids[0])) {
            return Ev::BAD;
        }
        let differs = row.differs() || row.is_pure() && evs.iter().any(|ev| ev.differs);
        let types = row.result(evs.iter().map(|ev| ev.types)).or_any();
        let args = self.push_args(evs.iter().map(|ev| ev.operand));
        let made = self.computed_over(&evs, dst, types, span, |dst| Instr::Function {
            function,
            dst,
            args,
        });
        Ev { differs, ..made }
    }

    fn function_argument(&mut self, accepts: Accepts, id: ExprId) -> Ev {
        match accepts {
            Accepts::Pattern => self.pattern_argument(id),
            Accepts::Path => match self.path(id, ParamKind::Path) {
                Some(operand) => Ev { operand, types: Types::STR, differs: false },
                None => Ev::BAD,
            },
            Accepts::Samples => self.samples(id),
            _ => self.expr(id),
        }
    }

    /// Why a number cannot be drawn with these arguments, or a figure asked for, if they are constants.
    fn refuses(&self, row: &FunctionRow, evs: &[Ev]) -> Option<EvalError> {
        let error = match row.calc {
            Calc::Drawn(draw) => {
                let values: Option<Vec<Value>> =
                    evs.iter().map(|ev| self.constant(*ev).cloned()).collect();
                draw.check(&values?).err()?
            }
            Calc::Measured(figure) => match self.constant(*evs.get(1)?)? {
                Value::Str(text) => figure.choice(text).err()?,
                _ => return None,
            },
            _ => return None,
        };
        // Wrong types have words of their own.
        let is_range = matches!(error, EvalError::Range(..));
        (is_range && self.is_alive()).then_some(error)
    }

    /// Gives the counter of this name its place in the plan; false: the name is not known before the run.
    fn counter(&mut self, name: &Ev, span: Span) -> bool {
        let Some(name) = self.known_argument(*name) else {
            if self.is_alive() {
                let message = "expected the name of a counter in quotes, without variables";
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
            }
            return !self.is_alive();
        };
        if !self.plan.counters.contains(&name) {
            self.plan.counters.push(name);
        }
        if self.plan.counters.len() > COUNTERS_MAX {
            let message = format!("expected at most {COUNTERS_MAX} counters");
            self.reports.push(Diagnostic::new(Code::BadValue, span, message));
        }
        self.plan.counters.len() <= COUNTERS_MAX
    }

    /// A function of all ranks stands where only some are, who would wait for the others.
    fn is_for_some_ranks(&mut self, row: &FunctionRow, span: Span) -> bool {
        let ranks = self.plan.ranks as usize;
        let is_part = self.around.active.as_ref().is_some_and(|active| active.len() < ranks);
        if is_part && self.is_alive() {
            let message = format!("{} is asked for by all ranks, and here only some are", row.name);
            let help = format!("write it after the group: $x = {};", row.form);
            self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
        }
        is_part
    }

    /// The result if it is a constant.
    fn fold_function(&mut self, row: &FunctionRow, evs: &[Ev], span: Span) -> Option<Ev> {
        let values: Option<Vec<Value>> = evs.iter().map(|ev| self.constant(*ev).cloned()).collect();
        match row.pure(&values?, self.plan.seed)? {
            Ok(value) => Some(self.known(value)),
            Err(error) if self.is_alive() => Some(self.no_value(error, span)),
            Err(_) => None,
        }
    }

    #[cold]
    fn unknown_function(&mut self, name: Name, span: Span) -> Ev {
        let text = self.ast.names.text(name);
        let message = format!("expected a function, found `{text}`");
        let names = || FUNCTIONS.iter().map(|row| row.name);
        let hint = words::function(text).map(str::to_string);
        let hint = hint.or_else(|| suggest(text, names().chain(self.facts.names(Kind::Proc))));
        let help =
            hint.unwrap_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(" ")));
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        Ev::BAD
    }
}

/// `push(list, value)` is no operation of the table: it is not measured.
pub(crate) const PUSH: &str = "push";

impl Lower<'_> {
    /// `push($list, value);`, `push($list[at], value);`
    pub(crate) fn push_item(&mut self, args: List, global: bool, span: Span) {
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let [list, value] = ids[..] else {
            let message = format!("expected push($list, value), found {} arguments", args.len);
            self.reports.push(Diagnostic::new(Code::Arguments, span, message));
            return;
        };
        if let Some((list, args)) = self.change(list, value, global) {
            self.emit(Instr::Push { list, args }, span);
        }
    }

    /// `$list[at] = value;`, `$list[at][at] = value;`
    pub(crate) fn set_item(&mut self, item: ExprId, value: ExprId, global: bool, span: Span) {
        if let Some((list, args)) = self.change(item, value, global) {
            self.emit(Instr::SetItem { list, args }, span);
        }
    }

    /// The variable whose list changes, the indices in it and the value.
    fn change(&mut self, place: ExprId, value: ExprId, global: bool) -> Option<(Slot, Args)> {
        let (var, indices) = self.ast.element(place);
        let (start, end) = (self.ast.expr_span(place).start, self.ast.expr_span(value).end);
        let indices = self.indices(place, indices);
        let indices: Vec<Ev> =
            indices.into_iter().map(|at| self.kept(at, Span { start, end })).collect();
        let value = self.taken(value, None);
        let differs = value.differs || indices.iter().any(|index| index.differs);
        let list = self.changed_list(var, value.is_bad(), differs, global)?;
        if indices.iter().any(|index| index.is_bad()) {
            return None;
        }
        let args = indices.iter().chain([&value]).map(|ev| ev.operand);
        Some((list, self.push_args(args)))
    }

    fn indices(&mut self, place: ExprId, indices: Vec<ExprId>) -> Vec<Ev> {
        if indices.len() > MAX_LIST_DEPTH {
            let span = self.ast.expr_span(place);
            let message =
                format!("expected at most {MAX_LIST_DEPTH} indices, found {}", indices.len());
            self.reports.push(Diagnostic::new(Code::BadValue, span, message));
            return vec![Ev::BAD];
        }
        indices.into_iter().map(|at| self.integer(at, "an index")).collect()
    }

    /// The variable whose list takes a value; `None`: there is none, which is reported.
    fn changed_list(
        &mut self,
        list: ExprId,
        bad: bool,
        differs: bool,
        global: bool,
    ) -> Option<Slot> {
        let span = self.ast.expr_span(list);
        let Expr::Var(name) = self.ast.expr(list) else {
            let message = "expected a variable that holds a list";
            let help = "only the list of a variable can be changed: push($list, value);";
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
            return None;
        };
        if global && self.is_global_misplaced(name, span) {
            return None;
        }
        let whole = self.variable(name, span);
        if self.of_type(whole, Types::LIST, "a list", span).is_bad() || bad {
            return None;
        }
        let differs = differs || self.around.differs.is_some();
        if global {
            return self.global_slot(span.start, differs);
        }
        let symbol = self.mentioned(span.start)?.symbol;
        let body = self.proc.as_ref().and_then(|proc| proc.owner);
        if self.place(symbol).slot == NO_SLOT || self.facts.symbol(symbol).owner != body {
            self.not_the_procs(name, span);
            return None;
        }
        Some(self.define(symbol, differs))
    }

    #[cold]
    fn not_the_procs(&mut self, name: Name, span: Span) {
        let text = self.ast.names.text(name);
        let message = format!("${text} is a variable of the program, which a proc only reads");
        let help = format!(
            "write global push(${text}, ...); or global ${text}[0] = ...; or change a copy: $list = ${text};"
        );
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }

    /// The list in a slot of its own, because the body may change the variable, and its length.
    pub(crate) fn kept_list(
        &mut self,
        whole: Ev,
        count: Option<usize>,
        span: Span,
    ) -> (Operand, Operand) {
        if let Some(count) = count {
            return (whole.operand, self.known(Value::Int(count as i64)).operand);
        }
        let list = self.frame().fresh("");
        self.emit(Instr::Move { dst: list, src: whole.operand }, span);
        let args = self.push_args([Operand::slot(list)]);
        let dst = self.frame().temp();
        self.emit(Instr::Function { function: Function::Len, dst, args }, span);
        (Operand::slot(list), Operand::slot(dst))
    }

    /// A list that is not shared any more grows without being copied.
    pub(crate) fn let_go(&mut self, list: Operand, span: Span) {
        if let Source::Slot(dst) = list.source() {
            let src = self.known(Value::Int(0)).operand;
            self.emit(Instr::Move { dst, src }, span);
        }
    }
}
