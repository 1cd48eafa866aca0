//! Files with the same work form a group, which becomes one loop.
//!
//! Alike are files below directories whose names differ in digits alone, with the same calls, ranks and rules, and
//! numbers of one order of magnitude. If there are many such groups, those with few bytes are joined: first without
//! regard to directories and magnitudes, then with mean sizes.

use super::work::{Layer, Part, Place, Sync, Who, Work};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most groups of files that are alike, and how many of more stay as they are.
const GROUPS_MAX: usize = 8;
const GROUPS_KEPT: usize = 5;

/// Files with the same work.
#[derive(Clone, Debug)]
pub struct Group {
    /// The work on each, in the order of names.
    pub works: Vec<Work>,
    /// Number of files; above that of `works` all are as the only one, and have names that are made up.
    pub files: usize,
}

/// Properties that decide the statements of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    is_in_layers: bool,
    layer: Layer,
    who: Who,
    reads_first: bool,
    is_collective: bool,
    sync: Sync,
    stats: u64,
    is_opened_evenly: bool,
    /// Rules of parts, and whether every rank has the same number of their transfers.
    reads: Vec<(Place, bool)>,
    writes: Vec<(Place, bool)>,
}

/// Orders of magnitude: opens, reads, bytes read, writes, bytes written.
type Magnitudes = [u32; 5];

impl Form {
    fn new(work: &Work, ranks: u32) -> Form {
        let places = |parts: &[Part]| parts.iter().map(|part| (part.place, part.is_even)).collect();
        let who = match work.who {
            Who::One(_) => Who::One(None),
            Who::First(_) => Who::First(0),
            Who::All => Who::All,
        };
        Form {
            is_in_layers: work.is_in_layers && !work.reads.is_empty(),
            layer: work.layer,
            who,
            reads_first: work.reads_first,
            is_collective: work.is_collective,
            sync: work.sync,
            stats: work.stats,
            is_opened_evenly: work.is_opened_evenly(ranks),
            reads: places(&work.reads),
            writes: places(&work.writes),
        }
    }
}

/// The name without the part behind its last slash, and without digits.
fn directory(path: &str) -> String {
    let end = path.rfind('/').unwrap_or(0);
    path[..end].chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn magnitudes(work: &Work) -> Magnitudes {
    let count = |parts: &[Part]| parts.iter().map(|part| part.count).sum();
    let bytes = |parts: &[Part]| parts.iter().map(|part| part.count * part.size).sum();
    let (reads, writes) = (&work.reads, &work.writes);
    let all = [work.opens, count(reads), bytes(reads), count(writes), bytes(writes)];
    all.map(|number: i64| number.checked_ilog10().map_or(0, |digits| digits + 1))
}

fn grouped<K: Ord>(works: Vec<Work>, key: impl Fn(&Work) -> K) -> Vec<Vec<Work>> {
    let mut groups: BTreeMap<K, Vec<Work>> = BTreeMap::new();
    for work in works {
        groups.entry(key(&work)).or_default().push(work);
    }
    let mut groups: Vec<Vec<Work>> = groups.into_values().collect();
    groups.sort_by_key(|works| Reverse(works.iter().map(Work::bytes).sum::<i128>()));
    groups
}

/// Groups in the order of their first opens, of a job of `ranks` ranks. Files that several layers read come first:
/// they must not be made before.
pub fn find_groups(works: Vec<Work>, ranks: u32) -> Vec<Group> {
    let alike = |work: &Work| (Form::new(work, ranks), directory(&work.path), magnitudes(work));
    let mut groups = grouped(works, alike);
    if groups.len() > GROUPS_MAX {
        let rest = groups.split_off(GROUPS_KEPT).concat();
        let mut joined = grouped(rest, |work| Form::new(work, ranks));
        let kept = joined.len().min(GROUPS_MAX - GROUPS_KEPT);
        let mut rest = joined.split_off(kept).concat();
        rest.iter_mut().for_each(Work::simplify);
        groups.extend(joined);
        groups.extend(grouped(rest, |work| Form::new(work, ranks)));
    }
    let mut groups: Vec<Group> = groups.into_iter().map(Group::new).collect();
    groups.sort_by_key(|group| {
        let read_in_layers = group.works.iter().any(|it| it.is_in_layers && !it.reads.is_empty());
        (!read_in_layers, group.works.iter().map(|work| work.first_open_ns).min())
    });
    groups
}

impl Group {
    fn new(mut works: Vec<Work>) -> Group {
        works.sort_by_cached_key(|work| (numbers(&work.path), work.path.clone()));
        let files = works.len();
        Group { works, files }
    }

    /// The sum of a figure over all files.
    pub fn sum(&self, of: impl Fn(&Work) -> i128) -> i128 {
        self.works.iter().map(of).sum::<i128>() * (self.files / self.works.len()) as i128
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> i128 {
        self.sum(Work::bytes)
    }

    /// Files that are alike and have no names.
    pub fn of_equal(work: Work, files: usize) -> Group {
        Group { works: vec![work], files }
    }
}

/// Numbers in a name, for its place among others.
fn numbers(path: &str) -> Vec<u64> {
    let runs = path.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    runs.map(|run| run.parse().unwrap_or(u64::MAX)).collect()
}
