//! The same sums made in the plainest way: from events one by one, into maps by name.

use super::decode::Sums;
use super::*;
use model::op::{Class, Part};
use report::events::{EventReader, EventRow};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// An event with its names.
struct Named {
    row: EventRow,
    op: Op,
    label: String,
    path: Option<String>,
}

impl Named {
    fn is_failed(&self) -> bool {
        self.row.event.flags & (FLAG_FAILED | FLAG_EXPECTED) != 0
    }

    fn class(&self) -> Class {
        self.op.row().class
    }

    fn is_placed(&self) -> bool {
        self.row.event.flags & FLAG_UNPLACED == 0
    }
}

fn events(path: &Path, execution: Execution) -> Vec<Named> {
    let mut reader = EventReader::open(path).unwrap();
    let mut all = Vec::new();
    while let Some(row) = reader.next() {
        let row = row.unwrap();
        let event = row.event;
        let op = Op::from_u8(event.op).unwrap();
        let label = reader.labels().get(event.label as usize).cloned().unwrap_or_default();
        let named = reader.paths().get(event.path as usize).filter(|_| op != Op::Symlink);
        let path = named.map(|path| String::from_utf8(path.clone()).unwrap());
        if (row.cell, row.repetition) == execution {
            all.push(Named { row, op, label, path });
        }
    }
    all
}

/// Aggregates a table and compares everything with its events.
pub fn check(path: &Path, run: &Run) -> Aggregates {
    let Some(found) = aggregate(path, run).unwrap() else {
        assert_eq!(EventReader::open(path).unwrap().count(), 0);
        return Aggregates { executions: Vec::new(), access: Vec::new() };
    };
    let json: Value = serde_json::from_str(&found.time_line()).unwrap();
    let decoded: Vec<Decoded> =
        json["executions"].as_array().unwrap().iter().map(Decoded::of).collect();
    assert_eq!((decoded.len(), found.access.len()), (found.executions.len(), decoded.len()));
    for ((decoded, line), access) in decoded.iter().zip(&found.executions).zip(&found.access) {
        let all = events(path, line.execution);
        let done: Vec<&Named> = all.iter().filter(|event| !event.is_failed()).collect();
        assert_eq!(decoded.number("events"), done.len() as u64);
        assert_eq!(decoded.number("failed"), (all.len() - done.len()) as u64);
        let first = all.iter().map(|event| event.row.event.start_ns).min().unwrap();
        assert_eq!(decoded.number("start_ns"), first);
        cells(run, decoded, &done);
        latencies(decoded, &done);
        offsets(decoded, &done);
        sizes(access, &done);
        files(access, &done);
        ranks(access, &done);
    }
    found
}

/// Column of a time, of which there are `columns`.
fn column(decoded: &Decoded, columns: u64, ns: u64) -> u64 {
    let width = u128::from(decoded.number("column_ns")) * u128::from(decoded.number("columns"));
    let at = u128::from(ns - decoded.number("start_ns")) * u128::from(columns) / width;
    (at as u64).min(columns - 1)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().into()).collect()
}

fn near(found: f64, expected: u64) -> bool {
    if expected == 0 { found == 0.0 } else { (found / expected as f64 - 1.0).abs() < 0.006 }
}

/// Rank's band, label, operation, program line, file.
type Stream = (u64, String, String, Option<(u64, u64)>, Option<String>);

