//! What there is to say of a sweep as a whole.

use super::super::args::Run;
use crate::results;
use model::errno;
use model::run::Failure;
use model::sweep::{Execution, Resumed, Sweep};
use report::schedule;

/// Sentences; `run`: all executions, put together.
pub fn of(args: &Run, run: &model::Run, interrupted: bool) -> Vec<String> {
    let Some(sweep) = &run.run.sweep else { return Vec::new() };
    let mut notes: Vec<String> = report::statistics::drift(run).into_iter().collect();
    notes.extend(stopped_optionally(run, sweep));
    notes.extend(leftovers(args, run, sweep));
    if interrupted {
        let is_over = |one: &&Execution| one.outcome != "interrupted";
        let done = sweep.order.iter().filter(is_over).count();
        let all = sweep.cells.len() as u64 * u64::from(sweep.reps);
        notes.push(format!("interrupted after {done} of at most {all} executions"));
    }
    if let (Some(_), Some(out), false) = (&sweep.rest, &args.results.out, args.results.out_goes) {
        notes.push(results::resume_advice(out));
    }
    for Resumed { executions, host, started } in &sweep.resumed {
        notes.push(format!("resumed after {executions} executions, on {host}, {started}"));
    }
    notes
}

/// What `--until-ci` came to.
fn stopped_optionally(run: &model::Run, sweep: &Sweep) -> Option<String> {
    let share = sweep.until_ci?;
    let cells = 0..sweep.cells.len() as u32;
    let count = |cell: u32| sweep.order.iter().filter(|e| e.cell == cell).count();
    let counts: Vec<usize> = cells.clone().map(count).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    let enough = *least >= schedule::LEAST_UNTIL_CI as usize;
    let is_narrow = |cell: &u32| enough && schedule::is_narrow(run, *cell, share);
    let narrow = cells.filter(is_narrow).count();
    let repetitions = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!(
        "--until-ci {}%: {narrow} of {} points reached it, after {repetitions} repetitions; \
         their number depends on the results (optional stopping), so the intervals promise a \
         little too much",
        share * 100.0,
        counts.len()
    ))
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
