//! From a path to a node, as path_resolution(7) describes it.
//!
//! The current directory is the root, nothing lies above it: paths that leave
//! give `EXDEV`, as [`crate::backend::Guarded`] does.

use super::MemFs;
use super::node::{Ino, Kind, ROOT};

const NAME_MAX: usize = 255;
const LINKS_MAX: u32 = 40;

/// Whether the link that the last name stands for is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    /// Always.
    Yes,
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
    /// What it stands for.
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

    /// What exists at a path; with slashes after it, it must be a directory.
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
        let (mut dir, mut rest) = match path.first() {
            Some(b'/') => (ROOT, self.below_root(path)?),
            _ => (start, path),
        };
        loop {
            let (name, after) = next_name(rest);
            let last = after.iter().all(|byte| *byte == b'/');
            if last {
                let slash = !after.is_empty() || name.is_empty();
                return self.last(
                    Spot { parent: dir, name, node: None, slash, dots: false },
                    follow,
                    links,
                );
            }
            dir = self.step(dir, name, links)?;
            rest = after;
        }
    }

    /// The directory that a name within a path stands for.
    fn step(&self, dir: Ino, name: &[u8], links: &mut u32) -> Result<Ino, i32> {
        let next = match name {
            b"." => dir,
            b".." => self.above(dir)?,
            name => {
                let ino = self.lookup(dir, name)?.ok_or(libc::ENOENT)?;
                match &self.nodes.get(ino).kind {
                    Kind::Link(target) => {
                        count_link(links)?;
                        let spot = self.resolve(dir, target, Follow::Yes, links)?;
                        spot.node.ok_or(libc::ENOENT)?
                    }
                    _ => ino,
                }
            }
        };
        self.nodes.names(next).map(|_| next)
    }

    fn last<'a>(
        &'a self,
        mut spot: Spot<'a>,
        follow: Follow,
        links: &mut u32,
    ) -> Result<Spot<'a>, i32> {
        let dir = spot.parent;
        spot.dots = matches!(spot.name, b"" | b"." | b"..");
        spot.node = match spot.name {
            b"" | b"." => Some(dir),
            b".." => Some(self.above(dir)?),
            name => self.lookup(dir, name)?,
        };
        let Some(ino) = spot.node else { return Ok(spot) };
        let followed = follow == Follow::Yes || (follow == Follow::Slash && spot.slash);
        match &self.nodes.get(ino).kind {
            Kind::Link(target) if followed => {
                count_link(links)?;
                let mut end = self.resolve(dir, target, Follow::Yes, links)?;
                end.slash |= spot.slash;
                Ok(end)
            }
            _ => Ok(spot),
        }
    }

    fn above(&self, dir: Ino) -> Result<Ino, i32> {
        if dir == ROOT { Err(libc::EXDEV) } else { Ok(self.nodes.parent(dir)) }
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>, i32> {
        let names = self.nodes.names(dir)?;
        if name.len() > NAME_MAX {
            return Err(libc::ENAMETOOLONG);
        }
        Ok(names.get(name).copied())
    }

    /// An absolute path without the root's own path and the slashes after it.
    fn below_root<'a>(&self, path: &'a [u8]) -> Result<&'a [u8], i32> {
        let inside = path.strip_prefix(self.path.as_slice()).ok_or(libc::EXDEV)?;
        if !inside.is_empty() && inside[0] != b'/' {
            return Err(libc::EXDEV);
        }
        Ok(inside)
    }
}

/// What the kernel checks before it looks at any name.
pub(super) fn check_path(path: &[u8]) -> Result<(), i32> {
    match path.len() {
        0 => Err(libc::ENOENT),
        length if length >= libc::PATH_MAX as usize => Err(libc::ENAMETOOLONG),
        _ => Ok(()),
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
