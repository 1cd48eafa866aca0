//! What holds for all views, whatever the run was.

use super::*;
use crate::sample;
use model::event::{Event, NO_ID};
use model::run::{EventsInfo, Row};
use model::{Op, Run};
use proptest::prelude::*;
use report::chart::{Chart, View};
use report::events::{EventWriter, Origin};

/// Most marks of a picture. Series in the data alone are not counted.
const MAX_MARKS: usize = 8000;

fn marks(chart: &Chart) -> usize {
    match chart {
        Chart::Lines { series, .. } => series.iter().take(9).map(|s| s.points.len()).sum(),
        Chart::Heat { values, .. } => values.iter().flatten().filter(|v| v.is_finite()).count(),
        Chart::Spans { bars, .. } => bars.len(),
        Chart::Forest { ranges, .. } => ranges.len(),
        Chart::Bars { groups, series, .. } => groups.len() * series.len(),
    }
}

/// What drawers rely on.
fn check(view: &View) {
    let name = &view.name;
    assert!(!view.title.is_empty() && view.summary.ends_with('.'), "{name}: {}", view.summary);
    let texts = format!("{}{}", view.title, view.summary);
    assert!(!texts.contains(|c: char| c.is_control()) && !texts.contains("NaN"), "{name}: {texts}");
    assert!(marks(&view.chart) <= MAX_MARKS, "{name}: {}", marks(&view.chart));
    match &view.chart {
        Chart::Lines { x, series, .. } => {
            for points in series.iter().map(|series| &series.points) {
                let sound = |p: &report::chart::Point| p.x.is_finite() && p.y.is_finite();
                assert!(points.iter().all(sound), "{name}");
                assert!(points.windows(2).all(|pair| pair[0].x <= pair[1].x), "{name}");
                assert!(!x.log || points.iter().all(|point| point.x > 0.0), "{name}");
            }
        }
        Chart::Heat { x_edges, y_edges, values, value, .. } => {
            assert_eq!(values.len() + 1, y_edges.len(), "{name}");
            assert!(values.iter().all(|row| row.len() + 1 == x_edges.len()), "{name}");
            assert!(
                !value.log || values.iter().flatten().all(|v| v.is_nan() || *v > 0.0),
                "{name}"
            );
        }
        Chart::Spans { rows, classes, bars, .. } => {
            let inside = |bar: &report::chart::Bar| {
                (bar.row as usize) < rows.len() && (bar.class as usize) < classes.len()
            };
            assert!(bars.iter().all(|bar| inside(bar) && bar.start <= bar.end), "{name}");
        }
        Chart::Forest { ranges, .. } => {
            assert!(ranges.iter().all(|range| range.low <= range.high), "{name}");
        }
        Chart::Bars { groups, series, .. } => {
            assert!(series.iter().all(|one| one.values.len() == groups.len()), "{name}");
        }
    }
    let mut bytes = Vec::new();
    csv(view, &mut bytes).unwrap();
    let lines = ::csv::Reader::from_reader(bytes.as_slice()).records().count();
    assert!(lines >= marks(&view.chart), "{name}");
}

