//! How a subcommand ends: its exit code, the one place that says which there are and which one wins; or an error, which
//! is a sentence, a remedy, and an exit code.

use std::process::ExitCode;

/// How the program ends. The order of the variants is the order in which they win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything went well.
    Success,
    /// A verdict mark (with `--strict`) or a gate failed.
    Verdict,
    /// Some operation or rank failed.
    Failed,
    /// The run was interrupted.
    Interrupted,
    /// The input was wrong: program, arguments, directory, preflight.
    Input,
    /// A command that was recorded ended with this code, which is passed on.
    Command(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Input => 2,
            Exit::Verdict => 3,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        }
    }

    /// The inverse of [`Exit::code`]; other codes are failures.
    pub fn from_code(code: u8) -> Exit {
        let all = [Exit::Success, Exit::Verdict, Exit::Interrupted, Exit::Input];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
    }

    /// The more important one of two exit codes: 2 > 130 > 1 > 3 > 0.
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A subcommand cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    /// How the program ends.
    pub exit: Exit,
    /// The problem, with place, expected and found.
    pub message: String,
    /// The action.
    pub help: Option<String>,
}

impl Error {
    /// The user's input was wrong.
    pub fn input(message: impl Into<String>) -> Error {
        Error { exit: Exit::Input, message: message.into(), help: None }
    }

    /// The input was right but something failed, for example the results cannot be written.
    pub fn failed(message: impl Into<String>) -> Error {
        Error { exit: Exit::Failed, ..Error::input(message) }
    }

    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }
}

/// Results cannot be written, or are damaged.
impl From<report::StoreError> for Error {
    fn from(error: report::StoreError) -> Error {
        Error::failed(error.to_string())
    }
}

/// MPI has failed on the way.
impl From<mpi::MpiError> for Error {
    fn from(error: mpi::MpiError) -> Error {
        Error::failed(error.to_string())
    }
}

/// Result of a subcommand.
pub type Result<T> = std::result::Result<T, Error>;

/// How a run stopped at an error.
pub enum Stopped {
    /// Nothing was run.
    Before(Error),
    /// It was run and reported, and then this went wrong.
    After(Error),
}

impl Stopped {
    /// The error, whenever it happened.
    pub fn into_error(self) -> Error {
        match self {
            Stopped::Before(error) | Stopped::After(error) => error,
        }
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Before(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_wins() {
        let order = [Exit::Success, Exit::Verdict, Exit::Failed, Exit::Interrupted, Exit::Input];
        for (at, worse) in order.iter().enumerate() {
            for better in &order[..=at] {
                assert_eq!(better.and(*worse), *worse);
                assert_eq!(worse.and(*better), *worse);
            }
        }
        assert_eq!(order.map(Exit::code), [0, 3, 1, 130, 2]);
        assert_eq!(order.map(|exit| Exit::from_code(exit.code())), order);
    }
}
