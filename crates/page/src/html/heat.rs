//! A sweep of two parameters as tables: one parameter down, the other across, figures shaded by their size.

use super::frame::{note, scroll};
use crate::views::rates;
use model::Run;
use model::sweep::{Dimension, Sweep};
use report::markup::{Element, Markup, element};
use report::rows::{label_name, rate_text};
use report::statistics::{self, Metric, Statistic};
use report::text::percent;
use std::collections::BTreeMap;

/// Tables at most: those of the operations with the highest figures.
const TABLES: usize = 4;
/// Steps of shading; the style sheet has a class for each.
const SHADES: f64 = 8.0;

/// The tables; none of another run.
pub fn tables(run: &Run) -> Markup {
    let Some(sweep) = run.run.sweep.as_ref().filter(|sweep| !sweep.versus) else {
        return Markup::default();
    };
    let [down, across] = sweep.dimensions.as_slice() else { return Markup::default() };
    let all = statistics::shown(run);
    let (moving, others) = rates(run, &all);
    let mut groups: BTreeMap<(&str, &str), Vec<&Statistic>> = BTreeMap::new();
    for figure in moving.into_iter().chain(others) {
        groups.entry((&figure.label, &figure.op)).or_default().push(figure);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    let most = |figures: &[&Statistic]| figures.iter().map(|one| one.median).fold(0.0, f64::max);
    // Bandwidths before operations.
    groups.sort_by(|a, b| {
        let is_count = |group: &((&str, &str), Vec<&Statistic>)| group.1[0].metric != Metric::MibS;
        is_count(a).cmp(&is_count(b)).then(most(&b.1).total_cmp(&most(&a.1)))
    });
    let left_out = groups.len().saturating_sub(TABLES);
    let shown = groups.iter().take(TABLES);
    let mut out: Markup = shown
        .map(|((label, op), figures)| table(sweep, [down, across], label, op, figures))
        .collect();
    if left_out > 0 {
        let more = model::words::plural(left_out as u64, "operation");
        out.push(note(&format!("{left_out} more {more}: in the tables below.")));
    }
    out
}

fn table(
    sweep: &Sweep,
    [down, across]: [&Dimension; 2],
    label: &str,
    op: &str,
    figures: &[&Statistic],
) -> Element {
    let most = figures.iter().map(|one| one.median).fold(0.0, f64::max);
    let at = |down: &str, across: &str| {
        figures.iter().find(|one| sweep.values_at(one.cell) == [down, across])
    };
    let line = |value: &String| {
        let cells = across.values.iter().map(|other| cell(at(value, other).copied(), most));
        element("tr").with(element("th").attr("scope", "row").text(value)).all(cells)
    };
    let heads = across.values.iter().map(|value| element("th").attr("scope", "col").text(value));
    let corner = element("td").text(format!("{} \\ {}", down.name, across.name));
    let head = element("thead").with(element("tr").with(corner).all(heads));
    let body = element("tbody").all(down.values.iter().map(line));
    let title = format!("{}: {op} over {} and {}", label_name(label), down.name, across.name);
    element("div")
        .class("sheet")
        .with(element("h3").text(&title))
        .with(scroll(&title).with(element("table").class("heat").with(head).with(body)))
}

fn cell(figure: Option<&Statistic>, most: f64) -> Element {
    let Some(figure) = figure else { return element("td").text("–") };
    let share = if most > 0.0 { figure.median / most } else { 0.0 };
    let shade = (share * SHADES).clamp(0.0, SHADES - 1.0) as u32;
    let text = match figure.metric {
        Metric::MibS => rate_text(Some(figure.median), None),
        _ => rate_text(None, Some(figure.median)),
    };
    let cell = element("td").class(&format!("h{shade}"));
    let interval =
        figure.margin().map(|share| element("small").text(format!("± {}", percent(share))));
    cell.attr("data-value", figure.median).text(text.unwrap_or_default()).all(interval)
}
