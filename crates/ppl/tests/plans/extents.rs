//! Patterns whose extents are written in the language. Those that say the same as a kind are
//! held against it, for 1 to 17 members; HACC-IO is computed here anew.

use model::Plan;
use model::pattern::{Extent, MAX_STEPS, View};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use std::ops::Range;

fn planned(text: &str) -> Plan {
    let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &Binding::new(1));
    compiled.plan.unwrap_or_else(|| panic!("{:?}\n{text}", compiled.diagnostics))
}

/// The pieces of a member and the view that is made of them, if the pattern exists.
fn share(plan: &Plan, name: &str, g: u32, members: u32) -> Option<(Vec<Extent>, View)> {
    let pattern = plan.patterns.iter().find(|pattern| pattern.name == name).expect("defined");
    let share = pattern.share(plan, g, members, MAX_STEPS).ok()?;
    let pieces: Vec<Extent> = share.extents().collect();
    assert_eq!(share.count(), pieces.len() as u64);
    assert_eq!(share.bytes(), pieces.iter().map(|piece| piece.length_bytes).sum::<u64>());
    Some((pieces, share.view()))
}

/// Ascending pieces with those that touch or overlap made one.
fn union(sorted: &[Extent]) -> Vec<Range<u64>> {
    let mut union: Vec<Range<u64>> = Vec::new();
    for piece in sorted.iter().filter(|piece| piece.length_bytes > 0) {
        match union.last_mut() {
            Some(last) if piece.offset_bytes <= last.end => {
                last.end = last.end.max(piece.end_bytes());
            }
            _ => union.push(piece.offset_bytes..piece.end_bytes()),
        }
    }
    union
}

/// What a definition says of the pieces of all members together.
struct Promise {
    /// No byte belongs to two pieces.
    disjoint: bool,
    /// These bytes, and no others, are accessed.
    covers: Option<Range<u64>>,
}

/// The pieces of all members keep a promise, and every view has the bytes of its pieces.
fn keeps(plan: &Plan, name: &str, members: u32, promise: &Promise) {
    let mut all = Vec::new();
    for g in 0..members {
        let (mut pieces, view) = share(plan, name, g, members).expect("it exists for all");
        all.extend_from_slice(&pieces);
        pieces.sort_unstable();
        assert_eq!(union(&view.extents()), union(&pieces), "{name}, member {g} of {members}");
    }
    all.sort_unstable();
    if promise.disjoint {
        let apart = all.windows(2).all(|two| two[0].end_bytes() <= two[1].offset_bytes);
        assert!(apart, "{name} of {members}: {all:?}");
    }
    if let Some(range) = &promise.covers {
        assert_eq!(union(&all), std::slice::from_ref(range), "{name} of {members}");
    }
}

/// A kind, the same written in the language, and for which numbers of members there is none.
type Twin = (&'static str, &'static str, fn(u32) -> bool);

const fn never(_members: u32) -> bool {
    false
}

/// First vertex and number of vertices of 100, as `mesh` shares them out.
const PART: &str = "$n = 100 / $$gsize; $more = 100 % $$gsize; \
                    $first = $$grank * $n + min($$grank, $more); \
                    if ($$grank < $more) $n = $n + 1;";

const TWINS: &[Twin] = &[
    (
        "strided(block=7, count=5, header=3)",
        "repeat $u 5 extent(3 + ($u * $$gsize + $$grank) * 7, 7);",
        never,
    ),
    (
        "segmented(block=7, count=5, header=3)",
        "repeat $u 5 extent(3 + ($$grank * 5 + $u) * 7, 7);",
        never,
    ),
    (
        "sequential(block=7, count=5)",
        "$u = 0; while ($u < 5) { extent(($$grank * 5 + $u) * 7, 7); $u = $u + 1; }",
        never,
    ),
    (
        "sequential(block=7, count=5, mode=\"whole\", header=3)",
        "repeat $at 3..38 step 7 extent($at, 7);",
        never,
    ),
    (
        "nested(block=3, counts=[4, 3])",
        "$s = 3 * $$gsize; repeat $j 3 repeat $i 4 extent($$grank * 3 + $i * $s + $j * 8 * $s, 3);",
        never,
    ),
    (
        "nested(block=3, counts=[4, 3], gap=1, header=2)",
        "repeat $k 12 extent(2 + ($k * $$gsize + $$grank) * 3, 3);",
        never,
    ),
    (
        "tiled(nx=2, ny=2, sx=5, sy=4, elem=3)",
        "if ($$grank < 4) repeat $y 4 \
             extent((($$grank / 2 * 4 + $y) * 10 + ($$grank % 2) * 5) * 3, 15);",
        |members| members < 4,
    ),
    (
        "tiled(nx=2, ny=2, sx=5, sy=4, ox=1, oy=2)",
        "if ($$grank < 4) repeat $y 4 \
             extent(($$grank / 2 * 2 + $y) * 9 + ($$grank % 2) * 4, 5);",
        |members| members < 4,
    ),
    (
        "subarray(sizes=[100, 6], grid=[1, 1], elem=2, header=1)",
        "if ($$grank == 0) repeat $row 100 extent(1 + $row * 12, 12);",
        never,
    ),
    (
        "blockcyclic(sizes=[53], blocks=[4], elem=3)",
        "repeat $at $$grank * 4..53 step $$gsize * 4 extent($at * 3, min(4, 53 - $at) * 3);",
        never,
    ),
    (
        "multipartition(n=13)",
        "$q = 1; while (($q + 1) * ($q + 1) <= $$gsize) $q = $q + 1; \
         $w = 13 / $q; $m = 13 % $q; \
         repeat $c $q { \
             $x = ($$grank % $q + $c) % $q; $y = ($$grank / $q + $q - $c) % $q; \
             $nx = $w; $ny = $w; $nz = $w; \
             if ($x < $m) $nx = $w + 1; if ($y < $m) $ny = $w + 1; if ($c < $m) $nz = $w + 1; \
             $lx = $x * $w + min($x, $m); $ly = $y * $w + min($y, $m); \
             $lz = $c * $w + min($c, $m); \
             repeat $k $nz repeat $j $ny \
                 extent(40 * ($lx + 13 * ($ly + $j + 13 * ($lz + $k))), 40 * $nx); }",
        |members| members.isqrt().pow(2) != members,
    ),
    (
        "flash(blocks=2, vars=3, header=4)",
        "$left = 0; repeat $r $$grank $left = $left + 2 + $r % 3; \
         $all = 0; repeat $r $$gsize $all = $all + 2 + $r % 3; \
         $units = [4, 4, 60, 24, 24, 48, 4096, 4096, 4096]; $start = 4; \
         repeat $a len($units) { $u = $units[$a]; \
             extent($start + $left * $u, (2 + $$grank % 3) * $u); $start = $start + $all * $u; }",
        never,
    ),
    ("mesh(vertices=100)", "repeat $k $n extent(($first + $k) * 8, 8);", never),
    (
        "mesh(vertices=100, partition=\"cyclic\", values=3)",
        "repeat $v $$grank..100 step $$gsize extent($v * 24, 24);",
        never,
    ),
    (
        "mesh(vertices=100, partition=\"random\", header=9)",
        "repeat $k $n extent(9 + perm($first + $k, 100) * 8, 8);",
        never,
    ),
];

