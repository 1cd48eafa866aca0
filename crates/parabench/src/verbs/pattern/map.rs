//! The map of a pattern: offset against member, as characters.
//!
//! ```text
//! 0 |###   ###   |
//! 1 |   ###   ###|
//!    0        96 B
//! ```

use super::Layout;
use model::pattern::Extent;
use model::units::format_bytes;

/// Most lines: of more members, each line shows several.
const MAX_LINES: usize = 32;

/// What a member accesses in equal parts of the file.
pub struct Map {
    /// Bytes of the file that a part stands for; at least 1.
    pub part_bytes: u64,
    /// For each line: the first and last member, and the bytes in each part.
    pub lines: Vec<(usize, usize, Vec<u64>)>,
}

impl Map {
    /// Cuts the file into at most so many parts.
    pub fn new(layout: &Layout<'_>, parts: usize, lines: usize) -> Map {
        let end = layout.coverage.end_bytes;
        let part_bytes = end.div_ceil(parts as u64).max(1);
        let parts = end.div_ceil(part_bytes) as usize;
        let together = layout.members.len().div_ceil(lines).max(1);
        let chunks = layout.members.chunks(together).enumerate();
        let lines = chunks.map(|(number, members)| {
            let mut bytes = vec![0; parts];
            for extent in members.iter().flatten() {
                add(&mut bytes, part_bytes, *extent);
            }
            let first = number * together;
            (first, first + members.len() - 1, bytes)
        });
        Map { part_bytes, lines: lines.collect() }
    }

    /// Draws it with at most so many columns.
    pub fn text(layout: &Layout<'_>, columns: usize) -> String {
        let label = layout.members.len().saturating_sub(1).to_string().len() * 2 + 1;
        let map = Map::new(layout, columns.saturating_sub(label + 4).clamp(8, 96), MAX_LINES);
        let mut text = String::new();
        for (first, last, bytes) in &map.lines {
            let name = if first == last { first.to_string() } else { format!("{first}-{last}") };
            let cells: String = bytes.iter().map(|bytes| map.cell(*bytes)).collect();
            text.push_str(&format!("{name:>label$} |{cells}|\n"));
        }
        let width = map.lines.first().map_or(0, |line| line.2.len());
        let end = format_bytes(layout.coverage.end_bytes);
        text.push_str(&format!("{:label$}  0{end:>width$}\n", ""));
        let part = format_bytes(map.part_bytes);
        text.push_str(&format!(
            "{:label$}  member against offset in the file; a character: {part}, ",
            ""
        ));
        text.push_str("# all of it, + half or more, . less\n");
        text
    }

    fn cell(&self, bytes: u64) -> char {
        match bytes {
            0 => ' ',
            bytes if bytes >= self.part_bytes => '#',
            bytes if bytes * 2 >= self.part_bytes => '+',
            _ => '.',
        }
    }
}

/// Adds an extent to the parts it lies in.
fn add(parts: &mut [u64], part_bytes: u64, extent: Extent) {
    let (mut from, end) = (extent.offset_bytes, extent.end_bytes());
    while from < end {
        let part = from / part_bytes;
        let to = end.min((part + 1).saturating_mul(part_bytes));
        if let Some(bytes) = parts.get_mut(part as usize) {
            *bytes += to - from;
        }
        from = to;
    }
}
