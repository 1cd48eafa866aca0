//! Long pauses between bursts of like operations: eight writes, a pause, eight writes. As statements of
//! their own they make a nest of what would be one flat loop with a mean pause in each iteration.
//!
//! ```text
//! w w w pause w w w pause w w w    -> repeat $i 3 { if ($i > 0) compute(50ms); repeat 3 w }
//! ```
//!
//! Who folds decides whether that is worth its text.

use super::loops::{Gap, Kind, Node};
use super::think::DROPPED;
use std::collections::{BTreeMap, HashMap};

/// Number of the shape of a long pause.
pub const PAUSE: u32 = 1;
/// Number of the shape of one before all iterations of a loop but the first.
pub const BETWEEN: u32 = 2;

/// Shorter pauses do not make bursts. As long ones are those of who waits, where not all can have
/// computed; shorter ones would take longer by waking up.
pub const LONG_NS: u64 = 1_000_000;
/// So many times the mean of the others is that of long ones, at least.
const APART: u64 = 8;
/// Half octaves from the middle of the long ones down to the shortest.
const BELOW: u32 = 4;
/// A pause that takes this share of the whole time is worth lines of its own.
const LARGE: f64 = 0.1;
/// And this time, nanoseconds: shorter ones are those of a busy machine.
const LARGE_NS: u64 = 10 * LONG_NS;

/// Pauses that are as many times others are not like them.
const ALIKE: u64 = 2;

/// What a loop around a burst, a pause and its condition take, in bytes.
const NEST: usize = 160;
/// What a pause takes that cuts a loop in two.
const CUT: usize = 120;
/// So many bytes each of few pauses is worth.
const FEW: usize = 50;

/// A statement whose pauses are looked at together: operation, template of the name, label.
pub type Place = (u8, u32, u32);

/// Pauses before statements.
#[derive(Debug, Default)]
pub struct Pauses {
    places: HashMap<Place, Before>,
    /// Those that take a share of the whole time that is worth lines.
    large: usize,
}

/// Pauses before a statement: how many, and their sum.
#[derive(Debug, Default)]
struct Before {
    short: (u64, u64),
    /// Longer ones by half octave.
    long: BTreeMap<u32, (u64, u64)>,
}

/// Long pauses before a statement.
#[derive(Clone, Copy, Debug)]
struct Long {
    place: Place,
    /// The half octave of the shortest.
    from: u32,
    /// How many they are.
    pauses: u64,
    sum_ns: u64,
}

/// From which pause on statements begin bursts; those that take longest come first.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    all: Vec<Long>,
    /// How many pauses of all are large.
    large: usize,
}

impl Pauses {
    /// One more before a statement. `whole_ns`: the time of the log.
    pub fn add(&mut self, place: Place, ns: u64, whole_ns: u64) {
        let before = self.places.entry(place).or_default();
        let known = match ns < LONG_NS {
            true => &mut before.short,
            false => before.long.entry(half_octave(ns)).or_default(),
        };
        (known.0, known.1) = (known.0 + 1, known.1.saturating_add(ns));
        self.large += usize::from(ns >= LARGE_NS && ns as f64 >= LARGE * whole_ns as f64);
    }

    /// Where a few pauses take most of the time before a statement, and some of all pauses.
    pub fn bursts(&self) -> Bursts {
        let all_ns = self.places.values().map(Before::sum_ns).fold(0, u64::saturating_add);
        let places = self.places.iter().filter_map(|(place, before)| before.long(*place));
        let mut all: Vec<Long> =
            places.filter(|long| long.sum_ns as f64 >= DROPPED * all_ns as f64).collect();
        all.sort_by_key(|long| (std::cmp::Reverse(long.sum_ns), long.place));
        Bursts { all, large: self.large }
    }
}

impl Before {
    fn sum_ns(&self) -> u64 {
        self.long.values().fold(self.short.1, |sum, (_, ns)| sum.saturating_add(*ns))
    }

