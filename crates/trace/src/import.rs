//! Logs of one job -> everything a run needs of them.

use crate::error::{Error, cannot_read, log_name};
use crate::facts::Facts;
use crate::format::{Format, Neighbour};
use crate::gaps::{Gap, Gaps};
use crate::input::{self, Input};
use crate::phases;
use crate::recording;
use crate::resolve::{Ranked, Resolver};
use crate::scanner::Lines;
use crate::scanner::Scanner;
use crate::selection::{Scope, Selection};
use crate::sort::{Sorted, Sorter};
use crate::strace::{self, Strace};
use crate::sums::Sums;
use crate::turns;
use model::run::TraceLog;
use model::units::format_ns;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::path::{Path, PathBuf};

/// Options of an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// `None`: the logs show what they are.
    pub format: Option<Format>,
    /// Files to keep.
    pub which: Selection,
}

/// A job's logs as events with what they refer to.
pub struct Imported {
    /// Format of the logs.
    pub format: Format,
    /// The logs.
    pub logs: Vec<TraceLog>,
    /// Facts that are not events.
    pub facts: Facts,
    /// The events.
    pub events: Sorted,
}

impl Imported {
    /// The logs have no operation that is kept, and no sums.
    pub fn is_empty(&self) -> bool {
        Sorted::count(&self.events) == 0 && self.facts.rows.is_empty()
    }
}

/// Imports logs; `-` is standard input.
///
/// # Errors
/// A log cannot be read, is of no known format, or of another one than the first.
pub fn import(logs: &[PathBuf], options: &Options) -> Result<Imported, Error> {
    from_inputs(open(logs)?, options)
}

/// Opens logs; `-` is standard input.
///
/// # Errors
/// One cannot be read.
pub fn open(logs: &[PathBuf]) -> Result<Vec<(PathBuf, Input)>, Error> {
    let open = |log: &PathBuf| {
        let input = input::open(log).map_err(|error| cannot_read(log, 0, &error))?;
        Ok((log.clone(), input))
    };
    logs.iter().map(open).collect()
}

/// The same from logs that are open.
///
/// # Errors
/// As for [`import`].
pub fn from_inputs(inputs: Vec<(PathBuf, Input)>, options: &Options) -> Result<Imported, Error> {
    let format = common_format(&inputs, options)?;
    let mut gaps = Gaps::default();
    let logs: Vec<Log<'_>> = match format {
        Format::Strace => {
            count_relative(&inputs, &mut gaps);
            strace_logs(inputs)
        }
        _ => logs_with(inputs, |input, name| format.scanner(input, name))?,
    };
    from_logs(logs, format, options.which.clone(), gaps, Vec::new())
}

/// Logs that each begin at 0 cannot be placed beside each other.
fn count_relative(inputs: &[(PathBuf, Input)], gaps: &mut Gaps) {
    let is_relative = |(_, input): &&(PathBuf, Input)| strace::has_relative_times(&input.beginning);
    let relative: Vec<_> = inputs.iter().filter(is_relative).collect();
    for (name, _) in relative.iter().filter(|_| relative.len() > 1) {
        let help = b"strace -ttt tells more than -r";
        gaps.add_line(Gap::RelativeTimes, &log_name(name), 1, help);
    }
}

/// Imports recordings of `parabench record`: folders with their names in the run, one per machine.
///
/// # Errors
/// As for [`import`].
pub fn from_recordings(
    folders: &[(PathBuf, PathBuf)],
    which: &Selection,
) -> Result<Imported, Error> {
    let (mut logs, mut ranks) = (Vec::new(), Vec::new());
    for (group, (name, folder)) in (0..).zip(folders) {
        let opened = recording::Folder::open(folder);
        let scanner = Box::new(opened.map_err(|error| cannot_read(folder, 0, &error))?);
        ranks.extend(scanner.mpi_ranks().map(|(thread, rank)| ((group, thread), rank)));
        logs.push(Log { name: name.clone(), scanner, group, last_ns: None });
    }
    from_logs(logs, Format::Preload, which.clone(), Gaps::default(), ranks)
}

