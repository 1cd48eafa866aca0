//! Layers of an imported log: what its counters say of each module, of access sizes, files and ranks.

use crate::document::Sheet;
use crate::grid::{Cell, Column, Field, Grid, Kind, Line, field, optional};
use crate::text::{escape, fit, percent};
use model::run::{
    Run, SIZE_BINS, Trace, TraceAmounts, TraceFile, TraceJob, TraceModule, TraceMount, TraceRank,
    TraceSize, TraceTimes,
};
use model::units::{Measure, format_bytes, format_ns};
use model::words;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// The layer whose calls become POSIX calls.
const MPI_IO: &str = "MPI-IO";

const COUNT: Kind = Kind::Count;
const BYTES: Kind = Kind::Quantity(Measure::Bytes);
const TIME: Kind = Kind::Quantity(Measure::Time);

/// Files and ranks of a layer that are shown; run.json has more.
const FILES: usize = 20;
const RANKS: usize = 16;
/// Jobs that are named.
const JOBS: usize = 3;
/// Letters of a job's command.
const COMMAND_LETTERS: usize = 200;

const LEGEND: &str = "Counters of the log, all ranks together; each layer counts the calls on it, so bytes of MPI-IO are \
                      also in POSIX. Metadata: opens, closes, stats, seeks and syncs.";
const USE_LEGEND: &str = "Only read, only written, both: files. Sequential: at a higher offset than the access before; \
                          consecutive: right behind it. Size: up to the last byte that was read or written.";
const COMMON_LEGEND: &str = "Of the four commonest sizes of each file that the log keeps.";
const FILES_LEGEND: &str = "First the files with the largest shares of bytes or of time. Times: sums over ranks. First open, \
                            last close: since the job began.";
const MOUNTS_LEGEND: &str =
    "Calls of POSIX and STDIO; standard streams are on none of the mounts that the log names.";
const NO_MOUNT: &str = "(none)";
const RANKS_LEGEND: &str = "Of files that a rank had for itself.";

/// The tables, each where the log has its counters.
pub fn sheets(run: &Run) -> Vec<Sheet> {
    let Some(trace) = run.run.trace.as_ref().filter(|trace| !trace.modules.is_empty()) else {
        return Vec::new();
    };
    let sheets =
        [layers, use_of_files, sizes, common, mounts, files, ranks].map(|sheet| sheet(trace));
    sheets.into_iter().flatten().collect()
}

/// Something with bytes and times.
trait Amounts {
    fn amounts(&self) -> &TraceAmounts;
}

impl Amounts for TraceModule {
    fn amounts(&self) -> &TraceAmounts {
        &self.amounts
    }
}

impl Amounts for &TraceFile {
    fn amounts(&self) -> &TraceAmounts {
        &self.amounts
    }
}

impl Amounts for (&TraceModule, &TraceRank) {
    fn amounts(&self) -> &TraceAmounts {
        &self.1.amounts
    }
}

impl Amounts for (&str, &str, &OnMount) {
    fn amounts(&self) -> &TraceAmounts {
        &self.2.amounts
    }
}

/// The columns that all tables share: bytes read and written, time of each kind.
fn amounts<R: Amounts>() -> [Field<R>; 5] {
    [
        optional("read", "", BYTES, 0, |one: &R| whole(one.amounts().read_bytes)),
        optional("written", "", BYTES, 0, |one| whole(one.amounts().written_bytes)),
        optional("read", "time", TIME, 0, |one| whole(one.amounts().read_ns)),
        optional("write", "time", TIME, 0, |one| whole(one.amounts().write_ns)),
        optional("metadata", "time", TIME, 0, |one| whole(one.amounts().meta_ns)),
    ]
}

fn count(count: Option<u64>) -> Cell {
    count.map_or(Cell::None, Cell::Count)
}

fn whole(figure: Option<u64>) -> Cell {
    figure.map_or(Cell::None, Cell::whole)
}

/// A share in percent; none of nothing.
fn share(part: Option<u64>, whole: Option<u64>) -> Cell {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => Cell::Text(percent(part as f64 / whole as f64)),
        _ => Cell::None,
    }
}

