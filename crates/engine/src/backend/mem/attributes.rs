//! Extended attributes: xattr(7), of which programs have the namespace `user.`.

use super::files::Done;
use super::fs::MemFs;
use super::node::{Ino, Kind};
use super::walk::Follow;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// Attributes of one file; most have none.
pub(super) type Attributes = BTreeMap<Box<[u8]>, Box<[u8]>>;

const NAME_MAX: usize = 255;
/// `XATTR_SIZE_MAX` (linux/limits.h).
const SIZE_MAX: usize = 65_536;

impl MemFs {
    pub(super) fn setxattr(&mut self, path: &[u8], name: &CStr, value: &[u8]) -> Done {
        check_name(name)?;
        if value.len() > SIZE_MAX {
            return Err(libc::E2BIG);
        }
        let ino = self.attributed(path, name)?;
        let attributes = &mut self.nodes.get_mut(ino).attributes;
        attributes.insert(name.to_bytes().into(), value.into());
        Ok(0)
    }

    pub(super) fn getxattr(&self, path: &[u8], name: &CStr, buf: &mut [u8]) -> Done {
        check_name(name)?;
        let ino = self.attributed(path, name)?;
        let value = self.nodes.get(ino).attributes.get(name.to_bytes()).ok_or(libc::ENODATA)?;
        buf.get_mut(..value.len()).ok_or(libc::ERANGE)?.copy_from_slice(value);
        Ok(value.len() as i64)
    }

    pub(super) fn listxattr(&self, path: &[u8], buf: &mut [u8]) -> Done {
        let ino = self.find(path, Follow::Yes)?;
        let mut names = Vec::new();
        for name in self.nodes.get(ino).attributes.keys() {
            names.extend_from_slice(name);
            names.push(0);
        }
        buf.get_mut(..names.len()).ok_or(libc::ERANGE)?.copy_from_slice(&names);
        Ok(names.len() as i64)
    }

    pub(super) fn removexattr(&mut self, path: &[u8], name: &CStr) -> Done {
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
        1..=NAME_MAX => Ok(()),
        _ => Err(libc::ERANGE),
    }
}
