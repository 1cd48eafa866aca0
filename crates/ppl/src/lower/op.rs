//! Operations: their arguments by position and name.

use super::Lower;
use crate::ast::{Expr, ExprId, List};
use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use model::op::{Needs, Param, ParamKind};
use model::plan::{Operand, Span};
use model::{Op, Value};

/// No operation has more parameters.
pub(super) const MOST: usize = 5;

impl Lower<'_> {
    /// The arguments of an operation in [`model::Plan::args`]: where they begin.
    /// `None`: they are wrong and reported.
    pub(super) fn op_arguments(&mut self, op: Op, args: List, span: Span) -> Option<u32> {
        if op == Op::Print {
            return Some(self.print_arguments(args));
        }
        let ids = self.by_parameter(op, args, span)?;
        if op.row().needs == Needs::Mpi {
            self.needs_all(op, &ids, span);
            if matches!(op, Op::Pfopen | Op::Pwrite | Op::Pread) {
                self.not_direct(op, span);
            }
        }
        let params = op.row().params;
        let mut operands = [Operand::ABSENT; MOST];
        let mut complete = true;
        let mut distance = self.distance(op, &ids);
        for (at, (param, id)) in params.iter().zip(ids).enumerate() {
            if let Some(id) = id {
                let operand = match distance.take_if(|_| at == 1) {
                    Some(distance) => distance,
                    None => self.argument(op, param, id),
                };
                match operand {
                    Some(operand) => operands[at] = operand,
                    None => complete = false,
                }
            }
        }
        if op == Op::Symlink && complete {
            self.check_symlink(&operands, span);
        }
        let start = self.plan.args.len() as u32;
        self.plan.args.extend_from_slice(&operands[..params.len()]);
        complete.then_some(start)
    }

    /// `print`: the number of values, then the values.
    fn print_arguments(&mut self, args: List) -> u32 {
        let values: Vec<Operand> =
            self.ast.exprs_in(args).map(|id| self.expr(id).operand).collect();
        let count = self.known(Value::Int(values.len() as i64)).operand;
        let start = self.plan.args.len() as u32;
        self.plan.args.push(count);
        self.plan.args.extend(values);
        start
    }

    /// Which argument belongs to which parameter.
    #[inline]
    fn by_parameter(&mut self, op: Op, args: List, span: Span) -> Option<[Option<ExprId>; MOST]> {
        let params = op.row().params;
        let mut found = [None; MOST];
        // As many as are required: those, also where an optional one stands between them.
        let exact = args.len as usize == op.row().required();
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            let (at, id) = match self.ast.expr(id) {
                Expr::Named(name, value) => (self.parameter_named(op, name, id)?, value),
                _ if exact => (required(params, at), id),
                Expr::Str if at == 2 && places_together(op) && self.is_together(id) => (3, id),
                _ => (at, id),
            };
            if at >= params.len() || found[at].is_some() {
                return self.wrong_arguments(op, args, span);
            }
            found[at] = Some(id);
        }
        let missing =
            |(param, id): (&Param, Option<ExprId>)| param.default.is_none() && id.is_none();
        if params.iter().zip(found).any(missing) {
            return self.wrong_arguments(op, args, span);
        }
        if places_together(op) && !self.check_placement(op, &found) {
            return None;
        }
        Some(found)
    }

    fn parameter_named(&mut self, op: Op, name: crate::ast::Name, id: ExprId) -> Option<usize> {
        let text = self.ast.names.text(name);
        let names = || op.row().params.iter().map(|param| param.name);
        let found = names().position(|known| known == text);
        if found.is_none() {
            let help = match nearest(text, names()) {
                Some(name) => format!("the nearest is {name}"),
                None => format!("it is written {}", op.row().signature()),
            };
            let message = format!("{op} has no argument `{text}`");
            let span = self.ast.expr_span(id);
            self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        }
        found
    }

    #[cold]
    fn wrong_arguments<T>(&mut self, op: Op, args: List, span: Span) -> Option<T> {
        let found = match args.len {
            1 => "1 argument".to_string(),
            n => format!("{n} arguments"),
        };
        let message = format!("expected {}, found {found}", op.row().signature());
        let help = format!("for example {}", op.row().example);
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        // Mistakes in the arguments themselves are reported too.
        for id in self.ast.exprs_in(args) {
            if !matches!(self.ast.expr(id), Expr::Named(..) | Expr::Word(_) | Expr::Str) {
                self.expr(id);
            }
        }
        None
    }

    /// It is about the kind of value that a position or size is.
    pub(super) fn is_number(kind: ParamKind) -> bool {
        use ParamKind as K;
        matches!(kind, K::Size | K::Offset | K::Count | K::Member | K::Mode)
    }
}

/// The place of the required parameter with this number.
pub(crate) fn required(params: &[Param], number: usize) -> usize {
    let mut places = (0..params.len()).filter(|at| params[*at].default.is_none());
    places.nth(number).unwrap_or(params.len())
}

/// It says who calls together: by its last argument, or by the pattern.
fn places_together(op: Op) -> bool {
    matches!(op, Op::Pfwrite | Op::Pfread)
}
