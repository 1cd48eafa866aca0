//! Statements: assignments, conditions, labels, loops and their limits, `share`, `mix`.

use super::state::{Ev, Lower, Nest, OpenLoop};
use crate::ast::{Expr, ExprId, If, List, Mix, Name, Repeat, Share, Stmt, StmtId, Time, Until};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, Mention, SymbolId};
use model::evaluate::count_iterations;
use model::plan::{
    BinaryOp, Function, Instr, Internal, Label, LabelKind, LoopCode, NO_SLOT, Operand, PARTS, Pc,
    Slot, Source, Span,
};
use model::types::Types;
use model::{Op, Value};

/// Where execution goes after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On to the next one.
    On,
    /// Never there.
    Away,
}

impl Lower<'_> {
    pub(crate) fn statements(&mut self, list: List) -> Flow {
        let mut flow = Flow::On;
        let mut said = false;
        for id in self.ast.stmts_in(list) {
            if flow == Flow::Away && !said && self.does_something(id) {
                self.unreachable(id);
                said = true;
            }
            if self.statement(id) == Flow::Away {
                flow = Flow::Away;
            }
        }
        flow
    }

    fn does_something(&self, id: StmtId) -> bool {
        !matches!(
            self.ast.stmt(id),
            Stmt::Empty
                | Stmt::Error
                | Stmt::Proc(_)
                | Stmt::Groups(_)
                | Stmt::Pattern(_)
                | Stmt::Hints(..)
        )
    }

    #[cold]
    fn unreachable(&mut self, id: StmtId) {
        let message =
            "this statement is never executed, because what stands before it goes elsewhere";
        self.reports.push(Diagnostic::new(Code::Unreachable, self.ast.stmt_span(id), message));
    }

    /// A statement.
    pub(crate) fn statement(&mut self, id: StmtId) -> Flow {
        let span = self.ast.stmt_span(id);
        self.frame().end_statement();
        if self.in_generator && self.refused_in_generator(id) {
            return Flow::On;
        }
        match self.ast.stmt(id) {
            Stmt::Op { op, args, .. } => self.op_statement(op, args, span),
            Stmt::Assign(_, value) => self.assign(value, span),
            Stmt::Global(name, value) => self.assign_global(name, value, span),
            Stmt::GlobalPush(args) => self.push_item(args, true, span),
            Stmt::Return(value) => return self.return_from(value, span),
            Stmt::SetItem(item, value) => self.set_item(item, value, false, span),
            Stmt::Repeat(number) => self.repeat(self.ast.repeats[number as usize], span),
            Stmt::Block(list) => return self.statements(list),
            Stmt::Time(number) => return self.time(self.ast.times[number as usize], span),
            Stmt::Group(name, body) => self.group(name, body, span),
            Stmt::Split(value, body) => self.split(value, body, span),
            Stmt::Master { body, sync } => self.master(body, sync, span),
            Stmt::Barrier(name) => self.barrier(name, span),
            Stmt::If(number) => return self.if_else(self.ast.ifs[number as usize], span),
            Stmt::While(cond, body) => return self.while_loop(cond, body, span),
            Stmt::Break => return self.leave_loop(span, |open, jump| open.breaks.push(jump)),
            Stmt::Continue => return self.leave_loop(span, |open, jump| open.continues.push(jump)),
            Stmt::With(options, body) => return self.with(options, body, span),
            Stmt::Include(_, list) => return self.statements(list),
            Stmt::Call { name, args } => self.call_statement(name, args, span),
            Stmt::Param(number) => self.param(number, span),
            Stmt::Mix(number) => return self.mix(self.ast.mixes[number as usize], span),
            Stmt::Share(number) => self.share(self.ast.shares[number as usize], span),
            Stmt::Pattern(number) => self.pattern_defined(number, span),
            Stmt::Proc(_) | Stmt::Groups(_) | Stmt::Hints(..) | Stmt::Empty | Stmt::Error => {}
        }
        Flow::On
    }

    /// A statement in a label, a group or a `with`.
    pub(crate) fn nested(&mut self, nest: Nest, body: StmtId) -> Flow {
        self.around.nests.push(nest);
        let flow = self.statement(body);
        self.around.nests.pop();
        flow
    }

    /// `time`, `ctime`
    fn time(&mut self, time: Time, span: Span) -> Flow {
        let text = match time.label {
            Some(label) => self.expr(label).operand,
            None => {
                let (_, line, _) = self.sources.locate(span.start);
                self.known_text(format!("line {line}").as_bytes()).operand
            }
        };
        if time.sync {
            let head = self.ast.stmt_span(time.body).start;
            self.collective(
                "time with sync",
                Span { start: span.start, end: head.max(span.start) },
            );
        }
        let label = self.label(Label { text, kind: time.kind, sync: time.sync, part: false });
        self.emit(Instr::LabelEnter { label }, span);
        let flow = self.nested(Nest::Label, time.body);
        self.emit(Instr::LabelLeave, span);
        flow
    }

    pub(crate) fn label(&mut self, label: Label) -> u32 {
        self.plan.labels.push(label);
        self.plan.labels.len() as u32 - 1
    }

    /// `break`, `continue`: leaves what was entered since the loop began.
    fn leave_loop(&mut self, span: Span, note: impl FnOnce(&mut OpenLoop, Pc)) -> Flow {
        let is_loop = |nest: &Nest| matches!(nest, Nest::Loop | Nest::Share);
        let inner = self.around.nests.iter().rposition(is_loop);
        let Some(inner) = inner else { return Flow::On };
        self.leave_nests(inner + 1, span);
        let jump = self.emit(Instr::Jump { to: 0 }, span);
        if let Some(open) = self.around.loops.last_mut() {
            note(open, jump);
        }
        Flow::Away
    }

    /// Ends the statements around this place, up to the outermost that is left.
    pub(crate) fn leave_nests(&mut self, outermost: usize, span: Span) {
        for at in (outermost..self.around.nests.len()).rev() {
            let leave = match self.around.nests[at] {
                Nest::Label => Instr::LabelLeave,
                Nest::Group => Instr::GroupLeave,
                Nest::With => Instr::WithLeave,
                Nest::Loop | Nest::Share => continue,
            };
            self.emit(leave, span);
        }
    }

    /// The truth of a condition that is a constant.
    pub(crate) fn known_condition(&self, ev: Ev) -> Option<bool> {
        self.constant(ev).and_then(|value| value.as_condition().ok())
    }

    /// A jump where the condition does not hold; none if it always does.
    pub(crate) fn jump_unless(&mut self, cond: Ev, place: Span) -> Option<Pc> {
        let jump = match self.known_condition(cond) {
            Some(true) => return None,
            Some(false) => Instr::Jump { to: 0 },
            None => Instr::JumpIf { cond: cond.operand, when: false, to: 0 },
        };
        Some(self.emit(jump, place))
    }

    /// `if`
    fn if_else(&mut self, If { cond, then, otherwise }: If, span: Span) -> Flow {
        let place = self.ast.expr_span(cond);
        let cond = self.condition_value(cond);
        let known = self.known_condition(cond);
        self.under(true, cond.differs.then_some(place), |lower| {
            let jump = lower.jump_unless(cond, place);
            let then = lower.switched_off(known == Some(false), |lower| lower.statement(then));
            let Some(otherwise) = otherwise else {
                lower.patch_here(jump);
                return Flow::On;
            };
            let over = (known != Some(false)).then(|| lower.emit(Instr::Jump { to: 0 }, span));
            lower.patch_here(jump);
            let flow = lower.switched_off(known == Some(true), |lower| lower.statement(otherwise));
            lower.patch_here(over);
            if then == Flow::Away { flow } else { Flow::On }
        })
    }

    /// `$x = value;`
    fn assign(&mut self, value: ExprId, span: Span) {
        let Some(Mention { symbol, .. }) = self.mentioned(span.start) else { return };
        if let Expr::Call(called, args) = self.ast.expr(value)
            && let Some(op) = self.called_op(called)
        {
            return self.assign_result(symbol, op, args, value, span);
        }
        if let Expr::Call(called, args) = self.ast.expr(value)
            && self.facts.find(Kind::Proc, self.ast.names.text(called)).is_some()
        {
            return self.assign_call(symbol, (called, args), span);
        }
        self.note_value(symbol, value);
        self.warn_parameter(symbol, value, span);
        // A variable that is there takes the result at once.
        let here = self.place(symbol);
        let before = self.plan.code.len();
        let ev = self.taken(value, (here.slot != NO_SLOT).then_some(here.slot));
        let differs = ev.differs || self.around.differs.is_some();
        self.warn_hidden(symbol, span);
        if let Source::Const(konst) = ev.operand.source()
            && self.around.unsure == 0
            && self.is_set_once(symbol)
        {
            return self.define_constant(symbol, konst);
        }
        let dst = self.define(symbol, differs);
        // `$x = $x;` is left in: it is an error if the variable has no value.
        let written = ev.operand == Operand::slot(dst) && self.plan.code.len() > before;
        if ev.is_bad() || written {
            return;
        }
        // The sides of `||`, `&&` and `? :` both write the result.
        let is_jump = |instr: &Instr| matches!(instr, Instr::Jump { .. } | Instr::JumpIf { .. });
        let made = &mut self.plan.code[before..];
        let one = here.slot == NO_SLOT && !made.iter().any(is_jump);
        let made = made.last_mut().filter(|_| one);
        if !made.is_some_and(|last| retarget(last, &self.plan.args, ev.operand, dst)) {
            self.emit(Instr::Move { dst, src: ev.operand }, span);
        }
    }

    /// A parameter is set, always and to what does not depend on its value: the command line sets it in vain.
    fn warn_parameter(&mut self, symbol: SymbolId, value: ExprId, span: Span) {
        let known = self.facts.symbol(symbol);
        let name = self.sources.text(known.span);
        let is_lost = self.around.unsure == 0 && self.is_alive();
        let reads = self.sources.text(self.ast.expr_span(value)).contains(name);
        if known.kind == Kind::Parameter && is_lost && !reads {
            let message = format!("{name} is a parameter, whose value is lost here");
            let help = "take another variable for what changes";
            let diagnostic = Diagnostic::new(Code::ParameterSet, span, message).help(help);
            self.reports.push(diagnostic.related(known.span, "it is defined here"));
        }
    }

    /// `$h = fopen(...);`, `$ok = mkdir(...);`
    fn assign_result(&mut self, symbol: SymbolId, op: Op, args: List, value: ExprId, span: Span) {
        if !op.is_io() {
            self.op_as_value(op, self.ast.expr_span(value));
            self.define(symbol, false);
            return;
        }
        let args = self.op_arguments(op, args, self.ast.expr_span(value));
        self.warn_hidden(symbol, span);
        // What becomes of an operation differs between ranks; whether a file is open is not asked.
        let differs = self.around.differs.is_some() || !op.row().gives_handle();
        let dst = self.define(symbol, differs);
        if op == Op::Pfopen && self.around.alone {
            self.notes.opened_alone.insert(symbol);
        }
        if let Some(place) = self.around.direct.filter(|_| matches!(op, Op::Fopen | Op::Fcreat)) {
            self.notes.opened_direct.entry(symbol).or_insert((0, place)).0 += 1;
        }
        if let Some(args) = args {
            self.emit_op(op, dst, args, span);
        }
    }

    pub(crate) fn emit_op(&mut self, op: Op, dst: Slot, args: u32, span: Span) {
        match self.is_alive() {
            true if op.is_io() => self.around.inside.add(op),
            true => {}
            false => self.around.inside.is_dead = true,
        }
        self.emit(Instr::Op { op, dst, args }, span);
    }

    /// An operation as a statement.
    fn op_statement(&mut self, op: Op, args: List, span: Span) {
        if op.row().gives_handle() {
            let message = format!("expected `$h = {op}(...)`: the handle that {op} gives is lost");
            let fix = (Span { start: span.start, end: span.start }, "$h = ");
            let diagnostic = Diagnostic::new(Code::Misplaced, span, message).fix(fix.0, fix.1);
            self.reports.push(diagnostic);
        }
        let condition = self.ast.exprs_in(args).next().filter(|_| op == Op::Assert);
        if let Some(args) = self.op_arguments(op, args, span) {
            self.emit_op(op, NO_SLOT, args, span);
            condition.into_iter().for_each(|id| self.check_assertion(id, args));
        }
    }

    /// An assertion about parameters or the number of ranks that is certain to fail: the rest of the
    /// program relies on it, so nothing more is said.
    fn check_assertion(&mut self, condition: ExprId, args: u32) {
        let operands = &self.plan.args[args as usize..];
        let (held, text) = (self.constant_of(operands[0]), self.constant_of(operands[1]));
        let fails = held.is_some_and(|held| matches!(held.as_condition(), Ok(false)));
        let may_be_left = |nest: &Nest| matches!(nest, Nest::Loop | Nest::Share);
        let is_certain = self.around.unsure == 0
            && self.proc.is_none()
            && self.is_alive()
            && !self.around.nests.iter().any(may_be_left);
        let written = self.sources.text(self.ast.expr_span(condition));
        if !fails || !is_certain || !written.contains('$') {
            return;
        }
        let text = text.map_or_else(|| written.to_string(), ToString::to_string);
        let span = self.ast.expr_span(condition);
        let message = format!("assertion failed: {text}");
        let values = self.values_in(span);
        let diagnostic = Diagnostic::new(Code::BadValue, span, message);
        self.reports.push(diagnostic.help(format!("now {values}: give others")));
        self.around.fail();
    }

    /// "$b is 1048576, $t is 4194304, $$size is 4": the constants that a part of the text names.
    fn values_in(&mut self, span: Span) -> String {
        let mut values: Vec<String> = Vec::new();
        for at in 0..self.ast.exprs.len() {
            let (id, place) = (ExprId(at as u32), self.ast.expr_spans[at]);
            let is_name = matches!(self.ast.expr(id), Expr::Var(_) | Expr::Internal(_));
            if !is_name || place.start < span.start || place.end > span.end {
                continue;
            }
            let ev = self.expr(id);
            let value = self.constant(ev).map_or_else(|| "unknown".into(), ToString::to_string);
            let value = format!("{} is {value}", self.sources.text(place));
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join(", ")
    }
}

