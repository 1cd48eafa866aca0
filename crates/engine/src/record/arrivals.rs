//! What became of this rank's schedules of arrivals.
//!
//! Block [`Kind::Arrivals`]: site | label << 32, then one word for each figure of [`Arrived`], over the
//! executions of one `with (rate=...)` inside one label.

use super::area::Area;
use super::layout::{Kind, pair};
use std::collections::HashMap;

/// How due times are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Process {
    /// Evenly.
    #[default]
    Fixed = 0,
    /// With exponential gaps.
    Poisson = 1,
    /// At times of a list.
    Times = 2,
}

impl Process {
    const ALL: [Process; 3] = [Process::Fixed, Process::Poisson, Process::Times];

    /// Its name in PPL.
    pub fn name(self) -> &'static str {
        match self {
            Process::Fixed => "fixed",
            Process::Poisson => "poisson",
            Process::Times => "times",
        }
    }
}

/// What became of a schedule on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Executions.
    pub executions: u64,
    /// How due times are drawn.
    pub process: Process,
    /// The rate that was asked for, 1/s in thousandths.
    pub asked_milli: u64,
    /// Operations that were started.
    pub operations: u64,
    /// The same less one for each execution: gaps between them.
    pub gaps: u64,
    /// From when the first was due to when the last was.
    pub due_span_ns: u64,
    /// From the start of the first to that of the last.
    pub start_span_ns: u64,
    /// How late they started, sum.
    pub late_ns: u64,
    /// How late the latest did.
    pub latest_ns: u64,
    /// The most that were due at one time and not started.
    pub backlog_max: u64,
    /// The same at the end of an execution.
    pub backlog_end: u64,
}

/// Words of a block.
pub(super) const ARRIVAL_WORDS: usize = 12;

impl Arrived {
    fn words(&self) -> [u64; ARRIVAL_WORDS - 1] {
        [
            self.executions,
            self.process as u64,
            self.asked_milli,
            self.operations,
            self.gaps,
            self.due_span_ns,
            self.start_span_ns,
            self.late_ns,
            self.latest_ns,
            self.backlog_max,
            self.backlog_end,
        ]
    }

    /// `None`: there is no such process.
    pub(super) fn of(words: [u64; ARRIVAL_WORDS - 1]) -> Option<Arrived> {
        let [executions, process, asked_milli, operations, gaps, ..] = words;
        let [.., due_span_ns, start_span_ns, late_ns, latest_ns, backlog_max, backlog_end] = words;
        let process = Process::ALL.into_iter().find(|known| *known as u64 == process)?;
        Some(Arrived {
            executions,
            process,
            asked_milli,
            operations,
            gaps,
            due_span_ns,
            start_span_ns,
            late_ns,
            latest_ns,
            backlog_max,
            backlog_end,
        })
    }

    /// The same with a later execution. The rate is that of the latest.
    fn and(self, later: &Arrived) -> Arrived {
        Arrived {
            executions: self.executions.saturating_add(later.executions),
            operations: self.operations.saturating_add(later.operations),
            gaps: self.gaps.saturating_add(later.gaps),
            due_span_ns: self.due_span_ns.saturating_add(later.due_span_ns),
            start_span_ns: self.start_span_ns.saturating_add(later.start_span_ns),
            late_ns: self.late_ns.saturating_add(later.late_ns),
            latest_ns: self.latest_ns.max(later.latest_ns),
            backlog_max: self.backlog_max.max(later.backlog_max),
            backlog_end: self.backlog_end.max(later.backlog_end),
            ..*later
        }
    }
}

/// The blocks of a recorder, by label and site.
#[derive(Debug, Default)]
pub(super) struct Arrivals(HashMap<(u32, u32), (u32, Arrived)>);

impl Arrivals {
    pub(super) fn add(&mut self, area: &mut Area, label: u32, site: u32, figures: &Arrived) {
        let (at, sum) = match self.0.get(&(label, site)) {
            Some((at, before)) => (*at, before.and(figures)),
            None => {
                let head = pair(site, label);
                let block = area.append(Kind::Arrivals, ARRIVAL_WORDS, |words| words[0] = head);
                let Some(at) = block else { return };
                (at, *figures)
            }
        };
        self.0.insert((label, site), (at, sum));
        let words: &mut [u64; ARRIVAL_WORDS] = area.array(at);
        words[1..].copy_from_slice(&sum.words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_figures_are_the_same() {
        let words: [u64; ARRIVAL_WORDS - 1] = std::array::from_fn(|at| at as u64);
        assert_eq!(Arrived::of(words).map(|figures| figures.words()), Some(words));
        let unknown = std::array::from_fn(|at| at as u64 + 7);
        assert_eq!(Arrived::of(unknown), None);
    }
}
