//! The merged result: places in the program text, failures (failed operations, why ranks ended early, damaged
//! records), and sums over ranks that are no rows: time, CPU, storage, dropped events, and where the bytes of a label
//! came from and went to.

use crate::recorder::layout::MAX_FAILURES_PER_SITE;
use crate::recorder::{Count, FailureRecord, RankRecord, ScoreRecord, State};
use crate::verify::examine::list_kinds;
use model::merge::{Kept, merge_all};
use model::op::Class;
use model::plan::{Instr, Pc};
use model::run::{
    ArrivalRow, CacheControl, Contention, DirectoryEvidence, Evidence, Failure, LabelEvidence,
    LabelRow, MpiFileFacts, RankError, Row, Score, ShareRow, Site, TimeRow, TimesMore,
    VerifiedData,
};
use model::units::{format_bytes, significant};
use model::{Op, Plan, errno, merged};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The merged figures of all ranks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// Summary, in order of first appearance on rank 0, then on the others.
    pub rows: Vec<Row>,
    /// Labels, in the same order.
    pub labels: Vec<LabelRow>,
    /// Label occurrences over ranks.
    pub times: Vec<TimeRow>,
    /// Occurrences that were not kept one by one.
    pub times_more: Vec<TimesMore>,
    /// Work that was shared, in order of labels and places.
    pub shares: Vec<ShareRow>,
    /// Schedules of arrivals, in the same order.
    pub arrivals: Vec<ArrivalRow>,
    /// Failed operations in full.
    pub failures: Vec<Failure>,
    /// Why ranks did not finish, as they said it themselves.
    pub rank_errors: Vec<RankError>,
    /// Figures that the program computed.
    pub scores: Vec<Score>,
    /// Operations by place in the program.
    pub sites: Vec<Site>,
    /// From the start of the run, the zero of all its times, to the latest end that is known.
    pub duration_wall_ns: u64,
    /// The evidence that the records hold; clock, confinement and the rest are the caller's.
    pub evidence: Evidence,
    /// Events that were kept.
    pub events: u64,
    /// Every rank reached the end of the program.
    pub finished: bool,
}

/// Executions and the sum of their own times, by place.
pub(crate) type SiteSums = BTreeMap<Pc, [u64; 2]>;

/// Places of sites by bisection: counting lines anew for every site would take for ever.
pub(crate) struct Places<'a> {
    plan: &'a Plan,
    /// Start of every line in the joined text, its file and its number from 1.
    lines: Vec<(u32, usize, u32)>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Places<'a> {
        let lines = plan.files.iter().enumerate().flat_map(|(number, file)| {
            let ends = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            let starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1));
            (1..).zip(starts).map(move |(line, start)| (file.start + start, number, line))
        });
        Places { plan, lines: lines.collect() }
    }

    /// File, line and column from 1; `None` if the place is not known.
    fn locate(&self, site: Pc) -> Option<(&'a str, u32, u32)> {
        let start = self.plan.spans.get(site as usize)?.start;
        let after = self.lines.partition_point(|line| line.0 <= start);
        let (line_start, file, line) = *self.lines.get(after.checked_sub(1)?)?;
        let file = &self.plan.files[file];
        let (from, to) = (line_start - file.start, start - file.start);
        let before = file.text.get(from as usize..to as usize)?;
        Some((&file.name, line, before.chars().count() as u32 + 1))
    }

    /// `file:line:column`, or "" if it is not known.
    pub(crate) fn text(&self, site: Pc) -> String {
        self.locate(site)
            .map_or(String::new(), |(file, line, column)| format!("{file}:{line}:{column}"))
    }

    /// Executions by place, in the order of the program.
    pub(crate) fn sites(&self, sums: &SiteSums) -> Vec<Site> {
        let timed = self.plan.timed(|limit| sums.get(&limit).is_some_and(|sum| sum[0] > 0));
        let sites = sums.iter().filter_map(|(site, sum)| {
            let timed = timed.get(*site as usize).is_some_and(|timed| *timed);
            Some(Site { timed, ..self.site(*site, *sum)? })
        });
        sites.collect()
    }

    /// `None`: a time limit that ended a loop, which is no operation.
    fn site(&self, site: Pc, [count, busy_ns]: [u64; 2]) -> Option<Site> {
        let op = match self.plan.code.get(site as usize) {
            Some(Instr::Op { op, .. }) => op.name(),
            Some(Instr::Limit { .. }) => return None,
            _ => "",
        };
        let (file, line, column) = self.locate(site).unwrap_or(("", 0, 0));
        let (op, file) = (op.into(), file.into());
        Some(Site { site, op, file, line, column, count, busy_ns, timed: false })
    }
}

