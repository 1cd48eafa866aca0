//! Which ranks have to wait for which: what one makes, writes, renames or removes before another one
//! uses it, and processes that begin after others have ended. Everything else stays concurrent.
//!
//! A place where all ranks meet satisfies every dependence that crosses it, so as few meetings as
//! possible are chosen, where ranks come to another label or to their longest pause.

mod meetings;
mod there;

use super::barriers::{Barriers, Coming};
use super::ends::Met;
use super::events::Events;
use super::log::{Log, Logged, takes_handle};
use super::merged::{Merged, Place};
use super::processes;
use super::rounds::Rounds;
use model::Op;
use model::event::{Event, FLAG_UNPLACED, NO_ID};
use model::open_flags::{O_CREAT, O_EXCL, O_TRUNC};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use there::{Parents, There};

/// What a rank does between two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Meets all others. `free_ns`: when the last of them came, in the log.
    Barrier {
        /// Nanoseconds.
        free_ns: u64,
        /// Ranks come out of different labels.
        apart: bool,
        /// What the log tells of it, if it is one of the log.
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

/// What ranks do before their operations.
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
        self.of(rank).first().is_some_and(|(place, _)| *place == 0)
    }

    /// What a rank does.
    pub fn of(&self, rank: u32) -> &[(usize, Action)] {
        self.actions.get(rank as usize).map_or(&[], Vec::as_slice)
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
pub fn barriers(log: &Log, told: &Barriers) -> Option<Order> {
    if log.ranks.len() < 2 {
        return Some(Order::default());
    }
    let rounds = Rounds::of(log, told);
    let edges = Dependences::of(log, &rounds);
    let mut meetings = meetings::chosen(log, &edges, &rounds)?;
    // One for a dependence lies before the round that has its number.
    meetings.sort_by_key(|(round, _)| *round);
    let mut meetings = meetings.into_iter().peekable();
    let mut actions = vec![Vec::new(); log.ranks.len()];
    for (round, barrier) in rounds.barriers().zip(told.all()) {
        while let Some((_, meeting)) = meetings.next_if(|(before, _)| *before <= round) {
            meet(log, &mut actions, &meeting);
        }
        meet_as_told(log, &mut actions, told, barrier);
    }
    meetings.for_each(|(_, meeting)| meet(log, &mut actions, &meeting));
    Some(Order { actions })
}

/// What each rank does.
type Actions = [Vec<(usize, Action)>];

/// Ranks meet, each at its place.
fn meet(log: &Log, actions: &mut Actions, meeting: &[usize]) {
    let free_ns = (0..).zip(meeting).filter_map(|(rank, place): (usize, &usize)| {
        Some(log.ranks[rank].get(place.checked_sub(1)?)?.event.end_ns)
    });
    let free_ns = free_ns.max().unwrap_or(0);
    let apart = are_apart(log, meeting.iter().copied());
    for (actions, place) in actions.iter_mut().zip(meeting) {
        actions.push((*place, Action::Barrier { free_ns, apart, told: None }));
    }
}

fn meet_as_told(log: &Log, actions: &mut Actions, told: &Barriers, barrier: &[Coming]) {
    let apart = told.end_labels || are_apart(log, barrier.iter().map(|coming| coming.place));
    for (actions, coming) in actions.iter_mut().zip(barrier) {
        let told = Some(*coming);
        actions.push((coming.place, Action::Barrier { free_ns: coming.free_ns, apart, told }));
    }
}

/// Ranks are in different labels at these places.
fn are_apart(log: &Log, places: impl Iterator<Item = usize>) -> bool {
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
pub fn signals(log: &Log, told: &Barriers) -> Order {
    let mut actions = vec![Vec::new(); log.ranks.len()];
    told.all().iter().for_each(|barrier| meet_as_told(log, &mut actions, told, barrier));
    for Edge { from, to } in Dependences::of(log, &Rounds::of(log, told)) {
        let from_entry = log.ranks[from.0 as usize].get(from.1);
        let free_ns = from_entry.map_or(0, |entry| entry.event.end_ns);
        // A signal is given after an operation, so before the next one.
        actions[from.0 as usize].push((from.1 + 1, Action::Signal { to: to.0 }));
        let waits: &mut Vec<(usize, Action)> = &mut actions[to.0 as usize];
        let same = waits.iter_mut().rev().take_while(|(place, _)| *place == to.1);
        let known = same.map(|(_, action)| action).find_map(|action| match action {
            Action::Wait { from: rank, count, free_ns } if *rank == from.0 => {
                Some((count, free_ns))
            }
            _ => None,
        });
        match known {
            Some((count, free)) => (*count, *free) = (*count + 1, free_ns.max(*free)),
            None => waits.push((to.1, Action::Wait { from: from.0, count: 1, free_ns })),
        }
    }
    // What a rank tells comes before what it waits for: so nobody waits in a circle.
    let key = |(place, action): &(usize, Action)| match action {
        Action::Signal { to } => (*place, 0, *to),
        Action::Barrier { .. } => (*place, 1, 0),
        Action::Wait { from, .. } => (*place, 2, *from),
    };
    actions.iter_mut().for_each(|actions| actions.sort_by_key(key));
    Order { actions }
}

/// What ranks did last to a name or file.
#[derive(Clone, Debug, Default)]
struct Touched {
    /// Who made, removed or renamed it last.
    changed: Option<Place>,
    /// Who was the first since then to open it so that it is made if it is missing.
    made: Option<Place>,
    /// Who has found it missing since it changed, the last place of each rank.
    missed: Vec<Place>,
    /// Who has used it since, the last place of each rank.
    used: Vec<Place>,
    /// Who has written it: end, start, place.
    written: BTreeMap<u64, (u64, Place)>,
    /// Who has written extents here and there in it, the last place of each rank.
    scattered: Vec<Place>,
    /// Who has cut it, the last place of each rank.
    cut: Vec<Place>,
    /// Ranks that have written it since.
    after_cut: HashSet<u32>,
    /// Who has read it since it was cut, the last place of each rank.
    readers: Vec<Place>,
    /// Who has cut it or written its end last.
    resized: Option<Place>,
    /// Who has met its end.
    met: Met,
}

impl Touched {
    /// It is cut: after who read what was in it. Nobody has to wait for that but who writes.
    fn is_cut(&mut self, place: Place) -> Vec<Place> {
        put(&mut self.cut, place);
        self.after_cut.clear();
        self.resized = Some(place);
        std::mem::take(&mut self.readers)
    }
}

struct Dependences {
    /// Files that somebody reads.
    read: HashSet<u32>,
    /// Files that somebody cuts.
    cut: HashSet<u32>,
    by_path: HashMap<u32, Touched>,
    parents: Rc<Parents>,
    there: There,
    /// Ranks that opened files, by open instance.
    openers: HashMap<u32, u32>,
    /// How far rank q has seen rank p already: the last place, plus 1; as far as it has seen any.
    seen: Vec<Vec<u32>>,
    /// Operations of ranks so far.
    visited: Vec<usize>,
    /// What comes before an operation because of the processes that they are of.
    processes: HashMap<Place, Vec<Place>>,
    edges: Vec<Edge>,
}

impl Dependences {
    fn of(log: &Log, rounds: &Rounds) -> Vec<Edge> {
        let ranks = log.ranks.len();
        let parents = Rc::new(parents(log));
        let mut all = Dependences {
            read: read(log),
            cut: cut(log),
            by_path: HashMap::new(),
            there: There::new(&parents),
            parents,
            openers: openers(log),
            seen: vec![Vec::new(); ranks],
            visited: vec![0; ranks],
            processes: processes::order(log),
            edges: Vec::new(),
        };
        // Who fails because a name is there comes after who made it, though both began at once.
        let when = |Logged { event, .. }: &Logged| match event.errno {
            EEXIST => event.end_ns,
            _ => event.start_ns,
        };
        let mut merged = Merged::of(log, when);
        while let Some((place, entry)) = merged.next() {
            if all.there.contradicts(&entry) && merged.postpone(place, &entry) {
                continue;
            }
            all.visit(log, place, &entry);
            all.there.learn(&entry);
        }
        // Where all come together, nobody has to wait.
        all.edges.retain(|edge| !rounds.part(edge.from, edge.to));
        all.edges
    }

    fn visit(&mut self, log: &Log, place: Place, entry: &Logged) {
        for from in self.processes.remove(&place).unwrap_or_default() {
            self.begins_after(from, place);
        }
        let visited = &mut self.visited[place.0 as usize];
        *visited = (*visited).max(place.1 + 1);
        entry.parts().for_each(|part| self.touch(log, place, &part));
    }

    /// What an operation does to a file.
    fn touch(&mut self, log: &Log, place: Place, entry: &Logged) {
        let Some(op) = entry.op() else { return };
        let event = entry.event;
        if event.path == NO_ID {
            return;
        }
        let flags = if entry.details.open_flags == NO_ID { 0 } else { entry.details.open_flags };
        if takes_handle(op) && self.openers.get(&entry.details.instance) != Some(&place.0) {
            // It will have to open the file by its name.
            self.use_name(event.path, place);
        }
        match effect(op, flags, event.errno) {
            Effect::Changes => self.change(event.path, place),
            Effect::Makes => self.make(event.path, place),
            Effect::Misses => self.miss(event.path, place),
            Effect::Uses => self.use_name(event.path, place),
            // Who is at work on the file has to be done before it is removed or renamed.
            Effect::Nothing if takes_handle(op) => {
                put(&mut self.by_path.entry(event.path).or_default().used, place);
            }
            Effect::Nothing => {}
        }
        if event.path2 != NO_ID && event.errno == 0 {
            self.change(event.path2, place);
        }
        if event.errno == 0 {
            self.data(op, flags, place, &event, log.touched(&event));
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
        (touched.resized, touched.met) = (None, Met::default());
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
    fn miss(&mut self, path: u32, place: Place) {
        let missing_above = self.there.missing_above(path);
        for path in std::iter::once(path).chain(missing_above) {
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
    fn data(&mut self, op: Op, flags: u32, place: Place, event: &Event, (start, end): (u64, u64)) {
        let is_read = self.read.contains(&event.path);
        let is_cut = event.done_bytes > 0 && self.cut.contains(&event.path);
        let touched = self.by_path.entry(event.path).or_default();
        let before: Vec<Place> = match op {
            Op::Fread | Op::Readv | Op::Read | Op::Pfread | Op::Pread => {
                if is_cut {
                    put(&mut touched.readers, place);
                }
                touched.met.read(event, place, end);
                overlapping(&touched.written, start, end)
                    .chain(touched.resized.filter(|_| event.done_bytes < event.requested_bytes))
                    .chain(touched.scattered.iter().copied())
                    .collect()
            }
            Op::Fwrite | Op::Writev | Op::Pfwrite | Op::Pwrite => {
                touched.resized = Some(place);
                let scatters = event.pieces > 0 || event.flags & FLAG_UNPLACED != 0;
                if is_read && scatters {
                    put(&mut touched.scattered, place);
                } else if is_read && end > start {
                    wrote(&mut touched.written, start, end, place);
                }
                // Once for each rank is enough.
                let is_new = is_read && touched.after_cut.insert(place.0);
                let cut = if is_new { &touched.cut[..] } else { &[] };
                cut.iter().copied().chain(touched.met.before(end)).collect()
            }
            Op::Write => {
                if is_read && end > start {
                    wrote(&mut touched.written, start, end, place);
                }
                touched.is_cut(place)
            }
            Op::Append => {
                let last = touched.resized.replace(place);
                wrote(&mut touched.written, start, end.max(start + 1), place);
                last.into_iter().chain(touched.met.before(end)).collect()
            }
            _ if cuts(op, flags) => touched.is_cut(place),
            Op::Fallocate | Op::Pfpreallocate => {
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

const ENOENT: u16 = 2;
const EEXIST: u16 = 17;

/// What an operation does to the name that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Changes,
    Makes,
    Misses,
    Uses,
    Nothing,
}

fn effect(op: Op, flags: u32, errno: u16) -> Effect {
    match op {
        Op::Linkat if errno == 0 => Effect::Changes,
        _ if takes_handle(op) => Effect::Nothing,
        _ if errno == ENOENT => Effect::Misses,
        _ if errno == EEXIST => Effect::Uses,
        _ if errno != 0 => Effect::Nothing,
        Op::Fopen if flags & O_EXCL != 0 => Effect::Changes,
        Op::Fopen | Op::Pfopen if flags & O_CREAT != 0 => Effect::Makes,
        Op::Pwrite | Op::Create | Op::Fcreat | Op::Write | Op::Append => Effect::Makes,
        Op::Mkdir | Op::Rmdir | Op::Delete | Op::Pdelete | Op::Rename => Effect::Changes,
        // What a link holds is a text.
        Op::Sync | Op::Syncfs | Op::Symlink => Effect::Nothing,
        _ => Effect::Uses,
    }
}

/// Who wrote bytes from `start` to `end`.
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

/// Files of which bytes are read: of others nobody has to know who wrote them.
fn read(log: &Log) -> HashSet<u32> {
    use Op::*;
    let reads =
        |entry: &Logged| matches!(entry.op(), Some(Fread | Readv | Read | Append | Pfread | Pread));
    let all = log.ranks.iter().flatten().flat_map(|entry| entry.parts());
    all.filter(reads).map(|entry| entry.event.path).collect()
}

/// Files that are cut.
fn cut(log: &Log) -> HashSet<u32> {
    let flags = |entry: &Logged| match entry.details.open_flags {
        NO_ID => 0,
        flags => flags,
    };
    let is_cut = |entry: &Logged| {
        entry.op().is_some_and(|op| op == Op::Write || cuts(op, flags(entry))) && entry.is_ok()
    };
    log.ranks.iter().flatten().filter(is_cut).map(|entry| entry.event.path).collect()
}

/// The file may be shorter afterwards; `flags`: those of opening.
fn cuts(op: Op, flags: u32) -> bool {
    match op {
        Op::Truncate | Op::Ftruncate | Op::Pfsetsize => true,
        Op::Fopen | Op::Fcreat => flags & O_TRUNC != 0,
        _ => false,
    }
}

fn openers(log: &Log) -> HashMap<u32, u32> {
    let mut openers = HashMap::new();
    for (rank, entries) in (0..).zip(&log.ranks) {
        let opens = |entry: &Logged| entry.op().is_some_and(|op| op.row().gives_handle);
        openers.extend(entries.iter().filter(opens).map(|entry| (entry.details.instance, rank)));
    }
    openers
}

fn parents(log: &Log) -> Parents {
    let numbers: HashMap<&[u8], u32> =
        (0..).zip(&log.paths).map(|(id, path)| (path.as_slice(), id)).collect();
    let above = |path: &[u8]| -> Vec<u32> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.filter_map(|(at, _)| numbers.get(&path[..at]).copied()).collect()
    };
    (0..).zip(&log.paths).map(|(id, path)| (id, above(path))).collect()
}
