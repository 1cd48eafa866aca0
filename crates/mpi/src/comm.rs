//! The communicator of one MPI rank, for one run of a program.
//!
//! | what | by |
//! |---|---|
//! | barrier | a non-blocking reduction over the set's communicator, tested again and again |
//! | barrier before a collective call inside MPI | the same; the members compare what they are about to call |
//! | collective function | such a barrier, then a reduction that all have come to |
//! | claim of a `share` | one-sided additions to a word that lies with one member |
//! | signal | a message to each member, counted where it arrives |
//! | release, interrupt | messages from and to rank 0, the coordinator |
//!
//! So a rank that waits can be released at any time, and never hangs in MPI. A rank that
//! runs looks for messages every few milliseconds, between two statements.
//!
//! The word of a set lies with its first member, which does nothing for claims. The next claim is under
//! way while the work of the last one is done, so that a member seldom waits for it. Between two
//! executions, when all have come, the first member sets the word to the next one: the
//! compare-and-swap by which other communicators do so ends the process under Open MPI 4.1 where its
//! transport only emulates atomic operations (btl/vader).
//!
//! ```text
//! any rank ──Signal──▶ members of a group
//! any rank ──Status, Interrupt──▶ coordinator (rank 0) ──Release, Interrupt──▶ ranks
//! ```
//!
//! Ranks report that they have ended, and that they have waited for long. When all of them wait or have ended
//! and nothing changes for `--timeout`, or for two seconds once a rank has ended, the waiting ranks are
//! released, and named with their places. The rehearsal of a program finds deadlocks before; this one ends a
//! job that would hang.

use crate::error::MpiError;
use crate::groups::Groups;
use crate::signals;
use crate::world::Patience;
use crate::world::{Handle, MinMax, PendingMinMax, Reduce, World};
use engine::clock::{coarse_ns, monotonic_raw_ns};
use engine::comm::{
    Activity, Check, Claim, Collective, CollectiveCall, End, Given, Members, NodePlace, Poll,
    Progress, awaited_lock, awaited_signal, blame, release_reason, signal_key, values,
};
use engine::config::{Config, TIMEOUT};
use engine::supervise::Watch;
use model::plan::{Function, Pc, SetId};
use model::{RankSet, Value};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::c_int;
use std::fs::File;

/// A running rank looks for messages this often.
const LOOK_NS: u64 = 5_000_000;
/// A rank reports that it waits after so long, plus [`REPORT_RANK_NS`] for every rank of the world:
/// reports must not load rank 0.
const REPORT_NS: u64 = 50_000_000;
const REPORT_RANK_NS: u64 = 100_000;
/// Time between two looks of the coordinator.
const ROUND_NS: u64 = 20_000_000;
/// Tests of messages between two tries to get a lock.
const LOCK_LOOKS: u32 = 64;
/// Ranks whose progress rank 0 reads between two statements.
const RANKS_READ: usize = 16;
/// After an interrupt, ranks wait so long for each other: the launcher may have killed some.
const GRACE_NS: u64 = 3_000_000_000;

/// The communicator of one MPI rank.
pub struct Comm<'w> {
    world: &'w World,
    groups: &'w Groups,
    config: &'w Config,
    /// Where messages travel, apart from everything else.
    control: Handle,
    /// Room for a message.
    bytes: Vec<u8>,
    /// Messages sent and taken so far.
    posted: u64,
    taken: u64,
    /// The deadline has ended the run.
    timed_out: bool,
    /// Signals by counter, and the counters of the wait in progress.
    counts: HashMap<u64, u64>,
    keys: [u64; 2],
    status: Status,
    /// Barriers that this rank has come to, by set.
    barriers: Vec<u32>,
    /// The wait in progress comes before a call inside MPI.
    before_call: bool,
    /// Rank 0 knows of the wait in progress.
    is_reported: bool,
    /// The wait in progress can never end; the rank to blame.
    released: Option<Option<(u32, End)>>,
    /// A barrier that this rank was released from.
    abandoned: Option<PendingMinMax>,
    reason: String,
    coordinator: Option<Coordinator>,
    on_progress: &'w mut dyn FnMut(&Progress),
    watch: Option<Watch>,
    started_ns: u64,
    /// When a running rank looks for messages next, and rank 0 for what to do beside the program.
    look_ns: u64,
    round_ns: u64,
    /// The wait for a lock, over all tries to get it.
    lock: Option<Patience>,
    /// Counters of a plan with a `share`.
    claims: Option<Claims>,
}

