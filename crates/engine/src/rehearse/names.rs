//! Names that iterations would have made which the rehearsal has skipped.
//!
//! ```text
//! f-3  f-4  skipped 95     ->   f-#   from 5 on, 95 times 1 more
//! ```
//!
//! Names are texts with numbers in them. What one iteration makes and the next one makes alike,
//! with other numbers, the skipped ones make too; loops in loops give lattices of several steps.

use std::collections::HashMap;

/// A name without its numbers, and these.
pub(super) fn split(name: &[u8]) -> (Box<[u8]>, Vec<i64>) {
    let (mut skeleton, mut numbers) = (Vec::with_capacity(name.len()), Vec::new());
    let mut rest = name;
    while let Some(first) = rest.first() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Longer ones are not numbers of iterations.
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|text| text.parse().ok());
        match number {
            Some(number) => {
                numbers.push(number);
                skeleton.push(b'#');
                rest = &rest[digits..];
            }
            None => {
                skeleton.push(*first);
                rest = &rest[1..];
            }
        }
    }
    (skeleton.into(), numbers)
}

/// Names that differ in their numbers only, at equal steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lattice {
    pub(super) skeleton: Box<[u8]>,
    base: Vec<i64>,
    /// What is added to the numbers, and how often there is one; that of the innermost loop first.
    steps: Vec<(Vec<i64>, u64)>,
    pub(super) what: What,
}

/// What became of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A file of this size.
    File(u64),
    Directory,
    Gone,
}

impl Lattice {
    /// One name.
    pub(super) fn single(name: &[u8], what: What) -> Lattice {
        let (skeleton, base) = split(name);
        Lattice { skeleton, base, steps: Vec::new(), what }
    }

    /// What `count` repetitions after this one give, which `before` was before.
    pub(super) fn continued(&self, before: &Lattice, count: u64) -> Option<Lattice> {
        let alike = self.skeleton == before.skeleton
            && self.steps == before.steps
            && (self.what == What::Gone) == (before.what == What::Gone);
        let step = || self.base.iter().zip(&before.base).map(|(now, then)| now.checked_sub(*then));
        let step: Vec<i64> = step().collect::<Option<_>>().filter(|_| alike)?;
        let moved = || self.base.iter().zip(&step).map(|(now, step)| now.checked_add(*step));
        let base = moved().collect::<Option<_>>()?;
        let mut steps = self.steps.clone();
        if step.iter().any(|step| *step != 0) {
            steps.push((step, count));
        }
        Some(Lattice { skeleton: self.skeleton.clone(), base, steps, what: self.what })
    }

    fn holds(&self, numbers: &[i64]) -> bool {
        let differences =
            numbers.iter().zip(&self.base).map(|(number, base)| number.wrapping_sub(*base));
        let mut rest: Vec<i64> = differences.collect();
        for (step, count) in self.steps.iter().rev() {
            let Some(at) = (0..step.len()).max_by_key(|at| step[*at].unsigned_abs()) else { break };
            let most = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
            let times = rest[at].wrapping_div(step[at]).clamp(0, most);
            let pairs = rest.iter_mut().zip(step);
            pairs.for_each(|(rest, step)| *rest = rest.wrapping_sub(times.wrapping_mul(*step)));
        }
        rest.iter().all(|rest| *rest == 0)
    }
}

/// Lattices in order; names that continue an earlier one become a part of it.
#[derive(Debug, Default)]
pub(super) struct Lattices {
    pub(super) all: Vec<Lattice>,
    /// By skeleton: the last one.
    last: HashMap<Box<[u8]>, usize>,
}

impl Lattices {
    pub(super) fn push(&mut self, lattice: Lattice) {
        let last = self.last.get(&lattice.skeleton).copied();
        if !last.is_some_and(|at| self.all[at].takes(&lattice)) {
            self.last.insert(lattice.skeleton.clone(), self.all.len());
            self.all.push(lattice);
        }
    }
}

impl Lattice {
    /// Becomes longer by a single name, if that is the next one; false: it is not.
    fn takes(&mut self, next: &Lattice) -> bool {
        if self.what != next.what || !next.steps.is_empty() {
            return false;
        }
        let off = next.base.iter().zip(&self.base).map(|(next, base)| next.wrapping_sub(*base));
        match &mut self.steps[..] {
            [] => {
                let step: Vec<i64> = off.collect();
                let other = step.iter().any(|step| *step != 0);
                self.steps.extend(other.then_some((step, 2)));
                other
            }
            [(step, count)] => {
                let expected = step.iter().map(|step| step.wrapping_mul(*count as i64));
                let is_next = expected.eq(off);
                *count += u64::from(is_next);
                is_next
            }
            _ => false,
        }
    }
}

/// Which of its numbers all names of a lattice share: found with one look among many ranks or
/// directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fixed {
    First(i64),
    Last(i64),
    Neither,
}

