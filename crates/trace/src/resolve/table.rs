//! Descriptors: which open instance a number means, in each process.
//!
//! Threads share a table, forked processes begin with a copy. A copy is made when one of the two
//! changes it. An instance ends when no table refers to it any more.

use hashbrown::HashMap;
use model::event::NO_ID;
use model::open_flags::O_TMPFILE;
use rustc_hash::FxBuildHasher;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Descriptors of all tables together; a log with more is not followed further.
const SLOTS_MAX: usize = 1 << 24;

/// An open file description.
#[derive(Debug)]
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
    pub flags: Cell<u32>,
    /// Hash of what the recorder showed for it; 0: nothing.
    pub shown: Cell<u64>,
    /// Current position; `None`: unknown.
    pub position: Cell<Option<u64>>,
    /// A scan of the directory is under way: its start and its own time so far.
    pub scan: Cell<Option<(u64, u64)>>,
}

impl Instance {
    /// It was opened with this flag, as far as the log knows.
    pub fn has_flag(&self, flag: u32) -> bool {
        self.flags.get() != NO_ID && self.flags.get() & flag == flag
    }

    /// It was opened without a name.
    pub fn is_nameless(&self) -> bool {
        self.has_flag(O_TMPFILE)
    }
}

/// Target of a descriptor.
#[derive(Clone, Debug)]
pub struct Slot {
    /// `None`: a pipe, a socket, a terminal.
    pub instance: Option<Rc<Instance>>,
    /// Exec closes it.
    pub at_exec: bool,
}

/// Effect of closing a descriptor.
#[derive(Clone, Debug)]
pub enum Closed {
    /// The descriptor was not known.
    Unknown,
    /// It was no file.
    NoFile,
    /// Others still refer to the instance.
    Shared,
    /// The instance ended.
    Last(Rc<Instance>),
}

type Slots = HashMap<i64, Slot, FxBuildHasher>;

/// The descriptors of the threads that have this table. `held`: the number of those in all tables.
#[derive(Clone, Debug, Default)]
pub struct Table(Rc<RefCell<Rc<Slots>>>);

impl Table {
    /// Several threads have it.
    pub fn is_shared(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }

    /// Both are one table.
    pub fn is_same(&self, other: &Table) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// A copy for a new process.
    pub fn copy(&self) -> Table {
        Table(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    /// The meaning of a descriptor.
    pub fn get(&self, fd: i64) -> Option<Slot> {
        self.0.borrow().get(&fd).cloned()
    }

    /// Descriptors from `first` to `last`, ascending.
    pub fn range(&self, first: i64, last: i64) -> Vec<i64> {
        let slots = self.0.borrow();
        let mut found: Vec<i64> =
            slots.keys().copied().filter(|fd| (first..=last).contains(fd)).collect();
        found.sort_unstable();
        found
    }

    /// Changes it, and no copy. `None`: there are too many descriptors.
    fn change<T>(&self, held: &mut usize, change: impl FnOnce(&mut Slots) -> T) -> Option<T> {
        let mut slots = self.0.borrow_mut();
        if Rc::strong_count(&slots) > 1 {
            if *held + slots.len() > SLOTS_MAX {
                return None;
            }
            *held += slots.len();
        }
        Some(change(Rc::make_mut(&mut slots)))
    }

    /// Sets a descriptor, closing what it meant. False: there are too many.
    pub fn set(&self, held: &mut usize, fd: i64, slot: Slot) -> bool {
        if *held >= SLOTS_MAX || !(0..=i64::from(i32::MAX)).contains(&fd) {
            return false;
        }
        let old = self.change(held, |slots| slots.insert(fd, slot));
        *held += usize::from(matches!(old, Some(None)));
        old.is_some()
    }

    /// Says whether exec closes a descriptor.
    pub fn set_at_exec(&self, held: &mut usize, fd: i64, on: bool) {
        if self.get(fd).is_some_and(|slot| slot.at_exec != on) {
            self.change(held, |slots| {
                slots.entry(fd).and_modify(|slot| slot.at_exec = on);
            });
        }
    }

    /// Removes a descriptor.
    pub fn close(&self, held: &mut usize, fd: i64) -> Closed {
        let is_known = self.0.borrow().contains_key(&fd);
        let removed = is_known.then(|| self.change(held, |slots| slots.remove(&fd)));
        let Some(slot) = removed.flatten().flatten() else { return Closed::Unknown };
        *held -= 1;
        match slot.instance {
            None => Closed::NoFile,
            Some(instance) if Rc::strong_count(&instance) == 1 => Closed::Last(instance),
            Some(_) => Closed::Shared,
        }
    }

    /// The thread executes a program: it has a table of its own, without what exec closes.
    pub fn execute(&mut self, held: &mut usize) {
        self.unshare();
        if self.0.borrow().values().any(|slot| slot.at_exec) {
            let closed = self.change(held, |slots| {
                let before = slots.len();
                slots.retain(|_, slot| !slot.at_exec);
                before - slots.len()
            });
            *held -= closed.unwrap_or(0);
        }
    }

    /// No other thread has it from now on.
    pub fn unshare(&mut self) {
        if self.is_shared() {
            *self = self.copy();
        }
    }

    /// The thread is over. What only it had open ends.
    pub fn leave(&mut self, held: &mut usize) {
        let slots = Rc::into_inner(std::mem::take(self).0).map(RefCell::into_inner);
        *held -= slots.and_then(Rc::into_inner).map_or(0, |slots| slots.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(at_exec: bool) -> Slot {
        let (flags, shown, position, scan) = Default::default();
        let instance =
            Instance { number: 0, node: 0, path: 0, file: 0, flags, shown, position, scan };
        Slot { instance: Some(Rc::new(instance)), at_exec }
    }

    #[test]
    fn an_instance_ends_with_its_last_descriptor() {
        let (table, mut held) = (Table::default(), 0);
        table.set(&mut held, 3, slot(false));
        table.set(&mut held, 4, table.get(3).unwrap());
        let child = table.copy();
        assert!(matches!(table.close(&mut held, 3), Closed::Shared));
        assert!(matches!(table.close(&mut held, 4), Closed::Shared));
        assert!(matches!(table.close(&mut held, 4), Closed::Unknown));
        assert!(child.set(&mut held, 3, child.get(3).unwrap()));
        assert!(matches!(child.close(&mut held, 4), Closed::Shared));
        assert!(matches!(child.close(&mut held, 3), Closed::Last(_)));
        assert_eq!(held, 0);
    }

    #[test]
    fn exec_and_exit_close() {
        let (mut table, mut held) = (Table::default(), 0);
        table.set(&mut held, 3, slot(false));
        table.set_at_exec(&mut held, 3, true);
        let mut own = table.clone();
        own.execute(&mut held);
        assert!(own.get(3).is_none() && table.get(3).is_some());
        let mut child = table.copy();
        table.leave(&mut held);
        assert_eq!(Rc::strong_count(&child.get(3).unwrap().instance.unwrap()), 2, "and this one");
        child.leave(&mut held);
        assert_eq!(held, 0);
    }

    #[test]
    fn a_descriptor_in_place_of_itself_stays() {
        let (table, mut held) = (Table::default(), 0);
        table.set(&mut held, 3, slot(false));
        table.set(&mut held, 3, table.get(3).unwrap());
        assert!(matches!(table.close(&mut held, 3), Closed::Last(_)));
        assert_eq!(table.range(0, i64::MAX), [0i64; 0]);
    }
}
