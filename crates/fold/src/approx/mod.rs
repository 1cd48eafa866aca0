//! A shorter program that does nearly the same: numbers within a bound become one, sequences that follow
//! no rule become distributions, parts that some iterations leave out are drawn.
//!
//! ```text
//! repeat $i 400 fread($f, $values[$i], $values2[$i])     -> repeat 400 fread($f, 4k, rand(0, 99) * 4k)
//! if ($values[$i] == 1) read(..) if ($values2[$i] == 1) write(..)   -> mix { 3: read(..) 1: write(..) }
//! ```
//!
//! Only bytes and numbers of iterations are changed, never names. What the program does then is
//! counted by who executes it.

mod draw;
mod mix;
mod wild;

use super::alike::{NumberKind, kinds};
use super::ranks::{Form, Item, Listed, Spread, Value};
use super::regular::gcd;
use super::shape::{Shape, Shaper};
pub use draw::Draw;
use model::Op;
use std::collections::HashMap;
pub use wild::Near;

/// What was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Lists that became one number, or numbers that grow evenly.
    pub numbers: u64,
    /// Lists that became distributions.
    pub distributions: u64,
    /// Parts that some iterations left out, and that are drawn now.
    pub choices: u64,
}

impl Changes {
    /// In words; `None`: nothing.
    pub fn shown(self) -> Option<String> {
        let all = [
            (self.numbers, "lists became numbers"),
            (self.distributions, "lists became distributions"),
            (self.choices, "parts are drawn"),
        ];
        let shown = all.iter().filter(|(count, _)| *count > 0);
        let shown: Vec<String> = shown.map(|(count, what)| format!("{count} {what}")).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

/// How far a program may be from its log.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// How far numbers may be from what they are, as a share.
    pub share: f64,
    /// Each operation comes as often as in the log.
    pub steady: bool,
}

/// Makes a program shorter.
pub fn shorten(items: &mut Vec<Item>, shaper: &Shaper<'_>, bound: Bound) -> Changes {
    let mut changes = Changes::default();
    for item in items.iter_mut() {
        shorten(&mut item.body, shaper, bound).add_to(&mut changes);
        if item.form == Form::Loop && bound.steady {
            continue;
        }
        let roles = roles(item, shaper);
        for (number, role) in item.numbers.iter_mut().zip(roles) {
            change(number, role, bound.share, &mut changes);
        }
    }
    if !bound.steady {
        changes.choices += mix::mixed(items, shaper, bound.share);
    }
    changes
}

impl Changes {
    fn add_to(self, all: &mut Changes) {
        all.numbers += self.numbers;
        all.distributions += self.distributions;
        all.choices += self.choices;
    }
}

/// What a number may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Bytes of a transfer.
    Size,
    /// Where a transfer begins.
    Place,
    /// Iterations, or other bytes.
    Other,
    /// It stays.
    Name,
}

fn roles(item: &Item, shaper: &Shaper<'_>) -> Vec<Role> {
    let Form::Leaf(shape) = &item.form else {
        let role = if item.form == Form::Loop { Role::Other } else { Role::Name };
        return vec![role; item.numbers.len()];
    };
    let shape = &shaper.shapes.all[*shape as usize];
    let Shape::Op(statement) = shape else { return vec![Role::Name; item.numbers.len()] };
    let mut bytes = [Role::Size, Role::Place].into_iter();
    let transfers = [Op::Fread, Op::Fwrite, Op::Readv, Op::Writev, Op::Read, Op::Write, Op::Append];
    let role = |kind: NumberKind| match kind {
        NumberKind::Bytes if transfers.contains(&statement.op) => {
            bytes.next().unwrap_or(Role::Other)
        }
        NumberKind::Bytes => Role::Other,
        NumberKind::Count | NumberKind::Name => Role::Name,
    };
    kinds(shape, &shaper.names).into_iter().map(role).collect()
}

fn change(number: &mut Spread, role: Role, bound: f64, changes: &mut Changes) {
    if role == Role::Name {
        return;
    }
    for value in std::iter::once(&mut number.base).chain(&mut number.steps) {
        if let Value::Table(_, values) = value
            && let Some(one) = one(values, bound)
        {
            *value = Value::Same(one);
            changes.numbers += 1;
        }
    }
    let is_alone =
        number.base == Value::Same(0) && number.steps.iter().all(|step| *step == Value::Same(0));
    let Some(list) = number.list.take_if(|_| is_alone) else { return };
    if let Some(one) = one(&list.values, bound) {
        number.base = Value::Same(one);
        changes.numbers += 1;
    } else if let Some((base, step)) = even(&list, bound) {
        number.base = Value::Same(base);
        number.steps[list.depth] = Value::Same(step);
        changes.numbers += 1;
    } else if let Some((drawn, base, unit)) = drawn(&list, role, bound) {
        number.base = Value::Same(base);
        number.list = Some(Listed::drawn(drawn, unit, list.depth));
        changes.distributions += 1;
    } else {
        number.list = Some(list);
    }
}