impl Lattice {
    fn fixed(&self) -> Fixed {
        let is_fixed = |at: usize| self.steps.iter().all(|(step, _)| step[at] == 0);
        match &self.base[..] {
            [first, ..] if is_fixed(0) => Fixed::First(*first),
            [.., last] if is_fixed(self.base.len() - 1) => Fixed::Last(*last),
            _ => Fixed::Neither,
        }
    }
}

/// Lattices and their ages, in order.
type Aged = Vec<(u64, Lattice)>;

/// All names of skipped iterations, and names that were removed.
#[derive(Debug, Default)]
pub(super) struct Names {
    lattices: HashMap<Box<[u8]>, HashMap<Fixed, Aged>>,
    gone: HashMap<Box<[u8]>, u64>,
    age: u64,
}

impl Names {
    /// Skipped iterations make or remove these.
    pub(super) fn add(&mut self, lattice: Lattice) {
        self.age += 1;
        let alike = self.lattices.entry(lattice.skeleton.clone()).or_default();
        let known = alike.entry(lattice.fixed()).or_default();
        // The same ones again take the place of the old ones.
        known.retain(|(_, old)| old.base != lattice.base || old.steps != lattice.steps);
        known.push((self.age, lattice));
    }

    /// A name was removed.
    pub(super) fn removed(&mut self, name: &[u8]) {
        self.age += 1;
        self.gone.insert(name.into(), self.age);
    }

    /// What became last of a name that is not there; `None`: nothing ever had it.
    pub(super) fn find(&self, name: &[u8]) -> Option<What> {
        let gone = self.gone.get(name).map(|age| (*age, What::Gone));
        let (skeleton, numbers) = match self.lattices.is_empty() {
            true => return gone.map(|gone| gone.1),
            false => split(name),
        };
        let alike = self.lattices.get(&skeleton);
        let first = numbers.first().map(|number| Fixed::First(*number));
        let last = numbers.last().map(|number| Fixed::Last(*number));
        let fixed = [first, last, Some(Fixed::Neither)].into_iter().flatten();
        let known = fixed.filter_map(|fixed| alike?.get(&fixed));
        let held = known.filter_map(|known| {
            let mut newest_first = known.iter().rev();
            newest_first.find(|(_, lattice)| lattice.holds(&numbers))
        });
        let held = held.max_by_key(|(age, _)| *age).map(|(age, lattice)| (*age, lattice.what));
        match (held, gone) {
            (Some(held), Some(gone)) => Some(if held.0 > gone.0 { held.1 } else { gone.1 }),
            (held, gone) => held.or(gone).map(|(_, what)| what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Lattice {
        Lattice::single(name.as_bytes(), What::File(8))
    }

    #[test]
    fn skipped_names_are_known_by_their_numbers() {
        let mut names = Names::default();
        names.add(file("d-1/f-4").continued(&file("d-1/f-3"), 95).expect("alike"));
        for (name, found) in [("f-4", false), ("f-5", true), ("f-99", true), ("f-100", false)] {
            let name = format!("d-1/{name}");
            assert_eq!(names.find(name.as_bytes()).is_some(), found, "{name}");
        }
        assert_eq!(names.find(b"d-2/f-5"), None);
        names.removed(b"d-1/f-7");
        assert_eq!(names.find(b"d-1/f-7"), Some(What::Gone));
    }

    #[test]
    fn names_in_a_row_are_one_lattice() {
        let mut lattices = Lattices::default();
        for j in 0..100 {
            lattices.push(file(&format!("d-7/f-{j}")));
            lattices.push(file(&format!("d-7/g-{}", 3 * j)));
        }
        assert_eq!(lattices.all.len(), 2);
        let holds = |at: usize, name: &str| lattices.all[at].holds(&split(name.as_bytes()).1);
        assert!(holds(0, "d-7/f-99") && holds(1, "d-7/g-297"));
        assert!(!holds(0, "d-7/f-100") && !holds(1, "d-7/g-1") && !holds(1, "d-7/g-300"));
    }

    #[test]
    fn loops_in_loops_and_computed_numbers() {
        let row = |i: i64| {
            let at = |j: i64| file(&format!("d-{i}/f-{}", i * 1000 + j));
            at(4).continued(&at(3), 95).expect("alike")
        };
        let all = row(3).continued(&row(2), 50).expect("alike");
        let holds = |name: &str| all.holds(&split(name.as_bytes()).1);
        assert!(holds("d-4/f-4005") && holds("d-53/f-53099") && holds("d-20/f-20050"));
        assert!(!holds("d-3/f-3005") && !holds("d-4/f-4100") && !holds("d-5/f-4005"));
        let gone = Lattice { what: What::Gone, ..all.clone() };
        let mut names = Names::default();
        names.add(all);
        assert_eq!(names.find(b"d-4/f-4005"), Some(What::File(8)));
        names.add(gone);
        assert_eq!(names.find(b"d-4/f-4005"), Some(What::Gone));
    }
}
