//! Threads and processes of a log: how they begin, execute programs and end, what they share, their ranks and
//! labels.

use super::Resolver;
use super::table::Table;
use crate::gaps::Gap;
use crate::names::{Interned, Node, START};
use crate::record::{Act, Introduction, Name, Record, Shares};
use hashbrown::{HashMap, HashSet};
use model::event::NO_ID;
use model::run::TraceThread;
use rustc_hash::FxBuildHasher;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

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
    pub(crate) host: Vec<u8>,
    /// Label of its events.
    pub(crate) label: u32,
    pub(crate) table: Table,
    pub(crate) directory: Rc<Cell<Node>>,
    /// A close is under way, of which the log showed the beginning apart: the descriptor is free already.
    pub(crate) closes: bool,
    /// The operation of that close, if the instance ends with it.
    pub(crate) closing: Option<super::Done>,
    pub(crate) is_over: bool,
    /// Wait since its last event, nanoseconds.
    pub(crate) waited_ns: u64,
    /// From its first record to the end of its last, on the clock of the events.
    life_ns: Option<(u64, u64)>,
}

impl Thread {
    /// One of which only the number is known.
    fn unknown(number: u64) -> Thread {
        Thread {
            process: number,
            number,
            parent: None,
            rank: None,
            command: Vec::new(),
            host: Vec::new(),
            label: NO_ID,
            table: Table::default(),
            directory: Rc::new(Cell::new(START)),
            closes: false,
            closing: None,
            is_over: false,
            waited_ns: 0,
            life_ns: None,
        }
    }

