//! From the definitions of groups to world ranks (language.md section 4, semantics.md section 4).
//!
//! ```text
//! define groups {"io":S, "writers":D = 4, "readers":D = 50%, "all"};
//! ```
//!
//! S groups lie one after another from rank 0 and are disjoint from everything that
//! follows; D groups of one subtag are disjoint from each other and start after the
//! S groups; groups without tag start there too and may overlap anything.

use crate::plan::Group;
use std::fmt;

/// A group's tag, in the order in which groups are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// `S`: apart from all others.
    S,
    /// `D`: disjoint within its subtag.
    D,
    /// No tag: overlaps.
    None,
}

/// A group's size as given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of ranks.
    Ranks(u64),
    /// A share of the world in percent, rounded down.
    Percent(f64),
}

/// A group's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Its name.
    pub name: String,
    /// Its tag.
    pub tag: Tag,
    /// Number after the tag; 0 without one.
    pub subtag: i64,
    /// Its size, if one is given in the program or on the command line.
    pub size: Option<Size>,
}

/// Something about a group that is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Index of the definition.
    pub group: usize,
    /// What it is.
    pub kind: WarningKind,
}

/// What is wrong with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// It has no members; its blocks are skipped.
    Empty,
    /// It was to have so many members, but the world ends before: wanted, got.
    Cut(u64, u64),
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarningKind::Empty => f.write_str("has no members, so its blocks are skipped"),
            WarningKind::Cut(wanted, got) => {
                write!(f, "was to have {wanted} members but is cut at the number of ranks: {got}")
            }
        }
    }
}

/// Places groups in a world of `ranks`. The groups keep the order of their definitions.
pub fn resolve(defs: &[Def], ranks: u32) -> (Vec<Group>, Vec<Warning>) {
    let sizes = sizes(defs, u64::from(ranks));
    let mut order: Vec<usize> = (0..defs.len()).collect();
    order.sort_by_key(|at| (defs[*at].tag, defs[*at].subtag));
    let mut groups: Vec<Group> =
        defs.iter().map(|def| Group { name: def.name.clone(), members: 0..0 }).collect();
    let (mut lower, mut floor, mut last_subtag) = (0u64, 0u64, 0);
    for at in order {
        let (def, size) = (&defs[at], sizes[at]);
        if def.tag == Tag::None || (def.tag == Tag::D && def.subtag != last_subtag) {
            lower = floor;
        }
        let cut = |rank: u64| rank.min(u64::from(ranks)) as u32;
        groups[at].members = cut(lower)..cut(lower.saturating_add(size));
        match def.tag {
            Tag::S => {
                lower = lower.saturating_add(size);
                floor = lower;
            }
            Tag::D => {
                lower = lower.saturating_add(size);
                last_subtag = def.subtag;
            }
            Tag::None => {}
        }
    }
    let warnings = warnings(&groups, &sizes);
    (groups, warnings)
}

fn warnings(groups: &[Group], sizes: &[u64]) -> Vec<Warning> {
    let judge = |(at, group): (usize, &Group)| {
        let members = group.members.len() as u64;
        let kind = match members {
            0 if sizes[at] == 0 => WarningKind::Empty,
            members if members < sizes[at] => WarningKind::Cut(sizes[at], members),
            _ => return None,
        };
        Some(Warning { group: at, kind })
    };
    groups.iter().enumerate().filter_map(judge).collect()
}

