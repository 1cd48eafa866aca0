//! The communicator of one MPI rank, for one run of a program.
//!
//! | what | by |
//! |---|---|
//! | barrier | a non-blocking reduction over the set's communicator, tested again and again |
//! | barrier before a collective call inside MPI | the same; the members compare what they are about to call |
//! | collective function | such a barrier, then a reduction that all have come to |
//! | claim of a `share` | one-sided additions to a word that lies with one member (`claims`) |
//! | signal | a message to each member, counted where it arrives |
//! | release, interrupt | messages from and to rank 0 (`coordinator`) |
//!
//! So a rank that waits can be released at any time, and never hangs in MPI. A rank that
//! runs looks for messages every few milliseconds, between two statements.

use crate::claims::Claims;
use crate::coordinator::{Coordinator, Doing, Letters, MESSAGE_BYTES, Message, Status, short_name};
use crate::error::MpiError;
use crate::groups::Groups;
use crate::patience::Patience;
use crate::signals;
use crate::world::{Handle, MinMax, PendingMinMax, Reduce, World};
use engine::clock::{coarse_ns, monotonic_raw_ns};
use engine::comm::{
    Activity, Check, Claim, Collective, CollectiveCall, End, Given, Members, NodePlace, Poll,
    Progress, awaited_lock, awaited_signal, release_reason, signal_key, values,
};
use engine::config::{Config, TIMEOUT};
use engine::supervise::Watch;
use model::Value;
use model::plan::{Function, Pc};
use std::collections::HashMap;
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
