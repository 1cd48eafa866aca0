//! Storage back-ends: the smallest interface that holds them all (after fio's
//! queue/getevents). One behaviour suite tests them: `tests/backends.rs`.

use crate::call::{Call, Reply};

/// What a back-end can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Bytes written can be read back.
    pub keeps_data: bool,
    /// Names and sizes are kept, so that a missing file is an error.
    pub keeps_names: bool,
    /// `O_DIRECT` means something.
    pub direct: bool,
}

/// A place where files live.
pub trait Backend {
    /// Its name in the run: "posix", "null", "mem".
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What the call needs and must not be timed (resolving a path that is not
    /// proved to stay inside the directory). Called before the first clock reading
    /// of every call; an error replaces the call.
    #[inline(always)]
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        let _ = call;
        Ok(())
    }

    /// Executes the call. Nothing else happens between two clock readings.
    fn issue(&mut self, call: Call<'_>) -> Reply;
}
