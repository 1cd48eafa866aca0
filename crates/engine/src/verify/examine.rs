//! Finds wrong bytes in data that was read: each byte must have been written at its place.
//!
//! | kind | found |
//! |---|---|
//! | zeros | zeros, or the end of the file, where this rank wrote |
//! | older | an older generation, or data of an earlier run, where this rank wrote |
//! | other | anything else |
//!
//! Any 16 bytes at a multiple of 16 name their writer ([`super::mark`]). Bytes that no whole pair of
//! words names are compared with the data of the writers beside them. Fewer than `NAMED_BYTES` wrong
//! bytes may be a short write of another rank, and are wrong only where no other rank can have written.

use super::mark::{Keys, Mark, UNIT_BYTES, is_of, pairs, unit_bytes};
use super::memory::{Memory, State};
use model::words::count;
use std::ops::Range;
use std::rc::Rc;

const UNIT: u64 = UNIT_BYTES as u64;
/// Bytes of a pair of words, which names its writer.
const PAIR_BYTES: usize = 16;
/// Places with zeros that are kept of one operation.
const ZEROS_KEPT: usize = 10;
/// Writers that can share a unit.
const WRITERS: usize = 32;
/// Wrong bytes closer to each other than this are one place.
const GAP_BYTES: usize = 8;
/// Zeros beside each other that are a hole wherever they lie.
const HOLE_BYTES: usize = 8;
/// As many bytes of short writes, one after the other, need not hold a whole pair.
const NAMED_BYTES: u64 = 48;
/// Fewer bytes than this are wrong even where another rank may have written them: one inverted bit must
/// be found.
const SHORT_BYTES: usize = 4;

/// Kind of wrong data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Zeros, or the end of the file.
    Zeros,
    /// Older data.
    Older,
    /// Anything else.
    Other,
}

/// Their names, in the order of [`Findings::counts`].
const NAMES: [&str; 3] = ["zeros", "older data", "other data"];

/// Numbers of wrong places by [`Kind`], as "1 zeros, 2 older data"; empty without any.
pub fn list_kinds(counts: [u64; NAMES.len()]) -> String {
    let found = NAMES.iter().zip(counts).filter(|(_, count)| *count > 0);
    found.map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

/// The reader of a file, and what it knows.
#[derive(Clone, Copy, Debug)]
pub struct Examiner<'m> {
    /// The rank's own writes.
    pub memory: &'m Memory,
    /// The file.
    pub number: u64,
    /// The rank.
    pub writer: u32,
    /// Its run.
    pub run: u16,
    /// Ranks of the run.
    pub ranks: u32,
    /// Files keep their names while the program runs, so that data of another name is wrong.
    pub keeps_names: bool,
    /// No write to the file is under way: what the rank remembers is what must be there.
    pub exact: bool,
}

/// Findings of checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Bytes that were checked.
    pub checked_bytes: u64,
    /// Checked bytes that are zero where the rank knows of no write.
    pub zero_bytes: u64,
    /// Places of those zeros: neighbouring ones are one.
    pub zero_places: u64,
    /// The first of these places.
    pub zeros: Vec<Range<u64>>,
    /// Wrong places by [`Kind`].
    pub counts: [u64; NAMES.len()],
    /// The first wrong place, in words.
    pub first: Option<String>,
}

/// Bytes filled and checked since the last operation, and the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Bytes that were filled.
    pub filled_bytes: u64,
    /// The time that took, nanoseconds.
    pub fill_ns: u64,
    /// The time that checking took, nanoseconds.
    pub check_ns: u64,
    /// The bytes that were wrong.
    pub findings: Findings,
    /// Where zeros lie that the rank knows no write of: the first places of each read.
    pub zeros: Vec<ZeroPlace>,
}

/// Zeros in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroPlace {
    /// Tells files apart.
    pub file: u64,
    /// The path of the file.
    pub path: Rc<[u8]>,
    /// The bytes.
    pub range: Range<u64>,
}

/// Data that belongs to the place where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Right,
    Older,
}

/// A wrong place.
struct Wrong {
    kind: Kind,
    range: Range<u64>,
    /// Lengths of places that another rank may have written.
    accepted: Range<u64>,
}

