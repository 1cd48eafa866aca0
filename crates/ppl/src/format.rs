//! Text -> the same program in the usual layout: four blanks per block, one
//! statement on a line, keywords in lower case.
//!
//! Works on tokens. The syntax tree says which part each one has, and every token is printed again: so the
//! result parses to the same tree, and comments stay where they are among the tokens. At most one blank
//! line is kept between statements. A text with errors is given back unchanged.

use crate::ast::{Ast, Expr, Stmt};
use crate::diag::{Diagnostic, has_errors};
use crate::lex::{Kind, Lexer, Token};
use crate::parse::parse_alone;
use crate::source::Sources;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// Formats a program. With errors, the text comes back as it was, and why.
pub fn format(text: &str) -> (String, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let (root, mut diagnostics) = sources.add("program", text.as_bytes().to_vec());
    let (ast, found) = parse_alone(&mut sources, root);
    diagnostics.extend(found);
    if has_errors(&diagnostics) {
        return (text.to_string(), diagnostics);
    }
    let formatted = Printer::new(text, &ast).print();
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    (if crlf { formatted.replace('\n', "\r\n") } else { formatted }, diagnostics)
}

/// A token or a comment, with the line ends before it.
#[derive(Clone, Copy)]
struct Item {
    /// `None`: a comment.
    token: Option<Token>,
    start: usize,
    end: usize,
    /// A line end stands between this and the item before.
    new_line: bool,
    /// So does an empty line.
    blank: bool,
}

/// All tokens and comments, the end included.
fn items(text: &str) -> Vec<Item> {
    let mut lexer = Lexer::new(text, 0);
    let mut items: Vec<Item> = Vec::new();
    let mut push = |token, start: u32, end: u32| {
        let (start, end) = (start as usize, end as usize);
        let before = items.last().map_or(0, |item| item.end);
        let ends = text[before..start].bytes().filter(|byte| *byte == b'\n').count();
        items.push(Item { token, start, end, new_line: ends > 0, blank: ends > 1 });
    };
    loop {
        let token = lexer.token();
        for comment in std::mem::take(&mut lexer.comments) {
            push(None, comment.start, comment.end);
        }
        push(Some(token), token.start, token.end);
        if token.kind == Kind::End {
            return items;
        }
    }
}

struct Printer<'t> {
    text: &'t str,
    facts: Facts,
    items: Vec<Item>,
    out: String,
    /// The line being put together.
    line: Line<'t>,
    /// Decides about the blank before the next token.
    spacing: Spacing,
    /// Open blocks.
    indent: usize,
    /// The block or file is empty so far: no blank line here.
    fresh: bool,
    /// The next token has to begin a line, because a comment before it ends one.
    must_break: bool,
    /// The block just opened holds nothing.
    empty_block: bool,
    /// The kind of the last printed token.
    last: Kind,
}

