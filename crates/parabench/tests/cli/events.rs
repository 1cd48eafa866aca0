//! The event table says the same as the summary.

use crate::scene::Scene;
use model::run::{LabelRow, Row};
use model::summary::Summary;
use report::events::EventReader;
use std::collections::BTreeMap;

/// Compound and simple operations, nested labels, what fails and is expected to, short reads.
const PROGRAM: &str = r#"
mkdir("d-$$rank");
time["outer"] {
    repeat $i 5 write("d-$$rank/f-$i", 4k);
    time["inner $$rank"] repeat $i 5 stat("d-$$rank/f-$i");
    with (expect="ENOENT") delete("nothing-$$rank");
}
time["again"] repeat $i 5 { read("d-$$rank/f-$i"); append("d-$$rank/f-$i", 1k); }
$h = fopen("d-$$rank/f-1", "O_RDONLY");
time["short"] fread($h, 64k);
fclose($h);
"#;

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| (&a.label, &a.op).cmp(&(&b.label, &b.op)));
    rows
}

/// The rows of all events. `labels`: how long labels were executed; rates in one that is not among them go
/// from an operation's first start to its last end.
pub fn rows(mut events: EventReader, labels: &[LabelRow]) -> Vec<Row> {
    let mut executions: BTreeMap<(u32, u32), Summary> = BTreeMap::new();
    for event in events.by_ref() {
        let event = event.expect("an event");
        let execution = executions.entry((event.cell, event.repetition)).or_default();
        execution.add(event.rank, &event.event);
    }
    let path = |label: u32| events.labels().get(label as usize).map_or("", String::as_str);
    let mut all = Vec::new();
    for ((cell, repetition), summary) in executions {
        let busy_ns = |label: &str| {
            let key = (label, cell, repetition);
            let same = |row: &&LabelRow| (row.label.as_str(), row.cell, row.repetition) == key;
            labels.iter().find(same).map(|row| row.busy_ns)
        };
        let rows = summary.rows(path, busy_ns).into_iter();
        all.extend(rows.map(|row| Row { cell, repetition, ..row }));
    }
    all
}

#[test]
fn the_rows_of_the_events_are_those_of_the_run() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench("run x.ppl -n 3 --backend mem --events --out o").exits(0);
    let run = report::store::read(&scene.path("o")).expect("the run");
    let events = EventReader::open(&scene.path("o")).expect("its events");
    let rows = rows(events, &run.labels);
    assert!(rows.len() > 10, "{rows:?}");
    assert_eq!(sorted(rows), sorted(run.rows));
}
