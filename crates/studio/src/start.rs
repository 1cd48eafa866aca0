//! A request to run becomes the words of a command line: an array, never a line for a shell.

use crate::Studio;
use crate::answer::Refused;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A run as the browser asks for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// A program of the folder.
    program: String,
    ranks: u32,
    #[serde(default)]
    mpi: bool,
    /// Number of a directory that the command line grants; none: a scratch directory.
    #[serde(default)]
    directory: Option<usize>,
    /// Number of another one, to compare with.
    #[serde(default)]
    against: Option<usize>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Values by parameter, such as `4k,64k` or `4k..1m*4`.
    #[serde(default)]
    sweep: BTreeMap<String, String>,
    #[serde(default)]
    repetitions: Option<u32>,
    /// A duration such as `30s`.
    #[serde(default)]
    time_limit: Option<String>,
    /// Keep events, for the time line.
    #[serde(default)]
    events: bool,
    /// Make the files that the program expects.
    #[serde(default)]
    prepare: bool,
    /// A run that this one is compared with afterwards.
    #[serde(default)]
    trace: Option<String>,
}

impl Start {
    /// The arguments of `parabench`, and the folder of the results.
    pub fn words(self, studio: &Studio) -> Result<(Vec<String>, String), Refused> {
        let program = studio.folder.program(&self.program)?;
        let mut words = vec!["run".to_string(), program];
        for (name, value) in &self.parameters {
            words.push(format!("{}={value}", parameter(name)?));
        }
        words.push(format!("--ranks={}", self.ranks));
        for (name, values) in &self.sweep {
            words.push(format!("--sweep={}={values}", parameter(name)?));
        }
        let trace = self.trace.as_deref().map(|run| studio.folder.run(run)).transpose()?;
        let directory = self.directory.map(|number| granted(studio, number)).transpose()?;
        let against = self.against.map(|number| granted(studio, number)).transpose()?;
        let options = [
            ("--dir", directory),
            ("--against", against),
            ("--reps", self.repetitions.map(|count| count.to_string())),
            ("--time-limit", self.time_limit.filter(|limit| !limit.trim().is_empty())),
            ("--against-trace", trace),
        ];
        let given =
            options.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        words.extend(given);
        let flags = [("--mpi", self.mpi), ("--events", self.events), ("--prepare", self.prepare)];
        words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_string()));
        studio.folder.make("runs")?;
        let stem = self.program.rsplit('/').next().unwrap_or_default().trim_end_matches(".ppl");
        let out = studio.folder.free_name("runs/", stem, "")?;
        words.extend([format!("--out={out}"), "--progress=json".into()]);
        Ok((words, out))
    }
}

/// A directory of `--dir`.
fn granted(studio: &Studio, number: usize) -> Result<String, Refused> {
    let directory: Option<&PathBuf> = studio.directories.get(number);
    let text = directory.and_then(|path| path.to_str()).map(str::to_string);
    text.ok_or_else(|| {
        Refused::input(
            "this directory is not granted: start `parabench studio` with --dir DIRECTORY",
        )
    })
}

/// A name that is no option.
fn parameter(name: &str) -> Result<&str, Refused> {
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_name {
        true => Ok(name),
        false => Err(Refused::input(format!("{name:?} is no name of a parameter"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_no_options() {
        assert_eq!(parameter("block_2").ok(), Some("block_2"));
        for name in ["", "-n", "--dir", "2a", "a b", "a=b", "ä"] {
            assert!(parameter(name).is_err(), "{name}");
        }
    }
}