/// The end of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    /// All ranks have come; otherwise nothing collective can be done any more.
    pub complete: bool,
    /// How every rank has ended, by rank; on rank 0 only.
    pub ends: Vec<End>,
    /// Ranks whose wait could never end; on rank 0 only.
    pub deadlock: Vec<Activity>,
    /// The deadline has ended the run; on rank 0 only.
    pub timed_out: bool,
}

impl<'w> Comm<'w> {
    /// A communicator over the sets of a plan; `has_share`: the plan has a `share` or counters. Rank 0 calls `on_progress` now
    /// and then. Collective over the world.
    pub fn new(
        world: &'w World,
        groups: &'w Groups,
        config: &'w Config,
        has_share: bool,
        on_progress: &'w mut dyn FnMut(&Progress),
    ) -> Result<Comm<'w>, MpiError> {
        let sets = groups.sets();
        let timeout_ns =
            u64::try_from(config.timeout.unwrap_or(TIMEOUT).as_nanos()).unwrap_or(u64::MAX);
        let (is_first, now_ns) = (world.rank == 0, monotonic_raw_ns());
        let claims = has_share.then(|| Claims::new(world, sets)).transpose()?;
        let first_node = world.machines.iter().zip(0..).filter(|(machine, _)| **machine == 0);
        let ranks_read = first_node.map(|(_, rank)| rank).take(RANKS_READ);
        Ok(Comm {
            world,
            groups,
            config,
            control: world.copy(world.all)?,
            bytes: vec![0; MESSAGE_BYTES],
            posted: 0,
            timed_out: false,
            taken: 0,
            counts: HashMap::new(),
            keys: [0; 2],
            status: Status::default(),
            barriers: vec![0; sets.len()],
            before_call: false,
            is_reported: false,
            released: None,
            abandoned: None,
            reason: String::new(),
            coordinator: is_first.then(|| Coordinator::new(world.size, sets, timeout_ns)),
            on_progress,
            watch: is_first.then(|| Watch::new(ranks_read, config)).flatten(),
            started_ns: now_ns,
            look_ns: 0,
            round_ns: now_ns,
            lock: None,
            claims,
        })
    }

    /// The smallest and the largest of the numbers that the members give, once all have come; `None`: released.
    fn compare(
        &mut self,
        members: &Members,
        value: i64,
        (site, what): (Pc, Option<Collective>),
    ) -> Result<Option<MinMax>, MpiError> {
        let Some(handle) = self.groups.handle(members.set) else {
            self.reason = "this rank is not a member of the group".into();
            return Ok(None);
        };
        let agreement = self.world.start_min_max(handle, value)?;
        self.barriers[members.set as usize] += 1;
        let mut agreed = None;
        self.before_call = what.is_some();
        let doing = Doing::Waits { site, what: Collective::awaited(what), set: Some(members.set) };
        let is_met = self.wait_until(doing, |comm| {
            agreed = comm.world.test_min_max(&agreement)?;
            Ok(agreed.is_some())
        });
        if !is_met? {
            self.abandoned = Some(agreement);
            self.explain(Collective::name(what));
        }
        Ok(agreed)
    }

    /// Chooses the counters that [`Comm::count`] adds up: the set's and this rank's own.
    fn choose_counters(&mut self, members: &Members, name: &[u8]) {
        self.keys = [None, Some(self.world.rank)].map(|to| signal_key(members.set, name, to));
    }

    /// The sum of the counters of the wait in progress.
    fn count(&self) -> u64 {
        self.keys.iter().map(|key| self.counts.get(key).copied().unwrap_or(0)).sum()
    }

    /// Forgets messages that have left; lets others take theirs when many have not.
    fn limit_posted(&mut self) -> Result<(), MpiError> {
        const MANY: u32 = 4096;
        if self.posted.is_multiple_of(64) {
            while self.world.posted()? > MANY && !signals::is_requested() {
                self.take_all()?;
            }
        }
        Ok(())
    }

    /// Why the wait could not end.
    fn explain(&mut self, what: &str) {
        self.reason = release_reason(what, self.released.take().flatten());
    }

    /// Waits until `done`; false: released or interrupted before.
    fn wait_until(
        &mut self,
        doing: Doing,
        mut done: impl FnMut(&mut Self) -> Result<bool, MpiError>,
    ) -> Result<bool, MpiError> {
        self.end_lock_wait()?;
        self.released = None;
        self.status.doing = doing;
        let mut patience = Patience::new(self.world.crowd);
        let is_met = self.look_until(&mut patience, &mut done)?;
        self.before_call = false;
        self.end_wait()?;
        Ok(is_met)
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
            if self.released.is_some() || (signals::is_requested() && self.may_leave(&mut stays)?) {
                return Ok(false);
            }
            if patience.looks().is_multiple_of(8) {
                self.report_wait(patience)?;
                self.attend()?;
            }
            patience.rest();
        }
    }

    /// Reports a wait that lasts for long.
    fn report_wait(&mut self, patience: &Patience) -> Result<(), MpiError> {
        let report_ns = REPORT_NS + REPORT_RANK_NS * u64::from(self.world.size);
        let is_long = || patience.looks() > 100 && patience.waited_ns() > report_ns;
        if !self.is_reported && is_long() { self.report() } else { Ok(()) }
    }

    /// The wait is over; rank 0 learns it if it knows of the wait.
    fn end_wait(&mut self) -> Result<(), MpiError> {
        self.status.epoch += 1;
        self.status.doing = Doing::Running;
        if self.is_reported { self.report() } else { Ok(()) }
    }

    /// The last try to get a lock was successful, or given up.
    fn end_lock_wait(&mut self) -> Result<(), MpiError> {
        if self.lock.take().is_some() { self.end_wait() } else { Ok(()) }
    }

    /// Waits before the next try to get a lock; false: released or interrupted. The check before the next
    /// statement ends the wait.
    fn try_lock_later(&mut self, path: &[u8], site: Pc) -> Result<bool, MpiError> {
        let what = awaited_lock(&short_name(path));
        let mut patience = self.lock.take().unwrap_or_else(|| {
            self.released = None;
            self.status.doing = Doing::Waits { site, what: what.clone(), set: None };
            Patience::new(self.world.crowd)
        });
        let mut looks = 0;
        let may_try = self.look_until(&mut patience, &mut |_| {
            looks += 1;
            Ok(looks > LOCK_LOOKS)
        })?;
        self.lock = Some(patience);
        if !may_try {
            self.explain(&format!("the wait for {what}"));
            self.end_lock_wait()?;
        }
        Ok(may_try)
    }

    /// Whether a rank that was asked to stop may do so while it waits. Not before a call inside MPI:
    /// the others may have passed the barrier already and call, for ever if it does not. It waits until all have
    /// come, or until one has ended that never will, or until too long for anybody to be there.
    #[cold]
    fn may_leave(&mut self, stays: &mut Option<Patience>) -> Result<bool, MpiError> {
        if !self.before_call {
            return Ok(true);
        }
        if stays.is_none() {
            self.report()?;
            self.deliver(0, Message::Interrupt)?;
        }
        let stays = stays.get_or_insert_with(|| Patience::new(self.world.crowd));
        Ok(stays.waited_ns() > GRACE_NS)
    }

    /// Reads messages and does what its time has come for.
    fn attend(&mut self) -> Result<(), MpiError> {
        self.take_all()?;
        if self.coordinator.is_some() {
            self.coordinate(monotonic_raw_ns())?;
        }
        Ok(())
    }

    /// Rank 0's work beside the program.
    fn coordinate(&mut self, now_ns: u64) -> Result<(), MpiError> {
        if now_ns < self.round_ns {
            return Ok(());
        }
        self.round_ns = now_ns + ROUND_NS + REPORT_RANK_NS * u64::from(self.world.size);
        if !signals::is_requested() && self.config.is_time_up() {
            self.timed_out = true;
            signals::stop_rank();
        }
        self.with_coordinator(|coordinator, out| {
            coordinator.look(now_ns, out);
            if signals::is_requested() {
                coordinator.interrupt(out);
            }
        })?;
        let at_ns = now_ns.saturating_sub(self.started_ns);
        let records = &self.config.records;
        let record = |rank| File::open(records.path(rank)?).ok();
        let sample = self.watch.as_mut().and_then(|watch| watch.look(at_ns, record));
        (self.on_progress)(&sample.map_or(Progress::Alive, Progress::At));
        Ok(())
    }

    fn with_coordinator(
        &mut self,
        act: impl FnOnce(&mut Coordinator, &mut Letters),
    ) -> Result<(), MpiError> {
        let mut out = Letters::new();
        if let Some(coordinator) = &mut self.coordinator {
            act(coordinator, &mut out);
        }
        out.into_iter().try_for_each(|(to, message)| self.deliver(to, message))
    }

    /// Reports to rank 0 what this rank is doing.
    fn report(&mut self) -> Result<(), MpiError> {
        self.is_reported = self.status.doing != Doing::Running;
        self.deliver(0, Message::Status(self.status.clone()))
    }

    fn take_all(&mut self) -> Result<(), MpiError> {
        while let Some((from, count)) = self.world.take(self.control, &mut self.bytes)? {
            self.taken += 1;
            if let Some(message) = Message::decode(&self.bytes[..count]) {
                self.read(from, message)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, from: u32, message: Message) -> Result<(), MpiError> {
        match message {
            Message::Signal { key } => *self.counts.entry(key).or_insert(0) += 1,
            Message::Release { epoch, blame } if epoch == self.status.epoch => {
                self.released = Some(blame);
            }
            Message::Release { .. } => {}
            Message::Interrupt => {
                signals::stop_rank();
                return self.with_coordinator(Coordinator::interrupt);
            }
            Message::Status(status) => {
                let now_ns = monotonic_raw_ns();
                return self.with_coordinator(|coordinator, out| {
                    coordinator.receive(from, status, now_ns, out);
                });
            }
        }
        Ok(())
    }

    /// Sends a message; one to this rank needs no MPI.
    fn deliver(&mut self, to: u32, message: Message) -> Result<(), MpiError> {
        if to == self.world.rank {
            return self.read(to, message);
        }
        self.posted += 1;
        self.world.post(self.control, &message.encode(), to)
    }

    /// Waits until all ranks have left, and frees what belongs to this run. After an
    /// interrupt only for some seconds, because a rank may have been killed. Collective.
    pub fn finish(mut self) -> Result<Finish, MpiError> {
        let complete = self.wait_for_all()?;
        if complete {
            self.take_what_is_under_way()?;
            self.complete_abandoned()?;
            self.claims.map_or(Ok(()), |claims| claims.free(self.world))?;
            self.world.free(self.control)?;
        }
        let (ends, deadlock) = match self.coordinator {
            Some(coordinator) => (coordinator.ends(), coordinator.deadlock),
            None => (Vec::new(), Vec::new()),
        };
        Ok(Finish { complete, ends, deadlock, timed_out: self.timed_out })
    }

    /// True when all have come.
    fn wait_for_all(&mut self) -> Result<bool, MpiError> {
        let here = self.world.start_min_max(self.control, 0)?;
        let mut patience = Patience::idle(self.world.crowd);
        let mut since_interrupt: Option<Patience> = None;
        while self.world.test_min_max(&here)?.is_none() {
            self.attend()?;
            if signals::is_requested() {
                let idle = || Patience::idle(self.world.crowd);
                if since_interrupt.get_or_insert_with(idle).waited_ns() > GRACE_NS {
                    return Ok(false);
                }
            }
            patience.rest();
        }
        Ok(true)
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

    /// A rank that was released has started a barrier that others never came to: they
    /// come to it now.
    fn complete_abandoned(&mut self) -> Result<(), MpiError> {
        let own = &self.barriers;
        let mut most: Vec<i64> = own.iter().map(|count| i64::from(*count)).collect();
        self.world.reduce_all(self.control, &mut most, Reduce::Max)?;
        let mut open: Vec<PendingMinMax> = self.abandoned.take().into_iter().collect();
        for (set, (started, most)) in own.iter().zip(most).enumerate() {
            let Some(handle) = self.groups.handle(set as u32) else { continue };
            for _ in i64::from(*started)..most {
                open.push(self.world.start_min_max(handle, 0)?);
            }
        }
        let mut patience = Patience::new(self.world.crowd);
        while !open.is_empty() {
            let mut left = Vec::with_capacity(open.len());
            for agreement in open {
                if self.world.test_min_max(&agreement)?.is_none() {
                    left.push(agreement);
                }
            }
            open = left;
            patience.rest();
        }
        Ok(())
    }
}

impl engine::comm::Comm for Comm<'_> {
    fn rank(&self) -> u32 {
        self.world.rank
    }

    fn place(&self) -> NodePlace {
        NodePlace { node: self.world.node, node_rank: self.world.node_rank }
    }

    /// Before a call inside MPI nobody can be released: there all must make the same one.
    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll {
        if members.ranks.len() <= 1 {
            return Poll::Ready;
        }
        let what = call.map(|call| call.what);
        match self.compare(members, call.map_or(0, CollectiveCall::key), (site, what)) {
            Ok(Some(agreed)) if agreed.smallest == agreed.largest => return Poll::Ready,
            Ok(Some(_)) => {
                self.reason = format!(
                    "{} cannot be met: other members of the group have come to another statement",
                    Collective::name(what)
                );
            }
            Ok(None) => {}
            Err(error) => self.reason = error.to_string(),
        }
        Poll::Released
    }

    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        let poll = self.barrier(members, site, Some(CollectiveCall::of_function(function)));
        if poll != Poll::Ready {
            return Ok(poll);
        }
        let mut words = vec![[0; 2]; members.ranks.len()];
        let own = members.ranks.position(self.world.rank);
        words[own.unwrap_or(0) as usize] = given.0;
        if let Some(handle) = self.groups.handle(members.set).filter(|_| words.len() > 1) {
            self.world.reduce_all(handle, words.as_flattened_mut(), Reduce::Sum)?;
        }
        values(function, members, words.into_iter().map(Given), all)?;
        Ok(Poll::Ready)
    }

    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        let claims = self.claims.as_mut().ok_or("the communicator was made without counters")?;
        Ok(Some(claims.claim(self.world, members, claim)?))
    }

    fn claims_over(&mut self, members: &Members, claim: Claim) -> Result<(), String> {
        let claims = self.claims.as_mut().ok_or("the communicator was made without counters")?;
        Ok(claims.over(self.world, members, claim)?)
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        let key = signal_key(members.set, name, to);
        let is_receiver = |rank: &u32| to.is_none_or(|to| to == *rank);
        for rank in members.ranks.iter().filter(is_receiver) {
            if rank == self.world.rank {
                *self.counts.entry(key).or_insert(0) += 1;
                continue;
            }
            self.deliver(rank, Message::Signal { key })?;
        }
        Ok(self.limit_posted()?)
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String> {
        self.choose_counters(members, name);
        loop {
            let count = self.count();
            if count >= target {
                return Ok(Poll::Ready);
            }
            let what = awaited_signal(&short_name(name), count, target);
            // A wait for each count: rank 0 names the count that was reached.
            let is_changed = self.wait_until(Doing::Waits { site, what, set: None }, |comm| {
                comm.take_all()?;
                Ok(comm.count() != count)
            })?;
            if !is_changed {
                let name = String::from_utf8_lossy(name);
                self.explain(&format!("the wait for the signal \"{name}\""));
                return Ok(Poll::Released);
            }
        }
    }

    fn locks_given_back(&self) -> u64 {
        0
    }

    fn gave_lock_back(&mut self) {}

    /// Nobody tells the others of locks: a rank tries again after a while, and continues the same wait if the
    /// try fails.
    fn wait_for_lock(&mut self, path: &[u8], _seen: u64, site: Pc) -> Poll {
        match self.try_lock_later(path, site) {
            Ok(true) => Poll::Ready,
            Ok(false) => Poll::Released,
            Err(error) => {
                self.reason = error.to_string();
                Poll::Released
            }
        }
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        self.choose_counters(members, name);
        if self.count() < target {
            self.take_all()?;
        }
        Ok(self.count() >= target)
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        let now_ns = coarse_ns();
        // What goes wrong with messages shows when this rank waits for one.
        let _ = self.end_lock_wait();
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            let _ = self.attend();
        }
        if signals::is_requested() { Check::Interrupted } else { Check::GoOn }
    }

    fn leave(&mut self, end: End) {
        self.status.doing = Doing::Ended(end);
        // A rank that does not learn it finds out when the run is finished.
        let _ = self.report();
    }
}