/// Sum of two counters of a layer, as far as the log has them.
fn both(module: &TraceModule, names: [&str; 2]) -> Option<u64> {
    let known = names.iter().filter_map(|name| module.count(name));
    known.reduce(u64::saturating_add)
}

fn transfers(module: &TraceModule) -> Option<u64> {
    both(module, ["reads", "writes"])
}

/// "job 438090 of user 69615: 4 processes for 0.02 s, Darshan 3.5.0 (format 3.41): ./app -n 4", log by log.
pub fn jobs(trace: &Trace) -> Vec<String> {
    let job = |job: &TraceJob| {
        let processes = words::count(job.processes, "process");
        let library = match &job.library[..] {
            "" => String::new(),
            library => format!(" {library}"),
        };
        let time = format_ns(job.run_ns as f64);
        let command = match job.command.trim() {
            "" => String::new(),
            command => format!(": {}", fit(&escape(command), COMMAND_LETTERS)),
        };
        format!(
            "job {} of user {}: {processes} for {time}, Darshan{library} (format {}){command}",
            job.job, job.uid, job.format
        )
    };
    let jobs: Vec<&TraceJob> = trace.logs.iter().filter_map(|log| log.job.as_ref()).collect();
    let more = jobs.len().saturating_sub(JOBS);
    let more = (more > 0).then(|| format!("{more} more jobs"));
    jobs.into_iter().take(JOBS).map(job).chain(more).collect()
}

/// Time in all calls of a log that has counters for it, nanoseconds.
pub fn time_in_calls(run: &Run) -> Option<f64> {
    let times = run.run.trace.iter().flat_map(|trace| &trace.times);
    let all_ns = times.flat_map(|one| [one.read_ns, one.write_ns, one.meta_ns]);
    Some(all_ns.map(|ns| ns as f64).sum()).filter(|all_ns| *all_ns > 0.0)
}

/// `time in calls by the log's counters, sum of ranks: MPI-IO 230 s (write 74.8 %, read 24.2 %, metadata 1.1 %); POSIX
/// and STDIO 57.5 s (..)`.
pub fn times_by_kind(trace: &Trace) -> Option<String> {
    let amounts = |one: &TraceTimes| TraceAmounts {
        read_ns: Some(one.read_ns),
        write_ns: Some(one.write_ns),
        meta_ns: Some(one.meta_ns),
        ..TraceAmounts::default()
    };
    let mut posix = TraceAmounts::default();
    trace.times.iter().for_each(|one| posix.add(&amounts(one)));
    let is_timed = |name: &&str| {
        trace.modules.iter().any(|module| module.name == *name && module.amounts.busy_ns() > 0)
    };
    let names = ["POSIX", "STDIO"].into_iter().filter(is_timed).map(String::from);
    let names = words::list(names.collect::<Vec<_>>());
    let above = trace.modules.iter().find(|module| module.name == MPI_IO);
    let above = above.and_then(|module| kinds(MPI_IO, &module.amounts));
    let below = kinds(&names, &posix);
    let all: Vec<String> = above.into_iter().chain(below).collect();
    let all = all.join("; ");
    (!all.is_empty()).then(|| format!("time in calls by the log's counters, sum of ranks: {all}"))
}

/// `MPI-IO 230 s (write 74.8 %, read 24.2 %, metadata 1.1 %)`, most time first; none without time.
fn kinds(name: &str, amounts: &TraceAmounts) -> Option<String> {
    let mut kinds =
        [("metadata", amounts.meta_ns), ("read", amounts.read_ns), ("write", amounts.write_ns)];
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.1));
    let all_ns = amounts.busy_ns() as f64;
    let share = |(kind, ns): (&str, Option<u64>)| {
        ns.map(|ns| format!("{kind} {}", percent(ns as f64 / all_ns)))
    };
    let shares: Vec<String> = kinds.into_iter().filter_map(share).collect();
    let text = || format!("{name} {} ({})", format_ns(all_ns), shares.join(", "));
    (all_ns > 0.0).then(|| text().trim_start().to_string())
}

