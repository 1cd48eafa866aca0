//! One unit that is not simply right: who wrote which of its bytes.

use super::super::mark::{Keys, Mark, UNIT_BYTES, pairs, unit_bytes};
use super::super::memory::State;
use super::{Examiner, Findings, Kind, UNIT, Wrong};
use std::ops::Range;

/// Writers that can share a unit.
const CANDIDATES: usize = 32;
/// Wrong bytes closer to each other than this are one place.
const GAP_BYTES: usize = 8;
/// Parts of writes that are too short to tell their writer, and so are tried; shorter ones could be
/// anybody's.
const TRIED_BYTES: Range<usize> = 4..48;
/// Ranks and generations that are tried.
const TRIED_RANKS: u32 = 1024;
const TRIED_GENERATIONS: u32 = 64;

/// What is thought of data that belongs where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Right,
    Stale,
}

/// Somebody who may have written a part of the unit.
struct Candidate {
    mark: Mark,
    standing: Standing,
    bytes: [u8; UNIT_BYTES],
}

/// A part of a unit.
struct Piece<'a> {
    bytes: &'a [u8],
    skip: usize,
    unit: u64,
}

impl Examiner<'_> {
    /// What A and B say, if it belongs to this unit of this file.
    pub(super) fn standing(
        &self,
        keys: Keys,
        unit: u64,
        state: Option<State>,
    ) -> Option<(Mark, Standing)> {
        let (mark, _) = Mark::of_keys(keys);
        let is_here = mark.generation > 0
            && mark.keys(unit) == keys
            && (mark.file == self.number as u32 || !self.keeps_names);
        let of_run = mark.run == self.run;
        if !is_here || of_run && mark.writer >= self.ranks {
            return None;
        }
        let own = of_run && mark.writer == self.writer;
        let standing = match state {
            Some(State::Written(generation)) if own && mark.generation > generation => return None,
            Some(State::Written(generation)) if own && mark.generation == generation => {
                Standing::Right
            }
            Some(State::Written(_)) if own || !of_run => Standing::Stale,
            None if own && self.memory.is_complete(self.number) => Standing::Stale,
            _ => Standing::Right,
        };
        Some((mark, standing))
    }

    /// Looks at a unit, or a part of one, byte by byte.
    #[cold]
    pub(super) fn look(
        &self,
        findings: &mut Findings,
        wrong: &mut Vec<Wrong>,
        (all, offset): (&[u8], u64),
        (range, part, state): (Range<u64>, &Range<u64>, Option<State>),
    ) {
        let bytes = &all[(range.start - offset) as usize..(range.end - offset) as usize];
        let holds_data = matches!(state, Some(State::Written(_)));
        if !holds_data && bytes.iter().all(|byte| *byte == 0) {
            findings.zero_bytes += bytes.len() as u64;
            return;
        }
        let (unit, skip) = (range.start / UNIT, (range.start % UNIT) as usize);
        let piece = Piece { bytes, skip, unit };
        let candidates = self.candidates(&piece, (all, offset), state);
        let (places, zero_bytes) = unexplained(&piece, &candidates, !holds_data);
        findings.zero_bytes += zero_bytes;
        for place in places {
            let found = &bytes[place.clone()];
            let is_zero = found.iter().all(|byte| *byte == 0);
            let stale = candidates.iter().find(|one| {
                one.standing == Standing::Stale && one.bytes[shift(&place, skip)] == *found
            });
            let (kind, found) = match stale {
                _ if is_zero && holds_data => (Kind::Lost, "zeros".to_string()),
                // Short parts of others can look like older ones of this rank.
                _ if self.is_of_others(&piece, &place, &candidates, state) => continue,
                Some(stale) => (Kind::Stale, self.name(stale.mark)),
                None => self.other(&piece, &place, &candidates),
            };
            let start = range.start + place.start as u64;
            let range = start..start + place.len() as u64;
            add(wrong, Wrong { kind, range, state, part: part.clone(), found });
        }
    }

    /// Everybody whose data is in the unit and beside it.
    fn candidates(
        &self,
        piece: &Piece<'_>,
        (all, offset): (&[u8], u64),
        state: Option<State>,
    ) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let mut add = |mark: Mark, standing: Standing| {
            if found.len() < CANDIDATES && found.iter().all(|one| one.mark != mark) {
                found.push(Candidate { mark, standing, bytes: unit_bytes(mark.keys(piece.unit)) });
            }
        };
        if let Some(State::Written(generation)) = state {
            add(self.own(generation), Standing::Right);
        }
        for (_, keys) in pairs(piece.bytes, piece.skip) {
            if let Some((mark, standing)) = self.standing(keys, piece.unit, state) {
                add(mark, standing);
            }
        }
        // A write can begin or end in this unit with less than tells who it is.
        for unit in [piece.unit.checked_sub(1), Some(piece.unit + 1)].into_iter().flatten() {
            let end = offset + all.len() as u64;
            let (from, to) = ((unit * UNIT).max(offset), (unit * UNIT + UNIT).min(end));
            if from >= to {
                continue;
            }
            let bytes = &all[(from - offset) as usize..(to - offset) as usize];
            for (_, keys) in pairs(bytes, (from % UNIT) as usize) {
                if let Some((mark, _)) = self.standing(keys, unit, state)
                    && let Some((mark, standing)) =
                        self.standing(mark.keys(piece.unit), piece.unit, state)
                {
                    add(mark, standing);
                }
            }
        }
        found
    }

    /// A part of a write that is too short to tell its writer. Where this rank alone writes, it knows
    /// all of them; where its own writes were under way or failed, or files have other names than those
    /// they were written by, nothing so short is judged.
    fn is_of_others(
        &self,
        piece: &Piece<'_>,
        place: &Range<usize>,
        candidates: &[Candidate],
        state: Option<State>,
    ) -> bool {
        let knows = matches!(state, Some(State::Written(_))) && self.ranks == 1;
        if knows || place.len() >= TRIED_BYTES.end {
            return false;
        }
        if state == Some(State::Unsure) || !self.keeps_names {
            return true;
        }
        if place.len() < TRIED_BYTES.start {
            return false;
        }
        let mut runs = vec![self.run];
        runs.extend(candidates.iter().map(|one| one.mark.run));
        runs.sort_unstable();
        runs.dedup();
        let writers = candidates.iter().map(|one| one.mark.writer + 1).fold(self.ranks, u32::max);
        let file = self.number as u32;
        // A rank alone knows how many generations there are.
        let generations = match self.ranks {
            1 if runs.len() == 1 => self.memory.highest(self.number).min(TRIED_GENERATIONS),
            _ => TRIED_GENERATIONS,
        };
        let mut tried: Vec<[u8; UNIT_BYTES]> = Vec::new();
        for (run, writer) in runs
            .into_iter()
            .flat_map(|run| (0..writers.min(TRIED_RANKS)).map(move |writer| (run, writer)))
        {
            let marks = (1..=generations).map(|generation| Mark { file, writer, run, generation });
            let right = marks.map(|mark| mark.keys(piece.unit)).filter(|keys| {
                self.standing(*keys, piece.unit, state).is_some_and(|one| one.1 == Standing::Right)
            });
            tried.extend(right.map(unit_bytes));
        }
        // Several short writes can follow each other.
        let mut at = place.start;
        while at < place.end {
            let same = |bytes: &[u8; UNIT_BYTES]| {
                let there = &bytes[piece.skip + at..piece.skip + place.end];
                there.iter().zip(&piece.bytes[at..place.end]).take_while(|(a, b)| a == b).count()
            };
            let most = tried.iter().map(same).max().unwrap_or(0);
            if most < TRIED_BYTES.start {
                return false;
            }
            at += most;
        }
        true
    }

    /// Data of another place, or anything else.
    fn other(
        &self,
        piece: &Piece<'_>,
        place: &Range<usize>,
        candidates: &[Candidate],
    ) -> (Kind, String) {
        let inside = shift(place, piece.skip);
        let pairs = pairs(piece.bytes, piece.skip);
        let inside: Vec<Keys> = pairs
            .filter(|(at, _)| inside.contains(at) && at + 16 <= inside.end)
            .map(|(_, keys)| keys)
            .collect();
        // Two equal pairs are no chance.
        if let Some(twice) = inside.windows(2).find(|two| two[0] == two[1]) {
            let (mark, unit) = Mark::of_keys(twice[0]);
            let file = match mark.file == self.number as u32 {
                true => "this file",
                false => "another file",
            };
            let found = format!("{} for offset {} of {file}", self.name(mark), unit * UNIT);
            return (Kind::Foreign, found);
        }
        let hex = |bytes: &[u8]| {
            let shown: Vec<String> =
                bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            shown.join(" ")
        };
        let found = hex(&piece.bytes[place.clone()]);
        let expected = candidates.iter().find(|one| one.standing == Standing::Right);
        let expected = expected.map(|one| hex(&one.bytes[shift(place, piece.skip)]));
        (
            Kind::Corrupted,
            match expected {
                Some(expected) => format!("{found} in place of {expected}"),
                None => format!("{found}, which nobody wrote with verify=true"),
            },
        )
    }

    /// `generation 1 of rank 3, of another run`
    fn name(&self, mark: Mark) -> String {
        let run = if mark.run == self.run { "" } else { " of another run" };
        format!("generation {} of rank {}{run}", mark.generation, mark.writer)
    }
}

