//! Tree -> what its names mean ([`Facts`]). Never fails: a name without meaning is left open, and the pass
//! that makes code reports it.
//!
//! Visible is what stands textually earlier at top level, or in the same body; bodies of procs and
//! patterns see globals that are set before their definition. Procs, groups, patterns and hints hold in
//! the whole program.

use crate::arguments::required;
use crate::ast::{Ast, Expr, ExprId, GroupSize, List, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic, Reports};
use crate::facts::{Facts, Kind, Mention, Symbol, SymbolId};
use crate::lower::PUSH;
use crate::source::Sources;
use crate::text;
use crate::word::{Word, classify};
use model::Op;
use model::function::{Accepts, FunctionRow};
use model::internal::InternalRow;
use model::op::ParamKind;
use model::plan::{BinaryOp, Span};
use model::types::{self, Types};
use rustc_hash::FxHashMap;

/// Finds the meaning of all names, and names that are defined twice.
pub(crate) fn resolve(ast: &Ast, sources: &Sources) -> (Facts, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        ast,
        sources,
        facts: Facts::default(),
        reports: Reports::default(),
        scopes: Scopes::default(),
        now: 0,
    };
    resolver.definitions(ast.top);
    resolver.statements(ast.top);
    resolver.kind_bodies();
    resolver.finish()
}

struct Resolver<'a> {
    ast: &'a Ast,
    sources: &'a Sources,
    facts: Facts,
    reports: Reports,
    scopes: Scopes,
    /// The number behind the last expression read: expressions are numbered in the order of the text.
    now: u32,
}