/// Entries of each list over all ranks.
const MAX_KEPT: usize = 4096;

merged! {
    /// Failures on some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Failed {
        operations: Kept<Operation, MAX_KEPT> => sum,
        errors: Kept<(Option<Pc>, String), MAX_KEPT> => sum,
        damage: Kept<String, MAX_KEPT> => sum,
    }
}

/// A failed operation. The last one kept at a place counts for all that were not kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Operation {
    failure: FailureRecord,
    occurrences: u64,
}

impl Failed {
    pub(crate) fn of_rank(record: &RankRecord) -> Failed {
        Failed {
            operations: Kept::of_rank(record.rank, operations(record)),
            errors: Kept::of_rank(record.rank, record.errors.iter().cloned()),
            damage: Kept::of_rank(record.rank, record.damage.iter().cloned()),
        }
    }

    pub(crate) fn finish(self, places: &Places<'_>, collected: &mut Collected) {
        let beyond = [
            beyond(&self.operations, "failed operations"),
            beyond(&self.errors, "reasons of ranks that did not finish"),
            beyond(&self.damage, "damaged records"),
        ];
        let damage = self.damage.into_entries().map(|(rank, why)| format!("rank {rank}: {why}"));
        collected.evidence.notes.extend(damage.chain(beyond.into_iter().flatten()));
        let failures = self.operations.into_entries();
        collected.failures = failures.map(|(rank, one)| one.failure(rank, places)).collect();
        let errors = self.errors.into_entries().map(|(rank, (site, message))| RankError {
            rank,
            place: site.map_or(String::new(), |site| places.text(site)),
            message,
            ..RankError::default()
        });
        collected.rank_errors = errors.collect();
    }
}

fn beyond<T>(kept: &Kept<T, MAX_KEPT>, what: &str) -> Option<String> {
    let beyond = kept.beyond;
    (beyond > 0)
        .then(|| format!("{beyond} more {what} are counted but not listed: the list is full"))
}

/// Failed operations of a rank in order.
fn operations(record: &RankRecord) -> impl Iterator<Item = Operation> {
    let counts: HashMap<Pc, u64> = record.failure_counts.iter().copied().collect();
    let mut seen = HashMap::<Pc, u64>::new();
    record.failures.iter().map(move |failure| {
        let kept = seen.entry(failure.site).or_default();
        *kept += 1;
        let is_last_kept = *kept == MAX_FAILURES_PER_SITE;
        let all = counts.get(&failure.site).copied().unwrap_or(1);
        let occurrences = if is_last_kept { all.saturating_sub(*kept - 1).max(1) } else { 1 };
        Operation { failure: failure.clone(), occurrences }
    })
}

impl Operation {
    fn failure(self, rank: u32, places: &Places<'_>) -> Failure {
        let FailureRecord { site, op, path, offset_bytes, errno, at_ns, detail } = self.failure;
        let plain = format!("{}: {}", errno::name(errno), errno::text(errno));
        Failure {
            rank,
            place: places.text(site),
            op: op.name().into(),
            path: String::from_utf8_lossy(&path).into_owned(),
            offset_bytes,
            errno,
            at_ns,
            message: if detail.is_empty() { plain } else { format!("{plain} ({detail})") },
            occurrences: self.occurrences,
            ..Failure::default()
        }
    }
}

