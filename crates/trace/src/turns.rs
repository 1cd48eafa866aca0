//! Processes and threads that work in turns are one rank.
//!
//! ```text
//! sh ─┐            ┌┐            ┌─▶      rank 0: sh tar sh tar sh
//!     ├ tar ───────┤├ tar ───────┤        rank 1: gzip gzip
//!     └   └─ gzip ─┘└   └─ gzip ─┘
//! ```
//!
//! Children of one parent take turns if the later one began after the earlier one had ended. A parent and its child do
//! if the parent has no operation between the first and the last of the child and its children, and of any other child
//! that executes the same program. What runs side by side, has no parent in the log, or is a rank of an MPI job stays a
//! rank of its own.

use crate::facts::Facts;
use crate::sort::{Sorted, Sorter};
use model::run::TraceThread;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// From the start of a first operation to the end of the last.
type Span = (u64, u64);

/// Gives threads that work in turns one rank. `job`: number of ranks of an MPI job; they come first, and no two of them
/// become one. `None`: the log itself tells ranks, so nothing is changed.
///
/// # Errors
/// The files of sorting cannot be read or written.
pub fn take(mut events: Sorted, facts: &mut Facts, job: Option<u32>) -> io::Result<Sorted> {
    let Some(job) = job else { return Ok(events) };
    let parents = parents(&facts.threads);
    if facts.ranks < 2 || parents.iter().all(Option::is_none) {
        return Ok(events);
    }
    let spans = spans_below(&facts.threads, &parents, &own_spans(&mut events, facts.ranks)?);
    events.again(Vec::new())?;
    let mut idle = idle_parents(&mut events, facts, &parents, &spans)?;
    alike_together(&facts.threads, &parents, &mut idle);
    events.again(Vec::new())?;
    let ranks = new_ranks(lanes(&facts.threads, &parents, &idle, job), facts.ranks);
    match ranks.iter().enumerate().all(|(old, new)| old == *new as usize) {
        true => Ok(events),
        false => renumbered(events, facts, &ranks),
    }
}

/// By thread the place of its parent, which stands before it.
fn parents(threads: &[TraceThread]) -> Vec<Option<usize>> {
    let mut by_number: HashMap<u64, usize> = HashMap::new();
    let find = |(place, thread): (usize, &TraceThread)| {
        let parent = thread.parent.and_then(|parent| by_number.get(&parent)).copied();
        by_number.insert(thread.thread, place);
        parent
    };
    threads.iter().enumerate().map(find).collect()
}

/// By rank, when it works.
fn own_spans(events: &mut Sorted, ranks: u32) -> io::Result<Vec<Option<Span>>> {
    let mut spans = vec![None; ranks as usize];
    while events.advance()? {
        let (rank, event) = (events.current().rank as usize, events.current().event);
        spans[rank] = around(spans[rank], Some((event.start_ns, event.end_ns)));
    }
    Ok(spans)
}

/// By thread, when it or one that it started works.
fn spans_below(
    threads: &[TraceThread],
    parents: &[Option<usize>],
    own: &[Option<Span>],
) -> Vec<Option<Span>> {
    let of = |thread: &TraceThread| thread.rank.and_then(|rank| own[rank as usize]);
    let mut spans: Vec<Option<Span>> = threads.iter().map(of).collect();
    for (place, parent) in parents.iter().enumerate().rev() {
        if let Some(parent) = *parent {
            spans[parent] = around(spans[parent], spans[place]);
        }
    }
    spans
}

