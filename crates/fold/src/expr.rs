//! Numbers that depend on loops and ranks, as text of expressions.
//!
//! ```text
//! 64 + 4096 i + 16384 rank    with a size of 4096:    ($i + $$rank * 4) * $size + 64
//! ```

use super::further::{Beyond, again, rounds, span};
use super::lists::Tables;
use super::ranks::{Form, Item, Listed, Spread, Value};
use super::regular::{Regular, Written, ungrouped};
use std::collections::BTreeMap;

/// Units in which a statement's numbers may be expressed.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Its size in bytes, and how that is written.
    pub unit: Option<(i64, String)>,
    /// Number of ranks: `$$size` where numbers grow with the rank, too.
    pub ranks: i64,
}

/// A loop that is written: its variable runs from `start`.
#[derive(Clone, Debug)]
pub struct Loop {
    name: String,
    start: i64,
    used: bool,
    /// Number of iterations, if constant.
    pub count: Option<i64>,
    /// Variable that counts iterations over all executions, and the number of loops out where it starts.
    cursor: Option<(String, usize)>,
}

/// `$i`, `$j`, ... `$n2`
pub fn name_of_loop(depth: usize) -> String {
    let letter = char::from(b"ijklm"[depth % 5]);
    let round = depth / 5;
    if round == 0 { format!("${letter}") } else { format!("${letter}{}", round + 1) }
}

impl Loop {
    /// The variable begins so that most names hold it as it is.
    pub fn new(name: String, item: &Item) -> Loop {
        let mut uses = Uses::default();
        item.body.iter().for_each(|item| uses.collect(item, 0));
        let plain = uses.starts.get(&0).copied().unwrap_or(0);
        let best = uses.starts.into_iter().filter(|(start, count)| *start > 0 && *count > plain);
        let start =
            best.max_by_key(|(start, count)| (*count, -start)).map_or(0, |(start, _)| start);
        let further = item.body.iter().find_map(|item| running(item, 0));
        let cursor = further.map(|further| (String::new(), further));
        let count = constant(&item.numbers[0]);
        Loop { name, start, used: uses.any, count, cursor }
    }

    /// Its variable is used.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Variable that counts iterations over all executions, and the number of loops out where it starts.
    pub fn cursor(&mut self) -> Option<&mut (String, usize)> {
        self.cursor.as_mut()
    }

    /// The place of a list's value.
    fn place(&self, list: &Listed) -> &str {
        match &self.cursor {
            Some((cursor, _)) if list.root > list.depth => cursor,
            _ => &self.name,
        }
    }

    /// An expression holds its variable.
    pub fn is_in(&self, shown: &str) -> bool {
        let counts = self.cursor.as_ref().is_some_and(|(cursor, _)| holds(shown, cursor));
        counts || holds(shown, &self.name)
    }

    /// `repeat $i 10`, with a range where the variable does not begin at 0. `count`: as a number, if
    /// it is one.
    pub fn head(&self, shown: &str, count: Option<i64>) -> String {
        let Loop { name, start, used, .. } = self;
        let grouped = if shown.contains(' ') { format!("({shown})") } else { shown.to_string() };
        match count.and_then(|count| count.checked_add(*start)) {
            _ if !used => format!("repeat {shown}"),
            _ if *start == 0 => format!("repeat {name} {shown}"),
            Some(end) => format!("repeat {name} {start}..{end}"),
            None => format!("repeat {name} {start}..{start} + {grouped}"),
        }
    }
}

/// How the variable of a loop is used.
#[derive(Default)]
struct Uses {
    any: bool,
    /// Numbers of names that grow by one with this loop alone, by their first value.
    starts: BTreeMap<i64, usize>,
}

impl Uses {
    fn collect(&mut self, item: &Item, depth: usize) {
        for number in &item.numbers {
            let is_indexed = |list: &Listed| list.depth == depth && list.root == depth;
            if number.list.as_ref().is_some_and(is_indexed) {
                // An index of a list is the variable as it is.
                self.any = true;
                *self.starts.entry(0).or_default() += 1 << 20;
            }
            let is_zero = |step: &Value| *step == Value::Same(0);
            let step = number.steps.get(depth).filter(|step| !is_zero(step));
            self.any |= step.is_some();
            let others = number.steps.iter().filter(|step| !is_zero(step)).count();
            if let (Some(Value::Same(1)), 1, Value::Same(base)) = (step, others, &number.base) {
                *self.starts.entry(*base).or_default() += 1;
            }
        }
        let inner = depth + usize::from(item.form == Form::Loop);
        item.body.iter().for_each(|item| self.collect(item, inner));
    }
}

