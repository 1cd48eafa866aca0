//! A run of counters alone -> an approximate program.
//!
//! ```text
//! counters of files ──work──▶ parts of equal transfers ──groups──▶ files that are alike ──text──▶ loops
//! ```
//!
//! Counts and bytes come from the log, order and offsets are made up. The head of the program says so.

mod groups;
mod head;
mod paths;
mod text;
mod totals;
mod work;

use crate::fold::Options;
use crate::lists::{DataFile, comment};
use crate::params::name_directories;
use crate::write::{assert_ranks, push_separated};
use groups::{Group, find_groups};
use model::run::{Trace, TraceFile, TraceFilesMore, TraceModule};
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
}

/// The counters that become a program.
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

/// Makes an approximate program of the counters of a job of `ranks` ranks; `None` if no layer has any that
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
        text: program(&mut writer, body, &head, &asserted_ranks(&groups, source.ranks)),
        data: writer.data.and_then(|data| data.file(&head)),
    })
}

/// The parts of a program put together.
fn program(
    writer: &mut Writer,
    mut body: Vec<String>,
    head: &[String],
    asserted_ranks: &str,
) -> String {
    let mut lists = std::mem::take(&mut writer.lists);
    let directories = name_directories(&mut lists.iter_mut().chain(&mut body).collect::<Vec<_>>());
    let mut text = comment(head) + "\n" + asserted_ranks;
    for line in writer.params.iter().map(String::as_str).chain(directories.lines()) {
        text.extend([line, "\n"]);
    }
    lists.iter().for_each(|line| text.extend([line, "\n"]));
    text.push('\n');
    push_separated(&mut text, &body);
    ppl::format(&text).0
}

/// Where some ranks share a file, fewer ranks than theirs would leave a part of the work out.
fn asserted_ranks(groups: &[Group], ranks: u32) -> String {
    let is_of_some = |group: &Group| matches!(group.works[0].who, Who::First(_));
    if groups.iter().any(is_of_some) { assert_ranks(">=", ranks) } else { String::new() }
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
        // Calls of MPI-IO became calls of POSIX, unless POSIX alone moved bytes.
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

#[cfg(test)]
mod tests;
