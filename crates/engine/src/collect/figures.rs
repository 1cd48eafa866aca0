//! Duration, counts and bytes of one label while the program runs: `seconds("write")`. The label's row in the report
//! has the same figures: both are sums of [`super::labels`].

use super::labels::Busy;
use crate::recorder::{LabelRecord, RankRecord};
use model::Op;
use model::function::{Choice, Figure};
use model::merge::Merge;
use model::op::Class;
use model::plan::LabelKind;
use model::summary::{belongs_to, per_second};
use model::{Value, merged};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Labels that a message lists.
const LISTED: usize = 10;

merged! {
    /// A label's duration, operations and bytes, added up over some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct LabelFigures {
        busy: Busy => sum,
        /// Largest number of occurrences of `time` on one rank.
        wall: u64 => max,
        /// The same of `ctime`.
        calls: u64 => max,
        /// Occurrences that a rank has not left.
        open: u64 => sum,
        /// Operations of the label and the labels in it that the figure is of.
        count: u64 => sum,
        bytes: u64 => sum,
    }
}

impl LabelFigures {
    /// Those of one rank.
    pub(crate) fn of_rank(record: &RankRecord, path: &str, choice: Option<Choice>) -> LabelFigures {
        let mut figures = LabelFigures::default();
        for label in record.labels.iter().filter(|label| text(label) == path) {
            match label.kind {
                LabelKind::Wall => figures.wall = label.count,
                LabelKind::Calls => figures.calls = label.count,
            }
            figures.open += u64::from(label.entered_ns.is_some());
            figures.busy.merge_from(Busy::from_label(label, None));
        }
        let label_of = |id: u32| record.labels.get(id as usize).map_or("".into(), text);
        for stat in record.stats.iter().filter(|stat| is_chosen(stat.op, choice)) {
            if belongs_to(&label_of(stat.label), path) {
                figures.count = figures.count.saturating_add(stat.figures.executions());
                figures.bytes = figures.bytes.saturating_add(stat.figures.bytes);
            }
        }
        figures
    }

    /// A rank is inside of the label.
    pub(crate) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// How long it was executed, at least 1 ns; `None`: not yet.
    fn busy_ns(&self) -> Option<u64> {
        Some(self.busy.finish(self.wall.saturating_add(self.calls))?.busy_ns.max(1))
    }

    /// The figure; `None`: the label was not executed.
    pub(crate) fn value(&self, figure: Figure) -> Option<Value> {
        let busy_ns = self.busy_ns()?;
        let whole = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        Some(match figure {
            Figure::Seconds => Value::Float(busy_ns as f64 / 1e9),
            Figure::Count => whole(self.count),
            Figure::Bytes => whole(self.bytes),
            Figure::Rate => Value::Float(per_second(self.bytes as f64, busy_ns)),
        })
    }
}

fn is_chosen(op: Op, choice: Option<Choice>) -> bool {
    match choice {
        None => op.row().class != Class::Control,
        Some(Choice::Op(chosen)) => op == chosen,
        Some(Choice::Class(class)) => op.row().class == class,
    }
}

fn text(label: &LabelRecord) -> Cow<'_, str> {
    String::from_utf8_lossy(&label.path)
}

/// Why a label has no figures.
pub(crate) fn never_executed(path: &str, record: &RankRecord) -> String {
    let executed = record.labels.iter().filter(|label| label.count > 0);
    let mut labels: Vec<String> = executed.map(|label| format!("\"{}\"", text(label))).collect();
    labels.dedup();
    let more = labels.len().saturating_sub(LISTED);
    labels.truncate(LISTED);
    let known = match labels.is_empty() {
        true => "no label was executed so far".to_string(),
        false if more > 0 => format!("labels so far: {} and {more} more", labels.join(", ")),
        false => format!("labels so far: {}", labels.join(", ")),
    };
    format!("the label \"{path}\" was not executed; {known}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Medium, Meta, Recorder, Timing};
    use model::event::NO_ID;

    /// A rank that writes 1000 bytes in "a" and 24 in "a/b", a millisecond each, twice.
    fn record(late_ns: u64) -> RankRecord {
        let meta = Meta { rank: 0, ranks: 2, sites: 4, events: None };
        let mut recorder = Recorder::create(Medium::Heap, &meta).unwrap();
        for turn in 0..2 {
            let start_ns = late_ns + turn * 10_000_000;
            let outer = recorder.label(NO_ID, b"a", LabelKind::Wall);
            let inner = recorder.label(outer, b"b", LabelKind::Wall);
            for (label, bytes) in [(outer, 1000), (inner, 24)] {
                let stat = recorder.stat(label, Op::Fwrite);
                recorder.done(stat, 1, Timing::default(), bytes, false);
            }
            let stat = recorder.stat(inner, Op::Fsync);
            recorder.done(stat, 1, Timing::default(), 0, false);
            recorder.occurrence(outer, start_ns, start_ns + 1_000_000, 0);
        }
        let other = recorder.label(NO_ID, b"ab", LabelKind::Wall);
        let stat = recorder.stat(other, Op::Fwrite);
        recorder.done(stat, 1, Timing::default(), 7, false);
        recorder.figures_so_far().unwrap()
    }

    fn value(figure: Figure, choice: Option<Choice>) -> Option<Value> {
        let ranks = [0, 500_000].map(record);
        let all = ranks.iter().map(|rank| LabelFigures::of_rank(rank, "a", choice));
        model::merge::merge_all(all).value(figure)
    }

    #[test]
    fn figures_are_of_the_label_and_those_in_it_over_all_ranks() {
        let writes = Some(Choice::Class(Class::Write));
        assert_eq!(value(Figure::Seconds, None), Some(Value::Float(0.003)));
        assert_eq!(value(Figure::Count, None), Some(Value::Int(12)));
        assert_eq!(value(Figure::Count, Some(Choice::Op(Op::Fsync))), Some(Value::Int(4)));
        assert_eq!(value(Figure::Bytes, writes), Some(Value::Int(4 * 1024)));
        assert_eq!(value(Figure::Bytes, Some(Choice::Class(Class::Read))), Some(Value::Int(0)));
        assert_eq!(value(Figure::Rate, writes), Some(Value::Float(4096.0 / 0.003)));
    }

    #[test]
    fn a_label_that_was_not_executed_has_none() {
        let rank = record(0);
        assert_eq!(LabelFigures::of_rank(&rank, "c", None).value(Figure::Seconds), None);
        let expected = "the label \"c\" was not executed; labels so far: \"a\"";
        assert_eq!(never_executed("c", &rank), expected);
    }
}
