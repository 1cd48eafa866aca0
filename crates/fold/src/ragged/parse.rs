//! A sequence of classes -> loops of sequences, whatever the number of iterations is each time.
//!
//! Sequences are joined that repeat at once (`r w r w r w`), and those that begin with the same
//! statement; each time what saves most, with what it makes possible, until nothing repeats.

use super::profile::{ENTRY, OPTION, Profile, STATEMENT};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Longest body that repeats at once.
const BODY_MAX: usize = 24;
/// Longest sequence between two like statements.
const SEGMENT_MAX: usize = 64;
/// Statements that are tried as beginnings.
const BEGINNINGS: usize = 10;
/// Bodies that repeat at once that are tried.
const WIDTHS: usize = 3;
/// Most rounds.
const ROUNDS: usize = 64;

/// A statement, or iterations of a loop.
#[derive(Clone, Debug)]
pub struct Element {
    /// What it is.
    pub class: u64,
    /// Its content.
    pub what: What,
}

/// The content of an element.
#[derive(Clone, Debug)]
pub enum What {
    /// The statement with this number.
    One(usize),
    /// Of every iteration the elements of the body, or that they are left out.
    Many(Vec<Vec<Option<Element>>>),
}

/// A sequence with its loops.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The elements.
    pub elements: Vec<Element>,
    /// Classes of the bodies of loops, by class.
    pub bodies: HashMap<u64, Vec<u64>>,
}

/// Finds loops among statements of these classes.
pub fn parse(classes: &[u64]) -> Parsed {
    let one = |(at, class): (usize, &u64)| Element { class: *class, what: What::One(at) };
    let elements = classes.iter().enumerate().map(one).collect();
    let mut parsed = Parsed { elements, bodies: HashMap::new() };
    for _ in 0..ROUNDS {
        if !parsed.step() {
            break;
        }
    }
    parsed
}

/// How a body repeats.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    /// Places where it does.
    runs: usize,
    /// Iterations there.
    times: usize,
    /// Most of them.
    most: usize,
    /// Places where the body stands, alone or among others.
    places: usize,
}

impl Parsed {
    fn classes(&self) -> Vec<u64> {
        self.elements.iter().map(|element| element.class).collect()
    }

    fn class_of(&mut self, body: &[u64]) -> u64 {
        let mut hasher = DefaultHasher::new();
        ("loop", body).hash(&mut hasher);
        let class = hasher.finish();
        self.bodies.insert(class, body.to_vec());
        class
    }

    /// Joins what saves most.
    fn step(&mut self) -> bool {
        let classes = self.classes();
        let begun = best_begun(&classes);
        let mut best = begun.as_ref().map_or(0, |found| found.gain);
        let mut body = None;
        let repeated = (1..=BODY_MAX).filter_map(|width| best_of(&classes, width));
        for (other, gain) in repeated.take(WIDTHS) {
            let next = best_begun(&joined(&classes, other)).map_or(0, |found| found.gain);
            if gain + next > best {
                (best, body) = (gain + next, Some(other));
            }
        }
        match (body, begun) {
            (Some(body), _) => self.repeat(&classes, body),
            (None, Some(found)) => self.begin(&classes, &found),
            (None, None) => return false,
        }
        true
    }

    /// Joins a body that repeats at once, everywhere.
    fn repeat(&mut self, classes: &[u64], body: &[u64]) {
        let class = self.class_of(body);
        let mut left = std::mem::take(&mut self.elements).into_iter();
        let mut at = 0;
        while at < classes.len() {
            let times = times(&classes[at..], body);
            let iteration = |_| left.by_ref().take(body.len()).map(Some).collect();
            let iterations: Vec<Vec<Option<Element>>> = (0..times).map(iteration).collect();
            at += (times * body.len()).max(1);
            match times {
                0 => self.elements.extend(left.next()),
                _ => self.elements.push(Element { class, what: What::Many(iterations) }),
            }
        }
    }

