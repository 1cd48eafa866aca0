//! Takes one block of an area apart. `None`: its content cannot be.

use super::arrivals::{ARRIVAL_WORDS, Arrived};
use super::busy::*;
use super::extents;
use super::files;
use super::histograms::Owner;
use super::labels::{L_COUNT, L_ENTERED, L_KIND_BYTES, L_PATH, SLOTS};
use super::layout::*;
use super::read::{
    ArrivalRecord, BusyRecord, FailureRecord, LabelRecord, Occurrence, RankRecord, ShareRecord,
    SiteRecord, StatRecord, TrafficRecord, ZerosRecord,
};
use super::shares::{SHARE_WORDS, Shared};
use super::stats::*;
use super::traffic::TRAFFIC_WORDS;
use super::zeros::Z_PATH;
use super::{Usage, events::EVENT_WORDS};
use crate::clock::align::{Alignment, Offset};
use model::directory::DIRECTORIES_MAX;
use model::event::NO_ID;
use model::histogram::{CHUNKS, SUB_BUCKETS};
use model::plan::LabelKind;
use model::summary::RankFigures;
use model::{Histogram, Op, Part};
use std::ops::Range;

/// More than any rank can count; larger figures are damage and would overflow sums.
const MAX_COUNT: u64 = 1 << 46;

/// Adds a block to the record. `at`: word number of its payload.
pub(super) fn parse_block(
    record: &mut RankRecord,
    kind: Kind,
    words: &[u64],
    at: u32,
) -> Option<()> {
    match kind {
        Kind::Label => record.labels.push(label(words, at)?),
        Kind::Stat => record.stats.push(stat(words, at, record.labels.len())?),
        Kind::Parts => parts(record, words)?,
        Kind::Chunk => chunk(record, words)?,
        Kind::Occurrences => occurrences(record, words)?,
        Kind::Ring => ring(record, words)?,
        Kind::More => more(record, words)?,
        Kind::Sites => sites(record, words)?,
        Kind::Failure => record.failures.push(failure(words)?),
        Kind::FailureCount => {
            let &[site, count] = words else { return None };
            record.failure_counts.push((u32::try_from(site).ok()?, counted(count)?));
        }
        Kind::RankError => {
            let (site, len) = halves(*words.first()?);
            let message = String::from_utf8_lossy(text(&words[1..], len)?).into_owned();
            record.errors.push(((site != NO_ID).then_some(site), message));
        }
        Kind::Path => {
            let len = u32::try_from(*words.first()?).ok()?;
            text(&words[1..], len)?;
            record.paths.push((at + 1, len));
        }
        Kind::Events => {
            let (count, room) = (*words.first()?, (words.len() - 1) / EVENT_WORDS);
            let count = u32::try_from(count).ok().filter(|count| *count as usize <= room)?;
            record.event_blocks.push((at + 1, count));
        }
        Kind::Usage => record.usage = Some(usage(words)?),
        Kind::Clock => record.clock = Some(alignment(words)?),
        Kind::Extents => record.extents.push(extents::read(words)?),
        Kind::MpiFile => {
            let (ranks, len) = halves(*words.first()?);
            record.mpi_files.push(files::read(ranks, text(&words[1..], len)?)?);
        }
        Kind::Busy => busy(record, words)?,
        Kind::Share => record.shares.push(share(words, at, record.labels.len())?),
        Kind::Service => service(record, words)?,
        Kind::Arrivals => record.arrivals.push(arrivals(words, at, record.labels.len())?),
        Kind::Traffic => record.traffic.push(traffic(words, at, record.labels.len())?),
        Kind::Zeros => record.zeros.push(zeros(words, record.labels.len())?),
    }
    Some(())
}

fn counted(count: u64) -> Option<u64> {
    (count <= MAX_COUNT).then_some(count)
}

fn text(words: &[u64], len: u32) -> Option<&[u8]> {
    as_bytes(words).get(..len as usize)
}

fn id(word: u64, len: usize) -> Option<usize> {
    usize::try_from(word).ok().filter(|id| *id < len)
}

/// Exact figures whose counters stand in other blocks.
fn summary(count: u64, sum: u64, min: u64, max: u64) -> Option<Histogram> {
    let mut histogram = Histogram::default();
    histogram.add_summary(counted(count)?, sum, min, max);
    Some(histogram)
}

