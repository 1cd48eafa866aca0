//! Dependences between ranks: files that one makes, writes, renames or removes before another one
//! uses them, and processes that begin after others have ended. Everything else stays concurrent.
//!
//! A place where all ranks meet satisfies every dependence that crosses it, so as few meetings as
//! possible are chosen, where ranks come to another label or to their longest pause.

use super::barriers::{Barriers, Coming, Rounds};
use super::events::Events;
use super::log::{Log, Merged, Place};
use super::logged::{EEXIST, ENOENT, Logged};
use super::processes;
use super::world::{Found, World};
use model::Op;
use model::event::{Event, FLAG_UNPLACED, NO_ID};
use model::op::{ByteEffect, NameEffect};
use model::open_flags::O_TRUNC;
use model::rehearsal::Expected;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// A synchronisation between two operations of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Meets all others. `free_ns`: when the last of them came, in the log.
    Barrier {
        /// Nanoseconds.
        free_ns: u64,
        /// Ranks come out of different labels.
        apart: bool,
        /// The barrier of the log, if it is one.
        told: Option<Coming>,
    },
    /// Tells a rank.
    Signal {
        /// Which.
        to: u32,
    },
    /// Waits for signals of a rank.
    Wait {
        /// Which.
        from: u32,
        /// How many.
        count: u32,
        /// When the last one could be given, in the log.
        free_ns: u64,
    },
}

impl Action {
    /// All ranks meet in the same label.
    pub fn is_within_label(&self) -> bool {
        matches!(self, Action::Barrier { apart: false, .. })
    }

    /// It tells another rank.
    pub fn is_signal(&self) -> bool {
        matches!(self, Action::Signal { .. })
    }

    /// When nobody has to wait here any longer, in the log, nanoseconds.
    pub fn free_ns(&self) -> Option<u64> {
        match self {
            Action::Barrier { free_ns, .. } | Action::Wait { free_ns, .. } => Some(*free_ns),
            Action::Signal { .. } => None,
        }
    }
}

/// Synchronisations of all ranks.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// By rank: place of the operation before which, ascending, and what.
    actions: Vec<Vec<(usize, Action)>>,
}

impl Order {
    /// Places at which ranks wait.
    pub fn waits(&self) -> usize {
        self.actions.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// A rank does something before its first operation.
    pub fn waits_first(&self, rank: u32) -> bool {
        self.actions(rank).first().is_some_and(|(place, _)| *place == 0)
    }

    /// Synchronisations of a rank.
    pub fn actions(&self, rank: u32) -> &[(usize, Action)] {
        self.actions.get(rank as usize).map_or(&[], Vec::as_slice)
    }
}

/// The history of files and ranks in a log, in the order that results prove.
#[derive(Debug)]
pub struct History {
    /// Files and directories that were there before, each directory before its content.
    pub before: Vec<Expected>,
    /// Files with reads that met an end which the log itself had written, or whose size the program gives.
    pub ends: HashSet<u32>,
    /// Files that were opened and had been there before, by the names they were opened with.
    pub found: HashMap<u32, Found>,
    /// Directories whose modes were changed.
    pub directories: HashSet<u32>,
    edges: Vec<Edge>,
}

impl History {
    /// Follows all operations of a log.
    pub fn follow(log: &Log) -> History {
        let mut world = World::new(log);
        let mut dependences = Dependences::new(log);
        let mut merged = Merged::new(log);
        let is_alone = log.ranks.len() < 2;
        while let Some((place, entry)) = merged.next() {
            if !is_alone {
                if world.contradicts(log, &entry) && merged.postpone(place, &entry) {
                    continue;
                }
                dependences.visit(log, &world, place, &entry);
            }
            world.follow(log, &entry);
        }
        History {
            ends: world.ends(),
            found: world.found(),
            directories: world.directories(),
            before: world.before(log),
            edges: dependences.edges,
        }
    }