/// A line per layer.
fn layers(trace: &Trace) -> Option<Sheet> {
    let name = |module: &TraceModule| Cell::Text(module.name.clone());
    let grid = Grid::of(
        [
            field("layer", "", Kind::Word, 0, name),
            field("files", "", COUNT, 0, |module| Cell::Count(module.files)),
            optional("opens", "", COUNT, 0, |module| count(module.count("opens"))),
            optional("reads", "", COUNT, 0, |module| count(module.count("reads"))),
            optional("writes", "", COUNT, 0, |module| count(module.count("writes"))),
            optional("collective", "", COUNT, 2, |module| {
                count(both(module, ["collective_reads", "collective_writes"]))
            }),
        ]
        .into_iter()
        .chain(amounts())
        .collect(),
        &trace.modules,
        |_| false,
    );
    let shared = trace.modules.iter().filter_map(shared);
    let overlapping = trace.modules.iter().filter_map(|module| overlapping(trace, module));
    let rates: Vec<String> = trace.modules.iter().filter_map(performance).collect();
    let rates = (!rates.is_empty())
        .then(|| format!("Performance as Darshan estimates it: {}.", rates.join("; ")));
    let partial = trace.modules.iter().filter(|module| module.is_partial).map(|module| {
        format!(
            "{}: Darshan had no room for all of its files; its figures are lower bounds.",
            module.name
        )
    });
    let notes = iter::once(LEGEND.to_string()).chain(rates).chain(shared).chain(overlapping);
    let notes = notes.chain(partial).collect();
    Some(Sheet { name: "layers", title: "Layers".into(), grid, notes })
}

/// A line per layer: how its files were used.
fn use_of_files(trace: &Trace) -> Option<Sheet> {
    let counted = |module: &&TraceModule| {
        module.read_only.is_some() || module.count("sequential_reads").is_some()
    };
    let all: Vec<&TraceModule> = trace.modules.iter().filter(counted).collect();
    let grid = Grid::of(
        vec![
            field("layer", "", Kind::Word, 0, |module: &&TraceModule| {
                Cell::Text(module.name.clone())
            }),
            field("only read", "", COUNT, 0, |module| count(module.read_only)),
            field("only written", "", COUNT, 0, |module| count(module.write_only)),
            field("both", "", COUNT, 0, |module| count(module.read_write)),
            optional("sequential", "reads", COUNT, 0, |module| {
                share(module.count("sequential_reads"), module.count("reads"))
            }),
            optional("sequential", "writes", COUNT, 0, |module| {
                share(module.count("sequential_writes"), module.count("writes"))
            }),
            optional("consecutive", "reads", COUNT, 0, |module| {
                share(module.count("consecutive_reads"), module.count("reads"))
            }),
            optional("consecutive", "writes", COUNT, 0, |module| {
                share(module.count("consecutive_writes"), module.count("writes"))
            }),
            optional("mean", "size", BYTES, 0, |module| Cell::number(mean_bytes(module))),
            optional("largest", "file", BYTES, 0, |module| whole(module.largest_file_bytes)),
        ],
        &all,
        |_| false,
    );
    Sheet::of("use-of-files", "Files and order of accesses", grid, [USE_LEGEND.into()])
}

/// Mean size of the files of a layer.
fn mean_bytes(module: &TraceModule) -> Option<f64> {
    module.file_bytes.map(|bytes| bytes as f64 / module.files.max(1) as f64)
}

/// `POSIX: 680 MiB/s by the slowest ranks`, as PyDarshan estimates performance: bytes over the longest time of a rank in
/// calls on files of its own and the times of the slowest rank of each shared file.
fn performance(module: &TraceModule) -> Option<String> {
    let own_ns = module.by_rank.iter().map(|rank| rank.amounts.busy_ns()).max().unwrap_or(0);
    let shared_ns = module.shared.as_ref().map_or(Some(0), |shared| shared.slowest_rank_ns)?;
    let seconds = own_ns.saturating_add(shared_ns) as f64 / 1e9;
    let mib_s = module.amounts.bytes() as f64 / f64::from(1 << 20) / seconds;
    (seconds > 0.0 && mib_s > 0.0).then(|| {
        let rate = Measure::ByteRate.format(mib_s, 3);
        format!("{}: {rate} by the slowest rank ({})", module.name, format_ns(seconds * 1e9))
    })
}

