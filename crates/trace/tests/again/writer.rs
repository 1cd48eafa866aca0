//! Calls -> text as strace writes it, in every mix of its options.

use crate::world::{Arg, Call, Gives, Operation, Run, Shown, Timed};
use std::collections::{BTreeMap, BTreeSet};

/// The date on which all happens, seconds since 1970: 08:00 of a day.
const DATE_S: u64 = 1_795_248_000;
const TEXTS: &[(&str, &str)] = &[
    ("ENOENT", "No such file or directory"),
    ("EEXIST", "File exists"),
    ("EINTR", "Interrupted system call"),
];

/// How each line tells its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Not at all: there is one.
    Nobody,
    /// `17 read(...`
    Number,
    /// `17<app> read(...`
    Named,
    /// `[pid 17] read(...` as long as there are several.
    Several,
    /// By the name of its log.
    Logs,
}

/// How each line tells its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    None,
    Seconds,
    Day,
    Epoch,
    EpochNs,
    Relative,
    DayRelative,
}

/// Options of strace.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    who: Who,
    time: Time,
    has_durations: bool,
    shows: u8,
    hex: u8,
    string_max: u64,
    has_noise: bool,
}

impl Form {
    /// Options by numbers, such that the log can tell what happened.
    pub fn new(
        [who, time, durations, shows, hex, strings, noise]: [u8; 7],
        threads: usize,
    ) -> Form {
        let time = [
            Time::None,
            Time::Seconds,
            Time::Day,
            Time::Epoch,
            Time::EpochNs,
            Time::Relative,
            Time::DayRelative,
        ][usize::from(time) % 7];
        let who =
            [Who::Number, Who::Named, Who::Several, Who::Logs, Who::Nobody][usize::from(who) % 5];
        let who = match who {
            Who::Nobody if threads > 0 => Who::Several,
            // Their order is that of their times.
            Who::Logs if !matches!(time, Time::Day | Time::Epoch | Time::EpochNs) => Who::Number,
            other => other,
        };
        Form {
            who,
            time,
            has_durations: durations % 2 == 0,
            shows: shows % 3,
            hex: hex % 3,
            string_max: u64::from(strings % 4) * 10,
            has_noise: noise % 2 == 0,
        }
    }

    /// Calls may be under way together: not in logs of one thread each, which tell beginnings alone.
    pub fn overlaps(&self) -> bool {
        self.who != Who::Logs
    }

    fn elapsed_ns(&self, call: &Call, shown: &[u64; 2]) -> u64 {
        match self.has_durations {
            true => (call.end_us - call.start_us) * 1000,
            false => shown[1] - shown[0],
        }
    }
}

/// Logs by name, and the operations with the times that these hold.
pub struct Written {
    pub logs: Vec<(String, Vec<u8>)>,
    pub operations: Vec<Operation>,
}

struct Writer<'r> {
    run: &'r Run,
    form: &'r Form,
    logs: BTreeMap<u64, Vec<u8>>,
    /// Time of the line before, us.
    before_us: u64,
    /// Times of calls as the lines show them, ns: of their beginning, and of their end if it stands on
    /// another line.
    shown: Vec<[u64; 2]>,
    alive: BTreeSet<u64>,
}

/// Prints a run.
pub fn write(run: &Run, form: &Form) -> Written {
    let shown = vec![[0; 2]; run.calls.len()];
    let alive = BTreeSet::from([run.calls[0].thread]);
    let mut writer = Writer { run, form, logs: BTreeMap::new(), before_us: 0, shown, alive };
    writer.lines();
    let origin_ns = writer.shown[0][0];
    let operations = ordered(run).into_iter().map(|timed| {
        let (first, last) = (timed.calls[0], timed.calls[timed.calls.len() - 1]);
        let elapsed = |call: &usize| form.elapsed_ns(&run.calls[*call], &writer.shown[*call]);
        let start_ns = writer.shown[first][0] - origin_ns;
        let end_ns = writer.shown[last][0] - origin_ns + elapsed(&last);
        let (elapsed_ns, busy_ns) = match timed.has_time {
            true => (end_ns - start_ns, timed.calls.iter().map(elapsed).sum()),
            false => (0, 0),
        };
        Operation { start_ns, elapsed_ns, busy_ns, ..timed.operation }
    });
    let operations = operations.collect();
    let name =
        |thread: u64| if form.who == Who::Logs { format!("log.{thread}") } else { "log".into() };
    let logs = writer.logs.into_iter().map(|(thread, text)| (name(thread), text)).collect();
    Written { logs, operations }
}

/// By threads, in the order of their lines.
fn ordered(run: &Run) -> Vec<Timed> {
    let mut all = run.operations.clone();
    all.sort_by_key(|timed| {
        let last = &run.calls[timed.calls[timed.calls.len() - 1]];
        (last.thread, last.start_us)
    });
    all
}

