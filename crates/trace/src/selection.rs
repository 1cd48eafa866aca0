//! Selection of the program's data files, and their paths in the run.

use std::collections::BTreeSet;

/// Directories of the system: what programs read there is not their data.
const SYSTEM: &[&[u8]] = &[
    b"/proc", b"/sys", b"/dev", b"/run", b"/etc", b"/usr", b"/lib", b"/lib32", b"/lib64",
    b"/libx32", b"/bin", b"/sbin", b"/boot", b"/opt", b"/snap", b"/nix",
];
/// Memory below those directories in which programs keep files.
const DATA: &[u8] = b"/dev/shm";

/// The files that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All but files of the system.
    Data,
    /// Those below the directory with this name. A relative one begins where the log does, and where the log
    /// does not tell that, in `here`.
    Below {
        /// Its name.
        name: Vec<u8>,
        /// The directory of who asks.
        here: Vec<u8>,
    },
    /// All.
    All,
}

/// Decides which files are kept, each path once.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The files that are kept.
    pub which: Selection,
    /// By number of the path; `None`: not asked yet.
    decided: Vec<Option<bool>>,
    /// Paths that are made, removed or renamed, and so cannot be the directory of the run.
    changing: BTreeSet<u32>,
}

impl Scope {
    /// Nothing is decided yet.
    pub fn new(which: Selection) -> Scope {
        Scope { which, decided: Vec::new(), changing: BTreeSet::new() }
    }

    /// The log begins in this directory.
    pub fn begins(&mut self, start: &[u8]) {
        if let Selection::Below { here, .. } = &mut self.which {
            *here = start.to_vec();
        }
    }

    /// The file with this path is kept.
    pub fn keeps(&mut self, path: u32, text: &[u8]) -> bool {
        let at = path as usize;
        if at >= self.decided.len() {
            self.decided.resize(at + 1, None);
        }
        let which = &self.which;
        *self.decided[at].get_or_insert_with(|| which.keeps(text))
    }

    /// A path is made, removed or renamed. True if it is that of the directory itself which somebody asks
    /// for; else that directory will be one above.
    pub fn changes(&mut self, path: u32, text: &[u8]) -> bool {
        let is_root = self.which.is_root(text);
        if !is_root {
            self.changing.insert(path);
        }
        is_root
    }

    /// The directory that all kept paths are below, and all paths as seen from there. `start`: the
    /// directory of relative ones.
    pub fn mapped(&self, paths: &[&[u8]], start: Option<&[u8]>) -> (Vec<u8>, Vec<Vec<u8>>) {
        let absolute: Vec<Vec<u8>> = paths.iter().map(|path| absolute(path, start)).collect();
        let kept = absolute.iter().enumerate();
        let kept = kept.filter(|(at, _)| self.decided.get(*at) == Some(&Some(true)));
        let kept = kept.map(|(_, path)| &path[..]).filter(|path| path.starts_with(b"/"));
        let root = match &self.which {
            Selection::Below { name, here } => joined(here, name),
            _ => {
                let is_kept = |at: &&u32| self.decided.get(**at as usize) == Some(&Some(true));
                let changing = self.changing.iter().filter(is_kept);
                let changing = changing.filter_map(|at| absolute.get(*at as usize));
                let above = changing.filter(|path| path.starts_with(b"/")).map(|path| parent(path));
                common(kept.chain(above))
            }
        };
        let seen = absolute.iter().map(|path| below(path, &root)).collect();
        (root, seen)
    }
}

impl Selection {
    /// The path is that of the directory whose files are kept.
    pub fn is_root(&self, path: &[u8]) -> bool {
        match self {
            Selection::All | Selection::Data => false,
            Selection::Below { name, here } => match seen_from_start(path, name) {
                true => path == joined(b"", name) || (path == b"." && joined(b"", name).is_empty()),
                false => path == joined(here, name),
            },
        }
    }

    /// The file with this path is kept.
    pub fn keeps(&self, path: &[u8]) -> bool {
        let is_system = SYSTEM.iter().any(|directory| is_below(path, directory));
        match self {
            Selection::All => true,
            Selection::Data => !is_system || is_below(path, DATA),
            Selection::Below { name, here } => match seen_from_start(path, name) {
                true if joined(b"", name).is_empty() => !path.starts_with(b".."),
                true => is_below(path, &joined(b"", name)),
                false => is_below(path, &joined(here, name)),
            },
        }
    }
}

/// Both are relative: the log does not tell where it begins.
fn seen_from_start(path: &[u8], name: &[u8]) -> bool {
    !path.starts_with(b"/") && !name.starts_with(b"/")
}

/// The directory that `name` leads to from `here`.
fn joined(here: &[u8], name: &[u8]) -> Vec<u8> {
    let here = if name.starts_with(b"/") { b"/" } else { here };
    let mut path: Vec<&[u8]> = Vec::new();
    for part in [here, name].into_iter().flat_map(|path| path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." if path.last().is_some_and(|last| *last != b"..") => drop(path.pop()),
            part => path.push(part),
        }
    }
    let root: &[u8] = if here.starts_with(b"/") { b"/" } else { b"" };
    [root, &path.join(&b'/')].concat()
}

/// `path` is `directory`, or in it.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

