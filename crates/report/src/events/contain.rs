//! Panics of the Parquet library as errors: it asserts on some damaged files instead of refusing
//! them.

use super::read::invalid;
use parquet::errors::Result;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// This thread reads a file: its panics are answers and say nothing on standard error.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read` such that a panic in it is a silent error. After an error nothing more may be asked
/// of what it used, so that no half-changed state is seen.
pub(crate) fn contained<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    silence();
    let outer = READING.replace(true);
    let caught = panic::catch_unwind(AssertUnwindSafe(read));
    READING.set(outer);
    caught.unwrap_or_else(|_| Err(invalid("content: the Parquet library gave up on it")))
}

/// Once per process: the hook of before is asked only about panics that are ours.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !READING.get() {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained(|| Ok(1)).unwrap(), 1);
        let error = contained::<()>(|| panic!("nobody reads this")).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
        assert!(!READING.get());
    }
}
