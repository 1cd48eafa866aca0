//! Files of data beside the program: values, weights, times, lists, bytes.

use super::params::{duration, number};
use super::state::{Ev, Lists, Lower, Part};
use crate::ast::ExprId;
use crate::diag::{Code, Diagnostic};
use crate::source::MAX_SOURCE_BYTES;
use crate::text;
use model::plan::{Sample, SourceFile};
use model::units::format_bytes;
use model::value::List;
use model::with::file_named;
use model::words::shortened;
use model::{Value, limits};
use std::rc::Rc;
use std::sync::Arc;

/// The largest file of data that is no list.
const MAX_BYTES: usize = 64 << 20;
/// The largest file of lists, and all of a program.
const MAX_LISTS_BYTES: usize = MAX_SOURCE_BYTES;

/// The latest time of arrival.
const CENTURY_NS: i64 = 100 * 366 * 24 * 3600 * 1_000_000_000;

impl Lower<'_> {
    /// The argument of `empirical`: a list, or the name of a file that holds one.
    pub(crate) fn samples(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        let ev = match self.constant(ev) {
            Some(Value::Str(name)) => {
                let name = String::from_utf8_lossy(name).into_owned();
                self.list_of(&name, id, values_and_weights)
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
    pub(crate) fn arrival(&mut self, id: ExprId) -> Ev {
        let ev = self.expr(id);
        match self.named_file(ev) {
            Some(name) => self.list_of(&name, id, times),
            None => ev,
        }
    }

    /// The value of `data`: a word, or the name of a file that the plan will hold.
    pub(crate) fn data(&mut self, id: ExprId) -> Ev {
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

    /// The content of a file, at least one byte.
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
    fn list_of(&mut self, name: &str, id: ExprId, lines_of: LinesOf) -> Ev {
        let Some(lists) = self.lists_of(name, id) else { return Ev::BAD };
        match lines_of(&lists.text) {
            Ok(list) => self.known(list),
            Err(wrong) => self.damaged(name, id, &wrong, None),
        }
    }

    /// A file of lists, which is read once, and kept with the text of the program. `None`: it was
    /// reported, now or before, that there is none.
    fn lists_of(&mut self, name: &str, id: ExprId) -> Option<Rc<Lists>> {
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
    fn damaged(&mut self, name: &str, id: ExprId, wrong: &str, help: Option<String>) -> Ev {
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

/// Makes a list of the lines of a file; fails with what is wrong with it.
type LinesOf = fn(&str) -> Result<Value, String>;

/// Reads the values in each line from the line of this number on. `take` fails with what it expected.
fn each_line(
    text: &str,
    first: usize,
    expected: &str,
    mut take: impl FnMut(Vec<Value>) -> Result<(), String>,
) -> Result<(), String> {
    for (number, line) in (first..).zip(text.lines()) {
        let taken = match values_in(line) {
            Some(values) if values.is_empty() => continue,
            Some(values) => take(values),
            None => Err(expected.to_string()),
        };
        taken.map_err(|expected| wrong(&expected, line, number))?;
    }
    Ok(())
}

/// Values of a line: numbers, durations, texts in quotes, and a comment behind them.
fn values_in(line: &str) -> Option<Vec<Value>> {
    const BLANKS: [char; 5] = [' ', '\t', ',', ';', '\r'];
    if let Ok(number) = line.parse::<i64>() {
        return Some(vec![Value::Int(number)]);
    }
    let (mut values, mut rest) = (Vec::new(), line);
    loop {
        rest = rest.trim_start_matches(BLANKS);
        if rest.is_empty() || rest.starts_with('#') {
            return Some(values);
        }
        let is_text = rest.starts_with('"');
        let end = match is_text {
            true => closing(rest)? + 1,
            false => rest.find([' ', '\t', ',', ';', '\r', '#']).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        values.push(if is_text { Value::Str(text::exact(word)?) } else { plain(word)? });
        rest = after;
    }
}

fn whole(items: Vec<Value>) -> Result<Value, String> {
    match items.is_empty() {
        true => Err("it holds no value".into()),
        false => limits::list(items).map_err(|error| error.to_string()),
    }
}

/// Lines such as `4k`, `4k 70`.
fn values_and_weights(text: &str) -> Result<Value, String> {
    let expected = "a value, or a value and its weight, such as 4k 70";
    let is_weight = |value: &Value| value.as_float().is_ok_and(|weight| weight >= 0.0);
    let mut items = Vec::new();
    each_line(text, 1, expected, |mut values| {
        let is_right = match &values[..] {
            [value] => !matches!(value, Value::Str(_)),
            [value, weight] => !matches!(value, Value::Str(_)) && is_weight(weight),
            _ => false,
        };
        let item = if values.len() == 1 { values.pop() } else { limits::list(values).ok() };
        items.push(item.filter(|_| is_right).ok_or(expected)?);
        Ok(())
    })?;
    whole(items)
}

/// No element can be drawn.
fn nothing_weighs(items: &[Value]) -> bool {
    let is_zero = |value: &Value| value.as_float().is_ok_and(|weight| weight == 0.0);
    items.iter().all(|item| matches!(item, Value::List(pair) if pair.get(1).is_some_and(is_zero)))
}

/// Lines of seconds, `0.0125`, or durations.
fn times(text: &str) -> Result<Value, String> {
    let expected = "a time in seconds, at most a century and not before the one above it";
    let (mut items, mut before_ns) = (Vec::new(), 0);
    each_line(text, 1, expected, |values| {
        let ns = match &values[..] {
            [Value::Duration(ns)] => *ns,
            [Value::Int(_) | Value::Float(_)] => {
                values[0].as_float().map_or(-1, |seconds| (seconds * 1e9).round() as i64)
            }
            _ => -1,
        };
        if !(before_ns..=CENTURY_NS).contains(&ns) {
            return Err(expected.into());
        }
        before_ns = ns;
        items.push(Value::Duration(ns));
        Ok(())
    })?;
    whole(items)
}

/// The most values in all lists of a program, enough for ten million irregular operations; 32 bytes of text
/// count as one more. They take a GiB.
const MAX_VALUES: usize = 1 << 25;
/// Longest name of a list, in bytes.
const NAME_MAX: usize = 100;
/// Longest part of a line that a message shows, in bytes.
const SHOWN: usize = 60;
/// Most names that a message lists.
const LISTED: usize = 20;

impl Lists {
    /// Finds the headings of a file.
    pub(crate) fn of(text: String) -> Result<Lists, String> {
        let mut lists = Lists { text: Arc::new(text), ..Lists::default() };
        let text = Arc::clone(&lists.text);
        let (mut at, mut open) = (0, None);
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let start = at;
            at += line.len();
            if !line.starts_with('[') {
                continue;
            }
            let (name, count) = heading(line).ok_or_else(|| {
                wrong(
                    "a heading such as [sizes] or, with the number of values, [sizes 100]",
                    line,
                    number,
                )
            })?;
            lists.close(open.replace((name, count, at, number + 1)), start)?;
        }
        lists.close(open, at)?;
        Ok(lists)
    }

    /// A list is at its end.
    fn close(
        &mut self,
        open: Option<(&str, Option<usize>, usize, usize)>,
        end: usize,
    ) -> Result<(), String> {
        let Some((name, count, start, line)) = open else { return Ok(()) };
        let part = Part { bytes: start..end, line, count };
        if let Some(other) = self.parts.insert(name.to_string(), part) {
            let (here, there) = (line - 1, other.line - 1);
            return Err(format!(
                "expected one list of each name, found [{name}] in lines {there} and {here}"
            ));
        }
        Ok(())
    }

    /// The lines of a list; without a name all of a file without headings.
    fn part(&self, name: Option<&str>) -> Option<Part> {
        match name {
            Some(name) => self.parts.get(name).cloned(),
            None if self.parts.is_empty() => {
                Some(Part { bytes: 0..self.text.len(), line: 1, count: None })
            }
            None => None,
        }
    }

    /// The values of a list, up to a limit, and how much they count.
    fn values(&self, part: &Part, room: usize) -> Result<(Vec<Value>, usize), String> {
        let expected = "a value, or a value and how often it comes, such as 4k 70";
        let (mut list, mut weight) = (Vec::new(), 0usize);
        each_line(&self.text[part.bytes.clone()], part.line, expected, |values| {
            let times = match values[1..] {
                [] => 1,
                [Value::Int(times @ 0..)] => times as usize,
                _ => return Err(expected.into()),
            };
            let value = &values[0];
            let one = 1 + if let Value::Str(text) = value { text.len() / 32 } else { 0 };
            weight = weight.saturating_add(one.saturating_mul(times));
            if weight > room {
                return Err(format!("at most {MAX_VALUES} values in all lists"));
            }
            list.extend(std::iter::repeat_n(value.clone(), times));
            Ok(())
        })?;
        match part.count.filter(|count| *count != list.len()) {
            Some(count) => {
                let (found, line) = (list.len(), part.line - 1);
                Err(format!(
                    "expected {count_values}, as line {line} says, found {found}",
                    count_values = model::words::count(count, "value")
                ))
            }
            None => Ok((list, weight)),
        }
    }

    fn help(&self, name: Option<&str>) -> String {
        let mut known = self.parts.keys().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        if self.parts.len() > LISTED {
            known.push_str(", ...");
        }
        match name {
            Some(name) if known.is_empty() => format!("a list begins with its name: [{name}]"),
            _ => format!("it has {known}"),
        }
    }
}

impl Lower<'_> {
    /// `list("app.data", "sizes")`
    pub(crate) fn list_of_file(&mut self, ids: &[ExprId], evs: &[Ev]) -> Ev {
        let mut texts = Vec::with_capacity(ids.len());
        for (id, ev) in ids.iter().zip(evs) {
            let Some(Value::Str(text)) = self.constant(*ev) else {
                let message = format!(
                    "expected a text that is known before the run, found {}",
                    ev.types.describe()
                );
                return self.wrong_type(self.ast.expr_span(*id), message);
            };
            texts.push(String::from_utf8_lossy(text).into_owned());
        }
        let (file, name) = (&texts[0], texts.get(1).map(String::as_str));
        let Some(lists) = self.lists_of(file, ids[0]) else { return Ev::BAD };
        let Some(part) = lists.part(name) else {
            let wrong = match name {
                Some(name) => format!("expected a list [{name}], found none"),
                None => "expected the name of a list, found several lists in the file".into(),
            };
            return self.damaged(file, ids[0], &wrong, Some(lists.help(name)));
        };
        match lists.values(&part, MAX_VALUES - self.listed) {
            Ok((values, weight)) => {
                self.listed += weight;
                self.known(Value::List(List::from(values)))
            }
            Err(wrong) => {
                let help = "a value is 4k, 1.5, 5ms or \"text\", one in each line; # begins a comment; \
                            what fold wrote, it writes again";
                self.damaged(file, ids[0], &wrong, Some(help.into()))
            }
        }
    }
}

fn wrong(expected: &str, line: &str, number: usize) -> String {
    format!("expected {expected}, in line {number}, found {:?}", shortened(line.trim(), SHOWN))
}

/// `[sizes]`, `[sizes 100]`: a name, and the number of values.
fn heading(line: &str) -> Option<(&str, Option<usize>)> {
    let (inner, rest) = line.strip_prefix('[')?.split_once(']')?;
    let mut words = inner.split_ascii_whitespace();
    let name = words.next().filter(|name| name.len() <= NAME_MAX)?;
    let count = match words.next() {
        Some(word) => Some(word.parse().ok()?),
        None => None,
    };
    let is_comment = rest.trim().is_empty() || rest.trim().starts_with('#');
    (is_comment && words.next().is_none()).then_some((name, count))
}

/// The place of the quote that ends a text.
fn closing(line: &str) -> Option<usize> {
    let mut escaped = false;
    let mut ends = line.bytes().enumerate().skip(1).filter(|(_, byte)| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    ends.next().map(|(at, _)| at)
}

/// A number or a duration; an integer that does not fit 64 bits is none.
fn plain(word: &str) -> Option<Value> {
    let digits = word.trim_start_matches(['-', '+']).bytes().all(|byte| byte.is_ascii_digit());
    let finite = |value: &Value| match value {
        Value::Float(number) => number.is_finite() && !digits,
        _ => true,
    };
    number(word).filter(finite).or_else(|| duration(word).map(Value::Duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_values_with_or_without_weights() {
        let found = values_and_weights("# sizes\n4k 70\n\n64k,30 # large\r\n5ms\n1.5\n");
        assert_eq!(found.unwrap().to_string(), "[[4096, 70], [65536, 30], 5ms, 1.5]");
        let wrong = values_and_weights("4k 70\nlarge\n").unwrap_err();
        assert!(wrong.contains("in line 2, found \"large\""), "{wrong}");
        assert_eq!(values_and_weights("# nothing\n").unwrap_err(), "it holds no value");
    }

    #[test]
    fn times_ascend() {
        let found = times("0\n0.25\n500ms\n500ms\n2\n").unwrap();
        assert_eq!(found.to_string(), "[0s, 250ms, 500ms, 500ms, 2s]");
        for text in
            ["1\n0.5\n", "-1\n", "1 2\n", "soon\n", "inf\n", "nan\n", "1e300\n", "4000000000\n"]
        {
            assert!(times(text).unwrap_err().contains("expected a time in seconds"), "{text}");
        }
    }

    fn read(text: &str, name: Option<&str>) -> Result<String, String> {
        let lists = Lists::of(text.into())?;
        let part = lists.part(name).ok_or_else(|| lists.help(name))?;
        lists.values(&part, 100).map(|(values, _)| Value::List(List::from(values)).to_string())
    }

    #[test]
    fn lines_are_values_and_how_often_they_come() {
        let text =
            "# sizes\n4k 2\n\n-7\r\n5ms,1 # pause\n 1.5\n\"a \\\"#$b\\x41\" 2 # names\n\"\"\n8 0\n";
        assert_eq!(read(text, None).unwrap(), "[4096, 4096, -7, 5ms, 1.5, a \"#$bA, a \"#$bA, ]");
        assert_eq!(read("# nothing\n", None).unwrap(), "[]");
        for (text, line, found) in [
            ("4k\nlarge\n", 2, "large"),
            ("\"a", 1, "\\\"a"),
            ("\"a\\q\"", 1, "\\\"a"),
            ("1 2 3", 1, "1 2 3"),
            ("1 -2", 1, "1 -2"),
            ("99999999999999999999999k", 1, "9999999"),
            ("99999999999999999999999", 1, "9999999"),
            ("1e999", 1, "1e999"),
            ("\"a\"b", 1, "\\\"a\\\"b"),
            ("\u{1}\u{2}", 1, "\\u{1}"),
        ] {
            let wrong = read(text, None).unwrap_err();
            let (place, shown) = (format!("in line {line}, found"), wrong.contains(found));
            assert!(wrong.contains(&place) && shown, "{text}: {wrong}");
        }
    }

    #[test]
    fn lists_stand_below_their_names() {
        let text = "# two\n[a 3]\n1\n2 2\n[b] # names\n\"[a]\"\n";
        assert_eq!(read(text, Some("a")).unwrap(), "[1, 2, 2]");
        assert_eq!(read(text, Some("b")).unwrap(), "[[a]]");
        assert_eq!(read(text, None).unwrap_err(), "it has a, b");
        assert_eq!(read("1\n", Some("a")).unwrap_err(), "a list begins with its name: [a]");
        for (text, words) in [
            ("[a 3]\n1\n2\n", "expected 3 values, as line 1 says, found 2"),
            ("[a]\n[b]\n[a]\n", "found [a] in lines 1 and 3"),
            ("[a\n", "in line 1, found \"[a\""),
            ("\n[a b]\n", "in line 2, found \"[a b]\""),
            ("[a] 1\n", "in line 1"),
            ("[]\n", "in line 1"),
            (&format!("[{}]\n", "a".repeat(101)), "expected a heading"),
            ("[a]\n0 101\n", "at most 33554432 values in all lists, in line 2"),
            ("[a]\n0 9223372036854775807\n", "at most 33554432 values in all lists, in line 2"),
        ] {
            let wrong = read(text, Some("a")).unwrap_err();
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
        let long = format!("\"{}\" 4\n", "x".repeat(1000));
        assert!(read(&long, None).unwrap_err().contains("in all lists, in line 1"));
    }
}
