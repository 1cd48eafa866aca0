//! Parameters: command line over environment over default.
//!
//! `define param` gives text, as it always did; `param` gives what its default is.

use super::state::{Ev, Lower};
use crate::ast::{Expr, Param};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Mention, SymbolId};
use crate::word::nearest;
use model::Value;
use model::limits;
use model::plan::{Instr, Operand, Span};
use model::types::Types;
use model::units::duration_factor;

/// Environment variables that give parameters begin so.
const PREFIX: &str = "PARABENCH_";
/// Unknown parameters of the command line that are reported.
const MAX_UNKNOWN: usize = 10;
/// Parameters that a message lists.
const MAX_LISTED: usize = 20;

impl Lower<'_> {
    /// Works out a parameter's value.
    pub(crate) fn param_definition(&mut self, number: u32) {
        let param = self.ast.params[number as usize];
        let public = self.public_name(&param);
        let span = param.var.1;
        if !self.params.names.insert(public.clone()) {
            let message = format!("the parameter {public} is defined twice");
            self.reports.push(Diagnostic::new(Code::Duplicate, span, message));
        }
        let Some(Mention { symbol, .. }) = self.mentioned(span.start) else { return };
        let default = self.default_value(&param, symbol);
        let value = match (self.given(&public), default) {
            (Some((text, from)), Some(default)) => {
                self.close_default(symbol);
                self.parsed(&text, &from, (&default, symbol, span)).unwrap_or(default)
            }
            (_, Some(default)) => default,
            (_, None) => Value::Unset,
        };
        self.plan.params.push((public, value.clone()));
        // Later definitions may use it.
        let ev = self.known(value);
        if let model::plan::Source::Const(konst) = ev.operand.source()
            && !ev.is_bad()
        {
            self.params.values.insert(number, konst);
            if self.is_set_once(symbol) {
                self.define_constant(symbol, konst);
            }
        }
    }

    fn public_name(&mut self, param: &Param) -> String {
        let given = param.public.and_then(|id| self.plain_string(id));
        given.unwrap_or_else(|| self.ast.names.text(param.var.0).to_string())
    }

    fn default_value(&mut self, param: &Param, symbol: SymbolId) -> Option<Value> {
        if let Some(text) = self.open_default(symbol, param.default, param.var.1) {
            return Some(Value::str(text));
        }
        let ev = self.expr(param.default);
        if ev.is_bad() || self.ast.expr(param.default) == Expr::Error {
            return None;
        }
        let Some(value) = self.constant(ev).cloned() else {
            let span = self.ast.expr_span(param.default);
            let message = "expected a default made of constants and earlier parameters";
            let help = "what depends on the rank or is computed goes into a variable";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
            return None;
        };
        match (param.public, value) {
            (Some(_), value @ (Value::Str(_) | Value::List(_))) | (None, value) => Some(value),
            (Some(_), value) => Some(Value::str(value.to_string())),
        }
    }

    /// The text that is given for a parameter, and where it comes from.
    fn given(&self, name: &str) -> Option<(String, String)> {
        if let Some(text) = self.params.given.get(name) {
            return Some((text.to_string(), format!("{name}={text}")));
        }
        let variable = format!("{PREFIX}{name}");
        let text = (self.binding.env)(&variable)?;
        let from = format!("{variable}={text} in the environment");
        Some((text, from))
    }

    /// The value of a text of the default's type.
    fn parsed(
        &mut self,
        text: &str,
        from: &str,
        (default, symbol, span): (&Value, SymbolId, Span),
    ) -> Option<Value> {
        if let Value::Str(_) = default {
            return Some(Value::str(self.text_from_outside(symbol, text, from, span)));
        }
        match value_like(default, text) {
            Ok(value) => Some(value),
            Err(expected) => {
                let message = format!("{from}: expected {expected}, found {text:?}");
                let diagnostic = Diagnostic::new(Code::WrongType, span, message);
                self.reports.push(diagnostic.help(format!("its default is {default}")));
                None
            }
        }
    }

    /// Parameters of the command line that the program does not define.
    pub(crate) fn unknown_params(&mut self) {
        let names = || self.plan.params.iter().map(|(name, _)| name.as_str());
        let unknown =
            self.binding.params.iter().filter(|(name, _)| !self.params.names.contains(name));
        for (name, text) in unknown.take(MAX_UNKNOWN) {
            let help = match (nearest(name, names()), names().count()) {
                (Some(name), _) => format!("the nearest is {name}"),
                (None, 0) => "the program has no parameters: param $name = default;".into(),
                (None, 1..=MAX_LISTED) => {
                    format!("it has {}", names().collect::<Vec<_>>().join(" "))
                }
                (None, count) => format!("it has {count} parameters of other names"),
            };
            let message = format!("{name}={text}: the program has no parameter {name}");
            let diagnostic = Diagnostic::new(Code::UnknownParameter, Span::COMMAND_LINE, message);
            self.reports.push(diagnostic.help(help));
        }
    }

    /// The statement that defines a parameter: its variable is visible from here on.
    pub(crate) fn param(&mut self, number: u32, span: Span) {
        let place = self.ast.params[number as usize].var.1.start;
        let Some(Mention { symbol, .. }) = self.mentioned(place) else { return };
        let Some(konst) = self.params.values.get(&number).copied() else {
            self.define(symbol, false);
            return;
        };
        if self.is_set_once(symbol) {
            self.define_constant(symbol, konst);
            return;
        }
        let src = match self.opened_text(symbol, span) {
            Some(ev) if ev.is_bad() => return,
            Some(ev) => ev,
            None => self.constant_at(konst),
        };
        let dst = self.define(symbol, src.differs);
        self.emit(Instr::Move { dst, src: src.operand }, span);
    }

    /// A constant by its number.
    fn constant_at(&self, konst: u32) -> Ev {
        let types = Types::of_value(&self.plan.consts[konst as usize]);
        Ev { operand: Operand::constant(konst), types, differs: false }
    }

    /// Between the definitions and the program: no parameter is visible yet.
    pub(crate) fn hide_params(&mut self) {
        for param in &self.ast.params {
            if let Some(Mention { symbol, .. }) = self.mentioned(param.var.1.start) {
                self.hide(symbol);
            }
        }
    }
}

