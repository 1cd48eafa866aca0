//! The parameters of a statement: what a form shows, and where the text of each is or would be.
//!
//! ```text
//! fread($h, 4k);
//!       handle n          off is not written: it would come behind 4k as `, off=`
//! ```

use crate::outline::Tree;
use crate::text::{Edit, Text};
use crate::tokens;
use lsp_types::Range;
use model::Op;
use model::op::{ParamKind, SEEKS};
use model::plan::Span;
use model::with::{Accepts, OPTIONS, OptionRow};
use ppl::arguments;
use ppl::ast::{Expr, ExprId, GroupSize, List, PatternDef, Repeat, Stmt, StmtId, Time};
use ppl::kinds::{self, find_kind};
use ppl::lex::Kind as Token;
use serde::Serialize;
use std::borrow::Cow;

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Cow<'static, str>,
    /// Where its value is written.
    pub(crate) span: Option<Span>,
    /// The value as it is written.
    pub(crate) value: Option<String>,
    pub(crate) default: Option<String>,
    pub(crate) is_required: bool,
    /// The kind of field that a form shows for it.
    pub(crate) shape: &'static str,
    pub(crate) unit: Option<&'static str>,
    pub(crate) choices: Vec<String>,
    pub(crate) doc: Cow<'static, str>,
    /// How it is written where it is not.
    pub(crate) adding: Option<Adding>,
    /// The edits that remove it where it is written.
    pub(crate) removing: Option<Vec<Edit>>,
}

/// How a value is written that is not there.
#[derive(Clone, Debug)]
pub(crate) struct Adding {
    pub(crate) at: u32,
    pub(crate) before: String,
    pub(crate) after: &'static str,
    /// Edits at other places that it needs.
    pub(crate) besides: Vec<Edit>,
}

impl Adding {
    fn new(at: u32, before: impl Into<String>, after: &'static str) -> Option<Adding> {
        Some(Adding { at, before: before.into(), after, besides: Vec::new() })
    }
}

/// It is there or not; its value is a word of the language.
pub(crate) const FLAG: &str = "flag";
/// Any number of values.
pub(crate) const LIST: &str = "list";

fn plain(name: &'static str, shape: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name: name.into(),
        span: None,
        value: None,
        default: None,
        is_required: false,
        shape,
        unit: None,
        choices: Vec::new(),
        doc: doc.into(),
        adding: None,
        removing: None,
    }
}

/// The weight of an entry of `mix`.
pub(crate) fn weight(span: Span, value: &str) -> Parameter {
    let doc = "How often the entry is chosen, in comparison with the others.";
    let value = Some(value.to_string());
    Parameter { span: Some(span), value, is_required: true, ..plain("weight", "number", doc) }
}

