//! What the formatter learns from the syntax tree, by place of a token.

use crate::ast::{Ast, Expr, Stmt};
use crate::lex::Lexer;
use crate::token::Kind;

/// A set of places in the text: a bit for each byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<u64>);

impl Places {
    fn insert(&mut self, place: u32) {
        let word = place as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    pub(super) fn contains(&self, place: u32) -> bool {
        self.0.get(place as usize / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

impl Extend<u32> for Places {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, places: T) {
        places.into_iter().for_each(|place| self.insert(place));
    }
}

/// Places of tokens with a special part.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// They begin a line: statements of a block or of the file, entries of `mix`.
    pub lines: Places,
    /// `{` of blocks.
    pub block_starts: Places,
    /// `}` of blocks.
    pub block_ends: Places,
    /// Signs with one operand.
    pub unary: Places,
    /// Operations written without parentheses: what follows is an expression.
    pub bare: Places,
    /// Keywords and operations to be written in lower case.
    pub capitals: Places,
}

impl Facts {
    pub(super) fn new(text: &str, ast: &Ast) -> Facts {
        let mut facts = Facts::default();
        facts.capitals.extend(ast.capitals.iter().map(|span| span.start));
        facts.lines.extend(ast.stmts_in(ast.top).map(|id| ast.stmt_span(id).start));
        for (stmt, span) in ast.stmts.iter().zip(&ast.stmt_spans) {
            match stmt {
                Stmt::Block(list) => {
                    facts.block_starts.insert(span.start);
                    facts.block_ends.insert(span.end - 1);
                    facts.lines.extend(ast.stmts_in(*list).map(|id| ast.stmt_span(id).start));
                }
                Stmt::Op { paren: false, .. } => {
                    facts.bare.insert(span.start);
                }
                Stmt::Mix(number) => {
                    let weights = ast.mixes[*number as usize].weights;
                    let starts = ast.exprs_in(weights).map(|id| ast.expr_span(id).start);
                    facts.lines.extend(starts);
                    facts.block_starts.extend(brace_after(text, span.start));
                    facts.block_ends.insert(span.end - 1);
                }
                _ => {}
            }
        }
        for (expr, span) in ast.exprs.iter().zip(&ast.expr_spans) {
            if matches!(expr, Expr::Unary(..) | Expr::Int(i64::MIN)) {
                facts.unary.insert(span.start);
            }
        }
        facts
    }
}

/// Place of the first `{` after a place.
fn brace_after(text: &str, start: u32) -> Option<u32> {
    let mut lexer = Lexer::new(&text[start as usize..], start);
    loop {
        let token = lexer.token();
        match token.kind {
            Kind::LBrace => return Some(token.start),
            Kind::End => return None,
            _ => {}
        }
    }
}
