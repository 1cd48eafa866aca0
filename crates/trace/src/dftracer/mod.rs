//! Logs of DFTracer (`.pfw`, `.pfw.gz`): events of a Chrome trace, a line of JSON for each.
//!
//! ```text
//! {"name":"FH","cat":"dftracer","ph":4,"args":{"name":"/d/f","value":"ebc8"},...}      hash ebc8 is /d/f
//! {"name":"pread64","cat":"POSIX","pid":7,"tid":7,"ts":17953,"dur":2,"args":{"fhash":"ebc8","ret":50,...}}
//! ```
//!
//! It wraps calls of the C library. A call names its file, not its descriptor; openings and most calls on
//! names have no result.

mod line;

use crate::clib::{self, Called, Files};
use crate::gaps::{Gap, Gaps};
use crate::lines::Lines;
use crate::named::{ByName, Who, name};
use crate::record::{Call, Introduction, Outcome, Record, Shares};
use crate::scanner::{Found, LineFormat};
use hashbrown::{HashMap, HashSet};
use line::{Arguments, Line};
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// Threads of a further machine in the same log have numbers above these.
const HOST_SHIFT: u32 = 40;

/// Reads one log.
pub struct DfTracer {
    /// Paths and other texts by their hashes.
    texts: HashMap<Box<[u8]>, Box<[u8]>, FxBuildHasher>,
    /// Machines by their hashes, in order of their first events.
    hosts: Vec<Box<[u8]>>,
    /// Processes and threads that were introduced.
    known: HashSet<u64, FxBuildHasher>,
    files: Files,
    /// Nanoseconds of a unit of time.
    unit_ns: u64,
    waiting: VecDeque<Item>,
    current: Item,
}

/// The records of a line: one or several.
#[derive(Debug)]
enum Item {
    Process { process: u64, host: Vec<u8>, command: Vec<u8>, now_ns: u64 },
    Directory { process: u64, path: Vec<u8>, now_ns: u64 },
    Thread { process: u64, thread: u64, now_ns: u64 },
    Event(Box<Event>),
}

/// A call.
#[derive(Debug, Default)]
struct Event {
    function: Vec<u8>,
    process: u64,
    thread: u64,
    start_ns: u64,
    elapsed_ns: Option<u64>,
    file: Vec<u8>,
    other: Vec<u8>,
    mode: Vec<u8>,
    numbers: Numbers,
}

/// Its arguments that are numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    count: Option<i64>,
    size: Option<i64>,
    offset: Option<i64>,
    whence: Option<i64>,
    flags: Option<i64>,
    result: Option<i64>,
}

impl Item {
    fn now_ns(&self) -> u64 {
        match self {
            Item::Process { now_ns, .. }
            | Item::Directory { now_ns, .. }
            | Item::Thread { now_ns, .. } => *now_ns,
            Item::Event(event) => event.start_ns,
        }
    }
}

impl Default for DfTracer {
    fn default() -> DfTracer {
        DfTracer {
            texts: HashMap::default(),
            hosts: Vec::new(),
            known: HashSet::default(),
            files: Files::Named(ByName::default()),
            unit_ns: 1000,
            waiting: VecDeque::new(),
            current: Item::Event(Box::default()),
        }
    }
}

impl DfTracer {
    /// Puts what a line says into the queue; `None`: it is in no known form.
    fn take(&mut self, line: &[u8], gaps: &mut Gaps) -> Option<()> {
        let text = line.trim_ascii();
        let text = text.strip_suffix(b",").unwrap_or(text);
        if text.is_empty() || matches!(text, b"[" | b"]") {
            return Some(());
        }
        let line: Line<'_> = serde_json::from_slice(text).ok()?;
        match (&*line.name, &*line.cat) {
            ("FH" | "SH" | "HH", "dftracer") => {
                let (hash, text) = (line.args.value.text()?, line.args.name.text()?);
                self.texts.insert(hash, text);
            }
            ("CM", "dftracer") if line.args.name.is(b"time_metric") => {
                self.unit_ns = unit_ns(&line.args.value.text()?)?;
            }
            ("start", "dftracer") => {
                let items = start(&line, &self.texts, &mut self.hosts, self.unit_ns)?;
                self.known.extend(items.iter().map(|item| match item {
                    Item::Process { process, .. } => *process,
                    _ => u64::MAX,
                }));
                self.waiting.extend(items);
            }
            // The form of version 1.
            (path, "dftracer") if line.ph.is(b"H") => {
                self.texts.insert(line.args.hash.text()?, path.as_bytes().into());
            }
            (_, "POSIX" | "STDIO") => {
                let event = event(&line, &self.texts, &mut self.hosts, self.unit_ns)?;
                let host = line.args.hhash.text().and_then(|hash| self.texts.get(&*hash));
                let host = host.map_or(Vec::new(), |host| host.to_vec());
                introduce(&event, host, &mut self.known, &mut self.waiting);
                self.waiting.push_back(Item::Event(Box::new(event)));
            }
            (name, "MPI" | "MPIIO" | "MPI-IO" | "HDF5") => {
                gaps.add_name(Gap::Above, name.as_bytes());
            }
            // What the program itself marked, and what the recorder says of itself.
            _ => {}
        }
        Some(())
    }
}

