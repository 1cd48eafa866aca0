//! Commands: operations, calls of procs, assignments.

use super::expr::binary_op;
use super::{Bad, Parse, Parser};
use crate::ast::{Expr, ExprId, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::foreign::words;
use crate::lower::lists::PUSH;
use crate::token::{Kind, Token};
use crate::word::{Keyword, Word, classify};
use model::Op;
use model::plan::Span;

impl Parser<'_, '_, '_> {
    /// `$x = value;`
    pub(super) fn assignment(&mut self) -> Parse<StmtId> {
        let var = self.bump();
        if self.tok.kind == Kind::LBracket {
            return self.set_item(var);
        }
        if self.tok.kind != Kind::Assign {
            return Err(self.no_assignment(var));
        }
        self.assign(var)
    }

    /// `global $x = value;`, `global $list[at] = value;`, `global push($list, value);`; the word is consumed.
    #[cold]
    pub(super) fn global(&mut self, start: u32) -> Parse<StmtId> {
        if self.tok.kind == Kind::Word && self.slice(self.tok) == PUSH {
            self.bump();
            let args = self.args()?;
            self.semi("the arguments")?;
            return Ok(self.push_stmt(Stmt::GlobalPush(args), start));
        }
        let form = "as in global $n = $n + 1; or global push($list, 1);";
        let var = self.expect(Kind::Var, &format!("a variable, {form}"))?;
        if self.tok.kind == Kind::LBracket {
            let item = self.element(var)?;
            let value = self.element_value()?;
            return Ok(self.push_stmt(Stmt::Global(item, value), start));
        }
        self.expect(Kind::Assign, &format!("`=` and the value, {form}"))?;
        let name = self.intern(var);
        let var = self.push_expr(Expr::Var(name), var.span());
        let value = self.expr()?;
        self.semi("the value")?;
        Ok(self.push_stmt(Stmt::Global(var, value), start))
    }

    /// `return;`, `return value;`; the word is consumed.
    #[cold]
    pub(super) fn return_value(&mut self, start: u32) -> Parse<StmtId> {
        let value = if self.tok.kind == Kind::Semi { None } else { Some(self.expr()?) };
        self.semi("`return`")?;
        Ok(self.push_stmt(Stmt::Return(value), start))
    }

    /// `$list[at][at] = value;`, from the first bracket on.
    #[cold]
    fn set_item(&mut self, var: Token) -> Parse<StmtId> {
        let item = self.element(var)?;
        let value = self.element_value()?;
        Ok(self.push_stmt(Stmt::SetItem(item, value), var.start))
    }

    /// `$list[at][at]`
    fn element(&mut self, var: Token) -> Parse<ExprId> {
        let name = self.intern(var);
        let mut item = self.push_expr(Expr::Var(name), var.span());
        while self.tok.kind == Kind::LBracket {
            let open = self.bump();
            let at = self.expr()?;
            self.close(Kind::RBracket, open, "`]` after the index")?;
            let span = self.since(var.start);
            item = self.push_expr(Expr::Index(item, at), span);
        }
        Ok(item)
    }

    /// `= value;`
    fn element_value(&mut self) -> Parse<ExprId> {
        if self.tok.kind != Kind::Assign {
            let diagnostic = self.expectation("`=` after the element of a list");
            let help = "an element is set with $list[0] = ...;";
            return Err(self.error(diagnostic.help(help)));
        }
        self.bump();
        let value = self.expr()?;
        self.semi("the value")?;
        Ok(value)
    }

    #[cold]
    fn no_assignment(&mut self, var: Token) -> Bad {
        let name = self.slice(var);
        let diagnostic = self.expectation(&format!("`=` after {name}"));
        self.error(match self.tok.kind {
            Kind::Plus | Kind::Minus | Kind::Star | Kind::Slash | Kind::Percent => {
                diagnostic.help(format!("write {};", self.update(name)))
            }
            Kind::EqEq => diagnostic.help("`==` compares; `=` assigns"),
            _ => diagnostic
                .help(format!("a statement that begins with a variable sets it: {name} = ...;")),
        })
    }

    /// From the `=` on. A spoilt value leaves the variable defined.
    fn assign(&mut self, var: Token) -> Parse<StmtId> {
        self.bump();
        let name = self.intern(var);
        let at = self.tok.start;
        let value = match self.expr().and_then(|value| self.semi("the value").map(|()| value)) {
            Ok(value) => value,
            Err(Bad) => {
                self.recover(at);
                let span = self.since(at);
                self.push_expr(Expr::Error, span)
            }
        };
        Ok(self.push_stmt(Stmt::Assign(name, value), var.start))
    }

    /// An operation of the table; its name is consumed.
    #[inline]
    pub(super) fn op(&mut self, op: Op, start: u32) -> Parse<StmtId> {
        let mark = self.cx.scratch.len();
        let paren = match self.tok.kind {
            Kind::LParen => self.op_args(mark)?,
            Kind::Semi => false,
            _ if self.at_end_of_op() => false,
            _ => {
                self.arg_list()?;
                false
            }
        };
        if self.tok.kind == Kind::Semi {
            self.bump();
        } else {
            self.semi("the arguments")?;
        }
        if matches!(op, Op::Pwrite | Op::Pread)
            && let Some(id) = self.posix_transfer(op, start, mark)
        {
            return Ok(id);
        }
        let args = self.list_from(mark);
        Ok(self.push_stmt(Stmt::Op { op, paren, args }, start))
    }

    /// No argument and no `;`: the line or the block ends here.
    fn at_end_of_op(&self) -> bool {
        match self.tok.kind {
            Kind::RBrace | Kind::End | Kind::LBrace => true,
            Kind::Var | Kind::Word => self.at_line_start(),
            _ => false,
        }
    }

    /// Arguments in parentheses, onto the scratch. `print (1)+2, "x";` only looks like
    /// them: then what was read is the start of the first argument, and the result false.
    #[inline]
    fn op_args(&mut self, mark: usize) -> Parse<bool> {
        let open = self.bump();
        if self.tok.kind != Kind::RParen {
            self.arg_list()?;
        }
        self.close(Kind::RParen, open, "`,` or `)`")?;
        if self.tok.kind == Kind::Semi || !self.goes_on(mark) {
            return Ok(true);
        }
        let inner = ExprId(self.cx.scratch[mark]);
        self.cx.scratch.truncate(mark);
        let first = self.parenthesised(open, inner)?;
        let first = self.expr_from(first)?;
        self.cx.scratch.push(first.0);
        if self.accept(Kind::Comma) {
            self.arg_list()?;
        }
        Ok(false)
    }

    /// The parenthesis just closed held one expression, and an argument goes on after it.
    fn goes_on(&self, mark: usize) -> bool {
        let kind = self.tok.kind;
        let more =
            matches!(kind, Kind::Comma | Kind::LBracket | Kind::Caret) || binary_op(kind).is_some();
        let [only] = self.cx.scratch[mark..] else { return false };
        more && !matches!(self.cx.ast.expr(ExprId(only)), Expr::Named(..) | Expr::Word(_))
    }

    /// A word that is neither keyword nor operation: a proc, a name without `$`, or a
    /// misspelled keyword, which is parsed as what was probably meant.
    pub(super) fn other_word(&mut self, token: Token) -> Parse<StmtId> {
        let name = self.intern(token);
        let is_proc = self.cx.procs.contains(&name);
        let called = self.tok.kind == Kind::LParen;
        match (self.tok.kind, words::statement(self.slice(token), called)) {
            (Kind::Assign, _) => self.forgotten_dollar(token),
            (Kind::Plus | Kind::Minus, None) => Err(self.bare_increment(token)),
            (_, Some(help)) if !is_proc => {
                self.foreign_word(token, help)?;
                Ok(self.push_stmt(Stmt::Error, token.start))
            }
            (Kind::LParen, _) => self.proc_call(token, name, is_proc),
            _ if is_proc => Err(self.proc_without_parens(token)),
            _ => match self.unknown_word(token).map(|word| classify(word).0) {
                None | Some(Word::Other | Word::Keyword(Keyword::Else)) => Err(Bad),
                Some(meaning) => self.known_word(meaning, token.start),
            },
        }
    }

    #[cold]
    fn proc_without_parens(&mut self, token: Token) -> Bad {
        let word = self.slice(token);
        let diagnostic = self.expectation(&format!("`(` after the proc's name `{word}`"));
        let diagnostic =
            diagnostic.help(format!("procs are called with parentheses: {word}(...);"));
        let end = self.after_last();
        self.error(match self.tok.kind {
            Kind::Semi => diagnostic.fix(end, "()"),
            _ => diagnostic,
        })
    }

    #[cold]
    fn forgotten_dollar(&mut self, token: Token) -> Parse<StmtId> {
        let word = self.slice(token);
        let at = Span { start: token.start, end: token.start };
        let message = format!("expected a statement, found the word `{word}`");
        let diagnostic = Diagnostic::new(Code::UnknownWord, token.span(), message)
            .help(format!("variables begin with `$`: ${word} = ...;"));
        self.error(diagnostic.fix(at, "$"));
        self.assign(token)
    }

    /// `name(args);` or `misspelled (header) body`
    fn proc_call(&mut self, token: Token, name: Name, is_proc: bool) -> Parse<StmtId> {
        let args = self.args()?;
        if self.tok.kind != Kind::Semi && !is_proc && !self.at_next_line() {
            self.unknown_word(token);
            self.body("it");
            return Ok(self.push_stmt(Stmt::Error, token.start));
        }
        self.semi("the arguments")?;
        Ok(self.push_stmt(Stmt::Call { name, args }, token.start))
    }

    /// The line or the block ends before the current token.
    fn at_next_line(&self) -> bool {
        matches!(self.tok.kind, Kind::RBrace | Kind::End) || self.at_line_start()
    }
}