/// Calls took longer than the job's processes were there: they overlap.
fn overlapping(trace: &Trace, module: &TraceModule) -> Option<String> {
    let jobs = trace.logs.iter().filter_map(|log| log.job.as_ref());
    let whole_ns = jobs
        .fold(0u64, |sum, job| sum.saturating_add(job.run_ns.saturating_mul(job.processes.max(1))));
    let busy_ns = module.amounts.busy_ns();
    (whole_ns > 0 && busy_ns > whole_ns).then(|| {
        format!(
            "{}: calls took {}, the processes {}: calls of several threads overlap.",
            module.name,
            format_ns(busy_ns as f64),
            format_ns(whole_ns as f64)
        )
    })
}

/// "POSIX: 3 files shared by all ranks: slowest rank 2 s, fastest 1 s, added up over files."
fn shared(module: &TraceModule) -> Option<String> {
    let shared = module.shared.as_ref()?;
    let (slowest, fastest) = (shared.slowest_rank_ns?, shared.fastest_rank_ns?);
    let (slow, fast) = (format_ns(slowest as f64), format_ns(fastest as f64));
    let files = words::count(shared.files, "file");
    let over = if shared.files > 1 { ", added up over files" } else { "" };
    let name = &module.name;
    (slowest > fastest).then(|| {
        format!("{name}: {files} shared by all ranks: slowest rank {slow}, fastest {fast}{over}.")
    })
}

/// A line per bin of sizes, reads and writes of each layer side by side.
fn sizes(trace: &Trace) -> Option<Sheet> {
    let mut columns = vec![Column::new("bytes", "", Kind::Word, 0)];
    let mut bins: Vec<&[u64]> = Vec::new();
    for module in &trace.modules {
        for (kind, sizes) in [("reads", &module.read_sizes), ("writes", &module.write_sizes)] {
            if sizes.iter().any(|count| *count > 0) {
                let name = module.name.clone().into();
                columns.push(Column { name, unit: kind, kind: COUNT, drop_order: 0 });
                bins.push(sizes);
            }
        }
    }
    let line = |(at, name): (usize, &&str)| {
        let cells = bins.iter().map(|bins| count(bins.get(at).copied()));
        Line::plain(iter::once(Cell::Text(name.to_string())).chain(cells).collect())
    };
    let lines = SIZE_BINS.iter().enumerate().map(line).collect();
    let grid = Grid { columns, lines };
    (!bins.is_empty()).then(|| Sheet {
        name: "access-sizes",
        title: "Access sizes".into(),
        grid,
        notes: Vec::new(),
    })
}

/// A line per layer and common size.
fn common(trace: &Trace) -> Option<Sheet> {
    let all: Vec<(&TraceModule, &TraceSize)> = trace
        .modules
        .iter()
        .flat_map(|module| module.common_sizes.iter().map(move |size| (module, size)))
        .collect();
    let grid = Grid::of(
        vec![
            field("layer", "", Kind::Word, 0, |one: &(&TraceModule, &TraceSize)| {
                Cell::Text(one.0.name.clone())
            }),
            field("size", "bytes", COUNT, 0, |one| Cell::Count(one.1.bytes)),
            field("size", "", BYTES, 1, |one| Cell::whole(one.1.bytes)),
            field("accesses", "", COUNT, 0, |one| Cell::Count(one.1.count)),
            field("share", "", COUNT, 0, |one| share(Some(one.1.count), transfers(one.0))),
        ],
        &all,
        |_| false,
    );
    Sheet::of("common-sizes", "Commonest access sizes", grid, [COMMON_LEGEND.into()])
}