impl<'t> Printer<'t> {
    fn new(text: &'t str, ast: &Ast) -> Printer<'t> {
        Printer {
            text,
            facts: Facts::new(text, ast),
            items: items(text),
            out: String::with_capacity(text.len() + text.len() / 8),
            line: Line::default(),
            spacing: Spacing::default(),
            indent: 0,
            fresh: true,
            must_break: false,
            empty_block: false,
            last: Kind::Semi,
        }
    }

    fn print(mut self) -> String {
        for at in 0..self.items.len() {
            match self.items[at].token {
                None => self.comment(at),
                Some(token) if token.kind == Kind::End => self.flush(),
                Some(token) => self.token(at, token),
            }
        }
        self.out
    }

    /// Ends the current line.
    fn flush(&mut self) {
        self.line.write(&mut self.out);
        self.line = Line::new(self.indent);
        self.spacing = Spacing::default();
        self.must_break = false;
    }

    /// Ends the current line and begins another, after a blank one if there was one.
    fn new_line(&mut self, blank: bool) {
        self.flush();
        if blank && !self.fresh {
            self.out.push('\n');
        }
        self.fresh = false;
    }

    fn slice(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn token(&mut self, at: usize, token: Token) {
        if self.facts.block_ends.contains(&token.start) {
            return self.close_block(token);
        }
        let item = self.items[at];
        if self.facts.lines.contains(&token.start) {
            let glued = token.kind == Kind::Semi && self.last == Kind::RBrace;
            let goes_on = glued || self.line.is_comment();
            if item.new_line || self.must_break || !goes_on {
                self.new_line(item.blank);
            }
        } else if self.is_else(token) && (self.must_break || self.line.is_comment()) {
            self.flush();
        } else if self.is_else(token) && self.last == Kind::Semi {
            let place = Break::Branch { given: item.new_line };
            return self.add_token(at, token, place);
        }
        let place = if self.last == Kind::Comma { Break::May } else { Break::No };
        self.add_token(at, token, place);
        if self.facts.block_starts.contains(&token.start) {
            self.open_block(at);
        }
    }

    /// `else` after the body of its `if`.
    fn is_else(&self, token: Token) -> bool {
        matches!(self.last, Kind::RBrace | Kind::Semi)
            && self.slice(token).eq_ignore_ascii_case("else")
    }

    fn add_token(&mut self, at: usize, token: Token, place: Break) {
        let text = self.slice(token);
        let next = self.items[at + 1..].iter().find_map(|item| item.token);
        let next = next.map_or(Kind::End, |token| token.kind);
        let (space, depth) = self.spacing.token(token, text, next, &self.facts);
        let place = match std::mem::take(&mut self.must_break) {
            true => Break::Must,
            false => place,
        };
        let lowered = self.facts.capitals.contains(&token.start);
        let text = match lowered {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
        self.line.token(text, space, place, depth);
        self.last = token.kind;
    }

    /// After the `{` of a block: its statements are indented.
    fn open_block(&mut self, at: usize) {
        let next = self.items[at + 1].token;
        self.empty_block = next.is_some_and(|token| self.facts.block_ends.contains(&token.start));
        if !self.empty_block {
            self.indent += 1;
            self.fresh = true;
        }
    }

    fn close_block(&mut self, token: Token) {
        if !std::mem::take(&mut self.empty_block) {
            self.indent -= 1;
            let inner = std::mem::replace(&mut self.line, Line::new(self.indent));
            inner.write(&mut self.out);
        }
        self.must_break = false;
        self.line.token("}".into(), false, Break::No, 0);
        self.spacing = Spacing::after_block();
        self.last = token.kind;
        self.fresh = false;
    }

    fn comment(&mut self, at: usize) {
        let item = self.items[at];
        let text = clean(&self.text[item.start..item.end]);
        let next = self.items[at + 1];
        let is_line = !text.starts_with("/*");
        if self.line.is_empty() || (item.new_line && self.is_between(at)) {
            self.new_line(item.blank);
            self.line.comment(text, false, Break::No);
            self.must_break = is_line;
        } else if item.new_line || self.must_break {
            self.line.comment(text, true, Break::Must);
            self.must_break = is_line || next.new_line;
        } else {
            self.line.comment(text, self.spacing.before_comment(), Break::No);
            self.must_break = is_line;
        }
        self.spacing.comment();
    }

    /// This comment stands between statements, not inside one.
    fn is_between(&self, at: usize) -> bool {
        let next = self.items[at..].iter().find_map(|item| item.token);
        next.is_none_or(|token| {
            token.kind == Kind::End
                || self.facts.lines.contains(&token.start)
                || self.facts.block_ends.contains(&token.start)
                || self.is_else(token)
        })
    }
}

/// A comment without blanks at the ends of its lines.
fn clean(comment: &str) -> Cow<'_, str> {
    if !comment.contains(['\n', '\r']) {
        return Cow::Borrowed(comment.trim_end());
    }
    let lines: Vec<&str> = comment.split('\n').map(str::trim_end).collect();
    Cow::Owned(lines.join("\n"))
}

type Places = FxHashSet<u32>;

/// Places of tokens with a special part.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// They begin a line: statements of a block or of the file, entries of `mix`.
    pub lines: Places,
    /// `{` of blocks.
    pub block_starts: Places,
    /// `}` of blocks.
    pub block_ends: Places,
    /// Signs with one operand.
    pub unary: Places,
    /// `:` between the two values of a condition.
    pub choices: Places,
    /// Operations written without parentheses: what follows is an expression.
    pub bare: Places,
    /// Keywords and operations to be written in lower case.
    pub capitals: Places,
}

impl Facts {
    pub(crate) fn new(text: &str, ast: &Ast) -> Facts {
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
            match expr {
                Expr::Unary(..) | Expr::Int(i64::MIN) => drop(facts.unary.insert(span.start)),
                Expr::Conditional(_, then, _) => {
                    facts.choices.extend(colon_after(text, ast.expr_span(*then).end));
                }
                _ => {}
            }
        }
        facts
    }
}

