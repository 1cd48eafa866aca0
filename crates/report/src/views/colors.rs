//! Colours of operations: the same in all pictures of a run.

use crate::rows::OwnTimes;
use crate::svg::SERIES;
use model::Op;
use model::Run;
use model::op::Class;
use std::cmp::Reverse;

/// Operations of a run in the order of their colours.
#[derive(Debug, Default)]
pub struct Colors {
    ops: Vec<String>,
}

impl Colors {
    /// Operations with most time come first.
    pub fn of(run: &Run) -> Colors {
        let own = OwnTimes::new(run);
        let mut ops: Vec<(String, u64)> = Vec::new();
        for row in run.rows.iter().filter(|row| row.part_of.is_none()) {
            let busy_ns = own.sum_ns(row) as u64;
            match ops.iter_mut().find(|entry| entry.0 == row.op) {
                Some(entry) => entry.1 = entry.1.saturating_add(busy_ns),
                None => ops.push((row.op.clone(), busy_ns)),
            }
        }
        ops.sort_by_key(|entry| Reverse(entry.1));
        Colors { ops: ops.into_iter().map(|entry| entry.0).collect() }
    }

    /// The colour of an operation; grey past the palette.
    pub fn op(&self, name: &str) -> usize {
        self.ops.iter().position(|op| op == name).unwrap_or(SERIES)
    }

    /// The colour of the operation of a class that took most time.
    pub fn class(&self, class: Class) -> usize {
        let of = |op: &String| Op::find(op).is_some_and(|op| op.row().class == class);
        self.ops.iter().position(of).unwrap_or(usize::from(class == Class::Write))
    }

    /// Distinct colours of series; `ops` are their operations. The first series of an
    /// operation has its colour, further ones have those that are left.
    pub fn of_series(&self, ops: &[&str]) -> Vec<usize> {
        let mut colors = vec![SERIES; ops.len()];
        let mut taken = [false; SERIES];
        let mut later = Vec::new();
        for (at, op) in ops.iter().enumerate().take(SERIES) {
            match taken.get_mut(self.op(op)) {
                Some(taken) if !*taken => {
                    *taken = true;
                    colors[at] = self.op(op);
                }
                _ => later.push(at),
            }
        }
        let free = (0..SERIES).filter(|color| !taken[*color]);
        later.into_iter().zip(free).for_each(|(at, color)| colors[at] = color);
        colors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Row;

    #[test]
    fn an_operation_has_one_colour_and_series_have_different_ones() {
        let row = |op: &str, ns: f64| Row {
            op: op.into(),
            count: 1,
            mean_ns: Some(ns),
            ..Row::default()
        };
        let rows = vec![row("stat", 1.0), row("fwrite", 9.0), row("fread", 5.0)];
        let colors = Colors::of(&Run { rows, ..Run::default() });
        assert_eq!(["fwrite", "fread", "stat", "open"].map(|op| colors.op(op)), [0, 1, 2, SERIES]);
        assert_eq!([Class::Read, Class::Write].map(|class| colors.class(class)), [1, 0]);
        let series = ["fread", "fread", "stat", "fwrite", "fwrite"];
        assert_eq!(colors.of_series(&series), [1, 3, 2, 0, 4]);
        let many = colors.of_series(&["fread"; 10]);
        assert_eq!(many, [1, 0, 2, 3, 4, 5, 6, 7, SERIES, SERIES]);
    }
}
