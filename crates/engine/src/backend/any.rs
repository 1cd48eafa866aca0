//! A back-end of any type: one copy of the execute loop serves all back-ends whose own work outweighs a virtual call.

use super::api::Backend;
use crate::call::{Call, FileCall, Reply};

/// Any back-end, behind a pointer.
pub struct AnyBackend<'b>(Box<dyn Backend + 'b>);

impl<'b> AnyBackend<'b> {
    /// Hides the type of a back-end.
    pub fn new(backend: impl Backend + 'b) -> AnyBackend<'b> {
        AnyBackend(Box::new(backend))
    }
}

impl Backend for AnyBackend<'_> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut *self.0)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.0.issue(call)
    }

    // The default prepares the call as one of POSIX, which leaves an MPI back-end without the path.
    fn prepare_file(&mut self, call: &FileCall<'_>) -> Result<(), i32> {
        self.0.prepare_file(call)
    }
}
