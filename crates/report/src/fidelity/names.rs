//! Renaming: pairs names and ranks of the replay and the original.
//!
//! ```text
//! original  out/a  out/b  log        replay  out/a  f-1  log
//!                 └ b is nowhere in the replay, f-1 nowhere in the original: f-1 is paired with out/b
//! ```
//!
//! A name that both sides have is paired with itself, so that an exchange of two names is found. All
//! others are paired one to one, in the order in which operations use them; an operation that
//! breaks such a pair has another name.
//!
//! Ranks of an imported run are threads, numbered as they come: two recordings of one application
//! number them otherwise, and a recorded replay begins with the process that started its ranks. So
//! the ranks that have most operations in common are paired, by number where that is equal. Several ranks
//! append to one file in an order that is not the same twice; or one uses what another one has opened.

use super::stream::{Step, Steps, Texts, hash, stripped};
use crate::StoreError;
use crate::events::Table;
use model::Op;
use model::event::NO_ID;
use model::op::ParamKind;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

/// Names of a side, and the directory that is taken off all of them.
#[derive(Debug, Default)]
pub(crate) struct Side {
    names: HashSet<Vec<u8>>,
    /// With its slash at the end; "" for none.
    pub prefix: Vec<u8>,
}

impl Side {
    /// Adds the names of a run's event table.
    pub fn add(&mut self, folder: &Path) -> Result<(), StoreError> {
        let table = Table::open(folder)?;
        ["path", "path2"].into_iter().try_for_each(|column| {
            table.each_name(column, |name| {
                if !self.names.contains(name) {
                    self.names.insert(name.to_vec());
                }
            })
        })
    }

    /// The deepest directory that all names are below.
    fn common(&self) -> Vec<u8> {
        let mut names = self.names.iter();
        let Some(first) = names.next() else { return Vec::new() };
        let mut common = directory(first);
        for name in names {
            let same = common.iter().zip(name).take_while(|(a, b)| a == b).count();
            if same < common.len() {
                common = directory(&common[..same]);
            }
        }
        common.to_vec()
    }

    fn without_prefix(&self) -> HashSet<&[u8]> {
        self.names.iter().map(|name| stripped(name, &self.prefix)).collect()
    }
}

/// The directory of a name, with its slash.
fn directory(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &name[..end]
}

/// The pairs of names.
#[derive(Debug, Default)]
pub(crate) struct Renaming {
    shared: HashSet<u32>,
    to: HashMap<u32, u32>,
    from: HashMap<u32, u32>,
    /// The first pair of names that differ.
    first: Option<(u32, u32)>,
}

/// Stands for every name that has no partner yet.
const NEW: u32 = NO_ID - 1;

impl Renaming {
    /// Finds the names that both sides have. Where more are the same below the directory that
    /// holds all of a side, that directory is taken off: a log of a replay has another one.
    pub fn of(original: &mut Side, replay: &mut Side, texts: &mut Texts) -> Renaming {
        let plain = original.names.intersection(&replay.names).count();
        (original.prefix, replay.prefix) = (original.common(), replay.common());
        let below = original.without_prefix().intersection(&replay.without_prefix()).count();
        if below <= plain {
            (original.prefix, replay.prefix) = (Vec::new(), Vec::new());
        }
        let (ours, theirs) = (original.without_prefix(), replay.without_prefix());
        let shared = ours.intersection(&theirs).map(|name| texts.id(name)).collect();
        Renaming { shared, ..Renaming::default() }
    }

    /// Pairs names that are numbers already.
    #[cfg(test)]
    pub fn having(original: &[u32], replay: &[u32]) -> Renaming {
        let theirs: HashSet<u32> = replay.iter().copied().collect();
        let shared = original.iter().copied().filter(|name| theirs.contains(name)).collect();
        Renaming { shared, ..Renaming::default() }
    }

