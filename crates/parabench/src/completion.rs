//! Completion in shells: the script that `parabench completions` prints asks this binary for every word, so that it knows
//! the programs of the library, the parameters of the program on the line, operations, and folders of runs.

use crate::args::Cli;
use crate::error::Exit;
use crate::library::FAMILIES;
use crate::program;
use crate::verbs::params;
use clap::CommandFactory;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

/// Is set where a shell asks, to its name.
const VARIABLE: &str = "PARABENCH_COMPLETE";

const ZSH_ANSWER: &str =
    r#"if [ "$funcstack[1]" = _parabench ]; then _clap_dynamic_completer_parabench "$@"; fi"#;

/// Answers a shell; `None`: none has asked.
pub fn answer() -> Option<Exit> {
    let here = env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    match asked.try_complete(env::args_os(), here.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Exit::Success),
        Err(error) => {
            let _ = error.print();
            Some(Exit::Input)
        }
    }
}

/// Names of the shells for which there is a script.
pub fn shells() -> Vec<&'static str> {
    Shells::builtins().names().collect()
}

/// Writes the script for a shell of [`shells`].
///
/// # Errors
/// Those of `out`.
pub fn write_script(shell: &str, out: &mut dyn Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let script = shells.completer(shell).ok_or(io::ErrorKind::NotFound)?;
    script.write_registration(VARIABLE, "parabench", "parabench", "parabench", out)?;
    if shell == "zsh" {
        // As a file in `fpath` it is executed for the first word that is completed, which it must answer, too.
        writeln!(out, "{ZSH_ANSWER}")?;
    }
    Ok(())
}

/// `@name` of the library, and files of programs.
pub fn programs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let listed = FAMILIES.iter().flat_map(|family| family.programs);
        let listed = listed.map(|(program, line)| with_help(format!("@{}", program.name), line));
        let is_program = |path: &Path| path.extension().is_some_and(|ending| ending == "ppl");
        let files = PathCompleter::any().filter(is_program).complete(current);
        beginning(listed, current).chain(files).collect()
    })
}

/// `name=` of the parameters of the program on the line.
pub fn parameters() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let words: Vec<OsString> = env::args_os().skip_while(|word| word != "--").skip(2).collect();
        let program = words.iter().map(Path::new).find(|word| is_program(word));
        let text = program.and_then(|program| program::read(program).ok());
        let found = text.map_or_else(Vec::new, params::read);
        let found = found.into_iter().map(|param| {
            let help = format!("{} [{}]", param.doc, param.default);
            with_help(format!("{}=", param.name), help.trim_start())
        });
        beginning(found, current).collect()
    })
}

/// Whether a word of the command line means a program: nothing else of it looks so.
fn is_program(word: &Path) -> bool {
    let is_listed = word.to_string_lossy().starts_with('@');
    is_listed || word.extension().is_some_and(|ending| ending == "ppl")
}

/// Operations and other words that `parabench ops` describes.
pub fn operations() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        beginning(::report::ops::names().map(CompletionCandidate::new), current).collect()
    })
}

/// Folders of runs; other folders lead to them.
pub fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(PathCompleter::any().filter(|path| path.join("run.json").is_file()))
}

fn with_help(value: String, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_string().into()))
}

/// The candidates that go on from what is typed.
fn beginning(
    all: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> impl Iterator<Item = CompletionCandidate> {
    let typed = current.as_encoded_bytes();
    all.filter(move |one| one.get_value().as_encoded_bytes().starts_with(typed))
}