/// A range of a piece as one of its unit.
fn shift(place: &Range<usize>, skip: usize) -> Range<usize> {
    place.start + skip..place.end + skip
}

/// Places whose bytes are nobody's that may stand there, and how many zeros there are that may, because
/// the rank knows of no data there.
fn unexplained(
    piece: &Piece<'_>,
    candidates: &[Candidate],
    may_be_zero: bool,
) -> (Vec<Range<usize>>, u64) {
    let mut places: Vec<Range<usize>> = Vec::new();
    let zeros = if may_be_zero { zeros(piece.bytes) } else { vec![false; piece.bytes.len()] };
    let mut zero_bytes = 0;
    let right = || candidates.iter().filter(|one| one.standing == Standing::Right);
    for (at, byte) in piece.bytes.iter().enumerate() {
        if zeros[at] {
            zero_bytes += 1;
            continue;
        }
        if right().any(|one| one.bytes[piece.skip + at] == *byte) {
            continue;
        }
        match places.last_mut() {
            Some(last) if at < last.end + GAP_BYTES && !zeros[last.end..at].contains(&true) => {
                last.end = at + 1;
            }
            _ => places.push(at..at + 1),
        }
    }
    (places, zero_bytes)
}

/// Zeros that are no chance: several of them, or at the border of what was read of the unit.
fn zeros(bytes: &[u8]) -> Vec<bool> {
    let mut marked = vec![false; bytes.len()];
    let mut start = 0;
    for run in bytes.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
        let end = start + run.len();
        let at_edge = start == 0 || end == bytes.len();
        if run[0] == 0 && (run.len() >= TRIED_BYTES.start || at_edge) {
            marked[start..end].fill(true);
        }
        start = end;
    }
    marked
}

/// Adds a place, or makes the last one longer.
fn add(wrong: &mut Vec<Wrong>, one: Wrong) {
    let gap = GAP_BYTES as u64;
    match wrong.last_mut() {
        Some(last)
            if last.kind == one.kind
                && last.state == one.state
                && last.part == one.part
                && one.range.start < last.range.end + gap =>
        {
            last.range.end = one.range.end;
        }
        _ => wrong.push(one),
    }
}
