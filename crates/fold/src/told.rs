//! What the text of a program tells of its operations, and events do not.

use super::log::{Log, Logged};
use model::Op;
use model::op::{Param, ParamKind};
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_WRONLY};

/// What is told of the operations of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Flags of open(2) that it opens with.
    pub flags: Option<u32>,
    /// Which calls of MPI a number of bytes becomes.
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

/// Who moves a number of bytes by MPI-IO, and where.
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
    pub fn of(word: &str) -> Option<Way> {
        match word {
            "all" => Some(Way::All),
            "shared" => Some(Way::Shared),
            "ordered" => Some(Way::Ordered),
            _ => None,
        }
    }

    /// The word.
    pub fn shown(self) -> Option<&'static str> {
        match self {
            Way::Independent => None,
            Way::All => Some("all"),
            Way::Shared => Some("shared"),
            Way::Ordered => Some("ordered"),
        }
    }
}

impl Told {
    /// The word of a parameter that takes one of some.
    pub fn word(&self, op: Op, param: &Param) -> Option<&'static str> {
        let mut takes_words =
            op.row().params.iter().filter(|it| matches!(it.kind, ParamKind::Word(_)));
        let at = takes_words.position(|it| it.name == param.name)?;
        self.words.get(at).copied().flatten()
    }
}

impl Log {
    /// What is told of an operation.
    pub fn told(&self, entry: &Logged) -> Told {
        self.sites.get(&entry.event.site).copied().unwrap_or_default()
    }

    /// The level of an operation by a pattern, by MPI-IO.
    pub fn level(&self, entry: &Logged) -> Option<u8> {
        let is_mpi = entry.op().is_some_and(Op::is_mpi_io);
        (is_mpi && entry.event.pieces > 0).then(|| self.told(entry).level.unwrap_or(0))
    }

    /// It is imported and has operations of MPI-IO.
    pub fn tells_transfers_of_mpi_io(&self) -> bool {
        let mut all = self.ranks.iter().flatten();
        self.imported && all.any(|entry| entry.op().is_some_and(Op::is_mpi_io))
    }

    /// All ranks make the operation together.
    pub fn is_together(&self, entry: &Logged) -> bool {
        let Some(op) = entry.op().filter(|op| op.is_mpi_io()) else { return false };
        let told = self.told(entry);
        let joins = match op {
            Op::Pfread | Op::Pfwrite => match self.level(entry) {
                Some(level) => level > 0,
                None => matches!(told.way, Way::All | Way::Ordered),
            },
            _ => op.is_collective(),
        };
        joins && !told.alone && !self.imported
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
}
