//! Failed operations in full, as many as are worth reading, why the rank did not finish, and where verified
//! reads found zeros.

use super::area::{Area, At};
use super::layout::*;
use model::Op;
use std::collections::HashMap;
use std::ops::Range;

/// Longest path or message that is kept, bytes.
const MAX_TEXT_BYTES: usize = 4096;
/// Ranges of zeros that are kept of a rank; all are counted.
const MAX_ZEROS: u32 = 10;

/// The failure counts of a recorder, by site.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<u32, At<FailureCount>>);

/// One failed operation.
pub(super) struct Failed<'a> {
    pub(super) site: u32,
    pub(super) op: Op,
    pub(super) path: &'a [u8],
    pub(super) offset_bytes: u64,
    pub(super) errno: u16,
    /// More from the back-end; mostly nothing.
    pub(super) detail: &'a str,
}

impl Failures {
    #[cold]
    pub(super) fn add(&mut self, area: &mut Area, failed: &Failed<'_>) {
        let Some(at) = self.count_of(area, failed.site) else { return };
        let count = &mut area.get(at).count;
        *count += 1;
        if *count <= MAX_FAILURES_PER_SITE {
            area.append_message(&Message::Failure(FailureRecord {
                site: failed.site,
                op: failed.op,
                path: cut(failed.path).to_vec(),
                offset_bytes: failed.offset_bytes,
                errno: failed.errno,
                detail: cut_text(failed.detail),
            }));
        }
    }

    fn count_of(&mut self, area: &mut Area, site: u32) -> Option<At<FailureCount>> {
        if let Some(at) = self.0.get(&site) {
            return Some(*at);
        }
        if self.0.len() == MAX_FAILING_SITES {
            return None;
        }
        let none = FailureCount { site: u64::from(site), count: 0 };
        let at = area.append(Kind::FailureCount, &none)?;
        self.0.insert(site, at);
        Some(at)
    }
}

pub(super) fn rank_error(area: &mut Area, site: Option<u32>, message: &str) {
    area.append_message(&Message::RankError(site, cut_text(message)));
}

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

impl ZeroRanges {
    /// Adds a range, or makes the last one longer: true if it is a new one. `file` is a number of the file.
    pub(super) fn add(
        &mut self,
        area: &mut Area,
        label: u32,
        (file, path): (u64, &[u8]),
        range: Range<u64>,
    ) -> bool {
        let continues =
            |last: &&mut Last| (last.label, last.file, last.end) == (label, file, range.start);
        if let Some(last) = self.last.as_mut().filter(continues) {
            last.end = range.end;
            if let Some(at) = last.at {
                area.get(at).end = range.end;
            }
            return false;
        }
        let path = cut(path);
        let (path_bytes, start, end) = (path.len() as u32, range.start, range.end);
        let zeros = Zeros { label, path_bytes, start, end };
        let is_kept = self.kept < MAX_ZEROS;
        let at = if is_kept { area.append_text(Kind::Zeros, &zeros, path) } else { None };
        self.kept += u32::from(at.is_some());
        self.last = Some(Last { label, file, end, at });
        true
    }
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_TEXT_BYTES)]
}

fn cut_text(text: &str) -> String {
    text[..cut_at(text, MAX_TEXT_BYTES)].into()
}
