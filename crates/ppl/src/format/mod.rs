//! Text -> the same program in the usual layout: four blanks per block, one
//! statement on a line, keywords in lower case.
//!
//! Works on tokens, told by the syntax tree what they are, and prints every token
//! again: so the result parses to the same tree, and comments stay where they are
//! among the tokens. At most one blank line is kept between statements. A text
//! with errors is given back unchanged.

mod facts;
mod line;
mod space;

use crate::ast::Ast;
use crate::diag::{Diagnostic, has_errors};
use crate::lex::Lexer;
use crate::parse::parse_alone;
use crate::source::Sources;
use crate::token::{Kind, Token};
use facts::Facts;
use line::{Break, Line};
use space::Spacing;
use std::borrow::Cow;

/// Formats a program. With errors, the text comes back as it was, and why.
pub fn format(text: &str) -> (String, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let (root, mut diagnostics) = sources.add("program", text.as_bytes().to_vec());
    let (ast, found) = parse_alone(&mut sources, root);
    diagnostics.extend(found);
    if has_errors(&diagnostics) {
        return (text.to_string(), diagnostics);
    }
    let formatted = Printer::new(text, &ast).print();
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    (if crlf { formatted.replace('\n', "\r\n") } else { formatted }, diagnostics)
}

/// A token or a comment, with the line ends before it.
#[derive(Clone, Copy)]
struct Item {
    /// `None`: a comment.
    token: Option<Token>,
    start: usize,
    end: usize,
    /// A line end stands between this and the item before.
    new_line: bool,
    /// So does an empty line.
    blank: bool,
}

/// All tokens and comments, the end included.
fn items(text: &str) -> Vec<Item> {
    let mut lexer = Lexer::new(text, 0);
    let mut items: Vec<Item> = Vec::new();
    let mut push = |token, start: u32, end: u32| {
        let (start, end) = (start as usize, end as usize);
        let before = items.last().map_or(0, |item| item.end);
        let ends = text[before..start].bytes().filter(|byte| *byte == b'\n').count();
        items.push(Item { token, start, end, new_line: ends > 0, blank: ends > 1 });
    };
    loop {
        let token = lexer.token();
        for comment in std::mem::take(&mut lexer.comments) {
            push(None, comment.start, comment.end);
        }
        push(Some(token), token.start, token.end);
        if token.kind == Kind::End {
            return items;
        }
    }
}

struct Printer<'t> {
    text: &'t str,
    facts: Facts,
    items: Vec<Item>,
    out: String,
    /// The line being put together.
    line: Line<'t>,
    /// What decides about the blank before the next token.
    spacing: Spacing,
    /// Open blocks.
    indent: usize,
    /// Nothing stands in the block or file yet: no blank line here.
    fresh: bool,
    /// The next token has to begin a line, because a comment before it ends one.
    must_break: bool,
    /// The block just opened holds nothing.
    empty_block: bool,
    /// The kind of the last printed token.
    last: Kind,
}