    /// The long ones, if they are few and far longer than the others.
    fn long(&self, place: Place) -> Option<Long> {
        let half = self.sum_ns() / 2;
        let mut taken = 0u64;
        let middle = self.long.iter().rev().find(|(_, (_, ns))| {
            taken = taken.saturating_add(*ns);
            taken >= half
        });
        let from = middle?.0.saturating_sub(BELOW);
        let add = |(count, sum): (u64, u64), (more, ns): &(u64, u64)| {
            (count + more, sum.saturating_add(*ns))
        };
        let (pauses, sum_ns) = self.long.range(from..).map(|(_, it)| it).fold((0, 0), add);
        let below = self.long.range(..from).map(|(_, it)| it);
        let (others, others_ns) = below.fold(self.short, add);
        let mean_ns = others_ns / others.max(1);
        let is_apart = others >= pauses && sum_ns / pauses.max(1) >= APART.saturating_mul(mean_ns);
        is_apart.then_some(Long { place, from, pauses, sum_ns })
    }
}

impl Bursts {
    /// No statement begins one.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A statement begins one after such a pause.
    pub fn begin(&self, place: Place, ns: u64) -> bool {
        let is_it = |long: &Long| long.place == place && half_octave(ns) >= long.from;
        ns >= LONG_NS && self.all.iter().any(is_it)
    }

    /// How many statements have them that are to be tried alone.
    pub fn several(&self) -> usize {
        if self.all.len() > 1 { self.all.len().min(TRIED_MAX) } else { 0 }
    }

    /// Those that are kept, and those of the statement with this number.
    pub fn and(&self, kept: &Bursts, number: usize) -> Bursts {
        let all = kept.all.iter().copied().chain([self.all[number]]);
        Bursts { all: all.collect(), large: self.large }
    }

    /// How much longer, in bytes, a program may be that keeps them. `places`: how many had a mean of
    /// long pauses and others, `ranks`: that mostly do the same.
    pub fn worth(&self, places: usize, ranks: usize) -> usize {
        let pauses = self.all.iter().map(|long| long.pauses).sum::<u64>();
        let few = usize::try_from(pauses).unwrap_or(usize::MAX).saturating_mul(FEW);
        few.min(places * NEST).max(self.large.div_ceil(ranks.max(1)) * CUT)
    }
}

/// Half octaves of a time.
fn half_octave(ns: u64) -> u32 {
    let octave = ns.max(1).ilog2();
    let half = (ns >> octave.saturating_sub(1) & 1) as u32;
    2 * octave + half
}

/// A loop that ends with a long pause and the burst behind it that has none become one loop.
pub fn joined(nodes: Vec<Node>) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::with_capacity(nodes.len());
    for mut node in nodes {
        if let Kind::Loop(body) | Kind::Block(body) = &mut node.kind {
            *body = joined(std::mem::take(body));
            node.each_mut(&mut |_| {});
        }
        all.last_mut().into_iter().for_each(|last| pause_behind(last, &mut node.gap));
        all.push(node);
        join_last(&mut all);
    }
    all
}

/// A pause behind the last burst that is like those between them is one of them.
fn pause_behind(node: &mut Node, gap: &mut Gap) {
    let Kind::Loop(body) = &mut node.kind else { return };
    let Some(first) = body.first_mut().filter(|first| first.shape == BETWEEN) else { return };
    let mean_ns = |gap: &Gap| gap.sum_ns / gap.count.max(1);
    let (own_ns, next_ns) = (mean_ns(&first.gap), mean_ns(gap));
    if next_ns < LONG_NS || own_ns.max(next_ns) / own_ns.min(next_ns).max(1) >= ALIKE {
        return;
    }
    first.gap.add(gap);
    *gap = Gap { count: gap.count, meets_end: gap.meets_end, ..Gap::default() };
    let last = Node::made(PAUSE, Vec::new(), body.remove(0).gap, Kind::Leaf);
    body.push(last);
    node.each_mut(&mut |_| {});
}