/// The first claim, for which words are made.
const FIRST: Claim = Claim { execution: 1, numbers: 0 };

/// The window, for one run of a program.
pub(crate) struct Claims {
    handle: c_int,
    /// By set: words of sets of one rank, which nobody else sees.
    alone: Vec<u64>,
    /// A claim of this set is under way.
    under_way: Vec<bool>,
}

impl Claims {
    /// A word for each set. Collective over the world.
    pub(crate) fn new(world: &World, sets: &[RankSet]) -> Result<Claims, MpiError> {
        let mut handle = -1;
        let words = sets.len().max(1) as c_int;
        // SAFETY: a valid pointer and the world's handle.
        let made = unsafe {
            let (initial, shared) = (FIRST.start() as i64, c_int::from(world.nodes == 1));
            (world.shim().claims_make)(world.all.number(), words, initial, shared, &mut handle)
        };
        world.check("MPI_Win_allocate", made)?;
        world.barrier(world.all)?;
        let (alone, under_way) = (vec![0; sets.len()], vec![false; sets.len()]);
        Ok(Claims { handle, alone, under_way })
    }

    /// Collective over the world; what is under way is completed.
    pub(crate) fn free(self, world: &World) -> Result<(), MpiError> {
        // SAFETY: a handle that was given and not freed yet.
        world.check("MPI_Win_free", unsafe { (world.shim().claims_free)(self.handle) })
    }

