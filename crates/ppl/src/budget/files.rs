//! The files a rank makes and how large they become: never more than there will be.
//!
//! What a loop does is looked at once, in its first turn; what its other turns add is
//! put off to its end. Wherever it is not clear whether two names are
//! one file, bytes are rather not counted, because a run is refused by this figure.

use super::abs::Turn;
use super::claims::Claims;
use super::deferred::{Change, Deferred, Resets};
use super::key::Key;
use super::room::{Room, Totals};
use rustc_hash::FxHashMap;

/// More files than this are not counted.
const MAX_ENTRIES: usize = 1 << 21;
/// The change of a file that is not repeated by any loop.
pub(super) const ONCE: u32 = u32::MAX;

/// A file, or a family of files.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Of all members.
    room: Room,
    /// Of one member: nothing that was written ends behind this position.
    end: u64,
    /// Of one member: it is not longer than this. Behind `end` is a hole.
    size: u64,
    skeleton: u32,
    /// The entry is gone if its skeleton's is another.
    generation: u32,
    serial: u32,
    /// Counts how often it lost bytes.
    epoch: u32,
    shared: bool,
    /// Nothing but what is counted here can be in the file.
    sure: bool,
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

/// A write at a position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// At this position, once.
    At(u64),
    /// At this position and on from there in the next turn, through this handle.
    Onward(u64, u32),
    /// At the end.
    End,
    /// At another position in every turn.
    Turn(Turn),
    /// Somewhere.
    Somewhere,
}

/// Files of one walk.
#[derive(Default)]
pub(super) struct Files {
    entries: FxHashMap<u64, Entry>,
    skeletons: FxHashMap<u32, Skeleton>,
    deferred: Vec<Vec<Deferred>>,
    serial: u32,
    pub(super) own: Totals,
    pub(super) all: Totals,
    /// Names can mean each other in unknown ways: nothing more is counted.
    confused: bool,
    /// Sizes of files are not known any more.
    sizes_unknown: bool,
}

impl Files {
    /// Starts a loop that is looked at as a whole.
    pub(super) fn enter_loop(&mut self) {
        self.deferred.push(Vec::new());
    }

    /// Its other turns do the same.
    pub(super) fn leave_loop(&mut self, level: u32, turns: u64) {
        let changes = self.deferred.pop().unwrap_or_default();
        let resets = Resets::of(&changes, level);
        for mut change in changes {
            let entry = self.alive(change.hash).filter(|entry| entry.serial == change.serial);
            // Where the name changes with the turn, each file gets its own part.
            let other_file = change.differs_at(level);
            let longer = level >= change.additive_from && !resets.names.contains(&change.hash);
            let again = (other_file || longer)
                && !resets.may_hit(change.hash, entry.map(|entry| entry.skeleton));
            change.what = match (change.what, entry) {
                (Change::Bytes(..), None) => continue,
                (Change::Bytes(..), Some(entry)) if entry.epoch != change.epoch => continue,
                (Change::Bytes(bytes, writer), Some(entry)) if again => {
                    let more = bytes.saturating_mul(turns - 1);
                    let room = Room { bytes: more, files: 0 };
                    self.add(change.hash, entry, room, if other_file { 0 } else { more });
                    Change::Bytes(bytes.saturating_add(more), writer)
                }
                // What is removed in the loop is made again in every turn.
                (Change::Made(n, directory), entry) if again || entry.is_none() => {
                    let more = n.saturating_mul(turns - 1);
                    self.count(directory, more, change.shared);
                    if let Some(entry) = entry {
                        self.add(change.hash, entry, Room { bytes: 0, files: more }, 0);
                    }
                    Change::Made(n.saturating_add(more), directory)
                }
                (Change::Bytes(bytes, writer), Some(_)) => {
                    self.lose_end(change.hash, writer);
                    Change::Bytes(bytes, writer)
                }
                (other, _) => other,
            };
            if let Some(outer) = self.deferred.last_mut() {
                outer.push(change);
            }
        }
    }

