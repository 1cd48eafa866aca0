//! One unit that is not simply right: who wrote which of its bytes.

use super::super::mark::{Keys, Mark, UNIT_BYTES, pairs, unit_bytes};
use super::super::memory::State;
use super::strangers::{Origin, Stranger};
use super::{Examiner, Findings, Kind, UNIT, Wrong};
use std::ops::Range;

/// Writers that can share a unit.
const CANDIDATES: usize = 32;
/// Wrong bytes closer to each other than this are one place.
const GAP_BYTES: usize = 8;
/// Parts of writes that are too short to tell their writer, and so are tried; shorter ones could be
/// anybody's.
const TRIED_BYTES: Range<usize> = 4..48;
/// Right bytes beside zeros that are fewer than [`TRIED_BYTES`], at least: other data has such zeros by
/// chance.
const BESIDE_BYTES: usize = 8;
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
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) skip: usize,
    pub(super) unit: u64,
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
            findings.add_zeros(range);
            return;
        }
        let (unit, skip) = (range.start / UNIT, (range.start % UNIT) as usize);
        let piece = Piece { bytes, skip, unit };
        let candidates = self.candidates(&piece, (all, offset), state);
        let strangers = self.strangers(&piece, (all, offset), state);
        let (places, zeros) = unexplained(&piece, &candidates, &strangers, !holds_data);
        for zeros in zeros {
            let (start, len) = (range.start + zeros.start as u64, zeros.len() as u64);
            findings.add_zeros(start..start + len);
        }
        for place in places {
            let found = &bytes[place.clone()];
            let is_zero = found.iter().all(|byte| *byte == 0);
            let stale = candidates.iter().find(|one| {
                one.standing == Standing::Stale && one.bytes[shift(&place, skip)] == *found
            });
            let (kind, found, origin) = match stale {
                _ if is_zero && holds_data => (Kind::Lost, "zeros".to_string(), None),
                // Short parts of others can look like older ones of this rank.
                _ if self.is_of_others(&piece, &place, &candidates, state) => continue,
                Some(stale) => (Kind::Stale, self.name(stale.mark), None),
                None => self.other(&piece, &place, &candidates, &strangers),
            };
            let start = range.start + place.start as u64;
            let range = start..start + place.len() as u64;
            add(wrong, Wrong { kind, range, state, part: part.clone(), found, origin });
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
            let Some((bytes, skip)) = read_of(unit, (all, offset)) else { continue };
            for (_, keys) in pairs(bytes, skip) {
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
        strangers: &[Stranger],
    ) -> (Kind, String, Option<Origin>) {
        let inside = shift(place, piece.skip);
        let is_inside = |stranger: &&Stranger| {
            let pairs = pairs(piece.bytes, piece.skip)
                .filter(|(at, keys)| inside.contains(at) && *keys == stranger.keys);
            pairs.take(2).count() == 2 || stranger.has(piece, place.clone())
        };
        if let Some(stranger) = strangers.iter().find(is_inside) {
            let file = match stranger.mark.file == self.number as u32 {
                true => "this file",
                false => "another file",
            };
            let (name, offset) = (self.name(stranger.mark), stranger.unit * UNIT);
            let found = format!("{name} for offset {offset} of {file}");
            return (Kind::Foreign, found, Some(stranger.origin(piece.unit)));
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
            None,
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

/// What was read of a unit, and how much of its beginning was not.
pub(super) fn read_of(unit: u64, (all, offset): (&[u8], u64)) -> Option<(&[u8], usize)> {
    let end = offset + all.len() as u64;
    let (from, to) = ((unit * UNIT).max(offset), (unit * UNIT + UNIT).min(end));
    let bytes = (from < to).then(|| &all[(from - offset) as usize..(to - offset) as usize])?;
    Some((bytes, (from % UNIT) as usize))
}

/// Places whose bytes are nobody's that may stand there, and those of zeros that may, because
/// the rank knows of no data there. Words that a stranger shares with who may stand there are the
/// stranger's where they lie between or before words that are.
fn unexplained(
    piece: &Piece<'_>,
    candidates: &[Candidate],
    strangers: &[Stranger],
    may_be_zero: bool,
) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let mut places: Vec<Range<usize>> = Vec::new();
    let right = || candidates.iter().filter(|one| one.standing == Standing::Right);
    let is_right =
        |(at, byte): (usize, &u8)| right().any(|one| one.bytes[piece.skip + at] == *byte);
    let rights: Vec<bool> = piece.bytes.iter().enumerate().map(is_right).collect();
    let zeros = match may_be_zero {
        true => zeros(piece, &rights, strangers),
        false => vec![false; piece.bytes.len()],
    };
    for at in (0..piece.bytes.len()).filter(|at| !zeros[*at] && !rights[*at]) {
        let goes_on = |last: &Range<usize>| {
            !zeros[last.end..at].contains(&true)
                && (at < last.end + GAP_BYTES
                    || strangers.iter().any(|one| one.has(piece, last.end - 1..at + 1)))
        };
        let before = places.last().map_or(0, |last| last.end);
        match places.last_mut().filter(|last| goes_on(last)) {
            Some(last) => last.end = at + 1,
            None => {
                let pair = (piece.skip + at) / 16 * 16;
                let first = pair.saturating_sub(piece.skip).max(before);
                let shared = strangers.iter().any(|one| one.has(piece, first..at + 1))
                    && !zeros[first..at].contains(&true);
                places.push(if shared { first } else { at }..at + 1);
            }
        }
    }
    // A stranger's last bytes can be right by chance.
    let whole = |place: Range<usize>| {
        let end = (piece.skip + place.end).next_multiple_of(8) - piece.skip;
        let end = end.min(piece.bytes.len());
        let is_its = strangers.iter().any(|one| one.has(piece, place.end - 1..end));
        let holes = zeros[place.end..end].contains(&true);
        place.start..if is_its && !holes { end } else { place.end }
    };
    let places = places.into_iter().map(whole).collect();
    let mut start = 0;
    let runs = zeros.chunk_by(|one, next| one == next).map(|run| {
        start += run.len();
        (run[0], start - run.len()..start)
    });
    let runs = runs.filter(|run| run.0).map(|run| run.1).collect();
    (places, runs)
}

/// Zeros that are no chance: several of them, or at the border of what was read of the unit and beside
/// right data; and not those that data of another place has.
fn zeros(piece: &Piece<'_>, rights: &[bool], strangers: &[Stranger]) -> Vec<bool> {
    let bytes = piece.bytes;
    let mut marked = vec![false; bytes.len()];
    let mut start = 0;
    for run in bytes.chunk_by(|one, next| (*one == 0) == (*next == 0)) {
        let end = start + run.len();
        let beside = match (start, end == bytes.len()) {
            (0, _) => end..(end + BESIDE_BYTES).min(bytes.len()),
            (_, true) => start.saturating_sub(BESIDE_BYTES)..start,
            _ => 0..0,
        };
        let at_edge = !beside.is_empty() && !rights[beside].contains(&false);
        let counts = run.len() >= TRIED_BYTES.start || at_edge;
        if run[0] == 0 && counts && !strangers.iter().any(|one| one.has(piece, start..end)) {
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
                && last.origin == one.origin
                && one.range.start < last.range.end + gap =>
        {
            last.range.end = one.range.end;
        }
        _ => wrong.push(one),
    }
}
