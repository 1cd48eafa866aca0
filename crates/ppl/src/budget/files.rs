//! The files a rank makes and how large they become: never more than there will be.
//!
//! What a loop does is looked at once, in its first turn; what its other turns add is
//! put off to its end. Wherever it is not clear whether two names are
//! one file, bytes are rather not counted, because a run is refused by this figure.

use super::claims::Claims;
use super::deferred::{Change, Deferred};
use super::key::Key;
use super::place::Place;
use super::room::{Room, Totals};
use rustc_hash::FxHashMap;

/// More files than this are not counted.
const MAX_ENTRIES: usize = 1 << 21;
/// The change of a file that is not repeated by any loop.
pub(super) const ONCE: u32 = u32::MAX;

/// A file, or a family of files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Of all members.
    room: Room,
    /// Of one member: nothing that was written ends behind this position.
    end: u64,
    /// Of one member: it is not longer than this. Behind `end` is a hole.
    size: u64,
    pub(super) skeleton: u32,
    /// The entry is gone if its skeleton's is another.
    generation: u32,
    pub(super) serial: u32,
    /// Counts how often it lost bytes.
    pub(super) epoch: u32,
    /// Its sizes are as they were before later doubts.
    doubts: u32,
    shared: bool,
    /// Nothing but what is counted here can be in the file.
    sure: bool,
}

impl Entry {
    /// It is not known any more how long it is.
    fn of_any_size(self) -> Entry {
        Entry { end: u64::MAX, size: u64::MAX, sure: false, ..self }
    }
}

/// All names that differ only in numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Skeleton {
    generation: u32,
    own: Room,
    shared: Room,
    /// Some of them are families, of which a name without marks may be a member.
    families: bool,
}

/// Files of one walk.
#[derive(Default)]
pub(super) struct Files {
    entries: FxHashMap<u64, Entry>,
    skeletons: FxHashMap<u32, Skeleton>,
    pub(super) deferred: Vec<Vec<Deferred>>,
    serial: u32,
    pub(super) own: Totals,
    pub(super) all: Totals,
    /// Names can mean each other in unknown ways: nothing more is counted.
    confused: bool,
    /// How often something was written of which it is not known where.
    doubts: u32,
    /// Files that were counted were given up, all at once.
    forgot: bool,
    /// A name was made that may have been there: it does not count.
    pub(super) uncounted: bool,
}

impl Files {
    pub(super) fn alive(&self, hash: u64) -> Option<Entry> {
        let entry = *self.entries.get(&hash)?;
        let skeleton = self.skeletons.get(&entry.skeleton)?;
        let known = if entry.doubts == self.doubts { entry } else { entry.of_any_size() };
        (entry.generation == skeleton.generation).then_some(known)
    }

