//! Every kind is held to what it promises, for 1 to 17 members.

use super::*;
use crate::value::Value;

mod formulas;
mod overflow;

/// All extents of all members that hold a byte, sorted.
fn all_extents(shape: &dyn Shape, members: u32) -> Vec<Extent> {
    let mut all: Vec<Extent> = (0..members)
        .flat_map(|member| shape.extents(member, members))
        .filter(|extent| extent.length_bytes > 0)
        .collect();
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

fn holds_what_it_promises(shape: &dyn Shape, members: u32) {
    let all = all_extents(shape, members);
    let promise = shape.promise(members);
    let what = format!("{shape:?} of {members}");
    if promise.disjoint {
        let apart = all.windows(2).all(|two| two[0].end_bytes() <= two[1].offset_bytes);
        assert!(apart, "{what}: pieces overlap");
    }
    if let Some(range) = promise.covers {
        let expected = if range.is_empty() { vec![] } else { vec![range] };
        assert_eq!(union(&all), expected, "{what}");
    }
    let end = all.iter().map(|extent| extent.end_bytes()).max();
    if let Some(end) = end {
        assert_eq!(shape.end_bytes(members), end, "{what}");
    }
    for member in 0..members {
        counts_agree(shape, member, members, &what);
        view_is_the_extents(shape, member, members, &what);
    }
}

fn counts_agree(shape: &dyn Shape, member: u32, members: u32, what: &str) {
    let extents = shape.extents(member, members);
    let (count, bytes) =
        extents.fold((0, 0), |(count, bytes), extent| (count + 1, bytes + extent.length_bytes));
    assert_eq!(shape.count(member, members), count, "{what}, member {member}");
    assert_eq!(shape.bytes(member, members), bytes, "{what}, member {member}");
}

/// The view has the bytes of the extents, in the order of the file, and its memory says which.
fn view_is_the_extents(shape: &dyn Shape, member: u32, members: u32, what: &str) {
    let view = shape.view(member, members);
    let what = format!("{what}, member {member}: {view:?}");
    let mut position = 0;
    let mut wanted = Vec::new();
    for extent in shape.extents(member, members) {
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
        wanted.iter().map(|(at, _)| (*at, through(&file, &memory, *at))).collect();
    if !view.overlapping {
        assert_eq!(found, wanted, "{what}");
    }
}

/// The place in memory of a byte of the file.
fn through(file: &[Extent], memory: &[Extent], at: u64) -> u64 {
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

/// A pattern by the text of its arguments, as a program would build it.
fn built(kind_name: &str, given: &[(&'static str, Argument)]) -> Geometry {
    let row = kind(kind_name).expect("there is such a kind");
    let args = Arguments::new(row, given.to_vec());
    assert_eq!(args.missing(), Vec::<&str>::new(), "{kind_name}");
    args.build(42)
}

/// No test here is about generators.
fn shape_of(geometry: &Geometry) -> &dyn Shape {
    geometry.shape().expect("a kind of the table")
}

fn n(value: u64) -> Argument {
    Argument::Number(value)
}

fn list(values: &[u64]) -> Argument {
    Argument::Numbers(values.to_vec())
}

/// One or more of every kind of the table, which fit any number of members that the kind takes.
fn samples() -> Vec<Geometry> {
    let word = Argument::Word;
    let basic = [("block", n(7)), ("count", n(5)), ("header", n(3))];
    let whole = [&basic[..], &[("mode", word("whole"))]].concat();
    let sizes3 = ("sizes", list(&[5, 7, 9]));
    let mut samples = vec![
        built("strided", &basic),
        Geometry::Strided(Strided { block_bytes: 7, count: 5, header_bytes: 3, as_subarray: true }),
        Geometry::Strided(Strided::default()),
        built("segmented", &basic),
        built("sequential", &basic),
        built("sequential", &whole),
        built("nested", &[("block", n(3)), ("counts", list(&[4, 3, 2]))]),
        built("nested", &[("block", n(3)), ("counts", list(&[4, 3, 2])), ("gap", n(1))]),
        built(
            "nested",
            &[
                ("block", n(2)),
                ("counts", list(&[2, 3])),
                ("strides", list(&[100, 10])),
                ("header", n(5)),
            ],
        ),
        built("nested", &[("block", n(4)), ("counts", list(&[9])), ("strides", list(&[3]))]),
        built("random", &[("min", n(0)), ("max", n(9)), ("count", n(11)), ("header", n(2))]),
        built("random", &[("min", n(5)), ("max", n(5)), ("count", n(3))]),
        built("tiled", &[("nx", n(1)), ("ny", n(1)), ("sx", n(3)), ("sy", n(4)), ("elem", n(2))]),
        built("subarray", &[("sizes", list(&[50])), ("header", n(1))]),
        built("subarray", &[sizes3.clone(), ("elem", n(2))]),
        built("subarray", &[("sizes", list(&[2, 3])), ("grid", list(&[1, 1]))]),
        built("blockcyclic", &[("sizes", list(&[53])), ("blocks", list(&[4])), ("elem", n(3))]),
        built("blockcyclic", &[("sizes", list(&[11, 13])), ("blocks", list(&[2, 3]))]),
        built("blockcyclic", &[sizes3, ("blocks", list(&[2, 100, 4])), ("header", n(7))]),
        built("multipartition", &[("n", n(13)), ("elem", n(1)), ("header", n(9))]),
        built("multipartition", &[("n", n(12)), ("dumps", n(3))]),
        built("flash", &[("blocks", n(2)), ("vars", n(3)), ("header", n(4))]),
        built("flash", &[("blocks", n(1)), ("spread", n(5)), ("file", word("corners"))]),
        built("flash", &[("blocks", n(1)), ("nxb", n(1)), ("file", word("centred"))]),
    ];
    for partition in ["block", "cyclic", "random"] {
        samples.push(built("mesh", &[("vertices", n(100)), ("partition", word(partition))]));
        samples.push(built(
            "mesh",
            &[
                ("vertices", n(5)),
                ("values", n(3)),
                ("partition", word(partition)),
                ("header", n(1)),
            ],
        ));
    }
    samples
}

#[test]
fn every_kind_holds_what_it_promises() {
    for geometry in samples() {
        for members in 1..=17 {
            let shape = shape_of(&geometry);
            match shape.check(members) {
                Ok(()) => holds_what_it_promises(shape, members),
                Err(said) => {
                    assert_eq!(geometry.kind(), "multipartition", "{said}");
                    assert!(
                        members.isqrt().pow(2) != members
                            || members == 16 && said.contains("3 points")
                    );
                }
            }
        }
    }
}

#[test]
fn tiles_hold_what_they_promise_for_every_grid() {
    for (nx, ny, ox, oy) in (1..=4).flat_map(|nx| (1..=4).map(move |ny| (nx, ny, nx % 2, ny % 3))) {
        let tiled = built(
            "tiled",
            &[
                ("nx", n(nx)),
                ("ny", n(ny)),
                ("sx", n(5)),
                ("sy", n(4)),
                ("elem", n(3)),
                ("ox", n(ox)),
                ("oy", n(oy)),
                ("header", n(10)),
            ],
        );
        for members in 1..=17 {
            let enough = u64::from(members) >= nx * ny;
            assert_eq!(shape_of(&tiled).check(members).is_ok(), enough);
            if enough {
                holds_what_it_promises(shape_of(&tiled), members);
            }
        }
    }
}

#[test]
fn a_multipartition_needs_a_square() {
    let cube = built("multipartition", &[("n", n(12))]);
    let said = shape_of(&cube).check(3).unwrap_err();
    assert_eq!(said, "expected a square number of members (1, 4, 9, 16, ...), found 3");
    assert!(shape_of(&cube).check(25).unwrap_err().contains("n to be at least 15 for 25 members"));
    let squares: Vec<u32> = (1..=17).filter(|g| shape_of(&cube).check(*g).is_ok()).collect();
    assert_eq!(squares, [1, 4, 9, 16]);
}

/// Every kind of the table has a sample, and its arguments make it again.
#[test]
fn arguments_make_the_same_pattern_again() {
    let samples = samples();
    for row in KINDS {
        assert!(samples.iter().any(|sample| sample.kind() == row.name), "{}", row.name);
    }
    for geometry in samples {
        let row = kind(geometry.kind()).unwrap();
        let arguments = shape_of(&geometry).arguments();
        let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
        let known: Vec<&str> = row.params.iter().map(|param| param.name).collect();
        assert_eq!(names, known, "{}", row.name);
        let given = arguments.into_iter().filter(|(_, value)| *value != list(&[])).collect();
        let again = Arguments::new(row, given).build(42);
        let as_vector = match &geometry {
            Geometry::Strided(shape) => Geometry::Strided(Strided { as_subarray: false, ..*shape }),
            other => other.clone(),
        };
        assert_eq!(again, as_vector);
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused_in_a_sentence() {
    let accept = |accepts: Accepts, value: &Value| accepts.accept(value).unwrap_err();
    let number = Accepts::Number(1);
    assert_eq!(
        accept(number, &Value::Int(0)),
        "expected a number of at least 1, found an integer (0)"
    );
    assert_eq!(number.accept(&Value::str("12")), Ok(n(12)), "parameters are texts");
    let lists = Accepts::Numbers(1);
    assert!(accept(lists, &Value::List([].into())).contains("a list of 1 to 16 numbers"));
    assert!(accept(lists, &Value::Int(4)).contains("a list"));
    let words = Accepts::Word(&["block", "cyclic"]);
    assert_eq!(
        accept(words, &Value::str("x")),
        "expected \"block\" or \"cyclic\", found the string \"x\""
    );
}

#[test]
fn numbers_that_do_not_go_together_are_refused() {
    let said = |geometry: Geometry| shape_of(&geometry).check_numbers().unwrap_err();
    let two = ("sizes", list(&[4, 4]));
    assert!(said(built("subarray", &[two.clone(), ("grid", list(&[2]))])).contains("1 and 2"));
    assert!(said(built("blockcyclic", &[two, ("blocks", list(&[2]))])).contains("1 and 2"));
    let nested = [("block", n(1)), ("counts", list(&[2, 2])), ("strides", list(&[1]))];
    assert!(said(built("nested", &nested)).contains("2 counts and 1 strides"));
    assert!(
        said(built("random", &[("min", n(9)), ("max", n(3)), ("count", n(1))])).contains("min=9")
    );
    for max in [0, 1] {
        let endless = built("random", &[("min", n(0)), ("max", n(max)), ("count", n(1 << 40))]);
        assert!(shape_of(&endless).check(4).unwrap_err().contains("268435456 pieces"));
    }
    let tile = [("nx", n(2)), ("ny", n(1)), ("sx", n(4)), ("sy", n(1)), ("ox", n(4))];
    assert!(said(built("tiled", &tile)).contains("ox=4 and sx=4"));
}
