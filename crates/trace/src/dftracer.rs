//! Logs of DFTracer (`.pfw`, `.pfw.gz`): events of a Chrome trace, a line of JSON for each.
//!
//! ```text
//! {"name":"FH","cat":"dftracer","ph":4,"args":{"name":"/d/f","value":"ebc8"},...}      hash ebc8 is /d/f
//! {"name":"pread64","cat":"POSIX","pid":7,"tid":7,"ts":17953,"dur":2,"args":{"fhash":"ebc8","ret":50,...}}
//! ```
//!
//! It wraps calls of the C library. A call names its file, not its descriptor; openings and most calls on
//! names have no result.

use crate::clib::{self, Called, Files, Who};
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, At, Call, Introduction, Outcome, Record, Shares};
use crate::scanner::{Found, LineFormat, Lines};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Threads of a further machine in the same log have numbers above these.
const HOST_SHIFT: u32 = 40;
/// Machines of a log; more are taken for one.
const HOSTS_MAX: usize = 1 << 16;

/// A line. Fields that matter to nobody here are left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    cat: Cow<'a, str>,
    ph: Value,
    pid: Value,
    tid: Value,
    ts: Value,
    dur: Value,
    /// Arguments of a call, or what a line of the recorder itself says.
    args: Map<String, Value>,
}

impl Line<'_> {
    /// Numbers of the process and the thread; without a thread the process is one.
    fn process_and_thread(&self) -> (u64, u64) {
        let positive = |value| number(value).and_then(|number| u64::try_from(number).ok());
        let process = positive(&self.pid).unwrap_or(0);
        (process, positive(&self.tid).unwrap_or(process))
    }

    /// The first of these arguments that is there.
    fn find(&self, names: &[&str]) -> &Value {
        names.iter().find_map(|name| self.args.get(*name)).unwrap_or(&Value::Null)
    }
}

// Versions of DFTracer differ in which values are numbers.

/// A text, or the digits of a number.
fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Number(number) => Some(number.as_i64()?.to_string().into_bytes()),
        _ => Some(value.as_str()?.as_bytes().to_vec()),
    }
}

/// A number, also in quotes.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads one log.
#[derive(Default)]
pub struct DfTracer {
    /// Paths and other texts by their hashes.
    texts: HashMap<Vec<u8>, Vec<u8>, FxBuildHasher>,
    /// Machines by their hashes, in order of their first events.
    hosts: Vec<Vec<u8>>,
    /// Processes and threads that were introduced.
    known: HashSet<u64, FxBuildHasher>,
    files: Files,
    /// Nanoseconds of a unit of time, if the log names one.
    unit_ns: Option<u64>,
    waiting: VecDeque<Item>,
    current: Item,
}

/// A record of a line, which has one or several.
#[derive(Debug, Default)]
struct Item {
    thread: u64,
    now_ns: u64,
    what: What,
}

#[derive(Debug, Default)]
enum What {
    #[default]
    Nothing,
    Process {
        host: Vec<u8>,
        command: Vec<u8>,
    },
    Directory(Vec<u8>),
    /// The process begins this thread.
    Thread(u64),
    Event(Box<Event>),
}

/// A call.
#[derive(Debug, Default)]
struct Event {
    elapsed_ns: Option<u64>,
    function: Vec<u8>,
    file: Vec<u8>,
    other: Vec<u8>,
    mode: Vec<u8>,
    /// Its numbers.
    called: Called<'static>,
}

impl DfTracer {
    /// Puts what a line says into the queue; `None`: it is in no known form.
    fn take(&mut self, line: &[u8], gaps: &mut Gaps) -> Option<()> {
        let line = line.trim_ascii();
        let line = line.strip_suffix(b",").unwrap_or(line);
        if line.is_empty() || matches!(line, b"[" | b"]") {
            return Some(());
        }
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let (name, value) = (line.find(&["name"]), line.find(&["value"]));
        match (&*line.name, &*line.cat) {
            ("FH" | "SH" | "HH", "dftracer") => {
                self.texts.insert(text(value)?, text(name)?);
            }
            ("CM", "dftracer") if name == "time_metric" => {
                self.unit_ns = Some(unit_ns(&text(value)?)?);
            }
            ("start", "dftracer") => self.start(&line)?,
            // The form of version 1.
            (path, "dftracer") if line.ph == "H" => {
                self.texts.insert(text(line.find(&["hash"]))?, path.as_bytes().to_vec());
            }
            (_, "POSIX" | "STDIO") => self.event(&line)?,
            (name, "MPI" | "MPIIO" | "MPI-IO" | "HDF5") => {
                gaps.add_name(Gap::Above, name.as_bytes());
            }
            // What the program itself marked, and what the recorder says of itself.
            _ => {}
        }
        Some(())
    }

    /// A time in nanoseconds.
    fn nanoseconds(&self, value: &Value) -> Option<u64> {
        let unit_ns = self.unit_ns.unwrap_or(1000);
        match value {
            Value::Number(number) if number.is_f64() => {
                // A cast saturates.
                Some((number.as_f64()? * unit_ns as f64).round() as u64)
            }
            _ => Some(u64::try_from(number(value)?).ok()?.saturating_mul(unit_ns)),
        }
    }

