//! `parabench fold` of a run that has counters of files alone: the program is approximate, and says so.

use crate::console;
use crate::error::{Error, Result};
use fold::{Approximate, Log, Options, anonymise};
use model::run::{Run, Trace};
use model::words::count;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Makes the program.
///
/// # Errors
/// No counter is of calls that statements exist for.
pub(super) fn approximate(folder: &Path, run: &Run, options: &Options) -> Result<Approximate> {
    let made = run.run.trace.as_ref().and_then(|it| fold::approximate(it, run.run.ranks, options));
    made.ok_or_else(|| {
        let shown = folder.display();
        let message =
            format!("{shown} has counters of no file that somebody opened or transferred");
        Error::input(message).help(format!("parabench report {shown} shows what was counted"))
    })
}

/// "counters of 65 files": a file is one, also if several layers count it.
pub(super) fn describe(run: &Run) -> String {
    let Some(trace) = &run.run.trace else { return "no counters".into() };
    let listed: BTreeSet<&str> = trace.files.iter().map(|file| file.path.as_str()).collect();
    let more = trace.files_more.iter().map(|more| more.files).fold(0, u64::saturating_add);
    format!("counters of {}", count(more.saturating_add(listed.len() as u64), "file"))
}

/// Replaces the names of files; gives original and new words.
pub(super) fn anonymise(run: &mut Run) -> BTreeMap<Vec<u8>, String> {
    let Some(trace) = &mut run.run.trace else { return BTreeMap::new() };
    let paths = trace.files.iter().map(|file| file.path.clone().into_bytes()).collect();
    let mut log = Log { paths, ..Log::default() };
    let words = anonymise::anonymise(&mut log);
    for (file, path) in trace.files.iter_mut().zip(&log.paths) {
        file.path = String::from_utf8_lossy(path).into_owned();
    }
    words
}

/// Reports the result on standard error.
pub(super) fn say(run: &Run, made: &Approximate) {
    let lines = count(made.text.lines().count(), "line");
    let lists = match &made.data {
        None => String::new(),
        Some((data, 1)) => format!(" and a list in {}", data.name),
        Some((data, lists)) => format!(" and {lists} lists in {}", data.name),
    };
    let what = format!("{} became {lines}{lists}", describe(run));
    console::note(&format!(
        "{what}, approximately: the log has sums alone, so order and offsets are made up"
    ));
    let losses = run.run.trace.iter().flat_map(Trace::losses);
    losses.for_each(|gap| console::warning(&format!("the run is incomplete: {}", gap.says)));
}
