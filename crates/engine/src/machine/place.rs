//! In which directory a path lies: of those that the program uses besides the run directory.
//!
//! ```text
//! with (dir="fast") stat("f");       f       -> /burst/f
//! copy("fast:f", "g");               fast:f  -> /burst/f
//! ```
//!
//! Their paths are absolute from here on: events, messages and MPI have them so, and back-ends find
//! the directory by the beginning ([`crate::backend`]). Nothing of this is timed.

use super::text::PathText;
use model::directory::{DIRECTORIES_MAX, Directory, below, prefixed, starts_above};
use model::value::{Eval, EvalError};

/// Number of a directory: 0 is the run directory, others are one more than their place in the plan.
pub(super) type Place = usize;

/// The run directory.
pub(super) const RUN: Place = 0;
/// The run directory and most further ones.
pub(super) const PLACES: usize = 1 + DIRECTORIES_MAX;

/// The number of the directory with this name; "" is the run directory.
pub(super) fn find(directories: &[Directory], name: &str) -> Option<Place> {
    if name.is_empty() {
        return Some(0);
    }
    Some(directories.iter().position(|directory| directory.name == name)? + 1)
}

/// Makes a rendered path absolute if it does not begin in the run directory. `active`: where paths
/// begin that do not say so.
///
/// # Errors
/// The path leaves the directory that it names.
pub(super) fn settle(directories: &[Directory], active: Place, path: &mut PathText) -> Eval<()> {
    let text = path.bytes();
    let named = prefixed(text).and_then(|(name, rest)| {
        let found = directories.iter().position(|one| one.name.as_bytes() == name)?;
        Some((found, rest.len()))
    });
    let (at, rest_len) = match (named, active.checked_sub(1)) {
        (Some(named), _) => named,
        (None, Some(at)) if !text.is_empty() && text[0] != b'/' => (at, text.len()),
        _ => {
            let holds = |one: &Directory| below(text, one.path.as_bytes()).is_some();
            path.place = directories.iter().position(holds).map_or(RUN, |at| at + 1);
            return Ok(());
        }
    };
    let directory = &directories[at];
    let start = text.len() - rest_len;
    if starts_above(&text[start..]) {
        let shown = String::from_utf8_lossy(text).into_owned();
        return Err(EvalError::Type("a path inside its directory", shown));
    }
    path.replace_start(start, directory.path.as_bytes(), b"/");
    path.place = at + 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(active: Place, text: &str) -> Eval<(String, Place)> {
        let directories = [Directory::granted("fast", "/burst"), Directory::asked("slow")];
        let mut path = PathText::new();
        path.fill(|out| {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        })?;
        settle(&directories, active, &mut path)?;
        Ok((String::from_utf8_lossy(path.bytes()).into_owned(), path.place))
    }

    #[test]
    fn paths_begin_where_they_are_said_to() {
        for (active, text, expected, place) in [
            (0, "f", "f", 0),
            (1, "f", "/burst/f", 1),
            (2, "a/f", "/slow/a/f", 2),
            (2, "fast:f", "/burst/f", 1),
            (0, "fast:", "/burst/", 1),
            (1, "/run/dir/f", "/run/dir/f", 0),
            (0, "/slow/f", "/slow/f", 2),
            (1, "", "", 0),
            (1, "./fast:f", "/burst/./fast:f", 1),
            (0, "other:f", "other:f", 0),
        ] {
            assert_eq!(settled(active, text), Ok((expected.into(), place)), "{active} {text}");
        }
        for (active, text) in [(0, "fast:.."), (0, "fast:./../x"), (1, "../x")] {
            assert!(settled(active, text).is_err(), "{active} {text}");
        }
    }
}
