//! A program that was executed to be looked at: all ranks simulated in virtual time on files in memory.
//!
//! ```text
//! Watched    everything up to its end: events, phases, waits, signals, findings      engine::watch ─▶ page::scene
//! Snapshot   the state before one statement: variables, open files, directory tree   engine::watch
//! ```
//!
//! Times are virtual nanoseconds since the start. Not here: how it is executed (crate `engine`), how it is drawn
//! (`page`, `web/src/studio`).

use crate::event::Event;
use crate::plan::{Pc, Plan, SetId, Span};
use crate::rehearsal::Rehearsal;
use crate::run::{EventExtents, Run};
use serde::{Deserialize, Serialize};

/// Events of all ranks up to the limits.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Figures, places, phases and errors, as `parabench run --backend mem` stores them; its header has nothing about
    /// the machine and the command.
    pub run: Run,
    /// By rank.
    pub ranks: Vec<WatchedRank>,
    /// Waits for other ranks, in the order of their ends.
    pub waits: Vec<Wait>,
    /// Signals in the order in which they were given.
    pub signals: Vec<Given>,
    /// All ranks came to their ends within the limits.
    pub whole: bool,
    /// Failures, and warnings of the rehearsal, in the order of places.
    pub findings: Vec<Found>,
    /// Amounts and peak.
    pub rehearsal: Rehearsal,
}

/// Something that fails, or that nobody can want.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// It happened; else it is a doubt of the rehearsal.
    pub happened: bool,
    /// The statement.
    pub site: Option<Pc>,
    /// A sentence.
    pub message: String,
    /// The ranks that it concerns, as far as they are known.
    pub ranks: Vec<u32>,
}

/// Events of one rank.
#[derive(Clone, Debug, Default)]
pub struct WatchedRank {
    /// When it ended.
    pub end_ns: u64,
    /// "finished", "failed", "released", "interrupted".
    pub end: &'static str,
    /// Label paths that events refer to.
    pub labels: Vec<Vec<u8>>,
    /// Paths that they refer to.
    pub paths: Vec<Vec<u8>>,
    /// Extents that they refer to, from 1.
    pub extents: Vec<EventExtents>,
    /// Its operations in order.
    pub events: Vec<Event>,
    /// Occurrences of labels: number of the label, start, end.
    pub phases: Vec<(u32, u64, u64)>,
}

/// Why a rank waits for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A barrier; a collective function or an operation inside MPI has its name.
    Meeting(Option<&'static str>),
    /// A signal: its name, and how many must have been given.
    Signal(Vec<u8>, u64),
    /// A lock of the file at this path.
    Lock(Vec<u8>),
}

/// A rank waits for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The rank.
    pub rank: u32,
    /// The members of this set of the plan.
    pub set: SetId,
    /// The statement.
    pub site: Pc,
    /// Since when.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// The awaited thing.
    pub what: Awaited,
    /// It was never met: the rank was released.
    pub never: bool,
    /// The rank that came last, or gave the last signal that was needed.
    pub for_rank: Option<u32>,
    /// When it did; 0 if it is not known.
    pub for_ns: u64,
    /// Number of the meeting in `set`, from 0: its members have the same.
    pub meeting: u64,
}

/// A signal that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The rank that gave it.
    pub rank: u32,
    /// When.
    pub ns: u64,
    /// The set whose members may wait for it.
    pub set: SetId,
    /// Its name.
    pub name: Vec<u8>,
    /// The only member that gets it.
    pub to: Option<u32>,
}

/// A part of the program: lines and columns (letters) from 1, the end behind the last letter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// First line.
    pub line: usize,
    /// First column.
    pub column: usize,
    /// Last line.
    pub end_line: usize,
    /// Column behind the last letter.
    pub end_column: usize,
}

