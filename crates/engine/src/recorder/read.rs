//! Reads an area back, whole or cut off, sound or corrupt. Never panics: what
//! cannot be understood ends the reading, and [`RankRecord::damage`] says so.
//!
//! [`Live`] reads what a rank has recorded so far. The rank does nothing for it: its area
//! lies in memory, blocks become visible when they are complete, and counters are single words.

use super::area::Source;
use super::counters::{Arrived, ClaimedWork, Process, Traffic};
use super::events::EVENT_WORDS;
use super::layout::*;
use crate::clock::Alignment;
use crate::host::Usage;
use bytemuck::{Pod, Zeroable};
use model::directory::DIRECTORIES_MAX;
use model::event::NO_ID;
use model::histogram::{CHUNKS, SUB_BUCKETS, bucket_low, bucket_mid};
use model::plan::LabelKind;
use model::run::{EventExtents, MpiFileFacts};
use model::summary::RankFigures;
use model::{Event, Histogram, Op};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// More than any rank can count; larger figures are damage and would overflow sums.
const MAX_COUNT: u64 = 1 << 46;

/// Everything one rank has recorded.
#[derive(Debug, Default)]
pub struct RankRecord {
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the world.
    pub ranks: u32,
    /// Counters of the whole rank.
    pub header: Header,
    /// How it ended.
    pub state: State,
    /// Resources it used; `None` if it was cut off.
    pub usage: Option<Usage>,
    /// How its clock relates to rank 0's, if that was measured. All times here are on
    /// rank 0's clock.
    pub clock: Option<Alignment>,
    /// MPI files it opened as member 0.
    pub mpi_files: Vec<MpiFileFacts>,
    /// Label paths by id; the first is `(more)`.
    pub labels: Vec<LabelRecord>,
    /// Extents of files that events refer to by number, from 1.
    pub extents: Vec<EventExtents>,
    /// Label and operation pairs in order of first execution.
    pub stats: Vec<StatRecord>,
    /// Traffic of labels, by directory: 0 is the run directory, others are one more than their place in the plan.
    pub(crate) traffic: Vec<Placed<Traffic>>,
    /// Work claimed with `share`, by site.
    pub claimed: Vec<Placed<ClaimedWork>>,
    /// Schedules of arrivals, by site.
    pub arrivals: Vec<Placed<Arrived>>,
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
    /// Scores in the order in which they were given.
    pub scores: Vec<ScoreRecord>,
    /// Why the rest of the area could not be read.
    pub damage: Option<String>,
    /// First word and bytes of each path name.
    paths: Vec<(usize, usize)>,
    /// First word and number of the events of each block.
    event_blocks: Vec<(usize, usize)>,
    source: Source,
}

/// A label path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRecord {
    /// `outer/inner`; bytes, usually UTF-8.
    pub path: Vec<u8>,
    /// `time` or `ctime`.
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
    pub intervals: Vec<[u64; 2]>,
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
    /// Label id, or [`NO_ID`].
    pub label: u32,
    /// The operation.
    pub op: Op,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// Counts, bytes and times of the rank.
    pub figures: RankFigures,
}

/// Zeros that a verified read found where the rank knows of no write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZerosRecord {
    /// Label id, or [`NO_ID`].
    pub label: u32,
    /// The file.
    pub path: Vec<u8>,
    /// The bytes.
    pub range: Range<u64>,
}

