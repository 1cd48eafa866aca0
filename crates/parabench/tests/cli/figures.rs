//! What a run says, in forms that can be compared.

use crate::scene::Scene;
use model::Op;
use report::events::EventReader;
use serde_json::Value;
use std::collections::BTreeMap;

/// The row of a label and operation.
#[track_caller]
pub fn row<'a>(run: &'a Value, label: &str, op: &str) -> &'a Value {
    let rows = run["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["label"] == label && row["op"] == op);
    found.unwrap_or_else(|| panic!("no row ({label}, {op}) in {:#}", run["rows"]))
}

/// A number of a row.
#[track_caller]
pub fn number(run: &Value, label: &str, op: &str, field: &str) -> u64 {
    let value = &row(run, label, op)[field];
    value.as_u64().unwrap_or_else(|| panic!("{field} of ({label}, {op}) is {value}"))
}

/// Everything of a run that does not depend on time: `count failed short expected bytes` by
/// label and operation.
pub fn counts(run: &Value) -> BTreeMap<(String, String), [u64; 5]> {
    let rows = run["rows"].as_array().expect("rows");
    let of_row = |row: &Value| {
        let name = |field: &str| row[field].as_str().expect(field).to_string();
        let fields = ["count", "failed", "short", "expected", "bytes"];
        let numbers = fields.map(|field| row[field].as_u64().expect(field));
        ((name("label"), name("op")), numbers)
    };
    rows.iter().map(of_row).collect()
}

/// An event without its times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Happened {
    pub rank: u32,
    pub seq: u64,
    pub op: Op,
    pub path: Option<String>,
    pub offset_bytes: u64,
    pub requested_bytes: u64,
    pub done_bytes: u64,
    pub errno: u16,
}

/// The events of a stored run, by rank and number.
#[track_caller]
pub fn events(scene: &Scene, results: &str) -> Vec<Happened> {
    let mut reader = EventReader::open(&scene.path(results)).expect("an event table");
    let mut found = Vec::new();
    while let Some(event) = reader.next() {
        let row = event.expect("a sound event");
        let (rank, event) = (row.rank, row.event);
        let path = reader.paths().get(event.path as usize);
        found.push(Happened {
            rank,
            seq: event.seq,
            op: Op::from_u8(event.op).expect("an operation"),
            path: path.map(|path| String::from_utf8_lossy(path).into_owned()),
            offset_bytes: event.offset_bytes,
            requested_bytes: event.requested_bytes,
            done_bytes: event.done_bytes,
            errno: event.errno,
        });
    }
    found.sort();
    found
}
