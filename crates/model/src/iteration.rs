//! How often a loop iterates.
//!
//! ```text
//! repeat $i 10..0 step -3 ...      10 7 4 1: four iterations
//! ```

use crate::value::{Eval, EvalError};

/// Iterations of a loop from `from` to `to`, exclusive; 0 for a step of 0. All values of a 64-bit
/// variable are 2^64 less one, because the end is excluded.
pub fn count(from: i64, to: i64, step: i64) -> u64 {
    let distance = match step {
        1.. if to > from => to.abs_diff(from),
        ..=-1 if to < from => from.abs_diff(to),
        _ => return 0,
    };
    distance.div_ceil(step.unsigned_abs())
}

/// The same for a range of a program; `counted`: written as `repeat n`.
///
/// # Errors
/// The step is 0, or the number of repetitions negative.
pub fn checked(from: i64, to: i64, step: i64, counted: bool) -> Eval<u64> {
    if counted && to < 0 {
        let what = "expected a number of repetitions that is not negative";
        return Err(EvalError::Range(what, to.to_string()));
    }
    if step == 0 {
        return Err(EvalError::Range("expected a step that is not 0", step.to_string()));
    }
    Ok(count(from, to, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_of_ranges() {
        for (from, to, step, iterations) in [
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
            assert_eq!(count(from, to, step), iterations, "{from}..{to} step {step}");
        }
        assert!(checked(0, -1, 1, true).is_err() && checked(0, 1, 0, false).is_err());
        assert_eq!(checked(0, -1, 1, false), Ok(0));
    }
}