/// The parameters of a statement, in the order in which a form shows them.
pub(crate) fn of(tree: &Tree<'_>, id: StmtId) -> Vec<Parameter> {
    let span = tree.ast.stmt_span(id);
    let mut all = match tree.ast.stmt(id) {
        Stmt::Op { op, args, .. } => operation(tree, op, args, span.start),
        Stmt::Assign(_, value) => assignment(tree, value, span),
        Stmt::Global(_, value) | Stmt::SetItem(_, value) => vec![value_of(tree, value)],
        Stmt::Call { name, args } => call(tree, tree.ast.names.text(name), args),
        Stmt::Repeat(number) => repeat(tree, &tree.ast.repeats[number as usize], span),
        Stmt::While(cond, _) => vec![condition(tree, cond)],
        Stmt::If(number) => vec![condition(tree, tree.ast.ifs[number as usize].cond)],
        Stmt::Share(number) => share(tree, number),
        Stmt::Time(number) => time(tree, &tree.ast.times[number as usize], span),
        Stmt::Group(name, _) => {
            vec![required(tree, "group", "group", "The group whose members execute it.", name)]
        }
        Stmt::Split(value, _) => {
            let doc = "Members with the same value are the active group inside.";
            vec![required(tree, "value", "value", doc, value)]
        }
        Stmt::Barrier(name) => vec![barrier(tree, name, span)],
        Stmt::With(options, _) => with(tree, options, span),
        Stmt::Include(path, _) => {
            vec![required(tree, "path", "text", "A file, or \"@name\" of a program.", path)]
        }
        Stmt::Param(number) => {
            let default = tree.ast.params[number as usize].default;
            let doc = "The value if the command line gives none.";
            vec![required(tree, "default", "value", doc, default)]
        }
        Stmt::Groups(list) => groups(tree, list),
        Stmt::Pattern(number) => pattern(tree, &tree.ast.patterns[number as usize]),
        Stmt::Hints(name, value) => vec![
            required(tree, "name", "label", "The name of the hints.", name),
            required(tree, "value", "text", "\"key=value;key=value\"", value),
        ],
        Stmt::Return(Some(value)) => vec![value_of(tree, value)],
        _ => Vec::new(),
    };
    for one in &mut all {
        one.value = one.value.take().or_else(|| Some(tree.slice(one.span?).to_string()));
    }
    all
}

fn required(
    tree: &Tree<'_>,
    name: &'static str,
    shape: &'static str,
    doc: &'static str,
    id: ExprId,
) -> Parameter {
    Parameter { span: Some(tree.expr(id)), is_required: true, ..plain(name, shape, doc) }
}

fn value_of(tree: &Tree<'_>, id: ExprId) -> Parameter {
    let doc = "A number such as 64k, a text in \"quotes\", a $variable, or an expression.";
    required(tree, "value", "value", doc, id)
}

fn condition(tree: &Tree<'_>, id: ExprId) -> Parameter {
    let mut found = required(tree, "condition", "condition", "What has to hold.", id);
    // The parentheses around it belong to the statement.
    if let Expr::Paren(inner) = tree.ast.expr(id) {
        found.span = Some(tree.expr(inner));
    }
    found
}

/// `$x = value;`, `$h = fopen("a", "r");`
fn assignment(tree: &Tree<'_>, value: ExprId, span: Span) -> Vec<Parameter> {
    let variable = tree.variable(span);
    let doc = "The variable that takes the result.";
    let target =
        Parameter { span: Some(variable), is_required: true, ..plain("variable", "variable", doc) };
    let mut all = match tree.operation(value) {
        Some((op, args)) => operation(tree, op, args, tree.expr(value).start),
        None => {
            let changes = tokens::all(tree.text, variable.end as usize).next();
            let is_change = changes
                .is_some_and(|sign| matches!(sign.kind, Token::PlusAssign | Token::MinusAssign));
            let id = match tree.ast.expr(value) {
                Expr::Binary(_, _, added) if is_change => added,
                _ => value,
            };
            vec![value_of(tree, id)]
        }
    };
    all.push(target);
    all
}

/// Where arguments are written, or would be.
struct Arguments {
    /// The whole argument, with its name.
    spans: Vec<Span>,
    /// Its value.
    values: Vec<Span>,
    /// The number of its parameter.
    places: Vec<Option<usize>>,
    is_named: Vec<bool>,
    /// Where the first one would begin, and the brackets that it would need.
    start: u32,
    brackets: bool,
}

impl Arguments {
    fn new(tree: &Tree<'_>, list: List, places: Vec<Option<usize>>, word: u32) -> Arguments {
        let ids: Vec<ExprId> = tree.ast.exprs_in(list).collect();
        let value = |id: &ExprId| match tree.ast.expr(*id) {
            Expr::Named(_, value) => tree.expr(value),
            _ => tree.expr(*id),
        };
        let word = tokens::next(tree.text, word as usize, Token::Word);
        let after = word.map_or(0, |word| word.end);
        let open = tokens::all(tree.text, after as usize).next();
        let open = open.filter(|token| token.kind == Token::LParen);
        Arguments {
            spans: ids.iter().map(|id| tree.expr(*id)).collect(),
            values: ids.iter().map(value).collect(),
            places,
            is_named: ids.iter().map(|id| matches!(tree.ast.expr(*id), Expr::Named(..))).collect(),
            start: open.map_or(after, |open| open.end),
            brackets: open.is_none(),
        }
    }

