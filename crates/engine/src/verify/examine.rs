//! What is wrong with bytes that were read: each byte must be one that somebody wrote there.
//!
//! | kind | found |
//! |---|---|
//! | lost | zeros, or the end of the file, where this rank wrote |
//! | stale | an older generation, or a block of an earlier run, where this rank wrote |
//! | torn | lost or stale in a part of a block of 4 KiB whose other part is right |
//! | foreign | data that belongs to another place or file |
//! | corrupted | anything else |

mod strangers;
mod unit;

use super::mark::{Mark, UNIT_BYTES, is_of, pairs};
use super::memory::{Memory, State};
use std::fmt;
use std::ops::Range;
use strangers::Origin;
use unit::Standing;

/// Blocks in which a part of a write can be missing.
const BLOCK_BYTES: u64 = 4096;
const UNIT: u64 = UNIT_BYTES as u64;
/// Places with zeros that are kept of one operation.
const ZEROS_KEPT: usize = 10;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Zeros, or nothing.
    Lost,
    /// Older data.
    Stale,
    /// A part of a block.
    Torn,
    /// Data of another place.
    Foreign,
    /// Anything else.
    Corrupted,
}

impl Kind {
    /// All of them, in the order of [`Findings::counts`].
    pub const ALL: [Kind; 5] =
        [Kind::Lost, Kind::Stale, Kind::Torn, Kind::Foreign, Kind::Corrupted];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        ["lost", "stale", "torn", "foreign", "corrupted"][self as usize]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who reads which file.
#[derive(Clone, Copy, Debug)]
pub struct Examiner<'m> {
    /// What the rank remembers.
    pub memory: &'m Memory,
    /// The file.
    pub number: u64,
    /// The rank.
    pub writer: u32,
    /// Its run.
    pub run: u16,
    /// Ranks of the run.
    pub ranks: u32,
    /// Files keep their names while the program runs, so that data of another name is foreign.
    pub keeps_names: bool,
    /// No write to the file is under way: what the rank remembers is what must be there.
    pub exact: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Bytes that were checked.
    pub checked_bytes: u64,
    /// Of those, zeros where the rank knows of no write.
    pub zero_bytes: u64,
    /// Places of those: neighbouring ones are one.
    pub zero_places: u64,
    /// The first of them.
    pub zeros: Vec<Range<u64>>,
    /// Where the last of them ends.
    zeros_end: Option<u64>,
    /// Wrong places by [`Kind`].
    pub counts: [u64; Kind::ALL.len()],
    /// The first of them, in words.
    pub first: Option<String>,
}

/// A place that is wrong.
#[derive(Clone, Debug)]
struct Wrong {
    kind: Kind,
    range: Range<u64>,
    /// What the rank wrote there, and in which range.
    state: Option<State>,
    part: Range<u64>,
    /// What was found, and what should have been.
    found: String,
    /// Of foreign data.
    origin: Option<Origin>,
}

impl Findings {
    /// Nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.first.is_none()
    }

    /// `2 places are wrong (1 lost, 1 stale); the first: ...`
    pub fn text(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let kinds = Kind::ALL.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
        let places: u64 = self.counts.iter().sum();
        Some(match places {
            1 => format!("verify: {first}"),
            _ => format!(
                "verify: {places} places are wrong ({}), the first: {first}",
                kinds.join(", ")
            ),
        })
    }

    /// Zeros where nobody is known to have written.
    fn add_zeros(&mut self, range: Range<u64>) {
        self.zero_bytes += range.end - range.start;
        let goes_on = self.zeros_end.replace(range.end) == Some(range.start);
        let all_kept = self.zeros.len() as u64 == self.zero_places;
        match self.zeros.last_mut().filter(|_| goes_on && all_kept) {
            Some(last) => last.end = range.end,
            None if goes_on => {}
            None => {
                self.zero_places += 1;
                if self.zeros.len() < ZEROS_KEPT {
                    self.zeros.push(range);
                }
            }
        }
    }

    /// Adds those of another part of the same operation.
    pub fn add(&mut self, other: Findings) {
        self.checked_bytes += other.checked_bytes;
        self.zero_bytes += other.zero_bytes;
        self.zero_places += other.zero_places;
        let room = ZEROS_KEPT.saturating_sub(self.zeros.len());
        self.zeros.extend(other.zeros.into_iter().take(room));
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        self.first = self.first.take().or(other.first);
    }
}