    /// Dependences for which nobody has to wait where all ranks come together.
    fn edges<'a>(&'a self, rounds: &'a Rounds) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(|edge| !rounds.separates(edge.from, edge.to))
    }
}

/// One operation has to end before another begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    from: Place,
    to: Place,
}

/// Orders the operations of several ranks by meetings of all of them, beside those that the log tells;
/// `None`: there are too many.
pub fn barriers(log: &Log, history: &History, told: &Barriers) -> Option<Order> {
    let rounds = Rounds::find(log, told);
    let mut meetings = choose_meetings(log, history, &rounds)?;
    // One for a dependence lies before the round that has its number.
    meetings.sort_by_key(|(round, _)| *round);
    let mut meetings = meetings.into_iter().peekable();
    let mut actions = vec![Vec::new(); log.ranks.len()];
    for (round, barrier) in rounds.barriers().zip(told.all()) {
        while let Some((_, meeting)) = meetings.next_if(|(before, _)| *before <= round) {
            add_meeting(log, &mut actions, &meeting);
        }
        add_recorded_barrier(log, &mut actions, told, barrier);
    }
    meetings.for_each(|(_, meeting)| add_meeting(log, &mut actions, &meeting));
    Some(Order { actions })
}

/// By rank.
type Actions = [Vec<(usize, Action)>];

/// Ranks meet, each at its place.
fn add_meeting(log: &Log, actions: &mut Actions, meeting: &[usize]) {
    let free_ns = (0..).zip(meeting).filter_map(|(rank, place): (usize, &usize)| {
        Some(log.ranks[rank].get(place.checked_sub(1)?)?.event.end_ns)
    });
    let free_ns = free_ns.max().unwrap_or(0);
    let apart = are_in_different_labels(log, meeting.iter().copied());
    for (actions, place) in actions.iter_mut().zip(meeting) {
        actions.push((*place, Action::Barrier { free_ns, apart, told: None }));
    }
}

fn add_recorded_barrier(log: &Log, actions: &mut Actions, told: &Barriers, barrier: &[Coming]) {
    let apart =
        told.end_labels || are_in_different_labels(log, barrier.iter().map(|coming| coming.place));
    for (actions, coming) in actions.iter_mut().zip(barrier) {
        let told = Some(*coming);
        actions.push((coming.place, Action::Barrier { free_ns: coming.free_ns, apart, told }));
    }
}

/// Ranks are in different labels at these places.
fn are_in_different_labels(log: &Log, places: impl Iterator<Item = usize>) -> bool {
    let mut labels = log.ranks.iter().zip(places).map(|(rank, at)| around(rank, at));
    let first = labels.next();
    labels.any(|label| Some(label) != first)
}

/// The label that goes on over a place, or begins or ends with the rank's operations there; none where another
/// one begins.
fn around(rank: &Events, place: usize) -> u32 {
    let label = |at: usize| Some(rank.get(at)?.event.label);
    let before = place.checked_sub(1).and_then(label);
    match (before, label(place)) {
        (Some(before), Some(after)) if before != after => NO_ID,
        (before, after) => before.or(after).unwrap_or(NO_ID),
    }
}

/// Orders the operations of several ranks by signals from one to another, beside the meetings that the log
/// tells.
pub fn signals(log: &Log, history: &History, told: &Barriers) -> Order {
    let mut actions = vec![Vec::new(); log.ranks.len()];
    told.all().iter().for_each(|barrier| add_recorded_barrier(log, &mut actions, told, barrier));
    for Edge { from, to } in history.edges(&Rounds::find(log, told)) {
        let from_entry = log.ranks[from.0 as usize].get(from.1);
        let free_ns = from_entry.map_or(0, |entry| entry.event.end_ns);
        // A signal is given after an operation, so before the next one.
        actions[from.0 as usize].push((from.1 + 1, Action::Signal { to: to.0 }));
        actions[to.0 as usize].push((to.1, Action::Wait { from: from.0, count: 1, free_ns }));
    }
    // What a rank signals comes before what it waits for: so nobody waits in a circle.
    let key = |(place, action): &(usize, Action)| match action {
        Action::Signal { to } => (*place, 0, *to),
        Action::Barrier { .. } => (*place, 1, 0),
        Action::Wait { from, .. } => (*place, 2, *from),
    };
    for actions in &mut actions {
        actions.sort_by_key(key);
        actions.dedup_by(|(place, more), (known, first)| {
            place == known && join_waits(first, *more).is_some()
        });
    }
    Order { actions }
}

