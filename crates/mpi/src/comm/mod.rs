//! How MPI ranks meet while a program runs.
//!
//! | what | by |
//! |---|---|
//! | barrier | a non-blocking reduction over the set's communicator, looked at again and again |
//! | meeting before a call inside MPI | the same; the members give what they are about to call |
//! | collective function | such a meeting, then a reduction that all have come to |
//! | claim of a `share` | one-sided additions to a word that lies with one member (`claims.rs`) |
//! | signal | a message to each member, counted where it arrives |
//! | release, deadlock, interrupt | messages from and to rank 0 (`coordinator.rs`) |
//!
//! So a rank that waits can be released at any time, and never hangs in MPI. A rank that
//! runs looks for messages every few milliseconds, between two statements.

mod attend;
mod claims;
mod coordinator;
mod finish;
mod lookout;
mod message;

pub use finish::Finish;

use crate::error::MpiError;
use crate::groups::Groups;
use crate::interrupt;
use crate::patience::Patience;
pub use crate::world::Agreed;
use crate::world::{Agreement, Handle, Reduce, World};
use claims::Claims;
use coordinator::{Coordinator, Letters};
use engine::comm::{
    Check, Claim, End, Given, Joint, Members, NodePlace, Poll, Progress, Together, signal_key,
    values,
};
use engine::config::Config;
use lookout::Lookout;
use message::{Doing, Message, Status};
use model::Value;
use model::plan::{Function, Pc};
use std::collections::HashMap;

/// The communicator of one MPI rank, for one run of a program.
pub struct Comm<'w> {
    world: &'w World,
    groups: &'w Groups,
    /// Where messages travel, apart from everything else.
    control: Handle,
    words: Vec<i64>,
    letters: Letters,
    /// Messages sent and taken so far.
    posted: u64,
    taken: u64,
    /// Signals by counter, and the counters of the wait in progress.
    counts: HashMap<u64, u64>,
    keys: [u64; 2],
    status: Status,
    /// The wait in progress was told to rank 0.
    told: bool,
    released: Option<Option<(u32, End)>>,
    abandoned: Option<Agreement>,
    reason: String,
    coordinator: Option<Coordinator>,
    on_progress: Option<&'w mut dyn FnMut(&Progress)>,
    lookout: Option<Lookout>,
    pace: Pace,
    /// The wait for a lock that the last try did not end.
    lock: Option<LockWait>,
    /// Locks that this rank has given back.
    gave_back: u64,
    /// There where the plan has a `share`.
    claims: Option<Claims>,
}

/// A wait for a lock, over all tries to get it.
#[derive(Debug)]
struct LockWait {
    name: String,
    site: Pc,
    tries: u64,
    /// What [`Comm::gave_back`] was.
    gave_back: u64,
    patience: Patience,
}

/// How often a rank looks for messages between two tries to get a lock.
const LOCK_LOOKS: u32 = 64;

/// When a running rank looks for messages.
#[derive(Debug)]
struct Pace {
    until_clock: u32,
    stride: u32,
    clock_ns: u64,
    started_ns: u64,
    looked_ns: u64,
    round_ns: u64,
}

