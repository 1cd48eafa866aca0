//! Scores: figures that the program computed.
//!
//! ```text
//! score   IO500 bandwidth   1.234 GiB/s          a run: a line each, directly below the table
//!
//! score            block  reps   mean  lowest  highest  unit          a sweep: a line for each point
//! IO500 bandwidth     4k     5  1.234   1.200    1.250  GiB/s
//! ```

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::grouped;
use crate::statistics::unfinished;
use crate::text::width;
use model::run::{Run, Score};
use model::sweep::Sweep;
use model::units::with_digits;

const DIGITS: u32 = 4;

/// `1.234 GiB/s`
fn amount(value: f64, unit: &str) -> String {
    format!("{} {unit}", with_digits(value, DIGITS)).trim_end().to_string()
}

/// Name and amount of each score of a run that is no sweep.
pub fn all(run: &Run) -> Vec<(&str, String)> {
    let scores = run.run.scores.iter().filter(|_| run.run.sweep.is_none());
    scores.map(|score| (&*score.name, amount(score.value, &score.unit))).collect()
}

/// A line for each, their amounts below one another.
pub fn lines(run: &Run) -> Vec<String> {
    let all = all(run);
    let longest = all.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let line = |(name, amount): (&str, String)| {
        let gap = " ".repeat(longest - width(name));
        format!("score   {name}{gap}   {amount}")
    };
    all.into_iter().map(line).collect()
}

/// The table of a sweep: the mean of the repetitions of each point.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let sweep = run.run.sweep.as_ref().filter(|_| !run.run.scores.is_empty())?;
    // Scores of executions that did not finish are left out.
    let unfinished = unfinished(run);
    let is_finished = |score: &&Score| !unfinished.contains(&(score.cell, score.repetition));
    let named = run.run.scores.iter().filter(is_finished);
    let points = grouped(named.map(|score| ((&*score.name, score.cell), score)));
    let mut lines: Vec<_> = points.iter().map(|(key, all)| (key, line(sweep, *key, all))).collect();
    let order = |name: &str| run.run.scores.iter().position(|score| score.name == name);
    lines.sort_by_key(|((name, cell), _)| (order(name), *cell));
    let lines = lines.into_iter().map(|(_, line)| line).collect();
    let grid = Grid { columns: columns(sweep), lines };
    Some(Sheet { name: "scores", title: "Scores".into(), grid, notes: Vec::new() })
}

fn columns(sweep: &Sweep) -> Vec<Column> {
    let names = sweep.dimensions.iter().map(|dimension| Column::named(dimension.name.clone()));
    let figures = ["reps", "mean", "lowest", "highest"].map(String::from).map(Column::named);
    let word = |name| Column::new(name, "", Kind::Word, 0);
    [word("score")].into_iter().chain(names).chain(figures).chain([word("unit")]).collect()
}

/// A score at a point.
fn line(sweep: &Sweep, (name, cell): (&str, u32), all: &[&Score]) -> Line {
    let values = || all.iter().map(|score| score.value);
    let mean = values().sum::<f64>() / all.len() as f64;
    let (lowest, highest) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let mut point = sweep.values_at(cell);
    point.resize(sweep.dimensions.len(), "?");
    let point = point.into_iter().map(|value| Cell::Text(value.into()));
    let figures = [mean, lowest, highest].map(|value| Cell::Text(with_digits(value, DIGITS)));
    let unit = all.first().map_or("", |score| &score.unit);
    let cells = [Cell::Text(name.into())].into_iter().chain(point);
    let cells = cells.chain([Cell::Count(all.len() as u64)]).chain(figures);
    Line::plain(cells.chain([Cell::Text(unit.into())]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Detail, Terminal, render};
    use crate::tests::sample;

    fn score(name: &str, value: f64, unit: &str) -> Score {
        Score { name: name.into(), value, unit: unit.into(), ..Score::default() }
    }

    #[test]
    fn scores_of_a_run_are_lines_below_its_table() {
        let mut run = sample::listing1();
        run.run.scores = vec![score("bandwidth", 1.23456, "GiB/s"), score("total", 17.0, "")];
        expect_test::expect![[r#"
            score   bandwidth   1.235 GiB/s
            score   total       17.00
        "#]]
        .assert_eq(&(lines(&run).join("\n") + "\n"));
        for detail in [Detail::Short, Detail::Full] {
            let text = render(&run, Terminal::default(), detail);
            assert!(text.contains("\nscore   bandwidth   1.235 GiB/s\nscore   total"), "{text}");
        }
        assert!(crate::table::markdown(&run, Detail::Short).contains("1.235 GiB/s"));
        run.rows.clear();
        let text = render(&run, Terminal::default(), Detail::Short);
        assert!(text.contains("No I/O operation was executed.\n\nscore   bandwidth"), "{text}");
    }

    #[test]
    fn points_of_a_sweep_have_the_mean_of_their_repetitions() {
        let mut run = sample::sweep(2, 2);
        for (cell, repetition) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let value = f64::from(10 * cell + repetition);
            run.run.scores.push(Score { cell, repetition, ..score("total", value, "MiB/s") });
        }
        let aborted = run.run.sweep.as_mut().unwrap().order.iter_mut();
        aborted.filter(|one| (one.cell, one.repetition) == (1, 1)).for_each(|one| {
            one.outcome = "failed".into();
        });
        let text = render(&run, Terminal::default(), Detail::Short);
        expect_test::expect![[r#"
            Scores
            score  block  reps    mean  lowest  highest  unit
            total     4k     2  0.5000       0    1.000  MiB/s
            total    64k     1   10.00   10.00    10.00  MiB/s
            more: -v   page: --html page.html
        "#]]
        .assert_eq(&format!("{}\n", &text[text.find("Scores").unwrap()..].trim_end()));
        assert!(render(&run, Terminal::default(), Detail::Full).contains("Scores\n"));
        assert!(lines(&run).is_empty());
    }
}
