//! Extents of all members that are the cells of a cube, as the BT benchmark has them: a multipartition, which
//! a loop over extents could say for one number of ranks only.
//!
//! ```text
//! 4 ranks:  0+240 480+240 ...   240+240 720+240 ...   ->   multipartition(n=12, elem=40)
//! ```

use model::pattern::{Extent, Multipartition, Shape};
use model::run::EventExtents;

/// Fewest members; of one the cube is all of the file.
const MEMBERS_MIN: u32 = 4;

/// The cube whose cells the extents of the members are.
pub fn cube(members: &[&EventExtents]) -> Option<Multipartition> {
    let count = u32::try_from(members.len()).ok().filter(|count| *count >= MEMBERS_MIN)?;
    let mut first = extents(members[0]);
    let (begin, next) = (first.next()?, first.next()?);
    let runs = members.iter().flat_map(|one| &one.runs);
    let bytes = runs
        .fold(0, |sum: u64, run| sum.saturating_add(run.count.saturating_mul(run.length_bytes)));
    let row_bytes = next.offset_bytes.checked_sub(begin.offset_bytes).filter(|row| *row > 0)?;
    // Each row of points is in several pieces.
    let pieces = members.iter().fold(0, |sum: u64, one| sum.saturating_add(one.pieces));
    let sides = (1..=pieces.isqrt()).filter(|n| row_bytes.is_multiple_of(*n));
    let mut cubes = sides.filter_map(|n| of_side(n, row_bytes, bytes, begin.offset_bytes));
    cubes.find(|cube| cube.check(count).is_ok() && is_cut_so(cube, members, count))
}

/// The cubes of so many points along a side, as far as bytes allow any.
fn of_side(n: u64, row_bytes: u64, bytes: u64, header_bytes: u64) -> Option<Multipartition> {
    let dump_bytes = row_bytes.checked_mul(n * n)?;
    let (element_bytes, dumps) = (row_bytes / n, bytes / dump_bytes);
    let cube = Multipartition { n, element_bytes, dumps, header_bytes };
    (dumps > 0 && bytes.is_multiple_of(dump_bytes)).then_some(cube)
}

fn is_cut_so(cube: &Multipartition, members: &[&EventExtents], count: u32) -> bool {
    (0..).zip(members).all(|(member, found)| {
        cube.count(member, count) == found.pieces && cube.extents(member, count).eq(extents(found))
    })
}

fn extents(all: &EventExtents) -> impl Iterator<Item = Extent> + '_ {
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
pub fn written(cube: &Multipartition) -> String {
    let Multipartition { n, element_bytes, dumps, header_bytes } = cube;
    let dumps = if *dumps == 1 { String::new() } else { format!(", dumps={dumps}") };
    let header =
        if *header_bytes == 0 { String::new() } else { format!(", header={header_bytes}") };
    format!("multipartition(n={n}, elem={element_bytes}{dumps}{header})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::pattern::Run;

    fn members(cube: &Multipartition, count: u32) -> Vec<EventExtents> {
        let of = |member: u32| {
            let runs: Vec<Run> = cube.runs(member, count).collect();
            EventExtents { pieces: cube.count(member, count), runs }
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn cubes_are_found() {
        for (n, element_bytes, dumps, header_bytes, ranks) in
            [(12, 40, 1, 0, 4), (12, 40, 1, 0, 9), (17, 8, 1, 100, 25), (24, 40, 5, 0, 16)]
        {
            let made = Multipartition { n, element_bytes, dumps, header_bytes };
            let all = members(&made, ranks);
            let found = cube(&all.iter().collect::<Vec<_>>());
            assert_eq!(found, Some(made), "{n} {element_bytes} {ranks}");
        }
    }

    #[test]
    fn what_is_no_cube_is_none() {
        let made = Multipartition { n: 12, element_bytes: 40, dumps: 1, header_bytes: 0 };
        let mut all = members(&made, 4);
        let some: Vec<&EventExtents> = all.iter().take(3).collect();
        assert_eq!(cube(&some), None);
        all.swap(0, 1);
        assert_eq!(cube(&all.iter().collect::<Vec<_>>()), None);
        let strided = |g: u64| EventExtents {
            pieces: 9,
            runs: vec![Run { offset_bytes: g * 8, length_bytes: 8, stride_bytes: 32, count: 9 }],
        };
        let all: Vec<EventExtents> = (0..4).map(strided).collect();
        assert_eq!(cube(&all.iter().collect::<Vec<_>>()), None);
    }

    #[test]
    fn usual_numbers_are_left_out() {
        let mut cube = Multipartition { n: 12, element_bytes: 40, dumps: 1, header_bytes: 0 };
        assert_eq!(written(&cube), "multipartition(n=12, elem=40)");
        (cube.dumps, cube.header_bytes) = (2, 100);
        assert_eq!(written(&cube), "multipartition(n=12, elem=40, dumps=2, header=100)");
    }
}
