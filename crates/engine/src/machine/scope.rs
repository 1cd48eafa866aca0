//! The groups that this rank is inside of.

use crate::comm::Members;
use model::Plan;
use model::plan::{GroupId, SetId};

/// The stack of active groups of one rank.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) rank: u32,
    active: Members,
    /// The group entered (`None`: a split) and the set that was active before.
    outer: Vec<(Option<GroupId>, SetId)>,
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
        inner.is_some_and(|set| self.activate(plan, Some(group), set))
    }

    /// Enters what a split, in a case, makes of the members with a value; false: this rank is none
    /// of them.
    pub(super) fn split(&mut self, plan: &Plan, (split, case): (u32, u32), value: i64) -> bool {
        let set = plan.sets.get(self.active.set as usize);
        let inner = set.and_then(|set| set.class(split, case, value));
        inner.is_some_and(|set| self.activate(plan, None, set))
    }

    fn activate(&mut self, plan: &Plan, group: Option<GroupId>, set: SetId) -> bool {
        let inner = members(plan, set);
        if !inner.ranks.contains(self.rank) {
            return false;
        }
        self.outer.push((group, self.active.set));
        self.active = inner;
        true
    }

    /// Leaves the innermost group or split.
    pub(super) fn leave(&mut self, plan: &Plan) {
        if let Some((_, set)) = self.outer.pop() {
            self.active = members(plan, set);
        }
    }

    /// Name of the innermost group; "" outside every group.
    pub(super) fn group_name<'p>(&self, plan: &'p Plan) -> &'p str {
        let group = self.outer.iter().rev().find_map(|(group, _)| *group);
        group.map_or("", |group| &plan.groups[group as usize].name)
    }

    /// All members of a group, whatever is active.
    pub(super) fn whole_group(&self, plan: &Plan, group: GroupId) -> Option<Members> {
        let set = *plan.sets.first()?.enter.get(group as usize)?;
        Some(members(plan, set))
    }

    /// The number of this rank among the members of the active set.
    pub(super) fn number(&self) -> usize {
        self.active.ranks.position(self.rank).unwrap_or(0) as usize
    }

    /// This rank is member 0 of the active set.
    pub(super) fn is_master(&self) -> bool {
        self.active.ranks.first() == Some(self.rank)
    }
}

/// The set as communicators see it. A plan made by hand may lack the world's set.
fn members(plan: &Plan, set: SetId) -> Members {
    let known = plan.sets.get(set as usize);
    let ranks = known.map_or_else(|| (0..plan.ranks).into(), |set| set.members.clone());
    Members { set, ranks }
}
