//! `parabench fmt`: programs in the common style.

use crate::console;
use crate::diagnostics;
use crate::error::{Error, Exit, Result};
use crate::program;
use clap::Args;
use ppl::Sources;
use report::file::AtomicFile;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bring programs into the common style, in place
///
/// Comments stay where they are. A program with mistakes is shown with them and
/// left alone (exit code 2).
#[derive(Args)]
pub struct Fmt {
    /// Programs; `-` reads standard input and writes standard output
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,

    /// Change nothing; name the files that would change and exit with 1 if there are any
    #[arg(long, conflicts_with = "stdout")]
    check: bool,

    /// Write the result to standard output and leave the files alone
    #[arg(long)]
    stdout: bool,
}

impl Fmt {
    /// Formats all files; one with mistakes does not keep the others from it.
    pub fn execute(self) -> Result<Exit> {
        let mut exit = Exit::Success;
        for file in &self.files {
            exit = exit.and(self.format(file).unwrap_or_else(|error| {
                console::error(&error);
                error.exit
            }));
        }
        Ok(exit)
    }

    fn format(&self, file: &Path) -> Result<Exit> {
        let text = program::read(file)?;
        let name = text.name;
        let text = String::from_utf8(text.bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            Error::input(format!("{name} is not UTF-8 text: byte {offset} is not valid"))
        })?;
        let (formatted, mistakes) = ppl::format(&text);
        if ppl::diag::has_errors(&mistakes) {
            let mut sources = Sources::default();
            let _ = sources.add(&name, text.into_bytes());
            console::say_made(&diagnostics::draw(&mistakes, &sources, console::columns()));
            console::say(&format!("{name}: {}; left as it is\n", diagnostics::summary(&mistakes)));
            return Ok(Exit::Input);
        }
        self.deliver(file, &name, &text, &formatted)
    }

    fn deliver(&self, file: &Path, name: &str, text: &str, formatted: &str) -> Result<Exit> {
        let is_embedded = name.starts_with('@');
        if self.check {
            if text == formatted {
                return Ok(Exit::Success);
            }
            console::print(&format!("{name}\n"))?;
            return Ok(Exit::Failed);
        }
        if self.stdout || is_embedded || name == program::STDIN {
            console::print_program(formatted)?;
        } else if text != formatted {
            replace(file, formatted.as_bytes())
                .map_err(|error| Error::failed(format!("cannot write {name}: {error}")))?;
        }
        Ok(Exit::Success)
    }
}

/// Replaces a file at once: a crash leaves the old text or the new one. Through a symbolic link, the
/// file it points at is replaced and the link stays.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = file.canonicalize()?;
    let fresh = AtomicFile::create(&file)?;
    let mut out = fresh.handle()?;
    out.write_all(bytes)?;
    out.set_permissions(fs::metadata(&file)?.permissions())?;
    fresh.commit()
}
