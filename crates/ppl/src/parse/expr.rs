//! Expressions.

use super::parser::{Bad, MAX_HEIGHT, MAX_NESTING, Parse, Parser};
use crate::ast::{Expr, ExprId, List};
use crate::diag::{Code, Diagnostic};
use crate::lex::{Kind, Token};
use crate::word::{Word, classify};
use model::plan::{BinaryOp, Span, UnaryOp};

/// An operator with two operands and how tightly it binds; `^` is apart.
#[inline]
pub(crate) fn binary_op(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::OrOr => (BinaryOp::Or, 1),
        Kind::AndAnd => (BinaryOp::And, 2),
        Kind::EqEq => (BinaryOp::Eq, 3),
        Kind::NotEq => (BinaryOp::Ne, 3),
        Kind::Lt => (BinaryOp::Lt, 3),
        Kind::Le => (BinaryOp::Le, 3),
        Kind::Gt => (BinaryOp::Gt, 3),
        Kind::Ge => (BinaryOp::Ge, 3),
        Kind::Plus => (BinaryOp::Add, 4),
        Kind::Minus => (BinaryOp::Sub, 4),
        Kind::Percent => (BinaryOp::Rem, 5),
        Kind::Star => (BinaryOp::Mul, 6),
        Kind::Slash => (BinaryOp::Div, 6),
        _ => return None,
    })
}

/// The operator of `$x += 1;`, `$x -= 1;`
pub(crate) fn changing_op(kind: Kind) -> Option<BinaryOp> {
    match kind {
        Kind::PlusAssign => Some(BinaryOp::Add),
        Kind::MinusAssign => Some(BinaryOp::Sub),
        _ => None,
    }
}

/// The token between a variable and the value that it gets.
pub(crate) fn sets(kind: Kind) -> bool {
    kind == Kind::Assign || changing_op(kind).is_some()
}