    /// See [`engine::comm::Comm::claim`].
    pub(crate) fn claim(
        &mut self,
        world: &World,
        members: &Members,
        claim: Claim,
    ) -> Result<u64, MpiError> {
        let set = members.set as usize;
        let Some(place) = self.place(world, members) else {
            let number = claim.number(self.alone[set]).unwrap_or(0);
            self.alone[set] = claim.start() + number + 1;
            return Ok(number);
        };
        if !std::mem::take(&mut self.under_way[set]) {
            place.start()?;
        }
        let number = claim.number(place.added()?).unwrap_or(claim.numbers);
        if number + 1 < claim.numbers {
            place.start()?;
            self.under_way[set] = true;
        }
        Ok(number)
    }

    /// All members have come to the end of an execution: the word is made ready for the next one. They
    /// have to meet once more before they claim.
    pub(crate) fn over(
        &mut self,
        world: &World,
        members: &Members,
        claim: Claim,
    ) -> Result<(), MpiError> {
        match self.place(world, members) {
            Some(place) if place.rank == world.rank as c_int => {
                place.set(claim.following().start())
            }
            _ => Ok(()),
        }
    }

    /// Where the word of several members is.
    fn place<'w>(&self, world: &'w World, members: &Members) -> Option<Place<'w>> {
        let first = members.ranks.first().filter(|_| members.ranks.len() > 1)?;
        Some(Place { world, handle: self.handle, rank: first as c_int, set: members.set })
    }
}

