//! Machines in place of ranks: which counter an event of a rank belongs to.

use super::axis::Bands;
use super::grid::Grid;
use model::run::Node;

/// Machines of a job on several, neighbours together where there are more than fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Bands of neighbouring machines.
    pub bands: Bands,
    /// Their names, in the order of their first ranks.
    pub hosts: Vec<String>,
    /// The band of each rank's machine.
    of_rank: Vec<u32>,
}

/// Operations of the ranks of each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGrid {
    /// The machines.
    pub nodes: Nodes,
    /// By band of machines and column of time.
    pub grid: Grid,
}

impl Nodes {
    /// At most `most` bands; `None`: there is one machine, or nobody knows.
    pub(super) fn of(nodes: &[Node], most: usize) -> Option<Nodes> {
        if nodes.len() < 2 {
            return None;
        }
        let bands = Bands::over(nodes.len() as u32, most);
        let mut of_rank = Vec::new();
        for (at, node) in (0u32..).zip(nodes) {
            for rank in node.ranks.iter().flat_map(|[first, last]| *first..=*last) {
                let rank = rank as usize;
                of_rank.resize(of_rank.len().max(rank + 1), 0);
                of_rank[rank] = bands.of(at) as u32;
            }
        }
        let hosts = nodes.iter().map(|node| node.host.clone()).collect();
        Some(Nodes { bands, hosts, of_rank })
    }

    /// The band of a rank's machine.
    #[inline]
    pub(super) fn of_rank(&self, rank: u32) -> usize {
        self.of_rank.get(rank as usize).map_or(0, |band| *band as usize)
    }

    /// "cn07" or "cn08 to cn15".
    pub fn name(&self, band: usize) -> String {
        let host = |at: u32| self.hosts.get(at as usize).map_or("", |host| host.as_str());
        match (self.bands.first(band), self.bands.first(band + 1).saturating_sub(1)) {
            (first, last) if first == last => host(first).into(),
            (first, last) => format!("{} to {}", host(first), host(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_belong_to_their_machines() {
        let node = |host: &str, ranks: &[[u32; 2]]| Node {
            host: host.into(),
            ranks: ranks.to_vec(),
            ..Node::default()
        };
        let all = [node("a", &[[0, 0], [3, 4]]), node("b", &[[1, 2]]), node("c", &[[5, 5]])];
        let nodes = Nodes::of(&all, 8).unwrap();
        let found: Vec<usize> = (0..8).map(|rank| nodes.of_rank(rank)).collect();
        assert_eq!(found, [0, 1, 1, 0, 0, 2, 0, 0]);
        assert_eq!(nodes.name(2), "c");
        assert_eq!(Nodes::of(&all, 2).unwrap().name(0), "a to b");
        assert_eq!(Nodes::of(&all[..1], 8), None);
    }
}