impl<'w> Comm<'w> {
    /// A communicator over the sets of a plan. Collective over the world.
    pub fn new(world: &'w World, groups: &'w Groups) -> Result<Comm<'w>, MpiError> {
        let sets = groups.sets();
        let control = world.copy(world.all)?;
        Ok(Comm {
            world,
            groups,
            control,
            words: vec![0; Message::max_words(sets.len())],
            letters: Vec::new(),
            posted: 0,
            taken: 0,
            counts: HashMap::new(),
            keys: [0; 2],
            status: Status { started: vec![0; sets.len()], ..Status::default() },
            told: false,
            released: None,
            abandoned: None,
            reason: String::new(),
            coordinator: (world.rank == 0).then(|| Coordinator::new(world.size, sets)),
            on_progress: None,
            lookout: None,
            pace: Pace::start(),
            lock: None,
            gave_back: 0,
            claims: None,
        })
    }

    /// The same; rank 0 calls `on_progress` now and then, and with how far the ranks are as often as
    /// the configuration asks for it. From now on time counts.
    pub fn watched(self, config: &Config, on_progress: &'w mut dyn FnMut(&Progress)) -> Comm<'w> {
        let pace = Pace::start();
        let lookout = Lookout::new(self.world, config, pace.started_ns);
        Comm { lookout, pace, on_progress: Some(on_progress), ..self }
    }

    /// The same for a plan with a `share`. Collective over the world.
    pub fn with_claims(self) -> Result<Comm<'w>, MpiError> {
        let claims = Some(Claims::new(self.world, self.groups.sets())?);
        Ok(Comm { claims, ..self })
    }

    /// The smallest and the largest of the members' numbers, once all have given theirs;
    /// `None`: released. Collective over the members; releasable like a barrier.
    pub fn agree(&mut self, members: &Members, value: i64, site: Pc) -> Option<Agreed> {
        self.agree_for(members, value, site, None)
    }

    fn agree_for(
        &mut self,
        members: &Members,
        value: i64,
        site: Pc,
        what: Option<Joint>,
    ) -> Option<Agreed> {
        if members.ranks.len() <= 1 {
            return Some(Agreed { smallest: value, largest: value });
        }
        let Some(handle) = self.groups.handle(members.set) else {
            self.reason = "this rank is not a member of the group".into();
            return None;
        };
        let agreement = match self.world.agree_start(handle, value) {
            Ok(agreement) => agreement,
            Err(error) => return self.fail(&error),
        };
        self.status.started[members.set as usize] += 1;
        let mut agreed = None;
        let doing = Doing::AtBarrier { set: members.set, site, what, apart: false };
        let met = self.wait_until(doing, |comm| {
            agreed = comm.world.agree_test(&agreement)?;
            Ok(agreed.is_some())
        });
        match met {
            Ok(true) => agreed,
            Ok(false) => {
                self.abandoned = Some(agreement);
                self.explain(Joint::met(what));
                None
            }
            Err(error) => self.fail(&error),
        }
    }

    /// A barrier, or the meeting before a call inside MPI, where nobody can be released: there
    /// all must make the same one.
    fn come(&mut self, members: &Members, site: Pc, call: Option<Together>) -> Poll {
        let key = call.map_or(0, Together::key);
        let what = call.map(|call| call.what);
        match self.agree_for(members, key, site, what) {
            Some(agreed) if agreed.smallest == agreed.largest => Poll::Ready,
            Some(_) => self.stay_apart(members, site, what),
            None => Poll::Released,
        }
    }

    /// All members have come, but to different statements. Rank 0 is told at once, so that it
    /// can say who waits where.
    #[cold]
    fn stay_apart(&mut self, members: &Members, site: Pc, what: Option<Joint>) -> Poll {
        let doing = Doing::AtBarrier { set: members.set, site, what, apart: true };
        self.status.doing = doing.clone();
        self.told = true;
        let ended = self.tell().and_then(|()| self.wait_until(doing, |_| Ok(false)));
        self.released = None;
        self.reason = match ended {
            Ok(_) => format!(
                "{} cannot be met: other members of the group have come to another statement",
                Joint::met(what)
            ),
            Err(error) => error.to_string(),
        };
        Poll::Released
    }

    /// The counters that are asked for: the set's and this rank's own.
    fn sees(&mut self, members: &Members, name: &[u8]) {
        self.keys = [None, Some(self.world.rank)].map(|to| signal_key(members.set, name, to));
    }

    /// Forgets messages that have left; lets others take theirs when many have not.
    fn relieve(&mut self) -> Result<(), MpiError> {
        const MANY: u32 = 4096;
        if self.posted.is_multiple_of(64) {
            while self.world.posted()? > MANY && !interrupt::is_told() {
                self.take_all()?;
            }
        }
        Ok(())
    }

    /// Why what it waited for cannot come.
    fn explain(&mut self, what: &str) {
        self.reason = match self.released.take().flatten() {
            Some((rank, end)) => format!("{what} cannot be met: rank {rank} {}", end.describe()),
            None => format!("{what} cannot be met: every rank that is left waits"),
        };
    }

    fn fail<T>(&mut self, error: &MpiError) -> Option<T> {
        self.reason = error.to_string();
        None
    }

    /// Waits until `done`; false: released or interrupted before.
    fn wait_until(
        &mut self,
        doing: Doing,
        mut done: impl FnMut(&mut Self) -> Result<bool, MpiError>,
    ) -> Result<bool, MpiError> {
        self.end_lock_wait();
        let mut patience = Patience::new(self.world.crowd);
        self.status.doing = doing;
        let met = self.look_until(&mut patience, &mut done)?;
        self.status.epoch += 1;
        self.status.doing = Doing::Running;
        if std::mem::take(&mut self.told) {
            self.tell()?;
        }
        Ok(met)
    }

    /// Looks again and again until `done`; false: released or interrupted before.
    fn look_until(
        &mut self,
        patience: &mut Patience,
        done: &mut impl FnMut(&mut Self) -> Result<bool, MpiError>,
    ) -> Result<bool, MpiError> {
        let mut stays: Option<Patience> = None;
        loop {
            if done(self)? {
                return Ok(true);
            }
            if self.released.is_some() || (interrupt::is_told() && self.may_leave(&mut stays)?) {
                return Ok(false);
            }
            if patience.looks().is_multiple_of(8) {
                self.attend(Some(patience))?;
            }
            patience.rest();
        }
    }

    /// The last wait for a lock was over when it was tried: nobody was told.
    fn end_lock_wait(&mut self) {
        if self.lock.take().is_some() {
            self.status.epoch += 1;
            self.told = false;
        }
    }

    /// Whether a rank that was told to stop may do so while it waits. Not before a call inside MPI:
    /// the others may have met it already and call, for ever if it does not. It waits until all have
    /// come, or until one has ended that never will, or until too long for anybody to be there.
    #[cold]
    fn may_leave(&mut self, stays: &mut Option<Patience>) -> Result<bool, MpiError> {
        if !matches!(self.status.doing, Doing::AtBarrier { what: Some(_), apart: false, .. }) {
            return Ok(true);
        }
        if stays.is_none() {
            self.told = true;
            self.tell()?;
            self.deliver(0, Message::Interrupt)?;
        }
        let stays = stays.get_or_insert_with(|| Patience::new(self.world.crowd));
        Ok(stays.waited_ns() > finish::GRACE_NS)
    }
}

