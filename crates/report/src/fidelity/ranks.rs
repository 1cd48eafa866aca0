//! Ranks of both sides: pairs of those whose numbers differ, and files that ranks of an imported original share.
//!
//! Ranks of an imported run are threads, numbered as they come: two recordings of one application
//! number them otherwise, and a recorded replay begins with the process that started its ranks. So
//! the ranks that have most operations in common are paired, by number where that is equal. Several ranks
//! append to one file in an order that is not the same twice; or one uses what another one has opened.

use super::names::Renaming;
use super::stream::{Step, Steps, hash};
use crate::StoreError;
use model::Op;
use model::event::NO_ID;
use model::op::ParamKind;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// With more ranks on a side numbers decide.
const RANKS_MAX: usize = 256;

/// New numbers of the replay's ranks.
pub(crate) type Numbers = HashMap<u32, u32>;

/// How often a rank executes which operation on which name, if both sides have that.
type Bag = HashMap<u64, u64>;

/// Matches the ranks of two executions; `None`: ranks are paired by number.
pub(crate) fn matched(
    original: Steps,
    replay: Steps,
    names: &Renaming,
) -> Result<Option<Numbers>, StoreError> {
    let (ours, theirs) = (bags(original, names)?, bags(replay, names)?);
    if ours == theirs || ours.len().max(theirs.len()) > RANKS_MAX {
        return Ok(None);
    }
    Ok(Some(paired(&ours, &theirs)))
}

fn bags(steps: Steps, names: &Renaming) -> Result<BTreeMap<u32, Bag>, StoreError> {
    let mut bags: BTreeMap<u32, Bag> = BTreeMap::new();
    for step in steps {
        let step = step?;
        let key = hash(&(step.op, names.shared_name(step.name)));
        *bags.entry(step.rank).or_default().entry(key).or_default() += 1;
    }
    Ok(bags)
}

/// Greedily: the pair that has most in common first, of equal ones that with equal numbers.
fn paired(ours: &BTreeMap<u32, Bag>, theirs: &BTreeMap<u32, Bag>) -> Numbers {
    let all =
        ours.iter().flat_map(|(a, our)| theirs.iter().map(move |(b, their)| (a, our, b, their)));
    let mut pairs: Vec<(u64, bool, u32, u32)> =
        all.map(|(a, our, b, their)| (in_common(our, their), a == b, *a, *b)).collect();
    pairs.sort_by_key(|(common, equal, a, b)| (u64::MAX - common, !equal, *a, *b));
    let (mut taken, mut numbers) = (Numbers::new(), Numbers::new());
    for (_, _, a, b) in pairs.iter().filter(|(common, ..)| *common > 0) {
        if !taken.contains_key(a) && !numbers.contains_key(b) {
            taken.insert(*a, *b);
            numbers.insert(*b, *a);
        }
    }
    // The others are extra: behind all ranks of the original.
    let behind = ours.keys().chain(theirs.keys()).max().map_or(0, |last| last + 1);
    let rest: Vec<u32> = theirs.keys().filter(|b| !numbers.contains_key(b)).copied().collect();
    numbers.extend((behind..).zip(rest).map(|(number, b)| (b, number)));
    numbers
}

fn in_common(a: &Bag, b: &Bag) -> u64 {
    a.iter().map(|(key, count)| (*count).min(b.get(key).copied().unwrap_or(0))).sum()
}

/// The operations in the order of the new numbers. Memory: all of them.
pub(crate) fn renumbered(steps: Steps, numbers: &Numbers) -> Result<Steps, StoreError> {
    let mut all = steps.collect::<Result<Vec<Step>, StoreError>>()?;
    for step in &mut all {
        step.rank = numbers.get(&step.rank).copied().unwrap_or(step.rank);
    }
    // Stable: each rank keeps its order.
    all.sort_by_key(|step| step.rank);
    Ok(Box::new(all.into_iter().map(Ok)))
}

/// `O_APPEND` of open(2).
const O_APPEND: u32 = 0o2000;

/// Names of the original, by numbers of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    /// Files that several ranks append to, and nobody writes otherwise.
    appended: HashSet<u32>,
    /// Ranks and files that they use but have not opened.
    borrowed: HashSet<(u32, u32)>,
}

