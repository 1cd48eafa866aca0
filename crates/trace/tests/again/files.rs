//! Names and files of the world, and what a log has told of them so far.

use std::collections::{BTreeMap, BTreeSet};

/// Names with what strace must escape, and signs that mean something in its text.
const NAMES: &[&[u8]] = &[
    b"/d/a/x",
    b"/d/a/y <1> \"q\"\\",
    b"/d/b\n/\xc3\xbc, (z)",
    b"/d/b\n/\xff->\x01(deleted)",
    b"/d/m0/x",
    b"/d/m1/x",
];
const DIRECTORIES: &[&[u8]] = &[b"/d/a", b"/d/b\n", b"/d/m0", b"/d/m1"];

#[derive(Clone, Copy, Debug)]
struct Entry {
    file: u32,
    is_directory: bool,
}

#[derive(Debug)]
pub struct Files {
    entries: BTreeMap<Vec<u8>, Entry>,
    /// Sizes that the log has told.
    sizes: Vec<Option<u64>>,
    /// Names of which the log has told that there is nothing.
    absent: BTreeSet<Vec<u8>>,
    /// Directories that were made in the log.
    fresh: BTreeSet<Vec<u8>>,
}

impl Default for Files {
    /// Some files and directories are there before the log begins.
    fn default() -> Files {
        let (absent, fresh) = (BTreeSet::new(), BTreeSet::new());
        let mut files = Files { entries: BTreeMap::new(), sizes: Vec::new(), absent, fresh };
        for path in [DIRECTORIES[0], DIRECTORIES[1], b"/d"] {
            files.add(path, true, None);
        }
        for path in [NAMES[0], NAMES[2]] {
            files.add(path, false, None);
        }
        files
    }
}

/// The directory of a name.
pub fn parent(path: &[u8]) -> Vec<u8> {
    path[..path.iter().rposition(|byte| *byte == b'/').unwrap()].to_vec()
}

impl Files {
    pub fn any_name(&self, which: usize) -> Vec<u8> {
        NAMES[which % NAMES.len()].to_vec()
    }

    pub fn any_directory(&self, which: usize) -> Vec<u8> {
        DIRECTORIES[which % DIRECTORIES.len()].to_vec()
    }

    pub fn any_path(&self, which: usize) -> Vec<u8> {
        match which % 3 {
            0 => self.any_directory(which / 3),
            _ => self.any_name(which / 3),
        }
    }

    pub fn has(&self, path: &[u8]) -> bool {
        self.entries.contains_key(path)
    }

    pub fn is_directory(&self, path: &[u8]) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.is_directory)
    }

    pub fn is_empty(&self, directory: &[u8]) -> bool {
        let inside = [directory, b"/"].concat();
        !self.entries.keys().any(|path| path.starts_with(&inside))
    }

    pub fn file(&self, path: &[u8]) -> u32 {
        self.entries[path].file
    }

    fn add(&mut self, path: &[u8], is_directory: bool, size: Option<u64>) -> u32 {
        let file = self.sizes.len() as u32;
        self.sizes.push(size);
        self.entries.insert(path.to_vec(), Entry { file, is_directory });
        self.absent.remove(path);
        file
    }

    pub fn told_absent(&mut self, path: &[u8]) {
        self.absent.insert(path.to_vec());
    }

    /// The file that an open gives.
    pub fn opened(&mut self, path: &[u8], creates: bool, exclusive: bool, truncates: bool) -> u32 {
        let is_new = creates && !self.has(path);
        let known = exclusive || self.absent.contains(path) || self.fresh.contains(&parent(path));
        let file = match is_new {
            true => self.add(path, false, known.then_some(0)),
            false => self.file(path),
        };
        if truncates {
            self.set_size(file, 0);
        }
        file
    }

    pub fn size(&self, file: u32) -> Option<u64> {
        self.sizes[file as usize]
    }

    pub fn set_size(&mut self, file: u32, size: u64) {
        self.sizes[file as usize] = Some(size);
    }

    pub fn reaches(&mut self, file: u32, end: u64) {
        let known = &mut self.sizes[file as usize];
        *known = known.map(|size| size.max(end));
    }

    pub fn remove(&mut self, path: &[u8]) {
        self.entries.remove(path);
        self.fresh.remove(path);
        self.absent.insert(path.to_vec());
    }

    pub fn make_directory(&mut self, path: &[u8]) {
        self.add(path, true, None);
        self.fresh.insert(path.to_vec());
    }

    /// What the world lets happen: files onto files or free names, directories onto free names.
    pub fn can_rename(&self, from: &[u8], to: &[u8], swap: bool) -> bool {
        let (Some(one), other) = (self.entries.get(from), self.entries.get(to)) else {
            return false;
        };
        let fits = match other {
            Some(other) => !one.is_directory && !other.is_directory && one.file != other.file,
            None => !swap,
        };
        let moves = !one.is_directory || self.fresh.contains(from);
        from != to && fits && moves && self.has(&parent(to))
    }

    pub fn rename(&mut self, from: &[u8], to: &[u8], swap: bool) {
        let one = self.entries.remove(from).unwrap();
        let other = self.entries.insert(to.to_vec(), one);
        if let Some(other) = other.filter(|_| swap) {
            self.entries.insert(from.to_vec(), other);
            return;
        }
        let inside = [from, b"/"].concat();
        let moved: Vec<_> =
            self.entries.keys().filter(|path| path.starts_with(&inside)).cloned().collect();
        for path in moved {
            let entry = self.entries.remove(&path).unwrap();
            self.entries.insert([to, &path[from.len()..]].concat(), entry);
        }
        if self.fresh.remove(from) {
            self.fresh.insert(to.to_vec());
        }
        self.absent.remove(to);
        self.absent.insert(from.to_vec());
    }

    /// Another name of a file.
    pub fn link(&mut self, from: &[u8], to: &[u8]) -> u32 {
        let entry = self.entries[from];
        self.entries.insert(to.to_vec(), entry);
        self.absent.remove(to);
        entry.file
    }
}