    /// Joins sequences that begin with the same statement.
    fn begin(&mut self, classes: &[u64], found: &Begun) {
        let class = self.class_of(&found.profile.slots);
        let mut left = std::mem::take(&mut self.elements).into_iter();
        self.elements.extend(left.by_ref().take(found.bounds[0]));
        let iterations = found.bounds.windows(2).map(|bounds| {
            let mut iteration = vec![None; found.profile.slots.len()];
            let places = found.profile.places(&classes[bounds[0]..bounds[1]]);
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

/// The classes with a body joined everywhere, as `repeat` does it; all loops are 0.
fn joined(classes: &[u64], body: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(classes.len());
    let mut at = 0;
    while at < classes.len() {
        let times = times(&classes[at..], body);
        all.push(if times == 0 { classes[at] } else { 0 });
        at += (times * body.len()).max(1);
    }
    all
}

/// How often a body stands at the beginning.
fn times(classes: &[u64], body: &[u64]) -> usize {
    classes.chunks_exact(body.len()).take_while(|chunk| *chunk == body).count()
}

/// The body of this width that repeats most, if it does not always repeat equally often; and what a
/// loop saves, in bytes, roughly.
fn best_of(classes: &[u64], width: usize) -> Option<(&[u64], usize)> {
    let len = classes.len();
    if len < 2 * width {
        return None;
    }
    let mut same = vec![0; len];
    for at in (0..len - width).rev() {
        same[at] = if classes[at] == classes[at + width] { same[at + 1] + 1 } else { 0 };
    }
    let mut all: HashMap<&[u64], Runs> = HashMap::new();
    let mut at = 0;
    while at + 2 * width <= len {
        let times = same[at] / width + 1;
        if times < 2 {
            at += 1;
            continue;
        }
        let runs = all.entry(&classes[at..at + width]).or_default();
        (runs.runs, runs.times) = (runs.runs + 1, runs.times + times);
        runs.most = runs.most.max(times);
        at += times * width;
    }
    for window in classes.windows(width) {
        if let Some(runs) = all.get_mut(window) {
            runs.places += 1;
        }
    }
    let varies = |runs: &Runs| runs.most > 2 || (runs.runs > 1 && runs.places > runs.times);
    let worth = all.into_iter().filter(|(_, runs)| varies(runs));
    // Of each run one element is left.
    let gain = |runs: &Runs| {
        let gone = (runs.times * width - runs.runs) * STATEMENT;
        gone.saturating_sub(width * STATEMENT + OPTION + ENTRY * runs.runs)
    };
    let best = worth.map(|(body, runs)| (gain(&runs), body)).max();
    best.filter(|(gain, _)| *gain > 0).map(|(gain, body)| (body, gain))
}

/// Sequences that begin with the same statement.
#[derive(Debug)]
struct Begun {
    /// Where each begins, and where the last one ends.
    bounds: Vec<usize>,
    profile: Profile,
    gain: usize,
}

fn best_begun(classes: &[u64]) -> Option<Begun> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    classes.iter().enumerate().for_each(|(at, class)| places.entry(*class).or_default().push(at));
    let mut often: Vec<Vec<usize>> = places.into_values().filter(|all| all.len() > 2).collect();
    often.sort_by_key(|all| (std::cmp::Reverse(all.len()), all[0]));
    often.truncate(BEGINNINGS);
    let best = often.iter().filter_map(|places| begun(classes, places));
    best.max_by_key(|found| (found.gain, std::cmp::Reverse(found.bounds[0])))
}

/// A loop over the longest series of short sequences that begin at these places.
fn begun(classes: &[u64], places: &[usize]) -> Option<Begun> {
    let lengths: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let limit = (3 * sorted[sorted.len() / 2] + 4).min(SEGMENT_MAX);
    let mut from = 0;
    let mut series = (0, 0);
    for (at, length) in lengths.iter().chain([&usize::MAX]).enumerate() {
        if *length > limit {
            if at - from > series.1 - series.0 {
                series = (from, at);
            }
            from = at + 1;
        }
    }
    let cut = |bounds: &[usize]| -> Vec<&[u64]> {
        bounds.windows(2).map(|pair| &classes[pair[0]..pair[1]]).collect()
    };
    let (before, behind) = unlike(&cut(&places[series.0..=series.1]), sorted[sorted.len() / 2]);
    let (first, last) = (series.0 + before, series.1 - behind);
    let mut bounds = places[first..=last].to_vec();
    if bounds.len() < 3 {
        return None;
    }
    let profile = Profile::of(&cut(&bounds))?;
    let end = places.get(last + 1).copied().unwrap_or(classes.len());
    let start = bounds[bounds.len() - 1];
    bounds.extend(profile.beginning(&classes[start..end]).map(|length| start + length));
    let gain = profile.gain(&cut(&bounds)).filter(|gain| *gain > 0)?;
    (bounds.len() > 3).then_some(Begun { bounds, profile, gain })
}

/// Sequences at the beginning and at the end that are much shorter than most, or have what no other has.
fn unlike(segments: &[&[u64]], median: usize) -> (usize, usize) {
    let mut having: HashMap<u64, (usize, usize)> = HashMap::new();
    for (at, segment) in (1..).zip(segments) {
        for class in *segment {
            let (last, times) = having.entry(*class).or_default();
            *times += usize::from(*last != at);
            *last = at;
        }
    }
    let is_unlike = |segment: &&&[u64]| {
        segment.len() * 2 < median || segment.iter().any(|class| having[class].1 == 1)
    };
    let before = segments.iter().take_while(is_unlike).count();
    let behind = segments[before..].iter().rev().take_while(is_unlike).count();
    (before, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(elements: &[Element]) -> String {
        let show = |element: &Element| match &element.what {
            What::One(_) => (element.class as u8 as char).to_string(),
            What::Many(iterations) => {
                let each = iterations.iter().map(|iteration| {
                    let slot = |slot: &Option<Element>| {
                        slot.as_ref().map_or("-".into(), |e| shown(std::slice::from_ref(e)))
                    };
                    iteration.iter().map(slot).collect::<String>()
                });
                format!("({})", each.collect::<Vec<_>>().join(" "))
            }
        };
        elements.iter().map(show).collect()
    }

    #[test]
    fn what_saves_most_is_joined_first() {
        for (text, expected) in [
            // Requests of a file are a loop, files are, too.
            (
                "orcorwrcorwrwrwrcorwrwrcorcorwrwrwrwrc",
                "(o-rc o(rw)rc o(rw rw rw)rc o(rw rw)rc o-rc o(rw rw rw rw)rc)",
            ),
            ("abcdxabcdabcdabcdxabcd", "(abcdx abcd- abcd- abcdx abcd-)"),
            ("abc", "abc"),
            // What stands before is no iteration.
            ("adddoabcabcabxcabcabxcabc", "a(d d d)o(ab-c ab-c abxc ab-c abxc ab-c)"),
        ] {
            let classes: Vec<u64> = text.bytes().map(u64::from).collect();
            assert_eq!(shown(&parse(&classes).elements), expected, "{text}");
        }
    }
}