fn label(words: &[u64], at: u32) -> Option<LabelRecord> {
    let &[head, count, entered] = words.first_chunk()?;
    const { assert!(L_KIND_BYTES == 0 && L_COUNT == 1 && L_ENTERED == 2) };
    let (kind, len) = halves(head);
    let kind = match kind {
        0 => LabelKind::Wall,
        1 => LabelKind::Calls,
        _ => return None,
    };
    Some(LabelRecord {
        path: text(&words[L_PATH..], len)?.to_vec(),
        kind,
        position: at,
        count: counted(count)?,
        entered_ns: entered.checked_sub(1),
        kept: Vec::new(),
        more: Histogram::default(),
        busy: BusyRecord::default(),
    })
}

fn stat(words: &[u64], at: u32, labels: usize) -> Option<StatRecord> {
    let words: &[u64; STAT_WORDS] = words.try_into().ok()?;
    let (label, op) = halves(words[S_LABEL_OP]);
    if label != NO_ID && label as usize >= labels {
        return None;
    }
    let failed = counted(words[S_FAILED])? + counted(words[S_EXPECTED])?;
    let (sum, min, max) = (S_FAILED_SUM_NS, S_FAILED_MIN_NS, S_FAILED_MAX_NS);
    Some(StatRecord {
        label,
        op: Op::from_u8(u8::try_from(op).ok()?)?,
        position: at,
        figures: RankFigures {
            failed: words[S_FAILED],
            expected: words[S_EXPECTED],
            short: counted(words[S_SHORT])?,
            bytes: words[S_BYTES],
            overlap_ns: words[S_OVERLAP_NS],
            first_ns: words[S_FIRST_NS],
            last_ns: words[S_LAST_NS],
            done: summary(words[S_DONE], words[S_SUM_NS], words[S_MIN_NS], words[S_MAX_NS])?,
            service: Histogram::default(),
            failed_times: summary(failed, words[sum], words[min], words[max])?,
            parts: None,
        },
    })
}

fn traffic(words: &[u64], position: u32, labels: usize) -> Option<TrafficRecord> {
    let words: &[u64; TRAFFIC_WORDS] = words.try_into().ok()?;
    let (label, directory) = (words[0] as u32, (words[0] >> 32) as u32);
    let counts = *words[1..].first_chunk()?;
    let known = label == NO_ID || (label as usize) < labels;
    let known = known && directory as usize <= DIRECTORIES_MAX;
    known.then_some(TrafficRecord { label, directory, position, counts })
}

fn zeros(words: &[u64], labels: usize) -> Option<ZerosRecord> {
    let &[head, start, end] = words.first_chunk()?;
    let (label, len) = halves(head);
    let known = label == NO_ID || (label as usize) < labels;
    let path = text(&words[Z_PATH..], len)?.to_vec();
    (known && start < end).then_some(ZerosRecord { label, path, start, end })
}

fn share(words: &[u64], position: u32, labels: usize) -> Option<ShareRecord> {
    let words: &[u64; SHARE_WORDS] = words.try_into().ok()?;
    let (site, label) = halves(words[0]);
    let figures = *words[1..].first_chunk()?;
    for figure in figures {
        // Times may be long; what is beyond that is damage.
        (figure <= 1 << 62).then_some(())?;
    }
    let known = label == NO_ID || (label as usize) < labels;
    known.then_some(ShareRecord { label, site, position, figures: Shared::of(figures) })
}

fn arrivals(words: &[u64], position: u32, labels: usize) -> Option<ArrivalRecord> {
    let words: &[u64; ARRIVAL_WORDS] = words.try_into().ok()?;
    let (site, label) = halves(words[0]);
    let figures = *words[1..].first_chunk()?;
    for figure in figures {
        (figure <= 1 << 62).then_some(())?;
    }
    let known = label == NO_ID || (label as usize) < labels;
    let figures = Arrived::of(figures).filter(|_| known)?;
    Some(ArrivalRecord { label, site, position, figures })
}

fn service(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let &[stat, count, sum, min, max] = words else { return None };
    let stat = id(stat, record.stats.len())?;
    record.stats[stat].figures.service = summary(count, sum, min, max)?;
    Some(())
}

fn parts(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let words: &[u64; PARTS_WORDS] = words.try_into().ok()?;
    let mut parts: [Histogram; Part::COUNT] = Default::default();
    for (part, words) in parts.iter_mut().zip(words[1..].chunks_exact(PART_WORDS)) {
        *part = summary(words[0], words[1], words[2], words[3])?;
    }
    let stat = id(words[0], record.stats.len())?;
    record.stats[stat].figures.parts = Some(Box::new(parts));
    Some(())
}

fn chunk(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let words: &[u64; 1 + SUB_BUCKETS] = words.try_into().ok()?;
    let (owner, chunk) = Owner::from_word(words[0]);
    let histogram = record.histogram_mut(owner).filter(|_| chunk < CHUNKS)?;
    for (within, count) in words[1..].iter().enumerate().filter(|entry| *entry.1 > 0) {
        histogram.add_bucket(chunk * SUB_BUCKETS + within, counted(*count)?);
    }
    Some(())
}