    fn position(&self, param: usize) -> Option<usize> {
        self.places.iter().position(|place| *place == Some(param))
    }

    /// An argument and one of its commas.
    fn removal(&self, at: usize) -> Edit {
        let span = match (at, self.spans.get(at + 1)) {
            (0, Some(next)) => Span { start: self.spans[0].start, end: next.start },
            (0, None) => self.spans[0],
            _ => Span { start: self.spans[at - 1].end, end: self.spans[at].end },
        };
        Edit::replace(span, "")
    }

    /// An argument behind the others.
    fn addition(&self, name: &str) -> Option<Adding> {
        let named = if name.is_empty() { String::new() } else { format!("{name}=") };
        match self.spans.last() {
            Some(last) => Adding::new(last.end, format!(", {named}"), ""),
            None if self.brackets => Adding::new(self.start, format!("({named}"), ")"),
            None => Adding::new(self.start, named, ""),
        }
    }
}

/// `write("a", 64k, off=0);`. `start`: where its name begins.
fn operation(tree: &Tree<'_>, op: Op, list: List, start: u32) -> Vec<Parameter> {
    let places = arguments::parameters(op, list, tree.ast, tree.sources);
    let arguments = Arguments::new(tree, list, places, start);
    let row = op.row();
    let one = |(number, param): (usize, &model::op::Param)| {
        if param.kind == ParamKind::Values {
            return values(&arguments);
        }
        let (shape, unit, choices) = shape(param.kind);
        let at = arguments.position(number);
        let default = param.default.map(str::to_string);
        let removing = at.filter(|_| default.is_some()).map(|at| remove(op, &arguments, at));
        let adding = if at.is_none() { add(op, &arguments, number) } else { None };
        Parameter {
            name: param.name.into(),
            span: at.map(|at| arguments.values[at]),
            is_required: default.is_none(),
            default,
            unit,
            choices,
            adding,
            removing,
            ..plain("", shape, describe(param.kind))
        }
    };
    row.params.iter().enumerate().map(one).collect()
}

/// The values of `print`.
fn values(arguments: &Arguments) -> Parameter {
    let span = arguments.spans.first().zip(arguments.spans.last());
    let span = span.map(|(first, last)| Span { start: first.start, end: last.end });
    let adding = if span.is_none() { arguments.addition("") } else { None };
    let doc = "Texts in \"quotes\", numbers and $variables, with commas between them.";
    Parameter { span, adding, ..plain("values", LIST, doc) }
}

/// Names for arguments that would be taken for others: `len` arguments are left when `skip` is removed.
fn names_for(op: Op, arguments: &Arguments, skip: Option<usize>, len: usize) -> Vec<Edit> {
    let exact = len == op.row().required();
    let kept = (0..arguments.spans.len()).filter(|at| Some(*at) != skip);
    let wrong = kept.enumerate().filter_map(|(at, old)| {
        let place = arguments.places[old].filter(|_| !arguments.is_named[old])?;
        let is_right = arguments::unnamed(op, at, exact, false) == place;
        let name = op.row().params[place].name;
        let start = arguments.spans[old].start as usize;
        (!is_right).then(|| Edit::insert(start, format!("{name}=")))
    });
    wrong.collect()
}

fn remove(op: Op, arguments: &Arguments, at: usize) -> Vec<Edit> {
    let mut edits = names_for(op, arguments, Some(at), arguments.spans.len() - 1);
    edits.push(arguments.removal(at));
    edits
}

