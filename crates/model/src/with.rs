//! The options of `with`: one row each, with the operations that each of them changes.
//!
//! ```text
//! with (depth=4) { pfwrite($h, "rows"); stat("a"); }      pfwrite takes it, stat does not
//! ```
//!
//! Checker and diagnostics read the table; what an option does is in the engine.

use crate::Op;
use crate::op::Needs;

/// Operations that an option changes.
#[derive(Clone, Copy, Debug)]
pub enum Takers {
    /// All I/O.
    Io,
    /// These.
    Ops(&'static [Op]),
    /// Those beside the option's word; all of them where the word is unknown.
    Words(&'static [(&'static str, &'static [Op])]),
}

/// An option of `with`.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// Its name.
    pub name: &'static str,
    /// Its values, as a message says what was expected.
    pub values: &'static str,
    /// Values that ask for nothing, as text.
    pub off: &'static [&'static str],
    /// Who takes it.
    pub takers: Takers,
    /// Operations that look as if they took it.
    pub seeming: &'static [Op],
    /// What to do where nothing takes it.
    pub help: &'static str,
}

use Op::*;

/// Operations that choose how a file is opened.
const OPENS: &[Op] = &[Fopen, Fcreat, Write, Append, Read, Create];
const MPI_OPENS: &[Op] = &[Pfopen, Pwrite, Pread];
const POSIX_DATA: &[Op] = &[Fread, Fwrite, Write, Append, Read];
const DATA: &[Op] = &[Fread, Fwrite, Write, Append, Read, Pfwrite, Pfread, Pwrite, Pread];
const WRITES: &[Op] = &[Fwrite, Write, Append, Pfwrite, Pwrite];
const CLOSES_WRITTEN: &[Op] = &[Fclose, Write, Append, Pfclose, Pwrite];

/// All options.
pub const OPTIONS: &[OptionRow] = &[
    OptionRow {
        name: "direct",
        values: "a condition",
        off: &["false", "0"],
        takers: Takers::Ops(OPENS),
        seeming: &[],
        help: "O_DIRECT is chosen when a file is opened: put the fopen inside",
    },
    OptionRow {
        name: "fsync",
        values: "\"none\", \"close\" or \"op\"",
        off: &["none"],
        takers: Takers::Words(&[("close", CLOSES_WRITTEN), ("op", WRITES)]),
        seeming: &[],
        help: "\"op\" acts on operations that write, \"close\" on those that close a written file: \
               put the fclose inside",
    },
    OptionRow {
        name: "transfer",
        values: "a number of bytes above 0",
        off: &[],
        takers: Takers::Ops(DATA),
        seeming: &[],
        help: "it cuts operations that read or write data",
    },
    OptionRow {
        name: "data",
        values: "\"random\", \"zero\" or \"offset\"",
        off: &["random"],
        takers: Takers::Ops(WRITES),
        seeming: &[],
        help: "it fills the buffers of operations that write data",
    },
    OptionRow {
        name: "compress",
        values: "a ratio from 1 to 100",
        off: &["1", "1.0"],
        takers: Takers::Ops(WRITES),
        seeming: &[],
        help: "it shapes the random data of operations that write",
    },
    OptionRow {
        name: "dedup",
        values: "a ratio from 1 to 100",
        off: &["1", "1.0"],
        takers: Takers::Ops(WRITES),
        seeming: &[],
        help: "it shapes the random data of operations that write",
    },
    OptionRow {
        name: "expect",
        values: "\"names of errors, joined by commas\"",
        off: &[""],
        takers: Takers::Io,
        seeming: &[],
        help: "put the operations that may fail inside",
    },
    OptionRow {
        name: "depth",
        values: "a number from 1 to 65536",
        off: &["1"],
        takers: Takers::Ops(&[Pfwrite, Pfread, Pwrite, Pread]),
        seeming: POSIX_DATA,
        help: "only MPI-IO keeps several transfers under way: pieces of patterns of levels 0 and 1, \
               and what `transfer` cuts; use more ranks",
    },
    OptionRow {
        name: "atomic",
        values: "a condition",
        off: &["false", "0"],
        takers: Takers::Ops(MPI_OPENS),
        seeming: &[],
        help: "MPI files get atomic mode when they are opened: put the pfopen inside",
    },
    OptionRow {
        name: "hints",
        values: "\"key=value;key=value\", or the name of define hints",
        off: &[""],
        takers: Takers::Ops(MPI_OPENS),
        seeming: &[],
        help: "MPI files get hints when they are opened: put the pfopen inside",
    },
];

impl OptionRow {
    /// The option with this name.
    pub fn find(name: &str) -> Option<&'static OptionRow> {
        OPTIONS.iter().find(|row| row.name == name)
    }

    /// `op` is executed otherwise with this option; `word`: its value, where that is known.
    pub fn takes(&self, op: Op, word: Option<&str>) -> bool {
        match self.takers {
            Takers::Io => op.row().needs != Needs::Nothing,
            Takers::Ops(ops) => ops.contains(&op),
            Takers::Words(words) => {
                let mut meant = words.iter().filter(|row| word.is_none_or(|word| word == row.0));
                meant.any(|row| row.1.contains(&op))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_take_what_the_table_says() {
        for (name, word, op, takes) in [
            ("direct", None, Fopen, true),
            ("direct", None, Fread, false),
            ("fsync", Some("close"), Fclose, true),
            ("fsync", Some("close"), Fwrite, false),
            ("fsync", Some("op"), Fwrite, true),
            ("fsync", None, Fwrite, true),
            ("depth", None, Write, false),
            ("depth", None, Pwrite, true),
            ("expect", None, Mkdir, true),
            ("expect", None, Print, false),
        ] {
            let row = OptionRow::find(name).expect("an option");
            assert_eq!(row.takes(op, word), takes, "{name} {op}");
        }
    }

    #[test]
    fn nothing_seems_to_take_what_it_takes() {
        for row in OPTIONS {
            assert!(row.seeming.iter().all(|op| !row.takes(*op, None)), "{}", row.name);
        }
    }
}