/// An expression holds this variable.
pub fn holds(shown: &str, name: &str) -> bool {
    shown.match_indices(name).any(|(at, name)| {
        let next = shown.as_bytes().get(at + name.len());
        !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    })
}

/// How many loops further out a list begins whose values are counted over executions of this loop.
fn running(item: &Item, depth: usize) -> Option<usize> {
    let lists = item.numbers.iter().filter_map(|number| number.list.as_ref());
    let mut own = lists.filter(|list| list.depth == depth && list.root > depth);
    let inner = depth + usize::from(item.form == Form::Loop);
    own.next()
        .map(|list| list.root - depth)
        .or_else(|| item.body.iter().find_map(|item| running(item, inner)))
}

/// A sum of a constant and of terms with integer factors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    constant: i64,
    terms: Vec<(i64, String)>,
}

impl Linear {
    /// Its value, if nothing varies.
    pub fn constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The variable that it is.
    pub fn variable(&self) -> Option<&str> {
        match (self.constant, &self.terms[..]) {
            (0, [(1, atom)]) if !atom.contains([' ', '[']) => Some(atom.as_str()),
            _ => None,
        }
    }

    fn add(&mut self, factor: i64, atom: &str) {
        if factor != 0 {
            match self.terms.iter_mut().find(|term| term.1 == atom) {
                Some(term) => term.0 += factor,
                None => self.terms.push((factor, atom.to_string())),
            }
        }
    }

    /// Adds a value of ranks; `tables` takes lists.
    pub fn add_value(&mut self, value: &Value, tables: &mut Tables) {
        match value {
            Value::Same(value) => self.constant += value,
            Value::Param(name) => self.add(1, name),
            Value::Affine { base, step } => {
                self.constant += base;
                self.add(*step, "$$rank");
            }
            Value::Shifted { base, step, shift } => {
                self.constant += base;
                self.add(*step, &format!("(($$rank + {shift}) % $$size)"));
            }
            Value::Grid { base, outer, inner, width } => {
                self.constant += base;
                self.add(*outer, &format!("($$rank / {width})"));
                self.add(*inner, &format!("($$rank % {width})"));
            }
            Value::Table(ranks, values) => {
                tables.hold_by_rank();
                let index = index(ranks, tables);
                let list = tables.name(values.clone());
                self.add(1, &format!("{list}[{}]", ungrouped(&index)));
            }
        }
    }

    /// Adds growth with the index of a loop.
    pub fn add_index(&mut self, step: i64, around: &Loop) {
        self.constant -= step * around.start;
        self.add(step, &around.name);
    }

    /// Adds what a list has for the index of a loop, which runs from 0; `unit` divides all values. Returns
    /// the name of a list that has a value for each iteration, and what the program reads beyond its end.
    pub fn add_list(
        &mut self,
        list: &Listed,
        around: &Loop,
        (unit, beyond): (i64, Beyond),
        tables: &mut Tables,
    ) -> Option<(String, Beyond)> {
        let index = place_in(list, around, tables);
        let values = list.values.iter().map(|value| value / unit).collect();
        match Written::shortest(values, &index) {
            Written::Sum { constant, factor, place } => {
                self.constant += constant * unit;
                self.add(factor * unit, &place);
                None
            }
            Written::List(Regular { values, place }) => {
                if list.rows.is_some() {
                    tables.hold_by_rank();
                }
                let span = span(&values);
                let list = tables.name(values).to_string();
                if place.contains('%') {
                    self.add(unit, &format!("{list}[{}]", ungrouped(&place)));
                    return None;
                }
                match beyond {
                    Beyond::Nothing => self.add(unit, &format!("{list}[{}]", ungrouped(&place))),
                    Beyond::Again | Beyond::Others => self.add(unit, &again(&list, &place)),
                }
                if beyond == Beyond::Others {
                    self.add(unit * span, &rounds(&list, &place));
                }
                Some((list, beyond))
            }
        }
    }

    /// Splits off the terms that are multiples of a size parameter; the rest has no leading sign.
    fn divided(&self, sizes: &Sizes) -> Option<(Linear, Linear)> {
        let (unit, _) = sizes.unit.as_ref().filter(|(_, text)| text.starts_with('$'))?;
        let (whole, rest): (Vec<_>, Vec<_>) =
            self.terms.iter().cloned().partition(|(factor, _)| factor % unit == 0);
        let whole = Linear { constant: 0, terms: whole };
        let rest = Linear { constant: self.constant, terms: rest };
        let follows = rest.constant >= 0 && rest.terms.iter().all(|(factor, _)| *factor > 0);
        (!whole.terms.is_empty() && rest != Linear::default() && follows).then_some((whole, rest))
    }