/// Figures of a label at a place, over all executions there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// Label id, or [`NO_ID`].
    pub label: u32,
    /// Instruction number, or the number of a directory.
    pub place: u32,
    /// Word number of its block: earlier blocks appeared earlier.
    pub position: u32,
    /// Sums over the executions.
    pub figures: T,
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
    pub(crate) fn from_words(words: Vec<u64>) -> Result<RankRecord, String> {
        RankRecord::from_source(Source::Memory(words))
    }

    fn from_source(source: Source) -> Result<RankRecord, String> {
        let mut record = RankRecord::of_figures(source.words())?;
        record.source = source;
        Ok(record)
    }

    /// Everything but the paths and events, which stay in the words.
    pub(crate) fn of_figures(words: &[u64]) -> Result<RankRecord, String> {
        let (header, _) = split_off(words).ok_or("not a rank file: it is too short")?;
        check_header(header)?;
        let mut record = RankRecord {
            rank: header.rank,
            ranks: header.ranks,
            header: *header,
            state: bytemuck::checked::try_cast(header.state).unwrap_or_default(),
            ..RankRecord::default()
        };
        record.damage = record.parse(words).err();
        record.take_counted_event(words);
        record.settle();
        record.align();
        Ok(record)
    }

    /// Reads all blocks; an error tells where and why it stopped.
    fn parse(&mut self, words: &[u64]) -> Result<(), String> {
        let used = usize::try_from(self.header.used).unwrap_or(usize::MAX);
        let end = used.min(words.len());
        let (mut at, mut blocks) = (HEADER_WORDS, 0);
        while at < end {
            let (kind, len) = split_head(words[at]);
            let wrong = |why: &str| format!("the rank file is damaged at byte {}: {why}", 8 * at);
            let payload = words[..end].get(at + 1..at + 1 + len as usize);
            let payload = payload.ok_or_else(|| wrong("a block is cut off"))?;
            let kind = kind_of(kind).ok_or_else(|| wrong("unknown kind of block"))?;
            self.add_block(kind, payload, at + 1).ok_or_else(|| wrong("bad block"))?;
            at += 1 + len as usize;
            blocks += 1;
        }
        match self.header.sequence {
            _ if used > words.len() => Err("the rank file is cut off".into()),
            sequence if sequence == blocks || sequence + 1 == blocks => Ok(()),
            sequence => Err(format!("the rank file has {blocks} blocks instead of {sequence}")),
        }
    }

    /// A rank that was killed between counting an operation and publishing its event has left both.
    fn take_counted_event(&mut self, words: &[u64]) {
        let (published, header) = (self.event_count(), &self.header);
        let counted: u64 = self.stats.iter().map(|stat| stat.figures.executions()).sum();
        let are_all = header.dropped_events == 0 && header.left_out_events == 0;
        let Some((at, count)) = self.event_blocks.last_mut() else { return };
        let slot = *at + *count * EVENT_WORDS;
        let (_, block_words) = split_head(words[*at - 2]);
        let end = *at - 1 + block_words as usize;
        let event = words.get(slot..slot + EVENT_WORDS).filter(|_| slot + EVENT_WORDS <= end);
        let seq = event.map(|event| bytemuck::cast_slice::<u64, Event>(event)[0].seq);
        if are_all && counted == published + 1 && seq == Some(published) {
            *count += 1;
        }
    }

    /// Adds a block. `at`: word number of its payload. `None`: its content is damaged.
    fn add_block(&mut self, kind: Kind, words: &[u64], at: usize) -> Option<()> {
        let position = u32::try_from(at).ok()?;
        match kind {
            Kind::Label => self.labels.push(label(words, position)?),
            Kind::Stat => self.stats.push(self.stat(whole(words)?, position)?),
            Kind::Times => self.add_times(whole(words)?)?,
            Kind::Chunk => self.add_chunk(whole(words)?)?,
            Kind::Occurrences => self.add_occurrences(words)?,
            Kind::Busy => self.add_busy(whole(words)?)?,
            Kind::Sites => self.add_sites(whole(words)?)?,
            Kind::FailureCount => {
                let &FailureCount { site, count } = whole(words)?;
                self.failure_counts.push((u32::try_from(site).ok()?, counted(count)?));
            }
            Kind::Path => {
                let (length, _) = text(words)?;
                self.paths.push((at + 1, length));
            }
            Kind::Events => {
                let (count, room) = split_off::<u64>(words)?;
                let count = usize::try_from(*count).ok()?;
                (count <= room.len() / EVENT_WORDS).then_some(())?;
                self.event_blocks.push((at + 1, count));
            }
            Kind::Extents => {
                let (pieces, runs) = split_off::<u64>(words)?;
                let runs = bytemuck::try_cast_slice(runs).ok()?.to_vec();
                self.extents.push(EventExtents { pieces: *pieces, runs });
            }
            Kind::Traffic => {
                let traffic: Placed<Traffic> = self.placed(words, position)?;
                (traffic.place as usize <= DIRECTORIES_MAX).then_some(())?;
                self.traffic.push(traffic);
            }
            Kind::ClaimedWork => self.claimed.push(self.placed(words, position)?),
            Kind::Arrivals => {
                let arrivals: Placed<Arrived> = self.placed(words, position)?;
                Process::from_u64(arrivals.figures.process)?;
                self.arrivals.push(arrivals);
            }
            Kind::Zeros => self.zeros.push(self.zeros(words)?),
            Kind::Message => self.add_message(postcard::from_bytes(text(words)?.1).ok()?),
        }
        Some(())
    }

    fn add_message(&mut self, message: Message) {
        match message {
            Message::Failure(failure) => self.failures.push(failure),
            Message::RankError(site, text) => self.errors.push((site, text)),
            Message::Usage(usage) => self.usage = Some(usage),
            Message::Clock(clock) => self.clock = Some(clock),
            Message::MpiFile(file) => self.mpi_files.push(file),
            Message::Score(score) => self.scores.push(score),
        }
    }

    /// The label id, if it is one.
    fn known_label(&self, label: u32) -> Option<u32> {
        (label == NO_ID || (label as usize) < self.labels.len()).then_some(label)
    }

    fn label_mut(&mut self, id: u64) -> Option<&mut LabelRecord> {
        self.labels.get_mut(usize::try_from(id).ok()?)
    }

    fn stat(&self, stat: &Stat, position: u32) -> Option<StatRecord> {
        Some(StatRecord {
            label: self.known_label(stat.label)?,
            op: Op::from_u8(u8::try_from(stat.op).ok()?)?,
            position,
            figures: RankFigures {
                failed: counted(stat.failed)?,
                expected: counted(stat.expected)?,
                short: counted(stat.short)?,
                bytes: stat.bytes,
                overlap_ns: stat.overlap_ns,
                first_ns: stat.first_ns,
                last_ns: stat.last_ns,
                done: histogram(&stat.done)?,
                failed_times: histogram(&stat.failed_times)?,
                ..RankFigures::default()
            },
        })
    }

    fn add_times(&mut self, times: &Times) -> Option<()> {
        *self.histogram_mut(times.owner)? = histogram(&times.summary)?;
        Some(())
    }

    fn add_chunk(&mut self, chunk: &Chunk) -> Option<()> {
        let number = usize::try_from(chunk.number).ok().filter(|number| *number < CHUNKS)?;
        let histogram = self.histogram_mut(chunk.owner)?;
        for (within, count) in chunk.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.add_bucket(number * SUB_BUCKETS + within, counted(*count)?);
        }
        Some(())
    }

    fn histogram_mut(&mut self, owner: Owner) -> Option<&mut Histogram> {
        if owner.which == Owner::MORE {
            return Some(&mut self.label_mut(owner.id.into())?.more);
        }
        let stat = &mut self.stats.get_mut(owner.id as usize)?.figures;
        match owner.which {
            Owner::DONE => Some(&mut stat.done),
            Owner::FAILED => Some(&mut stat.failed_times),
            Owner::SERVICE => Some(&mut stat.service),
            which => {
                let parts = stat.parts.get_or_insert_default();
                parts.get_mut(which.checked_sub(Owner::PARTS)? as usize)
            }
        }
    }

    fn add_occurrences(&mut self, words: &[u64]) -> Option<()> {
        let (&Occurrences { label, first }, slots) = split_off(words)?;
        let slots: &[Slot] = bytemuck::try_cast_slice(slots).ok()?;
        let label = self.label_mut(label)?;
        let (indices, base) = if first < KEPT_FIRST {
            let end = first + slots.len() as u64;
            (first..end.min(label.count).min(KEPT_FIRST), first)
        } else {
            (first.max(label.count.saturating_sub(KEPT_LAST))..label.count, KEPT_FIRST)
        };
        label.kept.extend(indices.filter_map(|index| {
            let slot = slots.get(((index - base) % RING_SLOTS) as usize)?;
            let &Slot { start_ns, end_ns, own_ns } = slot;
            Some(Occurrence { index, start_ns, end_ns, own_ns })
        }));
        Some(())
    }

    fn add_busy(&mut self, busy: &Busy) -> Option<()> {
        let intervals = busy.intervals.get(..usize::try_from(busy.count).ok()?)?;
        self.label_mut(busy.label)?.busy =
            BusyRecord { intervals: intervals.to_vec(), gap_ns: busy.gap_ns, sum_ns: busy.sum_ns };
        Some(())
    }

    fn add_sites(&mut self, sites: &Sites) -> Option<()> {
        let first = u32::try_from(sites.first).ok().filter(|first| *first < u32::MAX - 64)?;
        for (site, &SiteCount { count, busy_ns }) in (first..).zip(&sites.sites) {
            if count > 0 {
                self.sites.push(SiteRecord { site, count: counted(count)?, busy_ns });
            }
        }
        Some(())
    }

    fn placed<T: Pod>(&self, words: &[u64], position: u32) -> Option<Placed<T>> {
        let (&Key { label, place }, figures) = split_off(words)?;
        let (label, figures) = (self.known_label(label)?, *whole(figures)?);
        Some(Placed { label, place, position, figures })
    }

    fn zeros(&self, words: &[u64]) -> Option<ZerosRecord> {
        let (&Zeros { label, path_bytes, start, end }, path) = split_off(words)?;
        let path = as_bytes(path).get(..path_bytes as usize)?.to_vec();
        let label = self.known_label(label).filter(|_| start < end)?;
        Some(ZerosRecord { label, path, range: start..end })
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
            let lost = &mut self.header.lost;
            *lost = lost.saturating_add(overflow.figures.executions());
        }
    }

    /// Brings times onto rank 0's clock.
    fn align(&mut self) {
        let Some(clock) = self.clock else { return };
        let align = |ns: &mut u64| *ns = clock.aligned(*ns);
        let figures = self.stats.iter_mut().map(|stat| &mut stat.figures);
        for figures in figures.filter(|figures| figures.first_ns <= figures.last_ns) {
            [&mut figures.first_ns, &mut figures.last_ns].into_iter().for_each(align);
        }
        for label in &mut self.labels {
            for kept in &mut label.kept {
                [&mut kept.start_ns, &mut kept.end_ns].into_iter().for_each(align);
            }
            label.busy.intervals.iter_mut().flatten().for_each(align);
            label.entered_ns.iter_mut().for_each(align);
        }
        if let Some(usage) = &mut self.usage {
            [&mut usage.start_ns, &mut usage.end_ns].into_iter().for_each(align);
        }
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

    fn text(&self, (at, len): (usize, usize)) -> &[u8] {
        &as_bytes(&self.source.words()[at..])[..len]
    }

    /// The event table, in order, on rank 0's clock. Ids of paths and labels in it may be
    /// out of range when the file is damaged.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let aligned = |ns: u64| self.clock.map_or(ns, |clock| clock.aligned(ns));
        let words = self.source.words();
        let blocks = self.event_blocks.iter().map(|(at, len)| &words[*at..][..len * EVENT_WORDS]);
        let recorded = blocks.flat_map(bytemuck::cast_slice::<u64, Event>);
        recorded.map(move |event| Event {
            start_ns: aligned(event.start_ns),
            end_ns: aligned(event.end_ns),
            intended_start_ns: aligned(event.intended_start_ns),
            ..*event
        })
    }

    /// Number of events that were kept.
    pub fn event_count(&self) -> u64 {
        self.event_blocks.iter().map(|(_, count)| *count as u64).sum()
    }
}

