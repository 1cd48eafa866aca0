//! Checks of what lowering noted: collective statements, and definitions without a use.
//!
//! ```text
//! if ($$rank == 0) barrier;                 W0304: the others never come
//! ```

use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, Kind, SymbolId};
use crate::lower::notes::{Collective, Notes};
use crate::source::Sources;

/// Warns of everything collective under a condition that differs between ranks.
pub(crate) fn warn_of_collectives(notes: &Notes) -> Vec<Diagnostic> {
    notes.collectives.iter().map(under_condition).collect()
}

fn under_condition(found: &Collective) -> Diagnostic {
    let message = format!("{} stands under a condition that differs between ranks", found.what);
    Diagnostic::new(Code::RankDependent, found.span, message)
        .related(found.condition, "this differs between ranks")
        .help("the others would wait forever for ranks that skip this; move it out, or use a group")
}

/// Warns of the first statement that needs MPI.
pub(crate) fn warn_of_mpi(notes: &Notes) -> Option<Diagnostic> {
    let (op, span) = notes.needs_mpi?;
    let message = format!("{op} needs MPI at run time: a rank that gets here ends");
    Some(Diagnostic::new(Code::NeedsMpi, span, message))
}

/// Warns of procs, patterns and hints that nothing uses.
pub(crate) fn warn_of_unused(notes: &Notes, facts: &Facts, sources: &Sources) -> Vec<Diagnostic> {
    let mut used = vec![false; facts.symbols().len()];
    let named = facts.mentions.iter().filter(|mention| !mention.defines);
    for SymbolId(symbol) in named.map(|mention| mention.symbol).chain(notes.used.iter().copied()) {
        used[symbol as usize] = true;
    }
    let root_end = sources.files().get(1).map_or(u32::MAX, |file| file.start);
    let unused = facts.symbols().filter(|(id, symbol)| {
        matches!(symbol.kind, Kind::Proc | Kind::Pattern | Kind::Hints)
            && symbol.span.start < root_end
            && !used[id.0 as usize]
    });
    let said = unused.map(|(_, symbol)| {
        let name = sources.text(symbol.span);
        let message = format!("the {} {name} is defined and never used", symbol.kind.word());
        Diagnostic::new(Code::Unused, symbol.span, message)
    });
    said.collect()
}
