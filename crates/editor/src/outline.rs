//! The program as a tree of statements that people can point at: `parabench/outline`.
//!
//! ```text
//! time["write"] repeat $i 10 write("f-$i", 64k);
//! 0 time["write"]
//! 0.0 repeat $i 10
//! 0.0.0 write "f-$i", 64k
//! ```
//!
//! An id is the numbers of the children from the root on. Blocks that are bodies are no items of their own.

use crate::parameters::{self, Parameter};
use crate::text::Text;
use crate::tokens;
use lsp_types::Range;
use model::Op;
use model::plan::{LabelKind, Span};
use ppl::Sources;
use ppl::ast::{Ast, Expr, ExprId, List, Stmt, StmtId};
use ppl::lex::Kind as Token;
use serde::Serialize;

/// Before the first line of a statement that is switched off.
pub(crate) const OFF: &str = "//-";
/// Before its other lines.
pub(crate) const OFF_MORE: &str = "//|";

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the language")]
pub enum Kind {
    Operation,
    Assignment,
    Call,
    Repeat,
    While,
    Share,
    Time,
    Group,
    Split,
    Master,
    With,
    If,
    Mix,
    Branch,
    Block,
    Barrier,
    Include,
    Param,
    Groups,
    Pattern,
    Proc,
    Hints,
    Return,
    Break,
    Continue,
    Off,
    Mistake,
}

/// Where the statements of a body are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// In braces, which are the ends of this place.
    Braces(Span),
    /// One statement without braces.
    Bare(Span),
}

/// A statement in the tree.
#[derive(Clone, Debug)]
pub struct Item {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) span: Span,
    pub(crate) head: Span,
    pub(crate) body: Option<Body>,
    /// It is a definition: at top level only.
    pub(crate) is_top: bool,
    /// It is the whole body of the item above, without braces.
    pub(crate) is_bare: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) children: Vec<Item>,
    /// The operation that is executed, also in an assignment.
    pub(crate) op: Option<Op>,
}

impl Item {
    /// An item without parts; its head is all of it.
    fn new(kind: Kind, title: String, span: Span) -> Item {
        Item {
            kind,
            title,
            detail: String::new(),
            span,
            head: span,
            body: None,
            is_top: false,
            is_bare: false,
            parameters: Vec::new(),
            children: Vec::new(),
            op: None,
        }
    }
}

/// The tree of a program.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The text has no mistakes of grammar.
    pub complete: bool,
    /// Statements at top level.
    pub items: Vec<Item>,
    /// Places of comments, in order.
    pub(crate) comments: Vec<Span>,
    /// The first mistake of grammar.
    pub(crate) mistake: Option<String>,
}

impl Outline {
    /// The tree of a text.
    pub fn new(text: &str) -> Outline {
        let mut sources = Sources::default();
        let (root, mut found) = sources.add("program", text.as_bytes().to_vec());
        let (ast, mistakes) = ppl::parse::parse_alone(&mut sources, root);
        found.extend(mistakes);
        let errors = found.iter().filter(|found| found.severity() == ppl::Severity::Error);
        let mistake = errors.map(|found| found.message.clone()).next();
        let tree = Tree { text, ast: &ast, sources: &sources };
        let mut items: Vec<Item> = ast.stmts_in(ast.top).filter_map(|id| tree.item(id)).collect();
        for (span, lines) in switched_off(text, &ast.comments) {
            let off = off_item(span, &lines);
            place_off(&mut items, off);
        }
        let comments = ast.comments.clone();
        Outline { complete: mistake.is_none(), items, comments, mistake }
    }

    /// The item with an id, and the items around it from the root on.
    pub(crate) fn path(&self, id: &str) -> Option<Vec<&Item>> {
        let mut path: Vec<&Item> = Vec::new();
        for part in id.split('.') {
            let number: usize = part.parse().ok()?;
            let among = path.last().map_or(&self.items, |item| &item.children);
            path.push(among.get(number)?);
        }
        Some(path)
    }

    /// The item with an id.
    pub fn find(&self, id: &str) -> Option<&Item> {
        self.path(id)?.last().copied()
    }
}

/// Reads items from the syntax tree.
pub(crate) struct Tree<'a> {
    pub(crate) text: &'a str,
    pub(crate) ast: &'a Ast,
    pub(crate) sources: &'a Sources,
}

