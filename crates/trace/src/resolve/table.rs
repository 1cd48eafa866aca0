//! Descriptors: which open instance a number means, in each process.
//!
//! Threads share a table, forked processes begin with a copy. A copy is made when one of the two
//! changes it. An instance counts the tables that refer to it and ends with the last one.

use hashbrown::HashMap;
use model::event::NO_ID;
use model::open_flags::O_TMPFILE;
use rustc_hash::FxBuildHasher;
use std::rc::Rc;

/// Number of a table.
pub type TableId = u32;

/// Descriptors of all tables together; a log with more is not followed further.
const SLOTS_MAX: usize = 1 << 24;

/// Target of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Place in [`Instances`]; [`NO_FILE`]: no file.
    pub instance: u32,
    /// Exec closes it.
    pub at_exec: bool,
}

/// A pipe, a socket, a terminal.
pub const NO_FILE: u32 = u32::MAX;

type Slots = HashMap<i64, Slot, FxBuildHasher>;

/// An open file description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instance {
    /// Its number in the run.
    pub number: u32,
    /// Where its name stood when it was opened.
    pub node: u32,
    /// Number of that path.
    pub path: u32,
    /// The file.
    pub file: u32,
    /// Flags of open(2).
    pub flags: u32,
    /// Hash of what the recorder showed for it; 0: nothing.
    pub shown: u64,
    /// Current position; `None`: unknown.
    pub position: Option<u64>,
    /// Tables that refer to it, each with one or several descriptors.
    pub references: u32,
    /// A scan of the directory is under way: its start and its own time so far.
    pub scan: Option<(u64, u64)>,
}

impl Instance {
    /// It was opened without a name.
    pub fn is_nameless(&self) -> bool {
        self.flags != NO_ID && self.flags & O_TMPFILE == O_TMPFILE
    }
}

/// Instances that are open. Places are used again.
#[derive(Debug, Default)]
pub struct Instances {
    places: Vec<Instance>,
    free: Vec<u32>,
    count: u32,
}

impl Instances {
    /// Adds one, which gets the next number; gives its place.
    pub fn add(&mut self, instance: Instance) -> u32 {
        let instance = Instance { number: self.count, ..instance };
        self.count = self.count.wrapping_add(1);
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = instance;
                place
            }
            None => {
                self.places.push(instance);
                self.places.len() as u32 - 1
            }
        }
    }

    /// The instance at a place.
    pub fn at(&self, place: u32) -> Option<&Instance> {
        self.places.get(place as usize)
    }

    /// The same, to change it.
    pub fn at_mut(&mut self, place: u32) -> Option<&mut Instance> {
        self.places.get_mut(place as usize)
    }

    fn refer(&mut self, place: u32) {
        if let Some(instance) = self.at_mut(place) {
            instance.references += 1;
        }
    }

    /// One reference less; the instance, if that was the last one.
    fn release(&mut self, place: u32) -> Option<Instance> {
        let instance = self.at_mut(place)?;
        instance.references = instance.references.saturating_sub(1);
        let ended = *instance;
        (ended.references == 0).then(|| {
            self.free.push(place);
            ended
        })
    }
}

#[derive(Debug, Default)]
struct Table {
    slots: Rc<Slots>,
    /// Threads that use it.
    users: u32,
}

/// All tables.
#[derive(Debug, Default)]
pub struct Tables {
    tables: HashMap<TableId, Table, FxBuildHasher>,
    next: TableId,
    slots: usize,
    /// Instances that are open.
    pub instances: Instances,
}

/// Effect of closing a descriptor.
#[derive(Clone, Copy, Debug)]
pub enum Closed {
    /// The descriptor was not known.
    Unknown,
    /// It was no file.
    NoFile,
    /// Others still refer to the instance.
    Shared,
    /// The instance ended.
    Last(Instance),
}

impl Tables {
    /// An empty table for one thread.
    pub fn fresh(&mut self) -> TableId {
        self.insert(Rc::default())
    }

    fn insert(&mut self, slots: Rc<Slots>) -> TableId {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.tables.insert(id, Table { slots, users: 1 });
        id
    }

    /// Another thread uses the same table.
    pub fn share(&mut self, id: TableId) -> TableId {
        if let Some(table) = self.tables.get_mut(&id) {
            table.users += 1;
        }
        id
    }

    /// Several threads use it.
    pub fn is_shared(&self, id: TableId) -> bool {
        self.tables.get(&id).is_some_and(|table| table.users > 1)
    }

    /// A copy for a new process.
    pub fn copy(&mut self, id: TableId) -> TableId {
        let slots = self.tables.get(&id).map(|table| table.slots.clone()).unwrap_or_default();
        self.insert(slots)
    }

    /// A thread is over. What only it had open ends.
    pub fn leave(&mut self, id: TableId) {
        let Some(table) = self.tables.get_mut(&id) else { return };
        table.users -= 1;
        if table.users > 0 {
            return;
        }
        let table = self.tables.remove(&id);
        if let Some(slots) = table.and_then(|table| Rc::into_inner(table.slots)) {
            self.slots -= slots.len();
            for slot in slots.values() {
                self.instances.release(slot.instance);
            }
        }
    }

