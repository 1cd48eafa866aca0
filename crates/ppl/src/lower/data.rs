//! Files beside the program that hold data: values with their weights, times, bytes to write. The plan holds
//! what is in them, so that all ranks have the same and nothing is read while they run.
//!
//! ```text
//! # sizes.txt                 $size = empirical("sizes.txt");
//! 4k   70                     with (arrival="file:times.txt") ...
//! 64k  30                     with (data="file:sample.bin") ...
//! ```

use super::Lower;
use super::listed::Lists;
use super::params::{duration, number};
use super::value::Ev;
use crate::ast::ExprId;
use crate::diag::{Code, Diagnostic};
use crate::source::MAX_SOURCE_BYTES;
use model::Value;
use model::limits;
use model::plan::{Sample, SourceFile};
use model::units::format_bytes;
use model::with::file_named;
use std::rc::Rc;
use std::sync::Arc;

/// The largest file of data that is no list.
const MAX_BYTES: usize = 64 << 20;
/// The largest file of lists, and all of a program.
const MAX_LISTS_BYTES: usize = MAX_SOURCE_BYTES;
/// The most lines of a file that is a list.
const MAX_LINES: usize = 1 << 20;

/// The latest time of arrival.
const CENTURY_NS: i64 = 100 * 366 * 24 * 3600 * 1_000_000_000;

impl Lower<'_> {
    /// What `empirical` draws from: a list, or the name of a file that holds one.
    pub(super) fn samples(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        let ev = match self.constant(ev) {
            Some(Value::Str(name)) => {
                let name = String::from_utf8_lossy(name).into_owned();
                self.list_of(&name, id, value_and_weight)
            }
            _ => ev,
        };
        if let Some(Value::List(items)) = self.constant(ev)
            && nothing_weighs(items)
        {
            let message = "expected a value or a weight above 0 in what `empirical` draws from";
            let span = self.ast.expr_span(id);
            self.reports.push(Diagnostic::new(Code::BadValue, span, message));
            return Ev::BAD;
        }
        ev
    }

    /// When operations are due: a word, a list, or the name of a file that holds one.
    pub(super) fn arrival(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        match self.named_file(ev) {
            Some(name) => self.list_of(&name, id, time),
            None => ev,
        }
    }

    /// What is written: a word, or the name of a file that the plan is to hold.
    pub(super) fn data(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        let Some(name) = self.named_file(ev) else { return ev };
        if self.plan.samples.iter().any(|sample| sample.name == name) {
            return ev;
        }
        let Some(bytes) = self.file(&name, id, MAX_BYTES) else { return Ev::BAD };
        self.plan.samples.push(Sample { name, bytes: Arc::new(bytes) });
        ev
    }

    fn named_file(&self, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        file_named(&String::from_utf8_lossy(text)).map(str::to_string)
    }

    /// What is in a file, at least one byte.
    fn file(&mut self, name: &str, id: ExprId, most: usize) -> Option<Vec<u8>> {
        let why = match (self.binding.files)(name) {
            Ok(bytes) if bytes.is_empty() => "it is empty".to_string(),
            Ok(bytes) if bytes.len() > most => {
                format!("it has more than {}", format_bytes(most as u64))
            }
            Ok(bytes) => return Some(bytes),
            Err(why) => why,
        };
        let message = format!("cannot take data from \"{name}\": {why}");
        let help = "files of data lie in the program's folder, or in one of --include-dir";
        let diagnostic = Diagnostic::new(Code::Include, self.ast.expr_span(id), message);
        self.reports.push(diagnostic.help(help));
        None
    }

    /// A constant list of the lines of a file.
    fn list_of(&mut self, name: &str, id: ExprId, line_of: LineOf) -> Ev {
        let Some(lists) = self.lists_of(name, id) else { return Ev::BAD };
        match items(&lists.text, line_of) {
            Ok(list) => self.known(list),
            Err(wrong) => self.damaged(name, id, &wrong, None),
        }
    }

    /// A file of lists, which is read once, and kept with the text of the program. `None`: it was
    /// reported, now or before, that there is none.
    pub(super) fn lists_of(&mut self, name: &str, id: ExprId) -> Option<Rc<Lists>> {
        if let Some(known) = self.lists.get(name) {
            return known.clone();
        }
        let read = self.read_lists(name, id);
        self.lists.insert(name.to_string(), read.clone());
        read
    }

    fn read_lists(&mut self, name: &str, id: ExprId) -> Option<Rc<Lists>> {
        let taken: usize = self.plan.files.iter().map(|file| file.text.len()).sum();
        let bytes = self.file(name, id, MAX_LISTS_BYTES.saturating_sub(taken))?;
        let lists = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("expected UTF-8 text, found another byte in line {line}")
        });
        match lists.and_then(Lists::of) {
            Ok(lists) => {
                let (name, text) = (name.to_string(), Arc::clone(&lists.text));
                self.plan.files.push(SourceFile { name, start: 0, text });
                Some(Rc::new(lists))
            }
            Err(wrong) => {
                self.damaged(name, id, &wrong, None);
                None
            }
        }
    }

    /// Reports what is wrong with a file of lists, and nothing more of it.
    pub(super) fn damaged(
        &mut self,
        name: &str,
        id: ExprId,
        wrong: &str,
        help: Option<String>,
    ) -> Ev {
        let span = self.ast.expr_span(id);
        let diagnostic = Diagnostic::new(Code::BadValue, span, format!("\"{name}\": {wrong}"));
        self.reports.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
        self.lists.insert(name.to_string(), None);
        Ev::BAD
    }
}

