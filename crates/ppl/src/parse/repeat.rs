//! `repeat`, whose head has many forms, `share` and `mix`.

use super::{Bad, Parse, Parser};
use crate::ast::{Expr, ExprId, Later, Mix, Name, Repeat, Share, Stmt, StmtId, Until};
use crate::token::{Kind, Token};
use crate::word::{Word, classify, is_function};
use model::plan::Span;

/// What stands between `repeat` and its body.
struct Head {
    var: Option<(Name, Span)>,
    from: ExprId,
    to: Option<ExprId>,
    step: Option<ExprId>,
    in_list: bool,
}

impl Parser<'_, '_, '_> {
    /// `repeat ...`; the word is consumed.
    pub(super) fn repeat(&mut self, start: u32) -> Parse<StmtId> {
        let none = self.push_expr(Expr::Error, Span { start: self.tok.start, end: self.tok.start });
        let mut head = Head { var: None, from: none, to: None, step: None, in_list: false };
        if self.head(&mut head).is_err() {
            self.skip_to_body();
        }
        let until = self.accept_word("until").then(|| self.until());
        let body = self.loop_body("the count");
        let Head { var, from, to, step, in_list } = head;
        let number = self.cx.ast.repeats.len() as u32;
        self.cx.ast.repeats.push(Repeat { var, from, in_list, to, step, until, body });
        Ok(self.push_stmt(Stmt::Repeat(number), start))
    }

    /// The variable and the range. What was read before a mistake stays in `head`.
    fn head(&mut self, head: &mut Head) -> Parse<()> {
        match self.tok.kind {
            Kind::Var => {
                let var = self.bump();
                if self.tok.kind == Kind::Assign {
                    self.needless_assign(var);
                }
                if self.accept_word("in") {
                    head.var = Some((self.intern(var), var.span()));
                    head.in_list = true;
                    head.from = self.expr()?;
                    return Ok(());
                }
                if self.at_word("range")
                    && let Some(bad) = self.python_range()
                {
                    head.var = Some((self.intern(var), var.span()));
                    return Err(bad);
                }
                if self.count_begins() {
                    let name = self.intern(var);
                    head.var = Some((name, var.span()));
                    head.from = self.expr()?;
                } else {
                    let first = self.variable(var);
                    head.from = self.expr_from(first)?;
                }
            }
            Kind::LParen => return self.head_in_parens(head),
            _ => head.from = self.count()?,
        }
        self.range(head)
    }

    /// `repeat $i = 0..3`, as other languages write it.
    #[cold]
    fn needless_assign(&mut self, var: Token) {
        let name = self.slice(var);
        let help = format!("the variable stands before the range: repeat {name} 0..10 {{...}}");
        let diagnostic = self.expectation(&format!("a count or a range after {name}")).help(help);
        let blank = Span { start: self.tok.start, end: self.tok.end };
        self.error(diagnostic.fix(blank, ""));
        self.bump();
    }

    fn count(&mut self) -> Parse<ExprId> {
        if self.at_word("until") {
            let diagnostic = self.expectation("the number of iterations at most before `until`");
            return Err(self.error(diagnostic.help("a million or 30 s: repeat 1m until 30s {...}")));
        }
        if matches!(self.tok.kind, Kind::LBrace | Kind::Semi | Kind::RBrace | Kind::End) {
            let diagnostic = self.expectation("the number of repetitions after `repeat`");
            return Err(self.error(
                diagnostic.help("repeat 10 {...}, repeat $i 10 {...}, repeat $i 0..10 {...}"),
            ));
        }
        self.expr()
    }

    fn variable(&mut self, token: Token) -> ExprId {
        let name = self.intern(token);
        self.height = 1;
        self.push_expr(Expr::Var(name), token.span())
    }

    /// After `repeat VAR`: a count begins here, so VAR is the loop variable.
    fn count_begins(&self) -> bool {
        use Kind::{Bang, Duration, Error, Float, Int, IntMin, Internal, LParen, Rate, Str};
        match self.tok.kind {
            Int | IntMin | Float | Duration | Rate | Str | Internal | LParen | Bang | Error => true,
            Kind::Var => self.peek() != Kind::Assign,
            Kind::Word => self.word_is_count(),
            _ => false,
        }
    }

    /// A word after `repeat VAR`: a function belongs to the count, a command begins the body.
    fn word_is_count(&self) -> bool {
        let word = self.slice(self.tok);
        match classify(word).0 {
            Word::Keyword(_) | Word::Op(_) => false,
            Word::Other if word.eq_ignore_ascii_case("until") => false,
            Word::Other => is_function(word) || self.peek() != Kind::LParen,
        }
    }

    /// `repeat ($i, n)`, or a count that begins with a parenthesis.
    fn head_in_parens(&mut self, head: &mut Head) -> Parse<()> {
        let open = self.bump();
        if self.tok.kind == Kind::Var && self.peek() == Kind::Comma {
            let var = self.bump();
            self.bump();
            let name = self.intern(var);
            head.var = Some((name, var.span()));
            head.from = self.expr()?;
            self.range(head)?;
            return self.close(Kind::RParen, open, "`)` after the count");
        }
        let inner = self.expr()?;
        self.close(Kind::RParen, open, "`)` or an operator")?;
        let first = self.parenthesised(open, inner)?;
        head.from = self.expr_from(first)?;
        self.range(head)
    }

    /// `.. end step n` after the start of a range.
    fn range(&mut self, head: &mut Head) -> Parse<()> {
        if self.accept(Kind::DotDot) {
            let end = self.expr()?;
            head.to = Some(end);
            if self.accept_word("step") {
                let step = self.expr()?;
                head.step = Some(step);
            }
        }
        Ok(())
    }

    /// `until 30s [level]`
    fn until(&mut self) -> Until {
        let limit = self.expr();
        let limit = self.or_skip_to_body(limit);
        Until { limit, level: self.accept_word("level") }
    }

    /// A construct that is kept but not executed yet.
    pub(super) fn later(
        &mut self,
        what: &'static str,
        exprs: &[u32],
        body: &[u32],
        start: u32,
    ) -> StmtId {
        let exprs = self.cx.ast.push_list(exprs);
        let body = self.cx.ast.push_list(body);
        let number = self.cx.ast.laters.len() as u32;
        self.cx.ast.laters.push(Later { what, exprs, body });
        self.push_stmt(Stmt::Later(number), start)
    }

    /// `share $i n [by n] body`
    pub(super) fn share(&mut self, start: u32) -> Parse<StmtId> {
        let var = self.expect(Kind::Var, "the variable of `share`, as in share $i 100 by 8")?;
        let var = (self.intern(var), var.span());
        let count = self.expr();
        let count = self.or_skip_to_body(count);
        let by = self.accept_word("by").then(|| {
            let by = self.expr();
            self.or_skip_to_body(by)
        });
        let body = self.loop_body("the count");
        self.cx.ast.shares.push(Share { var, count, by, body });
        Ok(self.push_stmt(Stmt::Share(self.cx.ast.shares.len() as u32 - 1), start))
    }

    /// `mix { 70: statement 30: statement }`
    pub(super) fn mix(&mut self, start: u32) -> Parse<StmtId> {
        let open = self.expect(Kind::LBrace, "`{` after `mix`")?;
        let (mut weights, mut bodies) = (Vec::new(), Vec::new());
        self.cx.blocks.push(open.start);
        while !matches!(self.tok.kind, Kind::RBrace | Kind::End) {
            let begin = self.tok.start;
            match self.weight() {
                Ok(weight) => {
                    weights.push(weight.0);
                    bodies.push(self.body("the weight").0);
                }
                Err(Bad) => self.recover(begin),
            }
        }
        if !self.accept(Kind::RBrace) {
            self.unclosed_block(open);
        }
        self.cx.blocks.pop();
        let (weights, bodies) = (self.cx.ast.push_list(&weights), self.cx.ast.push_list(&bodies));
        self.cx.ast.mixes.push(Mix { weights, bodies });
        Ok(self.push_stmt(Stmt::Mix(self.cx.ast.mixes.len() as u32 - 1), start))
    }

    fn weight(&mut self) -> Parse<ExprId> {
        let weight = self.expr()?;
        self.expect(Kind::Colon, "`:` after the weight, as in 70: read(\"a\");")?;
        Ok(weight)
    }
}
