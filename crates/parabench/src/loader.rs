//! Finds included files: relative to the including file, then in the folders of `--include-dir`;
//! each has one name however it is reached, so that loops are found.
//!
//! Programs come from strangers, and a diagnostic shows the line it is about: so a file that lies
//! neither below the program's folder nor below one of `--include-dir` is not read, whatever leads
//! there (`..`, an absolute path, a symbolic link).

use crate::library;
use crate::program;
use ppl::Loader;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Reads included files from disk, and `@name` from the library.
pub struct Includes {
    /// Real path to the name it is shown under.
    names: HashMap<PathBuf, String>,
    /// Real paths of the folders in which included files may lie.
    roots: Vec<PathBuf>,
    /// The folders of `--include-dir`.
    folders: Vec<PathBuf>,
}

impl Includes {
    /// A loader for the program called `root`; a program that is not a file counts as one in the
    /// current directory.
    pub fn new(root: &str, folders: &[PathBuf]) -> Includes {
        let mut names = HashMap::new();
        let file = Path::new(root).canonicalize().ok().filter(|path| path.is_file());
        let own = file.as_deref().and_then(Path::parent).map_or_else(|| ".".into(), PathBuf::from);
        if let Some(path) = file {
            names.insert(path, root.to_string());
        }
        let all = std::iter::once(&own).chain(folders);
        let roots = all.filter_map(|folder| folder.canonicalize().ok()).collect();
        Includes { names, roots, folders: folders.to_vec() }
    }

    fn file(&mut self, from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        let places = self.folders.iter().map(|folder| folder.join(path));
        let places: Vec<PathBuf> = std::iter::once(beside).chain(places).collect();
        let missing = |place: &&PathBuf| match place.symlink_metadata() {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => false,
        };
        let shown = places.iter().find(|place| !missing(place)).unwrap_or(&places[0]);
        let real = shown.canonicalize().map_err(|error| program::why_not(&error))?;
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            return Err("it lies outside of the program's folder; --include-dir DIR allows \
                        another folder"
                .into());
        }
        let bytes = program::read_regular(&real)?;
        let name = || shown.to_string_lossy().into_owned();
        Ok((self.names.entry(real).or_insert_with(name).clone(), bytes))
    }
}

/// Reads files of data beside the program called `root`, which is kept to the same folders.
pub fn data_of(root: &str, folders: &[PathBuf]) -> ppl::Files {
    let (root, folders) = (root.to_string(), folders.to_vec());
    let from = if root.starts_with('@') { String::new() } else { root.clone() };
    Box::new(move |path| Includes::new(&root, &folders).file(&from, path).map(|found| found.1))
}

impl Loader for Includes {
    fn load(&mut self, from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        if !path.starts_with('@') && !from.starts_with('@') {
            return self.file(from, path);
        }
        let program = library::find_included(path);
        let program = program
            .ok_or_else(|| format!("there is no such program; {}", library::similar(path)))?;
        Ok((format!("@{}", program.name), program.text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name_however_it_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        for name in ["main.ppl", "lib/a.ppl"] {
            std::fs::write(folder.path().join(name), ";").unwrap();
        }
        let root = folder.path().join("main.ppl").to_str().unwrap().to_string();
        let mut loader = Includes::new(&root, &[]);
        let (a, _) = loader.load(&root, "lib/a.ppl").unwrap();
        assert_eq!(loader.load(&a, "../main.ppl").unwrap().0, root);
        assert_eq!(loader.load(&root, "lib/../lib/a.ppl").unwrap().0, a);
        assert!(loader.load(&root, "lib").unwrap_err().contains("directory"));
    }

    #[test]
    fn embedded_programs_include_embedded_ones_only() {
        let mut loader = Includes::new("@stress", &[]);
        assert_eq!(loader.load("@stress", "olap.ppl").unwrap().0, "@olap");
        assert!(loader.load("@stress", "/etc/hostname").is_err());
    }
}
