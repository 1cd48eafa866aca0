//! Every chart, whatever its data: well-formed, finite, bounded.

use super::*;
use crate::sample::HARD_LABELS;
use proptest::prelude::*;
use report::chart::{Axis, Bar, BarSeries, Join, Point, Range, Series, Unit};

/// Elements of a picture at most: a few thousand marks, their frame.
const MOST_ELEMENTS: usize = 6000;
/// Attributes that hold numbers.
const NUMBERS: [&str; 14] = [
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "width",
    "height",
    "viewBox",
    "points",
    "font-size",
];

fn view(chart: Chart) -> View {
    let text = HARD_LABELS.join(" ");
    View { name: "hard".into(), title: text.clone(), summary: text, chart }
}

/// Reads the picture as XML and checks everything that must hold of each.
fn check(view: &View) -> Result<(), TestCaseError> {
    let svg = document(view);
    let xml = roxmltree::Document::parse(&svg)
        .map_err(|error| TestCaseError::fail(format!("{error}\n{svg}")))?;
    let elements: Vec<_> = xml.descendants().filter(|node| node.is_element()).collect();
    prop_assert!(elements.len() <= MOST_ELEMENTS, "{} elements", elements.len());
    for name in ["title", "desc"] {
        prop_assert!(elements.iter().any(|node| node.has_tag_name(name)), "no {}", name);
    }
    let box_ = xml.root_element().attribute("viewBox").unwrap_or_default();
    let right = f64::from(frame::WIDTH * 10);
    prop_assert!(box_.starts_with(&format!("0 0 {right} ")), "{}", box_);
    for node in elements {
        for attribute in node.attributes() {
            if NUMBERS.contains(&attribute.name()) {
                finite(attribute.value(), right * 20.0)?;
            }
        }
    }
    Ok(())
}

fn finite(text: &str, most: f64) -> Result<(), TestCaseError> {
    for number in text.split([' ', ',']).filter(|number| !number.is_empty()) {
        let value: f64 = number
            .parse()
            .map_err(|_| TestCaseError::fail(format!("{number:?} is not a number")))?;
        prop_assert!(value.is_finite() && value.abs() <= most, "{} of {}", number, text);
    }
    Ok(())
}

/// Numbers that break careless code, and ordinary ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0f64..1e6,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, 1e308, -1e308, f64::NAN,
            f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 1e-320, 1e15]),
    ]
}

fn numbers(most: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(number(), 0..most)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,20}",
        prop::sample::select(HARD_LABELS.to_vec()).prop_map(str::to_string),
        Just("x".repeat(300)),
        Just("\u{0}\u{fffe}\u{ffff}]]>&<svg onload='x'>".to_string()),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let units = [
        Unit::Bytes,
        Unit::MibPerSecond,
        Unit::Nanoseconds,
        Unit::PerSecond,
        Unit::Count,
        Unit::Share,
        Unit::Rank,
        Unit::None,
    ];
    (text(), prop::sample::select(units.to_vec()), any::<bool>())
        .prop_map(|(title, unit, log)| Axis { title, unit, log })
}

fn series() -> impl Strategy<Value = Series> {
    let point = (number(), number(), prop::option::of((number(), number())));
    let point = point.prop_map(|(x, y, interval)| Point { x, y, interval });
    (text(), 0usize..12, prop::collection::vec(point, 0..30))
        .prop_map(|(name, color, points)| Series { name, color, points })
}

fn chart() -> impl Strategy<Value = Chart> {
    let join = prop::sample::select(vec![Join::Line, Join::Step, Join::Dots]);
    let lines = (axis(), axis(), join, prop::collection::vec(series(), 0..10))
        .prop_map(|(x, y, join, series)| Chart::Lines { x, y, join, series });
    let heat =
        ([axis(), axis(), axis()], numbers(8), numbers(8), prop::collection::vec(numbers(8), 0..8))
            .prop_map(|([x, y, value], x_edges, y_edges, values)| Chart::Heat {
                x,
                y,
                value,
                x_edges,
                y_edges,
                values,
            });
    let bar = (0u32..6, 0u32..12, number(), number()).prop_map(|(row, class, start, end)| Bar {
        row,
        class,
        start,
        end,
    });
    let spans = (
        axis(),
        prop::collection::vec(text(), 0..5),
        prop::collection::vec(text(), 0..10),
        prop::collection::vec(bar, 0..30),
    )
        .prop_map(|(x, rows, classes, bars)| Chart::Spans { x, rows, classes, bars });
    let range = (text(), number(), number(), number()).prop_map(|(name, low, at, high)| Range {
        name,
        low,
        at,
        high,
    });
    let forest = (axis(), prop::option::of(number()), prop::collection::vec(range, 0..8))
        .prop_map(|(x, line, ranges)| Chart::Forest { x, line, ranges });
    let bars = (text(), 0usize..12, prop::collection::vec(number(), 0..9))
        .prop_map(|(name, color, values)| BarSeries { name, color, values });
    let groups = prop::collection::vec(text(), 0..12);
    let bars = (axis(), groups, prop::collection::vec(bars, 0..4))
        .prop_map(|(x, groups, series)| Chart::Bars { x, groups, series });
    prop_oneof![lines, heat, spans, forest, bars]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_chart_is_well_formed_finite_and_bounded(chart in chart()) {
        check(&view(chart))?;
    }
}

