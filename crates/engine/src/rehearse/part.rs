//! Observes one rank besides its calls: steps, iterations, and the order between ranks.

use super::sample::LongLoop;
use super::stage::Stage;
use crate::comm::{Numbers, Observer};
use model::plan::SetId;
use std::collections::HashMap;
use std::rc::Rc;

/// Steps of an iteration of a loop with a time limit that suffice for most.
const STEPS_IN_TIME: u64 = 8;

/// One rank.
pub(super) struct Part {
    stage: Rc<Stage>,
    rank: u32,
    /// Loops of which iterations are left out, by the place of their variables.
    loops: HashMap<u32, LongLoop>,
    steps: u64,
    /// Most steps of a rank in loops with a time limit.
    steps_max: u64,
    /// Iterations of loops with a time limit.
    in_time: u64,
}

impl Part {
    pub(super) fn new(stage: &Rc<Stage>, rank: u32, ranks: u32) -> Part {
        let steps_max = stage.budget.steps / 16 / u64::from(ranks.max(1));
        let stage = Rc::clone(stage);
        Part { stage, rank, loops: HashMap::new(), steps: 0, steps_max, in_time: 0 }
    }

    fn end_loop(&mut self, place: u32) {
        self.loops.remove(&place);
        if self.loops.is_empty() {
            self.stage.state.borrow_mut().ranks[self.rank as usize].end_sampling();
        }
    }
}

impl Observer for Part {
    #[inline(always)]
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.stage.budget.step()
    }

    fn met(&mut self, set: SetId) {
        self.stage.state.borrow_mut().races.met(set);
    }

    fn signalled(&mut self, key: u64) {
        self.stage.state.borrow_mut().races.signalled(self.rank, key);
    }

    fn waited(&mut self, keys: [u64; 2], count: u64) {
        self.stage.state.borrow_mut().races.waited(self.rank, keys, count);
    }

    fn iterated(&mut self, place: u32, left: u64, numbers: &mut dyn Numbers) {
        if left < self.stage.iterations_max && self.loops.is_empty() {
            return;
        }
        let running = self.loops.get_mut(&place).filter(|running| running.is_at(left));
        if let Some(running) = running {
            let goes_on = running.iterated(&self.stage, self.rank, numbers);
            if !goes_on {
                self.end_loop(place);
            }
        } else if left >= self.stage.iterations_max {
            let running = LongLoop::new(left, self.stage.iterations_max, numbers);
            self.loops.insert(place, running);
        }
    }

    /// Every rank goes as far, so that ranks with the same work have the same figures.
    fn iterated_in_time(&mut self) -> bool {
        self.stage.goes_by_time();
        self.in_time += 1;
        // Steps also depend on how often ranks took turns.
        self.in_time < self.steps_max / STEPS_IN_TIME && self.steps < self.steps_max
    }
}
