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
//!
//! A process that another one starts later sleeps until then: it was not
//! there, so it takes no CPU from those that are. And a process whose pause is filled by others
//! that come and go waits for them.
//!
//! ```text
//! first operations at 2, 3, 391, 395 ms  ─▶  0, 0, 390, 390 ms
//! ```

use super::events::Events;
use super::log::{Log, Place, Process};
use super::pauses::Think;
use model::run::TraceThread;
use std::collections::{HashMap, HashSet};

/// Most processes that one is said to come after, those that ended last.
const BEFORE_MAX: usize = 64;

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

/// By rank that several processes have: from which time on it does the work of which process.
pub fn find_turns(log: &Log) -> Vec<Vec<(u64, u32)>> {
    let mut lives: Vec<Vec<(u64, u64, u32)>> = vec![Vec::new(); log.ranks.len()];
    for (place, process) in (0..).zip(&log.processes) {
        let Some((begin_ns, end_ns)) = process.life_ns else { continue };
        for rank in &process.ranks {
            lives[*rank as usize].push((begin_ns, end_ns, place));
        }
    }
    lives.into_iter().map(|lives| if lives.len() > 1 { turns(lives) } else { Vec::new() }).collect()
}

/// A process works while those that it started do not.
fn turns(mut lives: Vec<(u64, u64, u32)>) -> Vec<(u64, u32)> {
    lives.sort_unstable();
    let (mut turns, mut alive) = (Vec::new(), Vec::new());
    let end = |turns: &mut Vec<(u64, u32)>, alive: &mut Vec<(u64, u32)>, before_ns: u64| {
        while let Some((end_ns, _)) = alive.pop_if(|(end_ns, _)| *end_ns < before_ns) {
            turns.extend(alive.last().map(|(_, parent)| (end_ns + 1, *parent)));
        }
    };
    for (begin_ns, end_ns, process) in lives {
        end(&mut turns, &mut alive, begin_ns);
        alive.push((end_ns, process));
        turns.push((begin_ns, process));
    }
    end(&mut turns, &mut alive, u64::MAX);
    turns
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
    /// Ranks of its processes.
    ranks: Vec<u32>,
    is_process: bool,
}

