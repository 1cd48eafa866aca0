//! The map of a pattern, offset against member, as characters and as a picture.
//!
//! ```text
//! 0 |###   ###   |
//! 1 |   ###   ###|
//!    0        96 B
//! ```

use model::pattern::Extent;
use model::units::format_bytes;
use report::markup::{Element, Markup, element};
use std::fmt::Display;

/// Most lines of text: with more members, each line shows several.
const TEXT_LINES: usize = 32;
/// Most lines and most parts of the file in the picture.
const PICTURE: (usize, usize) = (160, 800);
/// Height of the picture's lines together, pixels.
const HEIGHT: usize = 640;
/// Left and top margins, pixels.
const LEFT: usize = 70;
const TOP: usize = 50;

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

/// The map as an SVG picture.
pub fn draw_svg(title: &str, members: &[Vec<Extent>], end_bytes: u64) -> String {
    let (lines, width) = PICTURE;
    let map = Map::new(members, end_bytes, lines, width);
    let line = (HEIGHT / map.lines.len().max(1)).clamp(4, 40);
    let height = line * map.lines.len();
    let (all_x, all_y) = (LEFT + width + 40, TOP + height + 60);
    let page = element("rect").attr("width", "100%").attr("height", "100%").attr("fill", "white");
    let frame = rect(LEFT, TOP, width, height).attr("fill", "none").attr("stroke", "black");
    let mut svg = element("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", format!("0 0 {all_x} {all_y}"))
        .attr("width", all_x)
        .attr("height", all_y)
        .attr("font-family", "sans-serif")
        .attr("font-size", 12)
        .with(page)
        .with(text(LEFT, TOP - 24, "start", title))
        .with(text(LEFT - 8, TOP - 8, "end", "member"))
        .with(text(LEFT + width / 2, TOP + height + 44, "middle", "offset in the file"));
    let every = map.lines.len().div_ceil(16).max(1);
    for (number, (first, _, bytes)) in map.lines.iter().enumerate() {
        let y = TOP + number * line;
        svg = svg.with(cells(bytes, map.part_bytes, (first * 137) % 360, (y, line, width)));
        if number % every == 0 {
            svg = svg.with(text(LEFT - 8, y + line / 2 + 4, "end", &first.to_string()));
        }
    }
    for eighth in 0..=8 {
        let bytes = (u128::from(end_bytes) * eighth / 8) as u64;
        let x = LEFT + width * eighth as usize / 8;
        svg = svg.with(text(x, TOP + height + 20, "middle", &format_bytes(bytes)));
    }
    Markup::from(svg.with(frame)).into_string()
}

/// A rectangle for each run of parts with the same share.
fn cells(bytes: &[u64], part_bytes: u64, hue: usize, place: (usize, usize, usize)) -> Markup {
    let (y, line, width) = place;
    let scale = width as f64 / bytes.len().max(1) as f64;
    let mut cells = Markup::default();
    let mut at = 0;
    for run in bytes.chunk_by(|a, b| a == b) {
        let share = run[0] as f64 / part_bytes as f64;
        if share > 0.0 {
            let x = format!("{:.2}", LEFT as f64 + at as f64 * scale);
            let cell = rect(x, y, format!("{:.2}", run.len() as f64 * scale), line - 1);
            let cell = cell.attr("fill", format!("hsl({hue},65%,45%)"));
            cells.push(cell.attr("fill-opacity", format!("{:.2}", share.clamp(0.15, 1.0))));
        }
        at += run.len();
    }
    cells
}

fn rect(x: impl Display, y: usize, width: impl Display, height: usize) -> Element {
    element("rect").attr("x", x).attr("y", y).attr("width", width).attr("height", height)
}

fn text(x: usize, y: usize, anchor: &str, text: &str) -> Element {
    element("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text)
}