/// The last value of each name, in the order in which names were first given.
fn last_of_each(scores: Kept<ScoreRecord, MAX_KEPT>) -> Vec<Score> {
    let mut all: Vec<Score> = Vec::new();
    for (_, ScoreRecord { name, value, unit }) in scores.into_entries() {
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => (known.value, known.unit) = (value, unit),
            None => all.push(Score { name, value, unit, ..Score::default() }),
        }
    }
    all
}

/// MPI files that a run lists.
const MPI_FILES_MAX: usize = 64;

merged! {
    /// Sums over some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Sums {
        ranks: u64 => sum,
        /// Ranks that reached the end of the program.
        finished: u64 => sum,
        end_ns: u64 => max,
        events: u64 => sum,
        cpu_ns: u64 => sum,
        dropped_events: u64 => sum,
        event_overhead_ns: u64 => sum,
        labels_beyond_limit: u64 => sum,
        lost: u64 => sum,
        clock_backward: u64 => sum,
        waited: Known => sum,
        /// The longest wait of a rank, and the lowest of the ranks that waited as long.
        longest_wait: (u64, Reverse<u32>) => max,
        preemptions: u64 => sum,
        faults: [u64; 2] => sum,
        storage_read: Known => sum,
        storage_write: Known => sum,
        mpi_files: Kept<MpiFileFacts, MPI_FILES_MAX> => sum,
        scores: Kept<ScoreRecord, MAX_KEPT> => sum,
    }
}

merged! {
    /// A figure that is known only if every rank knows it.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Known {
        total: u64 => sum,
        /// Ranks that know it.
        ranks: u64 => sum,
    }
}

impl Known {
    fn of_rank(figure: Option<u64>) -> Known {
        Known { total: figure.unwrap_or(0), ranks: u64::from(figure.is_some()) }
    }

    fn by_all(&self, ranks: u64) -> Option<u64> {
        (ranks > 0 && self.ranks == ranks).then_some(self.total)
    }
}

impl Sums {
    /// The figures of one rank. `beyond`: occurrences of labels whose path was one too many for the run.
    pub(crate) fn of_rank(record: &RankRecord, beyond: u64) -> Sums {
        let usage = record.usage.unwrap_or_default();
        Sums {
            ranks: 1,
            finished: u64::from(record.state == State::Finished),
            end_ns: record.end_ns(),
            events: record.event_count(),
            cpu_ns: usage.cpu_ns,
            dropped_events: record.header.dropped_events,
            event_overhead_ns: record.header.event_overhead_ns,
            labels_beyond_limit: record.header.labels_beyond_limit.saturating_add(beyond),
            lost: record.header.lost,
            clock_backward: record.header.clock_backward,
            waited: Known::of_rank(usage.waited_ns),
            longest_wait: (usage.waited_ns.unwrap_or(0), Reverse(record.rank)),
            preemptions: usage.preemptions,
            faults: usage.faults,
            storage_read: Known::of_rank(usage.read_bytes),
            storage_write: Known::of_rank(usage.write_bytes),
            mpi_files: Kept::of_rank(record.rank, record.mpi_files.iter().cloned()),
            scores: Kept::of_rank(record.rank, record.scores.iter().cloned()),
        }
    }

    /// Adds the sums to the result, whose rows must be there.
    pub(crate) fn finish(mut self, collected: &mut Collected) {
        collected.scores = last_of_each(std::mem::take(&mut self.scores));
        collected.duration_wall_ns = self.end_ns;
        collected.events = self.events;
        collected.finished = self.finished == self.ranks;
        let labels = std::mem::take(&mut collected.evidence.labels);
        collected.evidence = self.evidence(&collected.rows, labels);
    }

    /// Every rank knows how much it fetched from storage.
    pub(crate) fn fetched_is_known(&self) -> bool {
        self.storage_read.by_all(self.ranks).is_some()
    }

    /// How long ranks waited for CPUs, if all know it.
    fn waits(&self) -> Option<Contention> {
        let (longest_wait_ns, Reverse(longest_wait_rank)) = self.longest_wait;
        Some(Contention {
            waited_ns: Some(self.waited.by_all(self.ranks)?),
            longest_wait_rank,
            longest_wait_ns,
            preemptions: self.preemptions,
            ..Contention::default()
        })
    }

