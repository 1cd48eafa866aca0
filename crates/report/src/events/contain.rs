//! Panics of the Parquet library as errors of it.

use super::read::invalid;
use parquet::errors::Result;

/// Runs `read` such that a panic in it is a silent error. After an error nothing more may be asked
/// of what it used.
pub(crate) fn contained<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let given_up = || Err(invalid("content: the Parquet library gave up on it"));
    model::contain::contained(read).unwrap_or_else(given_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained(|| Ok(1)).unwrap(), 1);
        let error = contained::<()>(|| panic!("nobody reads this")).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
    }
}
