//! Every kind is held to what it promises, for 1 to 17 members.

use super::*;

/// All pieces of all members that hold a byte, sorted.
fn all_pieces(shape: &dyn Shape, members: u32) -> Vec<Extent> {
    let mut all: Vec<Extent> = (0..members)
        .flat_map(|member| shape.extents(member, members))
        .filter(|extent| extent.length_bytes > 0)
        .collect();
    all.sort_unstable();
    all
}

/// Pieces with those that touch or overlap made one.
fn union(sorted: &[Extent]) -> Vec<Range<u64>> {
    let mut union: Vec<Range<u64>> = Vec::new();
    for piece in sorted {
        match union.last_mut() {
            Some(last) if piece.offset_bytes <= last.end => {
                last.end = last.end.max(piece.end_bytes());
            }
            _ => union.push(piece.offset_bytes..piece.end_bytes()),
        }
    }
    union
}

fn holds_what_it_promises(shape: &dyn Shape, members: u32) {
    let all = all_pieces(shape, members);
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
    let end = all.iter().map(|piece| piece.end_bytes()).max();
    if let Some(end) = end {
        assert_eq!(shape.end_bytes(members), end, "{what}");
    }
    for member in 0..members {
        counts_agree(shape, member, members, &what);
        view_is_the_pieces(shape, member, members, &what);
    }
}

fn counts_agree(shape: &dyn Shape, member: u32, members: u32, what: &str) {
    let extents = shape.extents(member, members);
    let (count, bytes) =
        extents.fold((0, 0), |(count, bytes), piece| (count + 1, bytes + piece.length_bytes));
    assert_eq!(shape.count(member, members), count, "{what}, member {member}");
    assert_eq!(shape.bytes(member, members), bytes, "{what}, member {member}");
}

/// The view has the bytes of the pieces, in the order of the file, and its memory says which.
fn view_is_the_pieces(shape: &dyn Shape, member: u32, members: u32, what: &str) {
    let view = shape.view(member, members);
    let what = format!("{what}, member {member}: {view:?}");
    let mut position = 0;
    let mut wanted = Vec::new();
    for piece in shape.extents(member, members) {
        if piece.length_bytes <= 100 {
            wanted.extend((0..piece.length_bytes).map(|i| (piece.offset_bytes + i, position + i)));
        } else {
            wanted.push((piece.offset_bytes, position));
            wanted.push((piece.end_bytes() - 1, position + piece.length_bytes - 1));
        }
        position += piece.length_bytes;
    }
    assert_eq!(view.filetype.bytes(), position, "{what}");
    let memory = view
        .memory
        .clone()
        .unwrap_or_else(|| vec![Extent { offset_bytes: 0, length_bytes: position }]);
    let file = view.pieces();
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
    for piece in file {
        if (piece.offset_bytes..piece.end_bytes()).contains(&at) {
            before += at - piece.offset_bytes;
            break;
        }
        before += piece.length_bytes;
    }
    for part in memory {
        if before < part.length_bytes {
            return part.offset_bytes + before;
        }
        before -= part.length_bytes;
    }
    u64::MAX
}

#[test]
fn every_kind_holds_what_it_promises() {
    let (block_bytes, count, header_bytes) = (7, 5, 3);
    let kinds = [
        Geometry::Strided(Strided { block_bytes, count, header_bytes, as_subarray: false }),
        Geometry::Strided(Strided { block_bytes, count, header_bytes, as_subarray: true }),
        Geometry::Strided(Strided::default()),
        Geometry::Segmented(Segmented { block_bytes, count, header_bytes }),
        Geometry::Sequential(Sequential { block_bytes, count, header_bytes, mode: Mode::Whole }),
        Geometry::Sequential(Sequential {
            block_bytes,
            count,
            header_bytes,
            mode: Mode::Partition,
        }),
    ];
    for kind in &kinds {
        for members in 1..=17 {
            kind.shape().check(members).unwrap();
            holds_what_it_promises(kind.shape(), members);
        }
    }
}

#[test]
fn what_passes_the_largest_position_is_refused() {
    let half = 1 << 62;
    let strided = Strided { block_bytes: half, count: 1, ..Strided::default() };
    assert_eq!(strided.check(1), Ok(()));
    let said = strided.check(2).unwrap_err();
    assert!(said.contains("less than 2^63 bytes") && said.contains("2 members"), "{said}");
    let segmented = Segmented { block_bytes: 1 << 40, count: 1 << 40, header_bytes: 0 };
    assert!(segmented.check(1).is_err());
    let sequential = Sequential { block_bytes: half, count: 1, header_bytes: 0, mode: Mode::Whole };
    assert_eq!(sequential.check(17), Ok(()), "the whole file is the same for any number");
}
