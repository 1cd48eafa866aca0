//! Sizes and files as tables: the commonest sizes, and what was done to each file.

use crate::aggregate::{Access, Aggregates, FileAccess};
use crate::views::accesses;
use model::units::Measure;
use report::document::Sheet;
use report::grid::{Cell, Grid, Kind, field, optional};
use report::text::percent;

/// Files that a page lists.
const FILES: usize = 20;

const TIME: Kind = Kind::Quantity(Measure::Time);
const BYTES: Kind = Kind::Quantity(Measure::Bytes);
const COUNT: Kind = Kind::Count;

/// The tables of each execution that is shown.
pub fn sheets(events: &Aggregates) -> Vec<Sheet> {
    accesses(events)
        .flat_map(|(name, access)| [sizes(name, access), files(name, access)])
        .flatten()
        .collect()
}

fn titled(title: &str, name: &str) -> String {
    if name.is_empty() { title.into() } else { format!("{title}: {name}") }
}

/// A common size.
struct Common {
    kind: &'static str,
    size_bytes: u64,
    calls: u64,
    share: f64,
}

fn sizes(name: &str, access: &Access) -> Option<Sheet> {
    let of = |(kind, sizes): (&'static str, &crate::aggregate::Sizes)| {
        let all: u64 = sizes.bins.iter().fold(0, |sum, count| sum.saturating_add(*count));
        let line = move |(size_bytes, calls): &(u64, u64)| Common {
            kind,
            size_bytes: *size_bytes,
            calls: *calls,
            share: *calls as f64 / all.max(1) as f64,
        };
        sizes.common.iter().map(line).collect::<Vec<Common>>()
    };
    let all: Vec<Common> =
        [("read", &access.reads), ("write", &access.writes)].into_iter().flat_map(of).collect();
    let grid = Grid::of(
        vec![
            field("common size", "", Kind::Word, 0, |one: &Common| Cell::Text(one.kind.into())),
            field("bytes", "", BYTES, 0, |one| Cell::whole(one.size_bytes)),
            field("calls", "", COUNT, 0, |one| Cell::Count(one.calls)),
            field("share", "", COUNT, 0, |one| Cell::Text(percent(one.share))),
        ],
        &all,
        |_| false,
    );
    let uncounted = access.reads.uncounted + access.writes.uncounted;
    let notes = (uncounted > 0)
        .then(|| format!("{uncounted} calls had too many different sizes to compare."));
    let title = titled("Common sizes", name);
    (!all.is_empty()).then(|| Sheet {
        name: "common-sizes",
        title,
        grid,
        notes: notes.into_iter().collect(),
    })
}

fn files(name: &str, access: &Access) -> Option<Sheet> {
    if access.files.is_empty() {
        return None;
    }
    let mut shown: Vec<&FileAccess> = access.files.iter().collect();
    shown.truncate(FILES);
    let left = access.files.len() - shown.len() + access.more_files;
    let grid = grid(&shown, access.has_times);
    let mut notes = vec![
        "Most bytes first. Sequential: behind the end of the rank's access before it; consecutive: at its end."
            .to_string(),
    ];
    if left > 0 {
        let files = model::words::plural(left as u64, "file");
        notes.push(format!("{left} more {files}: events.parquet has them all."));
    }
    Some(Sheet { name: "files", title: titled("Files", name), grid, notes })
}

fn grid(files: &[&FileAccess], has_times: bool) -> Grid {
    let mut fields = vec![
        field("file", "", Kind::Label, 0, |one: &&FileAccess| Cell::Text(one.path.clone())),
        field("ranks", "", COUNT, 0, |one| Cell::Count(u64::from(one.ranks))),
        field("read", "bytes", BYTES, 0, |one| Cell::whole(one.read.bytes)),
        field("written", "bytes", BYTES, 0, |one| Cell::whole(one.write.bytes)),
        field("reads", "", COUNT, 0, |one| Cell::Count(one.read.calls)),
        field("writes", "", COUNT, 0, |one| Cell::Count(one.write.calls)),
        field("opens", "", COUNT, 0, |one| Cell::Count(one.opens)),
        optional("sequential", "reads", COUNT, 0, |one| shared(one.read.sequential_share())),
        optional("consecutive", "reads", COUNT, 0, |one| shared(one.read.consecutive_share())),
        optional("sequential", "writes", COUNT, 0, |one| shared(one.write.sequential_share())),
        optional("consecutive", "writes", COUNT, 0, |one| shared(one.write.consecutive_share())),
    ];
    if has_times {
        fields.extend([
            field("read", "time", TIME, 0, |one: &&FileAccess| Cell::whole(one.read.busy_ns)),
            field("write", "time", TIME, 0, |one| Cell::whole(one.write.busy_ns)),
            field("metadata", "time", TIME, 0, |one| Cell::whole(one.metadata_ns)),
        ]);
    }
    Grid::of(fields, files, |_| false)
}

fn shared(share: Option<f64>) -> Cell {
    share.map_or(Cell::None, |share| Cell::Text(percent(share)))
}
