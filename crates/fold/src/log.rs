//! The operations of a run, as folding reads them, with what only the text of their program has; all ranks in one order
//! of time.

use super::events::{Events, Iter};
use super::logged::Logged;
use model::Op;
use model::directory::prefixed;
use model::event::{Event, FLAG_UNPLACED};
use model::op::{Param, ParamKind};
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_WRONLY};
use model::pattern::Run;
use model::run::{EventExtents, TraceBarrier, TraceFound};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// The operations of all ranks and what their ids mean.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Names of files, below the directory of the run, or `NAME:path` in a further one.
    pub paths: Vec<Vec<u8>>,
    /// Names of the further directories.
    pub directories: Vec<String>,
    /// Paths of labels.
    pub labels: Vec<String>,
    /// Operations by rank, in order of start.
    pub ranks: Vec<Events>,
    /// Extents that operations by patterns refer to.
    pub extents: Vec<EventExtents>,
    /// Facts from the program's text by place in it; for runs of Parabench.
    pub sites: HashMap<u32, Facts>,
    /// Processors of the machine that it was recorded on; `None`: unknown, or several machines.
    pub processors: Option<u32>,
    /// Time that recording added to each call, nanoseconds, if measured.
    pub recorder_ns: Option<u64>,
    /// Operations have a start and no duration: pauses lie between two starts.
    pub starts_only: bool,
    /// Bytes that files had when they were removed or shared, by name, where a log tells it.
    pub sizes: HashMap<u32, u64>,
    /// Symbolic links that were there before, and the names that they lead to.
    pub links: HashMap<u32, u32>,
    /// Processes of an imported log with their ranks.
    pub processes: Vec<Process>,
    /// Open files that several ranks append to.
    pub contended: HashSet<u32>,
    /// Where all ranks of an MPI job waited for each other, as it was recorded; ranks that follow are no
    /// ranks of it.
    pub barriers: Vec<TraceBarrier>,
    /// Imported: events have the numbers of open files, and flags for positions.
    pub imported: bool,
}

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

impl Log {
    /// Adds facts about files that the log reports beside operations.
    pub fn take_found(&mut self, found: &[TraceFound]) {
        let known = self.paths.iter().cloned().zip(0..);
        let mut ids: HashMap<Vec<u8>, u32> = known.collect();
        let mut id = |paths: &mut Vec<Vec<u8>>, path: &str| {
            *ids.entry(path.into()).or_insert_with(|| {
                paths.push(path.into());
                paths.len() as u32 - 1
            })
        };
        for one in found {
            let path = id(&mut self.paths, &one.path);
            if let Some(bytes) = one.size_bytes {
                self.sizes.insert(path, bytes);
            }
            if let Some(target) = &one.target {
                let target = id(&mut self.paths, target);
                self.links.insert(path, target);
            }
        }
    }

    /// The further directories in which a file has a name, in order.
    pub fn used_directories(&self) -> impl Iterator<Item = &str> {
        let used: HashSet<&[u8]> =
            self.paths.iter().filter_map(|path| Some(prefixed(path)?.0)).collect();
        let is_used = move |name: &&String| used.contains(name.as_bytes());
        self.directories.iter().filter(is_used).map(String::as_str)
    }

    /// Place of the further directory that a file lies in; `None`: it lies in that of the run.
    pub fn directory_of(&self, path: u32) -> Option<usize> {
        let (name, _) = prefixed(self.path(path))?;
        self.directories.iter().position(|known| known.as_bytes() == name)
    }

