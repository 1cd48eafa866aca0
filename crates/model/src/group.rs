//! The mapping from group sizes to world ranks (language.md section 4, semantics.md section 4).
//!
//! ```text
//! 8 ranks   "s1":S = 1  "d1a":D1 = 2  "d1b":D1 = 2  "d2a":D2 = 3  "n1" = 4
//!           {0}         {1,2}         {3,4}         {1,2,3}       {1..4}
//! ```
//!
//! Groups are taken in a stable order: tag S, then D, then none, and by subtag
//! within a tag. S groups follow each other from rank 0 on. The D groups of one subtag follow each
//! other behind the S groups; every other subtag begins behind the S groups
//! again, and so does every untagged group. Members are contiguous by construction.

use crate::plan::Group;
use std::fmt;

/// The letter behind a group's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// Own ranks, before all others.
    S,
    /// Disjoint from the D groups of the same subtag.
    D,
    /// Behind the S groups, whatever else is there.
    None,
}

/// A group's size as given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of ranks.
    Ranks(u64),
    /// A share of the world, cut to whole ranks; 0 to 100.
    Percent(f64),
}

/// A group as defined.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDef {
    /// Its name, without blanks around it.
    pub name: String,
    /// S, D or none: decides where its ranks begin.
    pub tag: Tag,
    /// The number behind the tag; 0 without one.
    pub subtag: i64,
    /// Its size; `None`: what the others leave.
    pub size: Option<Size>,
}

/// A remark on a group's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// There are fewer ranks than asked for.
    Cut {
        /// Index of the group.
        group: usize,
        /// Ranks asked for.
        requested: u64,
        /// Ranks it has; not 0.
        got: u32,
    },
    /// Nobody is in it; its blocks are skipped.
    Empty {
        /// Index of the group.
        group: usize,
    },
}

impl Remark {
    /// Index of the group it is about.
    pub fn group(self) -> usize {
        match self {
            Remark::Cut { group, .. } | Remark::Empty { group } => group,
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Cut { requested, got, .. } => {
                write!(f, "it has {got} of the {requested} ranks it asks for")
            }
            Remark::Empty { .. } => f.write_str("it has no members, so its blocks are skipped"),
        }
    }
}

/// Gives every group its ranks, in order of definition.
pub fn resolve(defs: &[GroupDef], ranks: u32) -> (Vec<Group>, Vec<Remark>) {
    let requested = sizes(defs, ranks);
    let mut groups: Vec<Group> =
        defs.iter().map(|def| Group { name: def.name.clone(), members: 0..0 }).collect();
    let (mut lower, mut floor, mut last_subtag) = (0u64, 0u64, 0i64);
    for index in order(defs) {
        let (def, size) = (&defs[index], requested[index]);
        if def.tag == Tag::None || (def.tag == Tag::D && def.subtag != last_subtag) {
            lower = floor;
        }
        let end = lower.saturating_add(size);
        let cut = |at: u64| at.min(u64::from(ranks)) as u32;
        groups[index].members = cut(lower)..cut(end);
        match def.tag {
            Tag::S => (lower, floor) = (end, end),
            Tag::D => (lower, last_subtag) = (end, def.subtag),
            Tag::None => {}
        }
    }
    let remarks =
        groups.iter().enumerate().filter_map(|(at, group)| remark(at, group, requested[at]));
    let remarks = remarks.collect();
    (groups, remarks)
}

/// Indices of the groups in the order in which they get their ranks.
fn order(defs: &[GroupDef]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..defs.len()).collect();
    order.sort_by_key(|index| (defs[*index].tag, defs[*index].subtag));
    order
}

fn remark(group: usize, resolved: &Group, requested: u64) -> Option<Remark> {
    match resolved.members.end - resolved.members.start {
        0 => Some(Remark::Empty { group }),
        got if u64::from(got) < requested => Some(Remark::Cut { group, requested, got }),
        _ => None,
    }
}