/// An area of this version, written by a machine of the same byte order.
fn check_header(header: &Header) -> Result<(), String> {
    match (header.magic, header.byte_order, header.version) {
        (MAGIC, BYTE_ORDER, VERSION) => Ok(()),
        (MAGIC, ..) => Err("the rank file comes from another version of Parabench, or from a \
                           machine of another byte order; read it there"
            .into()),
        _ => Err("not a rank file of Parabench".into()),
    }
}

fn label(words: &[u64], position: u32) -> Option<LabelRecord> {
    let (&Label { kind, path_bytes, count, entered }, path) = split_off(words)?;
    let kinds = [LabelKind::Wall, LabelKind::Calls];
    Some(LabelRecord {
        path: as_bytes(path).get(..path_bytes as usize)?.to_vec(),
        kind: kinds.into_iter().find(|known| *known as u32 == kind)?,
        position,
        count: counted(count)?,
        entered_ns: entered.checked_sub(1),
        kept: Vec::new(),
        more: Histogram::default(),
        busy: BusyRecord::default(),
    })
}

fn counted(count: u64) -> Option<u64> {
    (count <= MAX_COUNT).then_some(count)
}

/// A struct that fills the words.
fn whole<T: Pod>(words: &[u64]) -> Option<&T> {
    split_off(words).filter(|(_, rest)| rest.is_empty()).map(|(own, _)| own)
}