/// Place of the first `{` after a place.
fn brace_after(text: &str, start: u32) -> Option<u32> {
    place_after(text, start, Kind::LBrace)
}

/// Place of the first `:` after a place.
fn colon_after(text: &str, start: u32) -> Option<u32> {
    place_after(text, start, Kind::Colon)
}

fn place_after(text: &str, start: u32, kind: Kind) -> Option<u32> {
    let mut lexer = Lexer::new(&text[start as usize..], start);
    loop {
        let token = lexer.token();
        match token.kind {
            Kind::End => return None,
            found if found == kind => return Some(token.start),
            _ => {}
        }
    }
}

/// Words before a parenthesis that belongs to an expression, not to a call.
const SPACED: [&str; 13] = [
    "if", "while", "with", "repeat", "step", "until", "by", "level", "master", "else", "time",
    "ctime", "share",
];

/// The state of the line so far.
#[derive(Clone, Debug, Default)]
struct Spacing {
    /// The last token; `None` at the start of a line.
    last: Option<Kind>,
    /// Nothing may stand between it and the next token.
    tight: bool,
    /// A parenthesis after it opens the arguments of a call.
    callable: bool,
    /// A bracket after it opens a label.
    labelled: bool,
    /// A comment stands after it.
    commented: bool,
    /// Open brackets.
    depth: u32,
    /// Depth inside the braces of `define groups` and `define pattern`; 0: outside.
    braces: u32,
}

impl Spacing {
    /// After the `}` of a block.
    fn after_block() -> Spacing {
        Spacing { last: Some(Kind::RBrace), ..Spacing::default() }
    }

    /// After a comment.
    pub(crate) fn comment(&mut self) {
        self.commented = true;
    }

    /// A blank stands before a comment here.
    fn before_comment(&self) -> bool {
        self.commented || !matches!(self.last, None | Some(Kind::LParen | Kind::LBracket))
    }

    /// Takes the next token; gives whether a blank comes before it, and the number
    /// of brackets around it.
    pub(crate) fn token(
        &mut self,
        token: Token,
        text: &str,
        next: Kind,
        facts: &Facts,
    ) -> (bool, u32) {
        let block = facts.block_starts.contains(&token.start);
        let is_choice = facts.choices.contains(&token.start);
        let space = is_choice || self.space(token.kind, next);
        let space = space && (self.last.is_some() || self.commented);
        let depth = self.brackets(token.kind, block);
        self.tight = self.is_tight(token, next, facts);
        let word = token.kind == Kind::Word;
        let spaced = SPACED.iter().any(|known| known.eq_ignore_ascii_case(text));
        self.callable =
            token.kind == Kind::Internal || (word && !spaced && !facts.bare.contains(&token.start));
        self.labelled =
            word && (text.eq_ignore_ascii_case("time") || text.eq_ignore_ascii_case("ctime"));
        self.last = Some(token.kind);
        self.commented = false;
        (space, depth)
    }

    fn in_braces(&self) -> bool {
        self.braces > 0
    }

