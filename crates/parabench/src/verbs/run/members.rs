//! The ranks of an MPI job that execute a point of a sweep. The others wait without load.

use serde::{Deserialize, Serialize};

/// Some ranks of a job; rank 0 is one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Members {
    /// All of them.
    #[default]
    All,
    /// The first ranks, in this number.
    First(u32),
    /// All ranks of the first machines, in this number.
    Nodes(u32),
}

impl Members {
    /// The rank belongs to them; `machines`: the machine of each rank.
    pub fn has(self, rank: u32, machines: &[u32]) -> bool {
        match self {
            Members::All => true,
            Members::First(count) => rank < count,
            Members::Nodes(count) => {
                machines.get(rank as usize).is_some_and(|machine| *machine < count)
            }
        }
    }

    /// Their ranks, in ascending order.
    pub fn ranks(self, machines: &[u32]) -> Vec<u32> {
        (0..machines.len() as u32).filter(|rank| self.has(*rank, machines)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_first_ranks_or_those_of_the_first_machines() {
        let machines = [0, 1, 0, 1, 2];
        for (members, ranks) in [
            (Members::All, &[0, 1, 2, 3, 4][..]),
            (Members::First(3), &[0, 1, 2]),
            (Members::Nodes(1), &[0, 2]),
            (Members::Nodes(2), &[0, 1, 2, 3]),
        ] {
            assert_eq!(members.ranks(&machines), ranks);
        }
    }
}
