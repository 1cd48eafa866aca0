//! A file system in memory: its inodes (files, directories, symbolic links), the way from a path to an inode, as
//! path_resolution(7) describes it, and calls on names: open, unlink, rename, link, extended attributes and the like.
//!
//! The current directory is the root, nothing lies above it: paths that leave
//! give `EXDEV`, as [`crate::backend::Beneath`] does. The order of checks is that of Linux (fs/namei.c), since it
//! decides which errno a call gives that is wrong in two ways.

use super::content::{Content, SIZE_MAX};
use crate::backend::lexical::{Located, check_path};
use model::directory::{Directory, below};
use model::watched::TreeEntry;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

/// A reply, or an errno.
pub(crate) type Done = Result<i64, i32>;

/// A file system in memory, which simulated ranks share.
#[derive(Debug)]
pub struct MemFs {
    pub(crate) nodes: Nodes,
    /// The run directory and further ones, each a file system of its own: absolute path, by which it
    /// is known in calls, and root.
    pub(crate) roots: Vec<(Vec<u8>, Ino)>,
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

/// How an open file holds its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Shared,
    Exclusive,
}

/// Holders of a file's lock: flock(2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Locks {
    shared: u32,
    exclusive: bool,
}

impl Locks {
    pub(crate) fn take(&mut self, lock: Option<Lock>) -> Result<(), i32> {
        match lock {
            None => {}
            Some(_) if self.exclusive => return Err(libc::EWOULDBLOCK),
            Some(Lock::Shared) => self.shared += 1,
            Some(Lock::Exclusive) if self.shared > 0 => return Err(libc::EWOULDBLOCK),
            Some(Lock::Exclusive) => self.exclusive = true,
        }
        Ok(())
    }

    pub(crate) fn give_back(&mut self, lock: Option<Lock>) {
        match lock {
            None => {}
            Some(Lock::Shared) => self.shared -= 1,
            Some(Lock::Exclusive) => self.exclusive = false,
        }
    }
}

/// Attributes of one file; most have none.
type Attributes = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// Number of a node: index into [`Nodes`].
pub(crate) type Ino = u32;

/// The root directory.
const ROOT: Ino = 0;

/// Names of a directory. The hasher has no random keys: the order in which entries
/// are listed is the same in every run.
type Names = HashMap<Box<[u8]>, Ino, BuildHasherDefault<DefaultHasher>>;

/// Kind of a node, with its content.
#[derive(Debug)]
pub(crate) enum Kind {
    File(Content),
    Directory { names: Box<Names>, parent: Ino },
    Link(Box<[u8]>),
    Free,
}

/// A file, directory or link.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The file system that it belongs to, by number.
    tree: u8,
    /// Number of its names; 1 for a directory that is not removed.
    pub(crate) links: u32,
    /// Descriptors that refer to it.
    pub(crate) opens: u32,
    /// A first name can be given to it later (`O_TMPFILE`).
    pub(crate) linkable: bool,
    /// Holders of its lock (flock).
    pub(crate) locks: Locks,
    /// Extended attributes.
    pub(crate) attributes: Attributes,
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

#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    free: Vec<Ino>,
    /// Space in use, by file system.
    pub(crate) used: Vec<Used>,
    /// The room of some file may be less.
    pub(crate) is_rough: bool,
}

impl Nodes {
    /// An empty root directory.
    pub(crate) fn new() -> Nodes {
        let mut nodes =
            Nodes { nodes: Vec::new(), free: Vec::new(), used: Vec::new(), is_rough: false };
        nodes.add_root();
        nodes
    }

    /// The empty root directory of a further file system.
    fn add_root(&mut self) -> Ino {
        let root = self.nodes.len() as Ino;
        let kind = Kind::Directory { names: Box::default(), parent: root };
        self.nodes.push(Node::new(kind, self.used.len() as u8, 1));
        self.used.push(Used::default());
        root
    }