    /// Adds the product of an expression and the index of a loop, which runs from 0.
    pub fn add_product(&mut self, factor: &str, around: &Loop) {
        self.add(1, &format!("({factor}) * {}", around.name));
    }

    /// Its text as a duration, where it counts nanoseconds.
    pub fn duration(&self, ranks: i64) -> String {
        let text = |unit: i64, name: &str| {
            self.text(&Sizes { unit: Some((unit, format!("1{name}"))), ranks }, false)
        };
        match (self.constant, &self.terms[..]) {
            (ns, []) => exact_duration(ns),
            (0, [(factor, atom)]) if *factor > 1000 => {
                format!("{atom} * {}", exact_duration(*factor))
            }
            _ if self.is_multiple_of(1000) => text(1000, "us"),
            _ => text(1, "ns"),
        }
    }

    fn is_multiple_of(&self, unit: i64) -> bool {
        self.constant % unit == 0 && self.terms.iter().all(|term| term.0 % unit == 0)
    }

    /// Its text. Bytes have suffixes; where the statement's size divides all, it is a factor.
    pub fn text(&self, sizes: &Sizes, as_bytes: bool) -> String {
        if let Some((unit, text)) = &sizes.unit
            && !self.terms.is_empty()
            && self.is_multiple_of(*unit)
        {
            let terms = self.terms.iter().map(|(factor, atom)| (factor / unit, atom.clone()));
            let rest = Linear { constant: self.constant / unit, terms: terms.collect() };
            let shown = rest.text(&Sizes { unit: None, ranks: sizes.ranks }, false);
            let is_sum = rest.terms.len() + usize::from(rest.constant != 0) > 1;
            let shown = match &rest.terms[..] {
                _ if is_sum => format!("({shown})"),
                [(1, atom)] => atom.clone(),
                _ => shown,
            };
            return format!("{shown} * {text}");
        }
        if let Some((whole, rest)) = self.divided(sizes) {
            let whole = whole.text(sizes, as_bytes);
            return format!("{whole} + {}", rest.text(&Sizes { unit: None, ..*sizes }, as_bytes));
        }
        let has_rank =
            self.terms.iter().any(|(factor, atom)| *factor == 1 && atom.contains("$$rank"));
        let constant = |number: i64| if as_bytes { bytes(number) } else { number.to_string() };
        let is_ranks = |number: i64| !as_bytes && has_rank && number == sizes.ranks && number > 1;
        let number =
            |number: i64| if is_ranks(number) { "$$size".into() } else { constant(number) };
        if let [(1, atom)] = &self.terms[..]
            && self.constant == 0
            && let Some(inner) = atom.strip_prefix('(').and_then(|atom| atom.strip_suffix(')'))
            && !inner.contains(['*', '/'])
        {
            return inner.to_string();
        }
        let terms = self.terms.iter().map(|(factor, atom)| match factor.unsigned_abs() {
            1 => (*factor < 0, atom.clone()),
            _ => (*factor < 0, format!("{atom} * {}", number(factor.saturating_abs()))),
        });
        let mut terms: Vec<(bool, String)> = terms.collect();
        if self.constant != 0 || terms.is_empty() {
            terms.push((self.constant < 0, constant(self.constant.saturating_abs())));
        }
        // A sum does not begin with a sign if it need not.
        terms.sort_by_key(|(is_negative, _)| *is_negative);
        let (is_negative, first) = &terms[0];
        let mut text = if *is_negative { format!("-{first}") } else { first.clone() };
        for (is_negative, term) in &terms[1..] {
            text.push_str(if *is_negative { " - " } else { " + " });
            text.push_str(term);
        }
        text
    }
}

/// The place of a list's value in this iteration, and on this rank.
pub fn place_in(list: &Listed, around: &Loop, tables: &mut Tables) -> String {
    let place = around.place(list);
    let Some(rows) = &list.rows else { return place.to_string() };
    let row = index(&rows.ranks, tables);
    match rows.distance() {
        Some(distance) => format!("{row} * {distance} + {place}"),
        None => {
            tables.hold_by_rank();
            let starts = tables.name(rows.starts.clone());
            format!("{starts}[{}] + {place}", ungrouped(&row))
        }
    }
}