    /// The table of a thread that executes a program: its own, without what exec closes.
    pub fn execute(&mut self, id: TableId) -> TableId {
        let own = self.unshare(id);
        let at_exec = |(fd, slot): (&i64, &Slot)| slot.at_exec.then_some(*fd);
        let slots = self.tables.get(&own).map(|table| table.slots.clone()).unwrap_or_default();
        let closed: Vec<i64> = slots.iter().filter_map(at_exec).collect();
        drop(slots);
        for fd in closed {
            self.close(own, fd);
        }
        own
    }

    /// A table that no other thread uses.
    pub fn unshare(&mut self, id: TableId) -> TableId {
        if self.tables.get(&id).is_none_or(|table| table.users == 1) {
            return id;
        }
        let own = self.copy(id);
        self.leave(id);
        own
    }

    /// The meaning of a descriptor.
    pub fn get(&self, id: TableId, fd: i64) -> Option<Slot> {
        self.tables.get(&id)?.slots.get(&fd).copied()
    }

    /// The table alone, to change it. `None`: there are too many descriptors.
    fn slots(&mut self, id: TableId) -> Option<&mut Slots> {
        let table = self.tables.get_mut(&id)?;
        if Rc::strong_count(&table.slots) > 1 {
            if self.slots + table.slots.len() > SLOTS_MAX {
                return None;
            }
            self.slots += table.slots.len();
            table.slots.values().for_each(|slot| self.instances.refer(slot.instance));
        }
        Some(Rc::make_mut(&mut table.slots))
    }

    /// Sets a descriptor, closing what it meant. False: there are too many.
    pub fn set(&mut self, id: TableId, fd: i64, slot: Slot) -> bool {
        if self.slots >= SLOTS_MAX || fd < 0 || fd > i64::from(i32::MAX) {
            return false;
        }
        // Before the old one ends: both may be the same instance.
        self.instances.refer(slot.instance);
        let Some(slots) = self.slots(id) else { return false };
        match slots.insert(fd, slot) {
            None => self.slots += 1,
            Some(old) => {
                self.instances.release(old.instance);
            }
        }
        true
    }

    /// Says whether exec closes a descriptor.
    pub fn set_at_exec(&mut self, id: TableId, fd: i64, on: bool) {
        if self.get(id, fd).is_none_or(|slot| slot.at_exec == on) {
            return;
        }
        if let Some(slot) = self.slots(id).and_then(|slots| slots.get_mut(&fd)) {
            slot.at_exec = on;
        }
    }

    /// Removes a descriptor.
    pub fn close(&mut self, id: TableId, fd: i64) -> Closed {
        if self.get(id, fd).is_none() {
            return Closed::Unknown;
        }
        let Some(slot) = self.slots(id).and_then(|slots| slots.remove(&fd)) else {
            return Closed::Unknown;
        };
        self.slots -= 1;
        match self.instances.release(slot.instance) {
            _ if slot.instance == NO_FILE => Closed::NoFile,
            Some(instance) => Closed::Last(instance),
            None => Closed::Shared,
        }
    }

    /// Descriptors of a table from `first` to `last`, ascending.
    pub fn range(&self, id: TableId, first: i64, last: i64) -> Vec<i64> {
        let slots = self.tables.get(&id).map(|table| &table.slots);
        let within = |fd: &&i64| (first..=last).contains(*fd);
        let mut found: Vec<i64> =
            slots.iter().flat_map(|slots| slots.keys().filter(within)).copied().collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(tables: &mut Tables, id: TableId, fd: i64) -> u32 {
        let instance = tables.instances.add(Instance::default());
        assert!(tables.set(id, fd, Slot { instance, at_exec: false }));
        instance
    }

    fn is_last(closed: Closed) -> bool {
        matches!(closed, Closed::Last(_))
    }

    #[test]
    fn an_instance_ends_with_its_last_descriptor() {
        let mut tables = Tables::default();
        let id = tables.fresh();
        let instance = open(&mut tables, id, 3);
        tables.set(id, 4, Slot { instance, at_exec: false });
        let child = tables.copy(id);
        assert!(matches!(tables.close(id, 3), Closed::Shared));
        assert!(matches!(tables.close(id, 4), Closed::Shared));
        assert!(matches!(tables.close(id, 4), Closed::Unknown));
        assert!(tables.set(child, 3, Slot { instance, at_exec: true }));
        assert!(matches!(tables.close(child, 4), Closed::Shared));
        assert!(is_last(tables.close(child, 3)));
    }

    #[test]
    fn exec_and_exit_close() {
        let mut tables = Tables::default();
        let id = tables.fresh();
        let instance = open(&mut tables, id, 3);
        tables.set_at_exec(id, 3, true);
        let thread = tables.share(id);
        let own = tables.execute(thread);
        assert_eq!((tables.get(own, 3), tables.get(id, 3).is_some()), (None, true));
        let child = tables.copy(id);
        tables.leave(id);
        assert!(tables.get(child, 3).is_some());
        assert_eq!(tables.instances.at(instance).unwrap().references, 1);
        tables.leave(child);
        assert_eq!(tables.slots, 0);
    }

    #[test]
    fn a_descriptor_in_place_of_itself_stays() {
        let mut tables = Tables::default();
        let id = tables.fresh();
        let instance = open(&mut tables, id, 3);
        tables.set(id, 3, Slot { instance, at_exec: false });
        assert!(is_last(tables.close(id, 3)));
        assert_eq!(tables.range(id, 0, i64::MAX), [0i64; 0]);
    }
}
