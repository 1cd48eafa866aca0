//! State of the parser, its tokens, and the lists of the tree.
//!
//! A parser function that fails has reported why and returns [`Bad`]; the next list of statements or body
//! above it skips to a place where a statement can begin and continues, so that one pass finds many
//! mistakes, and each only once.

use crate::ast::{Ast, Expr, ExprId, List, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic, OPENED_HERE, Reports};
use crate::foreign::diagnose;
use crate::kinds::{KindRow, find_kind};
use crate::lex::{Kind, Lexer, Token};
use crate::source::{FileId, Loader, Sources};
use model::plan::Span;
use std::collections::HashSet;

/// Statements and parentheses may be nested this deep.
pub const MAX_NESTING: u32 = 200;
/// The tree of one expression may be this high; `1 + 1 + 1` has height 3.
pub const MAX_HEIGHT: u32 = 500;

/// The function has reported an error and could not go on.
pub(crate) struct Bad;
pub(crate) type Parse<T> = Result<T, Bad>;

/// Parses a program with everything it includes. Never fails: what cannot be
/// parsed is [`Stmt::Error`] or [`Expr::Error`] in the tree and has a diagnostic.
/// The diagnostics are in order of position.
pub fn parse<'a>(
    sources: &'a mut Sources,
    root: FileId,
    loader: &'a mut dyn Loader,
) -> (Ast, Vec<Diagnostic>) {
    run(sources, root, Some(loader), true)
}

/// Like [`parse`], without recognizing texts of other languages.
pub(crate) fn parse_plain<'a>(
    sources: &'a mut Sources,
    root: FileId,
    loader: &'a mut dyn Loader,
) -> (Ast, Vec<Diagnostic>) {
    run(sources, root, Some(loader), false)
}

/// Parses one file and leaves its includes empty, for the formatter and editors.
pub fn parse_alone(sources: &mut Sources, root: FileId) -> (Ast, Vec<Diagnostic>) {
    run(sources, root, None, true)
}

/// Adds the bodies of kinds that are procs in the language: each pattern has its own copy, so that its
/// variables are its own.
pub(crate) fn add_kinds(mut ast: Ast, sources: &mut Sources) -> Ast {
    for number in 0..ast.patterns.len() {
        let Some(name) = ast.patterns[number].kind else { continue };
        let kind = find_kind(ast.names.text(name)).and_then(KindRow::definition);
        let Some(text) = kind else { continue };
        let file = sources.add_embedded("@kinds", text);
        let mut context = Context::new(sources, None);
        (context.ast, context.recognises) = (ast, false);
        context.file(file);
        ast = context.finish().0;
        if let Some(def) = ast.procs.pop() {
            let pattern = &mut ast.patterns[number];
            (pattern.params, pattern.body) = (def.params, Some(def.body));
        }
    }
    ast
}

fn run<'a>(
    sources: &'a mut Sources,
    root: FileId,
    loader: Option<&'a mut dyn Loader>,
    recognises: bool,
) -> (Ast, Vec<Diagnostic>) {
    let mut context = Context::new(sources, loader);
    context.recognises = recognises;
    context.chain.push(context.sources.file(root).name.clone());
    let top = context.file(root);
    context.ast.top = top;
    context.finish()
}