/// Longest title and detail, characters.
const LONGEST: usize = 80;

impl Tree<'_> {
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    pub(crate) fn expr(&self, id: ExprId) -> Span {
        self.ast.expr_span(id)
    }

    /// The item of a statement; an empty statement has none.
    fn item(&self, id: StmtId) -> Option<Item> {
        let span = self.ast.stmt_span(id);
        let mut item = Item::new(Kind::Mistake, String::new(), span);
        item.parameters = parameters::of(self, id);
        match self.ast.stmt(id) {
            Stmt::Empty => return None,
            Stmt::Block(_) => {
                item.kind = Kind::Block;
                self.fill(&mut item, id);
                item.title = "{ ... }".into();
            }
            Stmt::If(number) => self.branches_of_if(&mut item, number),
            Stmt::Mix(number) => self.branches_of_mix(&mut item, number),
            stmt => {
                (item.kind, item.is_top) = kind(stmt);
                if let Some(body) = self.body(stmt) {
                    self.fill(&mut item, body);
                }
                self.name(&mut item, stmt);
            }
        }
        Some(item)
    }

    /// The statement that a statement governs.
    fn body(&self, stmt: Stmt) -> Option<StmtId> {
        let ast = self.ast;
        Some(match stmt {
            Stmt::Repeat(number) => ast.repeats[number as usize].body,
            Stmt::Share(number) => ast.shares[number as usize].body,
            Stmt::Time(number) => ast.times[number as usize].body,
            Stmt::Proc(number) => ast.procs[number as usize].body,
            Stmt::Pattern(number) => ast.patterns[number as usize].body?,
            Stmt::Group(_, body)
            | Stmt::Split(_, body)
            | Stmt::Master { body, .. }
            | Stmt::While(_, body)
            | Stmt::With(_, body) => body,
            _ => return None,
        })
    }

    /// Takes a statement as the body of an item.
    fn fill(&self, item: &mut Item, body: StmtId) {
        let span = self.ast.stmt_span(body);
        item.head.end = span.start.clamp(item.head.start, item.head.end);
        if let Stmt::Block(list) = self.ast.stmt(body) {
            item.body = Some(Body::Braces(span));
            item.children = self.ast.stmts_in(list).filter_map(|id| self.item(id)).collect();
        } else {
            item.body = Some(Body::Bare(span));
            item.children.extend(self.item(body));
            item.children.iter_mut().for_each(|child| child.is_bare = true);
        }
        let head = self.slice(item.head).trim_end();
        item.head.end = item.head.start + head.len() as u32;
    }

    fn branch(&self, title: String, start: u32, body: StmtId) -> Item {
        let span = Span { start, end: self.ast.stmt_span(body).end };
        let mut item = Item::new(Kind::Branch, title, span);
        self.fill(&mut item, body);
        item
    }

    fn branches_of_if(&self, item: &mut Item, number: u32) {
        let one = self.ast.ifs[number as usize];
        item.kind = Kind::If;
        let then = self.ast.stmt_span(one.then);
        item.head.end = then.start.max(item.head.start);
        item.title = shortened(self.slice(item.head));
        item.head.end = item.head.start + self.slice(item.head).trim_end().len() as u32;
        item.children.push(self.branch("then".into(), then.start, one.then));
        if let Some(otherwise) = one.otherwise {
            let word = tokens::next_word(self.text, then.end as usize, "else");
            let start = word.map_or(then.end, |word| word.start);
            item.children.push(self.branch("else".into(), start, otherwise));
        }
    }

    fn branches_of_mix(&self, item: &mut Item, number: u32) {
        let mix = self.ast.mixes[number as usize];
        (item.kind, item.title) = (Kind::Mix, "mix".into());
        item.head.end = item.head.start + 3;
        let pairs = self.ast.exprs_in(mix.weights).zip(self.ast.stmts_in(mix.bodies));
        for (weight, body) in pairs {
            let span = self.expr(weight);
            let mut branch = self.branch(shortened(self.slice(span)), span.start, body);
            branch.parameters = vec![parameters::weight(span, self.slice(span))];
            item.children.push(branch);
        }
    }

    /// Gives an item its title and detail.
    fn name(&self, item: &mut Item, stmt: Stmt) {
        let head = self.without_comments(item.head).trim_end_matches(';').trim_end();
        let (title, detail) = match stmt {
            Stmt::Op { op, args, .. } => {
                item.op = Some(op);
                (op.name().to_string(), self.list(args))
            }
            Stmt::Assign(_, value) => {
                let (name, value) = (self.slice(self.variable(item.span)), value);
                match self.operation(value) {
                    Some((op, args)) => {
                        (item.kind, item.op) = (Kind::Operation, Some(op));
                        let args = self.list(args);
                        (format!("{name} = {}", op.name()), args)
                    }
                    None => (name.to_string(), self.slice(self.expr(value)).to_string()),
                }
            }
            Stmt::Call { name, args } => (self.ast.names.text(name).to_string(), self.list(args)),
            Stmt::Param(number) => {
                let param = self.ast.params[number as usize];
                let value = self.slice(self.expr(param.default)).to_string();
                (format!("param {}", self.slice(param.var.1)), value)
            }
            Stmt::Group(name, _) => {
                (format!("group {}", self.slice(self.expr(name))), String::new())
            }
            Stmt::Time(number) => {
                let time = self.ast.times[number as usize];
                let word = if time.kind == LabelKind::Calls { "ctime" } else { "time" };
                let label = time.label.map_or("", |label| self.slice(self.expr(label)));
                let detail = if time.sync { "sync" } else { "" };
                let label = if label.is_empty() { String::new() } else { format!("[{label}]") };
                (format!("{word}{label}"), detail.to_string())
            }
            Stmt::Error => ("?".into(), head.lines().next().unwrap_or("").to_string()),
            _ => (head.to_string(), String::new()),
        };
        (item.title, item.detail) = (shortened(&title), shortened(&detail));
    }

    /// The text of a place without the comments at its end: before a body they belong to the body.
    fn without_comments(&self, place: Span) -> &str {
        let mut text = self.slice(place).trim_end();
        let inside = self.ast.comments.iter().rev().filter(|one| one.start >= place.start);
        for comment in inside {
            let before = (comment.start - place.start) as usize;
            if text.get(before..) == Some(self.slice(*comment).trim_end()) {
                text = text[..before].trim_end();
            }
        }
        text
    }

    /// The text of arguments from the first to the last.
    fn list(&self, list: List) -> String {
        let (first, last) = (self.ast.exprs_in(list).next(), self.ast.exprs_in(list).last());
        let (Some(first), Some(last)) = (first, last) else { return String::new() };
        let span = Span { start: self.expr(first).start, end: self.expr(last).end };
        self.slice(span).to_string()
    }

    /// The variable that an assignment begins with.
    pub(crate) fn variable(&self, span: Span) -> Span {
        let token = tokens::next(self.text, span.start as usize, Token::Var);
        token.map_or(Span { start: span.start, end: span.start }, |token| token.span())
    }

    /// The operation that a value is the result of.
    pub(crate) fn operation(&self, value: ExprId) -> Option<(Op, List)> {
        let Expr::Call(name, args) = self.ast.expr(value) else { return None };
        Some((Op::find(self.ast.names.text(name))?, args))
    }
}

