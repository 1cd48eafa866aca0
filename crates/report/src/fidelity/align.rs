//! Alignment: pairs operations of the replay and the original, rank by rank, and counts their differences, each with
//! the first place where it was found, and what both sides took.
//!
//! ```text
//! original  open a   write 4k   write 4k   close
//! replay    open a   write 8k              close
//!           same     bytes      missing    same
//! ```
//!
//! While both go on alike they are compared one by one. At a difference the next [`WINDOW`] of
//! either side are aligned like the lines of two texts, at first by everything that they are; what
//! is left between by operation and name, then by the operation alone. Memory is that of two
//! windows, whatever the length.

use super::names::Renaming;
use super::profile::Profile;
use super::stream::{Ahead, Near, Step, hash};
use crate::StoreError;
use imara_diff::{Algorithm, Diff, InternedInput};
use model::event::NO_ID;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Operations of a side that are aligned at a time.
const WINDOW: usize = 1 << 17;

/// Keys of the alignment, from exact to rough.
const LEVELS: [fn(&Step, [u32; 2]) -> u64; 3] = [
    |step, names| {
        let offset = (!step.unplaced).then_some(step.offset);
        hash(&(step.op, names, offset, step.asked, step.done, step.errno, step.extents))
    },
    |step, names| hash(&(step.op, names)),
    |step, _| hash(&step.op),
];

/// Compares two executions.
pub(crate) fn compare(
    original: &mut Ahead,
    replay: &mut Ahead,
    names: &mut Renaming,
    tally: &mut Tally,
) -> Result<(), StoreError> {
    while let Some(rank) = first(original.rank()?, replay.rank()?) {
        Walk { sides: [&mut *original, &mut *replay], names, tally, rank }.go()?;
        tally.rank_over();
    }
    Ok(())
}

fn first(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    a.into_iter().chain(b).min()
}

/// The operations of one rank.
struct Walk<'w> {
    /// Original and replay.
    sides: [&'w mut Ahead; 2],
    names: &'w mut Renaming,
    tally: &'w mut Tally,
    rank: u32,
}

impl Walk<'_> {
    fn go(&mut self) -> Result<(), StoreError> {
        loop {
            let [original, replay] = &mut self.sides;
            match (original.front(self.rank)?, replay.front(self.rank)?) {
                (None, None) => return Ok(()),
                (Some(ours), Some(theirs)) if self.is_equal(&ours, &theirs) => self.both(),
                (Some(_), Some(_)) => self.window()?,
                (Some(_), None) => self.alone(0),
                (None, Some(_)) => self.alone(1),
            }
        }
    }

    fn is_equal(&self, ours: &Step, theirs: &Step) -> bool {
        ours.op == theirs.op
            && self.names.fit(ours, theirs)
            && differing(ours, theirs).iter().all(|(_, differs)| !differs)
    }

    fn both(&mut self) {
        let Walk { sides, names, tally, rank } = self;
        let [ours, theirs] = sides.each_mut().map(|side| side.pass());
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let same_names = names.pair(&ours, &theirs);
            tally
                .both(&ours, &theirs, same_names, || sides.each_ref().map(|side| side.near(*rank)));
        }
    }

    /// The next operation of the original (side 0) or of the replay (side 1) has no partner.
    fn alone(&mut self, side: usize) {
        let Walk { sides, names, tally, rank } = self;
        if let Some(step) = sides[side].pass() {
            tally.alone(side, &step, names, || sides.each_ref().map(|side| side.near(*rank)));
        }
    }

    /// Aligns what comes next. Where more follows, what stands behind the last operation that is
    /// on both sides is left for the next window.
    fn window(&mut self) -> Result<(), StoreError> {
        let [original, replay] = &mut self.sides;
        let (ours, whole) = original.window(self.rank, WINDOW)?;
        let (theirs, also_whole) = replay.window(self.rank, WINDOW)?;
        let mut script = aligned(ours, theirs, self.names);
        if !(whole && also_whole) {
            let last = script.iter().rposition(|pair| matches!(pair, Pair::Both));
            let kept = last.map_or(0, |last| last + 1);
            // Without a good part in common the rest is no better with more to look at.
            let least = script.len() / 2;
            script.truncate(kept.max(least).max(1));
        }
        for pair in script {
            match pair {
                Pair::Both => self.both(),
                Pair::Missing => self.alone(0),
                Pair::Extra => self.alone(1),
            }
        }
        Ok(())
    }
}

