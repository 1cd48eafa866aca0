//! Panics of libraries as values: some assert on damaged files instead of refusing them.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// This thread reads a file: its panics are answers and say nothing on standard error.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`; `None`: it panicked, silently. Nothing more may be asked of what it used then, so that
/// no half-changed state is seen.
pub fn contained<T>(read: impl FnOnce() -> T) -> Option<T> {
    silence();
    let outer = READING.replace(true);
    let caught = panic::catch_unwind(AssertUnwindSafe(read));
    READING.set(outer);
    caught.ok()
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
    fn a_panic_is_no_value() {
        assert_eq!(contained(|| 1), Some(1));
        assert_eq!(contained::<()>(|| panic!("nobody reads this")), None);
        assert!(!READING.get());
    }
}
