//! Arguments that are paths: checked as far as their text is known.

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId};
use crate::check::path::{self, Problem};
use crate::diag::{Code, Diagnostic};
use crate::text;
use model::Value;
use model::directory::link_leaves;
use model::op::ParamKind;
use model::plan::{Operand, Piece, Source, Span, Template};
use model::types::Types;

impl Lower<'_> {
    /// Lowers a path; `None` if it is wrong, which is reported.
    pub(super) fn path(&mut self, id: ExprId, kind: ParamKind) -> Option<Operand> {
        let span = self.ast.expr_span(id);
        let ev = match self.ast.expr(id) {
            Expr::Str => match self.quoted_path(span) {
                Ok(operand) => return Some(operand),
                Err(ev) => ev,
            },
            _ => self.expr(id),
        };
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::STR) {
            let message = format!("expected a path in quotes, found {}", ev.types.describe());
            let help = match ev.types.may(Types::HANDLE) {
                true => {
                    "by handles files are read, written and copied with fread($h, n, off), fwrite($h, n, off) \
                     and fcopy($from, $to, n)"
                }
                false => "a path is text; a number in it is written \"file-$i\"",
            };
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
            return None;
        }
        let problems = match ev.operand.source() {
            Source::Const(index) => match &self.plan.consts[index as usize] {
                Value::Str(text) => path::problems(text, &self.roots),
                _ => path::Problems::NONE,
            },
            Source::Template(index) => {
                let text = self.skeleton(index);
                path::problems(&text, &self.roots)
            }
            _ => path::Problems::NONE,
        };
        if !problems.any() {
            return Some(ev.operand);
        }
        self.path_problems(problems, kind, span, ev.operand)
    }

    /// A path in quotes without problems, as most are. Long programs have very many, and those
    /// without variables most often once: they become templates of one text, which are not
    /// looked up. `Err`: one that has to be looked at more closely.
    #[inline]
    fn quoted_path(&mut self, span: Span) -> Result<Operand, Ev> {
        let raw = self.reader.text(span);
        let text = text::inner(raw).as_bytes();
        let mark = self.plan.text.len();
        if path::is_plain(text) {
            self.plan.text.extend_from_slice(text);
            return Ok(self.template_of_text(mark));
        }
        let Some(filled) = self.read_string(raw, span) else { return Err(Ev::BAD) };
        if !self.is_plain_path() {
            return Err(self.text_or_template(mark, filled));
        }
        Ok(match self.string.pieces[..] {
            [Piece::Text { .. }] => self.template_of_text(mark),
            _ => self.template_of_pieces(mark),
        })
    }

    /// A template of the text from `mark` to the end of the plan's.
    fn template_of_text(&mut self, mark: usize) -> Operand {
        let (start, end) = (mark as u32, self.plan.text.len() as u32);
        let first = self.plan.pieces.len() as u32;
        self.plan.pieces.push(Piece::Text { start, end });
        self.plan.templates.push(Template { start: first, end: first + 1 });
        Operand::template(self.plan.templates.len() as u32 - 1)
    }

    /// The string read last is a path about which nothing has to be said.
    fn is_plain_path(&self) -> bool {
        let Some(first) = self.string.pieces.first() else { return false };
        let text = |piece: &Piece| match piece {
            Piece::Text { start, end } => &self.plan.text[*start as usize..*end as usize],
            _ => &[],
        };
        path::is_plain(text(first))
            && self.string.pieces[1..].iter().all(|piece| path::is_plain_part(text(piece)))
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
                // What follows a directory may be a whole path.
                _ if self.roots.iter().any(|path| path.as_bytes() == text) => {
                    text.extend_from_slice(b"/x");
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
        if link_leaves(&target, &name) && self.is_alive() {
            let shown = String::from_utf8_lossy(&target).into_owned();
            let message = format!("expected a target inside the run directory, found \"{shown}\"");
            let help = "a link's target is relative to the directory that holds the link";
            self.reports.push(Diagnostic::new(Code::LeavesDirectory, span, message).help(help));
        }
    }
}