/// A writer whose data may be in a unit.
struct Writer {
    mark: Mark,
    standing: Standing,
    bytes: [u8; UNIT_BYTES],
}

/// A part of a unit that was read.
struct Piece<'a> {
    bytes: &'a [u8],
    /// Its place in the unit.
    skip: usize,
    unit: u64,
    state: Option<State>,
}

impl Findings {
    /// `verify: 2 places are wrong (1 zeros, 1 older data), the first: zeros at offset 512 (1024 bytes)`
    pub fn text(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let places = self.counts.iter().sum::<u64>();
        if places == 1 {
            return Some(format!("verify: {first}"));
        }
        let kinds = list_kinds(self.counts);
        Some(format!("verify: {places} places are wrong ({kinds}), the first: {first}"))
    }

    /// Adds the findings of another part of the same operation.
    pub fn add(&mut self, other: Findings) {
        self.checked_bytes += other.checked_bytes;
        self.zero_bytes += other.zero_bytes;
        self.zero_places += other.zero_places;
        let room = ZEROS_KEPT.saturating_sub(self.zeros.len());
        self.zeros.extend(other.zeros.into_iter().take(room));
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        self.first = self.first.take().or(other.first);
    }

    /// Zeros where the rank knows of no write, and wrong places.
    fn of(checked_bytes: u64, mut zeros: Vec<Range<u64>>, wrong: &[Wrong]) -> Findings {
        let zero_bytes = zeros.iter().map(|range| range.end - range.start).sum();
        let zero_places = zeros.len() as u64;
        zeros.truncate(ZEROS_KEPT);
        let mut found =
            Findings { checked_bytes, zero_bytes, zero_places, zeros, ..Findings::default() };
        for Wrong { kind, range, accepted } in wrong {
            let len = range.end - range.start;
            if accepted.contains(&len) {
                continue;
            }
            found.counts[*kind as usize] += 1;
            found.first.get_or_insert_with(|| {
                let (name, bytes) = (NAMES[*kind as usize], count(len, "byte"));
                format!("{name} at offset {} ({bytes})", range.start)
            });
        }
        found
    }
}

/// Adds a range, or makes the last one longer.
fn add_zeros(zeros: &mut Vec<Range<u64>>, range: Range<u64>) {
    match zeros.last_mut().filter(|last| last.end == range.start) {
        Some(last) => last.end = range.end,
        None => zeros.push(range),
    }
}

