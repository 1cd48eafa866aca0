//! The command that is recorded: where its program lies, and how it is shown.

use crate::error::{Error, Result};
use model::escape;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A command whose program was found.
pub struct Program {
    /// The file that is executed.
    pub path: PathBuf,
    /// The words as they were typed.
    pub words: Vec<OsString>,
}

impl Program {
    /// Looks for the program as the shell does.
    pub fn find(words: &[OsString]) -> Result<Program> {
        let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
        let shown = escape::line(&name.to_string_lossy());
        let places = env::var_os("PATH").unwrap_or_default();
        let path = match Path::new(name).components().count() {
            _ if name.to_string_lossy().contains('/') => Some(PathBuf::from(name)),
            _ => env::split_paths(&places).map(|place| place.join(name)).find(|p| is_program(p)),
        };
        let path = path.ok_or_else(|| {
            Error::input(format!("cannot record {shown}: there is no such program in PATH"))
                .help("name the file, for example ./app")
        })?;
        match fs::metadata(&path) {
            Ok(_) if is_program(&path) => Ok(Program { path, words: words.to_vec() }),
            Ok(_) => Err(Error::input(format!("cannot record {shown}: it is no program"))
                .help("name a file that can be executed (chmod +x)")),
            Err(error) => Err(Error::input(format!("cannot record {shown}: {error}"))),
        }
    }

    /// The folder for the run where none is named.
    pub fn default_out(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or(OsStr::new("command"));
        let mut folder = name.to_os_string();
        folder.push(".run");
        PathBuf::from(folder)
    }

    /// The words, as text.
    pub fn words(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The words on one line, as a shell would take them.
    pub fn line(&self) -> String {
        let words = self.words();
        // A command line holds no NUL, which alone cannot be quoted.
        escape::line(&shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default())
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Result<Program> {
        Program::find(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_program_is_found_as_the_shell_does() {
        let shell = found(&["sh", "-c", "echo 'a b'", ""]).unwrap_or_else(|e| panic!("{e:?}"));
        assert!(shell.path.is_absolute());
        assert_eq!(shell.line(), r#"sh -c "echo 'a b'" ''"#);
        assert_eq!(shell.default_out(), Path::new("sh.run"));
        for (word, message) in [
            ("no-such-program-anywhere", "no such program in PATH"),
            ("./no-such-file", "No such file"),
            ("/etc/passwd", "no program"),
            ("/", "no program"),
        ] {
            let error = found(&[word]).err().expect("no program");
            assert!(error.message.contains(message), "{}", error.message);
        }
    }
}