impl Place {
    /// The place of a span; `None`: it is in no file of the program.
    pub fn new(plan: &Plan, span: Span) -> Option<Place> {
        let (file, line, column) = plan.locate(span)?;
        let (last, end_line, end_column) = plan.locate(Span { start: span.end, end: span.end })?;
        let ends_there = last == file;
        Some(Place {
            file: file.into(),
            line,
            column,
            end_line: if ends_there { end_line } else { line },
            end_column: if ends_there { end_column } else { column },
        })
    }
}

/// A statement of the program text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// All of it.
    pub span: Span,
    /// Without the statements inside of it: of a loop or a label what stands before its body.
    pub head: Span,
}

/// Where to pause. All but the first search behind the position `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "lowercase")]
pub enum Target {
    /// Before the statement with this number.
    Position {
        /// Statements that are begun before it.
        position: u64,
    },
    /// Before the next statement.
    Next {
        /// Position of the last pause.
        from: u64,
    },
    /// Before the next statement of the rank that is not inside of the one at which it is.
    Over {
        /// Position of the last pause.
        from: u64,
        /// The rank.
        rank: u32,
    },
    /// Before the next statement that begins on this line.
    Line {
        /// Position of the last pause.
        from: u64,
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Only of this rank.
        rank: Option<u32>,
    },
    /// Before the next statement of the rank.
    Rank {
        /// Position of the last pause.
        from: u64,
        /// The rank.
        rank: u32,
    },
}

/// The state of all ranks before a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Statements that ranks have begun before: the position to come back to.
    pub position: u64,
    /// The statement that is executed next; `None`: the program is over.
    pub next: Option<Next>,
    /// All ranks have ended.
    pub finished: bool,
    /// The limit of statements came first.
    pub limit: bool,
    /// By rank.
    pub ranks: Vec<RankState>,
    /// Files, directories and links, a directory before what is in it.
    pub tree: Vec<TreeEntry>,
    /// Entries that are not listed.
    pub more_entries: u64,
    /// The last 64 KiB that were printed so far.
    pub printed: String,
}

/// A statement of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Next {
    /// The rank.
    pub rank: u32,
    /// The statement, of a loop or a label only its head.
    pub place: Place,
}

/// A rank at a pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankState {
    /// The rank.
    pub rank: u32,
    /// "ready", "waiting", "finished", "failed", "released", "interrupted".
    pub state: &'static str,
    /// The statement that it executes next, or at which it waits or ended.
    pub place: Option<Place>,
    /// The reason why it waits or has ended.
    pub why: String,
    /// Its virtual time.
    pub now_ns: u64,
    /// Labels around it, `outer/inner`.
    pub label: String,
    /// Innermost group.
    pub group: String,
    /// Places of the calls of procs that are running, the innermost first.
    pub calls: Vec<Place>,
    /// Variables with the names that the program gives them.
    pub variables: Vec<Variable>,
    /// Files that it has open.
    pub files: Vec<OpenFile>,
    /// Statements that it has begun.
    pub statements: u64,
}

/// A variable of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name without `$`.
    pub name: String,
    /// As `print` shows it, cut; `None`: it has no value yet.
    pub value: Option<String>,
    /// The proc whose own it is; "": it is global.
    pub proc: String,
}

/// A file that a rank has open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpenFile {
    /// The path with which it was opened.
    pub path: String,
    /// Where transfers without an offset begin, bytes.
    pub position: u64,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// As `fopen` takes them, "r+" or "O_RDWR|O_APPEND"; of an MPI file "MPI".
    pub flags: String,
    /// Variables that hold it, with `$`.
    pub variables: Vec<String>,
}

/// A name in the directory tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeEntry {
    /// Its path below the run directory, or `NAME:path`.
    pub path: String,
    /// "file", "directory", "link".
    pub kind: &'static str,
    /// Size, bytes.
    pub size_bytes: u64,
    /// The same without holes.
    pub used_bytes: u64,
    /// Text of a link.
    pub target: String,
}