/// Lets an instruction whose result is the hidden slot `result` write to `dst` instead, unless it
/// lets go of a list by that ([`Lower::computed_over`]).
fn retarget(instr: &mut Instr, args: &[Operand], result: Operand, new: Slot) -> bool {
    match instr {
        Instr::Index { list, .. } if *list == result => false,
        Instr::Function { args: of, .. } if args[of.range()].contains(&result) => false,
        Instr::Unary { dst, .. }
        | Instr::Binary { dst, .. }
        | Instr::Function { dst, .. }
        | Instr::Internal { dst, .. }
        | Instr::List { dst, .. }
        | Instr::Index { dst, .. }
            if Operand::slot(*dst) == result =>
        {
            *dst = new;
            true
        }
        _ => false,
    }
}

/// Bounds of a loop.
struct Range {
    from: Ev,
    to: Ev,
    step: Ev,
    /// The elements of this list.
    list: Option<Operand>,
    /// Number of iterations, if it is constant.
    count: Option<u64>,
    /// They differ between ranks, as this place in the text says.
    differs: Option<Span>,
}

impl Lower<'_> {
    /// `repeat`
    pub(crate) fn repeat(&mut self, repeat: Repeat, span: Span) {
        let range = match repeat.in_list {
            true => self.list_range(repeat.from, span),
            false => self.range(&repeat),
        };
        let outer = self.around.differs;
        let limit = repeat.until.and_then(|until| self.limit(until, span));
        let is_unsure = range.count.is_none_or(|n| n == 0);
        self.under(is_unsure, range.differs, |lower| lower.run_loop(&repeat, range, limit, span));
        self.around.differs = outer;
    }

    fn run_loop(&mut self, repeat: &Repeat, range: Range, limit: Option<Limit>, span: Span) {
        let state = self.frame().enter_loop();
        let differs = range.from.differs || range.step.differs;
        let counter = match (range.list, repeat.var) {
            (Some(_), _) => self.frame().fresh(""),
            (None, Some(var)) => self.bind_variable(var, differs),
            (None, None) => NO_SLOT,
        };
        let code = self.plan.loops.len() as u32;
        self.plan.loops.push(LoopCode {
            state,
            var: counter,
            from: range.from.operand,
            to: range.to.operand,
            step: range.step.operand,
            counted: repeat.to.is_none(),
            timed: limit.is_some(),
            body: 0,
            exit: 0,
        });
        self.emit(Instr::Loop { code }, span);
        self.plan.loops[code as usize].body = self.here_pc();
        let mut variable = counter;
        if let Some((list, var)) = range.list.zip(repeat.var) {
            variable = self.bind_variable(var, range.differs.is_some());
            let index = Operand::slot(counter);
            self.emit(Instr::Index { dst: variable, list, index }, span);
        }
        let is_off = range.count == Some(0);
        self.switched_off(is_off, |lower| lower.loop_body(repeat.body, code, limit, span));
        if let Some((name, _)) = repeat.var {
            self.frame().release(name, variable);
        }
        if let Some(list) = range.list {
            self.let_go(list, span);
        }
    }

    /// The body, the way to the next iteration, and what stands behind the loop.
    fn loop_body(&mut self, body: StmtId, code: u32, mut limit: Option<Limit>, span: Span) {
        let over = limit.as_mut().and_then(|limit| self.at_limit(limit));
        let open = self.looped(Nest::Loop, body);
        self.patch_here(open.continues);
        self.emit(Instr::Next { code }, span);
        self.patch_here(open.breaks.into_iter().chain(over));
        self.plan.loops[code as usize].exit = self.here_pc();
        self.frame().leave_loop();
        if let Some(limit) = limit {
            self.limit_left(limit);
        }
    }

    /// The body of a loop, with the jumps that leave it.
    fn looped(&mut self, nest: Nest, body: StmtId) -> OpenLoop {
        self.around.loops.push(OpenLoop::default());
        self.nested(nest, body);
        self.around.loops.pop().unwrap_or_default()
    }

    /// The loop variable's slot.
    fn bind_variable(&mut self, (name, span): (Name, Span), differs: bool) -> Slot {
        let text = self.ast.names.text(name);
        let slot = self.frame().loop_variable(name, text);
        if let Some(mention) = self.mentioned(span.start) {
            self.set_slot(mention.symbol, slot, differs);
        }
        slot
    }

    fn range(&mut self, repeat: &Repeat) -> Range {
        let (from, to, step) = match repeat.to {
            None => {
                let from = self.known(Value::Int(0));
                let to = self.integer(repeat.from, "a number of repetitions");
                (from, to, self.known(Value::Int(1)))
            }
            Some(end) => {
                let from = self.integer(repeat.from, "the start of a range");
                let to = self.integer(end, "the end of a range");
                let step = match repeat.step {
                    Some(step) => self.step(step),
                    None => self.known(Value::Int(1)),
                };
                (from, to, step)
            }
        };
        let end = repeat.step.or(repeat.to).unwrap_or(repeat.from);
        let (start, end) = (self.ast.expr_span(repeat.from).start, self.ast.expr_span(end).end);
        let differs = from.differs || to.differs || step.differs;
        let differs = differs.then_some(Span { start, end });
        let count = self.iterations([from, to, step], repeat);
        Range { from, to, step, list: None, count, differs }
    }

    /// The elements of a list: by their indices.
    fn list_range(&mut self, id: ExprId, span: Span) -> Range {
        let whole = self.expr(id);
        let whole = self.of_type(whole, Types::LIST, "a list after `in`", self.ast.expr_span(id));
        let count = match self.constant(whole) {
            Some(Value::List(items)) => Some(items.len()),
            _ => None,
        };
        let (list, to) = self.kept_list(whole, count, span);
        let (from, step) = (self.known(Value::Int(0)), self.known(Value::Int(1)));
        let differs = whole.differs.then(|| self.ast.expr_span(id));
        let to = Ev { operand: to, types: Types::INT, differs: whole.differs };
        Range { from, to, step, list: Some(list), count: count.map(|n| n as u64), differs }
    }

    fn step(&mut self, id: ExprId) -> Ev {
        let step = self.integer(id, "a step");
        if matches!(self.constant(step), Some(Value::Int(0))) && self.is_alive() {
            let span = self.ast.expr_span(id);
            let message = "expected a step that is not 0";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message));
            return Ev::BAD;
        }
        step
    }

    /// An expression that has to be an integer; a constant becomes one.
    pub(crate) fn integer(&mut self, id: ExprId, what: &str) -> Ev {
        let (ev, span) = (self.expr(id), self.ast.expr_span(id));
        let ev = match ev.types.may(Types::AS_INT) {
            true => ev,
            false => self.of_type(ev, Types::AS_INT, &format!("{what} (an integer)"), span),
        };
        if ev.is_bad() || !self.is_alive() {
            return ev;
        }
        match self.constant(ev).map(Value::as_int) {
            Some(Ok(n)) => self.known(Value::Int(n)),
            Some(Err(error)) => self.no_value(error, span),
            None => ev,
        }
    }

    /// Number of iterations if it is constant. A negative count is reported.
    fn iterations(&mut self, range: [Ev; 3], repeat: &Repeat) -> Option<u64> {
        let [from, to, step] = range.map(|ev| match self.constant(ev) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        });
        if repeat.to.is_none() && to? < 0 && self.is_alive() {
            self.negative_count(to?, self.ast.expr_span(repeat.from));
            return None;
        }
        Some(count_iterations(from?, to?, step?))
    }

    #[cold]
    fn negative_count(&mut self, count: i64, span: Span) {
        let message =
            format!("expected a number of repetitions that is not negative, found {count}");
        let help = "repeat 0 does nothing; a range counts down with step: repeat $i 10..0 step -1";
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
    }

    /// `while`
    fn while_loop(&mut self, cond: ExprId, body: StmtId, span: Span) -> Flow {
        let top = self.here_pc();
        let (value, place) = (self.condition_value(cond), self.ast.expr_span(cond));
        let known = self.known_condition(value);
        let breaks = self.under(true, value.differs.then_some(place), |lower| {
            let exit = lower.jump_unless(value, place);
            let open =
                lower.switched_off(known == Some(false), |lower| lower.looped(Nest::Loop, body));
            open.continues.iter().for_each(|jump| lower.patch(*jump, top));
            lower.emit(Instr::Jump { to: top }, span);
            let breaks = !open.breaks.is_empty();
            lower.patch_here(open.breaks.into_iter().chain(exit));
            breaks
        });
        if self.is_literal(cond) && known == Some(true) && !breaks { Flow::Away } else { Flow::On }
    }

    /// `1`, `true`: constant without any parameter in it.
    fn is_literal(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Int(_) | Expr::Bool(_) => true,
            Expr::Paren(inner) => self.is_literal(inner),
            _ => false,
        }
    }
}

