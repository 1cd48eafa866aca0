//! Lines of text -> fields, by the first rule that matches.

use super::field::Fields;
use super::{Part, Rows, Rule, Rules, Taken};
use crate::lines::Lines;
use regex::bytes::CaptureLocations;
use std::io;

/// The lines of a log and the rules for them.
pub struct Text<'r> {
    rules: &'r Rules,
    lines: Lines,
    /// Places of groups, for each rule: nothing is allocated per line.
    groups: Vec<CaptureLocations>,
}

impl<'r> Text<'r> {
    /// Reads `lines` by `rules`.
    pub fn new(rules: &'r Rules, lines: Lines) -> Text<'r> {
        let groups = rules.lines.iter().map(|rule| rule.regex.capture_locations()).collect();
        Text { rules, lines, groups }
    }
}

impl Rows for Text<'_> {
    fn next(&mut self, fields: &mut Fields) -> io::Result<Option<Taken>> {
        fields.clear();
        if !self.lines.advance()? {
            return Ok(None);
        }
        let taken = take(self.rules, self.lines.line(), &mut self.groups, fields);
        Ok(Some(taken))
    }

    fn number(&self) -> u64 {
        self.lines.number()
    }

    fn shown(&self) -> &[u8] {
        self.lines.line()
    }

    fn is_cut(&self) -> bool {
        self.lines.is_cut()
    }
}

/// Lets the first rule that matches fill the fields.
pub fn take(
    rules: &Rules,
    line: &[u8],
    groups: &mut [CaptureLocations],
    fields: &mut Fields,
) -> Taken {
    for (number, (rule, groups)) in rules.lines.iter().zip(groups).enumerate() {
        if rule.skips {
            if rule.regex.is_match(line) {
                return Taken::Skipped(number);
            }
        } else if rule.regex.captures_read(groups, line).is_some() {
            rule.fill(line, groups, fields);
            rules.translate(fields);
            return Taken::By(number);
        }
    }
    Taken::ByNone
}

impl Rule {
    fn fill(&self, line: &[u8], groups: &CaptureLocations, fields: &mut Fields) {
        let group =
            |number: usize| groups.get(number).map_or(&line[..0], |(start, end)| &line[start..end]);
        for (number, field) in &self.groups {
            // Of two groups for a field, in two branches, one is empty.
            if fields.get(*field).is_none() {
                fields.set(*field, group(*number));
            }
        }
        for (field, parts) in &self.made {
            let part = |part| match part {
                &Part::Group(number) => group(number),
                Part::Text(text) => &text[..],
            };
            fields.set_parts(*field, parts.iter().map(part));
        }
    }
}