    /// The name with this number; "" for none.
    pub fn path(&self, id: u32) -> &[u8] {
        self.paths.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// The extents of an operation by a pattern, if all are recorded.
    pub fn extents_of(&self, event: &Event) -> Option<&EventExtents> {
        let number = (event.extents as usize).checked_sub(1)?;
        self.extents.get(number).filter(|extents| extents.is_whole() && !extents.runs.is_empty())
    }

    /// The first byte that an operation touched, and one past the last.
    pub fn touched(&self, event: &Event) -> (u64, u64) {
        if event.flags & FLAG_UNPLACED != 0 {
            return (0, u64::MAX);
        }
        let plain = (event.offset_bytes, event.offset_bytes.saturating_add(event.done_bytes));
        let Some(extents) = self.extents_of(event) else { return plain };
        let start = extents.runs.iter().map(|run| run.offset_bytes).min().unwrap_or(0);
        let end = extents.runs.iter().map(Run::end_bytes).max().unwrap_or(0);
        // Offsets count from where the operation began.
        let moved = |at: u64| at.wrapping_sub(extents.runs[0].offset_bytes);
        let from = event.offset_bytes;
        (from.wrapping_add(moved(start)), from.wrapping_add(moved(end)))
    }

    /// It appends to a file that other ranks append to: the kernel puts it anywhere.
    pub fn lies_anywhere(&self, entry: &Logged) -> bool {
        matches!(entry.op(), Some(Op::Fwrite | Op::Writev))
            && self.contended.contains(&entry.details.instance)
    }

    /// Facts from the program's text about an operation.
    pub fn facts(&self, entry: &Logged) -> Facts {
        self.sites.get(&entry.event.site).copied().unwrap_or_default()
    }

    /// The level of an operation by a pattern, by MPI-IO.
    pub fn level(&self, entry: &Logged) -> Option<u8> {
        let is_mpi = entry.op().is_some_and(Op::is_mpi_io);
        (is_mpi && entry.event.pieces > 0).then(|| self.facts(entry).level.unwrap_or(0))
    }

    /// It is imported and has operations of MPI-IO.
    pub fn tells_transfers_of_mpi_io(&self) -> bool {
        self.imported && self.uses_mpi_io()
    }

    /// It has operations of MPI-IO.
    pub fn uses_mpi_io(&self) -> bool {
        self.ranks.iter().flatten().any(|entry| entry.op().is_some_and(Op::is_mpi_io))
    }

    /// All ranks make the operation together.
    pub fn is_collective_call(&self, entry: &Logged) -> bool {
        let Some(op) = entry.op().filter(|op| op.is_mpi_io()) else { return false };
        let told = self.facts(entry);
        let joins = match op {
            Op::Pfread | Op::Pfwrite => match self.level(entry) {
                Some(level) => level > 0,
                None => matches!(told.way, Some("all" | "ordered")),
            },
            _ => op.is_collective(),
        };
        joins && !told.alone && !self.imported
    }
}

/// Place of an operation: rank and number.
pub type Place = (u32, usize);

/// Iterates over the operations of a log by time, then by rank.
pub struct Merged<'a> {
    ranks: Vec<Iter<'a>>,
    /// The next operation of each rank, and operations that come later than they began: place by time.
    next: BinaryHeap<Reverse<(u64, Place)>>,
    entries: HashMap<Place, Logged>,
    /// The one that was given last was postponed before.
    was_postponed: bool,
}

