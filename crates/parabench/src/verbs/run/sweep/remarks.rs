//! Notes on a sweep as a whole: those of the rules, and what depends on the options.

use super::super::args::Run;
use crate::results;
use model::errno;
use model::run::Failure;
use model::sweep::Sweep;

/// The notes on a sweep; `run`: all executions, merged, with its outcome.
pub fn collect_notes(args: &Run, run: &model::Run) -> Vec<String> {
    let Some(sweep) = &run.run.sweep else { return Vec::new() };
    let mut notes = report::rules::sweep_notes(run);
    notes.extend(leftovers(args, run, sweep));
    if let (Some(_), Some(out), false) = (&sweep.rest, &args.results.out, args.results.out_goes) {
        notes.push(results::resume_advice(out));
    }
    notes
}

/// Files of one execution that stood in the way of the next.
fn leftovers(args: &Run, run: &model::Run, sweep: &Sweep) -> Option<String> {
    let first = sweep.order.first().map(|e| (e.cell, e.repetition))?;
    let later = |wanted: &[&str]| {
        let of = |f: &&Failure| wanted.contains(&errno::name(f.errno));
        let found = run.run.failures.iter().filter(of).map(|f| (f.cell, f.repetition));
        let found: Vec<_> = found.collect();
        !found.is_empty() && (sweep.warm_up > 0 || !found.contains(&first))
    };
    let dir = args.directory.dir.is_some();
    let several = sweep.order.len() > 1 || sweep.warm_up > 0;
    if dir && !args.directory.clean && later(&["EEXIST", "ENOTEMPTY"]) {
        return Some(
            "an execution found files of the one before, because --dir keeps them: add --clean, \
             or let the program remove what it makes"
                .into(),
        );
    }
    ((!dir || args.directory.clean) && several && later(&["ENOENT"])).then(|| {
        "an execution missed files that the first one found: the directory is emptied between \
         executions; --dir without --clean keeps what is in it"
            .into()
    })
}