    /// A file takes more room; `longer`: its end moves by so much.
    pub(super) fn add(&mut self, hash: u64, entry: Entry, more: Room, longer: u64) {
        let skeleton = self.skeletons.entry(entry.skeleton).or_default();
        self.all.grow(more);
        if entry.shared {
            skeleton.shared = skeleton.shared.plus(more);
        } else {
            skeleton.own = skeleton.own.plus(more);
            self.own.grow(more);
        }
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.room = entry.room.plus(more);
            entry.end = entry.end.saturating_add(longer);
            entry.size = entry.size.saturating_add(longer);
        }
    }

    /// It is not known how long it is.
    pub(super) fn lose_end(&mut self, hash: u64) {
        if let Some(entry) = self.entries.get_mut(&hash) {
            *entry = entry.of_any_size();
        }
    }

    /// It is not known how much is in it.
    pub(super) fn lose_bytes(&mut self, hash: u64, entry: Entry) {
        self.shrink(entry, Room { bytes: entry.room.bytes, files: 0 });
        if let Some(entry) = self.entries.get_mut(&hash) {
            (entry.room.bytes, entry.epoch) = (0, entry.epoch + 1);
        }
    }

    /// Bytes in a file that other ranks count.
    pub(super) fn add_elsewhere(&mut self, bytes: u64) {
        self.all.grow(Room { bytes, files: 0 });
    }

    fn shrink(&mut self, entry: Entry, less: Room) {
        self.all.now = self.all.now.minus(less);
        let Some(skeleton) = self.skeletons.get_mut(&entry.skeleton) else { return };
        if entry.shared {
            skeleton.shared = skeleton.shared.minus(less);
        } else {
            skeleton.own = skeleton.own.minus(less);
            self.own.now = self.own.now.minus(less);
        }
    }

    pub(super) fn count(&mut self, directory: bool, count: u64, shared: bool) {
        self.all.made(directory, count);
        if !shared {
            self.own.made(directory, count);
        }
    }

    /// Size of one member if it is known for certain.
    pub(super) fn size(&self, key: &Key) -> Option<u64> {
        let entry = self.alive(key.hash())?;
        (entry.sure && key.vague.is_none()).then_some(entry.size)
    }

    /// The file that was made under this name: a number that no other file has.
    pub(super) fn file(&self, key: &Key) -> Option<u32> {
        let entry = self.alive(key.hash()).filter(|_| key.vague.is_none());
        entry.map(|entry| entry.serial)
    }

    /// A name is made if it is not there. `claims` tells whether it may be counted.
    pub(super) fn make(&mut self, key: &Key, directory: bool, claims: &mut Claims) {
        let Some(entry) = self.insert(key, claims) else { return };
        if self.may_be_there(entry.skeleton) {
            self.uncounted = true;
            return;
        }
        self.count(directory, 1, entry.shared);
        self.add(key.hash(), entry, Room { bytes: 0, files: 1 }, 0);
        let made = Change::Made { count: 1, there: 1, directory };
        self.defer(key.hash(), entry, made, key.turns, ONCE);
    }

    /// A name that is not there begins, without anything in it.
    fn insert(&mut self, key: &Key, claims: &mut Claims) -> Option<Entry> {
        let hash = key.hash();
        if self.alive(hash).is_some() || self.confused {
            return None;
        }
        if self.entries.len() >= MAX_ENTRIES {
            self.confuse();
            return None;
        }
        let claim = claims.claim(key)?;
        self.serial += 1;
        let skeleton = key.skeleton();
        let names = self.skeletons.entry(skeleton).or_default();
        names.families |= !key.is_concrete();
        let entry = Entry {
            room: Room::default(),
            end: 0,
            size: 0,
            skeleton,
            generation: names.generation,
            serial: self.serial,
            epoch: 0,
            doubts: self.doubts,
            shared: claim.shared,
            sure: claim.sure,
        };
        // It may be there all the same, and hold something.
        let unknown = self.doubts > 0 || self.may_be_there(skeleton);
        let entry = if unknown { entry.of_any_size() } else { entry };
        self.entries.insert(hash, entry);
        Some(entry)
    }

    /// Names that are not counted any more need not be gone.
    fn may_be_there(&self, skeleton: u32) -> bool {
        self.forgot || self.skeletons.get(&skeleton).is_some_and(|names| names.generation > 0)
    }

    fn defer(&mut self, hash: u64, entry: Entry, what: Change, turns: u64, additive_from: u32) {
        if let Some(innermost) = self.deferred.last_mut() {
            let Entry { serial, epoch, shared, .. } = entry;
            innermost.push(Deferred { hash, serial, epoch, what, turns, additive_from, shared });
        }
    }

    /// The file loses bytes here, or begins anew, in every turn of the loops around.
    fn reset(&mut self, key: &Key, size: u64) {
        let what = if size == 0 { Change::Reset } else { Change::Cut };
        self.anew(key.hash(), key.turns, what);
    }

    fn anew(&mut self, hash: u64, turns: u64, what: Change) {
        if let Some(innermost) = self.deferred.last_mut() {
            let (serial, epoch, shared) = (0, 0, false);
            innermost.push(Deferred {
                hash,
                serial,
                epoch,
                what,
                turns,
                additive_from: ONCE,
                shared,
            });
        }
    }

    /// The file has this size now.
    pub(super) fn resize(&mut self, key: &Key, size: u64) {
        let hash = key.hash();
        self.reset(key, size);
        let Some(entry) = self.alive(hash) else { return self.doubt(key) };
        let lost = entry.room.bytes - self.left(key, &entry, size);
        self.shrink(entry, Room { bytes: lost, files: 0 });
        if let Some(stored) = self.entries.get_mut(&hash) {
            stored.room.bytes -= lost;
            stored.epoch += u32::from(lost > 0);
            // Over a hole it is not known what can be read.
            stored.sure = entry.sure && size <= entry.end;
            stored.doubts = self.doubts;
            (stored.end, stored.size) = (entry.end.min(size), size);
        }
    }

    /// What is left of its bytes, at least, if a file is not longer than `size`.
    fn left(&self, key: &Key, entry: &Entry, size: u64) -> u64 {
        let bytes = entry.room.bytes;
        if size >= entry.end {
            bytes
        } else if key.is_concrete() {
            // All that is lost may be there, and what is left a hole.
            bytes.saturating_sub(entry.end - size)
        } else if entry.sure {
            // Not all members may be counted, but each has all bytes up to its end.
            (u128::from(bytes) * u128::from(size) / u128::from(entry.end)) as u64
        } else {
            0
        }
    }

    /// It is written anew from its start, up to this size.
    pub(super) fn rewrite(&mut self, key: &Key, size: u64) {
        match self.alive(key.hash()) {
            Some(entry) if entry.end <= size => self.reset(key, size),
            _ => self.resize(key, 0),
        }
        self.write(key, Place::At(0), size, ONCE);
    }

    /// So many bytes are written. `additive_from`: see [`Deferred`].
    pub(super) fn write(&mut self, key: &Key, place: Place, bytes: u64, additive_from: u32) {
        let hash = key.hash();
        let Some(entry) = self.alive(hash) else { return };
        let mut turns = key.turns;
        let mut additive = ONCE;
        let (start, new) = match place {
            Place::End => (entry.size, bytes),
            Place::At(at) | Place::Onward(at, _) => {
                (at, at.saturating_add(bytes).saturating_sub(entry.end).min(bytes))
            }
            Place::Turn(turn) => {
                let start = u64::try_from(turn.from).unwrap_or(0);
                let apart = u64::try_from(turn.step).unwrap_or(0).min(bytes);
                let fresh = start >= entry.end && apart > 0;
                turns |= if fresh && turn.level < u64::BITS { 1 << turn.level } else { 0 };
                (start, if fresh { apart } else { 0 })
            }
            Place::Somewhere => (u64::MAX, 0),
        };
        if matches!(place, Place::End | Place::Onward(..)) && start >= entry.end {
            additive = additive_from;
        }
        self.add(hash, entry, Room { bytes: new, files: 0 }, 0);
        if let Some(stored) = self.entries.get_mut(&hash) {
            stored.end = stored.end.max(place.last_end(start, bytes));
            stored.size = stored.size.max(stored.end);
            stored.sure &= start <= entry.end;
        }
        if !matches!(place, Place::End | Place::Onward(..)) {
            self.anew(hash, turns, Change::Reset);
        }
        if new > 0 {
            self.defer(hash, entry, Change::Bytes(new, place.writer()), turns, additive);
        }
    }

    /// The name is removed.
    pub(super) fn remove(&mut self, key: &Key) {
        let hash = key.hash();
        self.anew(hash, key.turns, Change::Removed);
        match self.alive(hash) {
            Some(entry) => {
                self.shrink(entry, entry.room);
                self.entries.remove(&hash);
            }
            None => self.doubt(key),
        }
    }

    /// A file gets another name; what was there under it is gone.
    pub(super) fn rename(&mut self, from: &Key, to: &Key, claims: &mut Claims) {
        let Some(old) = self.alive(from.hash()) else {
            // A directory: everything in it has other names now.
            return self.confuse();
        };
        if from.hash() == to.hash() {
            return;
        }
        self.remove(to);
        self.remove(from);
        // In other turns of a loop it may be another file, or not be there.
        let every_turn = to.turns.count_ones() as usize == self.deferred.len();
        if !every_turn || to.turns != from.turns {
            self.anew(0, 0, Change::Doubt(to.skeleton()));
            return self.give_up(to.skeleton());
        }
        if let Some(entry) = self.insert(to, claims) {
            self.add(to.hash(), entry, old.room, old.end);
            if let Some(entry) = self.entries.get_mut(&to.hash()) {
                entry.sure &= old.sure;
            }
        }
    }

    /// The name is not one that is counted: if it may be one of a counted family, or one of
    /// its members, the family is given up.
    fn doubt(&mut self, key: &Key) {
        if key.vague.is_some() {
            return self.forget_all();
        }
        let number = key.skeleton();
        self.anew(0, 0, Change::Doubt(number));
        let names = self.skeletons.get(&number);
        if names.is_some_and(|names| names.families || !key.is_concrete()) {
            self.give_up(number);
        }
    }

    /// Names of this skeleton do not count any more.
    fn give_up(&mut self, number: u32) {
        let skeleton = self.skeletons.entry(number).or_default();
        skeleton.generation += 1;
        let (own, shared) = (skeleton.own, skeleton.shared);
        (skeleton.own, skeleton.shared) = (Room::default(), Room::default());
        self.own.now = self.own.now.minus(own);
        self.all.now = self.all.now.minus(own.plus(shared));
    }

    /// Everything may be gone.
    pub(super) fn forget_all(&mut self) {
        self.anew(0, 0, Change::Forget);
        self.doubts += 1;
        self.forgot |= !self.entries.is_empty();
        self.entries.clear();
        self.skeletons.clear();
        (self.own.now, self.all.now) = (Room::default(), Room::default());
    }

    /// Code that may not run, or that is not understood, changes files.
    pub(super) fn doubt_sizes(&mut self) {
        self.doubts += 1;
    }

    /// From now on a name may mean anything.
    pub(super) fn confuse(&mut self) {
        self.forget_all();
        self.confused = true;
    }
}