impl Part {
    /// The operation that a rank begins at this time is its own.
    fn has(&self, rank: u32, ns: u64) -> bool {
        self.is_process && (self.begin_ns..=self.end_ns).contains(&ns) && self.ranks.contains(&rank)
    }
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

/// Adds what the process itself does, cut where others of its parts begin and end. Processes that work in turns
/// have one rank.
fn own_parts(log: &Log, process: &Process, parts: &mut Vec<Part>) {
    let mut cuts: Vec<u64> =
        parts.iter().flat_map(|part| [part.begin_ns, part.end_ns.saturating_add(1)]).collect();
    cuts.sort_unstable();
    let (begin_ns, end_ns) = process.life_ns.unwrap_or((0, u64::MAX));
    let mut own = Vec::new();
    for &rank in &process.ranks {
        let Some(events) = log.ranks.get(rank as usize) else { continue };
        let mut from = events.begun_before(begin_ns);
        for cut in cuts.iter().copied().chain([end_ns.saturating_add(1)]) {
            let to = events.begun_before(cut);
            let part = part_between(events, rank, from, to);
            own.extend(part.filter(|own| !parts.iter().any(|part| part.has(rank, own.begin_ns))));
            from = from.max(to);
        }
    }
    parts.extend(own);
}

/// Operations of a rank from one to before another.
fn part_between(events: &Events, rank: u32, from: usize, to: usize) -> Option<Part> {
    let last = to.checked_sub(1).filter(|last| *last >= from)?;
    let (begin_ns, end_ns) = (events.get(from)?.event.start_ns, events.get(last)?.event.end_ns);
    let (first, last) = (vec![(rank, from)], vec![(rank, last)]);
    Some(Part { begin_ns, end_ns, first, last, ranks: vec![rank], is_process: false })
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

/// Ranks that begin within this share of the whole time begin together.
const SAME_START: f64 = 0.01;
/// And those within this time.
const SAME_START_NS: u64 = 1_000_000;
/// And siblings within this one, which a process takes to start: which of them is first is chance.
const SIBLINGS_NS: u64 = 10 * SAME_START_NS;
/// And ranks of Parabench, which leave a barrier together, within this one: more ranks than CPUs wait for
/// their turns.
const OWN_NS: u64 = 50 * SAME_START_NS;

/// By rank: the start of its first operation and the end of its last.
fn spans(log: &Log) -> impl Iterator<Item = Option<(u64, u64)>> {
    log.ranks.iter().map(|rank| {
        let last_ns = rank.iter().map(|entry| entry.event.end_ns).max()?;
        Some((rank.first()?.event.start_ns, last_ns))
    })
}

/// How far apart ranks began that are to begin together, if longer than usual, nanoseconds: those whose
/// processes were all started by one that is no rank, such as `mpirun`, or by Parabench, and which are at work
/// side by side.
pub fn chance_ns(log: &Log) -> Option<u64> {
    let spans: Vec<(u64, u64)> = spans(log).flatten().collect();
    let (firsts, lasts) = (spans.iter().map(|span| span.0), spans.iter().map(|span| span.1));
    let (first, latest) = (firsts.clone().min()?, firsts.max()?);
    let apart_ns = latest - first;
    let within_ns = match log.imported {
        true if are_siblings(log) => SIBLINGS_NS,
        true => 0,
        false => OWN_NS,
    };
    let chance = apart_ns <= within_ns && lasts.min()? > latest;
    (chance && apart_ns > SAME_START_NS).then_some(apart_ns)
}

/// All ranks have one parent, which is no rank.
fn are_siblings(log: &Log) -> bool {
    let mut own = log.processes.iter().filter(|process| !process.ranks.is_empty());
    let Some(Some(parent)) = own.next().map(|first| first.parent) else { return false };
    let mut all = log.processes.iter().filter(|process| !process.ranks.is_empty());
    all.all(|process| process.parent == Some(parent) && process.ranks.len() == 1)
}

/// By rank: when it begins after the first one, microseconds. Empty if all begin together.
pub fn starts(log: &Log, think: Think) -> Vec<i64> {
    if think == Think::None || think != Think::Exact && chance_ns(log).is_some() {
        return Vec::new();
    }
    let Lifetimes { spans: begun, end_ns } = Lifetimes::find(log);
    let Some((first, _)) = begun.first().copied() else { return Vec::new() };
    let apart = ((end_ns.saturating_sub(first)) as f64 * SAME_START) as u64;
    let groups = group_starts(begun.iter().map(|span| span.0).collect(), apart.max(SAME_START_NS));
    let start_us = |at: Option<u64>| {
        let mean = at.and_then(|at| groups.iter().rev().find(|group| group.first <= at));
        let late_ns = mean.map_or(0, |group| group.mean).saturating_sub(groups[0].mean);
        match (think, at) {
            (Think::Exact, Some(at)) if late_ns > 0 => ((at - first) / 1000) as i64,
            _ => rounded(late_ns / 1000),
        }
    };
    let starts: Vec<i64> = spans(log).map(|span| start_us(span.map(|span| span.0))).collect();
    if starts.iter().all(|start| *start == 0) { Vec::new() } else { starts }
}

/// Ranks that begin together: when the first one of them does, and when they do in the mean.
struct Group {
    first: u64,
    mean: u64,
}

fn group_starts(times: Vec<u64>, apart: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut rest = &times[..];
    while let Some(&first) = rest.first() {
        let (now, later) = rest.split_at(rest.partition_point(|at| at - first <= apart));
        let late: u128 = now.iter().map(|at| u128::from(at - first)).sum();
        groups.push(Group { first, mean: first + (late / now.len() as u128) as u64 });
        rest = later;
    }
    groups
}

/// When the ranks of a log are at work.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// Start of the first operation and end of the last, by the former.
    spans: Vec<(u64, u64)>,
    /// End of the last operation of all.
    end_ns: u64,
}

impl Lifetimes {
    /// Those of all ranks.
    pub fn find(log: &Log) -> Lifetimes {
        let mut spans: Vec<(u64, u64)> = spans(log).flatten().collect();
        spans.sort_unstable();
        let end_ns = spans.iter().map(|(_, last)| *last).max().unwrap_or(0);
        Lifetimes { spans, end_ns }
    }

    /// When the first rank begins.
    pub fn begin_ns(&self) -> u64 {
        self.spans.first().map_or(0, |(first, _)| *first)
    }

    /// From the first operation's start to the last one's end.
    pub fn whole_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns())
    }

    /// Most ranks that are at work at a time.
    pub fn most_at_once(&self) -> usize {
        let mut ends: Vec<u64> = self.spans.iter().map(|(_, last)| *last).collect();
        ends.sort_unstable();
        let at_work = |(begun, (first, _)): (usize, &(u64, u64))| {
            (begun + 1).saturating_sub(ends.partition_point(|end| end <= first))
        };
        self.spans.iter().enumerate().map(at_work).max().unwrap_or(0)
    }

    /// Ranks that begin and end between these times are at work for half of it at least.
    pub fn fill(&self, from_ns: u64, to_ns: u64) -> bool {
        let begun = self.spans.partition_point(|(first, _)| *first < from_ns);
        let begun = self.spans[begun..].iter().take_while(|(first, _)| *first < to_ns);
        let mut within = begun.filter(|(_, last)| *last <= to_ns);
        let Some(&(first, last)) = within.next() else { return false };
        let last = within.map(|(_, last)| *last).fold(last, u64::max);
        last - first >= (to_ns - from_ns).div_ceil(2)
    }
}