fn add(op: Op, arguments: &Arguments, number: usize) -> Option<Adding> {
    let count = arguments.spans.len();
    let exact = count + 1 == op.row().required();
    let is_next = arguments::unnamed(op, count, exact, false) == number
        && arguments.is_named.iter().all(|is| !is);
    let param = &op.row().params[number];
    let name = if is_next && !param.named { "" } else { param.name };
    let mut adding = arguments.addition(name)?;
    adding.besides = names_for(op, arguments, None, count + 1);
    Some(adding)
}

/// Kind of field, unit and choices of a parameter.
fn shape(kind: ParamKind) -> (&'static str, Option<&'static str>, Vec<String>) {
    use ParamKind as K;
    let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect();
    let none = Vec::new;
    match kind {
        K::Path | K::LinkTarget => ("path", None, none()),
        K::Handle | K::MpiHandle => ("handle", None, none()),
        K::Size => ("size", Some("bytes"), none()),
        K::Offset => ("offset", Some("bytes"), none()),
        K::Sizes => ("sizes", Some("bytes"), none()),
        K::Flags => ("flags", None, quoted(&FLAGS)),
        K::MpiMode => ("flags", None, quoted(&MPI_MODES)),
        K::Mode => ("number", None, vec!["0o644".into(), "0o755".into()]),
        K::Pattern => ("pattern", Some("bytes"), none()),
        K::Group => ("group", None, none()),
        K::Duration => ("duration", Some("us"), none()),
        K::Condition => ("condition", None, none()),
        K::Member | K::Count => ("count", None, none()),
        K::Whence => ("word", None, SEEKS.iter().map(ToString::to_string).collect()),
        K::Collective => ("word", None, quoted(&["all", "shared", "ordered"])),
        K::Word(words) => ("word", None, quoted(words)),
        K::Number => ("number", None, none()),
        K::Values => (LIST, None, none()),
        K::Text | K::Signal | K::Attribute => ("text", None, none()),
    }
}

/// Modes of fopen.
pub(crate) const FLAGS: [&str; 6] = ["r", "w", "a", "r+", "w+", "a+"];
/// The usual modes of pfopen.
pub(crate) const MPI_MODES: [&str; 4] = ["r", "cw", "rw", "crw"];

/// The meaning of a kind of parameter.
pub(crate) fn describe(kind: ParamKind) -> &'static str {
    use ParamKind as K;
    match kind {
        K::Path => "A path below the run directory; $variables are replaced.",
        K::LinkTarget => "The text of the link; $variables are replaced.",
        K::Handle => "An open file, from fopen, fcreat or tmpfile.",
        K::MpiHandle => "An open file, from pfopen.",
        K::Size => "A number of bytes, such as 64k.",
        K::Offset => "A position in the file, bytes.",
        K::Sizes => "A list of numbers of bytes.",
        K::Flags => "A mode as in C, or O_ names joined by |.",
        K::MpiMode => "r, w, c (create), x (must be new), a (append), in any combination.",
        K::Mode => "Permission bits, such as 0o644.",
        K::Pattern => "The name of a pattern, or a number of bytes.",
        K::Group => "The name of a group.",
        K::Duration => "A duration such as 10ms, or microseconds.",
        K::Condition => "What has to hold.",
        K::Text => "A text; $variables are replaced.",
        K::Signal => "The name of a signal; $variables are replaced.",
        K::Member => "The number of a member of the group, from 0.",
        K::Count => "A count.",
        K::Whence => "Where the distance begins.",
        K::Collective => "Who calls together.",
        K::Word(_) => "One of these words.",
        K::Attribute => "The name of an attribute; it begins with user.",
        K::Number => "A number, or a duration.",
        K::Values => "Any number of values.",
    }
}

