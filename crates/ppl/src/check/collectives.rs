//! W0304: what all members of a group do together, where only some of them come.
//!
//! ```text
//! if ($$rank == 0) barrier;       the others never come
//! ```

use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Collective, Notes};

/// Warns of everything collective under a condition that differs between ranks.
pub(crate) fn check(notes: &Notes) -> Vec<Diagnostic> {
    notes.collectives.iter().map(under_condition).collect()
}

fn under_condition(found: &Collective) -> Diagnostic {
    let message = format!("{} stands under a condition that differs between ranks", found.what);
    Diagnostic::new(Code::RankDependent, found.span, message)
        .related(found.condition, "this differs between ranks")
        .help("the others would wait forever for ranks that skip this; move it out, or use a group")
}
