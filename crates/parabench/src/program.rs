//! Reads the text of a program, wherever it comes from, and never more of it
//! than the limit.

use crate::error::{Error, Result};
use crate::library;
use ppl::source::MAX_SOURCE_BYTES;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
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
        None => Err(Error::input(format!("{name} is not a program that comes with Parabench"))
            .help(library::similar(name))),
    }
}

/// Reads a program from a file, or from a pipe such as that of `<(...)`; or says in a few words
/// why not.
fn read_file(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let kind = fs::metadata(path).map_err(|error| why_not(&error))?.file_type();
    match kind.is_fifo() {
        true => read_limited(File::open(path).map_err(|error| why_not(&error))?),
        false => read_regular(path),
    }
}

/// Reads a regular file, or says in a few words why not. Nothing else is opened: a pipe may never
/// give a byte, a device never an end.
pub fn read_regular(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let refuse = |kind: FileType| match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err("it is a directory, not a program".to_string()),
        _ => Err("it is no regular file".to_string()),
    };
    refuse(fs::metadata(path).map_err(|error| why_not(&error))?.file_type())?;
    // Should it be exchanged now, opening does not wait either.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file.map_err(|error| why_not(&error))?;
    refuse(file.metadata().map_err(|error| why_not(&error))?.file_type())?;
    read_limited(file)
}

/// Why a file cannot be read, in a few words.
pub fn why_not(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_string(),
        ErrorKind::PermissionDenied => "permission is denied".to_string(),
        _ => error.to_string(),
    }
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
