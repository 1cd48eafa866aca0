//! The map of a pattern as a picture: offset to the right, members downwards.

use super::Layout;
use super::map::Map;
use model::units::format_bytes;
use report::html::escape;
use std::fmt::Write;

/// Size of the drawing in pixels, without its margins.
const WIDTH: u64 = 800;
const MAX_HEIGHT: usize = 640;
/// Left, top, right and bottom margins.
const MARGINS: [u64; 4] = [70, 50, 40, 60];
/// Parts of the file that are told apart.
const PARTS: usize = 800;
/// Lines of members that are told apart.
const LINES: usize = 160;
const TICKS: u64 = 8;

/// Draws a pattern.
pub fn draw(layout: &Layout<'_>) -> String {
    let map = Map::new(layout, PARTS, LINES);
    let line = (MAX_HEIGHT / map.lines.len().max(1)).clamp(4, 40);
    let height = (line * map.lines.len()) as u64;
    let [left, top, right, bottom] = MARGINS;
    let (all_x, all_y) = (left + WIDTH + right, top + height + bottom);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_x} {all_y}\" width=\"{all_x}\" \
         height=\"{all_y}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let (name, members) = (escape(&layout.pattern.name), layout.members.len());
    let title = format!("{name}: {}, {members} members", escape(&layout.written()));
    text(&mut svg, left, top - 24, "start", &title);
    cells(&mut svg, &map, line as u64);
    axes(&mut svg, layout, &map, line as u64, height);
    svg.push_str("</svg>\n");
    svg
}

/// A rectangle for each run of parts with the same share.
fn cells(svg: &mut String, map: &Map, line: u64) {
    let [left, top, ..] = MARGINS;
    let parts = map.lines.first().map_or(1, |line| line.2.len()).max(1) as f64;
    for (number, (first, _, bytes)) in map.lines.iter().enumerate() {
        let y = top + number as u64 * line;
        let hue = (*first as u64 * 137) % 360;
        let mut at = 0;
        for run in bytes.chunk_by(|a, b| a == b) {
            let share = run[0] as f64 / map.part_bytes as f64;
            if share > 0.0 {
                let x = left as f64 + at as f64 / parts * WIDTH as f64;
                let width = run.len() as f64 / parts * WIDTH as f64;
                let opacity = share.clamp(0.15, 1.0);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" \
                     fill=\"hsl({hue},65%,45%)\" fill-opacity=\"{opacity:.2}\"/>",
                    line - 1
                );
            }
            at += run.len();
        }
    }
}

fn axes(svg: &mut String, layout: &Layout<'_>, map: &Map, line: u64, height: u64) {
    let [left, top, ..] = MARGINS;
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\" fill=\"none\" stroke=\"black\"/>"
    );
    let end = layout.coverage.end_bytes;
    for tick in 0..=TICKS {
        let x = left + WIDTH * tick / TICKS;
        let bytes = (u128::from(end) * u128::from(tick) / u128::from(TICKS)) as u64;
        let y = top + height;
        let _ = writeln!(svg, "<path d=\"M{x} {y}v6\" stroke=\"black\"/>");
        text(svg, x, y + 20, "middle", &format_bytes(bytes));
    }
    text(svg, left + WIDTH / 2, top + height + 44, "middle", "offset in the file");
    let every = map.lines.len().div_ceil(16).max(1);
    for (number, (first, ..)) in map.lines.iter().enumerate().step_by(every) {
        let y = top + number as u64 * line + line / 2 + 4;
        text(svg, left - 8, y, "end", &first.to_string());
    }
    text(svg, left - 8, top - 8, "end", "member");
}

fn text(svg: &mut String, x: u64, y: u64, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
}