    /// The text of a hash.
    fn text_of(&self, hash: &Value) -> Option<Vec<u8>> {
        self.texts.get(&text(hash)?).cloned()
    }

    /// A call. Who its process and thread are is said before, once.
    fn event(&mut self, line: &Line<'_>) -> Option<()> {
        let now_ns = self.nanoseconds(&line.ts)?;
        let elapsed_ns = self.nanoseconds(&line.dur);
        let (process, thread) = line.process_and_thread();
        let process = self.number_on_host(line, process);
        let thread = self.number_on_host(line, thread);
        if self.known.insert(process) {
            let host = self.text_of(line.find(&["hhash"])).unwrap_or_default();
            let what = What::Process { host, command: Vec::new() };
            self.waiting.push_back(Item { thread: process, now_ns, what });
        }
        if self.known.insert(thread) {
            self.waiting.push_back(Item { thread: process, now_ns, what: What::Thread(thread) });
        }
        // A hash without a text is a name, too.
        let known = |hash| self.text_of(hash).or(text(hash)).unwrap_or_default();
        let file = text(line.find(&["fname"])).unwrap_or_else(|| known(line.find(&["fhash"])));
        let number = |names: &[&str]| number(line.find(names));
        let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        let (count, size) = (number(&["count", "length", "bufsize"]), number(&["size"]));
        let called = Called {
            who: Who { process, thread },
            count: positive(count.or(size)),
            size: positive(count.and(size)),
            offset: number(&["offset"]),
            whence: number(&["whence"]),
            flags: number(&["flags"]).and_then(|flags| u32::try_from(flags).ok()),
            result: number(&["ret"]),
            ..Called::default()
        };
        let event = Event {
            elapsed_ns,
            function: line.name.as_bytes().to_vec(),
            file,
            other: known(line.find(&["newpath", "path2", "newpath_hash", "path2_hash"])),
            mode: text(line.find(&["mode"])).unwrap_or_default(),
            called,
        };
        self.waiting.push_back(Item { thread, now_ns, what: What::Event(Box::new(event)) });
        Some(())
    }

    /// A process begins: its program, machine and directory.
    fn start(&mut self, line: &Line<'_>) -> Option<()> {
        let now_ns = self.nanoseconds(&line.ts)?;
        let thread = self.number_on_host(line, line.process_and_thread().0);
        let host = self.text_of(line.find(&["hhash"])).unwrap_or_default();
        let mut command = self.text_of(line.find(&["cmd_hash"])).unwrap_or_default();
        // Arguments follow behind semicolons.
        command.truncate(memchr::memchr(b';', &command).unwrap_or(command.len()));
        self.known.insert(thread);
        self.waiting.push_back(Item { thread, now_ns, what: What::Process { host, command } });
        let directory = self.text_of(line.find(&["cwd"])).filter(|path| path.starts_with(b"/"));
        let item = |path| Item { thread, now_ns, what: What::Directory(path) };
        self.waiting.extend(directory.map(item));
        Some(())
    }

    /// The number of a process or thread, unique over all machines.
    fn number_on_host(&mut self, line: &Line<'_>, number: u64) -> u64 {
        let number = number.min((1 << HOST_SHIFT) - 1);
        let Some(hash) = text(line.find(&["hhash"])) else { return number };
        let found = self.hosts.iter().position(|known| *known == hash);
        let place = found.unwrap_or_else(|| {
            if self.hosts.len() < HOSTS_MAX {
                self.hosts.push(hash);
            }
            self.hosts.len() - 1
        });
        ((place as u64) << HOST_SHIFT) + number
    }
}

impl LineFormat for DfTracer {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        self.take(lines.line(), gaps).map_or(Found::Unknown, |()| Found::Nothing)
    }

    fn waiting(&mut self) -> Option<u64> {
        self.current = self.waiting.pop_front()?;
        Some(self.current.now_ns)
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let plain = Record::at(lines.number(), self.current.thread, self.current.now_ns);
        let call = match &self.current.what {
            What::Nothing => return None,
            What::Process { host, command } => {
                Call::new(Act::Introduce(Introduction { host, command, ..Introduction::default() }))
            }
            What::Directory(path) => Call { at: At::here(path), ..Call::new(Act::TellDirectory) },
            What::Thread(thread) => {
                let outcome = Outcome::success(clib::number_of(*thread));
                let call = Call::new(Act::Spawn(Shares::ALL));
                return Some(Record { call, outcome, ..plain });
            }
            What::Event(event) => {
                let Event { elapsed_ns, function, file, other, mode, called } = &**event;
                let called = Called { function, file, other, mode, ..*called };
                let (call, outcome) = clib::understand(&called, &mut self.files, gaps)?;
                let elapsed_ns = *elapsed_ns;
                return Some(Record { name: function, elapsed_ns, call, outcome, ..plain });
            }
        };
        Some(Record { call, ..plain })
    }
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

/// The log begins like one of DFTracer.
pub fn looks_like(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |word: &[u8]| memchr::memmem::find(first, word).is_some();
    first.starts_with(b"{") && has(b"\"ph\":") && has(b"\"cat\":") && has(b"\"pid\":")
}
