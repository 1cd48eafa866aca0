//! A text of another tool as a program, and what the program leaves out.
//!
//! ```text
//! [global]              param $bs = 4k; ...
//! rw=randread   ->
//! bs=4k                 not translated: ...
//! ```
//!
//! Reads from top to bottom: the translators ([`fio`], [`ior_script`], [`ior`], [`mdtest`], [`piobench`]) write on a
//! [`page`] what they read.

mod fio;
mod ior;
mod ior_script;
mod mdtest;
mod page;
mod piobench;

use crate::diag::has_errors;
use crate::foreign::command::{self, Command};
use crate::foreign::recognize::{Found, logical_lines, recognize};
use crate::foreign::shell::{self, Expanded};
use crate::resolve::resolve;
use crate::source::{Binding, NoIncludes, Sources};
use crate::{format, lower, parse};

/// Ranks for which a translation is compiled before it is given.
const RANKS: u32 = 4;

/// A program that does what the text of another tool does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The kind of text, with an article: "a fio job file".
    pub from: &'static str,
    /// The program, in the common style. It compiles.
    pub program: String,
    /// Options that are not in the program, as they were written.
    pub left_out: Vec<String>,
}

/// Why there is no translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTranslation {
    /// Nothing of the text shows a tool.
    Unknown,
    /// A language or tool that is only recognised: its name with an article, and what to do instead.
    Other(&'static str, &'static str),
    /// The text, with an article, has a mistake in a line, counted from 1.
    Mistake(&'static str, usize, String),
    /// No program does what the text, with an article, does; the reason.
    Refused(&'static str, String),
}

/// A mistake in a line of a text, counted from 0.
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) what: String,
}

/// A program and what it leaves out, or why there is none.
pub(super) type Translated = Result<(String, Vec<String>), String>;

/// Translates a job file of fio, a command line of fio, IOR or mdtest, a script of IOR or a configuration of PIObench.
///
/// # Errors
/// See [`NoTranslation`].
pub fn translate(text: &str) -> Result<Translation, NoTranslation> {
    let shown = logical_lines(text);
    let Expanded { text: expanded, loops } = shell::expand(&shown);
    let (found, _) = recognize(&shown).ok_or(NoTranslation::Unknown)?;
    let found = match found {
        Found::Command(_) => recognize(&expanded).map_or(found, |(found, _)| found),
        found => found,
    };
    let from = found.name();
    let mistake = |mistake: Mistake| NoTranslation::Mistake(from, mistake.line + 1, mistake.what);
    let translated = match &found {
        Found::FioJob => fio::translate_file(text),
        Found::IorScript => Ok(ior_script::translate(text).map_err(mistake)?),
        Found::PioBench => Ok(piobench::translate(text).map_err(mistake)?),
        Found::Command(command) => call(command),
        Found::Other(language) => return Err(NoTranslation::Other(language.name, language.hint)),
    };
    let refused = |why: String| NoTranslation::Refused(from, why);
    let (mut program, mut left_out) = translated.map_err(refused)?;
    if let Found::Command(command) = &found {
        for more in around(command, &expanded, &loops) {
            program += &format!("# not translated: {}\n", page::in_comment(&more));
            left_out.push(more);
        }
    }
    let program = compiled(&program)
        .ok_or_else(|| refused("a value is outside of what a program can have".into()))?;
    Ok(Translation { from, program, left_out })
}

/// Parts of a script that the program of its first command does not have.
fn around(command: &Command<'_>, script: &str, loops: &[String]) -> Vec<String> {
    let used = command.words.join(" ");
    let unset = shell::variables(&used).into_iter();
    let unset = unset.map(|name| format!("${name}, which the script does not set"));
    let others = script.lines().map(str::trim).filter(|line| command::find(line).is_some());
    let others = others.skip(1).map(|line| format!("the command {line}"));
    unset.chain(loops.iter().cloned()).chain(others).collect()
}

fn call(command: &Command<'_>) -> Translated {
    match command.tool.name {
        "fio" => fio::translate_command(command),
        "ior" => Ok(ior::translate(command)),
        _ => Ok(mdtest::translate(command)),
    }
}

/// The program in the common style, if it compiles.
fn compiled(program: &str) -> Option<String> {
    let mut sources = Sources::default();
    let (root, found) = sources.add("translation", program.as_bytes().to_vec());
    let (ast, mistakes) = parse::parse_plain(&mut sources, root, &mut NoIncludes);
    if has_errors(&found) || has_errors(&mistakes) {
        return None;
    }
    let (facts, twice) = resolve(&ast, &sources);
    let (_, mistakes) = lower::lower(&ast, &facts, &sources, &Binding::new(RANKS));
    (!has_errors(&twice) && !has_errors(&mistakes)).then(|| format(program).0)
}
