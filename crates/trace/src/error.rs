//! Why logs cannot be imported.

use model::escape;
use std::path::Path;
use std::{fmt, io};

/// Why logs cannot be imported: one sentence, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error with the log's name.
    pub message: String,
    /// The fix; "" for none.
    pub help: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The error of a log that cannot be read; `line`: the last one that was, 0 for none.
pub(crate) fn cannot_read(log: &Path, line: u64, error: &io::Error) -> Error {
    let place = if line > 0 { format!(" behind line {line}") } else { String::new() };
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends in the middle".to_string(),
        _ => error.to_string(),
    };
    let message = format!("cannot read {}{place}: {why}", log_name(log));
    Error { message, help: String::new() }
}

/// The name of a log, for messages.
pub(crate) fn log_name(log: &Path) -> String {
    escape::line(&log.to_string_lossy())
}
