//! Operations of a folded program are compared with its log as they are executed.

use super::asked::{self, Asked};
use super::proof::{Difference, Proof, told};
use super::tally::{Kind, difference};
use engine::record::{Listen, Paths};
use fold::{Folded, Log, Logged};
use model::event::FLAG_UNPLACED;
use model::{Event, Plan};
use std::borrow::Cow;
use std::rc::Rc;

/// Operations of the log that are unpacked at a time.
const UNPACKED: usize = 1024;
/// Most operations of a line that are remembered, of each rank.
pub const OF_LINE_MAX: usize = 20;

/// What the program is called whose text is folded.
pub(super) const PROGRAM: &str = "folded";

/// Compares; holds what came of it so far.
pub struct Comparison {
    log: Rc<Log>,
    folded: Rc<Folded>,
    plan: Rc<Plan>,
    ranks: Vec<Rank>,
    asked: Option<Asked>,
    /// What came of it.
    pub proof: Proof,
}

/// How far a rank is.
#[derive(Default)]
struct Rank {
    /// Operations of the program.
    executed: u64,
    /// Operations of the log.
    compared: usize,
    /// Operations of the part that is asked for.
    of_line: usize,
    /// It is in the statement that is asked for.
    is_inside: bool,
    /// Those that come next, the last one first.
    next: Vec<Logged>,
}

impl Comparison {
    /// Nothing was executed yet. `asked`: of this part of the text operations are remembered.
    pub fn new(
        log: &Rc<Log>,
        folded: &Rc<Folded>,
        plan: &Rc<Plan>,
        asked: Option<Asked>,
    ) -> Comparison {
        let ranks = log.ranks.iter().map(|_| Rank::default()).collect();
        let (log, folded, plan) = (Rc::clone(log), Rc::clone(folded), Rc::clone(plan));
        Comparison { log, folded, plan, ranks, asked, proof: Proof::default() }
    }

    /// All ranks have ended: what is left of the log is missing.
    pub fn end(&mut self) {
        for rank in 0..self.ranks.len() as u32 {
            while let Some(expected) = self.expected(rank) {
                self.compare(rank, Some(&expected), None, &|_| Cow::Borrowed(&[]));
            }
        }
    }

    /// The next operation of a rank in the log.
    fn expected(&mut self, rank: u32) -> Option<Logged> {
        let own = &mut self.ranks[rank as usize];
        if own.next.is_empty() {
            let events = &self.log.ranks[rank as usize];
            own.next.extend(events.from(own.compared).take(UNPACKED));
            own.next.reverse();
        }
        own.next.pop()
    }

    /// The next operation of a rank in the log has no statement.
    fn is_left_out(&self, rank: u32) -> bool {
        let compared = self.ranks[rank as usize].compared;
        let places = self.folded.left_out.get(rank as usize);
        places.is_some_and(|places| places.binary_search(&compared).is_ok())
    }

    fn compare<'p>(
        &mut self,
        rank: u32,
        expected: Option<&Logged>,
        found: Option<&Event>,
        path: &impl Fn(u32) -> Cow<'p, [u8]>,
    ) {
        let number = self.ranks[rank as usize].compared;
        self.ranks[rank as usize].compared += 1;
        let run = expected.map(|entry| &entry.event);
        let kind = match (run, found) {
            (Some(run), Some(found)) => {
                let mut run = *run;
                if expected.is_some_and(|entry| self.log.lies_anywhere(entry)) {
                    run.flags |= FLAG_UNPLACED;
                }
                difference((&run, &self.log), (found, path))
            }
            _ => Some(Kind::Operation),
        };
        self.proof.tally.add(run, found, kind);
        if kind.is_some() && self.proof.first.is_none() {
            let log = &self.log;
            let nothing = || "nothing".to_string();
            self.proof.first = Some(Difference {
                rank,
                number,
                expected: run.map_or_else(nothing, |event| super::proof::shown(event, log)),
                found: found.map_or_else(nothing, |event| told(event, path)),
            });
        }
        if expected.is_some() && self.asked.is_some() {
            self.remember(rank, number, found);
        }
    }

    /// Remembers what a line stands for.
    fn remember(&mut self, rank: u32, number: usize, found: Option<&Event>) {
        let is_asked = match &self.asked {
            None => false,
            Some(Asked::Marked) => self.ranks[rank as usize].is_inside,
            Some(Asked::Lines { file, lines }) => {
                let place = found.and_then(|event| self.plan.locate_site(event.site));
                let file = file.as_deref().unwrap_or(PROGRAM);
                place.is_some_and(|(name, at, _)| name == file && lines.contains(&(at as u32)))
            }
        };
        if is_asked {
            self.proof.of_line_total += 1;
            let own = &mut self.ranks[rank as usize].of_line;
            *own += 1;
            if *own <= OF_LINE_MAX {
                self.proof.of_line.push((rank, number));
            }
        }
    }
}

impl Listen for Comparison {
    fn event(&mut self, rank: u32, event: &Event, paths: &Paths<'_>) {
        let own = &mut self.ranks[rank as usize];
        if let Some(begins) = paths.path(event.path).and_then(asked::mark) {
            own.is_inside = begins;
            return;
        }
        let number = own.executed;
        own.executed += 1;
        let adopted = self.folded.adopted.get(rank as usize);
        if adopted.is_some_and(|adopted| adopted.binary_search(&number).is_ok()) {
            return;
        }
        let plan = Rc::clone(&self.plan);
        let path = |id: u32| plan.named(paths.path(id).unwrap_or_default());
        while self.is_left_out(rank) {
            let missing = self.expected(rank);
            self.compare(rank, missing.as_ref(), None, &path);
        }
        let expected = self.expected(rank);
        self.compare(rank, expected.as_ref(), Some(event), &path);
    }
}
