//! A run of counters alone -> an approximate program.
//!
//! ```text
//! counters of files ──work──▶ parts of equal transfers ──groups──▶ files that are alike ──text──▶ loops
//! ```
//!
//! Counts and bytes are those of the log, order and offsets are made up. The head of the program says so.

mod groups;
mod paths;
mod text;
mod totals;
mod work;

use crate::fold::Options;
use crate::lists::{DataFile, comment};
use crate::params::name_directories;
use crate::write::push_separated;
use groups::{Group, find_groups};
use model::run::{Trace, TraceAmounts, TraceFile, TraceFilesMore, TraceModule};
use model::units::format_ns;
use model::words::{count, list};
use std::cmp::Reverse;
use std::collections::HashMap;
use text::Writer;
use work::{Layer, Sync, Who, Work};

/// Most calls of stat after a use of a file.
const STATS_MAX: u64 = 1 << 40;

/// An approximate program.
#[derive(Clone, Debug, Default)]
pub struct Approximate {
    /// Its text.
    pub text: String,
    /// The file of its long lists and their number.
    pub data: Option<(DataFile, usize)>,
    /// Files that it works on.
    pub files: u64,
}

/// What of the counters becomes a program.
struct Source<'a> {
    trace: &'a Trace,
    ranks: u32,
    /// Files, and their paths in the program.
    files: Vec<(&'a TraceFile, String)>,
    /// Files of POSIX and MPI-IO that are in the other layer, too, and left out here.
    doubled: Vec<&'a TraceFile>,
    /// Files that nobody opens.
    unused: Vec<&'a TraceFile>,
}

/// Makes an approximate program of the counters of a job of so many ranks; `None` if no layer has any that
/// statements exist for.
pub fn approximate(trace: &Trace, ranks: u32, options: &Options) -> Option<Approximate> {
    let source = Source::new(trace, ranks.max(1));
    let mut works = source.works();
    let mut unlisted = source.unlisted();
    let calls = source.add_calls(&mut works, &mut unlisted);
    let mut groups = find_groups(works, source.ranks);
    groups.extend(unlisted);
    if groups.is_empty() {
        return None;
    }
    let mut writer = Writer::new(source.ranks, &groups, options.data.as_deref());
    let body: Vec<String> = groups.iter().map(|group| writer.group(group)).collect();
    let head = source.head(&groups, calls, options);
    Some(Approximate {
        text: program(&mut writer, body, &head),
        data: writer.data.and_then(|data| data.file(&head)),
        files: groups.iter().map(|group| group.files as u64).sum(),
    })
}

/// The parts of a program put together.
fn program(writer: &mut Writer, mut body: Vec<String>, head: &[String]) -> String {
    let mut lists = std::mem::take(&mut writer.lists);
    let directories = name_directories(&mut lists.iter_mut().chain(&mut body).collect::<Vec<_>>());
    let mut text = comment(head) + "\n";
    for line in writer.params.iter().map(String::as_str).chain(directories.lines()) {
        text.extend([line, "\n"]);
    }
    lists.iter().for_each(|line| text.extend([line, "\n"]));
    text.push('\n');
    push_separated(&mut text, &body);
    ppl::format(&text).0
}

/// Calls that are known for all files of POSIX together.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    fsyncs: u64,
    stats: u64,
}

