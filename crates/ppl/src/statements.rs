//! Where statements are: for those who pause before each.
//!
//! ```text
//! time["out"] repeat $n write("f", 1k);
//! ^^^^^^^^^^^ head of `time`
//!             ^^^^^^^^^ head of `repeat`
//!                       ^^^^^^^^^^^^^^^ `write`, which is all head
//! ```

use crate::ast::{Ast, Stmt, StmtId};
use crate::source::{Sources, Span};
use model::watched::Statement;
use std::cmp::Reverse;

/// All statements that are executed, outer ones before those inside of them.
pub fn statements(ast: &Ast, sources: &Sources) -> Vec<Statement> {
    let all = (0..).zip(&ast.stmt_spans).map(|(id, span)| (StmtId(id), *span));
    let mut all: Vec<(StmtId, Span)> = all.collect();
    all.sort_by_key(|(_, span)| (span.start, Reverse(span.end)));
    let statement = |(at, (id, span)): (usize, &(StmtId, Span))| {
        is_executed(ast.stmt(*id)).then(|| {
            let behind = all[at + 1..].iter().map(|(_, inner)| *inner);
            let mut inner = behind.take_while(|inner| inner.start < span.end);
            let inner = inner.find(|inner| inner.start > span.start);
            let end = inner.map_or(span.end, |inner| inner.start);
            let head = Span { start: span.start, end };
            Statement { span: *span, head: without_space(head, sources) }
        })
    };
    all.iter().enumerate().filter_map(statement).collect()
}

/// It does something at the place where it stands, besides the statements inside of it.
fn is_executed(stmt: Stmt) -> bool {
    !matches!(
        stmt,
        Stmt::Error
            | Stmt::Empty
            | Stmt::Block(_)
            | Stmt::Include(..)
            | Stmt::Groups(_)
            | Stmt::Pattern(_)
            | Stmt::Proc(_)
            | Stmt::Hints(..)
    )
}

/// The span without the white space at its end.
fn without_space(span: Span, sources: &Sources) -> Span {
    let file = sources.files().iter().rev().find(|file| file.start <= span.start);
    let text = file.and_then(|file| {
        file.text.get((span.start - file.start) as usize..(span.end - file.start) as usize)
    });
    let cut = text.map_or(0, |text| text.len() - text.trim_end().len());
    Span { end: span.end - cut as u32, ..span }
}

#[cfg(test)]
mod tests {
    use crate::source::NoIncludes;
    use crate::{Binding, compile};

    #[test]
    fn heads_end_where_bodies_begin() {
        let text = "param $n = 2;\ndefine proc p($a) { print $a; }\n\
                    time[\"out\"] repeat $i $n { write(\"f-$i\", 1k); if ($i == 1) p($i); }\n\
                    barrier;\n";
        let compiled = compile("x.ppl", text.into(), &mut NoIncludes, &Binding::new(1));
        let found = super::statements(&compiled.ast, &compiled.sources);
        let end = text.len() as u32;
        let own = found.iter().filter(|one| one.span.end <= end);
        let heads: Vec<&str> = own.map(|one| compiled.sources.text(one.head)).collect();
        assert_eq!(
            heads,
            [
                "param $n = 2;",
                "print $a;",
                "time[\"out\"]",
                "repeat $i $n",
                "write(\"f-$i\", 1k);",
                "if ($i == 1)",
                "p($i);",
                "barrier;",
            ]
        );
    }
}
