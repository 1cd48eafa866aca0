//! Classes of statements -> repeats: loops of bodies, whatever the number of iterations is each time and
//! whatever parts of the body an iteration leaves out.
//!
//! ```text
//! o r w c o c o r w r w c    -> (o (rw) c   o () c   o (rw rw) c)
//! ```
//!
//! Equal neighbours are joined, and sequences that begin with the same statement; each time what saves most
//! text together with the series that it makes possible. Statements are their classes here; numbers are
//! fitted afterwards.

use super::tree::hash_of;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// Longest body of equal neighbours.
const BODY_MAX: usize = 24;
/// Longest sequence between two equal statements.
const SEGMENT_MAX: usize = 64;
/// Statements that are tried as first ones of a body.
const FIRST_MAX: usize = 10;
/// Most rounds of joining.
const ROUNDS: usize = 24;
/// Most different sequences of one loop, and most elements of its body.
const KINDS_MAX: usize = 48;
const SLOTS_MAX: usize = 96;

/// Bytes of text of a statement, an optional part, an entry of a list.
const STATEMENT: usize = 40;
const OPTION: usize = 70;
const ENTRY: usize = 3;

/// A statement, or the iterations of a loop.
#[derive(Clone, Debug)]
pub struct Element {
    /// Class of the statement, or of the body.
    pub class: u64,
    /// Its content.
    pub what: What,
}

impl Element {
    /// It is such an element, or there is one in it.
    pub fn any(&self, is_it: &dyn Fn(&Element) -> bool) -> bool {
        let is_in = |elements: &[Option<Element>]| elements.iter().flatten().any(|e| e.any(is_it));
        let is_within = match &self.what {
            What::Many(iterations) => iterations.iter().any(|iteration| is_in(iteration)),
            What::Block(_, body) => is_in(body),
            What::One(_) | What::Border => false,
        };
        is_within || is_it(self)
    }
}

/// The content of an element.
#[derive(Clone, Debug)]
pub enum What {
    /// The statement with this number.
    One(usize),
    /// For every iteration the elements of the body; `None` where an iteration leaves one out.
    Many(Vec<Vec<Option<Element>>>),
    /// The block with this number, with the elements of the body that it has.
    Block(usize, Vec<Option<Element>>),
    /// A border between two sequences.
    Border,
}

/// Loops and blocks that were found.
#[derive(Debug, Default)]
pub struct Repeats {
    /// Classes of the bodies of loops and blocks, by their classes.
    pub bodies: HashMap<u64, Vec<u64>>,
    /// The elements in which loops are looked for, with a border behind each sequence but the last.
    elements: Vec<Element>,
}

/// Classes of borders have this bit, and no others have it.
const BORDER: u64 = 1 << 63;

/// A class of statements.
pub fn class_of(what: &impl Hash) -> u64 {
    hash_of(what) & !BORDER
}

fn is_border(class: u64) -> bool {
    class & BORDER != 0
}

/// Places of a sequence with the number of iterations of the body there; 0 for another element.
fn split_at_body<'a>(
    classes: &'a [u64],
    body: &'a [u64],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = classes.get(at..).filter(|rest| !rest.is_empty())?;
        let times = rest.chunks_exact(body.len()).take_while(|chunk| *chunk == body).count();
        let here = at;
        at += (times * body.len()).max(1);
        Some((here, times))
    })
}

impl Repeats {
    /// Finds loops in sequences. None of them crosses a border, but they have the same bodies in all sequences.
    pub fn join(&mut self, sequences: Vec<Vec<Element>>) -> Vec<Vec<Element>> {
        let count = sequences.len();
        for (at, sequence) in (0u64..).zip(sequences) {
            if at > 0 {
                self.elements.push(Element { class: BORDER | at, what: What::Border });
            }
            self.elements.extend(sequence);
        }
        for _ in 0..ROUNDS {
            if !self.join_best() {
                break;
            }
        }
        let mut left = std::mem::take(&mut self.elements).into_iter();
        let is_within = |element: &Element| !is_border(element.class);
        (0..count).map(|_| left.by_ref().take_while(is_within).collect()).collect()
    }

