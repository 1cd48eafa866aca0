//! What is known about the path components of texts, as a finite abstraction.
//!
//! Only this matters of a piece of a component: is it empty, ".", "..", or anything
//! else; joining two pieces is a table over these four ("." and "." give ".."), and two more stand for
//! absolute paths of granted directories and for absolute paths that leave. A text is one
//! piece, or a first and a last piece with complete components between them.
//! All sets are finite, so that a fixed point over a program's variables is reached.

use model::directory::below;

/// A set of kinds of pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces(u8);

const EMPTY: u8 = 1;
const DOT: u8 = 2;
const PARENT: u8 = 4;
const OTHER: u8 = 8;
/// The absolute path of the run directory or of another granted one, as a whole.
const ROOT: u8 = 16;
/// An absolute path that may leave the run directory.
const ABSOLUTE: u8 = 32;

const KINDS: [u8; 6] = [EMPTY, DOT, PARENT, OTHER, ROOT, ABSOLUTE];

impl Pieces {
    const NONE: Pieces = Pieces(0);

    fn or(self, other: Pieces) -> Pieces {
        Pieces(self.0 | other.0)
    }

    fn has(self, kinds: u8) -> bool {
        self.0 & kinds != 0
    }

    /// All that can come of writing one piece after the other.
    #[inline]
    fn then(self, next: Pieces) -> Pieces {
        Pieces(JOINED[usize::from(self.0)][usize::from(next.0)])
    }
}

const SETS: usize = 1 << KINDS.len();

/// [`joined`] for all pairs of members of two sets: programs have very many paths.
static JOINED: [[u8; SETS]; SETS] = {
    let mut table = [[0; SETS]; SETS];
    let mut at = 0;
    while at < SETS * SETS {
        table[at / SETS][at % SETS] = joined_sets(at / SETS, at % SETS);
        at += 1;
    }
    table
};

const fn joined_sets(first: usize, second: usize) -> u8 {
    let mut result = 0;
    let mut pair = 0;
    while pair < KINDS.len() * KINDS.len() {
        let (a, b) = (KINDS[pair / KINDS.len()], KINDS[pair % KINDS.len()]);
        if first & a as usize != 0 && second & b as usize != 0 {
            result |= joined(a, b);
        }
        pair += 1;
    }
    result
}

const fn joined(a: u8, b: u8) -> u8 {
    match (a, b) {
        (EMPTY, b) => b,
        (a, EMPTY) => a,
        (DOT, DOT) => PARENT,
        // "/run/dir" and more letters is another directory.
        (ROOT | ABSOLUTE, _) | (_, ABSOLUTE) => ABSOLUTE,
        // "..": the absolute path behind it begins with a slash.
        (PARENT, ROOT) => PARENT,
        _ => OTHER,
    }
}

/// What the texts of a set can look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Texts without a slash.
    whole: Pieces,
    /// Texts with one: what stands before the first and behind the last.
    head: Pieces,
    tail: Pieces,
    /// A complete component between slashes may be `..`.
    bad: bool,
    /// They may have a backslash, which file systems of Windows take for a slash.
    backslash: bool,
    /// They may stand in a list, in lists in lists: so deep at most, if it is below [`DEEP`].
    depth: u8,
}

/// Lists in lists are not told apart from here on.
const DEEP: u8 = 4;

impl Shape {
    /// No text at all: the start of a fixed point.
    pub(crate) const NONE: Shape = Shape {
        whole: Pieces::NONE,
        head: Pieces::NONE,
        tail: Pieces::NONE,
        bad: false,
        backslash: false,
        depth: 0,
    };

    /// Numbers, booleans, durations: never empty, no slash, never only dots.
    pub(crate) const NUMBER: Shape = Shape { whole: Pieces(OTHER), ..Shape::NONE };

    /// A name in a directory: no slash, not made of dots alone.
    pub(crate) const NAME: Shape = Shape { backslash: true, ..Shape::NUMBER };

