//! Amounts of work that differ: known exactly and said first, because a ratio of times means little without
//! them.

use super::quantities::{Key, Samples, Work};
use super::sentences::{figure, subject};
use crate::rows;
use model::op::Class;
use model::units::format_bytes;
use serde::Serialize;
use std::collections::BTreeMap;

/// An operation that does another amount of work in B than in A, the same in every execution of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Amount {
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words, `block=4k`; "" if nothing varies.
    #[serde(skip)]
    pub point: String,
    /// Names and values of what varies.
    #[serde(rename = "point")]
    pub params: BTreeMap<String, String>,
    /// Calls of A in one execution.
    pub base_calls: u64,
    /// Calls of B.
    pub new_calls: u64,
    /// Bytes of A in one execution.
    pub base_bytes: u64,
    /// Bytes of B.
    pub new_bytes: u64,
    /// The difference in words.
    pub sentence: String,
}

/// All of them, in order of appearance.
pub(crate) fn amounts(
    a: &Samples,
    b: &Samples,
    place: impl Fn(u32) -> (String, BTreeMap<String, String>),
) -> Vec<Amount> {
    let differing = |key: &Key| {
        let (base, new) = (work(a, key)?, work(b, key)?);
        (base != new).then(|| amount(key, base, new, place(key.2)))
    };
    let only_b = b.keys().filter(|key| !a.knows(key));
    let all = a.keys().chain(only_b).filter(|key| !key.1.is_empty());
    all.filter_map(differing).collect()
}

/// The work of a side; nothing where it executed the label without the operation.
fn work(side: &Samples, key: &Key) -> Option<Work> {
    let label = (key.0.clone(), String::new(), key.2);
    match side.knows(key) {
        true => side.fixed_work(key),
        false => side.knows(&label).then(Work::default),
    }
}

fn amount(
    (label, op, cell): &Key,
    base: Work,
    new: Work,
    (point, params): (String, BTreeMap<String, String>),
) -> Amount {
    let said = phrase(op, base, new);
    Amount {
        sentence: format!("{}: B {said}", subject(label, op, &point)),
        label: label.clone(),
        op: op.clone(),
        cell: *cell,
        point,
        params,
        base_calls: base.calls,
        new_calls: new.calls,
        base_bytes: base.bytes,
        new_bytes: new.bytes,
    }
}

impl Amount {
    /// `reads 3.0x as much (30 MiB, A 10 MiB)`; without the amounts if it `is_short`.
    pub(crate) fn phrase(&self, is_short: bool) -> String {
        let base = Work { calls: self.base_calls, bytes: self.base_bytes };
        let said = phrase(&self.op, base, Work { calls: self.new_calls, bytes: self.new_bytes });
        let end = said.find(" (").filter(|_| is_short).unwrap_or(said.len());
        said[..end].to_string()
    }
}

fn phrase(op: &str, base: Work, new: Work) -> String {
    let of_bytes = base.bytes != new.bytes;
    let (before, after) = if of_bytes { (base.bytes, new.bytes) } else { (base.calls, new.calls) };
    let more = more(before, after, of_bytes);
    match rows::class(op) {
        _ if !of_bytes && after == 0 => format!("makes no {op} calls (A {before})"),
        _ if !of_bytes => format!("makes {more} {op} calls ({after}, A {before})"),
        class => {
            let verb = match class {
                Class::Read => "reads",
                Class::Write => "writes",
                _ => "moves",
            };
            format!("{verb} {more} ({}, A {})", format_bytes(after), format_bytes(before))
        }
    }
}

/// `3.0x as much`, `5 % more`, `20 % less`.
fn more(before: u64, after: u64, of_bytes: bool) -> String {
    let ratio = after as f64 / before as f64;
    let (as_much, less) = if of_bytes { ("as much", "less") } else { ("as many", "fewer") };
    let per_cent = |share: f64| match share * 100.0 {
        share if share < 0.1 => "slightly".to_string(),
        share if share < 10.0 => format!("{share:.1} %").replace(".0 %", " %"),
        share => format!("{share:.0} %"),
    };
    match ratio {
        _ if before == 0 => "more".into(),
        _ if after == 0 => "nothing".into(),
        ratio if !(0.67..1.5).contains(&ratio) => format!("{}x {as_much}", figure(ratio)),
        ratio if ratio > 1.0 => format!("{} more", per_cent(ratio - 1.0)),
        ratio => format!("{} {less}", per_cent(1.0 - ratio)),
    }
}
