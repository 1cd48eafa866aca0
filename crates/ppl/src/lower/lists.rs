//! Lists that change, and loops over their elements.
//!
//! ```text
//! push($list, 3); $list[0] = 1; $list[1][0] = 2; global push($list[1], 4);
//! repeat $x in $list print $x;
//! ```

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId, List, Name, Repeat};
use crate::diag::{Code, Diagnostic};
use model::Value;
use model::function::Function;
use model::limits::MAX_LIST_DEPTH;
use model::plan::{Args, Instr, LoopCode, NO_SLOT, Operand, Slot, Span};
use model::types::Types;

/// `push(list, value)` is no operation of the table: it is not measured.
pub(crate) const PUSH: &str = "push";

impl Lower<'_> {
    /// `push($list, value);`, `push($list[at], value);`
    pub(super) fn push_item(&mut self, args: List, global: bool, span: Span) {
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
    pub(super) fn set_item(&mut self, item: ExprId, value: ExprId, global: bool, span: Span) {
        if let Some((list, args)) = self.change(item, value, global) {
            self.emit(Instr::SetItem { list, args }, span);
        }
    }

    /// The variable whose list changes, the indices in it and the value.
    fn change(&mut self, place: ExprId, value: ExprId, global: bool) -> Option<(Slot, Args)> {
        let (var, indices) = self.ast.element(place);
        let indices = self.indices(place, indices);
        let value = self.expr(value);
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
        if whole.is_bad() || bad {
            return None;
        }
        if !whole.types.may(Types::LIST) && self.is_alive() {
            let message = format!("expected a list, found {}", whole.types.describe());
            self.wrong_type(span, message);
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
        self.note_assigned(name);
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

    /// `repeat $x in list body`
    pub(super) fn repeat_in(&mut self, repeat: &Repeat, span: Span) {
        let whole = self.listed(repeat.from);
        let count = match self.constant(whole) {
            Some(Value::List(items)) => Some(items.len()),
            _ => None,
        };
        let (list, to) = self.kept_list(whole, count, span);
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += u32::from(count.is_none_or(|n| n == 0));
        if whole.differs {
            self.around.differs = Some(self.ast.expr_span(repeat.from));
        }
        let limit = repeat.until.and_then(|until| self.limit(until, span));
        let state = self.frame().enter_loop();
        let (from, step) = (self.known(Value::Int(0)).operand, self.known(Value::Int(1)).operand);
        let index = self.frame().fresh("");
        let code = self.plan.loops.len() as u32;
        self.plan.loops.push(LoopCode {
            state,
            var: index,
            from,
            to,
            step,
            counted: true,
            timed: limit.is_some(),
            body: 0,
            exit: 0,
        });
        self.emit(Instr::Loop { code }, span);
        self.plan.loops[code as usize].body = self.here_pc();
        let Some(var) = repeat.var else { return };
        let slot = self.bind_variable(var, whole.differs);
        self.emit(Instr::Index { dst: slot, list, index: Operand::slot(index) }, span);
        let off = count == Some(0);
        self.switched_off(off, |lower| lower.loop_body(repeat.body, code, limit, span));
        self.frame().release(var.0, slot);
        self.let_go(list, span);
        (self.around.unsure, self.around.differs) = outer;
    }

    /// What stands behind `in`.
    fn listed(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        if ev.is_bad() || ev.types.may(Types::LIST) || !self.is_alive() {
            return ev;
        }
        let span = self.ast.expr_span(id);
        let message = format!("expected a list after `in`, found {}", ev.types.describe());
        let help = "a count stands without `in`: repeat $i 10 {...}";
        self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        Ev::BAD
    }

    /// The list in a slot of its own, because the body may change the variable, and its length.
    fn kept_list(&mut self, whole: Ev, count: Option<usize>, span: Span) -> (Operand, Operand) {
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
    fn let_go(&mut self, list: Operand, span: Span) {
        if let model::plan::Source::Slot(dst) = list.source() {
            let src = self.known(Value::Int(0)).operand;
            self.emit(Instr::Move { dst, src }, span);
        }
    }
}
