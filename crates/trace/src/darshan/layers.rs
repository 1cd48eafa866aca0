//! Adds up the records of layers: by file, by rank and all together.

use model::run::{
    TraceAmounts, TraceFile, TraceFilesMore, TraceJob, TraceModule, TraceRank, TraceShared,
    TraceSize, add_known,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Names of sums in the run, and the counters of Darshan that are added.
pub(super) const COUNTS: [(&str, &[&str]); 31] = [
    ("opens", &["OPENS", "CREATES", "INDEP_OPENS", "COLL_OPENS"]),
    ("reads", &["READS", "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"]),
    ("writes", &["WRITES", "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"]),
    ("sequential_reads", &["SEQ_READS"]),
    ("sequential_writes", &["SEQ_WRITES"]),
    ("consecutive_reads", &["CONSEC_READS"]),
    ("consecutive_writes", &["CONSEC_WRITES"]),
    ("filenos", &["FILENOS"]),
    ("dups", &["DUPS"]),
    ("fdopens", &["FDOPENS"]),
    ("creates", &["CREATES"]),
    ("seeks", &["SEEKS"]),
    ("stats", &["STATS"]),
    ("mmaps", &["MMAPS"]),
    ("renames", &["RENAME_SOURCES"]),
    ("fsyncs", &["FSYNCS"]),
    ("fdatasyncs", &["FDSYNCS"]),
    ("syncs", &["FSYNCS", "FDSYNCS", "SYNCS", "FLUSHES"]),
    ("views", &["VIEWS"]),
    ("independent_opens", &["INDEP_OPENS"]),
    ("collective_opens", &["COLL_OPENS"]),
    ("independent_reads", &["INDEP_READS"]),
    ("independent_writes", &["INDEP_WRITES"]),
    ("collective_reads", &["COLL_READS"]),
    ("collective_writes", &["COLL_WRITES"]),
    ("split_transfers", &["SPLIT_READS", "SPLIT_WRITES"]),
    ("nonblocking_reads", &["NB_READS"]),
    ("nonblocking_writes", &["NB_WRITES"]),
    ("switches", &["RW_SWITCHES"]),
    ("memory_unaligned", &["MEM_NOT_ALIGNED"]),
    ("file_unaligned", &["FILE_NOT_ALIGNED"]),
];
/// Files of a layer that are listed.
const FILES_LISTED: usize = 1000;
/// Files of a layer that are told apart, and different access sizes that are counted.
const FILES_MAX: usize = 1 << 22;
const SIZES_MAX: usize = 1 << 20;
/// Access sizes of a file that are kept.
const SIZES_OF_FILE: usize = 8;
/// Ranks of a layer that are listed.
const RANKS_LISTED: usize = 1 << 16;

/// What one record says of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub id: u64,
    /// `None`: all ranks together.
    pub rank: Option<u32>,
    pub amounts: TraceAmounts,
    /// By place in [`COUNTS`].
    pub counts: Vec<Option<u64>>,
    /// Behind the last byte that was read or written.
    pub end_bytes: Option<u64>,
    pub read_sizes: Option<[u64; 10]>,
    pub write_sizes: Option<[u64; 10]>,
    pub common: Vec<TraceSize>,
    pub first_open_ns: Option<u64>,
    pub last_close_ns: Option<u64>,
    pub slowest_rank: Option<u32>,
    pub slowest_rank_ns: Option<u64>,
    pub fastest_rank_ns: Option<u64>,
}

/// A layer so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub is_partial: bool,
    name: &'static str,
    counts: [Option<u64>; COUNTS.len()],
    amounts: TraceAmounts,
    read_sizes: Option<[u64; 10]>,
    write_sizes: Option<[u64; 10]>,
    common: HashMap<u64, u64>,
    files: HashMap<u64, TraceFile>,
    ranks: BTreeMap<u32, TraceAmounts>,
    shared: Option<TraceShared>,
    /// Ranks of the logs before.
    first_rank: u32,
}

/// All layers of the logs, in Darshan's order.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: BTreeMap<usize, Layer>,
    first_rank: u32,
}

impl Layers {
    pub(super) fn layer(&mut self, order: usize, name: &'static str) -> &mut Layer {
        let layer = self.layers.entry(order).or_default();
        (layer.name, layer.first_rank) = (name, self.first_rank);
        layer
    }

    /// Ranks of the next log are others.
    pub(super) fn end_log(&mut self, ranks: u64) {
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX).max(1);
        self.first_rank = self.first_rank.saturating_add(ranks);
    }

    /// Layers, their files, and sums of files that are not listed.
    pub fn finish(self) -> (Vec<TraceModule>, Vec<TraceFile>, Vec<TraceFilesMore>) {
        let (mut modules, mut files, mut more) = (Vec::new(), Vec::new(), Vec::new());
        for mut layer in self.layers.into_values() {
            let mut of_layer: Vec<TraceFile> =
                std::mem::take(&mut layer.files).into_values().collect();
            modules.push(layer.finish(&of_layer));
            of_layer.sort_by_cached_key(|file| {
                let amounts = &file.amounts;
                (Reverse(amounts.bytes()), Reverse(amounts.busy_ns()), file.path.clone())
            });
            let unlisted = of_layer.split_off(of_layer.len().min(FILES_LISTED));
            files.append(&mut of_layer);
            more.extend(sum_of(&unlisted));
        }
        (modules, files, more)
    }
}

/// The files as one; none of none.
fn sum_of(files: &[TraceFile]) -> Option<TraceFilesMore> {
    let mut amounts = TraceAmounts::default();
    files.iter().for_each(|file| amounts.add(&file.amounts));
    let module = files.first()?.module.clone();
    Some(TraceFilesMore { module, files: files.len() as u64, amounts })
}

