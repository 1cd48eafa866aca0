//! Whose data a unit holds that belongs elsewhere.

use super::super::mark::{Keys, Mark, UNIT_BYTES, pairs, unit_bytes};
use super::super::memory::State;
use super::Examiner;
use super::unit::{Piece, read_of};
use std::ops::Range;

/// Where data comes from: the file, and how many units further on in it. Neighbouring wrong bytes of one
/// origin are one place.
pub(super) type Origin = (u32, i128);

/// Data of another place or file in a unit.
pub(super) struct Stranger {
    pub(super) mark: Mark,
    /// The unit that it belongs to.
    pub(super) unit: u64,
    pub(super) keys: Keys,
    bytes: [u8; UNIT_BYTES],
}

impl Stranger {
    /// These bytes of a piece are its.
    pub(super) fn has(&self, piece: &Piece<'_>, range: Range<usize>) -> bool {
        self.bytes[range.start + piece.skip..range.end + piece.skip] == piece.bytes[range]
    }

    pub(super) fn origin(&self, unit: u64) -> Origin {
        (self.mark.file, i128::from(self.unit) - i128::from(unit))
    }
}

impl Examiner<'_> {
    /// Those whose data is in the unit, or beside it and could go on in it: two equal pairs are no
    /// chance, fewer bytes are known by what they continue.
    pub(super) fn strangers(
        &self,
        piece: &Piece<'_>,
        read: (&[u8], u64),
        state: Option<State>,
    ) -> Vec<Stranger> {
        let mut found: Vec<Stranger> = Vec::new();
        let units = [Some(piece.unit), piece.unit.checked_sub(1), Some(piece.unit + 1)];
        for unit in units.into_iter().flatten() {
            let Some((bytes, skip)) = read_of(unit, read) else { continue };
            let keys: Vec<Keys> = pairs(bytes, skip).map(|(_, keys)| keys).collect();
            let twice = keys.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]);
            for keys in twice.filter(|keys| self.standing(*keys, unit, state).is_none()) {
                let (mark, theirs) = Mark::of_keys(keys);
                let here = (theirs + piece.unit).checked_sub(unit);
                let Some(here) = here else { continue };
                if found.iter().any(|one| (one.mark, one.unit) == (mark, here)) {
                    continue;
                }
                let keys = mark.keys(here);
                found.push(Stranger { mark, unit: here, keys, bytes: unit_bytes(keys) });
            }
        }
        found
    }
}
