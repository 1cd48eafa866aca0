//! Numbers that several statements share become parameters: `$count` for iterations, `$size` for bytes.

use super::expr::{bytes, constant};
use super::ranks::{Form, Item};
use super::shape::Shaper;
use super::statement::{Arg, Shape, Statement};
use super::tables::numbered;
use model::Op;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Most parameters of each kind.
const EACH_MAX: usize = 4;
/// Smallest number of iterations that becomes a parameter.
const COUNT_MIN: i64 = 8;
/// Smallest number of bytes that becomes a parameter.
const SIZE_MIN: i64 = 64;

/// Parameters of a program.
#[derive(Clone, Debug, Default)]
pub struct Params {
    counts: Vec<i64>,
    sizes: Vec<i64>,
    /// Lists that have a value for each iteration, by value of the count.
    bound: HashMap<i64, BTreeSet<String>>,
}

/// How often each number is used, in order of the first use.
#[derive(Default)]
struct Uses(Vec<(i64, u64)>);

impl Uses {
    fn add(&mut self, value: i64, times: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == value) {
            Some((_, known)) => *known += times,
            None => self.0.push((value, times)),
        }
    }

    /// The numbers used most, in order of their first use.
    fn most_used(self) -> Vec<i64> {
        let mut times: Vec<u64> = self.0.iter().map(|(_, times)| *times).collect();
        times.sort_unstable_by_key(|times| Reverse(*times));
        let least = times.get(EACH_MAX - 1).map_or(2, |least| 2.max(*least));
        let often = self.0.into_iter().filter(|(_, times)| *times >= least);
        often.map(|(value, _)| value).take(EACH_MAX).collect()
    }
}

impl Params {
    /// Chooses the parameters of a program and its procs.
    pub fn choose(bodies: &[&[Item]], shaper: &Shaper<'_>) -> Params {
        let (mut counts, mut sizes) = (Uses::default(), Uses::default());
        for item in bodies.iter().copied().flatten() {
            collect(item, shaper, false, &mut counts, &mut sizes);
        }
        let (counts, sizes) = (counts.most_used(), sizes.most_used());
        Params { counts, sizes, bound: HashMap::new() }
    }

    /// The parameter for this number of iterations.
    pub fn count(&self, value: i64) -> Option<String> {
        let at = self.counts.iter().position(|count| *count == value)?;
        Some(numbered("$count", at))
    }

    /// The parameter for this number of bytes.
    pub fn size(&self, value: i64) -> Option<String> {
        let at = self.sizes.iter().position(|size| *size == value)?;
        Some(numbered("$size", at))
    }

    /// Remembers that a list has a value for each of `count` iterations.
    pub fn bind(&mut self, count: i64, list: &str) {
        if self.counts.contains(&count) {
            self.bound.entry(count).or_default().insert(list.into());
        }
    }

    /// Definitions with their documentation.
    pub fn definitions(&self) -> String {
        let mut text = String::new();
        for (at, count) in self.counts.iter().enumerate() {
            let bound = self.bound.get(count).map_or(String::new(), |lists| {
                let ends = if lists.len() > 1 { "s" } else { "" };
                let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
                format!(", at most {count}: the length{ends} of {}", lists.join(", "))
            });
            let name = numbered("$count", at);
            let _ = writeln!(text, "param {name} = {count}; /// iterations{bound}");
        }
        for (at, size) in self.sizes.iter().enumerate() {
            let name = numbered("$size", at);
            let _ = writeln!(text, "param {name} = {}; /// bytes", bytes(*size));
        }
        text
    }
}

fn collect(item: &Item, shaper: &Shaper<'_>, in_loop: bool, counts: &mut Uses, sizes: &mut Uses) {
    match &item.form {
        Form::Loop => {
            let count = constant(&item.numbers[0]).filter(|count| *count >= COUNT_MIN);
            count.into_iter().for_each(|count| counts.add(count, 2));
        }
        Form::Leaf(shape) => {
            if let Shape::Op(statement) = &shaper.shapes.all[*shape as usize]
                && let Some(size) = size_of(item, statement)
            {
                // A size used in a loop is worth a name even in one place.
                sizes.add(size, 1 + u64::from(in_loop));
            }
        }
        _ => {}
    }
    let inside = in_loop || item.form == Form::Loop;
    item.body.iter().for_each(|item| collect(item, shaper, inside, counts, sizes));
}

/// Bytes that a statement moves, if constant and not small. The number of a seek is an offset.
fn size_of(item: &Item, statement: &Statement) -> Option<i64> {
    let is_bytes = |arg: &&Arg| matches!(arg, Arg::Bytes | Arg::Keyed(_));
    let bytes = statement.args.iter().filter(is_bytes).count();
    let first = item.numbers.len().checked_sub(bytes).filter(|_| bytes > 0)?;
    let size = constant(&item.numbers[first])?;
    (statement.op != Op::Fseek && size >= SIZE_MIN).then_some(size)
}
