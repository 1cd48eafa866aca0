//! Which ranks touched which part of which file.

use super::{Source, axis, counted};
use crate::aggregate::{Bands, FileParts, Owner};
use crate::chart::{Bar, Chart, Unit, View};
use crate::text;
use model::units::format_bytes;

pub(super) const NAME: &str = "file-map";
/// Colours of bands of ranks and of what several ranks touched, together.
const MAX_COLOURS: usize = 9;
/// Bands of ranks with a colour each at most.
const MAX_BANDS: usize = 8;
/// What several ranks touched: how it is, and its name.
const MEETINGS: [(Meeting, &str); 3] = [
    (Meeting::SameBytes, "several ranks, the same bytes"),
    (Meeting::OtherBytes, "several ranks, other bytes each"),
    (Meeting::Unknown, "several ranks, not compared"),
];

/// How several ranks meet in a part of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    SameBytes,
    OtherBytes,
    Unknown,
}

impl Meeting {
    fn of(file: &FileParts, owner: Owner) -> Option<Meeting> {
        match owner {
            Owner::Nobody | Owner::Rank(_) => None,
            Owner::Shared => Some(Meeting::SameBytes),
            Owner::Several if file.is_compared => Some(Meeting::OtherBytes),
            Owner::Several => Some(Meeting::Unknown),
        }
    }
}

/// Parts of the files with most bytes, in the colour of the rank that touched them.
pub(super) fn map(source: &Source<'_>) -> Result<View, String> {
    let files = &source.events.files;
    let largest = files.files.first().ok_or("no operation moved bytes of a file with a name")?;
    let meetings = meetings(&files.files);
    let bands = MAX_BANDS.min(MAX_COLOURS - meetings.len());
    let bands = Bands::over(source.events.bands.ranks, bands);
    let mut bars = Vec::new();
    for (row, file) in files.files.iter().enumerate() {
        let class = |owner: &Owner| match *owner {
            Owner::Nobody => None,
            Owner::Rank(rank) => Some(bands.of(rank)),
            owner => {
                let meeting = Meeting::of(file, owner);
                let at = meetings.iter().position(|known| Some(known.0) == meeting);
                at.map(|at| bands.count + at)
            }
        };
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
    classes.extend(meetings.iter().map(|meeting| meeting.1.to_string()));
    let widest = files.files.iter().map(|file| file.part_bytes).max().unwrap_or(1);
    let shown = files.files.len() as u64;
    Ok(View {
        name: NAME.into(),
        title: source.titled(title(source, &files.files)),
        summary: format!(
            "{} with most bytes, each in parts of equal size, at most {}. Largest is {}: {} moved.{}{}{}",
            counted(shown, "file"),
            format_bytes(widest),
            shown_path(&largest.path),
            format_bytes((largest.bytes as f64 * source.scale) as u64),
            if files.more > 0 {
                format!(" At least {} more are not shown.", files.more)
            } else {
                String::new()
            },
            source.unplaced(),
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

/// Those that occur.
fn meetings(files: &[FileParts]) -> Vec<(Meeting, &'static str)> {
    let occurs = |meeting: Meeting| {
        let mut owners = files.iter().flat_map(|file| file.owners.iter().map(move |o| (file, *o)));
        owners.any(|(file, owner)| Meeting::of(file, owner) == Some(meeting))
    };
    MEETINGS.into_iter().filter(|meeting| occurs(meeting.0)).collect()
}

/// What the parts tell. Operations that were not kept, or whose place is not known, may have shared
/// others.
fn title(source: &Source<'_>, files: &[FileParts]) -> String {
    let mut all = counted(files.len() as u64, "file");
    if source.events.files.more > 0 {
        all = format!("the {all} with most bytes");
    }
    if source.is_renamed {
        all += " under the same name";
    }
    let count = |is: fn(&FileParts) -> bool| files.iter().filter(|file| is(file)).count() as u64;
    let (shared, open) = (count(FileParts::is_shared), count(FileParts::is_open));
    let is_partial = source.is_partial || source.events.unplaced > 0;
    match (shared, open) {
        _ if source.events.bands.ranks == 1 => format!("Which parts of {all} the rank touched"),
        (0, 0) if is_partial => format!("Ranks shared no byte of {all} in the operations shown"),
        (0, 0) => format!("No two ranks touched the same byte of {all}"),
        (0, _) => {
            let widest = files.iter().filter(|file| file.is_open()).map(|file| file.part_bytes);
            let widest = format_bytes(widest.max().unwrap_or(1));
            let files = counted(open, "file");
            format!("Several ranks touched the same part, of up to {widest}, of {files}")
        }
        _ => format!("Several ranks touched the same bytes of {}", counted(shared, "file")),
    }
}

fn shown_path(path: &str) -> String {
    text::fit(&text::escape(path), 48)
}