/// The next step of the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    Both,
    Missing,
    Extra,
}

fn aligned(original: &[Step], replay: &[Step], names: &Renaming) -> Vec<Pair> {
    let mut script = Vec::with_capacity(original.len().max(replay.len()));
    align(original, replay, names, 0, &mut script);
    script
}

fn align(ours: &[Step], theirs: &[Step], names: &Renaming, level: usize, script: &mut Vec<Pair>) {
    let Some(key) = LEVELS.get(level).filter(|_| !ours.is_empty() && !theirs.is_empty()) else {
        script.extend(ours.iter().map(|_| Pair::Missing));
        script.extend(theirs.iter().map(|_| Pair::Extra));
        return;
    };
    let mut input = InternedInput::default();
    let named = |step: &Step, side: usize| {
        key(step, [step.name, step.name2].map(|name| names.key_of(side, name)))
    };
    input.update_before(ours.iter().map(|step| named(step, 0)));
    input.update_after(theirs.iter().map(|step| named(step, 1)));
    let mut at = 0;
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        let range = |range: Range<u32>| range.start as usize..range.end as usize;
        let (before, after) = (range(hunk.before), range(hunk.after));
        script.extend((at..before.start).map(|_| Pair::Both));
        at = before.end;
        align(&ours[before], &theirs[after], names, level + 1, script);
    }
    script.extend((at..ours.len()).map(|_| Pair::Both));
}

/// Operations of a rank without a partner that are looked for elsewhere on it.
const LOOSE: usize = 1 << 20;
/// Places of them that are kept until the rank is over.
const CANDIDATES: usize = 64;

/// A way in which a replay differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An operation of the original has none in the replay.
    Missing,
    /// An operation of the replay has none in the original.
    Extra,
    /// The same operation of the same process, but not at the same place in its order.
    Order,
    /// Another file.
    Names,
    /// Other bytes of the file.
    Offsets,
    /// Another number of bytes was asked for.
    Bytes,
    /// It succeeded instead of failing, failed otherwise, or moved another part of what was asked for.
    Results,
    /// Opened with other flags, where both sides tell them.
    OpenFlags,
}

/// The kinds in the order of reports, each with its words in a sentence, after a number.
const KINDS: [(Kind, &str, &str); Kind::COUNT] = [
    (Kind::Missing, "missing", "missing"),
    (Kind::Extra, "extra", "extra"),
    (Kind::Order, "order", "out of order"),
    (Kind::Names, "names", "on another file"),
    (Kind::Offsets, "offsets", "at another offset"),
    (Kind::Bytes, "bytes", "of another size"),
    (Kind::Results, "results", "with another result"),
    (Kind::OpenFlags, "open_flags", "with other open flags"),
];

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 8;

    /// All kinds, in the order of reports.
    pub fn all() -> [Kind; Kind::COUNT] {
        KINDS.map(|row| row.0)
    }

    /// Its name in gates and JSON.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// In a sentence, after a number.
    pub fn words(self) -> &'static str {
        KINDS[self as usize].2
    }
}

/// Whether two operations of one kind differ in each way, besides their names.
pub(crate) fn differing(ours: &Step, theirs: &Step) -> [(Kind, bool); 4] {
    let is_placed = !ours.unplaced && !theirs.unplaced;
    let short = |step: &Step| step.asked.wrapping_sub(step.done);
    let has_flags = ours.open_flags != NO_ID && theirs.open_flags != NO_ID;
    let place = |step: &Step| (step.offset, step.from, step.extents);
    [
        (Kind::Offsets, is_placed && place(ours) != place(theirs)),
        (Kind::Bytes, ours.asked != theirs.asked),
        (Kind::Results, (ours.errno, short(ours)) != (theirs.errno, short(theirs))),
        (Kind::OpenFlags, has_flags && ours.open_flags != theirs.open_flags),
    ]
}

/// The first place of a difference.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub kind: Kind,
    pub rank: u32,
    /// The operations themselves, in the original and in the replay.
    pub steps: [Option<Step>; 2],
    /// Their neighbours there.
    pub near: [Near; 2],
}

/// Executions and bytes of one operation on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub count: [u64; 2],
    pub bytes: [u64; 2],
}