impl<'a> Merged<'a> {
    /// Those of a log.
    pub fn new(log: &'a Log) -> Merged<'a> {
        let ranks = log.ranks.iter().map(|rank| rank.iter()).collect();
        let (next, entries) = (BinaryHeap::new(), HashMap::new());
        let mut merged = Merged { ranks, next, entries, was_postponed: false };
        (0..log.ranks.len() as u32).for_each(|rank| merged.fetch((rank, 0)));
        merged
    }

    /// The operation that was just given comes again at its end; false: it did already.
    pub fn postpone(&mut self, place: Place, entry: &Logged) -> bool {
        let end_ns = entry.event.end_ns;
        let waits = !self.was_postponed && end_ns > entry.event.start_ns;
        if waits {
            self.push(end_ns, place, *entry);
        }
        waits
    }

    fn push(&mut self, ns: u64, place: Place, entry: Logged) {
        self.next.push(Reverse((ns, place)));
        self.entries.insert(place, entry);
    }

    fn fetch(&mut self, place: Place) {
        if let Some(entry) = self.ranks[place.0 as usize].next() {
            self.push(entry.event.start_ns, place, entry);
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = (Place, Logged);

    fn next(&mut self) -> Option<(Place, Logged)> {
        let Reverse((ns, place)) = self.next.pop()?;
        let entry = self.entries.remove(&place)?;
        self.was_postponed = ns > entry.event.start_ns;
        if !self.was_postponed {
            self.fetch((place.0, place.1 + 1));
        }
        Some((place, entry))
    }
}

/// Facts about the operations of a place in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Flags of open(2) that it opens with.
    pub flags: Option<u32>,
    /// How MPI-IO moves the bytes, one of `WAYS`; `None`: each rank for itself, at a place or its own position.
    pub way: Option<&'static str>,
    /// The level of its pattern.
    pub level: Option<u8>,
    /// Each rank is alone in it: `with (comm="self")`.
    pub alone: bool,
    /// Its words, by parameter that takes one: `flock($h, "shared", "try")`.
    pub words: [Option<&'static str>; 2],
    /// Number of its arguments.
    pub arguments: usize,
}

/// How MPI-IO moves bytes: all together, at the shared pointer, or both.
pub const WAYS: [&str; 3] = ["all", "shared", "ordered"];

impl Facts {
    /// The word of a parameter that takes one of some.
    pub fn word(&self, op: Op, param: &Param) -> Option<&'static str> {
        let mut takes_words =
            op.row().params.iter().filter(|it| matches!(it.kind, ParamKind::Word(_)));
        let at = takes_words.position(|it| it.name == param.name)?;
        self.words.get(at).copied().flatten()
    }
}

/// Flags of open(2) for the letters of an MPI file's mode.
pub fn flags_of_mpi_mode(letters: &str) -> Option<u32> {
    let has = |letter: char| letters.contains(letter);
    let known = letters.chars().all(|letter| "rwcxa".contains(letter));
    let access = match (has('r'), has('w')) {
        (true, true) => O_RDWR,
        (false, true) => O_WRONLY,
        (true, false) => 0,
        (false, false) => return None,
    };
    let flag = |letter: char, flag: u32| if has(letter) { flag } else { 0 };
    let more = flag('c', O_CREAT) | flag('x', O_EXCL) | flag('a', O_APPEND);
    known.then_some(access | more)
}

/// Letters of an MPI file's mode for flags of open(2).
pub fn mpi_mode(flags: u32) -> String {
    let access = match flags & 3 {
        O_RDWR => "rw",
        O_WRONLY => "w",
        _ => "r",
    };
    let more = [('c', O_CREAT), ('x', O_EXCL), ('a', O_APPEND)];
    let more = more.into_iter().filter(|(_, flag)| flags & flag != 0);
    access.chars().chain(more.map(|(letter, _)| letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_by_their_times() {
        let entry = |start_ns: u64, end_ns: u64, errno: u16| {
            let mut entry = Logged::default();
            (entry.event.start_ns, entry.event.end_ns, entry.event.errno) =
                (start_ns, end_ns, errno);
            entry
        };
        let ranks = [
            vec![entry(0, 1, 0), entry(5, 9, 1), entry(9, 10, 0)],
            vec![],
            vec![entry(0, 4, 0), entry(5, 6, 0), entry(8, 8, 0)],
        ];
        let ranks = ranks.into_iter().map(|rank| rank.into_iter().collect()).collect();
        let log = Log { ranks, ..Log::default() };
        let by_start = [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2), (0, 2)];
        assert!(Merged::new(&log).map(|(place, _)| place).eq(by_start));
        let (mut merged, mut places) = (Merged::new(&log), Vec::new());
        while let Some((place, entry)) = merged.next() {
            if entry.event.errno == 0 || !merged.postpone(place, &entry) {
                places.push(place);
            }
        }
        assert_eq!(places, [(0, 0), (2, 0), (2, 1), (2, 2), (0, 1), (0, 2)]);
    }
}

#[cfg(test)]
mod facts_tests {
    use super::*;

    #[test]
    fn modes_of_mpi_files_are_flags() {
        for mode in ["r", "w", "rw", "wc", "rwcx", "wca"] {
            assert_eq!(mpi_mode(flags_of_mpi_mode(mode).unwrap()), mode);
        }
        assert_eq!(flags_of_mpi_mode("crw"), flags_of_mpi_mode("rwc"));
        assert_eq!((flags_of_mpi_mode("c"), flags_of_mpi_mode("rz")), (None, None));
    }
}