impl<'a> Source<'a> {
    fn new(trace: &'a Trace, ranks: u32) -> Source<'a> {
        let used = |file: &&TraceFile| Layer::of_module(&file.module).is_some();
        let files = trace.files.iter().filter(used);
        let (files, unused): (Vec<_>, Vec<_>) = files.partition(|file| is_opened(file));
        let moves = |file: &TraceFile| file.reads.unwrap_or(0).max(file.writes.unwrap_or(0)) > 0;
        let of_layer = |layer: Layer| {
            let own = files.iter().filter(move |file| file.module == layer.name());
            own.map(|file| (file.path.as_str(), moves(file))).collect::<HashMap<_, _>>()
        };
        let (posix, mpi) = (of_layer(Layer::Posix), of_layer(Layer::Mpi));
        // Calls of MPI-IO became those of POSIX, unless POSIX alone moved bytes.
        let is_doubled = |file: &&TraceFile| {
            let both = posix.get(file.path.as_str()).zip(mpi.get(file.path.as_str()));
            both.is_some_and(|(posix, mpi)| match Layer::of_module(&file.module) {
                Some(Layer::Posix) => *mpi || !posix,
                Some(Layer::Mpi) => !mpi && *posix,
                _ => false,
            })
        };
        let (doubled, files): (Vec<_>, Vec<_>) =
            files.iter().copied().partition(|file| is_doubled(file));
        let paths = paths::in_program(files.iter().map(|file: &&TraceFile| file.path.as_str()));
        let files = files.into_iter().zip(paths).collect();
        Source { trace, ranks, files, doubled, unused }
    }

    fn works(&self) -> Vec<Work> {
        let mut uses: HashMap<&str, u32> = HashMap::new();
        self.files.iter().for_each(|(_, path)| *uses.entry(path).or_default() += 1);
        let work = |(file, path): &(&TraceFile, String)| {
            let layer = Layer::of_module(&file.module)?;
            let mut work = Work::new(file, path.clone(), layer, self.ranks);
            work.is_in_layers = uses[path.as_str()] > 1;
            work.reads_first |= work.is_in_layers && work.is_updated();
            Some(work)
        };
        self.files.iter().filter_map(work).collect()
    }

    fn module(&self, layer: Layer) -> Option<&TraceModule> {
        self.trace.modules.iter().find(|module| module.name == layer.name())
    }

    /// A counter of a module; 0 if the log does not have it.
    fn counter(&self, layer: Layer, name: &str) -> u64 {
        self.module(layer).and_then(|module| module.count(name)).unwrap_or(0)
    }

    /// Spreads calls of POSIX over its files; those that are left over.
    fn add_calls(&self, works: &mut [Work], unlisted: &mut [Group]) -> Calls {
        let [fsyncs, fdatasyncs, mut stats] =
            ["fsyncs", "fdatasyncs", "stats"].map(|name| self.counter(Layer::Posix, name));
        let mut fsyncs = fsyncs.saturating_add(fdatasyncs);
        let mut own: Vec<&mut Work> =
            works.iter_mut().filter(|work| work.layer == Layer::Posix).collect();
        let members = |work: &Work| work.members(self.ranks) as u64;
        let uses = own.iter().map(|work| members(work)).fold(0, u64::saturating_add);
        if self.doubled.is_empty()
            && let Some(each) = stats.checked_div(uses)
        {
            let each = each.min(STATS_MAX);
            own.iter_mut().for_each(|work| work.stats = each);
            stats -= each * uses;
        }
        own.retain(|work| work.is_written_by_posix());
        own.sort_by_key(|work| Reverse(work.bytes()));
        let is_each = fsyncs >= self.counter(Layer::Posix, "writes");
        for work in own {
            let (sync, calls) = match is_each {
                true => (Sync::AtWrite, work.writes.iter().map(|part| part.count as u64).sum()),
                false => (Sync::AtClose, members(work).saturating_mul(work.closes(self.ranks))),
            };
            if calls <= fsyncs {
                fsyncs -= calls;
                work.sync = sync;
            }
        }
        for group in unlisted.iter_mut().filter(|group| group.works[0].is_written_by_posix()) {
            if !is_each && group.files as u64 <= fsyncs {
                fsyncs -= group.files as u64;
                group.works[0].sync = Sync::AtClose;
            }
        }
        Calls { fsyncs, stats }
    }

    /// Files that the log does not list: all alike but the last, which has the rest.
    fn unlisted(&self) -> Vec<Group> {
        let groups = self.trace.files_more.iter().filter_map(|more| self.unlisted_of(more));
        groups.flatten().collect()
    }

    fn unlisted_of(&self, more: &TraceFilesMore) -> Option<Vec<Group>> {
        let layer = Layer::of_module(&more.module).filter(|_| more.files > 0)?;
        let listed = self.trace.files.iter().filter(|file| file.module == more.module);
        let rest = |name: &str, count: fn(&TraceFile) -> Option<u64>| {
            let all = self.counter(layer, name);
            let known = listed.clone().filter_map(count).fold(0, u64::saturating_add);
            Some(all.saturating_sub(known))
        };
        let all = TraceFile {
            ranks: 1,
            amounts: more.amounts,
            opens: rest("opens", |file| file.opens),
            reads: rest("reads", |file| file.reads),
            writes: rest("writes", |file| file.writes),
            ..TraceFile::default()
        };
        let (each, last) = divided(&all, more.files);
        let work = |file: &TraceFile, name: &str| {
            Work::new(file, format!("more/{}-{name}", layer.name()), layer, self.ranks)
        };
        let last = Group::of_equal(work(&last, "last"), 1);
        let each = Group::of_equal(work(&each, "file"), more.files.min(1 << 40) as usize - 1);
        Some(if each.files == 0 { vec![last] } else { vec![each, last] })
    }
}

/// Somebody opens the file, or moves bytes of it.
fn is_opened(file: &TraceFile) -> bool {
    let counts = [file.opens, file.reads, file.writes];
    counts.into_iter().flatten().any(|count| count > 0) || file.amounts.bytes() > 0
}

/// One of several files that are alike, and the last one with what is left.
fn divided(all: &TraceFile, files: u64) -> (TraceFile, TraceFile) {
    let (mut each, mut last) = (all.clone(), all.clone());
    let divide = |each: &mut Option<u64>, last: &mut Option<u64>| {
        let Some(sum) = *each else { return };
        *each = Some(sum / files);
        *last = Some(sum - sum / files * (files - 1));
    };
    divide(&mut each.opens, &mut last.opens);
    divide(&mut each.reads, &mut last.reads);
    divide(&mut each.writes, &mut last.writes);
    divide(&mut each.amounts.read_bytes, &mut last.amounts.read_bytes);
    divide(&mut each.amounts.written_bytes, &mut last.amounts.written_bytes);
    (each, last)
}

impl Source<'_> {
    /// The comment at the head: what is as recorded, and what is not.
    fn head(&self, groups: &[Group], calls: Calls, options: &Options) -> Vec<String> {
        let mut head = options.head.clone();
        head.push("APPROXIMATE: the log has no operations, only sums of each file.".into());
        let layers = [Layer::Mpi, Layer::Posix, Layer::Stdio];
        let mut differences = Vec::new();
        for (layer, module) in layers.iter().filter_map(|it| Some((*it, self.module(*it)?))) {
            let planned = totals::planned(groups, layer, self.ranks);
            let left_out = self.doubled.iter().chain(&self.unused);
            let left_out = left_out.filter(|file| file.module == layer.name());
            let recorded = totals::recorded(module, left_out.copied());
            let sums = format!("As recorded, {}: {}.", layer.name(), totals::text(&planned));
            head.extend((planned != totals::Totals::default()).then_some(sums));
            let other = totals::differences(&planned, &recorded).into_iter();
            differences.extend(other.map(|it| format!("{it} ({})", layer.name())));
        }
        let differ = (!differences.is_empty()).then(|| format!("But: {}.", list(&differences)));
        head.extend(differ);
        head.push(
            "Sizes are the common ones of each file, or means. Order, offsets and labels are made up."
                .into(),
        );
        head.extend(self.assumptions(groups));
        head.extend(self.left_out(calls));
        let prepare = if groups.iter().any(needs_files) { " --prepare" } else { "" };
        head.push(self.how_to_run(options, groups, prepare));
        head
    }

