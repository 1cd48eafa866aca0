//! Open flags, matched whole: the words that [`Op::Fopen`](model::Op::Fopen) accepts.

use crate::suggest::nearest;
use model::open_flags::{NAMES, mode, names};

/// Why a text is not open flags.
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Checks the text of open flags.
pub(crate) fn check(text: &[u8]) -> Result<(), Problem> {
    let shown = String::from_utf8_lossy(text);
    if mode(&shown).is_some() {
        return Ok(());
    }
    let mut any = false;
    for name in names(&shown) {
        any = true;
        if !NAMES.contains(&name) {
            let help = match nearest(name, NAMES.iter().copied()) {
                Some(name) => format!("the nearest is {name}"),
                None => "\"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" as in C, or O_ names of open(2) joined by |".into(),
            };
            return Err(Problem {
                message: format!("expected open flags, found \"{name}\""),
                help,
            });
        }
    }
    let help = "for example \"r\", \"w+\" or \"O_RDWR|O_CREAT\"".into();
    if any {
        Ok(())
    } else {
        Err(Problem { message: "expected open flags, found no text".into(), help })
    }
}

/// Letters of an MPI open mode: each at most once, at least one of r and w, and w where
/// a file may be made (MPI: MODE_CREATE and MODE_EXCL contradict MODE_RDONLY).
pub(crate) fn is_mpi_mode(text: &[u8]) -> bool {
    let once = |letter: &u8| text.iter().filter(|other| *other == letter).count() == 1;
    text.iter().all(|letter| b"rwcxa".contains(letter) && once(letter))
        && text.iter().any(|letter| b"rw".contains(letter))
        && (text.contains(&b'w') || !text.iter().any(|letter| b"cx".contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_matched_whole() {
        for good in
            ["r", "rb", "r+b", "rb+", "w", "a+", " O_RDWR , O_CREAT", "O_RDONLY", "O_RDWR|O_CREAT"]
        {
            assert!(check(good.as_bytes()).is_ok(), "{good}");
        }
        for (bad, help) in [
            ("", "for example"),
            ("rw", "as in C"),
            ("O_RDW", "O_RDWR"),
            ("O_RDWRX", "O_RDWR"),
            ("O_RDWR+O_CREAT", "as in C"),
            ("|", "for example"),
            ("rw+", "as in C"),
        ] {
            let problem = check(bad.as_bytes()).err();
            assert!(problem.is_some_and(|problem| problem.help.contains(help)), "{bad}");
        }
    }

    #[test]
    fn modes_of_mpi() {
        for (mode, good) in [
            ("r", true),
            ("crw", true),
            ("wxa", true),
            ("c", false),
            ("rc", false),
            ("rr", false),
            ("", false),
            ("q", false),
        ] {
            assert_eq!(is_mpi_mode(mode.as_bytes()), good, "{mode}");
        }
    }
}
