//! Words and signs of other languages: each is one diagnostic that says what to write
//! ([`crate::foreign`]).

use super::parser::{Bad, Parse, Parser};
use crate::ast::{Expr, ExprId, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::foreign::words;
use crate::lex::{Kind, Token};
use model::Op;
use model::plan::Span;

/// Modes of MPI_File_open and the letters of PPL.
const MPI_MODES: [(&str, &str); 6] = [
    ("MPI_MODE_RDONLY", "r"),
    ("MPI_MODE_WRONLY", "w"),
    ("MPI_MODE_RDWR", "rw"),
    ("MPI_MODE_CREATE", "c"),
    ("MPI_MODE_EXCL", "x"),
    ("MPI_MODE_APPEND", "a"),
];

/// A constant of open(2) or MPI_File_open.
fn is_flag(word: &str) -> bool {
    word.starts_with("O_") || word.starts_with("MPI_MODE_")
}

/// The flags as PPL writes them, without quotes.
fn joined(flags: &[&str]) -> String {
    let letter = |flag: &&str| MPI_MODES.iter().find(|row| row.0 == *flag).map(|row| row.1);
    let letters: Option<String> = flags.iter().map(letter).collect();
    letters.unwrap_or_else(|| flags.join("|"))
}

impl Parser<'_, '_, '_> {
    /// Reports a word of another language; its parentheses are skipped.
    #[cold]
    pub(super) fn foreign_word(&mut self, token: Token, help: &str) -> Parse<()> {
        let message = format!("PPL has no `{}`", self.slice(token));
        let diagnostic = Diagnostic::new(Code::UnknownWord, token.span(), message);
        let bad = self.error(diagnostic.help(help));
        match self.tok.kind {
            Kind::LParen => self.skip_parens(),
            _ if self.slice(token) == "for" => self.skip_to_body(),
            _ => {}
        }
        if self.tok.kind == Kind::LBrace { Ok(()) } else { Err(bad) }
    }

    /// `and`, `or`, `in` where an operator could stand.
    pub(super) fn operator_in_words(&self) -> Option<Diagnostic> {
        if self.tok.kind != Kind::Word || (self.at_line_start() && self.peek() == Kind::LParen) {
            return None;
        }
        let word = self.slice(self.tok);
        let message = format!("PPL has no operator `{word}`");
        let diagnostic = Diagnostic::new(Code::Expected, self.tok.span(), message);
        if let Some(sign) = words::operator(word) {
            return Some(diagnostic.help(format!("write `{sign}`")).fix(self.tok.span(), sign));
        }
        let is_search = matches!(word, "in" | "not" | "is");
        is_search.then(|| diagnostic.help("compare one by one: $x == 1 || $x == 2"))
    }

    /// Open flags without quotes; the first word is consumed. `|` between them was reported by
    /// the lexer: that is the same mistake.
    #[cold]
    pub(super) fn unquoted_flags(&mut self, first: Token) -> Option<ExprId> {
        if !is_flag(self.slice(first)) {
            return None;
        }
        let mut flags = vec![self.slice(first)];
        while self.accept(Kind::OrOr) || self.accept(Kind::Plus) {
            if self.tok.kind != Kind::Word || !is_flag(self.slice(self.tok)) {
                break;
            }
            let flag = self.bump();
            flags.push(self.slice(flag));
        }
        let span = self.since(first.start);
        let within =
            |found: &Diagnostic| span.start <= found.span.start && found.span.end <= span.end;
        self.cx.diagnostics.retain(|found| !within(found));
        if self.cx.options {
            let message = format!("expected an option `name=value`, found `{}`", flags[0]);
            let help = "write with (direct=true) for O_DIRECT; give other flags to fopen: $h = fopen(path, \"O_RDWR|O_SYNC\");";
            self.cx.push(Diagnostic::new(Code::UnknownWord, span, message).help(help));
            return Some(self.push_expr(Expr::Error, span));
        }
        let quoted = format!("\"{}\"", joined(&flags));
        let message = format!("expected open flags in quotes, found the word `{}`", flags[0]);
        let diagnostic = Diagnostic::new(Code::UnknownWord, span, message);
        self.cx.push(diagnostic.help(format!("write {quoted}")).fix(span, quoted));
        self.height = 1;
        Some(self.push_expr(Expr::Error, span))
    }

    /// `pwrite($h, 4k, 0)` with the arguments that C gives, which begin at `mark` of the scratch;
    /// in PPL it takes a path and a pattern.
    #[cold]
    pub(super) fn posix_transfer(&mut self, op: Op, start: u32, mark: usize) -> Option<StmtId> {
        let args: Vec<ExprId> = self.cx.scratch[mark..].iter().map(|id| ExprId(*id)).collect();
        let expr = |at: usize| args.get(at).map(|id| self.cx.ast.expr(*id));
        let is_name = matches!(expr(1), Some(Expr::Str | Expr::Error | Expr::Named(..)));
        let first = match (args.len(), expr(0)?, expr(2)) {
            (_, Expr::Named(..) | Expr::Error | Expr::Str, _) | (3, _, Some(Expr::Str)) => {
                return None;
            }
            (2, ..) if matches!(expr(1), Some(Expr::Int(_))) => 1,
            (3, _, Some(Expr::Named(..) | Expr::Error)) => return None,
            (3, ..) if !is_name => 1,
            // With the buffer of C, which PPL does not have.
            (4, ..) => 2,
            _ => return None,
        };
        let name = if op == Op::Pwrite { "fwrite" } else { "fread" };
        let handle = self.cx.ast.expr_span(args[0]);
        let until = Span { start, end: self.cx.ast.expr_span(args[first]).start };
        let handle = self.lex.between(handle.start, handle.end);
        let message = format!("expected {}, found a number of bytes", op.row().signature());
        let diagnostic = Diagnostic::new(Code::Arguments, self.since(start), message);
        let help = format!("pwrite and pread of C are fwrite and fread: {name}({handle}, 4k, 0);");
        self.error(diagnostic.help(help).fix(until, format!("{name}({handle}, ")));
        self.cx.scratch.truncate(mark);
        Some(self.push_stmt(Stmt::Error, start))
    }

    /// `i++;`, `i += 2;` without the `$`; the word is consumed.
    #[cold]
    pub(super) fn bare_increment(&mut self, token: Token) -> Bad {
        let word = self.slice(token);
        let message = format!("expected a statement, found the word `{word}`");
        let help = format!("variables begin with `$`; write {};", self.update(&format!("${word}")));
        self.error(Diagnostic::new(Code::UnknownWord, token.span(), message).help(help))
    }

    /// Writes out `++`, `+= 2` and the like at the current token.
    pub(super) fn update(&self, name: &str) -> String {
        let sign = self.slice(self.tok);
        let rest = self.lex.rest().trim_start();
        let is_twice = rest.starts_with(sign);
        let value = rest.strip_prefix('=').and_then(|rest| rest.split([';', '\n']).next());
        match value.map(str::trim) {
            _ if is_twice => format!("{name} = {name} {sign} 1"),
            Some(value) if value.len() <= 40 && !value.is_empty() => match value.contains(' ') {
                true => format!("{name} = {name} {sign} ({value})"),
                false => format!("{name} = {name} {sign} {value}"),
            },
            _ => format!("{name} = {name} {sign} ..."),
        }
    }

    /// `range(10)` after `repeat $i`, as Python counts; nothing of it is consumed.
    #[cold]
    pub(super) fn python_range(&mut self) -> Option<Bad> {
        let text = self.lex.from(self.tok);
        let inner = text.strip_prefix("range(")?;
        let (inner, rest) = inner.split_once(')')?;
        // A proc of that name, called in each iteration.
        if rest.trim_start().starts_with(';') || inner.contains(['(', '\n']) {
            return None;
        }
        let values: Vec<&str> = inner.split(',').map(str::trim).collect();
        let range = match values[..] {
            [to] => to.to_string(),
            [from, to] => format!("{from}..{to}"),
            [from, to, step] => format!("{from}..{to} step {step}"),
            _ => return None,
        };
        let start = self.tok.start;
        let span = Span { start, end: start + "range(".len() as u32 + inner.len() as u32 + 1 };
        let diagnostic = Diagnostic::new(Code::UnknownWord, span, "PPL has no `range`");
        Some(self.error(diagnostic.help(format!("write {range}")).fix(span, range)))
    }
}