impl LineFormat for DfTracer {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        self.take(lines.line(), gaps).map_or(Found::Unknown, |()| Found::Nothing)
    }

    fn waiting(&mut self) -> Option<u64> {
        self.current = self.waiting.pop_front()?;
        Some(self.current.now_ns())
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let line = lines.number();
        match &self.current {
            Item::Process { process, host, command, now_ns } => {
                let call =
                    Call::Introduce(Introduction { host, command, ..Introduction::default() });
                Some(Record { call, ..Record::at(line, *process, *now_ns) })
            }
            Item::Directory { process, path, now_ns } => {
                let call = Call::TellDirectory { name: name(path) };
                Some(Record { call, ..Record::at(line, *process, *now_ns) })
            }
            Item::Thread { process, thread, now_ns } => {
                let shares = Shares { process: true, files: true, directory: true };
                let outcome = Outcome::success(i64::try_from(*thread).ok()?);
                let call = Call::Spawn { shares };
                Some(Record { call, outcome, ..Record::at(line, *process, *now_ns) })
            }
            Item::Event(event) => {
                let (call, outcome) = clib::understand(&event.called(), &mut self.files, gaps)?;
                let (name, elapsed_ns) = (&event.function[..], event.elapsed_ns);
                let plain = Record::at(line, event.thread, event.start_ns);
                Some(Record { name, elapsed_ns, call, outcome, ..plain })
            }
        }
    }
}

impl Event {
    fn called(&self) -> Called<'_> {
        let Numbers { count, size, offset, whence, flags, result } = self.numbers;
        let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        Called {
            function: clib::plain(&self.function),
            who: Who { process: self.process, thread: self.thread },
            file: &self.file,
            other: &self.other,
            count: positive(count),
            size: positive(size),
            offset,
            whence,
            flags: flags.and_then(|flags| u32::try_from(flags).ok()),
            mode: &self.mode,
            result,
        }
    }
}

type Texts = HashMap<Box<[u8]>, Box<[u8]>, FxBuildHasher>;

/// A call with what its hashes mean.
fn event(
    line: &Line<'_>,
    texts: &Texts,
    hosts: &mut Vec<Box<[u8]>>,
    unit_ns: u64,
) -> Option<Event> {
    let (args, base) = (&line.args, host_base(&line.args, hosts));
    let known = |hash: Option<Box<[u8]>>| {
        hash.map(|hash| texts.get(&hash).map_or(hash, Clone::clone).into_vec()).unwrap_or_default()
    };
    let file = match args.fname.text() {
        Some(path) => path.into_vec(),
        None => known(args.fhash.text()),
    };
    let other = [&args.newpath, &args.path2, &args.newpath_hash, &args.path2_hash];
    let other = known(other.iter().find_map(|text| text.text()));
    let count =
        [&args.count, &args.length, &args.bufsize].iter().find_map(|number| number.number());
    let (size, offset) = (args.size.number(), args.offset.number());
    let numbers = Numbers {
        count: count.or(size),
        size: count.and(size),
        offset,
        whence: args.whence.number(),
        flags: args.flags.number(),
        result: args.ret.number(),
    };
    Some(Event {
        function: line.name.as_bytes().to_vec(),
        process: base + line.pid.min((1 << HOST_SHIFT) - 1),
        thread: base + line.tid.unwrap_or(line.pid).min((1 << HOST_SHIFT) - 1),
        start_ns: line.ts.nanoseconds(unit_ns)?,
        elapsed_ns: line.dur.nanoseconds(unit_ns),
        file,
        other,
        mode: args.mode.text().filter(|mode| !mode.is_empty()).map_or(Vec::new(), |m| m.into_vec()),
        numbers,
    })
}

/// A process begins: its program, machine and directory.
fn start(
    line: &Line<'_>,
    texts: &Texts,
    hosts: &mut Vec<Box<[u8]>>,
    unit_ns: u64,
) -> Option<Vec<Item>> {
    let args = &line.args;
    let process = host_base(args, hosts) + line.pid.min((1 << HOST_SHIFT) - 1);
    let known =
        |hash: Option<Box<[u8]>>| hash.and_then(|hash| texts.get(&hash)).map(|text| text.to_vec());
    let host = known(args.hhash.text()).unwrap_or_default();
    let command = known(args.cmd_hash.text()).unwrap_or_default();
    // Arguments follow behind semicolons.
    let end = memchr::memchr(b';', &command).unwrap_or(command.len());
    let now_ns = line.ts.nanoseconds(unit_ns)?;
    let command = command[..end].to_vec();
    let mut items = vec![Item::Process { process, host, command, now_ns }];
    let directory = known(args.cwd.text()).filter(|path| path.starts_with(b"/"));
    items.extend(directory.map(|path| Item::Directory { process, path, now_ns }));
    Some(items)
}

/// Says who the process and the thread of a call are, once.
fn introduce(
    event: &Event,
    host: Vec<u8>,
    known: &mut HashSet<u64, FxBuildHasher>,
    waiting: &mut VecDeque<Item>,
) {
    let (process, thread, now_ns) = (event.process, event.thread, event.start_ns);
    if known.insert(process) {
        waiting.push_back(Item::Process { process, host, command: Vec::new(), now_ns });
    }
    if known.insert(thread) {
        waiting.push_back(Item::Thread { process, thread, now_ns });
    }
}

/// Where the numbers of a machine's threads begin.
fn host_base(args: &Arguments<'_>, hosts: &mut Vec<Box<[u8]>>) -> u64 {
    let Some(hash) = args.hhash.text() else { return 0 };
    let found = hosts.iter().position(|known| *known == hash);
    let place = found.unwrap_or_else(|| {
        // More machines than a log can have are one.
        if hosts.len() < 1 << 16 {
            hosts.push(hash);
        }
        hosts.len() - 1
    });
    (place as u64) << HOST_SHIFT
}

fn unit_ns(text: &[u8]) -> Option<u64> {
    Some(match text {
        b"NS" => 1,
        b"US" => 1000,
        b"MS" => 1_000_000,
        b"SEC" | b"S" => 1_000_000_000,
        _ => return None,
    })
}

pub use line::looks_like;
