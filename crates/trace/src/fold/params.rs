//! Numbers that rule several places become parameters.

use super::expr::{bytes, constant};
use super::ranks::{Form, Item};
use super::shape::{Arg, Shape};
use super::write::numbered;
use std::collections::HashMap;
use std::fmt::Write;

/// Most parameters of a kind.
const EACH_MAX: usize = 4;

/// Parameters of a program.
#[derive(Clone, Debug, Default)]
pub struct Params {
    counts: Vec<i64>,
    sizes: Vec<i64>,
}

/// A value and its uses, in order of first use.
#[derive(Default)]
struct Uses {
    order: Vec<i64>,
    times: HashMap<i64, u64>,
}

impl Uses {
    fn add(&mut self, value: i64, weight: u64) {
        let times = self.times.entry(value).or_insert_with(|| {
            self.order.push(value);
            0
        });
        *times += weight;
    }

    /// Those that are used most, twice at least, in order of first use.
    fn chosen(&self) -> Vec<i64> {
        let often = |value: &&i64| self.times[value] > 1;
        let mut best: Vec<i64> = self.order.iter().filter(often).copied().collect();
        best.sort_by_key(|value| std::cmp::Reverse(self.times[value]));
        best.truncate(EACH_MAX);
        self.order.iter().filter(|value| best.contains(value)).copied().collect()
    }
}

impl Params {
    /// Those of a program: its statements and those of its procs.
    pub fn of(bodies: &[&[Item]], shapes: &[Shape]) -> Params {
        let (mut counts, mut sizes) = (Uses::default(), Uses::default());
        let items = bodies.iter().copied().flatten();
        items.for_each(|item| collect(item, shapes, false, &mut counts, &mut sizes));
        Params { counts: counts.chosen(), sizes: sizes.chosen() }
    }

    /// The parameter that is this number of iterations.
    pub fn count(&self, value: i64) -> Option<String> {
        let at = self.counts.iter().position(|count| *count == value)?;
        Some(numbered("$count", at))
    }

    /// The parameter that is this number of bytes.
    pub fn size(&self, value: i64) -> Option<String> {
        let at = self.sizes.iter().position(|size| *size == value)?;
        Some(numbered("$size", at))
    }

    /// Their names and values.
    pub fn all(&self) -> Vec<(String, i64)> {
        let named = |name: &'static str, values: &[i64]| -> Vec<(String, i64)> {
            let named = |(at, value): (usize, &i64)| (numbered(name, at), *value);
            values.iter().enumerate().map(named).collect()
        };
        [named("$count", &self.counts), named("$size", &self.sizes)].concat()
    }

    /// Their definitions.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, count) in self.counts.iter().enumerate() {
            let name = numbered("$count", at);
            let _ = writeln!(text, "param {name} = {count}; /// iterations");
        }
        for (at, size) in self.sizes.iter().enumerate() {
            let (name, size) = (numbered("$size", at), bytes(*size));
            let _ = writeln!(text, "param {name} = {size}; /// bytes of one request");
        }
        text
    }
}

fn collect(item: &Item, shapes: &[Shape], in_loop: bool, counts: &mut Uses, sizes: &mut Uses) {
    // What a loop does often is worth a name, even in one place.
    let weight = 1 + u64::from(in_loop);
    let mut inside = in_loop;
    match &item.form {
        Form::Loop => {
            inside = true;
            constant(&item.numbers[0]).into_iter().for_each(|count| counts.add(count, 2));
        }
        Form::Leaf(shape) => {
            let Shape::Op(statement) = &shapes[*shape as usize] else { return };
            let bytes = statement.args.iter().filter(|arg| **arg == Arg::Bytes).count();
            let first = item.numbers.len().checked_sub(bytes).filter(|_| bytes > 0);
            let size = first.and_then(|at| constant(&item.numbers[at]));
            size.filter(|size| *size > 1).into_iter().for_each(|size| sizes.add(size, weight));
        }
        _ => {}
    }
    item.body.iter().for_each(|item| collect(item, shapes, inside, counts, sizes));
}
