//! Recognises extents of all ranks as a built-in kind of pattern, which scales to other numbers of ranks.
//!
//! ```text
//! 4 ranks:  0+64k 256k+64k ...  64k+64k 320k+64k ...   ->   strided(block=64k, count=16)
//!           0+240 480+240 ...   240+240 720+240 ...    ->   multipartition(n=12, elem=40)
//! ```

use super::expr;
use model::pattern::{Argument, Extent, Geometry, Multipartition, Segmented, Shape, Strided};
use model::run::EventExtents;

/// Fewest members that show what a number of them changes.
const MEMBERS_MIN: u32 = 2;

/// The first kind that gives every member its extents.
pub fn kind(members: &[&EventExtents]) -> Option<Geometry> {
    let count = u32::try_from(members.len()).ok().filter(|count| *count >= MEMBERS_MIN)?;
    let gives = |kind: &Geometry| {
        kind.shape().is_some_and(|kind| kind.check(count).is_ok() && gives(kind, members, count))
    };
    turns(members).into_iter().flatten().chain(cubes(members).into_iter().flatten()).find(gives)
}

fn gives(kind: &dyn Shape, members: &[&EventExtents], count: u32) -> bool {
    (0..).zip(members).all(|(member, found)| {
        kind.count(member, count) == found.pieces && kind.extents(member, count).eq(extents(found))
    })
}

/// Blocks of one size, in turn or one member's after the other's.
fn turns(members: &[&EventExtents]) -> Option<[Geometry; 2]> {
    let first = extents(members[0]).next()?;
    let (block_bytes, count) = (first.length_bytes, members[0].pieces);
    let header_bytes = first.offset_bytes;
    let strided = Strided { block_bytes, count, header_bytes, as_subarray: false };
    let segmented = Segmented { block_bytes, count, header_bytes };
    Some([Geometry::Strided(strided), Geometry::Segmented(segmented)])
}

/// Cubes whose rows are as long as the first member's first two extents are apart.
fn cubes<'a>(members: &[&'a EventExtents]) -> Option<impl Iterator<Item = Geometry> + use<'a>> {
    let mut first = extents(members[0]);
    let (begin, next) = (first.next()?, first.next()?);
    let runs = members.iter().flat_map(|one| &one.runs);
    let bytes = runs
        .fold(0, |sum: u64, run| sum.saturating_add(run.count.saturating_mul(run.length_bytes)));
    let row_bytes = next.offset_bytes.checked_sub(begin.offset_bytes).filter(|row| *row > 0)?;
    // Each row of points is in several pieces.
    let pieces = members.iter().fold(0, |sum: u64, one| sum.saturating_add(one.pieces));
    let sides = (1..=pieces.isqrt()).filter(move |n| row_bytes.is_multiple_of(*n));
    Some(sides.filter_map(move |n| cube(n, row_bytes, bytes, begin.offset_bytes)))
}

/// Cubes whose side fits the number of bytes.
fn cube(n: u64, row_bytes: u64, bytes: u64, header_bytes: u64) -> Option<Geometry> {
    let dump_bytes = row_bytes.checked_mul(n * n)?;
    let (element_bytes, dumps) = (row_bytes / n, bytes / dump_bytes);
    let cube = Multipartition { n, element_bytes, dumps, header_bytes };
    (dumps > 0 && bytes.is_multiple_of(dump_bytes)).then_some(Geometry::Multipartition(cube))
}

fn extents(all: &EventExtents) -> impl Iterator<Item = Extent> + use<'_> {
    all.runs.iter().flat_map(|run| {
        let offset_bytes =
            |at: u64| run.offset_bytes.wrapping_add(at.wrapping_mul(run.stride_bytes));
        (0..run.count).map(move |at| Extent {
            offset_bytes: offset_bytes(at),
            length_bytes: run.length_bytes,
        })
    })
}

/// As it is written, without what is usual.
pub fn written(kind: &Geometry) -> String {
    let arguments = kind.shape().map(Shape::arguments).unwrap_or_default();
    let usual = [("header", Argument::Number(0)), ("dumps", Argument::Number(1))];
    let unusual = arguments.into_iter().filter(|argument| !usual.contains(argument));
    let shown = unusual.map(|(name, value)| match (name, &value) {
        ("block" | "header", Argument::Number(bytes)) => {
            format!("{name}={}", i64::try_from(*bytes).map_or(bytes.to_string(), expr::bytes))
        }
        _ => format!("{name}={value}"),
    });
    format!("{}({})", kind.kind(), shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(kind: &Geometry, count: u32) -> Vec<EventExtents> {
        let kind = kind.shape().expect("a kind");
        let of = |member: u32| EventExtents {
            pieces: kind.count(member, count),
            runs: kind.runs(member, count).collect(),
        };
        (0..count).map(of).collect()
    }

    fn cube(n: u64, element_bytes: u64, dumps: u64, header_bytes: u64) -> Geometry {
        Geometry::Multipartition(Multipartition { n, element_bytes, dumps, header_bytes })
    }

    #[test]
    fn kinds_are_found() {
        let strided =
            Strided { block_bytes: 47_008, count: 9, header_bytes: 4096, as_subarray: false };
        let segmented = Segmented { block_bytes: 65_536, count: 16, header_bytes: 0 };
        for (kind, ranks, text) in [
            (cube(12, 40, 1, 0), 4, "multipartition(n=12, elem=40)"),
            (cube(12, 40, 1, 0), 9, "multipartition(n=12, elem=40)"),
            (cube(17, 8, 1, 100), 25, "multipartition(n=17, elem=8, header=100)"),
            (cube(24, 40, 5, 0), 16, "multipartition(n=24, elem=40, dumps=5)"),
            (Geometry::Strided(strided), 3, "strided(block=47008, count=9, header=4k)"),
            (Geometry::Segmented(segmented), 2, "segmented(block=64k, count=16)"),
        ] {
            let all = members(&kind, ranks);
            let found = super::kind(&all.iter().collect::<Vec<_>>()).expect(text);
            assert_eq!(written(&found), text);
        }
    }

    #[test]
    fn what_is_of_no_kind_is_none() {
        let mut all = members(&cube(12, 40, 1, 0), 4);
        let some: Vec<&EventExtents> = all.iter().take(3).collect();
        assert_eq!(kind(&some), None);
        assert_eq!(kind(&some[..1]), None, "one rank does not show what others do");
        all.swap(0, 1);
        assert_eq!(kind(&all.iter().collect::<Vec<_>>()), None);
        // A stride that leaves holes.
        let with_holes = |g: u64| EventExtents {
            pieces: 9,
            runs: vec![model::pattern::Run {
                offset_bytes: g * 8,
                length_bytes: 8,
                stride_bytes: 64,
                count: 9,
            }],
        };
        let all: Vec<EventExtents> = (0..4).map(with_holes).collect();
        assert_eq!(kind(&all.iter().collect::<Vec<_>>()), None);
    }
}
