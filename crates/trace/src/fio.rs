//! Logs of fio: what it did, and how long each operation took.
//!
//! ```text
//! fio version 3 iolog                     fio version 2 iolog            write_iolog
//! 150 /d/f open                           /d/f open
//! 154 /d/f read 4096 4096                 /d/f read 4096 4096
//!
//! 26, 257253, 0, 4096, 94208, 0x0000      write_lat_log: ended ms, latency ns, direction, bytes, offset, priority
//! 26, 16018, 0, 4096, 94208, 0x0000       write_bw_log (NAME_bw.1.log): KiB/s in place of the latency
//! ```
//!
//! Version 3 of iologs has the microsecond at which each operation was issued, version 2 none. In version 2,
//! `wait N` goes on N milliseconds after the start: so fio replays it, whatever its manual says.
//!
//! Samples do not name the file: the log's own name is used. The offset is there with `log_offset=1`. Those with
//! averages (`log_avg_msec`) are no operations.

use crate::clib::{self, Called, Files, number, number_of};
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, Outcome, Record};
use crate::scanner::{Found, LineFormat, Lines};
use model::Op;
use std::io;

/// Actions of iologs, and the functions that they are. Opening and closing have no numbers behind them.
const ACTIONS: &[(&str, &str)] = &[
    ("open", "open"),
    ("close", "close"),
    ("read", "pread"),
    ("write", "pwrite"),
    ("sync", "fsync"),
    ("datasync", "fdatasync"),
    ("trim", "trim"),
    ("sync_file_range", "sync_file_range"),
];

/// Reads one iolog.
#[derive(Default)]
pub struct Iolog {
    version: u8,
    files: Files,
    now_ns: u64,
    /// The file's name in the line.
    file: (usize, usize),
    /// Place of the line's action in [`ACTIONS`].
    action: usize,
    offset: u64,
    bytes: u64,
}

impl Iolog {
    /// Reads the line; `None`: its form is unknown. Names may hold blanks, so it is read from its end.
    fn take(&mut self, line: &[u8], gaps: &mut Gaps) -> Option<Found> {
        if let Some(version) = version(line) {
            self.version = version;
            return Some(Found::Nothing);
        }
        let mut time_us = None;
        let mut rest = line;
        if self.version == 3 {
            let at = memchr::memchr(b' ', line)?;
            time_us = Some(number(&line[..at])?);
            rest = line[at + 1..].trim_ascii_start();
        }
        let (mut file, mut action) = split_last(rest)?;
        (self.offset, self.bytes) = (0, 0);
        let has_numbers = number(action).is_some();
        if let Some(bytes) = number(action) {
            let (before, offset) = split_last(file)?;
            (self.offset, self.bytes) = (number(offset)?, bytes);
            (file, action) = split_last(before)?;
        }
        let known = ACTIONS.iter().position(|(name, _)| name.as_bytes() == action);
        let is_one = match action {
            b"open" | b"close" | b"add" => !has_numbers,
            _ => has_numbers && (known.is_some() || action == b"wait"),
        };
        if !is_one {
            return None;
        }
        if let Some(us) = time_us {
            let now_ns = us.saturating_mul(1000);
            if now_ns < self.now_ns {
                gaps.add(Gap::Backwards);
            }
            self.now_ns = now_ns;
        }
        if action == b"wait" {
            self.now_ns = self.now_ns.max(self.offset.saturating_mul(1_000_000));
        }
        let Some(action) = known else { return Some(Found::Nothing) };
        self.action = action;
        let start = line.len() - rest.len();
        self.file = (start, start + file.len());
        if self.version != 3 && self.now_ns == 0 {
            gaps.add(Gap::NoTimes);
        }
        Some(Found::Record(self.now_ns))
    }
}

impl LineFormat for Iolog {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        self.take(lines.line().trim_ascii_end(), gaps).unwrap_or(Found::Unknown)
    }

    /// The operation did what it was asked to do.
    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let (name, function) = ACTIONS[self.action];
        let called = Called {
            function: function.as_bytes(),
            file: &lines.line()[self.file.0..self.file.1],
            count: Some(self.bytes),
            offset: i64::try_from(self.offset).ok(),
            result: Some(number_of(self.bytes)),
            ..Called::default()
        };
        gaps.add(Gap::NoResults);
        let (call, outcome) = clib::understand(&called, &mut self.files, gaps)?;
        let plain = Record::at(lines.number(), 0, self.now_ns);
        Some(Record { name: name.as_bytes(), call, outcome, ..plain })
    }
}

/// The last word, and what stands before it.
fn split_last(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr2(b' ', b'\t', text)?;
    Some((text[..at].trim_ascii_end(), &text[at + 1..])).filter(|(head, _)| !head.is_empty())
}

