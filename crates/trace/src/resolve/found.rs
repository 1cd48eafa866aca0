//! Facts about files that operations do not show: the size of a file that is only removed, and the
//! target of a symbolic link that existed before.

use model::run::TraceFound;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Files that are listed.
const LISTED_MAX: usize = 100_000;

/// By ids of paths; of several files with a name the first one counts.
#[derive(Debug, Default)]
pub(crate) struct Found {
    sizes: BTreeMap<u32, u64>,
    /// Targets of links.
    links: BTreeMap<u32, u32>,
    /// Names that became links, or something else, in the log.
    made: FxHashSet<u32>,
    /// Files without room in the list.
    left_out: u64,
}

impl Found {
    /// A file was removed.
    pub(crate) fn size(&mut self, path: u32, bytes: u64) {
        if self.sizes.len() < LISTED_MAX {
            self.sizes.entry(path).or_insert(bytes);
        } else if !self.sizes.contains_key(&path) {
            self.left_out += 1;
        }
    }

    /// A link was read.
    pub(crate) fn link(&mut self, path: u32, target: u32) {
        if self.made.contains(&path) {
            return;
        }
        if self.links.len() < LISTED_MAX {
            self.links.entry(path).or_insert(target);
        } else if !self.links.contains_key(&path) {
            self.left_out += 1;
        }
    }

    /// A name is that of something else now.
    pub(crate) fn makes(&mut self, path: u32) {
        self.made.insert(path);
    }

    /// All facts with the paths of the ids, and the number of files beyond the limit. Names that
    /// are not UTF-8 are left out.
    pub(crate) fn list(&self, paths: &[Vec<u8>]) -> (Vec<TraceFound>, u64) {
        let text = |id: u32| String::from_utf8(paths.get(id as usize)?.clone()).ok();
        let sizes = self.sizes.iter().filter_map(|(path, bytes)| {
            let path = text(*path)?;
            Some(TraceFound { path, size_bytes: Some(*bytes), ..TraceFound::default() })
        });
        let links = self.links.iter().filter_map(|(path, target)| {
            let (path, target) = (text(*path)?, Some(text(*target)?));
            Some(TraceFound { path, target, ..TraceFound::default() })
        });
        (sizes.chain(links).collect(), self.left_out)
    }
}