    /// Makes blocks with this label of sequences: few kinds of blocks with equal bodies, where an element that some
    /// lack is optional.
    pub fn blocks(
        &mut self,
        label: u32,
        blocks: Vec<(usize, Vec<Element>)>,
    ) -> Vec<(usize, Element)> {
        let classes = |body: &[Element]| body.iter().map(|element| element.class).collect();
        let sequences: Vec<Vec<u64>> = blocks.iter().map(|(_, body)| classes(body)).collect();
        let (kinds, kind_of) = kinds_of(&sequences, &|class| self.weight(class));
        let class = |slots: &Vec<u64>| self.body_of("block", label, slots);
        let of_kind: Vec<u64> = kinds.iter().map(class).collect();
        let mut all = Vec::with_capacity(blocks.len());
        for (at, (number, body)) in blocks.into_iter().enumerate() {
            let kind = kind_of[at];
            let filled = filled(&kinds[kind], &sequences[at], body.into_iter());
            all.push((number, Element { class: of_kind[kind], what: What::Block(number, filled) }));
        }
        all
    }

    /// Bytes of text of an element.
    fn weight(&self, class: u64) -> usize {
        let body = self.bodies.get(&class);
        body.map_or(STATEMENT, |slots| STATEMENT / 2 + self.weights(slots))
    }

    fn weights(&self, classes: &[u64]) -> usize {
        classes.iter().map(|class| self.weight(*class)).sum()
    }

    /// The class of what has this body.
    fn body_of(&mut self, what: &str, label: u32, body: &[u64]) -> u64 {
        let class = class_of(&(what, label, body));
        self.bodies.insert(class, body.to_vec());
        class
    }

    /// Joins what saves most text; `false` if nothing does.
    fn join_best(&mut self) -> bool {
        let classes: Vec<u64> = self.elements.iter().map(|element| element.class).collect();
        let series = best_series(&classes);
        let best = series.as_ref().map_or(0, |series| series.gain);
        let shortest = (1..=BODY_MAX).find_map(|width| equal_neighbours(&classes, width));
        let equal = shortest.filter(|(body, gain)| {
            // All loops have the same class: only their places matter.
            let joined: Vec<u64> = split_at_body(&classes, body)
                .map(|(at, times)| if times == 0 { classes[at] } else { 0 })
                .collect();
            gain + best_series(&joined).map_or(0, |series| series.gain) > best
        });
        match (equal, series) {
            (Some((body, _)), _) => self.join_equal(&classes, body),
            (None, Some(series)) => self.join_series(&classes, &series),
            (None, None) => return false,
        }
        true
    }

    /// Joins a body everywhere, also where it occurs once.
    fn join_equal(&mut self, classes: &[u64], body: &[u64]) {
        let class = self.body_of("loop", 0, body);
        let mut left = std::mem::take(&mut self.elements).into_iter();
        for (_, times) in split_at_body(classes, body) {
            if times == 0 {
                self.elements.extend(left.next());
                continue;
            }
            let iteration = |_| left.by_ref().take(body.len()).map(Some).collect();
            let iterations: Vec<Vec<Option<Element>>> = (0..times).map(iteration).collect();
            self.elements.push(Element { class, what: What::Many(iterations) });
        }
    }

    /// Joins sequences that begin with the same statement.
    fn join_series(&mut self, classes: &[u64], series: &Series) {
        let slots = &series.profile.slots;
        let class = self.body_of("loop", 0, slots);
        let mut left = std::mem::take(&mut self.elements).into_iter();
        let mut taken = 0;
        for bounds in &series.runs {
            self.elements.extend(left.by_ref().take(bounds[0] - taken));
            let iterations = bounds.windows(2).map(|bounds| {
                let own = &classes[bounds[0]..bounds[1]];
                filled(slots, own, left.by_ref().take(own.len()))
            });
            let what = What::Many(iterations.collect());
            self.elements.push(Element { class, what });
            taken = bounds[bounds.len() - 1];
        }
        self.elements.extend(left);
    }
}

/// The elements of a sequence in the slots of its body.
fn filled(
    slots: &[u64],
    own: &[u64],
    elements: impl Iterator<Item = Element>,
) -> Vec<Option<Element>> {
    let mut filled = vec![None; slots.len()];
    places(slots, own)
        .into_iter()
        .zip(elements)
        .for_each(|(at, element)| filled[at] = Some(element));
    filled
}

/// Most kinds of blocks that are made the same kind; others stay kinds of their own.
const BLOCK_KINDS_MAX: usize = 16;

