//! Names and files: which file a name means at a moment of the log.
//!
//! A tree of names that follows renaming of directories in one step. A file keeps its number under
//! all its names; a new file under an old name has another one. Symbolic links are not followed: a
//! log does not tell where they lead.
//!
//! ```text
//! node: (directory, last part of the name) ──▶ file: number, size as far as it is known
//! ```

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use model::event::NO_ID;
use rustc_hash::FxBuildHasher;

/// A place in the tree of names.
pub type Node = u32;

/// `/`.
pub const ROOT: Node = 0;
/// The directory in which a log begins, where it does not tell which.
pub const START: Node = 1;

/// Parts of a name; names of the kernel have less than half.
const DEPTH_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    parent: Node,
    /// Its own name's number.
    name: u32,
    file: u32,
    /// Nothing has this name, as far as the log tells.
    absent: bool,
    /// It was made in the log: what is in it was, too.
    fresh: bool,
    /// Its path's number, valid since `moved`.
    path: u32,
    moved: u32,
}

/// All names of a log.
#[derive(Debug)]
pub struct Names {
    entries: Vec<Entry>,
    children: HashMap<(Node, u32), Node, FxBuildHasher>,
    words: Interned,
    paths: Interned,
    /// Sizes of files, by number.
    sizes: Vec<Option<u64>>,
    /// By file what the log showed of its size before the transfers that it comes from.
    ahead: HashMap<u32, Ahead, FxBuildHasher>,
    /// Renamings of directories: paths of before are old.
    moves: u32,
    /// The last walk, from where and after how many moves: logs name one file again and again.
    walked: ((Node, u32), Vec<u8>, Option<Node>),
    scratch: Vec<u8>,
}

/// Bytes of a file that a size was shown with, at this time, and that no transfer of the log had written.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    ns: u64,
    bytes: u64,
}

/// Texts by number, each once.
#[derive(Clone, Debug, Default)]
pub struct Interned {
    numbers: HashMap<Box<[u8]>, u32, FxBuildHasher>,
    texts: Vec<Box<[u8]>>,
}

impl Interned {
    /// The number of a text; one that is new gets the next.
    pub fn number(&mut self, text: &[u8]) -> u32 {
        match self.numbers.entry_ref(text) {
            EntryRef::Occupied(entry) => *entry.get(),
            EntryRef::Vacant(entry) => {
                let number = self.texts.len() as u32;
                self.texts.push(text.into());
                entry.insert(number);
                number
            }
        }
    }

    /// All texts, by number.
    pub fn texts(&self) -> &[Box<[u8]>] {
        &self.texts
    }

    /// The same, when no more are added.
    pub fn into_texts(self) -> Vec<Vec<u8>> {
        self.texts.into_iter().map(Vec::from).collect()
    }
}

impl Default for Names {
    fn default() -> Names {
        let mut names = Names {
            entries: Vec::new(),
            children: HashMap::default(),
            words: Interned::default(),
            paths: Interned::default(),
            sizes: Vec::new(),
            ahead: HashMap::default(),
            moves: 0,
            walked: ((NO_ID, 0), Vec::new(), None),
            scratch: Vec::new(),
        };
        let nothing = names.words.number(b"");
        for root in [ROOT, START] {
            names.entries.push(Entry::new(root, nothing));
        }
        names
    }
}

impl Entry {
    fn new(parent: Node, name: u32) -> Entry {
        Entry { parent, name, file: NO_ID, absent: false, fresh: false, path: NO_ID, moved: 0 }
    }
}

impl Names {
    /// The node of `name`, which starts at `from` unless it is absolute. `None`: no kernel takes it.
    pub fn walk(&mut self, from: Node, name: &[u8]) -> Option<Node> {
        if self.walked.0 == (from, self.moves) && self.walked.1 == name {
            return self.walked.2;
        }
        let node = self.walk_anew(from, name);
        (self.walked.0, self.walked.2) = ((from, self.moves), node);
        self.walked.1.clear();
        self.walked.1.extend_from_slice(name);
        node
    }

