//! MPI files as they were opened.
//!
//! Block [`Kind::MpiFile`]: ranks | text bytes << 32, then the texts (path, requested hints,
//! effective hints, file system, layout), each ended by a byte 0.

use super::area::Area;
use super::layout::*;
use model::run::MpiFileFacts;

/// Longest text that is kept, bytes; a longer one loses its end.
const MAX_TEXT_BYTES: usize = 8192;

#[cold]
pub(super) fn add(area: &mut Area, facts: &MpiFileFacts) {
    let texts = [
        &facts.path,
        &facts.requested_hints,
        &facts.effective_hints,
        &facts.file_system,
        &facts.layout,
    ];
    let mut bytes = Vec::new();
    for text in texts {
        let text = text.as_bytes();
        let kept = text[..text.len().min(MAX_TEXT_BYTES)].iter().filter(|byte| **byte != 0);
        bytes.extend(kept);
        bytes.push(0);
    }
    area.append(Kind::MpiFile, 1 + words_for(bytes.len()), |words| {
        words[0] = pair(facts.ranks, bytes.len() as u32);
        put_bytes(&mut words[1..], &bytes);
    });
}

/// The inverse of [`add`].
pub(super) fn read(ranks: u32, bytes: &[u8]) -> Option<MpiFileFacts> {
    let mut texts = bytes.split(|byte| *byte == 0);
    let mut next = || texts.next().map(|text| String::from_utf8_lossy(text).into_owned());
    Some(MpiFileFacts {
        path: next()?,
        ranks,
        requested_hints: next()?,
        effective_hints: next()?,
        file_system: next()?,
        layout: next()?,
    })
}
