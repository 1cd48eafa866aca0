//! A file system in memory, which simulated ranks share.

use super::node::{Ino, Nodes};
use model::directory::Directory;
use std::cell::RefCell;
use std::rc::Rc;

/// A file system in memory.
#[derive(Debug)]
pub struct MemFs {
    pub(super) nodes: Nodes,
    pub(super) keeps_data: bool,
    /// Absolute path of the root, for absolute paths in calls.
    pub(super) path: Vec<u8>,
    /// Further directories, each a file system of its own: absolute path and root.
    pub(super) roots: Vec<(Vec<u8>, Ino)>,
    /// Permission bits that new files do not get.
    pub(super) umask: u32,
}

impl MemFs {
    /// An empty file system whose root has this absolute path. With `keeps_data`
    /// what is written can be read back; otherwise only sizes are kept.
    pub fn new(path: &str, keeps_data: bool) -> MemFs {
        let path = path.trim_end_matches('/').into();
        MemFs { nodes: Nodes::new(), keeps_data, path, roots: Vec::new(), umask: 0o022 }
    }

    /// Adds the further directories of a program.
    pub fn add(&mut self, directories: &[Directory]) {
        for directory in directories {
            let root = self.nodes.add_root();
            self.roots.push((directory.path.clone().into_bytes(), root));
        }
    }

    /// The same, to be shared by ranks.
    pub fn shared(path: &str, keeps_data: bool) -> Rc<RefCell<MemFs>> {
        Rc::new(RefCell::new(MemFs::new(path, keeps_data)))
    }
}