/// `checkpoint("a", 1);`
fn call(tree: &Tree<'_>, name: &str, list: List) -> Vec<Parameter> {
    let proc = tree.ast.procs.iter().find(|proc| tree.ast.names.text(proc.name.0) == name);
    let args: Vec<ExprId> = tree.ast.exprs_in(list).collect();
    let params: Vec<ExprId> =
        proc.map_or_else(Vec::new, |proc| tree.ast.exprs_in(proc.params).collect());
    let one = |(at, id): (usize, &ExprId)| {
        let name = params.get(at).and_then(|id| tree.ast.param_name(*id));
        let name =
            name.map_or_else(|| (at + 1).to_string(), |name| tree.ast.names.text(name).into());
        Parameter { name: name.into(), ..required(tree, "", "value", "", *id) }
    };
    args.iter().enumerate().map(one).collect()
}

fn repeat(tree: &Tree<'_>, repeat: &Repeat, span: Span) -> Vec<Parameter> {
    let from = tree.expr(repeat.from);
    let end = repeat.step.or(repeat.to).map_or(from.end, |last| tree.expr(last).end);
    let variable = {
        let span = repeat.var.map(|(_, span)| span);
        let doc = "The variable that counts, from 0 or the start of the range.";
        let removing = span.filter(|_| !repeat.in_list);
        let removing =
            removing.map(|var| vec![Edit::replace(Span { start: var.start, end: from.start }, "")]);
        let adding = Adding::new(from.start, "", " ").filter(|_| span.is_none());
        Parameter { span, removing, adding, ..plain("variable", "variable", doc) }
    };
    let (name, doc) = match (repeat.in_list, repeat.to) {
        (true, _) => ("list", "The list whose elements the variable takes."),
        (_, Some(_)) => ("from", "The first number."),
        _ => ("count", "The number of iterations."),
    };
    let mut all = vec![variable, required(tree, name, "count", doc, repeat.from)];
    if !repeat.in_list {
        all.extend(range(tree, repeat, from));
    }
    all.extend(until(tree, repeat, end, span));
    all
}

/// `to` and `step`.
fn range(tree: &Tree<'_>, repeat: &Repeat, from: Span) -> [Parameter; 2] {
    let to = {
        let span = repeat.to.map(|to| tree.expr(to));
        let removable = span.filter(|_| repeat.step.is_none());
        let removing =
            removable.map(|to| vec![Edit::replace(Span { start: from.end, end: to.end }, "")]);
        let adding = Adding::new(from.end, "..", "").filter(|_| span.is_none());
        let doc = "The end of the range, which is not reached.";
        Parameter { span, removing, adding, ..plain("to", "count", doc) }
    };
    let end = to.span.map(|to| to.end);
    let span = repeat.step.map(|step| tree.expr(step));
    let removing = span.zip(end);
    let removing =
        removing.map(|(step, end)| vec![Edit::replace(Span { start: end, end: step.end }, "")]);
    let adding = end.filter(|_| span.is_none()).and_then(|end| Adding::new(end, " step ", ""));
    let default = Some("1".to_string());
    let doc = "The distance between numbers.";
    let step = Parameter { span, default, removing, adding, ..plain("step", "count", doc) };
    [to, step]
}

/// `until` and `level`. `end`: where the count ends.
fn until(tree: &Tree<'_>, repeat: &Repeat, end: u32, span: Span) -> Vec<Parameter> {
    let limit = repeat.until.map(|until| tree.expr(until.limit));
    let body = tree.ast.stmt_span(repeat.body);
    let word = limit.and_then(|_| tokens::next_word(tree.text, end as usize, "until"));
    let is_level = repeat.until.is_some_and(|until| until.level);
    let level = limit.filter(|_| is_level);
    let level = level.and_then(|limit| tokens::next_word(tree.text, limit.end as usize, "level"));
    let over = level.map(|level| level.end).or(limit.map(|limit| limit.end));
    let removing = word.zip(over);
    let removing =
        removing.map(|(word, end)| vec![Edit::replace(Span { start: word.start, end }, " ")]);
    let is_whole = body.start > span.start && body.start >= end;
    let adding = Adding::new(body.start, " until ", " ").filter(|_| limit.is_none() && is_whole);
    let doc = "Iterations end after this time.";
    let mut all = vec![Parameter {
        span: limit,
        unit: None,
        removing,
        adding,
        ..plain("until", "duration", doc)
    }];
    if let Some(limit) = limit {
        let doc = "All members go on to what the fastest one has reached.";
        let adding = Adding::new(limit.end, " level", "").filter(|_| !is_level);
        all.push(flag("level", doc, level.map(|token| token.span()), adding));
    }
    all
}