/// An integer or a float, as in a file of values.
pub(crate) fn number(text: &str) -> Option<Value> {
    let text = Value::str(text);
    let float = || text.as_float().ok().map(Value::Float);
    text.as_int().ok().map(Value::Int).or_else(float)
}

/// The value of a text that is given in place of another; what was expected, if it is none.
fn value_like(default: &Value, text: &str) -> Result<Value, &'static str> {
    let (value, expected) = match default {
        Value::Int(_) if has_leading_zero(text) => {
            (None, "an integer without leading zeros, as in 644 or, octal, 0o644")
        }
        Value::Int(_) => {
            (Value::str(text).as_int().ok().map(Value::Int), "an integer, as in 10 or 4k")
        }
        Value::Float(_) => (Value::str(text).as_float().ok().map(Value::Float), "a number"),
        Value::Bool(_) => (boolean(text).map(Value::Bool), "true or false"),
        Value::Duration(_) => (duration(text).map(Value::Duration), "a duration, as in 30s"),
        Value::Str(_) => (Some(Value::str(text)), "text"),
        Value::List(items) => return list_like(items, text),
        Value::Unset | Value::Handle(..) | Value::Outcome(_) => (None, "nothing"),
    };
    value.ok_or(expected)
}

/// `4k,64k`, `[4k, 64k]`: elements of the type that the default's elements have, else texts.
fn list_like(default: &[Value], text: &str) -> Result<Value, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if inner.trim().is_empty() {
        return Ok(Value::List([].into()));
    }
    let first = default.first().unwrap_or(&Value::Unset);
    let alike = default.iter().all(|item| item.type_name() == first.type_name());
    let like = match first {
        Value::List(_) => return Err("nothing: a list of lists cannot be given from outside"),
        first if alike && !default.is_empty() => first.clone(),
        _ => Value::str(""),
    };
    let items = inner.split(',').map(|item| value_like(&like, item.trim()));
    let items = items.collect::<Result<Vec<Value>, _>>();
    let items = items.map_err(|_| "values like those of the default, with commas between them")?;
    limits::list(items).map_err(|_| "a list of at most 1 MiB")
}

/// Octal in C and in a shell, decimal elsewhere: nobody shall have to guess.
fn has_leading_zero(text: &str) -> bool {
    let digits = text.trim().trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Nanoseconds of `30s`, `0.5ms`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits_end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let factor = duration_factor(&text[digits_end..])?;
    let digits = &text[..digits_end];
    match digits.parse::<i64>() {
        Ok(n) => n.checked_mul(factor),
        Err(_) => {
            let ns = digits.parse::<f64>().ok()? * factor as f64;
            (ns.is_finite() && ns.abs() < i64::MAX as f64).then_some(ns.round() as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_outside() {
        assert_eq!(duration("30s"), Some(30_000_000_000));
        assert_eq!(duration(" 0.5ms "), Some(500_000));
        for bad in ["", "s", "30", "30x", "1e300s", "nans"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
        let sizes = [Value::Int(1), Value::Int(2)];
        let list = |items: &[i64]| Value::List(items.iter().copied().map(Value::Int).collect());
        assert_eq!(list_like(&sizes, "4k, 64k"), Ok(list(&[4096, 65536])));
        assert_eq!(list_like(&sizes, "[4k]"), Ok(list(&[4096])));
        assert_eq!(list_like(&sizes, " "), Ok(list(&[])));
        assert!(list_like(&sizes, "4k,,1").unwrap_err().contains("commas between"));
        let texts = Ok(Value::List([Value::str("1"), Value::str("b")].into()));
        assert_eq!(list_like(&[], "1,b"), texts);
        assert_eq!(list_like(&[Value::Int(1), Value::str("a")], "1, b"), texts);
        assert!(list_like(&[Value::List([].into())], "1").is_err());
        assert_eq!(boolean("true"), Some(true));
        assert_eq!(boolean("0"), Some(false));
        assert_eq!(boolean("maybe"), None);
    }
}
