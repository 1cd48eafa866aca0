//! Which ranks touched which part of which file.

use super::{Source, axis, counted};
use crate::aggregate::{Bands, Owner};
use crate::chart::{Bar, Chart, Unit, View};
use crate::text;
use model::units::format_bytes;

pub(super) const NAME: &str = "file-map";
/// Bands of ranks with a colour each.
const MAX_COLOURS: usize = 8;

/// Parts of the files with most bytes, in the colour of the rank that touched them.
pub(super) fn map(source: &Source<'_>) -> Result<View, String> {
    let files = &source.events.files;
    let largest = files.files.first().ok_or("no operation moved bytes of a file with a name")?;
    let bands = Bands::over(source.events.bands.ranks, MAX_COLOURS);
    let mut bars = Vec::new();
    let mut shared = 0;
    for (row, file) in files.files.iter().enumerate() {
        let class = |owner: &Owner| match owner {
            Owner::Nobody => None,
            Owner::Rank(rank) => Some(bands.of(*rank)),
            Owner::Several => Some(bands.count),
        };
        shared += u64::from(file.is_shared());
        let mut at = 0;
        for run in file.owners.chunk_by(|a, b| class(a) == class(b)) {
            let edge = |part: usize| part as f64 * file.part_bytes as f64;
            if let Some(class) = class(&run[0]) {
                let (start, end) = (edge(at), edge(at + run.len()));
                bars.push(Bar { row: row as u32, class: class as u32, start, end });
            }
            at += run.len();
        }
    }
    let mut classes: Vec<String> = (0..bands.count).map(|band| bands.name(band)).collect();
    classes.push("several ranks".into());
    let widest = files.files.iter().filter(|file| shared == 0 || file.is_shared());
    let widest = format_bytes(widest.map(|file| file.part_bytes).max().unwrap_or(1));
    let shown = files.files.len() as u64;
    Ok(View {
        name: NAME.into(),
        title: source.titled(title(source, shown, shared, &widest)),
        summary: format!(
            "{} with most bytes, each in parts of equal size, at most {widest}; ranks in the same part need not share a byte. Largest is {}: {} moved.{}{}",
            counted(shown, "file"),
            shown_path(&largest.path),
            format_bytes((largest.bytes as f64 * source.scale) as u64),
            if files.more > 0 {
                format!(" At least {} more are not shown.", files.more)
            } else {
                String::new()
            },
            source.note
        ),
        chart: Chart::Spans {
            x: axis("position in the file", Unit::Bytes),
            rows: files.files.iter().map(|file| shown_path(&file.path)).collect(),
            classes,
            bars,
        },
    })
}

/// What the parts tell. Operations that were not kept may have shared others.
fn title(source: &Source<'_>, shown: u64, shared: u64, widest: &str) -> String {
    let files = counted(shown, "file");
    match shared {
        _ if source.events.bands.ranks == 1 => format!("Which parts of {files} the rank touched"),
        0 if source.is_partial => format!("Ranks shared no part of {files} in the operations kept"),
        0 => format!("No two ranks touched the same part of {files}"),
        _ => {
            let files = counted(shared, "file");
            format!("Several ranks touched the same part, of up to {widest}, of {files}")
        }
    }
}

fn shown_path(path: &str) -> String {
    text::fit(&text::escape(path), 48)
}