/// A word that is there or not.
fn flag(
    name: &'static str,
    doc: &'static str,
    word: Option<Span>,
    adding: Option<Adding>,
) -> Parameter {
    let removing = word.map(|word| vec![Edit::replace(word, "")]);
    let value = Some(word.is_some().to_string());
    let default = Some("false".to_string());
    let choices = vec!["true".into(), "false".into()];
    Parameter { span: word, value, default, choices, removing, adding, ..plain(name, FLAG, doc) }
}

fn share(tree: &Tree<'_>, number: u32) -> Vec<Parameter> {
    let share = tree.ast.shares[number as usize];
    let count = tree.expr(share.count);
    let by = share.by.map(|by| tree.expr(by));
    let removing = by.map(|by| vec![Edit::replace(Span { start: count.end, end: by.end }, "")]);
    let adding = Adding::new(count.end, " by ", "").filter(|_| by.is_none());
    let doc = "How many indices a rank takes at a time.";
    let default = Some("1".to_string());
    let by = Parameter { span: by, default, removing, adding, ..plain("by", "count", doc) };
    let doc = "The variable that holds the index.";
    let variable = plain("variable", "variable", doc);
    vec![
        Parameter { span: Some(share.var.1), is_required: true, ..variable },
        required(tree, "count", "count", "The number of indices.", share.count),
        by,
    ]
}

/// `time["write", sync]`
fn time(tree: &Tree<'_>, time: &Time, span: Span) -> Vec<Parameter> {
    let word = tokens::next(tree.text, span.start as usize, Token::Word);
    let after = word.map_or(span.start, |word| word.end);
    let label = time.label.map(|label| tree.expr(label));
    let close =
        label.and_then(|label| tokens::next(tree.text, label.end as usize, Token::RBracket));
    let removing =
        close.map(|close| vec![Edit::replace(Span { start: after, end: close.end }, "")]);
    let adding = Adding::new(after, "[", "]").filter(|_| label.is_none());
    let doc = "The name of the row in reports.";
    let name = Parameter { span: label, removing, adding, ..plain("label", "label", doc) };
    let word = label.filter(|_| time.sync);
    let word = word.and_then(|label| tokens::next_word(tree.text, label.end as usize, "sync"));
    let adding = label.and_then(|label| Adding::new(label.end, ", sync", ""));
    let doc = "All members wait for each other before and after it.";
    let mut sync = flag("sync", doc, word.map(|word| word.span()), adding.filter(|_| !time.sync));
    let whole = label.zip(word).map(|(label, word)| Span { start: label.end, end: word.end });
    sync.removing = whole.map(|whole| vec![Edit::replace(whole, "")]);
    vec![name, sync]
}

fn barrier(tree: &Tree<'_>, name: Option<ExprId>, span: Span) -> Parameter {
    let word = tokens::next(tree.text, span.start as usize, Token::Word);
    let after = word.map_or(span.start, |word| word.end);
    let found = name.map(|name| tree.expr(name));
    let end = found.and_then(|found| {
        let next = tokens::all(tree.text, found.end as usize).next()?;
        Some(if next.kind == Token::RParen { next.end } else { found.end })
    });
    let removing = end.map(|end| vec![Edit::replace(Span { start: after, end }, "")]);
    let adding = Adding::new(after, "(", ")").filter(|_| found.is_none());
    let default = Some("the active group".to_string());
    let doc = "Whose members wait for each other.";
    Parameter { span: found, default, removing, adding, ..plain("group", "group", doc) }
}