impl Shared {
    /// Those of an original.
    pub fn of(steps: Steps) -> Result<Shared, StoreError> {
        let mut appending: HashSet<u32> = HashSet::new();
        let (mut opened, mut used) = (HashSet::new(), HashSet::new());
        // Name: the only rank that writes it, and the instances.
        let mut writers: HashMap<u32, (Option<u32>, HashSet<u32>)> = HashMap::new();
        for step in steps {
            let step = step?;
            let Some(op) = Op::from_u8(step.op).filter(|_| step.errno == 0) else { continue };
            if op == Op::Fopen {
                opened.insert((step.rank, step.name));
                if step.open_flags != NO_ID && step.open_flags & O_APPEND != 0 {
                    appending.insert(step.instance);
                }
            }
            if op.row().params.iter().any(|param| param.kind == ParamKind::Handle) {
                used.insert((step.rank, step.name));
            }
            if writes(&step) && step.done > 0 {
                let known =
                    writers.entry(step.name).or_insert_with(|| (Some(step.rank), HashSet::new()));
                known.0 = known.0.filter(|rank| *rank == step.rank);
                known.1.insert(step.instance);
            }
        }
        appending.remove(&NO_ID);
        let several = writers
            .into_iter()
            .filter(|(_, (rank, instances))| rank.is_none() && instances.is_subset(&appending));
        let appended = several.map(|(name, _)| name).collect();
        Ok(Shared { appended, borrowed: used.difference(&opened).copied().collect() })
    }

    /// Operations as they are compared: nobody asks where appends lie that `left_out` counts.
    pub fn compared(&self, steps: Steps, left_out: &Rc<Cell<u64>>) -> Steps {
        let (appended, left_out) = (self.appended.clone(), Rc::clone(left_out));
        Box::new(steps.map(move |step| {
            let mut step = step?;
            if writes(&step) && !step.unplaced && appended.contains(&step.name) {
                step.unplaced = true;
                left_out.set(left_out.get() + 1);
            }
            Ok(step)
        }))
    }

    /// An open that gives a rank what another one has opened.
    pub fn borrows(&self, step: &Step) -> bool {
        step.op == Op::Fopen as u8
            && step.label == NO_ID
            && self.borrowed.contains(&(step.rank, step.name))
    }
}

fn writes(step: &Step) -> bool {
    [Op::Fwrite, Op::Writev].into_iter().any(|op| step.op == op as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(ranks: &[(u32, &[(u8, u32)])]) -> Steps {
        let all: Vec<Step> = ranks
            .iter()
            .flat_map(|(rank, operations)| operations.iter().map(|of| (*rank, *of)))
            .map(|(rank, (op, name))| Step { rank, op, name, ..Step::default() })
            .collect();
        Box::new(all.into_iter().map(Ok))
    }

    #[test]
    fn ranks_that_do_the_same_stand_for_each_other() {
        let names = Renaming::having(&[7, 8], &[7, 8]);
        let (reads, writes): (&[_], &[_]) = (&[(1, 7), (1, 7), (2, 7)], &[(3, 8), (3, 8)]);
        let (starts, little): (&[_], &[_]) = (&[(5, 9)], &[(1, 7)]);
        for (original, replay, expected) in [
            (&[(0, reads), (1, writes)][..], &[(0, reads), (1, writes)][..], None),
            (
                &[(0, reads), (1, writes)],
                &[(0, writes), (1, reads)],
                Some([(0, 1), (1, 0)].to_vec()),
            ),
            (
                &[(0, reads), (1, writes)],
                &[(0, starts), (1, reads), (2, writes)],
                Some([(0, 3), (1, 0), (2, 1)].to_vec()),
            ),
            (
                &[(0, reads), (1, reads), (2, little)],
                &[(0, reads), (1, reads), (2, writes)],
                Some([(0, 0), (1, 1), (2, 3)].to_vec()),
            ),
        ] {
            let found = matched(steps(original), steps(replay), &names).unwrap();
            assert_eq!(found, expected.map(|pairs| pairs.into_iter().collect()));
        }
        let numbers = Numbers::from([(0, 1), (1, 0)]);
        let order = renumbered(steps(&[(0, reads), (1, writes)]), &numbers).unwrap();
        let ops: Vec<(u32, u8)> =
            order.map(|step| step.unwrap()).map(|step| (step.rank, step.op)).collect();
        assert_eq!(ops, [(0, 3), (0, 3), (1, 1), (1, 1), (1, 2)]);
    }
}