/// The kind of a statement that is neither a block nor has branches, and whether it is a definition.
fn kind(stmt: Stmt) -> (Kind, bool) {
    let kind = match stmt {
        Stmt::Op { .. } => Kind::Operation,
        Stmt::Assign(..) | Stmt::Global(..) | Stmt::GlobalPush(_) | Stmt::SetItem(..) => {
            Kind::Assignment
        }
        Stmt::Call { .. } => Kind::Call,
        Stmt::Repeat(_) => Kind::Repeat,
        Stmt::While(..) => Kind::While,
        Stmt::Share(_) => Kind::Share,
        Stmt::Time(_) => Kind::Time,
        Stmt::Group(..) => Kind::Group,
        Stmt::Split(..) => Kind::Split,
        Stmt::Master { .. } => Kind::Master,
        Stmt::With(..) => Kind::With,
        Stmt::Barrier(_) => Kind::Barrier,
        Stmt::Include(..) => Kind::Include,
        Stmt::Param(_) => Kind::Param,
        Stmt::Groups(_) => Kind::Groups,
        Stmt::Pattern(_) => Kind::Pattern,
        Stmt::Proc(_) => Kind::Proc,
        Stmt::Hints(..) => Kind::Hints,
        Stmt::Return(_) => Kind::Return,
        Stmt::Break => Kind::Break,
        Stmt::Continue => Kind::Continue,
        Stmt::Error | Stmt::Empty | Stmt::Block(_) | Stmt::If(_) | Stmt::Mix(_) => Kind::Mistake,
    };
    let is_definition = matches!(
        kind,
        Kind::Param | Kind::Groups | Kind::Pattern | Kind::Proc | Kind::Hints | Kind::Include
    );
    (kind, is_definition)
}

