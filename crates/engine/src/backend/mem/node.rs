//! A file system in memory, and its inodes: files, directories, symbolic links.

use super::content::Content;
use super::files::Locks;
use model::directory::Directory;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

/// A reply, or an errno.
pub(super) type Done = Result<i64, i32>;

/// A file system in memory, which simulated ranks share.
#[derive(Debug)]
pub struct MemFs {
    pub(super) nodes: Nodes,
    /// The run directory and further ones, each a file system of its own: absolute path, by which it
    /// is known in calls, and root.
    pub(super) roots: Vec<(Vec<u8>, Ino)>,
}

impl MemFs {
    /// An empty file system whose root has this absolute path, to be shared by ranks.
    pub fn shared(path: &str) -> Rc<RefCell<MemFs>> {
        let path = path.trim_end_matches('/').into();
        Rc::new(RefCell::new(MemFs { nodes: Nodes::new(), roots: vec![(path, ROOT)] }))
    }

    /// Adds the further directories of a program.
    pub fn add(&mut self, directories: &[Directory]) {
        for directory in directories {
            let root = self.nodes.add_root();
            self.roots.push((directory.path.clone().into_bytes(), root));
        }
    }
}

/// Attributes of one file; most have none.
pub(super) type Attributes = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// Number of a node: index into [`Nodes`].
pub(super) type Ino = u32;

/// The root directory.
pub(super) const ROOT: Ino = 0;

/// Names of a directory. The hasher has no random keys: the order in which entries
/// are listed is the same in every run.
pub(super) type Names = HashMap<Box<[u8]>, Ino, BuildHasherDefault<DefaultHasher>>;

/// Kind of a node, with its content.
#[derive(Debug)]
pub(super) enum Kind {
    File(Content),
    Directory { names: Box<Names>, parent: Ino },
    Link(Box<[u8]>),
    Free,
}

/// A file, directory or link.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The file system that it belongs to, by number.
    pub(super) tree: u8,
    /// Number of its names; 1 for a directory that is not removed.
    pub(super) links: u32,
    /// Descriptors that refer to it.
    pub(super) opens: u32,
    /// A first name can be given to it later (`O_TMPFILE`).
    pub(super) linkable: bool,
    /// Holders of its lock (flock).
    pub(super) locks: Locks,
    /// Extended attributes.
    pub(super) attributes: Attributes,
}

impl Node {
    fn new(kind: Kind, tree: u8, links: u32) -> Node {
        let (locks, attributes) = (Locks::default(), Attributes::default());
        Node { kind, tree, links, opens: 0, linkable: false, locks, attributes }
    }
}

/// Space in use on a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Bytes that files take, without holes; those that are removed but open count.
    pub bytes: u64,
    /// Files, directories and links, the root not counted.
    pub nodes: u64,
}

/// All nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    free: Vec<Ino>,
    /// Space in use, by file system.
    pub(super) used: Vec<Used>,
    /// The room of some file may be less.
    pub(super) is_rough: bool,
}

impl Nodes {
    /// An empty root directory.
    pub(super) fn new() -> Nodes {
        let mut nodes =
            Nodes { nodes: Vec::new(), free: Vec::new(), used: Vec::new(), is_rough: false };
        nodes.add_root();
        nodes
    }

    /// The empty root directory of a further file system.
    pub(super) fn add_root(&mut self) -> Ino {
        let root = self.nodes.len() as Ino;
        let kind = Kind::Directory { names: Box::default(), parent: root };
        self.nodes.push(Node::new(kind, self.used.len() as u8, 1));
        self.used.push(Used::default());
        root
    }

    pub(super) fn get(&self, ino: Ino) -> &Node {
        &self.nodes[ino as usize]
    }

    pub(super) fn get_mut(&mut self, ino: Ino) -> &mut Node {
        &mut self.nodes[ino as usize]
    }

    /// A new node with the first name `name` in `parent`.
    pub(super) fn create(&mut self, parent: Ino, name: &[u8], kind: Kind) -> Ino {
        let ino = self.create_nameless(parent, kind);
        self.attach(parent, name, ino);
        ino
    }