    fn evidence(self, rows: &[Row], labels: Vec<LabelEvidence>) -> Evidence {
        let whole = || rows.iter().filter(|row| row.part_of.is_none());
        let bytes = |class: Class| {
            let of_class =
                whole().filter(|row| Op::find(&row.op).is_some_and(|op| op.row().class == class));
            of_class.fold(0u64, |sum, row| sum.saturating_add(row.bytes))
        };
        let program_read_bytes = bytes(Class::Read);
        let storage_read_bytes = self.storage_read.by_all(self.ranks);
        let rank_ns = self.end_ns.saturating_mul(self.ranks);
        let lost = (self.lost > 0).then(|| lost_figures(self.lost));
        let verified = verified_data(&labels, rank_ns);
        let notes = lost.into_iter().chain(verified).collect();
        Evidence {
            clock_backward: self.clock_backward,
            failed: whole().map(|row| row.failed).sum(),
            short: whole().map(|row| row.short).sum(),
            program_read_bytes,
            program_write_bytes: bytes(Class::Write),
            storage_read_bytes,
            storage_write_bytes: self.storage_write.by_all(self.ranks),
            page_cache_share: cached_share(&labels, storage_read_bytes, self.ranks),
            cached_at_open_share: cached_at_open(&labels),
            labels,
            cpu_ns: self.cpu_ns,
            page_faults: self.faults[0],
            storage_page_faults: self.faults[1],
            contention: self.waits(),
            dropped_events: self.dropped_events,
            event_overhead_ns: self.event_overhead_ns,
            labels_beyond_limit: self.labels_beyond_limit,
            mpi_io: self.mpi_files.into_entries().map(|(_, file)| file).collect(),
            notes,
            ..Evidence::default()
        }
    }
}

/// Bytes that a rank may fetch without reading data: directories, maps of blocks, pages of the program itself.
const OTHER_BYTES: u64 = 1 << 20;

/// Read-ahead can fetch more than the program reads: nothing came from the cache then. But where
/// all that was fetched may be something else, nobody knows; nor where files have holes or are
/// compressed, because fewer bytes are fetched then than read.
fn cached_share(labels: &[LabelEvidence], storage_bytes: Option<u64>, ranks: u64) -> Option<f64> {
    let sum =
        |bytes: fn(&LabelEvidence) -> u64| labels.iter().map(bytes).fold(0, u64::saturating_add);
    let direct_bytes = sum(|label| label.direct_read_bytes);
    let read_bytes = sum(|label| label.read_bytes).saturating_sub(direct_bytes);
    let is_plain = sum(|label| label.hole_bytes) == 0 && sum(|label| label.encoded_bytes) == 0;
    let storage = storage_bytes.filter(|_| read_bytes > 0 && is_plain)?;
    let storage = storage.saturating_sub(direct_bytes);
    let little = storage <= OTHER_BYTES.saturating_mul(ranks);
    match read_bytes.checked_sub(storage) {
        None | Some(0) if little => None,
        more => Some(more.unwrap_or(0) as f64 / read_bytes as f64),
    }
}

fn cached_at_open(labels: &[LabelEvidence]) -> Option<f64> {
    let sum = |bytes: fn(&LabelEvidence) -> u64| labels.iter().map(bytes).sum::<u64>();
    let looked_bytes = sum(|label| label.looked_bytes);
    (looked_bytes > 0).then(|| sum(|label| label.cached_bytes) as f64 / looked_bytes as f64)
}

merged! {
    /// Where bytes came from and went to, sums over some ranks by [`Count`].
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Traffic {
        counts: Vec<u64> => sum,
    }
}

impl Traffic {
    pub(crate) fn of_rank(counts: &[u64]) -> Traffic {
        Traffic { counts: counts.to_vec() }
    }

    fn get(&self, count: Count) -> u64 {
        self.counts.get(count as usize).copied().unwrap_or(0)
    }

