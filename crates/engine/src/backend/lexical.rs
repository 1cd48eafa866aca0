//! The lexical rule of confinement: which names a program may use, by their text alone.
//!
//! | name | accepted |
//! |---|---|
//! | a path | relative, or below a directory that was granted; no component `..` |
//! | what a symbolic link holds | relative, no component `..`: it leads down |
//! | the marker `.parabench` | to be read only |
//!
//! A link that leads down leads to something beneath the directory that holds it, wherever link or
//! directory are moved, and so do chains of such links. So in a directory that only this user can
//! write to and that holds no other links, every accepted name stays inside, whatever the program
//! computes, links or renames. The rule needs no help of the kernel and no system call.
//!
//! Calls that it cannot cover ([`exception`]) need [`super::Beneath`], which accepts links that lead up as
//! long as they stay inside by their text ([`check_link`]), and resolves names beneath the directory.
//!
//! All of it runs in [`super::Backend::prepare`], outside of the time of an operation.
//!
//! Also here: arguments that the kernel refuses before it looks at any name.

use crate::call::{Call, Names};
use crate::entries::MARKER;
use model::directory::{leads_down, link_leaves};
use std::ffi::CStr;

/// A granted directory, by its number, and a path relative to it.
pub(crate) type Located<'a> = (usize, &'a [u8]);

/// `EXDEV` for names that may leave the directories, `EPERM` for calls that change the marker. `locate`
/// finds the directory of an absolute path; `None`: it lies in none.
#[inline(always)]
pub(crate) fn check<'a>(
    call: &Call<'a>,
    locate: impl Fn(&'a [u8]) -> Option<Located<'a>>,
) -> Result<(), i32> {
    match call.names() {
        Names::None => Ok(()),
        Names::One { path, .. } | Names::Link { path, .. } => check_located(path, &locate),
        Names::Two { from, to } => {
            check_located(from, &locate).and_then(|()| check_located(to, &locate))
        }
    }?;
    protect_marker(call)
}

#[inline(always)]
fn check_located<'a>(
    path: &'a CStr,
    locate: &impl Fn(&'a [u8]) -> Option<Located<'a>>,
) -> Result<(), i32> {
    let bytes = path.to_bytes();
    let is_outside = bytes.first() == Some(&b'/') && locate(bytes).is_none();
    if is_outside || goes_up(bytes) { Err(libc::EXDEV) } else { Ok(()) }
}

/// A component of the path is `..`. Linear in the bytes of the path.
#[inline(always)]
fn goes_up(path: &[u8]) -> bool {
    // Without a branch per byte: hardly any path has two dots in a row.
    let dots = path.windows(2).fold(false, |found, pair| found | (pair == b".."));
    dots && path.split(|byte| *byte == b'/').any(|part| part == b"..")
}

/// Why the rule does not cover a call, in words that complete "because the program ..."; `None`: it
/// does.
#[inline(always)]
pub(crate) fn exception(call: &Call<'_>) -> Option<&'static str> {
    match call {
        Call::Symlink { target, .. } if !leads_down(target.to_bytes()) => {
            Some("makes a symbolic link that is absolute or leads up")
        }
        Call::Chmod { mode, .. } if mode & 0o022 != 0 => {
            Some("lets other users write, who may put links there")
        }
        _ => None,
    }
}

/// `EXDEV` for a symbolic link that leaves its directory by its text. What it passes need not exist
/// yet; where it leads is resolved when it is used.
pub(crate) fn check_link<'a>(
    call: &Call<'a>,
    locate: impl Fn(&'a [u8]) -> Option<Located<'a>>,
) -> Result<(), i32> {
    let Names::Link { target, path } = call.names() else { return Ok(()) };
    match stays(target.to_bytes(), path.to_bytes(), locate) {
        true => Ok(()),
        false => Err(libc::EXDEV),
    }
}

/// A symbolic link at `path` that holds `target` leads to a name in the same granted directory.
pub(crate) fn stays<'a>(
    target: &'a [u8],
    path: &'a [u8],
    locate: impl Fn(&'a [u8]) -> Option<Located<'a>>,
) -> bool {
    let Some((directory, path)) = locate(path) else { return false };
    if target.first() == Some(&b'/') {
        return !goes_up(target) && locate(target).is_some_and(|(other, _)| other == directory);
    }
    let below = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    !link_leaves(target, &path[below..])
}

/// `EPERM` for calls that would make, change, rename or remove a name [`MARKER`].
#[inline(always)]
pub(crate) fn protect_marker(call: &Call<'_>) -> Result<(), i32> {
    let touched = match call.names() {
        Names::None => false,
        Names::One { path, changes } => changes && names_marker(path),
        // A link to the marker would be a second name for it.
        Names::Two { from: one, to: other } | Names::Link { target: one, path: other } => {
            names_marker(one) || names_marker(other)
        }
    };
    if touched { Err(libc::EPERM) } else { Ok(()) }
}

/// Also in capitals and with dots or blanks behind: some file systems take these for the same name.
#[inline(always)]
fn names_marker(path: &CStr) -> bool {
    let path = path.to_bytes();
    let is_end = |byte: &u8| matches!(byte, b'/' | b'.' | b' ');
    let path = &path[..path.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1)];
    let Some(at) = path.len().checked_sub(MARKER.len()) else { return false };
    path[at..].eq_ignore_ascii_case(MARKER.as_bytes()) && (at == 0 || path[at - 1] == b'/')
}

