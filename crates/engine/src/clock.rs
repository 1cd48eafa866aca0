//! The only source of time. Nanoseconds since the start of the run.

/// A clock. `now` is what brackets every back-end call.
pub trait Clock {
    /// Its name in the run: "tsc", "monotonic_raw", "virtual".
    fn name(&self) -> &'static str;
    /// Nanoseconds since the start of the run.
    fn now(&self) -> u64;
    /// Lets time pass without using the processor; returns early when a signal arrives.
    fn sleep(&self, ns: u64);
    /// Lets time pass while using the processor.
    fn spin(&self, ns: u64);
}
