//! Parabench against raw loops, in pairs: raw, Parabench, raw, Parabench ...

use crate::Result;
use crate::cases::{Case, DATA, METADATA};
use crate::figure::{Figure, Goal, lower_quartile, median, range, three};
use crate::product::Scratch;
use crate::raw::Timed;
use std::collections::HashMap;

/// Pairs that count; one more goes before them to warm up.
const PAIRS: usize = 15;
/// As many where the goal is five percent: the median of 15 pairs scatters by one or two.
const MANY_PAIRS: usize = 45;

/// Nanoseconds per operation of every label, pair by pair.
type Series = HashMap<&'static str, Vec<f64>>;

/// pread and pwrite.
pub fn data(place: &Scratch) -> Result<Vec<Figure>> {
    compare(place, &DATA, &Variant { raw: &["data"], ..PLAIN })
}

/// create, stat, open-write-close, delete.
pub fn metadata(place: &Scratch) -> Result<Vec<Figure>> {
    compare(place, &METADATA, &Variant { raw: &["metadata"], pairs: MANY_PAIRS, ..PLAIN })
}

/// The same with the event table.
pub fn events(place: &Scratch) -> Result<Vec<Figure>> {
    let name = ", with events";
    let args = &["--events"];
    let goal = Some(0.85);
    let mut figures =
        compare(place, &DATA, &Variant { name, raw: &["data"], args, goal, ..PLAIN })?;
    let metadata = Variant { name, raw: &["metadata"], args, goal, ..PLAIN };
    figures.extend(compare(place, &METADATA, &metadata)?);
    Ok(figures)
}

/// A run that resolves every name beneath its directory against a raw loop that does not. No goal:
/// that is a system call more, inside the time.
pub fn confined(place: &Scratch) -> Result<Vec<Figure>> {
    let cost = Variant {
        name: ", confined",
        raw: &["metadata"],
        args: &["--confine"],
        goal: Some(f64::NAN),
        ..PLAIN
    };
    compare(place, &METADATA, &cost)
}

/// Two ranks on two files against two raw processes.
pub fn two_ranks(place: &Scratch) -> Result<Vec<Figure>> {
    let args = &["-n", "2"];
    let (name, goal) = (", 2 processes", Some(0.95));
    let variant = Variant { name, raw: &["data"], args, ranks: 2, goal, ..PLAIN };
    compare(place, &DATA, &variant)
}

/// How a case is run.
struct Variant {
    /// What is added to the names of the figures.
    name: &'static str,
    /// Words for the raw worker.
    raw: &'static [&'static str],
    /// Arguments of `parabench run`.
    args: &'static [&'static str],
    /// Processes on both sides.
    ranks: usize,
    /// Pairs that count.
    pairs: usize,
    /// Another goal than that of the label; not a number: none.
    goal: Option<f64>,
}

/// One process, and the goals of the labels.
const PLAIN: Variant =
    Variant { name: "", raw: &[], args: &[], ranks: 1, pairs: PAIRS, goal: None };

fn compare(place: &Scratch, case: &Case, variant: &Variant) -> Result<Vec<Figure>> {
    let mut raw = Series::new();
    let mut product = Series::new();
    for pair in 0..=variant.pairs {
        let loops = place.raw(variant.raw, variant.ranks)?;
        let run = place.run(case.program, variant.args)?;
        for (label, _, operations, _) in case.labels.iter().filter(|_| pair > 0) {
            let operations = *operations as f64;
            let raw_ns = lower_quartile(&occurrences_ns(&loops, label));
            let product_ns = lower_quartile(&run.occurrences_ns(label)?);
            raw.entry(label).or_default().push(raw_ns / operations);
            product.entry(label).or_default().push(product_ns / operations);
        }
    }
    // What has no goal is a remark on the plain figures, not on every variant of them.
    let plain = variant.name.is_empty();
    let labels = case.labels.iter().filter(|label| plain || !label.3.is_nan());
    let figure = |(label, name, _, goal): &(&'static str, &str, u64, f64)| {
        let goal = match variant.goal.unwrap_or(*goal) {
            goal if goal.is_nan() => Goal::None,
            goal => Goal::AtLeast(goal),
        };
        ratio(format!("{name}{}", variant.name), &raw[label], &product[label], goal)
    };
    Ok(labels.map(figure).collect())
}

/// Nanoseconds of every occurrence of a raw loop, in the slowest process.
fn occurrences_ns(loops: &[Vec<Timed>], label: &str) -> Vec<f64> {
    let mut slowest: Vec<f64> = Vec::new();
    for process in loops {
        for (at, timed) in process.iter().filter(|timed| timed.0 == label).enumerate() {
            let ns = (timed.2 - timed.1) as f64;
            match slowest.get_mut(at) {
                Some(slowest) => *slowest = slowest.max(ns),
                None => slowest.push(ns),
            }
        }
    }
    slowest
}

/// Rate of Parabench / rate of the raw loop.
/// The ratios of pairs, as one figure.
pub fn ratio(name: String, raw: &[f64], product: &[f64], goal: Goal) -> Figure {
    let ratios: Vec<f64> = raw.iter().zip(product).map(|(raw, product)| raw / product).collect();
    Figure {
        name,
        raw: format!("{} ns", three(median(raw))),
        product: format!("{} ns", three(median(product))),
        result: median(&ratios),
        range: Some(range(&ratios)),
        unit: "",
        goal,
    }
}