/// The size of every group, also where none is given: S groups one rank; the D
/// groups of a subtag what its other groups leave, as equally as possible, the
/// earlier ones one more; untagged groups all behind the S groups.
fn sizes(defs: &[GroupDef], ranks: u32) -> Vec<u64> {
    let given = |def: &GroupDef| def.size.map(|size| in_ranks(size, ranks));
    let mut sizes: Vec<u64> = defs.iter().map(|def| given(def).unwrap_or(1)).collect();
    let of_s = |index: &usize| defs[*index].tag == Tag::S;
    let taken: u64 =
        (0..defs.len()).filter(of_s).map(|index| sizes[index]).fold(0, u64::saturating_add);
    let rest = u64::from(ranks).saturating_sub(taken);
    for (index, def) in defs.iter().enumerate().filter(|(_, def)| def.size.is_none()) {
        sizes[index] = match def.tag {
            Tag::S => 1,
            Tag::None => rest,
            Tag::D => share(defs, index, rest, given),
        };
    }
    sizes
}

/// The part of an unsized D group in the ranks behind the S groups.
fn share(
    defs: &[GroupDef],
    index: usize,
    rest: u64,
    given: impl Fn(&GroupDef) -> Option<u64>,
) -> u64 {
    let mates = || {
        let subtag = defs[index].subtag;
        defs.iter().enumerate().filter(move |(_, d)| d.tag == Tag::D && d.subtag == subtag)
    };
    let taken = mates().filter_map(|(_, def)| given(def)).fold(0, u64::saturating_add);
    let left = rest.saturating_sub(taken);
    let unsized_mates = || mates().filter(|(_, def)| def.size.is_none());
    let count = unsized_mates().count() as u64;
    let before = unsized_mates().filter(|(at, _)| *at < index).count() as u64;
    left / count + u64::from(before < left % count)
}

