//! Code that may be skipped: a jump whose condition is not known may have gone over it.

use super::abs::{Abs, Why};
use super::walk::Walk;
use model::plan::{Pc, Slot};
use rustc_hash::FxHashSet;

/// What is looked at may be skipped, up to the places that jumps may have gone to.
#[derive(Clone, Debug, Default)]
pub(super) struct Skip {
    /// The farthest one ahead.
    ahead: Option<Pc>,
    /// The outermost one behind: the head of a loop, which comes again.
    behind: Option<Pc>,
    /// What was assigned meanwhile.
    assigned: FxHashSet<Slot>,
    why: Option<Why>,
}

impl Walk<'_, '_> {
    /// A jump at `pc` may go to `target`, or may not.
    pub(super) fn may_skip(&mut self, pc: Pc, target: Pc, why: Why) {
        let skip = self.skip.get_or_insert_default();
        if target > pc {
            skip.ahead = skip.ahead.max(Some(target));
        } else {
            skip.behind = Some(skip.behind.map_or(target, |known| known.min(target)));
        }
        skip.why = skip.why.max(Some(why));
    }

    /// The value of a slot may not be set.
    pub(super) fn note_assigned(&mut self, slot: Slot) {
        if let Some(skip) = &mut self.skip {
            skip.assigned.insert(slot);
        }
    }

    /// At `pc`, where a jump may have gone to, all ways come together.
    pub(super) fn arrive(&mut self, pc: Pc) {
        let Some(skip) = &mut self.skip else { return };
        skip.ahead = skip.ahead.filter(|target| pc < *target);
        skip.behind = skip.behind.filter(|target| pc != *target);
        if skip.ahead.is_none() && skip.behind.is_none() {
            let (assigned, why) = (std::mem::take(&mut skip.assigned), skip.why);
            self.skip = None;
            for slot in assigned {
                self.set_value(slot, Abs::Unknown(why.unwrap_or(Why::Never)));
            }
        }
    }
}
