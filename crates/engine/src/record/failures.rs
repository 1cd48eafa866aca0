//! Failed operations in full, as many as are worth reading, and why the rank did not finish.
//!
//! Block [`Kind::Failure`]: site | operation << 32, offset, errno | path bytes << 32, detail bytes, path, detail.
//! Block [`Kind::FailureCount`]: site, failures (all of them).
//! Block [`Kind::RankError`]: site or [`NO_ID`] | message bytes << 32, message.

use super::area::Area;
use super::layout::*;
use model::Op;
use model::event::NO_ID;
use std::collections::HashMap;

/// Longest path or message that is kept, bytes.
const MAX_TEXT_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Place of the count by site.
    counts: HashMap<u32, u32>,
}

/// One failed operation.
pub(super) struct Failed<'a> {
    pub(super) site: u32,
    pub(super) op: Op,
    pub(super) path: &'a [u8],
    pub(super) offset_bytes: u64,
    pub(super) errno: u16,
    /// What the back-end says besides; mostly nothing.
    pub(super) detail: &'a str,
}

impl Failures {
    #[cold]
    pub(super) fn add(&mut self, area: &mut Area, failed: &Failed<'_>) {
        let Some(at) = self.count_of(area, failed.site) else { return };
        let count = area.words()[at as usize] + 1;
        area.words()[at as usize] = count;
        if count > MAX_FAILURES_PER_SITE {
            return;
        }
        let (path, detail) = (cut(failed.path), cut(failed.detail.as_bytes()));
        let path_words = words_for(path.len());
        area.append(Kind::Failure, 4 + path_words + words_for(detail.len()), |words| {
            words[0] = pair(failed.site, failed.op as u32);
            words[1] = failed.offset_bytes;
            words[2] = pair(u32::from(failed.errno), path.len() as u32);
            words[3] = detail.len() as u64;
            put_bytes(&mut words[4..], path);
            put_bytes(&mut words[4 + path_words..], detail);
        });
    }

    fn count_of(&mut self, area: &mut Area, site: u32) -> Option<u32> {
        if let Some(at) = self.counts.get(&site) {
            return Some(*at);
        }
        if self.counts.len() == MAX_FAILING_SITES {
            return None;
        }
        let at = 1 + area.append(Kind::FailureCount, 2, |words| words[0] = u64::from(site))?;
        self.counts.insert(site, at);
        Some(at)
    }
}

pub(super) fn rank_error(area: &mut Area, site: Option<u32>, message: &str) {
    let message = cut(message.as_bytes());
    area.append(Kind::RankError, 1 + words_for(message.len()), |words| {
        words[0] = pair(site.unwrap_or(NO_ID), message.len() as u32);
        put_bytes(&mut words[1..], message);
    });
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_TEXT_BYTES)]
}