/// What a line with these words is, after the line before; or what was expected.
type LineOf = fn(&[&str], Option<&Value>) -> Result<Value, &'static str>;

fn items(text: &str, line_of: LineOf) -> Result<Value, String> {
    let mut items: Vec<Value> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> =
            line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            continue;
        }
        if items.len() == MAX_LINES {
            return Err(format!("it has more than {MAX_LINES} lines"));
        }
        let wrong =
            |expected| format!("expected {expected} in line {number}, found {:?}", line.trim());
        let item = line_of(&words, items.last()).map_err(wrong)?;
        items.push(item);
    }
    match items.is_empty() {
        true => Err("it holds no value".into()),
        false => limits::list(items).map_err(|error| error.to_string()),
    }
}

/// `4k`, `4k 70`
fn value_and_weight(words: &[&str], _: Option<&Value>) -> Result<Value, &'static str> {
    let expected = "a value, or a value and its weight, such as 4k 70";
    let finite = |value: &Value| value.as_float().is_ok_and(f64::is_finite);
    let value_of =
        |word: &str| number(word).filter(finite).or_else(|| duration(word).map(Value::Duration));
    match words {
        [value] => value_of(value).ok_or(expected),
        [value, weight] => {
            let value = value_of(value).ok_or(expected)?;
            let weight = number(weight).filter(is_weight).ok_or(expected)?;
            limits::list(vec![value, weight]).map_err(|_| expected)
        }
        _ => Err(expected),
    }
}

/// No element can be drawn.
fn nothing_weighs(items: &[Value]) -> bool {
    let is_zero = |value: &Value| value.as_float().is_ok_and(|weight| weight == 0.0);
    items.iter().all(|item| matches!(item, Value::List(pair) if pair.get(1).is_some_and(is_zero)))
}

/// A finite number that is not negative.
fn is_weight(value: &Value) -> bool {
    value.as_float().is_ok_and(|weight| weight.is_finite() && weight >= 0.0)
}

/// Seconds, `0.0125`, or a duration.
fn time(words: &[&str], before: Option<&Value>) -> Result<Value, &'static str> {
    let expected = "a time in seconds, at most a century and not before the one above it";
    let [word] = words else { return Err(expected) };
    let seconds = || Value::str(word).as_float().ok();
    let seconds = || seconds().filter(|s| !s.is_nan()).map(|s| (s * 1e9).round() as i64);
    let ns = duration(word).or_else(seconds).filter(|ns| (0..=CENTURY_NS).contains(ns));
    let ns = ns.ok_or(expected)?;
    match before {
        Some(Value::Duration(before_ns)) if *before_ns > ns => Err(expected),
        _ => Ok(Value::Duration(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_values_with_or_without_weights() {
        let found = items("# sizes\n4k 70\n\n64k,30 # large\r\n5ms\n1.5\n", value_and_weight);
        assert_eq!(found.unwrap().to_string(), "[[4096, 70], [65536, 30], 5ms, 1.5]");
        let wrong = items("4k 70\nlarge\n", value_and_weight).unwrap_err();
        assert!(wrong.contains("in line 2, found \"large\""), "{wrong}");
        assert_eq!(items("# nothing\n", value_and_weight).unwrap_err(), "it holds no value");
    }

    #[test]
    fn times_ascend() {
        let found = items("0\n0.25\n500ms\n500ms\n2\n", time).unwrap();
        assert_eq!(found.to_string(), "[0s, 250ms, 500ms, 500ms, 2s]");
        for text in
            ["1\n0.5\n", "-1\n", "1 2\n", "soon\n", "inf\n", "nan\n", "1e300\n", "4000000000\n"]
        {
            assert!(
                items(text, time).unwrap_err().contains("expected a time in seconds"),
                "{text}"
            );
        }
    }
}
