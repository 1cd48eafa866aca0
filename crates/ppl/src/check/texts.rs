//! Texts of single values: paths, open flags, MPI open modes.

use crate::word::suggest;
use model::directory::below;
use model::open_flags::{NAMES, flags_of_mode, names};

/// Why a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is absolute and does not lie in the run directory.
    Absolute,
    /// It has a `..` component.
    Parent,
    /// It has a byte that names cannot have.
    Nul,
}

impl Problem {
    pub(crate) fn message(self, shown: &str) -> String {
        match self {
            Problem::Absolute => {
                format!(
                    "expected a path inside the run directory, found the absolute path \"{shown}\""
                )
            }
            Problem::Parent => {
                format!("expected a path inside the run directory, found `..` in \"{shown}\"")
            }
            Problem::Nul => "a path cannot contain the byte 0".into(),
        }
    }

    pub(crate) fn help(self) -> &'static str {
        match self {
            Problem::Absolute => {
                "paths are relative to the run directory; choose it with --dir, name it $$env(PWD)"
            }
            Problem::Parent => "name the file from the run directory on, without `..`",
            Problem::Nul => "take \\x00 out of the text",
        }
    }
}

/// Errors and oddities of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    pub(crate) worst: Option<Problem>,
    /// A component begins or ends with a blank.
    pub(crate) blank: bool,
}

/// Looks at the text of a path.
pub(crate) fn problems(text: &[u8], roots: &[String]) -> Problems {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let (mut blank, mut is_above) = (false, false);
    for part in text.split(|byte| *byte == b'/') {
        blank |= is_blank(part.first()) || is_blank(part.last());
        is_above |= part == b"..";
    }
    let worst = if text.contains(&0) {
        Some(Problem::Nul)
    } else if is_above {
        Some(Problem::Parent)
    } else if text.first() == Some(&b'/') && !is_inside(text, roots) {
        Some(Problem::Absolute)
    } else {
        None
    };
    Problems { worst, blank }
}

/// An absolute path without `..` lies in one of the directories.
fn is_inside(text: &[u8], roots: &[String]) -> bool {
    roots.iter().any(|root| below(text, root.as_bytes()).is_some())
}

/// Suggestion for a text that is not open flags.
pub(crate) fn wrong_flags(text: &str) -> Option<String> {
    let form = "\"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" as in C, or O_ names joined by |";
    if flags_of_mode(text).is_some() {
        return None;
    }
    match names(text).find(|name| !NAMES.contains(name)) {
        None => names(text).next().is_none().then(|| form.into()),
        Some(name) => Some(suggest(name, NAMES.iter().copied()).unwrap_or(form.into())),
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
    fn paths_that_leave() {
        use Problem::*;
        for (text, worst) in [
            ("a/b", None),
            ("./a", None),
            ("a..b/..c/...", None),
            ("..", Some(Parent)),
            ("../a", Some(Parent)),
            ("a/../b", Some(Parent)),
            ("/etc/passwd", Some(Absolute)),
            ("/run/dir/a", None),
            ("/run/dir", None),
            ("/run/dir2/a", Some(Absolute)),
            ("/run/dir/../a", Some(Parent)),
            ("a\0b", Some(Nul)),
        ] {
            assert_eq!(problems(text.as_bytes(), &["/run/dir".into()]).worst, worst, "{text}");
        }
        assert_eq!(problems(b"/run/dir/a", &[]).worst, Some(Absolute));
    }

    #[test]
    fn blanks_at_component_boundaries() {
        for (text, blank) in
            [("a b/c d", false), (" a", true), ("a/ b", true), ("a /b", true), ("a\t", true)]
        {
            assert_eq!(problems(text.as_bytes(), &[]).blank, blank, "{text:?}");
        }
    }

    #[test]
    fn flags_are_matched_whole() {
        for good in
            ["r", "rb", "r+b", "rb+", "w", "a+", " O_RDWR , O_CREAT", "O_RDONLY", "O_RDWR|O_CREAT"]
        {
            assert_eq!(wrong_flags(good), None, "{good}");
        }
        for (bad, help) in [
            ("", "as in C"),
            ("rw", "as in C"),
            ("O_RDW", "O_RDWR"),
            ("O_RDWRX", "O_RDWR"),
            ("O_RDWR+O_CREAT", "as in C"),
            ("|", "as in C"),
            ("rw+", "as in C"),
        ] {
            assert!(wrong_flags(bad).is_some_and(|found| found.contains(help)), "{bad}");
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
