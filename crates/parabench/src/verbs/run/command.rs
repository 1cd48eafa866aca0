//! The words that the processes of a job were started with: rank 0's decide what is executed, so all
//! must have the same.
//!
//! ```text
//! mpiexec -n 1 parabench run x.ppl n=1 : -n 1 parabench run x.ppl n=2
//! rank 1 on node-b was started with n=2, rank 0 with n=1
//! ```

use crate::error::Error;
use model::escape;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStringExt;

/// Words of a command line that are shown.
const SHOWN: usize = 4;

/// A command line without the name of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<Vec<u8>>);

impl Command {
    /// That of this process.
    pub fn own() -> Command {
        Command(std::env::args_os().skip(1).map(OsStringExt::into_vec).collect())
    }

    /// The same for the same words.
    pub fn number(&self) -> i64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish() as i64
    }

    /// Words hold no NUL.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.join(&0)
    }

    /// What [`Command::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Command {
        Command(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
    }

    /// What tells a rank's words from these, those of rank 0. `more`: ranks that differ, too.
    pub fn unlike(&self, other: &Command, rank: u32, host: &str, more: usize) -> Error {
        let [its, own] = [other.beyond(self), self.beyond(other)];
        let differs = match (its.is_empty(), own.is_empty()) {
            (false, false) => format!("with {}, rank 0 with {}", list(&its), list(&own)),
            (false, true) => format!("with {}, rank 0 without", list(&its)),
            (true, false) => format!("without {}, rank 0 with it", list(&own)),
            (true, true) => "with the words of rank 0 in another order".into(),
        };
        let more = match more {
            0 => String::new(),
            1 => " (1 more rank differs)".into(),
            more => format!(" ({more} more ranks differ)"),
        };
        Error::input(format!("rank {rank} on {host} was started {differs}{more}")).help(
            "start all processes of the job with the same words: ranks that are to do other things \
             tell themselves apart in the program, by $$rank and $$node",
        )
    }

    /// Words that the other line has not, or not so often.
    fn beyond(&self, other: &Command) -> Vec<&[u8]> {
        let mut left: Vec<&Vec<u8>> = other.0.iter().collect();
        let mut beyond = Vec::new();
        for word in &self.0 {
            match left.iter().position(|known| *known == word) {
                Some(at) => drop(left.swap_remove(at)),
                None => beyond.push(&word[..]),
            }
        }
        beyond
    }
}

/// `n=2 --force and 3 more`
fn list(words: &[&[u8]]) -> String {
    let word = |word: &&[u8]| escape::line(&String::from_utf8_lossy(word)).to_string();
    let shown: Vec<String> = words.iter().take(SHOWN).map(word).collect();
    match words.len().saturating_sub(SHOWN) {
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &str) -> Command {
        Command(words.split_whitespace().map(|word| word.as_bytes().to_vec()).collect())
    }

    #[test]
    fn what_differs_is_told() {
        let first = command("run x.ppl n=1 --dir d");
        for (other, told) in [
            ("run x.ppl n=2 --dir d", "was started with n=2, rank 0 with n=1"),
            ("run y.ppl n=1 --dir e", "was started with y.ppl e, rank 0 with x.ppl d"),
            ("run x.ppl n=1 --dir d --seed 7", "was started with --seed 7, rank 0 without"),
            ("run x.ppl n=1", "was started without --dir d, rank 0 with it"),
            ("run n=1 x.ppl --dir d", "with the words of rank 0 in another order"),
            ("run x.ppl n=1 --dir d a b c e f g", "with a b c e and 2 more, rank 0 without"),
            ("run x.ppl n=1 --dir d d", "was started with d, rank 0 without"),
        ] {
            let other = Command::from_bytes(&command(other).to_bytes());
            assert_ne!(first.number(), other.number());
            let error = first.unlike(&other, 3, "node-b", 0);
            let start = error.message.starts_with("rank 3 on node-b was started ");
            assert!(start && error.message.contains(told), "{}", error.message);
        }
        let error = first.unlike(&command("run"), 1, "a", 2);
        assert!(error.message.ends_with(" (2 more ranks differ)"), "{}", error.message);
        assert_eq!(Command::from_bytes(&first.to_bytes()), first);
    }
}
