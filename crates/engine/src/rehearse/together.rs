//! Ranks that meet in a loop skip the same iterations of it, all of them or none.
//!
//! ```text
//! rank 0   ... 7 ready   8 ready   9 skips 4     14 ...
//! rank 1   ... 7 differs 8 ready   9 skips 4     14 ...
//! ```
//!
//! Each says after an iteration whether its iterations repeat. Once all do, they agree on one that
//! none of them has come to and on how many are skipped there: so all have as many barriers,
//! signals and waits as the others.

use super::stage::Skipped;
use model::RankSet;
use std::collections::HashMap;

/// A loop that ranks execute together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shared {
    pub(super) number: u32,
    /// How often it was begun before.
    pub(super) entered: u64,
    pub(super) iterations: u64,
    /// Ranks that meet in it.
    pub(super) met: RankSet,
}

/// What ranks have said of their loops.
#[derive(Debug, Default)]
pub(super) struct Together {
    loops: HashMap<Shared, Talk>,
}

#[derive(Debug, Default)]
struct Talk {
    /// Iterations that are taken as one.
    unit: u64,
    /// Ranks whose iterations repeat, and what is left of the loop for them.
    ready: HashMap<u32, u64>,
    agreed: Option<Agreed>,
}

#[derive(Debug)]
struct Agreed {
    /// What is left where iterations are skipped.
    at: u64,
    units: u64,
    /// Ranks that have skipped, and what they would have changed.
    skipped: usize,
    change: Skipped,
}

impl Together {
    /// Some rank multiplies the loop out.
    pub(super) fn is_long(&self, shared: &Shared) -> bool {
        self.loops.contains_key(shared)
    }

    /// A rank would take so many iterations as one; how many all do.
    pub(super) fn unit(&mut self, shared: &Shared, unit: u64) -> u64 {
        let talk = self.loops.entry(shared.clone()).or_default();
        if unit > talk.unit && talk.agreed.is_none() {
            (talk.unit, talk.ready) = (unit, HashMap::new());
        }
        talk.unit
    }

    /// A unit of a rank is over, and `left` iterations come. `units`: how many are skipped if so
    /// many are left. Gives how many this rank skips now.
    pub(super) fn over(
        &mut self,
        shared: &Shared,
        (rank, left): (u32, u64),
        repeats: bool,
        units: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        let talk = self.loops.get_mut(shared)?;
        if let Some(agreed) = &talk.agreed {
            return (agreed.at == left).then_some(agreed.units);
        }
        match repeats {
            true => talk.ready.insert(rank, left),
            false => talk.ready.remove(&rank),
        };
        if talk.ready.len() < shared.met.len() {
            return None;
        }
        let at = talk.ready.values().min()?.saturating_sub(talk.unit);
        let units = units(at);
        let change = Skipped::default();
        talk.agreed = (units > 0).then_some(Agreed { at, units, skipped: 0, change });
        None
    }

    /// A rank has skipped what was agreed; the change of all, once it was the last one.
    pub(super) fn skipped(&mut self, shared: &Shared, change: &Skipped) -> Option<Skipped> {
        let talk = self.loops.get_mut(shared)?;
        let agreed = talk.agreed.as_mut()?;
        agreed.change.add(change);
        agreed.skipped += 1;
        if agreed.skipped < shared.met.len() {
            return None;
        }
        talk.ready.clear();
        talk.agreed.take().map(|agreed| agreed.change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_skip_the_same_iterations_or_none() {
        let shared = Shared { number: 0, entered: 1, iterations: 100, met: (0..2).into() };
        let mut together = Together::default();
        assert!(!together.is_long(&shared));
        assert_eq!(together.unit(&shared, 1), 1);
        let mut over = |rank, left, repeats| together.over(&shared, (rank, left), repeats, |_| 5);
        assert_eq!(over(0, 90, true), None);
        assert_eq!(over(1, 91, false), None);
        assert_eq!(over(0, 89, true), None);
        // Both are ready: they skip where neither has been.
        assert_eq!(over(1, 90, true), None);
        assert_eq!((over(1, 89, true), over(0, 88, true)), (None, Some(5)));
        assert_eq!(together.skipped(&shared, &Skipped::default()), None);
        let skips = together.over(&shared, (1, 88), false, |_| 5);
        assert_eq!(skips, Some(5));
        assert!(together.skipped(&shared, &Skipped::default()).is_some());
        assert_eq!(together.over(&shared, (0, 82), true, |_| 5), None);
        // One whose iterations differ takes more of them as one, and so do the others.
        assert_eq!((together.unit(&shared, 32), together.unit(&shared, 1)), (32, 32));
    }
}
