//! Collects diagnostics: a bounded number of them, errors and warnings apart.

use crate::diag::{Code, Diagnostic, Severity};
use model::plan::Span;

/// So many errors and so many warnings are kept; a last one tells how many more there were.
const MAX_EACH: usize = 100;

/// Diagnostics found so far.
#[derive(Default)]
pub(crate) struct Reports {
    found: Vec<Diagnostic>,
    errors: Tally,
    warnings: Tally,
}

#[derive(Default)]
struct Tally {
    count: usize,
    /// The first that was left out.
    left_out: Option<(Code, Span)>,
}

impl Reports {
    #[cold]
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let tally = match diagnostic.severity() {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        tally.count += 1;
        if tally.count <= MAX_EACH {
            self.found.push(diagnostic);
        } else {
            tally.left_out.get_or_insert((diagnostic.code, diagnostic.span));
        }
    }

    /// At least one error was found.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors.count > 0
    }

    /// More errors will not be kept, so their help need not be worked out.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.count >= MAX_EACH
    }

    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for (tally, what) in [(self.errors, "errors"), (self.warnings, "warnings")] {
            if let Some((code, span)) = tally.left_out {
                let message = format!("{} more {what} are not shown", tally.count - MAX_EACH);
                self.found.push(Diagnostic::new(code, span, message));
            }
        }
        self.found
    }
}
