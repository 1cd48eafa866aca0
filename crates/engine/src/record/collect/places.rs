//! What has a place in the program text: sites, failures, errors.

use crate::record::layout::MAX_FAILURES_PER_SITE;
use crate::record::{FailureRecord, RankRecord};
use model::plan::{Instr, Pc};
use model::run::{Failure, RankError, Site};
use model::{Plan, errno};
use std::collections::{BTreeMap, HashMap};

/// Executions by place, in the order of the program.
pub(super) fn sites(ranks: &[&RankRecord], plan: &Plan) -> Vec<Site> {
    let mut sums = BTreeMap::<Pc, (u64, u64)>::new();
    for site in ranks.iter().flat_map(|record| &record.sites) {
        let sum = sums.entry(site.site).or_default();
        *sum = (sum.0 + site.count, sum.1.saturating_add(site.busy_ns));
    }
    let places = Places::new(plan);
    sums.into_iter().map(|(site, sum)| places.site(site, sum)).collect()
}

/// Failed operations of all ranks, rank by rank.
pub(super) fn failures(ranks: &[&RankRecord], plan: &Plan) -> Vec<Failure> {
    let places = Places::new(plan);
    ranks.iter().flat_map(|record| failures_of(record, &places)).collect()
}

fn failures_of(record: &RankRecord, places: &Places<'_>) -> Vec<Failure> {
    let counts: HashMap<Pc, u64> = record.failure_counts.iter().copied().collect();
    let mut seen = HashMap::<Pc, u64>::new();
    let one = |failure: &FailureRecord| {
        let kept = seen.entry(failure.site).or_default();
        *kept += 1;
        let is_last_kept = *kept == MAX_FAILURES_PER_SITE;
        let all = counts.get(&failure.site).copied().unwrap_or(1);
        Failure {
            rank: record.rank,
            place: places.text(failure.site),
            op: failure.op.name().into(),
            path: String::from_utf8_lossy(&failure.path).into_owned(),
            offset_bytes: failure.offset_bytes,
            errno: failure.errno,
            message: format!("{}: {}", errno::name(failure.errno), errno::text(failure.errno)),
            occurrences: if is_last_kept { all.saturating_sub(*kept - 1).max(1) } else { 1 },
        }
    };
    record.failures.iter().map(one).collect()
}

/// Why ranks did not finish, rank by rank.
pub(super) fn rank_errors(ranks: &[&RankRecord], plan: &Plan) -> Vec<RankError> {
    let places = Places::new(plan);
    let mut all = Vec::new();
    for record in ranks {
        all.extend(record.errors.iter().map(|(site, message)| RankError {
            rank: record.rank,
            place: site.map_or(String::new(), |site| places.text(site)),
            message: message.clone(),
        }));
    }
    all
}

/// Places of sites by bisection: counting lines anew for every site would take for ever.
struct Places<'a> {
    plan: &'a Plan,
    /// Start of every line in the joined text, its file and its number from 1.
    lines: Vec<(u32, usize, u32)>,
}

impl<'a> Places<'a> {
    fn new(plan: &'a Plan) -> Places<'a> {
        let lines = plan.files.iter().enumerate().flat_map(|(number, file)| {
            let ends = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            let starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1));
            (1..).zip(starts).map(move |(line, start)| (file.start + start, number, line))
        });
        Places { plan, lines: lines.collect() }
    }

    /// File, line and column from 1; `None` if the place is not known.
    fn of(&self, site: Pc) -> Option<(&'a str, u32, u32)> {
        let start = self.plan.spans.get(site as usize)?.start;
        let after = self.lines.partition_point(|line| line.0 <= start);
        let (line_start, file, line) = *self.lines.get(after.checked_sub(1)?)?;
        let file = &self.plan.files[file];
        let (from, to) = (line_start - file.start, start - file.start);
        let before = file.text.get(from as usize..to as usize)?;
        Some((&file.name, line, before.chars().count() as u32 + 1))
    }

    /// `file:line:column`, or "" if it is not known.
    fn text(&self, site: Pc) -> String {
        self.of(site)
            .map_or(String::new(), |(file, line, column)| format!("{file}:{line}:{column}"))
    }

    fn site(&self, site: Pc, (count, busy_ns): (u64, u64)) -> Site {
        let op = match self.plan.code.get(site as usize) {
            Some(Instr::Op { op, .. }) => op.name(),
            _ => "",
        };
        let (file, line, column) = self.of(site).unwrap_or(("", 0, 0));
        Site { site, op: op.into(), file: file.into(), line, column, count, busy_ns }
    }
}