fn cells(run: &Run, decoded: &Decoded, done: &[&Named]) {
    let json = &decoded.json;
    let (labels, files) = (texts(&json["labels"]), texts(&json["files"]));
    let bands: Vec<(u64, u64)> = serde_json::from_value(json["bands"].clone()).unwrap();
    let lines: Vec<(u64, u64)> = serde_json::from_value(json["lines"].clone()).unwrap();
    let ops: Vec<(String, String)> = serde_json::from_value(json["ops"].clone()).unwrap();
    let streams: Vec<(u64, usize, usize, i64, i64)> =
        serde_json::from_value(json["streams"].clone()).unwrap();
    let notes = json["notes"].to_string();
    let keeps = |what: &str| !notes.contains(&format!("{what} are not distinguished"));
    let (keeps_lines, keeps_files) = (keeps("lines"), keeps("Files"));
    let mut expected: BTreeMap<(Stream, u64), (u64, u64, u64, u64)> = BTreeMap::new();
    for named in done {
        let event = &named.row.event;
        let rank = u64::from(named.row.rank);
        let band = bands.iter().position(|band| (band.0..=band.1).contains(&rank)).unwrap() as u64;
        let site = run.run.sites.iter().find(|site| site.site == event.site);
        let line = site.filter(|_| keeps_lines).map(|site| {
            let names = &run.run.program.files;
            let file = names.iter().position(|file| file.name == site.file).unwrap();
            (file as u64, u64::from(site.line))
        });
        let file = named.path.clone().filter(|path| keeps_files && files.contains(path));
        let stream = (band, named.label.clone(), named.op.name().to_string(), line, file);
        let at = column(decoded, decoded.number("columns"), event.start_ns);
        let sums = expected.entry((stream, at)).or_default();
        sums.0 += 1;
        sums.1 = sums.1.saturating_add(event.done_bytes).min(1 << 53);
        sums.2 = sums.2.saturating_add(event.busy_ns);
        sums.3 = sums.3.max(event.busy_ns);
    }
    let name = |((stream, column), sums): (&(usize, u64), &Sums)| {
        let (band, label, op, line, file) = streams[*stream];
        let line = usize::try_from(line).ok().map(|line| lines[line]);
        let file = usize::try_from(file).ok().map(|file| files[file].clone());
        (((band, labels[label].clone(), ops[op].0.clone(), line, file), *column), *sums)
    };
    let found: BTreeMap<(Stream, u64), Sums> = decoded.cells.iter().map(name).collect();
    assert_eq!(found.len(), decoded.cells.len(), "streams differ from each other");
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for ((key, found), expected) in found.iter().zip(expected.values()) {
        assert_eq!((found.0, found.1), (expected.0, expected.1), "{key:?}");
        assert!(near(found.2, expected.2) && near(found.3, expected.3), "{found:?} {expected:?}");
    }
}

fn latencies(decoded: &Decoded, done: &[&Named]) {
    let columns = decoded.json["latency"]["columns"].as_u64().unwrap();
    let ops: Vec<(String, String)> = serde_json::from_value(decoded.json["ops"].clone()).unwrap();
    let mut expected: BTreeMap<(usize, u64, u64), u64> = BTreeMap::new();
    for named in done {
        let op = ops.iter().position(|op| op.0 == named.op.name()).unwrap();
        let at = column(decoded, columns, named.row.event.start_ns);
        let code = match named.row.event.busy_ns {
            0 => 0,
            ns => 1 + (16.0 * (ns as f64).log2()).floor() as u64,
        };
        *expected.entry((op, at, code)).or_default() += 1;
    }
    assert_eq!(decoded.latencies, expected);
}

fn offsets(decoded: &Decoded, done: &[&Named]) {
    let end = |named: &&Named| {
        let event = &named.row.event;
        event.offset_bytes.checked_add(event.done_bytes)
    };
    if !done.iter().all(|named| end(named).is_some()) {
        // No file is as large: nothing is promised of where its bytes are.
        return;
    }
    let offsets = &decoded.json["offsets"];
    let number = |name: &str| offsets[name].as_u64().unwrap();
    let (columns, rows, end) = (number("columns"), number("rows"), number("end_bytes"));
    let (files, height) = (texts(&decoded.json["files"]), end.div_ceil(rows));
    let mut expected: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    for named in done.iter().filter(|named| named.is_placed()) {
        let event = &named.row.event;
        let class = match named.class() {
            Class::Read => 0,
            Class::Write => 1,
            _ => continue,
        };
        let file = named.path.as_ref().and_then(|path| files.iter().position(|one| one == path));
        let file = file.unwrap_or(files.len()) as u64;
        let at = column(decoded, columns, event.start_ns);
        let stop = event.offset_bytes.saturating_add(event.done_bytes);
        for row in 0..rows {
            let (from, to) = (height.saturating_mul(row), height.saturating_mul(row + 1));
            let to = if row + 1 == rows { u64::MAX } else { to };
            let own = stop.min(to).saturating_sub(event.offset_bytes.max(from));
            if own > 0 {
                let sum = expected.entry((file, class, at * rows + row)).or_default();
                *sum = sum.saturating_add(own);
            }
        }
    }
    let code = |bytes: u64| 1 + (4.0 * (bytes as f64).log2()).floor() as u64;
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(key, bytes)| (key, code(bytes))).collect();
    assert_eq!(decoded.offsets, expected);
}