/// Two waits for one rank are one for two signals.
fn join_waits(first: &mut Action, more: Action) -> Option<()> {
    let Action::Wait { from, count, free_ns } = first else { return None };
    let Action::Wait { from: rank, free_ns: free, .. } = more else { return None };
    (*from == rank).then(|| (*count, *free_ns) = (*count + 1, free.max(*free_ns)))
}

/// Last uses of a name or file.
#[derive(Clone, Debug, Default)]
struct Touched {
    /// Last creation, removal or rename.
    changed: Option<Place>,
    /// First open since then that would create it.
    made: Option<Place>,
    /// Last failed lookup of each rank since it changed.
    missed: Vec<Place>,
    /// Last use of each rank since then.
    used: Vec<Place>,
    /// Writes: end, start, place.
    written: BTreeMap<u64, (u64, Place)>,
    /// Last scattered write of each rank.
    scattered: Vec<Place>,
    /// Last truncation of each rank.
    cut: Vec<Place>,
    /// Ranks that have written it since.
    after_cut: HashSet<u32>,
    /// Last read of each rank since it was truncated.
    readers: Vec<Place>,
    /// Last truncation or write at the end.
    resized: Option<Place>,
    /// Last read of each rank that met an end, and where: writes that extend the file came later.
    met: Vec<(Place, u64)>,
}

impl Touched {
    /// It is cut: after who read what was in it. Nobody has to wait for that but who writes.
    fn is_cut(&mut self, place: Place) -> Vec<Place> {
        put(&mut self.cut, place);
        self.after_cut.clear();
        self.resized = Some(place);
        std::mem::take(&mut self.readers)
    }

    /// A read ended at `end`.
    fn is_read(&mut self, event: &Event, place: Place, end: u64) {
        if event.done_bytes < event.requested_bytes {
            self.met.retain(|(known, _)| known.0 != place.0);
            self.met.push((place, end));
        }
    }

    /// Reads that met an end before this one.
    fn met_before(&self, end: u64) -> impl Iterator<Item = Place> + '_ {
        self.met.iter().filter(move |(_, met)| *met < end).map(|(place, _)| *place)
    }
}

struct Dependences {
    /// Files that somebody reads.
    read: HashSet<u32>,
    /// Files that somebody cuts.
    cut: HashSet<u32>,
    by_path: HashMap<u32, Touched>,
    parents: Rc<Parents>,
    /// Ranks that opened files, by open instance.
    openers: HashMap<u32, u32>,
    /// How far rank q has seen rank p already: the last place, plus 1; as far as it has seen any.
    seen: Vec<Vec<u32>>,
    /// Operations of ranks so far.
    visited: Vec<usize>,
    /// Operations that come before others because one process ended before the other began.
    processes: HashMap<Place, Vec<Place>>,
    edges: Vec<Edge>,
}

impl Dependences {
    fn new(log: &Log) -> Dependences {
        let ranks = log.ranks.len();
        Dependences {
            read: names_of(log, |entry| {
                bytes_of(entry) == ByteEffect::Reads || entry.op() == Some(Op::Append)
            }),
            cut: names_of(log, |entry| cuts(entry) && entry.is_ok()),
            by_path: HashMap::new(),
            parents: Rc::new(parents(log)),
            openers: openers(log),
            seen: vec![Vec::new(); ranks],
            visited: vec![0; ranks],
            processes: processes::order(log),
            edges: Vec::new(),
        }
    }

