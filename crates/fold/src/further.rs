//! What a program does where its user raises a number of iterations: lists start again, and names of files that the
//! program makes, renames or removes go on, so that they stay different.
//!
//! ```text
//! param $count = 40; /// iterations over out/part-*; above 40 $sizes starts again, $numbers names further files
//! repeat $i $count {
//!     $n = $numbers[$i % len($numbers)] + ($i / len($numbers)) * 97;
//!     $file = fopen("out/part-$n", "O_WRONLY|O_CREAT");
//!     fwrite($file, $sizes[$i % len($sizes)]);
//! }
//! ```

use super::ranks::{Item, Spread, Value};
use super::regular::grouped;
use super::shape::Shaper;
use super::statement::{Arg, Statement};
use model::Op;
use model::op::NameEffect;
use model::open_flags::O_CREAT;
use std::collections::HashSet;

/// Values that follow the last one of a list when a user raises the number of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing: the program ends there with an error.
    Nothing,
    /// The values of the list again, from the first.
    Again,
    /// Values that the list does not have, a new one at each place.
    Others,
}

/// The expression for the value at a place, from the first value again beyond the last.
pub fn again(list: &str, place: &str) -> String {
    format!("{list}[{} % len({list})]", grouped(place))
}

/// The expression for the number of whole rounds through the list before a place.
pub fn rounds(list: &str, place: &str) -> String {
    format!("({} / len({list}))", grouped(place))
}

/// The expression for the text at a place; beyond the last one it ends with the number of the round.
pub fn other_text(list: &str, place: &str) -> String {
    let value = again(list, place);
    format!("{value} + ({place} < len({list}) ? \"\" : \"-\" + {} / len({list}))", grouped(place))
}

/// Distance between the numbers of two rounds through a list: large enough that all numbers differ.
pub fn span(values: &[i64]) -> i64 {
    let ends = values.iter().min().zip(values.iter().max());
    ends.map_or(1, |(least, most)| most.saturating_sub(*least).saturating_add(1))
}

/// Names that statements make, rename or remove, by their templates.
#[derive(Debug, Default)]
pub struct Changed {
    /// Templates of names that the program writes with their numbers.
    numbered: HashSet<u32>,
    /// Templates of names that the program reads from a list of names.
    named: HashSet<u32>,
    /// Parameters of procs that are numbers in such names: index of the body, name of the parameter.
    params: HashSet<(usize, String)>,
}

impl Changed {
    /// Collects them from the program (the first body) and its procs.
    pub fn find(bodies: &[&[Item]], shaper: &Shaper<'_>) -> Changed {
        let mut changed = Changed::default();
        let all =
            || bodies.iter().enumerate().flat_map(|(at, body)| body.iter().map(move |it| (at, it)));
        all().for_each(|(_, item)| {
            of_names(item, shaper, &mut |statement, arg, numbers| match arg {
                _ if !changes_names(statement) => {}
                Arg::Path(template) => drop(changed.numbered.insert(*template)),
                _ => {
                    let names = numbers.iter().flat_map(values);
                    changed.named.extend(names.map(|name| shaper.names.of[name as usize].0));
                }
            });
        });
        all().for_each(|(body, item)| {
            of_names(item, shaper, &mut |_, arg, numbers| {
                let is_changed = |template| changed.numbered.contains(template);
                if matches!(arg, Arg::Path(template) if is_changed(template)) {
                    let params = numbers.iter().filter_map(|number| match &number.base {
                        Value::Param(name) => Some((body, name.to_string())),
                        _ => None,
                    });
                    changed.params.extend(params);
                }
            });
        });
        changed
    }

    /// For a list of numbers in names of this template.
    pub fn beyond_numbers(&self, template: u32) -> Beyond {
        match (self.numbered.contains(&template), self.named.contains(&template)) {
            (_, true) => Beyond::Nothing,
            (true, false) => Beyond::Others,
            (false, false) => Beyond::Again,
        }
    }

    /// For a list of these names. Nothing for names that are changed elsewhere by their numbers: the two would not
    /// agree beyond the end.
    pub fn beyond_names(&self, names: &[i64], shaper: &Shaper<'_>) -> Beyond {
        let any = |templates: &HashSet<u32>| {
            let of = names.iter().map(|name| shaper.names.of[*name as usize].0);
            of.into_iter().any(|template| templates.contains(&template))
        };
        match (any(&self.numbered), any(&self.named)) {
            (true, _) => Beyond::Nothing,
            (false, true) => Beyond::Others,
            (false, false) => Beyond::Again,
        }
    }

    /// For a list of numbers that a call gives to a parameter of the proc.
    pub fn beyond_param(&self, proc: usize, name: &str) -> Beyond {
        match self.params.contains(&(proc + 1, name.to_string())) {
            true => Beyond::Others,
            false => Beyond::Again,
        }
    }
}

/// Looks at all names of statements, with the numbers in them.
fn of_names(item: &Item, shaper: &Shaper<'_>, look: &mut impl FnMut(&Statement, &Arg, &[Spread])) {
    if let Some(statement) = shaper.operation(item) {
        let all = statement.arguments(&item.numbers, &shaper.names);
        let names = all.filter(|(arg, _)| matches!(arg, Arg::Path(_) | Arg::Named));
        names.for_each(|(arg, own)| look(statement, arg, own));
    }
    item.body.iter().for_each(|item| of_names(item, shaper, look));
}

/// All values of a number.
fn values(number: &Spread) -> Vec<i64> {
    match (&number.list, &number.base) {
        (Some(list), _) => list.values.clone(),
        (None, Value::Same(value)) => vec![*value],
        (None, Value::Table(_, values)) => values.clone(),
        _ => Vec::new(),
    }
}

/// An operation that makes, renames or removes a name.
fn changes_names(statement: &Statement) -> bool {
    let makes = |arg: &Arg| matches!(arg, Arg::Flags(flags) if flags & O_CREAT != 0);
    let effects = statement.op.row().names;
    let opens = matches!(statement.op, Op::Fopen | Op::Pfopen) && statement.args.iter().any(makes);
    let changes = |effect: &NameEffect| {
        matches!(effect, NameEffect::Makes | NameEffect::MakesNew | NameEffect::Removes)
    };
    statement.errno == 0 && (opens || effects.iter().any(changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_behind_the_end_have_a_value() {
        assert_eq!(again("$sizes", "$i"), "$sizes[$i % len($sizes)]");
        assert_eq!(again("$sizes", "$i / 3"), "$sizes[($i / 3) % len($sizes)]");
        assert_eq!(rounds("$numbers", "$i"), "($i / len($numbers))");
        assert_eq!(
            other_text("$names", "$i"),
            "$names[$i % len($names)] + ($i < len($names) ? \"\" : \"-\" + $i / len($names))"
        );
    }

    #[test]
    fn no_value_comes_twice() {
        for values in [&[3, 1, 2][..], &[7], &[0, 100, 50], &[]] {
            let span = span(values);
            let mut all: Vec<i64> =
                (0..3).flat_map(|r| values.iter().map(move |v| v + r * span)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 3 * values.len(), "{values:?}");
        }
    }
}
