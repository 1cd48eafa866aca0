//! Pauses before statements: one for a place, or every one as it was.
//!
//! ```text
//! $t = 0;
//! repeat 100 { compute($pauses[$t]); $t = $t + 1; fread($file, 4k); }
//! ```

use super::super::bursts::LONG_NS;
use super::super::expr::index;
use super::super::loops::Gap;
use super::super::regular::{cycle, even_step};
use super::super::think::{Places, Think};
use super::{Lines, Writer, numbered};
use model::Op;

/// So many times the mean is a pause for which the mean does not stand.
const UNEVEN: u64 = 5;

/// Pauses of a place for which their mean does not stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uneven {
    /// The longest, nanoseconds.
    pub longest_ns: u64,
    /// Their mean, which the program has, nanoseconds.
    pub mean_ns: u64,
}

/// How long the pauses of a place are.
struct Pauses {
    /// An expression.
    shown: String,
    /// The variable in it that counts them.
    counter: Option<String>,
}

impl Writer<'_> {
    /// `compute(12us);`
    pub(super) fn pause(&mut self, gap: &Gap, lines: &mut Lines) {
        let pauses = match self.think {
            Think::Exact => self.exact(gap),
            think => self.places.think_ns(gap).map(|ns| {
                self.look_at_the_longest(gap);
                Pauses { shown: think.shown(ns), counter: None }
            }),
        };
        let Some(Pauses { shown, counter }) = pauses else { return };
        lines.push(self.as_statement(gap, &shown));
        lines.extend(counter.map(|counter| format!("{counter} = {counter} + 1;")));
    }

    /// A long pause before a burst, which is kept whatever its share is. `between`: in all iterations
    /// but the first.
    pub(super) fn long_pause(&mut self, gap: &Gap, between: bool, lines: &mut Lines) {
        let ns = self.places.mean_ns(gap);
        if ns == 0 {
            return;
        }
        self.look_at_the_longest(gap);
        let pause = self.as_statement(gap, &self.think.shown(ns));
        let around = self.loops.last().filter(|_| between);
        let condition = around.map(|around| format!("if ({}) ", around.is_past_first()));
        lines.push(condition.unwrap_or_default() + &pause);
    }

    /// `compute(12us);`, `sleep(30ms);`
    fn as_statement(&self, gap: &Gap, shown: &str) -> String {
        let waits =
            gap.waited_ns > gap.sum_ns / 2 || self.crowded && self.places.mean_ns(gap) >= LONG_NS;
        let pause = if waits { Op::Sleep } else { Op::Compute };
        format!("{}({shown});", pause.name())
    }

    /// A mean says little of pauses of which a few are long.
    fn look_at_the_longest(&mut self, gap: &Gap) {
        let mean_ns = gap.sum_ns / gap.count.max(1);
        let longest = Uneven { longest_ns: gap.longest_ns, mean_ns };
        if gap.longest_ns < LONG_NS {
            return;
        }
        if gap.longest_ns / UNEVEN >= mean_ns {
            self.uneven = self.uneven.max(Some(longest));
        }
        self.mixed_places += usize::from(gap.longest_ns / 3 >= mean_ns / 2);
    }

    /// Every pause of a place; `None`: all are those of the recorder.
    fn exact(&mut self, gap: &Gap) -> Option<Pauses> {
        let rows = rows(gap, &self.places);
        let all = || rows.iter().flat_map(|(_, row)| row);
        let first = *all().next()?;
        if all().all(|ns| *ns == first) {
            return (first > 0).then(|| Pauses { shown: exact(first), counter: None });
        }
        if rows.iter().all(|(_, row)| row.len() == 1) {
            let list = self.list_of_pauses(all().copied().collect());
            let shown = format!("{list}[{}]", self.number_among(&rows));
            return Some(Pauses { shown, counter: None });
        }
        let counter = numbered("$t", self.counted_pauses);
        self.counted_pauses += 1;
        self.cursors.push((counter.clone(), 0));
        let is_same = rows.iter().all(|(_, row)| *row == rows[0].1);
        let row: Vec<i64> = rows[0].1.iter().map(|ns| *ns as i64).collect();
        let step = even_step(&row).and_then(|step| u64::try_from(step).ok());
        let shown = match step.filter(|_| is_same) {
            Some(step) => format!("{} + {counter} * {}", exact(first), exact(step)),
            None => self.listed(&rows, is_same, &counter),
        };
        Some(Pauses { shown, counter: Some(counter) })
    }

    /// A list, row by row, or one row if all are the same; of what repeats once.
    fn listed(&mut self, rows: &[(u32, Vec<u64>)], is_same: bool, counter: &str) -> String {
        let rows = if is_same { &rows[..1] } else { rows };
        let longest = rows.iter().map(|(_, row)| row.len()).max().unwrap_or(0);
        let cycle = cycle(&rows[0].1);
        let repeats = |row: &[u64]| row.iter().skip(cycle).zip(row).all(|(a, b)| a == b);
        let is_cycle = 2 * cycle <= longest && rows.iter().all(|(_, row)| repeats(row));
        let length = if is_cycle { cycle } else { longest };
        let mut values = Vec::with_capacity(length * rows.len());
        for (_, row) in rows {
            let end = values.len() + length;
            values.extend(row.iter().take(length));
            values.resize(end, 0);
        }
        let place = if is_cycle { format!("{counter} % {length}") } else { counter.to_string() };
        let list = self.list_of_pauses(values);
        match rows {
            [_] => format!("{list}[{place}]"),
            _ if is_cycle => format!("{list}[{} * {length} + ({place})]", self.number_among(rows)),
            _ => format!("{list}[{} * {length} + {place}]", self.number_among(rows)),
        }
    }

    fn number_among(&mut self, rows: &[(u32, Vec<u64>)]) -> String {
        let ranks: Vec<u32> = rows.iter().map(|(rank, _)| *rank).collect();
        index(&ranks, &mut self.tables)
    }

    fn list_of_pauses(&mut self, values: Vec<u64>) -> String {
        let known = self.pauses.iter().position(|list| *list == values);
        let at = known.unwrap_or_else(|| {
            self.pauses.push(values);
            self.pauses.len() - 1
        });
        numbered("$pauses", at)
    }

    /// `$pauses = [12us, 34567ns];`
    pub(super) fn lists_of_pauses(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        self.pauses.iter().enumerate().map(|(at, values)| {
            (numbered("$pauses", at), values.iter().map(|ns| exact(*ns)).collect())
        })
    }
}

/// By rank its pauses in order; those of the recorder are 0.
fn rows(gap: &Gap, places: &Places) -> Vec<(u32, Vec<u64>)> {
    let mut each = gap.each.clone();
    each.sort_by_key(|(rank, _)| *rank);
    let rows = each.chunk_by(|a, b| a.0 == b.0);
    rows.map(|row| (row[0].0, row.iter().map(|(_, ns)| places.own_ns(*ns)).collect())).collect()
}

/// All digits, and a unit.
fn exact(ns: u64) -> String {
    if ns.is_multiple_of(1000) { format!("{}us", ns / 1000) } else { format!("{ns}ns") }
}
