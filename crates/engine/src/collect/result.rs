//! The merged result, the places in the program text that it names, and failures: failed operations, why ranks ended
//! early, damaged records.

use crate::recorder::layout::MAX_FAILURES_PER_SITE;
use crate::recorder::{FailureRecord, RankRecord};
use model::merge::Kept;
use model::plan::{Instr, Pc};
use model::run::{
    ArrivalRow, Evidence, Failure, LabelRow, RankError, Row, ShareRow, Site, TimeRow, TimesMore,
};
use model::{Plan, errno, merged};
use serde::{Deserialize, Serialize};
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
pub(super) type SiteSums = BTreeMap<Pc, [u64; 2]>;

/// Places of sites by bisection: counting lines anew for every site would take for ever.
pub(super) struct Places<'a> {
    plan: &'a Plan,
    /// Start of every line in the joined text, its file and its number from 1.
    lines: Vec<(u32, usize, u32)>,
}

impl<'a> Places<'a> {
    pub(super) fn new(plan: &'a Plan) -> Places<'a> {
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
    pub(super) fn text(&self, site: Pc) -> String {
        self.locate(site)
            .map_or(String::new(), |(file, line, column)| format!("{file}:{line}:{column}"))
    }

    /// Executions by place, in the order of the program.
    pub(super) fn sites(&self, sums: &SiteSums) -> Vec<Site> {
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
    pub(super) struct Failed {
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
    pub(super) fn of_rank(record: &RankRecord) -> Failed {
        Failed {
            operations: Kept::of_rank(record.rank, operations(record)),
            errors: Kept::of_rank(record.rank, record.errors.iter().cloned()),
            damage: Kept::of_rank(record.rank, record.damage.iter().cloned()),
        }
    }

    pub(super) fn finish(self, places: &Places<'_>, collected: &mut Collected) {
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
        let FailureRecord { site, op, path, offset_bytes, errno, detail } = self.failure;
        let plain = format!("{}: {}", errno::name(errno), errno::text(errno));
        Failure {
            rank,
            place: places.text(site),
            op: op.name().into(),
            path: String::from_utf8_lossy(&path).into_owned(),
            offset_bytes,
            errno,
            message: if detail.is_empty() { plain } else { format!("{plain} ({detail})") },
            occurrences: self.occurrences,
            ..Failure::default()
        }
    }
}
