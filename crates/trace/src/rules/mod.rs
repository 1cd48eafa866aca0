//! Logs of any form, by a file of rules: regular expressions whose named groups are fields of an operation.
//!
//! ```text
//! time = "%H:%M:%S%.f"
//! [[rule]]
//! match = '^(?<start>\S+) \[(?<thread>[^]]+)\] (?<operation>\w+) (?<path>\S+) \+(?<size>\d+) ...'
//!
//! 02:00:01.5 [io-3] READ vol1/7 +4096 @8192 120us
//!    ▼
//! start 02:00:01.5, thread io-3, operation READ, path vol1/7, size 4096 ──▶ Record ──▶ resolver
//! ```
//!
//! Here: the text of a rules file -> [`Rules`], or what is wrong with it and where. `meaning` makes records of the
//! fields, `units` reads numbers and times. Descriptors and positions are followed by [`crate::resolve`], as for
//! every format.

mod meaning;
mod units;

use crate::error::Error;
use crate::format::Format;
use crate::gaps::Gaps;
use crate::import::{self, Imported};
use crate::input::Input;
use crate::scanner::{ByLine, Lines, Scanner};
use crate::selection::Selection;
use meaning::{Ruled, find_operation, operation_names};
use model::escape;
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};
use serde::Deserialize;
use std::fmt::{Display, Write};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;
use units::{SECOND_NS, Times};

/// Memory limit for the compiled expression of one rule, bytes.
const REGEX_MAX: usize = 1 << 22;

/// Names of groups: what a line can hold. docs/rules.md says what each means.
const FIELDS: [&str; 18] = [
    "operation",
    "start",
    "end",
    "elapsed",
    "host",
    "process",
    "thread",
    "rank",
    "program",
    "path",
    "path2",
    "handle",
    "offset",
    "size",
    "done",
    "flags",
    "result",
    "error",
];

/// How the lines of a log are read.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Unit or pattern of `start` and `end`.
    times: Times,
    /// Some rule has ranks: a line without one is an error.
    has_ranks: bool,
    rules: Vec<Rule>,
}

/// How lines of one form are read.
#[derive(Clone, Debug)]
struct Rule {
    /// Its line in the rules file, from 1.
    line: usize,
    regex: Regex,
    /// Groups of the expression and their fields.
    groups: Vec<(usize, &'static str)>,
    /// Operation of lines that do not name one; "" for none.
    operation: String,
}

/// The fields of a line that a rule took.
#[derive(Clone, Copy)]
struct Fields<'a, 'l> {
    rule: &'a Rule,
    line: &'a [u8],
    locations: &'l CaptureLocations,
}

impl<'a> Fields<'a, '_> {
    /// The text of a field; `None` if it is absent or empty.
    fn get(&self, field: &str) -> Option<&'a [u8]> {
        let group = self.rule.groups.iter().find(|(_, group)| *group == field);
        let place = group.and_then(|(number, _)| self.locations.get(*number));
        let own = if field == "operation" { self.rule.operation.as_bytes() } else { b"" };
        let text = place.map_or(own, |(start, end)| &self.line[start..end]);
        (!text.is_empty()).then_some(text)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    time: Option<Spanned<String>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(rename = "match")]
    expression: Spanned<String>,
    operation: Option<Spanned<String>>,
}

