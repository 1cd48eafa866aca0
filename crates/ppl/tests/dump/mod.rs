//! A syntax tree as one line per statement:
//! `(repeat $i $num (write "$env/f-$i" 1024))`. Places and comments do not show,
//! so two programs with the same dump mean the same.

use model::group::Tag;
use model::plan::{BinaryOp, LabelKind, UnaryOp};
use ppl::ast::{Ast, Expr, ExprId, GroupSize, List, Stmt, StmtId};
use ppl::source::Sources;
use std::fmt::Write;

/// The whole program.
pub fn dump(ast: &Ast, sources: &Sources) -> String {
    let mut dump = Dump { ast, sources, out: String::new() };
    for id in ast.stmts_in(ast.top) {
        dump.stmt(id);
        dump.out.push('\n');
    }
    dump.out
}

struct Dump<'a> {
    ast: &'a Ast,
    sources: &'a Sources,
    out: String,
}

impl Dump<'_> {
    fn add(&mut self, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{text}");
    }

    fn name(&mut self, prefix: &str, name: ppl::ast::Name) {
        let text = self.ast.names.text(name);
        self.add(format_args!("{prefix}{text}"));
    }

    /// `(head part part)`
    fn node(&mut self, head: impl std::fmt::Display, parts: impl FnOnce(&mut Self)) {
        self.add(format_args!("({head}"));
        parts(self);
        self.add(")");
    }

    fn exprs(&mut self, list: List) {
        for id in self.ast.exprs_in(list) {
            self.spaced(id);
        }
    }

    fn stmts(&mut self, list: List) {
        for id in self.ast.stmts_in(list) {
            self.body(id);
        }
    }

    fn spaced(&mut self, id: ExprId) {
        self.add(" ");
        self.expr(id);
    }

    fn maybe(&mut self, word: &str, id: Option<ExprId>) {
        if let Some(id) = id {
            self.add(format_args!(" {word}"));
            self.spaced(id);
        }
    }

    fn body(&mut self, id: StmtId) {
        self.add(" ");
        self.stmt(id);
    }

    fn expr(&mut self, id: ExprId) {
        match self.ast.expr(id) {
            Expr::Error => self.add("ERROR"),
            Expr::Int(n) => self.add(n),
            Expr::Float(x) => self.add(format_args!("{x:?}")),
            Expr::Bool(b) => self.add(b),
            Expr::Duration(ns) => self.add(model::units::format_duration(ns)),
            Expr::Rate(n) => self.add(format_args!("{n}/s")),
            Expr::Str => {
                let text = self.sources.text(self.ast.expr_span(id)).to_string();
                self.add(text);
            }
            Expr::Var(name) => self.name("$", name),
            Expr::Internal(name) => self.name("$$", name),
            Expr::Env(name) => self.name("$$env:", name),
            Expr::Unary(op, a) => {
                let sign = if op == UnaryOp::Neg { "-" } else { "!" };
                self.node(sign, |dump| dump.spaced(a));
            }
            Expr::Binary(op, a, b) => self.binary(op, a, b),
            Expr::Conditional(cond, a, b) => self.node("?", |dump| {
                [cond, a, b].into_iter().for_each(|id| dump.spaced(id));
            }),
            Expr::Paren(a) => self.node("paren", |dump| dump.spaced(a)),
            Expr::Call(name, args) => {
                let head = self.ast.names.text(name).to_string();
                self.node(format_args!("call {head}"), |dump| dump.exprs(args));
            }
            Expr::List(items) => self.node("list", |dump| dump.exprs(items)),
            Expr::Index(list, at) => self.node("index", |dump| {
                dump.spaced(list);
                dump.spaced(at);
            }),
            Expr::Named(name, value) => {
                self.name("", name);
                self.add("=");
                self.expr(value);
            }
            Expr::Word(name) => self.name("", name),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) {
        self.node(op.symbol(), |dump| {
            dump.spaced(a);
            dump.spaced(b);
        });
    }

    fn stmt(&mut self, id: StmtId) {
        match self.ast.stmt(id) {
            Stmt::Error => self.add("ERROR"),
            Stmt::Empty => self.add("()"),
            Stmt::Block(list) => self.node("block", |dump| dump.stmts(list)),
            Stmt::Assign(name, value) => self.node("=", |dump| {
                dump.name(" $", name);
                dump.spaced(value);
            }),
            Stmt::Global(var, value) => self.node("global", |dump| {
                dump.spaced(var);
                dump.spaced(value);
            }),
            Stmt::GlobalPush(args) => self.node("global push", |dump| dump.exprs(args)),
            Stmt::Return(value) => self.node("return", |dump| {
                if let Some(value) = value {
                    dump.spaced(value);
                }
            }),
            Stmt::SetItem(item, value) => self.node("=", |dump| {
                dump.spaced(item);
                dump.spaced(value);
            }),
            Stmt::Op { op, paren, args } => {
                let sign = if paren { "" } else { ":" };
                self.node(format_args!("{op}{sign}"), |dump| dump.exprs(args));
            }
            Stmt::Call { name, args } => {
                let head = self.ast.names.text(name).to_string();
                self.node(format_args!("call {head}"), |dump| dump.exprs(args));
            }
            Stmt::Group(name, body) => self.node("group", |dump| {
                dump.spaced(name);
                dump.body(body);
            }),
            Stmt::Split(value, body) => self.node("split", |dump| {
                dump.spaced(value);
                dump.body(body);
            }),
            Stmt::Master { body, sync } => {
                self.node(if sync { "master sync" } else { "master" }, |dump| dump.body(body));
            }
            Stmt::Barrier(None) => self.add("(barrier)"),
            Stmt::Barrier(Some(name)) => self.node("barrier", |dump| dump.spaced(name)),
            Stmt::While(cond, body) => self.node("while", |dump| {
                dump.spaced(cond);
                dump.body(body);
            }),
            Stmt::Break => self.add("(break)"),
            Stmt::Continue => self.add("(continue)"),
            Stmt::With(options, body) => self.node("with", |dump| {
                dump.exprs(options);
                dump.body(body);
            }),
            Stmt::Include(path, list) => self.node("include", |dump| {
                dump.spaced(path);
                dump.stmts(list);
            }),
            Stmt::Mix(number) => {
                let mix = self.ast.mixes[number as usize];
                self.node("mix", |dump| {
                    dump.exprs(mix.weights);
                    dump.stmts(mix.bodies);
                });
            }
            Stmt::Share(number) => {
                let share = self.ast.shares[number as usize];
                self.node("share", |dump| {
                    dump.name(" $", share.var.0);
                    dump.spaced(share.count);
                    dump.maybe("by", share.by);
                    dump.body(share.body);
                });
            }
            Stmt::Repeat(_) | Stmt::Time(_) | Stmt::If(_) => self.compound(self.ast.stmt(id)),
            definition => self.definition(definition),
        }
    }

    fn compound(&mut self, stmt: Stmt) {
        match stmt {
            Stmt::Repeat(number) => {
                let repeat = self.ast.repeats[number as usize];
                self.node("repeat", |dump| {
                    if let Some((name, _)) = repeat.var {
                        dump.name(" $", name);
                    }
                    dump.add(if repeat.in_list { " in" } else { "" });
                    dump.spaced(repeat.from);
                    dump.maybe("..", repeat.to);
                    dump.maybe("step", repeat.step);
                    if let Some(until) = repeat.until {
                        dump.maybe(
                            if until.level { "until level" } else { "until" },
                            Some(until.limit),
                        );
                    }
                    dump.body(repeat.body);
                });
            }
            Stmt::Time(number) => {
                let time = self.ast.times[number as usize];
                let word = if time.kind == LabelKind::Wall { "time" } else { "ctime" };
                self.node(word, |dump| {
                    dump.maybe("label", time.label);
                    dump.add(if time.sync { " sync" } else { "" });
                    dump.body(time.body);
                });
            }
            Stmt::If(number) => {
                let branch = self.ast.ifs[number as usize];
                self.node("if", |dump| {
                    dump.spaced(branch.cond);
                    dump.body(branch.then);
                    if let Some(otherwise) = branch.otherwise {
                        dump.body(otherwise);
                    }
                });
            }
            _ => {}
        }
    }

    fn definition(&mut self, stmt: Stmt) {
        match stmt {
            Stmt::Param(number) => {
                let param = self.ast.params[number as usize];
                self.node("param", |dump| {
                    dump.maybe("public", param.public);
                    dump.name(" $", param.var.0);
                    dump.spaced(param.default);
                });
            }
            Stmt::Groups(list) => self.node("groups", |dump| dump.groups(list)),
            Stmt::Pattern(number) => {
                let pattern = self.ast.patterns[number as usize];
                self.node("pattern", |dump| {
                    dump.spaced(pattern.name);
                    dump.maybe("level", pattern.level);
                    if let Some(kind) = pattern.kind {
                        dump.name(" ", kind);
                    }
                    dump.exprs(pattern.values);
                    if let Some(body) = pattern.body {
                        dump.body(body);
                    }
                });
            }
            Stmt::Proc(number) => {
                let proc = self.ast.procs[number as usize];
                self.node("proc", |dump| {
                    dump.name(" ", proc.name.0);
                    dump.exprs(proc.params);
                    dump.body(proc.body);
                });
            }
            Stmt::Hints(name, value) => self.node("define hints", |dump| {
                dump.spaced(name);
                dump.spaced(value);
            }),
            _ => {}
        }
    }

    fn groups(&mut self, list: List) {
        for at in list.start..list.start + list.len {
            let group = self.ast.groups[at as usize];
            self.spaced(group.name);
            match group.tag {
                Tag::None => self.add(":"),
                Tag::S => self.add(":S"),
                Tag::D => self.add(":D"),
            }
            self.add(group.subtag);
            match group.size {
                None => {}
                Some(GroupSize::Ranks(size)) => self.maybe("=", Some(size)),
                Some(GroupSize::Percent(size)) => self.maybe("%=", Some(size)),
            }
        }
    }
}