/// A number of bytes, then these bytes.
fn text(words: &[u64]) -> Option<(usize, &[u8])> {
    let (length, text) = split_off::<u64>(words)?;
    let length = usize::try_from(*length).ok()?;
    Some((length, as_bytes(text).get(..length)?))
}

/// Exact figures whose counters are in other blocks.
fn histogram(summary: &Summary) -> Option<Histogram> {
    let mut histogram = Histogram::default();
    let count = counted(summary.count)?;
    histogram.add_summary(count, summary.sum_ns, summary.min_ns, summary.max_ns);
    Some(histogram)
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

/// Blocks that are followed in one look: the rest is for the next one.
const BLOCKS: usize = 4096;
/// Counters that are read in one look. With more of them, sums are not known.
const STATS: usize = 1024;

/// A reader that remembers what it has seen of a rank's area.
#[derive(Debug)]
pub struct Live {
    /// Word of the next block.
    next: u64,
    labels: Vec<Vec<u8>>,
    /// Words of the stats' payloads.
    stats: Vec<u64>,
}

/// How far one rank is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Operations done, failed ones included, and bytes that they have moved; `None` if that would
    /// take too long to tell.
    pub sums: Option<(u64, u64)>,
    /// Path of the innermost label that the rank is inside of.
    pub label: Option<Vec<u8>>,
    /// It has not ended its program.
    pub runs: bool,
}