    /// The names may belong to one file so far.
    fn fits(&self, original: u32, replay: u32) -> bool {
        let is_known = |id: u32| id == NO_ID || self.shared.contains(&id);
        if is_known(original) || is_known(replay) {
            return original == replay;
        }
        match (self.to.get(&original), self.from.get(&replay)) {
            (None, None) => true,
            (Some(to), Some(from)) => *to == replay && *from == original,
            _ => false,
        }
    }

    /// Both names of two operations may be the same.
    pub fn fit(&self, original: &Step, replay: &Step) -> bool {
        self.fits(original.name, replay.name) && self.fits(original.name2, replay.name2)
    }

    /// Pairs the names of these operations from now on; false: it cannot.
    pub fn pair(&mut self, original: &Step, replay: &Step) -> bool {
        let names = [(original.name, replay.name), (original.name2, replay.name2)];
        let fit = names.map(|(original, replay)| {
            let fits = self.fits(original, replay);
            if fits && original != NO_ID && !self.shared.contains(&original) {
                self.to.insert(original, replay);
                self.from.insert(replay, original);
                self.first.get_or_insert((original, replay));
            }
            fits
        });
        fit == [true, true]
    }

    /// A name that both sides have; [`NO_ID`] for all others.
    pub fn shared_name(&self, id: u32) -> u32 {
        if self.shared.contains(&id) { id } else { NO_ID }
    }

    /// The key by which names of the original (side 0) and of the replay (side 1) are compared.
    pub fn key_of(&self, side: usize, id: u32) -> u32 {
        let is_known = id == NO_ID || self.shared.contains(&id);
        match side {
            _ if is_known => id,
            0 => self.to.get(&id).copied().unwrap_or(NEW),
            _ if self.from.contains_key(&id) => id,
            _ => NEW,
        }
    }

    /// How many names of the original have another one in the replay.
    pub fn renamed(&self) -> u64 {
        self.to.len() as u64
    }

    /// The first of them.
    pub fn first_renamed(&self) -> Option<(u32, u32)> {
        self.first
    }
}

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
mod ranks_tests {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn side(names: &[&str]) -> Side {
        let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        Side { names, prefix: Vec::new() }
    }

    fn step(name: u32) -> Step {
        Step { name, name2: NO_ID, ..Step::default() }
    }

    #[test]
    fn names_of_both_sides_stand_for_themselves_and_others_for_one_each() {
        let mut texts = Texts::default();
        let (mut ours, mut theirs) = (side(&["a", "b", "x", "y"]), side(&["a", "b", "1", "2"]));
        let mut names = Renaming::of(&mut ours, &mut theirs, &mut texts);
        let id = |texts: &mut Texts, name: &str| step(texts.id(name.as_bytes()));
        for (original, replay, fits) in [
            ("a", "a", true),
            ("a", "b", false),
            ("a", "1", false),
            ("x", "2", true),
            ("x", "1", false),
            ("y", "2", false),
            ("y", "1", true),
            ("y", "1", true),
        ] {
            let (original, replay) = (id(&mut texts, original), id(&mut texts, replay));
            assert_eq!(names.fit(&original, &replay), fits);
            assert_eq!(names.pair(&original, &replay), fits);
        }
        assert_eq!(names.renamed(), 2);
    }

    #[test]
    fn a_directory_above_all_is_taken_off_where_that_finds_more() {
        let mut texts = Texts::default();
        let (mut ours, mut theirs) = (side(&["p/q/a", "p/q/d/b"]), side(&["a", "d/b"]));
        let names = Renaming::of(&mut ours, &mut theirs, &mut texts);
        assert_eq!((ours.prefix.as_slice(), theirs.prefix.as_slice()), (&b"p/q/"[..], &b""[..]));
        assert_eq!(names.shared.len(), 2);
        let (mut ours, mut theirs) = (side(&["p/a", "p/b"]), side(&["p/a"]));
        let names = Renaming::of(&mut ours, &mut theirs, &mut texts);
        assert_eq!((ours.prefix.len(), names.shared.len()), (0, 1));
    }
}