impl Examiner<'_> {
    /// Examines what was read at an offset.
    pub fn examine(&self, bytes: &[u8], offset: u64) -> Findings {
        if self.memory.may_be_plain(self.number, self.exact) {
            return Findings::default();
        }
        let (mut checked_bytes, mut zeros, mut wrong) = (0, Vec::new(), Vec::new());
        let end = offset + bytes.len() as u64;
        let parts = match self.exact {
            true => self.memory.parts(self.number, offset..end),
            false => vec![(offset..end, Some(State::Unsure))],
        };
        for (part, state) in parts {
            if state == Some(State::Other) {
                continue;
            }
            checked_bytes += part.end - part.start;
            let mut at = part.start;
            while at < part.end {
                let next = (at - at % UNIT + UNIT).min(part.end);
                let bytes_at = (at - offset) as usize..(next - offset) as usize;
                let (unit, skip) = (at / UNIT, (at % UNIT) as usize);
                let piece = Piece { bytes: &bytes[bytes_at], skip, unit, state };
                if !self.is_right(&piece) {
                    self.look(&piece, (bytes, offset), &mut zeros, &mut wrong);
                }
                at = next;
            }
        }
        Findings::of(checked_bytes, zeros, &wrong)
    }

    /// A read has met the end of the file: data is missing if the rank wrote there.
    pub fn examine_end(&self, range: Range<u64>) -> Findings {
        let mut findings = Findings::default();
        if !self.exact || range.is_empty() {
            return findings;
        }
        let parts = self.memory.parts(self.number, range);
        let lost = parts.into_iter().find(|(_, state)| matches!(state, Some(State::Written(_))));
        if let Some((part, _)) = lost {
            findings.counts[Kind::Zeros as usize] = 1;
            let bytes = count(part.end - part.start, "byte");
            let text = format!("the file ends before offset {} ({bytes} missing)", part.start);
            findings.first = Some(text);
        }
        findings
    }

    /// The common cases at once.
    #[inline(always)]
    fn is_right(&self, piece: &Piece<'_>) -> bool {
        if let Some(State::Written(generation)) = piece.state {
            return is_of(piece.bytes, piece.skip, self.own(generation).keys(piece.unit));
        }
        let Some((_, keys)) = pairs(piece.bytes, piece.skip).next() else { return false };
        self.standing(keys, piece.unit, piece.state)
            .is_some_and(|(_, standing)| standing == Standing::Right)
            && is_of(piece.bytes, piece.skip, keys)
    }

    fn own(&self, generation: u32) -> Mark {
        Mark { file: self.number as u32, writer: self.writer, run: self.run, generation }
    }

    /// The writer that a pair of words names, if its data belongs to this unit of this file.
    fn standing(&self, keys: Keys, unit: u64, state: Option<State>) -> Option<(Mark, Standing)> {
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
            Some(State::Written(_)) if own || !of_run => Standing::Older,
            None if own && self.memory.is_complete(self.number) => Standing::Older,
            _ => Standing::Right,
        };
        Some((mark, standing))
    }

    /// Looks at a unit, or a part of one, byte by byte.
    #[cold]
    fn look(
        &self,
        piece: &Piece<'_>,
        read: (&[u8], u64),
        zeros: &mut Vec<Range<u64>>,
        wrong: &mut Vec<Wrong>,
    ) {
        let start = piece.unit * UNIT + piece.skip as u64;
        let len = piece.bytes.len();
        let holds_data = matches!(piece.state, Some(State::Written(_)));
        if !holds_data && piece.bytes.iter().all(|byte| *byte == 0) {
            return add_zeros(zeros, start..start + len as u64);
        }
        let writers = self.writers(piece, read);
        let mut wrong_bytes = self.wrong_bytes(piece, &writers);
        let mut holes = match holds_data {
            true => Vec::new(),
            false => take_holes(piece.bytes, &mut wrong_bytes),
        };
        for place in places(&wrong_bytes) {
            let found = &piece.bytes[place.clone()];
            let in_unit = piece.skip + place.start..piece.skip + place.end;
            let is_older = || {
                let mut older = writers.iter().filter(|one| one.standing == Standing::Older);
                older.any(|one| one.bytes[in_unit.clone()] == *found)
            };
            let is_edge = place.start == 0 || place.end == len;
            let kind = match found.iter().all(|byte| *byte == 0) {
                true if holds_data => Kind::Zeros,
                true if is_edge || place.len() >= SHORT_BYTES => {
                    holes.push(place);
                    continue;
                }
                _ if is_older() => Kind::Older,
                _ => Kind::Other,
            };
            let range = start + place.start as u64..start + place.end as u64;
            add_place(wrong, Wrong { kind, range, accepted: self.accepted(piece.state) });
        }
        holes.sort_unstable_by_key(|place| place.start);
        for place in holes {
            add_zeros(zeros, start + place.start as u64..start + place.end as u64);
        }
    }

    /// The writers whose data is in the unit and beside it: a write can begin or end in this unit with too
    /// few bytes to name its writer.
    fn writers(&self, piece: &Piece<'_>, (all, offset): (&[u8], u64)) -> Vec<Writer> {
        let own = match piece.state {
            Some(State::Written(generation)) => Some((self.own(generation), Standing::Right)),
            _ => None,
        };
        let beside = [Some(piece.unit), piece.unit.checked_sub(1), Some(piece.unit + 1)];
        let parts = beside.into_iter().flatten().filter_map(|unit| {
            let (bytes, skip) = part_of_unit(unit, (all, offset))?;
            Some((unit, pairs(bytes, skip)))
        });
        let named = parts.flat_map(|(unit, pairs)| pairs.map(move |(_, keys)| (unit, keys)));
        let named = named.filter_map(|(unit, keys)| {
            let (mark, _) = self.standing(keys, unit, piece.state)?;
            self.standing(mark.keys(piece.unit), piece.unit, piece.state)
        });
        let mut found: Vec<Writer> = Vec::new();
        for (mark, standing) in own.into_iter().chain(named) {
            if found.len() < WRITERS && found.iter().all(|one| one.mark != mark) {
                found.push(Writer { mark, standing, bytes: unit_bytes(mark.keys(piece.unit)) });
            }
        }
        found
    }

    /// Marks bytes that no writer with right data has written. A pair of zeros, of an older write
    /// or of another place is wrong as a whole (two equal pairs cannot be chance), although single
    /// bytes of it may be right by chance.
    fn wrong_bytes(&self, piece: &Piece<'_>, writers: &[Writer]) -> Vec<bool> {
        let right = || writers.iter().filter(|one| one.standing == Standing::Right);
        let is_wrong =
            |(at, byte): (usize, &u8)| right().all(|one| one.bytes[piece.skip + at] != *byte);
        let mut wrong: Vec<bool> = piece.bytes.iter().enumerate().map(is_wrong).collect();
        let all: Vec<(usize, Keys)> = pairs(piece.bytes, piece.skip).collect();
        for (number, (place, keys)) in all.iter().enumerate() {
            let range = place - piece.skip..place - piece.skip + PAIR_BYTES;
            let beside = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
            let mut beside = beside.filter_map(|number| all.get(number));
            let is_foreign = match self.standing(*keys, piece.unit, piece.state) {
                Some((_, standing)) => standing == Standing::Older,
                None => beside.any(|(_, other)| other == keys),
            };
            if is_foreign || piece.bytes[range.clone()] == [0; PAIR_BYTES] {
                wrong[range].fill(true);
            }
        }
        wrong
    }

    /// Numbers of bytes that do not name their writer, where another rank, or a write of which nobody knows
    /// how far it came, may have put them.
    fn accepted(&self, state: Option<State>) -> Range<u64> {
        let knows = matches!(state, Some(State::Written(_))) && self.ranks == 1;
        let vague = state == Some(State::Unsure) || !self.keeps_names;
        match knows {
            true => 0..0,
            false if vague => 0..NAMED_BYTES,
            false => SHORT_BYTES as u64..NAMED_BYTES,
        }
    }
}