/// `with (direct=true, fsync="close")`: all options of the language.
fn with(tree: &Tree<'_>, list: List, span: Span) -> Vec<Parameter> {
    let ids: Vec<ExprId> = tree.ast.exprs_in(list).collect();
    let name = |id: ExprId| match tree.ast.expr(id) {
        Expr::Named(name, _) => tree.ast.names.text(name),
        _ => "",
    };
    let places = ids.iter().map(|id| OPTIONS.iter().position(|row| row.name == name(*id)));
    let arguments = Arguments::new(tree, list, places.collect(), span.start);
    let one = |(number, row): (usize, &OptionRow)| {
        let at = arguments.position(number);
        let is_only = arguments.spans.len() == 1;
        let removing = at.filter(|_| !is_only).map(|at| vec![arguments.removal(at)]);
        let adding = if at.is_none() { arguments.addition(row.name) } else { None };
        let (shape, unit) = option_shape(row);
        Parameter {
            name: row.name.into(),
            span: at.map(|at| arguments.values[at]),
            default: row.off.first().map(ToString::to_string),
            unit,
            choices: option_choices(row),
            removing,
            adding,
            ..plain("", shape, row.doc)
        }
    };
    OPTIONS.iter().enumerate().map(one).collect()
}

fn option_shape(row: &OptionRow) -> (&'static str, Option<&'static str>) {
    match row.accepts {
        Accepts::Condition => ("condition", None),
        Accepts::Number(_, "a number of bytes") => ("size", Some("bytes")),
        Accepts::Number(..) => ("count", None),
        Accepts::Ratio => ("number", None),
        Accepts::Rate => ("number", Some("ops/s")),
        Accepts::Words(_) => ("word", None),
        _ => ("text", None),
    }
}

/// Values of an option, as they are written.
pub(crate) fn option_choices(row: &OptionRow) -> Vec<String> {
    let quoted = |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect();
    match row.accepts {
        Accepts::Condition => vec!["true".into(), "false".into()],
        Accepts::Words(words) => quoted(words),
        Accepts::WordsOrFile(words) | Accepts::WordsOrTimes(words) => quoted(words),
        Accepts::Rate => vec!["1000/s".into()],
        Accepts::Errors => quoted(&["ENOENT", "EEXIST", "short"]),
        _ => Vec::new(),
    }
}

/// The size of each group.
fn groups(tree: &Tree<'_>, list: List) -> Vec<Parameter> {
    let (start, len) = (list.start as usize, list.len as usize);
    let one = |group: &ppl::ast::GroupDef| {
        let span = group.size.map(|size| match size {
            GroupSize::Ranks(id) => tree.expr(id),
            GroupSize::Percent(id) => Span { start: tree.expr(id).start, end: group.span.end },
        });
        let name = tree.slice(tree.expr(group.name)).trim_matches('"').to_string();
        let equals = tokens::next(tree.text, tree.expr(group.name).end as usize, Token::Assign);
        let removing = span.zip(equals).map(|(span, equals)| {
            vec![Edit::replace(Span { start: equals.start, end: span.end }, "")]
        });
        let adding = Adding::new(group.span.end, " = ", "").filter(|_| span.is_none());
        Parameter {
            name: name.into(),
            span,
            default: Some("an equal share".into()),
            unit: Some("ranks"),
            removing,
            adding,
            ..plain("", "count", "The number of members, or a share such as 50%.")
        }
    };
    tree.ast.groups.get(start..start + len).unwrap_or(&[]).iter().map(one).collect()
}

