//! After the program: ranks that have ended wait for the others, answering messages, until
//! all have come; then what is under way is brought to its end, so that MPI can be used as
//! if nothing had happened.

use super::Comm;
use crate::error::MpiError;
use crate::interrupt;
use crate::patience::Patience;
use crate::world::{Agreement, Reduce};
use engine::comm::{Activity, End};

/// After an interrupt, ranks wait so long for each other: the launcher may have killed some.
pub(super) const GRACE_NS: u64 = 3_000_000_000;

/// What is known after all ranks have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// All ranks have come; otherwise nothing collective can be done any more.
    pub complete: bool,
    /// How every rank has ended, by rank; on rank 0 only.
    pub ends: Vec<End>,
    /// Who waited for what when nobody could go on; on rank 0 only.
    pub deadlock: Vec<Activity>,
}

impl Comm<'_> {
    /// Waits until all ranks have left, and frees what belongs to this run. After an
    /// interrupt only for some seconds, because a rank may have been killed. Collective.
    pub fn finish(mut self) -> Result<Finish, MpiError> {
        let complete = self.gather()?;
        if complete {
            self.settle()?;
            self.claims.map_or(Ok(()), |claims| claims.free(self.world))?;
            self.world.free(self.control)?;
        }
        let (ends, deadlock) = match self.coordinator {
            Some(coordinator) => (coordinator.ends(), coordinator.deadlock),
            None => (Vec::new(), Vec::new()),
        };
        Ok(Finish { complete, ends, deadlock })
    }

    /// True when all have come.
    fn gather(&mut self) -> Result<bool, MpiError> {
        let here = self.world.agree_start(self.control, 0)?;
        let mut patience = Patience::idle(self.world.crowd);
        let mut told: Option<Patience> = None;
        while self.world.agree_test(&here)?.is_none() {
            self.attend(None)?;
            if interrupt::is_told() {
                let since = told.get_or_insert_with(|| Patience::idle(self.world.crowd));
                if since.waited_ns() > GRACE_NS {
                    return Ok(false);
                }
            }
            patience.rest();
        }
        Ok(true)
    }

    fn settle(&mut self) -> Result<(), MpiError> {
        self.take_what_is_under_way()?;
        self.complete_abandoned()
    }

    /// Until every message that was sent has been taken.
    fn take_what_is_under_way(&mut self) -> Result<(), MpiError> {
        loop {
            self.take_all()?;
            let open = [self.posted as i64 - self.taken as i64];
            if self.world.reduce(self.control, open, Reduce::Sum)? == [0] {
                break;
            }
        }
        while self.world.posted()? > 0 {}
        Ok(())
    }

    /// A rank that was released has started an agreement that others never came to: they
    /// come to it now.
    fn complete_abandoned(&mut self) -> Result<(), MpiError> {
        let mut most: Vec<i64> =
            self.status.started.iter().map(|count| i64::from(*count)).collect();
        self.world.reduce_all(self.control, &mut most, Reduce::Max)?;
        let mut open: Vec<Agreement> = self.abandoned.take().into_iter().collect();
        for (set, (started, most)) in self.status.started.iter().zip(most).enumerate() {
            let Some(handle) = self.groups.handle(set as u32) else { continue };
            for _ in i64::from(*started)..most {
                open.push(self.world.agree_start(handle, 0)?);
            }
        }
        let mut patience = Patience::new(self.world.crowd);
        while !open.is_empty() {
            let mut left = Vec::with_capacity(open.len());
            for agreement in open {
                if self.world.agree_test(&agreement)?.is_none() {
                    left.push(agreement);
                }
            }
            open = left;
            patience.rest();
        }
        Ok(())
    }
}