/// Sizes of all groups. Those without one: S groups get one rank; D groups share what
/// the S groups and the sized groups of their subtag leave, as equally as possible,
/// earlier ones get the remainder; groups without tag get what the S groups leave.
fn sizes(defs: &[Def], ranks: u64) -> Vec<u64> {
    let given = |def: &Def| match (def.size, def.tag) {
        (Some(Size::Ranks(n)), _) => Some(n),
        (Some(Size::Percent(share)), _) => Some((ranks as f64 * share / 100.0) as u64),
        (None, Tag::S) => Some(1),
        (None, _) => None,
    };
    let sum = |keep: &dyn Fn(&Def) -> bool| {
        let sizes = defs.iter().filter(|def| keep(def)).filter_map(given);
        sizes.fold(0u64, u64::saturating_add)
    };
    let after_s = ranks.saturating_sub(sum(&|def| def.tag == Tag::S));
    let size_of = |at: usize| {
        let def = &defs[at];
        if let Some(size) = given(def) {
            return size;
        }
        if def.tag == Tag::None {
            return after_s;
        }
        let same = |other: &Def| other.tag == Tag::D && other.subtag == def.subtag;
        let left = after_s.saturating_sub(sum(&same));
        let sharers = defs.iter().filter(|d| same(d) && d.size.is_none()).count() as u64;
        let before = defs[..at].iter().filter(|d| same(d) && d.size.is_none()).count() as u64;
        left / sharers + u64::from(before < left % sharers)
    };
    (0..defs.len()).map(size_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn def(name: &str, tag: Tag, subtag: i64, size: impl Into<Option<u64>>) -> Def {
        Def { name: name.into(), tag, subtag, size: size.into().map(Size::Ranks) }
    }

    fn members(defs: &[Def], ranks: u32) -> Vec<std::ops::Range<u32>> {
        resolve(defs, ranks).0.into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn the_worked_example_of_the_language_page() {
        let defs = [
            def("n1", Tag::None, 0, 4),
            def("d2a", Tag::D, 2, 3),
            def("s1", Tag::S, 0, 1),
            def("d1a", Tag::D, 1, 2),
            def("s2", Tag::S, 0, 1),
            def("d1b", Tag::D, 1, 2),
            def("late", Tag::D, 1, 5),
            def("n2", Tag::None, 0, 9),
        ];
        assert_eq!(members(&defs, 8), [2..6, 2..5, 0..1, 2..4, 1..2, 4..6, 6..8, 2..8]);
        let (_, warnings) = resolve(&defs, 8);
        assert_eq!(
            warnings,
            [
                Warning { group: 6, kind: WarningKind::Cut(5, 2) },
                Warning { group: 7, kind: WarningKind::Cut(9, 6) }
            ]
        );
    }

    #[test]
    fn groups_without_sizes_share() {
        let defs =
            [def("w", Tag::D, 0, None), def("r", Tag::D, 0, None), def("s", Tag::S, 0, None)];
        assert_eq!(members(&defs, 6), [1..4, 4..6, 0..1]);
        assert_eq!(members(&defs[..2], 1), [0..1, 1..1]);
        let defs =
            [def("w", Tag::D, 0, 1), def("r", Tag::D, 0, None), def("all", Tag::None, 0, None)];
        assert_eq!(members(&defs, 4), [0..1, 1..4, 0..4]);
    }

    #[test]
    fn percent_is_of_the_world_rounded_down() {
        let half = Def { size: Some(Size::Percent(50.0)), ..def("h", Tag::D, 0, None) };
        assert_eq!(members(std::slice::from_ref(&half), 5), [0..2]);
        let (_, warnings) = resolve(&[half], 1);
        assert_eq!(warnings, [Warning { group: 0, kind: WarningKind::Empty }]);
    }

    proptest! {
        #[test]
        fn s_and_d_groups_are_disjoint(
            tags in prop::collection::vec((0u8..3, 0i64..3, prop::option::of(0u64..6)), 0..8),
            ranks in 1u32..40,
        ) {
            let tag = |n| [Tag::S, Tag::D, Tag::None][usize::from(n)];
            let defs: Vec<Def> = tags.iter().map(|(t, sub, size)| def("g", tag(*t), *sub, *size)).collect();
            let groups = members(&defs, ranks);
            for (a, x) in defs.iter().enumerate() {
                prop_assert!(groups[a].end <= ranks);
                for (b, y) in defs.iter().enumerate().skip(a + 1) {
                    let apart = groups[a].end <= groups[b].start || groups[b].end <= groups[a].start
                        || groups[a].is_empty() || groups[b].is_empty();
                    let s = x.tag == Tag::S || y.tag == Tag::S;
                    let d = x.tag == Tag::D && y.tag == Tag::D && x.subtag == y.subtag;
                    prop_assert!(apart || !(s || d), "{:?} {:?}", groups[a], groups[b]);
                }
            }
        }
    }
}
