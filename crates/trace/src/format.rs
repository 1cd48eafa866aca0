//! Kinds of logs: their names, and how each is known by its first bytes.

use crate::input::Input;
use crate::scanner::{ByLine, Lines, Scanner};
use crate::{blktrace, darshan, dftracer, elbencho, fio, recorder, strace};
use std::io;

/// A kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of strace.
    Strace,
    /// Text of darshan-dxt-parser.
    DarshanDxt,
    /// Binary log of Darshan.
    Darshan,
    /// `write_iolog` of fio.
    FioIolog,
    /// `write_lat_log` and `write_bw_log` of fio.
    FioLog,
    /// Text of blkparse.
    Blktrace,
    /// Chrome trace of DFTracer.
    DfTracer,
    /// Text of recorder2text.
    Recorder,
    /// Log of operations of elbencho.
    Elbencho,
    /// Any other, by [`crate::rules`].
    Rules,
    /// Recordings of `parabench record --via preload`: folders of files.
    Preload,
}

/// A file that is no log yet, but becomes one: what it is, and what to do.
pub(crate) struct Neighbour {
    looks_like: fn(&[u8]) -> bool,
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
}

const NEIGHBOURS: &[Neighbour] = &[
    Neighbour {
        looks_like: blktrace::looks_like_binary,
        what: "a binary log of blktrace",
        help: "blkparse -i NAME > job.blktrace makes text of it, for all CPUs (NAME.blktrace.*) together",
    },
    Neighbour {
        looks_like: darshan::looks_like_old_log,
        what: "a log of Darshan 2",
        help: "darshan-convert of Darshan 3 makes a new log of it",
    },
    Neighbour {
        looks_like: darshan::looks_like_counters,
        what: "text of darshan-parser, which has sums alone",
        help: "import the binary log, or the text of darshan-dxt-parser",
    },
];

impl Neighbour {
    /// The one that begins like this.
    pub(crate) fn of(beginning: &[u8]) -> Option<&'static Neighbour> {
        NEIGHBOURS.iter().find(|row| (row.looks_like)(beginning))
    }
}

/// Name on the command line and in the run; whether a log begins like one.
type Row = (Format, &'static str, fn(&[u8]) -> bool);

/// In the order in which they are tried: what is recognised by a word of its own comes first.
const ROWS: &[Row] = &[
    (Format::DarshanDxt, "darshan-dxt", darshan::looks_like_text),
    (Format::Darshan, "darshan", darshan::looks_like_log),
    (Format::FioIolog, "fio-iolog", fio::looks_like_iolog),
    (Format::Elbencho, "elbencho", elbencho::looks_like),
    (Format::DfTracer, "dftracer", dftracer::looks_like),
    (Format::Blktrace, "blktrace", blktrace::looks_like),
    (Format::Recorder, "recorder", recorder::looks_like),
    (Format::Strace, "strace", strace::looks_like),
    (Format::FioLog, "fio-log", fio::looks_like_samples),
];

impl Format {
    /// All that logs show and `--as` names.
    pub fn all() -> impl Iterator<Item = Format> {
        ROWS.iter().map(|row| row.0)
    }

    /// Its name on the command line and in the run.
    pub fn name(self) -> &'static str {
        let row = ROWS.iter().find(|row| row.0 == self).map(|row| row.1);
        row.unwrap_or(if self == Format::Rules { "rules" } else { "preload" })
    }

    /// The format with this name.
    pub fn find(name: &str) -> Option<Format> {
        ROWS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The format of a log that begins like this.
    pub(crate) fn of(beginning: &[u8]) -> Option<Format> {
        ROWS.iter().find(|row| row.2(beginning)).map(|row| row.0)
    }

    /// Its logs consist of lines.
    pub(crate) fn has_lines(self) -> bool {
        !matches!(self, Format::Darshan | Format::Preload | Format::Recorder)
    }

    /// Reads one log, called `name`.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn scanner(self, input: Input, name: &str) -> io::Result<Box<dyn Scanner>> {
        if self == Format::Darshan {
            return Ok(Box::new(darshan::Binary::new(input.bytes)?));
        }
        let begins = input.beginning;
        let lines = Lines::new(input.bytes, name);
        Ok(match self {
            Format::Strace => Box::new(strace::Strace::new(lines, name, 0)),
            Format::DarshanDxt => Box::new(ByLine::new(lines, darshan::Text::default())),
            Format::FioIolog => Box::new(ByLine::new(lines, fio::Iolog::default())),
            Format::FioLog => Box::new(ByLine::new(lines, fio::Samples::new(name, &begins)?)),
            Format::Blktrace => Box::new(ByLine::new(lines, blktrace::Blktrace::default())),
            Format::DfTracer => Box::new(ByLine::new(lines, dftracer::DfTracer::default())),
            Format::Elbencho => Box::new(ByLine::new(lines, elbencho::Elbencho::default())),
            Format::Recorder => Box::new(ByLine::new(lines, recorder::Recorder::new(name))),
            Format::Darshan => return Err(io::Error::other("no lines")),
            Format::Rules => return Err(io::Error::other("its rules are missing")),
            Format::Preload => return Err(io::Error::other("a recording is a folder")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_neighbours_are_named() {
        for (beginning, what) in [
            (&b"\x07tae\x01\x02"[..], Some("a binary log of blktrace")),
            (b"eat\x07\x02\x01", Some("a binary log of blktrace")),
            (b"2.06\0\0\0\0\x37\x35\x64\0\0\0\0\0", Some("a log of Darshan 2")),
            (b"3.21\0\0\0\0\x37\x35\x64\0\0\0\0\0", None),
            (b"2.06 a line of text", None),
            (b"eating", None),
        ] {
            assert_eq!(Neighbour::of(beginning).map(|row| row.what), what, "{beginning:?}");
        }
    }
}
