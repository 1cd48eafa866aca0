//! Finds included files: relative to the including file, each under one name
//! however it is reached, so that loops are found.

use crate::library;
use crate::program;
use ppl::Loader;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reads included files from disk, and `@name` from the library.
pub struct Includes {
    /// Real path to the name it is shown under.
    names: HashMap<PathBuf, String>,
}

impl Includes {
    /// A loader for the program called `root`.
    pub fn of(root: &str) -> Includes {
        let mut names = HashMap::new();
        if let Ok(path) = Path::new(root).canonicalize() {
            names.insert(path, root.to_string());
        }
        Includes { names }
    }

    fn file(&mut self, from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        let shown = folder.join(path);
        let bytes = program::read_file(&shown)?;
        let real = shown.canonicalize().unwrap_or_else(|_| shown.clone());
        let name = || shown.to_string_lossy().into_owned();
        Ok((self.names.entry(real).or_insert_with(name).clone(), bytes))
    }
}

impl Loader for Includes {
    fn load(&mut self, from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        if !path.starts_with('@') && !from.starts_with('@') {
            return self.file(from, path);
        }
        let program = library::find_included(path);
        let program = program.ok_or("there is no such program; `parabench programs` lists them")?;
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
        let mut loader = Includes::of(&root);
        let (a, _) = loader.load(&root, "lib/a.ppl").unwrap();
        assert_eq!(loader.load(&a, "../main.ppl").unwrap().0, root);
        assert_eq!(loader.load(&root, "lib/../lib/a.ppl").unwrap().0, a);
        assert!(loader.load(&root, "lib").unwrap_err().contains("directory"));
    }

    #[test]
    fn embedded_programs_include_embedded_ones_only() {
        let mut loader = Includes::of("@stress");
        assert_eq!(loader.load("@stress", "olap.ppl").unwrap().0, "@olap");
        assert!(loader.load("@stress", "/etc/hostname").is_err());
    }
}
