//! Which files were counted for which ranks: a file that several ranks make is there once.

use super::key::Key;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Which files were counted for which ranks already.
#[derive(Default)]
pub(super) struct Claims {
    /// Ranks that are being looked at.
    pub(super) ranks: Range<u32>,
    world: u32,
    /// No other ranks are looked at apart from these.
    together: bool,
    by_name: FxHashMap<u64, Vec<Claimed>>,
    by_skeleton: FxHashMap<u32, Kind>,
}

/// World ranks, and the numbers that stand in the name for them.
type Claimed = (Range<u32>, Range<u32>);

/// What names of one skeleton look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Texts without marks: equal or different files.
    Concrete,
    /// One family.
    Family(u64),
}

/// A file may be counted.
pub(super) struct Claim {
    /// Other ranks looked at together make the same one.
    pub(super) shared: bool,
    /// No other rank can write to it.
    pub(super) sure: bool,
}

impl Claims {
    pub(super) fn new(world: u32, classes: usize) -> Claims {
        Claims { world, together: classes == 1, ..Claims::default() }
    }

    /// Whether a file may be counted for the ranks being looked at.
    pub(super) fn claim(&mut self, key: &Key) -> Option<Claim> {
        if key.vague.is_some() {
            return None;
        }
        let hash = key.hash();
        let kind = if key.is_concrete() { Kind::Concrete } else { Kind::Family(hash) };
        if *self.by_skeleton.entry(key.skeleton()).or_insert(kind) != kind {
            return None;
        }
        let members = match key.member {
            Some(start) => {
                self.ranks.start.checked_sub(start)?..self.ranks.end.checked_sub(start)?
            }
            None => 0..u32::MAX,
        };
        let alone = self.world == 1;
        let shared = key.member.is_none() && self.ranks.len() > 1;
        if !self.together {
            let claimed = self.by_name.entry(hash).or_default();
            let meets = |other: &Range<u32>| other.start < members.end && members.start < other.end;
            if claimed.iter().any(|(ranks, others)| *ranks != self.ranks && meets(others)) {
                return None;
            }
            let entry = (self.ranks.clone(), members);
            if claimed.last() != Some(&entry) {
                claimed.push(entry);
            }
        }
        Some(Claim { shared, sure: alone || key.member.is_some() })
    }
}