/// A word of the window.
struct Place<'w> {
    world: &'w World,
    handle: c_int,
    rank: c_int,
    set: SetId,
}

impl Place<'_> {
    fn word(&self) -> c_int {
        self.set as c_int
    }

    /// Starts to add 1.
    fn start(&self) -> Result<(), MpiError> {
        let shim = self.world.shim();
        // SAFETY: a handle that was given; the shim keeps the memory that the call uses.
        let started = unsafe { (shim.claim_start)(self.handle, self.rank, self.word()) };
        self.world.check("MPI_Fetch_and_op", started)
    }

    /// The word before 1 was added.
    fn added(&self) -> Result<u64, MpiError> {
        let mut found = 0;
        let (shim, word) = (self.world.shim(), self.word());
        // SAFETY: a handle that was given and a valid pointer.
        let waited = unsafe { (shim.claim_wait)(self.handle, self.rank, word, &mut found) };
        self.world.check("MPI_Win_flush", waited)?;
        Ok(found as u64)
    }

    /// Nobody adds to it meanwhile.
    fn set(&self, word: u64) -> Result<(), MpiError> {
        let set = self.world.shim().claim_set;
        // SAFETY: a handle that was given.
        let replaced = unsafe { set(self.handle, self.rank, self.word(), word as i64) };
        self.world.check("MPI_Fetch_and_op", replaced)
    }
}

