//! Reads an area back, whole or cut off, sound or corrupt. Never panics: what
//! cannot be understood ends the reading, and [`RankRecord::damage`] says so.

use super::blocks::parse_block;
use super::events::EVENT_WORDS;
use super::histograms::Owner;
use super::layout::*;
use super::source::Source;
use super::{Arrived, Count, Shared, State, Usage};
use crate::clock::align::Alignment;
use model::histogram::{bucket_low, bucket_mid};
use model::plan::LabelKind;
use model::run::{EventExtents, MpiFileFacts};
use model::summary::RankFigures;
use model::{Event, Histogram, Op};
use std::fs::File;
use std::path::Path;

/// Everything one rank has recorded.
#[derive(Debug)]
pub struct RankRecord {
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the world.
    pub ranks: u32,
    /// How it ended.
    pub state: State,
    /// What it used; `None` if it was cut off.
    pub usage: Option<Usage>,
    /// How its clock relates to rank 0's, if that was measured. All times here are on
    /// rank 0's clock.
    pub clock: Option<Alignment>,
    /// MPI files it opened as member 0, as far as they are told.
    pub mpi_files: Vec<MpiFileFacts>,
    /// Label paths by id; the first is `(more)`.
    pub labels: Vec<LabelRecord>,
    /// Pieces of files that events refer to by number, from 1.
    pub extents: Vec<EventExtents>,
    /// Label and operation pairs in order of first execution.
    pub stats: Vec<StatRecord>,
    /// Traffic of labels.
    pub traffic: Vec<TrafficRecord>,
    /// What it had of work that was shared.
    pub shares: Vec<ShareRecord>,
    /// What became of its schedules of arrivals.
    pub arrivals: Vec<ArrivalRecord>,
    /// Where verified reads found zeros, the first of them.
    pub zeros: Vec<ZerosRecord>,
    /// Places that were executed, in no particular order.
    pub sites: Vec<SiteRecord>,
    /// Failed operations, at most 10 per site.
    pub failures: Vec<FailureRecord>,
    /// Site and number of failed operations, for every site with failures.
    pub failure_counts: Vec<(u32, u64)>,
    /// Site and message of what ended the rank.
    pub errors: Vec<(Option<u32>, String)>,
    /// Events that were not kept.
    pub dropped_events: u64,
    /// Events left out because the sample did not choose them.
    pub left_out_events: u64,
    /// Time spent on making room for events.
    pub event_overhead_ns: u64,
    /// Executions of labels that went to `(more)`.
    pub labels_beyond_limit: u64,
    /// Operations and figures lost because the area could not grow.
    pub lost: u64,
    /// Times between two readings of the clock of which the second showed less.
    pub clock_backward: u64,
    /// Why the rest of the area could not be read.
    pub damage: Option<String>,
    pub(super) paths: Vec<(u32, u32)>,
    pub(super) event_blocks: Vec<(u32, u32)>,
    source: Source,
}

/// A label path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRecord {
    /// `outer/inner`; bytes, usually UTF-8.
    pub path: Vec<u8>,
    /// What it measures.
    pub kind: LabelKind,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// Number of occurrences.
    pub count: u64,
    /// Start of the occurrence that the rank did not leave.
    pub entered_ns: Option<u64>,
    /// Those kept one by one, by index.
    pub kept: Vec<Occurrence>,
    /// Times of those not kept.
    pub more: Histogram,
    /// When those not kept were executed.
    pub busy: BusyRecord,
}

/// When a label was executed, of the occurrences that were not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyRecord {
    /// Start and end of intervals that cover them, ascending unless the file is damaged.
    pub intervals: Vec<(u64, u64)>,
    /// Gaps between occurrences shorter than this were closed; 0: none.
    pub gap_ns: u64,
    /// Sum of their wall times.
    pub sum_ns: u64,
}

/// One execution of a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occurrence {
    /// Its number on this rank, from 0.
    pub index: u64,
    /// Clock at its start.
    pub start_ns: u64,
    /// Clock at its end.
    pub end_ns: u64,
    /// Sum of the operations' own times inside.
    pub own_ns: u64,
}

/// Figures of one label and operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatRecord {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// The operation.
    pub op: Op,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// What the rank measured.
    pub figures: RankFigures,
}

/// Zeros that a verified read found where the rank knows of no write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZerosRecord {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// The file.
    pub path: Vec<u8>,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Where the bytes of a label came from and went to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficRecord {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// The directory: 0 is the run directory, others are one more than their place in the plan.
    pub directory: u32,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// By [`Count`].
    pub counts: [u64; Count::COUNT],
}

/// What a rank had of one `share`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareRecord {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// Instruction number.
    pub site: u32,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// Over all its executions.
    pub figures: Shared,
}