/// Occurrences of a label in a block of slots.
fn slots<'a>(
    words: &'a [u64],
    indices: Range<u64>,
    slot: impl Fn(u64) -> u64 + 'a,
) -> impl Iterator<Item = Occurrence> + 'a {
    indices.filter_map(move |index| {
        let at = SLOTS + usize::try_from(slot(index)).ok()?.checked_mul(OCCURRENCE_WORDS)?;
        let &[start_ns, end_ns, own_ns] = words.get(at..)?.first_chunk()?;
        Some(Occurrence { index, start_ns, end_ns, own_ns })
    })
}

fn occurrences(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let &[label, first] = words.first_chunk()?;
    let label = id(label, record.labels.len())?;
    let label = &mut record.labels[label];
    let room = ((words.len() - SLOTS) / OCCURRENCE_WORDS) as u64;
    let end = first.checked_add(room)?.min(label.count).min(KEPT_FIRST);
    label.kept.extend(slots(words, first..end, |index| index - first));
    Some(())
}

fn ring(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let &[label, first] = words.first_chunk()?;
    let label = id(label, record.labels.len())?;
    let label = &mut record.labels[label];
    let first = first.max(KEPT_FIRST).max(label.count.saturating_sub(KEPT_LAST));
    let slot = |index| (index - KEPT_FIRST) % RING_SLOTS;
    label.kept.extend(slots(words, first..label.count, slot));
    Some(())
}

fn more(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let &[label, count, sum, min, max] = words else { return None };
    let label = id(label, record.labels.len())?;
    record.labels[label].more = summary(count, sum, min, max)?;
    Some(())
}

fn busy(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let words: &[u64; BUSY_WORDS] = words.try_into().ok()?;
    let label = id(words[B_LABEL], record.labels.len())?;
    let count = usize::try_from(words[B_COUNT]).ok().filter(|count| *count <= BUSY_INTERVALS)?;
    let intervals = words[B_INTERVALS..].chunks_exact(2).take(count);
    record.labels[label].busy = BusyRecord {
        intervals: intervals.map(|interval| (interval[0], interval[1])).collect(),
        gap_ns: words[B_GAP_NS],
        sum_ns: words[B_SUM_NS],
    };
    Some(())
}

fn sites(record: &mut RankRecord, words: &[u64]) -> Option<()> {
    let words: &[u64; 1 + 2 * SITES_PER_BLOCK] = words.try_into().ok()?;
    let first = u32::try_from(words[0]).ok().filter(|first| *first < u32::MAX - 64)?;
    for (site, words) in (first..).zip(words[1..].chunks_exact(2)) {
        if words[0] > 0 {
            let (count, busy_ns) = (counted(words[0])?, words[1]);
            record.sites.push(SiteRecord { site, count, busy_ns });
        }
    }
    Some(())
}

fn failure(words: &[u64]) -> Option<FailureRecord> {
    let &[site_op, offset_bytes, errno_len, detail_len] = words.first_chunk()?;
    let ((site, op), (errno, len)) = (halves(site_op), halves(errno_len));
    let rest = words.get(4 + words_for(len as usize)..)?;
    let detail_len = u32::try_from(detail_len).ok()?;
    Some(FailureRecord {
        site,
        op: Op::from_u8(u8::try_from(op).ok()?)?,
        path: text(&words[4..], len)?.to_vec(),
        detail: String::from_utf8_lossy(text(rest, detail_len)?).into_owned(),
        offset_bytes,
        errno: u16::try_from(errno).ok()?,
    })
}

fn usage(words: &[u64]) -> Option<Usage> {
    let words: &[u64; 11] = words.try_into().ok()?;
    let known = |word: u64| (word != u64::MAX).then_some(word);
    Some(Usage {
        start_ns: words[0],
        end_ns: words[1],
        cpu_ns: words[2],
        read_bytes: known(words[3]),
        write_bytes: known(words[4]),
        rchar_bytes: known(words[5]),
        wchar_bytes: known(words[6]),
        waited_ns: known(words[7]),
        preemptions: words[8],
        faults: [words[9], words[10]],
    })
}

fn alignment(words: &[u64]) -> Option<Alignment> {
    let words: &[u64; 6] = words.try_into().ok()?;
    let offset = |at: usize| Offset {
        at_ns: words[at],
        ahead_ns: words[at + 1] as i64,
        round_trip_ns: words[at + 2],
    };
    let end = (words[3..] != [u64::MAX; 3]).then(|| offset(3));
    Some(Alignment { start: offset(0), end })
}