    /// The evidence of one of several directories, if bytes were moved or names looked up there.
    pub(crate) fn in_directory(&self, name: &str) -> Option<DirectoryEvidence> {
        let [written_bytes, read_bytes] =
            [Count::Written, Count::Read].map(|count| self.get(count));
        let looked_names = self.get(Count::LookedNames);
        (written_bytes > 0 || read_bytes > 0 || looked_names > 0).then(|| DirectoryEvidence {
            directory: name.into(),
            written_bytes,
            unstable_bytes: self.get(Count::Unstable).min(written_bytes),
            read_bytes,
            direct_read_bytes: self.get(Count::DirectRead).min(read_bytes),
            looked_bytes: self.get(Count::Looked),
            cached_bytes: self.get(Count::Cached),
            mapped_bytes: self.get(Count::Mapped),
            hole_bytes: self.get(Count::Holes),
            encoded_bytes: self.get(Count::Encoded),
            looked_names,
            cached_names: self.get(Count::CachedNames),
        })
    }

    /// The evidence of a label that has moved bytes, looked up names or met a time limit. `fetched_is_known`: to
    /// all ranks.
    pub(crate) fn evidence(
        &self,
        label: &str,
        [written_bytes, read_bytes]: [u64; 2],
        fetched_is_known: bool,
    ) -> Option<LabelEvidence> {
        let written_bytes = written_bytes.saturating_sub(self.get(Count::NullWritten));
        let read_bytes = read_bytes.saturating_sub(self.get(Count::NullRead));
        let null_operations = self.get(Count::Nulled);
        let looked_names = self.get(Count::LookedNames);
        let verified = self.verified();
        let moved = written_bytes > 0 || read_bytes > 0 || null_operations > 0;
        let moved = moved || verified.is_some() || self.cache_control().is_some();
        let timed = self.get(Count::Timed) > 0;
        (moved || looked_names > 0 || timed).then(|| LabelEvidence {
            label: label.into(),
            written_bytes,
            // A write that failed half-way has no bytes in the rows.
            unstable_bytes: self.get(Count::Unstable).min(written_bytes),
            read_bytes,
            direct_read_bytes: self.get(Count::DirectRead).min(read_bytes),
            fetched_bytes: fetched_is_known.then(|| self.get(Count::Fetched)),
            looked_bytes: self.get(Count::Looked),
            cached_bytes: self.get(Count::Cached),
            mapped_bytes: self.get(Count::Mapped),
            hole_bytes: self.get(Count::Holes),
            encoded_bytes: self.get(Count::Encoded),
            looked_names,
            cached_names: self.get(Count::CachedNames),
            queued_calls: self.get(Count::Queued),
            queued_at_once: self.get(Count::AtOnce),
            handed_over: self.get(Count::HandedOver),
            null_operations,
            fill_ns: self.fill_ns(written_bytes),
            memory_ns: self.get(Count::MemoryNs),
            cache_control: self.cache_control(),
            verified,
            timed,
            ..LabelEvidence::default()
        })
    }

    /// About the time it took to fill what was written and not verified; `None`: it was not measured.
    fn fill_ns(&self, written_bytes: u64) -> Option<u64> {
        let [sample, ns] = [Count::MadeSample, Count::MadeSampleNs].map(|count| self.get(count));
        let made = written_bytes.saturating_sub(self.get(Count::Filled));
        (sample > 0 && made > 0).then(|| {
            let ns = u128::from(ns) * u128::from(made) / u128::from(sample);
            u64::try_from(ns).unwrap_or(u64::MAX)
        })
    }

    fn cache_control(&self) -> Option<CacheControl> {
        let control = CacheControl {
            drops: self.get(Count::Drops),
            drops_refused: self.get(Count::DropsRefused),
            drop_looked_bytes: self.get(Count::DropLooked),
            drop_kept_bytes: self.get(Count::DropKept),
            advised: self.get(Count::Advised),
            advice_looked_bytes: self.get(Count::AdviceLooked),
            advice_kept_bytes: self.get(Count::AdviceKept),
        };
        (control != CacheControl::default()).then_some(control)
    }

