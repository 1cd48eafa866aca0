//! What ends a rank before its program does.

use model::EvalError;

/// Why a statement cannot be executed; the site is known to the execute loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An expression has no value.
    Eval(EvalError),
    /// A sentence.
    Message(String),
}

impl From<EvalError> for Fault {
    fn from(error: EvalError) -> Fault {
        Fault::Eval(error)
    }
}

impl Fault {
    pub(super) fn message(text: impl Into<String>) -> Fault {
        Fault::Message(text.into())
    }
}