    /// It was there from `begin_ns` to `end_ns`.
    pub(crate) fn lives(&mut self, begin_ns: u64, end_ns: u64) {
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
    fn set_command(&mut self, command: &[u8], labels: &mut Labels) {
        self.command = command.to_vec();
        let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
        self.label = labels.program(name);
    }
}

/// Programs that start the ranks of MPI jobs, and their helpers, without what stands behind a dot (`mpiexec.hydra`).
const LAUNCHERS: &str =
    "mpiexec mpirun orterun prterun prun orted prted srun slurmstepd hydra_pmi_proxy";

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
    /// Number of ranks so far.
    pub ranks: u32,
    /// Numbers of threads are ranks.
    are_ranks: bool,
    /// Ranks of threads that have none yet, by the machine and the number of the thread.
    reserved: HashMap<(u32, u64), u32, FxBuildHasher>,
    /// Ranks of the MPI job; 0: there is none.
    pub job: u32,
    groups: HashSet<u32, FxBuildHasher>,
    /// Calls that make threads and have not returned.
    spawning: Vec<Spawning>,
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
    pub fn find(&self, number: u64) -> Option<u32> {
        self.numbers.get(&(self.group, number)).copied()
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

    /// The thread belongs to the launcher of an MPI job, not to its ranks.
    pub fn is_launcher(&mut self, place: u32) -> bool {
        let is_one = |command: &[u8]| {
            let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
            let name = name.split(|byte| *byte == b'.').next().unwrap_or(name);
            LAUNCHERS.split(' ').any(|launcher| launcher.as_bytes() == name)
        };
        let starts = self.job > 0 && is_one(&self.at(place).command);
        starts && self.rank_in_job(place).is_none()
    }

    /// The rank that a thread has in the MPI job.
    pub fn rank_in_job(&mut self, place: u32) -> Option<u32> {
        let number = (self.group, self.at(place).number);
        let known = self.at(place).rank.is_some() || self.reserved.contains_key(&number);
        known.then(|| self.rank(place)).filter(|rank| *rank < self.job)
    }

    /// Ranks of the job; `None`: numbers of threads are ranks.
    pub fn job(&self) -> Option<u32> {
        (!self.are_ranks).then_some(self.job)
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

/// A call that makes a thread and has not returned.
#[derive(Clone, Copy, Debug)]
struct Spawning {
    thread: u32,
    group: u32,
    shares: Shares,
}

impl Resolver<'_> {
    /// The thread of a record; one that was not seen before begins. `None`: it is over.
    pub(crate) fn thread(&mut self, record: &Record<'_>) -> Option<u32> {
        let found = self.threads.find(record.thread);
        if let Act::Begin { parent, shares, is_new } = record.call.act {
            let known = found.filter(|place| !is_new && !self.threads.at(*place).is_over);
            return known.or_else(|| Some(self.begins(record.thread, parent, shares)));
        }
        match found {
            Some(place) if !self.threads.at(place).is_over => Some(place),
            Some(_) if record.call.act == Act::Exit => None,
            Some(place) if matches!(record.call.act, Act::Supersede(_)) => Some(place),
            _ if matches!(record.call.act, Act::Introduce(_)) => {
                Some(self.unrelated(record.thread))
            }
            _ => Some(self.appears(record.thread)),
        }
    }

    /// A thread shows up before the call that made it has returned, or without one.
    fn appears(&mut self, number: u64) -> u32 {
        let group = self.threads.group;
        let at = self.threads.spawning.iter().position(|spawning| spawning.group == group);
        if let Some(at) = at {
            let Spawning { thread, shares, .. } = self.threads.spawning.remove(at);
            return self.begin(thread, number, shares);
        }
        if self.threads.is_known_group() {
            self.gaps.add(Gap::UnknownParents);
        }
        self.unrelated(number)
    }

    /// A thread of which the log tells who started it. The first one's parent is the recorder.
    fn begins(&mut self, number: u64, parent: u64, shares: Shares) -> u32 {
        match self.threads.find(parent).filter(|_| parent != number) {
            Some(parent) => self.begin(parent, number, shares),
            None => self.unrelated(number),
        }
    }

    /// A thread that shares nothing.
    fn unrelated(&mut self, number: u64) -> u32 {
        self.threads.add(Thread::unknown(number))
    }

    /// The log tells who the thread is.
    pub(crate) fn introduce(&mut self, thread: u32, said: &Introduction<'_>) {
        if let Some(ranks) = said.ranks {
            self.threads.give_ranks(ranks);
        }
        let known = self.threads.at_mut(thread);
        if known.host != said.host {
            known.host = said.host.to_vec();
        }
        known.process = said.process.unwrap_or(known.process);
        if !said.command.is_empty() && known.command != said.command {
            known.set_command(said.command, &mut self.labels);
        }
        let of = said.shares.and_then(|of| self.threads.find(of)).filter(|of| *of != thread);
        if let Some(of) = of.filter(|of| !self.threads.at(*of).is_over) {
            self.share(thread, of);
        }
    }

    /// A thread uses the descriptors and the directory of another one.
    fn share(&mut self, thread: u32, of: u32) {
        let (table, directory) = self.inherited(of, Shares::ALL);
        self.inherit(thread, table, directory);
    }

    /// A thread gets another table and directory.
    fn inherit(&mut self, thread: u32, table: Table, directory: Rc<Cell<Node>>) {
        let thread = self.threads.at_mut(thread);
        thread.directory = directory;
        std::mem::replace(&mut thread.table, table).leave(&mut self.held);
    }

    /// A thread begins with what its parent shares or copies.
    fn begin(&mut self, parent: u32, number: u64, shares: Shares) -> u32 {
        let (table, directory) = self.inherited(parent, shares);
        let from = self.threads.at(parent).clone();
        self.threads.add(Thread {
            process: if shares.process { from.process } else { number },
            number,
            parent: Some(from.number),
            rank: None,
            table,
            directory,
            closes: false,
            closing: None,
            life_ns: None,
            ..from
        })
    }

    fn inherited(&self, of: u32, shares: Shares) -> (Table, Rc<Cell<Node>>) {
        let Thread { table, directory, .. } = self.threads.at(of);
        let table = if shares.files { table.clone() } else { table.copy() };
        let directory = match shares.directory {
            true => directory.clone(),
            false => Rc::new(Cell::new(directory.get())),
        };
        (table, directory)
    }

    /// A call that makes a thread begins, or has returned.
    pub(crate) fn spawn(&mut self, thread: u32, record: &Record<'_>, shares: Shares) {
        let group = self.threads.group;
        if record.is_begin {
            self.threads.spawning.push(Spawning { thread, group, shares });
            return;
        }
        let waited = self.threads.spawning.iter().position(|spawning| spawning.thread == thread);
        if let Some(at) = waited {
            self.threads.spawning.remove(at);
        }
        let Some(child) = record.outcome.value.and_then(|value| u64::try_from(value).ok()) else {
            return;
        };
        match self.threads.find(child) {
            _ if child == 0 => {}
            Some(place) if !self.threads.at(place).is_over => self.is_child(place, thread, shares),
            // It was faster than its parent.
            Some(place)
                if self.threads.at(place).parent == Some(self.threads.at(thread).number) => {}
            _ => drop(self.begin(thread, child, shares)),
        }
    }

    /// A thread that appeared before turns out to be another one's child than was assumed.
    fn is_child(&mut self, child: u32, parent: u32, shares: Shares) {
        let number = Some(self.threads.at(parent).number);
        if child == parent || self.threads.at(child).parent == number {
            return;
        }
        let (table, directory) = self.inherited(parent, shares);
        self.inherit(child, table, directory);
        self.threads.at_mut(child).parent = number;
    }

    /// Descriptors and directory that were shared are the thread's own from now on.
    pub(crate) fn unshare(&mut self, thread: u32, shares: Shares) {
        let thread = self.threads.at_mut(thread);
        if shares.files {
            thread.table.unshare();
        }
        if shares.directory {
            thread.directory = Rc::new(Cell::new(thread.directory.get()));
        }
    }

    /// A program takes the process over.
    pub(crate) fn execute(&mut self, thread: u32, name: Name<'_>) {
        if self.threads.at(thread).table.is_shared() {
            self.end_others(thread);
        }
        let command = self.decoded(name);
        let process = self.threads.at_mut(thread);
        process.table.execute(&mut self.held);
        process.set_command(&command, &mut self.labels);
        process.process = process.number;
        self.text = command;
        self.unshare(thread, Shares { directory: true, ..Shares::NOTHING });
    }

    /// Other threads of a process end when one of them executes a program.
    fn end_others(&mut self, thread: u32) {
        let this = self.threads.at(thread);
        let others = (0..self.threads.all.len() as u32).filter(|place| *place != thread);
        let of_process = |place: &u32| {
            let other = self.threads.at(*place);
            !other.is_over && other.process == this.process && other.table.is_same(&this.table)
        };
        for other in others.filter(of_process).collect::<Vec<_>>() {
            self.exit(other);
        }
    }

    /// The thread `of` executes a program: it goes on under this number.
    pub(crate) fn supersede(&mut self, thread: u32, of: u64) {
        let number = self.threads.at(thread).number;
        let Some(place) = self.threads.find(of).filter(|place| *place != thread) else { return };
        self.exit(thread);
        let parent = self.threads.at(thread).parent;
        let goes_on = self.threads.at_mut(place);
        (goes_on.number, goes_on.process, goes_on.parent) = (number, number, parent);
        self.threads.name(number, place);
    }

    /// The thread is over.
    pub(crate) fn exit(&mut self, thread: u32) {
        let over = self.threads.at_mut(thread);
        if over.is_over {
            return;
        }
        over.is_over = true;
        over.table.leave(&mut self.held);
    }
}

/// Different labels; further places in a program are `(more)`.
const LABELS_MAX: usize = 4096;

/// All labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    words: Interned,
    /// By the program's label.
    sites: HashMap<u32, HashMap<Box<[u8]>, u32, FxBuildHasher>, FxBuildHasher>,
}

impl Labels {
    /// That of a program.
    pub(crate) fn program(&mut self, name: &[u8]) -> u32 {
        self.words.number(name)
    }