    fn visit(&mut self, log: &Log, world: &World, place: Place, entry: &Logged) {
        for from in self.processes.remove(&place).unwrap_or_default() {
            self.begins_after(from, place);
        }
        let visited = &mut self.visited[place.0 as usize];
        *visited = (*visited).max(place.1 + 1);
        entry.parts().for_each(|part| self.touch(log, world, place, &part));
    }

    /// Follows an operation on a file.
    fn touch(&mut self, log: &Log, world: &World, place: Place, entry: &Logged) {
        let Some(op) = entry.op() else { return };
        let event = entry.event;
        if event.path == NO_ID {
            return;
        }
        if op.takes_handle() && self.openers.get(&entry.details.instance) != Some(&place.0) {
            // It will have to open the file by its name.
            self.use_name(event.path, place);
        }
        match (event.errno, entry.name_effect()) {
            // Who is at work on the file has to be done before it is removed or renamed.
            (..) if op.takes_handle() && !(op == Op::Linkat && entry.is_ok()) => {
                put(&mut self.by_path.entry(event.path).or_default().used, place);
            }
            (0, Some(NameEffect::MakesNew | NameEffect::Removes)) => {
                self.change(event.path, place);
            }
            (0, Some(NameEffect::Makes)) => self.make(event.path, place),
            (0, Some(NameEffect::Text) | None) => {}
            (ENOENT, _) => self.miss(log, world, event.path, place),
            (0 | EEXIST, _) => self.use_name(event.path, place),
            _ => {}
        }
        if event.path2 != NO_ID && event.errno == 0 {
            self.change(event.path2, place);
        }
        if event.errno == 0 {
            self.data(op, place, entry, log.touched(&event));
        }
    }

    /// A name is made, removed or replaced: after all who used it.
    fn change(&mut self, path: u32, place: Place) {
        let touched = self.by_path.entry(path).or_default();
        let users = touched.used.drain(..).chain(touched.missed.drain(..));
        let before: Vec<Place> = users.chain(touched.changed).chain(touched.made.take()).collect();
        touched.changed = Some(place);
        touched.written.clear();
        touched.scattered.clear();
        touched.cut.clear();
        touched.readers.clear();
        (touched.resized, touched.met) = (None, Vec::new());
        before.into_iter().for_each(|from| self.edge(from, place));
        self.use_parents(path, place);
    }

    fn use_name(&mut self, path: u32, place: Place) {
        self.use_one(path, place);
        self.use_parents(path, place);
    }

    fn use_one(&mut self, path: u32, place: Place) {
        let touched = self.by_path.entry(path).or_default();
        put(&mut touched.used, place);
        let before = touched.changed.into_iter().chain(touched.made);
        before.collect::<Vec<_>>().into_iter().for_each(|from| self.edge(from, place));
    }

    /// The name is used, and made if it is missing: by several ranks in any order.
    fn make(&mut self, path: u32, place: Place) {
        let touched = self.by_path.entry(path).or_default();
        put(&mut touched.used, place);
        touched.made.get_or_insert(place);
        let before = touched.missed.drain(..).chain(touched.changed);
        before.collect::<Vec<_>>().into_iter().for_each(|from| self.edge(from, place));
        self.use_parents(path, place);
    }

    /// The name is missing: after who removed it, before who makes it.
    fn miss(&mut self, log: &Log, world: &World, path: u32, place: Place) {
        let parents = Rc::clone(&self.parents);
        let above = parents.get(&path).into_iter().flatten().copied();
        let missing = above.filter(|parent| world.has(log.path(*parent)) == Some(false));
        for path in std::iter::once(path).chain(missing) {
            let touched = self.by_path.entry(path).or_default();
            put(&mut touched.missed, place);
            if let Some(from) = touched.changed {
                self.edge(from, place);
            }
        }
    }

