//! Threads of a log: what each shares with others, and its rank.

use super::labels::Labels;
use super::table::TableId;
use crate::names::{Node, START};
use hashbrown::{HashMap, HashSet};
use model::event::NO_ID;
use model::run::TraceThread;
use rustc_hash::FxBuildHasher;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A close that has begun: the descriptor is free already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// The operation, if the instance ends with it.
    pub done: Option<super::Done>,
}

/// A thread of a log.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The log's number of the process.
    pub process: u64,
    /// The log's number of the thread.
    pub number: u64,
    /// The thread that started it.
    pub parent: Option<u64>,
    /// Rank in the run, once an operation of it was kept.
    pub rank: Option<u32>,
    /// Program that was executed last.
    pub command: Vec<u8>,
    /// Its machine; empty where the log does not tell.
    pub(super) host: Vec<u8>,
    /// Label of its events.
    pub(super) label: u32,
    pub(super) table: TableId,
    pub(super) directory: Rc<Cell<Node>>,
    /// A close under way, if the log showed its beginning apart.
    pub(super) closing: Option<Closing>,
    pub(super) is_over: bool,
    /// Wait since its last event, nanoseconds.
    pub(super) waited_ns: u64,
    /// From its first record to the end of its last, on the clock of the events.
    pub(super) life_ns: Option<(u64, u64)>,
}

impl Thread {
    /// One of which only the numbers are known.
    pub(super) fn unknown(number: u64, table: TableId) -> Thread {
        Thread {
            process: number,
            number,
            parent: None,
            rank: None,
            command: Vec::new(),
            host: Vec::new(),
            label: NO_ID,
            table,
            directory: Rc::new(Cell::new(START)),
            closing: None,
            is_over: false,
            waited_ns: 0,
            life_ns: None,
        }
    }

    /// It was there from `begin_ns` to `end_ns`.
    pub(super) fn lives(&mut self, begin_ns: u64, end_ns: u64) {
        let known = self.life_ns.unwrap_or((begin_ns, end_ns));
        self.life_ns = Some((known.0.min(begin_ns), known.1.max(end_ns)));
    }

    fn stored(&self) -> TraceThread {
        TraceThread {
            rank: self.rank,
            process: self.process,
            thread: self.number,
            parent: self.parent,
            command: String::from_utf8_lossy(&self.command).into_owned(),
            begin_ns: self.life_ns.map(|life| life.0),
            end_ns: self.life_ns.map(|life| life.1).filter(|_| self.is_over),
        }
    }

    /// The name of its program, as a label.
    pub(super) fn set_command(&mut self, command: &[u8], labels: &mut Labels) {
        self.command = command.to_vec();
        let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
        self.label = labels.program(name);
    }
}

/// Programs that start the ranks of MPI jobs, and their helpers, without what stands behind a dot (`mpiexec.hydra`).
const LAUNCHERS: [&[u8]; 10] = [
    b"mpiexec",
    b"mpirun",
    b"orterun",
    b"prterun",
    b"prun",
    b"orted",
    b"prted",
    b"srun",
    b"slurmstepd",
    b"hydra_pmi_proxy",
];

/// A thread, by its machine and its number there, and its rank.
pub type Ranked = ((u32, u64), u32);

/// All threads.
#[derive(Debug, Default)]
pub struct Threads {
    /// In the order in which the logs show them.
    pub all: Vec<Thread>,
    /// Machine whose log is read.
    pub group: u32,
    numbers: HashMap<(u32, u64), u32, FxBuildHasher>,
    last: Option<((u32, u64), u32)>,
    ranks: u32,
    /// Numbers of threads are ranks.
    are_ranks: bool,
    /// Ranks of threads that have none yet, by the machine and the number of the thread.
    reserved: HashMap<(u32, u64), u32, FxBuildHasher>,
    /// Ranks of the MPI job; 0: there is none.
    job: u32,
    groups: HashSet<u32, FxBuildHasher>,
    /// Calls that make threads and have not returned.
    pub(super) spawning: Vec<super::spawn::Spawning>,
}

impl Threads {
    /// A thread by its place.
    pub fn at(&self, place: u32) -> &Thread {
        &self.all[place as usize]
    }

    /// The same, to change it.
    pub fn at_mut(&mut self, place: u32) -> &mut Thread {
        &mut self.all[place as usize]
    }