/// `fio version 3 iolog`.
fn version(line: &[u8]) -> Option<u8> {
    match line {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

/// The log begins like an iolog.
pub fn looks_like_iolog(beginning: &[u8]) -> bool {
    let first = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    version(first.trim_ascii_end()).is_some()
}

/// Reads one log of samples.
pub struct Samples {
    /// The name used for the file: `job.1` of `job_lat.1.log`.
    file: Vec<u8>,
    of_bandwidth: bool,
    /// The fifth of five columns is an offset.
    five_has_offset: bool,
    introduced: bool,
    sample: Sample,
}

/// A line.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    end_ns: u64,
    value: u64,
    direction: u64,
    bytes: u64,
    offset: Option<u64>,
}

impl Samples {
    /// Reads the log called `name`, which begins like this.
    ///
    /// # Errors
    /// By its name it counts operations, without the time of any.
    pub fn new(name: &str, beginning: &[u8]) -> io::Result<Samples> {
        let (file, kind) = stands_for(name);
        if kind == "_iops" {
            let why = "a log of IOPS (write_iops_log) has no time of an operation; those of write_lat_log and \
                       write_bw_log have";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Samples {
            file,
            of_bandwidth: kind == "_bw",
            five_has_offset: five_has_offset(beginning),
            introduced: false,
            sample: Sample::default(),
        })
    }

    fn elapsed_ns(&self) -> u64 {
        match (self.of_bandwidth, self.sample.value) {
            (false, ns) => ns,
            (true, 0) => 0,
            (true, kib_s) => {
                let ns = u128::from(self.sample.bytes) * 1_000_000_000 / (u128::from(kib_s) * 1024);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }
}

impl LineFormat for Samples {
    fn understand(&mut self, lines: &Lines, _gaps: &mut Gaps) -> Found {
        let sample = sample(lines.line(), self.five_has_offset);
        let Some(sample) = sample.filter(|sample| sample.bytes > 0) else { return Found::Unknown };
        self.sample = sample;
        Found::Record(sample.end_ns.saturating_sub(self.elapsed_ns()))
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let (Sample { end_ns, direction, bytes, offset, .. }, elapsed_ns) =
            (self.sample, self.elapsed_ns());
        if !std::mem::replace(&mut self.introduced, true) {
            gaps.add(Gap::NoMetadata);
        }
        gaps.add(Gap::Milliseconds);
        let (name, act): (&[u8], _) = match direction {
            0 => (b"read", Act::Whole(Op::Fread)),
            1 => (b"write", Act::Whole(Op::Fwrite)),
            _ => (b"trim", Act::WithoutOperation),
        };
        let call = Call { offset, ..Call::whole(act, &self.file, bytes) };
        let outcome = Outcome::success(number_of(bytes));
        let start_ns = end_ns.saturating_sub(elapsed_ns);
        let elapsed_ns = Some(elapsed_ns);
        let plain = Record::at(lines.number(), 0, start_ns);
        Some(Record { elapsed_ns, name, call, outcome, ..plain })
    }
}

/// Columns of a line: 4, 5 or 6, newer versions more.
fn sample(line: &[u8], five_has_offset: bool) -> Option<Sample> {
    let mut columns = [0; 7];
    let mut count = 0;
    for (at, text) in line.split(|byte| *byte == b',').enumerate() {
        *columns.get_mut(at)? = column(text.trim_ascii())?;
        count = at + 1;
    }
    let [ms, value, direction, bytes, offset, ..] = columns;
    let has_offset = count > 5 || (count == 5 && five_has_offset);
    let offset = has_offset.then_some(offset);
    let end_ns = ms.saturating_mul(1_000_000);
    (count >= 4 && direction <= 2).then_some(Sample { end_ns, value, direction, bytes, offset })
}

fn column(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(hex) => u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok(),
        None => number(text),
    }
}

/// Five columns end with an offset in old versions, and with a priority in new ones: 0, 1 or 0x....
fn five_has_offset(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n');
    let last = |line: &[u8]| {
        let mut columns = line.split(|byte| *byte == b',');
        let fifth = columns.nth(4).filter(|_| columns.next().is_none());
        fifth.and_then(|text| number(text.trim_ascii()))
    };
    lines.filter_map(last).any(|fifth| fifth > 1)
}

/// `job.1` and `_lat` of `/tmp/job_lat.1.log`; "" without a kind.
fn stands_for(name: &str) -> (Vec<u8>, &'static str) {
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = ["gz", "xz", "zst", "bz2", "log"].iter().fold(base, |base, ending| {
        base.strip_suffix(ending).and_then(|base| base.strip_suffix('.')).unwrap_or(base)
    });
    for kind in ["_clat", "_slat", "_lat", "_bw", "_iops"] {
        if let Some(at) = base.rfind(kind) {
            let file = format!("{}{}", &base[..at], &base[at + kind.len()..]);
            return (file.into_bytes(), kind);
        }
    }
    (base.as_bytes().to_vec(), "")
}

/// The log begins with lines of samples.
pub fn looks_like_samples(beginning: &[u8]) -> bool {
    let mut lines = beginning.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    // The last line may be cut.
    let count = lines.clone().count();
    let whole = if beginning.ends_with(b"\n") { count } else { count.saturating_sub(1) };
    let mut first = lines.by_ref().take(whole.clamp(1, 20)).peekable();
    first.peek().is_some() && first.all(|line| sample(line, false).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_stand_for_files() {
        for (name, file, kind) in [
            ("/tmp/job_lat.1.log", "job.1", "_lat"),
            ("job_clat.2.log.gz", "job.2", "_clat"),
            ("a_bw_bw.1.log", "a_bw.1", "_bw"),
            ("job_iops.1.log", "job.1", "_iops"),
            ("samples", "samples", ""),
        ] {
            assert_eq!(stands_for(name), (file.as_bytes().to_vec(), kind), "{name}");
        }
    }
}