impl Default for Live {
    fn default() -> Live {
        Live { next: HEADER_WORDS as u64, labels: Vec::new(), stats: Vec::new() }
    }
}

impl Live {
    /// How far the rank is that records there.
    ///
    /// # Errors
    /// Those of reading, or of an area that is none yet.
    pub fn look(&mut self, area: &File) -> io::Result<Seen> {
        let header: Header = read_at(area, 0)?;
        if header.magic != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.follow(area, header.used)?;
        let label = header.inside.checked_sub(1);
        let label = label.and_then(|id| self.labels.get(usize::try_from(id).ok()?));
        Ok(Seen {
            sums: self.sums(area)?,
            label: label.cloned(),
            runs: header.state == State::Running as u64,
        })
    }

    fn sums(&self, area: &File) -> io::Result<Option<(u64, u64)>> {
        if self.stats.len() > STATS {
            return Ok(None);
        }
        let (mut operations, mut bytes) = (0u64, 0u64);
        for at in &self.stats {
            let stat: Stat = read_at(area, *at)?;
            let done = [stat.done.count, stat.failed, stat.expected];
            operations = done.into_iter().fold(operations, u64::saturating_add);
            bytes = bytes.saturating_add(stat.bytes);
        }
        Ok(Some((operations, bytes)))
    }