/// The same from logs that are read already; some gaps are known before, and ranks of threads.
pub(crate) fn from_logs(
    mut logs: Vec<Log<'_>>,
    format: Format,
    which: Selection,
    gaps: Gaps,
    ranks: Vec<Ranked>,
) -> Result<Imported, Error> {
    let mut sorter = Sorter::default();
    let mut resolver = Resolver::new(Scope::new(which.clone()), &mut sorter);
    resolver.gaps = gaps;
    resolver.threads.reserve_ranks(ranks);
    let records = follow(&mut logs, &mut resolver)?;
    if records == 0
        && let Some(error) = nothing_known(&logs, format, &resolver.gaps)
    {
        return Err(error);
    }
    let mut sums = Sums::default();
    for log in &mut logs {
        let read = log.scanner.sums(&which, &mut sums, &mut resolver.gaps);
        read.map_err(|error| cannot_read(&log.name, 0, &error))?;
    }
    // Numbers of threads of several machines may be the same.
    let one_machine = logs.windows(2).all(|pair| pair[0].group == pair[1].group);
    let job = resolver.threads.job().filter(|_| one_machine);
    let (rows, times) = (sums.rows(), sums.times());
    let Sums { layouts, layers, moved, call_ns, .. } = sums;
    let (modules, files, files_more) = layers.finish();
    let mut facts = Facts {
        rows,
        times,
        modules,
        files,
        files_more,
        layouts,
        moved,
        call_ns,
        ..resolver.finish()
    };
    let log = |log: &Log<'_>| TraceLog {
        name: log_name(&log.name),
        lines: log.scanner.count(),
        job: log.scanner.job(),
    };
    let logs = logs.iter().map(log).collect();
    let events = sorter.finish().and_then(|events| turns::take(events, &mut facts, job));
    let events = events.and_then(|events| phases::label(events, &mut facts));
    let events = events.map_err(|error| Error {
        message: format!("cannot sort the events: {error}"),
        help: "make room in the folder for temporary files, or name another one by TMPDIR".into(),
    })?;
    Ok(Imported { format, logs, facts, events })
}

/// The format of all logs.
fn common_format(inputs: &[(PathBuf, Input)], options: &Options) -> Result<Format, Error> {
    let mut found: Option<(Format, &Path)> = None;
    // A process without calls leaves an empty log.
    for (name, input) in
        inputs.iter().filter(|log| !log.1.beginning.is_empty() || inputs.len() == 1)
    {
        if let Some(Neighbour { what, help, .. }) = Neighbour::of(&input.beginning) {
            let message = format!("{} is {what}", log_name(name));
            return Err(Error { message, help: (*help).into() });
        }
        let format = options.format.or_else(|| Format::of(&input.beginning));
        let format = format.ok_or_else(|| unknown_format(name))?;
        match found {
            Some((first, other)) if first != format => {
                let (name, other) = (log_name(name), log_name(other));
                let (format, first) = (format.name(), first.name());
                let message = format!("{name} is a log of {format}, {other} one of {first}");
                return Err(Error { message, help: "import them one after the other".into() });
            }
            _ => found = Some((format, name)),
        }
    }
    let first = inputs.first().map_or(Path::new("no log"), |(name, _)| name);
    found.map(|(format, _)| format).ok_or_else(|| unknown_format(first))
}

fn unknown_format(log: &Path) -> Error {
    let names: Vec<&str> = Format::all().map(Format::name).collect();
    let message = format!("{} is in no format that is known", log_name(log));
    let names = names.join(", ");
    let help =
        format!("formats: {names}; --as FORMAT names it; --rules FILE describes another one");
    Error { message, help }
}

/// A log that is read.
pub(crate) struct Log<'s> {
    name: PathBuf,
    scanner: Box<dyn Scanner + 's>,
    /// Logs of one machine have the same number: thread numbers are unique among them.
    group: u32,
    /// Time of the record before; `None`: there was none.
    last_ns: Option<u64>,
}

/// Logs of `strace -ff` are called NAME.PID; they hold one thread each and belong together.
fn strace_logs(inputs: Vec<(PathBuf, Input)>) -> Vec<Log<'static>> {
    let mut groups: BTreeMap<String, u32> = BTreeMap::new();
    let mut logs = Vec::new();
    for (at, (name, input)) in inputs.into_iter().enumerate() {
        let text = name.to_string_lossy();
        let bare = text.strip_suffix(".gz").or(text.strip_suffix(".xz")).unwrap_or(&text);
        let split = bare.rsplit_once('.').and_then(|(stem, pid)| Some((stem, pid.parse().ok()?)));
        let split = split.filter(|_| !strace::names_threads(&input.beginning));
        let (group, thread) = match split {
            Some((stem, pid)) => (*groups.entry(stem.into()).or_insert(at as u32), pid),
            None => (at as u32, at as u64),
        };
        let lines = Lines::new(input.bytes, &log_name(&name));
        let scanner = Box::new(Strace::new(lines, &log_name(&name), thread));
        logs.push(Log { name, scanner, group, last_ns: None });
    }
    logs
}

/// Logs that each form a group of their own.
pub(crate) fn logs_with<'s>(
    inputs: Vec<(PathBuf, Input)>,
    scanner: impl Fn(Input, &str) -> io::Result<Box<dyn Scanner + 's>>,
) -> Result<Vec<Log<'s>>, Error> {
    let log = |(group, (name, input)): (usize, (PathBuf, Input))| {
        let scanner = scanner(input, &log_name(&name));
        let scanner = scanner.map_err(|error| cannot_read(&name, 0, &error))?;
        Ok(Log { name, scanner, group: group as u32, last_ns: None })
    };
    inputs.into_iter().enumerate().map(log).collect()
}