    /// Sentences on what the log does not have.
    fn assumptions(&self, groups: &[Group]) -> Vec<String> {
        let works = || groups.iter().flat_map(|group| &group.works);
        let number = |is: &dyn Fn(&Work) -> bool| works().filter(|work| is(work)).count();
        let dealt = number(&|work| work.who == Who::One(None) && self.ranks > 1);
        let first = number(&|work| matches!(work.who, Who::First(_)));
        let streams = number(&|work| work.layer == Layer::Stdio);
        let own = |work: &Work| work.layer == Layer::Mpi && work.who != Who::All;
        let made_up: usize =
            groups.iter().filter(|group| group.files > group.works.len()).map(|it| it.files).sum();
        let all = [
            (dealt, "dealt out to the ranks in turn: the log does not have their rank"),
            (first, "used by some ranks: the first ones take their place"),
            (streams, "used as streams (STDIO): here each transfer is a call, without a buffer"),
            (number(&own), "opened by MPI-IO on each rank alone (comm=\"self\")"),
            (made_up, "not listed by the run: they have names that are made up, and means"),
        ];
        let said = all.into_iter().filter(|(files, _)| *files > 0);
        said.map(|(files, what)| {
            let verb = if files == 1 { "is" } else { "are" };
            format!("{} {verb} {what}.", count(files, "file"))
        })
        .collect()
    }