impl Resolver<'_> {
    fn finish(mut self) -> (Facts, Vec<Diagnostic>) {
        let by_place = |mention: &Mention| mention.span.start;
        if !self.facts.mentions.is_sorted_by_key(by_place) {
            self.facts.mentions.sort_by_key(by_place);
        }
        (self.facts, self.reports.finish())
    }

    fn statements(&mut self, list: List) {
        for id in self.ast.stmts_in(list) {
            self.statement(id);
        }
    }

    fn statement(&mut self, id: StmtId) {
        let span = self.ast.stmt_span(id);
        match self.ast.stmt(id) {
            Stmt::Error | Stmt::Empty | Stmt::Break | Stmt::Continue => {}
            Stmt::Block(list) | Stmt::Include(_, list) => self.statements(list),
            Stmt::Op { op, args, .. } => self.op_arguments(op, args),
            Stmt::Assign(name, value) => self.assign(name, value, span),
            Stmt::Global(var, value) => self.global(var, value),
            Stmt::GlobalPush(args) => self.push(args, true),
            Stmt::Return(value) => {
                if let Some(value) = value {
                    self.value(value);
                }
            }
            Stmt::SetItem(item, value) => self.set_item(item, value, false),
            Stmt::Call { name, args } => self.call_proc(name, args, span),
            Stmt::Repeat(number) => {
                let repeat = self.ast.repeats[number as usize];
                let until = repeat.until.map(|until| until.limit);
                let values = [Some(repeat.from), repeat.to, repeat.step, until];
                let types = if repeat.in_list { Types::ANY } else { Types::INT };
                let var = repeat.var.map(|(name, span)| (name, span, types));
                self.with_loop_variable(var, values.into_iter().flatten(), repeat.body);
            }
            Stmt::Time(number) => {
                let time = self.ast.times[number as usize];
                if let Some(label) = time.label {
                    self.label(label);
                }
                self.statement(time.body);
            }
            Stmt::Group(name, body) => {
                self.named(Kind::Group, name);
                self.statement(body);
            }
            Stmt::Split(value, body) => {
                self.value(value);
                self.statement(body);
            }
            Stmt::Master(body) => self.statement(body),
            Stmt::Barrier(name) => {
                if let Some(name) = name {
                    self.named(Kind::Group, name);
                }
            }
            Stmt::If(number) => {
                let branch = self.ast.ifs[number as usize];
                self.value(branch.cond);
                self.statement(branch.then);
                if let Some(otherwise) = branch.otherwise {
                    self.statement(otherwise);
                }
            }
            Stmt::While(cond, body) => {
                self.value(cond);
                self.statement(body);
            }
            Stmt::With(options, body) => {
                self.options(options);
                self.statement(body);
            }
            Stmt::Param(number) => self.param(number),
            Stmt::Groups(list) => self.group_sizes(list),
            Stmt::Pattern(number) => self.pattern(number),
            Stmt::Proc(number) => self.proc(number),
            Stmt::Hints(_, value) => self.value(value),
            Stmt::Mix(number) => {
                let mix = self.ast.mixes[number as usize];
                self.ast.exprs_in(mix.weights).for_each(|id| self.value(id));
                self.statements(mix.bodies);
            }
            Stmt::Share(number) => {
                let share = self.ast.shares[number as usize];
                let (name, span) = share.var;
                let values = [Some(share.count), share.by].into_iter().flatten();
                self.with_loop_variable(Some((name, span, Types::INT)), values, share.body);
            }
        }
    }

    /// `$x = value;`: the value does not see the variable yet.
    fn assign(&mut self, name: Name, value: ExprId, span: Span) {
        let length = self.ast.names.text(name).len() as u32;
        let sign = u32::from(self.sources.text(span).starts_with('$'));
        let place = Span { start: span.start, end: span.start + sign + length };
        let mention = self.mention_later(place);
        self.value(value);
        let symbol = self.set(Kind::Variable, name, place, types_of(self.ast, value));
        self.facts.mentions[mention].symbol = symbol;
    }

    /// A loop whose variable lives in its body.
    fn with_loop_variable(
        &mut self,
        var: Option<(Name, Span, Types)>,
        values: impl Iterator<Item = ExprId>,
        body: StmtId,
    ) {
        let mention = var.map(|(_, span, _)| self.mention_later(span));
        values.for_each(|id| self.value(id));
        let Some(((name, span, types), mention)) = var.zip(mention) else {
            return self.statement(body);
        };
        let symbol = self.symbol(Kind::Loop, span, types, 0);
        self.facts.symbols[symbol.0 as usize].within = Some(body);
        self.facts.mentions[mention].symbol = symbol;
        let outer = self.scopes.replace(name, Some(symbol));
        self.statement(body);
        self.scopes.replace(name, outer);
    }

    /// `global $x = value;` in a proc
    fn global(&mut self, var: ExprId, value: ExprId) {
        if matches!(self.ast.expr(var), Expr::Index(..)) {
            return self.set_item(var, value, true);
        }
        if let Expr::Var(name) = self.ast.expr(var)
            && let Some(symbol) = self.scopes.global(name)
        {
            let known = &mut self.facts.symbols[symbol.0 as usize];
            known.types = known.types.or(types_of(self.ast, value));
            known.definitions += 1;
            self.mention(symbol, self.ast.expr_span(var), true);
        }
        self.value(value);
    }

    /// `$list[at][at] = value;`
    fn set_item(&mut self, item: ExprId, value: ExprId, global: bool) {
        self.changed(item, global);
        self.value(value);
    }

    /// `push($list, value);`, `push($list[at], value);`
    fn push(&mut self, args: List, global: bool) {
        let mut args = self.ast.exprs_in(args);
        if let Some(list) = args.next() {
            self.changed(list, global);
        }
        args.for_each(|id| self.named_or_value(Kind::Pattern, id));
    }

    /// A list that takes a value, or a list in it: its variable is no constant.
    fn changed(&mut self, list: ExprId, global: bool) {
        let (var, indices) = self.ast.element(list);
        let Expr::Var(name) = self.ast.expr(var) else { return self.value(list) };
        self.now = self.now.max(list.0 + 1);
        let known = if global { self.scopes.global(name) } else { self.scopes.visible(name) };
        if let Some(symbol) = known {
            self.facts.symbols[symbol.0 as usize].definitions += 1;
            self.mention(symbol, self.ast.expr_span(var), true);
        }
        indices.into_iter().for_each(|at| self.value(at));
    }

    /// `name(args);`
    pub(crate) fn call_proc(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        if let Some(symbol) = self.facts.find(Kind::Proc, text) {
            let end = span.start + text.len() as u32;
            self.mention(symbol, Span { start: span.start, end }, false);
        }
        if text == PUSH && self.facts.find(Kind::Proc, text).is_none() {
            return self.push(args, false);
        }
        for id in self.ast.exprs_in(args) {
            // The proc may use a text as the name of a pattern.
            self.named_or_value(Kind::Pattern, id);
        }
    }

    /// `with (name=value, ...)`
    fn options(&mut self, options: List) {
        for id in self.ast.exprs_in(options) {
            match self.ast.expr(id) {
                Expr::Named(name, value) if self.ast.names.text(name) == "hints" => {
                    self.named_or_value(Kind::Hints, value);
                }
                _ => self.value(id),
            }
        }
    }

    /// A place whose symbol is found out after what stands behind it: where it is in the list.
    fn mention_later(&mut self, span: Span) -> usize {
        self.mention(SymbolId(u32::MAX), span, true);
        self.facts.mentions.len() - 1
    }

    fn mention(&mut self, symbol: SymbolId, span: Span, defines: bool) {
        self.facts.mentions.push(Mention { span, symbol, defines });
    }

    /// Takes in what holds in the whole program.
    pub(crate) fn definitions(&mut self, list: List) {
        for id in self.ast.stmts_in(list) {
            match self.ast.stmt(id) {
                Stmt::Include(_, inner) => self.definitions(inner),
                Stmt::Groups(list) => {
                    for number in list.start..list.start + list.len {
                        let name = self.ast.groups[number as usize].name;
                        self.string_definition(Kind::Group, name, number);
                    }
                }
                Stmt::Pattern(number) => {
                    let name = self.ast.patterns[number as usize].name;
                    self.string_definition(Kind::Pattern, name, number);
                }
                Stmt::Hints(name, _) => self.string_definition(Kind::Hints, name, 0),
                Stmt::Proc(number) => {
                    let (name, span) = self.ast.procs[number as usize].name;
                    self.definition(Kind::Proc, self.ast.names.text(name), span, number);
                }
                _ => {}
            }
        }
    }

    fn string_definition(&mut self, kind: Kind, name: ExprId, number: u32) {
        if let Some(text) = self.name(kind, name) {
            self.definition(kind, &text, self.ast.expr_span(name), number);
        }
    }

    fn definition(&mut self, kind: Kind, name: &str, span: Span, number: u32) {
        let symbol = self.global_name(kind, name, span, number);
        self.mention(symbol, span, true);
        let first = self.facts.symbol(symbol).span;
        if first != span {
            let (what, are, they) = match kind {
                Kind::Proc => (format!("the proc {name}"), "is", "it is"),
                Kind::Hints => (format!("the hints \"{name}\""), "are", "they are"),
                _ => (format!("the {} \"{name}\"", kind.word()), "is", "it is"),
            };
            let message = format!("{what} {are} defined twice");
            let diagnostic = Diagnostic::new(Code::Duplicate, span, message);
            self.reports.push(diagnostic.related(first, format!("{they} defined here first")));
        }
    }

    /// The statement that defines a parameter: its variable is visible from here on.
    pub(crate) fn param(&mut self, number: u32) {
        let param = self.ast.params[number as usize];
        let (name, span) = param.var;
        let mention = self.mention_later(span);
        self.value(param.default);
        // `define param` gives text.
        let text = if param.public.is_some() { Types::STR } else { Types::NONE };
        let types = types_of(self.ast, param.default).or(text);
        let symbol = self.set(Kind::Parameter, name, span, types);
        if self.facts.symbol(symbol).span == span {
            self.facts.symbols[symbol.0 as usize].number = number;
        }
        self.facts.mentions[mention].symbol = symbol;
    }

    fn group_sizes(&mut self, list: List) {
        for number in list.start..list.start + list.len {
            let size = self.ast.groups[number as usize].size;
            if let Some(GroupSize::Ranks(id) | GroupSize::Percent(id)) = size {
                self.value(id);
            }
        }
    }

    /// The arguments of a pattern, or its body.
    pub(crate) fn pattern(&mut self, number: u32) {
        let def = self.ast.patterns[number as usize];
        if let Some(level) = def.level {
            self.value(level);
        }
        for id in self.ast.exprs_in(def.values) {
            // Only a group is named by a text.
            match (def.kind, self.ast.expr(id)) {
                (None, Expr::Str) => self.named(Kind::Group, id),
                _ => self.value(id),
            }
        }
        if def.kind.is_none() {
            self.pattern_body(number);
        }
    }

    /// The bodies of kinds, which are no text of the program: what they name comes behind all else.
    fn kind_bodies(&mut self) {
        for number in 0..self.ast.patterns.len() {
            if self.ast.patterns[number].kind.is_some() {
                self.pattern_body(number as u32);
            }
        }
    }

    fn pattern_body(&mut self, number: u32) {
        let def = self.ast.patterns[number as usize];
        let Some(body) = def.body else { return };
        let owner = self.find(Kind::Pattern, def.name);
        self.body(owner, |resolver| {
            resolver.arguments(def.params);
            resolver.statement(body);
        });
    }

    pub(crate) fn proc(&mut self, number: u32) {
        let def = self.ast.procs[number as usize];
        let owner = self.facts.find(Kind::Proc, self.ast.names.text(def.name.0));
        // Defaults see what the program has set before.
        for id in self.ast.exprs_in(def.params) {
            if let Expr::Named(_, default) = self.ast.expr(id) {
                self.value(default);
            }
        }
        self.body(owner, |resolver| {
            resolver.arguments(def.params);
            resolver.statement(def.body);
        });
    }

    /// Parameters of a body become variables of it.
    fn arguments(&mut self, params: List) {
        for id in self.ast.exprs_in(params) {
            let Some(name) = self.ast.param_name(id) else { continue };
            self.now = self.now.max(id.0 + 1);
            let start = self.ast.expr_span(id).start;
            let end = start + 1 + self.ast.names.text(name).len() as u32;
            let span = Span { start, end };
            let symbol = self.symbol(Kind::Argument, span, Types::ANY, 0);
            self.scopes.replace(name, Some(symbol));
            self.mention(symbol, span, true);
        }
    }

    /// An expression that is evaluated.
    pub(crate) fn value(&mut self, id: ExprId) {
        self.now = self.now.max(id.0 + 1);
        let span = self.ast.expr_span(id);
        match self.ast.expr(id) {
            Expr::Error
            | Expr::Int(_)
            | Expr::Float(_)
            | Expr::Bool(_)
            | Expr::Duration(_)
            | Expr::Rate(_)
            | Expr::Internal(_)
            | Expr::Env(_)
            | Expr::Word(_) => {}
            Expr::Str => self.string(span),
            Expr::Var(name) => {
                if let Some(symbol) = self.scopes.visible(name) {
                    self.mention(symbol, span, false);
                }
            }
            Expr::Unary(_, a) | Expr::Paren(a) | Expr::Named(_, a) => self.value(a),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                self.value(a);
                self.value(b);
            }
            Expr::Call(name, args) => self.call(name, args, span),
            Expr::List(items) => self.values(items),
        }
    }

    pub(crate) fn values(&mut self, list: List) {
        for id in self.ast.exprs_in(list) {
            self.value(id);
        }
    }

    /// `name(args)` in an expression: a function, or an operation that gives a handle.
    fn call(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        if let Word::Op(op) = classify(text).0 {
            return self.op_arguments(op, args);
        }
        if self.facts.find(Kind::Proc, text).is_some() {
            return self.call_proc(name, args, span);
        }
        let row = FunctionRow::find(text);
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            match row.filter(|row| !row.params.is_empty()).map(|row| row.accepts(at)) {
                Some(Accepts::Pattern) => self.named_or_value(Kind::Pattern, id),
                _ => self.value(id),
            }
        }
    }

    /// Arguments of an operation; some name patterns or groups.
    pub(crate) fn op_arguments(&mut self, op: Op, args: List) {
        let params = op.row().params;
        let exact = args.len as usize == op.row().required();
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            let (param, value) = match self.ast.expr(id) {
                Expr::Named(name, value) => {
                    let name = self.ast.names.text(name);
                    (params.iter().find(|param| param.name == name), value)
                }
                _ if exact => (params.get(required(params, at)), id),
                _ => (params.get(at), id),
            };
            match param.map(|param| param.kind) {
                Some(ParamKind::Pattern) => self.named_or_value(Kind::Pattern, value),
                Some(ParamKind::Group) => self.named(Kind::Group, value),
                _ => self.value(value),
            }
        }
    }

    /// A string in which `$` begins variables.
    fn string(&mut self, span: Span) {
        let raw = self.sources.text(span);
        if !raw.as_bytes().contains(&b'$') {
            return;
        }
        for piece in text::pieces(raw, span.start) {
            match piece {
                text::Piece::Var { run, span } => self.run(run, span.start),
                text::Piece::Braced { name, span, .. } => {
                    if let Some(symbol) = self.visible_text(name) {
                        self.mention(symbol, span, false);
                    }
                }
                text::Piece::Text(_) | text::Piece::Internal { .. } | text::Piece::Env { .. } => {}
            }
        }
    }

    /// `$name...`: the longest run that is a visible variable; the rest is text.
    fn run(&mut self, run: &str, start: u32) {
        for length in (1..=run.len()).rev() {
            if let Some(symbol) = self.visible_text(&run[..length]) {
                let end = start + 1 + length as u32;
                return self.mention(symbol, Span { start, end }, false);
            }
        }
    }

    /// A string that names something, in which `$` means nothing. Without such a thing: nothing.
    pub(crate) fn named(&mut self, kind: Kind, id: ExprId) {
        self.now = self.now.max(id.0 + 1);
        if let Some(symbol) = self.find(kind, id) {
            self.mention(symbol, self.ast.expr_span(id), false);
        }
    }

    /// The name of something if there is such a thing, or else a value.
    fn named_or_value(&mut self, kind: Kind, id: ExprId) {
        match self.find(kind, id) {
            Some(symbol) => self.mention(symbol, self.ast.expr_span(id), false),
            None => self.value(id),
        }
    }

    /// The thing that a string names.
    pub(crate) fn find(&mut self, kind: Kind, id: ExprId) -> Option<SymbolId> {
        if self.facts.named[kind as usize].is_empty() {
            return None;
        }
        let name = self.name(kind, id)?;
        self.facts.find(kind, &name)
    }

    /// The name in a string; blanks around that of a group do not count.
    pub(crate) fn name(&mut self, kind: Kind, id: ExprId) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.sources.text(self.ast.expr_span(id));
        let name = String::from_utf8_lossy(&text::plain(raw)).into_owned();
        Some(if kind == Kind::Group { name.trim().into() } else { name })
    }

    /// The label of `time`; all of the same text are one.
    pub(crate) fn label(&mut self, id: ExprId) {
        let span = self.ast.expr_span(id);
        if let Some(text) = self.name(Kind::Label, id) {
            let symbol = self.global_name(Kind::Label, &text, span, 0);
            self.mention(symbol, span, true);
        }
        self.value(id);
    }

    /// The thing of this name that the whole program sees; the first definition makes it.
    fn global_name(&mut self, kind: Kind, name: &str, span: Span, number: u32) -> SymbolId {
        if let Some(known) = self.facts.find(kind, name) {
            self.facts.symbols[known.0 as usize].definitions += 1;
            return known;
        }
        let symbol = self.symbol(kind, span, Types::NONE, number);
        let table = &mut self.facts.named[kind as usize];
        let made = &mut self.facts.symbols[symbol.0 as usize];
        made.ordinal = table.len() as u32;
        (made.owner, made.since) = (None, 0);
        table.insert(name.into(), symbol);
        symbol
    }
}