fn plain_axis(unit: Unit) -> Axis {
    Axis { title: "t".into(), unit, log: false }
}

#[test]
fn many_series_rows_and_names_are_bounded() {
    let many = |count: usize| (0..count).map(|at| at as f64);
    let (x, y) = (plain_axis(Unit::Nanoseconds), plain_axis(Unit::MibPerSecond));
    let one = |name: usize| Series {
        name: name.to_string(),
        color: name,
        points: many(3).map(|x| Point { x, y: x.sin(), interval: None }).collect(),
    };
    let range = |at: f64| Range { name: at.to_string(), low: at, at, high: at };
    let charts = [
        Chart::Lines {
            x: x.clone(),
            y: y.clone(),
            join: Join::Dots,
            series: (0..100_000).map(one).collect(),
        },
        Chart::Forest { x: y, line: None, ranges: many(5000).map(range).collect() },
        Chart::Spans {
            x,
            rows: many(5000).map(|x| x.to_string()).collect(),
            classes: vec!["c".into(); 300],
            bars: (0..20_000u32)
                .map(|at| Bar {
                    row: at % 5000,
                    class: at % 300,
                    start: f64::from(at / 5000),
                    end: f64::from(at / 5000) + 0.5,
                })
                .collect(),
        },
    ];
    for chart in charts {
        check(&view(chart)).unwrap();
    }
}

/// The texts of all elements of a name in the drawing.
fn texts(chart: Chart, name: &str) -> Vec<String> {
    let svg = document(&view(chart));
    let xml = roxmltree::Document::parse(&svg).unwrap();
    let nodes = xml.descendants().filter(|node| node.has_tag_name(name));
    nodes.map(|node| node.text().unwrap_or_default().trim().to_string()).collect()
}

#[test]
fn what_is_not_drawn_is_said() {
    let range = |at: u32| Range { name: at.to_string(), low: 1.0, at: 1.0, high: 1.0 };
    let (x, ranges) = (plain_axis(Unit::Count), (0..300).map(range).collect());
    let rows = Chart::Forest { x, line: None, ranges };
    for element in ["text", "desc"] {
        let text = texts(rows.clone(), element).join(" ");
        let expected = "The first 256 of 300 intervals are drawn; the data hold all.";
        assert!(text.contains(expected), "{text}");
    }
}

/// A chart of dots or lines; `points` per series.
fn lines(join: Join, log: bool, series: &[Vec<(f64, f64)>]) -> Chart {
    let x = Axis { log, ..plain_axis(Unit::Nanoseconds) };
    let y = plain_axis(Unit::Bytes);
    let point = |&(x, y): &(f64, f64)| Point { x, y, interval: None };
    let one = |(color, points): (usize, &Vec<(f64, f64)>)| Series {
        name: format!("series number {color} of the picture"),
        color,
        points: points.iter().map(point).collect(),
    };
    Chart::Lines { x, y, join, series: series.iter().enumerate().map(one).collect() }
}

#[test]
fn points_without_a_place_are_counted() {
    let series = [vec![(0.0, 1.0), (1.0, 1.0), (10.0, 2.0), (f64::NAN, 1.0)]];
    let said = texts(lines(Join::Line, true, &series), "desc").concat();
    assert!(
        said.contains(
            "Not drawn, as 0 and less have no place on a logarithmic axis: 1 of 3 points."
        ),
        "{said}"
    );
}

#[test]
fn every_series_that_is_drawn_has_its_name_in_the_legend() {
    for (count, drawn) in [(2, 2), (8, 8), (9, 9), (80, 8)] {
        let series = vec![vec![(0.0, 1.0), (1.0, 2.0)]; count];
        let chart = lines(Join::Step, false, &series);
        let names = texts(chart.clone(), "text");
        let named = names.iter().filter(|text| text.starts_with("series number ")).count();
        assert_eq!(named, drawn, "{names:?}");
        let said = texts(chart, "desc").concat();
        assert_eq!(said.contains("series are drawn; the data hold all"), count > drawn);
    }
}

#[test]
fn every_class_has_its_name_or_is_counted() {
    for (count, last) in [(9, "class 8"), (12, "4 others")] {
        let bar = |class: u32| Bar { row: 0, class, start: f64::from(class), end: 20.0 };
        let spans = Chart::Spans {
            x: plain_axis(Unit::Bytes),
            rows: vec!["file".into()],
            classes: (0..count).map(|class| format!("class {class}")).collect(),
            bars: (0..count).map(bar).collect(),
        };
        let names = texts(spans, "text");
        assert!(names.iter().any(|name| name == last), "{names:?}");
    }
}