    /// The place of a thread by its number in the log.
    pub fn find(&mut self, number: u64) -> Option<u32> {
        let key = (self.group, number);
        if let Some((last, place)) = self.last
            && last == key
        {
            return Some(place);
        }
        let place = self.numbers.get(&key).copied()?;
        self.last = Some((key, place));
        Some(place)
    }

    /// A thread of the machine whose log is read was seen before.
    pub fn is_known_group(&mut self) -> bool {
        !self.groups.insert(self.group)
    }

    /// Adds a thread, in place of an older one with its number.
    pub fn add(&mut self, thread: Thread) -> u32 {
        let place = self.all.len() as u32;
        self.name(thread.number, place);
        self.all.push(thread);
        place
    }

    /// From now on the thread has this number.
    pub fn name(&mut self, number: u64, place: u32) {
        self.numbers.insert((self.group, number), place);
        self.last = None;
    }

    /// Number of ranks so far.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Numbers of threads are ranks of a job of at least this many ranks.
    pub fn give_ranks(&mut self, ranks: u32) {
        self.are_ranks = true;
        self.ranks = self.ranks.max(ranks);
    }

    /// Threads that are the ranks of one job: each rank once, all from 0 on; else ranks are counted as always.
    pub fn reserve_ranks(&mut self, of: Vec<Ranked>) {
        let mut ranks: Vec<u32> = of.iter().map(|thread| thread.1).collect();
        ranks.sort_unstable();
        if (0..).zip(&ranks).all(|(rank, found)| rank == *found) {
            self.ranks = ranks.len() as u32;
            self.job = self.ranks;
            self.reserved = of.into_iter().collect();
        }
    }

    /// Ranks of the MPI job; 0: there is none.
    pub fn job(&self) -> u32 {
        self.job
    }

    /// The thread belongs to the launcher of an MPI job, not to its ranks.
    pub fn is_launcher(&mut self, place: u32) -> bool {
        let name = self.at(place).command.rsplit(|byte| *byte == b'/').next();
        let name = name.and_then(|name| name.split(|byte| *byte == b'.').next());
        let starts = self.job > 0 && name.is_some_and(|name| LAUNCHERS.contains(&name));
        starts && self.rank_in_job(place).is_none()
    }

    /// The rank that a thread has in the MPI job.
    pub fn rank_in_job(&mut self, place: u32) -> Option<u32> {
        let number = (self.group, self.at(place).number);
        let known = self.at(place).rank.is_some() || self.reserved.contains_key(&number);
        known.then(|| self.rank(place)).filter(|rank| *rank < self.job)
    }

    /// Machines of ranks, as far as the log tells.
    pub fn hosts(&self) -> BTreeMap<u32, String> {
        let named = self.all.iter().filter(|thread| !thread.host.is_empty());
        let text = |thread: &Thread| String::from_utf8_lossy(&thread.host).into_owned();
        named.filter_map(|thread| Some((thread.rank?, text(thread)))).collect()
    }

    /// Threads with a rank, and those that started one of them.
    pub fn list(&self) -> Vec<TraceThread> {
        let mut parents: HashSet<u64, FxBuildHasher> = HashSet::default();
        // Children stand behind their parents.
        let is_kept = |thread: &&Thread| {
            let is_told = thread.rank.is_some() || parents.contains(&thread.number);
            if is_told {
                parents.extend(thread.parent);
            }
            is_told
        };
        let mut kept: Vec<TraceThread> =
            self.all.iter().rev().filter(is_kept).map(Thread::stored).collect();
        kept.reverse();
        kept
    }

    /// The rank of a thread: the next one when it gets its first.
    pub fn rank(&mut self, place: u32) -> u32 {
        if self.are_ranks {
            let thread = self.at_mut(place);
            let rank = *thread.rank.get_or_insert(thread.number as u32);
            self.ranks = self.ranks.max(rank.saturating_add(1));
            return rank;
        }
        if let Some(rank) = self.at(place).rank {
            return rank;
        }
        let number = (self.group, self.at(place).number);
        let rank = self.reserved.remove(&number).unwrap_or(self.ranks);
        self.ranks = self.ranks.max(rank + 1);
        self.at_mut(place).rank = Some(rank);
        rank
    }
}