/// State that all files of a program share while it is parsed.
pub(crate) struct Context<'a> {
    pub(crate) sources: &'a mut Sources,
    pub(crate) loader: Option<&'a mut dyn Loader>,
    /// Texts of other languages and tools are recognized.
    recognises: bool,
    pub(crate) ast: Ast,
    pub(crate) reports: Reports,
    /// Names of the files being parsed, the root first.
    pub(crate) chain: Vec<String>,
    /// Number of files included so far.
    pub(crate) includes: usize,
    /// Members of the lists being parsed; each list owns the end from its mark on.
    pub(crate) scratch: Vec<u32>,
    /// Procs defined so far.
    pub(crate) procs: HashSet<Name>,
    /// Nesting of statements and expressions.
    pub(crate) depth: u32,
    /// Nesting was too deep once; said only once.
    pub(crate) too_deep: bool,
    /// Number of statements around the current one, includes not counted.
    pub(crate) inside: u32,
    /// Number of loops around the current statement, in the same proc.
    pub(crate) loops: u32,
    /// Where the open blocks begin.
    pub(crate) blocks: Vec<u32>,
    /// The outermost open block when a misplaced definition was reported.
    pub(crate) misplaced_in: Option<u32>,
    /// The proc being read has a `return value;`.
    pub(crate) gives_value: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(sources: &'a mut Sources, loader: Option<&'a mut dyn Loader>) -> Context<'a> {
        Context {
            sources,
            loader,
            recognises: true,
            ast: Ast::default(),
            reports: Reports::default(),
            chain: Vec::new(),
            includes: 0,
            scratch: Vec::new(),
            procs: HashSet::new(),
            depth: 0,
            too_deep: false,
            inside: 0,
            loops: 0,
            blocks: Vec::new(),
            misplaced_in: None,
            gives_value: false,
        }
    }

    /// Parses one file of the sources.
    pub(crate) fn file(&mut self, id: FileId) -> List {
        let base = self.sources.file(id).start;
        // A share of it: files can be added while this one is parsed.
        let text = self.sources.file(id).text.clone();
        reserve(&mut self.ast, text.len());
        let known = self.reports.mark();
        let mut parser = Parser::new(self, &text, base);
        let list = parser.program();
        let comments = std::mem::take(&mut parser.lex.comments);
        self.ast.comments.extend(comments);
        let has_mistakes = self.reports.mark().0 > known.0;
        // A text that is none of PPL gets one diagnostic in place of all others.
        let foreign = (has_mistakes && self.recognises).then(|| diagnose(&text, base)).flatten();
        let Some(foreign) = foreign else { return list };
        self.reports.rewind(known);
        self.reports.push(foreign);
        List::default()
    }

    fn finish(mut self) -> (Ast, Vec<Diagnostic>) {
        self.ast.comments.sort_unstable();
        let mut diagnostics = self.reports.finish();
        diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        drop_consequences(&mut diagnostics);
        (self.ast, diagnostics)
    }
}

/// A string that is not closed has swallowed what follows on its line, also the brace of a block: what does not fit
/// together behind it is the same mistake; other open strings are mistakes of their own. In a block that is not closed,
/// an `else` or a definition may have been outside of it.
fn drop_consequences(diagnostics: &mut Vec<Diagnostic>) {
    let is_open = |found: &Diagnostic| found.code == Code::OpenString;
    let is_block = |found: &Diagnostic| found.code == Code::Expected && found.label == OPENED_HERE;
    let first = |is: &dyn Fn(&Diagnostic) -> bool| {
        diagnostics.iter().find(|found| is(found)).map_or(u32::MAX, |found| found.span.start)
    };
    let (string, block) = (first(&is_open), first(&is_block));
    diagnostics.retain(|found| {
        let is_misplaced = found.code == Code::Misplaced && found.span.start > block;
        is_open(found) || (found.span.end <= string && !is_misplaced)
    });
}

/// Reserves room for the tree of `bytes` bytes of text, estimated from usual programs. Unused
/// memory is never touched; growing step by step would copy the tree repeatedly.
fn reserve(ast: &mut Ast, bytes: usize) {
    let (exprs, stmts) = (bytes / 8, bytes / 16);
    // Without that much address space they grow step by step.
    let _ = ast.exprs.try_reserve(exprs);
    let _ = ast.expr_spans.try_reserve(exprs);
    let _ = ast.stmts.try_reserve(stmts);
    let _ = ast.stmt_spans.try_reserve(stmts);
    let _ = ast.lists.try_reserve(exprs);
}

/// Adds a part of the tree; gives its number.
pub(crate) fn add<T>(parts: &mut Vec<T>, part: T) -> u32 {
    parts.push(part);
    parts.len() as u32 - 1
}

