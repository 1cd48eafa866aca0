//! Files that must exist before a program starts: it uses them, and no rank makes them.

use model::Plan;
use model::rehearsal::{Expected, Thing};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a name is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// Only its text was read.
    Link,
}

/// Names and how much of them is read.
#[derive(Debug, Default)]
pub(super) struct Expects {
    /// By name: its kind, and the number of the planted file, if there is one.
    names: BTreeMap<Vec<u8>, (Kind, Option<u32>)>,
    /// By number: bytes up to the end of what is read, and whether all of it is.
    reads: HashMap<u32, (u64, bool)>,
    /// Directories that the program makes if they are not there.
    optional: HashSet<Vec<u8>>,
}

/// Text of a symbolic link of which nothing more is known.
const TARGET: &[u8] = b"target";

impl Expects {
    /// A name is used that nobody made. `number`: that of the file that was put there.
    pub(super) fn name(&mut self, name: &[u8], kind: Kind, number: Option<u32>) {
        if let Some(number) = number.filter(|_| kind != Kind::Directory) {
            self.reads.entry(number).or_default();
        }
        // What is in a directory that the program makes if it is not there: then it is there.
        let above = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for above in above.map(|(end, _)| &name[..end]).filter(|it| self.optional.contains(*it)) {
            self.names.insert(above.into(), (Kind::Directory, None));
        }
        let known = self.names.entry(name.into()).or_insert((kind, number));
        if kind == Kind::Directory {
            known.0 = kind;
        }
    }

    /// A name is used by a call that follows symbolic links.
    pub(super) fn is_followed(&mut self, name: &[u8]) {
        if let Some((kind @ Kind::Link, _)) = self.names.get_mut(name) {
            *kind = Kind::File;
        }
    }

    /// The program makes a directory, and takes it that it is there already.
    pub(super) fn may_be_there(&mut self, name: &[u8]) {
        self.optional.insert(name.into());
    }

    /// A name that was only asked for is used as a directory: it is one.
    pub(super) fn is_directory(&mut self, name: &[u8]) {
        if let Some(known) = self.names.get_mut(name) {
            *known = (Kind::Directory, None);
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

    /// Bytes of a file are read up to `end`, `whole`: to its end.
    pub(super) fn read(&mut self, number: Option<u32>, end: u64, whole: bool) {
        if let Some(file) = number.and_then(|number| self.reads.get_mut(&number)) {
            *file = (file.0.max(end), file.1 || whole);
        }
    }

    /// All of it, directories before what is in them.
    pub(super) fn all(&self, plan: &Plan) -> Vec<Expected> {
        let entry = |(path, (kind, number)): (&Vec<u8>, &(Kind, Option<u32>))| {
            let read = number.and_then(|number| self.reads.get(&number));
            let (size_bytes, whole) = read.copied().unwrap_or_default();
            let what = match kind {
                Kind::File => Thing::File { size_bytes, whole },
                Kind::Directory => Thing::Directory,
                Kind::Link => Thing::Link(TARGET.to_vec()),
            };
            Expected { path: plan.named(path).into_owned(), what }
        };
        self.names.iter().map(entry).collect()
    }
}
