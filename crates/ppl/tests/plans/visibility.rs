//! Which variables each expression of a program can read: a naive walk for the interpreter
//! of the tree.

use super::Seen;
use ppl::ast::{Ast, Expr, ExprId, List, Name, Stmt, StmtId};
use std::collections::{HashMap, HashSet};

/// For every expression with a variable: what can be read there.
pub fn visibility(ast: &Ast) -> HashMap<ExprId, Seen> {
    let mut walk = Visibility { ast, seen: Seen::default(), in_proc: false, found: HashMap::new() };
    walk.all(ast.top);
    walk.found
}

struct Visibility<'a> {
    ast: &'a Ast,
    seen: Seen,
    in_proc: bool,
    found: HashMap<ExprId, Seen>,
}

impl Visibility<'_> {
    fn names(&mut self) -> &mut HashSet<Name> {
        if self.in_proc { &mut self.seen.locals } else { &mut self.seen.globals }
    }

    fn all(&mut self, list: List) {
        let ids: Vec<StmtId> = self.ast.stmts_in(list).collect();
        ids.into_iter().for_each(|id| self.stmt(id));
    }

    fn exprs(&mut self, list: List) {
        let ids: Vec<ExprId> = self.ast.exprs_in(list).collect();
        ids.into_iter().for_each(|id| self.expr(id));
    }

    fn stmt(&mut self, id: StmtId) {
        match self.ast.stmt(id) {
            Stmt::Block(list) | Stmt::Include(_, list) => self.all(list),
            Stmt::Assign(name, value) => {
                self.expr(value);
                self.names().insert(name);
            }
            Stmt::Param(number) => {
                let param = self.ast.params[number as usize];
                self.expr(param.default);
                self.names().insert(param.var.0);
            }
            Stmt::SetItem(item, value) => {
                self.expr(item);
                self.expr(value);
            }
            Stmt::Global(item, value) => {
                self.ast.element(item).1.into_iter().for_each(|at| self.expr(at));
                self.expr(value);
            }
            Stmt::GlobalPush(args) => self.exprs(args),
            Stmt::Return(Some(value)) => self.expr(value),
            Stmt::Op { args, .. } | Stmt::Call { args, .. } => self.exprs(args),
            Stmt::Repeat(number) => {
                let repeat = self.ast.repeats[number as usize];
                let range = [Some(repeat.from), repeat.to, repeat.step];
                range.into_iter().flatten().for_each(|id| self.expr(id));
                let fresh = repeat.var.map(|(name, _)| (name, self.names().insert(name)));
                self.stmt(repeat.body);
                if let Some((name, true)) = fresh {
                    self.names().remove(&name);
                }
            }
            Stmt::While(cond, body) => {
                self.expr(cond);
                self.stmt(body);
            }
            Stmt::If(number) => {
                let branch = self.ast.ifs[number as usize];
                self.expr(branch.cond);
                self.stmt(branch.then);
                branch.otherwise.into_iter().for_each(|id| self.stmt(id));
            }
            Stmt::Time(number) => {
                let time = self.ast.times[number as usize];
                time.label.into_iter().for_each(|id| self.expr(id));
                self.stmt(time.body);
            }
            Stmt::Group(_, body) | Stmt::Master { body, .. } => self.stmt(body),
            Stmt::With(options, body) => {
                self.exprs(options);
                self.stmt(body);
            }
            Stmt::Proc(number) => {
                let def = self.ast.procs[number as usize];
                self.in_proc = true;
                for id in self.ast.exprs_in(def.params) {
                    if let Some(name) = self.ast.param_name(id) {
                        self.seen.locals.insert(name);
                    }
                }
                self.stmt(def.body);
                self.in_proc = false;
                self.seen.locals.clear();
            }
            _ => {}
        }
    }

    fn expr(&mut self, id: ExprId) {
        match self.ast.expr(id) {
            Expr::Str | Expr::Var(_) => drop(self.found.insert(id, self.seen.clone())),
            Expr::Unary(_, a) | Expr::Paren(a) | Expr::Named(_, a) => self.expr(a),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Conditional(cond, a, b) => {
                [cond, a, b].into_iter().for_each(|id| self.expr(id));
            }
            Expr::Call(_, list) | Expr::List(list) => self.exprs(list),
            _ => {}
        }
    }
}