/// Bodies of blocks, and which of them each sequence has. Those of one body have most of it in common.
fn kinds_of(sequences: &[Vec<u64>], weight: &impl Fn(u64) -> usize) -> (Vec<Vec<u64>>, Vec<usize>) {
    let mut times: HashMap<&[u64], usize> = HashMap::new();
    sequences.iter().for_each(|own| *times.entry(own).or_default() += 1);
    let mut different: Vec<(&[u64], usize)> = times.into_iter().collect();
    different.sort_by_key(|(own, times)| (Reverse(*times), Reverse(own.len()), *own));
    let mut kinds: Vec<(Vec<u64>, Vec<&[u64]>)> = Vec::new();
    for (own, _) in different {
        let near = kinds.iter().take(BLOCK_KINDS_MAX).enumerate();
        let costs = near.map(|(at, (slots, _))| (cost_of_adding(slots, own, weight), at));
        let alone: usize = own.iter().map(|class| weight(*class)).sum();
        match costs.min().filter(|(cost, _)| *cost < alone * 2 / 3) {
            Some((_, at)) => {
                let (slots, members) = &mut kinds[at];
                *slots = shortest_common_supersequence(slots, own);
                members.push(own);
            }
            None => kinds.push((own.to_vec(), vec![own])),
        }
    }
    let members =
        kinds.iter().enumerate().flat_map(|(at, (_, all))| all.iter().map(move |own| (*own, at)));
    let members: HashMap<&[u64], usize> = members.collect();
    let kind_of = sequences.iter().map(|own| members[&own[..]]).collect();
    let used = |(slots, members): (Vec<u64>, Vec<&[u64]>)| used_slots(slots, &members).0;
    (kinds.into_iter().map(used).collect(), kind_of)
}

/// Bytes of text that a body takes more to be that of this sequence, too.
fn cost_of_adding(slots: &[u64], own: &[u64], weight: &impl Fn(u64) -> usize) -> usize {
    let (mut taken, mut cost) = ((0, 0), 0);
    let pairs = common_subsequence(slots, own);
    for (a, b) in pairs.into_iter().chain([(slots.len(), own.len())]) {
        cost += OPTION * (usize::from(a > taken.0) + usize::from(b > taken.1));
        cost += own[taken.1..b].iter().map(|class| weight(*class)).sum::<usize>();
        taken = (a + 1, b + 1);
    }
    cost
}

/// How a body repeats.
#[derive(Default)]
struct Runs {
    /// Places with several iterations.
    runs: usize,
    /// Iterations there.
    times: usize,
    /// Most iterations in one place.
    most: usize,
    /// Places where the body occurs, alone or in a run.
    places: usize,
}

/// The body of this width with equal neighbours that saves most text, and how many bytes. A body that
/// always occurs twice is no loop.
fn equal_neighbours(classes: &[u64], width: usize) -> Option<(&[u64], usize)> {
    let len = classes.len();
    if len < 2 * width {
        return None;
    }
    let mut same = vec![0u32; len];
    for at in (0..len - width).rev() {
        same[at] = if classes[at] == classes[at + width] { same[at + 1] + 1 } else { 0 };
    }
    let mut all: HashMap<&[u64], Runs> = HashMap::new();
    let mut at = 0;
    while at + 2 * width <= len {
        let times = same[at] as usize / width + 1;
        if times < 2 {
            at += 1;
            continue;
        }
        let runs = all.entry(&classes[at..at + width]).or_default();
        (runs.runs, runs.times) = (runs.runs + 1, runs.times + times);
        runs.most = runs.most.max(times);
        at += times * width;
    }
    if all.is_empty() {
        return None;
    }
    for window in classes.windows(width) {
        all.entry(window).and_modify(|runs| runs.places += 1);
    }
    let gain = |runs: &Runs| {
        let gone = (runs.times * width - runs.runs) * STATEMENT;
        gone.saturating_sub(width * STATEMENT + OPTION + ENTRY * runs.runs)
    };
    let varies = |runs: &Runs| runs.most > 2 || (runs.runs > 1 && runs.places > runs.times);
    let worth = all.into_iter().filter(|(_, runs)| varies(runs));
    let best = worth.map(|(body, runs)| (gain(&runs), body)).max();
    best.filter(|(gain, _)| *gain > 0).map(|(gain, body)| (body, gain))
}

