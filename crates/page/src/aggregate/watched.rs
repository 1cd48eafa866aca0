//! Events of a program that was executed to be looked at: the same rows and sums as from the event table of its run.

use super::access::Access;
use super::extents::{Extents, Row};
use super::quick::QuickMap;
use super::rows::Labels;
use super::scope::{Ranges, Reach, Span};
use super::timeline::TimeLine;
use super::{Aggregates, One, lines};
use model::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED, NO_ID};
use model::run::EventExtents;
use model::watched::{Watched, WatchedRank};
use model::{Event, Op, Part};
use report::events::encode;
use std::collections::HashMap;

/// All rows, rank by rank, and what their numbers mean.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub rows: Vec<Row>,
    pub labels: Labels,
    /// By number, as the event table writes them.
    pub paths: Vec<String>,
    pub extents: Extents,
}

impl Rows {
    pub fn new(watched: &Watched) -> Rows {
        let entries: Vec<EventExtents> =
            watched.ranks.iter().flat_map(|rank| rank.extents.iter().cloned()).collect();
        let mut rows = Rows { extents: Extents::of(&entries), ..Rows::default() };
        rows.labels.number("");
        let mut ids: HashMap<String, i32> = HashMap::new();
        let mut extents_before = 0;
        for (number, rank) in (0..).zip(&watched.ranks) {
            let paths: Vec<i32> =
                rank.paths.iter().map(|path| rows.path_id(&mut ids, path)).collect();
            rows.add(number, rank, &paths, extents_before);
            extents_before += rank.extents.len() as i64;
        }
        rows
    }

    fn path_id(&mut self, ids: &mut HashMap<String, i32>, path: &[u8]) -> i32 {
        let text = encode(path);
        if let Some(id) = ids.get(&*text) {
            return *id;
        }
        let id = self.paths.len() as i32;
        self.paths.push(text.to_string());
        ids.insert(text.into_owned(), id);
        id
    }

    fn add(&mut self, number: u32, rank: &WatchedRank, paths: &[i32], extents_before: i64) {
        let mut labels: QuickMap<u32, u32> = QuickMap::default();
        for event in &rank.events {
            let Some(op) = Op::from_u8(event.op) else { continue };
            let label = *labels.entry(event.label).or_insert_with(|| {
                let path = rank.labels.get(event.label as usize).filter(|_| event.label != NO_ID);
                let path = path.map_or(&[][..], |path| path);
                self.labels.number(&String::from_utf8_lossy(path))
            });
            let path_id = paths.get(event.path as usize).copied().unwrap_or(-1);
            let extents_id = match event.extents {
                0 => -1,
                own => extents_before + i64::from(own) - 1,
            };
            self.rows.push(row(event, (number, op, label), path_id, extents_id));
        }
    }
}

fn row(event: &Event, (rank, op, label): (u32, Op, u32), path_id: i32, extents_id: i64) -> Row {
    let around = [Part::Open, Part::View, Part::Close].map(|part| event.parts_ns[part as usize]);
    Row {
        rank,
        op,
        label,
        site: event.site,
        path_id,
        offset_bytes: event.offset_bytes,
        done_bytes: event.done_bytes,
        start_ns: event.start_ns,
        end_ns: event.end_ns.max(event.start_ns),
        busy_ns: event.busy_ns,
        around_ns: around.into_iter().fold(0, u64::saturating_add),
        failed: event.flags & (FLAG_FAILED | FLAG_EXPECTED) != 0,
        pieces: event.pieces,
        extents_id,
        unplaced: event.flags & FLAG_UNPLACED != 0,
        due_ns: (event.flags & FLAG_DUE != 0).then_some(event.intended_start_ns),
    }
}

/// Condenses the events; `None`: there are none.
pub(crate) fn condense(watched: &Watched, rows: &Rows) -> Option<Aggregates> {
    let span = span(rows)?;
    let run = &watched.run;
    let (places, lines) = lines(run);
    let mut one = One::new(run, &span, 1);
    for row in &rows.rows {
        one.add(&rows.extents, row, places.get(&row.site).copied().unwrap_or(-1));
    }
    let path = |id: i32| rows.paths.get(id as usize).cloned().unwrap_or_default();
    let paths: Vec<String> = span.files.iter().map(|file| path(file.id)).collect();
    let line: TimeLine = one.line.finish(run, &rows.labels.texts, &lines, &paths);
    let access: Access = one.access.finish(&paths);
    Some(Aggregates { executions: vec![line], access: vec![access] })
}

fn span(rows: &Rows) -> Option<Span> {
    let mut ranges = Ranges::default();
    for row in &rows.rows {
        let reach = Reach {
            rank: row.rank.into(),
            path_id: row.path_id,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            busy_ns: row.busy_ns,
            offset_bytes: row.offset_bytes,
            done_bytes: row.done_bytes,
            reach_bytes: row.done_bytes.max(rows.extents.reach_bytes(row.extents_id)),
            failed: row.failed,
        };
        ranges.add(&reach, 0);
    }
    if rows.rows.is_empty() { None } else { ranges.span((0, 0)).ok() }
}