    pub(crate) fn get(&self, ino: Ino) -> &Node {
        &self.nodes[ino as usize]
    }

    pub(crate) fn get_mut(&mut self, ino: Ino) -> &mut Node {
        &mut self.nodes[ino as usize]
    }

    /// A new node with the first name `name` in `parent`.
    pub(crate) fn create(&mut self, parent: Ino, name: &[u8], kind: Kind) -> Ino {
        let ino = self.create_nameless(parent, kind);
        self.attach(parent, name, ino);
        ino
    }

    /// A new node without a name, on the file system of another one; it goes unless it gets a name
    /// or is held.
    pub(crate) fn create_nameless(&mut self, beside: Ino, kind: Kind) -> Ino {
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
    pub(crate) fn attach(&mut self, parent: Ino, name: &[u8], ino: Ino) {
        self.get_mut(ino).links += 1;
        self.set_name(parent, name, ino);
    }

    /// A name is that of this node from now on.
    pub(crate) fn set_name(&mut self, parent: Ino, name: &[u8], ino: Ino) {
        if let Kind::Directory { parent: above, .. } = &mut self.get_mut(ino).kind {
            *above = parent;
        }
        if let Kind::Directory { names, .. } = &mut self.get_mut(parent).kind {
            names.insert(name.into(), ino);
        }
    }

    /// Takes a name away from its node, which goes when it was the last one.
    pub(crate) fn detach(&mut self, parent: Ino, name: &[u8]) {
        let Kind::Directory { names, .. } = &mut self.get_mut(parent).kind else { return };
        let Some(ino) = names.remove(name) else { return };
        self.get_mut(ino).links -= 1;
        self.drop_unused(ino);
    }

    /// A descriptor refers to the node no longer.
    pub(crate) fn release(&mut self, ino: Ino) {
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

    /// The node that went last, if no other one has taken its number.
    pub(crate) fn freed_last(&self) -> Option<Ino> {
        self.free.last().copied()
    }

    /// The bytes of a file.
    pub(crate) fn content(&self, ino: Ino) -> Result<&Content, i32> {
        match &self.get(ino).kind {
            Kind::File(content) => Ok(content),
            Kind::Directory { .. } => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    /// Changes the bytes of a file.
    pub(crate) fn change(
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
    pub(crate) fn names(&self, ino: Ino) -> Result<&Names, i32> {
        match &self.get(ino).kind {
            Kind::Directory { names, .. } => Ok(names),
            _ => Err(libc::ENOTDIR),
        }
    }

    pub(crate) fn is_directory(&self, ino: Ino) -> bool {
        matches!(self.get(ino).kind, Kind::Directory { .. })
    }

    /// The directory above; a root's is the root.
    pub(crate) fn parent(&self, ino: Ino) -> Ino {
        match self.get(ino).kind {
            Kind::Directory { parent, .. } => parent,
            _ => ROOT,
        }
    }

    /// `above` is `below` or a directory above it.
    pub(crate) fn is_above(&self, above: Ino, mut below: Ino) -> bool {
        while below != above {
            if self.is_root(below) {
                return false;
            }
            below = self.parent(below);
        }
        true
    }

    /// Nothing lies above it.
    fn is_root(&self, directory: Ino) -> bool {
        self.parent(directory) == directory
    }

    /// Both belong to one file system; `EXDEV` if not.
    pub(crate) fn same_tree(&self, one: Ino, other: Ino) -> Result<(), i32> {
        if self.get(one).tree == self.get(other).tree { Ok(()) } else { Err(libc::EXDEV) }
    }
}

const NAME_MAX: usize = 255;
const LINKS_MAX: u32 = 40;

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Always.
    Yes,
    /// Always, to make a file: no slashes may come after its name, here or in a link.
    Create,
    /// Only when slashes come after the name (`lstat`, `readlink`).
    Slash,
    /// Not even then (calls that make or remove names).
    No,
}

/// Where a path ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    /// Directory that has, or would have, the last name.
    pub(crate) parent: Ino,
    /// The last name.
    pub(crate) name: &'a [u8],
    /// Node of the last name, if it exists.
    pub(crate) node: Option<Ino>,
    /// Slashes come after it.
    pub(crate) slash: bool,
    /// It is `.` or `..`, or there is none (the root itself).
    pub(crate) dots: bool,
}

impl MemFs {
    /// Where the path of a call ends.
    pub(crate) fn spot<'a>(&'a self, path: &'a [u8], follow: Follow) -> Result<Spot<'a>, i32> {
        check_path(path)?;
        self.resolve(ROOT, path, follow, &mut 0)
    }

    /// The same without looking at the last name.
    pub(crate) fn parent_spot<'a>(&'a self, path: &'a [u8]) -> Result<Spot<'a>, i32> {
        check_path(path)?;
        self.to_parent(ROOT, path, &mut 0)
    }

    /// Finds the node at a path; with slashes after it, it must be a directory.
    pub(crate) fn find(&self, path: &[u8], follow: Follow) -> Result<Ino, i32> {
        let spot = self.spot(path, follow)?;
        let ino = spot.node.ok_or(libc::ENOENT)?;
        if spot.slash && !self.nodes.is_directory(ino) {
            return Err(libc::ENOTDIR);
        }
        Ok(ino)
    }

    fn resolve<'a>(
        &'a self,
        start: Ino,
        path: &'a [u8],
        follow: Follow,
        links: &mut u32,
    ) -> Result<Spot<'a>, i32> {
        let spot = self.to_parent(start, path, links)?;
        self.last(spot, follow, links)
    }

    fn to_parent<'a>(
        &'a self,
        start: Ino,
        path: &'a [u8],
        links: &mut u32,
    ) -> Result<Spot<'a>, i32> {
        let (mut dir, mut rest) = match path.first() {
            Some(b'/') => {
                let (root, rest) = self.locate(path).ok_or(libc::EXDEV)?;
                (self.roots[root].1, rest)
            }
            _ => (start, path),
        };
        loop {
            let (name, after) = next_name(rest);
            if after.iter().all(|byte| *byte == b'/') {
                let slash = !after.is_empty() || name.is_empty();
                let dots = matches!(name, b"" | b"." | b"..");
                if name == b".." {
                    self.above(dir)?;
                }
                return Ok(Spot { parent: dir, name, node: None, slash, dots });
            }
            dir = self.step(dir, name, links)?;
            rest = after;
        }
    }

    /// Finds the directory of a name within a path.
    fn step(&self, dir: Ino, name: &[u8], links: &mut u32) -> Result<Ino, i32> {
        let spot = Spot { parent: dir, name, node: None, slash: true, dots: false };
        let next = self.last(spot, Follow::Yes, links)?.node.ok_or(libc::ENOENT)?;
        self.nodes.names(next).map(|_| next)
    }

    /// Looks at the last name of a spot.
    pub(crate) fn last<'a>(
        &'a self,
        mut spot: Spot<'a>,
        follow: Follow,
        links: &mut u32,
    ) -> Result<Spot<'a>, i32> {
        let dir = spot.parent;
        if follow == Follow::Create && spot.slash && !spot.dots {
            return Err(libc::EISDIR);
        }
        spot.node = match spot.name {
            b"" | b"." => Some(dir),
            b".." => Some(self.above(dir)?),
            name => self.lookup(dir, name)?,
        };
        let Some(ino) = spot.node else { return Ok(spot) };
        let follow = if follow == Follow::Slash && spot.slash { Follow::Yes } else { follow };
        match &self.nodes.get(ino).kind {
            Kind::Link(target) if matches!(follow, Follow::Yes | Follow::Create) => {
                count_link(links)?;
                let mut end = self.resolve(dir, target, follow, links)?;
                end.slash |= spot.slash;
                Ok(end)
            }
            _ => Ok(spot),
        }
    }

    fn above(&self, dir: Ino) -> Result<Ino, i32> {
        if self.nodes.is_root(dir) { Err(libc::EXDEV) } else { Ok(self.nodes.parent(dir)) }
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>, i32> {
        let names = self.nodes.names(dir)?;
        if name.len() > NAME_MAX {
            return Err(libc::ENAMETOOLONG);
        }
        Ok(names.get(name).copied())
    }

    /// The directory that a path lies in, by its number (0: the run directory), and what comes after that
    /// one's own path; `None`: it is absolute and lies in none.
    pub(crate) fn locate<'a>(&self, path: &'a [u8]) -> Option<Located<'a>> {
        if path.first() != Some(&b'/') {
            return Some((0, path));
        }
        // A further directory may lie in the run directory.
        let mut roots = self.roots.iter().enumerate().rev();
        roots.find_map(|(at, (root, _))| Some((at, below(path, root)?)))
    }
}

