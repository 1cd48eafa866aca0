//! Every kind of pattern is held to its description, for 1 to 17 members, and to the published
//! benchmarks it comes from, whose offsets are computed here anew from the words of their sources.

use model::Plan;
use model::pattern::{Extent, MAX_STEPS, Share};
use ppl::kinds::KINDS;
use ppl::source::NoIncludes;
use ppl::{Binding, Compiled, compile};
use std::ops::Range;

fn compiled(statement: &str) -> Compiled {
    compile("test.ppl", statement.into(), &mut NoIncludes, &Binding::new(1))
}

/// The plan of one pattern.
fn planned(definition: &str) -> Plan {
    let statement = match definition.starts_with("define") {
        true => definition.to_string(),
        false => format!("define pattern \"p\" = {definition};"),
    };
    let compiled = compiled(&statement);
    compiled.plan.unwrap_or_else(|| panic!("{:?}\n{statement}", compiled.diagnostics))
}

fn share(plan: &Plan, member: u32, members: u32) -> Result<Share<'_>, String> {
    plan.patterns[0].share(plan, member, members, MAX_STEPS)
}

/// The reason why the pattern does not exist for a number of members.
fn refusal(definition: &str, members: u32) -> String {
    share(&planned(definition), 0, members).map(|_| ()).expect_err(definition)
}

fn extents(plan: &Plan, member: u32, members: u32) -> Vec<(u64, u64)> {
    let share = share(plan, member, members).expect("the pattern exists");
    share.extents().map(|extent| (extent.offset_bytes, extent.length_bytes)).collect()
}

/// All extents of all members that hold a byte, sorted.
fn all_extents(plan: &Plan, members: u32) -> Vec<Extent> {
    let of_member = |member| share(plan, member, members).expect("it exists").extents().collect();
    let mut all: Vec<Extent> =
        (0..members).flat_map(|member| -> Vec<_> { of_member(member) }).collect();
    all.retain(|extent| extent.length_bytes > 0);
    all.sort_unstable();
    all
}

/// Extents with those that touch or overlap made one.
fn union(sorted: &[Extent]) -> Vec<Range<u64>> {
    let mut union: Vec<Range<u64>> = Vec::new();
    for extent in sorted {
        match union.last_mut() {
            Some(last) if extent.offset_bytes <= last.end => {
                last.end = last.end.max(extent.end_bytes());
            }
            _ => union.push(extent.offset_bytes..extent.end_bytes()),
        }
    }
    union
}

/// The extents of all members together.
#[derive(Default)]
struct Promise {
    /// No byte belongs to two extents.
    disjoint: bool,
    /// These bytes, and no others, are accessed.
    covers: Option<Range<u64>>,
}

fn check_promise(plan: &Plan, members: u32, promise: &Promise) {
    let definition = &plan.patterns[0].definition;
    let all = all_extents(plan, members);
    if promise.disjoint {
        let apart = all.windows(2).all(|two| two[0].end_bytes() <= two[1].offset_bytes);
        assert!(apart, "{definition} of {members}: pieces overlap");
    }
    if let Some(range) = &promise.covers {
        let expected = if range.is_empty() { vec![] } else { vec![range.clone()] };
        assert_eq!(union(&all), expected, "{definition} of {members}");
    }
    for member in 0..members {
        let share = share(plan, member, members).expect("it exists");
        check_counts(&share, definition);
        check_view(&share, definition);
    }
}

fn check_counts(share: &Share<'_>, what: &str) {
    let extents: Vec<Extent> = share.extents().collect();
    assert_eq!(share.count(), extents.len() as u64, "{what}");
    assert_eq!(share.bytes(), extents.iter().map(|one| one.length_bytes).sum::<u64>(), "{what}");
    assert_eq!(share.end_bytes(), extents.iter().map(|one| one.end_bytes()).max().unwrap_or(0));
    for (at, extent) in extents.iter().enumerate() {
        assert_eq!(share.extent(at as u64), Some(*extent), "{what}");
    }
    assert_eq!(share.extent(extents.len() as u64), None, "{what}");
}

