//! The map of a pattern as a picture: offset to the right, members downwards.

use super::Layout;
use super::map::Map;
use model::units::format_bytes;
use report::markup::{Element, Markup, element};
use std::fmt::Display;

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
    let page = element("rect").attr("width", "100%").attr("height", "100%").attr("fill", "white");
    let (name, members) = (&layout.pattern.name, layout.members.len());
    let title = format!("{name}: {}, {members} members", layout.written());
    let svg = element("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", format!("0 0 {all_x} {all_y}"))
        .attr("width", all_x)
        .attr("height", all_y)
        .attr("font-family", "sans-serif")
        .attr("font-size", 12)
        .with(page)
        .with(text(left, top - 24, "start", &title))
        .with(cells(&map, line as u64))
        .with(axes(layout, &map, line as u64, height));
    Markup::from(svg).into_string()
}

/// A rectangle for each run of parts with the same share.
fn cells(map: &Map, line: u64) -> Markup {
    let [left, top, ..] = MARGINS;
    let parts = map.lines.first().map_or(1, |line| line.2.len()).max(1) as f64;
    let mut cells = Markup::default();
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
                let cell = rect(format!("{x:.2}"), y, format!("{width:.2}"), line - 1);
                let cell = cell.attr("fill", format!("hsl({hue},65%,45%)"));
                cells.push(cell.attr("fill-opacity", format!("{opacity:.2}")));
            }
            at += run.len();
        }
    }
    cells
}

fn axes(layout: &Layout<'_>, map: &Map, line: u64, height: u64) -> Markup {
    let [left, top, ..] = MARGINS;
    let frame = rect(left, top, WIDTH, height).attr("fill", "none").attr("stroke", "black");
    let mut axes = Markup::from(frame);
    let end = layout.coverage.end_bytes;
    for tick in 0..=TICKS {
        let x = left + WIDTH * tick / TICKS;
        let bytes = (u128::from(end) * u128::from(tick) / u128::from(TICKS)) as u64;
        let y = top + height;
        axes.push(element("path").attr("d", format!("M{x} {y}v6")).attr("stroke", "black"));
        axes.push(text(x, y + 20, "middle", &format_bytes(bytes)));
    }
    axes.push(text(left + WIDTH / 2, top + height + 44, "middle", "offset in the file"));
    let every = map.lines.len().div_ceil(16).max(1);
    for (number, (first, ..)) in map.lines.iter().enumerate().step_by(every) {
        let y = top + number as u64 * line + line / 2 + 4;
        axes.push(text(left - 8, y, "end", &first.to_string()));
    }
    axes.push(text(left - 8, top - 8, "end", "member"));
    axes
}

fn rect(x: impl Display, y: u64, width: impl Display, height: u64) -> Element {
    element("rect").attr("x", x).attr("y", y).attr("width", width).attr("height", height)
}

fn text(x: u64, y: u64, anchor: &str, text: &str) -> Element {
    element("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text)
}
