//! The table of operations.

use super::*;

#[test]
fn the_table_is_in_the_order_of_the_enum() {
    for (index, row) in OPS.iter().enumerate() {
        assert_eq!(row.op as usize, index, "{}", row.name);
        assert_eq!(Op::find(row.name), Some(row.op));
        assert_eq!(Op::from_u8(index as u8), Some(row.op));
    }
    assert_eq!(OPS.len(), Op::COUNT);
}

#[test]
fn names_and_aliases_are_unique() {
    let mut names: Vec<&str> =
        OPS.iter().flat_map(|row| row.aliases.iter().copied().chain([row.name])).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn at_most_one_optional_parameter_stands_before_required_ones() {
    for row in OPS {
        let last = row.params.iter().rposition(|param| param.default.is_none());
        let before = &row.params[..last.unwrap_or(0)];
        let optional = before.iter().filter(|param| param.default.is_some()).count();
        assert!(optional <= 1, "{}", row.name);
    }
}

#[test]
fn errors_of_lacking_operations_have_numbers() {
    let all = OPS.iter().flat_map(|row| row.op.lacking_errors());
    assert!(all.clone().count() > 10);
    assert!(all.clone().all(|name| crate::errno::number(name).is_some()));
}

#[test]
fn a_signature_reads_like_a_manual() {
    assert_eq!(
        Op::Fread.row().signature(),
        "fread(handle [, n=rest of the file] [, off=current position])"
    );
    assert_eq!(Op::Fopen.row().signature(), "$h = fopen(path, flags)");
    assert_eq!(Op::Fallocate.row().signature(), "fallocate(handle [, off=0], n [, mode=allocate])");
}