/// The view has the bytes of the extents, in the order of the file, and its memory says which.
fn check_view(share: &Share<'_>, what: &str) {
    let view = share.view();
    let what = format!("{what}: {view:?}");
    let mut position = 0;
    let mut wanted = Vec::new();
    for extent in share.extents() {
        if extent.length_bytes <= 100 {
            wanted
                .extend((0..extent.length_bytes).map(|i| (extent.offset_bytes + i, position + i)));
        } else {
            wanted.push((extent.offset_bytes, position));
            wanted.push((extent.end_bytes() - 1, position + extent.length_bytes - 1));
        }
        position += extent.length_bytes;
    }
    assert_eq!(view.filetype.bytes(), position, "{what}");
    let memory = view
        .memory
        .clone()
        .unwrap_or_else(|| vec![Extent { offset_bytes: 0, length_bytes: position }]);
    let file = view.extents();
    assert!(file.windows(2).all(|two| two[0] <= two[1]), "{what}: the view does not ascend");
    let found: Vec<(u64, u64)> =
        wanted.iter().map(|(at, _)| (*at, place_in_memory(&file, &memory, *at))).collect();
    if !view.overlapping {
        assert_eq!(found, wanted, "{what}");
    }
}

/// The place in memory of a byte of the file.
fn place_in_memory(file: &[Extent], memory: &[Extent], at: u64) -> u64 {
    let mut before = 0;
    for extent in file {
        if (extent.offset_bytes..extent.end_bytes()).contains(&at) {
            before += at - extent.offset_bytes;
            break;
        }
        before += extent.length_bytes;
    }
    for part in memory {
        if before < part.length_bytes {
            return part.offset_bytes + before;
        }
        before -= part.length_bytes;
    }
    u64::MAX
}

/// Whether extents are disjoint, and the bytes that they cover, of so many members.
type Expected = fn(u64) -> Promise;

fn covers(range: Range<u64>) -> Promise {
    Promise { disjoint: true, covers: Some(range) }
}

/// One or more of every kind of the table, which fit any number of members that the kind takes.
const SAMPLES: &[(&str, Expected)] = &[
    ("strided(block=7, count=5, header=3)", |g| covers(3..3 + 35 * g)),
    ("define pattern {\"p\", 2, 5, 7, 0};", |g| covers(0..35 * g)),
    ("define pattern {\"p\", 0, 0, 0};", |_| covers(0..0)),
    ("segmented(block=7, count=5, header=3)", |g| covers(3..3 + 35 * g)),
    ("sequential(block=7, count=5, header=3)", |g| covers(3..3 + 35 * g)),
    ("sequential(block=7, count=5, header=3, mode=\"whole\")", |g| Promise {
        disjoint: g == 1,
        covers: Some(3..38),
    }),
    ("nested(block=3, counts=[4, 3, 2])", |_| Promise { disjoint: true, covers: None }),
    ("nested(block=3, counts=[4, 3, 2], gap=1)", |g| covers(0..72 * g)),
    ("nested(block=2, counts=[2, 3], strides=[100, 10], header=5)", |_| Promise::default()),
    ("nested(block=4, counts=[9], strides=[3])", |_| Promise::default()),
    ("random(min=0, max=9, count=11, header=2)", |_| Promise { disjoint: true, covers: None }),
    ("random(min=5, max=5, count=3)", |g| covers(0..15 * g)),
    ("tiled(nx=1, ny=1, sx=3, sy=4, elem=2)", |_| covers(0..24)),
    ("subarray(sizes=[50], header=1)", |_| covers(1..51)),
    ("subarray(sizes=[5, 7, 9], elem=2)", |_| covers(0..630)),
    ("subarray(sizes=[2, 3], grid=[1, 1])", |_| covers(0..6)),
    ("blockcyclic(sizes=[53], blocks=[4], elem=3)", |_| covers(0..159)),
    ("blockcyclic(sizes=[11, 13], blocks=[2, 3])", |_| covers(0..143)),
    ("blockcyclic(sizes=[5, 7, 9], blocks=[2, 100, 4], header=7)", |_| covers(7..322)),
    ("multipartition(n=13, elem=1, header=9)", |_| covers(9..9 + 13 * 13 * 13)),
    ("multipartition(n=12, dumps=3)", |_| covers(0..12 * 12 * 12 * 40 * 3)),
    ("flash(blocks=2, vars=3, header=4)", |g| {
        let blocks: u64 = (0..g).map(|member| 2 + member % 3).sum();
        covers(4..4 + blocks * (68 + 12 * 8 + 3 * 4096))
    }),
    ("flash(blocks=1, spread=5, file=\"corners\")", |g| {
        let blocks: u64 = (0..g).map(|member| 1 + member % 5).sum();
        covers(0..blocks * (68 + 12 * 4 + 4 * 729 * 4))
    }),
    ("flash(blocks=1, nxb=1, file=\"centred\")", |g| {
        let blocks: u64 = (0..g).map(|member| 1 + member % 3).sum();
        covers(0..blocks * (68 + 12 * 4 + 4 * 64 * 4))
    }),
    ("mesh(vertices=100)", |_| covers(0..800)),
    ("mesh(vertices=5, values=3, header=1)", |_| covers(1..121)),
    ("mesh(vertices=100, partition=\"cyclic\")", |_| covers(0..800)),
    ("mesh(vertices=5, values=3, partition=\"cyclic\", header=1)", |_| covers(1..121)),
    ("mesh(vertices=100, partition=\"random\")", |_| covers(0..800)),
    ("mesh(vertices=5, values=3, partition=\"random\", header=1)", |_| covers(1..121)),
];