impl Examiner<'_> {
    /// Examines what was read at an offset.
    pub fn examine(&self, bytes: &[u8], offset: u64) -> Findings {
        let mut findings = Findings::default();
        let mut wrong: Vec<Wrong> = Vec::new();
        if self.memory.may_be_plain(self.number, self.exact) {
            return findings;
        }
        let end = offset + bytes.len() as u64;
        let parts = match self.exact {
            true => self.memory.parts(self.number, offset..end),
            false => vec![(offset..end, Some(State::Unsure))],
        };
        for (part, state) in parts {
            if state == Some(State::Other) {
                continue;
            }
            findings.checked_bytes += part.end - part.start;
            let mut at = part.start;
            while at < part.end {
                let next = (at - at % UNIT + UNIT).min(part.end);
                let piece = &bytes[(at - offset) as usize..(next - offset) as usize];
                if !self.is_right(piece, at, state) {
                    self.look(&mut findings, &mut wrong, (bytes, offset), (at..next, &part, state));
                }
                at = next;
            }
        }
        for one in &mut wrong {
            if self.is_torn(one, bytes, offset) {
                one.kind = Kind::Torn;
            }
            findings.counts[one.kind as usize] += 1;
        }
        findings.first = wrong.first().map(|one| self.words(one));
        findings
    }

    /// A read has met the end of the file: something is lost if the rank wrote there.
    pub fn examine_end(&self, range: Range<u64>) -> Findings {
        let mut findings = Findings::default();
        if !self.exact || range.is_empty() {
            return findings;
        }
        let parts = self.memory.parts(self.number, range);
        let lost = parts.into_iter().find(|(_, state)| matches!(state, Some(State::Written(_))));
        if let Some((part, state)) = lost {
            findings.counts[Kind::Lost as usize] = 1;
            let found = "the end of the file".to_string();
            let (kind, range, origin) = (Kind::Lost, part.clone(), None);
            findings.first = Some(self.words(&Wrong { kind, range, state, part, found, origin }));
        }
        findings
    }

    /// The common cases at once.
    #[inline(always)]
    fn is_right(&self, piece: &[u8], at: u64, state: Option<State>) -> bool {
        let (unit, skip) = (at / UNIT, (at % UNIT) as usize);
        if let Some(State::Written(generation)) = state {
            return is_of(piece, skip, self.own(generation).keys(unit));
        }
        let Some((_, keys)) = pairs(piece, skip).next() else { return false };
        self.standing(keys, unit, state).is_some_and(|(_, standing)| standing == Standing::Right)
            && is_of(piece, skip, keys)
    }

    fn own(&self, generation: u32) -> Mark {
        Mark { file: self.number as u32, writer: self.writer, run: self.run, generation }
    }

    /// A part of the block is there, in the same generation.
    fn is_torn(&self, wrong: &Wrong, bytes: &[u8], offset: u64) -> bool {
        let Some(State::Written(generation)) = wrong.state else { return false };
        if !matches!(wrong.kind, Kind::Lost | Kind::Stale) {
            return false;
        }
        let blocks = [wrong.range.start, wrong.range.end - 1].map(|at| at - at % BLOCK_BYTES);
        blocks.into_iter().any(|block| {
            let start = block.max(wrong.part.start).max(offset);
            let end = offset + bytes.len() as u64;
            let end = (block + BLOCK_BYTES).min(wrong.part.end).min(end);
            let mut expected = vec![0; (end - start) as usize];
            self.own(generation).fill(&mut expected, start);
            let found = &bytes[(start - offset) as usize..(end - offset) as usize];
            let words = expected.chunks_exact(8).zip(found.chunks_exact(8)).zip(0..);
            words.into_iter().any(|((expected, found), number)| {
                let at = start + 8 * number;
                !(at..at + 8).any(|byte| wrong.range.contains(&byte)) && expected == found
            })
        })
    }

    /// `lost at offset 512 (1024 bytes): expected generation 2 of rank 0, found zeros`
    fn words(&self, wrong: &Wrong) -> String {
        let expected = match wrong.state {
            Some(State::Written(generation)) => {
                format!("generation {generation} of rank {}", self.writer)
            }
            None if wrong.kind == Kind::Stale => "no data of this rank".into(),
            _ => "data that belongs there".to_string(),
        };
        let Range { start, end } = wrong.range;
        let bytes = match end - start {
            1 => "1 byte".to_string(),
            bytes => format!("{bytes} bytes"),
        };
        format!(
            "{} at offset {start} ({bytes}): expected {expected}, found {}",
            wrong.kind, wrong.found
        )
    }
}

#[cfg(test)]
mod tests;
