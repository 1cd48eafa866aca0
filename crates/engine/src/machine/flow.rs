//! How a statement ends: the rank goes on, waits, or cannot execute it.

use crate::comm::Poll;
use model::EvalError;

/// Why a statement cannot be executed; the site is known to the execute loop. One word, so that the result of
/// every statement comes back in registers: through memory it costs a failed store forwarding, several
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault(Box<Why>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// An expression has no value.
    Eval(EvalError),
    /// A sentence.
    Message(String),
}

impl From<EvalError> for Fault {
    #[cold]
    fn from(error: EvalError) -> Fault {
        Fault(Box::new(Why::Eval(error)))
    }
}

impl Fault {
    #[cold]
    pub(super) fn message(text: impl Into<String>) -> Fault {
        Fault(Box::new(Why::Message(text.into())))
    }

    pub(super) fn why(self) -> Why {
        *self.0
    }
}

/// Whether the rank goes on after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next instruction.
    Next,
    /// Later, with the same instruction.
    Pending,
    /// Never: what it waits for cannot come.
    Released,
    /// Never: somebody asked the run to stop.
    Interrupted,
}

impl From<Poll> for Flow {
    fn from(poll: Poll) -> Flow {
        match poll {
            Poll::Ready => Flow::Next,
            Poll::Pending => Flow::Pending,
            Poll::Released => Flow::Released,
        }
    }
}