/// Longest text in a message, bytes: people read it, nothing else.
const TEXT_BYTES: usize = 256;
/// Bytes of the longest message: each byte of a text that is not UTF-8 becomes 3.
pub(crate) const MESSAGE_BYTES: usize = 64 + 3 * TEXT_BYTES;
/// The timeout after a rank has ended: what the others wait for will hardly come.
const AFTER_END_NS: u64 = 2_000_000_000;

/// Messages and their receivers.
pub(crate) type Letters = Vec<(u32, Message)>;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A counter grows by 1.
    Signal { key: u64 },
    /// The state of a rank.
    Status(Status),
    /// The wait of this epoch can never end; the rank that is to blame and how it ended.
    Release { epoch: u64, blame: Option<(u32, End)> },
    /// Stop at the next statement.
    Interrupt,
}

/// The state of a rank, and the number of waits that it has finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) doing: Doing,
    pub(crate) epoch: u64,
}

/// The state of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Doing {
    #[default]
    Running,
    /// It waits: `what` in words, and the set whose other members it waits for.
    Waits { site: Pc, what: String, set: Option<SetId> },
    /// It has ended its program.
    Ended(End),
}

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // Packing into memory cannot fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// `None` for bytes that [`Message::encode`] has not made.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Message> {
        postcard::from_bytes(bytes).ok()
    }
}