    fn verified(&self) -> Option<VerifiedData> {
        let data = VerifiedData {
            filled_bytes: self.get(Count::Filled),
            fill_ns: self.get(Count::FillNs),
            checked_bytes: self.get(Count::Checked),
            check_ns: self.get(Count::CheckNs),
            zero_bytes: self.get(Count::Zeros),
            zero_places: self.get(Count::ZeroPlaces),
            zeros: Vec::new(),
            wrong_zeros: self.get(Count::WrongZeros),
            wrong_older: self.get(Count::WrongOlder),
            wrong_other: self.get(Count::WrongOther),
        };
        (data != VerifiedData::default()).then_some(data)
    }
}

/// Figures that did not fit into the ranks' files.
fn lost_figures(figures: u64) -> String {
    format!("{figures} figures were lost because the ranks' files could not grow: a disk is full")
}

/// `verify=true: 1 GiB filled (0.05 ns/B), 1 GiB checked (0.04 ns/B), ...`; nothing where nothing was
/// verified. `rank_ns`: the time of all ranks together.
fn verified_data(labels: &[LabelEvidence], rank_ns: u64) -> Option<String> {
    let mut verified = labels.iter().filter_map(|label| label.verified.clone()).peekable();
    verified.peek()?;
    let all = merge_all(verified);
    let mut parts = Vec::new();
    parts.extend(amount(all.filled_bytes, all.fill_ns, "filled"));
    parts.extend(amount(all.checked_bytes, all.check_ns, "checked"));
    let spent_ns = all.fill_ns.saturating_add(all.check_ns);
    if rank_ns > 0 && spent_ns > 0 {
        let percent = 100.0 * spent_ns as f64 / rank_ns as f64;
        parts.push(format!("{} % of the ranks' time, in no operation", significant(percent)));
    }
    if all.zero_bytes > 0 {
        let bytes = format_bytes(all.zero_bytes);
        parts.push(format!(
            "{bytes} were zeros where the reading rank knows of no write (holes, or data of others that is lost)"
        ));
    }
    let wrong = list_kinds([all.wrong_zeros, all.wrong_older, all.wrong_other]);
    parts.push(match (wrong.is_empty(), all.checked_bytes) {
        (true, 0) => "nothing was read to be checked".to_string(),
        (true, _) if all.zero_bytes > 0 => "no other byte was wrong".to_string(),
        (true, _) => "nothing was wrong".to_string(),
        (false, _) => format!("WRONG PLACES: {wrong}"),
    });
    Some(format!("verify=true: {}", parts.join(", ")))
}

fn amount(bytes: u64, ns: u64, what: &str) -> Option<String> {
    let cost = match ns {
        0 => String::new(),
        ns => format!(" ({} ns/B)", significant(ns as f64 / bytes.max(1) as f64)),
    };
    (bytes > 0).then(|| format!("{} {what}{cost}", format_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_verified_is_one_sentence() {
        let label = |verified: VerifiedData| LabelEvidence {
            verified: Some(verified),
            ..LabelEvidence::default()
        };
        assert_eq!(verified_data(&[LabelEvidence::default()], 1), None);
        let zeros =
            VerifiedData { checked_bytes: 8192, zero_bytes: 4096, ..VerifiedData::default() };
        assert_eq!(
            verified_data(&[label(zeros)], 1).as_deref(),
            Some(
                "verify=true: 8 KiB checked, 4 KiB were zeros where the reading rank knows of no write \
             (holes, or data of others that is lost), no other byte was wrong"
            )
        );
        let wrote = VerifiedData { filled_bytes: 4096, fill_ns: 2048, ..VerifiedData::default() };
        let read = VerifiedData {
            checked_bytes: 8192,
            zero_bytes: 1024,
            wrong_zeros: 2,
            wrong_other: 1,
            ..VerifiedData::default()
        };
        assert_eq!(
            verified_data(&[label(wrote), label(read)], 20_480).as_deref(),
            Some(
                "verify=true: 4 KiB filled (0.5 ns/B), 8 KiB checked, 10 % of the ranks' time, in no \
             operation, 1 KiB were zeros where the reading rank knows of no write (holes, or data of \
             others that is lost), WRONG PLACES: 2 zeros, 1 other data"
            )
        );
    }
}