impl Rules {
    /// Reads rules; `name` is the name of their file, for messages.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn read(text: &str, name: &str) -> Result<Rules, Error> {
        let source = Source { text, name };
        let file: FileText = toml::from_str(text).map_err(|error| {
            let help = "docs/rules.md shows rules files";
            source.error(error.span().unwrap_or(0..0), error.message(), help)
        })?;
        let times =
            file.time.map_or(Ok(Times::Numbers(SECOND_NS, 0)), |time| source.times(&time))?;
        if file.rule.is_empty() {
            let help = "[[rule]] begins one, match = '...' says which lines it reads";
            return Err(source.error(0..0, "expected rules, found none", help));
        }
        let rules =
            file.rule.iter().map(|rule| source.rule(rule)).collect::<Result<Vec<_>, _>>()?;
        let has_ranks = rules.iter().any(|rule| rule.reads("rank"));
        Ok(Rules { times, has_ranks, rules })
    }

    /// Imports logs that are open.
    ///
    /// # Errors
    /// As for [`import::import`].
    pub fn import(
        &self,
        inputs: Vec<(PathBuf, Input)>,
        which: Selection,
    ) -> Result<Imported, Error> {
        let logs = import::logs_with(inputs, |input, name| -> io::Result<Box<dyn Scanner + '_>> {
            Ok(Box::new(ByLine::new(Lines::new(input.bytes, name), Ruled::new(self))))
        })?;
        import::from_logs(logs, Format::Rules, which, Gaps::default(), Vec::new())
    }

    /// The rule that takes a line, and the fields it finds, as text for `--explain-line`.
    pub fn describe(&self, line: &[u8]) -> String {
        let mut locations = self.locations();
        let Some(number) = self.find(line, &mut locations) else {
            return "no rule takes it\n".into();
        };
        let (rule, fields) = (&self.rules[number], self.fields(number, line, &locations));
        let skips = if rule.skips() { ", which skips it" } else { "" };
        let mut text = format!("taken by rule {} (line {}){skips}\n", number + 1, rule.line);
        for (field, value) in FIELDS.iter().filter_map(|field| Some((field, fields.get(field)?))) {
            let value = String::from_utf8_lossy(value);
            let _ = writeln!(text, "  {field:<10} {}", escape::line(&value));
        }
        text
    }

    /// Memory for the groups of each rule, so that none is allocated per line.
    fn locations(&self) -> Vec<CaptureLocations> {
        self.rules.iter().map(|rule| rule.regex.capture_locations()).collect()
    }

    /// The number of the first rule that matches; its groups are then in its locations.
    fn find(&self, line: &[u8], locations: &mut [CaptureLocations]) -> Option<usize> {
        let mut rules = self.rules.iter().zip(locations);
        rules.position(|(rule, groups)| rule.regex.captures_read(groups, line).is_some())
    }

    fn fields<'a, 'l>(
        &'a self,
        rule: usize,
        line: &'a [u8],
        locations: &'l [CaptureLocations],
    ) -> Fields<'a, 'l> {
        Fields { rule: &self.rules[rule], line, locations: &locations[rule] }
    }
}

impl Rule {
    /// Lines of a rule without an operation are left out.
    fn skips(&self) -> bool {
        self.operation.is_empty() && !self.reads("operation")
    }

    fn reads(&self, field: &str) -> bool {
        self.groups.iter().any(|(_, group)| *group == field)
    }
}

/// The text of a rules file, to name places in it.
struct Source<'t> {
    text: &'t str,
    name: &'t str,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, message: impl Display, help: &str) -> Error {
        let before = &self.text[..span.start.min(self.text.len())];
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = format!("{}:{}:{column}: {message}", self.name, self.line(&span));
        Error { message: escape::line(&message), help: help.into() }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.text[..span.start.min(self.text.len())].matches('\n').count() + 1
    }

    fn times(&self, time: &Spanned<String>) -> Result<Times, Error> {
        let text = time.get_ref();
        let unknown = |expected| format!("expected {expected}, found {text:?}");
        Times::named(text).map_err(|expected| self.error(time.span(), unknown(expected), ""))
    }

    fn rule(&self, rule: &Spanned<RuleText>) -> Result<Rule, Error> {
        let RuleText { expression, operation } = rule.get_ref();
        if let Some(word) = operation
            && find_operation(word.get_ref().as_bytes()).is_none()
        {
            let message = format!("expected an operation, found {:?}", word.get_ref());
            return Err(self.error(word.span(), message, &operation_names()));
        }
        let regex = self.regex(expression)?;
        let names = regex.capture_names().enumerate();
        let named = names.filter_map(|(number, name)| Some((number, name?)));
        let groups: Result<_, _> =
            named.map(|(number, name)| Ok((number, self.field(name, expression)?))).collect();
        let operation = operation.as_ref().map_or(String::new(), |word| word.get_ref().clone());
        Ok(Rule { line: self.line(&rule.span()), groups: groups?, regex, operation })
    }

    fn field(&self, group: &str, expression: &Spanned<String>) -> Result<&'static str, Error> {
        FIELDS.into_iter().find(|field| *field == group).ok_or_else(|| {
            let help = format!("fields: {}; (?:...) groups without a field", FIELDS.join(", "));
            self.error(expression.span(), format!("group {group} is no field"), &help)
        })
    }

    fn regex(&self, expression: &Spanned<String>) -> Result<Regex, Error> {
        // Lines are bytes: invalid UTF-8 matches, too.
        let mut builder = RegexBuilder::new(expression.get_ref());
        builder.unicode(false).size_limit(REGEX_MAX).build().map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last);
            let message = format!("this is no regular expression: {why}");
            self.error(expression.span(), message, "docs.rs/regex has the syntax")
        })
    }
}
