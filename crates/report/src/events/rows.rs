//! The summary of an event table: the rows that a run has, from its events alone.

use super::EventReader;
use crate::file::StoreError;
use model::run::{LabelRow, Row};
use model::summary::Summary;
use std::collections::BTreeMap;

/// The rows of all events that `events` still gives. `labels`: how long labels were executed; rates in
/// one that is not among them go from an operation's first start to its last end.
///
/// # Errors
/// Those of the reader.
pub fn rows(mut events: EventReader, labels: &[LabelRow]) -> Result<Vec<Row>, StoreError> {
    let mut executions: BTreeMap<(u32, u32), Summary> = BTreeMap::new();
    for event in events.by_ref() {
        let event = event?;
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
    Ok(all)
}
