//! Finds kinds of patterns that give all members their extents, also for other numbers of ranks.
//!
//! ```text
//! 4 ranks:  0+64k 256k+64k ...  64k+64k 320k+64k ...   ->   strided(block=64k, count=16)
//!           0+240 480+240 ...   240+240 720+240 ...    ->   multipartition(n=12, elem=40)
//! ```
//!
//! A candidate is compiled as a program would be, and its extents are compared.

use super::expr;
use model::pattern::{Extent, MAX_STEPS};
use model::run::EventExtents;
use ppl::source::NoIncludes;
use ppl::{Binding, compile};

/// Fewest members that show what a number of them changes.
const MEMBERS_MIN: u32 = 2;

/// The definition of the first kind that gives every member its extents, without usual arguments.
pub fn find_definition(members: &[&EventExtents]) -> Option<String> {
    let count = u32::try_from(members.len()).ok().filter(|count| *count >= MEMBERS_MIN)?;
    let mut candidates =
        turns(members).into_iter().flatten().chain(cubes(members).into_iter().flatten());
    candidates.find(|definition| gives(definition, members, count))
}

fn gives(definition: &str, members: &[&EventExtents], count: u32) -> bool {
    let program = format!("define pattern \"p\" = {definition};").into_bytes();
    let plan = compile("kind", program, &mut NoIncludes, &Binding::new(count)).plan;
    let Some(plan) = plan else { return false };
    let Some(pattern) = plan.patterns.first() else { return false };
    (0..).zip(members).all(|(member, found)| {
        let share = pattern.share(&plan, member, count, MAX_STEPS);
        share.is_ok_and(|share| share.count() == found.pieces && share.extents().eq(extents(found)))
    })
}

/// Blocks of one size, in turn or one member's after the other's.
fn turns(members: &[&EventExtents]) -> Option<[String; 2]> {
    let first = extents(members[0]).next()?;
    let block = bytes(first.length_bytes);
    let arguments = format!("block={block}, count={}", members[0].pieces);
    let header = header(first.offset_bytes);
    Some(["strided", "segmented"].map(|kind| format!("{kind}({arguments}{header})")))
}

/// Cubes whose rows are as long as the distance of the first member's first two extents.
fn cubes<'a>(members: &[&'a EventExtents]) -> Option<impl Iterator<Item = String> + use<'a>> {
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

/// The cubes with n points along a side, if their bytes are those of all members.
fn cube(n: u64, row_bytes: u64, bytes: u64, header_bytes: u64) -> Option<String> {
    let dump_bytes = row_bytes.checked_mul(n * n)?;
    let (element_bytes, dumps) = (row_bytes / n, bytes / dump_bytes);
    let dumps_given = if dumps == 1 { String::new() } else { format!(", dumps={dumps}") };
    let header = header(header_bytes);
    (dumps > 0 && bytes.is_multiple_of(dump_bytes))
        .then(|| format!("multipartition(n={n}, elem={element_bytes}{dumps_given}{header})"))
}

/// `, header=4k`, or nothing where there is none.
fn header(header_bytes: u64) -> String {
    if header_bytes == 0 { String::new() } else { format!(", header={}", bytes(header_bytes)) }
}

fn bytes(bytes: u64) -> String {
    i64::try_from(bytes).map_or(bytes.to_string(), expr::bytes)
}

fn extents(all: &EventExtents) -> impl Iterator<Item = Extent> + use<'_> {
    all.runs.iter().flat_map(|run| (0..run.count).filter_map(|at| run.extent(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::pattern::Run;

    fn members(definition: &str, count: u32) -> Vec<EventExtents> {
        let program = format!("define pattern \"p\" = {definition};").into_bytes();
        let plan = compile("kind", program, &mut NoIncludes, &Binding::new(count)).plan;
        let plan = plan.expect(definition);
        let extents = |member: u32| {
            let share = plan.patterns[0].share(&plan, member, count, MAX_STEPS).expect("it exists");
            EventExtents { pieces: share.count(), runs: share.runs().collect() }
        };
        (0..count).map(extents).collect()
    }

    fn found(all: &[EventExtents]) -> Option<String> {
        find_definition(&all.iter().collect::<Vec<_>>())
    }

    #[test]
    fn kinds_are_found() {
        for (text, ranks) in [
            ("multipartition(n=12, elem=40)", 4),
            ("multipartition(n=12, elem=40)", 9),
            ("multipartition(n=17, elem=8, header=100)", 25),
            ("multipartition(n=24, elem=40, dumps=5)", 16),
            ("strided(block=47008, count=9, header=4k)", 3),
            ("segmented(block=64k, count=16)", 2),
        ] {
            assert_eq!(found(&members(text, ranks)).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_of_no_kind_is_none() {
        let mut all = members("multipartition(n=12, elem=40)", 4);
        assert_eq!(found(&all[..3]), None);
        assert_eq!(found(&all[..1]), None, "one rank does not show what others do");
        all.swap(0, 1);
        assert_eq!(found(&all), None);
        // A stride that leaves holes.
        let with_holes = |g: u64| EventExtents {
            pieces: 9,
            runs: vec![Run { offset_bytes: g * 8, length_bytes: 8, stride_bytes: 64, count: 9 }],
        };
        assert_eq!(found(&(0..4).map(with_holes).collect::<Vec<_>>()), None);
    }
}