/// Flags that contradict each other, which the kernel refuses with `EINVAL` before it looks at any
/// name (open(2); O_CREAT with O_DIRECTORY since Linux 6.4).
pub(crate) fn refuses_flags(flags: i32) -> bool {
    const CREATE_DIRECTORY: i32 = libc::O_CREAT | libc::O_DIRECTORY;
    let nameless = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let is_read_only = flags & libc::O_ACCMODE == libc::O_RDONLY;
    flags & libc::O_PATH == 0
        && (flags & CREATE_DIRECTORY == CREATE_DIRECTORY || nameless && is_read_only)
}

/// The kernel's checks of a path before it looks at any name.
pub(crate) fn check_path(path: &[u8]) -> Result<(), i32> {
    match path.len() {
        0 => Err(libc::ENOENT),
        length if length >= libc::PATH_MAX as usize => Err(libc::ENAMETOOLONG),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run directory is `/run/dir`, a further one `/burst`.
    fn locate(path: &[u8]) -> Option<Located<'_>> {
        let below = |root: &[u8]| model::directory::below(path, root);
        match path.first() {
            Some(b'/') => {
                below(b"/run/dir").map(|rest| (0, rest)).or(below(b"/burst").map(|rest| (1, rest)))
            }
            _ => Some((0, path)),
        }
    }

    #[test]
    fn paths_stay_inside_by_their_text() {
        for (path, accepted) in [
            (c"a/b", true),
            (c"a..b/..c/...", true),
            (c"", true),
            (c"/run/dir/a", true),
            (c"/burst", true),
            (c"..", false),
            (c"a/..", false),
            (c"a/../b", false),
            (c"/run/dir/../a", false),
            (c"/run/dirx", false),
            (c"/etc/passwd", false),
            (c"//run/dir", false),
        ] {
            let expected = if accepted { Ok(()) } else { Err(libc::EXDEV) };
            assert_eq!(check(&Call::Stat { path }, locate), expected, "{path:?}");
            let call = Call::Rename { from: c"a", to: path, flags: 0 };
            assert_eq!(check(&call, locate), expected, "to {path:?}");
        }
    }

    #[test]
    fn links_that_lead_up_are_exceptions_and_must_not_leave() {
        for (target, path, covered, stays) in [
            (c"a", c"d/l", true, true),
            (c"../a", c"d/l", false, true),
            (c"../a", c"l", false, false),
            (c"../a", c"/run/dir/d/l", false, true),
            (c"../a", c"/run/dir/l", false, false),
            (c"/run/dir/a", c"l", false, true),
            (c"/run/dir/../a", c"l", false, false),
            (c"/burst/a", c"l", false, false),
            (c"/burst/a", c"/burst/l", false, true),
            (c"/etc", c"l", false, false),
        ] {
            let call = Call::Symlink { target, path };
            assert_eq!(exception(&call).is_none(), covered, "{target:?}");
            assert_eq!(check_link(&call, locate).is_ok(), stays, "{target:?} at {path:?}");
        }
        for (mode, covered) in [(0o755, true), (0o775, false), (0o757, false), (0o700, true)] {
            let call = Call::Chmod { path: c"d", mode };
            assert_eq!(exception(&call).is_none(), covered, "{mode:o}");
        }
    }

    #[test]
    fn only_the_name_of_the_marker_is_reserved() {
        for (path, reserved) in [
            (c".parabench", true),
            (c"./.parabench", true),
            (c"sub/.parabench", true),
            (c"x.parabench", false),
            (c".parabench2", false),
            (c"", false),
        ] {
            let refused = check(&Call::Unlink { path }, locate) == Err(libc::EPERM);
            assert_eq!(refused, reserved, "{path:?}");
        }
        let read = Call::Open { path: c".parabench", flags: libc::O_RDONLY, mode: 0 };
        assert_eq!(check(&read, locate), Ok(()));
        for target in [c".parabench", c"./.parabench"] {
            let call = Call::Symlink { target, path: c"l" };
            assert_eq!(check(&call, locate), Err(libc::EPERM));
        }
    }

    #[test]
    fn the_marker_is_known_in_every_spelling() {
        for (name, is_marker) in [
            (c".parabench", true),
            (c"d/.parabench", true),
            (c".PARABENCH", true),
            (c".parabench. /", true),
            (c"x.parabench", false),
            (c".parabench2", false),
            (c".", false),
            (c"", false),
        ] {
            assert_eq!(names_marker(name), is_marker, "{name:?}");
        }
    }
}
