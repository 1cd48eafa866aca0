//! The directory tree as a list, for those who look at a paused simulation.

use super::node::{Ino, Kind, MemFs};
use model::watched::TreeEntry;

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
