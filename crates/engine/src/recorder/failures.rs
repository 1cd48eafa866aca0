//! Failed operations in full, as many as are worth reading, why the rank did not finish, and where verified
//! reads found zeros.

use super::Recorder;
use super::area::At;
use super::layout::*;
use model::Op;
use std::ops::Range;

/// Longest path or message that is kept, bytes.
const MAX_TEXT_BYTES: usize = 4096;
/// Ranges of zeros that are kept of a rank; all are counted.
const MAX_ZEROS: u32 = 10;

/// Where verified reads found zeros.
#[derive(Debug, Default)]
pub(super) struct ZeroRanges {
    kept: u32,
    last: Option<Last>,
}

/// The range that was found last.
#[derive(Debug)]
struct Last {
    label: u32,
    file: u64,
    end: u64,
    /// `None`: it is not kept.
    at: Option<At<Zeros>>,
}

impl Recorder {
    /// Particulars of an operation that failed unexpectedly; the first 10 per site are kept, all are counted.
    /// `detail`: what the back-end says besides the errno, class and text of an MPI error.
    #[cold]
    pub fn failure(
        &mut self,
        site: u32,
        op: Op,
        path: &[u8],
        (offset_bytes, errno): (u64, u16),
        detail: &str,
    ) {
        let known = self.failures.get(&site).copied();
        let Some(at) = known.or_else(|| self.add_failing(site)) else { return };
        let count = &mut self.area.get(at).count;
        *count += 1;
        if *count <= MAX_FAILURES_PER_SITE {
            let (path, detail) = (cut(path).to_vec(), cut_text(detail));
            let failure = FailureRecord { site, op, path, offset_bytes, errno, detail };
            self.area.append_message(&Message::Failure(failure));
        }
    }

    fn add_failing(&mut self, site: u32) -> Option<At<FailureCount>> {
        if self.failures.len() == MAX_FAILING_SITES {
            return None;
        }
        let none = FailureCount { site: u64::from(site), count: 0 };
        let at = self.area.append(Kind::FailureCount, &none)?;
        self.failures.insert(site, at);
        Some(at)
    }

    /// Why the rank does not finish.
    pub fn rank_error(&mut self, site: Option<u32>, message: &str) {
        self.area.append_message(&Message::RankError(site, cut_text(message)));
    }

    /// Verified reads found zeros in a file, inside a label ([`model::event::NO_ID`]: in none); false: they go on
    /// from where others ended. `file` is a number of the file.
    #[cold]
    pub fn zeros(&mut self, label: u32, (file, path): (u64, &[u8]), range: Range<u64>) -> bool {
        let continues =
            |last: &&mut Last| (last.label, last.file, last.end) == (label, file, range.start);
        if let Some(last) = self.zeros.last.as_mut().filter(continues) {
            last.end = range.end;
            if let Some(at) = last.at {
                self.area.get(at).end = range.end;
            }
            return false;
        }
        let path = cut(path);
        let (path_bytes, start, end) = (path.len() as u32, range.start, range.end);
        let zeros = Zeros { label, path_bytes, start, end };
        let is_kept = self.zeros.kept < MAX_ZEROS;
        let at = if is_kept { self.area.append_text(Kind::Zeros, &zeros, path) } else { None };
        self.zeros.kept += u32::from(at.is_some());
        self.zeros.last = Some(Last { label, file, end, at });
        true
    }
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_TEXT_BYTES)]
}

fn cut_text(text: &str) -> String {
    text[..cut_at(text, MAX_TEXT_BYTES)].into()
}