/// No variable.
const NONE: u32 = u32::MAX;

/// Variables that are visible.
#[derive(Default)]
struct Scopes {
    /// By name: the variable at top level.
    globals: Vec<u32>,
    /// The body of a proc or pattern being read.
    body: Option<Body>,
}

/// The body of a proc or pattern.
struct Body {
    owner: Option<SymbolId>,
    locals: FxHashMap<Name, SymbolId>,
}

impl Scopes {
    /// The meaning of a name here.
    pub(crate) fn visible(&self, name: Name) -> Option<SymbolId> {
        let local = self.body.as_ref().and_then(|body| body.locals.get(&name).copied());
        local.or_else(|| self.global(name))
    }

    pub(crate) fn global(&self, name: Name) -> Option<SymbolId> {
        let symbol = self.globals.get(name.0 as usize).copied().filter(|symbol| *symbol != NONE);
        symbol.map(SymbolId)
    }

    /// The meaning of a name in the current scope alone; bodies do not write globals.
    fn here(&self, name: Name) -> Option<SymbolId> {
        match &self.body {
            Some(body) => body.locals.get(&name).copied(),
            None => self.global(name),
        }
    }

    /// Lets a name mean something in the running scope; gives what it meant.
    pub(crate) fn replace(&mut self, name: Name, symbol: Option<SymbolId>) -> Option<SymbolId> {
        if let Some(body) = &mut self.body {
            return match symbol {
                Some(symbol) => body.locals.insert(name, symbol),
                None => body.locals.remove(&name),
            };
        }
        let at = name.0 as usize;
        if at >= self.globals.len() {
            self.globals.resize(at + 1, NONE);
        }
        let before = std::mem::replace(&mut self.globals[at], symbol.map_or(NONE, |id| id.0));
        (before != NONE).then_some(SymbolId(before))
    }
}

