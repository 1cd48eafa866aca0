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

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

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

/// The content of an element.
#[derive(Clone, Debug)]
pub enum What {
    /// The statement with this number.
    One(usize),
    /// For every iteration the elements of the body; `None` where an iteration leaves one out.
    Many(Vec<Vec<Option<Element>>>),
}

/// A sequence with its loops.
#[derive(Debug, Default)]
pub struct Repeats {
    /// The elements.
    pub elements: Vec<Element>,
    /// Classes of the bodies of loops, by class of the loop.
    pub bodies: HashMap<u64, Vec<u64>>,
}

/// Finds loops among statements of these classes.
pub fn find_repeats(classes: &[u64]) -> Repeats {
    let one = |(at, class): (usize, &u64)| Element { class: *class, what: What::One(at) };
    let elements = classes.iter().enumerate().map(one).collect();
    let mut repeats = Repeats { elements, bodies: HashMap::new() };
    for _ in 0..ROUNDS {
        if !repeats.join_best() {
            break;
        }
    }
    repeats
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
    fn class_of(&mut self, body: &[u64]) -> u64 {
        let mut hasher = DefaultHasher::new();
        ("loop", body).hash(&mut hasher);
        let class = hasher.finish();
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
        let class = self.class_of(body);
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
        let class = self.class_of(&series.profile.slots);
        let mut left = std::mem::take(&mut self.elements).into_iter();
        self.elements.extend(left.by_ref().take(series.bounds[0]));
        let iterations = series.bounds.windows(2).map(|bounds| {
            let mut iteration = vec![None; series.profile.slots.len()];
            let places = places(&series.profile.slots, &classes[bounds[0]..bounds[1]]);
            for (place, element) in
                places.into_iter().zip(left.by_ref().take(bounds[1] - bounds[0]))
            {
                iteration[place] = Some(element);
            }
            iteration
        });
        let what = What::Many(iterations.collect());
        self.elements.push(Element { class, what });
        self.elements.extend(left);
    }
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
    /// Where each begins, and where the last one ends.
    bounds: Vec<usize>,
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
    let all = often.iter().filter_map(|places| series_from(classes, places));
    all.max_by_key(|found| (found.gain, Reverse(found.bounds[0])))
}

/// The longest series of short sequences that begin at these places.
fn series_from(classes: &[u64], places: &[usize]) -> Option<Series> {
    let lengths: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2];
    let limit = (3 * median + 4).min(SEGMENT_MAX);
    let mut from = 0;
    let mut longest = (0, 0);
    for (at, length) in lengths.iter().chain([&usize::MAX]).enumerate() {
        if *length > limit {
            if at - from > longest.1 - longest.0 {
                longest = (from, at);
            }
            from = at + 1;
        }
    }
    let cut = |bounds: &[usize]| -> Vec<&[u64]> {
        bounds.windows(2).map(|pair| &classes[pair[0]..pair[1]]).collect()
    };
    let mut bounds = places[longest.0..=longest.1].to_vec();
    if bounds.len() < 3 {
        return None;
    }
    let profile = Profile::new(&cut(&bounds))?;
    let end = places.get(longest.1 + 1).copied().unwrap_or(classes.len());
    let start = bounds[bounds.len() - 1];
    bounds.extend(profile.whole_beginning(&classes[start..end]).map(|length| start + length));
    let gain = profile.gain(&cut(&bounds)).filter(|gain| *gain > 0)?;
    (bounds.len() > 3).then_some(Series { bounds, profile, gain })
}

/// The body of sequences of which each leaves out some elements.
#[derive(Clone, Debug, PartialEq)]
struct Profile {
    /// Classes of the elements.
    slots: Vec<u64>,
    /// Every sequence has the element.
    always: Vec<bool>,
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
        let mut slots = kinds[0].0.to_vec();
        for (kind, _) in &kinds[1..] {
            slots = shortest_common_supersequence(&slots, kind);
            if slots.len() > SLOTS_MAX {
                return None;
            }
        }
        let used = |slots: &[u64], slot: usize| {
            kinds.iter().any(|(kind, _)| places(slots, kind).contains(&slot))
        };
        while let Some(unused) = (0..slots.len()).find(|slot| !used(&slots, *slot)) {
            slots.remove(unused);
        }
        let has = |slot: &usize| kinds.iter().all(|(kind, _)| places(&slots, kind).contains(slot));
        let always = (0..slots.len()).map(|slot| has(&slot)).collect();
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
            let classes: Vec<u64> = text.bytes().map(u64::from).collect();
            assert_eq!(show(&find_repeats(&classes).elements), expected, "{text}");
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