    fn alive(&self, hash: u64) -> Option<Entry> {
        let entry = self.entries.get(&hash)?;
        let skeleton = self.skeletons.get(&entry.skeleton)?;
        (entry.generation == skeleton.generation).then_some(*entry)
    }

    /// A file takes more room; `longer`: its end moves by so much.
    fn add(&mut self, hash: u64, entry: Entry, more: Room, longer: u64) {
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

    /// In other turns a handle wrote at other positions of a file that began anew.
    fn lose_end(&mut self, hash: u64, writer: u32) {
        if let Some(entry) = self.entries.get_mut(&hash).filter(|_| is_handle(writer)) {
            (entry.end, entry.size, entry.sure) = (u64::MAX, u64::MAX, false);
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

    fn count(&mut self, directory: bool, count: u64, shared: bool) {
        self.all.made(directory, count);
        if !shared {
            self.own.made(directory, count);
        }
    }

    /// Size of one member if it is known for certain.
    pub(super) fn size(&self, key: &Key) -> Option<u64> {
        let entry = self.alive(key.hash())?;
        (entry.sure && key.vague.is_none() && !self.sizes_unknown).then_some(entry.size)
    }

    /// The file that was made under this name: a number that no other file has.
    pub(super) fn file(&self, key: &Key) -> Option<u32> {
        let entry = self.alive(key.hash()).filter(|_| key.vague.is_none());
        entry.map(|entry| entry.serial)
    }

    /// A name is made if it is not there. `claims` tells whether it may be counted.
    pub(super) fn make(&mut self, key: &Key, directory: bool, claims: &mut Claims) {
        let hash = key.hash();
        if self.alive(hash).is_some() || self.confused {
            return;
        }
        if self.entries.len() >= MAX_ENTRIES {
            return self.confuse();
        }
        let Some(claim) = claims.claim(key) else { return };
        self.serial += 1;
        let skeleton = key.skeleton();
        let names = self.skeletons.entry(skeleton).or_default();
        names.families |= !key.is_concrete();
        let generation = names.generation;
        let entry = Entry {
            room: Room::default(),
            end: 0,
            size: 0,
            skeleton,
            generation,
            serial: self.serial,
            epoch: 0,
            shared: claim.shared,
            sure: claim.sure,
        };
        self.entries.insert(hash, entry);
        self.count(directory, 1, claim.shared);
        self.add(hash, entry, Room { bytes: 0, files: 1 }, 0);
        self.defer(hash, entry, Change::Made(1, directory), key.turns, ONCE);
    }

    fn defer(&mut self, hash: u64, entry: Entry, what: Change, turns: u64, additive_from: u32) {
        if let Some(innermost) = self.deferred.last_mut() {
            let Entry { serial, epoch, shared, .. } = entry;
            innermost.push(Deferred { hash, serial, epoch, what, turns, additive_from, shared });
        }
    }

    /// The file loses bytes here, or begins anew, in every turn of the loops around.
    fn reset(&mut self, key: &Key) {
        self.anew(key.hash(), key.turns, Change::Reset);
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
        self.reset(key);
        let Some(entry) = self.alive(hash) else { return self.doubt(key) };
        let lost = entry.room.bytes - self.left(key, &entry, size);
        self.shrink(entry, Room { bytes: lost, files: 0 });
        if let Some(stored) = self.entries.get_mut(&hash) {
            stored.room.bytes -= lost;
            stored.epoch += u32::from(lost > 0);
            // Over a hole it is not known what can be read.
            stored.sure &= size <= entry.end;
            let end = if self.sizes_unknown { 0 } else { entry.end };
            (stored.end, stored.size) = (end.min(size), size);
        }
    }

    /// What is left of its bytes, at least, if a file is not longer than `size`.
    fn left(&self, key: &Key, entry: &Entry, size: u64) -> u64 {
        let bytes = entry.room.bytes;
        if self.sizes_unknown {
            0
        } else if size >= entry.end {
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

    /// The file is not longer than this now.
    pub(super) fn cut(&mut self, key: &Key, size: u64) {
        match self.alive(key.hash()) {
            Some(entry) if entry.end <= size && !self.sizes_unknown => self.reset(key),
            _ => self.resize(key, size),
        }
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
            stored.end = stored.end.max(last_end(place, start, bytes));
            stored.size = stored.size.max(stored.end);
            stored.sure &= start <= entry.end;
        }
        if !matches!(place, Place::End | Place::Onward(..)) {
            self.anew(hash, turns, Change::Reset);
        }
        if new > 0 {
            self.defer(hash, entry, Change::Bytes(new, writer(place)), turns, additive);
        }
    }

    /// The name is removed.
    pub(super) fn remove(&mut self, key: &Key) {
        let hash = key.hash();
        self.reset(key);
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
        self.remove(to);
        self.remove(from);
        let files = (self.own.files, self.all.files);
        if to.vague.is_none() && to.turns == from.turns {
            self.make(to, false, claims);
            self.fill(to, &old);
            if let Some(innermost) = self.deferred.last_mut() {
                // Nothing is made here, but what was there begins anew in every turn.
                let hash = to.hash();
                innermost
                    .retain(|change| change.hash != hash || matches!(change.what, Change::Reset));
            }
        }
        (self.own.files, self.all.files) = files;
    }

    /// A file that was just made has what the old one had. In other turns of a loop it may
    /// have something else, or not be there.
    fn fill(&mut self, key: &Key, old: &Entry) {
        let Some(entry) = self.alive(key.hash()) else { return };
        let every_turn = key.turns.count_ones() as usize == self.deferred.len();
        if every_turn {
            let members = old.room.files.saturating_sub(1);
            self.add(key.hash(), entry, Room { files: members, ..old.room }, old.end);
        } else {
            self.shrink(entry, entry.room);
        }
        if let Some(entry) = self.entries.get_mut(&key.hash()) {
            entry.sure &= old.sure && every_turn;
            entry.room = if every_turn { entry.room } else { Room::default() };
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
        let names = self.skeletons.get_mut(&number);
        if let Some(skeleton) = names.filter(|names| names.families || !key.is_concrete()) {
            skeleton.generation += 1;
            let (own, shared) = (skeleton.own, skeleton.shared);
            (skeleton.own, skeleton.shared) = (Room::default(), Room::default());
            self.own.now = self.own.now.minus(own);
            self.all.now = self.all.now.minus(own.plus(shared));
        }
    }

    /// Everything may be gone.
    pub(super) fn forget_all(&mut self) {
        self.anew(0, 0, Change::Forget);
        self.entries.clear();
        self.skeletons.clear();
        (self.own.now, self.all.now) = (Room::default(), Room::default());
    }

    /// Code that may not run, or that is not understood, changes files.
    pub(super) fn doubt_sizes(&mut self) {
        self.sizes_unknown = true;
    }

    /// From now on a name may mean anything.
    pub(super) fn confuse(&mut self) {
        self.forget_all();
        (self.confused, self.sizes_unknown) = (true, true);
    }
}

/// Who writes on from turn to turn: a handle, or whoever appends.
fn writer(place: Place) -> u32 {
    match place {
        Place::Onward(_, handle) => handle,
        Place::End => u32::MAX,
        _ => u32::MAX - 1,
    }
}

/// See [`writer`].
fn is_handle(writer: u32) -> bool {
    writer < u32::MAX - 1
}

/// Where the last byte of a write ends, over all turns.
fn last_end(place: Place, start: u64, bytes: u64) -> u64 {
    let last = match place {
        Place::Turn(turn) => {
            let last = turn.last().unwrap_or(i64::MAX).max(turn.from);
            u64::try_from(last).unwrap_or(0)
        }
        _ => start,
    };
    last.saturating_add(bytes)
}
