//! Linux error numbers by name, for `with (expect="ENOENT")` and for messages.
//!
//! A table of our own because the crates that depend on nothing (`ppl`) need the
//! names without a system library. Numbers: asm-generic/errno-base.h and errno.h.

use std::sync::LazyLock;

/// `(number, name, text)`, ascending by number.
pub static ERRNOS: LazyLock<Vec<(u16, &str, &str)>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let (number, rest) = line.split_once(' ')?;
        let (name, text) = rest.split_once(' ')?;
        Some((number.parse().ok()?, name, text))
    };
    include_str!("errno.txt").lines().filter_map(row).collect()
});

/// The number of a name such as "ENOENT"; `None` if there is no such name.
pub fn number(name: &str) -> Option<u16> {
    let name = match name {
        "EWOULDBLOCK" => "EAGAIN",
        "ENOTSUP" => "EOPNOTSUPP",
        "EDEADLOCK" => "EDEADLK",
        other => other,
    };
    ERRNOS.iter().find(|row| row.1 == name).map(|row| row.0)
}

/// A number that has a name.
pub fn is_known(number: u16) -> bool {
    row(number).is_some()
}

/// The name of a number; "E?" for a number Linux does not have.
pub fn name(number: u16) -> &'static str {
    row(number).map_or("E?", |row| row.1)
}

/// The text of a number, as strerror gives it.
pub fn text(number: u16) -> &'static str {
    row(number).map_or("Unknown error", |row| row.2)
}

fn row(number: u16) -> Option<&'static (u16, &'static str, &'static str)> {
    ERRNOS.binary_search_by_key(&number, |row| row.0).ok().map(|at| &ERRNOS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_inverse() {
        assert_eq!(ERRNOS.len(), 130);
        for (value, word, _) in ERRNOS.iter() {
            assert_eq!(number(word), Some(*value));
            assert_eq!(name(*value), *word);
        }
        assert_eq!(number("ENOSUCH"), None);
        assert_eq!(text(2), "No such file or directory");
    }
}