fn count_link(links: &mut u32) -> Result<(), i32> {
    *links += 1;
    if *links > LINKS_MAX { Err(libc::ELOOP) } else { Ok(()) }
}

/// The first name, without slashes before it, and what comes after it.
fn next_name(path: &[u8]) -> (&[u8], &[u8]) {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    let name = &path[start..];
    let end = name.iter().position(|byte| *byte == b'/').unwrap_or(name.len());
    name.split_at(end)
}

/// Longest name of an extended attribute.
const ATTRIBUTE_MAX: usize = 255;
/// `XATTR_SIZE_MAX` (linux/limits.h).
const VALUE_MAX: usize = 65_536;

impl MemFs {
    /// Finds or makes the file that an `open` asks for.
    pub(crate) fn open(&mut self, path: &[u8], flags: i32) -> Result<Ino, i32> {
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            return self.open_nameless(path, flags);
        }
        let create = flags & libc::O_CREAT != 0;
        let exclusive = create && flags & libc::O_EXCL != 0;
        let stays = exclusive || flags & libc::O_NOFOLLOW != 0;
        let follow = match (create, stays) {
            (true, true) if path.ends_with(b"/") => Follow::Create,
            (_, true) => Follow::Slash,
            (true, false) => Follow::Create,
            (false, false) => Follow::Yes,
        };
        let spot = self.spot(path, follow)?;
        let Some(ino) = spot.node else {
            if !create {
                return Err(libc::ENOENT);
            }
            let (parent, name) = (spot.parent, spot.name.to_vec());
            let kind = Kind::File(Content::default());
            return Ok(self.nodes.create(parent, &name, kind));
        };
        if exclusive {
            return Err(libc::EEXIST);
        }
        self.check_open(ino, flags, spot.slash)?;
        if flags & libc::O_TRUNC != 0 {
            self.nodes.change(ino, |content| content.resize(0))?;
        }
        Ok(ino)
    }

    /// A file without a name, on the file system of a directory.
    fn open_nameless(&mut self, path: &[u8], flags: i32) -> Result<Ino, i32> {
        let parent = self.find(path, Follow::Yes)?;
        self.nodes.names(parent)?;
        let kind = Kind::File(Content::default());
        let ino = self.nodes.create_nameless(parent, kind);
        self.nodes.get_mut(ino).linkable = flags & libc::O_EXCL == 0;
        Ok(ino)
    }

    /// Gives an open file a name. One that had names and has none left gets none.
    pub(crate) fn link_file(&mut self, ino: Ino, path: &[u8]) -> Done {
        let spot = self.spot(path, Follow::No)?;
        check_new(&spot, false)?;
        self.nodes.same_tree(ino, spot.parent)?;
        let node = self.nodes.get(ino);
        match node.kind {
            Kind::Directory { .. } => return Err(libc::EPERM),
            _ if node.links == 0 && !node.linkable => return Err(libc::ENOENT),
            _ => {}
        }
        let (parent, name) = (spot.parent, spot.name.to_vec());
        self.nodes.attach(parent, &name, ino);
        self.nodes.get_mut(ino).linkable = false;
        Ok(0)
    }

    fn check_open(&self, ino: Ino, flags: i32, slash: bool) -> Result<(), i32> {
        let directory = self.nodes.is_directory(ino);
        let changes = flags & (libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT) != 0;
        let must_be_directory = slash || flags & libc::O_DIRECTORY != 0;
        match &self.nodes.get(ino).kind {
            _ if must_be_directory && !directory => Err(libc::ENOTDIR),
            Kind::Link(_) if flags & libc::O_PATH == 0 => Err(libc::ELOOP),
            Kind::Directory { .. } if changes => Err(libc::EISDIR),
            _ => Ok(()),
        }
    }

    /// The size of a file in bytes, of a link that of its target, of a directory 0.
    pub(crate) fn size(&self, ino: Ino) -> i64 {
        match &self.nodes.get(ino).kind {
            Kind::File(content) => content.size() as i64,
            Kind::Link(target) => target.len() as i64,
            _ => 0,
        }
    }

    pub(crate) fn stat(&self, path: &[u8], follow: Follow) -> Done {
        Ok(self.size(self.find(path, follow)?))
    }

    pub(crate) fn exists(&self, path: &[u8]) -> Done {
        self.find(path, Follow::Yes).map(|_| 0)
    }

    pub(crate) fn truncate(&mut self, path: &[u8], size: u64) -> Done {
        if size > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let ino = self.find(path, Follow::Yes)?;
        self.nodes.change(ino, |content| content.resize(size)).map(|()| 0)
    }

    pub(crate) fn readlink(&self, path: &[u8]) -> Done {
        let ino = self.find(path, Follow::Slash)?;
        match &self.nodes.get(ino).kind {
            Kind::Link(target) => Ok(target.len() as i64),
            _ => Err(libc::EINVAL),
        }
    }

    pub(crate) fn unlink(&mut self, path: &[u8]) -> Done {
        let spot = self.spot(path, Follow::No)?;
        if spot.dots {
            return Err(libc::EISDIR);
        }
        let ino = spot.node.ok_or(libc::ENOENT)?;
        if self.nodes.is_directory(ino) {
            return Err(libc::EISDIR);
        }
        if spot.slash {
            return Err(libc::ENOTDIR);
        }
        let (parent, name) = (spot.parent, spot.name.to_vec());
        self.nodes.detach(parent, &name);
        Ok(0)
    }

    pub(crate) fn rmdir(&mut self, path: &[u8]) -> Done {
        let spot = self.spot(path, Follow::No)?;
        match spot.name {
            b"" | b"." => return Err(libc::EINVAL),
            b".." => return Err(libc::ENOTEMPTY),
            _ => {}
        }
        let ino = spot.node.ok_or(libc::ENOENT)?;
        if !self.nodes.names(ino)?.is_empty() {
            return Err(libc::ENOTEMPTY);
        }
        let (parent, name) = (spot.parent, spot.name.to_vec());
        self.nodes.detach(parent, &name);
        Ok(0)
    }

    /// Makes a name that must not exist yet.
    fn make(&mut self, path: &[u8], kind: Kind) -> Done {
        let spot = self.spot(path, Follow::No)?;
        check_new(&spot, matches!(kind, Kind::Directory { .. }))?;
        let (parent, name) = (spot.parent, spot.name.to_vec());
        self.nodes.create(parent, &name, kind);
        Ok(0)
    }

    pub(crate) fn mkdir(&mut self, path: &[u8]) -> Done {
        let kind = Kind::Directory { names: Box::default(), parent: 0 };
        self.make(path, kind)
    }

    pub(crate) fn symlink(&mut self, target: &[u8], path: &[u8]) -> Done {
        check_path(target)?;
        self.make(path, Kind::Link(target.into()))
    }

    pub(crate) fn link(&mut self, from: &[u8], to: &[u8]) -> Done {
        self.link_file(self.find(from, Follow::Slash)?, to)
    }

    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8], flags: u32) -> Done {
        let (exchanges, keeps) =
            (flags & libc::RENAME_EXCHANGE != 0, flags & libc::RENAME_NOREPLACE != 0);
        let (old, new) = (self.parent_spot(from)?, self.parent_spot(to)?);
        // Linux looks at that before it looks at the names.
        self.nodes.same_tree(old.parent, new.parent)?;
        if old.dots || new.dots {
            return Err(if keeps && !old.dots { libc::EEXIST } else { libc::EBUSY });
        }
        let old = self.last(old, Follow::No, &mut 0)?;
        let ino = old.node.ok_or(libc::ENOENT)?;
        let new = self.last(new, Follow::No, &mut 0)?;
        match new.node {
            Some(_) if keeps => return Err(libc::EEXIST),
            None if exchanges => return Err(libc::ENOENT),
            Some(target) if exchanges && new.slash && !self.nodes.is_directory(target) => {
                return Err(libc::ENOTDIR);
            }
            _ => {}
        }
        let directory = self.nodes.is_directory(ino);
        if !directory && (old.slash || new.slash && !exchanges) {
            return Err(libc::ENOTDIR);
        }
        if directory && self.nodes.is_above(ino, new.parent) {
            return Err(libc::EINVAL);
        }
        match new.node {
            Some(target) if exchanges && self.nodes.is_above(target, old.parent) => {
                return Err(libc::EINVAL);
            }
            Some(target) if target == ino => return Ok(0),
            Some(target) if !exchanges => self.check_replace(target, directory, old.parent)?,
            _ => {}
        }
        let (old_parent, old_name) = (old.parent, old.name.to_vec());
        let (new_parent, new_name) = (new.parent, new.name.to_vec());
        if let Some(target) = new.node.filter(|_| exchanges) {
            self.nodes.set_name(old_parent, &old_name, target);
            self.nodes.set_name(new_parent, &new_name, ino);
            return Ok(0);
        }
        self.nodes.detach(new_parent, &new_name);
        self.nodes.attach(new_parent, &new_name, ino);
        self.nodes.detach(old_parent, &old_name);
        Ok(0)
    }

    /// `rename` may put something (a directory or not, from `old_parent`) in place of `target`.
    fn check_replace(&self, target: Ino, directory: bool, old_parent: Ino) -> Result<(), i32> {
        match self.nodes.names(target) {
            Ok(_) if self.nodes.is_above(target, old_parent) => Err(libc::ENOTEMPTY),
            Ok(_) if !directory => Err(libc::EISDIR),
            Ok(names) if !names.is_empty() => Err(libc::ENOTEMPTY),
            Err(_) if directory => Err(libc::ENOTDIR),
            _ => Ok(()),
        }
    }
}

