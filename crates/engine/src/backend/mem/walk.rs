//! From a path to a node, as path_resolution(7) describes it.
//!
//! The current directory is the root, nothing lies above it: paths that leave
//! give `EXDEV`, as [`crate::backend::Beneath`] does.

use super::node::{Ino, Kind, MemFs, ROOT};
use crate::backend::lexical::Located;
use crate::backend::refused::check_path;
use model::directory::below;

const NAME_MAX: usize = 255;
const LINKS_MAX: u32 = 40;

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
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
pub(super) struct Spot<'a> {
    /// Directory that has, or would have, the last name.
    pub(super) parent: Ino,
    /// The last name.
    pub(super) name: &'a [u8],
    /// Node of the last name, if it exists.
    pub(super) node: Option<Ino>,
    /// Slashes come after it.
    pub(super) slash: bool,
    /// It is `.` or `..`, or there is none (the root itself).
    pub(super) dots: bool,
}

impl MemFs {
    /// Where the path of a call ends.
    pub(super) fn spot<'a>(&'a self, path: &'a [u8], follow: Follow) -> Result<Spot<'a>, i32> {
        check_path(path)?;
        self.resolve(ROOT, path, follow, &mut 0)
    }

    /// The same without looking at the last name.
    pub(super) fn parent_spot<'a>(&'a self, path: &'a [u8]) -> Result<Spot<'a>, i32> {
        check_path(path)?;
        self.to_parent(ROOT, path, &mut 0)
    }

    /// Finds the node at a path; with slashes after it, it must be a directory.
    pub(super) fn find(&self, path: &[u8], follow: Follow) -> Result<Ino, i32> {
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
    pub(super) fn last<'a>(
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
    pub(super) fn locate<'a>(&self, path: &'a [u8]) -> Option<Located<'a>> {
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