    fn space(&self, kind: Kind, next: Kind) -> bool {
        use Kind::{Assign, Colon, Comma, DotDot, LBracket, LParen, Percent};
        use Kind::{RBrace, RBracket, RParen, Semi, Slash, Str, Var, Word};
        if matches!(kind, RParen | RBracket | Comma | Semi | RBrace | Colon) {
            return false;
        }
        if self.commented {
            return true;
        }
        let after_word = self.last == Some(Word);
        let is_index = matches!(self.last, Some(Var | RParen | RBracket | Str)) || self.labelled;
        let tight = match kind {
            LParen => self.callable,
            LBracket => is_index,
            DotDot => true,
            Assign => after_word && !self.in_braces(),
            Slash => self.in_braces() && (after_word || self.last == Some(Str)),
            Percent => self.in_braces() && matches!(next, Comma | RBrace),
            _ => false,
        };
        !tight && !self.tight
    }

    /// Nothing stands between this token and the next.
    fn is_tight(&self, token: Token, next: Kind, facts: &Facts) -> bool {
        use Kind::{Assign, Colon, DotDot, LBrace, LBracket, LParen, Slash};
        match token.kind {
            LParen | LBracket | DotDot => true,
            LBrace => !facts.block_starts.contains(&token.start),
            Colon => self.in_braces() && !facts.choices.contains(&token.start),
            Assign | Slash => !self.space(token.kind, next),
            _ => facts.unary.contains(&token.start),
        }
    }

    /// Counts brackets; gives their number around this token.
    fn brackets(&mut self, kind: Kind, block: bool) -> u32 {
        match kind {
            Kind::LParen | Kind::LBracket => self.depth += 1,
            Kind::LBrace if !block => {
                self.depth += 1;
                self.braces = self.depth;
            }
            Kind::RParen | Kind::RBracket => self.depth = self.depth.saturating_sub(1),
            Kind::RBrace => {
                self.depth = self.depth.saturating_sub(1);
                self.braces = 0;
            }
            _ => return self.depth,
        }
        self.depth
    }
}

/// Lines are not made longer than this many characters.
const WIDTH: usize = 100;
/// Blanks of one level of indentation.
const STEP: usize = 4;

/// Whether a line break stands before a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    No,
    /// If the line is too long.
    May,
    Must,
    /// Before an `else`, which is not indented: if a line end is given there, or the line is too long.
    Branch {
        given: bool,
    },
}

#[derive(Debug)]
struct Piece<'t> {
    text: Cow<'t, str>,
    space: bool,
    place: Break,
    depth: u32,
}

impl Piece<'_> {
    fn width(&self) -> usize {
        usize::from(self.space) + self.text.chars().count()
    }
}

/// The pieces of a line.
#[derive(Debug, Default)]
struct Line<'t> {
    indent: usize,
    pieces: Vec<Piece<'t>>,
    tokens: usize,
}