/// The traffic on a file system.
#[derive(Default)]
struct OnMount {
    files: BTreeSet<String>,
    amounts: TraceAmounts,
}

/// A line per file system of the job, most bytes first: calls of POSIX and STDIO.
fn mounts(trace: &Trace) -> Option<Sheet> {
    let jobs = trace.logs.iter().filter_map(|log| log.job.as_ref());
    let known: Vec<&TraceMount> = jobs.flat_map(|job| &job.mounts).collect();
    if known.is_empty() {
        return None;
    }
    let mut sums = BTreeMap::<(&str, &str), OnMount>::new();
    for file in trace.files.iter().filter(|file| is_below(&file.module)) {
        let sum = sums.entry(mount_of(&known, &file.path)).or_default();
        sum.files.insert(file.path.clone());
        sum.amounts.add(&file.amounts);
    }
    let mut all: Vec<(&str, &str, &OnMount)> =
        sums.iter().map(|((path, kind), sum)| (*path, *kind, sum)).collect();
    all.sort_by_key(|(_, _, sum)| std::cmp::Reverse((sum.amounts.bytes(), sum.amounts.busy_ns())));
    let grid = Grid::of(
        [
            field("mount", "", Kind::Label, 0, |one: &(&str, &str, &OnMount)| {
                Cell::Text(one.0.into())
            }),
            field("type", "", Kind::Word, 0, |one| Cell::Text(one.1.into())),
            field("files", "", COUNT, 0, |one| Cell::Count(one.2.files.len() as u64)),
        ]
        .into_iter()
        .chain(amounts())
        .collect(),
        &all,
        |_| false,
    );
    let unlisted: u64 =
        trace.files_more.iter().filter(|more| is_below(&more.module)).map(|more| more.files).sum();
    let unlisted = (unlisted > 0).then(|| {
        format!("Without {}, which are not kept one by one.", words::count(unlisted, "file"))
    });
    let notes = iter::once(MOUNTS_LEGEND.to_string()).chain(unlisted);
    Sheet::of("mounts", "Access by mount", grid, notes)
}

/// The calls of this layer reach the kernel: others are above it.
fn is_below(layer: &str) -> bool {
    matches!(layer, "POSIX" | "STDIO")
}

