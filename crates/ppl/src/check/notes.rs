//! Checks of what lowering noted: collective statements, files opened together, and definitions without
//! a use.
//!
//! ```text
//! if ($$rank == 0) barrier;                 W0304: the others never come
//! $h = pfopen("f", "crw");
//! group "io" pfwrite($h, 4k, 0, "all");     E0313: the others that opened it never come
//! ```

use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, Kind, SymbolId};
use crate::lower::notes::{Call, Collective, Notes, Opens};
use crate::source::Sources;
use model::RankSet;

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

/// Variables that hold nothing but files opened by the same ranks: do all of these call?
pub(crate) fn check_opened_together(
    notes: &Notes,
    facts: &Facts,
    sources: &Sources,
) -> Vec<Diagnostic> {
    let wrong = notes.calls.iter().filter_map(|call| {
        let opens = notes.opens.get(&call.symbol)?;
        let sure = opens.same && opens.count == facts.symbol(call.symbol).definitions;
        let all = call.ranks.start <= opens.ranks.start && opens.ranks.end <= call.ranks.end;
        (sure && !all).then(|| not_all_call(call, opens, &facts.name(call.symbol, sources)))
    });
    wrong.collect()
}

fn not_all_call(call: &Call, opens: &Opens, name: &str) -> Diagnostic {
    let message = format!(
        "expected {} to be called by all that opened ${name} ({}), found {}",
        call.op,
        RankSet::from(opens.ranks.clone()),
        RankSet::from(call.ranks.clone())
    );
    Diagnostic::new(Code::HandleGroup, call.span, message)
        .related(opens.span, "it is opened here")
        .help("open the file in this group, or let all call: those who have no bytes too")
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
