//! Patterns as text and as JSON.

use super::Layout;
use super::map::Map;
use model::escape;
use model::pattern::{Extent, Geometry};
use serde_json::{Value, json};

/// For people: definition, pieces, coverage, map.
pub fn text(layouts: &[Layout<'_>], limit: usize, columns: usize) -> String {
    let shown: Vec<String> = layouts.iter().map(|layout| one(layout, limit, columns)).collect();
    shown.join("\n")
}

fn one(layout: &Layout<'_>, limit: usize, columns: usize) -> String {
    let pattern = layout.pattern;
    let mut text = format!("pattern \"{}\" level {}", pattern.name, pattern.level);
    match pattern.geometry {
        Geometry::Generator { .. } => text.push_str(", extents of the program"),
        _ => text.push_str(&format!(" = {}", layout.written())),
    }
    text.push_str("\n\nmember      pieces         bytes  offset+length\n");
    for (member, pieces) in layout.members.iter().enumerate() {
        let bytes = bytes(pieces);
        let mut listed: Vec<String> = pieces
            .iter()
            .take(limit)
            .map(|piece| format!("{}+{}", piece.offset_bytes, piece.length_bytes))
            .collect();
        if pieces.len() > limit {
            listed.push("...".into());
        }
        let line = format!("{member:>6}  {:>10}  {bytes:>12}  {}", pieces.len(), listed.join(" "));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    for sentence in layout.coverage.sentences() {
        text.push_str(&sentence);
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&Map::text(layout, columns));
    text
}

fn bytes(pieces: &[Extent]) -> u64 {
    pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.length_bytes))
}

/// For programs: an array with an object for each pattern.
pub fn json(layouts: &[Layout<'_>], limit: usize) -> String {
    let objects: Vec<Value> = layouts.iter().map(|layout| object(layout, limit)).collect();
    escape::json(&format!("{:#}\n", json!(objects))).into_owned()
}

fn object(layout: &Layout<'_>, limit: usize) -> Value {
    let members = layout.members.iter().enumerate().map(|(member, pieces)| {
        let listed = pieces.iter().take(limit);
        let extents: Vec<Value> =
            listed.map(|piece| json!([piece.offset_bytes, piece.length_bytes])).collect();
        let bytes = bytes(pieces);
        json!({"member": member, "pieces": pieces.len(), "bytes": bytes, "extents": extents})
    });
    let coverage = &layout.coverage;
    json!({
        "pattern": layout.pattern.name,
        "level": layout.pattern.level,
        "kind": layout.pattern.geometry.kind(),
        "definition": layout.written(),
        "members": members.collect::<Vec<_>>(),
        "coverage": {
            "exact": coverage.is_exact(),
            "start_bytes": coverage.start_bytes,
            "end_bytes": coverage.end_bytes,
            "holes": coverage.holes,
            "hole_bytes": coverage.hole_bytes,
            "overlap_bytes": coverage.overlap_bytes,
            "sentences": coverage.sentences(),
        },
    })
}
