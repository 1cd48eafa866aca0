//! Names of patterns that reach their use through procs:
//!
//! ```text
//! define proc sweep($what) { $h = fopen("f", "r"); fread($h, $what); fclose($h); }
//! sweep("nosuch");            # E0302 here: sweep uses its first argument as a pattern
//! ```
//!
//! Not found: a parameter that is used under a condition, or after it was assigned; the run
//! says it then.

use crate::lower::notes::{Param, Passed};
use model::Value;
use model::plan::Span;
use rustc_hash::FxHashSet;

/// Texts that have to name a pattern and do not, once all procs are known.
pub(crate) fn wrong_names(
    passed: &Passed,
    is_pattern: impl Fn(&str) -> bool,
) -> Vec<(String, Span)> {
    if passed.texts.is_empty() {
        return Vec::new();
    }
    let needed = needed(passed);
    let is_number = |text: &str| Value::str(text).as_int().is_ok();
    // Texts with variables in them are no names yet.
    let wrong = passed.texts.iter().filter(|(to, text, _)| {
        needed.contains(to) && !is_number(text) && !text.contains('$') && !is_pattern(text)
    });
    wrong.map(|(_, text, span)| (text.clone(), *span)).collect()
}

/// Parameters that have to name a pattern, directly or in a proc they are handed on to.
fn needed(passed: &Passed) -> FxHashSet<Param> {
    let mut needed = passed.needed.clone();
    let mut before = None;
    while before != Some(needed.len()) {
        before = Some(needed.len());
        let more = passed.handed_on.iter().filter(|(_, to)| needed.contains(to));
        let more: Vec<Param> = more.map(|(from, _)| *from).collect();
        needed.extend(more);
    }
    needed
}
