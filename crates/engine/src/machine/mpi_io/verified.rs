//! Verified data of MPI files: what a statement writes has one mark, and what it reads is examined where
//! each call has put it.

use super::super::io::Io;
use super::super::tally::{Subject, Tally};
use super::super::verified::WRONG;
use super::plan::Used;
use super::window::{Calls, Filling};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{At, Reply};
use crate::verify::Findings;
use model::pattern::Extent;

/// What the statement that is executed accesses.
#[derive(Debug, Default)]
pub(in super::super) struct Access {
    number: u64,
    /// The file.
    subject: Option<Subject>,
    /// The places of its bytes, one after the other as they lie in memory; empty: calls say where.
    places: Vec<Extent>,
    /// Where the file ended before a read: libraries leave memory behind it as it was.
    end_bytes: u64,
}

/// A statement that accesses a file.
pub(super) struct Accessed {
    pub(super) subject: Subject,
    pub(super) write: bool,
    /// Where the file ends, before a read.
    pub(super) end_bytes: u64,
}

impl<B: Backend> Io<'_, B> {
    /// A statement is about to access these places of its file.
    #[cold]
    pub(super) fn start_verified_access(
        &mut self,
        buffers: &mut Buffers,
        Accessed { subject, write, end_bytes }: Accessed,
        extents: impl Iterator<Item = Extent>,
    ) {
        self.verified.access.number = self.number_of(subject);
        self.verified.access.subject = Some(subject);
        self.verified.access.end_bytes = end_bytes;
        let mut places = std::mem::take(&mut self.verified.access.places);
        places.clear();
        places.extend(extents.filter(|extent| extent.length_bytes > 0));
        if write {
            let start = places.iter().map(|place| place.offset_bytes).min().unwrap_or(0);
            let end = places.iter().map(|place| place.offset_bytes + place.length_bytes).max();
            self.mark(buffers, subject, start..end.unwrap_or(start));
        }
        self.verified.access.places = places;
    }

    /// The access is over. What a read asked for behind the end of the file must not have been written
    /// by this rank.
    #[cold]
    pub(super) fn end_verified_access(&mut self, write: bool, tally: &mut Tally) {
        let Access { number, subject, places, end_bytes } =
            std::mem::take(&mut self.verified.access);
        let subject = subject.unwrap_or(Subject::Nothing);
        let mut findings = Findings::default();
        for place in &places {
            let end = place.offset_bytes + place.length_bytes;
            if write {
                let moved = if tally.errno == 0 { place.length_bytes as Reply } else { -1 };
                self.wrote_some(number, place.offset_bytes..end, moved);
            } else if end > end_bytes && matches!(tally.errno, 0 | WRONG) {
                findings.add(self.examine_end(number, place.offset_bytes.max(end_bytes)..end));
            }
        }
        self.verified.access.places = places;
        if !write {
            self.blame(tally, findings, subject);
        }
    }

    /// A call has read.
    #[cold]
    pub(super) fn verify_call(
        &mut self,
        calls: &Calls,
        (piece, reply): (Extent, Reply),
        buffers: &mut Buffers,
        tally: &mut Tally,
    ) {
        let (At::Offset { .. }, false, Ok(moved)) = (calls.at, calls.write, usize::try_from(reply))
        else {
            return;
        };
        let Ok(bytes) = buffers.target(moved) else { return };
        self.verify_bytes(calls.filling, piece.offset_bytes, bytes, tally);
    }

    /// Examines the bytes that a call has read. `from`: their place in the file, or in the memory of
    /// the access.
    #[cold]
    pub(in super::super) fn verify_bytes(
        &mut self,
        filling: Filling,
        from: u64,
        bytes: &[u8],
        tally: &mut Tally,
    ) {
        let Access { number, subject, end_bytes, .. } = self.verified.access;
        let subject = subject.unwrap_or(Subject::Nothing);
        let mut findings = Findings::default();
        if filling == Filling::ByOffset {
            let inside = end_bytes.saturating_sub(from).min(bytes.len() as u64) as usize;
            findings = self.examine(number, &bytes[..inside], from);
            return self.blame(tally, findings, subject);
        }
        let places = std::mem::take(&mut self.verified.access.places);
        let (mut at, end) = (0, from + bytes.len() as u64);
        for place in &places {
            let (start, stop) = (at.max(from), (at + place.length_bytes).min(end));
            if start < stop {
                let offset = place.offset_bytes + (start - at);
                let length = end_bytes.saturating_sub(offset).min(stop - start) as usize;
                let inside = &bytes[(start - from) as usize..][..length];
                findings.add(self.examine(number, inside, offset));
            }
            at += place.length_bytes;
        }
        self.verified.access.places = places;
        self.blame(tally, findings, subject);
    }

    /// Says by which pattern wrong bytes were read.
    pub(super) fn name_pattern(&mut self, used: &Used<'_>, tally: &Tally) {
        if tally.errno == WRONG
            && let Some(detail) = &mut self.detail
        {
            let pattern = used.pattern;
            detail
                .push_str(&format!(", by the pattern {} of level {}", pattern.name, pattern.level));
        }
    }
}
