//! Files that must exist before a program starts: it uses them, and no rank makes them.

use model::Plan;
use model::rehearsal::{Expected, Thing};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Names and how much of them is read.
#[derive(Debug, Default)]
pub(super) struct Expects {
    /// By name: it is a directory, and the number of the planted file, if there is one.
    names: BTreeMap<Vec<u8>, (bool, Option<u32>)>,
    /// By number: bytes up to the end of what is read, and whether all of it is.
    reads: HashMap<u32, (u64, bool)>,
    /// Directories that the program makes if they are not there.
    optional: HashSet<Vec<u8>>,
    /// Names of which only the text of a symbolic link is read.
    links: HashSet<Vec<u8>>,
}

/// Text of a symbolic link of which nothing more is known.
const TARGET: &[u8] = b"target";

impl Expects {
    /// A name is used that nobody made. `number`: that of the file that was put there.
    pub(super) fn name(&mut self, name: &[u8], directory: bool, number: Option<u32>) {
        if let (false, Some(number)) = (directory, number) {
            self.reads.entry(number).or_default();
        }
        // What is in a directory that the program makes if it is not there: then it is there.
        let above = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for above in
            above.map(|(end, _)| &name[..end]).filter(|above| self.optional.contains(*above))
        {
            self.names.insert(above.into(), (true, None));
        }
        let known = self.names.entry(name.into()).or_insert((directory, number));
        known.0 |= directory;
    }

    /// The text of a symbolic link is read, and nobody has used the name otherwise.
    pub(super) fn is_link(&mut self, name: &[u8]) {
        self.links.insert(name.into());
    }

    /// A name is used by a call that follows symbolic links.
    pub(super) fn is_followed(&mut self, name: &[u8]) {
        if !self.links.is_empty() {
            self.links.remove(name);
        }
    }

    /// The program makes a directory, and takes it that it is there already.
    pub(super) fn may_be_there(&mut self, name: &[u8]) {
        self.optional.insert(name.into());
    }

    /// A name that was only asked for is used as a directory: it is one.
    pub(super) fn is_directory(&mut self, name: &[u8]) {
        if let Some(known) = self.names.get_mut(name) {
            *known = (true, None);
        }
    }

    /// Bytes of the file at this name are read.
    pub(super) fn is_read(&self, name: &[u8]) -> bool {
        let number = self.names.get(name).and_then(|(_, number)| *number);
        number.and_then(|number| self.reads.get(&number)).is_some_and(|read| *read != (0, false))
    }

    /// The name has to be there.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.names.contains_key(name)
    }

    /// Bytes of a file are read up to `end`.
    pub(super) fn read(&mut self, number: Option<u32>, end: u64) {
        if let Some(file) = number.and_then(|number| self.reads.get_mut(&number)) {
            file.0 = file.0.max(end);
        }
    }

    /// A file is read to its end.
    pub(super) fn read_all(&mut self, number: Option<u32>) {
        if let Some(file) = number.and_then(|number| self.reads.get_mut(&number)) {
            file.1 = true;
        }
    }

    /// All of it, directories before what is in them.
    pub(super) fn all(&self, plan: &Plan) -> Vec<Expected> {
        let thing = |(directory, number): (bool, Option<u32>)| match directory {
            true => Thing::Directory,
            false => {
                let read = number.and_then(|number| self.reads.get(&number));
                let (size_bytes, whole) = read.copied().unwrap_or_default();
                Thing::File { size_bytes, whole }
            }
        };
        let entry = |(path, what): (&Vec<u8>, &(bool, Option<u32>))| Expected {
            path: plan.named(path).into_owned(),
            what: match self.links.contains(path) {
                true => Thing::Link(TARGET.to_vec()),
                false => thing(*what),
            },
        };
        self.names.iter().map(entry).collect()
    }
}
