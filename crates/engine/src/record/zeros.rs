//! Where verified reads found zeros that the rank knows no write of.
//!
//! Block [`Kind::Zeros`]: label | path bytes << 32, first byte, one past the last byte, path.

use super::area::Area;
use super::layout::*;
use std::ops::Range;

/// Places that are kept of a rank; all are counted.
const KEPT: u32 = 10;
/// Longest path that is kept, bytes.
const MAX_PATH_BYTES: usize = 4096;
/// Words before the path.
pub(super) const Z_PATH: usize = 3;
const Z_END: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Zeros {
    kept: u32,
    last: Option<Last>,
}

/// The place that was found last.
#[derive(Debug)]
struct Last {
    label: u32,
    file: u64,
    end: u64,
    /// Where it is kept.
    at: Option<u32>,
}

impl Zeros {
    /// Adds a place, or makes the last one longer: true if it is a new one. `file` tells files apart.
    pub(super) fn add(
        &mut self,
        area: &mut Area,
        label: u32,
        (file, path): (u64, &[u8]),
        range: Range<u64>,
    ) -> bool {
        let goes_on =
            |last: &&mut Last| (last.label, last.file, last.end) == (label, file, range.start);
        if let Some(last) = self.last.as_mut().filter(goes_on) {
            last.end = range.end;
            if let Some(at) = last.at {
                area.words()[at as usize + Z_END] = range.end;
            }
            return false;
        }
        let at = (self.kept < KEPT).then(|| keep(area, label, path, &range)).flatten();
        self.kept += u32::from(at.is_some());
        self.last = Some(Last { label, file, end: range.end, at });
        true
    }
}

fn keep(area: &mut Area, label: u32, path: &[u8], range: &Range<u64>) -> Option<u32> {
    let path = &path[..path.len().min(MAX_PATH_BYTES)];
    area.append(Kind::Zeros, Z_PATH + words_for(path.len()), |words| {
        words[0] = pair(label, path.len() as u32);
        words[1] = range.start;
        words[Z_END] = range.end;
        put_bytes(&mut words[Z_PATH..], path);
    })
}