fn sizes(access: &Access, done: &[&Named]) {
    for (found, class) in [(&access.reads, Class::Read), (&access.writes, Class::Write)] {
        let (mut bins, mut counts) = ([0u64; 10], BTreeMap::<u64, u64>::new());
        for named in done.iter().filter(|named| named.class() == class) {
            let bytes = named.row.event.done_bytes;
            let bin = match bytes {
                0..=100 => 0,
                101..=1_024 => 1,
                1_025..=10_240 => 2,
                10_241..=102_400 => 3,
                102_401..=1_048_576 => 4,
                1_048_577..=4_194_304 => 5,
                4_194_305..=10_485_760 => 6,
                10_485_761..=104_857_600 => 7,
                104_857_601..=1_073_741_824 => 8,
                _ => 9,
            };
            bins[bin] += 1;
            *counts.entry(bytes).or_default() += 1;
        }
        let mut common: Vec<(u64, u64)> = counts.into_iter().collect();
        common.sort_by_key(|(size, count)| (Reverse(*count), *size));
        common.truncate(4);
        assert_eq!((found.bins, &found.common, found.uncounted), (bins, &common, 0));
    }
}

/// Read, write and metadata time.
fn times(named: &Named) -> [u64; 3] {
    let event = &named.row.event;
    let parts = [Part::Open, Part::View, Part::Close].map(|part| event.parts_ns[part as usize]);
    let around = parts.iter().sum::<u64>().min(event.busy_ns);
    match named.class() {
        Class::Read => [event.busy_ns - around, 0, around],
        Class::Write | Class::Sync => [0, event.busy_ns - around, around],
        _ => [0, 0, event.busy_ns],
    }
}

fn add(sum: &mut u64, amount: u64) {
    *sum = sum.saturating_add(amount);
}

fn files(access: &Access, done: &[&Named]) {
    assert_eq!(access.more_files, 0);
    let named: BTreeSet<&String> = done.iter().filter_map(|named| named.path.as_ref()).collect();
    let found: BTreeSet<&String> = access.files.iter().map(|file| &file.path).collect();
    assert!(named.is_subset(&found));
    for found in &access.files {
        let mut file = FileAccess { path: found.path.clone(), ..FileAccess::default() };
        let mut ranks: BTreeMap<u32, [Option<u64>; 2]> = BTreeMap::new();
        let own = |named: &&&Named| {
            named.path.as_ref() == Some(&found.path) && named.class() != Class::Control
        };
        for named in done.iter().filter(own) {
            let (event, op) = (&named.row.event, named.op.row());
            let [read, write, metadata] = times(named);
            add(&mut file.read.busy_ns, read);
            add(&mut file.write.busy_ns, write);
            add(&mut file.metadata_ns, metadata);
            file.opens += u64::from(named.class() == Class::Open || op.parts.contains(&Part::Open));
            let last = ranks.entry(named.row.rank).or_default();
            let (moves, last) = match named.class() {
                Class::Read => (&mut file.read, &mut last[0]),
                Class::Write => (&mut file.write, &mut last[1]),
                _ => continue,
            };
            moves.calls += 1;
            add(&mut moves.bytes, event.done_bytes);
            if let Some(end) = last.filter(|_| named.is_placed()) {
                moves.following += 1;
                moves.sequential += u64::from(event.offset_bytes >= end);
                moves.consecutive += u64::from(event.offset_bytes == end);
            }
            let end = event.offset_bytes.saturating_add(event.done_bytes);
            *last = named.is_placed().then_some(end);
        }
        file.ranks = ranks.len() as u32;
        assert_eq!(found, &file);
    }
    let order = |file: &FileAccess| Reverse(file.bytes());
    let is_plain = done.iter().all(|named| {
        named.row.event.done_bytes == 0 || matches!(named.class(), Class::Read | Class::Write)
    });
    assert!(!is_plain || access.files.is_sorted_by_key(order), "most bytes first");
}

fn ranks(access: &Access, done: &[&Named]) {
    let mut expected: Vec<RankAccess> = Vec::new();
    for (at, found) in access.ranks.iter().enumerate() {
        assert_eq!((found.first, found.last), (at as u32, at as u32));
        let mut rank = RankAccess { first: at as u32, last: at as u32, ..RankAccess::default() };
        let own = |named: &&&Named| named.row.rank == at as u32 && named.class() != Class::Control;
        for named in done.iter().filter(own) {
            let [read, write, metadata] = times(named);
            add(&mut rank.read_ns, read);
            add(&mut rank.write_ns, write);
            add(&mut rank.metadata_ns, metadata);
            match named.class() {
                Class::Read => add(&mut rank.read_bytes, named.row.event.done_bytes),
                Class::Write => add(&mut rank.written_bytes, named.row.event.done_bytes),
                _ => {}
            }
        }
        expected.push(rank);
    }
    assert_eq!(access.ranks, expected);
    let most = expected.iter().map(RankAccess::busy_ns).max().unwrap_or(0);
    let slowest = access.slowest.map(|at| expected[at].busy_ns() as f64);
    assert_eq!(slowest, (most > 0 && expected.len() > 1).then_some(most as f64));
}
