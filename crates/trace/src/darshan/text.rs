//! Text of `darshan-dxt-parser`.
//!
//! ```text
//! # DXT, file_id: 2971090431609867297, file_name: /scratch/test.out
//! # DXT, rank: 3, hostname: node7
//! # Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)
//!  X_POSIX       3  write        0        50331648        16777216      0.1608      0.1686
//! ```

use super::segment::{Owner, Segment, nanoseconds};
use crate::clib::number;
use crate::gaps::{Gap, Gaps};
use crate::record::Record;
use crate::scanner::Lines;
use crate::scanner::{Found, LineFormat};

/// Largest rank that is believed.
const RANK_MAX: u64 = 1 << 24;

/// Reads one log.
#[derive(Default)]
pub struct Text {
    owner: Owner,
    /// The transfer of the current line; `None`: the rank was named.
    segment: Option<Segment>,
}

impl LineFormat for Text {
    fn understand(&mut self, lines: &Lines, _gaps: &mut Gaps) -> Found {
        let line = lines.line().trim_ascii();
        self.segment = None;
        if let Some(comment) = line.strip_prefix(b"#") {
            return comment_of(comment.trim_ascii_start(), &mut self.owner);
        }
        let Some(segment) = segment(line, &self.owner) else { return Found::Unknown };
        self.segment = Some(segment);
        Found::Record(self.owner.start_ns.saturating_add(segment.span_ns.0))
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let line = lines.number();
        let Some(segment) = self.segment else { return Some(self.owner.introduction(line)) };
        if segment.is_mpi && self.owner.is_covered() {
            gaps.add_bytes(Gap::Layers, segment.bytes);
            return None;
        }
        self.owner.file(segment.is_mpi, gaps);
        gaps.add(Gap::CoarseTimes);
        Some(self.owner.record(line, &segment))
    }
}

/// A rank, with the file before it, is a record: transfers follow.
fn comment_of(comment: &[u8], owner: &mut Owner) -> Found {
    let after = |key: &[u8]| comment.strip_prefix(key).map(<[u8]>::trim_ascii);
    if let Some(exe) = after(b"exe:") {
        let end = exe.iter().position(|byte| *byte == b' ').unwrap_or(exe.len());
        owner.command = exe[..end].to_vec();
    } else if let Some(seconds) = after(b"start_time:") {
        owner.start_ns = number(seconds).unwrap_or(0).saturating_mul(1_000_000_000);
    } else if let Some(ranks) = after(b"nprocs:") {
        owner.ranks = number(ranks).filter(|ranks| *ranks <= RANK_MAX).unwrap_or(0) as u32;
    } else if let Some(rest) = after(b"DXT, file_id:") {
        let at = memchr::memmem::find(rest, b"file_name:").map_or(rest.len(), |at| at + 10);
        owner.path = rest[at..].trim_ascii().to_vec();
    } else if let Some(rest) = after(b"DXT, rank:") {
        let mut parts = rest.splitn(2, |byte| *byte == b',');
        let rank = parts.next().and_then(|text| number(text.trim_ascii()));
        let Some(rank) = rank.filter(|rank| *rank <= RANK_MAX) else { return Found::Unknown };
        let host = parts.next().unwrap_or_default().trim_ascii();
        owner.rank = rank;
        owner.host = host.strip_prefix(b"hostname:").unwrap_or(host).trim_ascii().to_vec();
        return Found::Record(owner.start_ns);
    }
    Found::Nothing
}

fn segment(line: &[u8], owner: &Owner) -> Option<Segment> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_mpi = match words.next()? {
        b"X_POSIX" => false,
        b"X_MPIIO" => true,
        _ => return None,
    };
    if number(words.next()?)? != owner.rank {
        return None;
    }
    let writes = match words.next()? {
        b"write" => true,
        b"read" => false,
        _ => return None,
    };
    words.next()?;
    let mut text = || std::str::from_utf8(words.next()?).ok();
    let (offset, bytes) = (text()?.parse().ok()?, text()?.parse().ok()?);
    let (start, end): (f64, f64) = (text()?.parse().ok()?, text()?.parse().ok()?);
    let span_ns = (nanoseconds(start), nanoseconds(end));
    Some(Segment { is_mpi, writes, offset, bytes, span_ns })
}

/// The log begins like one of darshan-parser: counters, and no transfers.
pub fn looks_like_counters(beginning: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(beginning, word).is_some();
    let mut lines = beginning.split(|byte| *byte == b'\n');
    let is_of_darshan = beginning.starts_with(b"# darshan log version:") && !has(b"# DXT, ");
    is_of_darshan && (has(b"# description of ") || lines.any(is_counter))
}

/// `POSIX -1 1234567 POSIX_OPENS 4 /scratch/f /scratch lustre`, with tabs.
fn is_counter(line: &[u8]) -> bool {
    let columns: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    columns.len() >= 5 && !line.starts_with(b"#") && number(columns[2]).is_some()
}

/// The log begins like one of darshan-dxt-parser.
pub fn looks_like_text(beginning: &[u8]) -> bool {
    beginning.starts_with(b"# darshan log version:")
        || memchr::memmem::find(beginning, b"# DXT, file_id:").is_some()
}