/// Extents, and what their definition says of all members together.
type Alone = (&'static str, fn(u32) -> Promise);

/// What no kind says exactly, and what its definition says: `random` draws lengths that a
/// generator cannot draw, so this one computes them.
const ALONE: &[Alone] = &[
    (
        "$at = 2; repeat $t 11 * $$gsize { $n = $t * 7 % 5 + 1; \
         if ($t % $$gsize == $$grank) extent($at, $n); $at = $at + $n; }",
        |members| Promise {
            disjoint: true,
            covers: Some(2..2 + (0..11 * u64::from(members)).map(|t| t * 7 % 5 + 1).sum::<u64>()),
        },
    ),
    (
        // Backwards, with empty extents between.
        "repeat $u 6 { extent(0, 0); extent(((5 - $u) * $$gsize + $$grank) * 4, 4); }",
        |members| Promise { disjoint: true, covers: Some(0..24 * u64::from(members)) },
    ),
];

#[test]
fn extents_that_say_the_same_as_a_kind_are_the_same() {
    for row in ppl::kinds::KINDS {
        let has = TWINS.iter().any(|twin| twin.0.split('(').next() == Some(row.name));
        assert!(has || row.name == "random", "{} has no twin", row.name);
    }
    for (kind, body, none) in TWINS {
        let plan = planned(&format!(
            "define pattern \"kind\" = {kind}; define pattern \"mine\" level 0 {{ {PART} {body} }}"
        ));
        for members in 1..=17 {
            let exists = share(&plan, "kind", 0, members).is_some();
            assert_eq!(exists, !none(members), "{kind} of {members}");
            if none(members) {
                continue;
            }
            for g in 0..members {
                let [kind_says, mine] = ["kind", "mine"].map(|name| share(&plan, name, g, members));
                assert_eq!(mine.map(|m| m.0), kind_says.map(|k| k.0), "{kind}, {g} of {members}");
            }
        }
    }
}

#[test]
fn extents_that_no_kind_gives_are_what_their_definition_says() {
    for (body, promise) in ALONE {
        let plan = planned(&format!("define pattern \"mine\" level 0 {{ {body} }}"));
        (1..=17).for_each(|members| keeps(&plan, "mine", members, &promise(members)));
    }
}

/// Nine arrays of a rank one after the other, behind 24 MiB and the ranks before; ranks have
/// unequal numbers of particles.
const HACC: &str = "
define param \"n\" $n \"1000\"
define pattern \"hacc\" level 0 {
    $before = 0;
    repeat $r $$grank $before = $before + $n + $r * $r % 7;
    $own = $n + $$grank * $$grank % 7;
    $base = 24m + 38 * $before;
    repeat $a 7 extent($base + $a * 4 * $own, 4 * $own);
    extent($base + 28 * $own, 8 * $own);
    extent($base + 36 * $own, 2 * $own);
}";

/// HACC-IO as its source has it: xx yy zz vx vy vz phi of 4 bytes, pid of 8, mask of 2.
#[test]
fn extents_are_those_of_hacc_io() {
    const HEADER: u64 = 25_165_824;
    let plan = planned(HACC);
    for ranks in 1..=17 {
        let particles: Vec<u64> =
            (0..u64::from(ranks)).map(|rank| 1000 + rank.pow(2) % 7).collect();
        let mut at = HEADER;
        for (rank, own) in particles.iter().enumerate() {
            let mut expected = Vec::new();
            for bytes in [4, 4, 4, 4, 4, 4, 4, 8, 2] {
                expected.push(Extent { offset_bytes: at, length_bytes: bytes * own });
                at += bytes * own;
            }
            let found = share(&plan, "hacc", rank as u32, ranks).expect("it exists").0;
            assert_eq!(found, expected, "rank {rank} of {ranks}");
        }
        let whole = HEADER + 38 * particles.iter().sum::<u64>();
        assert_eq!(at, whole, "38 bytes a particle");
        keeps(&plan, "hacc", ranks, &Promise { disjoint: true, covers: Some(HEADER..whole) });
    }
}
