//! Threads and processes that begin, execute programs and end.

use super::Resolver;
use super::table::TableId;
use super::threads::Thread;
use crate::gaps::Gap;
use crate::names::Node;
use crate::record::{Call, Introduction, Name, Record, Shares};
use std::cell::Cell;
use std::rc::Rc;

/// A call that makes a thread and has not returned.
#[derive(Clone, Copy, Debug)]
pub struct Spawning {
    thread: u32,
    group: u32,
    shares: Shares,
}

impl Resolver<'_> {
    /// The thread of a record; one that was not seen before begins. `None`: it is over.
    pub(super) fn thread(&mut self, record: &Record<'_>) -> Option<u32> {
        let found = self.threads.find(record.thread);
        if let Call::Begin { parent, shares, is_new } = record.call {
            let known = found.filter(|place| !is_new && !self.threads.at(*place).is_over);
            return known.or_else(|| Some(self.begins(record.thread, parent, shares)));
        }
        match found {
            Some(place) if !self.threads.at(place).is_over => Some(place),
            Some(_) if matches!(record.call, Call::Exit) => None,
            Some(place) if matches!(record.call, Call::Supersede { .. }) => Some(place),
            _ if matches!(record.call, Call::Introduce(_)) => Some(self.unrelated(record.thread)),
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
        let table = self.tables.fresh();
        self.threads.add(Thread::unknown(number, table))
    }

    /// The log tells who the thread is.
    pub(super) fn introduce(&mut self, thread: u32, said: &Introduction<'_>) {
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
        let from = self.threads.at(of).clone();
        let known = self.threads.at_mut(thread);
        if known.table != from.table {
            let own = std::mem::replace(&mut known.table, from.table);
            known.directory = from.directory;
            self.tables.share(from.table);
            self.tables.leave(own);
        }
    }

    /// A thread begins with what its parent shares or copies.
    fn begin(&mut self, parent: u32, number: u64, shares: Shares) -> u32 {
        let from = self.threads.at(parent).clone();
        let (table, directory) = self.inherited(&from, shares);
        self.threads.add(Thread {
            process: if shares.process { from.process } else { number },
            number,
            parent: Some(from.number),
            rank: None,
            table,
            directory,
            closing: None,
            life_ns: None,
            ..from
        })
    }

    fn inherited(&mut self, from: &Thread, shares: Shares) -> (TableId, Rc<Cell<Node>>) {
        let table = match shares.files {
            true => self.tables.share(from.table),
            false => self.tables.copy(from.table),
        };
        let directory = match shares.directory {
            true => from.directory.clone(),
            false => Rc::new(Cell::new(from.directory.get())),
        };
        (table, directory)
    }

    /// A call that makes a thread begins, or has returned.
    pub(super) fn spawn(&mut self, thread: u32, record: &Record<'_>, shares: Shares) {
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
        let from = self.threads.at(parent).clone();
        if child == parent || self.threads.at(child).parent == Some(from.number) {
            return;
        }
        let (table, directory) = self.inherited(&from, shares);
        let child = self.threads.at_mut(child);
        let wrong = std::mem::replace(&mut child.table, table);
        child.directory = directory;
        child.parent = Some(from.number);
        self.tables.leave(wrong);
    }

    /// Descriptors and directory that were shared are the thread's own from now on.
    pub(super) fn unshare(&mut self, thread: u32, shares: Shares) {
        if shares.files {
            let table = self.threads.at(thread).table;
            self.threads.at_mut(thread).table = self.tables.unshare(table);
        }
        if shares.directory {
            let thread = self.threads.at_mut(thread);
            thread.directory = Rc::new(Cell::new(thread.directory.get()));
        }
    }

    /// A program takes the process over.
    pub(super) fn execute(&mut self, thread: u32, name: Name<'_>) {
        let table = self.threads.at(thread).table;
        if self.tables.is_shared(table) {
            self.end_others(thread);
        }
        self.threads.at_mut(thread).table = self.tables.execute(table);
        let command = self.decoded(name);
        let process = self.threads.at_mut(thread);
        process.set_command(&command, &mut self.labels);
        process.process = process.number;
        self.text = command;
        self.unshare(thread, Shares { directory: true, ..Shares::default() });
    }

    /// Other threads of a process end when one of them executes a program.
    fn end_others(&mut self, thread: u32) {
        let (process, table) = (self.threads.at(thread).process, self.threads.at(thread).table);
        let others = (0..self.threads.all.len() as u32).filter(|place| *place != thread);
        let of_process = |place: &u32| {
            let other = self.threads.at(*place);
            !other.is_over && other.process == process && other.table == table
        };
        for other in others.filter(of_process).collect::<Vec<_>>() {
            self.exit(other);
        }
    }

    /// The thread `of` executes a program: it goes on under this number.
    pub(super) fn supersede(&mut self, thread: u32, of: u64) {
        let number = self.threads.at(thread).number;
        let Some(place) = self.threads.find(of).filter(|place| *place != thread) else { return };
        self.exit(thread);
        let parent = self.threads.at(thread).parent;
        let goes_on = self.threads.at_mut(place);
        (goes_on.number, goes_on.process, goes_on.parent) = (number, number, parent);
        self.threads.name(number, place);
    }

    /// The thread is over.
    pub(super) fn exit(&mut self, thread: u32) {
        let over = self.threads.at_mut(thread);
        if over.is_over {
            return;
        }
        over.is_over = true;
        let table = over.table;
        self.tables.leave(table);
    }
}
