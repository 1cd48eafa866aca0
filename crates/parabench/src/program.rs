//! Reads the text of a program, wherever it comes from, and never more of it
//! than the limit.

use crate::error::{Error, Result};
use crate::library;
use ppl::source::MAX_SOURCE_BYTES;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The name under which a program from standard input is shown.
pub const STDIN: &str = "<stdin>";

/// A program as it was found.
#[derive(Clone)]
pub struct Text {
    /// Its name, for messages and for finding what it includes.
    pub name: String,
    /// Its bytes, not checked yet.
    pub bytes: Vec<u8>,
}

/// Reads a program: a file, `-` for standard input, or `@name` of the library.
pub fn read(program: &Path) -> Result<Text> {
    let name = program.to_string_lossy().into_owned();
    if name == "-" {
        let bytes = read_limited(io::stdin().lock()).map_err(|why| cannot_read(STDIN, &why))?;
        return Ok(Text { name: STDIN.into(), bytes });
    }
    if name.starts_with('@') {
        return embedded(&name);
    }
    let bytes = read_file(program).map_err(|why| cannot_read(&name, &why))?;
    Ok(Text { name, bytes })
}

fn embedded(name: &str) -> Result<Text> {
    match library::find(name) {
        Some(program) => Ok(Text { name: name.into(), bytes: program.text.into() }),
        None => {
            let names = library::PROGRAMS.iter().map(|p| format!("@{}", p.name));
            let names = names.collect::<Vec<_>>().join(" ");
            Err(Error::input(format!("{name} is not a program that comes with Parabench"))
                .help(format!("there are {names}; `parabench programs` describes them")))
        }
    }
}

/// Reads a file, or says in a few words why not.
pub fn read_file(path: &Path) -> std::result::Result<Vec<u8>, String> {
    if path.is_dir() {
        return Err("it is a directory, not a program".into());
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_string(),
        ErrorKind::PermissionDenied => "permission is denied".to_string(),
        _ => error.to_string(),
    })?;
    read_limited(file)
}

fn read_limited(source: impl Read) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let limit = MAX_SOURCE_BYTES as u64;
    source.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > limit {
        return Err(format!(
            "it is longer than the limit of {MAX_SOURCE_BYTES} bytes ({})",
            model::units::format_bytes(limit)
        ));
    }
    Ok(bytes)
}

fn cannot_read(name: &str, why: &str) -> Error {
    let error = Error::input(format!("cannot read the program {name}: {why}"));
    if why.contains("longer than") {
        error.help("write repetition with repeat, or split the program into several runs")
    } else if let Some(program) = library::find(name) {
        error.help(format!("did you mean @{}, which comes with Parabench?", program.name))
    } else {
        error.help("name a .ppl file, `-` for standard input, or a program of `parabench programs`")
    }
}