/// The number of this rank among some, from 0.
pub fn index(ranks: &[u32], tables: &mut Tables) -> String {
    let (first, last) = (ranks[0], ranks[ranks.len() - 1]);
    match last - first + 1 == ranks.len() as u32 {
        true if first == 0 => "$$rank".into(),
        true => format!("($$rank - {first})"),
        false => {
            let mut numbers = vec![0; (last + 1) as usize];
            (0..).zip(ranks).for_each(|(number, rank)| numbers[*rank as usize] = number);
            format!("{}[$$rank]", tables.name(numbers))
        }
    }
}

/// The value of a number that is the same everywhere.
pub fn constant(number: &Spread) -> Option<i64> {
    match number.base {
        _ if number.list.is_some() => None,
        Value::Same(base) if number.steps.iter().all(|step| *step == Value::Same(0)) => Some(base),
        _ => None,
    }
}

/// `30ms`, `12345us`
fn exact_duration(ns: i64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.iter().find(|(unit, _)| ns % unit == 0) {
        Some((unit, name)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

/// `4k`, `64m`, `100`
pub fn bytes(bytes: i64) -> String {
    let units = [(1i64 << 40, 't'), (1 << 30, 'g'), (1 << 20, 'm'), (1 << 10, 'k')];
    match units.iter().find(|(unit, _)| bytes != 0 && bytes % unit == 0) {
        Some((unit, letter)) => format!("{}{letter}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Values of a list; if most of them are multiples of 1 KiB, with suffixes.
pub fn listed(values: &[i64]) -> Vec<String> {
    let some = values.iter().filter(|value| **value != 0);
    let even = some.clone().filter(|value| *value % 1024 == 0).count();
    let shown = if 2 * even > some.count() { bytes } else { |value: i64| value.to_string() };
    values.iter().map(|value| shown(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_written_as_people_write_them() {
        let around =
            |start| Loop { name: "$i".into(), start, used: true, count: None, cursor: None };
        let unit = Sizes { unit: Some((4096, "$size".into())), ranks: 4 };
        let mut tables = Tables::default();
        let mut linear = Linear::default();
        linear.add_index(16384, &around(0));
        linear.add_value(&Value::Affine { base: 0, step: 4096 }, &mut tables);
        assert_eq!(linear.text(&unit, true), "($i * $$size + $$rank) * $size");
        assert_eq!(linear.text(&Sizes::default(), true), "$i * 16k + $$rank * 4k");
        let ring = Linear { constant: 0, terms: vec![(4096, "($i % 16)".into())] };
        assert_eq!(ring.text(&unit, true), "($i % 16) * $size");
        let mut linear = Linear::default();
        linear.add_value(&Value::Same(7), &mut tables);
        linear.add_index(1, &around(1));
        assert_eq!(linear.text(&unit, false), "$i + 6");
        let mut linear = Linear::default();
        linear.add_value(&Value::Affine { base: 3, step: -1 }, &mut tables);
        assert_eq!(linear.text(&Sizes::default(), false), "3 - $$rank");
        let mut linear = Linear::default();
        linear.add_value(&Value::Table([0, 1].into(), vec![4, 9]), &mut tables);
        assert_eq!(linear.text(&Sizes::default(), false), "$values[$$rank]");
        assert_eq!(linear.duration(4), "$values[$$rank] * 1ns");
        assert_eq!(tables.all().collect::<Vec<_>>(), [("$values", &vec![4, 9])]);
        let mut linear = Linear::default();
        linear.add_value(&Value::Affine { base: 0, step: 1_880_000 }, &mut tables);
        assert_eq!(linear.duration(4), "$$rank * 1880us");
        linear.constant = 3_000;
        assert_eq!(linear.duration(4), "($$rank * 1880 + 3) * 1us");
    }

    #[test]
    fn ranges_begin_where_names_do() {
        let loop_of =
            |start, used| Loop { name: "$i".into(), start, used, count: None, cursor: None };
        for (around, shown, count, expected) in [
            (loop_of(0, true), "10", Some(10), "repeat $i 10"),
            (loop_of(0, false), "$count", None, "repeat $count"),
            (loop_of(1, true), "10", Some(10), "repeat $i 1..11"),
            (loop_of(1, true), "$count", None, "repeat $i 1..1 + $count"),
        ] {
            assert_eq!(around.head(shown, count), expected);
        }
    }

    #[test]
    fn texts_and_sizes_are_read_back() {
        assert_eq!(
            (bytes(0), bytes(4096), bytes(3 << 20), bytes(1000)),
            ("0".into(), "4k".into(), "3m".into(), "1000".into())
        );
    }
}
