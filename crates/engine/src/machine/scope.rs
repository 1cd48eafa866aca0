//! Which ranks are active: the groups this rank is inside of.

use crate::comm::Members;
use model::Plan;
use model::plan::{GroupId, SetId};

/// The stack of active groups of one rank.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) rank: u32,
    active: Members,
    /// The group entered and the set that was active before.
    outer: Vec<(GroupId, SetId)>,
}

impl Scope {
    /// Outside every group: the world is active.
    pub(super) fn new(plan: &Plan, rank: u32) -> Scope {
        Scope { rank, active: members(plan, 0), outer: Vec::new() }
    }

    /// The active set.
    #[inline(always)]
    pub(super) fn members(&self) -> &Members {
        &self.active
    }

    /// Enters a group; false: this rank is not a member.
    pub(super) fn enter(&mut self, plan: &Plan, group: GroupId) -> bool {
        let inner = plan
            .sets
            .get(self.active.set as usize)
            .and_then(|set| set.enter.get(group as usize).copied());
        let Some(set) = inner else { return false };
        let inner = members(plan, set);
        if !inner.ranks.contains(&self.rank) {
            return false;
        }
        self.outer.push((group, self.active.set));
        self.active = inner;
        true
    }

    /// Leaves the innermost group.
    pub(super) fn leave(&mut self, plan: &Plan) {
        if let Some((_, set)) = self.outer.pop() {
            self.active = members(plan, set);
        }
    }

    /// Name of the innermost group; "" outside every group.
    pub(super) fn group_name<'p>(&self, plan: &'p Plan) -> &'p str {
        self.outer.last().map_or("", |(group, _)| &plan.groups[*group as usize].name)
    }

    /// All members of a group, whatever is active.
    pub(super) fn whole_group(&self, plan: &Plan, group: GroupId) -> Option<Members> {
        let set = *plan.sets.first()?.enter.get(group as usize)?;
        Some(members(plan, set))
    }

    /// This rank is member 0 of the active set.
    pub(super) fn is_master(&self) -> bool {
        self.rank == self.active.ranks.start
    }
}

/// The set as communicators see it. A plan made by hand may lack the world's set.
fn members(plan: &Plan, set: SetId) -> Members {
    let ranks = plan.sets.get(set as usize).map_or(0..plan.ranks, |set| set.members.clone());
    Members { set, ranks }
}