/// One line of it, not too long.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    model::words::shortened(&words.join(" "), LONGEST).into_owned()
}

/// Comments that are statements which are switched off: their places, and their lines without the marks.
pub(crate) fn switched_off(text: &str, comments: &[Span]) -> Vec<(Span, Vec<String>)> {
    let mut found: Vec<(Span, Vec<String>)> = Vec::new();
    for comment in comments {
        let Some(line) = text.get(comment.start as usize..comment.end as usize) else { continue };
        let plain = |line: &str| line.strip_prefix(' ').unwrap_or(line).trim_end().to_string();
        if let Some(first) = line.strip_prefix(OFF).filter(|_| begins_line(text, *comment)) {
            found.push((*comment, vec![plain(first)]));
        } else if let (Some(more), Some((span, lines))) =
            (line.strip_prefix(OFF_MORE), found.last_mut())
        {
            let between = text.get(span.end as usize..comment.start as usize).unwrap_or("x");
            if between.trim().is_empty() {
                span.end = comment.end;
                lines.push(plain(more));
            }
        }
    }
    found
}

/// Nothing but blanks is before it on its line.
pub(crate) fn begins_line(text: &str, span: Span) -> bool {
    let before = text.get(..span.start as usize).unwrap_or("");
    let line = before.rsplit(['\n', '\r']).next().unwrap_or("");
    line.trim().is_empty()
}

fn off_item(span: Span, lines: &[String]) -> Item {
    let whole = lines.join("\n");
    let first = lines.first().map_or("", |line| line.trim_end_matches(['{', ' ', ';']));
    let is_top = {
        let word = first.split_whitespace().next().unwrap_or("").to_lowercase();
        matches!(&*word, "define" | "param" | "include")
    };
    let mut item = Item::new(Kind::Off, shortened(first), span);
    if lines.len() > 1 {
        item.detail = shortened(&whole);
    }
    item.is_top = is_top;
    item
}

/// Puts an item where it is in the text: inside of the innermost body in braces around it.
fn place_off(items: &mut Vec<Item>, off: Item) {
    let inside = items.iter().position(|item| {
        item.span.start < off.span.start && off.span.end < item.span.end && item.kind != Kind::Off
    });
    if let Some(at) = inside {
        let item = &mut items[at];
        let is_in_body = match item.body {
            Some(Body::Braces(span)) => span.start < off.span.start && off.span.end < span.end,
            Some(Body::Bare(span)) => span.start <= off.span.start && off.span.end <= span.end,
            None => !item.children.is_empty(),
        };
        if is_in_body {
            place_off(&mut item.children, off);
        }
        return;
    }
    let at = items.partition_point(|item| item.span.start < off.span.start);
    items.insert(at, off);
}

/// An item as the answer has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    id: String,
    kind: Kind,
    title: String,
    detail: String,
    range: Range,
    head: Range,
    holds: bool,
    top: bool,
    parameters: Vec<parameters::Shown>,
    children: Vec<Shown>,
}

/// Items for an answer. `above`: the id of the item around them.
pub(crate) fn show(items: &[Item], above: &str, text: &Text) -> Vec<Shown> {
    let one = |(number, item): (usize, &Item)| {
        let id = if above.is_empty() { number.to_string() } else { format!("{above}.{number}") };
        let children = show(&item.children, &id, text);
        let parameters = item.parameters.iter().map(|one| one.show(text)).collect();
        Shown {
            kind: item.kind,
            title: item.title.clone(),
            detail: item.detail.clone(),
            range: text.range_of(item.span),
            head: text.range_of(item.head),
            holds: item.body.is_some() || item.kind == Kind::If,
            top: item.is_top,
            parameters,
            children,
            id,
        }
    };
    items.iter().enumerate().map(one).collect()
}