/// A name can be made here. Slashes may come only after the name of a directory.
fn check_new(spot: &Spot<'_>, directory: bool) -> Result<(), i32> {
    match spot.node {
        Some(_) => Err(libc::EEXIST),
        None if spot.slash && !directory => Err(libc::ENOENT),
        None => Ok(()),
    }
}

/// Extended attributes: xattr(7), of which programs have the namespace `user.`.
impl MemFs {
    pub(crate) fn setxattr(&mut self, path: &[u8], name: &CStr, value: &[u8]) -> Done {
        check_name(name)?;
        if value.len() > VALUE_MAX {
            return Err(libc::E2BIG);
        }
        let ino = self.attributed(path, name)?;
        let attributes = &mut self.nodes.get_mut(ino).attributes;
        attributes.insert(name.to_bytes().into(), value.into());
        Ok(0)
    }

    pub(crate) fn getxattr(&self, path: &[u8], name: &CStr, buf: &mut [u8]) -> Done {
        check_name(name)?;
        let ino = self.attributed(path, name)?;
        let value = self.nodes.get(ino).attributes.get(name.to_bytes()).ok_or(libc::ENODATA)?;
        buf.get_mut(..value.len()).ok_or(libc::ERANGE)?.copy_from_slice(value);
        Ok(value.len() as i64)
    }

