//! Checks that stand alone: of the tree, of single values, of the finished plan.
//! What needs names and types is checked while the plan is made ([`crate::lower`]).

pub(crate) mod flags;
pub(crate) mod path;
pub(crate) mod precedence;
pub(crate) mod proof;
pub(crate) mod ranks;
pub(crate) mod recursion;
pub(crate) mod shape;

/// Number of turns of a loop from `from` to `to`, exclusive; 0 for a step of 0.
pub(crate) fn turns(from: i64, to: i64, step: i64) -> u64 {
    let distance = match step {
        1.. if to > from => to.abs_diff(from),
        ..=-1 if to < from => from.abs_diff(to),
        _ => return 0,
    };
    distance.div_ceil(step.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn turns_of_ranges() {
        for (from, to, step, count) in [
            (0, 10, 1, 10),
            (10, 100, 10, 9),
            (10, 101, 10, 10),
            (10, 0, -3, 4),
            (0, 10, -1, 0),
            (5, 5, 1, 0),
            (0, 5, 0, 0),
            (i64::MIN, i64::MAX, 1, u64::MAX),
            (i64::MAX, i64::MIN, i64::MIN, 2),
        ] {
            assert_eq!(turns(from, to, step), count, "{from}..{to} step {step}");
        }
    }
}