/// The name of a signal or a file, cut so that messages have room for it.
pub(crate) fn short_name(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(TEXT_BYTES - 64)]).into_owned()
}

/// State of all ranks, on rank 0. Messages and the time go in, messages come out.
pub(crate) struct Coordinator {
    sets: Vec<RankSet>,
    ranks: Vec<Status>,
    /// By rank: it was released from the wait that it has reported.
    released: Vec<bool>,
    timeout_ns: u64,
    /// When a rank last reported something.
    changed_ns: u64,
    interrupted: bool,
    /// The waits from which ranks were released although no rank is to blame.
    pub(crate) deadlock: Vec<Activity>,
}

impl Coordinator {
    pub(crate) fn new(ranks: u32, sets: &[RankSet], timeout_ns: u64) -> Coordinator {
        Coordinator {
            sets: sets.to_vec(),
            ranks: vec![Status::default(); ranks as usize],
            released: vec![false; ranks as usize],
            timeout_ns,
            changed_ns: 0,
            interrupted: false,
            deadlock: Vec::new(),
        }
    }

    /// Takes the report of a rank.
    pub(crate) fn receive(&mut self, from: u32, status: Status, now_ns: u64, out: &mut Letters) {
        let at = from as usize;
        self.changed_ns = now_ns;
        self.released[at] &= status.epoch == self.ranks[at].epoch;
        if status.doing == Doing::Ended(End::Interrupted) {
            self.interrupt(out);
        }
        self.ranks[at] = status;
    }

    /// Somebody asked the run to stop: all ranks learn it, once.
    pub(crate) fn interrupt(&mut self, out: &mut Letters) {
        if !std::mem::replace(&mut self.interrupted, true) {
            out.extend((0..self.ranks.len() as u32).map(|rank| (rank, Message::Interrupt)));
        }
    }

    /// Called now and then: releases all ranks if nothing has changed for too long while nobody runs.
    pub(crate) fn look(&mut self, now_ns: u64, out: &mut Letters) {
        let mut states = self.ranks.iter().map(|status| &status.doing);
        if self.interrupted || states.clone().any(|doing| *doing == Doing::Running) {
            return;
        }
        let timeout_ns = match states.any(|doing| matches!(doing, Doing::Ended(_))) {
            true => self.timeout_ns.min(AFTER_END_NS),
            false => self.timeout_ns,
        };
        if now_ns.saturating_sub(self.changed_ns) > timeout_ns {
            (0..self.ranks.len() as u32).for_each(|rank| self.release(rank, out));
        }
    }

    /// Releases a rank that waits: a member of the set that has ended is to blame, or nobody.
    fn release(&mut self, rank: u32, out: &mut Letters) {
        let Status { doing: Doing::Waits { site, what, set }, epoch } = &self.ranks[rank as usize]
        else {
            return;
        };
        if std::mem::replace(&mut self.released[rank as usize], true) {
            return;
        }
        let members = set.iter().flat_map(|set| self.sets[*set as usize].iter());
        let blame = blame(members.filter_map(|member| Some((member, self.end(member)?))));
        if blame.is_none() {
            self.deadlock.push(Activity { rank, site: *site, what: what.clone() });
        }
        out.push((rank, Message::Release { epoch: *epoch, blame }));
    }