impl<'t> Printer<'t> {
    fn new(text: &'t str, ast: &Ast) -> Printer<'t> {
        Printer {
            text,
            facts: Facts::new(text, ast),
            items: items(text),
            out: String::with_capacity(text.len() + text.len() / 8),
            line: Line::default(),
            spacing: Spacing::default(),
            indent: 0,
            fresh: true,
            must_break: false,
            empty_block: false,
            last: Kind::Semi,
        }
    }

    fn print(mut self) -> String {
        for at in 0..self.items.len() {
            match self.items[at].token {
                None => self.comment(at),
                Some(token) if token.kind == Kind::End => self.flush(),
                Some(token) => self.token(at, token),
            }
        }
        self.out
    }

    /// Ends the current line.
    fn flush(&mut self) {
        self.line.write(&mut self.out);
        self.line = Line::new(self.indent);
        self.spacing = Spacing::default();
        self.must_break = false;
    }

    /// Ends the current line and begins another, after a blank one if there was one.
    fn new_line(&mut self, blank: bool) {
        self.flush();
        if blank && !self.fresh {
            self.out.push('\n');
        }
        self.fresh = false;
    }

    fn slice(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn token(&mut self, at: usize, token: Token) {
        if self.facts.block_ends.contains(token.start) {
            return self.close_block(token);
        }
        let item = self.items[at];
        if self.facts.lines.contains(token.start) {
            let glued = token.kind == Kind::Semi && self.last == Kind::RBrace;
            let goes_on = glued || self.line.is_comment();
            if item.new_line || self.must_break || !goes_on {
                self.new_line(item.blank);
            }
        } else if self.is_else(token) && (self.must_break || self.line.is_comment()) {
            self.flush();
        }
        self.add_token(at, token);
        if self.facts.block_starts.contains(token.start) {
            self.open_block(at);
        }
    }

    /// `else` after the body of its `if`.
    fn is_else(&self, token: Token) -> bool {
        matches!(self.last, Kind::RBrace | Kind::Semi)
            && self.slice(token).eq_ignore_ascii_case("else")
    }

    fn add_token(&mut self, at: usize, token: Token) {
        let text = self.slice(token);
        let next = self.items[at + 1..].iter().find_map(|item| item.token);
        let next = next.map_or(Kind::End, |token| token.kind);
        let (space, depth) = self.spacing.token(token, text, next, &self.facts);
        let place = match std::mem::take(&mut self.must_break) {
            true => Break::Must,
            false if self.last == Kind::Comma => Break::May,
            false => Break::No,
        };
        let lowered = self.facts.capitals.contains(token.start);
        let text = match lowered {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
        self.line.token(text, space, place, depth);
        self.last = token.kind;
    }

    /// After the `{` of a block: its statements are indented.
    fn open_block(&mut self, at: usize) {
        let next = self.items[at + 1].token;
        self.empty_block = next.is_some_and(|token| self.facts.block_ends.contains(token.start));
        if !self.empty_block {
            self.indent += 1;
            self.fresh = true;
        }
    }

    fn close_block(&mut self, token: Token) {
        if !std::mem::take(&mut self.empty_block) {
            self.indent -= 1;
            let inner = std::mem::replace(&mut self.line, Line::new(self.indent));
            inner.write(&mut self.out);
        }
        self.must_break = false;
        self.line.token("}".into(), false, Break::No, 0);
        self.spacing = Spacing::after_block();
        self.last = token.kind;
        self.fresh = false;
    }

    fn comment(&mut self, at: usize) {
        let item = self.items[at];
        let text = clean(&self.text[item.start..item.end]);
        let next = self.items[at + 1];
        let is_line = !text.starts_with("/*");
        if self.line.is_empty() || (item.new_line && self.is_between(at)) {
            self.new_line(item.blank);
            self.line.comment(text, false, Break::No);
            self.must_break = is_line;
        } else if item.new_line || self.must_break {
            self.line.comment(text, true, Break::Must);
            self.must_break = is_line || next.new_line;
        } else {
            self.line.comment(text, self.spacing.before_comment(), Break::No);
            self.must_break = is_line;
        }
        self.spacing.comment();
    }

    /// This comment stands between statements, not inside one.
    fn is_between(&self, at: usize) -> bool {
        let next = self.items[at..].iter().find_map(|item| item.token);
        next.is_none_or(|token| {
            token.kind == Kind::End
                || self.facts.lines.contains(token.start)
                || self.facts.block_ends.contains(token.start)
                || self.is_else(token)
        })
    }
}

/// A comment without blanks at the ends of its lines.
fn clean(comment: &str) -> Cow<'_, str> {
    if !comment.contains(['\n', '\r']) {
        return Cow::Borrowed(comment.trim_end());
    }
    let lines: Vec<&str> = comment.split('\n').map(str::trim_end).collect();
    Cow::Owned(lines.join("\n"))
}

#[cfg(test)]
mod tests;