impl<'t> Line<'t> {
    pub(crate) fn new(indent: usize) -> Line<'t> {
        Line { indent, ..Line::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// It holds comments and nothing else.
    pub(crate) fn is_comment(&self) -> bool {
        self.tokens == 0 && !self.pieces.is_empty()
    }

    /// Adds a token; `depth` brackets are open around it.
    pub(crate) fn token(&mut self, text: Cow<'t, str>, space: bool, place: Break, depth: u32) {
        self.tokens += 1;
        self.pieces.push(Piece { text, space, place, depth });
    }

    /// Adds a comment.
    pub(crate) fn comment(&mut self, text: Cow<'t, str>, space: bool, place: Break) {
        self.pieces.push(Piece { text, space, place, depth: 0 });
    }

    /// Writes the line with its end; nothing if it is empty.
    pub(crate) fn write(&self, out: &mut String) {
        let is_long = self.is_too_long(&self.pieces);
        let begins_line =
            |piece: &Piece<'_>| matches!(piece.place, Break::Branch { given } if given || is_long);
        for pieces in self.pieces.chunk_by(|_, next| !begins_line(next)) {
            let breaks = if self.is_too_long(pieces) { outermost(pieces) } else { None };
            self.write_filled(pieces, breaks, out);
            out.push('\n');
        }
    }

    fn is_too_long(&self, pieces: &[Piece<'_>]) -> bool {
        self.indent * STEP + pieces.iter().map(Piece::width).sum::<usize>() > WIDTH
    }

    /// As many pieces on a line as fit, if breaks are allowed at this depth.
    fn write_filled(&self, pieces: &[Piece<'t>], depth: Option<u32>, out: &mut String) {
        let mut column = self.indent * STEP;
        out.extend(std::iter::repeat_n(' ', column));
        for (at, piece) in pieces.iter().enumerate() {
            let may = piece.place == Break::May && depth == Some(piece.depth);
            let full = may && column + chunk(&pieces[at..], depth) > WIDTH;
            if piece.place == Break::Must || full {
                column = (self.indent + 1) * STEP;
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', column));
            } else if piece.space && at > 0 {
                column += 1;
                out.push(' ');
            }
            out.push_str(&piece.text);
            column = match piece.text.rsplit_once('\n') {
                Some((_, last)) => last.chars().count(),
                None => column + piece.text.chars().count(),
            };
        }
    }
}

/// The depth of the outermost commas: breaks stand after those.
fn outermost(pieces: &[Piece<'_>]) -> Option<u32> {
    let commas = pieces.iter().filter(|piece| piece.place == Break::May);
    commas.map(|piece| piece.depth).min()
}

/// Width of the first piece and those up to the next place where the line may be broken.
fn chunk(pieces: &[Piece<'_>], depth: Option<u32>) -> usize {
    let Some((first, more)) = pieces.split_first() else { return 0 };
    let tied = more.iter().take_while(|piece| {
        piece.place != Break::Must && !(piece.place == Break::May && depth == Some(piece.depth))
    });
    first.width() + tied.map(Piece::width).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::format;

    fn check(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let (found, diagnostics) = format(text);
            assert_eq!(diagnostics, [], "{text}");
            assert_eq!(found, *expected, "{text}");
            assert_eq!(format(&found).0, found, "not idempotent: {text}");
        }
    }

    #[test]
    fn one_statement_a_line() {
        check(&[
            ("", ""),
            (";", ";\n"),
            ("stat(\"a\");stat (\"b\") ;", "stat(\"a\");\nstat(\"b\");\n"),
            ("REPEAT $i $num   write(\"a\",1);", "repeat $i $num write(\"a\", 1);\n"),
            ("repeat 10{sync;{}}", "repeat 10 {\n    sync;\n    {}\n}\n"),
            (
                "if(1){sync;}else if(2){}else{sync;}",
                "if (1) {\n    sync;\n} else if (2) {} else {\n    sync;\n}\n",
            ),
            ("time [\"x\",sync] repeat 3 ;", "time[\"x\", sync] repeat 3;\n"),
            ("repeat 2 {};sync;", "repeat 2 {};\nsync;\n"),
            (
                "mix{70:read(\"a\");5:{sync;}}",
                "mix {\n    70: read(\"a\");\n    5: {\n        sync;\n    }\n}\n",
            ),
        ]);
    }

    #[test]
    fn blanks_between_tokens() {
        check(&[
            ("print(1)+2,\"x\";", "print (1) + 2, \"x\";\n"),
            ("$x=-1+!$y*( 2 )^3;", "$x = -1 + !$y * (2) ^ 3;\n"),
            ("$x=-9223372036854775808;", "$x = -9223372036854775808;\n"),
            ("$x=$a?-1:$b ?2: 3;", "$x = $a ? -1 : $b ? 2 : 3;\n"),
            (
                "define groups{\"a\":D=$n>2?1:2};mix{$a?1:2:sync;}",
                "define groups {\"a\":D = $n > 2 ? 1 : 2};\nmix {\n    $a ? 1 : 2: sync;\n}\n",
            ),
            ("repeat($i,10) sync;", "repeat ($i, 10) sync;\n"),
            ("repeat $i 10 .. 100 step 10 ;", "repeat $i 10..100 step 10;\n"),
            ("$l=[1,2 , 3];$x=$l [ $i % 3 ];", "$l = [1, 2, 3];\n$x = $l[$i % 3];\n"),
            ("signal(\"go\" , to = 2);", "signal(\"go\", to=2);\n"),
            ("print $$env ( HOME );", "print $$env(HOME);\n"),
            (
                "define groups{\"a\" : D/1=4,\"b\":S=50 %};",
                "define groups {\"a\":D/1 = 4, \"b\":S = 50%};\n",
            ),
            ("define pattern{\"p\",10,(2*3),2};", "define pattern {\"p\", 10, (2 * 3), 2};\n"),
            (
                "define pattern \"t\" level 3=tiled(nx=4);",
                "define pattern \"t\" level 3 = tiled(nx=4);\n",
            ),
            ("barrier(\"g\"); group \"g\" sync;", "barrier(\"g\");\ngroup \"g\" sync;\n"),
        ]);
    }

    #[test]
    fn comments_stay_where_they_are() {
        check(&[
            ("# a\n\n\n\n# b\nsync;# c\n", "# a\n\n# b\nsync; # c\n"),
            ("sync; /* c */ sync;", "sync; /* c */\nsync;\n"),
            ("/* c */ sync;", "/* c */ sync;\n"),
            ("write(\"a\", // name\n1 /* size */);", "write(\"a\", // name\n    1 /* size */);\n"),
            ("write(\n  // name\n  \"a\", 1);", "write(\n    // name\n    \"a\", 1);\n"),
            (
                "repeat 2 { // twice\n\n sync;\n\n # end\n }",
                "repeat 2 { // twice\n    sync;\n\n    # end\n}\n",
            ),
            ("{/* nothing */}", "{ /* nothing */\n}\n"),
            ("if (1) {\n} // c\nelse {\n}", "if (1) {} // c\nelse {}\n"),
            ("if (1) {}\n// c\nelse sync;", "if (1) {}\n// c\nelse sync;\n"),
            ("sync;\r\n# c  \r\nsync;\r\n", "sync;\r\n# c\r\nsync;\r\n"),
            ("param $n = 1;   /// number\n", "param $n = 1; /// number\n"),
        ]);
    }

    #[test]
    fn long_argument_lists_are_wrapped() {
        let long = "print \"aaaaaaaaaaaaaaaaaaaaaaaaa\", \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\", \"cccccccccccccccccccccccccccccc\", \"d\", max(1,2);";
        let (found, _) = format(long);
        let expected = "print \"aaaaaaaaaaaaaaaaaaaaaaaaa\", \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n    \"cccccccccccccccccccccccccccccc\", \"d\", max(1, 2);\n";
        assert_eq!(found, expected);
        assert_eq!(format(&found).0, found);
    }

    #[test]
    fn branches_begin_lines_where_they_are_given_or_needed() {
        let long = "if($kind==\"contiguous\")read(\"a-file\",1m);else if($kind==\"strided\")\
            read(\"b-file\",2m);else stat(\"c-file\");";
        check(&[
            ("if(1)sync;else sync;", "if (1) sync; else sync;\n"),
            (
                "{if(1)sync;\nelse if(2)sync;else sync;}",
                "{\n    if (1) sync;\n    else if (2) sync; else sync;\n}\n",
            ),
            (
                long,
                "if ($kind == \"contiguous\") read(\"a-file\", 1m);\n\
                 else if ($kind == \"strided\") read(\"b-file\", 2m);\nelse stat(\"c-file\");\n",
            ),
        ]);
    }

    #[test]
    fn a_text_with_errors_comes_back_as_it_was() {
        let text = "sync;   stat(\"a\"\n";
        let (found, diagnostics) = format(text);
        assert_eq!(found, text);
        assert_eq!(diagnostics.len(), 1);
    }
}
