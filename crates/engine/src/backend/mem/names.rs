//! Calls on names: open, unlink, rename, link, extended attributes and the like.
//!
//! The order of checks is that of Linux (fs/namei.c), since it decides which errno a
//! call gives that is wrong in two ways.

use super::content::{Content, SIZE_MAX};
use super::node::{Done, Follow, Ino, Kind, MemFs, Spot};
use crate::backend::lexical::check_path;
use std::ffi::CStr;

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
