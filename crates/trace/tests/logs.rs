//! Small logs, written by hand, beside the events that they must become: `tests/logs/*.txt`.
//!
//! ```text
//! == a name for the case
//! 17 openat(AT_FDCWD, "f", O_RDONLY) = 3
//! --
//! 0 fopen f #0 f0 O_RDONLY
//! ```
//!
//! `UPDATE_GOLDEN=1` writes the events anew: look at the difference.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use trace::input;
use trace::sort::Traced;
use trace::{Facts, Imported, Options, Selection};

use model::event::{
    FLAG_AT_POSITION, FLAG_EXPECTED, FLAG_FAILED, FLAG_FROM_POSITION, FLAG_KEEPS_SIZE, FLAG_SHORT,
    FLAG_UNPLACED, NO_ID,
};
use model::{Op, errno};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

/// Several logs of one case are parted by `-- log NAME`. Those of a case that begins with `-- rules` are
/// read by the rules that stand there.
fn imported(log: &str, which: Selection) -> Result<Imported, trace::Error> {
    if let Some(rest) = log.strip_prefix("-- rules\n") {
        let (rules, logs) = rest.split_once("\n-- log ").expect("logs behind rules");
        let rules = trace::Rules::read(rules, "rules.toml")?;
        return rules.import(inputs(&format!("-- log {logs}")), which);
    }
    trace::import::from_inputs(inputs(log), &Options { format: None, which })
}

fn inputs(log: &str) -> Vec<(PathBuf, input::Input)> {
    let mut logs = Vec::new();
    let first = if log.starts_with("-- log ") { "" } else { "-- log log\n" };
    for part in format!("\n{first}{log}").split("\n-- log ").skip(1) {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        let bytes: Box<dyn std::io::BufRead> = Box::new(std::io::Cursor::new(text.to_owned()));
        logs.push((PathBuf::from(name), input::decompressed(bytes).unwrap()));
    }
    logs
}

fn shown(log: &str) -> String {
    let imported = match imported(log, Selection::All) {
        Ok(imported) => imported,
        Err(error) => return format!("error: {error}\n"),
    };
    let facts = &imported.facts;
    let mut text = String::new();
    for event in imported.events {
        text += &line(&event.unwrap(), facts);
    }
    for thread in facts.threads.iter().filter(|thread| thread.parent.is_some()) {
        let (rank, parent) =
            (thread.rank.map_or("-".into(), |rank| rank.to_string()), thread.parent);
        let (process, command) = (thread.process, &thread.command);
        writeln!(
            text,
            "thread {} rank {rank} process {process} parent {} {command}",
            thread.thread,
            parent.unwrap()
        )
        .unwrap();
    }
    for gap in facts
        .gaps
        .iter()
        .filter(|gap| !gap.code.starts_with("no-times") && gap.code != "no-durations")
    {
        writeln!(text, "gap {} {}", gap.code, gap.says).unwrap();
    }
    if !facts.root.is_empty() && facts.root != b"/" {
        writeln!(text, "root {}", String::from_utf8_lossy(&facts.root)).unwrap();
    }
    text
}

fn line(traced: &Traced, facts: &Facts) -> String {
    let (event, details) = (&traced.event, &traced.details);
    let path = |id: u32| facts.paths[id as usize].escape_ascii().to_string();
    let mut text = format!("{} {}", traced.rank, Op::from_u8(event.op).unwrap());
    let mut add = |is: bool, word: String| {
        if is {
            text += " ";
            text += &word;
        }
    };
    add(event.path != NO_ID, if event.path == NO_ID { String::new() } else { path(event.path) });
    let copies = Op::from_u8(event.op).is_some_and(Op::is_between_files);
    if event.path2 != NO_ID {
        add(true, format!("{} {}", if copies { "<-" } else { "->" }, path(event.path2)));
    }
    add(details.instance != NO_ID, format!("#{}", details.instance));
    add(details.file != NO_ID, format!("f{}", details.file));
    let moved = event.requested_bytes > 0 || event.offset_bytes > 0;
    add(moved, format!("@{} {}/{}", event.offset_bytes, event.done_bytes, event.requested_bytes));
    add(copies, format!("from #{} @{}", details.instance2, event.from_bytes));
    add(details.open_flags != NO_ID, format!("flags {:#o}", details.open_flags));
    for (flag, word) in [
        (FLAG_FAILED, "failed"),
        (FLAG_EXPECTED, "refused"),
        (FLAG_SHORT, "short"),
        (FLAG_UNPLACED, "unplaced"),
        (FLAG_AT_POSITION, "in-turn"),
        (FLAG_FROM_POSITION, "from-in-turn"),
        (FLAG_KEEPS_SIZE, "keeps-size"),
    ] {
        add(event.flags & flag != 0, word.into());
    }
    if event.label != NO_ID && facts.labels[event.label as usize].contains(&b'/') {
        add(true, format!("in {}", facts.labels[event.label as usize].escape_ascii()));
    }
    add(event.errno != 0, errno::name(event.errno).into());
    add(event.end_ns > 0, format!("{}..{}us", event.start_ns / 1000, event.end_ns / 1000));
    add(details.waited_us > 0, format!("waited {}us", details.waited_us));
    add(event.busy_ns != event.end_ns - event.start_ns, format!("own {}us", event.busy_ns / 1000));
    text + "\n"
}

fn check(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut made = String::new();
    for case in text.split("== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let log = rest.split("\n--\n").next().unwrap();
        write!(made, "== {name}\n{log}\n--\n{}\n", shown(log)).unwrap();
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, made.trim_end().to_string() + "\n").unwrap();
        return;
    }
    let cases = |text: &str| text.trim_end().split("== ").map(str::to_owned).collect::<Vec<_>>();
    let (expected, found) = (cases(&text), cases(&made));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(found.trim_end(), expected.trim_end(), "{}", file.display());
    }
}

#[test]
fn small_logs_become_the_events_beside_them() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files.iter().for_each(|file| check(file));
}
