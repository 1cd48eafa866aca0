//! The effect of one line of a log.
//!
//! A log is imported three times: up to the line before, up to the line, and whole. The difference
//! between the first two is the effect of the line; operations that begin in it and end later are taken
//! from the third. So every format with lines is explained without code of its own.

use crate::error::{Error, cannot_read};
use crate::facts::Facts;
use crate::format::Format;
use crate::import::{Options, from_inputs};
use crate::input::{self, Input};
use crate::rules::Rules;
use crate::scanner::Lines;
use crate::sort::Traced;
use crate::{Imported, Selection};
use model::event::{NO_ID, rename_word};
use model::{Op, errno, escape, units};
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// Characters of a line that are shown.
const SHOWN_CHARS: usize = 400;

/// The line, what took it, the operations that it became, and what was counted.
///
/// # Errors
/// As for importing; or the log has no such line, or no lines.
pub fn explain(
    log: &Path,
    line: u64,
    options: &Options,
    rules: Option<&Rules>,
) -> Result<String, Error> {
    let (text, place) = find_line(log, line)?;
    let before = imported(log, place.start, options, rules)?;
    let until = imported(log, place.end, options, rules)?;
    let whole = imported(log, u64::MAX, options, rules)?;
    let shown =
        escape::line(&model::words::shortened(&String::from_utf8_lossy(&text), SHOWN_CHARS))
            .to_string();
    let mut says = format!("line {line}: {shown}\n");
    says += &match rules {
        Some(rules) => rules.describe(&text),
        None => format!("read as {}\n", whole.format.name()),
    };
    let events = of_line(before.events, until.events, whole.events, line)?;
    for traced in &events {
        let _ = writeln!(says, "becomes {}", shown_event(traced, &whole.facts));
    }
    for gap in &until.facts.gaps {
        let old = before.facts.gaps.iter().find(|old| old.code == gap.code);
        let more = gap.count - old.map_or(0, |old| old.count);
        // A call that has not ended here ends later, if it became an operation.
        if more > 0 && (events.is_empty() || gap.code != "cut-calls") {
            // Its sentence speaks of all lines that were read.
            let until = if more < gap.count { " up to this line" } else { "" };
            let _ = writeln!(says, "counted{until}: {}, {more} of them here", gap.says);
        }
    }
    if events.is_empty() {
        says += "no operation\n";
    }
    Ok(says)
}

fn error(log: &Path, why: &str) -> Error {
    let message = format!("{} {why}", escape::line(&log.to_string_lossy()));
    Error { message, help: "name one log and one of its lines, from 1".into() }
}

fn open(log: &Path) -> Result<Input, Error> {
    if log.as_os_str() == "-" {
        return Err(error(log, "is read several times to explain a line: it must be a file"));
    }
    input::open(log).map_err(|why| cannot_read(log, 0, &why))
}

/// A line, and where its bytes are.
fn find_line(log: &Path, line: u64) -> Result<(Vec<u8>, Range<u64>), Error> {
    let input = open(log)?;
    if Format::of(&input.beginning) == Some(Format::Darshan) {
        return Err(error(log, "is binary: it has no lines"));
    }
    let mut lines = Lines::new(input.bytes, "");
    let mut start = 0;
    while lines.advance().map_err(|why| cannot_read(log, lines.number(), &why))? {
        if lines.number() == line {
            return Ok((lines.line().to_vec(), start..lines.end()));
        }
        start = lines.end();
    }
    Err(error(log, &format!("has {} lines, but no line {line}", lines.number())))
}

/// The first bytes of a log, imported. The format is that of the whole.
fn imported(
    log: &Path,
    bytes: u64,
    options: &Options,
    rules: Option<&Rules>,
) -> Result<Imported, Error> {
    let mut input = open(log)?;
    input.bytes = Box::new(input.bytes.take(bytes));
    let inputs = vec![(log.into(), input)];
    match rules {
        Some(rules) => rules.import(inputs, Selection::All),
        None => from_inputs(inputs, &Options { which: Selection::All, ..options.clone() }),
    }
}

type Events = crate::sort::Sorted;

/// Events that begin in a line; without one those that it adds: the ends of calls that began before.
fn of_line(before: Events, until: Events, whole: Events, line: u64) -> Result<Vec<Traced>, Error> {
    let begun = whole.filter(|event| event.as_ref().is_ok_and(|e| e.details.line == line));
    let begun: io::Result<Vec<Traced>> = begun.collect();
    let found = match begun {
        Ok(begun) if begun.is_empty() => added(before, until),
        other => other,
    };
    found.map_err(|why| Error { message: format!("cannot sort: {why}"), help: String::new() })
}

/// Events of `until` that `before` lacks. Their ranks may differ: the line may end a process that works in turns with
/// others.
fn added(before: Events, until: Events) -> io::Result<Vec<Traced>> {
    let key = |event: &Traced| {
        (event.event.start_ns, event.event.op, bytemuck::bytes_of(&event.details).to_vec())
    };
    let mut old: HashMap<_, usize> = HashMap::new();
    for event in before {
        *old.entry(key(&event?)).or_default() += 1;
    }
    let mut added = Vec::new();
    for event in until {
        let event = event?;
        match old.get_mut(&key(&event)).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => added.push(event),
        }
    }
    Ok(added)
}

/// `fread f, offset 0, 4096 of 4096 bytes, 12us, rank 0, at 1.5s`.
fn shown_event(traced: &Traced, facts: &Facts) -> String {
    let (event, details) = (&traced.event, &traced.details);
    let mut text = Op::from_u8(event.op).map_or(String::new(), |op| op.name().to_string());
    for path in [event.path, event.path2].iter().filter(|path| **path != NO_ID) {
        let name = facts.paths.get(*path as usize).map_or(&b""[..], Vec::as_slice);
        let root = facts.root.strip_suffix(b"/").unwrap_or(&facts.root);
        let name = if facts.root.is_empty() { name.to_vec() } else { [root, b"/", name].concat() };
        let _ = write!(text, " {}", escape::line(&String::from_utf8_lossy(&name)));
    }
    if event.op == Op::Rename as u8 {
        let how = rename_word(event.requested_bytes);
        text.extend(how.map(|how| format!(", \"{how}\"")));
    } else if event.requested_bytes > 0 || event.offset_bytes > 0 {
        let (offset, done, asked) = (event.offset_bytes, event.done_bytes, event.requested_bytes);
        let _ = write!(text, ", offset {offset}, {done} of {asked} bytes");
    }
    if details.instance != NO_ID {
        let _ = write!(text, ", open instance {}", details.instance);
    }
    if details.instance2 != NO_ID {
        let (from, instance) = (event.from_bytes, details.instance2);
        let _ = write!(text, ", from offset {from} of open instance {instance}");
    }
    if event.errno != 0 {
        let _ = write!(text, ", {}", errno::name(event.errno));
    }
    let ns = |ns: u64| units::format_duration(i64::try_from(ns).unwrap_or(i64::MAX));
    let (elapsed, start) = (ns(event.busy_ns), ns(event.start_ns));
    let _ = write!(text, ", {elapsed} from {start} on, rank {}", traced.rank);
    text
}
