//! What small logs show of what was there.

use super::*;
use crate::Events;
use model::Event;
use model::run::TraceFound;

/// Operations on paths by number, and errors.
fn log(paths: &[&str], operations: &[(Op, u32, u16)], found: &[TraceFound]) -> Log {
    let mut events = Events::default();
    for (at, (op, path, errno)) in (0..).zip(operations) {
        let event = Event {
            start_ns: at,
            end_ns: at,
            path: *path,
            path2: NO_ID,
            op: *op as u8,
            errno: *errno,
            ..Event::default()
        };
        events.push(&Logged { event, ..Logged::default() });
    }
    let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let mut log = Log { paths, ranks: vec![events], imported: true, ..Log::default() };
    log.take_found(found);
    log
}

fn link(path: &str, target: &str) -> TraceFound {
    TraceFound { path: path.into(), target: Some(target.into()), ..TraceFound::default() }
}

fn shown(log: &Log) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let one = |one: &Expected| match &one.what {
        Thing::Directory => format!("{}/", text(&one.path)),
        Thing::File { size_bytes, .. } => format!("{} {size_bytes}", text(&one.path)),
        Thing::Link(target) => format!("{} -> {}", text(&one.path), text(target)),
    };
    before(log).iter().map(one).collect()
}

#[test]
fn names_through_links_are_those_of_what_they_lead_to() {
    let found = [
        link("a/l", "b"),
        link("a/l/deep", "e"),
        link("top", "."),
        link("round", "round/x"),
        link("f", "g"),
    ];
    let operations = [
        (Op::Stat, 0, 0),
        (Op::Readlink, 1, 0),
        (Op::Lstat, 2, 0),
        (Op::Stat, 3, 0),
        (Op::Delete, 4, 0),
        (Op::Stat, 4, 2),
        (Op::Mkdir, 5, 17),
    ];
    let log = log(&["a/l/c", "a/l", "top/d", "round", "f", "a/l/deep/h"], &operations, &found);
    let expected = [
        "a/",
        "a/l -> ../b",
        "b/",
        "b/c 0",
        "b/deep -> ../e",
        "d 0",
        "e/h/",
        "f -> g",
        "round -> round/x",
        "top -> .",
    ];
    let mut all = shown(&log);
    all.retain(|one| !one.starts_with("round/"));
    assert_eq!(all, expected);
}

#[test]
fn a_file_that_is_only_removed_was_as_long_as_the_log_tells() {
    let size = |path: &str, bytes| TraceFound {
        path: path.into(),
        size_bytes: Some(bytes),
        ..TraceFound::default()
    };
    let operations = [(Op::Delete, 0, 0), (Op::Write, 1, 0), (Op::Delete, 1, 0)];
    let log = log(&["old", "new"], &operations, &[size("old", 5000), size("new", 7)]);
    assert_eq!(shown(&log), ["old 5000"]);
}