fn pattern(tree: &Tree<'_>, pattern: &PatternDef) -> Vec<Parameter> {
    let doc = "The name that operations give.";
    let mut all = vec![required(tree, "name", "label", doc, pattern.name)];
    let level = pattern.level.map(|level| tree.expr(level));
    if let Some(level) = level {
        let doc = "0: single calls; 1: collective calls; 2: one call through a view; 3: both.";
        let choices = (0..4).map(|level| level.to_string()).collect();
        let level = Parameter {
            choices,
            ..required(tree, "level", "count", doc, pattern.level.unwrap_or(pattern.name))
        }
        .at(level);
        all.push(level);
    }
    let kind = pattern.kind.and_then(|name| find_kind(tree.ast.names.text(name)));
    let Some(kind) = kind else {
        let places = (1..).zip(tree.ast.exprs_in(pattern.values));
        let value = |(at, id): (usize, ExprId)| Parameter {
            name: at.to_string().into(),
            ..required(tree, "", "value", "", id)
        };
        all.extend(places.map(value));
        return all;
    };
    all.extend(arguments_of_kind(tree, kind, pattern));
    all
}

impl Parameter {
    fn at(mut self, span: Span) -> Parameter {
        self.span = Some(span);
        self
    }
}

/// `strided(block=4k, count=10)`
fn arguments_of_kind(
    tree: &Tree<'_>,
    kind: &'static kinds::KindRow,
    pattern: &PatternDef,
) -> Vec<Parameter> {
    let ids: Vec<ExprId> = tree.ast.exprs_in(pattern.values).collect();
    let place = |(at, id): (usize, &ExprId)| match tree.ast.expr(*id) {
        Expr::Named(name, _) => {
            let name = tree.ast.names.text(name);
            kind.params.iter().position(|param| param.name == name)
        }
        _ => Some(at).filter(|at| *at < kind.params.len()),
    };
    let places = ids.iter().enumerate().map(place).collect();
    let equals = tokens::next(tree.text, tree.expr(pattern.name).end as usize, Token::Assign);
    let start = equals.map_or(0, |equals| equals.end);
    let arguments = Arguments::new(tree, pattern.values, places, start);
    let one = |(number, param): (usize, &kinds::Parameter)| {
        let at = arguments.position(number);
        // Arguments behind it without names would become others.
        let can_go = at.is_some_and(|at| arguments.is_named[at..].iter().all(|is| *is));
        let removing = at.filter(|_| can_go && param.default.is_some());
        let (shape, choices) = match param.accepts {
            kinds::Accepts::Number(_) => ("count", Vec::new()),
            kinds::Accepts::Numbers(_) => ("sizes", Vec::new()),
            kinds::Accepts::Word(words) => {
                ("word", words.iter().map(|word| format!("\"{word}\"")).collect())
            }
        };
        Parameter {
            name: param.name.into(),
            span: at.map(|at| arguments.values[at]),
            default: param.default.map(str::to_string),
            is_required: param.default.is_none(),
            choices,
            removing: removing.map(|at| vec![arguments.removal(at)]),
            adding: if at.is_none() { arguments.addition(param.name) } else { None },
            ..plain("", shape, param.doc)
        }
    };
    kind.params.iter().enumerate().map(one).collect()
}

/// A parameter as the answer has it.
#[derive(Serialize)]
pub(crate) struct Shown {
    name: String,
    value: Option<String>,
    default: Option<String>,
    required: bool,
    #[serde(rename = "type")]
    shape: &'static str,
    unit: Option<&'static str>,
    choices: Vec<String>,
    range: Option<Range>,
    doc: String,
}

impl Parameter {
    pub(crate) fn show(&self, text: &Text) -> Shown {
        Shown {
            name: self.name.to_string(),
            value: self.value.clone(),
            default: self.default.clone(),
            required: self.is_required,
            shape: self.shape,
            unit: self.unit,
            choices: self.choices.clone(),
            range: self.span.map(|span| text.range_of(span)),
            doc: self.doc.to_string(),
        }
    }
}