impl Resolver<'_> {
    /// A new symbol, visible from here on.
    pub(crate) fn symbol(&mut self, kind: Kind, span: Span, types: Types, number: u32) -> SymbolId {
        let owner = self.scopes.body.as_ref().and_then(|body| body.owner);
        self.facts.symbols.push(Symbol {
            kind,
            types,
            span,
            number,
            ordinal: 0,
            definitions: 1,
            owner,
            since: self.now,
            within: None,
        });
        SymbolId(self.facts.symbols.len() as u32 - 1)
    }

    /// A variable gets a value: a new one, or the one that is there.
    pub(crate) fn set(&mut self, kind: Kind, name: Name, span: Span, types: Types) -> SymbolId {
        if let Some(known) = self.scopes.here(name) {
            let symbol = &mut self.facts.symbols[known.0 as usize];
            symbol.types = symbol.types.or(types);
            symbol.definitions += 1;
            return known;
        }
        let symbol = self.symbol(kind, span, types, 0);
        self.scopes.replace(name, Some(symbol));
        symbol
    }

    /// Reads the body of a proc or pattern: what is set in it ends with it.
    pub(crate) fn body(&mut self, owner: Option<SymbolId>, read: impl FnOnce(&mut Self)) {
        let locals = FxHashMap::default();
        if let Some(owner) = owner {
            self.facts.bodies.insert(owner, self.now);
        }
        let outer = self.scopes.body.replace(Body { owner, locals });
        read(self);
        self.scopes.body = outer;
    }

    /// The meaning of a name in a string.
    fn visible_text(&self, text: &str) -> Option<SymbolId> {
        self.scopes.visible(self.ast.names.find(text)?)
    }
}