    /// A new node without a name, on the file system of another one; it goes unless it gets a name
    /// or is held.
    pub(super) fn create_nameless(&mut self, beside: Ino, kind: Kind) -> Ino {
        let tree = self.get(beside).tree;
        let node = Node::new(kind, tree, 0);
        self.used[usize::from(tree)].nodes += 1;
        match self.free.pop() {
            Some(ino) => {
                self.nodes[ino as usize] = node;
                ino
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as Ino
            }
        }
    }

    /// Gives a node a name.
    pub(super) fn attach(&mut self, parent: Ino, name: &[u8], ino: Ino) {
        self.get_mut(ino).links += 1;
        self.set_name(parent, name, ino);
    }

    /// A name is that of this node from now on.
    pub(super) fn set_name(&mut self, parent: Ino, name: &[u8], ino: Ino) {
        if let Kind::Directory { parent: above, .. } = &mut self.get_mut(ino).kind {
            *above = parent;
        }
        if let Kind::Directory { names, .. } = &mut self.get_mut(parent).kind {
            names.insert(name.into(), ino);
        }
    }

    /// Takes a name away from its node, which goes when it was the last one.
    pub(super) fn detach(&mut self, parent: Ino, name: &[u8]) {
        let Kind::Directory { names, .. } = &mut self.get_mut(parent).kind else { return };
        let Some(ino) = names.remove(name) else { return };
        self.get_mut(ino).links -= 1;
        self.drop_unused(ino);
    }

    /// A descriptor refers to the node no longer.
    pub(super) fn release(&mut self, ino: Ino) {
        self.get_mut(ino).opens -= 1;
        self.drop_unused(ino);
    }

    fn drop_unused(&mut self, ino: Ino) {
        let node = self.get_mut(ino);
        if node.links == 0 && node.opens == 0 {
            let bytes = if let Kind::File(content) = &node.kind { content.room_bytes() } else { 0 };
            node.kind = Kind::Free;
            let tree = usize::from(node.tree);
            self.free.push(ino);
            let used = &mut self.used[tree];
            used.nodes -= 1;
            used.bytes = used.bytes.saturating_sub(bytes);
        }
    }

    /// The bytes of a file.
    pub(super) fn content(&self, ino: Ino) -> Result<&Content, i32> {
        match &self.get(ino).kind {
            Kind::File(content) => Ok(content),
            Kind::Directory { .. } => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    /// Changes the bytes of a file.
    pub(super) fn change(
        &mut self,
        ino: Ino,
        change: impl FnOnce(&mut Content),
    ) -> Result<(), i32> {
        let before = self.content(ino)?.room_bytes();
        if let Kind::File(content) = &mut self.get_mut(ino).kind {
            change(content);
            let (after, is_rough) = (content.room_bytes(), content.is_rough);
            self.is_rough |= is_rough;
            // Files without data can be larger together than any number.
            let used = &mut self.used[usize::from(self.nodes[ino as usize].tree)];
            used.bytes = used.bytes.saturating_sub(before).saturating_add(after);
        }
        Ok(())
    }

    /// The names in a directory; `ENOTDIR` for something else.
    pub(super) fn names(&self, ino: Ino) -> Result<&Names, i32> {
        match &self.get(ino).kind {
            Kind::Directory { names, .. } => Ok(names),
            _ => Err(libc::ENOTDIR),
        }
    }

    pub(super) fn is_directory(&self, ino: Ino) -> bool {
        matches!(self.get(ino).kind, Kind::Directory { .. })
    }

    /// The directory above; a root's is the root.
    pub(super) fn parent(&self, ino: Ino) -> Ino {
        match self.get(ino).kind {
            Kind::Directory { parent, .. } => parent,
            _ => ROOT,
        }
    }

    /// `above` is `below` or a directory above it.
    pub(super) fn is_above(&self, above: Ino, mut below: Ino) -> bool {
        while below != above {
            if self.is_root(below) {
                return false;
            }
            below = self.parent(below);
        }
        true
    }

    /// Nothing lies above it.
    pub(super) fn is_root(&self, directory: Ino) -> bool {
        self.parent(directory) == directory
    }

    /// Both belong to one file system; `EXDEV` if not.
    pub(super) fn same_tree(&self, one: Ino, other: Ino) -> Result<(), i32> {
        if self.get(one).tree == self.get(other).tree { Ok(()) } else { Err(libc::EXDEV) }
    }
}
