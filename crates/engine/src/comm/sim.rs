//! One simulated rank's end of a [`World`].

use super::interface::{Comm, Numbers};
use super::types::{
    Check, Claim, Collective, CollectiveCall, End, Given, Members, NodePlace, Poll, awaited_lock,
    release_reason, signal_key, values,
};
use super::world::{World, keys};
use model::Value;
use model::plan::{Function, Pc, SetId};
use std::rc::Rc;

/// Follows what a simulated rank does: a rehearsal counts steps, leaves iterations out, and finds the
/// order between ranks.
pub trait Observer {
    /// A statement or an iteration begins; false: the rank has to stop.
    fn step(&mut self) -> bool;
    /// It has met the others of a set.
    fn met(&mut self, set: SetId);
    /// It has given the signal with this counter.
    fn signalled(&mut self, key: u64);
    /// It has got the first `count` signals of these counters.
    fn waited(&mut self, keys: [u64; 2], count: u64);
    /// See [`Comm::iterated`].
    fn iterated(&mut self, place: u32, left: u64, numbers: &mut dyn Numbers);
    /// See [`Comm::iterated_in_time`].
    fn iterated_in_time(&mut self) -> bool;
}

/// One simulated rank.
pub struct Sim {
    world: Rc<World>,
    rank: u32,
    reason: String,
    observer: Option<Box<dyn Observer>>,
    place: NodePlace,
}

impl Sim {
    /// The end of one rank.
    pub fn new(world: Rc<World>, rank: u32) -> Sim {
        let place = NodePlace { node: 0, node_rank: rank };
        Sim { world, rank, reason: String::new(), observer: None, place }
    }

    /// The same rank on another machine.
    pub fn at(self, place: NodePlace) -> Sim {
        Sim { place, ..self }
    }

    /// The same rank under the eyes of `observer`.
    pub fn observed(self, observer: Box<dyn Observer>) -> Sim {
        Sim { observer: Some(observer), ..self }
    }

    /// Tells the observer that a barrier was passed, or finds out why it never will be.
    fn passed(&mut self, poll: Poll, members: &Members, what: Option<Collective>) -> Poll {
        if let Some(observer) = &mut self.observer
            && poll == Poll::Ready
        {
            observer.met(members.set);
        }
        self.explain(poll, members, Collective::name(what));
        poll
    }

    fn explain(&mut self, poll: Poll, members: &Members, what: &str) {
        if poll == Poll::Released {
            self.reason = release_reason(what, self.world.first_ended(&members.ranks));
        }
    }
}

impl Comm for Sim {
    fn place(&self) -> NodePlace {
        self.place
    }

    fn name(&self) -> &'static str {
        "sim"
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.world.size()
    }

    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll {
        let what = call.map(|call| call.what);
        let poll = self.world.barrier(self.rank, members, site, (what, Given::default()));
        self.passed(poll, members, what)
    }

    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        if members.ranks.len() <= 1 {
            values(function, members, [given], all)?;
            return Ok(Poll::Ready);
        }
        let what = Some(Collective::Function(function));
        let poll = self.world.barrier(self.rank, members, site, (what, given));
        if poll == Poll::Ready {
            let given = self.world.given(members.set);
            values(function, members, given.iter().copied(), all)?;
        }
        Ok(self.passed(poll, members, what))
    }

    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        Ok(self.world.claim(members.set, claim))
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        self.world.signal(members, name, to);
        if let Some(observer) = &mut self.observer {
            observer.signalled(signal_key(members.set, name, to));
        }
        Ok(())
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String> {
        let poll = self.world.wait(self.rank, members, name, target, site);
        if let Some(observer) = &mut self.observer
            && poll == Poll::Ready
        {
            observer.waited(keys(self.rank, members, name), target);
        }
        let name = String::from_utf8_lossy(name);
        self.explain(poll, members, &format!("the wait for the signal \"{name}\""));
        Ok(poll)
    }

    fn locks_given_back(&self) -> u64 {
        self.world.locks_given_back()
    }

    fn gave_lock_back(&mut self) {
        self.world.gave_lock_back();
    }

    fn wait_for_lock(&mut self, path: &[u8], seen: u64, site: Pc) -> Poll {
        let poll = self.world.wait_for_lock(self.rank, path, seen, site);
        if poll == Poll::Released {
            let what = awaited_lock(&String::from_utf8_lossy(path));
            self.reason = release_reason(&format!("the wait for {what}"), None);
        }
        poll
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        Ok(self.world.tested(self.rank, members, name, target))
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        if let Some(observer) = &mut self.observer
            && !observer.step()
        {
            return Check::Interrupted;
        }
        let fuel = self.world.fuel.get();
        if fuel > 0 && self.world.now_ns() <= self.world.horizon_ns.get() {
            self.world.fuel.set(fuel - 1);
            Check::GoOn
        } else if self.world.is_interrupted() {
            Check::Interrupted
        } else {
            Check::Yield
        }
    }

    fn leave(&mut self, end: End) {
        self.world.leave(self.rank, end);
    }

    fn iterated(&mut self, place: u32, left: u64, numbers: &mut dyn Numbers) {
        if let Some(observer) = &mut self.observer {
            observer.iterated(place, left, numbers);
        }
    }

    fn iterated_in_time(&mut self) -> bool {
        self.observer.as_mut().is_none_or(|observer| observer.iterated_in_time())
    }
}