    fn use_parents(&mut self, path: u32, place: Place) {
        let parents = Rc::clone(&self.parents);
        let own = parents.get(&path).into_iter().flatten();
        own.for_each(|parent| self.use_one(*parent, place));
    }

    /// Bytes of a file: who reads comes after who wrote, who writes after who cut it, who appends after
    /// who wrote the end.
    fn data(&mut self, op: Op, place: Place, entry: &Logged, (start, end): (u64, u64)) {
        let event = &entry.event;
        let is_read = self.read.contains(&event.path);
        let is_cut = event.done_bytes > 0 && self.cut.contains(&event.path);
        let touched = self.by_path.entry(event.path).or_default();
        let scatters = event.pieces > 0 || event.flags & FLAG_UNPLACED != 0;
        if op == Op::Append {
            wrote(&mut touched.written, start, end.max(start + 1), place);
        } else if is_read && bytes_of(entry) == ByteEffect::Writes {
            match scatters {
                true => put(&mut touched.scattered, place),
                false if end > start => wrote(&mut touched.written, start, end, place),
                false => {}
            }
        }
        let before: Vec<Place> = match bytes_of(entry) {
            _ if cuts(entry) => touched.is_cut(place),
            ByteEffect::Reads => {
                if is_cut {
                    put(&mut touched.readers, place);
                }
                touched.is_read(event, place, end);
                overlapping(&touched.written, start, end)
                    .chain(touched.resized.filter(|_| event.done_bytes < event.requested_bytes))
                    .chain(touched.scattered.iter().copied())
                    .collect()
            }
            ByteEffect::Writes => {
                let last = touched.resized.replace(place).filter(|_| op == Op::Append);
                // Once for each rank is enough.
                let is_new = is_read && op != Op::Append && touched.after_cut.insert(place.0);
                let cut = if is_new { &touched.cut[..] } else { &[] };
                last.into_iter().chain(cut.iter().copied()).chain(touched.met_before(end)).collect()
            }
            ByteEffect::Allocates => {
                touched.resized = Some(place);
                Vec::new()
            }
            _ => Vec::new(),
        };
        before.into_iter().for_each(|from| self.edge(from, place));
    }

    /// A process begins after another one: what that had seen, it has seen.
    fn begins_after(&mut self, from: Place, to: Place) {
        self.edge(from, to);
        if self.visited[from.0 as usize] == from.1 + 1 {
            let known = self.seen[from.0 as usize].clone();
            let own = &mut self.seen[to.0 as usize];
            own.resize(own.len().max(known.len()), 0);
            own.iter_mut().zip(known).for_each(|(own, known)| *own = known.max(*own));
        }
    }

    /// Notes a dependence that those noted before do not imply.
    fn edge(&mut self, from: Place, to: Place) {
        if from.0 == to.0 {
            return;
        }
        let seen = &mut self.seen[to.0 as usize];
        let rank = from.0 as usize;
        if seen.get(rank).is_none_or(|seen| from.1 >= *seen as usize) {
            seen.resize(seen.len().max(rank + 1), 0);
            seen[rank] = u32::try_from(from.1 + 1).unwrap_or(u32::MAX);
            self.edges.push(Edge { from, to });
        }
    }
}

/// Keeps the last place of each rank.
fn put(places: &mut Vec<Place>, place: Place) {
    match places.iter_mut().find(|known| known.0 == place.0) {
        Some(known) => *known = place,
        None => places.push(place),
    }
}

/// Writers of the bytes from `start` to `end`.
fn overlapping(
    written: &BTreeMap<u64, (u64, Place)>,
    start: u64,
    end: u64,
) -> impl Iterator<Item = Place> + '_ {
    let from_start = written.range(start + 1..);
    from_start.take_while(move |(_, (from, _))| *from < end).map(|(_, (_, place))| *place)
}

