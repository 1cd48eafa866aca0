//! Programs after benchmarks of the field: counts and bytes of each label and operation, and places in files, are
//! those of the benchmarks' formulas, which are computed here a second time.

mod applications;
mod ior_family;
mod shared_files;

use crate::figures::{Happened, counts, events};
use crate::scene::Scene;
use model::Op;
use std::collections::BTreeMap;

/// Label, operation, how often, bytes.
type Expected = Vec<(&'static str, &'static str, u64, u64)>;

/// Where operations that move bytes do so: rank, file, offset, length; sorted.
type Places = Vec<(u64, String, u64, u64)>;

/// The words of a run, its ranks, what it does, and where, if that is computed.
struct Case {
    words: &'static str,
    ranks: u64,
    expected: Expected,
    places: Option<Places>,
}

/// Runs a case on disk and in memory, and holds it against what is expected. Parts of operations are left out.
fn hold(case: &Case) {
    let Case { words, ranks, expected, .. } = case;
    let expected: BTreeMap<_, _> = expected
        .iter()
        .map(|(label, op, count, bytes)| {
            ((label.to_string(), op.to_string()), [*count, 0, 0, 0, *bytes])
        })
        .collect();
    for backend in ["posix", "mem"] {
        let scene = Scene::new();
        let line = format!(
            "run {words} -n {ranks} --backend {backend} --events --out results --format json"
        );
        let done = scene.parabench(&line).exits(0);
        let mut found = counts(&done.json());
        found.retain(|(_, op), _| !op.contains('.'));
        assert_eq!(found, expected, "{words} -n {ranks} {backend}");
        if let Some(places) = &case.places {
            assert_eq!(&moved(&events(&scene, "results")), places, "{words} -n {ranks} {backend}");
        }
    }
}

/// The places of reads and writes by handles.
fn moved(events: &[Happened]) -> Places {
    let moves = events.iter().filter(|event| matches!(event.op, Op::Fread | Op::Fwrite));
    let place = |event: &Happened| {
        let path = event.path.clone().expect("a path");
        (u64::from(event.rank), path, event.offset_bytes, event.done_bytes)
    };
    let mut places: Places = moves.map(place).collect();
    places.sort();
    places
}

/// HACC-IO: 24 MiB for the header, then 38 bytes for each particle, in nine arrays of each rank.
fn hacc(words: &'static str, ranks: u64, n: u64, header: u64) -> Case {
    let (p, file) = (ranks, "hacc-Part00000000-of-00000001.data".to_string());
    let mut places = vec![(0, file.clone(), 0, header); 2];
    for rank in 0..p {
        let mut at = header + rank * 38 * n;
        for width in [4, 4, 4, 4, 4, 4, 4, 8, 2] {
            places.extend(vec![(rank, file.clone(), at, width * n); 2]);
            at += width * n;
        }
    }
    places.sort();
    let bytes = header + 38 * n * p;
    let expected = vec![
        ("checkpoint", "fopen", p + 1, 0),
        ("checkpoint", "ftruncate", 1, 0),
        ("checkpoint", "fwrite", 9 * p + 1, bytes),
        ("checkpoint", "fclose", p + 1, 0),
        ("restart", "fopen", p, 0),
        ("restart", "fread", 9 * p + 1, bytes),
        ("restart", "fclose", p, 0),
    ];
    Case { words, ranks, expected, places: Some(places) }
}

/// MPI-Tile-IO: a tile is one operation; bytes that tiles share count for each.
fn tile(words: &'static str, ranks: u64, tiles: u64, bytes: u64) -> Case {
    let (p, all) = (ranks, tiles * bytes);
    let expected = vec![
        ("", "fopen", 2 * p, 0),
        ("write/data", "fwrite", tiles, all),
        ("write/data", "fsync", p, 0),
        ("write/close", "fclose", p, 0),
        ("read/data", "fread", tiles, all),
        ("read/close", "fclose", p, 0),
    ];
    Case { words, ranks, expected, places: None }
}

/// FLASH-IO: the blocks of a rank lie behind those of lower ranks in every array of the three files.
fn flash(words: &'static str, ranks: u64, blocks: u64, zones: u64) -> Case {
    let own: Vec<u64> = (0..ranks).map(|rank| blocks + rank % 3).collect();
    let total: u64 = own.iter().sum();
    let files = [
        (
            "checkpoint",
            ["checkpoint/tree", "checkpoint/unknowns", "checkpoint/close"],
            8,
            24,
            zones,
        ),
        ("centred", ["centred/tree", "centred/unknowns", "centred/close"], 4, 4, zones),
        ("corners", ["corners/tree", "corners/unknowns", "corners/close"], 4, 4, zones + 1),
    ];
    let (mut expected, mut places) = (vec![("", "fopen", 3 * ranks, 0)], Vec::new());
    for (name, [tree, unknowns, close], real, variables, side) in files {
        // Bytes for each block: levels, types, neighbours; coordinates, sizes, boxes; the variables.
        let head = [4, 4, 15 * 4, 3 * real, 3 * real, 6 * real];
        let zone = vec![side * side * side * real; variables];
        let mut start = 1024;
        let file = format!("flash-{name}");
        places.push((0, file.clone(), 0, 1024));
        for bytes in head.iter().chain(&zone) {
            for (rank, count) in own.iter().enumerate() {
                let left: u64 = own[..rank].iter().sum();
                places.push((rank as u64, file.clone(), start + left * bytes, count * bytes));
            }
            start += total * bytes;
        }
        let bytes = |widths: &[u64]| total * widths.iter().sum::<u64>();
        expected.push((tree, "fwrite", 6 * ranks + 1, 1024 + bytes(&head)));
        expected.push((unknowns, "fwrite", variables as u64 * ranks, bytes(&zone)));
        expected.push((close, "fclose", ranks, 0));
    }
    places.sort();
    Case { words, ranks, expected, places: Some(places) }
}

