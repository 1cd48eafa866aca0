//! Processes of an imported log, and what follows from when they began and ended: one that began after
//! another one had ended comes after it.
//!
//! ```text
//! sh ──────┬──────────────┬──────▶      cc1 before as, both before what sh does afterwards
//!          └ gcc ┬─────┬──┘
//!                └ cc1 ┘└ as
//! ```
//!
//! Only processes of one parent are compared: two pipelines that run at the same time have no
//! order. Free are threads of a process, processes without a parent in the log, and processes whose
//! begin and end are unknown.

use super::events::Events;
use super::log::{Log, Place};
use model::run::TraceThread;
use std::collections::{HashMap, HashSet};

/// Most processes that one is said to come after, those that ended last.
const BEFORE_MAX: usize = 64;

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Place of the one that started it; it stands before.
    pub parent: Option<usize>,
    /// Ranks of its threads.
    pub ranks: Vec<u32>,
    /// When it began and ended; `None`: the log does not tell.
    pub life_ns: Option<(u64, u64)>,
}

/// The processes of a log's threads, parents before children.
pub fn find_processes(threads: &[TraceThread]) -> Vec<Process> {
    let mut all: Vec<Process> = Vec::new();
    // By number of a thread the latest process: numbers come again.
    let mut by_thread: HashMap<u64, usize> = HashMap::new();
    let mut by_process: HashMap<u64, usize> = HashMap::new();
    for thread in threads {
        let parent = thread.parent.and_then(|parent| by_thread.get(&parent)).copied();
        let own = by_process.get(&thread.process).copied();
        let place = own.filter(|own| thread.thread != thread.process && parent == Some(*own));
        let place = place.unwrap_or_else(|| {
            all.push(Process { parent, ..Process::default() });
            all.len() - 1
        });
        by_thread.insert(thread.thread, place);
        by_process.insert(thread.process, place);
        all[place].ranks.extend(thread.rank);
        let life = thread.begin_ns.zip(thread.end_ns);
        all[place].life_ns = around(all[place].life_ns, life);
    }
    all
}

/// The processes of a log of which only these ranks are left, by their old numbers.
pub fn keep(processes: &mut [Process], kept: &[u32]) {
    for process in processes {
        let new = |rank: &u32| kept.iter().position(|old| old == rank).map(|new| new as u32);
        process.ranks = process.ranks.iter().filter_map(new).collect();
    }
}