fn check_all(views: &Views) {
    views.views.iter().for_each(check);
    assert!(views.absent.iter().all(|absent| !absent.reason.is_empty()));
    let mut names: Vec<&str> = views.views.iter().map(|view| view.name.as_str()).collect();
    names.extend(views.absent.iter().map(|absent| absent.name));
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn runs_of_all_kinds_have_sound_pictures() {
    for run in [sample::listing1(), sample::aborted(), Run::default()] {
        check_all(&views(&run, None));
    }
    for label in sample::HARD_LABELS.iter().map(|l| l.to_string()).chain(["x".repeat(300)]) {
        check_all(&views(&sample::labelled(&label), None));
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let time = prop_oneof![0u64..10_000, any::<u64>()];
    let bytes = prop_oneof![Just(0), 0u64..100_000, any::<u64>()];
    let id = prop_oneof![0u32..2, Just(NO_ID)];
    let op = 0..Op::COUNT;
    (time.clone(), time, any::<u64>(), bytes.clone(), bytes, (id.clone(), id), op).prop_map(
        |(a, b, busy_ns, offset_bytes, done_bytes, (label, path), op)| Event {
            start_ns: a.min(b),
            end_ns: a.max(b),
            busy_ns,
            offset_bytes,
            done_bytes,
            label,
            path,
            path2: NO_ID,
            op: op as u8,
            ..Event::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_run_has_sound_pictures(run in sample::any_run()) {
        check_all(&views(&run, None));
    }

    #[test]
    fn any_events_have_sound_pictures(
        ranks in prop::collection::vec(prop::collection::vec(any_event(), 0..12), 0..5),
        every in 0u64..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
        for (rank, events) in ranks.iter().enumerate() {
            let origin = Origin { rank: rank as u32, host: "node", ..Origin::default() };
            writer.rank(&origin, &["a", "b"], &["f", "g"], events.iter()).unwrap();
        }
        let info = EventsInfo { sample_every: every, dropped: every, ..writer.finish().unwrap() };
        let mut run = sample::listing1();
        run.run.events = Some(info);
        check_all(&stored(dir.path(), &run).unwrap().0);
    }
}

/// Many ranks, many calls: marks stay bounded.
#[test]
fn large_runs_have_small_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    for rank in 0..3000u32 {
        let event = |seq: u64| Event {
            seq,
            start_ns: 977 * seq,
            end_ns: 977 * seq + 500,
            busy_ns: 10 + seq,
            offset_bytes: (u64::from(rank) * 7919 + seq * 104_729) % 1_000_003,
            done_bytes: 100,
            label: (seq % 2) as u32,
            path: 0,
            path2: NO_ID,
            op: Op::Fread as u8,
            ..Event::default()
        };
        let events: Vec<Event> = (0..50).map(event).collect();
        let origin = Origin { rank, host: "node", ..Origin::default() };
        writer.rank(&origin, &["a", "b"], &["f"], events.iter()).unwrap();
    }
    let mut run = sample::listing1();
    let row = sample::row("a", "fread", 75_000, 7_500_000, [10, 35, 35, 60, 60]);
    run.rows = vec![Row { histogram: Some(sample::histogram(75_000, 35)), ..row }];
    run.run.events = Some(writer.finish().unwrap());
    let views = stored(dir.path(), &run).unwrap().0;
    check_all(&views);
    let absent: Vec<&str> = views.absent.iter().map(|absent| absent.name).collect();
    assert_eq!(absent, ["figures-over-sweep", "phases"]);
}

/// A table of two executions, each a rank with this number of writes of 100 bytes.
fn two_executions(count: u64) -> (tempfile::TempDir, Run) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    for cell in 0..2 {
        let event = |seq: u64| Event {
            seq,
            start_ns: 100_000 * seq,
            end_ns: 100_000 * seq + 70_000,
            busy_ns: 70_000,
            done_bytes: 100,
            path: 0,
            path2: NO_ID,
            label: 0,
            op: Op::Fwrite as u8,
            ..Event::default()
        };
        let events: Vec<Event> = (0..count * (u64::from(cell) + 1)).map(event).collect();
        let origin = Origin { host: "node", cell, ..Origin::default() };
        writer.rank(&origin, &["a"], &["f"], events.iter()).unwrap();
    }
    let mut run = sample::sweep(2, 1);
    run.run.events = Some(writer.finish().unwrap());
    (dir, run)
}

/// Bytes below the steps of a picture of bandwidth.
fn bytes_below(view: &View) -> f64 {
    let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
    let points = series.iter().flat_map(|one| one.points.windows(2));
    points.map(|pair| pair[0].y * 1_048_576.0 * (pair[1].x - pair[0].x) / 1e9).sum()
}

#[test]
fn every_execution_has_its_pictures_on_one_axis() {
    let (dir, mut run) = two_executions(200);
    for (versus, second) in [(false, "bandwidth-over-time-2"), (true, "bandwidth-over-time-b")] {
        run.run.sweep.as_mut().unwrap().versus = versus;
        let views = stored(dir.path(), &run).unwrap().0;
        check_all(&views);
        let view = |name: &str| views.views.iter().find(|view| view.name == name).expect("a view");
        let both = [view("bandwidth-over-time"), view(second)];
        let bytes = both.map(|view| bytes_below(view).round());
        assert_eq!(bytes, [20_000.0, 40_000.0]);
        let ends = both.map(|view| match &view.chart {
            Chart::Lines { series, .. } => series[0].points.last().unwrap().x,
            other => panic!("{other:?}"),
        });
        assert!((ends[0] / ends[1] - 1.0).abs() < 0.01, "{ends:?}");
        assert_ne!(both[0].title, both[1].title);
    }
}

#[test]
fn few_calls_give_no_picture() {
    let (dir, mut run) = two_executions(9);
    run.run.sweep = None;
    let views = stored(dir.path(), &run).unwrap().0;
    let made = |name: &str| views.views.iter().any(|view| view.name == name);
    for (name, _) in OVER_TIME {
        assert!(!made(name), "{name}");
    }
    let reason = views.absent.iter().find(|absent| absent.name == timeline::BANDWIDTH);
    assert_eq!(reason.unwrap().reason, "too few: 9 operations");
}

/// One operation each millisecond is due; from the half on each takes 3 ms, so that a queue grows.
#[test]
fn a_growing_queue_shows_over_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    let (mut free_ns, mut events) = (0u64, Vec::new());
    for seq in 0..2000u64 {
        let due_ns = seq * 1_000_000;
        let took_ns = if seq < 1000 { 100_000 } else { 3_000_000 };
        let start_ns = free_ns.max(due_ns);
        free_ns = start_ns + took_ns;
        events.push(Event {
            seq,
            start_ns,
            end_ns: free_ns,
            intended_start_ns: due_ns,
            busy_ns: took_ns,
            label: 0,
            path: 0,
            path2: NO_ID,
            op: Op::Fread as u8,
            flags: model::event::FLAG_DUE,
            ..Event::default()
        });
    }
    let open = Event { op: Op::Fopen as u8, path: 0, path2: NO_ID, ..Event::default() };
    events.push(Event { seq: 2000, start_ns: free_ns, end_ns: free_ns + 1, ..open });
    let origin = Origin { rank: 0, host: "node", ..Origin::default() };
    writer.rank(&origin, &["a"], &["f"], events.iter()).unwrap();
    let mut run = sample::listing1();
    run.run.events = Some(writer.finish().unwrap());
    let absent = stored(dir.path(), &run).unwrap().0;
    assert!(absent.views.iter().all(|view| view.name != due::NAME), "nothing was due");
    run.run.arrivals = vec![model::run::ArrivalRow::default()];
    let views = stored(dir.path(), &run).unwrap().0;
    check_all(&views);
    let view = views.views.iter().find(|view| view.name == due::NAME).expect("a view");
    for part in ["2000 fread", "Left out: 1 operation"] {
        assert!(view.summary.contains(part), "{}", view.summary);
    }
    let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
    let names: Vec<&str> = series.iter().map(|line| &*line.name).collect();
    assert_eq!(names, ["median", "longest"], "fewer than 100 stand in a column");
    let (first, last) = (series[1].points[0], *series[1].points.last().unwrap());
    assert_eq!((first.y, last.y), (100_000.0, 2_001_000_000.0));
    let at = |ns: f64| series[0].points.iter().find(|point| point.x > ns).unwrap().y;
    assert!(at(0.5e9) < 110_000.0 && at(1.5e9) > 0.9e9, "{:?}", series[0]);
}

#[test]
fn unknown_durations_are_in_no_picture() {
    use model::run::{Trace, TraceGap};
    let gap = TraceGap { code: "no-durations".into(), count: 4, ..TraceGap::default() };
    let row = Row { label: "a".into(), op: "fwrite".into(), count: 4, bytes: 64, ..Row::default() };
    let mut run = Run { rows: vec![row], ..Run::default() };
    run.run.trace = Some(Trace { gaps: vec![gap], ..Trace::default() });
    let views = views(&run, None);
    check_all(&views);
    let reason =
        |name: &str| &*views.absent.iter().find(|absent| absent.name == name).unwrap().reason;
    assert!(reason(latency::CDF).contains("durations"));
    let text = report::table::render(
        &run,
        report::table::Terminal::default(),
        report::table::Detail::Full,
    );
    assert!(!text.contains(" ns"), "{text}");
}