#[test]
fn every_kind_holds_its_promise() {
    for row in KINDS {
        let start = format!("{}(", row.name);
        assert!(SAMPLES.iter().any(|sample| sample.0.starts_with(&start)), "{}", row.name);
    }
    for (definition, expected) in SAMPLES {
        let plan = planned(definition);
        for members in 1..=17 {
            match share(&plan, 0, members) {
                Ok(_) => check_promise(&plan, members, &expected(members.into())),
                Err(said) => {
                    assert_eq!(plan.patterns[0].kind(), "multipartition", "{said}");
                    let square = members.isqrt().pow(2) == members;
                    assert!(!square || members == 16 && said.contains("3 points"), "{said}");
                }
            }
        }
    }
}

#[test]
fn tiles_hold_their_promise_for_every_grid() {
    for (nx, ny, ox, oy) in (1..=4).flat_map(|nx| (1..=4).map(move |ny| (nx, ny, nx % 2, ny % 3))) {
        let tiled =
            format!("tiled(nx={nx}, ny={ny}, sx=5, sy=4, elem=3, ox={ox}, oy={oy}, header=10)");
        let (width, height) = (nx * 5 - (nx - 1) * ox, ny * 4 - (ny - 1) * oy);
        let promise = Promise {
            disjoint: (nx == 1 || ox == 0) && (ny == 1 || oy == 0),
            covers: Some(10..10 + width * height * 3),
        };
        let plan = planned(&tiled);
        for members in 1..=17 {
            let enough = u64::from(members) >= nx * ny;
            assert_eq!(share(&plan, 0, members).is_ok(), enough);
            if enough {
                check_promise(&plan, members, &promise);
            }
        }
    }
}

#[test]
fn a_multipartition_needs_a_square() {
    let cube = "multipartition(n=12)";
    let said = refusal(cube, 3);
    assert_eq!(said, "expected a square number of members (1, 4, 9, 16, ...), found 3");
    assert!(refusal(cube, 25).contains("n to be at least 15 for 25 members"));
    let plan = planned(cube);
    let squares: Vec<u32> = (1..=17).filter(|g| share(&plan, 0, *g).is_ok()).collect();
    assert_eq!(squares, [1, 4, 9, 16]);
}

/// The definition that is shown makes the same pattern again.
#[test]
fn definitions_make_the_same_pattern_again() {
    for (sample, _) in SAMPLES {
        let plan = planned(sample);
        let definition = plan.patterns[0].definition.clone();
        if definition.contains("=0,") {
            continue;
        }
        let again = planned(&definition);
        assert_eq!(again.patterns[0].definition, definition);
        assert_eq!(extents(&again, 0, 1), extents(&plan, 0, 1), "{sample}");
    }
}

#[test]
fn numbers_that_do_not_go_together_are_refused() {
    for (definition, said) in [
        ("subarray(sizes=[4, 4], grid=[2])", "grid as in sizes, found 1 and 2"),
        ("blockcyclic(sizes=[4, 4], blocks=[2])", "blocks as sizes, found 1 and 2"),
        ("nested(block=1, counts=[2, 2], strides=[1])", "strides as counts, found 1 and 2"),
        ("random(min=9, max=3, count=1)", "found min=9 and max=3"),
        ("tiled(nx=2, ny=1, sx=4, sy=1, ox=4)", "found ox=4 and sx=4"),
    ] {
        let text = format!("define pattern \"p\" = {definition}; print pieces(\"p\");");
        let found = compiled(&text).diagnostics;
        assert!(found.iter().any(|found| found.message.contains(said)), "{definition}: {found:?}");
    }
    for max in [1, 2] {
        let endless = format!("random(min=0, max={max}, count={})", 1u64 << 40);
        assert!(refusal(&endless, 4).contains("268435456 pieces"));
    }
}