    fn walk_anew(&mut self, from: Node, name: &[u8]) -> Option<Node> {
        if name.contains(&0) {
            return None;
        }
        let mut node = if name.first() == Some(&b'/') { ROOT } else { from };
        for (depth, part) in name.split(|byte| *byte == b'/').enumerate() {
            node = match part {
                b"" | b"." => node,
                b".." if self.is_above_start(node) => self.child(node, b".."),
                b".." => self.entries[node as usize].parent,
                _ if depth > DEPTH_MAX => return None,
                _ => self.child(node, part),
            };
        }
        Some(node)
    }

    /// [`START`], or `..` of it, or `../..`.
    fn is_above_start(&self, node: Node) -> bool {
        let name = self.entries[node as usize].name;
        node == START || *self.words.texts[name as usize] == *b".."
    }

    fn child(&mut self, parent: Node, name: &[u8]) -> Node {
        let word = self.words.number(name);
        let next = self.entries.len() as Node;
        let node = *self.children.entry((parent, word)).or_insert(next);
        if node == next {
            let absent = self.entries[parent as usize].fresh;
            self.entries.push(Entry { absent, ..Entry::new(parent, word) });
        }
        node
    }

    /// The number of a node's path, for [`Names::path_text`].
    pub fn path(&mut self, node: Node) -> u32 {
        let entry = self.entries[node as usize];
        if entry.path != NO_ID && entry.moved == self.moves {
            return entry.path;
        }
        let mut text = std::mem::take(&mut self.scratch);
        self.write_path(node, &mut text);
        let path = self.paths.number(&text);
        self.scratch = text;
        let entry = &mut self.entries[node as usize];
        (entry.path, entry.moved) = (path, self.moves);
        path
    }

    /// Writes the path; of one below [`START`] without a `/` before it.
    fn write_path(&self, node: Node, text: &mut Vec<u8>) {
        text.clear();
        let mut parts = Vec::new();
        let mut at = node;
        while at != ROOT && at != START {
            let entry = self.entries[at as usize];
            parts.push(entry.name);
            at = entry.parent;
        }
        for (number, part) in parts.iter().rev().enumerate() {
            if at == ROOT || number > 0 {
                text.push(b'/');
            }
            text.extend_from_slice(&self.words.texts[*part as usize]);
        }
        if parts.is_empty() {
            text.extend_from_slice(if at == ROOT { b"/" } else { b"." });
        }
    }

    /// A path by its number; without a `/` at its beginning it lies below [`START`].
    pub fn path_text(&self, path: u32) -> &[u8] {
        &self.paths.texts[path as usize]
    }

    /// The number of the text that a link at path `link` needs to lead to path `target`. What it is shows
    /// when all paths are known ([`model::directory::text_of_link`]): no path has a zero byte in it.
    pub fn link_text(&mut self, link: u32, target: u32) -> u32 {
        self.paths.number(&[&[0][..], &link.to_ne_bytes(), &target.to_ne_bytes()].concat())
    }

    /// Link and target of such a number.
    pub fn link_of_text(&self, path: u32) -> Option<(u32, u32)> {
        let text = self.path_text(path).strip_prefix(&[0])?;
        let number = |at: usize| Some(u32::from_ne_bytes(text.get(at..at + 4)?.try_into().ok()?));
        Some((number(0)?, number(4)?))
    }

    /// Number of different paths.
    pub fn path_count(&self) -> usize {
        self.paths.texts.len()
    }

    /// The file that a node means; one that was not seen before gets a number.
    pub fn file(&mut self, node: Node) -> u32 {
        if self.entries[node as usize].file == NO_ID {
            self.set_file(node, None);
        }
        self.entries[node as usize].file
    }

    fn set_file(&mut self, node: Node, size: Option<u64>) {
        let file = self.sizes.len() as u32;
        self.sizes.push(size);
        let entry = &mut self.entries[node as usize];
        (entry.file, entry.absent) = (file, false);
    }

    /// The file that an open for creation gives: a new one of no bytes where there was none.
    pub fn create(&mut self, node: Node, exclusive: bool) -> u32 {
        let entry = self.entries[node as usize];
        if exclusive || entry.absent {
            self.set_file(node, Some(0));
        }
        self.file(node)
    }

    /// A call said that the name does not exist.
    pub fn absent(&mut self, node: Node) {
        let entry = &mut self.entries[node as usize];
        (entry.file, entry.absent) = (NO_ID, true);
    }