/// The number that all are within the bound of: the most frequent one, else the mean.
fn one(values: &[i64], bound: f64) -> Option<i64> {
    let mut times: HashMap<i64, usize> = HashMap::new();
    values.iter().for_each(|value| *times.entry(*value).or_default() += 1);
    let most = times.iter().max_by_key(|(value, times)| (**times, **value))?;
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
    let often = (2 * *most.1 > values.len()).then_some(*most.0);
    let is_near = |one: &i64| values.iter().all(|value| near(*value, *one, bound));
    often.into_iter().chain([mean.round() as i64]).find(is_near)
}

fn near(value: i64, other: i64, bound: f64) -> bool {
    (value as f64 - other as f64).abs() <= bound * (value as f64).abs()
}

/// Base and step of numbers that grow with the iterations of their loop, nearly evenly.
fn even(list: &Listed, bound: f64) -> Option<(i64, i64)> {
    let values = &list.values;
    if list.rows.is_some() || list.root != list.depth || values.len() < 3 {
        return None;
    }
    let last = values.len() as i64 - 1;
    let step =
        (values[values.len() - 1].checked_sub(values[0])? as f64 / last as f64).round() as i64;
    let grown = |at: i64| values[0].checked_add(step.checked_mul(at)?);
    let close = |(at, value): (i64, &i64)| {
        grown(at).is_some_and(|grown| {
            near(*value, grown, bound) || (value - grown).abs() as f64 <= bound * step.abs() as f64
        })
    };
    let is_even = step != 0 && (0..).zip(values).all(close);
    is_even.then_some((values[0], step))
}

/// The distribution of a list, what is added to it, and what it is multiplied by.
fn drawn(list: &Listed, role: Role, bound: f64) -> Option<(Draw, i64, i64)> {
    match role {
        Role::Size => draw::sizes(&list.values, bound).map(|(draw, unit)| (draw, 0, unit)),
        Role::Place if jumps(&list.values) => {
            let first = list.values.iter().copied().min()?;
            let from_first: Option<Vec<i64>> =
                list.values.iter().map(|value| value.checked_sub(first)).collect();
            let from_first = from_first?;
            permuted(list, &from_first)
                .or_else(|| draw::places(&from_first))
                .map(|(draw, unit)| draw.moved(first, unit))
        }
        Role::Place | Role::Other | Role::Name => None,
    }
}

/// Places go back in more than a quarter of the steps, as random ones do in half of them: a file that is
/// written on and on, with gaps of any size, is not accessed at random.
fn jumps<T: PartialOrd>(places: &[T]) -> bool {
    let back = places.windows(2).filter(|pair| pair[1] < pair[0]).count();
    back * 4 > places.len()
}

/// Every place comes once in the iterations of the loop, on every rank.
fn permuted(list: &Listed, places: &[i64]) -> Option<(Draw, i64)> {
    let (rows, row) = match &list.rows {
        Some(rows) => (rows.starts.len(), rows.distance()? as usize),
        None => (1, places.len()),
    };
    if list.root != list.depth || row < 3 || places.len() != rows * row {
        return None;
    }
    let unit = places.iter().fold(0, |unit, place| gcd(unit, *place)).max(1);
    let all = places.chunks(row).all(|row| {
        let mut sorted: Vec<i64> = row.iter().map(|place| place / unit).collect();
        sorted.sort_unstable();
        sorted.iter().zip(0..).all(|(place, at)| *place == at)
    });
    let by_rank = list.rows.is_some();
    all.then_some((Draw::Perm { number: row as i64, by_rank }, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[i64]) -> Spread {
        let list = Listed { depth: 0, root: 0, values: values.to_vec(), rows: None, drawn: None };
        Spread { base: Value::Same(0), steps: vec![Value::Same(0)], list: Some(list) }
    }

    fn changed(values: &[i64], role: Role) -> (Value, Value, Option<Draw>) {
        let mut number = list(values);
        change(&mut number, role, 0.02, &mut Changes::default());
        let drawn = number.list.and_then(|list| list.drawn).map(|(draw, _)| draw);
        (number.base, number.steps[0].clone(), drawn)
    }

    #[test]
    fn numbers_within_the_bound_become_one_or_grow_evenly() {
        let same = |value| Value::Same(value);
        assert_eq!(changed(&[1000, 1010, 1000], Role::Size), (same(1000), same(0), None));
        assert_eq!(changed(&[1000, 1012, 1006], Role::Other), (same(1006), same(0), None));
        assert_eq!(changed(&[0, 1002, 2001, 3000], Role::Place), (same(0), same(1000), None));
        // Beyond it.
        assert_eq!(changed(&[1000, 1100, 1000], Role::Size), (same(0), same(0), None));
        assert_eq!(changed(&[7, 7, 7], Role::Name), (same(0), same(0), None));
    }

    #[test]
    fn places_that_come_once_each_are_a_permutation() {
        let places: Vec<i64> = [3, 1, 0, 2, 4].map(|at| 100 + at * 4096).to_vec();
        let drawn = Draw::Perm { number: 5, by_rank: false };
        assert_eq!(changed(&places, Role::Place), (Value::Same(100), Value::Same(0), Some(drawn)));
    }
}
