//! What a line of a folded program is: an operation, a statement with operations in it, a proc, a value.
//!
//! What a statement with a call or a loop does is not seen from the places of operations, so it is
//! marked: the program is executed with an operation before and one behind it.

use model::plan::Span;
use ppl::ast::{Ast, Stmt, StmtId};
use ppl::source::{NoIncludes, Sources};
use std::ops::{Range, RangeInclusive};

const BEGINS: &str = "parabench explains from here";
const ENDS: &str = "parabench explains to here";

/// A line of a program, or of a file that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The included file; `None`: the program.
    pub file: Option<String>,
    /// From 1.
    pub number: u32,
}

/// Of which part of the text operations are asked for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Those that stand in these lines.
    Lines {
        /// The included file; `None`: the program.
        file: Option<String>,
        /// From 1.
        lines: RangeInclusive<u32>,
    },
    /// Those between the marks.
    Marked,
}

impl Asked {
    /// What stands in one line.
    pub fn line(line: &Line) -> Asked {
        Asked::Lines { file: line.file.clone(), lines: line.number..=line.number }
    }
}

/// What a line without an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// A statement that other statements stand in or that calls some: the text with marks around it.
    Statement(String),
    /// A proc with these lines.
    Proc(RangeInclusive<u32>),
    /// Neither.
    Nothing,
}

/// What stands in a line of a text, from 1.
pub fn stands(text: &str, line: u32) -> Stands {
    let mut sources = Sources::default();
    let (root, _) = sources.add("text", text.as_bytes().to_vec());
    let (ast, _) = ppl::parse(&mut sources, root, &mut NoIncludes);
    let text = Text { text, ast: &ast, sources: &sources };
    match text.statement(line) {
        Some(bytes) => Stands::Statement(text.marked(bytes)),
        None => text.proc(line).map_or(Stands::Nothing, Stands::Proc),
    }
}

/// The name is a mark: whether it begins what is asked for.
pub(super) fn mark(path: &[u8]) -> Option<bool> {
    let begins = path == BEGINS.as_bytes();
    (begins || path == ENDS.as_bytes()).then_some(begins)
}

struct Text<'a> {
    text: &'a str,
    ast: &'a Ast,
    sources: &'a Sources,
}

impl Text<'_> {
    /// The longest statement that begins in a line, else the shortest one that goes on there.
    fn statement(&self, line: u32) -> Option<Range<usize>> {
        let all = (0..self.ast.stmts.len() as u32).map(StmtId).filter(|id| self.does(*id));
        let spans = all.map(|id| self.ast.stmt_span(id));
        let here = spans.filter(|span| self.lines(*span).contains(&line));
        let begins = |span: &Span| *self.lines(*span).start() == line;
        let best = here.max_by_key(|span| {
            let length = i64::from(span.end) - i64::from(span.start);
            (begins(span), if begins(span) { length } else { -length })
        })?;
        Some(self.bytes(best))
    }

    /// Operations can stand in it, or behind it.
    fn does(&self, id: StmtId) -> bool {
        matches!(
            self.ast.stmt(id),
            Stmt::Assign(..)
                | Stmt::Op { .. }
                | Stmt::Call { .. }
                | Stmt::Repeat(_)
                | Stmt::Time(_)
                | Stmt::Master(_)
                | Stmt::If(_)
                | Stmt::While(..)
                | Stmt::With(..)
        )
    }

    fn proc(&self, line: u32) -> Option<RangeInclusive<u32>> {
        let spans = self.ast.procs.iter().map(|proc| {
            let (head, body) = (proc.name.1, self.ast.stmt_span(proc.body));
            *self.lines(head).start()..=*self.lines(body).end()
        });
        spans.into_iter().find(|lines| lines.contains(&line))
    }

    fn lines(&self, span: Span) -> RangeInclusive<u32> {
        let line = |at: u32| self.sources.locate(at).1 as u32;
        line(span.start)..=line(span.end.saturating_sub(1).max(span.start))
    }

    /// The statement in the text, with its semicolon.
    fn bytes(&self, span: Span) -> Range<usize> {
        let (_, line, column) = self.sources.locate(span.start);
        let above = self.text.split_inclusive('\n').take(line - 1).map(str::len);
        let above: usize = above.sum();
        let before = self.text[above..].chars().take(column - 1).map(char::len_utf8);
        let start = above + before.sum::<usize>();
        let end = start + (span.end - span.start) as usize;
        let rest = self.text.get(end..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start().len();
        let has_more = rest[gap..].starts_with(';') && !self.text[start..end].ends_with([';', '}']);
        start..if has_more { end + gap + 1 } else { end }
    }

    fn marked(&self, Range { start, end }: Range<usize>) -> String {
        let (before, rest) = self.text.split_at(start);
        let (statement, after) = rest.split_at(end - start);
        let mark = |name: &str| format!("with (expect=\"ENOENT\") stat(\"{name}\");");
        format!("{before}{{ {} {statement} {} }}{after}", mark(BEGINS), mark(ENDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "param $n = 2; /// times
define proc both($f) {
    fwrite($f, 1);
    fclose($f);
}
$f = fopen(\"a\", \"w\");
if ($$rank == 0) {
    repeat $i $n {
        both($f,
            1);
    }
}
";

    #[test]
    fn a_line_is_a_statement_a_proc_or_nothing() {
        let marked = |line: u32| match stands(TEXT, line) {
            Stands::Statement(text) => {
                let (_, rest) = text.split_once("here\"); ").unwrap();
                rest.split_once(" with (expect").unwrap().0.to_string()
            }
            other => format!("{other:?}"),
        };
        let loops = "repeat $i $n {\n        both($f,\n            1);\n    }";
        for (line, expected) in [
            (1, "Nothing"),
            (2, "Proc(2..=5)"),
            (3, "fwrite($f, 1);"),
            (5, "Proc(2..=5)"),
            (6, "$f = fopen(\"a\", \"w\");"),
            (8, loops),
            (9, "both($f,\n            1);"),
            (10, "both($f,\n            1);"),
            (11, loops),
            (99, "Nothing"),
        ] {
            assert_eq!(marked(line), expected, "{line}");
        }
        assert!(marked(7).starts_with("if ($$rank == 0) {") && marked(7).ends_with("}\n}"));
    }
}
