//! An error that ends a subcommand: a sentence, a remedy, and the exit code.

use crate::exit::Exit;

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