/// Sequences that begin with the same statement.
#[derive(Debug)]
struct Series {
    /// Where each begins, and where the last one ends; for each place where some follow each other.
    runs: Vec<Vec<usize>>,
    profile: Profile,
    /// Bytes of text that a loop saves.
    gain: usize,
}

fn best_series(classes: &[u64]) -> Option<Series> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    classes.iter().enumerate().for_each(|(at, class)| places.entry(*class).or_default().push(at));
    let mut often: Vec<Vec<usize>> = places.into_values().filter(|all| all.len() > 2).collect();
    often.sort_by_key(|all| (Reverse(all.len()), all[0]));
    often.truncate(FIRST_MAX);
    let borders: Vec<usize> = (0..classes.len()).filter(|at| is_border(classes[*at])).collect();
    let all = often.iter().filter_map(|places| series_from(classes, &borders, places));
    all.max_by_key(|found| (found.gain, Reverse(found.runs[0][0])))
}

/// Short sequences that begin at these places: the longest series of them, or all where borders part them.
fn series_from(classes: &[u64], borders: &[usize], places: &[usize]) -> Option<Series> {
    let sequence_of = |at: usize| borders.partition_point(|border| *border < at);
    let length = |pair: &[usize]| {
        (sequence_of(pair[0]) == sequence_of(pair[1])).then_some(pair[1] - pair[0])
    };
    let lengths: Vec<Option<usize>> = places.windows(2).map(length).collect();
    let mut sorted: Vec<usize> = lengths.iter().copied().flatten().collect();
    sorted.sort_unstable();
    let limit = (3 * sorted.get(sorted.len() / 2)? + 4).min(SEGMENT_MAX);
    let mut lengths = lengths.into_iter();
    let goes_on =
        |_: &usize, _: &usize| lengths.next().flatten().is_some_and(|length| length <= limit);
    let mut runs: Vec<&[usize]> = places.chunk_by(goes_on).collect();
    if borders.is_empty() {
        let longest = runs.iter().copied().rev().max_by_key(|run| run.len());
        runs = longest.into_iter().collect();
    }
    let cut = |bounds: &[usize]| -> Vec<&[u64]> {
        bounds.windows(2).map(|pair| &classes[pair[0]..pair[1]]).collect()
    };
    let whole: Vec<&[u64]> = runs.iter().flat_map(|run| cut(run)).collect();
    if whole.len() < 2 {
        return None;
    }
    let profile = Profile::new(&whole)?;
    let closed = |run: &[usize]| {
        let start = run[run.len() - 1];
        let border = borders.get(sequence_of(start)).copied().unwrap_or(classes.len());
        let next = places.get(places.partition_point(|at| *at <= start)).copied();
        let rest = &classes[start..next.unwrap_or(border).min(border)];
        let end = profile.whole_beginning(rest).map(|length| start + length);
        run.iter().copied().chain(end).collect::<Vec<usize>>()
    };
    let runs: Vec<Vec<usize>> = runs.into_iter().map(closed).filter(|run| run.len() > 1).collect();
    let all: Vec<&[u64]> = runs.iter().flat_map(|run| cut(run)).collect();
    // Sequences that are parted by borders have one text: the one with most elements.
    let most = runs.chunk_by(|a, b| sequence_of(a[0]) == sequence_of(b[0]));
    let most = most.map(|runs| runs.iter().flat_map(|run| cut(run)).collect::<Vec<_>>());
    let most = most.max_by_key(|own| own.iter().map(|segment| segment.len()).sum::<usize>())?;
    let gain = profile.gain(&most).filter(|gain| *gain > 0)?;
    (all.len() > 2).then_some(Series { runs, profile, gain })
}

/// The body of sequences of which each leaves out some elements.
#[derive(Clone, Debug, PartialEq)]
struct Profile {
    /// Classes of the elements.
    slots: Vec<u64>,
    /// Every sequence has the element.
    always: Vec<bool>,
}