fn absolute(path: &[u8], start: Option<&[u8]>) -> Vec<u8> {
    match start {
        Some(start) if path == b"." => start.to_vec(),
        Some(start) if !path.starts_with(b"/") => [start, b"/", path].concat(),
        _ => path.to_vec(),
    }
}

/// The deepest directory that holds all paths; "" without any.
fn common<'a>(mut paths: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let Some(first) = paths.next() else { return Vec::new() };
    let mut root = parent(first);
    for path in paths {
        while !is_below(path, root) {
            root = parent(root);
        }
    }
    if root.is_empty() { b"/".to_vec() } else { root.to_vec() }
}

fn parent(path: &[u8]) -> &[u8] {
    &path[..path.iter().rposition(|b| *b == b'/').unwrap_or(0)]
}

/// The path as seen from `root`. It never leaves it: `..` before its beginning is written `up`, and
/// what lies elsewhere below `outside`.
fn below(path: &[u8], root: &[u8]) -> Vec<u8> {
    let parts = |text: &[u8]| {
        let parts = text.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let parts = parts.map(|part| if part == b".." { &b"up"[..] } else { part });
        parts.collect::<Vec<_>>().join(&b'/')
    };
    let inside = match path.starts_with(b"/") {
        false => parts(path),
        true if is_below(path, root) => parts(&path[root.len().min(path.len())..]),
        true => [b"outside/", &parts(path)[..]].concat(),
    };
    if inside.is_empty() { b".".to_vec() } else { inside }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below_of(name: &str, here: &str) -> Selection {
        Selection::Below { name: name.into(), here: here.into() }
    }

    fn mapped(which: Selection, paths: &[&str], start: Option<&str>) -> (String, Vec<String>) {
        let mut scope = Scope::new(which);
        let paths: Vec<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
        for (at, path) in paths.iter().enumerate() {
            scope.keeps(at as u32, path);
        }
        let (root, seen) = scope.mapped(&paths, start.map(str::as_bytes));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(root), seen.into_iter().map(text).collect())
    }

    #[test]
    fn paths_are_seen_from_their_common_directory() {
        let (root, seen) =
            mapped(Selection::Data, &["/d/a/f", "/d/b", "/usr/lib/x", "g"], Some("/d"));
        assert_eq!((root.as_str(), &seen[..2]), ("/d", &["a/f".to_string(), "b".into()][..]));
        assert_eq!((seen[2].as_str(), seen[3].as_str()), ("outside/usr/lib/x", "g"));
        let (root, seen) = mapped(below_of("/d/a", ""), &["/d/a/f", "/d/ab"], None);
        assert_eq!((root.as_str(), seen), ("/d/a", vec!["f".into(), "outside/d/ab".into()]));
        let (root, seen) = mapped(Selection::All, &["../../etc/x", "a", "."], None);
        assert_eq!((root.as_str(), seen), ("", vec!["up/up/etc/x".into(), "a".into(), ".".into()]));
        assert_eq!(mapped(Selection::All, &["/a", "/b"], None).0, "/");
    }

    #[test]
    fn a_relative_directory_begins_where_the_log_does() {
        let relative = |name: &str| below_of(name, "/home/u");
        for (name, path, kept) in [
            ("d3", "/home/u/d3/f", true),
            ("./d3/", "/home/u/d3/f", true),
            ("../v", "/home/v/f", true),
            ("d3", "/home/d3/f", false),
            ("d3", "d3/f", true),
            ("d3", "d30/f", false),
            (".", "f", true),
        ] {
            assert_eq!(relative(name).keeps(path.as_bytes()), kept, "{name} {path}");
        }
        let mut scope = Scope::new(relative("d"));
        scope.begins(b"/data");
        assert!(scope.keeps(0, b"/data/d/f"));
        let seen = scope.mapped(&[b"/data/d/f"], Some(b"/data"));
        assert_eq!(seen, (b"/data/d".to_vec(), vec![b"f".to_vec()]));
    }

    #[test]
    fn a_directory_that_is_made_is_not_that_of_the_run() {
        let mut scope = Scope::new(Selection::Data);
        let paths: [&[u8]; 2] = [b"/d/a/f", b"/d/a"];
        (0..).zip(paths).for_each(|(at, path)| assert!(scope.keeps(at, path)));
        assert_eq!(scope.mapped(&paths, None).0, b"/d/a");
        assert!(!scope.changes(1, paths[1]));
        assert_eq!(scope.mapped(&paths, None).0, b"/d");
        let relative = |name: &str| below_of(name, "/d");
        for (which, path, is_root) in [
            (below_of("/d/a/", ""), "/d/a", true),
            (below_of("/d/a", ""), "/d/a/b", false),
            (relative("a"), "/d/a", true),
            (relative("a"), "a", true),
            (relative("."), ".", true),
            (relative("."), "a", false),
        ] {
            assert_eq!(Scope::new(which).changes(0, path.as_bytes()), is_root, "{path}");
        }
    }

    #[test]
    fn the_system_is_left_out() {
        for (path, kept) in [
            ("/usr/lib/x", false),
            ("/usrx", true),
            ("/dev/shm/x", true),
            ("/dev/null", false),
            ("x", true),
        ] {
            assert_eq!(Selection::Data.keeps(path.as_bytes()), kept, "{path}");
        }
    }
}