/// The bytes read of a unit, and their place in it.
fn part_of_unit(unit: u64, (all, offset): (&[u8], u64)) -> Option<(&[u8], usize)> {
    let end = offset + all.len() as u64;
    let (from, to) = ((unit * UNIT).max(offset), (unit * UNIT + UNIT).min(end));
    let bytes = (from < to).then(|| &all[(from - offset) as usize..(to - offset) as usize])?;
    Some((bytes, (from % UNIT) as usize))
}

/// Takes runs of zeros out of the wrong bytes: data never has such long runs by chance.
fn take_holes(bytes: &[u8], wrong: &mut [bool]) -> Vec<Range<usize>> {
    let mut start = 0;
    let runs = bytes.chunk_by(|one, next| (*one == 0) == (*next == 0)).map(|run| {
        start += run.len();
        start - run.len()..start
    });
    let holes: Vec<Range<usize>> =
        runs.filter(|run| bytes[run.start] == 0 && run.len() >= HOLE_BYTES).collect();
    for hole in &holes {
        wrong[hole.clone()].fill(false);
    }
    holes
}

/// The places of wrong bytes.
fn places(wrong: &[bool]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for at in (0..wrong.len()).filter(|at| wrong[*at]) {
        match places.last_mut().filter(|last| at < last.end + GAP_BYTES) {
            Some(last) => last.end = at + 1,
            None => places.push(at..at + 1),
        }
    }
    places
}

/// Adds a place, or makes the last one longer.
fn add_place(wrong: &mut Vec<Wrong>, one: Wrong) {
    let gap = GAP_BYTES as u64;
    let goes_on =
        |last: &&mut Wrong| last.kind == one.kind && one.range.start < last.range.end + gap;
    match wrong.last_mut().filter(goes_on) {
        Some(last) => last.range.end = one.range.end,
        None => wrong.push(one),
    }
}

#[cfg(test)]
mod tests;
