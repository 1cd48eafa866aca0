//! Statements: blocks, commands, assignments, loops, includes.

use super::expr::{binary_op, changing_op, sets};
use super::parser::{Bad, MAX_NESTING, Parse, Parser, add};
use crate::ast::{Expr, ExprId, If, List, Mix, Name, Repeat, Share, Stmt, StmtId, Time, Until};
use crate::diag::{Code, Diagnostic, OPENED_HERE};
use crate::foreign::words;
use crate::lex::{Kind, Token};
use crate::lower::PUSH;
use crate::word::{Keyword, Word, classify, is_function};
use model::Op;
use model::plan::{BinaryOp, LabelKind, Span};

impl Parser<'_, '_, '_> {
    /// All statements of a file.
    pub(crate) fn program(&mut self) -> List {
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
    fn known_word(&mut self, word: Word, start: u32) -> Parse<StmtId> {
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
                // `master sync;` is the operation.
                let sync = self.peek() == Kind::LBrace && self.accept_word("sync");
                let body = self.body("`master`");
                Ok(self.push_stmt(Stmt::Master { body, sync }, start))
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
    fn unclosed_block(&mut self, open: Token) {
        // A definition inside was reported as misplaced: that is the same mistake.
        if self.cx.misplaced_in.is_some() && self.cx.misplaced_in == self.cx.blocks.first().copied()
        {
            return;
        }
        let at = Span { start: self.tok.start, end: self.tok.end };
        let message = "expected `}` that closes this block, found the end of the file";
        let diagnostic = Diagnostic::new(Code::Expected, open.span(), message)
            .label(OPENED_HERE)
            .related(at, "the file ends here");
        self.error(diagnostic);
    }

    /// The statement that a header governs. Never fails: a spoilt one is skipped.
    pub(crate) fn body(&mut self, after: &str) -> StmtId {
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

    fn loop_body(&mut self, after: &str) -> StmtId {
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
            let message = format!("`{word}` is outside a loop");
            let diagnostic = Diagnostic::new(Code::Misplaced, span, message);
            self.error(diagnostic.help("use it in the body of repeat or while"));
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
        let block = self.cx.blocks.first().copied();
        if block.is_some() && self.cx.misplaced_in == block {
            return Bad;
        }
        let span = Span { start, end: start + 4 };
        let mut diagnostic =
            Diagnostic::new(Code::Misplaced, span, "`else` without an `if` before it")
                .help("it follows the body of if (...) directly");
        if let Some(open) = self.cx.blocks.last().copied() {
            // If the body of the `if` is this block without its `}`, that is the same mistake.
            self.cx.misplaced_in = block;
            let open = Span { start: open, end: open + 1 };
            diagnostic = diagnostic.related(open, "inside of this block");
        }
        self.error(diagnostic)
    }

    /// `time ["label", sync] body`
    fn time(&mut self, kind: LabelKind, start: u32) -> Parse<StmtId> {
        let mut label = None;
        let mut sync = false;
        if matches!(self.tok.kind, Kind::LParen | Kind::Str) {
            self.label_without_brackets(kind);
        } else if self.tok.kind == Kind::LBracket {
            let found = self.label(&mut label, &mut sync);
            if found.is_err() {
                self.skip_to_body();
            }
        }
        let body = self.body("the label");
        let number = add(&mut self.cx.ast.times, Time { kind, label, sync, body });
        Ok(self.push_stmt(Stmt::Time(number), start))
    }

    /// `time "write" {...}`, `time("write") {...}`: the label is passed over.
    #[cold]
    fn label_without_brackets(&mut self, kind: LabelKind) {
        let diagnostic = self.expectation("`[` and a label, or the body of the label");
        let word = if kind == LabelKind::Calls { "ctime" } else { "time" };
        if self.tok.kind != Kind::Str {
            let help = format!("put the label in brackets: {word}[\"write\"] {{...}}");
            self.error(diagnostic.help(help));
            self.skip_to_body();
            return;
        }
        let text = self.slice(self.tok);
        let help = format!("put the label in brackets: {word}[{text}] {{...}}");
        let at = Span { start: self.prev_end, end: self.tok.end };
        let fix = format!("[{text}]");
        self.error(diagnostic.help(help).fix(at, fix));
        self.bump();
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
    pub(crate) fn name_string(&mut self, what: &str) -> Parse<ExprId> {
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
        let value = self.header_expr();
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
                diagnostic.help(format!("put the condition in parentheses: {word} ($x > 0) ...")),
            );
        }
        self.header_expr()
    }

    fn if_else(&mut self, start: u32) -> Parse<StmtId> {
        let cond = self.condition("if");
        let then = self.body("the condition");
        let otherwise = self.accept_word("else").then(|| self.body("`else`"));
        let number = add(&mut self.cx.ast.ifs, If { cond, then, otherwise });
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
        let options = self.args()?;
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

    /// `$x = value;`
    fn assignment(&mut self) -> Parse<StmtId> {
        let var = self.bump();
        if self.tok.kind == Kind::LBracket {
            return self.set_item(var);
        }
        if !sets(self.tok.kind) {
            return Err(self.no_assignment(var));
        }
        self.assign(var)
    }

    /// `global $x = value;`, `global $list[at] = value;`, `global push($list, value);`; the word is consumed.
    #[cold]
    fn global(&mut self, start: u32) -> Parse<StmtId> {
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
        let op = changing_op(self.tok.kind);
        match op {
            Some(_) => drop(self.bump()),
            None => drop(self.expect(Kind::Assign, &format!("`=` and the value, {form}"))?),
        }
        let name = self.intern(var);
        let target = self.push_expr(Expr::Var(name), var.span());
        let value = self.assigned(var, op)?;
        self.semi("the value")?;
        Ok(self.push_stmt(Stmt::Global(target, value), start))
    }

    /// `return;`, `return value;`; the word is consumed.
    #[cold]
    fn return_value(&mut self, start: u32) -> Parse<StmtId> {
        let value = if self.tok.kind == Kind::Semi { None } else { Some(self.expr()?) };
        self.cx.gives_value |= value.is_some();
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
                let sign = self.slice(self.tok);
                diagnostic.help(format!("write {name} = {name} {sign} ...;"))
            }
            Kind::EqEq => diagnostic.help("`==` compares; `=` assigns"),
            _ => diagnostic
                .help(format!("a statement that begins with a variable sets it: {name} = ...;")),
        })
    }

    /// The value of an assignment; of `$x += value` that of `$x + value`.
    fn assigned(&mut self, var: Token, op: Option<BinaryOp>) -> Parse<ExprId> {
        let Some(op) = op else { return self.expr() };
        let name = self.intern(var);
        let before = self.push_expr(Expr::Var(name), var.span());
        let value = self.expr()?;
        self.binary(op, before, value, 1)
    }

    /// From the `=`, `+=` or `-=` on. A spoilt value leaves the variable defined.
    fn assign(&mut self, var: Token) -> Parse<StmtId> {
        let op = changing_op(self.bump().kind);
        let name = self.intern(var);
        let at = self.tok.start;
        let value =
            match self.assigned(var, op).and_then(|value| self.semi("the value").map(|()| value)) {
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
    pub(crate) fn op(&mut self, op: Op, start: u32) -> Parse<StmtId> {
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
        self.semi("the arguments")?;
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
        if !self.has_no_arguments() {
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
        let more = matches!(kind, Kind::Comma | Kind::LBracket | Kind::Caret | Kind::Question)
            || binary_op(kind).is_some();
        let [only] = self.cx.scratch[mark..] else { return false };
        more && !matches!(self.cx.ast.expr(ExprId(only)), Expr::Named(..) | Expr::Word(_))
    }

    /// A word that is neither keyword nor operation: a proc, a name without `$`, or a
    /// misspelled keyword, which is parsed as what was probably meant.
    fn other_word(&mut self, token: Token) -> Parse<StmtId> {
        let name = self.intern(token);
        let is_proc = self.cx.procs.contains(&name);
        let called = self.tok.kind == Kind::LParen;
        match (self.tok.kind, words::statement(self.slice(token), called)) {
            (Kind::Assign, _) => self.forgotten_dollar(token),
            (_, Some(help)) if !is_proc => {
                self.foreign_word(token, help)?;
                Ok(self.push_stmt(Stmt::Error, token.start))
            }
            (Kind::LParen, _) => self.proc_call(token, name, is_proc),
            _ if is_proc => Err(self.expected("`(` after the name of the proc")),
            _ => match self.unknown_word(token).map(|word| classify(word).0) {
                None | Some(Word::Other | Word::Keyword(Keyword::Else)) => Err(Bad),
                Some(meaning) => self.known_word(meaning, token.start),
            },
        }
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

/// The part between `repeat` and its body.
struct Head {
    var: Option<(Name, Span)>,
    from: Option<ExprId>,
    to: Option<ExprId>,
    step: Option<ExprId>,
    in_list: bool,
}

impl Parser<'_, '_, '_> {
    /// `repeat ...`; the word is consumed.
    fn repeat(&mut self, start: u32) -> Parse<StmtId> {
        let at = Span { start: self.tok.start, end: self.tok.start };
        let mut head = Head { var: None, from: None, to: None, step: None, in_list: false };
        if self.head(&mut head).is_err() {
            self.skip_to_body();
        }
        let until = self.accept_word("until").then(|| self.until());
        let body = self.loop_body("the count");
        let Head { var, from, to, step, in_list } = head;
        let from = from.unwrap_or_else(|| self.push_expr(Expr::Error, at));
        let repeat = Repeat { var, from, in_list, to, step, until, body };
        let number = add(&mut self.cx.ast.repeats, repeat);
        Ok(self.push_stmt(Stmt::Repeat(number), start))
    }

    /// The variable and the range. What was read before a mistake stays in `head`.
    fn head(&mut self, head: &mut Head) -> Parse<()> {
        match self.tok.kind {
            Kind::Var => {
                let var = self.bump();
                if self.tok.kind == Kind::Assign {
                    self.needless_assign();
                }
                if self.accept_word("in") {
                    head.var = Some((self.intern(var), var.span()));
                    head.in_list = true;
                    head.from = Some(self.expr()?);
                    return Ok(());
                }
                if self.count_begins() {
                    let name = self.intern(var);
                    head.var = Some((name, var.span()));
                    head.from = Some(self.expr()?);
                } else {
                    let first = self.variable(var);
                    head.from = Some(self.expr_from(first)?);
                }
            }
            Kind::LParen => return self.head_in_parens(head),
            _ => head.from = Some(self.count()?),
        }
        self.range(head)
    }

    /// `repeat $i = 0..3`, as other languages write it.
    #[cold]
    fn needless_assign(&mut self) {
        let diagnostic = self.expectation("a count or a range");
        let span = self.tok.span();
        self.error(diagnostic.help("write as in repeat $i 0..10 {...}").fix(span, ""));
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
            Kind::Var => !sets(self.peek()),
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
            head.from = Some(self.expr()?);
            self.range(head)?;
            return self.close(Kind::RParen, open, "`)` after the count");
        }
        let inner = self.expr()?;
        self.close(Kind::RParen, open, "`)` or an operator")?;
        let first = self.parenthesised(open, inner)?;
        head.from = Some(self.expr_from(first)?);
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
        let limit = self.header_expr();
        Until { limit, level: self.accept_word("level") }
    }

    /// `share $i n [by n] body`
    fn share(&mut self, start: u32) -> Parse<StmtId> {
        let var = self.expect(Kind::Var, "the variable of `share`, as in share $i 100 by 8")?;
        let var = (self.intern(var), var.span());
        let count = self.header_expr();
        let by = self.accept_word("by").then(|| self.header_expr());
        let body = self.loop_body("the count");
        let number = add(&mut self.cx.ast.shares, Share { var, count, by, body });
        Ok(self.push_stmt(Stmt::Share(number), start))
    }

    /// `mix { 70: statement 30: statement }`
    fn mix(&mut self, start: u32) -> Parse<StmtId> {
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
        let number = add(&mut self.cx.ast.mixes, Mix { weights, bodies });
        Ok(self.push_stmt(Stmt::Mix(number), start))
    }

    fn weight(&mut self) -> Parse<ExprId> {
        let weight = self.expr()?;
        self.expect(Kind::Colon, "`:` after the weight, as in 70: read(\"a\");")?;
        Ok(weight)
    }
}

/// Files may include files this deep.
const MAX_CHAIN: usize = 32;
/// Number of inclusions in one program.
const MAX_INCLUDES: usize = 10_000;

impl Parser<'_, '_, '_> {
    /// `include STRING ;`; the word is consumed.
    fn include(&mut self, start: u32) -> Parse<StmtId> {
        let token = self.tok;
        let path =
            self.name_string("the path of the file in quotes, as in include \"lib.ppl\";")?;
        self.semi("the path")?;
        let list = match token.kind {
            Kind::Str => self.included(token),
            _ => List::default(),
        };
        Ok(self.push_stmt(Stmt::Include(path, list), start))
    }

    /// The statements of the file; none after an error.
    fn included(&mut self, token: Token) -> List {
        if self.cx.loader.is_none() {
            return List::default();
        }
        self.load(token).unwrap_or_default()
    }

    fn load(&mut self, token: Token) -> Parse<List> {
        let path = String::from_utf8_lossy(&crate::text::plain(self.slice(token))).into_owned();
        self.check_limits(token)?;
        let from = self.cx.chain.last().cloned().unwrap_or_default();
        let loaded = match &mut self.cx.loader {
            Some(loader) => loader.load(&from, &path),
            None => return Ok(List::default()),
        };
        let (name, bytes) = loaded.map_err(|why| {
            self.include_error(token, format!("cannot include \"{path}\": {why}"), "")
        })?;
        self.check_loop(token, &name)?;
        self.splice(token, name, bytes)
    }

    fn check_limits(&mut self, token: Token) -> Parse<()> {
        self.cx.includes += 1;
        if self.cx.chain.len() > MAX_CHAIN {
            let chain = self.cx.chain.join(" -> ");
            let message = format!("files include files deeper than {MAX_CHAIN} levels: {chain}");
            return Err(self.include_error(
                token,
                message,
                "include the inner files from the outer ones",
            ));
        }
        if self.cx.includes > MAX_INCLUDES {
            let message = format!("more than {MAX_INCLUDES} inclusions in one program");
            return Err(self.include_error(token, message, "define a proc once and call it"));
        }
        Ok(())
    }

    fn check_loop(&mut self, token: Token, name: &str) -> Parse<()> {
        let Some(at) = self.cx.chain.iter().position(|known| known == name) else {
            return Ok(());
        };
        let chain = self.cx.chain[at..].join(" -> ");
        let message = format!("{name} includes itself: {chain} -> {name}");
        Err(self.include_error(token, message, "move what both need into a third file"))
    }

    fn splice(&mut self, token: Token, name: String, bytes: Vec<u8>) -> Parse<List> {
        let (id, problems) = self.cx.sources.add(&name, bytes);
        let bad = !problems.is_empty();
        for mut problem in problems {
            problem.related.push((token.span(), "included here".into()));
            self.cx.reports.push(problem);
        }
        if bad {
            return Err(Bad);
        }
        self.cx.chain.push(name);
        let list = self.cx.file(id);
        self.cx.chain.pop();
        Ok(list)
    }

    /// Reported beside [`Parser::error`], whose rule is about tokens, not files.
    #[cold]
    fn include_error(&mut self, token: Token, message: String, help: &str) -> Bad {
        let span: Span = token.span();
        let diagnostic = Diagnostic::new(Code::Include, span, message);
        self.cx.reports.push(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
        Bad
    }
}
