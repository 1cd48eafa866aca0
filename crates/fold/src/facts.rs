//! Facts about operations that only the text of their program has.

use model::Op;
use model::op::{Param, ParamKind};
use model::open_flags;
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_TRUNC, O_WRONLY};

/// Facts about the operations of a place in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Flags of open(2) that it opens with.
    pub flags: Option<u32>,
    /// The MPI-IO calls that move the bytes.
    pub way: Way,
    /// The level of its pattern.
    pub level: Option<u8>,
    /// Each rank is alone in it: `with (comm="self")`.
    pub alone: bool,
    /// Its words, by parameter that takes one: `flock($h, "shared", "try")`.
    pub words: [Option<&'static str>; 2],
    /// Number of its arguments.
    pub arguments: usize,
}

/// How MPI-IO moves bytes: by whom, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// Each for himself.
    #[default]
    Independent,
    /// All together.
    All,
    /// At the shared pointer.
    Shared,
    /// All together, at the shared pointer.
    Ordered,
}

impl Way {
    /// That of a word of the language.
    pub fn parse(word: &str) -> Option<Way> {
        match word {
            "all" => Some(Way::All),
            "shared" => Some(Way::Shared),
            "ordered" => Some(Way::Ordered),
            _ => None,
        }
    }

    /// The word.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Way::Independent => None,
            Way::All => Some("all"),
            Way::Shared => Some("shared"),
            Way::Ordered => Some("ordered"),
        }
    }
}

impl Facts {
    /// The word of a parameter that takes one of some.
    pub fn word(&self, op: Op, param: &Param) -> Option<&'static str> {
        let mut takes_words =
            op.row().params.iter().filter(|it| matches!(it.kind, ParamKind::Word(_)));
        let at = takes_words.position(|it| it.name == param.name)?;
        self.words.get(at).copied().flatten()
    }
}

/// Flags of open(2) for the letters of an MPI file's mode.
pub fn flags_of_mpi_mode(letters: &str) -> Option<u32> {
    let has = |letter: char| letters.contains(letter);
    let known = letters.chars().all(|letter| "rwcxa".contains(letter));
    let access = match (has('r'), has('w')) {
        (true, true) => O_RDWR,
        (false, true) => O_WRONLY,
        (true, false) => 0,
        (false, false) => return None,
    };
    let flag = |letter: char, flag: u32| if has(letter) { flag } else { 0 };
    let more = flag('c', O_CREAT) | flag('x', O_EXCL) | flag('a', O_APPEND);
    known.then_some(access | more)
}

/// Letters of an MPI file's mode for flags of open(2).
pub fn mpi_mode(flags: u32) -> String {
    let access = match flags & 3 {
        O_RDWR => "rw",
        O_WRONLY => "w",
        _ => "r",
    };
    let more = [('c', O_CREAT), ('x', O_EXCL), ('a', O_APPEND)];
    let more = more.into_iter().filter(|(_, flag)| flags & flag != 0);
    access.chars().chain(more.map(|(letter, _)| letter)).collect()
}

/// Flags of open(2) for the text that a program has for them.
pub fn flags_of_text(text: &str) -> Option<u32> {
    if let Some(mode) = open_flags::mode(text) {
        let access = match (mode.contains('+'), mode.starts_with('r')) {
            (true, _) => O_RDWR,
            (false, true) => 0,
            (false, false) => O_WRONLY,
        };
        let more = match mode.as_bytes().first() {
            Some(b'w') => O_CREAT | O_TRUNC,
            Some(b'a') => O_CREAT | O_APPEND,
            _ => 0,
        };
        return Some(access | more);
    }
    open_flags::flags_of_names(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_mpi_files_are_flags() {
        for mode in ["r", "w", "rw", "wc", "rwcx", "wca"] {
            assert_eq!(mpi_mode(flags_of_mpi_mode(mode).unwrap()), mode);
        }
        assert_eq!(flags_of_mpi_mode("crw"), flags_of_mpi_mode("rwc"));
        assert_eq!((flags_of_mpi_mode("c"), flags_of_mpi_mode("rz")), (None, None));
    }

    #[test]
    fn texts_of_flags_are_read() {
        for (text, flags) in
            [("r", Some(0)), ("w+", Some(2 | O_CREAT | O_TRUNC)), ("x", None), ("", None)]
        {
            assert_eq!(flags_of_text(text), flags, "{text}");
        }
        assert_eq!(flags_of_text("O_WRONLY, O_CREAT"), Some(1 | O_CREAT));
    }
}