fn wrote(written: &mut BTreeMap<u64, (u64, Place)>, start: u64, end: u64, place: Place) {
    let covered: Vec<u64> = written
        .range(start + 1..=end)
        .filter(|(_, (from, _))| *from >= start)
        .map(|(end, _)| *end)
        .collect();
    for end in covered {
        written.remove(&end);
    }
    written.insert(end, (start, place));
}

fn bytes_of(entry: &Logged) -> ByteEffect {
    entry.op().map_or(ByteEffect::Nothing, |op| op.row().bytes)
}

/// The file may be shorter afterwards.
fn cuts(entry: &Logged) -> bool {
    let opens = matches!(entry.op(), Some(Op::Fopen | Op::Fcreat));
    let is_cut = opens && entry.open_flags() & O_TRUNC != 0;
    is_cut || entry.op() == Some(Op::Write) || bytes_of(entry) == ByteEffect::Resizes
}

/// Names of the files of some operations.
fn names_of(log: &Log, is_one: fn(&Logged) -> bool) -> HashSet<u32> {
    let all = log.ranks.iter().flatten().flat_map(|entry| entry.parts());
    all.filter(is_one).map(|entry| entry.event.path).collect()
}

fn openers(log: &Log) -> HashMap<u32, u32> {
    let mut openers = HashMap::new();
    for (rank, entries) in (0..).zip(&log.ranks) {
        let opens = |entry: &Logged| entry.op().is_some_and(|op| op.row().gives_handle());
        openers.extend(entries.iter().filter(opens).map(|entry| (entry.details.instance, rank)));
    }
    openers
}

/// Directories above each name, as far as they are names of the log.
type Parents = HashMap<u32, Vec<u32>>;

fn parents(log: &Log) -> Parents {
    let numbers: HashMap<&[u8], u32> =
        (0..).zip(&log.paths).map(|(id, path)| (path.as_slice(), id)).collect();
    let above = |path: &[u8]| -> Vec<u32> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.filter_map(|(at, _)| numbers.get(&path[..at]).copied()).collect()
    };
    (0..).zip(&log.paths).map(|(id, path)| (id, above(path))).collect()
}

/// Most times that a rank comes to a meeting, in all, and more of them for each operation: thousands of
/// processes one after another would meet thousands of times, and each of them has to do with few others.
const COMINGS_MAX: usize = 1 << 19;
const COMINGS_EACH: usize = 8;

/// As few meetings as satisfy all edges; each is a place per rank, with the number of the round that it
/// comes before.
fn choose_meetings(
    log: &Log,
    history: &History,
    rounds: &Rounds,
) -> Option<Vec<(usize, Vec<usize>)>> {
    let start_ns = |(rank, place): Place| {
        log.ranks[rank as usize].get(place).map_or(0, |entry| entry.event.start_ns)
    };
    let mut sorted: Vec<(u64, Edge)> =
        history.edges(rounds).map(|edge| (start_ns(edge.to), *edge)).collect();
    sorted.sort_by_key(|(ns, edge)| (*ns, edge.to, edge.from));
    // Later edges end later: no rank may have gone further by then.
    let reached =
        |ns: u64| -> Vec<usize> { log.ranks.iter().map(|rank| rank.begun_before(ns)).collect() };
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut from = vec![0; log.ranks.len()];
    let (mut low, mut high) = (from.clone(), from.clone());
    let (mut pending, mut round) = (false, 0);
    let operations: usize = log.ranks.iter().map(Events::len).sum();
    let comings_max = COMINGS_MAX + operations.saturating_mul(COMINGS_EACH);
    for (ns, edge) in sorted {
        let ((p, i), (q, j)) = (edge.from, edge.to);
        let (p, q) = (p as usize, q as usize);
        if from[p] > i && from[q] <= j {
            // An earlier meeting lies between them.
            continue;
        }
        let own_round = rounds.after(edge.from);
        if pending && (i + 1 > high[p] || j < low[q] || own_round != round) {
            let meeting = choose(log, &low, &high);
            from.clone_from(&meeting);
            all.push((round, meeting));
            if all.len() * log.ranks.len() > comings_max {
                return None;
            }
            (low, pending) = (from.clone(), false);
            if from[p] > i && from[q] <= j {
                continue;
            }
        }
        if !pending {
            (high, round) = (reached(ns), own_round);
            rounds.narrow(round, &mut low, &mut high);
        }
        low[p] = low[p].max(i + 1);
        high[q] = high[q].min(j);
        pending = true;
    }
    if pending {
        all.push((round, choose(log, &low, &high)));
    }
    Some(all)
}