impl Parser<'_, '_, '_> {
    /// An expression.
    #[inline]
    pub(crate) fn expr(&mut self) -> Parse<ExprId> {
        let first = self.unary()?;
        let value = self.climb(first, 0)?;
        self.conditional(value)
    }

    /// Goes on after a primary expression: `[index]`, `^`, operators.
    pub(crate) fn expr_from(&mut self, primary: ExprId) -> Parse<ExprId> {
        let first = self.postfix(primary)?;
        let first = self.power(first)?;
        let value = self.climb(first, 0)?;
        self.conditional(value)
    }

    /// `? a : b` after a condition; binds most loosely, to the right.
    #[inline]
    fn conditional(&mut self, cond: ExprId) -> Parse<ExprId> {
        if self.tok.kind != Kind::Question {
            return Ok(cond);
        }
        let height = self.height;
        self.bump();
        let then = self.deeper(|parser| parser.expr())?;
        let height = height.max(self.height);
        self.expect(Kind::Colon, "`:` and the other value, as in $x > 0 ? 1 : 2")?;
        let otherwise = self.deeper(|parser| parser.expr())?;
        let span = self.joined(cond, otherwise);
        self.grow(height)?;
        Ok(self.push_expr(Expr::Conditional(cond, then, otherwise), span))
    }

    /// Operators that bind at least as tightly as `least`.
    #[inline]
    fn climb(&mut self, mut left: ExprId, least: u8) -> Parse<ExprId> {
        while let Some((op, level)) = binary_op(self.tok.kind) {
            if level < least || (op == BinaryOp::Rem && self.is_percent_sign()) {
                break;
            }
            let height = self.height;
            self.bump();
            let right = self.unary()?;
            let right = self.climb(right, level + 1)?;
            left = self.binary(op, left, right, height)?;
        }
        Ok(left)
    }

    /// `50%` in `define groups`: nothing that could be divided by follows.
    fn is_percent_sign(&self) -> bool {
        matches!(self.peek(), Kind::Comma | Kind::RBrace)
    }

    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        height: u32,
    ) -> Parse<ExprId> {
        let span = self.joined(a, b);
        self.grow(height)?;
        let id = self.push_expr(Expr::Binary(op, a, b), span);
        if op == BinaryOp::Rem {
            self.cx.ast.remainders.push(id);
        }
        Ok(id)
    }

    fn joined(&self, a: ExprId, b: ExprId) -> Span {
        let ast = &self.cx.ast;
        Span { start: ast.expr_span(a).start, end: ast.expr_span(b).end }
    }

    /// The tree becomes one higher than the last expression and another of this height.
    fn grow(&mut self, other: u32) -> Parse<()> {
        self.height = self.height.max(other) + 1;
        if self.height <= MAX_HEIGHT {
            return Ok(());
        }
        let message = format!("this expression has more than {MAX_HEIGHT} operators in a row");
        let help = "compute it in several steps, or with a loop";
        self.height = 0;
        Err(self.too_deep(message, help))
    }

    /// Reports too deep nesting, the first time.
    #[cold]
    pub(crate) fn too_deep(&mut self, message: String, help: &str) -> Bad {
        if !std::mem::replace(&mut self.cx.too_deep, true) {
            let diagnostic = Diagnostic::new(Code::TooDeep, self.tok.span(), message);
            return self.error(diagnostic.help(help));
        }
        self.error_at = Some(self.tok.start);
        Bad
    }

    #[inline]
    fn unary(&mut self) -> Parse<ExprId> {
        self.deeper(|parser| match parser.tok.kind {
            Kind::Minus => parser.prefixed(UnaryOp::Neg),
            Kind::Bang => parser.prefixed(UnaryOp::Not),
            _ => parser.powered(),
        })
    }

    /// Counts the nesting. Every cycle of expression functions goes through here.
    #[inline]
    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parse<ExprId>) -> Parse<ExprId> {
        if self.cx.depth >= MAX_NESTING {
            let message = format!("nested deeper than {MAX_NESTING} levels");
            return Err(self.too_deep(message, "compute it in several steps"));
        }
        self.cx.depth += 1;
        let result = parse(self);
        self.cx.depth -= 1;
        result
    }

    fn prefixed(&mut self, op: UnaryOp) -> Parse<ExprId> {
        let sign = self.bump();
        if op == UnaryOp::Neg && self.tok.kind == Kind::IntMin && self.peek() != Kind::Caret {
            self.bump();
            self.height = 1;
            let span = self.since(sign.start);
            return Ok(self.push_expr(Expr::Int(i64::MIN), span));
        }
        let operand = self.unary()?;
        self.grow(0)?;
        let span = self.since(sign.start);
        Ok(self.push_expr(Expr::Unary(op, operand), span))
    }

    #[inline]
    fn powered(&mut self) -> Parse<ExprId> {
        let base = self.primary()?;
        if !matches!(self.tok.kind, Kind::Caret | Kind::LBracket) {
            return Ok(base);
        }
        let base = self.postfix(base)?;
        self.power(base)
    }

    /// `^`, to the right.
    fn power(&mut self, base: ExprId) -> Parse<ExprId> {
        if self.tok.kind != Kind::Caret {
            return Ok(base);
        }
        let height = self.height;
        self.bump();
        let exponent = self.unary()?;
        self.binary(BinaryOp::Pow, base, exponent, height)
    }

    /// `[index]`, any number of them.
    fn postfix(&mut self, mut list: ExprId) -> Parse<ExprId> {
        while self.tok.kind == Kind::LBracket {
            let height = self.height;
            let open = self.bump();
            let at = self.expr()?;
            self.close(Kind::RBracket, open, "`]` after the index")?;
            self.grow(height)?;
            let span = self.since(self.cx.ast.expr_span(list).start);
            list = self.push_expr(Expr::Index(list, at), span);
        }
        Ok(list)
    }

    #[inline]
    fn primary(&mut self) -> Parse<ExprId> {
        let token = self.tok;
        self.height = 1;
        let expr = match token.kind {
            Kind::Int => Expr::Int(token.value),
            Kind::Str => return Ok(self.string()),
            Kind::Var => {
                let name = self.intern(token);
                Expr::Var(name)
            }
            Kind::Float => Expr::Float(f64::from_bits(token.value as u64)),
            Kind::Duration => Expr::Duration(token.value),
            Kind::Rate => Expr::Rate(token.value),
            Kind::Error => Expr::Error,
            Kind::Internal => return self.internal(),
            Kind::LParen => return self.paren(),
            Kind::LBracket => return self.list(),
            Kind::Word => return self.word(),
            _ => return Err(self.no_value()),
        };
        self.bump();
        Ok(self.push_expr(expr, token.span()))
    }

    #[cold]
    fn no_value(&mut self) -> Bad {
        let diagnostic = self.expectation("a value");
        let text = match self.tok.kind {
            Kind::IntMin => {
                let message =
                    "expected a number up to 9223372036854775807, found 9223372036854775808";
                Diagnostic::new(Code::BadNumber, self.tok.span(), message)
                    .help("integers have 64 bits")
            }
            Kind::Assign if self.prev_kind == Kind::Assign => diagnostic.help("`==` compares"),
            Kind::Plus if self.prev_kind == Kind::Plus => {
                diagnostic.help("there is no `++`; write $x = $x + 1;")
            }
            Kind::Assign if matches!(self.prev_kind, Kind::EqEq | Kind::NotEq) => {
                diagnostic.help("`==` and `!=` compare")
            }
            Kind::Star if self.prev_kind == Kind::Star => {
                diagnostic.help("a power is written a ^ b")
            }
            Kind::Gt if self.prev_kind == Kind::Lt => diagnostic.help("write `!=`"),
            _ => diagnostic,
        };
        self.error(text)
    }

    /// A string token; malformed escapes and variables in it are reported.
    #[inline]
    pub(crate) fn string(&mut self) -> ExprId {
        let token = self.bump();
        if token.value != 0 {
            self.check_string(token);
        }
        self.push_expr(Expr::Str, token.span())
    }

    #[cold]
    fn check_string(&mut self, token: Token) {
        for problem in crate::text::check(self.slice(token), token.start) {
            self.cx.reports.push(problem);
        }
    }

    /// `$$name`, `$$env(NAME)`
    fn internal(&mut self) -> Parse<ExprId> {
        let token = self.bump();
        if self.slice(token) != "$$env" {
            let name = self.intern(token);
            return Ok(self.push_expr(Expr::Internal(name), token.span()));
        }
        let form = "`(` and the name of an environment variable, as in $$env(HOME)";
        let open = self.expect(Kind::LParen, form)?;
        let word = self.expect(Kind::Word, "the name of an environment variable")?;
        self.close(Kind::RParen, open, "`)` after the name")?;
        let name = self.intern(word);
        let span = self.since(token.start);
        Ok(self.push_expr(Expr::Env(name), span))
    }

    fn paren(&mut self) -> Parse<ExprId> {
        let open = self.bump();
        let inner = self.expr()?;
        self.close(Kind::RParen, open, "`)` or an operator")?;
        self.parenthesised(open, inner)
    }

    pub(crate) fn parenthesised(&mut self, open: Token, inner: ExprId) -> Parse<ExprId> {
        self.grow(0)?;
        let span = self.since(open.start);
        Ok(self.push_expr(Expr::Paren(inner), span))
    }

    /// `[a, b]`
    fn list(&mut self) -> Parse<ExprId> {
        let open = self.bump();
        let (items, height) = self.collected(|parser| {
            let mut height = 0;
            // `[, 1]`: rather an empty list that is not closed than one whose first item is missing.
            let is_empty = parser.has_no_arguments() || parser.tok.kind == Kind::Comma;
            while !is_empty && parser.tok.kind != Kind::RBracket {
                let item = parser.expr()?;
                height = height.max(parser.height);
                parser.cx.scratch.push(item.0);
                if !parser.comma() {
                    break;
                }
            }
            parser.close(Kind::RBracket, open, "`,` or `]`")?;
            Ok(height)
        })?;
        self.grow(height)?;
        let span = self.since(open.start);
        Ok(self.push_expr(Expr::List(items), span))
    }

    /// Makes a list of what `fill` leaves on the scratch. After an error nothing stays there.
    fn collected(&mut self, fill: impl FnOnce(&mut Self) -> Parse<u32>) -> Parse<(List, u32)> {
        let mark = self.cx.scratch.len();
        match fill(self) {
            Ok(height) => Ok((self.list_from(mark), height)),
            Err(bad) => {
                self.cx.scratch.truncate(mark);
                Err(bad)
            }
        }
    }

    /// A word in an expression: `true`, `false`, or a call.
    fn word(&mut self) -> Parse<ExprId> {
        let token = self.bump();
        if self.tok.kind == Kind::LParen {
            return self.call(token);
        }
        match self.boolean(token) {
            Some(id) => Ok(id),
            None => Err(self.word_as_value(token)),
        }
    }

    fn boolean(&mut self, token: Token) -> Option<ExprId> {
        let text = self.slice(token);
        let value = text.eq_ignore_ascii_case("true");
        if !value && !text.eq_ignore_ascii_case("false") {
            return None;
        }
        if text != "true" && text != "false" {
            self.cx.ast.capitals.push(token.span());
        }
        Some(self.push_expr(Expr::Bool(value), token.span()))
    }

    /// `min(a, b)`, `fopen("a", "r")`; the name is consumed.
    fn call(&mut self, token: Token) -> Parse<ExprId> {
        let name = match classify(self.slice(token)) {
            (Word::Op(op), false) => {
                self.cx.ast.capitals.push(token.span());
                let text = self.slice(token).to_ascii_lowercase();
                debug_assert_eq!(model::Op::find(&text), Some(op));
                self.cx.ast.names.intern(&text)
            }
            _ => self.intern(token),
        };
        let args = self.args()?;
        self.grow(0)?;
        let span = self.since(token.start);
        Ok(self.push_expr(Expr::Call(name, args), span))
    }

    /// `( a, b )` of a call.
    pub(crate) fn args(&mut self) -> Parse<List> {
        let open = self.expect(Kind::LParen, "`(`")?;
        let (list, height) = self.collected(|parser| {
            let empty = parser.has_no_arguments();
            let height = if empty { 0 } else { parser.arg_list()? };
            parser.close(Kind::RParen, open, "`,` or `)`")?;
            Ok(height)
        })?;
        self.height = height;
        Ok(list)
    }

    /// Arguments up to what is not a comma, onto the scratch; gives the greatest height.
    #[inline]
    pub(crate) fn arg_list(&mut self) -> Parse<u32> {
        let mut height = 0;
        loop {
            let arg = self.arg()?;
            height = height.max(self.height);
            self.cx.scratch.push(arg.0);
            if !self.comma() {
                return Ok(height);
            }
        }
    }

    /// A comma; a missing one before another value is reported and taken as given.
    #[inline]
    fn comma(&mut self) -> bool {
        match self.tok.kind {
            Kind::Comma => {
                self.bump();
                true
            }
            Kind::RParen | Kind::Semi => false,
            _ => self.missing_comma(),
        }
    }

    #[cold]
    fn missing_comma(&mut self) -> bool {
        use Kind::{Duration, Float, Int, Internal, Rate, Str, Var};
        let value = matches!(self.tok.kind, Duration | Float | Int | Internal | Rate | Str | Var);
        if !value || self.at_line_start() || sets(self.peek()) {
            return false;
        }
        let end = self.after_last();
        let diagnostic = self.expectation("`,` between arguments").fix(end, ",");
        self.error(diagnostic);
        true
    }

    /// An argument: an expression, `name=value`, or a bare word.
    #[inline]
    fn arg(&mut self) -> Parse<ExprId> {
        if self.tok.kind != Kind::Word {
            return self.expr();
        }
        let word = self.bump();
        match self.tok.kind {
            Kind::Assign => self.named(word),
            Kind::LParen => {
                let call = self.deeper(|parser| parser.call(word))?;
                self.expr_from(call)
            }
            _ => match self.boolean(word) {
                Some(value) => self.expr_from(value),
                None if matches!(self.tok.kind, Kind::Comma | Kind::RParen | Kind::Semi) => {
                    let name = self.intern(word);
                    self.height = 1;
                    Ok(self.push_expr(Expr::Word(name), word.span()))
                }
                None => Err(self.word_as_value(word)),
            },
        }
    }

    fn named(&mut self, word: Token) -> Parse<ExprId> {
        self.bump();
        let name = self.intern(word);
        let value = self.expr()?;
        let span = self.since(word.start);
        Ok(self.push_expr(Expr::Named(name, value), span))
    }
}