impl Layer {
    /// Adds a record.
    pub(super) fn add(&mut self, record: &Record, path: Option<&[u8]>, job: &TraceJob) {
        self.amounts.add(&record.amounts);
        let counts = self.counts.iter_mut().zip(&record.counts);
        counts.for_each(|(sum, count)| add_known(sum, *count));
        add_bins(&mut self.read_sizes, record.read_sizes);
        add_bins(&mut self.write_sizes, record.write_sizes);
        for TraceSize { bytes, count } in &record.common {
            if self.common.len() < SIZES_MAX || self.common.contains_key(bytes) {
                let sum = self.common.entry(*bytes).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        match record.rank {
            Some(rank) => {
                let rank = self.first_rank.saturating_add(rank);
                self.ranks.entry(rank).or_default().add(&record.amounts);
            }
            None => add_shared(self.shared.get_or_insert_default(), record),
        }
        self.add_file(record, path, job);
    }

    fn add_file(&mut self, record: &Record, path: Option<&[u8]>, job: &TraceJob) {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&record.id) {
            return;
        }
        let file = self.files.entry(record.id).or_insert_with(|| TraceFile {
            path: match path {
                Some(path) => String::from_utf8_lossy(path).into_owned(),
                None => format!("record-{}", record.id),
            },
            module: self.name.into(),
            ..TraceFile::default()
        });
        let ranks = if record.rank.is_some() { 1 } else { job.processes };
        file.ranks = file.ranks.saturating_add(ranks);
        let rank = record.rank.map(|rank| self.first_rank.saturating_add(rank));
        file.rank = rank.filter(|_| file.ranks == 1);
        file.amounts.add(&record.amounts);
        file.size_bytes = file.size_bytes.max(record.end_bytes);
        let count = |at: usize| record.counts.get(at).copied().flatten();
        add_known(&mut file.opens, count(0));
        add_known(&mut file.reads, count(1));
        add_known(&mut file.writes, count(2));
        (3..5).for_each(|at| add_known(&mut file.sequential, count(at)));
        (5..7).for_each(|at| add_known(&mut file.consecutive, count(at)));
        (23..25).for_each(|at| add_known(&mut file.collective, count(at)));
        add_sizes(&mut file.common_sizes, &record.common);
        let opens = [file.first_open_ns, record.first_open_ns];
        file.first_open_ns = opens.into_iter().flatten().min();
        file.last_close_ns = file.last_close_ns.max(record.last_close_ns);
        if record.rank.is_none() {
            file.slowest_rank =
                record.slowest_rank.map(|rank| self.first_rank.saturating_add(rank));
            file.slowest_rank_ns = record.slowest_rank_ns;
        }
    }

    fn finish(self, files: &[TraceFile]) -> TraceModule {
        let known = COUNTS.iter().zip(self.counts);
        let known = known.filter_map(|((name, _), count)| Some((name.to_string(), count?)));
        let has_bytes = self.amounts.read_bytes.is_some() || self.amounts.written_bytes.is_some();
        let moved = |file: &TraceFile| {
            let amounts = &file.amounts;
            let moved = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes > 0);
            (moved(amounts.read_bytes), moved(amounts.written_bytes))
        };
        let with = |which: (bool, bool)| {
            has_bytes.then(|| files.iter().filter(|file| moved(file) == which).count() as u64)
        };
        let ends = || files.iter().filter_map(|file| file.size_bytes);
        let mut sizes: Vec<(u64, u64)> = self.common.into_iter().collect();
        sizes.sort_by_key(|(bytes, count)| (Reverse(*count), *bytes));
        let size = |(bytes, count)| TraceSize { bytes, count };
        let rank = |(rank, amounts)| TraceRank { rank, amounts };
        TraceModule {
            name: self.name.into(),
            is_partial: self.is_partial,
            files: files.len() as u64,
            file_bytes: ends().reduce(u64::saturating_add),
            largest_file_bytes: ends().max(),
            read_only: with((true, false)),
            write_only: with((false, true)),
            read_write: with((true, true)),
            counts: known.collect(),
            amounts: self.amounts,
            read_sizes: self.read_sizes.map(Vec::from).unwrap_or_default(),
            write_sizes: self.write_sizes.map(Vec::from).unwrap_or_default(),
            common_sizes: sizes.into_iter().take(4).map(size).collect(),
            by_rank: self.ranks.into_iter().take(RANKS_LISTED).map(rank).collect(),
            shared: self.shared,
        }
    }
}

/// Adds access sizes of a file, and keeps the commonest.
fn add_sizes(sizes: &mut Vec<TraceSize>, more: &[TraceSize]) {
    for one in more {
        match sizes.iter_mut().find(|size| size.bytes == one.bytes) {
            Some(size) => size.count = size.count.saturating_add(one.count),
            None => sizes.push(*one),
        }
    }
    sizes.sort_by_key(|size| (Reverse(size.count), size.bytes));
    sizes.truncate(SIZES_OF_FILE);
}

/// Adds a record of all ranks together.
fn add_shared(shared: &mut TraceShared, record: &Record) {
    shared.files = shared.files.saturating_add(1);
    shared.amounts.add(&record.amounts);
    add_known(&mut shared.slowest_rank_ns, record.slowest_rank_ns);
    add_known(&mut shared.fastest_rank_ns, record.fastest_rank_ns);
}

fn add_bins(sums: &mut Option<[u64; 10]>, more: Option<[u64; 10]>) {
    if let Some(more) = more {
        let sums = sums.get_or_insert_default();
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }
}
