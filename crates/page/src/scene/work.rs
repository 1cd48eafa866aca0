//! Operations, bytes and files of each phase.

use crate::aggregate::Kind;
use crate::aggregate::watched::Rows;
use model::op::{Class, Op};
use model::watched::Watched;
use report::events::find_op;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// Work of a phase.
#[derive(Debug, Serialize)]
pub(super) struct Work {
    label: String,
    start_ns: u64,
    end_ns: u64,
    ranks: usize,
    read_bytes: u64,
    written_bytes: u64,
    files: usize,
    ops: Vec<OpWork>,
}

#[derive(Debug, Serialize)]
struct OpWork {
    op: String,
    kind: Kind,
    count: u64,
    bytes: u64,
    failed: u64,
}

/// Operations of the whole program, by the rehearsal.
pub(super) fn expected(watched: &Watched) -> u64 {
    let ranks = watched.rehearsal.ranks.iter();
    let count = |(ranks, figures): &(std::ops::Range<u32>, model::rehearsal::RankFigures)| {
        let own = figures.ops.iter().filter(|(op, _)| op.is_io());
        let own = own.map(|(_, figures)| figures.count).fold(0, u64::saturating_add);
        own.saturating_mul(u64::from(ranks.end - ranks.start))
    };
    ranks.map(count).fold(0, u64::saturating_add)
}

/// Phases in the order of their starts. What a rank did in several is counted in each innermost one.
pub(super) fn work(watched: &Watched, rows: &Rows) -> Vec<Work> {
    let mut found: Vec<Work> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for label in &watched.run.labels {
        numbers.insert(&label.label, found.len());
        found.push(Work {
            start_ns: label.first_start_ns,
            end_ns: label.last_end_ns,
            ..Work::empty(&label.label)
        });
    }
    let ops = watched.run.rows.iter().filter(|row| row.part_of.is_none());
    for row in ops {
        let at = *numbers.entry(&row.label).or_insert_with(|| {
            found.push(Work::empty(&row.label));
            found.len() - 1
        });
        let Ok(op) = find_op(&row.op) else { continue };
        found[at].add_op(op, row);
    }
    add_spans(rows, &numbers, &mut found);
    found.sort_by_key(|work| (work.start_ns, std::cmp::Reverse(work.end_ns)));
    found
}

/// Ranks and files of each phase, and the times of what was done in none.
fn add_spans(rows: &Rows, numbers: &HashMap<&str, usize>, found: &mut [Work]) {
    let mut named: Vec<(BTreeSet<u32>, BTreeSet<i32>)> = vec![Default::default(); found.len()];
    for row in &rows.rows {
        let label = rows.labels.texts.get(row.label as usize).map_or("", |label| label);
        let Some(at) = numbers.get(label) else { continue };
        named[*at].0.insert(row.rank);
        if row.path_id >= 0 {
            named[*at].1.insert(row.path_id);
        }
        if label.is_empty() {
            let work = &mut found[*at];
            work.start_ns = work.start_ns.min(row.start_ns);
            work.end_ns = work.end_ns.max(row.end_ns);
        }
    }
    for (work, (ranks, files)) in found.iter_mut().zip(&named) {
        (work.ranks, work.files) = (ranks.len(), files.len());
        if work.start_ns == u64::MAX {
            work.start_ns = work.end_ns;
        }
    }
}

impl Work {
    fn empty(label: &str) -> Work {
        Work {
            label: label.into(),
            start_ns: u64::MAX,
            end_ns: 0,
            ranks: 0,
            read_bytes: 0,
            written_bytes: 0,
            files: 0,
            ops: Vec::new(),
        }
    }

    fn add_op(&mut self, op: Op, row: &model::run::Row) {
        match op.row().class {
            Class::Read => self.read_bytes += row.bytes,
            Class::Write => self.written_bytes += row.bytes,
            _ => {}
        }
        let (count, bytes, failed) = (row.count, row.bytes, row.failed);
        self.ops.push(OpWork { op: row.op.clone(), kind: Kind::of(op), count, bytes, failed });
    }
}