/// The slots that some of the sequences use, and whether all of them do.
fn used_slots(mut slots: Vec<u64>, sequences: &[&[u64]]) -> (Vec<u64>, Vec<bool>) {
    loop {
        let mut uses = vec![0; slots.len()];
        sequences.iter().flat_map(|own| places(&slots, own)).for_each(|slot| uses[slot] += 1);
        if uses.iter().all(|uses| *uses > 0) {
            return (slots, uses.into_iter().map(|uses| uses == sequences.len()).collect());
        }
        slots = slots
            .into_iter()
            .zip(uses)
            .filter(|(_, uses)| *uses > 0)
            .map(|(slot, _)| slot)
            .collect();
    }
}

impl Profile {
    /// The body of these sequences; `None` if they are too different.
    fn new(segments: &[&[u64]]) -> Option<Profile> {
        let mut kinds: HashMap<&[u64], usize> = HashMap::new();
        for segment in segments {
            *kinds.entry(segment).or_default() += 1;
            if kinds.len() > KINDS_MAX {
                return None;
            }
        }
        let mut kinds: Vec<(&[u64], usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(kind, times)| (Reverse(*times), Reverse(kind.len()), *kind));
        let kinds: Vec<&[u64]> = kinds.into_iter().map(|(kind, _)| kind).collect();
        let mut slots = kinds[0].to_vec();
        for kind in &kinds[1..] {
            slots = shortest_common_supersequence(&slots, kind);
            if slots.len() > SLOTS_MAX {
                return None;
            }
        }
        let (slots, always) = used_slots(slots, &kinds);
        Some(Profile { slots, always })
    }

    /// Length of the longest beginning that is one more of the sequences.
    fn whole_beginning(&self, rest: &[u64]) -> Option<usize> {
        (1..=rest.len().min(self.slots.len())).rev().find(|length| {
            let part = &rest[..*length];
            let own = places(&self.slots, part);
            own.len() == part.len()
                && self.always.iter().enumerate().all(|(at, always)| !always || own.contains(&at))
        })
    }

    /// Bytes of text that a loop over these sequences saves.
    fn gain(&self, segments: &[&[u64]]) -> Option<usize> {
        let elements: usize = segments.iter().map(|segment| segment.len()).sum();
        let options = self.always.iter().filter(|always| !**always).count();
        let takes = self.slots.len() * STATEMENT + options * (OPTION + ENTRY * segments.len());
        (elements * STATEMENT).checked_sub(takes)
    }
}

/// Slots of the elements of a sequence.
fn places(slots: &[u64], segment: &[u64]) -> Vec<usize> {
    common_subsequence(slots, segment).into_iter().map(|(slot, _)| slot).collect()
}

fn shortest_common_supersequence(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let mut taken = (0, 0);
    let pairs = common_subsequence(a, b);
    for (x, y) in pairs.into_iter().chain([(a.len(), b.len())]) {
        all.extend_from_slice(&a[taken.0..x]);
        all.extend_from_slice(&b[taken.1..y]);
        all.extend(a.get(x));
        taken = (x + 1, y + 1);
    }
    all
}

/// Most comparisons of elements.
const COMPARED_MAX: usize = 1 << 25;

/// Places of a longest common subsequence. Only common ends are found where both sequences are long and
/// different in the middle.
pub fn common_subsequence(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&rest_a[..rest_a.len() - tail], &rest_b[..rest_b.len() - tail]);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    if mid_a.len().saturating_mul(mid_b.len()) <= COMPARED_MAX {
        pairs.extend(longest(mid_a, mid_b).into_iter().map(|(x, y)| (x + head, y + head)));
    }
    pairs.extend((0..tail).rev().map(|at| (a.len() - 1 - at, b.len() - 1 - at)));
    pairs
}

