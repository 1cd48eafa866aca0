//! The communicators of a plan's sets of ranks, made before the program starts.
//!
//! All ranks make them in one fixed order. Sets that share no rank are made by one split.

use crate::error::MpiError;
use crate::world::{Handle, SELF, World};
use engine::comm::ALONE;
use model::RankSet;
use model::plan::{MemberSet, SetId};

/// Communicators by set, of the sets that this rank is a member of.
pub struct Groups {
    ranks: Vec<RankSet>,
    handles: Vec<Option<Handle>>,
    /// Communicators to free, in the order in which they were made.
    made: Vec<Handle>,
}

impl Groups {
    /// Makes the communicators. Collective over the world.
    pub fn new(world: &World, sets: &[MemberSet]) -> Result<Groups, MpiError> {
        let ranks: Vec<RankSet> = sets.iter().map(|set| set.members.clone()).collect();
        let mut groups = Groups { handles: vec![None; ranks.len()], ranks, made: Vec::new() };
        for layer in layers(&groups.ranks, world.size) {
            if let [set] = layer[..]
                && groups.ranks[set] == (0..world.size)
            {
                let handle = world.copy(world.all)?;
                groups.handles[set] = Some(handle);
                groups.made.push(handle);
                continue;
            }
            let mine = layer.iter().position(|set| groups.ranks[*set].contains(world.rank));
            let color = mine.map(|at| at as u32);
            let made = world.split(world.all, color, world.rank)?;
            if let (Some(handle), Some(at)) = (made, mine) {
                groups.handles[layer[at]] = Some(handle);
                groups.made.push(handle);
            }
        }
        for (handle, ranks) in groups.handles.iter_mut().zip(&groups.ranks) {
            if ranks.len() == 1 && ranks.contains(world.rank) {
                *handle = Some(SELF);
            }
        }
        Ok(groups)
    }

    /// The communicator of a set, whose ranks are its members in ascending order; `None` if
    /// this rank is not one of them.
    pub fn handle(&self, set: SetId) -> Option<Handle> {
        match set {
            ALONE => Some(SELF),
            set => self.handles.get(set as usize).copied().flatten(),
        }
    }

    /// Members by set.
    pub fn sets(&self) -> &[RankSet] {
        &self.ranks
    }

    /// Frees the communicators. Collective over the world; nothing may be under way on them.
    pub fn free(self, world: &World) -> Result<(), MpiError> {
        self.made.into_iter().try_for_each(|handle| world.free(handle))
    }
}

/// Sets of two and more ranks, in layers of sets that share no rank.
fn layers(sets: &[RankSet], ranks: u32) -> Vec<Vec<usize>> {
    // Each with the ranks that are taken in it.
    let mut layers: Vec<(Vec<usize>, Vec<bool>)> = Vec::new();
    for (set, members) in sets.iter().enumerate().filter(|(_, members)| members.len() > 1) {
        let is_free = |taken: &[bool]| members.iter().all(|rank| !taken[rank as usize]);
        let at = layers.iter().position(|(_, taken)| is_free(taken));
        let at = at.unwrap_or_else(|| {
            layers.push((Vec::new(), vec![false; ranks as usize]));
            layers.len() - 1
        });
        let (layer, taken) = &mut layers[at];
        layer.push(set);
        members.iter().for_each(|rank| taken[rank as usize] = true);
    }
    layers.into_iter().map(|(layer, _)| layer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_a_layer_share_no_rank() {
        let ranges = [0..8, 0..4, 4..8, 0..2, 2..4, 3..5, 5..6, 7..7].map(RankSet::from);
        assert_eq!(layers(&ranges, 8), [vec![0], vec![1, 2], vec![3, 4], vec![5]]);
        let of = |value: u32| (0..8).filter(|rank| rank % 2 == value).collect::<RankSet>();
        let sets = [(0..8).into(), of(0), (0..3).into(), of(1), (3..8).into()];
        assert_eq!(layers(&sets, 8), [vec![0], vec![1, 3], vec![2, 4]]);
        assert!(layers(&[], 8).is_empty());
    }
}