#[test]
fn files_beyond_the_largest_position_are_refused() {
    let half = 1u64 << 62;
    for (definition, members) in [
        (format!("strided(block={half}, count=1)"), 2),
        (format!("segmented(block={half}, count=2)"), 1),
        (format!("sequential(block={half}, count=4)"), 1),
        (format!("nested(block={half}, counts=[2, 2])"), 1),
        (format!("tiled(nx=1, ny=1, sx={half}, sy=2)"), 1),
        (format!("blockcyclic(sizes=[{half}, 2], blocks=[1, 1])"), 1),
        (format!("multipartition(n={half})"), 1),
        (format!("flash(blocks={half})"), 1),
        (format!("mesh(vertices={half})"), 1),
    ] {
        let said = refusal(&definition, members);
        assert!(said.contains("less than 2^63 bytes"), "{definition}: {said}");
    }
    let whole = planned(&format!("sequential(block={half}, count=1, mode=\"whole\")"));
    assert!(share(&whole, 16, 17).is_ok(), "the whole file is the same for any number");
}

/// Loops of extents, however long, are one run.
#[test]
fn regular_extents_take_one_run() {
    let loops =
        "define pattern \"p\" { repeat $i 1000 extent(($i * $$gsize + $$grank) * 4k, 4k); }";
    for (definition, extents) in [
        (loops, 1000),
        ("segmented(block=4, count=1000000000)", 1_000_000_000),
        ("tiled(nx=1, ny=1, sx=2, sy=1000000000)", 1_000_000_000),
        ("nested(block=4, counts=[1000000000])", 1_000_000_000),
    ] {
        let plan = planned(definition);
        let share = share(&plan, 0, 1).expect("it exists");
        assert_eq!((share.runs().count(), share.count()), (1, extents), "{definition}");
        assert!(share.extent(extents - 1).is_some());
    }
}

/// MPI-Tile-IO as its source computes it.
#[test]
fn tiles_are_those_of_mpi_tile_io() {
    let settings = [
        (2, 2, 1024, 2, 8, 0, 0, 0),
        (7, 4, 100, 100, 32, 0, 0, 0),
        (8, 8, 64, 64, 64, 10, 10, 512),
    ];
    for (nx, ny, sx, sy, elem, ox, oy, header) in settings {
        let tiled = planned(&format!(
            "tiled(nx={nx}, ny={ny}, sx={sx}, sy={sy}, elem={elem}, ox={ox}, oy={oy}, header={header})"
        ));
        let width = nx * sx - (nx - 1) * ox;
        for (ty, tx) in (0..ny).flat_map(|ty| (0..nx).map(move |tx| (ty, tx))) {
            let (start_x, start_y) = (tx * (sx - ox), ty * (sy - oy));
            let expected: Vec<_> = (0..sy)
                .map(|y| (header + ((start_y + y) * width + start_x) * elem, sx * elem))
                .collect();
            let members = (nx * ny) as u32;
            assert_eq!(extents(&tiled, (ty * nx + tx) as u32, members), expected);
        }
    }
}

/// NAS BT-IO: bytes of a dump, and offsets of every row.
#[test]
fn cells_are_those_of_bt_io() {
    for (class, points, dump_bytes, dumps) in [("S", 12i64, 69_120, 12), ("W", 24, 552_960, 40)] {
        let cube = planned(&format!("multipartition(n={points}, dumps={dumps})"));
        for (ranks, q) in [(4, 2), (9, 3)] {
            let end = all_extents(&cube, ranks).iter().map(|extent| extent.end_bytes()).max();
            assert_eq!(end, Some(dump_bytes * dumps), "class {class}");
            for rank in 0..ranks {
                let expected = bt_io_rows(points, i64::from(rank), q, dumps as i64);
                assert_eq!(extents(&cube, rank, ranks), expected, "class {class}, rank {rank}");
            }
        }
    }
}

fn bt_io_rows(points: i64, rank: i64, q: i64, dumps: i64) -> Vec<(u64, u64)> {
    let (base, extra) = (points / q, points % q);
    let size = |k: i64| if k < extra { base + 1 } else { base };
    let low = |k: i64| {
        if k < extra { k * (base + 1) } else { extra * (base + 1) + (k - extra) * base }
    };
    let mut rows = Vec::new();
    for t in 0..dumps {
        for c in 0..q {
            let (cx, cy, cz) = ((rank % q + c) % q, (rank / q - c).rem_euclid(q), c);
            for kz in 0..size(cz) {
                for jy in 0..size(cy) {
                    let z = low(cz) + kz + points * t;
                    let offset = 40 * (low(cx) + points * ((low(cy) + jy) + points * z));
                    rows.push((offset as u64, 40 * size(cx) as u64));
                }
            }
        }
    }
    rows
}