    /// Nothing has the name, as far as the log tells.
    pub fn is_absent(&self, node: Node) -> bool {
        self.entries[node as usize].absent
    }

    /// Its directory was made in the log.
    pub fn is_within_fresh(&self, node: Node) -> bool {
        let parent = self.entries[node as usize].parent;
        self.entries[parent as usize].fresh
    }

    /// A name was removed.
    pub fn remove(&mut self, node: Node) {
        self.absent(node);
        self.entries[node as usize].fresh = false;
    }

    /// A directory was made.
    pub fn make_directory(&mut self, node: Node) {
        self.set_file(node, None);
        self.entries[node as usize].fresh = true;
    }

    /// A file without a name.
    pub fn nameless(&mut self) -> u32 {
        self.sizes.push(Some(0));
        self.sizes.len() as u32 - 1
    }

    /// `to` is another name of the file `from`.
    pub fn link(&mut self, file: u32, to: Node) {
        let entry = &mut self.entries[to as usize];
        (entry.file, entry.absent) = (file, false);
    }

    /// `from` is called `to` from now on, with all that is in it; with `exchange` both swap. False:
    /// it would contain itself, or is a root.
    pub fn rename(&mut self, from: Node, to: Node, exchange: bool) -> bool {
        if from == to {
            return true;
        }
        if self.is_within(to, from) || self.is_within(from, to) {
            return false;
        }
        self.file(from);
        let (old, new) = (self.entries[from as usize], self.entries[to as usize]);
        self.children.insert((new.parent, new.name), from);
        self.children.insert((old.parent, old.name), to);
        let place = |entry: &mut Entry, at: &Entry| {
            (entry.parent, entry.name, entry.path) = (at.parent, at.name, NO_ID);
        };
        place(&mut self.entries[from as usize], &new);
        place(&mut self.entries[to as usize], &old);
        if !exchange {
            self.remove(to);
        }
        self.moves = self.moves.wrapping_add(1);
        true
    }

    /// `node` is `above`, or in it.
    fn is_within(&self, node: Node, above: Node) -> bool {
        let mut at = node;
        loop {
            if at == above {
                return true;
            }
            let parent = self.entries[at as usize].parent;
            if parent == at {
                return false;
            }
            at = parent;
        }
    }

    /// Size of a file, as far as the log tells.
    pub fn size(&self, file: u32) -> Option<u64> {
        self.sizes.get(file as usize).copied().flatten()
    }

    /// The size of a file is known.
    pub fn set_size(&mut self, file: u32, size: Option<u64>) {
        if let Some(known) = self.sizes.get_mut(file as usize) {
            *known = size;
        }
    }

    /// The log shows a size at this time. Appends that are not over yet may be in it.
    pub fn show_size(&mut self, file: u32, size: Option<u64>, ns: u64) {
        let grown = self.size(file).zip(size).and_then(|(old, new)| new.checked_sub(old));
        match grown.filter(|bytes| *bytes > 0) {
            Some(bytes) => self.ahead.insert(file, Ahead { ns, bytes }),
            None => self.ahead.remove(&file),
        };
        self.set_size(file, size);
    }

    /// The offset of an append of `bytes`, which began at `begin_ns`: the size of the file. If a size that the log
    /// showed later counts these bytes already, they are taken off.
    pub fn append(&mut self, file: u32, begin_ns: u64, bytes: u64) -> Option<u64> {
        let size = self.size(file)?;
        let ahead = self.ahead.get_mut(&file);
        match ahead.filter(|ahead| begin_ns <= ahead.ns && bytes <= ahead.bytes) {
            Some(ahead) => {
                let at = size.checked_sub(ahead.bytes)?;
                ahead.bytes -= bytes;
                Some(at)
            }
            None => Some(size),
        }
    }

