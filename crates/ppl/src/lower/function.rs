//! Functions of expressions.

use super::Lower;
use super::value::Ev;
use crate::ast::{ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::foreign::words;
use crate::suggest::nearest;
use model::Value;
use model::function::{Accepts, Calc, FUNCTIONS, FunctionRow};
use model::op::ParamKind;
use model::plan::{Instr, Slot, Span};
use model::types::Types;
use model::value::EvalError;

impl Lower<'_> {
    /// `name(args)` in an expression.
    pub(super) fn call(&mut self, name: Name, args: List, span: Span, dst: Option<Slot>) -> Ev {
        if let Some(op) = self.called_op(name) {
            return self.op_as_value(op, span);
        }
        let text = self.ast.names.text(name);
        let Some(row) = FunctionRow::find(text) else {
            return self.unknown_function(name, span);
        };
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
        let evs: Vec<Ev> =
            numbered.map(|(at, id)| self.function_argument(row.accepts(at), *id)).collect();
        if evs.iter().any(|ev| ev.is_bad()) {
            return Ev::BAD;
        }
        if matches!(row.calc, Calc::Read) {
            return self.list_of_file(&ids, &evs);
        }
        if let Some(result) = self.fold_function(row, &evs, span) {
            return result;
        }
        if let Some(error) = self.refuses_to_draw(row, &evs) {
            return self.no_value(error, span);
        }
        let right = ids.iter().zip(&evs).enumerate();
        if !right.fold(true, |right, (at, (id, ev))| self.fits(row.accepts(at), *id, *ev) && right)
        {
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
        let differs = match row.calc {
            Calc::Pure(_) => evs.iter().any(|ev| ev.differs),
            Calc::Met(_) | Calc::Read => false,
            Calc::Drawn(_) | Calc::Asked(_) => true,
        };
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

    /// An argument can be what the function wants; if not, it is reported.
    fn fits(&mut self, accepts: Accepts, id: ExprId, ev: Ev) -> bool {
        let (wanted, words) = accepts.types();
        if ev.types.may(wanted) || !self.is_alive() {
            return true;
        }
        let message = format!("expected {words}, found {}", ev.types.describe());
        self.wrong_type(self.ast.expr_span(id), message);
        false
    }

    /// Why a number cannot be drawn with these arguments, if they are constants.
    fn refuses_to_draw(&self, row: &FunctionRow, evs: &[Ev]) -> Option<EvalError> {
        let Calc::Drawn(draw) = row.calc else { return None };
        let values: Option<Vec<Value>> = evs.iter().map(|ev| self.constant(*ev).cloned()).collect();
        let error = draw.check(&values?).err()?;
        // Wrong types have words of their own.
        let is_range = matches!(error, EvalError::Range(..));
        (is_range && self.is_alive()).then_some(error)
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
        let help = match nearest(text, names()) {
            _ if self.facts.find(Kind::Proc, text).is_some() => {
                format!(
                    "{text} is a proc: it is called as a statement, or alone: $x = {text}(...);"
                )
            }
            near => match (words::function(text), near) {
                (Some(help), _) => help.into(),
                (None, Some(name)) => format!("the nearest is {name}"),
                (None, None) => format!("there are {}", names().collect::<Vec<_>>().join(" ")),
            },
        };
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        Ev::BAD
    }
}
