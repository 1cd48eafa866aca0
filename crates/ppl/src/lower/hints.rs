//! `define hints` and the texts that stand for MPI-IO hints.

use super::Lower;
use super::value::Ev;
use crate::ast::ExprId;
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::suggest::nearest;
use model::hints;
use model::value::Value;
use model::with::{Accepts, OptionRow};

impl Lower<'_> {
    /// `define hints "name" = "key=value;...";`
    pub(super) fn hints_definition(&mut self, name: ExprId, value: ExprId) {
        let Some(name_text) = self.plain_string(name) else { return };
        let span = self.ast.expr_span(name);
        let symbol = self.facts.find(Kind::Hints, &name_text);
        let Some(symbol) = symbol.filter(|symbol| self.facts.symbol(*symbol).span == span) else {
            return;
        };
        let ev = self.expr(value);
        if !ev.is_bad()
            && let Some(found) = self.not_hints(ev)
        {
            let message =
                format!("expected hints such as \"cb_nodes=4;cb_buffer_size=16777216\", {found}");
            self.reports.push(Diagnostic::new(Code::BadValue, self.ast.expr_span(value), message));
        }
        self.hints.insert(symbol, ev);
    }

    /// Why a value cannot be the text of hints.
    fn not_hints(&self, ev: Ev) -> Option<String> {
        match self.constant(ev) {
            Some(Value::Str(text)) => hints::parse(&String::from_utf8_lossy(text)).err(),
            Some(other) => Some(format!("found {}", other.describe())),
            None => Some("found an expression that is not constant".into()),
        }
    }

    /// The value of `with (hints=...)`: a name stands for its text.
    pub(super) fn hints_named(&mut self, id: ExprId) -> Ev {
        if let Some(name) = self.plain_string(id)
            && let Some(symbol) = self.facts.find(Kind::Hints, &name)
            && let Some(value) = self.hints.get(&symbol)
        {
            return *value;
        }
        self.expr(id)
    }

    /// What is wrong with hints that have the form of some.
    pub(super) fn wrong_hints(&self, row: &OptionRow, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        let text = String::from_utf8_lossy(text);
        let is_form = matches!(row.accepts, Accepts::Hints) && text.contains('=');
        hints::parse(&text).err().filter(|_| is_form)
    }

    /// The name of hints that was probably meant.
    pub(super) fn hints_help(&self, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        let text = String::from_utf8_lossy(text);
        let near = nearest(&text, self.facts.names(Kind::Hints)).filter(|_| !text.contains('='));
        near.map(|name| format!("the nearest is \"{name}\""))
    }
}
