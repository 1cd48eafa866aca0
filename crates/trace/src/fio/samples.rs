//! `write_lat_log` and `write_bw_log` of fio, one line per operation.
//!
//! ```text
//! 26, 257253, 0, 4096, 94208, 0x0000       ended ms, latency ns, direction, bytes, offset, priority
//! 26, 16018, 0, 4096, 94208, 0x0000        of NAME_bw.1.log: KiB/s in place of the latency
//! ```
//!
//! The log does not name the file: its own name is used. The offset is there with `log_offset=1`.
//! Logs with averages (`log_avg_msec`) hold no operations.

use crate::gaps::{Gap, Gaps};
use crate::lines::Lines;
use crate::named;
use crate::record::{Call, Outcome, Record};
use crate::scanner::{Found, LineFormat};
use model::Op;

/// Reads one log.
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
    pub fn new(name: &str, beginning: &[u8]) -> Samples {
        let (file, of_bandwidth) = stands_for(name);
        Samples {
            file,
            of_bandwidth,
            five_has_offset: five_has_offset(beginning),
            introduced: false,
            sample: Sample::default(),
        }
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
        let path = named::name(&self.file);
        let whole = |op| Call::Whole { op, path, offset, bytes, flags: None };
        let (name, call): (&[u8], _) = match direction {
            0 => (b"read", whole(Op::Fread)),
            1 => (b"write", whole(Op::Fwrite)),
            _ => (b"trim", Call::WithoutOperation),
        };
        let outcome = Outcome::success(i64::try_from(bytes).unwrap_or(i64::MAX));
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
        None => named::number(text),
    }
}

/// Five columns end with an offset in old versions, and with a priority in new ones: 0, 1 or 0x....
fn five_has_offset(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n');
    let last = |line: &[u8]| {
        let mut columns = line.split(|byte| *byte == b',');
        let fifth = columns.nth(4).filter(|_| columns.next().is_none());
        fifth.and_then(|text| named::number(text.trim_ascii()))
    };
    lines.filter_map(last).any(|fifth| fifth > 1)
}

/// `job.1` of `/tmp/job_lat.1.log`, and whether the log holds bandwidths.
fn stands_for(name: &str) -> (Vec<u8>, bool) {
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = ["gz", "xz", "zst", "bz2", "log"].iter().fold(base, |base, ending| {
        base.strip_suffix(ending).and_then(|base| base.strip_suffix('.')).unwrap_or(base)
    });
    for kind in ["_clat", "_slat", "_lat", "_bw", "_iops"] {
        if let Some(at) = base.rfind(kind) {
            let file = format!("{}{}", &base[..at], &base[at + kind.len()..]);
            return (file.into_bytes(), kind == "_bw");
        }
    }
    (base.as_bytes().to_vec(), false)
}

/// The log begins with lines of this kind.
pub fn looks_like(beginning: &[u8]) -> bool {
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
        for (name, file, of_bandwidth) in [
            ("/tmp/job_lat.1.log", "job.1", false),
            ("job_clat.2.log.gz", "job.2", false),
            ("a_bw_bw.1.log", "a_bw.1", true),
            ("samples", "samples", false),
        ] {
            assert_eq!(stands_for(name), (file.as_bytes().to_vec(), of_bandwidth), "{name}");
        }
    }
}
