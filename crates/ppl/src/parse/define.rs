//! Definitions: parameters, groups, patterns, procs.

use super::parser::{Bad, Parse, Parser, add};
use crate::ast::{Expr, GroupDef, GroupSize, List, Name, Param, PatternDef, ProcDef};
use crate::ast::{ExprId, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::lex::{Kind, Token};
use crate::word::{Word, classify, is_function, suggest};
use model::group::Tag;
use model::plan::Span;

/// Words behind `define`.
const DEFINITIONS: [&str; 5] = ["groups", "param", "pattern", "proc", "hints"];

impl Parser<'_, '_, '_> {
    /// `define ...`; the word is consumed.
    pub(crate) fn define(&mut self, start: u32) -> Parse<StmtId> {
        self.at_top("define", start);
        let word = match self.tok.kind {
            Kind::Word => self.slice(self.tok).to_ascii_lowercase(),
            _ => String::new(),
        };
        let Some(known) = DEFINITIONS.iter().find(|known| **known == word) else {
            let diagnostic = self.expectation("what to define");
            let help = suggest(&word, DEFINITIONS);
            let help = help.unwrap_or("it can be groups, param, pattern, proc or hints".into());
            return Err(self.error(diagnostic.help(help)));
        };
        self.accept_word(known);
        match *known {
            "groups" => self.groups(start),
            "param" => self.old_param(start),
            "pattern" => self.pattern(start),
            "proc" => self.proc(start),
            _ => self.hints(start),
        }
    }

    /// Reports a definition in a block, once for each outermost block:
    /// usually one `}` is missing.
    fn at_top(&mut self, word: &str, start: u32) {
        if self.cx.inside == 0 {
            return;
        }
        let block = self.cx.blocks.first().copied();
        if block.is_some() && self.cx.misplaced_in == block {
            return;
        }
        self.cx.misplaced_in = block;
        let span = Span { start, end: start + word.len() as u32 };
        let message = format!("`{word}` is not allowed inside another statement");
        let diagnostic = Diagnostic::new(Code::Misplaced, span, message)
            .help("definitions belong to the top level; is a `}` missing before it?");
        let innermost = self.cx.blocks.last().copied();
        self.error(match innermost {
            Some(open) => {
                diagnostic.related(Span { start: open, end: open + 1 }, "this block is still open")
            }
            None => diagnostic,
        });
    }

    /// `define param STRING VAR value [;]`
    fn old_param(&mut self, start: u32) -> Parse<StmtId> {
        let first = start;
        let form = "as in define param \"num\" $num \"10000\"";
        let public = self.name_string(&format!("the parameter's name in quotes, {form}"))?;
        let var = self.expect(Kind::Var, &format!("the parameter's variable, {form}"))?;
        self.accept(Kind::Assign);
        let default = self.expr()?;
        self.accept(Kind::Semi);
        Ok(self.push_param(Some(public), var, default, first))
    }

    /// `param VAR = value;`; the word is consumed.
    pub(crate) fn param(&mut self, start: u32) -> Parse<StmtId> {
        self.at_top("param", start);
        let var = self.expect(Kind::Var, "the parameter's variable, as in param $num = 10;")?;
        self.expect(Kind::Assign, "`=` and the parameter's default")?;
        let at = self.tok.start;
        let default = match self.expr().and_then(|value| self.semi("the default").map(|()| value)) {
            Ok(value) => value,
            Err(Bad) => {
                self.recover(at);
                let span = self.since(at);
                self.push_expr(Expr::Error, span)
            }
        };
        Ok(self.push_param(None, var, default, start))
    }

    fn push_param(
        &mut self,
        public: Option<ExprId>,
        var: Token,
        default: ExprId,
        start: u32,
    ) -> StmtId {
        let name = self.intern(var);
        let param = Param { public, var: (name, var.span()), default };
        let number = add(&mut self.cx.ast.params, param);
        self.push_stmt(Stmt::Param(number), start)
    }

    /// `define groups { "a":D = 4, ... } [;]`
    fn groups(&mut self, start: u32) -> Parse<StmtId> {
        let first = self.cx.ast.groups.len() as u32;
        let mut groups = Vec::new();
        let result = self.in_braces("define groups {\"a\":D, \"b\":D};", |parser| {
            let group = parser.group_def()?;
            groups.push(group);
            Ok(())
        });
        self.cx.ast.groups.extend(groups);
        result?;
        self.accept(Kind::Semi);
        let len = self.cx.ast.groups.len() as u32 - first;
        Ok(self.push_stmt(Stmt::Groups(List { start: first, len }), start))
    }

    /// `{ item, item }`. After a mistake in it the rest up to its `}` is skipped.
    fn in_braces(&mut self, form: &str, mut item: impl FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        let open = self.expect(Kind::LBrace, &format!("`{{`, as in {form}"))?;
        let mut result = item(self);
        while result.is_ok() && self.accept(Kind::Comma) {
            result = item(self);
        }
        if result.is_ok() && self.tok.kind == Kind::RBrace {
            self.bump();
            return Ok(());
        }
        if result.is_ok() {
            let diagnostic = self.expectation("`,` or `}`");
            self.error(diagnostic.related(open.span(), "`{` is opened here"));
        }
        self.skip_rest_of_braces();
        Ok(())
    }

    /// From inside braces over their `}`; a `;` at a line's end means that it is missing.
    fn skip_rest_of_braces(&mut self) {
        loop {
            match self.tok.kind {
                Kind::End | Kind::Semi => return,
                Kind::RBrace => {
                    self.bump();
                    return;
                }
                Kind::LBrace => self.skip_braces(),
                Kind::Word if self.at_line_start() && self.at_statement_word() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// `STRING [: tag] [number] [= size]`
    fn group_def(&mut self) -> Parse<GroupDef> {
        let start = self.tok.start;
        let name = self.name_string("the name of a group in quotes")?;
        let (mut tag, mut subtag) = (Tag::None, 0);
        if self.accept(Kind::Colon) {
            (tag, subtag) = self.group_tag()?;
        }
        if self.tok.kind == Kind::Slash || self.tok.kind == Kind::Int {
            self.accept(Kind::Slash);
            subtag = self.expect(Kind::Int, "the number of the group's tag")?.value;
        }
        let size = if self.accept(Kind::Assign) { Some(self.group_size()?) } else { None };
        let span = self.since(start);
        Ok(GroupDef { name, tag, subtag, size, span })
    }

    /// `S`, `D`, `D1`
    fn group_tag(&mut self) -> Parse<(Tag, i64)> {
        let text = match self.tok.kind {
            Kind::Word => self.slice(self.tok),
            _ => "",
        };
        let tag = match text.bytes().next() {
            Some(b's' | b'S') => Tag::S,
            Some(b'd' | b'D') => Tag::D,
            _ => return Err(self.expected("the tag `S` or `D`, with a number if wanted, as in D1")),
        };
        let digits = &text[1..];
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.expected("the tag `S` or `D`, with a number if wanted, as in D1"));
        }
        let Ok(subtag) = (if digits.is_empty() { Ok(0) } else { digits.parse() }) else {
            return Err(self.expected("a smaller number after the tag"));
        };
        self.bump();
        Ok((tag, subtag))
    }

    /// `4`, `50%`
    fn group_size(&mut self) -> Parse<GroupSize> {
        let size = self.expr()?;
        Ok(if self.accept(Kind::Percent) {
            GroupSize::Percent(size)
        } else {
            GroupSize::Ranks(size)
        })
    }

    /// `define pattern { ... } [;]` or `define pattern STRING [level n] ...`
    fn pattern(&mut self, start: u32) -> Parse<StmtId> {
        let def = match self.tok.kind {
            Kind::LBrace => self.old_pattern()?,
            _ => self.new_pattern()?,
        };
        let number = add(&mut self.cx.ast.patterns, def);
        Ok(self.push_stmt(Stmt::Pattern(number), start))
    }

    /// `{ STRING, value, ... }`
    fn old_pattern(&mut self) -> Parse<PatternDef> {
        let mark = self.cx.scratch.len();
        let at = self.tok.span();
        let mut name = None;
        let form = "define pattern {\"p\", 10, 4k, 2};";
        self.in_braces(form, |parser| {
            if name.is_none() {
                name = Some(parser.name_string("the name of the pattern in quotes")?);
            } else {
                let value = parser.expr()?;
                parser.cx.scratch.push(value.0);
            }
            Ok(())
        })?;
        self.accept(Kind::Semi);
        let values = self.list_from(mark);
        let name = name.unwrap_or_else(|| self.push_expr(Expr::Error, at));
        Ok(PatternDef { values, ..PatternDef::new(name) })
    }

    /// `STRING [level n] = kind(args);` or `STRING [level n] body`
    fn new_pattern(&mut self) -> Parse<PatternDef> {
        let name = self.name_string("`{` or the name of the pattern in quotes")?;
        let level = if self.accept_word("level") { Some(self.expr()?) } else { None };
        let mut def = PatternDef { level, ..PatternDef::new(name) };
        match self.tok.kind {
            Kind::Assign => {
                self.bump();
                let (kind, args) =
                    self.kind_of("the kind of the pattern, as in tiled(nx=4, ny=2)")?;
                def.kind = Some(kind);
                def.values = args;
                self.semi("the pattern")?;
            }
            Kind::LBrace => def.body = Some(self.definition_body()),
            _ => return Err(self.expected("`=` and a kind, or `{` and extents")),
        }
        Ok(def)
    }

    /// The body of a proc or a pattern: no loop around it counts.
    fn definition_body(&mut self) -> StmtId {
        let loops = std::mem::take(&mut self.cx.loops);
        let body = self.body("the definition");
        self.cx.loops = loops;
        body
    }

    /// `name(args)`
    fn kind_of(&mut self, what: &str) -> Parse<(Name, List)> {
        let word = self.expect(Kind::Word, what)?;
        let name = self.intern(word);
        Ok((name, self.args()?))
    }

    /// `define proc name($a, $b) body`
    fn proc(&mut self, start: u32) -> Parse<StmtId> {
        let word =
            self.expect(Kind::Word, "the name of the proc, as in define proc name($a) {...}")?;
        self.check_proc_name(word);
        let name = self.intern(word);
        self.cx.procs.insert(name);
        let params = match self.proc_params() {
            Ok(params) => params,
            Err(Bad) => {
                self.skip_to_body();
                List::default()
            }
        };
        self.cx.gives_value = false;
        let body = self.definition_body();
        let (name, gives_value) = ((name, word.span()), self.cx.gives_value);
        let number = add(&mut self.cx.ast.procs, ProcDef { name, params, body, gives_value });
        Ok(self.push_stmt(Stmt::Proc(number), start))
    }

    fn check_proc_name(&mut self, word: Token) {
        let text = self.slice(word);
        let what = match classify(text).0 {
            Word::Keyword(_) => "a keyword",
            Word::Op(_) => "an operation",
            Word::Other if is_function(text) => "a function",
            Word::Other => return,
        };
        let message = format!("expected a new name, found `{text}`, which is {what}");
        let diagnostic = Diagnostic::new(Code::Duplicate, word.span(), message);
        self.error(diagnostic.help("give the proc another name"));
    }

    /// `$a`, `$b = 4k`; those with a default are the last.
    fn proc_param(&mut self, name: Name, token: Token, has_default: &mut bool) -> Parse<ExprId> {
        if !self.accept(Kind::Assign) {
            if *has_default {
                let message = "expected a default, as the parameter before has one";
                let diagnostic = Diagnostic::new(Code::Expected, token.span(), message);
                self.error(diagnostic.help("parameters with defaults stand behind the others"));
            }
            return Ok(self.push_expr(Expr::Var(name), token.span()));
        }
        *has_default = true;
        let default = self.expr()?;
        let span = self.since(token.start);
        Ok(self.push_expr(Expr::Named(name, default), span))
    }

    /// `($a, $b = 4k)`
    fn proc_params(&mut self) -> Parse<List> {
        let open = self.expect(Kind::LParen, "`(` and the parameters, as in ($file, $bytes)")?;
        let mut params = Vec::new();
        let mut has_default = false;
        if self.tok.kind == Kind::Var {
            loop {
                let token = self.expect(Kind::Var, "a parameter, as in $file")?;
                let name = self.intern(token);
                params.push(self.proc_param(name, token, &mut has_default)?.0);
                if !self.accept(Kind::Comma) {
                    break;
                }
            }
        }
        self.close(Kind::RParen, open, "a parameter such as $file, or `)`")?;
        Ok(self.cx.ast.push_list(&params))
    }

    /// `define hints STRING = STRING;`
    fn hints(&mut self, start: u32) -> Parse<StmtId> {
        let name = self.name_string("the name of the hints in quotes")?;
        self.expect(Kind::Assign, "`=` and the hints in quotes")?;
        let value = self.expr()?;
        self.semi("the hints")?;
        Ok(self.push_stmt(Stmt::Hints(name, value), start))
    }
}
