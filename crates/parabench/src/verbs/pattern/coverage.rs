//! Finds bytes that are accessed not at all, once, and more than once.

use model::pattern::Extent;
use std::ops::Range;

/// Holes and overlaps that are named.
const NAMED: usize = 3;

/// A file as the members of a group access it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// First byte that is accessed.
    pub start_bytes: u64,
    /// One past the last byte.
    pub end_bytes: u64,
    /// Number of holes: runs of bytes after the first that nobody accesses.
    pub holes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// The first holes.
    first_holes: Vec<Range<u64>>,
    /// Bytes that are accessed more than once.
    pub overlap_bytes: u64,
    /// The first runs of such bytes.
    first_overlaps: Vec<Range<u64>>,
}

impl Coverage {
    /// Compares the extents of all members.
    pub fn new(members: &[Vec<Extent>]) -> Coverage {
        let mut extents: Vec<(u64, u64)> = members
            .iter()
            .flatten()
            .filter(|extent| extent.length_bytes > 0)
            .map(|extent| (extent.offset_bytes, extent.end_bytes()))
            .collect();
        extents.sort_unstable();
        let start_bytes = extents.first().map_or(0, |extent| extent.0);
        let mut coverage = Coverage { start_bytes, end_bytes: start_bytes, ..Coverage::default() };
        // Up to here everything is known to be accessed twice.
        let mut twice_to = start_bytes;
        for (from, to) in extents {
            if from > coverage.end_bytes {
                coverage.hole(coverage.end_bytes..from);
            }
            let overlap = from.max(twice_to)..to.min(coverage.end_bytes);
            if !overlap.is_empty() {
                twice_to = overlap.end;
                coverage.overlap(overlap);
            }
            coverage.end_bytes = coverage.end_bytes.max(to);
        }
        coverage
    }

    fn hole(&mut self, hole: Range<u64>) {
        self.holes += 1;
        self.hole_bytes += hole.end - hole.start;
        if self.first_holes.len() < NAMED {
            self.first_holes.push(hole);
        }
    }

    fn overlap(&mut self, overlap: Range<u64>) {
        self.overlap_bytes += overlap.end - overlap.start;
        let named = self.first_overlaps.len();
        match self.first_overlaps.last_mut() {
            Some(last) if last.end == overlap.start => last.end = overlap.end,
            _ if named < NAMED => self.first_overlaps.push(overlap),
            _ => {}
        }
    }

    /// Each byte between the first and the last is accessed exactly once.
    pub fn is_exact(&self) -> bool {
        self.holes == 0 && self.overlap_bytes == 0
    }

    /// The result in sentences for the user.
    pub fn sentences(&self) -> Vec<String> {
        let (start, end) = (self.start_bytes, self.end_bytes);
        if start == end {
            return vec!["No byte is accessed.".into()];
        }
        let (holes, overlap_bytes) = (self.holes, self.overlap_bytes);
        let mut said = Vec::new();
        if self.is_exact() {
            said.push(format!("Each byte from {start} to {end} is accessed exactly once."));
        } else if holes > 0 {
            let counted = model::words::count(holes, "hole");
            let named = listed(&self.first_holes, holes > self.first_holes.len() as u64);
            let bytes = self.hole_bytes;
            said.push(format!(
                "{counted}, {counted_bytes} that nobody accesses: {named}.",
                counted_bytes = model::words::count(bytes, "byte")
            ));
        } else {
            said.push(format!("No holes from {start} to {end}."));
        }
        if overlap_bytes > 0 {
            let named: u64 = self.first_overlaps.iter().map(|range| range.end - range.start).sum();
            let listed = listed(&self.first_overlaps, overlap_bytes > named);
            said.push(format!(
                "Overlaps: {overlap_bytes} bytes are accessed more than once: {listed}."
            ));
        } else if holes > 0 {
            said.push("No byte is accessed more than once.".into());
        }
        if start > 0 {
            said.push(format!(
                "The first {start_bytes} of the file are left out.",
                start_bytes = model::words::count(start, "byte")
            ));
        }
        said
    }
}

/// `4..8, 12..16, ...`
fn listed(ranges: &[Range<u64>], more: bool) -> String {
    let ranges: Vec<String> =
        ranges.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
    format!("{}{}", ranges.join(", "), if more { ", ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case<'a> = (&'a [&'a [(u64, u64)]], &'a [&'a str]);

    fn sentences(members: &[&[(u64, u64)]]) -> Vec<String> {
        let extents = |list: &&[(u64, u64)]| -> Vec<Extent> {
            let extent = |(offset_bytes, length_bytes): &(u64, u64)| Extent {
                offset_bytes: *offset_bytes,
                length_bytes: *length_bytes,
            };
            list.iter().map(extent).collect()
        };
        Coverage::new(&members.iter().map(extents).collect::<Vec<_>>()).sentences()
    }

    #[test]
    fn exact_coverage_holes_and_overlaps_differ() {
        let cases: [Case<'_>; 6] = [
            (
                &[&[(0, 4), (8, 4)], &[(4, 4)]],
                &["Each byte from 0 to 12 is accessed exactly once."],
            ),
            (&[&[], &[(3, 0)]], &["No byte is accessed."]),
            (&[&[(0, 2)], &[(4, 2)]], &["1 hole, 2 bytes that nobody accesses: 2..4."]),
            (
                &[&[(0, 6)], &[(2, 6)]],
                &["No holes from 0 to 8.", "4 bytes are accessed more than once: 2..6."],
            ),
            (&[&[(0, 6)], &[(0, 6)], &[(0, 7)]], &["Overlaps: 6 bytes", "0..6."]),
            (
                &[&[(9, 1)]],
                &["Each byte from 9 to 10", "The first 9 bytes of the file are left out."],
            ),
        ];
        for (members, expected) in cases {
            let said = sentences(members).join(" ");
            for words in expected {
                assert!(said.contains(words), "{members:?}: {said}");
            }
        }
    }
}