    /// Sentences on what the program does not do.
    fn left_out(&self, calls: Calls) -> Vec<String> {
        let posix = |name| self.counter(Layer::Posix, name);
        let known = [
            (posix("seeks").saturating_add(self.counter(Layer::Stdio, "seeks")), "seek"),
            (calls.stats, "stat"),
            (calls.fsyncs, "fsync"),
            (posix("renames"), "rename"),
            (posix("mmaps"), "mmap"),
            (self.counter(Layer::Stdio, "syncs"), "flush of streams"),
            (self.counter(Layer::Mpi, "syncs"), "sync of MPI-IO"),
            (self.counter(Layer::Mpi, "views"), "view"),
        ];
        let calls = known.into_iter().filter(|(calls, _)| *calls > 0);
        let mut left_out: Vec<String> = calls.map(|(calls, noun)| count(calls, noun)).collect();
        let doubled = self.doubled.iter().filter(|file| file.module == Layer::Posix.name()).count();
        left_out.extend(
            (doubled > 0)
                .then(|| format!("what POSIX did to {} for MPI-IO", count(doubled, "file"))),
        );
        let unused = self.unused.len();
        left_out.extend((unused > 0).then(|| count(unused, "file that is not opened")));
        let other = self.trace.modules.iter().filter(|it| Layer::of_module(&it.name).is_none());
        left_out.extend(other.map(|module| format!("calls of {}", module.name)));
        left_out.extend(self.pauses());
        match left_out.is_empty() {
            true => Vec::new(),
            false => vec![format!("Left out: {}.", list(&left_out))],
        }
    }

    /// The time of a rank without I/O.
    fn pauses(&self) -> Option<String> {
        let jobs = self.trace.logs.iter().filter_map(|log| log.job.as_ref());
        let run_ns = jobs.map(|job| job.run_ns).max().filter(|ns| *ns > 0)?;
        let layers = self.trace.modules.iter().filter(|it| Layer::of_module(&it.name).is_some());
        let mut busy = TraceAmounts::default();
        layers.for_each(|module| busy.add(&module.amounts));
        let idle = run_ns.saturating_sub(busy.busy_ns() / u64::from(self.ranks));
        let [idle, run] = [idle, run_ns].map(|ns| format_ns(ns as f64));
        Some(format!("pauses, {idle} of {run} in the mean of all ranks"))
    }

    fn how_to_run(&self, options: &Options, groups: &[Group], prepare: &str) -> String {
        let name = options.name.as_deref().unwrap_or("FILE");
        let ranks = if self.ranks > 1 { format!(" -n {}", self.ranks) } else { String::new() };
        let is_mpi = groups.iter().any(|group| group.works[0].layer == Layer::Mpi);
        let mpi = if is_mpi { " --mpi" } else { "" };
        format!("Run it: parabench run {name}{ranks}{mpi}{prepare}")
    }
}

/// The program expects files or directories of the group.
fn needs_files(group: &Group) -> bool {
    group
        .works
        .iter()
        .any(|work| work.path.contains('/') || work.writes.is_empty() || work.reads_first)
}

#[cfg(test)]
mod tests;
