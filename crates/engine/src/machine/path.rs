//! A path in a buffer that is used again for every operation.
//!
//! ```text
//! repeat $i 1000 write("dir/file-$i", 4k);      dir/file-41 -> dir/file-42
//! ```
//!
//! Most paths of a loop end in a number that grows by one: then only its digits change.
//!
//! And in which directory a path lies: of those that the program uses besides the run directory.
//!
//! ```text
//! with (dir="fast") stat("f");       f       -> /burst/f
//! copy("fast:f", "g");               fast:f  -> /burst/f
//! ```
//!
//! Their paths are absolute from here on: events, messages and MPI have them so, and back-ends find
//! the directory by the beginning ([`crate::backend`]). Nothing of this is timed.

use model::directory::{DIRECTORIES_MAX, Directory, below, prefixed, starts_above};
use model::plan::{NO_SLOT, Operand, Slot};
use model::value::{Eval, EvalError};
use std::ffi::CStr;

/// A path that ends with its only NUL.
#[derive(Debug)]
pub(super) struct PathText {
    bytes: Vec<u8>,
    origin: Origin,
    /// The directory it lies in.
    pub(super) place: Place,
}

/// The parts of a path that allow making the next one from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The operand.
    pub(super) operand: Operand,
    /// The variable whose number ends the path; everything before is constant. [`NO_SLOT`]:
    /// the whole path is constant.
    pub(super) slot: Slot,
    /// The number, not negative.
    pub(super) number: i64,
    /// Where its digits start.
    pub(super) digits_at: usize,
}

impl Origin {
    /// An operand that no path is made from.
    const NOTHING: Origin =
        Origin { operand: Operand(u32::MAX), slot: NO_SLOT, number: 0, digits_at: 0 };
}

impl PathText {
    pub(super) fn new() -> PathText {
        PathText { bytes: vec![0], origin: Origin::NOTHING, place: RUN }
    }

    /// The parts from which the path was made.
    #[inline(always)]
    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Says what the path was made from; holds until it is filled again.
    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Makes the path that ends in another number; false if that needs the whole work.
    #[inline(always)]
    pub(super) fn step_to(&mut self, number: i64) -> bool {
        let last = self.bytes.len().wrapping_sub(2);
        if number == self.origin.number {
            return true;
        }
        match self.bytes.get_mut(last) {
            Some(digit @ b'0'..=b'8') if Some(number) == self.origin.number.checked_add(1) => {
                *digit += 1;
                self.origin.number = number;
                true
            }
            _ => self.carry_to(number),
        }
    }

    /// The same where 9 becomes 10.
    #[inline(never)]
    fn carry_to(&mut self, number: i64) -> bool {
        if Some(number) != self.origin.number.checked_add(1) {
            return false;
        }
        let end = self.bytes.len() - 1;
        let digits = &mut self.bytes[self.origin.digits_at..end];
        let Some(at) = digits.iter().rposition(|digit| *digit != b'9') else { return false };
        digits[at] += 1;
        digits[at + 1..].fill(b'0');
        self.origin.number = number;
        true
    }

    /// Replaces the path by what `render` appends. A NUL in it is an error, because
    /// the kernel would take the path to end there.
    #[inline(always)]
    pub(super) fn fill(&mut self, render: impl FnOnce(&mut Vec<u8>) -> Eval<()>) -> Eval<()> {
        (self.origin, self.place) = (Origin::NOTHING, RUN);
        self.bytes.clear();
        let rendered = render(&mut self.bytes);
        let whole = !self.bytes.contains(&0);
        if rendered.is_err() || !whole {
            self.bytes.clear();
        }
        self.bytes.push(0);
        rendered?;
        if whole { Ok(()) } else { Err(contains_nul()) }
    }

    /// The text was changed: it no longer follows from its origin.
    pub(super) fn forget_origin(&mut self) {
        self.origin = Origin::NOTHING;
    }

    /// Other texts, without a NUL, take the place of the first bytes.
    pub(super) fn replace_start(&mut self, bytes: usize, first: &[u8], second: &[u8]) {
        let texts = first.iter().chain(second).copied();
        drop(self.bytes.splice(..bytes, texts));
    }

    #[inline(always)]
    pub(super) fn as_c_str(&self) -> &CStr {
        // SAFETY: `new` and `fill` leave exactly one NUL, at the end.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }

    /// Without the NUL.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }
}

#[cold]
fn contains_nul() -> EvalError {
    EvalError::Type("a path", "a text with a zero byte in it".into())
}

/// Appends an integer in decimal.
#[inline(always)]
pub(super) fn push_int(out: &mut Vec<u8>, n: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Number of a directory: 0 is the run directory, others are one more than their place in the plan.
pub(super) type Place = usize;

/// The run directory.
pub(super) const RUN: Place = 0;
/// The run directory and most further ones.
pub(super) const PLACES: usize = 1 + DIRECTORIES_MAX;

/// The number of the directory with this name; "" is the run directory.
pub(super) fn find_place(directories: &[Directory], name: &str) -> Option<Place> {
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
pub(super) fn settle_path(
    directories: &[Directory],
    active: Place,
    path: &mut PathText,
) -> Eval<()> {
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
    use proptest::prelude::*;

    #[test]
    fn a_path_ends_with_its_only_nul() {
        let mut path = PathText::new();
        let render = |text: &'static [u8]| {
            move |out: &mut Vec<u8>| {
                out.extend_from_slice(text);
                Ok(())
            }
        };
        path.fill(render(b"a/b")).unwrap();
        assert_eq!((path.as_c_str(), path.bytes()), (c"a/b", &b"a/b"[..]));
        assert!(path.fill(render(b"a\0b")).is_err());
        assert_eq!(path.as_c_str(), c"");
        assert!(path.fill(|_| Err(EvalError::Unset)).is_err());
        assert_eq!(path.as_c_str(), c"");
    }

    #[test]
    fn a_path_counts_on() {
        let mut path = PathText::new();
        let fill = |path: &mut PathText, number: i64| {
            path.fill(|out| {
                out.extend_from_slice(format!("f-9{number}").as_bytes());
                Ok(())
            })
            .unwrap();
            let (operand, slot) = (Operand::template(0), Slot(0));
            path.set_origin(Origin { operand, slot, number, digits_at: 3 });
        };
        fill(&mut path, 0);
        for number in 1..12_345 {
            if !path.step_to(number) {
                assert!(number.to_string().trim_end_matches('0') == "1", "{number}");
                fill(&mut path, number);
            }
            assert_eq!(path.bytes(), format!("f-9{number}").as_bytes());
        }
        assert!(path.step_to(12_344) && !path.step_to(12_346) && !path.step_to(0));
        assert_eq!(path.bytes(), b"f-912344");
        fill(&mut path, i64::MAX);
        assert!(!path.step_to(i64::MIN));
    }

    proptest! {
        #[test]
        fn integers_are_appended_in_decimal(n in any::<i64>(), shift in 0u32..64) {
            for n in [n, n >> shift, i64::MIN, i64::MAX, 0, -1] {
                let mut out = vec![b'x'];
                push_int(&mut out, n);
                prop_assert_eq!(String::from_utf8(out).unwrap(), format!("x{n}"));
            }
        }
    }

    fn settled(active: Place, text: &str) -> Eval<(String, Place)> {
        let directories = [Directory::granted("fast", "/burst"), Directory::requested("slow")];
        let mut path = PathText::new();
        path.fill(|out| {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        })?;
        settle_path(&directories, active, &mut path)?;
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
