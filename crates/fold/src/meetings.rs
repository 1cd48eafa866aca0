//! Places where all ranks meet, in trees of statements: they hold what ranks do before apart from what
//! they do behind.

use super::tree::{Gap, Kind, Node};

/// Number of the shape of a meeting.
pub const BARRIER: u32 = 0;

/// All ranks meet here.
pub fn is_barrier(node: &Node) -> bool {
    node.kind == Kind::Leaf && node.shape == BARRIER
}

/// All ranks meet in it.
pub fn is_in(node: &Node) -> bool {
    is_barrier(node) || node.body().iter().any(is_in)
}

/// Meetings among these elements, not in them.
pub fn count(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| is_barrier(node)).count()
}

/// The elements with every loop that consists of meetings alone written out.
pub fn written_out(nodes: &[Node]) -> Vec<Node> {
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        match &node.kind {
            Kind::Loop(body) if body.iter().all(is_barrier) => {
                let times = usize::try_from(node.numbers[0].base).unwrap_or(0);
                (0..times).for_each(|_| all.extend_from_slice(body));
            }
            _ => all.push(node.clone()),
        }
    }
    all
}

/// The pauses before the meetings.
pub fn gaps(nodes: &[Node]) -> impl Iterator<Item = &Gap> {
    nodes.iter().filter(|node| is_barrier(node)).map(|node| &node.gap)
}

/// The elements between the meetings.
pub fn between(nodes: &[Node]) -> impl Iterator<Item = &[Node]> {
    nodes.split(is_barrier)
}