/// Parses one file.
pub(crate) struct Parser<'c, 'a, 't> {
    pub(crate) cx: &'c mut Context<'a>,
    pub(crate) lex: Lexer<'t>,
    /// The current token.
    pub(crate) tok: Token,
    /// Kind and end of the one before it.
    pub(crate) prev_kind: Kind,
    pub(crate) prev_end: u32,
    /// Height of the expression parsed last.
    pub(crate) height: u32,
    /// The token at which an error was reported last: no second one there.
    pub(crate) error_at: Option<u32>,
    /// Text is being passed over after an error: unknown characters in it do not matter.
    pub(crate) skipping: bool,
}

impl<'c, 'a, 't> Parser<'c, 'a, 't> {
    pub(crate) fn new(cx: &'c mut Context<'a>, text: &'t str, base: u32) -> Parser<'c, 'a, 't> {
        let start = Token { kind: Kind::Semi, start: base, end: base, value: 0 };
        let lex = Lexer::new(text, base);
        let (prev_kind, prev_end) = (start.kind, start.end);
        let (height, error_at, skipping) = (0, None, false);
        let tok = start;
        let mut parser = Parser { cx, lex, tok, prev_kind, prev_end, height, error_at, skipping };
        parser.bump();
        parser
    }

    /// Goes on to the next token; gives the one that was current.
    #[inline(always)]
    pub(crate) fn bump(&mut self) -> Token {
        let token = self.tok;
        self.advance();
        token
    }

    /// Goes on to the next token. The only place that calls the lexer, which is
    /// inlined here, so that tokens are made in place and not copied (parsing is a
    /// quarter slower otherwise: a wide load of just written parts stalls).
    #[inline(never)]
    fn advance(&mut self) {
        self.prev_kind = self.tok.kind;
        self.prev_end = self.tok.end;
        let token = self.lex.token();
        self.tok.kind = token.kind;
        self.tok.start = token.start;
        self.tok.end = token.end;
        self.tok.value = token.value;
        if !self.lex.errors.is_empty() {
            self.take_lexer_errors();
        }
    }

    #[cold]
    fn take_lexer_errors(&mut self) {
        for error in std::mem::take(&mut self.lex.errors) {
            if !(self.skipping && error.code == Code::UnknownCharacter) {
                self.cx.reports.push(error);
            }
        }
    }

    /// The token after the current one.
    pub(crate) fn peek(&self) -> Kind {
        self.lex.fork().token().kind
    }

    #[inline(always)]
    pub(crate) fn slice(&self, token: Token) -> &'t str {
        self.lex.slice(token)
    }

    /// Consumes a token of this kind if it is the current one.
    #[inline]
    pub(crate) fn accept(&mut self, kind: Kind) -> bool {
        let found = self.tok.kind == kind;
        if found {
            self.bump();
        }
        found
    }

    /// The current token is this word, in either case.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.tok.kind == Kind::Word && self.slice(self.tok).eq_ignore_ascii_case(word)
    }

    /// Consumes this word if it is the current token.
    pub(crate) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            let token = self.bump();
            if self.slice(token) != word {
                self.cx.ast.capitals.push(token.span());
            }
        }
        found
    }

    /// From a position to the end of the last consumed token.
    #[inline]
    pub(crate) fn since(&self, start: u32) -> Span {
        Span { start, end: self.prev_end.max(start) }
    }

    #[inline]
    pub(crate) fn intern(&mut self, token: Token) -> Name {
        let text = self.lex.slice(token).trim_start_matches('$');
        self.cx.ast.names.intern(text)
    }

    #[inline]
    pub(crate) fn push_stmt(&mut self, stmt: Stmt, start: u32) -> StmtId {
        let span = self.since(start);
        self.cx.ast.push_stmt(stmt, span)
    }

    #[inline]
    pub(crate) fn push_expr(&mut self, expr: Expr, span: Span) -> ExprId {
        self.cx.ast.push_expr(expr, span)
    }

    /// Ends a list that began at `mark` of the scratch.
    #[inline]
    pub(crate) fn list_from(&mut self, mark: usize) -> List {
        let list = self.cx.ast.push_list(&self.cx.scratch[mark..]);
        self.cx.scratch.truncate(mark);
        list
    }
}