/// First point and number of points of each of q parts.
fn parts(n: u64, q: u64) -> Vec<(u64, u64)> {
    let size = |k| n / q + u64::from(k < n % q);
    (0..q).map(|k| ((0..k).map(size).sum(), size(k))).collect()
}

/// The rows of all cells of a rank in one dump of BT-IO: offset and length.
fn rows(rank: u64, n: u64, q: u64) -> Vec<(u64, u64)> {
    let (parts, mut rows) = (parts(n, q), Vec::new());
    for c in 0..q {
        let (x, wide) = parts[((rank % q + c) % q) as usize];
        let (y, high) = parts[((rank / q + q - c) % q) as usize];
        let (z, deep) = parts[c as usize];
        for (kz, jy) in (0..deep).flat_map(|kz| (0..high).map(move |jy| (kz, jy))) {
            rows.push((40 * (x + n * ((y + jy) + n * (z + kz))), 40 * wide));
        }
    }
    rows
}

/// NAS BT-IO on the largest square of ranks.
fn btio(words: &'static str, mode: &str, ranks: u64, n: u64, dumps: u64) -> Case {
    let q = (1..=ranks).take_while(|q| q * q <= ranks).last().expect("one");
    let (active, whole) = (q * q, 40 * n * n * n);
    let per_dump: u64 = match mode {
        "full" => active,
        "epio" => active * q,
        _ => (0..active).map(|rank| rows(rank, n, q).len() as u64).sum(),
    };
    let mut places = Places::new();
    for (rank, dump) in (0..active).flat_map(|rank| (0..dumps).map(move |dump| (rank, dump))) {
        for (offset, bytes) in rows(rank, n, q) {
            let place = (rank, format!("btio.{mode}.out"), dump * whole + offset, bytes);
            places.extend([place.clone(), place]);
        }
    }
    places.sort();
    let expected = vec![
        ("", "fopen", 2 * active, 0),
        ("", "fclose", active, 0),
        ("dumps", "fwrite", per_dump * dumps, whole * dumps),
        ("dumps", "fclose", active, 0),
        ("verification", "fread", per_dump * dumps, whole * dumps),
    ];
    Case { words, ranks, expected, places: (mode == "simple").then_some(places) }
}

#[test]
fn hacc_writes_nine_arrays_behind_each_other() {
    for ranks in [1, 2, 4] {
        hold(&hacc("@hacc particles=1000 header=4096", ranks, 1000, 4096));
    }
    hold(&hacc("@hacc particles=7", 2, 7, 24 << 20));
}

#[test]
fn tiles_have_the_bytes_of_their_options() {
    hold(&tile("@tile", 1, 1, 1024 * 1024 * 3));
    hold(&tile("@tile nr_tiles_x=2 sz_tile_x=64 sz_tile_y=16", 2, 2, 64 * 16 * 3));
    let overlapping = "@tile nr_tiles_x=2 nr_tiles_y=2 sz_tile_x=64 sz_tile_y=48 sz_element=32 overlap_x=10 \
                       overlap_y=10 header_bytes=100";
    hold(&tile(overlapping, 4, 4, 64 * 48 * 32));
    // Ranks beyond the tiles have nothing to do.
    hold(&tile("@tile nr_tiles_x=3 sz_tile_x=10 sz_tile_y=10", 4, 3, 300));
}

#[test]
fn flash_puts_the_blocks_of_ranks_side_by_side() {
    for ranks in [1, 2, 4] {
        hold(&flash("@flash", ranks, 8, 8));
        hold(&flash("@flash blocks=2 zones=4", ranks, 2, 4));
    }
}

#[test]
fn btio_writes_the_cells_of_the_diagonals() {
    for ranks in [1, 2, 4, 9] {
        hold(&btio("@btio", "full", ranks, 12, 12));
        hold(&btio("@btio mode=epio", "epio", ranks, 12, 12));
        hold(&btio("@btio mode=simple n=13 dumps=2", "simple", ranks, 13, 2));
    }
}