fn longest(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            lengths[i * width + j] = match x == y {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(elements: &[Element]) -> String {
        let show_one = |element: &Element| match &element.what {
            What::One(_) => (element.class as u8 as char).to_string(),
            What::Many(iterations) => {
                let each = iterations.iter().map(|iteration| {
                    let slot = |slot: &Option<Element>| {
                        slot.as_ref().map_or("-".into(), |e| show(std::slice::from_ref(e)))
                    };
                    iteration.iter().map(slot).collect::<String>()
                });
                format!("({})", each.collect::<Vec<_>>().join(" "))
            }
            What::Block(..) | What::Border => "?".into(),
        };
        elements.iter().map(show_one).collect()
    }

    #[test]
    fn the_largest_saving_is_joined_first() {
        for (text, expected) in [
            (
                "orcorwrcorwrwrwrcorwrwrcorcorwrwrwrwrc",
                "(o-rc o(rw)rc o(rw rw rw)rc o(rw rw)rc o-rc o(rw rw rw rw)rc)",
            ),
            ("abc", "abc"),
            ("abcdxabcdabcdabcdxabcd", "(abcdx abcd- abcd- abcdx abcd-)"),
        ] {
            assert_eq!(joined(&[text]), expected, "{text}");
        }
    }

    fn statements(text: &str) -> Vec<Element> {
        let one = |(at, class): (usize, u8)| Element { class: class.into(), what: What::One(at) };
        text.bytes().enumerate().map(one).collect()
    }

    fn joined(texts: &[&str]) -> String {
        let sequences = texts.iter().map(|text| statements(text)).collect();
        let all = Repeats::default().join(sequences);
        all.iter().map(|sequence| show(sequence)).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn borders_are_not_crossed_and_bodies_are_the_same_on_all_sides() {
        for (texts, expected) in [
            (&["xaaay", "xay", "xaay"][..], "x(a a a)y|x(a)y|x(a a)y"),
            (&["orwc", "orwcorwcorwc", "orwcorc"], "(orwc)|(orwc orwc orwc)|(orwc)orc"),
            (&["abc", "abc", "abc"], "abc|abc|abc"),
        ] {
            assert_eq!(joined(texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn blocks_that_differ_a_little_are_of_one_kind() {
        for (texts, expected) in [
            (&["abcd", "abcd"][..], &["abcd", "abcd"][..]),
            (&["abcdefgh", "abcdxefgh", "abcdefgh"], &["abcd-efgh", "abcdxefgh", "abcd-efgh"]),
            (&["abcdefgh", "stuvwxyz"], &["abcdefgh", "stuvwxyz"]),
        ] {
            let blocks = texts.iter().map(|text| statements(text)).enumerate().collect();
            let blocks = Repeats::default().blocks(1, blocks).into_iter();
            let show_block = |(_, block): (usize, Element)| match block.what {
                What::Block(_, within) => {
                    let slot = |slot: &Option<Element>| {
                        slot.as_ref().map_or("-".into(), |e| show(std::slice::from_ref(e)))
                    };
                    within.iter().map(slot).collect::<String>()
                }
                _ => String::new(),
            };
            let shown: Vec<String> = blocks.map(show_block).collect();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn profiles_hold_all_sequences() {
        for (texts, slots, always) in [
            (&["abc", "abc"][..], "abc", "+++"),
            (&["abc", "ac", "abc"], "abc", "+-+"),
            (&["abc", "abxc"], "abxc", "++-+"),
            (&["ab", "ac"], "abc", "+--"),
        ] {
            let all: Vec<Vec<u64>> =
                texts.iter().map(|text| text.bytes().map(u64::from).collect()).collect();
            let all: Vec<&[u64]> = all.iter().map(Vec::as_slice).collect();
            let profile = Profile::new(&all).unwrap();
            let found: String = profile.slots.iter().map(|slot| *slot as u8 as char).collect();
            let marks = profile.always.iter().map(|a| if *a { '+' } else { '-' });
            assert_eq!((found.as_str(), marks.collect::<String>()), (slots, always.to_string()));
        }
    }

    #[test]
    fn every_slot_is_used() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut segment = || (0..=draw(9)).map(|_| draw(3)).collect::<Vec<u64>>();
            let all: Vec<Vec<u64>> = (0..12).map(|_| segment()).collect();
            let all: Vec<&[u64]> = all.iter().map(Vec::as_slice).collect();
            let Profile { slots, .. } = Profile::new(&all).unwrap();
            let has = |slot: usize| all.iter().any(|one| places(&slots, one).contains(&slot));
            assert!((0..slots.len()).all(has), "{all:?}");
            assert!(all.iter().all(|one| places(&slots, one).len() == one.len()), "{all:?}");
        }
    }

    #[test]
    fn the_last_sequence_ends_where_it_is_whole() {
        let profile = Profile { slots: vec![1, 2, 3], always: vec![true, false, true] };
        for (rest, length) in
            [(&[1, 2, 3, 9][..], Some(3)), (&[1, 3], Some(2)), (&[1, 2, 9], None), (&[1], None)]
        {
            assert_eq!(profile.whole_beginning(rest), length, "{rest:?}");
        }
    }
}
