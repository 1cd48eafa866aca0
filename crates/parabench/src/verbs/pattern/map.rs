//! The map of a pattern, offset against member, as characters and as a picture.
//!
//! ```text
//! 0 |###   ###   |
//! 1 |   ###   ###|
//!    0        96 B
//! ```

use model::pattern::Extent;
use model::units::format_bytes;
use report::chart::{Axis, Chart, Unit, View};

/// Most lines of text: with more members, each line shows several.
const TEXT_LINES: usize = 32;
/// Most lines and most parts of the file in the picture.
const PICTURE: (usize, usize) = (32, 150);

/// Bytes that members access in equal parts of the file.
struct Map {
    /// Bytes of the file in a part; at least 1.
    part_bytes: u64,
    /// For each line: the first and last member, and the bytes in each part.
    lines: Vec<(usize, usize, Vec<u64>)>,
}

impl Map {
    fn new(members: &[Vec<Extent>], end_bytes: u64, lines: usize, parts: usize) -> Map {
        let part_bytes = end_bytes.div_ceil(parts as u64).max(1);
        let parts = end_bytes.div_ceil(part_bytes) as usize;
        let per_line = members.len().div_ceil(lines).max(1);
        let lines = members.chunks(per_line).enumerate().map(|(number, chunk)| {
            let mut bytes = vec![0; parts];
            chunk.iter().flatten().for_each(|extent| add(&mut bytes, part_bytes, *extent));
            (number * per_line, number * per_line + chunk.len() - 1, bytes)
        });
        Map { part_bytes, lines: lines.collect() }
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

/// The map in at most this many columns.
pub fn draw_text(members: &[Vec<Extent>], end_bytes: u64, columns: usize) -> String {
    let label = members.len().saturating_sub(1).to_string().len() * 2 + 1;
    let parts = columns.saturating_sub(label + 4).clamp(8, 96);
    let map = Map::new(members, end_bytes, TEXT_LINES, parts);
    let cell = |bytes: &u64| match *bytes {
        0 => ' ',
        bytes if bytes >= map.part_bytes => '#',
        bytes if bytes * 2 >= map.part_bytes => '+',
        _ => '.',
    };
    let mut text = String::new();
    for (first, last, bytes) in &map.lines {
        let name = if first == last { first.to_string() } else { format!("{first}-{last}") };
        let cells: String = bytes.iter().map(cell).collect();
        text.push_str(&format!("{name:>label$} |{cells}|\n"));
    }
    let width = map.lines.first().map_or(0, |line| line.2.len());
    let (end, part) = (format_bytes(end_bytes), format_bytes(map.part_bytes));
    text + &format!(
        "{:label$}  0{end:>width$}\n{:label$}  member against offset in the file; a character: {part}, \
         # all of it, + half or more, . less\n",
        "", ""
    )
}

/// The map as a picture.
pub fn picture(title: String, summary: String, members: &[Vec<Extent>], end_bytes: u64) -> View {
    let (lines, parts) = PICTURE;
    let map = Map::new(members, end_bytes, lines, parts);
    let share = |bytes: &u64| match *bytes {
        0 => f64::NAN,
        bytes => bytes as f64 / map.part_bytes as f64,
    };
    let parts = map.lines.first().map_or(0, |line| line.2.len() as u64);
    let axis = |title: &str, unit| Axis { title: title.into(), unit, log: false };
    let firsts = map.lines.iter().map(|line| line.0 as f64);
    let chart = Chart::Heat {
        x: axis("offset in the file", Unit::Bytes),
        y: axis("member", Unit::Rank),
        value: axis("bytes accessed", Unit::Share),
        x_edges: (0..=parts).map(|part| (part * map.part_bytes) as f64).collect(),
        y_edges: firsts.chain([members.len() as f64]).collect(),
        values: map.lines.iter().map(|line| line.2.iter().map(share).collect()).collect(),
    };
    View { name: "pattern".into(), title, summary, chart }
}