/// The mount that a path is on, and its type: the longest that it begins with.
fn mount_of<'t>(known: &[&'t TraceMount], path: &str) -> (&'t str, &'t str) {
    let holds = |mount: &&&TraceMount| {
        path.strip_prefix(mount.path.trim_end_matches('/'))
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let longest = known.iter().filter(holds).max_by_key(|mount| mount.path.len());
    longest.map_or((NO_MOUNT, ""), |mount| (&mount.path, &mount.kind))
}

/// A line per file and layer, the largest share of bytes or time first.
fn files(trace: &Trace) -> Option<Sheet> {
    let mut all: Vec<&TraceFile> = trace.files.iter().collect();
    let sum = |figure: fn(&TraceAmounts) -> u64| {
        trace.files.iter().map(|file| figure(&file.amounts)).fold(0, u64::saturating_add).max(1)
            as f64
    };
    let (bytes, busy_ns) = (sum(TraceAmounts::bytes), sum(TraceAmounts::busy_ns));
    let weight = |amounts: &TraceAmounts| {
        (amounts.bytes() as f64 / bytes).max(amounts.busy_ns() as f64 / busy_ns)
    };
    all.sort_by(|a, b| weight(&b.amounts).total_cmp(&weight(&a.amounts)));
    let hidden = all.len().saturating_sub(FILES) as u64;
    all.truncate(FILES);
    let grid = Grid::of(
        [
            field("file", "", Kind::Label, 0, |file: &&TraceFile| Cell::Text(file.path.clone())),
            field("layer", "", Kind::Word, 0, |file| Cell::Text(file.module.clone())),
            field("ranks", "", COUNT, 0, |file| Cell::Count(file.ranks)),
            optional("opens", "", COUNT, 2, |file| count(file.opens)),
            optional("reads", "", COUNT, 2, |file| count(file.reads)),
            optional("writes", "", COUNT, 2, |file| count(file.writes)),
        ]
        .into_iter()
        .chain(amounts())
        .chain([
            optional("size", "", BYTES, 3, |file: &&TraceFile| whole(file.size_bytes)),
            optional("sequential", "", COUNT, 3, |file| share(file.sequential, moves(file))),
            optional("consecutive", "", COUNT, 3, |file| share(file.consecutive, moves(file))),
            optional("first", "open", TIME, 1, |file| whole(file.first_open_ns)),
            optional("last", "close", TIME, 1, |file| whole(file.last_close_ns)),
        ])
        .collect(),
        &all,
        |_| false,
    );
    let more = (hidden > 0).then(|| format!("{hidden} more files: run.trace.files in run.json."));
    let unlisted = trace.files_more.iter().map(|more| {
        let (files, bytes) = (words::count(more.files, "file"), format_bytes(more.amounts.bytes()));
        format!("{}: {files} with fewer bytes, {bytes} together, not kept one by one.", more.module)
    });
    let notes = iter::once(FILES_LEGEND.to_string()).chain(more).chain(unlisted);
    Sheet::of("files", "Files", grid, notes)
}

fn moves(file: &TraceFile) -> Option<u64> {
    [file.reads, file.writes].into_iter().flatten().reduce(u64::saturating_add)
}

/// A line per layer and rank; where they are many, those with most time.
fn ranks(trace: &Trace) -> Option<Sheet> {
    let (mut all, mut notes) = (Vec::new(), vec![RANKS_LEGEND.to_string()]);
    for module in trace.modules.iter().filter(|module| module.by_rank.len() > 1) {
        let mut ranks: Vec<&TraceRank> = module.by_rank.iter().collect();
        let hidden = ranks.len().saturating_sub(RANKS) as u64;
        if hidden > 0 {
            ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.amounts.busy_ns()), rank.rank));
            ranks.truncate(RANKS);
            let name = &module.name;
            notes.push(format!("{name}: {hidden} more ranks with less time are in run.json."));
        }
        all.extend(ranks.into_iter().map(|rank| (module, rank)));
    }
    let grid = Grid::of(
        [
            field("layer", "", Kind::Word, 0, |one: &(&TraceModule, &TraceRank)| {
                Cell::Text(one.0.name.clone())
            }),
            field("rank", "", COUNT, 0, |one| Cell::Count(one.1.rank.into())),
        ]
        .into_iter()
        .chain(amounts())
        .collect(),
        &all,
        |_| false,
    );
    Sheet::of("ranks", "Time by rank", grid, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Terminal;
    use model::run::{TraceFilesMore, TraceShared};

    fn amounts(read_bytes: u64, read_ns: u64) -> TraceAmounts {
        TraceAmounts {
            read_bytes: Some(read_bytes),
            read_ns: Some(read_ns),
            ..TraceAmounts::default()
        }
    }

    /// A layer of two ranks, and one that counts hardly anything.
    fn run() -> Run {
        let rank = |rank| TraceRank { rank, amounts: amounts(1 << 20, 1_000_000) };
        let counts = [("opens", 3), ("reads", 4), ("writes", 0), ("sequential_reads", 3)];
        let posix = TraceModule {
            name: "POSIX".into(),
            is_partial: true,
            files: 2,
            read_only: Some(2),
            counts: counts.map(|(name, count)| (name.to_string(), count)).into(),
            amounts: amounts(2 << 20, 2_000_000),
            read_sizes: vec![0, 0, 0, 1, 3, 0, 0, 0, 0, 0],
            common_sizes: vec![TraceSize { bytes: 512 << 10, count: 3 }],
            by_rank: vec![rank(0), rank(1)],
            shared: Some(TraceShared {
                files: 1,
                slowest_rank_ns: Some(9_000_000),
                fastest_rank_ns: Some(1_000_000),
                ..TraceShared::default()
            }),
            ..TraceModule::default()
        };
        let h5f = TraceModule { name: "H5F".into(), files: 1, ..TraceModule::default() };
        let file = |path: &str, bytes| TraceFile {
            path: path.into(),
            module: "POSIX".into(),
            ranks: 2,
            amounts: amounts(bytes, 1),
            ..TraceFile::default()
        };
        let more = TraceFilesMore { module: "POSIX".into(), files: 7, amounts: amounts(1024, 0) };
        let mut run = Run::default();
        run.run.trace = Some(Trace {
            modules: vec![posix, h5f],
            files: vec![file("/d/small", 1), file("/d/large", 2 << 20)],
            files_more: vec![more],
            ..Trace::default()
        });
        run
    }

    fn text(run: &Run) -> String {
        let sheets = sheets(run).into_iter();
        let blocks: Vec<_> = sheets.map(crate::document::Block::Sheet).collect();
        crate::document::text(&blocks, Terminal { columns: 120, color: false })
    }

    #[test]
    fn layers_sizes_files_and_ranks_have_a_table_each() {
        expect_test::expect![[r#"
            Layers
            layer  files  opens  reads       read      read
                                                       time
            POSIX      2      3      4  2.000 MiB  2.000 ms
            H5F        1      -      -          -         -
            Counters of the log, all ranks together; each layer counts the calls on it, so bytes of MPI-IO are
              also in POSIX. Metadata: opens, closes, stats, seeks and syncs.
            Performance as Darshan estimates it: POSIX: 200 MiB/s by the slowest rank (10 ms).
            POSIX: 1 file shared by all ranks: slowest rank 9 ms, fastest 1 ms.
            POSIX: Darshan had no room for all of its files; its figures are lower bounds.

            Files and order of accesses
            layer  only read  only written  both  sequential
                                                       reads
            POSIX          2             -     -        75 %
            Only read, only written, both: files. Sequential: at a higher offset than the access before;
              consecutive: right behind it. Size: up to the last byte that was read or written.

            Access sizes
            bytes     POSIX
                      reads
            0-100         0
            101-1K        0
            1K-10K        0
            10K-100K      1
            100K-1M       3
            1M-4M         0
            4M-10M        0
            10M-100M      0
            100M-1G       0
            1G+           0

            Commonest access sizes
            layer    size       size  accesses  share
                    bytes
            POSIX  524288  512.0 KiB         3   75 %
            Of the four commonest sizes of each file that the log keeps.

            Files
            file      layer  ranks       read  read
                                               time
            /d/large  POSIX      2  2.000 MiB  1 ns
            /d/small  POSIX      2        1 B  1 ns
            First the files with the largest shares of bytes or of time. Times: sums over ranks. First open,
              last close: since the job began.
            POSIX: 7 files with fewer bytes, 1 KiB together, not kept one by one.

            Time by rank
            layer  rank       read      read
                                        time
            POSIX     0  1.000 MiB  1.000 ms
            POSIX     1  1.000 MiB  1.000 ms
            Of files that a rank had for itself.
        "#]].assert_eq(&text(&run()));
    }

    #[test]
    fn what_the_log_does_not_have_has_no_table() {
        assert!(sheets(&Run::default()).is_empty());
        let mut bare = run();
        let trace = bare.run.trace.as_mut().unwrap();
        trace.modules.remove(0);
        trace.files.clear();
        let names: Vec<&str> = sheets(&bare).iter().map(|sheet| sheet.name).collect();
        assert_eq!(names, ["layers"]);
        assert!(!text(&bare).contains(" 0"), "unknown is not 0: {}", text(&bare));
    }

    #[test]
    fn many_files_and_ranks_are_cut_and_the_rest_is_told() {
        let mut many = run();
        let trace = many.run.trace.as_mut().unwrap();
        trace.files = vec![trace.files[0].clone(); 30];
        trace.modules[0].by_rank = vec![trace.modules[0].by_rank[0]; 40];
        let text = text(&many);
        assert!(text.contains("10 more files"), "{text}");
        assert!(text.contains("POSIX: 24 more ranks with less time"), "{text}");
    }
}