/// Puts the elements on top into the loop below them, if they are its next burst.
fn join_last(all: &mut Vec<Node>) {
    let len = all.len();
    let fits = |at: &usize| match &all[*at].kind {
        Kind::Loop(body) => body.len() == len - at && is_next(&all[*at], body, &all[at + 1..]),
        _ => false,
    };
    // A body is a burst and a pause, so the loop is as far down as it has elements.
    let widths = (2..=len.min(BURST_MAX)).map(|width| len - width);
    let Some(at) = widths.into_iter().find(fits) else { return };
    let burst = all.split_off(at + 1);
    let node = &mut all[at];
    node.numbers[0].base += 1;
    let Kind::Loop(body) = &mut node.kind else { return };
    body.iter_mut().zip(&burst).for_each(|(node, other)| node.add_gaps(other));
    if let Some(last) = body.pop() {
        body.insert(0, Node::made(BETWEEN, Vec::new(), last.gap, Kind::Leaf));
    }
    node.each_mut(&mut |_| {});
}

/// Most statements whose long pauses are tried alone.
const TRIED_MAX: usize = 3;
/// Most elements of a burst and its pause.
const BURST_MAX: usize = 64;

/// These elements are what the loop does in one more iteration, but for the pause at its end.
fn is_next(node: &Node, body: &[Node], next: &[Node]) -> bool {
    let ends = body.last().is_some_and(|last| last.kind == Kind::Leaf && last.shape == PAUSE);
    let [count] = &node.numbers[..] else { return false };
    let is_steady = count.list.is_none() && count.steps.iter().all(|step| *step == 0);
    ends && is_steady && body.iter().zip(next).all(|(a, b)| follows(a, b, count.base, 0))
}

/// An element has the numbers of this one after so many iterations of the loop at this depth.
fn follows(node: &Node, next: &Node, count: i64, depth: usize) -> bool {
    let alike = node.shape == next.shape
        && node.numbers.len() == next.numbers.len()
        && std::mem::discriminant(&node.kind) == std::mem::discriminant(&next.kind)
        && node.body().len() == next.body().len();
    let inner = depth + usize::from(matches!(node.kind, Kind::Loop(_)));
    let numbers = || {
        node.numbers.iter().zip(&next.numbers).all(|(a, b)| {
            let Some(step) = a.steps.get(depth) else { return false };
            let value = step.checked_mul(count).and_then(|grown| a.base.checked_add(grown));
            let others = a.steps.iter().enumerate().filter(|(at, _)| *at != depth);
            let plain = a.list.is_none() && b.list.is_none() && a.wild.is_empty();
            plain && value == Some(b.base) && others.map(|(_, step)| step).eq(&b.steps)
        })
    };
    let bodies = || node.body().iter().zip(next.body()).all(|(a, b)| follows(a, b, count, inner));
    alike && numbers() && bodies()
}

#[cfg(test)]
mod tests {
    use super::super::alike::Plain;
    use super::super::loops::Folder;
    use super::*;

    const MS: u64 = 1_000_000;

    const PLACE: Place = (7, 0, 0);

