//! Words for operations in rules files and logs.

use model::Op;
use model::op::{Class, OPS};

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// An operation of Parabench.
    Op(Op),
    /// Makes `handle2` another descriptor for `handle`.
    Dup,
    /// Enters a directory.
    Chdir,
    /// Maps a file into memory.
    Mmap,
    /// The thread is over.
    Exit,
    /// There is no operation for it: it is counted.
    None,
}

/// Words of POSIX, where Parabench has others; `read` and `write` of Parabench open and close besides.
const POSIX: &[(&str, Verb)] = &[
    ("open", Verb::Op(Op::Fopen)),
    ("creat", Verb::Op(Op::Fcreat)),
    ("close", Verb::Op(Op::Fclose)),
    ("read", Verb::Op(Op::Fread)),
    ("pread", Verb::Op(Op::Fread)),
    ("readv", Verb::Op(Op::Fread)),
    ("preadv", Verb::Op(Op::Fread)),
    ("write", Verb::Op(Op::Fwrite)),
    ("pwrite", Verb::Op(Op::Fwrite)),
    ("writev", Verb::Op(Op::Fwrite)),
    ("pwritev", Verb::Op(Op::Fwrite)),
    ("lseek", Verb::Op(Op::Fseek)),
    ("seek", Verb::Op(Op::Fseek)),
    ("access", Verb::Op(Op::Lookup)),
    ("getdents", Verb::Op(Op::Readdir)),
    ("dup", Verb::Dup),
    ("chdir", Verb::Chdir),
    ("mmap", Verb::Mmap),
    ("exit", Verb::Exit),
    ("none", Verb::None),
];

impl Verb {
    /// The operation with this name; upper and lower case are the same.
    pub fn find(word: &[u8]) -> Option<Verb> {
        let word = std::str::from_utf8(word).ok()?;
        let posix = POSIX.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let ours = || Op::find(word).filter(|op| op.row().class != Class::Control).map(Verb::Op);
        posix.map(|(_, verb)| *verb).or_else(ours)
    }

    /// Its name in the event table.
    pub fn name(self) -> &'static [u8] {
        match self {
            // The resolver knows it by this name.
            Verb::Op(Op::Fcreat) => b"creat",
            Verb::Op(op) => op.name().as_bytes(),
            Verb::Dup => b"dup",
            Verb::Chdir => b"chdir",
            Verb::Mmap => b"mmap",
            Verb::Exit => b"exit",
            Verb::None => b"none",
        }
    }

    /// What there is, for messages.
    pub fn help() -> String {
        let posix: Vec<&str> = POSIX.iter().map(|(name, _)| *name).collect();
        let is_ours = |name: &&str| Verb::find(name.as_bytes()).is_some() && !posix.contains(name);
        let ours: Vec<&str> = OPS.iter().map(|row| row.name).filter(is_ours).collect();
        format!("operations: {}; {}", posix.join(" "), ours.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_posix_or_of_parabench() {
        for (word, verb) in [
            ("READ", Some(Verb::Op(Op::Fread))),
            ("fread", Some(Verb::Op(Op::Fread))),
            ("unlink", Some(Verb::Op(Op::Delete))),
            ("append", Some(Verb::Op(Op::Append))),
            ("dup", Some(Verb::Dup)),
            ("sleep", None),
            ("raed", None),
        ] {
            assert_eq!(Verb::find(word.as_bytes()), verb, "{word}");
        }
        assert!(Verb::help().contains(" lseek ") && Verb::help().contains(" fsync"));
    }
}