    fn end(&self, rank: u32) -> Option<End> {
        match &self.ranks[rank as usize].doing {
            Doing::Ended(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// How the ranks have ended; a rank that has not reported it is lost.
    pub(crate) fn ends(&self) -> Vec<End> {
        (0..self.ranks.len() as u32).map(|rank| self.end(rank).unwrap_or(End::Lost)).collect()
    }
}

#[cfg(test)]
mod coordinator_tests {
    use super::*;

    const TIMEOUT_NS: u64 = 60_000_000_000;

    fn coordinator(ranks: u32) -> Coordinator {
        Coordinator::new(ranks, &[(0..ranks).into(), (0..2).into()], TIMEOUT_NS)
    }

    fn waits(what: &str, set: Option<SetId>) -> Doing {
        Doing::Waits { site: 7, what: what.into(), set }
    }

    fn report(coordinator: &mut Coordinator, from: u32, doing: Doing) -> Letters {
        let mut out = Vec::new();
        coordinator.receive(from, Status { doing, epoch: 0 }, 0, &mut out);
        out
    }

    fn look(coordinator: &mut Coordinator, now_ns: u64) -> Letters {
        let mut out = Vec::new();
        coordinator.look(now_ns, &mut out);
        out
    }

    fn release(rank: u32, blame: Option<(u32, End)>) -> (u32, Message) {
        (rank, Message::Release { epoch: 0, blame })
    }

    #[test]
    fn an_ended_member_is_to_blame_for_its_set() {
        let mut ranks = coordinator(3);
        report(&mut ranks, 0, waits("a barrier", Some(0)));
        report(&mut ranks, 1, waits("a barrier", Some(1)));
        report(&mut ranks, 2, Doing::Ended(End::Failed));
        assert_eq!(look(&mut ranks, AFTER_END_NS), []);
        let out = look(&mut ranks, AFTER_END_NS + 1);
        assert_eq!(out, [release(0, Some((2, End::Failed))), release(1, None)]);
        assert_eq!(look(&mut ranks, TIMEOUT_NS), [], "released once");
        assert_eq!(ranks.deadlock.len(), 1);
    }

    #[test]
    fn ranks_that_all_wait_are_released_after_the_timeout() {
        let mut ranks = coordinator(2);
        report(&mut ranks, 0, waits("the signal \"go\" (1 of 2)", None));
        assert_eq!(look(&mut ranks, 2 * TIMEOUT_NS), [], "rank 1 runs");
        report(&mut ranks, 1, waits("a barrier", Some(0)));
        assert_eq!(look(&mut ranks, TIMEOUT_NS), []);
        assert_eq!(look(&mut ranks, TIMEOUT_NS + 1), [release(0, None), release(1, None)]);
        let what: Vec<&str> = ranks.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        assert_eq!(what, ["the signal \"go\" (1 of 2)", "a barrier"]);
    }

    #[test]
    fn one_interrupt_reaches_all_ranks_once() {
        let mut ranks = coordinator(2);
        let out = report(&mut ranks, 1, Doing::Ended(End::Interrupted));
        assert_eq!(out, [(0, Message::Interrupt), (1, Message::Interrupt)]);
        assert_eq!(report(&mut ranks, 0, Doing::Ended(End::Interrupted)), []);
        assert_eq!(ranks.ends(), [End::Interrupted, End::Interrupted]);
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let status = |doing| Message::Status(Status { doing, epoch: u64::MAX });
        let what = awaited_signal(&short_name(&[0xff; 1000]), u64::MAX, u64::MAX);
        for message in [
            Message::Signal { key: u64::MAX },
            Message::Release { epoch: 3, blame: Some((7, End::Killed(9))) },
            Message::Interrupt,
            status(Doing::Running),
            status(Doing::Waits { site: Pc::MAX, what, set: Some(SetId::MAX) }),
            status(Doing::Ended(End::Released)),
        ] {
            let bytes = message.encode();
            assert!(bytes.len() <= MESSAGE_BYTES, "{message:?}");
            assert_eq!(Message::decode(&bytes), Some(message));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_decoded(bytes in proptest::collection::vec(0..12u8, 0..60)) {
            let _ = Message::decode(&bytes);
        }
    }
}
