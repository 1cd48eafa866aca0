//! What open(2) is told for the text of open flags ([`model::open_flags`]).

use model::open_flags;
use model::value::EvalError;

macro_rules! values {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Names of open(2).
pub(crate) const NAMES: &[(&str, i32)] = model::open_flag_names!(values);

/// What open(2) is told for a mode of C.
fn of_mode(mode: &str) -> i32 {
    let access = match (mode.contains('+'), mode.starts_with('r')) {
        (true, _) => libc::O_RDWR,
        (false, true) => libc::O_RDONLY,
        (false, false) => libc::O_WRONLY,
    };
    let more = match mode.as_bytes().first() {
        Some(b'w') => libc::O_CREAT | libc::O_TRUNC,
        Some(b'a') => libc::O_CREAT | libc::O_APPEND,
        _ => 0,
    };
    access | more
}

/// The flags of open(2) that a text stands for.
pub(super) fn parse(text: &[u8]) -> Result<i32, EvalError> {
    let refused = || {
        let found = format!("\"{}\"", String::from_utf8_lossy(text));
        EvalError::Type("open flags (\"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" or O_ names)", found)
    };
    let words = std::str::from_utf8(text).map_err(|_| refused())?;
    if let Some(mode) = open_flags::mode(words) {
        return Ok(of_mode(mode));
    }
    let mut names = open_flags::names(words).peekable();
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
