//! Figures over what a sweep varied: a parameter (figure one of PIObench) or the number of ranks.

use super::{axis, shown_label};
use crate::chart::{Axis, Chart, Join, Point, Series, Unit, View};
use crate::statistics::{self, Metric, Statistic};
use model::Run;
use model::sweep::{Dimension, DimensionKind, Sweep};
use model::units::{parse_integer_text, significant};

/// Name of the absent picture of a run that is no sweep.
pub(super) const NAME: &str = "figures-over-sweep";
/// Series in a picture: those with the highest figures.
const MAX_SERIES: usize = 8;
/// Values that differ by this factor stand on a logarithmic axis.
const LOG_FROM: f64 = 8.0;

/// One picture per dimension: the bandwidth over it, or operations per second if no bytes moved.
pub(super) fn over_dimensions(run: &Run) -> Result<Vec<View>, String> {
    let sweep = run.run.sweep.as_ref().ok_or("the run is no sweep")?;
    if sweep.dimensions.is_empty() {
        return Err("the program was repeated, nothing varied".into());
    }
    let all = statistics::of(run);
    let is_whole = |op: &str| !op.is_empty() && !op.contains('.');
    let of = |metric| -> Vec<&Statistic> {
        all.iter().filter(|figure| figure.metric == metric && is_whole(&figure.op)).collect()
    };
    let (metric, figures) = match of(Metric::MibS) {
        figures if figures.is_empty() => (Metric::OpsS, of(Metric::OpsS)),
        figures => (Metric::MibS, figures),
    };
    if figures.is_empty() {
        return Err("no execution has a rate".into());
    }
    let dimensions = sweep.dimensions.iter().enumerate();
    Ok(dimensions.map(|(at, dimension)| over(sweep, at, dimension, metric, &figures)).collect())
}

/// A line: everything but the dimension that varies along it.
struct Line<'a> {
    name: String,
    /// Number of the value, and the figure there.
    figures: Vec<(usize, &'a Statistic)>,
}

impl Line<'_> {
    fn highest(&self) -> f64 {
        self.figures.iter().map(|(_, figure)| figure.median).fold(0.0, f64::max)
    }
}

/// The lines over the dimension `at`, those with the highest figures first.
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
            None => lines.push(Line { name, figures: vec![(number, figure)] }),
        }
    }
    lines.sort_by(|a, b| b.highest().total_cmp(&a.highest()));
    lines
}

/// "write: fwrite, ranks=2".
fn line_name(sweep: &Sweep, at: usize, figure: &Statistic, values: &[&str]) -> String {
    let mut name = format!("{}: {}", shown_label(&figure.label), figure.op);
    for (other, (dimension, value)) in sweep.dimensions.iter().zip(values).enumerate() {
        if other != at {
            name += &format!(", {}={}", dimension.name, crate::text::escape(value));
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
    let all = lines.len();
    lines.truncate(MAX_SERIES);
    let word = if metric == Metric::MibS { "bandwidth" } else { "operations" };
    let unit = if metric == Metric::MibS { "MiB/s" } else { "operations per second" };
    let best = lines
        .iter()
        .flat_map(|line| line.figures.iter().map(move |(number, figure)| (line, *number, *figure)));
    let best = best.reduce(|a, b| if b.2.median > a.2.median { b } else { a });
    let (title, mut summary) = match best {
        Some((line, number, figure)) => (
            format!(
                "{} was highest with {} {}",
                super::rates::capital(word),
                dimension.name,
                crate::text::escape(&dimension.values[number])
            ),
            format!(
                "{} reached {} {unit} there, the median of {}.",
                line.name,
                significant(figure.median),
                super::counted(figure.n as u64, "repetition")
            ),
        ),
        None => (format!("{word} over {}", dimension.name), "No execution has a rate.".into()),
    };
    summary += match figures.iter().any(|figure| figure.ci95_low.is_some()) {
        true => " Bars are 95 % confidence intervals of the median.",
        false => " Intervals need five repetitions.",
    };
    if all > MAX_SERIES {
        summary += &format!(" {} lower lines are not shown.", all - MAX_SERIES);
    }
    let y = match metric {
        Metric::MibS => axis("bandwidth of all ranks", Unit::MibPerSecond),
        _ => axis("operations of all ranks", Unit::PerSecond),
    };
    let chart = match positions(dimension) {
        Some((x, positions)) => Chart::Lines {
            x,
            y,
            join: Join::Line,
            series: lines.iter().map(|line| series(line, &positions)).collect(),
        },
        None => bars(dimension, y, &lines),
    };
    View { name: format!("{word}-over-{}", file_name(&dimension.name)), title, summary, chart }
}

fn series(line: &Line<'_>, positions: &[f64]) -> Series {
    let point = |(number, figure): &(usize, &Statistic)| Point {
        x: positions[*number],
        y: figure.median,
        interval: figure.ci95_low.zip(figure.ci95_high),
    };
    let mut points: Vec<Point> = line.figures.iter().map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series { name: line.name.clone(), points }
}

/// Values that are no numbers stand beside each other.
fn bars(dimension: &Dimension, value: Axis, lines: &[Line<'_>]) -> Chart {
    let figures = |line: &Line<'_>| {
        let mut values = vec![f64::NAN; dimension.values.len()];
        line.figures.iter().for_each(|(number, figure)| values[*number] = figure.median);
        (line.name.clone(), values)
    };
    Chart::Bars {
        value,
        names: dimension.values.iter().map(|value| crate::text::escape(value)).collect(),
        series: lines.iter().map(figures).collect(),
    }
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
        DimensionKind::Ranks => Unit::Count,
        DimensionKind::Param if dimension.values.iter().any(suffixed) => Unit::Bytes,
        _ => Unit::None,
    };
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let log = least > 0.0 && most >= LOG_FROM * least;
    let title = match dimension.kind {
        DimensionKind::Ranks => "number of ranks",
        _ => &dimension.name,
    };
    Some((Axis { log, ..axis(title, unit) }, all))
}

/// A name that every file system takes.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Row;
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
            sweep.order.push(Execution { cell, repetition, outcome, duration_wall_ns: 1 });
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

    #[test]
    fn every_dimension_has_a_picture() {
        let views = over_dimensions(&swept(&["4k", "64k", "1m"], 5)).unwrap();
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["bandwidth-over-block", "bandwidth-over-ranks"]);
        assert_eq!(views[0].title, "Bandwidth was highest with block 1m");
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
    fn few_repetitions_have_no_intervals_and_words_are_bars() {
        let views = over_dimensions(&swept(&["near", "far"], 2)).unwrap();
        assert!(views[0].summary.contains("Intervals need five repetitions"));
        let Chart::Bars { names, series, .. } = &views[0].chart else { panic!("bars") };
        assert_eq!(names[..], ["near", "far"]);
        assert_eq!(series[0].1, [100.5, 300.5]);
    }

    #[test]
    fn what_is_no_sweep_has_none() {
        assert!(over_dimensions(&Run::default()).is_err());
    }
}