fn around(a: Option<(u64, u64)>, b: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// A process with all that it started, or what a rank does while none of these begins or ends.
#[derive(Debug, Default)]
struct Part {
    begin_ns: u64,
    end_ns: u64,
    /// Operations before which nothing else of it comes.
    first: Vec<Place>,
    /// Those behind which nothing else comes.
    last: Vec<Place>,
    is_process: bool,
}

/// By operation, the operations that must end before it; transitive ones are left out.
pub fn order(log: &Log) -> HashMap<Place, Vec<Place>> {
    let mut edges = HashMap::new();
    let mut children: Vec<Vec<Part>> = log.processes.iter().map(|_| Vec::new()).collect();
    for (place, process) in log.processes.iter().enumerate().rev() {
        let mut parts = std::mem::take(&mut children[place]);
        own_parts(log, process, &mut parts);
        let whole = joined(process, &mut parts, &mut edges);
        if let Some((whole, parent)) = whole.zip(process.parent) {
            children[parent].push(whole);
        }
    }
    edges
}

/// Adds what the process itself does, cut where others of its parts begin and end.
fn own_parts(log: &Log, process: &Process, parts: &mut Vec<Part>) {
    let mut cuts: Vec<u64> =
        parts.iter().flat_map(|part| [part.begin_ns, part.end_ns.saturating_add(1)]).collect();
    cuts.sort_unstable();
    for &rank in &process.ranks {
        let Some(events) = log.ranks.get(rank as usize) else { continue };
        let mut from = 0;
        for to in cuts.iter().map(|cut| events.begun_before(*cut)).chain([events.len()]) {
            parts.extend(part_between(events, rank, from, to));
            from = from.max(to);
        }
    }
}

/// Operations of a rank from one to before another.
fn part_between(events: &Events, rank: u32, from: usize, to: usize) -> Option<Part> {
    let last = to.checked_sub(1).filter(|last| *last >= from)?;
    let (begin_ns, end_ns) = (events.get(from)?.event.start_ns, events.get(last)?.event.end_ns);
    let (first, last) = (vec![(rank, from)], vec![(rank, last)]);
    Some(Part { begin_ns, end_ns, first, last, is_process: false })
}

/// Puts the parts of a process in order, and makes one of them.
fn joined(
    process: &Process,
    parts: &mut Vec<Part>,
    edges: &mut HashMap<Place, Vec<Place>>,
) -> Option<Part> {
    parts.sort_by_key(|part| (part.begin_ns, part.end_ns, part.first.first().copied()));
    let mut by_end: Vec<&Part> = parts.iter().collect();
    by_end.sort_by_key(|part| part.end_ns);
    let (mut ended, mut implied_ns) = (0, 0);
    let mut whole = Part { is_process: true, begin_ns: u64::MAX, ..Part::default() };
    let mut begun: HashSet<u32> = HashSet::new();
    for part in &*parts {
        while by_end.get(ended).is_some_and(|other| other.end_ns < part.begin_ns) {
            implied_ns = implied_ns.max(by_end[ended].begin_ns);
            ended += 1;
        }
        // What ended before one of them began is implied.
        let before = by_end[..ended].iter().rev().take_while(|other| other.end_ns >= implied_ns);
        let before = before.filter(|other| part.is_process || other.is_process);
        let before: Vec<&Place> = before.take(BEFORE_MAX).flat_map(|other| &other.last).collect();
        for to in &part.first {
            let others = before.iter().filter(|from| from.0 != to.0).map(|from| **from);
            edges.entry(*to).or_default().extend(others);
        }
        let is_first = part.first.iter().all(|place| begun.insert(place.0));
        if before.is_empty() && is_first {
            whole.first.extend(&part.first);
        }
    }
    let last_begin_ns = parts.last().map_or(0, |part| part.begin_ns);
    let mut over: HashSet<u32> = HashSet::new();
    for part in parts.iter().rev() {
        let is_last = part.last.iter().all(|place| over.insert(place.0));
        if is_last && part.end_ns >= last_begin_ns {
            whole.last.extend(&part.last);
        }
    }
    let spans = parts.iter().map(|part| (part.begin_ns, part.end_ns));
    let span = spans.fold(None, |all, span| around(all, Some(span)))?;
    // A process can be there long before its first operation, and long after its last one.
    (whole.begin_ns, whole.end_ns) = around(Some(process.life_ns?), Some(span))?;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::super::logged::Logged;
    use super::*;

    fn thread(rank: Option<u32>, number: u64, parent: u64, life: (u64, u64)) -> TraceThread {
        TraceThread {
            rank,
            process: number,
            thread: number,
            parent: Some(parent).filter(|parent| *parent > 0),
            begin_ns: Some(life.0),
            end_ns: Some(life.1),
            ..TraceThread::default()
        }
    }

    fn log(threads: &[TraceThread], operations: &[&[(u64, u64)]]) -> Log {
        let rank = |spans: &&[(u64, u64)]| {
            let entries = spans.iter().map(|(start_ns, end_ns)| {
                let mut entry = Logged::default();
                (entry.event.start_ns, entry.event.end_ns) = (*start_ns, *end_ns);
                entry
            });
            entries.collect::<Events>()
        };
        let ranks = operations.iter().map(rank).collect();
        Log { ranks, processes: find_processes(threads), ..Log::default() }
    }

    fn edges(log: &Log) -> Vec<(Place, Place)> {
        let all = order(log).into_iter();
        let mut all: Vec<(Place, Place)> =
            all.flat_map(|(to, from)| from.into_iter().map(move |from| (from, to))).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn what_begins_after_others_have_ended_comes_after_them() {
        // A shell that starts two compilers at once, then a linker, and looks at the result.
        let threads = [
            thread(Some(0), 1, 0, (0, 100)),
            thread(Some(1), 2, 1, (10, 20)),
            thread(Some(2), 3, 1, (11, 30)),
            thread(Some(3), 4, 1, (40, 50)),
        ];
        let log = log(&threads, &[&[(1, 2), (60, 61)], &[(12, 13)], &[(25, 26)], &[(41, 45)]]);
        let expected = [
            ((0, 0), (1, 0)),
            ((0, 0), (2, 0)),
            ((1, 0), (3, 0)),
            ((2, 0), (3, 0)),
            ((3, 0), (0, 1)),
        ];
        assert_eq!(edges(&log), expected);
    }

    #[test]
    fn processes_are_compared_with_those_of_the_same_parent() {
        // (a; b) & (c; d): nobody knows that a comes before d.
        let threads = [
            thread(None, 1, 0, (0, 100)),
            thread(None, 2, 1, (1, 50)),
            thread(None, 3, 1, (2, 60)),
            thread(Some(0), 4, 2, (3, 10)),
            thread(Some(1), 5, 2, (20, 40)),
            thread(Some(2), 6, 3, (3, 11)),
            thread(Some(3), 7, 3, (30, 40)),
        ];
        let one: &[(u64, u64)] = &[(5, 6)];
        let log = log(&threads, &[one, &[(25, 26)], one, &[(35, 36)]]);
        assert_eq!(edges(&log), [((0, 0), (1, 0)), ((2, 0), (3, 0))]);
    }

    #[test]
    fn threads_and_processes_without_a_parent_are_free() {
        let mut threads = [
            thread(Some(0), 1, 0, (0, 10)),
            thread(Some(1), 2, 0, (20, 30)),
            thread(Some(2), 3, 2, (40, 50)),
        ];
        threads[2].process = 2;
        // Nobody knows how long these were there.
        let untold = |number: u64| TraceThread {
            parent: Some(2),
            begin_ns: None,
            ..threads[number as usize - 1].clone()
        };
        let untold = [threads[1].clone(), untold(1), TraceThread { process: 3, ..untold(3) }];
        assert_eq!(edges(&log(&untold, &[&[(1, 2)], &[(21, 22)], &[(41, 42)]])), []);
        let log = log(&threads, &[&[(1, 2)], &[(21, 22)], &[(41, 42)]]);
        assert_eq!(edges(&log), []);
        assert_eq!(log.processes[1].ranks, [1, 2]);
    }
}
