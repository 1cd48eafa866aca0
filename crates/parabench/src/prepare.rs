//! What a program expects to find is found out by rehearsing it, and made.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::folding;
use engine::config::Config;
use engine::prepare::Todo;
use engine::{rehearse, stop};
use model::Plan;
use model::rehearsal::{Expected, Thing};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use trace::fold::{self, Kind};

/// Size of files that are read to their end, wherever it is, if nothing else is said.
pub const WHOLE_BYTES: u64 = 1 << 20;
/// Names in a message.
const SHOWN: usize = 10;

/// What the program expects. Files that are read to their end get `whole_bytes` at least.
///
/// # Errors
/// It does too much to be rehearsed iteration by iteration.
pub fn expected(plan: &Plan, config: &Config, whole_bytes: u64) -> Result<Vec<Expected>> {
    let found = rehearse::expected(plan, config);
    if stop::requested() {
        return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
    }
    let mut found = found.ok_or_else(|| {
        Error::input("the program does too much to find out what it expects to be there")
            .help("prepare with smaller parameters, or make its files by a program of their own")
    })?;
    for expected in &mut found {
        if let Thing::File { size_bytes, whole: true } = &mut expected.what {
            *size_bytes = (*size_bytes).max(whole_bytes);
        }
    }
    Ok(found)
}

/// The same with what a run shows of what was there before it: a file that a read found the end of
/// has a size that no program tells, and a name may have been missed. Of names that the run knows
/// it alone decides.
///
/// # Errors
/// The run has no events, or not all.
pub fn shown_by(trace: &Path, expected: Vec<Expected>) -> Result<Vec<Expected>> {
    let (_, log) = folding::read(trace)?;
    let known: HashSet<&[u8]> = log.paths.iter().map(Vec::as_slice).collect();
    let others = expected.into_iter().filter(|expected| !known.contains(&expected.path[..]));
    let mut all: BTreeMap<Vec<u8>, Thing> =
        others.map(|expected| (expected.path, expected.what)).collect();
    all.extend(fold::before(&log).into_iter().map(|before| (before.path, thing(before.kind))));
    Ok(all.into_iter().map(|(path, what)| Expected { path, what }).collect())
}

fn thing(kind: Kind) -> Thing {
    match kind {
        Kind::Directory => Thing::Directory,
        Kind::File { size_bytes } => Thing::File { size_bytes, whole: false },
    }
}

/// What is missing in the directory, if it can be made there.
///
/// # Errors
/// Something else has a name, or there is no room. Nothing was made.
pub fn missing(directory: &Path, expected: &[Expected]) -> Result<Todo> {
    let shown = directory.display();
    let todo = Todo::of(directory, expected)
        .map_err(|error| Error::input(format!("cannot look at {shown}: {error}")))?;
    if !todo.in_the_way.is_empty() {
        let mut said = todo.in_the_way.clone();
        let more = said.len().saturating_sub(SHOWN);
        said.truncate(SHOWN);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let message = format!("{shown} cannot be prepared: {}{more}", said.join("; "));
        return Err(Error::input(message)
            .help("remove it, or choose an empty directory with --dir; nothing was made"));
    }
    // Of a directory that is yet to be made, that above it tells the room.
    let there = directory.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    match todo.lacks_room(there) {
        Some(why) => Err(Error::input(format!("{shown} cannot be prepared: {why}"))
            .help("choose another directory with --dir; nothing was made")),
        None => Ok(todo),
    }
}

/// Says that the program uses what is not there, and how it is made.
pub fn tell_missing(directory: &Path, expected: &[Expected]) {
    let Ok(todo) = Todo::of(directory, expected) else { return };
    let Some(first) = todo.things.first() else { return };
    let (count, name) = (todo.things.len(), first.shown());
    let names = if count == 1 { "1 name that is" } else { &format!("{count} names that are") };
    console::note(&format!(
        "the program uses {names} not there and that it does not make, first {name}: --prepare makes \
         what it expects to find, parabench prepare --dry-run lists it"
    ));
}

/// Makes what is missing.
///
/// # Errors
/// Something cannot be made; what was made before stays.
pub fn make(directory: &Path, todo: &Todo, seed: u64) -> Result<()> {
    todo.make(directory, seed, stop::requested).map_err(|why| {
        Error::failed(format!("cannot prepare {}: {why}", directory.display()))
            .help("what was made so far is kept; prepare again once the reason is gone")
    })
}

/// "2 directories and 5 files, 102 KiB".
pub fn sum(todo: &Todo) -> String {
    let is_directory = |what: Thing| what == Thing::Directory;
    let all = todo.things.iter();
    let directories = all.filter(|missing| is_directory(missing.expected.what)).count();
    let files = todo.things.len() - directories;
    let many = |count: usize, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        n => format!("{n} {more}"),
    };
    format!(
        "{} and {}, {}",
        many(directories, "directory", "directories"),
        many(files, "file", "files"),
        model::units::format_bytes(todo.bytes())
    )
}
