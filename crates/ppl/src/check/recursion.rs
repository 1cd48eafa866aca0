//! E0309: procs that call themselves whatever happens.

use crate::ast::{Ast, Expr, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use rustc_hash::FxHashMap;

/// Reports procs every execution of which calls them again.
pub(crate) fn check(ast: &Ast) -> Vec<Diagnostic> {
    let mut calls: FxHashMap<Name, Vec<Name>> = FxHashMap::default();
    for proc in &ast.procs {
        let mut certain = Vec::new();
        collect(ast, proc.body, &mut certain);
        calls.entry(proc.name.0).or_insert(certain);
    }
    let mut found = Vec::new();
    for proc in &ast.procs {
        let (name, span) = proc.name;
        let Some(way) = way_back(&calls, name) else { continue };
        let way: Vec<&str> = way.iter().map(|name| ast.names.text(*name)).collect();
        let message = format!("the proc {} calls itself without end: {}", way[0], way.join(" -> "));
        let help = "put the call under a condition that ends it, or use a loop";
        found.push(Diagnostic::new(Code::Recursion, span, message).help(help));
    }
    found
}

/// The calls that lead from a proc to itself.
fn way_back(calls: &FxHashMap<Name, Vec<Name>>, name: Name) -> Option<Vec<Name>> {
    let mut from: FxHashMap<Name, Name> = FxHashMap::default();
    let mut open = vec![name];
    while let Some(at) = open.pop() {
        for next in calls.get(&at).into_iter().flatten() {
            if *next == name {
                let mut way = vec![name, at];
                while let Some(before) = from.get(way.last()?).filter(|_| way.last() != Some(&name))
                {
                    way.push(*before);
                }
                way.reverse();
                if at == name {
                    way = vec![name, name];
                }
                return Some(way);
            }
            if !from.contains_key(next) {
                from.insert(*next, at);
                open.push(*next);
            }
        }
    }
    None
}

/// Procs that a statement calls in every execution; false: what follows it may not be reached.
fn collect(ast: &Ast, id: StmtId, calls: &mut Vec<Name>) -> bool {
    match ast.stmt(id) {
        Stmt::Call { name, .. } => calls.push(name),
        Stmt::Block(list) => return ast.stmts_in(list).all(|id| collect(ast, id, calls)),
        Stmt::Time(number) => return collect(ast, ast.times[number as usize].body, calls),
        Stmt::With(_, body) => return collect(ast, body, calls),
        Stmt::Repeat(number) => {
            let repeat = ast.repeats[number as usize];
            if matches!(ast.expr(repeat.from), Expr::Int(1..))
                && repeat.to.is_none()
                && !repeat.in_list
            {
                collect(ast, repeat.body, calls);
            }
        }
        Stmt::If(number) => {
            let branch = ast.ifs[number as usize];
            let Some(otherwise) = branch.otherwise else { return !leaves(ast, branch.then) };
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let on = collect(ast, branch.then, &mut a) & collect(ast, otherwise, &mut b);
            calls.extend(a.into_iter().filter(|name| b.contains(name)));
            return on;
        }
        Stmt::Mix(number) => {
            let bodies = ast.mixes[number as usize].bodies;
            return ast.stmts_in(bodies).all(|id| !leaves(ast, id));
        }
        Stmt::Break | Stmt::Continue | Stmt::Return(_) => return false,
        _ => {}
    }
    true
}

/// A `return`, or a `break` or `continue` of a loop around the statement may stand in it.
fn leaves(ast: &Ast, id: StmtId) -> bool {
    !collect(ast, id, &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{NoIncludes, Sources};

    fn messages(text: &str) -> Vec<String> {
        let mut sources = Sources::default();
        let (root, _) = sources.add("test.ppl", text.into());
        let (ast, _) = crate::parse(&mut sources, root, &mut NoIncludes);
        check(&ast).into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn recursion_that_cannot_end() {
        for (text, ways) in [
            ("define proc p() { p(); }", vec!["p -> p"]),
            ("define proc p() { time[\"x\"] { sync; with (direct=true) p(); } }", vec!["p -> p"]),
            (
                "define proc p() { q(); } define proc q() { p(); }",
                vec!["p -> q -> p", "q -> p -> q"],
            ),
            ("define proc p() { q(); } define proc q() { q(); }", vec!["q -> q"]),
            ("define proc p($n) { if ($n > 0) p($n - 1); }", vec![]),
            ("define proc p($n) { if ($n > 0) p(1); else p(2); }", vec!["p -> p"]),
            ("define proc p($n) { if ($n > 0) p(1); else { } }", vec![]),
            ("define proc p($n) { repeat $n p(1); }", vec![]),
            ("define proc p($n) { repeat 2 p(1); }", vec!["p -> p"]),
            ("define proc p($n) { repeat 2 { if ($n > 0) break; p(1); } }", vec![]),
            ("define proc p($n) { repeat 2 { if ($n > 0) { } p(1); } }", vec!["p -> p"]),
            ("define proc p($n) { while ($n) p(1); }", vec![]),
        ] {
            let found = messages(text);
            assert_eq!(found.len(), ways.len(), "{text}: {found:?}");
            for (message, way) in found.iter().zip(ways) {
                assert!(message.ends_with(way), "{text}: {message}");
            }
        }
    }
}
