//! Figures over what a sweep varied: a parameter (figure one of PIObench) or the number of ranks.

use super::source::{axis_of, colors, shown_label};
use model::Run;
use model::op::Class;
use model::run::Row;
use model::sweep::{Dimension, DimensionKind, Sweep};
use model::units::parse_integer_text;
use report::chart::{Axis, Chart, Join, Point, Range, Series, Unit, View};
use report::limited;
use report::rows::{class, rate_text};
use report::statistics::{self, Metric, Statistic};
use std::collections::HashSet;

/// Name of the absent picture of a run that is no sweep.
pub(crate) const NAME: &str = "figures-over-sweep";
/// Series in a picture's data: those with the highest figures. Fewer are drawn.
const MAX_SERIES: usize = 200;
/// Values of a dimension that differ by this factor get a logarithmic axis: they are few, and often
/// powers of two.
const LOG_POINTS_FROM: f64 = 8.0;

/// For each dimension the bandwidth over it, and operations per second of those that move no bytes.
pub(crate) fn over_dimensions(run: &Run) -> Result<Vec<View>, String> {
    let sweep = run.run.sweep.as_ref().ok_or("the run is no sweep")?;
    if sweep.dimensions.is_empty() {
        return Err("the program was repeated, nothing varied".into());
    }
    let all = statistics::shown(run);
    let (moving, others) = rates(run, &all);
    if moving.is_empty() && others.is_empty() {
        return Err("no execution has a rate".into());
    }
    let pictures = |(at, dimension)| {
        let both = [(Metric::MibS, &moving), (Metric::OpsS, &others)];
        let shown = both.into_iter().filter(|(_, figures)| !figures.is_empty());
        shown.map(move |(metric, figures)| over(sweep, at, dimension, metric, figures))
    };
    Ok(sweep.dimensions.iter().enumerate().flat_map(pictures).collect())
}

/// Bandwidths of operations that move bytes, and operations per second of the others.
pub(crate) fn rates<'s>(
    run: &Run,
    all: &'s [Statistic],
) -> (Vec<&'s Statistic>, Vec<&'s Statistic>) {
    // The label around a loop with a limit has the rate of both its parts, and of all that belongs to it.
    let limited = limited::rows(run);
    let is_part = |label: &str| {
        let around = |row: &Row| label.strip_prefix(&*row.label).is_some_and(limited::is_part);
        limited.iter().any(around)
    };
    let of = |metric| -> Vec<&'s Statistic> {
        let own = all.iter().filter(|figure| figure.metric == metric && !figure.op.is_empty());
        own.filter(|figure| !is_part(&figure.label)).collect()
    };
    let (mut moving, mut others) = (of(Metric::MibS), of(Metric::OpsS));
    let moves: HashSet<(&str, &str)> = moving.iter().map(|figure| key(figure)).collect();
    others.retain(|figure| !moves.contains(&key(figure)));
    // Set-up outside of labels is no answer; nor are opening and closing beside what moves bytes.
    if moving.iter().chain(&others).any(|figure| !figure.label.is_empty()) {
        moving.retain(|figure| !figure.label.is_empty());
        others.retain(|figure| !figure.label.is_empty());
    }
    let is_around = |op: &str| matches!(class(op), Class::Open | Class::Close | Class::Sync);
    if !moving.is_empty() {
        others.retain(|figure| !is_around(&figure.op));
    }
    (moving, others)
}

/// Label and operation.
fn key(figure: &Statistic) -> (&str, &str) {
    (&figure.label, &figure.op)
}

/// A line: everything but the dimension that varies along it.
struct Line<'a> {
    name: String,
    op: &'a str,
    in_no_label: bool,
    /// Number of the value, and the figure there.
    figures: Vec<(usize, &'a Statistic)>,
}

impl Line<'_> {
    fn highest(&self) -> f64 {
        self.figures.iter().map(|(_, figure)| figure.median).fold(0.0, f64::max)
    }

    /// The figure with the highest median, and whether its interval is above the intervals of all other
    /// values: `None` where one of them has no interval.
    fn best(&self) -> Option<(usize, &Statistic, Option<bool>)> {
        let by_median =
            |a: &&(usize, &Statistic), b: &&(usize, &Statistic)| a.1.median.total_cmp(&b.1.median);
        let (number, best) = self.figures.iter().max_by(by_median)?;
        let others = self.figures.iter().filter(|(other, _)| other != number);
        let below = others.map(|(_, other)| Some(other.ci95_high? < best.ci95_low?));
        let separated = below.collect::<Option<Vec<bool>>>().map(|all| all.iter().all(|it| *it));
        Some((*number, best, separated))
    }
}