    /// That of a place in a program, which has the label `program`; without a place the program's.
    pub(crate) fn site(&mut self, program: u32, site: &[u8]) -> u32 {
        if site.is_empty() {
            return program;
        }
        let known = self.sites.entry(program).or_default();
        if let Some(label) = known.get(site) {
            return *label;
        }
        let outer = self.words.texts().get(program as usize).map_or(&b""[..], |name| name);
        let has_room = self.words.texts().len() < LABELS_MAX;
        let inner = if has_room { site } else { b"(more)" };
        let label = if outer.is_empty() { inner.to_vec() } else { [outer, b"/", inner].concat() };
        let label = self.words.number(&label);
        if has_room {
            known.insert(site.into(), label);
        }
        label
    }

    /// Some calls have a place in the program.
    pub(crate) fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Labels by id.
    pub(crate) fn into_words(self) -> Vec<Vec<u8>> {
        self.words.into_texts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::NO_ID;

    #[test]
    fn places_are_labels_within_programs_and_bounded() {
        let mut labels = Labels::default();
        let app = labels.program(b"app");
        let (main, again) = (labels.site(app, b"main"), labels.site(app, b"main"));
        assert_eq!((main, again, labels.site(NO_ID, b"main")), (1, 1, 2));
        let last = (0..10_000).map(|n| labels.site(app, n.to_string().as_bytes())).last();
        let words = labels.into_words();
        assert_eq!((&words[1][..], &words[2][..]), (&b"app/main"[..], &b"main"[..]));
        assert_eq!((words.len(), &words[last.unwrap() as usize][..]), (4097, &b"app/(more)"[..]));
    }
}