    /// A file reaches to `end` at least.
    pub fn grow(&mut self, file: u32, end: u64) {
        if let Some(size) = self.size(file) {
            self.set_size(file, Some(size.max(end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(names: &mut Names, node: Node) -> String {
        let path = names.path(node);
        String::from_utf8_lossy(names.path_text(path)).into_owned()
    }

    #[test]
    fn names_are_walked_like_the_kernel_does_without_links() {
        let mut names = Names::default();
        let home = names.walk(ROOT, b"/home/u").unwrap();
        for (from, name, path) in [
            (home, "a/b", "/home/u/a/b"),
            (home, "./a//b/", "/home/u/a/b"),
            (home, "../v", "/home/v"),
            (home, "/../../x", "/x"),
            (home, "", "/home/u"),
            (ROOT, ".", "/"),
            (START, "a", "a"),
            (START, ".", "."),
            (START, "../../a", "../../a"),
        ] {
            let node = names.walk(from, name.as_bytes()).unwrap();
            assert_eq!(text(&mut names, node), path, "{name}");
        }
        assert_eq!(names.walk(ROOT, "/a".repeat(5000).as_bytes()), None);
        assert_eq!(names.walk(ROOT, b"/a\0b"), None);
    }

    #[test]
    fn a_file_keeps_its_number_under_all_its_names() {
        let mut names = Names::default();
        let [a, b, c] = [b"/d/a", b"/d/b", b"/d/c"].map(|name| names.walk(ROOT, name).unwrap());
        let file = names.create(a, true);
        names.link(file, b);
        assert!(names.rename(a, c, false));
        let [a, c] = [b"/d/a", b"/d/c"].map(|name| names.walk(ROOT, name).unwrap());
        assert_eq!((names.file(b), names.file(c)), (file, file));
        let other = names.create(a, false);
        assert_ne!(other, file);
        assert_eq!(names.size(other), Some(0));
    }

    #[test]
    fn what_is_in_a_directory_moves_with_it() {
        let mut names = Names::default();
        let inner = names.walk(ROOT, b"/d/x/f").unwrap();
        let file = names.file(inner);
        assert_eq!(text(&mut names, inner), "/d/x/f");
        let (d, e) = (names.walk(ROOT, b"/d").unwrap(), names.walk(ROOT, b"/e").unwrap());
        assert!(names.rename(d, e, false));
        let moved = names.walk(ROOT, b"/e/x/f").unwrap();
        assert_eq!((names.file(moved), text(&mut names, moved)), (file, "/e/x/f".into()));
        let new = names.walk(ROOT, b"/d/x/f").unwrap();
        assert_ne!(names.file(new), file);
    }

    #[test]
    fn nothing_comes_to_contain_itself() {
        let mut names = Names::default();
        let [a, ab] = [&b"/a"[..], b"/a/b"].map(|name| names.walk(ROOT, name).unwrap());
        assert!(!names.rename(a, ab, false));
        assert!(!names.rename(ab, a, true));
        assert!(!names.rename(ROOT, a, false));
        assert!(names.rename(a, a, false));
        assert_eq!(text(&mut names, ab), "/a/b");
    }

    #[test]
    fn sizes_are_known_where_the_log_tells() {
        let mut names = Names::default();
        let old = names.walk(ROOT, b"/old").unwrap();
        let file = names.create(old, false);
        assert_eq!(names.size(file), None);
        names.grow(file, 10);
        assert_eq!(names.size(file), None);
        let d = names.walk(ROOT, b"/d").unwrap();
        names.make_directory(d);
        let new = names.walk(d, b"new").unwrap();
        let file = names.create(new, false);
        names.grow(file, 10);
        assert_eq!(names.size(file), Some(10));
    }

    #[test]
    fn a_size_may_be_shown_before_the_appends_that_it_comes_from() {
        let mut names = Names::default();
        let node = names.walk(ROOT, b"/log").unwrap();
        let file = names.file(node);
        let mut append = |begin_ns: u64, shown: Option<(u64, u64)>| {
            if let Some((size, ns)) = shown {
                names.show_size(file, Some(size), ns);
            }
            let at = names.append(file, begin_ns, 5);
            at.into_iter().for_each(|at| names.grow(file, at + 5));
            at
        };
        for (begin_ns, shown, at) in [
            (10, None, None),
            (20, Some((10, 15)), Some(10)),
            // Two of which it has both, then one that began later.
            (30, Some((25, 35)), Some(15)),
            (34, None, Some(20)),
            (36, None, Some(25)),
            // It has not the one that was under way.
            (40, Some((30, 41)), Some(30)),
            // Others had written before.
            (60, Some((47, 50)), Some(47)),
        ] {
            assert_eq!(append(begin_ns, shown), at, "{begin_ns}");
        }
    }
}
