//! Reporting what was expected, and finding the place to go on.

use super::expr::sets;
use super::parser::{Bad, Parse, Parser};
use crate::ast::{Expr, ExprId};
use crate::diag::{Code, Diagnostic};
use crate::foreign::words;
use crate::lex::{Kind, Token};
use crate::word::{Word, classify, nearest, statement_words, suggest};
use model::function::FUNCTIONS;
use model::plan::Span;
use model::words::shortened;

impl Parser<'_, '_, '_> {
    /// Reports an error unless the text here has been reported already.
    #[cold]
    pub(crate) fn error(&mut self, diagnostic: Diagnostic) -> Bad {
        // At the end of the last token or after it: in it, or between it and this one.
        let spoilt = self.lex.bad_end > 0 && self.lex.bad_end >= self.prev_end;
        if !spoilt && self.error_at != Some(self.tok.start) {
            self.cx.reports.push(diagnostic);
        }
        self.error_at = Some(self.tok.start);
        Bad
    }

    /// "expected ..., found ..." at the current token.
    #[cold]
    pub(crate) fn expected(&mut self, what: &str) -> Bad {
        let diagnostic = self.expectation(what);
        self.error(diagnostic)
    }

    /// The diagnostic of [`Parser::expected`], to add to.
    pub(crate) fn expectation(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.describe(self.tok));
        let span = match self.tok.kind {
            // Where the text stops, not below its last line.
            Kind::End => self.after_last(),
            _ => self.tok.span(),
        };
        Diagnostic::new(Code::Expected, span, message)
    }

    /// The empty place after the last consumed token.
    pub(crate) fn after_last(&self) -> Span {
        Span { start: self.prev_end, end: self.prev_end }
    }

    /// Consumes a token of this kind or reports that `what` was expected.
    #[inline]
    pub(crate) fn expect(&mut self, kind: Kind, what: &str) -> Parse<Token> {
        if self.tok.kind == kind { Ok(self.bump()) } else { Err(self.expected(what)) }
    }

    /// A token in words.
    fn describe(&self, token: Token) -> String {
        let text = shortened(self.slice(token), 40);
        match token.kind {
            Kind::Word => format!("the word `{text}`"),
            Kind::Var | Kind::Internal => format!("the variable {text}"),
            Kind::Str => format!("the string {text}"),
            Kind::Int | Kind::IntMin | Kind::Float => format!("the number {text}"),
            Kind::Duration => format!("the duration {text}"),
            Kind::Rate => format!("the rate {text}"),
            kind => kind.text().into(),
        }
    }

    /// The current token is the first on its line.
    pub(crate) fn at_line_start(&self) -> bool {
        self.lex.between(self.prev_end, self.tok.start).contains('\n')
    }

    /// The current token is a word that begins a statement.
    pub(crate) fn at_statement_word(&self) -> bool {
        self.tok.kind == Kind::Word && classify(self.slice(self.tok)).0 != Word::Other
    }

    /// The current token surely begins another statement.
    fn at_next_statement(&self) -> bool {
        match self.tok.kind {
            Kind::RBrace | Kind::End => true,
            Kind::Word => self.at_statement_word() || self.at_line_start(),
            Kind::Var => self.at_line_start() || sets(self.peek()),
            Kind::LBrace => self.at_line_start(),
            _ => false,
        }
    }

    /// The `;` of a statement; `what` names it in the message.
    #[inline]
    pub(crate) fn semi(&mut self, what: &str) -> Parse<()> {
        if self.tok.kind == Kind::Semi {
            self.bump();
            return Ok(());
        }
        self.missing_semi(what)
    }

    /// A missing `;` belongs to the end of the line before, not to the next line.
    #[cold]
    fn missing_semi(&mut self, what: &str) -> Parse<()> {
        if let Some(diagnostic) = self.operator_in_words() {
            return Err(self.error(diagnostic));
        }
        let end = self.after_last();
        let mut diagnostic = self.expectation(&format!("`;` after {what}"));
        if self.at_next_statement() {
            diagnostic.span = end;
            self.error(diagnostic.fix(end, ";"));
            return Ok(());
        }
        let help = match self.tok.kind {
            Kind::RParen => "there is no open `(` here",
            Kind::RBracket => "there is no open `[` here",
            Kind::Assign => "`=` assigns to a variable at the start of a statement; `==` compares",
            _ => "arguments are separated by commas, statements end with `;`",
        };
        Err(self.error(diagnostic.help(help)))
    }

    /// No argument begins here: the parenthesis closes, or the statement ends without that.
    #[inline]
    pub(crate) fn has_no_arguments(&self) -> bool {
        use Kind::{End, LBrace, RBrace, RParen, Semi};
        matches!(self.tok.kind, RParen | Semi | LBrace | RBrace | End)
    }

    /// The bracket that closes `open`. Before a token that ends the statement it is
    /// taken as given after the report.
    #[inline]
    pub(crate) fn close(&mut self, kind: Kind, open: Token, what: &str) -> Parse<()> {
        if self.tok.kind == kind {
            self.bump();
            return Ok(());
        }
        self.missing_close(kind, open, what)
    }

    #[cold]
    fn missing_close(&mut self, kind: Kind, open: Token, what: &str) -> Parse<()> {
        if let Some(diagnostic) = self.operator_in_words() {
            return Err(self.error(diagnostic));
        }
        let ends = matches!(self.tok.kind, Kind::Semi | Kind::LBrace | Kind::RBrace | Kind::End)
            || (self.at_line_start() && self.at_statement_word());
        let mut diagnostic = self
            .expectation(what)
            .related(open.span(), format!("{} is opened here", open.kind.text()));
        if ends {
            let end = self.after_last();
            diagnostic.span = end;
            let bracket = if kind == Kind::RParen { ")" } else { "]" };
            let semi = if self.tok.kind == Kind::Word { ";" } else { "" };
            self.error(diagnostic.fix(end, format!("{bracket}{semi}")));
            return Ok(());
        }
        if self.tok.kind == Kind::Assign {
            diagnostic = diagnostic.help("`==` compares");
        }
        Err(self.error(diagnostic))
    }

    /// Skips to where the next statement can begin. `begin`: where the failed one
    /// began; at least one token is consumed if nothing was.
    #[cold]
    pub(crate) fn recover(&mut self, begin: u32) {
        self.skipping = true;
        self.skip_statement(begin);
        self.skipping = false;
    }

    fn skip_statement(&mut self, begin: u32) {
        if self.tok.start == begin {
            match self.tok.kind {
                Kind::RBrace | Kind::End | Kind::Semi => {}
                Kind::LBrace => self.skip_braces(),
                _ => {
                    self.bump();
                }
            }
        }
        loop {
            match self.tok.kind {
                Kind::End | Kind::RBrace => return,
                Kind::Semi => {
                    self.bump();
                    return;
                }
                Kind::LBrace if self.brace_ends_line() => return,
                Kind::LBrace => self.skip_braces(),
                Kind::Word if self.at_line_start() && self.at_statement_word() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// A `{` before a line end or a comment opens a block.
    fn brace_ends_line(&self) -> bool {
        let rest = self.lex.rest();
        let line = rest.split('\n').next().unwrap_or("").trim();
        line.is_empty() || line.starts_with('#') || line.starts_with("//")
    }

    /// Skips from a `{` over the `}` that closes it.
    pub(crate) fn skip_braces(&mut self) {
        let mut open = 0u32;
        loop {
            match self.tok.kind {
                Kind::End => return,
                Kind::LBrace => open += 1,
                Kind::RBrace if open <= 1 => {
                    self.bump();
                    return;
                }
                Kind::RBrace => open -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    /// Skips to where the body of a spoilt header can begin.
    #[cold]
    pub(crate) fn skip_to_body(&mut self) {
        use Kind::{Comma, End, LBrace, RBrace, RBracket, RParen, Semi};
        self.skipping = true;
        loop {
            match self.tok.kind {
                End | RBrace | LBrace | Semi => break,
                // A word before these is part of the spoilt header.
                Kind::Word
                    if self.at_statement_word()
                        && !matches!(self.peek(), RBracket | RParen | Comma) =>
                {
                    break;
                }
                _ => {
                    self.bump();
                }
            }
        }
        self.skipping = false;
    }

    /// Skips from a `(` over the `)` that closes it, statements in it included.
    fn skip_parens(&mut self) {
        let mut open = 0u32;
        while !matches!(self.tok.kind, Kind::End | Kind::LBrace | Kind::RBrace) {
            match self.bump().kind {
                Kind::LParen => open += 1,
                Kind::RParen if open <= 1 => return,
                Kind::RParen => open -= 1,
                _ => {}
            }
        }
    }

    /// An expression in a header. After a mistake the text up to the body is skipped.
    pub(crate) fn header_expr(&mut self) -> ExprId {
        let found = self.expr();
        self.or_skip_to_body(found)
    }

    /// The result of a header's part, or [`Expr::Error`] after skipping to the body.
    #[inline]
    pub(crate) fn or_skip_to_body(&mut self, found: Parse<ExprId>) -> ExprId {
        match found {
            Ok(id) => id,
            Err(Bad) => {
                let start = self.tok.start;
                self.skip_to_body();
                self.push_expr(Expr::Error, Span { start, end: start })
            }
        }
    }

    /// Reports a word of another language; its parentheses are skipped.
    #[cold]
    pub(crate) fn foreign_word(&mut self, token: Token, help: &str) -> Parse<()> {
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
    fn operator_in_words(&self) -> Option<Diagnostic> {
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

    /// Reports a word that means nothing here. Gives the word it is nearest to.
    #[cold]
    pub(crate) fn unknown_word(&mut self, token: Token) -> Option<&'static str> {
        let word = self.slice(token);
        let guess = nearest(word, statement_words());
        let procs = self.cx.procs.iter().map(|name| self.cx.ast.names.text(*name));
        let near = guess.or_else(|| nearest(word, procs)).map(str::to_string);
        let message = format!("`{word}` is neither a keyword nor an operation nor a proc");
        let diagnostic = Diagnostic::new(Code::UnknownWord, token.span(), message);
        self.error(match near {
            Some(name) => diagnostic.help(format!("the nearest is {name}")).fix(token.span(), name),
            None => diagnostic.help(
                "`parabench ops` lists the operations; procs are defined by `define proc`, and \
                 variables begin with `$`",
            ),
        });
        guess
    }

    /// Reports a bare word where a value is wanted.
    #[cold]
    pub(crate) fn word_as_value(&mut self, token: Token) -> Bad {
        let word = self.slice(token);
        let message = format!("expected a value, found the word `{word}`");
        let diagnostic = Diagnostic::new(Code::UnknownWord, token.span(), message);
        let dollar = format!("${word}");
        self.error(if word.eq_ignore_ascii_case("not") {
            diagnostic.help("write `!`").fix(token.span(), "!")
        } else if self.cx.ast.names.find(word).is_some() {
            diagnostic.help(format!("variables begin with `$`: {dollar}")).fix(token.span(), dollar)
        } else if let Some(near) = suggest(word, FUNCTIONS.iter().map(|row| row.name)) {
            diagnostic.help(near)
        } else {
            diagnostic.help(format!(
                "put a text in quotes, \"{word}\"; variables begin with `$`: {dollar}"
            ))
        })
    }
}
