//! Text of a rules file -> [`Rules`], or what is wrong with it and where.
//!
//! ```text
//! [units]           # of times and sizes
//! [words.operation] # what words of the log mean
//! [[rule]]          # match = '...', fields as named groups or as keys
//! ```

use super::field::{FIELDS, Field};
use super::units::Times;
use super::verb::Verb;
use super::{Part, Rule, Rules, Shared};
use crate::import::Error;
use hashbrown::HashMap;
use model::escape;
use model::units::{duration_factor, size_factor};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const SECOND_NS: u64 = 1_000_000_000;
/// What compiled expressions of one rule may take, bytes.
const REGEX_MAX: usize = 1 << 22;

type Result<T> = std::result::Result<T, Error>;
type Entry<'t> = (&'t str, Range<usize>, &'t Spanned<DeValue<'t>>);

/// The text that is read, to name places in it.
struct Source<'t> {
    text: &'t str,
    name: &'t str,
}

impl Source<'_> {
    fn error(&self, span: &Range<usize>, message: impl std::fmt::Display, help: &str) -> Error {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = format!("{}:{line}:{column}: {message}", self.name);
        Error { message: escape::line(&message), help: help.into() }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.text[..span.start.min(self.text.len())].matches('\n').count() + 1
    }

    /// Expected one thing, found another.
    fn expected<T>(&self, value: &Spanned<DeValue<'_>>, what: &str) -> Result<T> {
        let found = shown(value.get_ref());
        Err(self.error(&value.span(), format!("expected {what}, found {found}"), ""))
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{:?}", model::words::shortened(text, 60)),
        DeValue::Integer(number) => number.to_string(),
        other => format!("a {}", other.type_str()),
    }
}

/// Entries of a table in the order of the file.
fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let entry = |(key, value): (&'t Spanned<_>, _)| -> Entry<'t> {
        let text: &std::borrow::Cow<'t, str> = key.get_ref();
        (text.as_ref(), key.span(), value)
    };
    let mut all: Vec<Entry<'t>> = table.iter().map(entry).collect();
    all.sort_by_key(|(_, span, _)| span.start);
    all
}

/// Reads rules; `name` is that of their file.
pub fn read(text: &str, name: &str) -> Result<Rules> {
    let source = Source { text, name };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        source.error(&span, error.message(), "rules files are TOML: docs/traces.md has an example")
    })?;
    let mut rules = empty();
    let mut found = None;
    for (key, span, value) in entries(table.get_ref()) {
        match key {
            "units" => source.units(value, &mut rules)?,
            "words" => source.words(value, &mut rules)?,
            "set" => source.set(value, &mut rules)?,
            "descriptors" => rules.shared = source.shared(value)?,
            "rule" => found = Some(value),
            "columns" => source.columns(value, &mut rules)?,
            _ => {
                let message = format!(
                    "expected rule, columns, units, words, set or descriptors, found {key}"
                );
                return Err(source.error(&span, message, "docs/traces.md says what they hold"));
            }
        }
    }
    if rules.columns.is_some() && found.is_none() {
        return Ok(rules);
    }
    if let (Some(list), Some(_)) = (found, &rules.columns) {
        let help = "[[rule]] is for lines of text, [columns] for tables: a file for each";
        return Err(source.error(&list.span(), "expected rules or columns, found both", help));
    }
    let Some(list) = found else {
        let message = "expected rules, found none";
        return Err(source.error(
            &(0..0),
            message,
            "[[rule]] begins one, match = '...' says for which lines",
        ));
    };
    source.rules(list, &mut rules)?;
    Ok(rules)
}

fn empty() -> Rules {
    Rules {
        start: Times::Numbers(SECOND_NS),
        end: Times::Numbers(SECOND_NS),
        elapsed: SECOND_NS,
        offset: 1,
        size: 1,
        done: 1,
        shared: Shared::default(),
        has_ranks: false,
        words: vec![HashMap::default(); FIELDS.len()],
        set: Vec::new(),
        lines: Vec::new(),
        columns: None,
    }
}

