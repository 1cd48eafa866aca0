//! Statements.

use super::{Bad, MAX_NESTING, Parse, Parser};
use crate::ast::{Expr, ExprId, If, List, Stmt, StmtId, Time};
use crate::diag::{Code, Diagnostic};
use crate::token::{Kind, Token};
use crate::word::{Keyword, Word, classify};
use model::plan::{LabelKind, Span};

impl Parser<'_, '_, '_> {
    /// All statements of a file.
    pub(super) fn program(&mut self) -> List {
        let mark = self.cx.scratch.len();
        loop {
            self.statements();
            match self.tok.kind {
                Kind::RBrace => {
                    let message = "expected a statement, found `}` without an open `{`";
                    let diagnostic = Diagnostic::new(Code::Expected, self.tok.span(), message);
                    self.error(diagnostic.help("remove it, or open a block with `{` before"));
                    self.bump();
                }
                _ => return self.list_from(mark),
            }
        }
    }

    /// Statements up to `}` or the end, onto the scratch.
    fn statements(&mut self) {
        while !matches!(self.tok.kind, Kind::RBrace | Kind::End) {
            let start = self.tok.start;
            let mark = self.cx.scratch.len();
            let id = match self.statement() {
                Ok(id) => id,
                Err(Bad) => {
                    self.cx.scratch.truncate(mark);
                    self.recover(start);
                    self.push_stmt(Stmt::Error, start)
                }
            };
            self.cx.scratch.push(id.0);
        }
    }

    /// One statement.
    #[inline]
    fn statement(&mut self) -> Parse<StmtId> {
        if self.cx.depth >= MAX_NESTING {
            return Err(self.statement_too_deep());
        }
        self.cx.depth += 1;
        let result = self.statement_here();
        self.cx.depth -= 1;
        result
    }

    #[cold]
    fn statement_too_deep(&mut self) -> Bad {
        let message = format!("nested deeper than {MAX_NESTING} levels");
        let bad = self.too_deep(message, "put the inner part into a proc");
        if self.tok.kind == Kind::LBrace {
            self.skip_braces();
        }
        bad
    }

    #[inline]
    fn statement_here(&mut self) -> Parse<StmtId> {
        let start = self.tok.start;
        match self.tok.kind {
            Kind::Word => {
                let token = self.bump();
                match classify(self.slice(token)) {
                    (Word::Other, _) => self.other_word(token),
                    (meaning, lower) => {
                        if !lower {
                            self.cx.ast.capitals.push(token.span());
                        }
                        self.known_word(meaning, start)
                    }
                }
            }
            Kind::Var => self.assignment(),
            Kind::LBrace => self.block(),
            Kind::Semi => {
                self.bump();
                Ok(self.push_stmt(Stmt::Empty, start))
            }
            _ => Err(self.no_statement()),
        }
    }

    #[cold]
    fn no_statement(&mut self) -> Bad {
        let diagnostic = self.expectation("a statement");
        self.error(match self.tok.kind {
            Kind::Internal => {
                diagnostic.help("internal variables cannot be set; use a name with one `$`")
            }
            Kind::Str => diagnostic.help("to show a text write print \"...\";"),
            _ => diagnostic,
        })
    }

    #[inline]
    pub(super) fn known_word(&mut self, word: Word, start: u32) -> Parse<StmtId> {
        match word {
            Word::Op(op) => self.op(op, start),
            Word::Keyword(keyword) => self.keyword(keyword, start),
            Word::Other => Err(Bad),
        }
    }

    fn keyword(&mut self, keyword: Keyword, start: u32) -> Parse<StmtId> {
        match keyword {
            Keyword::Repeat => self.repeat(start),
            Keyword::Time => self.time(LabelKind::Wall, start),
            Keyword::Ctime => self.time(LabelKind::Calls, start),
            Keyword::Group => self.group(start),
            Keyword::Split => self.split(start),
            Keyword::Master => {
                let body = self.body("`master`");
                Ok(self.push_stmt(Stmt::Master(body), start))
            }
            Keyword::Barrier => self.barrier(start),
            Keyword::If => self.if_else(start),
            Keyword::Else => Err(self.lonely_else(start)),
            Keyword::While => {
                let cond = self.condition("while");
                let body = self.loop_body("the condition");
                Ok(self.push_stmt(Stmt::While(cond, body), start))
            }
            Keyword::Break => self.leave(Stmt::Break, start),
            Keyword::Continue => self.leave(Stmt::Continue, start),
            Keyword::With => self.with(start),
            Keyword::Global => self.global(start),
            Keyword::Return => self.return_value(start),
            Keyword::Share => self.share(start),
            Keyword::Mix => self.mix(start),
            Keyword::Include => self.include(start),
            Keyword::Define => self.define(start),
            Keyword::Param => self.param(start),
        }
    }

    /// `{ ... }`
    fn block(&mut self) -> Parse<StmtId> {
        let open = self.bump();
        let mark = self.cx.scratch.len();
        self.cx.blocks.push(open.start);
        self.cx.inside += 1;
        self.statements();
        self.cx.inside -= 1;
        if !self.accept(Kind::RBrace) {
            self.unclosed_block(open);
        }
        self.cx.blocks.pop();
        let list = self.list_from(mark);
        Ok(self.push_stmt(Stmt::Block(list), open.start))
    }

    #[cold]
    pub(super) fn unclosed_block(&mut self, open: Token) {
        // A definition inside was reported as misplaced: that is the same mistake.
        if self.cx.misplaced_in.is_some() && self.cx.misplaced_in == self.cx.blocks.first().copied()
        {
            return;
        }
        let at = Span { start: self.tok.start, end: self.tok.end };
        let message = "expected `}` that closes this block, found the end of the file";
        let diagnostic = Diagnostic::new(Code::Expected, open.span(), message)
            .label("opened here")
            .related(at, "the file ends here");
        self.error(diagnostic);
    }

    /// The statement that a header governs. Never fails: a spoilt one is skipped.
    pub(super) fn body(&mut self, after: &str) -> StmtId {
        let start = self.tok.start;
        if matches!(self.tok.kind, Kind::RBrace | Kind::End) {
            self.expected(&format!("a statement after {after}"));
            return self.push_stmt(Stmt::Error, start);
        }
        let mark = self.cx.scratch.len();
        self.cx.inside += 1;
        let found = self.statement();
        self.cx.inside -= 1;
        match found {
            Ok(id) => id,
            Err(Bad) => {
                self.cx.scratch.truncate(mark);
                self.recover(start);
                self.push_stmt(Stmt::Error, start)
            }
        }
    }

    pub(super) fn loop_body(&mut self, after: &str) -> StmtId {
        self.cx.loops += 1;
        let body = self.body(after);
        self.cx.loops -= 1;
        body
    }

    /// `break;`, `continue;`
    fn leave(&mut self, stmt: Stmt, start: u32) -> Parse<StmtId> {
        if self.cx.loops == 0 {
            let word = if stmt == Stmt::Break { "break" } else { "continue" };
            let span = Span { start, end: start + word.len() as u32 };
            let message = format!("`{word}` stands in no loop");
            let diagnostic = Diagnostic::new(Code::Misplaced, span, message);
            self.error(diagnostic.help("it can stand in the body of repeat or while"));
            self.semi("it")?;
            return Ok(self.push_stmt(Stmt::Error, start));
        }
        self.semi(if stmt == Stmt::Break { "`break`" } else { "`continue`" })?;
        Ok(self.push_stmt(stmt, start))
    }

    #[cold]
    fn lonely_else(&mut self, start: u32) -> Bad {
        if self.cx.too_deep {
            // Its `if` was left out because of the nesting.
            return Bad;
        }
        let span = Span { start, end: start + 4 };
        let diagnostic = Diagnostic::new(Code::Misplaced, span, "`else` without an `if` before it");
        self.error(diagnostic.help("it follows the body of if (...) directly"))
    }

    /// `time ["label", sync] body`
    fn time(&mut self, kind: LabelKind, start: u32) -> Parse<StmtId> {
        let mut label = None;
        let mut sync = false;
        if self.tok.kind == Kind::LParen {
            let diagnostic = self.expectation("`[` and a label, or the body of the label");
            self.error(diagnostic.help("labels stand in brackets: time[\"write\"] {...}"));
            self.skip_to_body();
        } else if self.tok.kind == Kind::LBracket {
            let found = self.label(&mut label, &mut sync);
            if found.is_err() {
                self.skip_to_body();
            }
        }
        let body = self.body("the label");
        let number = self.cx.ast.times.len() as u32;
        self.cx.ast.times.push(Time { kind, label, sync, body });
        Ok(self.push_stmt(Stmt::Time(number), start))
    }

    fn label(&mut self, label: &mut Option<ExprId>, sync: &mut bool) -> Parse<()> {
        let open = self.bump();
        *label = Some(self.name_string("a label in quotes, as in time[\"write\"]")?);
        if self.accept(Kind::Comma) {
            if !self.accept_word("sync") {
                return Err(self.expected("`sync`"));
            }
            *sync = true;
        }
        self.close(Kind::RBracket, open, "`]` after the label")
    }

    /// A string that names something; text that was reported already will do.
    pub(super) fn name_string(&mut self, what: &str) -> Parse<ExprId> {
        match self.tok.kind {
            Kind::Str => Ok(self.string()),
            Kind::Error => {
                let token = self.bump();
                Ok(self.push_expr(Expr::Error, token.span()))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// `"g"` or `("g")`
    fn group_name(&mut self) -> Parse<ExprId> {
        let what = "the name of a group in quotes, as in group \"writers\" {...}";
        if self.tok.kind != Kind::LParen {
            return self.name_string(what);
        }
        let open = self.bump();
        let name = self.name_string(what)?;
        self.close(Kind::RParen, open, "`)` after the name")?;
        Ok(name)
    }

    fn group(&mut self, start: u32) -> Parse<StmtId> {
        let name = self.group_name();
        let name = self.or_skip_to_body(name);
        let body = self.body("the group");
        Ok(self.push_stmt(Stmt::Group(name, body), start))
    }

    /// `split (value) body`
    fn split(&mut self, start: u32) -> Parse<StmtId> {
        if self.tok.kind != Kind::LParen {
            let diagnostic = self.expectation("`(` and a value after `split`");
            self.error(diagnostic.help("write as in split ($$rank / 4) { ... }"));
        }
        let value = self.expr();
        let value = self.or_skip_to_body(value);
        let body = self.body("the value");
        self.cx.ast.splits += 1;
        Ok(self.push_stmt(Stmt::Split(value, body), start))
    }

    fn barrier(&mut self, start: u32) -> Parse<StmtId> {
        let named = matches!(self.tok.kind, Kind::LParen | Kind::Str | Kind::Error);
        let name = if named { Some(self.group_name()?) } else { None };
        self.semi("`barrier`")?;
        Ok(self.push_stmt(Stmt::Barrier(name), start))
    }

    /// `(condition)`
    fn condition(&mut self, word: &str) -> ExprId {
        if self.tok.kind != Kind::LParen {
            let diagnostic = self.expectation(&format!("`(` after `{word}`"));
            self.error(
                diagnostic.help(format!("conditions stand in parentheses: {word} ($x > 0) ...")),
            );
        }
        let found = self.expr();
        self.or_skip_to_body(found)
    }

    fn if_else(&mut self, start: u32) -> Parse<StmtId> {
        let cond = self.condition("if");
        let then = self.body("the condition");
        let otherwise = self.accept_word("else").then(|| self.body("`else`"));
        let number = self.cx.ast.ifs.len() as u32;
        self.cx.ast.ifs.push(If { cond, then, otherwise });
        Ok(self.push_stmt(Stmt::If(number), start))
    }

    /// `with (name=value, ...) body`
    fn with(&mut self, start: u32) -> Parse<StmtId> {
        let mark = self.cx.scratch.len();
        let options = match self.options() {
            Ok(options) => options,
            Err(Bad) => {
                self.cx.scratch.truncate(mark);
                self.skip_to_body();
                List::default()
            }
        };
        let body = self.body("the options");
        Ok(self.push_stmt(Stmt::With(options, body), start))
    }

    fn options(&mut self) -> Parse<List> {
        let form = "as in with (direct=true, transfer=1m) {...}";
        if self.tok.kind != Kind::LParen {
            return Err(self.expected(&format!("`(` and options after `with`, {form}")));
        }
        self.cx.options = true;
        let options = self.args();
        self.cx.options = false;
        let options = options?;
        let unnamed = self
            .cx
            .ast
            .exprs_in(options)
            .find(|id| !matches!(self.cx.ast.expr(*id), Expr::Named(..) | Expr::Error));
        if let Some(id) = unnamed {
            let span = self.cx.ast.expr_span(id);
            let message = format!("expected an option `name=value`, {form}");
            self.error(Diagnostic::new(Code::Expected, span, message));
            return Ok(List::default());
        }
        Ok(options)
    }
}
