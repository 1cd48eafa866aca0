//! Notes on a sweep as a whole: on a comparison before it starts; at the end the notes of the
//! rules, and notes that depend on options.

use super::super::args::Run;
use crate::results;
use model::errno;
use model::rehearsal::Rehearsal;
use model::run::Failure;
use model::sweep::Sweep;
use model::words;
use report::compare::{Design, test_count};

/// The note on repetitions that do not start from the same state.
pub const FILES_STAY: &str = "--dir without --clean: each execution finds the files of the one before, so the first \
                              creates what later ones overwrite; --clean empties the directory in between";

/// A remark if a comparison has too few blocks for any difference, which is known before it starts: the
/// smallest p that they can give, corrected for the number of labels, has to be below 0.05. `None`: they can
/// be enough, or A and B are not compared. `pairs`: the rehearsals of A and B at each point.
pub fn too_few_blocks<'a>(
    grid: &Sweep,
    pairs: impl Iterator<Item = (&'a Rehearsal, &'a Rehearsal)>,
) -> Option<String> {
    grid.pair()?;
    let tests = pairs.map(|(a, b)| test_count(&a.measured, &b.measured)).sum();
    let (blocks, least) = (grid.reps as usize, Design::Blocks.least_n(tests));
    (tests > 0 && blocks < least).then(|| describe_blocks(blocks, tests, least))
}

fn describe_blocks(blocks: usize, tests: usize, least: usize) -> String {
    let verb = if blocks == 1 { "is" } else { "are" };
    format!(
        "{} {verb} too few to show any difference in {}: use --reps {least} or more",
        words::count(blocks, "block"),
        words::count(tests, "label"),
    )
}

/// The notes on a sweep; `run`: all executions, merged, with its outcome.
pub fn collect_notes(args: &Run, run: &model::Run) -> Vec<String> {
    let Some(sweep) = &run.run.sweep else { return Vec::new() };
    let mut notes = report::rules::sweep_notes(run);
    notes.extend(leftovers(args, run, sweep));
    if let (Some(rest), Some(out), false) = (&sweep.rest, &args.results.out, args.results.out_goes)
    {
        notes.push(results::resume_advice(out, rest));
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::sweep::Dimension;

    fn rehearsal(keys: &[(&str, &str)]) -> Rehearsal {
        let keys = keys.iter().map(|(label, op)| (label.to_string(), op.to_string()));
        Rehearsal { measured: keys.collect(), complete: true, ..Rehearsal::default() }
    }

    fn grid(reps: u32) -> Sweep {
        let values = vec!["1".to_string(), "2".to_string()];
        let dimensions = vec![Dimension { values, ..Dimension::default() }];
        Sweep { dimensions, reps, versus: true, ..Sweep::default() }
    }

    #[test]
    fn too_few_blocks_are_noticed_by_the_number_of_labels() {
        let keys =
            [("w", ""), ("w", "write"), ("m", ""), ("m", "stat"), ("m", "delete"), ("", "mkdir")];
        let (a, b) = (rehearsal(&keys), rehearsal(&keys));
        for (reps, points, said) in [
            (7, 1, ""),
            (6, 1, "6 blocks are too few to show any difference in 2 labels: use --reps 7"),
            (7, 2, "in 4 labels: use --reps 8"),
            (1, 1, "1 block is too few"),
        ] {
            let pairs = std::iter::repeat_n((&a, &b), points);
            let remark = too_few_blocks(&grid(reps), pairs).unwrap_or_default();
            assert!(remark.contains(said) && said.is_empty() == remark.is_empty(), "{remark}");
        }
        let one = rehearsal(&[("w", ""), ("w", "write")]);
        let found = too_few_blocks(&grid(5), std::iter::once((&one, &a))).unwrap();
        assert!(found.contains("in 1 label: use --reps 6"), "{found}");
        let plain = Sweep { versus: false, ..grid(1) };
        assert_eq!(too_few_blocks(&plain, std::iter::once((&a, &b))), None);
    }
}
