//! A first word that is no subcommand: what was probably meant, and the whole line to type.
//!
//! ```text
//! $ parabench rn x.ppl
//! error: `rn` is not a subcommand of parabench
//!   help: the nearest is run: parabench run x.ppl
//! ```

use crate::args::Cli;
use crate::error::Error;
use crate::library;
use clap::CommandFactory;
use ppl::word::nearest;
use std::ffi::OsString;

/// Words under which other tools have a subcommand.
const OTHER_WORDS: &[(&str, &[&str])] = &[
    ("run", &["bench", "benchmark", "exec", "execute", "launch", "measure", "start", "test"]),
    ("check", &["lint", "validate", "verify", "compile"]),
    ("fmt", &["format", "indent", "tidy"]),
    ("plan", &["dry-run", "dryrun", "explain", "simulate"]),
    ("report", &["analyse", "analyze", "print", "result", "results", "show", "view"]),
    ("compare", &["cmp", "diff", "versus", "vs"]),
    ("fidelity", &["faithful", "faithfulness"]),
    ("ops", &["commands", "functions", "operations"]),
    ("programs", &["benchmarks", "examples", "library", "list", "ls"]),
    ("help", &["usage"]),
    ("man", &["manual"]),
    ("--version", &["version"]),
];

/// Why `words`, the call of the command with its name first, has no subcommand.
pub fn explain(words: &[OsString]) -> Error {
    let shown: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let word = shown.get(1).map_or("", String::as_str);
    let line = |first: &str| {
        let rest = shown.iter().skip(2).map(String::as_str);
        let all: Vec<&str> = ["parabench", first].into_iter().chain(rest).collect();
        all.join(" ")
    };
    let error = Error::input(format!("`{word}` is not a subcommand of parabench"));
    if let Some(program) = library::find(word) {
        let line = line(&format!("run @{}", program.name));
        return error.help(format!("it is a program that comes with Parabench: {line}"));
    }
    if let Some((verb, _)) = OTHER_WORDS.iter().find(|row| row.1.contains(&word)) {
        return error.help(format!("it is called {verb} here: {}", line(verb)));
    }
    let command = Cli::command();
    let verbs = || command.get_subcommands().map(clap::Command::get_name);
    error.help(match nearest(word, verbs()) {
        Some(verb) => format!("the nearest is {verb}: {}", line(verb)),
        None => format!("there are {}", verbs().collect::<Vec<_>>().join(" ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        explain(&words).help.unwrap_or_default()
    }

    #[test]
    fn the_help_is_a_line_to_type() {
        for (line, expected) in [
            ("parabench rn x.ppl", "the nearest is run: parabench run x.ppl"),
            ("parabench chekc x.ppl -n 4", "the nearest is check: parabench check x.ppl -n 4"),
            ("parabench exec x.ppl", "it is called run here: parabench run x.ppl"),
            ("parabench diff a b", "it is called compare here: parabench compare a b"),
            ("parabench version", "it is called --version here: parabench --version"),
            (
                "parabench stress num=3",
                "it is a program that comes with Parabench: parabench run @stress num=3",
            ),
            ("parabench frobnicate", "there are run check fmt plan"),
        ] {
            let found = help(line);
            assert!(found.starts_with(expected), "{line}: {found}");
        }
    }

    #[test]
    fn other_words_are_no_subcommands_and_lead_to_some() {
        let command = Cli::command();
        let is_verb = |word: &str| command.find_subcommand(word).is_some();
        for (verb, words) in OTHER_WORDS {
            assert!(is_verb(verb) || matches!(*verb, "help" | "--version"), "{verb}");
            assert!(!words.iter().any(|word| is_verb(word)), "{words:?}");
        }
    }
}
