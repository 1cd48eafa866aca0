//! When ranks begin and end. A process that another one starts later sleeps until then: it was not
//! there, so it takes no processor from those that are. And a process whose pause is filled by others
//! that come and go waits for them.
//!
//! ```text
//! first operations at 2, 3, 391, 395 ms  ─▶  0, 0, 390, 390 ms
//! ```

use super::events::Events;
use super::log::Log;
use super::think::Think;

/// Ranks that begin within this share of the whole time begin together.
const SAME_START: f64 = 0.01;
/// And those within this time.
const SAME_START_NS: u64 = 1_000_000;
/// And siblings within this one, which a process takes to start: which of them is first is chance.
const SIBLINGS_NS: u64 = 10 * SAME_START_NS;
/// And ranks of Parabench, which leave a barrier together, within this one: more ranks than processors wait for
/// their turns.
const OWN_NS: u64 = 50 * SAME_START_NS;

/// How far apart ranks began that are to begin together, if longer than usual, nanoseconds: those whose
/// processes were all started by one that is no rank, such as `mpirun`, or by Parabench, and which are at work
/// side by side.
pub fn chance_ns(log: &Log) -> Option<u64> {
    let span = |rank: &Events| {
        let last_ns = rank.iter().map(|entry| entry.event.end_ns).max()?;
        Some((rank.first()?.event.start_ns, last_ns))
    };
    let spans: Vec<(u64, u64)> = log.ranks.iter().filter_map(span).collect();
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
    let firsts: Vec<Option<u64>> =
        log.ranks.iter().map(|rank| Some(rank.first()?.event.start_ns)).collect();
    let ends = log.ranks.iter().flatten().map(|entry| entry.event.end_ns);
    let (first, last) = (firsts.iter().flatten().min(), ends.max());
    let (Some(&first), Some(last)) = (first, last) else { return Vec::new() };
    let apart = ((last.saturating_sub(first)) as f64 * SAME_START) as u64;
    let groups = group_starts(firsts.iter().flatten().copied().collect(), apart.max(SAME_START_NS));
    let start_us = |at: Option<u64>| {
        let mean = at.and_then(|at| groups.iter().rev().find(|group| group.first <= at));
        let late_ns = mean.map_or(0, |group| group.mean).saturating_sub(groups[0].mean);
        match (think, at) {
            (Think::Exact, Some(at)) if late_ns > 0 => ((at - first) / 1000) as i64,
            _ => rounded(late_ns / 1000),
        }
    };
    let starts: Vec<i64> = firsts.into_iter().map(start_us).collect();
    if starts.iter().all(|start| *start == 0) { Vec::new() } else { starts }
}

/// Ranks that begin together: when the first one of them does, and when they do in the mean.
struct Group {
    first: u64,
    mean: u64,
}

fn group_starts(mut times: Vec<u64>, apart: u64) -> Vec<Group> {
    times.sort_unstable();
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
        let span = |rank: &Events| {
            let last_ns = rank.iter().map(|entry| entry.event.end_ns).max()?;
            Some((rank.first()?.event.start_ns, last_ns))
        };
        let mut spans: Vec<(u64, u64)> = log.ranks.iter().filter_map(span).collect();
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
    use super::super::processes::Process;
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
