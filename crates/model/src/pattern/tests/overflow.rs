//! Numbers beyond 2^63 - 1 are refused before anything is computed with them.

use super::*;
use proptest::prelude::*;

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

fn big() -> impl Strategy<Value = u64> {
    prop_oneof![0..5u64, (0..63u32).prop_map(|bit| 1 << bit), Just(MAX_OFFSET_BYTES)]
}

/// A value that an argument accepts, often a huge one.
fn argument(accepts: Accepts) -> BoxedStrategy<Argument> {
    match accepts {
        Accepts::Number(least) => big().prop_map(move |value| n(value.max(least))).boxed(),
        Accepts::Numbers(least) => prop::collection::vec(big(), 1..4)
            .prop_map(move |values| {
                Argument::Numbers(values.into_iter().map(|value| value.max(least)).collect())
            })
            .boxed(),
        Accepts::Word(words) => prop::sample::select(words).prop_map(Argument::Word).boxed(),
    }
}

fn geometry() -> impl Strategy<Value = Geometry> {
    prop::sample::select(KINDS).prop_flat_map(|row| {
        let row: &'static KindRow = kind(row.name).expect("a row of the table");
        let args: Vec<_> = row
            .params
            .iter()
            .map(|param| argument(param.accepts).prop_map(move |value| (param.name, value)))
            .collect();
        args.prop_map(move |given| Arguments::new(row, given).build(42))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Debug builds panic where arithmetic wraps: a pattern that passes its check computes
    /// every figure without, and its extents lie before its end.
    #[test]
    fn any_pattern_is_refused_or_computed(geometry in geometry(), members in 1u32..20) {
        let shape = shape_of(&geometry);
        if shape.check(members).is_err() {
            return Ok(());
        }
        let turns = match &geometry {
            Geometry::Random(random) => random.count,
            _ => 0,
        };
        prop_assume!(turns < 10_000);
        let end = shape.end_bytes(members);
        prop_assert!(end <= MAX_OFFSET_BYTES, "{}", geometry);
        for member in [0, members - 1] {
            for extent in shape.extents(member, members).take(2_000) {
                prop_assert!(extent.end_bytes() <= end, "{} {:?}", geometry, extent);
            }
            if shape.runs(member, members).take(2_000).count() < 2_000 {
                let bytes = shape.bytes(member, members);
                prop_assert!(bytes <= MAX_OFFSET_BYTES);
            }
        }
    }
}
