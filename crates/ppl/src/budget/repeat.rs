//! What a loop does to files was looked at in its first turn; here the other turns are added.

use super::deferred::{Change, Deferred, Resets};
use super::files::Files;
use super::place::Writer;
use super::room::Room;

impl Files {
    /// Starts a loop that is looked at as a whole.
    pub(super) fn enter_loop(&mut self) {
        self.deferred.push(Vec::new());
    }

    /// Its other turns do the same.
    pub(super) fn leave_loop(&mut self, level: u32, turns: u64) {
        let changes = self.deferred.pop().unwrap_or_default();
        let resets = Resets::of(&changes, level, turns);
        for mut change in changes {
            let still = match change.what {
                Change::Bytes(..) => self.written_again(&change, &resets),
                Change::Made { .. } => Some(self.made_again(&change, &resets)),
                other => Some(other),
            };
            if let (Some(what), Some(outer)) = (still, self.deferred.last_mut()) {
                change.what = what;
                outer.push(change);
            }
        }
    }

    /// Bytes that were written in the first turn; what they are to the loop around this one.
    fn written_again(&mut self, change: &Deferred, resets: &Resets) -> Option<Change> {
        let Change::Bytes(bytes, writer) = change.what else { return None };
        let Resets { level, turns, .. } = *resets;
        let entry = self.alive(change.hash).filter(|entry| entry.serial == change.serial)?;
        // Where the name changes with the turn, each file gets its own part.
        let other_file = change.differs_at(level);
        let longer = level >= change.additive_from && !resets.names.contains(&change.hash);
        if (other_file || longer) && !resets.may_hit(change.hash, Some(entry.skeleton)) {
            if entry.epoch != change.epoch {
                return None;
            }
            let more = bytes.saturating_mul(turns - 1);
            let longer = if other_file { 0 } else { more };
            self.add(change.hash, entry, Room { bytes: more, files: 0 }, longer);
            return Some(Change::Bytes(bytes.saturating_add(more), writer));
        }
        // In other turns it writes at other positions of a file that begins anew.
        if matches!(writer, Writer::Handle(opened) if level >= opened.level) {
            if level < change.additive_from || resets.mixed.contains(&change.hash) {
                self.lose_bytes(change.hash, entry);
            }
            self.lose_end(change.hash);
        }
        Some(change.what)
    }

    /// A name that was made in the first turn; what it is to the loop around this one.
    fn made_again(&mut self, change: &Deferred, resets: &Resets) -> Change {
        let Change::Made { count, there, directory } = change.what else { return change.what };
        let Resets { level, turns, .. } = *resets;
        let known = self.alive(change.hash);
        let entry = known.filter(|entry| entry.serial == change.serial);
        let other_name = change.differs_at(level)
            && !resets.may_hit(change.hash, entry.map(|entry| entry.skeleton));
        // What is removed in the loop is made again in every turn, once if it stays.
        let again = resets.removed.contains(&(change.hash, change.turns))
            && known.map_or_else(|| !resets.all, |known| known.serial == change.serial);
        if !other_name && !again {
            self.uncounted |= known.is_none();
            return change.what;
        }
        let more = count.saturating_mul(turns - 1);
        self.count(directory, more, change.shared);
        let files = if other_name { there.saturating_mul(turns - 1) } else { 0 };
        if let Some(entry) = entry {
            self.add(change.hash, entry, Room { bytes: 0, files }, 0);
        }
        let count = count.saturating_add(more);
        Change::Made { count, there: there.saturating_add(files), directory }
    }
}