/// Three digits.
fn rounded(us: u64) -> i64 {
    let unit = 10u64.pow(us.checked_ilog10().unwrap_or(0).saturating_sub(2));
    ((us + unit / 2) / unit * unit) as i64
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
    fn a_process_works_while_those_that_it_started_do_not() {
        let threads = [
            thread(Some(0), 1, 0, (0, 100)),
            thread(Some(0), 2, 1, (10, 20)),
            thread(Some(1), 3, 1, (12, 30)),
            thread(Some(0), 4, 1, (21, 50)),
            thread(Some(0), 5, 4, (30, 40)),
        ];
        let log = log(&threads, &[&[(1, 2)], &[(13, 14)]]);
        let expected = [(0, 0), (10, 1), (21, 0), (21, 3), (30, 4), (41, 3), (51, 0)];
        assert_eq!(find_turns(&log), [expected.to_vec(), Vec::new()]);
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

#[cfg(test)]
mod starts_tests {
    use super::super::events::Events;
    use super::super::log::Process;
    use super::super::logged::Logged;
    use super::*;

    #[test]
    fn ranks_that_begin_later_sleep_until_then() {
        const MS: u64 = 1_000_000;
        let rank = |start_ms: u64, end_ms: u64| {
            let mut logged = Logged::default();
            (logged.event.start_ns, logged.event.end_ns) = (start_ms * MS, end_ms * MS);
            Events::from_iter([logged])
        };
        for (ranks, think, expected) in [
            (vec![rank(2, 9), rank(3, 9)], Think::Typical, vec![]),
            (
                vec![rank(2, 3), Events::default(), rank(4, 9), rank(391, 402), rank(395, 402)],
                Think::Typical,
                vec![0, 0, 0, 390_000, 390_000],
            ),
            (vec![rank(500, 501), rank(12_345, 20_000)], Think::Typical, vec![0, 11_800_000]),
            (vec![rank(0, 1), rank(80, 100)], Think::None, vec![]),
            (vec![], Think::Typical, vec![]),
        ] {
            let log = Log { ranks, imported: true, ..Log::default() };
            assert_eq!(starts(&log, think), expected);
        }
    }

    #[test]
    fn siblings_that_begin_within_some_milliseconds_begin_together() {
        const MS: u64 = 1_000_000;
        let rank = |start_ms: u64, end_ms: u64| {
            let mut logged = Logged::default();
            (logged.event.start_ns, logged.event.end_ns) = (start_ms * MS, end_ms * MS);
            Events::from_iter([logged])
        };
        let process = |parent: Option<usize>, ranks: &[u32]| Process {
            parent,
            ranks: ranks.to_vec(),
            ..Process::default()
        };
        let siblings = || vec![process(None, &[]), process(Some(0), &[0]), process(Some(0), &[1])];
        let child = vec![process(None, &[0]), process(Some(0), &[1])];
        for (processes, spans, expected) in [
            (siblings(), [(0, 40), (4, 40)], vec![]),
            (siblings(), [(0, 40), (14, 40)], vec![0, 14_000]),
            // One after the other.
            (siblings(), [(0, 3), (4, 40)], vec![0, 4_000]),
            (child, [(0, 40), (4, 40)], vec![0, 4_000]),
        ] {
            let ranks = spans.map(|(start, end)| rank(start, end)).to_vec();
            let log = Log { ranks, processes, imported: true, ..Log::default() };
            assert_eq!(starts(&log, Think::Typical), expected, "{spans:?}");
            assert_eq!(chance_ns(&log).is_some(), expected.is_empty());
        }
        for (start_ms, expected) in [(14, vec![]), (60, vec![0, 60_000])] {
            let log = Log { ranks: vec![rank(0, 90), rank(start_ms, 90)], ..Log::default() };
            assert_eq!(starts(&log, Think::Typical), expected, "ranks of Parabench, {start_ms}");
        }
    }

    #[test]
    fn who_pauses_while_another_comes_and_goes_waits_for_it() {
        let rank = |start_ns: u64, end_ns: u64| {
            let mut logged = Logged::default();
            (logged.event.start_ns, logged.event.end_ns) = (start_ns, end_ns);
            Events::from_iter([logged])
        };
        let log = Log { ranks: vec![rank(0, 100), rank(20, 30), rank(25, 70)], ..Log::default() };
        let lifetimes = Lifetimes::find(&log);
        assert_eq!(lifetimes.most_at_once(), 3);
        for (from, to, waits) in
            [(15, 35, true), (10, 40, false), (21, 70, true), (0, 99, true), (30, 200, false)]
        {
            assert_eq!(lifetimes.fill(from, to), waits, "{from} {to}");
        }
    }
}
