//! Names that are one of several, and variables for what stands in names.

use super::super::expr::{holds, place_in, quoted};
use super::super::ranks::{Spread, Value};
use super::{Lines, Writer, numbered};

impl Writer<'_> {
    /// An expression depends on a loop, or on what a proc is given.
    pub(super) fn is_local(&self, shown: &str) -> bool {
        self.loops.iter().any(|around| around.is_in(shown))
            || self.made.iter().any(|(name, _)| holds(shown, name))
    }

    /// A variable for an expression, which is made before its first use.
    pub(super) fn variable(&mut self, name: &str, shown: String, lines: &mut Lines) -> String {
        if let Some((name, _)) = self.made.iter().find(|(_, expression)| *expression == shown) {
            return name.clone();
        }
        let like = self.made.iter().filter(|(other, _)| {
            other.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        });
        let name = numbered(name, like.count());
        lines.push(format!("{name} = {shown};"));
        self.made.push((name.clone(), shown));
        name
    }

    /// One of several names, or one that is always the same.
    pub(super) fn named(&mut self, number: Option<&Spread>, lines: &mut Lines) -> String {
        let Some(number) = number else { return "\"\"".into() };
        if let Value::Param(name) = &number.base {
            return name.to_string();
        }
        let (ids, index) = self.choice(number);
        let names: Vec<String> = ids.iter().map(|id| quoted(self.shaper.path(*id))).collect();
        let Some(index) = index else { return format!("\"{}\"", names.concat()) };
        let directory = directory(&names);
        let names = names.iter().map(|name| name[directory.len()..].to_string()).collect();
        let known = self.names.iter().position(|other| *other == names);
        let at = known.unwrap_or_else(|| {
            self.names.push(names);
            self.names.len() - 1
        });
        let shown = format!("{}[{index}]", numbered("$names", at));
        if directory.is_empty() {
            return shown;
        }
        let name = self.variable("$name", shown, lines);
        format!("\"{directory}{name}\"")
    }

    /// Numbers of names, and the place among them of the one that is meant, if they are several.
    fn choice(&mut self, number: &Spread) -> (Vec<i64>, Option<String>) {
        if let Some(list) = &number.list
            && let Some(around) = self.loops.iter().rev().nth(list.depth)
        {
            return (list.values.clone(), Some(place_in(list, around, &mut self.tables)));
        }
        match &number.base {
            Value::Same(id) => (vec![*id], None),
            base => {
                let ids = (0..self.ranks).map(|rank| base.at(rank, self.ranks)).collect();
                (ids, Some("$$rank".into()))
            }
        }
    }
}

/// The directory that all names are below, with its slash.
fn directory(names: &[String]) -> String {
    let Some(first) = names.first() else { return String::new() };
    let same = |name: &String| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let common = names.iter().map(same).min().unwrap_or(0);
    let end = first.as_bytes()[..common].iter().rposition(|byte| *byte == b'/');
    first[..end.map_or(0, |end| end + 1)].to_string()
}