/// The lines over the dimension `at`: labels first, the highest figures first.
fn lines<'a>(sweep: &Sweep, at: usize, figures: &[&'a Statistic]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for figure in figures {
        let values = sweep.values_at(figure.cell);
        let Some(own) = values.get(at) else { continue };
        let Some(number) = sweep.dimensions[at].values.iter().position(|value| value == own) else {
            continue;
        };
        let name = line_name(sweep, at, figure, &values);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.figures.push((number, figure)),
            None => lines.push(Line {
                name,
                op: &figure.op,
                in_no_label: figure.label.is_empty(),
                figures: vec![(number, figure)],
            }),
        }
    }
    // What the user labelled is what the program is about.
    let order = |a: &Line<'_>, b: &Line<'_>| {
        a.in_no_label.cmp(&b.in_no_label).then(b.highest().total_cmp(&a.highest()))
    };
    lines.sort_by(order);
    lines
}

/// "write: fwrite, ranks=2".
fn line_name(sweep: &Sweep, at: usize, figure: &Statistic, values: &[&str]) -> String {
    let mut name = format!("{}: {}", shown_label(&figure.label), figure.op);
    for (other, (dimension, value)) in sweep.dimensions.iter().zip(values).enumerate() {
        if other != at {
            name += &format!(", {}={}", dimension.name, report::text::escape(value));
        }
    }
    name
}

fn over(
    sweep: &Sweep,
    at: usize,
    dimension: &Dimension,
    metric: Metric,
    figures: &[&Statistic],
) -> View {
    let mut lines = lines(sweep, at, figures);
    let more = lines.len().saturating_sub(MAX_SERIES);
    lines.truncate(MAX_SERIES);
    let word = if metric == Metric::MibS { "bandwidth" } else { "operations" };
    let title = match metric {
        Metric::MibS => format!("Bandwidth over {}", dimension.name),
        _ => format!("Operations per second over {}", dimension.name),
    };
    let summary = lines.first().and_then(|line| claim(line, dimension, metric));
    let summary = summary.map(|claim| match lines.len() {
        1 => claim,
        all => format!("The highest of {all} lines: {claim}"),
    });
    let mut summary = summary.unwrap_or("No execution has a rate.".into());
    let points = || lines.iter().flat_map(|line| &line.figures);
    let missing = points().filter(|(_, figure)| figure.ci95_low.is_none()).count();
    summary += &match missing {
        0 => " Bars are 95 % confidence intervals of the median.".into(),
        n if n == points().count() => " Intervals need five repetitions.".into(),
        n => format!(
            " {n_points} have no interval: that needs five repetitions.",
            n_points = model::words::count(n, "point")
        ),
    };
    if more > 0 {
        summary += &format!(" {more} lower lines are left out.");
    }
    let (y, unit) = match metric {
        Metric::MibS => ("bandwidth of all ranks", Unit::MibPerSecond),
        _ => ("operations of all ranks", Unit::PerSecond),
    };
    let ends = points().flat_map(|(_, figure)| {
        [Some(figure.median), figure.ci95_low, figure.ci95_high].into_iter().flatten()
    });
    let y = axis_of(y, unit, ends);
    let chart = match positions(dimension) {
        Some((x, positions)) => {
            Chart::Lines { x, y, join: Join::Line, series: series(&lines, &positions) }
        }
        None => Chart::Forest { x: y, line: None, ranges: ranges(dimension, &lines) },
    };
    View { name: format!("{word}-over-{}", file_name(&dimension.name)), title, summary, chart }
}

/// The best value of the line with the highest figure: as much as its intervals support.
fn claim(line: &Line<'_>, dimension: &Dimension, metric: Metric) -> Option<String> {
    let (number, best, separated) = line.best()?;
    let rate = match metric {
        Metric::MibS => rate_text(Some(best.median), None),
        _ => rate_text(None, Some(best.median)),
    }?;
    let Line { name, figures, .. } = line;
    let at = value_name(dimension, number);
    let n = best.n;
    Some(match separated {
        _ if figures.len() == 1 => format!("{name}: {rate} at {at}, the only value."),
        Some(true) => format!(
            "{name} is fastest at {at}: {rate}, median of {n_repetitions}.",
            n_repetitions = model::words::count(n, "repetition")
        ),
        Some(false) => {
            format!("{name}: no value is clearly fastest; highest median {rate} at {at}.")
        }
        None => format!(
            "{name}: highest median {rate} at {at}; too few repetitions to call it fastest."
        ),
    })
}

fn series(lines: &[Line<'_>], positions: &[f64]) -> Vec<Series> {
    let point = |(number, figure): &(usize, &Statistic)| Point {
        x: positions[*number],
        y: figure.median,
        interval: figure.ci95_low.zip(figure.ci95_high),
    };
    let ops: Vec<&str> = lines.iter().map(|line| line.op).collect();
    let series = |(line, color): (&Line<'_>, usize)| {
        let mut points: Vec<Point> = line.figures.iter().map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: line.name.clone(), color, points }
    };
    lines.iter().zip(colors(&ops)).map(series).collect()
}

