//! Parabench against raw loops, in pairs: raw, Parabench, raw, Parabench ...

use crate::Result;
use crate::cases::{Case, DATA, METADATA};
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Place;
use std::collections::HashMap;

/// Pairs that count; one more goes before them to warm up.
const PAIRS: usize = 11;

/// Nanoseconds per operation of every label, pair by pair.
type Series = HashMap<&'static str, Vec<f64>>;

/// pread and pwrite.
pub fn data(place: &Place) -> Result<Vec<Figure>> {
    compare(place, &DATA, &Variant { name: "", raw: &["data"], args: &[], ranks: 1, goal: None })
}

/// create, stat, open-write-close, delete.
pub fn metadata(place: &Place) -> Result<Vec<Figure>> {
    let variant = Variant { name: "", raw: &["metadata"], args: &[], ranks: 1, goal: None };
    compare(place, &METADATA, &variant)
}

/// The same with the event table.
pub fn events(place: &Place) -> Result<Vec<Figure>> {
    let name = ", with events";
    let args = &["--events"];
    let goal = Some(0.85);
    let mut figures =
        compare(place, &DATA, &Variant { name, raw: &["data"], args, ranks: 1, goal })?;
    let metadata = Variant { name, raw: &["metadata"], args, ranks: 1, goal };
    figures.extend(compare(place, &METADATA, &metadata)?);
    Ok(figures)
}

/// A run confined by Landlock against a raw loop confined in the same way, and the cost of it.
pub fn confined(place: &Place) -> Result<Vec<Figure>> {
    let raw = &["metadata", "confine"];
    let variant =
        Variant { name: ", both confined", raw, args: &["--confine"], ranks: 1, goal: None };
    let mut figures = compare(place, &METADATA, &variant)?;
    let cost = Variant {
        name: ", confined against unconfined raw",
        raw: &["metadata"],
        args: &["--confine"],
        ranks: 1,
        goal: Some(f64::NAN),
    };
    figures.extend(compare(place, &METADATA, &cost)?);
    Ok(figures)
}

/// Two ranks on two files against two raw processes.
pub fn two_ranks(place: &Place) -> Result<Vec<Figure>> {
    let args = &["-n", "2"];
    let variant =
        Variant { name: ", 2 processes", raw: &["data"], args, ranks: 2, goal: Some(0.95) };
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
    /// Another goal than that of the label; not a number: none.
    goal: Option<f64>,
}

fn compare(place: &Place, case: &Case, variant: &Variant) -> Result<Vec<Figure>> {
    let mut raw = Series::new();
    let mut product = Series::new();
    for pair in 0..=PAIRS {
        let loops = place.raw(variant.raw, variant.ranks)?;
        let run = place.run(case.program, variant.args)?;
        for (label, _, operations, _) in case.labels.iter().filter(|_| pair > 0) {
            let span_ns = span_ns(&loops, label)?;
            raw.entry(label).or_default().push(span_ns / *operations as f64);
            product.entry(label).or_default().push(run.label_ns(label)? / *operations as f64);
        }
    }
    let figure = |(label, name, _, goal): &(&'static str, &str, u64, f64)| {
        // Not a number in either of them: no goal.
        let goal = match variant.goal.unwrap_or(*goal) + *goal * 0.0 {
            goal if goal.is_nan() => Goal::None,
            goal => Goal::AtLeast(goal),
        };
        ratio(format!("{name}{}", variant.name), &raw[label], &product[label], goal)
    };
    Ok(case.labels.iter().map(figure).collect())
}

/// Nanoseconds from the first start to the last end of a label over processes.
fn span_ns(loops: &[Vec<crate::raw::Timed>], label: &str) -> Result<f64> {
    let found = loops.iter().flatten().filter(|timed| timed.0 == label);
    let (mut first, mut last) = (u64::MAX, 0);
    for (_, start_ns, end_ns) in found {
        first = first.min(*start_ns);
        last = last.max(*end_ns);
    }
    last.checked_sub(first).map(|ns| ns as f64).ok_or_else(|| format!("no raw loop {label}").into())
}

/// Rate of Parabench / rate of the raw loop.
fn ratio(name: String, raw: &[f64], product: &[f64], goal: Goal) -> Figure {
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