/// The place of every rank within what the edges allow: where another label begins, else after the
/// longest pause; a rank that has no edges meets when the others do.
fn choose(log: &Log, low: &[usize], high: &[usize]) -> Vec<usize> {
    let ready_ns = (0..low.len())
        .filter_map(|rank| Some(log.ranks[rank].get(low[rank].checked_sub(1)?)?.event.end_ns));
    let ready_ns = ready_ns.max().unwrap_or(0);
    let place = |rank: usize| {
        let entries = &log.ranks[rank];
        let (low, high) = (low[rank], high[rank].max(low[rank]));
        let score = |at: usize, before: Option<Logged>, here: Option<Logged>| {
            let Some(here) = here else {
                // Nothing that has begun before has to wait.
                return (1, 1, 0);
            };
            let late = u8::from(here.event.start_ns >= ready_ns);
            let Some(before) = before else { return (u8::from(at == low) + late, late, 0) };
            let label = u8::from(before.event.label != here.event.label);
            let pause = here.event.start_ns.saturating_sub(before.event.end_ns);
            (label + late, late, pause)
        };
        // Pauses far behind the first possible place belong to something else.
        let last = high.min(low.saturating_add(REACH));
        let mut before = low.checked_sub(1).and_then(|at| entries.get(at));
        let mut rest = entries.from(low);
        let scores = (low..=last).map(|at| {
            let here = rest.next();
            (score(at, std::mem::replace(&mut before, here), here), std::cmp::Reverse(at))
        });
        scores.max().map_or(low, |(_, at)| at.0)
    };
    (0..low.len()).map(place).collect()
}

/// Operations that are looked at for a good place to meet.
const REACH: usize = 1 << 14;

#[cfg(test)]
mod meetings_tests {
    use super::super::barriers::Barriers;
    use super::barriers;
    use super::*;
    use model::Op;
    use model::event::NO_ID;

    /// Each rank reads what the one before it wrote, then does `more` operations of its own.
    fn chain(ranks: u32, more: u64) -> Log {
        let entry = |op: Op, path: u32, start_ns: u64| {
            let mut entry = Logged::default();
            (entry.event.op, entry.event.path, entry.event.path2) = (op as u8, path, NO_ID);
            (entry.event.start_ns, entry.event.end_ns) = (start_ns, start_ns + 1);
            (entry.event.requested_bytes, entry.event.done_bytes) = (8, 8);
            entry
        };
        let rank = |rank: u32| {
            let at = u64::from(rank) * 10_000;
            let own = (0..more).map(|more| entry(Op::Stat, ranks + rank, at + 20 + more));
            let read = rank.checked_sub(1).map(|before| entry(Op::Read, before, at));
            read.into_iter().chain([entry(Op::Write, rank, at + 10)]).chain(own).collect()
        };
        let paths = (0..2 * ranks).map(|path| path.to_string().into_bytes()).collect();
        Log { paths, ranks: (0..ranks).map(rank).collect(), ..Log::default() }
    }

    #[test]
    fn ranks_that_do_little_do_not_meet_thousands_of_times() {
        let meets =
            |log: &Log| barriers(log, &History::follow(log), &Barriers::default()).is_some();
        assert!(meets(&chain(40, 0)));
        assert!(!meets(&chain(800, 0)));
        assert!(meets(&chain(800, 100)));
    }
}
