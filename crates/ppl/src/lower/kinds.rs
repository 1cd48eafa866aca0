//! `define pattern "p" level n = kind(name=value, ...)`: arguments by the table of kinds.

use super::Lower;
use crate::ast::{Expr, ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use model::pattern::{Argument, Arguments, Geometry, KINDS, KindRow, Parameter, kind};
use model::plan::Span;

impl Lower<'_> {
    /// The pattern that a kind and its arguments make.
    pub(super) fn pattern_of_kind(
        &mut self,
        name: Name,
        args: List,
        span: Span,
    ) -> Option<Geometry> {
        let Some(row) = kind(self.ast.names.text(name)) else {
            self.unknown_kind(name, span);
            return None;
        };
        let mut given: Vec<(&'static str, Argument)> = Vec::new();
        let mut complete = true;
        for id in self.ast.exprs_in(args) {
            match self.kind_argument(row, &given, id) {
                Some(argument) => given.push(argument),
                None => complete = false,
            }
        }
        let arguments = Arguments::new(row, given);
        if !complete {
            return None;
        }
        if let [first, ..] = arguments.missing()[..] {
            let doc = row.param(first).map_or("", |param| param.doc);
            let message = format!("the argument `{first}` of {} is missing: {doc}", row.name);
            self.arguments_of_kind(row, span, message, None);
            return None;
        }
        let geometry = arguments.build(self.plan.seed);
        if let Some(Err(said)) = geometry.shape().map(|shape| shape.check_numbers()) {
            self.reports.push(Diagnostic::new(Code::BadValue, span, said).help(written(row)));
            return None;
        }
        Some(geometry)
    }

    /// `name=value`
    fn kind_argument(
        &mut self,
        row: &'static KindRow,
        given: &[(&'static str, Argument)],
        id: ExprId,
    ) -> Option<(&'static str, Argument)> {
        let span = self.ast.expr_span(id);
        let Expr::Named(name, value) = self.ast.expr(id) else {
            let message = format!("expected name=value, found {}", self.reader.text(span));
            self.arguments_of_kind(row, span, message, None);
            return None;
        };
        let text = self.ast.names.text(name);
        let Some(param) = row.param(text) else {
            let near = nearest(text, row.params.iter().map(|param| param.name));
            let message = format!("{} has no argument `{text}`", row.name);
            self.arguments_of_kind(row, span, message, near);
            return None;
        };
        if given.iter().any(|(known, _)| *known == param.name) {
            let message = format!("the argument `{text}` is there twice");
            self.arguments_of_kind(row, span, message, None);
            return None;
        }
        Some((param.name, self.accepted(row, param, value)?))
    }

    fn accepted(
        &mut self,
        row: &'static KindRow,
        param: &'static Parameter,
        id: ExprId,
    ) -> Option<Argument> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let accepted = match self.constant(ev) {
            Some(value) => param.accepts.accept(value),
            None => Err(format!(
                "expected {} made of constants and parameters",
                param.accepts.expected()
            )),
        };
        let span = self.ast.expr_span(id);
        let described = |said: String| {
            let help = format!("{} is: {}; {}", param.name, param.doc, written(row));
            Diagnostic::new(Code::BadValue, span, said).help(help)
        };
        accepted.map_err(|said| self.reports.push(described(said))).ok()
    }

    #[cold]
    fn arguments_of_kind(
        &mut self,
        row: &KindRow,
        span: Span,
        message: String,
        near: Option<&str>,
    ) {
        let help = match near {
            Some(near) => format!("the nearest is {near}; {}", written(row)),
            None => written(row),
        };
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
    }

    #[cold]
    fn unknown_kind(&mut self, name: Name, span: Span) {
        let text = self.ast.names.text(name);
        let names = KINDS.iter().map(|row| row.name);
        let help = match nearest(text, names.clone()).and_then(kind) {
            Some(row) => format!("the nearest is {}; {}", row.name, written(row)),
            None => format!("there are {}", names.collect::<Vec<_>>().join(" ")),
        };
        let message = format!("expected a kind of pattern, found `{text}`");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }
}

fn written(row: &KindRow) -> String {
    format!("it is written {}", row.signature())
}
