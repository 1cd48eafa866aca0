//! The two streams. Standard output carries results, standard error everything
//! else; colours are left out where nobody can see them (`NO_COLOR`, pipes).
//!
//! Names and texts come from strangers: what has no colours of our own is escaped here
//! ([`model::escape`]); what has, or is for programs, was escaped by its maker.

use crate::error::{Error, Result};
use anstyle::{AnsiColor, Style};
use model::escape;
use report::table::Terminal;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Width of text where no terminal has another one.
const DEFAULT_COLUMNS: usize = 100;

/// Writes text to standard output, control characters escaped. A reader that has gone away
/// (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    print_made(&escape::lines(text))
}

/// Writes text that was escaped when it was made.
pub fn print_made(text: &str) -> Result<()> {
    write_with(|out| out.write_all(text.as_bytes()))
}

/// Writes the text of a program: as it is, except to a terminal.
pub fn print_program(text: &str) -> Result<()> {
    if io::stdout().is_terminal() { print(text) } else { print_made(text) }
}

/// Lets `write` write to standard output, buffered and byte for byte.
pub fn write_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes text to standard error, control characters escaped.
pub fn say(text: &str) {
    say_made(&escape::lines(text));
}

/// Writes text that was escaped when it was made, in one piece: the lines of several processes
/// must not mix. There is nobody to tell if that fails.
pub fn say_made(text: &str) {
    let stderr = io::stderr();
    let plain = anstream::AutoStream::choice(&stderr) == anstream::ColorChoice::Never;
    let _ = match plain {
        true => stderr.lock().write_all(anstream::adapter::strip_str(text).to_string().as_bytes()),
        false => stderr.lock().write_all(text.as_bytes()),
    };
}

/// `note: text` on standard error.
pub fn note(text: &str) {
    say_made(&titled("note", AnsiColor::Green, text));
}

/// `warning: text` on standard error.
pub fn warning(text: &str) {
    say_made(&titled("warning", AnsiColor::Yellow, text));
}

/// `error: text` on standard error, with what to do.
pub fn error(error: &Error) {
    let mut text = titled("error", AnsiColor::BrightRed, &error.message);
    if let Some(help) = &error.help {
        text.push_str(&titled("  help", AnsiColor::Cyan, help));
    }
    say_made(&text);
}

fn titled(title: &str, color: AnsiColor, text: &str) -> String {
    let style = Style::new().bold().fg_color(Some(color.into()));
    format!("{style}{title}{style:#}: {}\n", escape::lines(text))
}

/// Columns for text: the width of the terminal on standard output, else `COLUMNS`, else 100.
pub fn columns() -> usize {
    known_columns().unwrap_or(DEFAULT_COLUMNS)
}

/// The terminal of reports. A file or pipe has room for every column of a table, unless `COLUMNS` limits it.
pub fn output() -> Terminal {
    Terminal { columns: known_columns().unwrap_or(usize::MAX), color: colours() }
}

fn known_columns() -> Option<usize> {
    let wanted = || std::env::var("COLUMNS").ok()?.parse().ok();
    let is_known = |columns: &usize| *columns > 0;
    terminal_columns().filter(is_known).or_else(wanted).filter(is_known)
}

/// Columns of the terminal that standard output goes to.
pub fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|size| usize::from(size.0.0))
}

/// Colours can be seen on standard output.
pub fn colours() -> bool {
    // Open MPI gives ranks a terminal of its own, whatever becomes of their output.
    let forced = || std::env::var_os("CLICOLOR_FORCE").is_some();
    (mpi::launcher::job().is_none() || forced())
        && anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// As one word of a shell.
pub fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// Somebody looks at standard error.
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_are_one_word_of_a_shell() {
        assert_eq!(super::quoted("/a b/c"), "'/a b/c'");
        assert_eq!(super::quoted("it's"), r"'it'\''s'");
    }
}
