//! A naive interpreter of the syntax tree: slow, obvious, and without any of the
//! plan's ideas. It is compared with what executes plans, here and in crate parabench
//! (which includes this file). Random numbers, the clock and file sizes are not in it.

use model::function::FunctionRow;
use model::group::{self, GroupDef, Size};
use model::plan::{BinaryOp, Group, UnaryOp};
use model::{Op, Value, limits, value};
use ppl::ast::{Ast, Expr, ExprId, GroupSize, List, Name, Stmt, StmtId};
use ppl::source::Sources;
use ppl::text::{self, Piece};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

// By its path, because crate parabench includes this file by a path, too.
#[path = "visibility.rs"]
mod visibility;

use visibility::visibility;

/// Lines of a trace before it is cut.
pub const MAX_LINES: usize = 2_000;

/// What one rank does, one line each: operations with their arguments (paths rendered,
/// numbers as they are), labels, barriers; last "end", "error" or "cut".
pub fn trace(ast: &Ast, sources: &Sources, ranks: u32, rank: u32) -> Vec<String> {
    let mut tree = Tree {
        ast,
        sources,
        ranks,
        rank,
        groups: Vec::new(),
        seen: visibility(ast),
        globals: HashMap::new(),
        locals: None,
        loops: Vec::new(),
        active: vec![(0..ranks, String::new())],
        handles: 0,
        lines: Vec::new(),
    };
    tree.groups = tree.resolve_groups();
    let last = match tree.all(ast.top) {
        Err(Stop::Error) => "error",
        Err(Stop::Cut) => "cut",
        _ => "end",
    };
    tree.lines.push(last.into());
    tree.lines
}

/// What ends a statement early.
enum Stop {
    Break,
    Continue,
    Return(Value),
    Error,
    Cut,
}

type Done<T> = Result<T, Stop>;

/// Names that can be read at a place: of the proc it stands in, and of the program.
#[derive(Clone, Default)]
struct Seen {
    locals: HashSet<Name>,
    globals: HashSet<Name>,
}

/// Texts that double in a loop would fill the memory: of a long line, its beginning, length and hash.
pub fn shortened(mut line: String) -> String {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    const MAX_CHARS: usize = 2_000;
    if line.len() > MAX_CHARS {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&line);
        let rest = format!(" and so on, {} bytes, {hash:016x}", line.len());
        line = line.chars().take(MAX_CHARS).collect::<String>() + &rest;
    }
    line
}

struct Tree<'a> {
    ast: &'a Ast,
    sources: &'a Sources,
    ranks: u32,
    rank: u32,
    groups: Vec<Group>,
    seen: HashMap<ExprId, Seen>,
    globals: HashMap<Name, Value>,
    locals: Option<HashMap<Name, Value>>,
    /// Variables of the loops around, innermost last; of the running proc only.
    loops: Vec<(Name, Value)>,
    active: Vec<(Range<u32>, String)>,
    handles: u64,
    lines: Vec<String>,
}

fn eval<T>(result: value::Eval<T>) -> Done<T> {
    result.map_err(|_| Stop::Error)
}

/// What stands in a list at a path.
fn reached(whole: &Value, path: &[i64]) -> Done<Value> {
    path.iter()
        .try_fold(whole.clone(), |list, at| eval(value::index(&list, &Value::Int(*at)).cloned()))
}

/// A list that is made anew with another value at a path.
fn put(whole: Value, path: &[i64], value: Value) -> Done<Value> {
    let [at, rest @ ..] = path else { return Ok(value) };
    let inner = put(reached(&whole, &[*at])?, rest, value)?;
    let Value::List(items) = whole else { return Err(Stop::Error) };
    let mut items = items.to_vec();
    items[*at as usize] = inner;
    eval(limits::list(items))
}

