//! The spelling of the released Parabench 1.0: `parabench [options] PROGRAM`,
//! without a subcommand, means `parabench run`.

use crate::args::Cli;
use clap::CommandFactory;
use std::ffi::OsString;
use std::path::Path;

/// The words with `run` put in where a call has no subcommand.
pub fn with_verb(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|first| starts_a_run(&first.to_string_lossy())) {
        words.insert(1, "run".into());
    }
    words
}

/// A word that can only be the start of a run: an option that is not the
/// command's own, or something that is a program rather than a subcommand.
fn starts_a_run(word: &str) -> bool {
    if word.starts_with('-') && word != "-" {
        return !matches!(word, "-h" | "--help" | "-V" | "--version");
    }
    let is_verb = word == "help" || Cli::command().find_subcommand(word).is_some();
    !is_verb && (word == "-" || word.starts_with('@') || is_program(Path::new(word)))
}

/// A file, or what is missing but would be one: then `run` says that it cannot be read.
fn is_program(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("ppl" | "pbl")) || path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> String {
        let words = with_verb(line.split(' ').map(OsString::from).collect());
        words.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn released_calls_run() {
        assert_eq!(changed("parabench -e -a x.pbl"), "parabench run -e -a x.pbl");
        assert_eq!(changed("parabench @stress num=1"), "parabench run @stress num=1");
        assert_eq!(changed("parabench -"), "parabench run -");
        assert_eq!(changed("parabench Cargo.toml"), "parabench run Cargo.toml");
        assert_eq!(changed("parabench missing.ppl"), "parabench run missing.ppl");
    }

    #[test]
    fn calls_with_a_verb_stay() {
        for line in [
            "parabench",
            "parabench --help",
            "parabench -V",
            "parabench check x.ppl",
            "parabench help run",
            "parabench nosuchfile",
        ] {
            assert_eq!(changed(line), line);
        }
    }
}
