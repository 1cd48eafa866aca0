//! Loops whose iterations repeat the same change are multiplied out.
//!
//! ```text
//! iteration  1  2  3  (skipped: 3 more)  7  (9 more)  17  ...  the last one
//! ```
//!
//! Iterations that do the same, but for the names and numbers in them, speak for those that follow,
//! once enough of them were seen ([`together`]). Skipped are half as many as came before, and then
//! one is looked at again, so that a loop that does something else from some iteration on is noticed.
//! Where iterations differ, as many are taken as one, whatever they do. Ranks that meet in a loop skip
//! the same iterations ([`super::together`]).

use super::stage::{Delta, Mark, Skipped, Stage};
use super::together::Shared;
use crate::comm::Numbers;
use model::RankSet;

/// Iterations to look at, the more the better: these can be divided by most lengths of cycles, as of
/// a log that is rotated at every tenth iteration.
const TOGETHER: [u64; 4] = [480, 240, 120, 60];
/// The same where they take many steps, or there are many ranks.
const FEW_TOGETHER: u64 = 12;
/// So often there must be room for them.
const LOOKS: u64 = 16;
/// Iterations that may differ: the first one makes files that later ones find.
const DIFFERENT_MAX: u32 = 1;

/// Iterations of so many steps that are looked at before some are skipped, and that are taken as
/// one where single ones differ.
fn together(iteration_steps: u64, long_loop_steps: u64) -> u64 {
    let fits = |many: &u64| many * LOOKS * iteration_steps <= long_loop_steps;
    TOGETHER.into_iter().find(fits).unwrap_or(FEW_TOGETHER)
}

/// A running loop of one rank.
#[derive(Debug, Default)]
pub(super) struct Loop {
    /// Iterations that were left when it was seen last.
    left: u64,
    /// Iterations that are over.
    done: u64,
    /// Steps that the rank had taken.
    steps: u64,
    /// It is multiplied out, to its end.
    long: bool,
    unit: u64,
    different: u32,
    last: Option<Seen>,
    /// How often it was begun before.
    entered: u64,
    /// Ranks that this one meets in it; empty: none.
    met: RankSet,
}

/// What was seen at the end of a unit.
#[derive(Debug)]
struct Seen {
    mark: Mark,
    numbers: Vec<i64>,
    /// Place in the log where the unit before had begun.
    unit_start: Option<usize>,
    /// What the unit had done, and by how much it had changed the numbers.
    delta: Option<(Delta, Vec<i64>)>,
}

impl Loop {
    /// The rank comes to a barrier, a wait or a signal of these ranks.
    pub(super) fn meets(&mut self, ranks: &RankSet) {
        if self.met != *ranks {
            self.met = self.met.union(ranks);
        }
    }

    /// An iteration is over and `left` more come. `steps`: those of the rank so far.
    pub(super) fn iterated(
        &mut self,
        stage: &Stage,
        (rank, number): (u32, u32),
        (left, steps): (u64, u64),
        numbers: &mut dyn Numbers,
    ) {
        if self.left != left.wrapping_add(1) || self.unit == 0 {
            let entered = self.entered + 1;
            *self = Loop { left, done: 1, steps, unit: 1, entered, ..Loop::default() };
            return;
        }
        let own_steps = steps - self.steps;
        (self.left, self.steps) = (left, steps);
        self.done += 1;
        self.long |= own_steps.saturating_mul(left) > stage.long_loop_steps;
        let shared = (!self.met.is_empty()).then(|| Shared {
            number,
            entered: self.entered,
            iterations: self.done + self.left,
            met: self.met.clone(),
        });
        if let Some(shared) = &shared {
            self.long |= stage.together.borrow().is_long(shared);
            self.agree_on_unit(stage, shared, own_steps);
        }
        if self.long && self.done.is_multiple_of(self.unit) {
            self.look(stage, rank, own_steps, numbers, shared.as_ref());
        }
    }

    fn agree_on_unit(&mut self, stage: &Stage, shared: &Shared, own_steps: u64) {
        if self.long {
            let wanted = match self.different > DIFFERENT_MAX {
                true => together(own_steps, stage.long_loop_steps),
                false => self.unit,
            };
            let unit = stage.together.borrow_mut().unit(shared, wanted);
            if unit != self.unit {
                (self.unit, self.last) = (unit, None);
            }
        }
    }

    /// A unit is over.
    fn look(
        &mut self,
        stage: &Stage,
        rank: u32,
        own_steps: u64,
        numbers: &mut dyn Numbers,
        shared: Option<&Shared>,
    ) {
        let mark = stage.mark(rank);
        let now = numbers.read();
        let Some(last) = self.last.take() else {
            self.last = Some(Seen { mark, numbers: now, unit_start: None, delta: None });
            return;
        };
        let unit_start = last.mark.log;
        let compared = {
            let fs = stage.fs.borrow();
            let before = last.unit_start.unwrap_or(unit_start);
            stage.state.borrow().compare(rank, before, unit_start, &fs)
        };
        let delta = mark.since(&last.mark, compared);
        let steps = differences(&now, &last.numbers);
        if let Some((before, old_steps)) = &last.delta {
            let same = self.unit > 1 || delta.is_like(before);
            let together = together(own_steps, stage.long_loop_steps);
            let repeats = same && (self.unit > 1 || self.done >= together);
            let units = |left| self.units(left, own_steps.saturating_mul(self.unit), stage);
            let skips = match shared {
                None => repeats.then(|| units(self.left)),
                Some(shared) => {
                    let mut together = stage.together.borrow_mut();
                    together.over(shared, (rank, self.left), repeats, units)
                }
            };
            if let Some(units) = skips {
                numbers.write(&moved_on(&now, &steps, old_steps, units));
                let skipped = stage.skip(rank, &delta, units);
                settle(stage, shared, skipped);
                self.left -= units * self.unit;
                self.done += units * self.unit;
                return;
            }
            self.different += u32::from(!same);
            if self.different > DIFFERENT_MAX && shared.is_none() {
                self.unit = together;
                return;
            }
        }
        let delta = Some((delta, steps));
        self.last = Some(Seen { mark, numbers: now, unit_start: Some(unit_start), delta });
    }

    /// How many units are skipped: half as many as there were, or as many as the steps for a
    /// long loop want; never the last iteration.
    fn units(&self, left: u64, unit_steps: u64, stage: &Stage) -> u64 {
        let (done, left) = (self.done / self.unit, left.saturating_sub(1) / self.unit);
        let looks = (stage.long_loop_steps / (8 * unit_steps.max(1))).max(1);
        left.min((done / 2).max(left / looks))
    }
}

/// Files change once all have skipped: what one makes another may remove.
fn settle(stage: &Stage, shared: Option<&Shared>, skipped: Skipped) {
    let all = match shared {
        None => Some(skipped),
        Some(shared) => stage.together.borrow_mut().skipped(shared, &skipped),
    };
    if let Some(all) = all {
        stage.settle(&all);
    }
}

fn differences(now: &[i64], before: &[i64]) -> Vec<i64> {
    now.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before)).collect()
}

/// The numbers after so many units more; those that do not grow evenly stay.
fn moved_on(now: &[i64], steps: &[i64], old_steps: &[i64], units: u64) -> Vec<i64> {
    let even = |at: usize| steps.get(at).filter(|step| old_steps.get(at) == Some(step));
    let moved = |(at, number): (usize, &i64)| match even(at) {
        Some(step) => number.wrapping_add(step.wrapping_mul(units as i64)),
        None => *number,
    };
    now.iter().enumerate().map(moved).collect()
}
