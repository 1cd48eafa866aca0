//! Rows of the event table as numbers, one row group in memory at a time.

use super::extents::Row;
use super::scope::{FAILED, Part, numbers};
use model::event::{FLAG_DUE, FLAG_UNPLACED};
use parquet::errors::Result;
use report::events::{Table, find_op, invalid, meanings};
use std::collections::HashMap;

/// Labels with a number of their own.
const MOST: usize = 255;
/// What the others are called.
pub(crate) const OTHERS: &str = "(other labels)";

/// Labels by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    numbers: HashMap<String, u32>,
    pub texts: Vec<String>,
}

impl Labels {
    /// The number of a label; those behind the first ones share one.
    pub fn number(&mut self, label: &str) -> u32 {
        if let Some(number) = self.numbers.get(label) {
            return *number;
        }
        if self.texts.len() > MOST {
            return MOST as u32;
        }
        let number = self.texts.len() as u32;
        self.texts.push(if number as usize == MOST { OTHERS } else { label }.into());
        self.numbers.insert(label.into(), number);
        number
    }
}

/// Gives the rows of these parts of a row group, each with the number of its execution.
pub(crate) fn rows(
    table: &Table,
    group: usize,
    parts: &[Part],
    labels: &mut Labels,
    mut each: impl FnMut(usize, &Row),
) -> Result<()> {
    let [rank, path_id, offset, done, site] =
        numbers(table, group, ["rank", "path_id", "offset_bytes", "done_bytes", "site"])?;
    let [start, end, busy, due] =
        numbers(table, group, ["start_ns", "end_ns", "busy_ns", "intended_start_ns"])?;
    let [flags, pieces, extents_id] = numbers(table, group, ["flags", "pieces", "extents_id"])?;
    let [open, view, close] = numbers(table, group, ["open_ns", "view_ns", "close_ns"])?;
    let [texts, ops] = [table.texts(group, "label")?, table.texts(group, "op")?];
    let none = labels.number("");
    let texts = texts.iter().map(Option::as_ref);
    let labels = meanings(texts, none, |text| Ok(labels.number(text)))?;
    let ops = meanings(ops.iter().map(Option::as_ref), None, |name| find_op(name).map(Some))?;
    for part in parts {
        for at in part.rows.clone() {
            let (start_ns, flags) = (start[at] as u64, flags[at]);
            let around_ns = [open[at], view[at], close[at]].map(|ns| ns as u64);
            each(
                part.execution,
                &Row {
                    rank: rank[at] as u32,
                    op: ops[at].ok_or_else(|| invalid("op"))?,
                    label: labels[at],
                    site: site[at] as u32,
                    path_id: path_id[at] as i32,
                    offset_bytes: offset[at] as u64,
                    done_bytes: done[at] as u64,
                    start_ns,
                    // A damaged table must not give operations that end before they begin.
                    end_ns: (end[at] as u64).max(start_ns),
                    busy_ns: busy[at] as u64,
                    around_ns: around_ns.into_iter().fold(0, u64::saturating_add),
                    failed: flags & FAILED != 0,
                    pieces: pieces[at] as u32,
                    extents_id: extents_id[at],
                    unplaced: flags & i64::from(FLAG_UNPLACED) != 0,
                    due_ns: (flags & i64::from(FLAG_DUE) != 0).then_some(due[at] as u64),
                },
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_behind_the_first_ones_share_a_number() {
        let mut labels = Labels::default();
        let numbers: Vec<u32> = (0..1000).map(|at| labels.number(&format!("l{at}"))).collect();
        assert_eq!((numbers[254], numbers[255], numbers[999]), (254, 255, 255));
        assert_eq!((labels.texts.len(), &*labels.texts[255]), (256, OTHERS));
        assert_eq!(labels.number("l7"), 7);
    }
}