/// Follows all logs in the order of their times; the number of records.
fn follow(logs: &mut [Log<'_>], resolver: &mut Resolver<'_>) -> Result<u64, Error> {
    let (mut next, mut records) = (BinaryHeap::new(), 0);
    for (at, log) in logs.iter_mut().enumerate() {
        next.extend(log.advance(&mut resolver.gaps)?.map(|ns| Reverse((ns, at))));
    }
    while let Some(Reverse((_, at))) = next.pop() {
        let log = &mut logs[at];
        resolver.set_log(at as u32, log.group);
        // Of several logs the one that is read goes on as long as its times come first.
        let until_ns = next.peek().map_or((u64::MAX, usize::MAX), |Reverse(other)| *other);
        loop {
            records += u64::from(log.follow(resolver));
            match log.advance(&mut resolver.gaps)? {
                None => break,
                Some(ns) if (ns, at) > until_ns => {
                    next.push(Reverse((ns, at)));
                    break;
                }
                Some(_) => {}
            }
        }
    }
    Ok(records)
}

/// No line of the logs is what the format says, or there is none.
fn nothing_known(logs: &[Log<'_>], format: Format, gaps: &Gaps) -> Option<Error> {
    let lines: u64 = logs.iter().map(|log| log.scanner.count()).sum();
    let unknown = [Gap::Unparsed, Gap::UnfitLines].map(|gap| gaps.find(gap as usize));
    let mut examples = unknown.iter().flatten().flat_map(|gap| &gap.examples);
    let first = examples.next();
    if !format.has_lines() || (lines > 0 && first.is_none()) {
        return None;
    }
    let name = logs.first().map_or(String::new(), |log| log_name(&log.name));
    let mut message = format!("{name} is empty: it holds no call");
    if let Some(first) = first {
        let more: String = examples.take(2).map(|text| format!("; {text}")).collect();
        let count = unknown.iter().flatten().map(|gap| gap.count).sum::<u64>();
        let format = format.name();
        message = format!(
            "no line of {name} holds a call as logs of {format} do; {count} are in no form that is known: {first}{more}"
        );
    }
    let help = match format {
        Format::Rules => "--check RULES LOG shows which lines no rule takes, and why",
        _ => "without --as a log shows what it is; --rules FILE describes another format",
    };
    Some(Error { message, help: help.into() })
}

impl Log<'_> {
    fn advance(&mut self, gaps: &mut Gaps) -> Result<Option<u64>, Error> {
        let read = self.scanner.advance(gaps);
        let line = self.scanner.count();
        let found = match read {
            Ok(found) => found,
            // Compressed logs that were cut off: what came before counts.
            Err(error) if input::is_cut(&error) => {
                gaps.add_line(Gap::CutLogs, &log_name(&self.name), line, b"the log ends here");
                None
            }
            Err(error) => return Err(cannot_read(&self.name, line, &error)),
        };
        Ok(found.map(|ns| possible(ns, self.last_ns).or(self.last_ns).unwrap_or(0)))
    }

    /// Gives the current record to the resolver. A time that cannot be is that of the record before;
    /// without one nothing is known of the record. True: there is one.
    fn follow(&mut self, resolver: &mut Resolver<'_>) -> bool {
        let Some(mut record) = self.scanner.record(&mut resolver.gaps) else { return false };
        let start_ns = possible(record.start_ns, self.last_ns);
        let long = record.elapsed_ns.filter(|ns| *ns > LONGEST_NS);
        let wrong = long.or(start_ns.is_none().then_some(record.start_ns));
        if let Some(ns) = wrong {
            let text =
                format!("{}: a time of {}", record.name.escape_ascii(), format_ns(ns as f64));
            let name = log_name(&self.name);
            resolver.gaps.add_line(Gap::Impossible, &name, record.line, text.as_bytes());
        }
        if long.is_some() {
            record.elapsed_ns = None;
        }
        let Some(start_ns) = start_ns.or(self.last_ns) else { return true };
        (record.start_ns, self.last_ns) = (start_ns, Some(start_ns));
        resolver.record(&record);
        true
    }
}

/// Longest time that a call takes, and that passes between two calls of a log: a year.
const LONGEST_NS: u64 = 365 * 86_400 * 1_000_000_000;
/// Clocks of logs begin in 1970 or with the log: none shows the year 2100.
const LATEST_NS: u64 = 4_102_444_800 * 1_000_000_000;

/// The time, if a record can have it that follows one of `last_ns`; 0: the log told no time yet.
fn possible(ns: u64, last_ns: Option<u64>) -> Option<u64> {
    let last_ns = last_ns.filter(|ns| *ns > 0);
    let latest_ns = last_ns.map_or(LATEST_NS, |last_ns| last_ns.saturating_add(LONGEST_NS));
    (ns <= latest_ns).then_some(ns)
}
