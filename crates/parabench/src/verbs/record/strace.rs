//! Recording with strace(1).

use super::child::Start;
use super::command::Program;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace::input::{self, Input};

/// Name of its log.
pub(crate) const LOG: &str = "strace.log";
/// Calls on files, on descriptors, and what makes and ends processes; then what is in none of these
/// groups. Older versions do not know all of them.
const CALLS: &str = "trace=%file,%desc,%process,?close_range,?sync,?unshare,?msync,?io_uring_enter";

/// The strace of this machine.
pub struct Strace {
    version: String,
    options: Vec<&'static str>,
}

impl Strace {
    /// Asks strace what it can do.
    pub fn find() -> Result<Strace> {
        let said = |option| {
            let output = Command::new("strace").arg(option).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let (Some(version), Some(help)) = (said("--version"), said("--help")) else {
            return Err(Error::input("cannot record via strace: strace is not installed")
                .help("install the package strace, for example `apt install strace`"));
        };
        // "strace -- version 6.1"
        let version = version.lines().next().and_then(|line| line.rsplit(' ').next());
        let version = version.unwrap_or_default().to_string();
        Ok(Strace { version, options: options(&help) })
    }

    /// Its name with its arguments.
    pub fn describe(&self) -> String {
        let fast = self.options.contains(&"--seccomp-bpf");
        format!("strace {}{}", self.version, if fast { " --seccomp-bpf" } else { "" })
    }

    /// Records a program in a folder.
    pub fn command(&self, program: &Program, folder: &Path) -> Start {
        let mut command = Command::new("strace");
        command.args(["-f", "-q", "-y", "-s", "0", "-e", CALLS, "-e", "signal=none"]);
        command.args(&self.options).arg("-o").arg(folder.join(LOG)).arg("--").args(&program.words);
        Start { command, is_below: true }
    }
}

/// The logs of folders, with the names that the run gives them.
pub fn open(folders: &[(PathBuf, PathBuf)]) -> Result<Vec<(PathBuf, Input)>> {
    let open = |(name, folder): &(PathBuf, PathBuf)| {
        let input = input::open(&folder.join(LOG)).map_err(|error| {
            Error::failed(format!("cannot read the log in {}: {error}", folder.display()))
        })?;
        Ok((name.join(LOG), input))
    };
    folders.iter().map(open).collect()
}

/// Advantages of a newer strace: calls that are not recorded do not stop (5.3),
/// times are in nanoseconds (5.6).
fn options(help: &str) -> Vec<&'static str> {
    let mut options = match help.contains("--absolute-timestamps") {
        true => vec!["--absolute-timestamps=unix,ns", "--syscall-times=ns"],
        false => vec!["-ttt", "-T"],
    };
    if help.contains("--seccomp-bpf") {
        options.push("--seccomp-bpf");
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_strace_is_asked_for_what_it_knows() {
        assert_eq!(options("usage: strace [-CdffhiqrtttTvVwxxy]"), ["-ttt", "-T"]);
        let new = options("--absolute-timestamps[=[[format:]FORMAT]]\n  --seccomp-bpf  enable");
        assert_eq!(new.last(), Some(&"--seccomp-bpf"));
        assert!(new[0].ends_with("ns"));
    }
}