impl Tree<'_> {
    fn line(&mut self, line: String) -> Done<()> {
        self.lines.push(shortened(line));
        if self.lines.len() < MAX_LINES { Ok(()) } else { Err(Stop::Cut) }
    }

    fn all(&mut self, list: List) -> Done<()> {
        let ids: Vec<StmtId> = self.ast.stmts_in(list).collect();
        ids.into_iter().try_for_each(|id| self.stmt(id))
    }

    fn stmt(&mut self, id: StmtId) -> Done<()> {
        match self.ast.stmt(id) {
            Stmt::Block(list) | Stmt::Include(_, list) => self.all(list),
            Stmt::Assign(name, value) => {
                let value = self.value(value)?;
                self.set(name, value);
                Ok(())
            }
            Stmt::SetItem(item, value) => {
                let (name, path) = self.path(item)?;
                let value = self.value(value)?;
                let whole = self.get(item, name)?;
                put(whole, &path, value).map(|list| self.set(name, list))
            }
            Stmt::Param(number) => {
                let param = self.ast.params[number as usize];
                let value = self.value(param.default)?;
                let text = param.public.is_some();
                let value = if text { Value::str(value.to_string()) } else { value };
                self.set(param.var.0, value);
                Ok(())
            }
            Stmt::Op { op, args, .. } => self.op(op, args).map(|_| ()),
            Stmt::Call { name, args } => self.call(name, args).map(|_| ()),
            Stmt::Repeat(number) => self.repeat(number),
            Stmt::While(cond, body) => {
                while self.condition(cond)? {
                    match self.stmt(body) {
                        Err(Stop::Break) => break,
                        Ok(()) | Err(Stop::Continue) => {}
                        stop => return stop,
                    }
                }
                Ok(())
            }
            Stmt::If(number) => {
                let branch = self.ast.ifs[number as usize];
                match (self.condition(branch.cond)?, branch.otherwise) {
                    (true, _) => self.stmt(branch.then),
                    (false, Some(otherwise)) => self.stmt(otherwise),
                    (false, None) => Ok(()),
                }
            }
            Stmt::Time(number) => self.time(number),
            Stmt::Group(name, body) => self.group(name, body),
            Stmt::Master { body, sync } => {
                if self.active().start == self.rank {
                    self.stmt(body)?;
                }
                if sync { self.line("barrier".into()) } else { Ok(()) }
            }
            Stmt::Barrier(name) => {
                let name = name.map_or(String::new(), |name| self.plain(name));
                self.line(format!("barrier {name}").trim_end().to_string())
            }
            Stmt::With(_, body) => {
                self.line("with".into())?;
                let result = self.stmt(body);
                self.leave("with end", result)
            }
            Stmt::Break => Err(Stop::Break),
            Stmt::Continue => Err(Stop::Continue),
            Stmt::Return(value) => {
                let value = value.map_or(Ok(Value::Unset), |value| self.value(value))?;
                Err(Stop::Return(value))
            }
            Stmt::Global(item, value) => {
                let (name, path) = self.path(item)?;
                let value = self.value(value)?;
                let whole = self.globals.get(&name).cloned().ok_or(Stop::Error)?;
                put(whole, &path, value).map(|list| drop(self.globals.insert(name, list)))
            }
            Stmt::GlobalPush(args) => self.push(args, true),
            _ => Ok(()),
        }
    }

    fn repeat(&mut self, number: u32) -> Done<()> {
        let repeat = self.ast.repeats[number as usize];
        if repeat.in_list {
            return self.repeat_in(repeat);
        }
        let first = eval(self.value(repeat.from)?.as_int())?;
        let (from, to, step) = match repeat.to {
            None if first < 0 => return Err(Stop::Error),
            None => (0, first, 1),
            Some(to) => {
                let to = eval(self.value(to)?.as_int())?;
                let step = match repeat.step {
                    Some(step) => eval(self.value(step)?.as_int())?,
                    None => 1,
                };
                (first, to, step)
            }
        };
        if step == 0 {
            return Err(Stop::Error);
        }
        let depth = self.loops.len();
        if let Some((name, _)) = repeat.var {
            self.loops.push((name, Value::Unset));
        }
        let mut at = from;
        let mut result = Ok(());
        while result.is_ok() && if step > 0 { at < to } else { at > to } {
            if repeat.var.is_some() {
                self.loops[depth].1 = Value::Int(at);
            }
            match self.stmt(repeat.body) {
                Err(Stop::Break) => break,
                Ok(()) | Err(Stop::Continue) => {}
                stop => result = stop,
            }
            at += step;
        }
        self.loops.truncate(depth);
        result
    }

    fn repeat_in(&mut self, repeat: ppl::ast::Repeat) -> Done<()> {
        let Value::List(items) = self.value(repeat.from)? else { return Err(Stop::Error) };
        let (name, _) = repeat.var.expect("`in` follows a variable");
        let depth = self.loops.len();
        self.loops.push((name, Value::Unset));
        let mut result = Ok(());
        for item in items.iter() {
            self.loops[depth].1 = item.clone();
            match self.stmt(repeat.body) {
                Err(Stop::Break) => break,
                Ok(()) | Err(Stop::Continue) => {}
                stop => {
                    result = stop;
                    break;
                }
            }
        }
        self.loops.truncate(depth);
        result
    }

    /// `push($list, value);`, `push($list[at], value);`
    fn push(&mut self, args: List, global: bool) -> Done<()> {
        let args: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let (name, path) = self.path(args[0])?;
        let value = self.value(args[1])?;
        let whole = match global {
            true => self.globals.get(&name).cloned().ok_or(Stop::Error)?,
            false => self.get(args[0], name)?,
        };
        let Value::List(grown) = reached(&whole, &path)? else { return Err(Stop::Error) };
        let grown = eval(limits::list(grown.iter().cloned().chain([value]).collect()))?;
        put(whole, &path, grown).map(|whole| match global {
            true => drop(self.globals.insert(name, whole)),
            false => self.set(name, whole),
        })
    }

    /// The variable of `$list[at][at]` and the indices.
    fn path(&mut self, item: ExprId) -> Done<(Name, Vec<i64>)> {
        let (var, indices) = self.ast.element(item);
        let Expr::Var(name) = self.ast.expr(var) else { unreachable!("checked") };
        let path = indices.into_iter().map(|at| eval(self.value(at)?.as_int()));
        Ok((name, path.collect::<Done<_>>()?))
    }

    fn time(&mut self, number: u32) -> Done<()> {
        let time = self.ast.times[number as usize];
        let label = match time.label {
            Some(label) => self.value(label)?.to_string(),
            None => {
                let place = self.sources.locate(self.head_of(number));
                format!("line {}", place.1)
            }
        };
        self.line(format!("time {label}"))?;
        let result = self.stmt(time.body);
        self.leave("time end", result)
    }

    /// The end of a label or `with`; where the rank ends inside, there is none.
    fn leave(&mut self, line: &str, result: Done<()>) -> Done<()> {
        match result {
            Err(Stop::Error | Stop::Cut) => result,
            _ => self.line(line.into()).and(result),
        }
    }

    /// Where a `time` statement begins.
    fn head_of(&self, number: u32) -> u32 {
        let at = self.ast.stmts.iter().position(|stmt| *stmt == Stmt::Time(number));
        self.ast.stmt_spans[at.expect("the statement is in the tree")].start
    }

    fn group(&mut self, name: ExprId, body: StmtId) -> Done<()> {
        let name = self.plain(name);
        let group = self.groups.iter().find(|group| group.name == name).expect("checked").clone();
        let active = self.active();
        let start = active.start.max(group.members.start);
        let inner = start..active.end.min(group.members.end).max(start);
        if !inner.contains(&self.rank) {
            return Ok(());
        }
        self.active.push((inner, name));
        let result = self.stmt(body);
        self.active.pop();
        result
    }

    fn call(&mut self, name: Name, args: List) -> Done<Value> {
        if self.ast.names.text(name) == "push" {
            return self.push(args, false).map(|()| Value::Unset);
        }
        let def = *self.ast.procs.iter().find(|proc| proc.name.0 == name).expect("checked");
        let args: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let values: Vec<Value> =
            args.into_iter().map(|id| self.value(id)).collect::<Result<_, _>>()?;
        if values.contains(&Value::Unset) {
            return Err(Stop::Error);
        }
        let mut locals: HashMap<Name, Value> = HashMap::new();
        for (at, id) in self.ast.exprs_in(def.params).enumerate() {
            let value = match (self.ast.expr(id), values.get(at)) {
                (_, Some(value)) => value.clone(),
                (Expr::Named(_, default), None) => self.value(default)?,
                _ => unreachable!("checked"),
            };
            locals.insert(self.ast.param_name(id).expect("a variable"), value);
        }
        let outer = (self.locals.replace(locals), std::mem::take(&mut self.loops));
        let result = self.stmt(def.body);
        (self.locals, self.loops) = outer;
        match result {
            Err(Stop::Return(value)) => Ok(value),
            other => other.map(|()| Value::Unset),
        }
    }

    /// An operation: the arguments by parameter, "-" where they are left out.
    fn op(&mut self, op: Op, args: List) -> Done<Value> {
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let mut words = vec![op.name().to_string()];
        if op == Op::Print {
            for id in ids {
                words.push(self.value(id)?.to_string());
            }
            self.line(words.join(" "))?;
            return Ok(Value::Unset);
        }
        let params = op.row().params;
        let mut given: Vec<Option<ExprId>> = vec![None; params.len()];
        for (at, id) in ids.into_iter().enumerate() {
            match self.ast.expr(id) {
                Expr::Named(name, value) => {
                    let text = self.ast.names.text(name);
                    let at = params.iter().position(|param| param.name == text);
                    given[at.expect("checked")] = Some(value);
                }
                _ => given[at] = Some(id),
            }
        }
        for id in given {
            words.push(match id {
                Some(id) if matches!(self.ast.expr(id), Expr::Word(_)) => "-".into(),
                Some(id) => self.value(id)?.to_string(),
                None => "-".into(),
            });
        }
        self.line(words.join(" "))?;
        if op == Op::Assert && words[1] == "false" {
            return Err(Stop::Error);
        }
        if op.row().gives_handle() {
            self.handles += 1;
            return Ok(Value::Handle(self.handles, 0));
        }
        Ok(Value::Outcome(value::Outcome { bytes: 4096, errno: 0 }))
    }

    fn condition(&mut self, id: ExprId) -> Done<bool> {
        eval(self.value(id)?.as_condition())
    }

    fn value(&mut self, id: ExprId) -> Done<Value> {
        Ok(match self.ast.expr(id) {
            Expr::Int(n) => Value::Int(n),
            Expr::Float(x) => Value::Float(x),
            Expr::Bool(b) => Value::Bool(b),
            Expr::Duration(ns) => Value::Duration(ns),
            Expr::Str => self.string(id)?,
            Expr::Var(name) => self.get(id, name)?,
            Expr::Internal(name) => self.internal(self.ast.names.text(name)),
            Expr::Paren(inner) => self.value(inner)?,
            Expr::Unary(op, a) => {
                let a = self.value(a)?;
                match op {
                    UnaryOp::Not | UnaryOp::Neg => eval(value::unary(op, &a))?,
                }
            }
            Expr::Conditional(cond, a, b) => {
                let taken = if self.condition(cond)? { a } else { b };
                self.value(taken)?
            }
            Expr::Binary(BinaryOp::Or, a, b) => {
                Value::Bool(self.condition(a)? || self.condition(b)?)
            }
            Expr::Binary(BinaryOp::And, a, b) => {
                Value::Bool(self.condition(a)? && self.condition(b)?)
            }
            Expr::Binary(BinaryOp::Add, a, b) if self.is_quoted(a) || self.is_quoted(b) => {
                let mut text = Vec::new();
                for id in [a, b] {
                    eval(self.value(id)?.render(&mut text))?;
                }
                eval(limits::check_text(text.len()))?;
                Value::Str(text)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                eval(value::binary(op, &a, &b))?
            }
            Expr::List(items) => {
                let items: Vec<ExprId> = self.ast.exprs_in(items).collect();
                let values: Vec<Value> =
                    items.into_iter().map(|id| self.value(id)).collect::<Result<_, _>>()?;
                eval(limits::list(values))?
            }
            Expr::Index(list, at) => {
                let (list, at) = (self.value(list)?, self.value(at)?);
                eval(value::index(&list, &at).cloned())?
            }
            Expr::Call(name, args) => self.function(name, args)?,
            other => unreachable!("{other:?} does not get through the checks"),
        })
    }

    /// Something in quotes is added up in it.
    fn is_quoted(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Str => true,
            Expr::Paren(inner) => self.is_quoted(inner),
            Expr::Binary(BinaryOp::Add, a, b) => self.is_quoted(a) || self.is_quoted(b),
            Expr::Conditional(_, a, b) => self.is_quoted(a) && self.is_quoted(b),
            _ => false,
        }
    }

    fn function(&mut self, name: Name, args: List) -> Done<Value> {
        let name = self.ast.names.text(name).to_string();
        if let Some(op) = Op::find(&name) {
            return self.op(op, args);
        }
        if self.ast.procs.iter().any(|proc| self.ast.names.text(proc.name.0) == name) {
            let called = self.ast.names.find(&name).expect("it is there");
            return self.call(called, args);
        }
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let values: Vec<Value> =
            ids.into_iter().map(|id| self.value(id)).collect::<Result<_, _>>()?;
        let row = FunctionRow::find(&name).expect("the checker knows functions");
        eval(row.pure(&values, 42).expect("only pure functions are generated"))
    }

    fn internal(&self, name: &str) -> Value {
        let active = self.active();
        Value::Int(match name {
            "rank" => i64::from(self.rank),
            "size" => i64::from(self.ranks),
            "grank" => i64::from(self.rank - active.start),
            "gsize" => active.len() as i64,
            "group" => return Value::str(&self.active[self.active.len() - 1].1),
            _ => unreachable!("{name} is not generated"),
        })
    }

    fn string(&mut self, id: ExprId) -> Done<Value> {
        let span = self.ast.expr_span(id);
        let seen = self.seen.get(&id).cloned().unwrap_or_default();
        let mut out = Vec::new();
        for piece in text::pieces(self.sources.text(span), span.start) {
            match piece {
                Piece::Text(bytes) => out.extend_from_slice(bytes),
                Piece::Braced { name, internal, format, .. } => {
                    let value = match internal {
                        true => self.internal(name),
                        false => self.get(id, self.ast.names.find(name).expect("checked"))?,
                    };
                    eval(match format {
                        Some(format) => format.render(&value, &mut out),
                        None => value.render(&mut out),
                    })?;
                }
                Piece::Var { run, .. } => {
                    let known = |end: &usize| {
                        let name = self.ast.names.find(&run[..*end]);
                        name.filter(|name| {
                            seen.locals.contains(name) || seen.globals.contains(name)
                        })
                    };
                    let end = (1..=run.len()).rev().find(|end| known(end).is_some());
                    let end = end.expect("checked");
                    let name = known(&end).expect("found");
                    let value = self.get(id, name)?;
                    eval(value.render(&mut out))?;
                    out.extend_from_slice(&run.as_bytes()[end..]);
                }
                Piece::Internal { name, .. } => {
                    let names = ["rank", "size", "grank", "gsize", "group"];
                    let end = (1..=name.len()).rev().find(|end| names.contains(&&name[..*end]));
                    let end = end.expect("checked");
                    eval(self.internal(&name[..end]).render(&mut out))?;
                    out.extend_from_slice(&name.as_bytes()[end..]);
                }
                Piece::Env { .. } => unreachable!("the environment is not generated"),
            }
        }
        eval(limits::check_text(out.len()))?;
        Ok(Value::Str(out))
    }

    fn plain(&self, id: ExprId) -> String {
        let text = text::plain(self.sources.text(self.ast.expr_span(id)));
        String::from_utf8_lossy(&text).trim().to_string()
    }

    fn active(&self) -> Range<u32> {
        self.active[self.active.len() - 1].0.clone()
    }

    fn set(&mut self, name: Name, value: Value) {
        if let Some(variable) = self.loops.iter_mut().rev().find(|(known, _)| *known == name) {
            variable.1 = value;
            return;
        }
        match &mut self.locals {
            Some(locals) => locals.insert(name, value),
            None => self.globals.insert(name, value),
        };
    }

    /// A proc does not see the loops around its call.
    fn get(&self, id: ExprId, name: Name) -> Done<Value> {
        let own = self.locals.is_none()
            || self.seen.get(&id).is_some_and(|seen| seen.locals.contains(&name));
        let of_loop = self.loops.iter().rev().find(|(known, _)| own && *known == name);
        let value = match (of_loop, &self.locals) {
            (Some((_, value)), _) => Some(value),
            (None, Some(locals)) if own => locals.get(&name),
            _ => self.globals.get(&name),
        };
        value.cloned().ok_or(Stop::Error)
    }

    fn resolve_groups(&mut self) -> Vec<Group> {
        let defs: Vec<GroupDef> = self
            .ast
            .groups
            .clone()
            .iter()
            .map(|def| {
                let size = def.size.map(|size| {
                    let (GroupSize::Ranks(id) | GroupSize::Percent(id)) = size;
                    let n = match self.ast.expr(id) {
                        Expr::Int(n) => n,
                        other => unreachable!("{other:?} is not generated"),
                    };
                    match size {
                        GroupSize::Ranks(_) => Size::Ranks(n as u64),
                        GroupSize::Percent(_) => Size::Percent(n as f64),
                    }
                });
                GroupDef { name: self.plain(def.name), tag: def.tag, subtag: def.subtag, size }
            })
            .collect();
        group::resolve(&defs, self.ranks).0
    }
}
