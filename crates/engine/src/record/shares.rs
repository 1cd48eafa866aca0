//! What this rank had of work that was shared.
//!
//! Block [`Kind::Share`]: site | label << 32, then one word for each figure of [`Shared`], summed over
//! the executions of one `share` inside one label.

use super::area::Area;
use super::layout::{Kind, pair};
use std::collections::HashMap;

/// What one rank had of the executions of a `share`; `group` figures are the same on all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Executions that ended; 0: the rank ended inside of one.
    pub executions: u64,
    /// Members of the group, summed over executions.
    pub members: u64,
    /// Indices executed.
    pub indices: u64,
    /// Claims that gave indices.
    pub claims: u64,
    /// Operations executed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Indices, in thousandths, until the first member had nothing left.
    pub steady_milli_indices: u64,
    /// The same of operations.
    pub steady_milli_operations: u64,
    /// The same of bytes, in bytes.
    pub steady_bytes: u64,
    /// Time at the end that this rank waited for the others.
    pub idle_ns: u64,
    /// From the first member's start to the end of all.
    pub whole_ns: u64,
    /// From the first member's start until the first one had nothing left.
    pub steady_ns: u64,
}

/// Words of a block.
pub(super) const SHARE_WORDS: usize = 13;

impl Shared {
    fn words(&self) -> [u64; SHARE_WORDS - 1] {
        [
            self.executions,
            self.members,
            self.indices,
            self.claims,
            self.operations,
            self.bytes,
            self.steady_milli_indices,
            self.steady_milli_operations,
            self.steady_bytes,
            self.idle_ns,
            self.whole_ns,
            self.steady_ns,
        ]
    }

    pub(super) fn of(words: [u64; SHARE_WORDS - 1]) -> Shared {
        let [executions, members, indices, claims, operations, bytes, ..] = words;
        let [.., steady_milli_indices, steady_milli_operations, steady_bytes, _, _, _] = words;
        let [.., idle_ns, whole_ns, steady_ns] = words;
        Shared {
            executions,
            members,
            indices,
            claims,
            operations,
            bytes,
            steady_milli_indices,
            steady_milli_operations,
            steady_bytes,
            idle_ns,
            whole_ns,
            steady_ns,
        }
    }
}

/// The blocks of a recorder, by label and site.
#[derive(Debug, Default)]
pub(super) struct Shares(HashMap<(u32, u32), u32>);

impl Shares {
    pub(super) fn add(&mut self, area: &mut Area, label: u32, site: u32, figures: &Shared) {
        let at = match self.0.get(&(label, site)) {
            Some(at) => *at,
            None => {
                let head = pair(site, label);
                let block = area.append(Kind::Share, SHARE_WORDS, |words| words[0] = head);
                let Some(at) = block else { return };
                self.0.insert((label, site), at);
                at
            }
        };
        let words: &mut [u64; SHARE_WORDS] = area.array(at);
        for (sum, more) in words[1..].iter_mut().zip(figures.words()) {
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_figures_are_the_same() {
        let words: [u64; SHARE_WORDS - 1] = std::array::from_fn(|at| at as u64 + 1);
        assert_eq!(Shared::of(words).words(), words);
    }
}