    pub(crate) fn listxattr(&self, path: &[u8], buf: &mut [u8]) -> Done {
        let ino = self.find(path, Follow::Yes)?;
        let mut names = Vec::new();
        for name in self.nodes.get(ino).attributes.keys() {
            names.extend_from_slice(name);
            names.push(0);
        }
        buf.get_mut(..names.len()).ok_or(libc::ERANGE)?.copy_from_slice(&names);
        Ok(names.len() as i64)
    }

    pub(crate) fn removexattr(&mut self, path: &[u8], name: &CStr) -> Done {
        check_name(name)?;
        let ino = self.attributed(path, name)?;
        let removed = self.nodes.get_mut(ino).attributes.remove(name.to_bytes());
        removed.map(|_| 0).ok_or(libc::ENODATA)
    }

    /// Inode whose attributes are meant.
    fn attributed(&self, path: &[u8], name: &CStr) -> Result<Ino, i32> {
        let ino = self.find(path, Follow::Yes)?;
        match self.nodes.get(ino).kind {
            _ if !name.to_bytes().starts_with(b"user.") => Err(libc::EOPNOTSUPP),
            _ if name.to_bytes() == b"user." => Err(libc::EINVAL),
            Kind::File(_) | Kind::Directory { .. } => Ok(ino),
            Kind::Link(_) | Kind::Free => Err(libc::EPERM),
        }
    }
}

