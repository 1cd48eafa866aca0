//! Patterns as text and as JSON.

use super::Layout;
use super::map::Map;
use model::escape;
use model::pattern::{Extent, Geometry};
use serde_json::{Value, json};

/// For people: definition, extents, coverage, map.
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
    for (member, extents) in layout.members.iter().enumerate() {
        let bytes = bytes(extents);
        let mut listed: Vec<String> = extents
            .iter()
            .take(limit)
            .map(|extent| format!("{}+{}", extent.offset_bytes, extent.length_bytes))
            .collect();
        if extents.len() > limit {
            listed.push("...".into());
        }
        let line = format!("{member:>6}  {:>10}  {bytes:>12}  {}", extents.len(), listed.join(" "));
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

fn bytes(extents: &[Extent]) -> u64 {
    extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.length_bytes))
}

/// For programs: an array with an object for each pattern.
pub fn json(layouts: &[Layout<'_>], limit: usize) -> String {
    let objects: Vec<Value> = layouts.iter().map(|layout| object(layout, limit)).collect();
    escape::json(&format!("{:#}\n", json!(objects))).into_owned()
}

fn object(layout: &Layout<'_>, limit: usize) -> Value {
    let members = layout.members.iter().enumerate().map(|(member, extents)| {
        let listed = extents.iter().take(limit);
        let listed: Vec<Value> =
            listed.map(|extent| json!([extent.offset_bytes, extent.length_bytes])).collect();
        let bytes = bytes(extents);
        json!({"member": member, "pieces": extents.len(), "bytes": bytes, "extents": listed})
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
