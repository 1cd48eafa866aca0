//! E0313: calls that all who opened an MPI file make together.
//!
//! ```text
//! $h = pfopen("f", "crw");
//! group "io" pfwrite($h, 4k, 0, "all");    // the others of those who opened it never come
//! ```

use crate::diag::{Code, Diagnostic};
use crate::facts::Facts;
use crate::lower::notes::{Call, Notes, Opens};
use crate::source::Sources;
use model::RankSet;

/// Variables that hold nothing but files opened by the same ranks: do all of these call?
pub(crate) fn check(notes: &Notes, facts: &Facts, sources: &Sources) -> Vec<Diagnostic> {
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