fn around(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// By thread: its parent has no operation while it or one that it started works.
fn idle_parents(
    events: &mut Sorted,
    facts: &Facts,
    parents: &[Option<usize>],
    spans: &[Option<Span>],
) -> io::Result<Vec<bool>> {
    let mut idle = vec![true; parents.len()];
    // By rank the threads that it started, the one that works first last.
    let mut waiting: Vec<Vec<(Span, usize)>> = vec![Vec::new(); facts.ranks as usize];
    for (place, parent) in parents.iter().enumerate() {
        let rank = parent.and_then(|parent| facts.threads[parent].rank);
        if let Some((rank, span)) = rank.zip(spans[place]) {
            waiting[rank as usize].push((span, place));
        }
    }
    waiting.iter_mut().for_each(|children| children.sort_unstable_by(|a, b| b.cmp(a)));
    while events.advance()? {
        let (rank, event) = (events.current().rank as usize, events.current().event);
        // Operations come by their starts: the first one that ends later decides.
        while let Some((span, child)) = waiting[rank].pop_if(|(span, _)| span.0 <= event.end_ns) {
            idle[child] = span.1 < event.start_ns;
        }
    }
    Ok(idle)
}

/// Children of one parent that do the same are beside it, or none of them is.
fn alike_together(threads: &[TraceThread], parents: &[Option<usize>], idle: &mut [bool]) {
    let kind = |child: usize| {
        let is_thread = parents[child].map(|at| threads[at].process == threads[child].process);
        (parents[child], is_thread, threads[child].command.as_str())
    };
    let busy: HashSet<_> = (0..idle.len()).filter(|child| !idle[*child]).map(kind).collect();
    for (child, idle) in idle.iter_mut().enumerate() {
        *idle &= !busy.contains(&kind(child));
    }
}

/// Ranks that work in turns.
#[derive(Debug, Default)]
struct Lane {
    ranks: Vec<u32>,
    /// From the beginning of the first thread to the end of the last.
    life: Option<Span>,
    /// One of them is a rank of the job.
    has_job: bool,
}

impl Lane {
    fn of(thread: &TraceThread, job: u32) -> Lane {
        let begin_ns = thread.begin_ns.unwrap_or(0);
        let life = (begin_ns, thread.end_ns.unwrap_or(u64::MAX));
        let has_job = thread.rank.is_some_and(|rank| rank < job);
        Lane { ranks: thread.rank.into_iter().collect(), life: Some(life), has_job }
    }

    /// The other one may go on where this one ended at the latest.
    fn takes(&self, ended: Option<Span>, next: &Lane) -> bool {
        let begins_ns = next.life.map_or(0, |life| life.0);
        !(self.has_job && next.has_job) && ended.is_none_or(|ended| ended.1 < begins_ns)
    }

    fn add(&mut self, next: Lane) {
        self.ranks.extend(next.ranks);
        self.life = around(self.life, next.life);
        self.has_job |= next.has_job;
    }
}

/// The ranks of all threads in lanes.
fn lanes(threads: &[TraceThread], parents: &[Option<usize>], idle: &[bool], job: u32) -> Vec<Lane> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); threads.len()];
    let mut done: Vec<Vec<Lane>> = threads.iter().map(|_| Vec::new()).collect();
    for (place, thread) in threads.iter().enumerate().rev() {
        let mut children = std::mem::take(&mut below[place]);
        children.sort_by_key(|child| (threads[*child].begin_ns, *child));
        let mut own = Family::of(Lane::of(thread, job));
        for child in children {
            let lanes = std::mem::take(&mut done[child]);
            lanes.into_iter().for_each(|lane| own.add(lane, idle[child]));
        }
        done[place] = own.lanes;
        if let Some(parent) = parents[place] {
            below[parent].push(place);
        }
    }
    done.into_iter().flatten().collect()
}

/// A thread and those that it started.
struct Family {
    /// The first is that of the thread itself.
    lanes: Vec<Lane>,
    /// When children were in the first one.
    taken: Option<Span>,
}

impl Family {
    fn of(own: Lane) -> Family {
        Family { lanes: vec![own], taken: None }
    }

    /// Adds a lane of a child; `waits`: the thread itself does nothing meanwhile.
    fn add(&mut self, lane: Lane, waits: bool) {
        if waits && self.lanes[0].takes(self.taken, &lane) {
            self.taken = around(self.taken, lane.life);
            return self.lanes[0].add(lane);
        }
        let mut others = self.lanes.iter_mut().skip(1);
        match others.find(|other| other.takes(other.life, &lane)) {
            Some(other) => other.add(lane),
            None => self.lanes.push(lane),
        }
    }
}

/// By old rank the new one: lanes are counted by their first ranks.
fn new_ranks(lanes: Vec<Lane>, ranks: u32) -> Vec<u32> {
    let mut firsts: Vec<u32> = (0..ranks).collect();
    for lane in lanes {
        let first = lane.ranks.iter().copied().min();
        lane.ranks.iter().for_each(|rank| firsts[*rank as usize] = first.unwrap_or(*rank));
    }
    let mut next = 0;
    let mut new = vec![0; firsts.len()];
    for (rank, first) in firsts.iter().enumerate() {
        new[rank] = if *first as usize == rank { next } else { new[*first as usize] };
        next += u32::from(*first as usize == rank);
    }
    new
}

/// Everything with other ranks.
fn renumbered(mut events: Sorted, facts: &mut Facts, new: &[u32]) -> io::Result<Sorted> {
    let of = |rank: u32| new[rank as usize];
    facts.ranks = new.iter().max().map_or(0, |rank| rank + 1);
    facts.threads.iter_mut().for_each(|thread| thread.rank = thread.rank.map(of));
    let hosts = std::mem::take(&mut facts.hosts);
    facts.hosts =
        hosts.into_iter().rev().map(|(rank, host)| (of(rank), host)).collect::<BTreeMap<_, _>>();
    let mut sorter = Sorter::default();
    while events.advance()? {
        let traced = events.current();
        sorter.event(of(traced.rank as u32), &traced.event, &traced.details);
    }
    sorter.finish()
}
