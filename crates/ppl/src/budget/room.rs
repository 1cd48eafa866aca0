//! How much is there at one time, and how much was made in all.

/// What takes room at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) bytes: u64,
    /// Files and directories.
    pub(super) files: u64,
}

impl Room {
    pub(super) fn plus(self, more: Room) -> Room {
        Room {
            bytes: self.bytes.saturating_add(more.bytes),
            files: self.files.saturating_add(more.files),
        }
    }

    pub(super) fn minus(self, less: Room) -> Room {
        Room {
            bytes: self.bytes.saturating_sub(less.bytes),
            files: self.files.saturating_sub(less.files),
        }
    }

    /// The larger of each.
    fn max(self, other: Room) -> Room {
        Room { bytes: self.bytes.max(other.bytes), files: self.files.max(other.files) }
    }
}

/// Totals of the files of one rank: with those that it shares with others, and without.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) now: Room,
    pub(super) peak: Room,
    /// Made in all.
    pub(super) files: u64,
    pub(super) directories: u64,
}

impl Totals {
    pub(super) fn grow(&mut self, more: Room) {
        self.now = self.now.plus(more);
        self.peak = self.peak.max(self.now);
    }

    pub(super) fn made(&mut self, directory: bool, count: u64) {
        let counter = if directory { &mut self.directories } else { &mut self.files };
        *counter = counter.saturating_add(count);
    }
}
