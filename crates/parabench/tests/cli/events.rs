//! The event table says the same as the summary.

use crate::scene::Scene;
use model::run::Row;
use report::events::EventReader;

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

#[test]
fn the_rows_of_the_events_are_those_of_the_run() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench("run x.ppl -n 3 --backend mem --events --out o").exits(0);
    let run = report::store::read(&scene.path("o")).expect("the run");
    let events = EventReader::open(&scene.path("o")).expect("its events");
    let rows = report::events::rows(events, &run.labels).expect("rows");
    assert!(rows.len() > 10, "{rows:?}");
    assert_eq!(sorted(rows), sorted(run.rows));
}