impl engine::comm::Comm for Comm<'_> {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn rank(&self) -> u32 {
        self.world.rank
    }

    fn size(&self) -> u32 {
        self.world.size
    }

    fn place(&self) -> NodePlace {
        NodePlace { node: self.world.node, node_rank: self.world.node_rank }
    }

    fn barrier(&mut self, members: &Members, site: Pc) -> Poll {
        self.come(members, site, None)
    }

    fn meet(&mut self, members: &Members, site: Pc, call: Together) -> Poll {
        self.come(members, site, Some(call))
    }

    /// The values of all are the sum of vectors that hold one value each: it is read in the order
    /// of members everywhere, so that sums of floats are the same on all ranks and without MPI.
    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        let call = Together { what: Joint::Function(function), file: 0, way: 0 };
        let poll = self.come(members, site, Some(call));
        if poll != Poll::Ready {
            return Ok(poll);
        }
        let mut words = vec![[0; 2]; members.ranks.len()];
        let own = members.ranks.position(self.world.rank);
        words[own.unwrap_or(0) as usize] = given.0;
        if let Some(handle) = self.groups.handle(members.set).filter(|_| words.len() > 1) {
            let summed = self.world.reduce_all(handle, words.as_flattened_mut(), Reduce::Sum);
            summed.map_err(|error| error.to_string())?;
        }
        values(function, members, words.into_iter().map(Given), all)?;
        Ok(Poll::Ready)
    }

    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        let claims = self.claims.as_mut().ok_or("the communicator was made without counters")?;
        claims.claim(self.world, members, claim).map(Some).map_err(|error| error.to_string())
    }

    fn claims_over(&mut self, members: &Members, claim: Claim) -> Result<(), String> {
        let claims = self.claims.as_mut().ok_or("the communicator was made without counters")?;
        claims.over(self.world, members, claim).map_err(|error| error.to_string())
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        let key = signal_key(members.set, name, to);
        let receivers = to.map_or_else(|| members.ranks.clone(), |rank| (rank..rank + 1).into());
        for rank in receivers.iter() {
            if rank == self.world.rank {
                *self.counts.entry(key).or_insert(0) += 1;
                continue;
            }
            self.status.sent += 1;
            self.deliver(rank, Message::Signal { key }).map_err(|error| error.to_string())?;
        }
        self.relieve().map_err(|error| error.to_string())
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String> {
        self.sees(members, name);
        let count = self.count();
        if count >= target {
            return Ok(Poll::Ready);
        }
        let doing = Doing::AtWait { site, count, target, name: message::shown(name) };
        let met = self.wait_until(doing, |comm| {
            comm.take_all()?;
            Ok(comm.count() >= target)
        });
        match met {
            Ok(true) => return Ok(Poll::Ready),
            Ok(false) => {
                let name = String::from_utf8_lossy(name);
                self.explain(&format!("the wait for the signal \"{name}\""));
            }
            Err(error) => self.reason = error.to_string(),
        }
        Ok(Poll::Released)
    }

    fn locks_given_back(&self) -> u64 {
        0
    }

    fn gave_lock_back(&mut self) {
        self.gave_back += 1;
    }

    /// Nobody tells the others of locks: a rank tries again after a while, and goes on with the same
    /// wait if the try fails.
    fn wait_for_lock(&mut self, path: &[u8], _seen: u64, site: Pc) -> Poll {
        let name = message::shown(path);
        let gave_back = self.gave_back;
        let goes_on =
            |wait: &LockWait| (wait.site, wait.gave_back) == (site, gave_back) && wait.name == name;
        if !self.lock.as_ref().is_some_and(goes_on) {
            self.end_lock_wait();
        }
        let patience = Patience::new(self.world.crowd);
        let first = LockWait { name: name.clone(), site, tries: 0, gave_back, patience };
        let mut wait = self.lock.take().unwrap_or(first);
        wait.tries += 1;
        self.status.doing = Doing::AtLock { site, name, tries: wait.tries };
        let mut looks = 0;
        let waited = self.look_until(&mut wait.patience, &mut |_| {
            looks += 1;
            Ok(looks > LOCK_LOOKS)
        });
        let name = wait.name.clone();
        self.lock = Some(wait);
        match waited {
            Ok(true) => Poll::Ready,
            Ok(false) => {
                self.end_lock_wait();
                self.status.doing = Doing::Running;
                self.explain(&format!("the wait for a lock of \"{name}\""));
                Poll::Released
            }
            Err(error) => {
                self.reason = error.to_string();
                Poll::Released
            }
        }
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        self.sees(members, name);
        if self.count() < target {
            self.take_all().map_err(|error| error.to_string())?;
        }
        Ok(self.count() >= target)
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        self.pace.until_clock -= 1;
        if self.pace.until_clock == 0 {
            // What goes wrong with messages shows when this rank waits for one.
            let _ = self.look();
        }
        if interrupt::is_told() { Check::Interrupted } else { Check::GoOn }
    }

    fn leave(&mut self, end: End) {
        self.status.doing = Doing::Ended(end);
        // A rank that cannot be told finds out when the run is finished.
        let _ = self.tell();
    }

    /// Whoever looks reads it in the record.
    fn progress(&mut self, _operations: u64) {}
}
