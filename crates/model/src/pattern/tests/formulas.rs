//! Offsets of published benchmarks, computed here anew from the words of their sources.

use super::*;

fn extents(geometry: &Geometry, member: u32, members: u32) -> Vec<(u64, u64)> {
    let shape = shape_of(geometry);
    shape.check(members).expect("the pattern exists");
    let extents = shape.extents(member, members);
    extents.map(|extent| (extent.offset_bytes, extent.length_bytes)).collect()
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
        let names = ["nx", "ny", "sx", "sy", "elem", "ox", "oy", "header"];
        let values = [nx, ny, sx, sy, elem, ox, oy, header].map(n);
        let given: Vec<_> = names.into_iter().zip(values).collect();
        let tiled = built("tiled", &given);
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
        let cube = built("multipartition", &[("n", n(points as u64)), ("dumps", n(dumps))]);
        for (ranks, q) in [(4, 2), (9, 3)] {
            assert_eq!(shape_of(&cube).end_bytes(ranks), dump_bytes * dumps, "class {class}");
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
        let flash = built("flash", &[("file", Argument::Word(file)), ("header", n(1000))]);
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
    let checkpoint = built("flash", &[]);
    assert_eq!(shape_of(&checkpoint).bytes(0, 4), 7_864_320 + 13_120, "the bytes of 80 blocks");
}

/// Simple strided, segmented, and noncontig's vectors, which are strided with more than one
/// vector.
#[test]
fn turns_are_those_of_the_sources() {
    let (block, count, header) = (4096, 10, 512);
    let basic = [("block", n(block)), ("count", n(count)), ("header", n(header))];
    for (members, member) in (1..=17u64).flat_map(|all| (0..all).map(move |own| (all, own))) {
        let list = |formula: &dyn Fn(u64) -> u64| -> Vec<(u64, u64)> {
            (0..count).map(|u| (formula(u), block)).collect()
        };
        let found = |kind| extents(&built(kind, &basic), member as u32, members as u32);
        let strided = list(&|u| header + (u * members + member) * block);
        assert_eq!(found("strided"), strided);
        let segmented = list(&|u| header + member * count * block + u * block);
        assert_eq!(found("segmented"), segmented);
        assert_eq!(found("sequential"), segmented);
    }
}

/// Two levels as PIObench has them: J extents at P*B, then I of those at J*P*B*g.
#[test]
fn nested_strides_are_those_of_piobench() {
    let (block, inner, outer, gap, members) = (8, 3, 4, 2, 5);
    let nested = built("nested", &[("block", n(block)), ("counts", list(&[inner, outer]))]);
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
    let random = built("random", &[("min", n(10)), ("max", n(99)), ("count", n(50))]);
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

/// The block-cyclic owner of every element, asked one by one.
#[test]
fn elements_are_dealt_out_as_scalapack_deals_them() {
    let (rows, columns, rb, cb, pr, pc) = (10, 17, 3, 2, 2, 3);
    let matrix = built(
        "blockcyclic",
        &[
            ("sizes", list(&[rows, columns])),
            ("blocks", list(&[rb, cb])),
            ("grid", list(&[pr, pc])),
        ],
    );
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
