//! A program is rehearsed before it runs: what it will do, and what in it is doubtful.

use crate::error::{Error, Exit, Result};
use engine::config::Config;
use engine::rehearse;
use engine::stop;
use model::Plan;
use model::rehearsal::Rehearsal;
use ppl::Diagnostic;
use ppl::doubts;

/// Rehearses the plan of a program, if it has one. Doubtful places join its `diagnostics`.
/// `finds_files`: the program may work on files from before.
///
/// # Errors
/// Somebody asked to stop meanwhile.
pub fn rehearse(
    plan: Option<&Plan>,
    diagnostics: &mut Vec<Diagnostic>,
    config: &Config,
    finds_files: bool,
) -> Result<Rehearsal> {
    let Some(plan) = plan else { return Ok(Rehearsal::default()) };
    let rehearsal = rehearse::rehearse(plan, config, finds_files);
    if stop::requested() {
        return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
    }
    diagnostics.extend(rehearsal.doubts.iter().map(|doubt| doubts::diagnostic(plan, doubt)));
    // Stable, so that what is found at one place stays in the order in which it was found.
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Ok(rehearsal)
}