    /// Takes note of blocks that were added.
    fn follow(&mut self, area: &File, used: u64) -> io::Result<()> {
        for _ in 0..BLOCKS {
            if self.next >= used {
                return Ok(());
            }
            let (kind, words) = split_head(read_at(area, self.next)?);
            let payload = self.next + 1;
            match kind_of(kind) {
                Some(Kind::Label) => self.labels.push(label_path(area, payload, words)?),
                Some(Kind::Stat) if words as usize >= words_of::<Stat>() => {
                    self.stats.push(payload)
                }
                _ => {}
            }
            self.next = payload + u64::from(words);
        }
        Ok(())
    }
}

/// The path in a label's block.
fn label_path(area: &File, payload: u64, words: u32) -> io::Result<Vec<u8>> {
    let Label { path_bytes, .. } = read_at(area, payload)?;
    let room = (words as usize).saturating_sub(words_of::<Label>()) * 8;
    let mut path = vec![0; (path_bytes as usize).min(room).min(MAX_LABEL_BYTES)];
    area.read_exact_at(&mut path, 8 * (payload + words_of::<Label>() as u64))?;
    Ok(path)
}

/// A struct at a word.
fn read_at<T: Pod + Zeroable>(area: &File, word: u64) -> io::Result<T> {
    let mut value = T::zeroed();
    area.read_exact_at(bytemuck::bytes_of_mut(&mut value), 8 * word)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Medium, Meta, Recorder, Timing, memory_file};
    use model::Op;
    use model::event::NO_ID;
    use model::plan::LabelKind;

    #[test]
    fn labels_and_sums_are_seen_while_the_rank_records() {
        let area = memory_file().unwrap();
        let medium = Medium::Memory(area.try_clone().unwrap().into());
        let meta = Meta { rank: 0, ranks: 1, sites: 4, events: None };
        let mut recorder = Recorder::create(medium, &meta).unwrap();
        let mut live = Live::default();
        let seen = Seen { sums: Some((0, 0)), label: None, runs: true };
        assert_eq!(live.look(&area).unwrap(), seen);
        let outer = recorder.label(NO_ID, b"outer", LabelKind::Wall);
        let inner = recorder.label(outer, b"inner", LabelKind::Wall);
        for label in [outer, inner] {
            for op in [Op::Fread, Op::Fwrite] {
                let stat = recorder.stat(label, op);
                recorder.done(stat, 1, Timing::default(), 1000, false);
            }
        }
        recorder.inside(outer);
        let label = Some(b"outer".to_vec());
        assert_eq!(live.look(&area).unwrap(), Seen { sums: Some((4, 4000)), label, runs: true });
        recorder.inside(inner);
        let stat = recorder.stat(inner, Op::Fread);
        recorder.done(stat, 1, Timing::default(), 24, false);
        let label = Some(b"outer/inner".to_vec());
        assert_eq!(live.look(&area).unwrap(), Seen { sums: Some((5, 4024)), label, runs: true });
        recorder.inside(NO_ID);
        recorder.finish(State::Finished, &Default::default());
        let seen = Seen { sums: Some((5, 4024)), label: None, runs: false };
        assert_eq!(live.look(&area).unwrap(), seen);
    }

    #[test]
    fn what_is_no_area_is_an_error() {
        let file = memory_file().unwrap();
        assert!(Live::default().look(&file).is_err());
        file.write_all_at(&[7; 4096], 0).unwrap();
        assert!(Live::default().look(&file).is_err());
    }
}
