//! MPI-IO hints as text: `key=value;key=value` (MPI standard, chapter "The Info Object").
//!
//! One reader for checker and engine. Which keys mean something is the MPI library's
//! business: it ignores those it does not know, so the run records what came of them.

use crate::words::shortened;

/// Longest key in bytes that every MPI library takes (MPI_MAX_INFO_KEY is 36 in MPICH and
/// Open MPI at least, 255 in the standard ABI).
pub const MAX_KEY_BYTES: usize = 35;
/// Longest value in bytes that every MPI library takes (Open MPI's MPI_MAX_INFO_VAL is 256).
pub const MAX_VALUE_BYTES: usize = 255;
/// Hints that a file can have. Libraries know some dozens, and Open MPI 4.1 takes 20 s for 1000.
pub const MAX_HINTS: usize = 64;

/// Hints whose value is a number from 1. The MPI standard and ROMIO have these; libraries do not
/// check them: 0 divides by zero or moves nothing for ever.
const NUMBERS: [&str; 9] = [
    "cb_block_size",
    "cb_buffer_size",
    "cb_nodes",
    "ind_rd_buffer_size",
    "ind_wr_buffer_size",
    "nb_proc",
    "num_io_nodes",
    "striping_factor",
    "striping_unit",
];
/// Libraries read numbers as `int`.
const MAX_NUMBER: i64 = i32::MAX as i64;
/// Characters of a hint that a message shows.
const SHOWN: usize = 60;

/// The hints of a text, in order; empty parts between semicolons are left out.
///
/// # Errors
/// The problem, as the rest of a sentence "these hints cannot be used: ...".
pub fn parse(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let parts = || text.split(';').map(str::trim).filter(|part| !part.is_empty());
    match parts().count() {
        0..=MAX_HINTS => parts().map(pair).collect(),
        more => Err(format!("found {more} of them, more than {MAX_HINTS}")),
    }
}

fn pair(part: &str) -> Result<(&str, &str), String> {
    let Some((key, value)) = part.split_once('=') else {
        return Err(format!("expected key=value, found \"{}\"", shortened(part, SHOWN)));
    };
    let (key, value) = (key.trim(), value.trim());
    // Lustre's way to say "all storage targets".
    let all_targets = ("striping_factor", "-1");
    let problem = if key.is_empty() {
        "has no key before the `=`"
    } else if value.is_empty() {
        "has no value after the `=`"
    } else if key.len() > MAX_KEY_BYTES {
        "has a key of more than 35 bytes"
    } else if value.len() > MAX_VALUE_BYTES {
        "has a value of more than 255 bytes"
    } else if part.contains('\0') {
        "holds a byte 0"
    } else if NUMBERS.contains(&key) && !is_number(value) && all_targets != (key, value) {
        "needs a whole number from 1 to 2147483647, without a unit"
    } else {
        return Ok((key, value));
    };
    Err(format!("\"{}\" {problem}", shortened(part, SHOWN)))
}

/// As C's `atoi` reads it in the libraries: digits, nothing else.
fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
        && value.parse().is_ok_and(|number| (1..=MAX_NUMBER).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_separate_pairs() {
        let two = vec![("cb_nodes", "4"), ("romio_cb_write", "enable")];
        assert_eq!(parse("cb_nodes=4;romio_cb_write=enable"), Ok(two.clone()));
        assert_eq!(parse(" cb_nodes = 4 ; romio_cb_write=enable; "), Ok(two));
        assert_eq!(parse("list=1,2=3"), Ok(vec![("list", "1,2=3")]));
        assert_eq!(parse(" "), Ok(vec![]));
    }

    #[test]
    fn what_no_library_takes_is_reported() {
        let long = format!("{}=1", "k".repeat(36));
        for (text, expected) in [
            ("cb_nodes", "expected key=value"),
            ("=4", "no key"),
            ("a=;b=1", "no value"),
            (long.as_str(), "35 bytes"),
            ("a=\0", "byte 0"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_that_end_a_library_are_refused() {
        for value in ["0", "-5", "16m", "0x10", "many", "*", "1.5", "+1", "2147483648"] {
            let error = parse(&format!("a=b;cb_nodes={value}")).unwrap_err();
            assert_eq!(
                error,
                format!(
                    "\"cb_nodes={value}\" needs a whole number from 1 to 2147483647, without a unit"
                )
            );
        }
        for hint in NUMBERS {
            assert!(parse(&format!("{hint}=0")).is_err() && parse(&format!("{hint}=1")).is_ok());
        }
        assert!(parse("cb_buffer_size=2147483647;no_such_hint=0;striping_factor=-1").is_ok());
    }

    #[test]
    fn there_are_so_many_at_most_and_messages_stay_short() {
        let many = |count| "a=b;".repeat(count);
        assert_eq!(parse(&many(64)).map(|hints| hints.len()), Ok(64));
        assert_eq!(parse(&many(1000)).unwrap_err(), "found 1000 of them, more than 64");
        for long in [format!("a={}", "b".repeat(100_000)), "c".repeat(100_000)] {
            let error = parse(&long).unwrap_err();
            assert!(error.len() < 120 && error.contains("..."), "{error}");
        }
    }
}
