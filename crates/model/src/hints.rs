//! MPI-IO hints as text: `key=value;key=value` (MPI standard, chapter "The Info Object").
//!
//! One reader for checker and engine. Which keys mean something is the MPI library's
//! business: it ignores those it does not know, so the run records what came of them.

/// Longest key in bytes that every MPI library takes (MPI_MAX_INFO_KEY is 36 in MPICH and
/// Open MPI at least, 255 in the standard ABI).
pub const MAX_KEY_BYTES: usize = 35;
/// Longest value in bytes that every MPI library takes (Open MPI's MPI_MAX_INFO_VAL is 256).
pub const MAX_VALUE_BYTES: usize = 255;

/// The hints of a text, in order; empty parts between semicolons are left out.
///
/// # Errors
/// What is wrong, as half a sentence that completes "these hints cannot be used: ...".
pub fn parse(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts.map(pair).collect()
}

fn pair(part: &str) -> Result<(&str, &str), String> {
    let Some((key, value)) = part.split_once('=') else {
        return Err(format!("expected key=value, found \"{part}\""));
    };
    let (key, value) = (key.trim(), value.trim());
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
    } else {
        return Ok((key, value));
    };
    Err(format!("\"{part}\" {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_told_apart_by_semicolons() {
        let two = vec![("cb_nodes", "4"), ("romio_cb_write", "enable")];
        assert_eq!(parse("cb_nodes=4;romio_cb_write=enable"), Ok(two.clone()));
        assert_eq!(parse(" cb_nodes = 4 ; romio_cb_write=enable; "), Ok(two));
        assert_eq!(parse("list=1,2=3"), Ok(vec![("list", "1,2=3")]));
        assert_eq!(parse(" "), Ok(vec![]));
    }

    #[test]
    fn what_no_library_takes_is_told() {
        let long = format!("{}=1", "k".repeat(36));
        for (text, told) in [
            ("cb_nodes", "expected key=value"),
            ("=4", "no key"),
            ("a=;b=1", "no value"),
            (long.as_str(), "35 bytes"),
            ("a=\0", "byte 0"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