/// Checks that the kernel makes before it looks at any path.
fn check_name(name: &CStr) -> Result<(), i32> {
    match name.to_bytes().len() {
        1..=ATTRIBUTE_MAX => Ok(()),
        _ => Err(libc::ERANGE),
    }
}

/// The directory tree as a list, for those who look at a paused simulation.
impl MemFs {
    /// Names in all directories in their order, a directory before what is in it: the first `most` of them.
    pub(crate) fn list_tree(&self, most: usize) -> Vec<(Vec<u8>, TreeEntry)> {
        let mut found = Vec::new();
        for (at, (path, root)) in self.roots.iter().enumerate() {
            // Names in the run directory begin there, those in further ones with its path.
            let above = if at == 0 { &[][..] } else { path };
            self.add_names(*root, above, most, &mut found);
        }
        found
    }

    fn add_names(
        &self,
        directory: Ino,
        above: &[u8],
        most: usize,
        found: &mut Vec<(Vec<u8>, TreeEntry)>,
    ) {
        let Ok(names) = self.nodes.names(directory) else { return };
        let mut names: Vec<(&[u8], Ino)> =
            names.iter().map(|(name, ino)| (&**name, *ino)).collect();
        names.sort_unstable();
        for (name, ino) in names {
            if found.len() >= most {
                return;
            }
            let path = match above {
                [] => name.to_vec(),
                above => [above, name].join(&b'/'),
            };
            found.push((path.clone(), self.describe(ino)));
            self.add_names(ino, &path, most, found);
        }
    }

    fn describe(&self, ino: Ino) -> TreeEntry {
        let entry = TreeEntry::default();
        match &self.nodes.get(ino).kind {
            Kind::File(content) => {
                let (size_bytes, used_bytes) = (content.size(), content.room_bytes());
                TreeEntry { kind: "file", size_bytes, used_bytes, ..entry }
            }
            Kind::Link(target) => {
                let target = String::from_utf8_lossy(target).into_owned();
                TreeEntry { kind: "link", target, ..entry }
            }
            Kind::Directory { .. } | Kind::Free => TreeEntry { kind: "directory", ..entry },
        }
    }
}
