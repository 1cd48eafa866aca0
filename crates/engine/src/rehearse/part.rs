//! One rank's end of a rehearsal: a simulated one that counts steps and skips iterations.

use super::loops::Loop;
use super::stage::Stage;
use crate::comm::{Check, Comm, End, Members, NodePlace, Numbers, Poll, Sim};
use model::plan::Pc;
use std::collections::HashMap;
use std::rc::Rc;

/// One rank.
pub(super) struct Part {
    sim: Sim,
    stage: Rc<Stage>,
    loops: HashMap<u32, Loop>,
    steps: u64,
}

impl Part {
    pub(super) fn new(sim: Sim, stage: &Rc<Stage>) -> Part {
        Part { sim, stage: Rc::clone(stage), loops: HashMap::new(), steps: 0 }
    }

    fn meets(&self) {
        let rank = self.sim.rank() as usize;
        self.stage.state.borrow_mut().ranks[rank].meetings += 1;
    }
}

impl Comm for Part {
    const REHEARSES: bool = true;

    fn iterated(&mut self, number: u32, left: u64, numbers: &mut dyn Numbers) {
        let (rank, steps) = (self.sim.rank(), self.steps);
        let running = self.loops.entry(number).or_default();
        running.iterated(&self.stage, rank, (left, steps), numbers);
    }

    fn name(&self) -> &'static str {
        self.sim.name()
    }

    fn rank(&self) -> u32 {
        self.sim.rank()
    }

    fn size(&self) -> u32 {
        self.sim.size()
    }

    fn place(&self) -> NodePlace {
        self.sim.place()
    }

    fn barrier(&mut self, members: &Members, site: Pc) -> Poll {
        if members.ranks.len() > 1 {
            self.meets();
        }
        self.sim.barrier(members, site)
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        self.meets();
        self.sim.signal(members, name, to)
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String> {
        self.meets();
        self.sim.wait(members, name, target, site)
    }

    fn release_reason(&self) -> String {
        self.sim.release_reason()
    }

    #[inline(always)]
    fn check(&mut self) -> Check {
        if !self.stage.step() {
            return Check::Interrupted;
        }
        self.steps += 1;
        self.sim.check()
    }

    fn leave(&mut self, end: End) {
        self.sim.leave(end);
    }

    fn progress(&mut self, operations: u64) {
        self.sim.progress(operations);
    }
}
