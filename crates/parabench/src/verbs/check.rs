//! `parabench check`: every mistake of a program, without running it.

use crate::args::{ProgramArgs, TextFormat};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::diagnostics;
use crate::error::{Exit, Result};
use crate::prepare::describe_expected;
use crate::program;
use crate::rehearse::rehearse;
use clap::Args;
use engine::config::Config;
use model::Plan;
use model::plan::Pc;
use model::rehearsal::Rehearsal;
use ppl::Diagnostic;
use ppl::diag::Code;

/// Ranks that are assumed if none are given: enough that ranks can get in each
/// other's way, and that groups have members.
const DEFAULT_RANKS: u32 = 4;

/// Find every mistake in a program without running it
///
/// Each is drawn under its source line with what was expected, what was found
/// and what to do. Then the program is rehearsed without storage: assertions that fail there are named.
/// Exit code 2 if the program cannot run; warnings alone give 0.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    program: ProgramArgs,

    /// Ranks the program is to run on
    #[arg(short = 'n', long, value_parser = crate::args::ranks)]
    ranks: Option<u32>,

    /// `json`: an array of diagnostics on standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

impl Check {
    /// Checks the program.
    pub fn execute(self) -> Result<Exit> {
        let text = program::read(&self.program.program)?;
        let name = text.name.clone();
        let ranks = Ranks {
            count: self.ranks.unwrap_or(DEFAULT_RANKS),
            assumed: self.ranks.is_none(),
            machines: Vec::new(),
        };
        let places = Places::named(&self.program)?;
        let mut compiled = compile::compile(text, &self.program, ranks, places, true);
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &Config::default(), true)?;
        let failure = certain_failure(plan, &rehearsal)?;
        match self.format {
            TextFormat::Json => {
                let found =
                    failure.as_ref().zip(plan).map(|(failure, plan)| failing(plan, failure));
                // Ranks that wait for ever are named already, and signals that nobody can give.
                let names = |one: &Diagnostic| matches!(one.code, Code::NeverMet | Code::NotMember);
                let is_named = compiled.diagnostics.iter().any(names);
                compiled.diagnostics.extend(found.filter(|_| !is_named));
                console::print(&diagnostics::to_json(&compiled.diagnostics, &compiled.sources))?;
            }
            TextFormat::Text => {
                compile::show(&compiled, &name);
                // A program that ends early may have asked whether the files are there.
                let is_certain = rehearsal.complete && rehearsal.failure.is_none();
                let expected = if is_certain { &rehearsal.expected[..] } else { &[] };
                let missing = describe_expected(expected);
                if let Some(Failure { why, .. }) = failure {
                    console::warning(&format!("the program fails in its rehearsal: {why}"));
                } else if let Some(missing) = missing {
                    match compiled.diagnostics.is_empty() {
                        true => console::say(&format!("{name}: nothing wrong, but {missing}\n")),
                        false => console::warning(&missing),
                    }
                } else if compiled.diagnostics.is_empty() {
                    console::say(&format!("{name}: nothing wrong\n"));
                }
                compiled.plan.iter().for_each(|plan| say_directories(&name, plan));
            }
        }
        let failed = ppl::diag::has_errors(&compiled.diagnostics);
        Ok(if failed { Exit::Input } else { Exit::Success })
    }
}

/// How the program ends in its rehearsal.
struct Failure {
    why: String,
    site: Option<Pc>,
}

/// The failure of a program that fails whether files from before are there or not.
fn certain_failure(plan: Option<&Plan>, found: &Rehearsal) -> Result<Option<Failure>> {
    if found.failure.is_none() {
        return Ok(None);
    }
    let again = rehearse(plan, &mut Vec::new(), &Config::default(), false)?;
    Ok(again.failure.map(|why| Failure { why, site: again.failed_at }))
}

/// The failure at its place.
fn failing(plan: &Plan, failure: &Failure) -> Diagnostic {
    let span = failure.site.and_then(|site| plan.spans.get(site as usize));
    let message = format!("the program fails in its rehearsal: {}", failure.why);
    Diagnostic::new(Code::Fails, span.copied().unwrap_or_default(), message)
}

/// Directories to grant for a run in a directory of one's own.
fn say_directories(name: &str, plan: &Plan) {
    let asked = plan.directories.iter().filter(|directory| !directory.granted);
    let options = asked.map(|directory| format!(" --mount {}=DIR", directory.name));
    let options: String = options.collect();
    if !options.is_empty() {
        console::say(&format!("{name}: uses further directories, to be granted with{options}\n"));
    }
}