    /// The shape of one text.
    pub(crate) fn of_text(text: &[u8], roots: &[String]) -> Shape {
        let roots = roots.iter().filter(|root| !root.trim_end_matches('/').is_empty());
        if text.first() == Some(&b'/')
            && let Some(rest) = roots.filter_map(|root| below(text, root.as_bytes())).next()
        {
            let root = Shape { whole: Pieces(ROOT), ..Shape::NONE };
            return root.then(Shape::of_relative(rest));
        }
        Shape::of_relative(text)
    }

    fn of_relative(text: &[u8]) -> Shape {
        let backslash = text.contains(&b'\\');
        let mut parts = text.split(|byte| *byte == b'/').map(piece);
        let head = parts.next().unwrap_or(Pieces(EMPTY));
        let Some(mut tail) = parts.next() else {
            return Shape { whole: head, backslash, ..Shape::NONE };
        };
        let mut bad = false;
        for next in parts {
            bad |= tail.has(PARENT);
            tail = next;
        }
        Shape { whole: Pieces::NONE, head, tail, bad, backslash, depth: 0 }
    }

    /// The texts of both.
    pub(crate) fn or(self, other: Shape) -> Shape {
        Shape {
            whole: self.whole.or(other.whole),
            head: self.head.or(other.head),
            tail: self.tail.or(other.tail),
            bad: self.bad || other.bad,
            backslash: self.backslash || other.backslash,
            depth: self.depth.max(other.depth),
        }
    }

    /// A list of such texts.
    pub(crate) fn in_list(self) -> Shape {
        Shape { depth: (self.depth + 1).min(DEEP), ..self }
    }

    /// An element of such a list.
    pub(crate) fn element(self) -> Shape {
        let depth = if self.depth == DEEP { DEEP } else { self.depth.saturating_sub(1) };
        Shape { depth, ..self }
    }

    /// What `+` makes of both: texts in a row, or one list of the elements of two.
    pub(crate) fn plus(self, other: Shape) -> Shape {
        let row = self.then(other);
        if self.depth.min(other.depth) == 0 { row } else { row.or(self).or(other) }
    }

    /// All texts of one followed by one of the other.
    pub(crate) fn then(self, next: Shape) -> Shape {
        let (a, b) = (self, next);
        let between = a.tail.then(b.head);
        Shape {
            whole: a.whole.then(b.whole),
            head: a.whole.then(b.head).or(if b.is_none() { Pieces::NONE } else { a.head }),
            tail: a.tail.then(b.whole).or(if a.is_none() { Pieces::NONE } else { b.tail }),
            bad: a.bad || b.bad || between.has(PARENT | ABSOLUTE),
            backslash: a.backslash || b.backslash,
            depth: 0,
        }
    }

    fn is_none(self) -> bool {
        self == Shape::NONE
    }

    /// Why a path of this shape may leave the run directory; `None`: it cannot.
    pub(crate) fn leaves(self) -> Option<&'static str> {
        let parts = self.whole.or(self.head).or(self.tail);
        if self.bad || parts.has(PARENT) {
            Some("it may have a component `..`")
        } else if self.head.has(EMPTY) || parts.has(ABSOLUTE) {
            Some("it may be absolute")
        } else {
            None
        }
    }

    /// Why a symbolic link that holds a text of this shape may lead to something that is not beneath the
    /// link's own directory; `None`: it cannot, wherever it is moved ([`model::directory::leads_down`]).
    pub(crate) fn leads_up(self) -> Option<&'static str> {
        let parts = self.whole.or(self.head).or(self.tail);
        if self.bad || parts.has(PARENT) {
            Some("the target of the symbolic link may have a component `..`")
        } else if self.head.has(EMPTY) || parts.has(ABSOLUTE | ROOT) {
            Some("the target of the symbolic link may be absolute")
        } else if self.backslash {
            Some("the target of the symbolic link may have a `\\`, which SMB takes for `/`")
        } else {
            None
        }
    }
}