    /// From which pause on statements begin bursts, if they do.
    fn found(pauses: &[u64]) -> Option<u32> {
        let mut all = Pauses::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, 1000 * MS));
        all.bursts().all.first().map(|long| long.from)
    }

    #[test]
    fn few_long_pauses_make_bursts() {
        let every = |width: usize, long: u64, short: u64| -> Vec<u64> {
            (0..96).map(|at| if at % width == 0 { long } else { short }).collect()
        };
        for (pauses, expected) in [
            (every(8, 50 * MS, 2_000), true),
            (every(2, 50 * MS, 2_000), true),
            (every(8, 50 * MS, 3 * MS), true),
            // All are alike, or most are long.
            (every(1, 50 * MS, 0), false),
            (every(8, 9 * MS, 3 * MS), false),
            (every(8, 2_000, 50 * MS), false),
            // Too short to be seen.
            (every(8, 900_000, 200), false),
            (vec![], false),
        ] {
            assert_eq!(found(&pauses).is_some(), expected, "{pauses:?}");
        }
        // One that is far longer does not hide the others.
        let mut pauses = every(8, 50 * MS, 2_000);
        pauses[8] = 300 * MS;
        let from = found(&pauses).expect("bursts");
        assert!(half_octave(50 * MS) >= from && half_octave(MS) < from);
        // Pauses that are 2 % of all in sum.
        let mut all = Pauses::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, MS));
        all.add((8, 0, 0), 100_000 * MS, MS);
        assert!(all.bursts().is_empty());
    }

    #[test]
    fn programs_may_be_longer_for_many_or_large_pauses_alone() {
        let long = |pauses| Long { place: PLACE, from: 40, pauses, sum_ns: 0 };
        let bursts = |pauses, large| Bursts { all: vec![long(pauses)], large };
        for (pauses, large, places, ranks, expected) in [
            (1, 0, 1, 1, FEW),
            (100, 0, 1, 1, NEST),
            (100, 0, 3, 1, 3 * NEST),
            (1, 1, 1, 1, CUT),
            (8, 8, 1, 4, 2 * CUT),
        ] {
            assert_eq!(bursts(pauses, large).worth(places, ranks), expected);
        }
    }

    /// `a0 p a1`: shapes and numbers, `p` being a long pause; `>` is one between iterations.
    fn folded(text: &str) -> String {
        let mut folder = Folder::default();
        for word in text.split_whitespace() {
            let (shape, number) = word.split_at(1);
            let bases: Vec<i64> = number.parse().into_iter().collect();
            let shape = if shape == "p" { PAUSE } else { shape.as_bytes()[0].into() };
            folder.push(Node::leaf(shape, &bases, 1));
        }
        show(&joined(folder.finish(&mut Plain::default().alike())))
    }

    fn show(nodes: &[Node]) -> String {
        let show = |node: &Node| {
            let numbers = node.numbers.iter().map(|number| {
                let steps: String = number.steps.iter().map(|step| format!("+{step}")).collect();
                format!("{}{steps}", number.base)
            });
            let numbers: String = numbers.collect();
            match node.shape {
                PAUSE => "p".into(),
                BETWEEN => format!(">{}", node.gap.count),
                _ if node.kind == Kind::Leaf => format!("{}{numbers}", node.shape as u8 as char),
                _ => format!("{numbers}{{{}}}", show(node.body())),
            }
        };
        nodes.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_pause_behind_the_last_burst_is_one_more() {
        let burst = |at: i64| (0..3).map(move |k| (8, at * 3 + k, 0)).collect::<Vec<_>>();
        for (behind_ns, expected) in
            [(40 * MS, "4{3+0{\u{8}0+1+3} p} \u{9}0"), (9 * MS, "4{>3 3+0{\u{8}0+1+3}} \u{9}0")]
        {
            let pause = |ns: u64| vec![(PAUSE, 0, ns)];
            let bursts = (0..3).map(|at| [burst(at), pause(50 * MS)].concat());
            let all = [bursts.collect::<Vec<_>>().concat(), burst(3)].concat();
            let mut folder = Folder::default();
            for (shape, base, gap_ns) in [all, vec![(9, 0, behind_ns)]].concat() {
                let bases = if shape == PAUSE { vec![] } else { vec![base] };
                folder.push(Node::leaf(shape, &bases, gap_ns));
            }
            let nodes = joined(folder.finish(&mut Plain::default().alike()));
            assert_eq!(show(&nodes), expected);
        }
    }

    #[test]
    fn a_burst_behind_the_last_pause_is_one_more() {
        let bursts = "a0 a1 a2 p a3 a4 a5 p a6 a7 a8 p a9 a10 a11";
        for (text, expected) in [
            (bursts.to_string(), "4{>3 3+0{a0+1+3}}"),
            (format!("o {bursts} c"), "o 4{>3 3+0{a0+1+3}} c"),
            (format!("{bursts} p"), "4{3+0{a0+1+3} p}"),
            ([format!("o {bursts} c").as_str(); 3].join(" "), "3{o 4+0{>9 3+0+0{a0+1+3+0}} c}"),
            // Not the next one.
            ("a0 a1 a2 p a3 a4 a5 p a6 a7 a8 p a9".into(), "3{3+0{a0+1+3} p} a9"),
            ("a0 b p a1 b p a2 b p a7 b".into(), "3{a0+1 b p} a7 b"),
        ] {
            assert_eq!(folded(&text), expected, "{text}");
        }
    }
}
