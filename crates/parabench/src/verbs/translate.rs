//! `parabench translate`: texts of other benchmarks as programs.

use crate::error::{Error, Exit, Result};
use crate::output::{self, ANYTHING};
use crate::{console, program};
use clap::Args;
use model::words::count;
use ppl::{NoTranslation, Translation};
use std::path::{Path, PathBuf};

/// Turn a job of another benchmark into a program
///
/// FILE is a fio job file, a command line of fio, IOR or mdtest (also inside of a batch script), an IOR script, or a
/// configuration of PIObench. Options that change the work and that the program does not have are listed on standard
/// error, and in a comment of the program; the exit code is 1 then.
#[derive(Args)]
pub struct Translate {
    /// The text; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write the program here instead of printing it
    #[arg(short, long = "output", value_name = "x.ppl")]
    out: Option<PathBuf>,

    /// Replace the file of -o
    #[arg(long, requires = "out")]
    force: bool,

    /// Take a program that lacks some of the options: exit code 0
    #[arg(long)]
    partial: bool,
}

impl Translate {
    /// Prints or writes the program, and lists what it leaves out.
    pub fn execute(self) -> Result<Exit> {
        if let Some(out) = &self.out {
            output::check_program(out, "-o", ANYTHING, self.force)?;
        }
        let text = program::read(&self.file)?;
        let shown = String::from_utf8_lossy(&text.bytes);
        let translated = ppl::translate(&shown).map_err(|why| explain(&text.name, why))?;
        match &self.out {
            Some(out) => output::write(out, "-o", ANYTHING, translated.program.as_bytes())?,
            None => console::print_program(&translated.program)?,
        }
        say(&translated, self.out.as_deref());
        if translated.left_out.is_empty() || self.partial {
            return Ok(Exit::Success);
        }
        console::note(PARTIAL);
        Ok(Exit::Failed)
    }
}

const PARTIAL: &str = "the program does not do the same work without them: add what they do, or take it as it is \
                       with --partial (exit code 0)";

fn say(translated: &Translation, out: Option<&Path>) {
    if let Some(out) = out {
        let from = translated.from;
        console::say(&format!("{}: a program made of {from}\n", out.display()));
    }
    if translated.left_out.is_empty() {
        return;
    }
    let options = count(translated.left_out.len() as u64, "option");
    console::say(&format!("not translated, {options}:\n"));
    for option in &translated.left_out {
        console::say(&format!("  {option}\n"));
    }
}

fn explain(name: &str, why: NoTranslation) -> Error {
    const KNOWN: &str = "translate takes fio job files, command lines of fio, IOR and mdtest, IOR scripts and \
                         configurations of PIObench";
    match why {
        NoTranslation::Unknown => {
            Error::input(format!("{name} is no text of a benchmark that can be translated"))
                .help(KNOWN)
        }
        NoTranslation::Other(what, hint) => Error::input(format!("{name} is {what}")).help(hint),
        NoTranslation::Mistake(what, line, wrong) => {
            Error::input(format!("{name}:{line}: {wrong}")).help(format!("it was read as {what}"))
        }
        NoTranslation::Refused(what, reason) => {
            Error::input(format!("{name} is {what} that cannot be translated: {reason}"))
        }
    }
}