/// FLASH-IO: where each array of the file begins, and each rank in it.
#[test]
fn arrays_are_those_of_flash_io() {
    let files = [
        ("checkpoint", 24, 8, 8 * 8 * 8),
        ("centred", 4, 4, 8 * 8 * 8),
        ("corners", 4, 4, 9 * 9 * 9),
    ];
    let ranks = 7u64;
    let blocks = |rank: u64| 80 + rank % 3;
    let total: u64 = (0..ranks).map(blocks).sum();
    for (file, variables, real, zones) in files {
        let flash = planned(&format!("flash(file=\"{file}\", header=1000)"));
        let mut arrays = vec![4, 4, 4 * 15, real * 3, real * 3, real * 3 * 2];
        arrays.extend(std::iter::repeat_n(real * zones, variables));
        for rank in 0..ranks {
            let left: u64 = (0..rank).map(blocks).sum();
            let mut start = 1000;
            let mut expected = Vec::new();
            for unit in &arrays {
                expected.push((start + left * unit, blocks(rank) * unit));
                start += total * unit;
            }
            assert_eq!(extents(&flash, rank as u32, ranks as u32), expected, "{file}");
        }
    }
    let checkpoint = planned("flash()");
    let bytes = share(&checkpoint, 0, 4).expect("it exists").bytes();
    assert_eq!(bytes, 7_864_320 + 13_120, "the bytes of 80 blocks");
}

/// Simple strided, segmented, and noncontig's vectors, which are strided with more than one
/// vector.
#[test]
fn turns_are_those_of_the_sources() {
    let (block, count, header) = (4096, 10, 512);
    let plans = ["strided", "segmented", "sequential"]
        .map(|kind| planned(&format!("{kind}(block={block}, count={count}, header={header})")));
    for (members, member) in (1..=17u64).flat_map(|all| (0..all).map(move |own| (all, own))) {
        let list = |formula: &dyn Fn(u64) -> u64| -> Vec<(u64, u64)> {
            (0..count).map(|u| (formula(u), block)).collect()
        };
        let [strided, segmented, sequential] =
            [0, 1, 2].map(|at| extents(&plans[at], member as u32, members as u32));
        assert_eq!(strided, list(&|u| header + (u * members + member) * block));
        assert_eq!(segmented, list(&|u| header + member * count * block + u * block));
        assert_eq!(sequential, segmented);
    }
}

/// Two levels as PIObench has them: J extents at P*B, then I of those at J*P*B*g.
#[test]
fn nested_strides_are_those_of_piobench() {
    let (block, inner, outer, gap, members) = (8, 3, 4, 2, 5);
    let nested = planned(&format!("nested(block={block}, counts=[{inner}, {outer}])"));
    for member in 0..members {
        let mut expected = Vec::new();
        for i in 0..outer {
            for j in 0..inner {
                let stride = inner * members * block * gap;
                expected.push((member * block + j * members * block + i * stride, block));
            }
        }
        assert_eq!(extents(&nested, member as u32, members as u32), expected);
    }
}

/// Turns of random length follow each other, whoever they belong to.
#[test]
fn random_turns_are_laid_end_to_end() {
    let random = planned("random(min=10, max=99, count=50)");
    let members = 3u32;
    let mut all: Vec<Vec<(u64, u64)>> =
        (0..members).map(|member| extents(&random, member, members)).collect();
    let mut at = 0;
    let mut seen = std::collections::BTreeSet::new();
    for turn in 0..150 {
        let (offset, length) = all[turn % 3].remove(0);
        assert_eq!(offset, at, "turn {turn}");
        assert!((10..=99).contains(&length));
        seen.insert(length);
        at += length;
    }
    assert!(seen.len() > 50, "lengths differ: {seen:?}");
}

/// The block-cyclic owner of every element, one by one.
#[test]
fn elements_are_dealt_out_as_scalapack_deals_them() {
    let (columns, rb, cb, pr, pc) = (17, 3, 2, 2, 3);
    let matrix = planned("blockcyclic(sizes=[10, 17], blocks=[3, 2], grid=[2, 3])");
    for member in 0..6 {
        for (offset, length) in extents(&matrix, member, 6) {
            for element in offset..offset + length {
                let (row, column) = (element / columns, element % columns);
                let owner = (row / rb % pr) * pc + column / cb % pc;
                assert_eq!(owner, u64::from(member), "element {row},{column}");
            }
        }
    }
}
