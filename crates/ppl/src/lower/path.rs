//! Arguments that are paths: checked as far as their text is known.

use super::Lower;
use crate::ast::{Expr, ExprId};
use crate::check::path::{self, Problem};
use crate::diag::{Code, Diagnostic};
use crate::types::Types;
use model::Value;
use model::op::ParamKind;
use model::plan::{Operand, Piece, Source, Span, Template};

impl Lower<'_> {
    /// Lowers a path; `None` if it is wrong, which is reported.
    pub(super) fn path(&mut self, id: ExprId, kind: ParamKind) -> Option<Operand> {
        if self.ast.expr(id) == Expr::Str
            && let Some(operand) = self.literal_path(id)
        {
            return Some(operand);
        }
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let span = self.ast.expr_span(id);
        if !ev.types.may(Types::STR) {
            let message = format!("expected a path in quotes, found {}", ev.types.describe());
            let help = "a path is text; a number in it is written \"file-$i\"";
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
            return None;
        }
        let problems = match ev.operand.source() {
            Source::Const(index) => match &self.plan.consts[index as usize] {
                Value::Str(text) => path::problems(text, self.directory()),
                _ => path::Problems::NONE,
            },
            Source::Template(index) => {
                let text = self.skeleton(index);
                path::problems(&text, self.directory())
            }
            _ => path::Problems::NONE,
        };
        if !problems.any() {
            return Some(ev.operand);
        }
        self.path_problems(problems, kind, span, ev.operand)
    }

    /// A path without variables, escapes and problems: a template of one text. Long
    /// programs have very many of them, most of them once, so they are not looked up.
    #[inline]
    fn literal_path(&mut self, id: ExprId) -> Option<Operand> {
        let raw = self.raw(self.ast.expr_span(id)).as_bytes();
        let text = raw.get(1..raw.len().saturating_sub(1))?;
        if !path::is_plain(text) {
            return None;
        }
        let start = self.plan.text.len() as u32;
        self.plan.text.extend_from_slice(text);
        let end = self.plan.text.len() as u32;
        let first = self.plan.pieces.len() as u32;
        self.plan.pieces.push(Piece::Text { start, end });
        self.plan.templates.push(Template { start: first, end: first + 1 });
        Some(Operand::template(self.plan.templates.len() as u32 - 1))
    }

    fn directory(&self) -> Option<&str> {
        self.binding.directory.as_deref()
    }

    /// The literal text of a template with a letter in place of each value.
    fn skeleton(&self, template: u32) -> Vec<u8> {
        let template = self.plan.templates[template as usize];
        let mut text = Vec::new();
        for piece in &self.plan.pieces[template.start as usize..template.end as usize] {
            match piece {
                Piece::Text { start, end } => {
                    text.extend_from_slice(&self.plan.text[*start as usize..*end as usize]);
                }
                _ => text.push(b'x'),
            }
        }
        text
    }

    #[cold]
    fn path_problems(
        &mut self,
        problems: path::Problems,
        kind: ParamKind,
        span: Span,
        operand: Operand,
    ) -> Option<Operand> {
        if problems.blank {
            let message = "a blank at the start or end of a path component is part of the name";
            let help = "take it away unless the file is really called so";
            self.reports.push(Diagnostic::new(Code::PathBlank, span, message).help(help));
        }
        // What a symbolic link holds is relative to its place; that is looked at with it.
        let leaves = problems.worst.filter(|problem| {
            self.is_alive() && !(kind == ParamKind::LinkTarget && *problem == Problem::Parent)
        });
        let Some(problem) = leaves else { return Some(operand) };
        let code = match problem {
            Problem::Nul => Code::BadValue,
            _ => Code::LeavesDirectory,
        };
        let message = problem.message(&self.shown(operand));
        self.reports.push(Diagnostic::new(code, span, message).help(problem.help()));
        None
    }

    fn shown(&self, operand: Operand) -> String {
        match operand.source() {
            Source::Const(index) => self.plan.consts[index as usize].to_string(),
            Source::Template(index) => String::from_utf8_lossy(&self.skeleton(index)).into_owned(),
            _ => String::new(),
        }
    }

    /// A symbolic link whose constant target leads out of the directory.
    pub(super) fn check_symlink(&mut self, operands: &[Operand], span: Span) {
        let text = |operand: Operand| self.plan.literal(operand).map(<[u8]>::to_vec);
        let (Some(target), Some(name)) = (text(operands[0]), text(operands[1])) else { return };
        if path::link_leaves(&target, &name) && self.is_alive() {
            let shown = String::from_utf8_lossy(&target).into_owned();
            let message = format!("expected a target inside the run directory, found \"{shown}\"");
            let help = "a link's target is relative to the directory that holds the link";
            self.reports.push(Diagnostic::new(Code::LeavesDirectory, span, message).help(help));
        }
    }
}