impl Writer<'_> {
    /// Beginnings and ends in the order of time: what stands side by side becomes one line.
    fn lines(&mut self) {
        let calls = self.run.calls.iter().enumerate();
        let moments =
            calls.flat_map(|(at, call)| [(call.start_us, at, false), (call.end_us, at, true)]);
        let mut moments: Vec<_> = moments.collect();
        moments.sort_unstable();
        let mut at = 0;
        while at < moments.len() {
            let (us, call, is_end) = moments[at];
            let is_whole = moments.get(at + 1).is_some_and(|next| next.1 == call);
            at += 1 + usize::from(is_whole && !is_end);
            match (is_whole, is_end) {
                (true, false) => self.whole(call),
                (false, false) => self.begin(call, us),
                (_, true) => self.end(call, us),
            }
            self.after(call, is_whole || is_end);
        }
        if self.form.has_noise && self.form.who != Who::Logs {
            let text = b"% time     seconds  usecs/call     calls    errors syscall\n------ --- ---\n 99.00    0.1 1 1 1 read(x\n";
            self.logs.values_mut().next().unwrap().extend_from_slice(text);
        }
    }

    fn whole(&mut self, call: usize) {
        let (args, known) = (self.args(call), &self.run.calls[call]);
        let text =
            [known.name.as_bytes(), b"(", &args.join(&b", "[..]), b")     ", &self.gives(known)]
                .concat();
        let ns = self.line(known.thread, known.start_us, &text);
        self.shown[call] = [ns, ns];
    }

    fn begin(&mut self, call: usize, us: u64) {
        let (args, known) = (self.args(call), &self.run.calls[call]);
        let (first, rest) = args.split_at(split(call, &args));
        let comma: &[u8] = if rest.is_empty() { b"" } else { b", " };
        let text =
            [known.name.as_bytes(), b"(", &first.join(&b", "[..]), comma, b" <unfinished ...>"]
                .concat();
        self.shown[call][0] = self.line(known.thread, us, &text);
    }

    fn end(&mut self, call: usize, us: u64) {
        let (args, known) = (self.args(call), &self.run.calls[call]);
        let rest = args[split(call, &args)..].join(&b", "[..]);
        let text =
            [b"<... ", known.name.as_bytes(), b" resumed>", &rest[..], b") ", &self.gives(known)]
                .concat();
        self.shown[call][1] = self.line(known.thread, us, &text);
    }

    /// Threads begin and end; signals arrive.
    fn after(&mut self, call: usize, is_over: bool) {
        let known = &self.run.calls[call];
        let (thread, us) = (known.thread, known.end_us);
        match (known.name, &known.gives) {
            ("clone" | "clone3" | "fork" | "vfork", Gives::Number(child)) if is_over => {
                self.alive.insert(*child as u64);
                if self.form.who == Who::Several && self.form.has_noise {
                    let text = format!("strace: Process {child} attached\n");
                    self.logs.entry(0).or_default().extend_from_slice(text.as_bytes());
                }
            }
            ("exit", _) if is_over => {
                self.line(thread, us, b"+++ exited with 0 +++");
                self.alive.remove(&thread);
            }
            _ if is_over && self.form.has_noise && call % 9 == 4 => {
                self.line(
                    thread,
                    us,
                    b"--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=9} ---",
                );
            }
            _ => {}
        }
    }

    /// Writes a line; gives the time that it shows.
    fn line(&mut self, thread: u64, us: u64, text: &[u8]) -> u64 {
        let (time, ns) = self.time(us);
        let who = match self.form.who {
            Who::Nobody | Who::Logs => String::new(),
            Who::Number => format!("{thread} "),
            Who::Named => format!("{thread}<a b> "),
            Who::Several if self.alive.len() > 1 => format!("[pid {thread:>5}] "),
            Who::Several => String::new(),
        };
        let log = if self.form.who == Who::Logs { thread } else { 0 };
        let log = self.logs.entry(log).or_default();
        log.extend_from_slice(format!("{who}{time}").as_bytes());
        log.extend_from_slice(text);
        log.push(b'\n');
        self.before_us = us;
        ns
    }

    fn time(&self, us: u64) -> (String, u64) {
        let (s, rest) = (us / 1_000_000, us % 1_000_000);
        let since = us - self.before_us;
        let since = format!("{:>6}.{:06}", since / 1_000_000, since % 1_000_000);
        let day = |s: u64| format!("08:{:02}:{:02}", s / 60, s % 60);
        match self.form.time {
            Time::None => (String::new(), 0),
            Time::Seconds => (format!("{} ", day(s)), s * 1_000_000_000),
            Time::Day => (format!("{}.{rest:06} ", day(s)), us * 1000),
            Time::Epoch => (format!("{}.{rest:06} ", DATE_S + s), us * 1000),
            Time::EpochNs => (format!("{}.{rest:06}000 ", DATE_S + s), us * 1000),
            Time::Relative => (format!("{since} "), us * 1000),
            Time::DayRelative => (format!("{}.{rest:06} (+{since}) ", day(s)), us * 1000),
        }
    }

    fn args(&self, call: usize) -> Vec<Vec<u8>> {
        let known = &self.run.calls[call];
        known.args.iter().map(|arg| self.arg(known, arg)).collect()
    }

    fn arg(&self, call: &Call, arg: &Arg) -> Vec<u8> {
        let fails = matches!(call.gives, Gives::Error(_));
        match arg {
            Arg::Fd(shown) => self.descriptor(shown),
            Arg::Cwd(name) if self.form.shows > 0 => {
                [b"AT_FDCWD<", &self.escaped(name, b"<>")[..], b">"].concat()
            }
            Arg::Cwd(_) => b"AT_FDCWD".to_vec(),
            Arg::Name(name) => [b"\"", &self.escaped(name, b"\"")[..], b"\""].concat(),
            Arg::Buffer(_) if fails && call.name.contains("read") => b"0x7ffc12345678".to_vec(),
            Arg::Buffer(bytes) => self.buffer(*bytes),
            Arg::Vector(all) => {
                let one = |bytes: &u64| {
                    [
                        b"{iov_base=",
                        &self.buffer(*bytes)[..],
                        format!(", iov_len={bytes}}}").as_bytes(),
                    ]
                    .concat()
                };
                [b"[", &all.iter().map(one).collect::<Vec<_>>().join(&b", "[..])[..], b"]"].concat()
            }
            Arg::Word(text) => text.clone().into_bytes(),
        }
    }

    fn buffer(&self, bytes: u64) -> Vec<u8> {
        let shown = bytes.min(self.form.string_max) as usize;
        let data: Vec<u8> =
            b"a)\", \\<=\n\x00\xff {[".iter().copied().cycle().take(shown).collect();
        let more: &[u8] = if shown < bytes as usize { b"\"..." } else { b"\"" };
        [b"\"", &self.escaped(&data, b"\"")[..], more].concat()
    }

    fn descriptor(&self, shown: &Shown) -> Vec<u8> {
        let number = shown.number.to_string().into_bytes();
        if self.form.shows == 0 {
            return number;
        }
        // Older versions say so inside of the brackets.
        let (inside, behind): (&[u8], &[u8]) = match (shown.removed, self.form.shows) {
            (true, 1) => (b"", b"(deleted)"),
            (true, _) => (b" (deleted)", b""),
            _ => (b"", b""),
        };
        [&number[..], b"<", &self.escaped(&shown.name, b"<>"), inside, b">", behind].concat()
    }

    /// As C strings; with -x those with other signs in hexadecimal digits, with -xx all.
    fn escaped(&self, text: &[u8], signs: &[u8]) -> Vec<u8> {
        let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) || b"\n\t".contains(byte);
        let hex = self.form.hex == 2 || (self.form.hex == 1 && !text.iter().all(is_plain));
        let mut out = Vec::new();
        for byte in text {
            match byte {
                _ if hex => out.extend(format!("\\x{byte:02x}").bytes()),
                b'\n' => out.extend(b"\\n"),
                b'"' | b'\\' if *byte == b'\\' || signs.contains(byte) => {
                    out.extend([b'\\', *byte])
                }
                b' '..=b'~' if !signs.contains(byte) => out.push(*byte),
                // Always three digits: the next sign may be one.
                _ => out.extend(format!("\\{byte:03o}").bytes()),
            }
        }
        out
    }

    fn gives(&self, call: &Call) -> Vec<u8> {
        let mut text = match &call.gives {
            Gives::Number(number) if *number > 0xfff_ffff => format!("= {number:#x}").into_bytes(),
            Gives::Number(number) => format!("= {number}").into_bytes(),
            Gives::Open(shown) => [b"= ", &self.descriptor(shown)[..]].concat(),
            Gives::Error(name) => {
                let text = TEXTS
                    .iter()
                    .find(|(known, _)| known == name)
                    .map_or("Some error", |(_, text)| text);
                format!("= -1 {name} ({text})").into_bytes()
            }
            Gives::Restart => b"= ? ERESTARTSYS (To be restarted if SA_RESTART is set)".to_vec(),
            Gives::Nothing => b"= ?".to_vec(),
        };
        if self.form.has_durations && !matches!(call.gives, Gives::Nothing) {
            let us = call.end_us - call.start_us;
            text.extend(format!(" <{}.{:06}>", us / 1_000_000, us % 1_000_000).bytes());
        }
        text
    }
}

/// Arguments that are known when the call begins.
fn split(call: usize, args: &[Vec<u8>]) -> usize {
    if args.is_empty() { 0 } else { 1 + call % args.len() }
}
