//! A rank alone: nothing to wait for. Its words lie in a [`Region`] all the same,
//! so that a supervisor can stop it and see how far it is.

use super::claims::Claim;
use super::given::{Given, values};
use super::interface::Comm;
use super::region::{BROKEN, INTERRUPT, Region, lock_of};
use super::signals;
use super::types::{Check, End, Members, Poll};
use model::Value;
use model::plan::{Function, Pc};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The only rank of a run.
pub struct Solo {
    region: Arc<Region>,
    counts: HashMap<u64, u64>,
    reason: String,
}

impl Solo {
    /// The only rank of a region made for one.
    pub fn new(region: Arc<Region>) -> Solo {
        Solo { region, counts: HashMap::new(), reason: String::new() }
    }

    fn count(&self, members: &Members, name: &[u8], to: Option<u32>) -> u64 {
        self.counts.get(&signals::key(members.set, name, to)).copied().unwrap_or(0)
    }

    /// How often a signal was given to a set and to this rank.
    fn given(&self, members: &Members, name: &[u8]) -> u64 {
        self.count(members, name, None) + self.count(members, name, Some(0))
    }
}

impl Comm for Solo {
    fn name(&self) -> &'static str {
        "solo"
    }

    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    fn barrier(&mut self, members: &Members, _site: Pc) -> Poll {
        let broken = self.region.set(members.set).generation.load(Relaxed) & BROKEN != 0;
        if broken { Poll::Released } else { Poll::Ready }
    }

    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        values(function, members, [given], all)?;
        Ok(self.barrier(members, site))
    }

    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        Ok(Some(claim.take(&self.region.set(members.set).claims)))
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        *self.counts.entry(signals::key(members.set, name, to)).or_insert(0) += 1;
        Ok(())
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        _site: Pc,
    ) -> Result<Poll, String> {
        let count = self.given(members, name);
        if count >= target {
            return Ok(Poll::Ready);
        }
        let name = String::from_utf8_lossy(name);
        self.reason = format!(
            "the wait for the signal \"{name}\" cannot be met: it was given {count} of {target} \
             times, and there is no other rank"
        );
        Ok(Poll::Released)
    }

    fn locks_given_back(&self) -> u64 {
        0
    }

    fn gave_lock_back(&mut self) {}

    fn wait_for_lock(&mut self, path: &[u8], _seen: u64, _site: Pc) -> Poll {
        let what = lock_of(&String::from_utf8_lossy(path));
        self.reason = format!(
            "the wait for {what} cannot be met: there is no other rank that could give it back"
        );
        Poll::Released
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        Ok(self.given(members, name) >= target)
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        if self.region.rank(0).attention.load(Relaxed) & INTERRUPT == 0 {
            Check::GoOn
        } else {
            Check::Interrupted
        }
    }

    fn leave(&mut self, end: End) {
        self.region.end(0, &end);
    }
}
