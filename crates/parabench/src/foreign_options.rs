//! Options of mpiexec, IOR, fio and mdtest that are typed on `parabench run`, and what to write instead: one table.
//!
//! ```text
//! parabench run x.ppl -np 4       the number of ranks is -n 4
//! parabench run x.ppl --bs 64k    --bs is an option of fio: ...
//! ```

use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// Options with the same meaning, and what to write: `{}` is the value.
type Row = (&'static [&'static str], &'static str);

/// The hint for options that a program replaces.
const OF_THE_PROGRAM: &str = "the program says what is moved and how: set one of its parameters, NAME=VALUE \
    (they stand at its head), or let `parabench translate` make a program of a command line of fio, IOR or mdtest";

const ROWS: &[Row] = &[
    (
        &[
            "-np",
            "--np",
            "--nprocs",
            "--ntasks",
            "--numjobs",
            "--procs",
            "--threads",
            "--processes",
        ],
        "the number of ranks is -n {}",
    ),
    (
        &["--time", "--runtime", "--duration", "--stonewall", "-D", "-W"],
        "the run ends after a time with --time-limit {}",
    ),
    (
        &["-i", "--repetitions", "--iterations", "--loops", "--runs"],
        "repeat the run with --reps {}",
    ),
    (
        &["--directory", "--workdir", "--testdir", "--path"],
        "the directory that is measured is --dir {}",
    ),
    (&["-o", "--output", "--output-dir"], "results are stored with --out {}"),
    (&["--output-format"], "the form of the output is --format json, csv or markdown"),
    (&["--json"], "results as JSON: --format json"),
    (&["--csv"], "results as CSV: --format csv"),
    (
        &["-H", "--host", "--hosts", "--hostfile", "--machinefile"],
        "ranks on several machines: mpiexec with its own options, then parabench run PROGRAM",
    ),
    (
        &["--oversubscribe", "--bind-to", "--map-by"],
        "options of mpiexec: --launcher \"mpiexec OPTIONS -n {ranks}\"",
    ),
    (
        &[
            "-t",
            "-b",
            "--bs",
            "--blocksize",
            "--transfersize",
            "--size",
            "--filesize",
            "--rw",
            "--readwrite",
            "--iodepth",
            "--ioengine",
            "--direct",
            "--filename",
            "--name",
            "--fsync",
            "--nrfiles",
            "-F",
            "-z",
            "-I",
            "-L",
            "-u",
            "-r",
            "-k",
            "-C",
        ],
        OF_THE_PROGRAM,
    ),
];

/// A sentence on an option that `parabench run` does not have, and a hint.
pub fn explain(words: &[OsString], error: &clap::Error) -> Option<(String, String)> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if words.get(1) != Some(&"run") {
        return None;
    }
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (option, value) = (named(ContextKind::InvalidArg), named(ContextKind::InvalidValue));
    // `-np 4` is read as `-n p`.
    let option = if value == "p" && option.starts_with("--ranks") { "-np" } else { option };
    let option = option.split(['=', ' ']).next().unwrap_or_default();
    let (_, hint) = ROWS.iter().find(|(names, _)| names.contains(&option))?;
    let hint = hint.replace("{}", &value_of(&words, option));
    Some((format!("parabench run has no option {option}"), hint))
}

/// The value that was typed with an option: `--np 4`, `--np=4`.
fn value_of(words: &[&str], option: &str) -> String {
    let at = words.iter().position(|word| word.split('=').next() == Some(option));
    let joined = at.and_then(|at| words[at].split_once('=')).map(|(_, value)| value);
    let next = || at.and_then(|at| words.get(at + 1)).copied();
    let value = joined.or_else(next).filter(|value| !value.is_empty() && !value.starts_with('-'));
    let is_time =
        matches!(option, "--time" | "--runtime" | "--duration" | "--stonewall" | "-D" | "-W");
    match value {
        // fio and IOR mean seconds, and fio's m are minutes.
        Some(value) if is_time && value.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{value}s")
        }
        Some(value) if is_time && value.ends_with('m') => format!("{value}in"),
        Some(value) => value.into(),
        None if is_time => "30s".into(),
        None => "N".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};
    use std::collections::HashSet;

    fn hint(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::try_parse_from(&words).err().expect("an option that is not there");
        explain(&words, &error).map_or("none".into(), |(_, hint)| hint)
    }

    #[test]
    fn options_of_other_tools_have_a_hint() {
        for (options, hinted) in [
            ("-np 4", "-n 4"),
            ("--np 4", "-n 4"),
            ("--np=4", "-n 4"),
            ("--numjobs=8", "-n 8"),
            ("--time 30s", "--time-limit 30s"),
            ("--runtime=30", "--time-limit 30s"),
            ("--time", "--time-limit 30s"),
            ("--runtime 1m", "--time-limit 1min"),
            ("-i 5", "--reps 5"),
            ("--directory=/mnt", "--dir /mnt"),
            ("-t 1m", "NAME=VALUE"),
            ("-b 1m", "parabench translate"),
            ("--bs=4k", "parabench translate"),
            ("--nosuch", "none"),
        ] {
            let found = hint(&format!("parabench run x.ppl {options}"));
            assert!(found.contains(hinted), "{options}: {found}");
        }
        // Other subcommands have options of their own.
        assert_eq!(hint("parabench check x.ppl --np 4"), "none");
    }

    #[test]
    fn no_option_of_run_is_in_the_table() {
        let command = Cli::command();
        let run = command.find_subcommand("run").expect("run");
        let own: HashSet<String> = run
            .get_arguments()
            .flat_map(|option| {
                let long = option.get_long().map(|long| format!("--{long}"));
                long.into_iter().chain(option.get_short().map(|short| format!("-{short}")))
            })
            .collect();
        let mut seen = HashSet::new();
        for name in ROWS.iter().flat_map(|(names, _)| names.iter()) {
            assert!(!own.contains(*name), "{name} is an option of parabench run");
            assert!(seen.insert(name), "{name} is there twice");
        }
    }
}