/// The time limit of a loop that is being lowered.
pub(crate) struct Limit {
    /// Three hidden slots: the end, iterations begun, those that every member has to reach.
    state: Slot,
    level: bool,
    span: Span,
    /// Jumps behind the meeting after the loop.
    done: Vec<Pc>,
}

impl Limit {
    fn end(&self) -> Slot {
        self.state
    }

    fn begun(&self) -> Slot {
        self.state.after(1)
    }

    fn bound(&self) -> Slot {
        self.state.after(2)
    }
}

impl Lower<'_> {
    /// The code before the loop.
    pub(crate) fn limit(&mut self, until: Until, span: Span) -> Option<Limit> {
        let ev = self.expr(until.limit);
        let place = self.ast.expr_span(until.limit);
        let what = "a duration after `until`, such as 30s";
        let ev = self.of_type(ev, Types::DURATION, what, place);
        if ev.is_bad() {
            return None;
        }
        if let Some(Value::Duration(..0)) = self.constant(ev) {
            return self.before_its_beginning(place);
        }
        let head = Span { start: span.start, end: place.end };
        self.collective("repeat ... until", head);
        self.emit(Instr::Barrier { group: None }, head);
        let state = self.frame().enter_loop();
        let limit = Limit { state, level: until.level, span: place, done: Vec::new() };
        let (end, now) = (limit.end(), Operand::slot(limit.end()));
        self.emit(Instr::Internal { what: Internal::Now, dst: end }, place);
        self.emit(Instr::Binary { op: BinaryOp::Add, dst: end, a: now, b: ev.operand }, place);
        if until.level {
            self.set_known(limit.begun(), 0, place);
            self.set_known(limit.bound(), i64::MAX, place);
            self.enter_part(0, place);
            self.around.nests.push(Nest::Label);
        }
        self.around.differs = Some(place);
        Some(limit)
    }

    fn before_its_beginning(&mut self, span: Span) -> Option<Limit> {
        if self.is_alive() {
            let message = "expected a duration after `until` that is not negative";
            let help = "it is counted from the loop's beginning: repeat 1m until 30s {...}";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        }
        None
    }

    /// The beginning of the body; a jump that leaves the loop, if its end leaves it at once.
    fn at_limit(&mut self, limit: &mut Limit) -> Option<Pc> {
        let span = limit.span;
        if !limit.level {
            return Some(self.emit(Instr::Limit { end: limit.end(), exit: 0 }, span));
        }
        let top = self.here_pc();
        let reached =
            self.compared(BinaryOp::Ge, limit.begun(), Operand::slot(limit.bound()), span);
        limit.done.push(self.emit(Instr::JumpIf { cond: reached, when: true, to: 0 }, span));
        let run_known = self.if_bounded(limit);
        let over = self.emit(Instr::Limit { end: limit.end(), exit: 0 }, span);
        let run_early = self.emit(Instr::Jump { to: 0 }, span);
        self.patch_here([over]);
        self.meet(limit);
        self.emit(Instr::Jump { to: top }, span);
        self.patch_here([run_known, run_early]);
        let (begun, one) = (limit.begun(), self.known(Value::Int(1)).operand);
        let a = Operand::slot(begun);
        self.emit(Instr::Binary { op: BinaryOp::Add, dst: begun, a, b: one }, span);
        None
    }

    /// The code behind the loop.
    fn limit_left(&mut self, limit: Limit) {
        if limit.level {
            let bounded = self.if_bounded(&limit);
            self.meet(&limit);
            self.patch_here(limit.done.into_iter().chain([bounded]));
            self.around.nests.pop();
            self.emit(Instr::LabelLeave, limit.span);
        }
        self.frame().leave_loop();
    }

    /// All members have come to their limit or to the end of the loop.
    fn meet(&mut self, limit: &Limit) {
        self.emit(Instr::LabelLeave, limit.span);
        let args = self.push_args([Operand::slot(limit.begun())]);
        let (function, dst) = (Function::Gmax, limit.bound());
        self.emit(Instr::Function { function, dst, args }, limit.span);
        self.enter_part(1, limit.span);
    }

    fn enter_part(&mut self, part: usize, span: Span) {
        let text = self.known_text(PARTS[part].as_bytes()).operand;
        let label = self.label(Label { text, kind: LabelKind::Wall, sync: false, part: true });
        self.emit(Instr::LabelEnter { label }, span);
    }

    /// Jumps if the members have met.
    fn if_bounded(&mut self, limit: &Limit) -> Pc {
        let never = self.known(Value::Int(i64::MAX)).operand;
        let cond = self.compared(BinaryOp::Lt, limit.bound(), never, limit.span);
        self.emit(Instr::JumpIf { cond, when: true, to: 0 }, limit.span)
    }

    fn compared(&mut self, op: BinaryOp, a: Slot, b: Operand, span: Span) -> Operand {
        let dst = self.frame().temp();
        self.emit(Instr::Binary { op, dst, a: Operand::slot(a), b }, span);
        Operand::slot(dst)
    }

    fn set_known(&mut self, dst: Slot, number: i64, span: Span) {
        let src = self.known(Value::Int(number)).operand;
        self.emit(Instr::Move { dst, src }, span);
    }

    /// `share`
    pub(crate) fn share(&mut self, share: Share, span: Span) {
        let count = self.alike(share.count, "a number of indices", 0);
        let by = match share.by {
            Some(by) => self.alike(by, "a number of indices after `by`", 1),
            None => self.known(Value::Int(1)),
        };
        let end = self.ast.expr_span(share.by.unwrap_or(share.count)).end;
        let head = Span { start: span.start, end };
        self.collective("share", head);
        self.emit(Instr::Share { count: count.operand, by: by.operand }, head);
        let dst = self.bind_variable(share.var, true);
        let is_off = matches!(self.constant(count), Some(Value::Int(0)));
        self.under(true, Some(head), |lower| {
            lower.switched_off(is_off, |lower| {
                let claim = lower.emit(Instr::Claim { dst, exit: 0 }, head);
                lower.share_body(share, claim, span);
                lower.patch_here([claim]);
            });
        });
        self.frame().release(share.var.0, dst);
        self.emit(Instr::ShareEnd, head);
    }

    fn share_body(&mut self, share: Share, claim: Pc, span: Span) {
        let open = self.looped(Nest::Share, share.body);
        open.continues.iter().for_each(|jump| self.patch(*jump, claim));
        self.emit(Instr::Jump { to: claim }, span);
        if let Some(jump) = open.breaks.first() {
            self.left_share("break", self.plan.spans[*jump as usize]);
        }
    }

    /// `break` or `return` would leave a `share` while the other members go on.
    #[cold]
    pub(crate) fn left_share(&mut self, word: &str, span: Span) {
        let message = format!("`{word}` cannot leave a `share`: the other members go on with it");
        let help = "continue goes on with the next index; let a condition leave the others out";
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }

    /// A whole number, not below `least`, that has to be the same on all members.
    fn alike(&mut self, id: ExprId, what: &str, least: i64) -> Ev {
        let ev = self.integer(id, what);
        if ev.is_bad() || !self.is_alive() {
            return ev;
        }
        let span = self.ast.expr_span(id);
        let message = match self.constant(ev) {
            Some(Value::Int(n)) if *n < least => {
                format!("expected {what} from {least} on, found {n}")
            }
            None if ev.differs => {
                format!(
                    "expected {what} that is the same on all members, found one that may differ"
                )
            }
            _ => return ev,
        };
        let help = match ev.differs {
            true => "make them agree before: $n = gmax($n);",
            false => "write as in share $i 1000 by 8 { ... }",
        };
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        Ev::BAD
    }

    pub(crate) fn mix(&mut self, mix: Mix, span: Span) -> Flow {
        let told: Vec<Option<i64>> =
            self.ast.exprs_in(mix.weights).map(|id| self.weight(id)).collect();
        let head = Span { start: span.start, end: span.start + 3 };
        let weights: Vec<i64> = told.iter().flatten().copied().collect();
        let total = weights.iter().try_fold(0i64, |sum, weight| sum.checked_add(*weight));
        let total = match total {
            _ if weights.len() < told.len() => return Flow::On,
            Some(total @ 1..) => total,
            _ => return self.no_weight(head),
        };
        let jumps = self.draw(&weights, total, head);
        let bodies: Vec<_> = self.ast.stmts_in(mix.bodies).collect();
        let (mut ends, mut flow) = (Vec::with_capacity(bodies.len()), Flow::Away);
        for ((body, jump), weight) in bodies.into_iter().zip(jumps).zip(weights) {
            self.patch_here([jump]);
            // Each rank draws for itself.
            let alternative = self.under(true, Some(head), |lower| {
                lower.switched_off(weight == 0, |lower| lower.statement(body))
            });
            if alternative == Flow::On {
                flow = Flow::On;
            }
            ends.push(self.emit(Instr::Jump { to: 0 }, head));
        }
        self.patch_here(ends);
        flow
    }

    /// Jumps to the alternatives: the first whose share of `1..=total` the drawn number lies in.
    fn draw(&mut self, weights: &[i64], total: i64, span: Span) -> Vec<Pc> {
        let (first, last) =
            (self.known(Value::Int(1)).operand, self.known(Value::Int(total)).operand);
        let args = self.push_args([first, last]);
        let drawn = self.frame().temp();
        self.emit(Instr::Function { function: Function::Rand, dst: drawn, args }, span);
        let dst = self.frame().temp();
        let mut up_to = 0;
        let mut jumps = Vec::with_capacity(weights.len());
        for weight in weights {
            up_to += weight;
            let (a, b) = (Operand::slot(drawn), self.known(Value::Int(up_to)).operand);
            self.emit(Instr::Binary { op: BinaryOp::Le, dst, a, b }, span);
            let cond = Operand::slot(dst);
            jumps.push(self.emit(Instr::JumpIf { cond, when: true, to: 0 }, span));
        }
        jumps
    }

    /// A weight as it is known before the run; `None` for one that was reported.
    fn weight(&mut self, id: ExprId) -> Option<i64> {
        let ev = self.integer(id, "a weight");
        match self.constant(ev) {
            Some(Value::Int(weight)) if *weight >= 0 => return Some(*weight),
            _ if ev.is_bad() || !self.is_alive() => return None,
            _ => {}
        }
        let found = self.constant(ev).map_or("one that is not constant".into(), Value::describe);
        let message = format!("expected a weight that is not negative, found {found}");
        let help = "weights are whole numbers of constants and parameters: mix { 70: ... 30: ... }";
        self.reports
            .push(Diagnostic::new(Code::BadValue, self.ast.expr_span(id), message).help(help));
        None
    }

    fn no_weight(&mut self, span: Span) -> Flow {
        if self.is_alive() {
            let message = "expected a weight above 0 in `mix`, and a sum that is a 64-bit integer";
            let help = "write as in mix { 70: read(\"a\"); 30: write(\"a\", 4k); }";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        }
        Flow::On
    }
}