fn piece(text: &[u8]) -> Pieces {
    Pieces(match text {
        b"" => EMPTY,
        b"." => DOT,
        b".." => PARENT,
        _ => OTHER,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(parts: &[&str]) -> Shape {
        let roots = ["/run/dir".into(), "/burst".into()];
        let start = Shape::of_text(b"", &roots);
        parts.iter().fold(start, |shape, part| {
            shape.then(match *part {
                "#" => Shape::NUMBER,
                text => Shape::of_text(text.as_bytes(), &roots),
            })
        })
    }

    #[test]
    fn texts_that_stay_and_texts_that_leave() {
        for (parts, leaves) in [
            (vec!["a/b"], false),
            (vec!["a/", "#", "/c-", "#"], false),
            (vec!["", "#"], false),
            (vec![".", "."], true),
            (vec!["a/.", "."], true),
            (vec!["a/.", "./b"], true),
            (vec!["a/.", ".b"], false),
            (vec![".", "#"], false),
            (vec!["..", "#"], false),
            (vec!["../", "#"], true),
            (vec!["a/", "../", "#"], true),
            (vec!["", "/", "a"], true),
            (vec!["", "/a"], true),
            (vec!["a", "/b"], false),
            (vec!["/run/dir/", "#"], false),
            (vec!["/run/dir", "/x"], false),
            (vec!["/run/dir", "x"], true),
            (vec!["/run/dir", "#"], true),
            (vec!["/run/dirx/y"], true),
            (vec!["/burst/", "#"], false),
            (vec!["/burst", "#"], true),
            (vec!["/run/dir/../x"], true),
            (vec!["a", "/run/dir/x"], false),
            (vec!["..", "/run/dir/x"], true),
        ] {
            assert_eq!(shape(&parts).leaves().is_some(), leaves, "{parts:?}");
        }
    }

    #[test]
    fn links_that_lead_down_and_links_that_may_lead_up() {
        for (parts, up) in [
            (vec!["a/b"], false),
            (vec![""], false),
            (vec!["."], false),
            (vec!["a-", "#", "/b"], false),
            (vec![".", "."], true),
            (vec!["a/../b"], true),
            (vec!["/etc"], true),
            (vec!["/run/dir"], true),
            (vec!["/run/dir/", "#"], true),
            (vec!["", "/burst", "/x"], true),
            (vec!["a\\..\\b"], true),
            (vec!["a", "\\", "b/c"], true),
        ] {
            assert_eq!(shape(&parts).leads_up().is_some(), up, "{parts:?}");
        }
        assert!(Shape::NAME.leaves().is_none() && Shape::NAME.leads_up().is_some());
        let choice = shape(&["a"]).or(shape(&["b\\c"])).in_list().element();
        assert!(choice.leads_up().is_some());
    }

    #[test]
    fn a_choice_leaves_if_one_of_its_texts_does() {
        let choice = shape(&["a"]).or(shape(&[".."]));
        assert!(choice.leaves().is_some());
        assert!(shape(&["x-"]).then(choice).leaves().is_none());
        assert!(shape(&["x/"]).then(choice).leaves().is_some());
    }

    #[test]
    fn joining_agrees_with_joined_texts() {
        let texts =
            ["", ".", "..", "a", "/", "a/", "/a", "./", "/..", "../", "a/b", "/.", "//", "\\"];
        for a in texts {
            for b in texts {
                let joined = format!("{a}{b}");
                let apart = Shape::of_relative(a.as_bytes()).then(Shape::of_relative(b.as_bytes()));
                let whole = Shape::of_relative(joined.as_bytes());
                assert_eq!(apart.leaves(), whole.leaves(), "{a:?} {b:?}");
                let down = model::directory::leads_down(joined.as_bytes());
                assert_eq!(apart.leads_up().is_none(), down, "{a:?} {b:?}");
            }
        }
    }
}
