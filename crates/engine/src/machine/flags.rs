//! Open flags: C modes such as "r+" or O_ names joined by `|`, `,` or blanks.

use model::value::EvalError;

/// C modes and what open(2) is told; "b" after them means nothing, as on every POSIX system.
const MODES: &[(&str, i32)] = &[
    ("r", libc::O_RDONLY),
    ("w", libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
    ("a", libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND),
    ("r+", libc::O_RDWR),
    ("w+", libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC),
    ("a+", libc::O_RDWR | libc::O_CREAT | libc::O_APPEND),
];

/// Names of open(2).
pub(crate) const NAMES: &[(&str, i32)] = &[
    ("O_RDONLY", libc::O_RDONLY),
    ("O_WRONLY", libc::O_WRONLY),
    ("O_RDWR", libc::O_RDWR),
    ("O_CREAT", libc::O_CREAT),
    ("O_EXCL", libc::O_EXCL),
    ("O_NOCTTY", libc::O_NOCTTY),
    ("O_TRUNC", libc::O_TRUNC),
    ("O_APPEND", libc::O_APPEND),
    ("O_NONBLOCK", libc::O_NONBLOCK),
    ("O_NDELAY", libc::O_NDELAY),
    ("O_SYNC", libc::O_SYNC),
    ("O_DSYNC", libc::O_DSYNC),
    ("O_RSYNC", libc::O_RSYNC),
    ("O_DIRECT", libc::O_DIRECT),
    ("O_DIRECTORY", libc::O_DIRECTORY),
    ("O_NOFOLLOW", libc::O_NOFOLLOW),
    ("O_NOATIME", libc::O_NOATIME),
    ("O_CLOEXEC", libc::O_CLOEXEC),
    ("O_LARGEFILE", libc::O_LARGEFILE),
    ("O_PATH", libc::O_PATH),
    ("O_TMPFILE", libc::O_TMPFILE),
];

/// The flags of open(2) that a text stands for.
pub(super) fn parse(text: &[u8]) -> Result<i32, EvalError> {
    let refused = || {
        let found = format!("\"{}\"", String::from_utf8_lossy(text));
        EvalError::Type("open flags (\"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" or O_ names)", found)
    };
    let words = std::str::from_utf8(text).map_err(|_| refused())?.trim();
    let mode: String = words.chars().filter(|c| *c != 'b').collect();
    if words.len() <= 3
        && let Some((_, flags)) = MODES.iter().find(|row| row.0 == mode)
    {
        return Ok(*flags);
    }
    let mut names = words.split(['|', ',', ' ', '\t']).filter(|word| !word.is_empty()).peekable();
    names.peek().ok_or_else(refused)?;
    names.try_fold(0, |flags, name| {
        NAMES.iter().find(|row| row.0 == name).map(|row| flags | row.1).ok_or_else(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_names_are_flags() {
        for (text, flags) in [
            ("r", libc::O_RDONLY),
            ("rb+", libc::O_RDWR),
            ("w", libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
            ("a+", libc::O_RDWR | libc::O_CREAT | libc::O_APPEND),
            ("O_RDWR|O_CREAT", libc::O_RDWR | libc::O_CREAT),
            (" O_RDWR , O_EXCL O_CREAT ", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL),
            ("O_RDONLY", 0),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(flags), "{text}");
        }
    }

    #[test]
    fn names_are_matched_whole() {
        for text in ["", "x", "b", "rw", "O_RDW", "O_RDWRX", "O_RDWR+O_CREAT", "|", "o_rdwr"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\xff").is_err());
    }
}
