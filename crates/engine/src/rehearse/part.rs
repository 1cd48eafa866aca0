//! What a rehearsal sees of one rank: it counts steps and skips iterations.

use super::loops::Loop;
use super::stage::Stage;
use crate::comm::{Numbers, Observer};
use model::RankSet;
use std::collections::HashMap;
use std::rc::Rc;

/// Steps of an iteration of a loop with a time limit that suffice for most.
const STEPS_IN_TIME: u64 = 8;

/// One rank.
pub(super) struct Part {
    stage: Rc<Stage>,
    rank: u32,
    loops: HashMap<u32, Loop>,
    steps: u64,
    /// Iterations of loops with a time limit.
    in_time: u64,
}

impl Part {
    pub(super) fn new(stage: &Rc<Stage>, rank: u32) -> Part {
        Part { stage: Rc::clone(stage), rank, loops: HashMap::new(), steps: 0, in_time: 0 }
    }
}

impl Observer for Part {
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.stage.step()
    }

    fn meets(&mut self, ranks: &RankSet) {
        self.loops.values_mut().for_each(|running| running.meets(ranks));
    }

    fn iterated(&mut self, number: u32, left: u64, numbers: &mut dyn Numbers) {
        let running = self.loops.entry(number).or_default();
        running.iterated(&self.stage, (self.rank, number), (left, self.steps), numbers);
    }

    /// Every rank goes as far, so that those with the same work have the same figures.
    fn iterated_in_time(&mut self) -> bool {
        self.stage.goes_by_time();
        self.in_time += 1;
        let most = self.stage.long_loop_steps;
        // Steps also tell how often ranks took turns.
        self.in_time < most / STEPS_IN_TIME && self.steps < most
    }
}