/// What became of one `with (rate=...)` on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalRecord {
    /// Label id, or [`model::event::NO_ID`].
    pub label: u32,
    /// Instruction number.
    pub site: u32,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// Over all its executions.
    pub figures: Arrived,
}

/// Executions of one place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteRecord {
    /// Instruction number.
    pub site: u32,
    /// Executions.
    pub count: u64,
    /// Sum of their own times.
    pub busy_ns: u64,
}

/// A failed operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRecord {
    /// Instruction number.
    pub site: u32,
    /// The operation.
    pub op: Op,
    /// Path as far as it is known.
    pub path: Vec<u8>,
    /// Position in the file.
    pub offset_bytes: u64,
    /// Linux errno.
    pub errno: u16,
    /// What the back-end said besides: class and text of an MPI error.
    pub detail: String,
}

/// Reads an area from memory. An error tells why the bytes are not one at all.
pub fn read(bytes: &[u8]) -> Result<RankRecord, String> {
    RankRecord::from_source(Source::copy(bytes))
}

/// Reads an area from a file or a memfd, which must not change any more.
pub fn read_file(file: &File) -> Result<RankRecord, String> {
    let source = Source::map(file).map_err(|error| format!("cannot map the rank file: {error}"))?;
    RankRecord::from_source(source)
}

/// Reads an area from the file at a path.
pub fn read_path(path: &Path) -> Result<RankRecord, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| at(&error))?;
    read_file(&file).map_err(|error| at(&error))
}

impl RankRecord {
    /// Reads an area that is words already.
    pub(super) fn from_words(words: Vec<u64>) -> Result<RankRecord, String> {
        RankRecord::from_source(Source::Memory(words))
    }

    fn from_source(source: Source) -> Result<RankRecord, String> {
        let words = source.words();
        let header = words.get(..HEADER_WORDS).ok_or("not a rank file: it is too short")?;
        check_header(header)?;
        let (rank, ranks) = halves(header[H_RANK]);
        let mut record = RankRecord {
            rank,
            ranks,
            state: State::from_word(header[H_STATE]).unwrap_or_default(),
            usage: None,
            clock: None,
            mpi_files: Vec::new(),
            labels: Vec::new(),
            extents: Vec::new(),
            stats: Vec::new(),
            traffic: Vec::new(),
            shares: Vec::new(),
            arrivals: Vec::new(),
            zeros: Vec::new(),
            sites: Vec::new(),
            failures: Vec::new(),
            failure_counts: Vec::new(),
            errors: Vec::new(),
            dropped_events: header[H_DROPPED_EVENTS],
            left_out_events: header[H_LEFT_OUT_EVENTS],
            event_overhead_ns: header[H_EVENT_OVERHEAD_NS],
            labels_beyond_limit: header[H_LABELS_BEYOND],
            lost: header[H_LOST],
            clock_backward: header[H_CLOCK_BACKWARD],
            damage: None,
            paths: Vec::new(),
            event_blocks: Vec::new(),
            source: Source::Memory(Vec::new()),
        };
        record.damage = record.parse(words).err();
        record.settle();
        record.align();
        record.source = source;
        Ok(record)
    }

    /// Reads all blocks; an error tells where and why it stopped.
    fn parse(&mut self, words: &[u64]) -> Result<(), String> {
        let used = usize::try_from(words[H_USED]).unwrap_or(usize::MAX);
        let end = used.min(words.len());
        let (mut at, mut blocks) = (HEADER_WORDS, 0);
        while at < end {
            let (kind, len) = halves(words[at]);
            let wrong = |why: &str| format!("the rank file is damaged at byte {}: {why}", 8 * at);
            let payload = words[..end].get(at + 1..at + 1 + len as usize);
            let payload = payload.ok_or_else(|| wrong("a block is cut off"))?;
            let kind = Kind::from_u32(kind).ok_or_else(|| wrong("unknown kind of block"))?;
            parse_block(self, kind, payload, at as u32 + 1).ok_or_else(|| wrong("bad block"))?;
            at += 1 + len as usize;
            blocks += 1;
        }
        match words[H_SEQUENCE] {
            _ if used > words.len() => Err("the rank file is cut off".into()),
            sequence if sequence == blocks || sequence + 1 == blocks => Ok(()),
            sequence => Err(format!("the rank file has {blocks} blocks instead of {sequence}")),
        }
    }

    /// Makes summaries agree with counters: a killed rank may have been between the two.
    fn settle(&mut self) {
        for stat in &mut self.stats {
            let RankFigures { parts, done, service, failed_times, .. } = &mut stat.figures;
            let parts = parts.iter_mut().flat_map(|parts| parts.iter_mut());
            parts.chain([done, service, failed_times]).for_each(settle);
        }
        for label in &mut self.labels {
            settle(&mut label.more);
            label.kept.sort_unstable_by_key(|kept| kept.index);
        }
        if !self.stats.is_empty() {
            let overflow = self.stats.remove(0);
            self.lost = self.lost.saturating_add(overflow.figures.executions());
        }
    }