/// Differences and profiles of two executions.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Operations that are the same in all.
    pub equal: u64,
    pub differences: [u64; Kind::COUNT],
    /// Opens of the replay that give a rank what another one had opened.
    pub adopted: u64,
    /// Writes of the original whose places are not compared.
    pub appends: u64,
    pub ops: BTreeMap<u8, Counts>,
    pub examples: Vec<Example>,
    /// Times of original and replay.
    pub profiles: [Profile; 2],
    /// Label of the replay's last operation of this rank.
    phase: Option<u32>,
    loose: HashMap<u64, [u64; 2]>,
    candidates: [Vec<(u64, Example)>; 2],
}

impl Tally {
    /// Number of differences of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.differences[kind as usize]
    }

    /// Counts a pair of operations.
    pub fn both(
        &mut self,
        ours: &Step,
        theirs: &Step,
        same_names: bool,
        near: impl Fn() -> [Near; 2],
    ) {
        let others = differing(ours, theirs).into_iter();
        let mut is_equal = true;
        for (kind, differs) in [(Kind::Names, !same_names)].into_iter().chain(others) {
            if !differs {
                continue;
            }
            is_equal = false;
            self.differences[kind as usize] += 1;
            if self.lacks(kind) {
                let (rank, steps) = (ours.rank, [Some(*ours), Some(*theirs)]);
                self.examples.push(Example { kind, rank, steps, near: near() });
            }
        }
        self.equal += u64::from(is_equal);
        self.phase = Some(theirs.label);
        self.add(0, ours, theirs.label);
        self.add(1, theirs, theirs.label);
    }

    fn lacks(&self, kind: Kind) -> bool {
        self.examples.iter().all(|example| example.kind != kind)
    }

    fn add(&mut self, side: usize, step: &Step, phase: u32) {
        let counts = self.ops.entry(step.op).or_default();
        counts.count[side] += 1;
        counts.bytes[side] += step.done;
        self.profiles[side].add(step, phase);
    }

    /// An operation of the original (side 0) or of the replay (side 1) has no partner.
    pub fn alone(
        &mut self,
        side: usize,
        step: &Step,
        names: &Renaming,
        near: impl Fn() -> [Near; 2],
    ) {
        let kind = [Kind::Missing, Kind::Extra][side];
        if side == 1 {
            self.phase = Some(step.label);
        }
        self.add(side, step, self.phase.unwrap_or(step.label));
        let key = key_of(step, |id| names.key_of(side, id));
        if self.loose.len() < LOOSE || self.loose.contains_key(&key) {
            self.loose.entry(key).or_default()[side] += 1;
        } else {
            self.differences[kind as usize] += 1;
        }
        if self.candidates[side].len() < CANDIDATES {
            let mut steps = [None; 2];
            steps[side] = Some(*step);
            let example = Example { kind, rank: step.rank, steps, near: near() };
            self.candidates[side].push((key, example));
        }
    }

    /// All operations of a rank were seen: those that both sides have at different places are out of
    /// order, the others are missing or extra.
    pub fn rank_over(&mut self) {
        let loose = std::mem::take(&mut self.loose);
        for [missing, extra] in loose.values() {
            let moved = missing.min(extra);
            self.differences[Kind::Order as usize] += moved;
            self.differences[Kind::Missing as usize] += missing - moved;
            self.differences[Kind::Extra as usize] += extra - moved;
        }
        let candidates = std::mem::take(&mut self.candidates);
        for (key, example) in candidates.into_iter().flatten() {
            let [missing, extra] = loose.get(&key).copied().unwrap_or([1, 0]);
            let kind = match example.kind {
                _ if missing > 0 && extra > 0 => Kind::Order,
                kind => kind,
            };
            if self.lacks(kind) {
                self.examples.push(Example { kind, ..example });
            }
        }
        self.phase = None;
        self.profiles.iter_mut().for_each(Profile::rank_over);
    }
}

/// The key by which an operation is recognised at another place.
fn key_of(step: &Step, known: impl Fn(u32) -> u32) -> u64 {
    // Names without a partner are themselves.
    let name = |id: u32| if known(id) == NO_ID - 1 { id } else { known(id) };
    let offset = (!step.unplaced).then_some(step.offset);
    let names = [name(step.name), name(step.name2)];
    hash(&(step.op, names, offset, step.asked, step.done, step.errno, step.extents))
}
