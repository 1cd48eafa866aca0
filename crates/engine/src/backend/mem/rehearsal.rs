//! Access of a rehearsal to files in memory, besides calls.

use super::content::Content;
use super::node::{Kind, MemFs, Used};
use super::rank::Mem;
use super::walk::Follow;
use crate::backend::lexical;
use crate::call::Fd;
use model::directory::below;
use model::pattern::Run;

/// A file or directory that a rehearsal puts where a program's would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// A directory.
    Directory,
    /// A file of this size, all of which takes room.
    File(u64),
    /// A file from before the program; reads find what they ask for.
    Found,
}

impl MemFs {
    /// Space in use now, by directory: the run directory, then further ones.
    pub(crate) fn used(&self) -> &[Used] {
        &self.nodes.used
    }

    /// [`MemFs::used`] may be too much.
    pub(crate) fn is_rough(&self) -> bool {
        self.nodes.is_rough
    }

    /// The further directory that an absolute path lies in: its path.
    pub(crate) fn root_of(&self, path: &[u8]) -> Option<&[u8]> {
        let mut roots = self.roots[1..].iter().map(|(root, _)| &root[..]);
        roots.find(|root| below(path, root).is_some())
    }

    /// Number of what is at a path; symbolic links at its end are not followed.
    pub(crate) fn number(&self, path: &[u8]) -> Result<u32, i32> {
        self.find(path, Follow::No)
    }

    /// The same for a directory, or what a link leads to.
    pub(crate) fn is_directory(&self, number: u32) -> bool {
        self.nodes.is_directory(number)
    }

    /// Size of a file and the room it takes, bytes.
    pub(crate) fn extent(&self, number: u32) -> (u64, u64) {
        self.nodes.content(number).map_or((0, 0), |content| (content.size(), content.room_bytes()))
    }

    /// The number is that of a file, directory or link.
    pub(crate) fn is_there(&self, number: u32) -> bool {
        !matches!(self.nodes.get(number).kind, Kind::Free)
    }

    /// A file grows by what iterations would have added that a rehearsal leaves out.
    pub(crate) fn grow(&mut self, number: u32, size_bytes: u64, room_bytes: u64) {
        let _ = self.nodes.change(number, |content| content.grow(size_bytes, room_bytes));
    }

    /// Puts something where nothing is; the directory above must be there.
    pub(crate) fn plant(&mut self, path: &[u8], what: Planted) -> Result<(), i32> {
        let spot = self.spot(path, Follow::No)?;
        let (parent, name) = (spot.parent, spot.name.to_vec());
        let mut content = Content::default();
        content.found = what == Planted::Found;
        let kind = match what {
            Planted::Directory => Kind::Directory { names: Box::default(), parent },
            _ => Kind::File(content),
        };
        let number = self.nodes.create(parent, &name, kind);
        match what {
            Planted::File(size) => {
                self.nodes.change(number, |content| content.put(&Run::single(0, size)))
            }
            _ => Ok(()),
        }
    }

    /// Puts a symbolic link where nothing is, unless it leaves the directory.
    pub(crate) fn plant_link(&mut self, path: &[u8], target: &[u8]) -> Result<(), i32> {
        match lexical::stays(target, path, |path| self.locate(path)) {
            true => self.symlink(target, path).map(drop),
            false => Err(libc::EXDEV),
        }
    }

    /// Turns a planted file of unknown kind into a directory; `false`: it has
    /// been written or is none of those.
    pub(crate) fn found_is_directory(&mut self, path: &[u8]) -> bool {
        let (Ok(number), Ok(spot)) = (self.number(path), self.spot(path, Follow::No)) else {
            return false;
        };
        let parent = spot.parent;
        let is_blank = self.nodes.content(number).is_ok_and(|file| file.found && file.size() == 0);
        if is_blank {
            let node = self.nodes.get_mut(number);
            node.kind = Kind::Directory { names: Box::default(), parent };
        }
        is_blank
    }
}

impl Mem {
    /// The file behind a descriptor.
    pub(crate) fn number(&mut self, fd: Fd) -> Option<u32> {
        self.files.get(fd).ok().map(|open| open.ino)
    }

    /// Writes through this descriptor go to the end of the file.
    pub(crate) fn appends(&mut self, fd: Fd) -> bool {
        self.files.file(fd).is_ok_and(|open| open.appends())
    }

    /// The size of the file is unknown.
    pub(crate) fn has_unknown_size(&mut self, fd: Fd) -> bool {
        let number = self.number(fd);
        let fs = self.fs.borrow();
        number.and_then(|number| fs.nodes.content(number).ok()).is_some_and(|file| file.found)
    }
}
