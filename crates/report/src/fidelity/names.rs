//! Renaming: pairs names of the replay and the original.
//!
//! ```text
//! original  out/a  out/b  log        replay  out/a  f-1  log
//!                 └ b is nowhere in the replay, f-1 nowhere in the original: f-1 is paired with out/b
//! ```
//!
//! A name that both sides have is paired with itself, so that an exchange of two names is found. All
//! others are paired one to one, in the order in which operations use them; an operation that
//! breaks such a pair has another name.

use super::stream::{Step, Texts, stripped};
use crate::StoreError;
use crate::events::Table;
use model::event::NO_ID;
use std::collections::{HashMap, HashSet};
use std::path::Path;

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