fn in_ranks(size: Size, ranks: u32) -> u64 {
    match size {
        Size::Ranks(n) => n,
        // A float that is too large or no number becomes the nearest integer.
        Size::Percent(percent) => (f64::from(ranks) * percent / 100.0 + 1e-9) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn def(name: &str, tag: Tag, subtag: i64, size: Option<Size>) -> GroupDef {
        GroupDef { name: name.into(), tag, subtag, size }
    }

    fn ranks(name: &str, tag: Tag, subtag: i64, size: u64) -> GroupDef {
        def(name, tag, subtag, Some(Size::Ranks(size)))
    }

    fn members(defs: &[GroupDef], ranks: u32) -> Vec<(u32, u32)> {
        resolve(defs, ranks).0.iter().map(|g| (g.members.start, g.members.end)).collect()
    }

    /// The worked example of language.md section 4.
    #[test]
    fn the_worked_example() {
        let defs = [
            ranks("s1", Tag::S, 0, 1),
            ranks("s2", Tag::S, 0, 1),
            ranks("d1a", Tag::D, 1, 2),
            ranks("d1b", Tag::D, 1, 2),
            ranks("late", Tag::D, 1, 5),
            ranks("d2a", Tag::D, 2, 3),
            ranks("n1", Tag::None, 0, 4),
            ranks("n2", Tag::None, 0, 9),
        ];
        let (_, remarks) = resolve(&defs, 8);
        assert_eq!(
            members(&defs, 8),
            [(0, 1), (1, 2), (2, 4), (4, 6), (6, 8), (2, 5), (2, 6), (2, 8)]
        );
        assert_eq!(
            remarks,
            [
                Remark::Cut { group: 4, requested: 5, got: 2 },
                Remark::Cut { group: 7, requested: 9, got: 6 }
            ]
        );
    }

    #[test]
    fn sizes_that_are_left_out() {
        let d = |name| def(name, Tag::D, 0, None);
        let s = def("s", Tag::S, 0, None);
        let n = def("n", Tag::None, 0, None);
        for (defs, world, expected) in [
            (vec![d("w"), d("r")], 4, vec![(0, 2), (2, 4)]),
            (vec![d("w"), d("r")], 5, vec![(0, 3), (3, 5)]),
            (vec![d("w"), d("r")], 1, vec![(0, 1), (1, 1)]),
            (vec![d("w"), s.clone(), n.clone()], 4, vec![(1, 4), (0, 1), (1, 4)]),
            (vec![ranks("w", Tag::D, 0, 3), d("r"), d("q")], 8, vec![(0, 3), (3, 6), (6, 8)]),
            (vec![d("a"), def("b", Tag::D, 1, None)], 4, vec![(0, 4), (0, 4)]),
            (vec![n], 3, vec![(0, 3)]),
        ] {
            assert_eq!(members(&defs, world), expected, "{defs:?} on {world}");
        }
    }

    #[test]
    fn percentages_are_of_the_world_and_cut_to_whole_ranks() {
        let half = |name| def(name, Tag::D, 0, Some(Size::Percent(50.0)));
        assert_eq!(members(&[half("a"), half("b")], 4), [(0, 2), (2, 4)]);
        assert_eq!(members(&[half("a"), half("b")], 5), [(0, 2), (2, 4)]);
        let tenth = def("t", Tag::None, 0, Some(Size::Percent(29.0)));
        assert_eq!(members(&[tenth], 100), [(0, 29)]);
    }

    #[test]
    fn a_group_of_nobody_is_remarked() {
        let (groups, remarks) = resolve(&[ranks("a", Tag::S, 0, 0)], 4);
        assert!(groups[0].members.is_empty());
        assert_eq!(remarks, [Remark::Empty { group: 0 }]);
        assert_eq!(resolve(&[], 4), (vec![], vec![]));
    }

    fn any_def() -> impl Strategy<Value = GroupDef> {
        let tag = prop_oneof![Just(Tag::S), Just(Tag::D), Just(Tag::None)];
        let size = prop_oneof![
            Just(None),
            (0u64..12).prop_map(|n| Some(Size::Ranks(n))),
            Just(Some(Size::Ranks(u64::MAX))),
            (0.0..100.0f64).prop_map(|p| Some(Size::Percent(p))),
        ];
        (tag, 0i64..3, size).prop_map(|(tag, subtag, size)| def("g", tag, subtag, size))
    }

    proptest! {
        #[test]
        fn members_exist_and_tags_are_disjoint(
            defs in proptest::collection::vec(any_def(), 0..8),
            world in 1u32..20,
        ) {
            let (groups, remarks) = resolve(&defs, world);
            let are_disjoint = |a: usize, b: usize| {
                let (a, b) = (&groups[a].members, &groups[b].members);
                a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start
            };
            for (i, def) in defs.iter().enumerate() {
                prop_assert!(groups[i].members.start <= groups[i].members.end);
                prop_assert!(groups[i].members.end <= world);
                let empty = remarks.contains(&Remark::Empty { group: i });
                prop_assert_eq!(empty, groups[i].members.is_empty());
                for (j, other) in defs.iter().enumerate().filter(|(j, _)| *j != i) {
                    if def.tag == Tag::S || (def.tag == other.tag && def.tag == Tag::D && def.subtag == other.subtag) {
                        prop_assert!(are_disjoint(i, j), "{i} and {j} of {defs:?}");
                    }
                }
            }
        }

        #[test]
        fn unsized_disjoint_groups_share_all_ranks(count in 1usize..6, world in 1u32..40) {
            let defs = vec![def("g", Tag::D, 0, None); count];
            let (groups, _) = resolve(&defs, world);
            let sizes: Vec<usize> = groups.iter().map(|g| g.members.len()).collect();
            prop_assert_eq!(sizes.iter().sum::<usize>(), world as usize);
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b));
            prop_assert!(sizes[0] - sizes[count - 1] <= 1);
        }
    }
}