impl<'t> Source<'t> {
    fn table(&self, value: &'t Spanned<DeValue<'t>>, what: &str) -> Result<Vec<Entry<'t>>> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(entries(table)),
            _ => self.expected(value, what),
        }
    }

    fn text(&self, value: &'t Spanned<DeValue<'t>>, what: &str) -> Result<&'t str> {
        value.get_ref().as_str().map_or_else(|| self.expected(value, what), Ok)
    }

    fn field(&self, key: &str, span: &Range<usize>) -> Result<Field> {
        let unknown = || {
            let message = format!("expected the name of a field, found {key}");
            self.error(span, message, &format!("fields: {}", Field::names()))
        };
        Field::find(key).ok_or_else(unknown)
    }

    fn units(&self, value: &'t Spanned<DeValue<'t>>, rules: &mut Rules) -> Result<()> {
        for (key, span, value) in self.table(value, "a table of units")? {
            match self.field(key, &span)? {
                Field::Start => rules.start = self.times(value)?,
                Field::End => rules.end = self.times(value)?,
                Field::Elapsed => {
                    let text = self.text(value, "a unit of time")?;
                    let factor = duration_factor(text);
                    let Some(factor) = factor else {
                        return self.expected(value, "s, ms, us, ns, min or h");
                    };
                    rules.elapsed = factor as u64;
                }
                Field::Offset => rules.offset = self.bytes(value)?,
                Field::Size => rules.size = self.bytes(value)?,
                Field::Done => rules.done = self.bytes(value)?,
                _ => {
                    let message = format!("{key} has no unit");
                    let help = "units: start, end, elapsed, offset, size, done";
                    return Err(self.error(&span, message, help));
                }
            }
        }
        Ok(())
    }

    fn times(&self, value: &'t Spanned<DeValue<'t>>) -> Result<Times> {
        let text = self.text(value, "a unit of time or a pattern")?;
        Times::named(text).or_else(|expected| self.expected(value, &expected))
    }

    /// `"KiB"`, or a number of bytes such as 512.
    fn bytes(&self, value: &'t Spanned<DeValue<'t>>) -> Result<u64> {
        let factor = match value.get_ref() {
            DeValue::String(text) if *text == "B" => Some(1),
            DeValue::String(text) => size_factor(text).map(|factor| factor as u64),
            DeValue::Integer(number) => {
                number.as_str().parse().ok().filter(|n| number.radix() == 10 && *n > 0)
            }
            _ => None,
        };
        factor.map_or_else(
            || self.expected(value, "B, KiB, MiB, kB, MB, ... or a number of bytes"),
            Ok,
        )
    }

    fn words(&self, value: &'t Spanned<DeValue<'t>>, rules: &mut Rules) -> Result<()> {
        for (key, span, value) in self.table(value, "tables such as [words.operation]")? {
            let field = self.field(key, &span)?;
            for (word, _, value) in self.table(value, "a table of words")? {
                let meaning = self.text(value, "what the word means, as a text")?;
                if field == Field::Operation {
                    self.verb(value, meaning)?;
                }
                rules.words[field as usize].insert(word.into(), meaning.into());
            }
        }
        Ok(())
    }

    fn columns(&self, value: &'t Spanned<DeValue<'t>>, rules: &mut Rules) -> Result<()> {
        let mut columns = Vec::new();
        for (key, span, value) in self.table(value, "a table of fields and their columns")? {
            let field = self.field(key, &span)?;
            rules.has_ranks |= field == Field::Rank;
            columns.push((field, self.text(value, "the name of a column")?.into()));
        }
        rules.columns = Some(columns);
        Ok(())
    }

    fn set(&self, value: &'t Spanned<DeValue<'t>>, rules: &mut Rules) -> Result<()> {
        for (key, span, value) in self.table(value, "a table of fields")? {
            let field = self.field(key, &span)?;
            let text = self.text(value, "a text")?;
            rules.has_ranks |= field == Field::Rank;
            rules.set.push((field, text.into()));
        }
        Ok(())
    }

    fn shared(&self, value: &'t Spanned<DeValue<'t>>) -> Result<Shared> {
        match value.get_ref().as_str() {
            Some("process") => Ok(Shared::Process),
            Some("thread") => Ok(Shared::Thread),
            Some("job") => Ok(Shared::Job),
            _ => self.expected(value, "\"process\", \"thread\" or \"job\""),
        }
    }

    fn verb(&self, value: &Spanned<DeValue<'_>>, word: &str) -> Result<Verb> {
        let unknown = || {
            let message = format!("expected the name of an operation, found {word:?}");
            self.error(&value.span(), message, &Verb::help())
        };
        Verb::find(word.as_bytes()).ok_or_else(unknown)
    }

    fn rules(&self, value: &'t Spanned<DeValue<'t>>, rules: &mut Rules) -> Result<()> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.expected(value, "[[rule]], with two brackets");
        };
        for (number, value) in list.iter().enumerate() {
            let rule = self.rule(number + 1, value, rules)?;
            rules.has_ranks |= rule.sets(Field::Rank);
            rules.lines.push(rule);
        }
        Ok(())
    }

    fn rule(&self, number: usize, value: &'t Spanned<DeValue<'t>>, rules: &Rules) -> Result<Rule> {
        let all = self.table(value, "a table [[rule]]")?;
        let Some((_, _, expression)) = all.iter().find(|(key, ..)| *key == "match") else {
            let help = "match = '...' says for which lines it is";
            return Err(self.error(&value.span(), "expected match in the rule, found none", help));
        };
        let mut rule = Rule {
            name: format!("rule {number}"),
            place: self.line(&value.span()),
            regex: self.regex(expression)?,
            groups: Vec::new(),
            made: Vec::new(),
            skips: false,
        };
        for (key, span, value) in &all {
            match *key {
                "match" => {}
                "name" => rule.name = self.text(value, "a name")?.into(),
                "skip" => match value.get_ref() {
                    DeValue::Boolean(skips) => rule.skips = *skips,
                    _ => return self.expected(value, "true or false"),
                },
                _ => {
                    let made = self.made(self.field(key, span)?, value, &rule.regex, rules)?;
                    rule.made.push(made);
                }
            }
        }
        self.groups(&mut rule, expression)?;
        let named = rules.set.iter().any(|(field, _)| *field == Field::Operation);
        if !rule.skips && !named && !rule.sets(Field::Operation) {
            let help = "operation = \"fread\" says it, or a group (?<operation>...); skip = true leaves the lines out";
            return Err(self.error(&value.span(), format!("{} has no operation", rule.name), help));
        }
        Ok(rule)
    }

    fn regex(&self, value: &'t Spanned<DeValue<'t>>) -> Result<Regex> {
        let text = self.text(value, "a regular expression in ' '")?;
        // Lines are bytes: what is no UTF-8 matches, too.
        let built = RegexBuilder::new(text).unicode(false).size_limit(REGEX_MAX).build();
        built.map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            let why = last.strip_prefix("error: ").unwrap_or(last);
            let message = format!("expected a regular expression, found one that is none: {why}");
            self.error(&value.span(), message, "docs.rs/regex has its syntax")
        })
    }

    /// A field that is a text with `$group` in it.
    fn made(
        &self,
        field: Field,
        value: &'t Spanned<DeValue<'t>>,
        regex: &Regex,
        rules: &Rules,
    ) -> Result<(Field, Vec<Part>)> {
        let text = self.text(value, "a text")?;
        let group = |name: &str| regex.capture_names().position(|known| known == Some(name));
        let parts = parts(text, group).map_err(|name| {
            let message = format!("expected the name of a group behind $, found {name:?}");
            let names: Vec<&str> = regex.capture_names().flatten().collect();
            self.error(
                &value.span(),
                message,
                &format!("groups of the rule: {}; $$ is a dollar sign", names.join(", ")),
            )
        })?;
        if let (Field::Operation, [Part::Text(word)]) = (field, &parts[..])
            && !rules.words[field as usize].contains_key(word)
        {
            self.verb(value, text)?;
        }
        Ok((field, parts))
    }

    /// Named groups are fields, or parts of fields that the rule makes.
    fn groups(&self, rule: &mut Rule, expression: &Spanned<DeValue<'_>>) -> Result<()> {
        for (number, name) in rule.regex.capture_names().enumerate() {
            let Some(name) = name else { continue };
            let is_used = rule.made.iter().any(|(_, parts)| parts.contains(&Part::Group(number)));
            let field = field_of(name);
            match field {
                Some(field) if !rule.made.iter().any(|(made, _)| *made == field) => {
                    rule.groups.push((number, field));
                }
                _ if is_used || rule.skips || field.is_some() => {}
                _ => {
                    let message =
                        format!("group {name} is no field, and no text of the rule has ${name}");
                    let help = format!("fields: {}", Field::names());
                    return Err(self.error(&expression.span(), message, &help));
                }
            }
        }
        Ok(())
    }
}

impl Rule {
    fn sets(&self, field: Field) -> bool {
        self.groups.iter().any(|(_, group)| *group == field)
            || self.made.iter().any(|(made, _)| *made == field)
    }
}

/// The field of a group: `start`, or `start_2` in another branch of the expression.
fn field_of(group: &str) -> Option<Field> {
    let of_branch = || {
        let (stem, number) = group.rsplit_once('_')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| Field::find(stem))?
    };
    Field::find(group).or_else(of_branch)
}

/// `/data/$vol/${block}.blk` as parts; `Err`: a name of no group.
fn parts(
    text: &str,
    group: impl Fn(&str) -> Option<usize>,
) -> std::result::Result<Vec<Part>, &str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let push = |parts: &mut Vec<Part>, text: &str| match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text.as_bytes()),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Text(text.into())),
    };
    while let Some((before, after)) = rest.split_once('$') {
        push(&mut parts, before);
        if let Some(after) = after.strip_prefix('$') {
            push(&mut parts, "$");
            rest = after;
            continue;
        }
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let (name, after) = braced.unwrap_or_else(|| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()))
        });
        parts.push(Part::Group(group(name).ok_or(name)?));
        rest = after;
    }
    push(&mut parts, rest);
    Ok(parts)
}