/// Values that are not numbers stand below one another.
fn ranges(dimension: &Dimension, lines: &[Line<'_>]) -> Vec<Range> {
    let range = |line: &Line<'_>, (number, figure): &(usize, &Statistic)| {
        let Statistic { median, ci95_low, ci95_high, .. } = figure;
        Range {
            name: format!("{}, {}", line.name, value_name(dimension, *number)),
            low: ci95_low.unwrap_or(*median),
            at: *median,
            high: ci95_high.unwrap_or(*median),
        }
    };
    let all = lines.iter().flat_map(|line| line.figures.iter().map(move |figure| (line, figure)));
    all.map(|(line, figure)| range(line, figure)).collect()
}

/// "block=4k".
fn value_name(dimension: &Dimension, number: usize) -> String {
    format!("{}={}", dimension.name, report::text::escape(&dimension.values[number]))
}

/// The axis of a dimension of numbers, and where its values lie on it.
fn positions(dimension: &Dimension) -> Option<(Axis, Vec<f64>)> {
    let number = |value: &String| -> Option<f64> {
        let integer = parse_integer_text(value.as_bytes()).map(|value| value as f64);
        integer.or_else(|| value.parse().ok()).filter(|value| value.is_finite())
    };
    let all: Vec<f64> = dimension.values.iter().map(number).collect::<Option<_>>()?;
    let suffixed = |value: &String| value.ends_with(|c: char| c.is_ascii_alphabetic());
    let unit = match dimension.kind {
        DimensionKind::Ranks | DimensionKind::Nodes => Unit::Count,
        DimensionKind::Param if dimension.values.iter().any(suffixed) => Unit::Bytes,
        _ => Unit::None,
    };
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let log = least > 0.0 && most >= LOG_POINTS_FROM * least;
    let title = match dimension.kind {
        DimensionKind::Ranks => "number of ranks",
        DimensionKind::Nodes => "number of nodes",
        _ => &dimension.name,
    };
    Some((Axis { log, ..Axis::new(title, unit) }, all))
}

