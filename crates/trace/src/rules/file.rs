//! The text of a rules file -> [`Rules`], or what is wrong with it and where.
//!
//! ```text
//! time = "%H:%M:%S%.f"
//! [[rule]]
//! match = '^(?<start>\S+) (?<operation>READ|WRITE) (?<path>\S+)'
//! ```

use super::field::{Field, Fields};
use super::meaning::{find_operation, operation_names};
use super::scan::Ruled;
use super::units::{SECOND_NS, Times};
use crate::error::Error;
use crate::format::Format;
use crate::import::{self, Imported};
use crate::input::Input;
use crate::scanner::Scanner;
use crate::selection::Selection;
use model::escape;
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};
use serde::Deserialize;
use std::fmt::{Display, Write};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;

/// Memory limit for the compiled expression of one rule, bytes.
const REGEX_MAX: usize = 1 << 22;

/// How the lines of a log are read.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Unit or pattern of `start` and `end`.
    pub(super) times: Times,
    /// Unit of `elapsed` without a suffix, nanoseconds.
    pub(super) elapsed_unit_ns: u64,
    /// Some rule has ranks: a line without one is an error.
    pub(super) has_ranks: bool,
    pub(super) rules: Vec<Rule>,
}

/// How lines of one form are read.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Its line in the rules file, from 1.
    line: usize,
    pub(super) regex: Regex,
    /// Groups of the expression and their fields.
    groups: Vec<(usize, Field)>,
    /// Operation of lines that do not name one.
    operation: Option<String>,
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
            file.time.as_ref().map_or(Ok(Times::Numbers(SECOND_NS)), |t| source.times(t))?;
        if file.rule.is_empty() {
            let help = "[[rule]] begins one, match = '...' says which lines it reads";
            return Err(source.error(0..0, "expected rules, found none", help));
        }
        let elapsed_unit_ns = match times {
            Times::Numbers(unit_ns) => unit_ns,
            Times::Pattern(_) => SECOND_NS,
        };
        let rules: Vec<Rule> =
            file.rule.iter().map(|r| source.rule(r)).collect::<Result<_, _>>()?;
        let has_ranks = rules.iter().any(|rule| rule.reads(Field::Rank));
        Ok(Rules { times, elapsed_unit_ns, has_ranks, rules })
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
            if crate::table::is_one(&input.beginning) {
                return Err(io::Error::other(
                    "it is a Parquet table; rules read text: make it CSV",
                ));
            }
            Ok(Box::new(Ruled::new(self, input, name)))
        })?;
        import::from_logs(logs, Format::Rules, which)
    }

    /// The rule that takes a line, and the fields it finds, as text for `--explain-line`.
    pub fn describe(&self, line: &[u8]) -> String {
        let mut fields = Fields::default();
        let Some(number) = self.take(line, &mut self.locations(), &mut fields) else {
            return "no rule takes it\n".into();
        };
        let rule = &self.rules[number];
        let skips = if rule.skips() { ", which skips it" } else { "" };
        let mut text = format!("taken by rule {} (line {}){skips}\n", number + 1, rule.line);
        for (field, value) in fields.all() {
            let value = String::from_utf8_lossy(value);
            let _ = writeln!(text, "  {:<10} {}", field.name(), escape::line(&value));
        }
        text
    }

    /// Memory for the groups of each rule, so that none is allocated per line.
    pub(super) fn locations(&self) -> Vec<CaptureLocations> {
        self.rules.iter().map(|rule| rule.regex.capture_locations()).collect()
    }

    /// Fills `fields` by the first rule that matches, and returns the number of that rule.
    pub(super) fn take(
        &self,
        line: &[u8],
        locations: &mut [CaptureLocations],
        fields: &mut Fields,
    ) -> Option<usize> {
        fields.clear();
        for (number, (rule, locations)) in self.rules.iter().zip(locations).enumerate() {
            if rule.regex.captures_read(locations, line).is_some() {
                rule.fill(line, locations, fields);
                return Some(number);
            }
        }
        None
    }
}

impl Rule {
    /// Lines of a rule without an operation are left out.
    pub(super) fn skips(&self) -> bool {
        self.operation.is_none() && !self.reads(Field::Operation)
    }

    fn reads(&self, field: Field) -> bool {
        self.groups.iter().any(|(_, group)| *group == field)
    }

    fn fill(&self, line: &[u8], locations: &CaptureLocations, fields: &mut Fields) {
        if let Some(operation) = &self.operation {
            fields.set(Field::Operation, operation.as_bytes());
        }
        for (number, field) in &self.groups {
            if let Some((start, end)) = locations.get(*number) {
                fields.set(*field, &line[start..end]);
            }
        }
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
        let operation = operation.as_ref().map(|word| word.get_ref().clone());
        Ok(Rule { line: self.line(&rule.span()), groups: groups?, regex, operation })
    }

    fn field(&self, group: &str, expression: &Spanned<String>) -> Result<Field, Error> {
        let unknown = || {
            let help = format!("fields: {}; (?:...) groups without a field", Field::names());
            self.error(expression.span(), format!("group {group} is no field"), &help)
        };
        Field::find(group).ok_or_else(unknown)
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