/// The types that a value can have, whatever variables hold.
fn types_of(ast: &Ast, id: ExprId) -> Types {
    match ast.expr(id) {
        Expr::Int(_) => Types::INT,
        Expr::Float(_) => Types::FLOAT,
        Expr::Bool(_) => Types::BOOL,
        Expr::Duration(_) => Types::DURATION,
        Expr::Str | Expr::Env(_) => Types::STR,
        Expr::List(_) => Types::LIST,
        Expr::Paren(inner) => types_of(ast, inner),
        Expr::Unary(op, a) => types::unary(op, types_of(ast, a)).or_any(),
        Expr::Binary(BinaryOp::Add, ..) if ast.is_text(id) => Types::STR,
        Expr::Binary(op, a, b) => types::binary(op, types_of(ast, a), types_of(ast, b)).or_any(),
        Expr::Call(name, _) => of_call(ast.names.text(name)),
        Expr::Internal(name) => {
            InternalRow::find(ast.names.text(name)).map_or(Types::ANY, |row| row.types)
        }
        _ => Types::ANY,
    }
}

fn of_call(name: &str) -> Types {
    match classify(name).0 {
        Word::Op(Op::Pfopen) => Types::MPI,
        Word::Op(Op::Readdir) => Types::LIST,
        Word::Op(op) if op.row().gives_handle() => Types::HANDLE,
        Word::Op(_) => Types::OUTCOME,
        _ => Types::ANY,
    }
}