/// A name that every file system takes.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sweep::{Cell, Execution};

    /// Blocks of three sizes on one and two ranks, `reps` repetitions.
    fn swept(values: &[&str], reps: u32) -> Run {
        let dimension = |kind, name: &str, values: &[&str]| Dimension {
            kind,
            name: name.into(),
            values: values.iter().map(|value| value.to_string()).collect(),
        };
        let dimensions = vec![
            dimension(DimensionKind::Param, "block", values),
            dimension(DimensionKind::Ranks, "ranks", &["1", "2"]),
        ];
        let cells = 2 * values.len() as u32;
        let mut sweep = Sweep { dimensions, reps, ..Sweep::default() };
        sweep.cells = (0..cells).map(|cell| Cell { cell, ..Cell::default() }).collect();
        let mut run = Run::default();
        for (cell, repetition) in (0..cells).flat_map(|cell| (0..reps).map(move |r| (cell, r))) {
            let outcome = "finished".to_string();
            sweep.order.push(Execution {
                cell,
                repetition,
                outcome,
                duration_wall_ns: 1,
                machines: None,
            });
            run.rows.push(Row {
                label: "w".into(),
                op: "fwrite".into(),
                cell,
                repetition,
                count: 1,
                bytes: 1 << 20,
                mib_s: Some(f64::from(100 * cell + repetition)),
                ..Row::default()
            });
        }
        run.run.sweep = Some(sweep);
        run
    }

    fn pictures(run: &Run) -> Result<Vec<View>, String> {
        over_dimensions(run)
    }

    /// One dimension, five repetitions; the figures of a cell reach so far up.
    fn noisy(spread: f64) -> Run {
        let mut run = swept(&["4k", "64k"], 5);
        run.run.sweep.as_mut().unwrap().dimensions.pop();
        run.rows.retain(|row| row.cell < 2);
        for row in &mut run.rows {
            row.mib_s = Some(100.0 + f64::from(row.cell) + spread * f64::from(row.repetition));
        }
        run
    }

    #[test]
    fn a_value_is_best_if_intervals_do_not_overlap() {
        let best = |run: &Run| {
            let (statistics, sweep) = (statistics::shown(run), run.run.sweep.as_ref().unwrap());
            let of: Vec<&Statistic> =
                statistics.iter().filter(|one| one.metric == Metric::MibS).collect();
            let lines = lines(sweep, 0, &of);
            lines[0].best().map(|(number, _, separated)| (number, separated)).unwrap()
        };
        assert_eq!(best(&noisy(0.1)), (1, Some(true)));
        assert_eq!(best(&noisy(10.0)), (1, Some(false)));
        let mut few = noisy(0.1);
        few.rows.retain(|row| row.repetition < 4);
        assert_eq!(best(&few), (1, None));
    }

    #[test]
    fn all_series_are_in_the_data() {
        let mut run = swept(&["4k", "64k"], 1);
        let rows = run.rows.clone();
        for label in 0..40 {
            let more = rows.iter().map(|row| Row { label: format!("l{label}"), ..row.clone() });
            run.rows.extend(more);
        }
        let Chart::Lines { series, .. } = &pictures(&run).unwrap()[0].chart else { panic!() };
        assert_eq!(series.len(), 2 * 41);
    }

    #[test]
    fn every_dimension_has_a_picture() {
        let views = pictures(&swept(&["4k", "64k", "1m"], 5)).unwrap();
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["bandwidth-over-block", "bandwidth-over-ranks"]);
        let Chart::Lines { x, series, .. } = &views[0].chart else { panic!("lines") };
        assert_eq!((x.unit, x.log), (Unit::Bytes, true));
        assert_eq!(
            [&series[0].name, &series[1].name],
            ["w: fwrite, ranks=2", "w: fwrite, ranks=1"]
        );
        let points: Vec<(f64, f64)> = series[0].points.iter().map(|p| (p.x, p.y)).collect();
        // Medians of five repetitions of the cells 1, 3 and 5.
        assert_eq!(points, [(4096.0, 102.0), (65536.0, 302.0), (1_048_576.0, 502.0)]);
        assert!(series[0].points.iter().all(|point| point.interval.is_some()));
        let Chart::Lines { x, .. } = &views[1].chart else { panic!("lines") };
        assert_eq!((x.unit, x.log, x.title.as_str()), (Unit::Count, false, "number of ranks"));
    }

    #[test]
    fn operations_without_bytes_have_a_picture_of_their_own() {
        let mut run = swept(&["4k", "64k"], 1);
        let rows = run.rows.clone();
        for (number, row) in rows.into_iter().enumerate() {
            let ops_s = Some(10f64.powi(number as i32));
            run.rows[number].ops_s = ops_s;
            let label = "s".into();
            run.rows.push(Row { label, op: "stat".into(), bytes: 0, mib_s: None, ops_s, ..row });
        }
        let views = pictures(&run).unwrap();
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        let [block, ranks] = ["block", "ranks"];
        let expected = [block, ranks]
            .map(|over| [format!("bandwidth-over-{over}"), format!("operations-over-{over}")]);
        assert_eq!(names, expected.concat());
        let Chart::Lines { series, y, .. } = &views[1].chart else { panic!("lines") };
        assert!(series.iter().all(|series| series.name.contains("stat")));
        // Several powers of ten.
        assert!(y.log);
    }

    #[test]
    fn few_repetitions_have_no_intervals_and_words_are_rows() {
        let views = pictures(&swept(&["near", "far"], 2)).unwrap();
        let Chart::Forest { ranges, .. } = &views[0].chart else { panic!("rows") };
        let first: Vec<(&str, f64, f64)> =
            ranges[..2].iter().map(|range| (&*range.name, range.low, range.at)).collect();
        let [near, far] = ["near", "far"].map(|word| format!("w: fwrite, ranks=2, block={word}"));
        assert_eq!(first, [(&*near, 100.5, 100.5), (&*far, 300.5, 300.5)]);
    }

    /// Operations that take little of their label's time, have no label, or open and close are in no picture.
    #[test]
    fn the_headline_is_of_a_label_and_of_what_takes_its_time() {
        let mut run = swept(&["4k", "64k"], 5);
        run.rows.iter_mut().for_each(|row| row.mean_ns = Some(1e6));
        let rows = run.rows.clone();
        for row in rows {
            let fast = Some(1e6 + row.mib_s.unwrap_or(0.0));
            let open =
                Row { op: "fopen".into(), bytes: 0, mib_s: None, ops_s: fast, ..row.clone() };
            run.rows.push(Row { mean_ns: Some(1e3), ..open.clone() });
            run.rows.push(Row { label: String::new(), ..open });
            run.rows.push(Row { label: String::new(), mib_s: fast, ..row });
        }
        let views = pictures(&run).unwrap();
        let summaries: Vec<&str> = views.iter().map(|view| view.summary.as_str()).collect();
        assert!(
            summaries[0].starts_with("The highest of 2 lines: w: fwrite, ranks=2"),
            "{summaries:?}"
        );
        assert_eq!(views.len(), 2, "{summaries:?}");
        assert!(views.iter().all(|view| !view.summary.contains("w: fopen")));
        for view in &views {
            let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
            assert!(series.iter().all(|series| series.name.starts_with("w: fwrite")));
        }
    }

    #[test]
    fn what_is_no_sweep_has_none() {
        assert!(pictures(&Run::default()).is_err());
    }
}