    /// Brings times onto rank 0's clock.
    fn align(&mut self) {
        let Some(clock) = self.clock else { return };
        let align = |ns: &mut u64| *ns = clock.aligned(*ns);
        let figures = self.stats.iter_mut().map(|stat| &mut stat.figures);
        for figures in figures.filter(|figures| figures.first_ns <= figures.last_ns) {
            align(&mut figures.first_ns);
            align(&mut figures.last_ns);
        }
        for occurrence in self.labels.iter_mut().flat_map(|label| &mut label.kept) {
            align(&mut occurrence.start_ns);
            align(&mut occurrence.end_ns);
        }
        self.labels.iter_mut().flat_map(|label| &mut label.entered_ns).for_each(align);
        for (start_ns, end_ns) in self.labels.iter_mut().flat_map(|label| &mut label.busy.intervals)
        {
            align(start_ns);
            align(end_ns);
        }
        if let Some(usage) = &mut self.usage {
            align(&mut usage.start_ns);
            align(&mut usage.end_ns);
        }
    }

    fn aligned_ns(&self, ns: u64) -> u64 {
        self.clock.map_or(ns, |clock| clock.aligned(ns))
    }

    /// The area as it was recorded.
    pub fn as_bytes(&self) -> &[u8] {
        as_bytes(self.source.words())
    }

    /// When the rank ended; of one that was cut off, when its last operation did.
    pub fn end_ns(&self) -> u64 {
        let last_ns = self.stats.iter().map(|stat| stat.figures.last_ns).max().unwrap_or(0);
        self.usage.map_or(last_ns, |usage| usage.end_ns.max(last_ns))
    }

    /// Path names by id.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.paths.iter().map(|place| self.text(*place))
    }

    /// A path name.
    pub fn path(&self, id: u32) -> Option<&[u8]> {
        self.paths.get(id as usize).map(|place| self.text(*place))
    }

    fn text(&self, (at, len): (u32, u32)) -> &[u8] {
        &as_bytes(&self.source.words()[at as usize..])[..len as usize]
    }

    /// The event table, in order, on rank 0's clock. Ids of paths and labels in it may be
    /// out of range when the file is damaged.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let recorded = self.event_blocks.iter().flat_map(|block| self.event_block(*block));
        recorded.map(|event| Event {
            start_ns: self.aligned_ns(event.start_ns),
            end_ns: self.aligned_ns(event.end_ns),
            intended_start_ns: self.aligned_ns(event.intended_start_ns),
            ..*event
        })
    }

    /// Number of events that were kept.
    pub fn event_count(&self) -> u64 {
        self.event_blocks.iter().map(|block| u64::from(block.1)).sum()
    }

    fn event_block(&self, (at, count): (u32, u32)) -> &[Event] {
        let words = &self.source.words()[at as usize..];
        let count = (count as usize).min(words.len() / EVENT_WORDS);
        bytemuck::cast_slice(&words[..count * EVENT_WORDS])
    }

    /// The histogram that counters belong to.
    pub(super) fn histogram_mut(&mut self, owner: Owner) -> Option<&mut Histogram> {
        if owner.which == Owner::MORE {
            return Some(&mut self.labels.get_mut(owner.id as usize)?.more);
        }
        let stat = &mut self.stats.get_mut(owner.id as usize)?.figures;
        match owner.which {
            Owner::DONE => Some(&mut stat.done),
            Owner::FAILED => Some(&mut stat.failed_times),
            Owner::SERVICE => Some(&mut stat.service),
            which => stat.parts.as_mut()?.get_mut(usize::from(which - Owner::PARTS)),
        }
    }
}

fn check_header(header: &[u64]) -> Result<(), String> {
    if header[H_MAGIC] != MAGIC {
        return Err("not a rank file of Parabench".into());
    }
    if header[H_BYTE_ORDER] != BYTE_ORDER {
        return Err(
            "the rank file comes from a machine of another byte order; read it there".into()
        );
    }
    if header[H_VERSION] != VERSION {
        let found = header[H_VERSION];
        return Err(format!("the rank file has format {found}, this version reads {VERSION}"));
    }
    Ok(())
}

/// Trusts the counters where they and the summary differ.
fn settle(histogram: &mut Histogram) {
    let (Some(first), Some(last)) = (histogram.buckets.first(), histogram.buckets.last()) else {
        *histogram = Histogram::default();
        return;
    };
    if histogram.min > histogram.max {
        let (low, high) = (usize::from(first.0), usize::from(last.0));
        (histogram.min, histogram.max) = (bucket_low(low), bucket_mid(high));
    }
    histogram.count = histogram.buckets.iter().map(|bucket| bucket.1).sum();
}
