//! Finds the files that a program expects by rehearsing it, and makes them.

use crate::console;
use crate::error::{Error, Exit, Result};
use crate::folding;
use engine::config::Config;
use engine::prepare::{Missing, Todo};
use engine::{rehearse, stop};
use model::Plan;
use model::directory::prefixed;
use model::plan::Source;
use model::rehearsal::{Expected, Thing};
use model::units::format_bytes;
use model::words;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Size of files that are read to their end, wherever it is, if nothing else is said.
pub const WHOLE_BYTES: u64 = 1 << 20;
/// Names in a message.
const SHOWN: usize = 10;

/// Finds the expected files. Files that are read to their end get `whole_bytes` at least.
///
/// # Errors
/// It fails when it is rehearsed, or does too much for that, iteration by iteration.
pub fn expected(plan: &Plan, config: &Config, whole_bytes: u64) -> Result<Vec<Expected>> {
    let found = rehearse::expected(plan, config);
    if stop::requested() {
        return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
    }
    let mut found = found.map_err(unforeseen)?;
    for expected in &mut found {
        if let Thing::File { size_bytes, whole: true } = &mut expected.what {
            *size_bytes = (*size_bytes).max(whole_bytes);
        }
    }
    Ok(found)
}

fn unforeseen(failure: Option<String>) -> Error {
    match failure {
        Some(why) => Error::input(format!("--prepare could not dry-run the program: {why}"))
            .help("fix the program, or create its files with a program of their own"),
        None => Error::input("--prepare could not dry-run the program: it does too much").help(
            "prepare with smaller parameters, or create its files with a program of their own",
        ),
    }
}

/// The same with what a run shows of what was there before it: a file that a read found the end of
/// has a size that no program tells, and a name may have been missed. Of names that the run knows
/// it alone decides. Counters alone show nothing of that.
///
/// # Errors
/// The run has no events, or not all.
pub fn shown_by(trace: &Path, expected: Vec<Expected>) -> Result<Vec<Expected>> {
    let (_, Some(log)) = folding::read(trace)? else { return Ok(expected) };
    let known: HashSet<&[u8]> = log.paths.iter().flat_map(|path| with_parents(path)).collect();
    let others = expected.into_iter().filter(|expected| !known.contains(&expected.path[..]));
    let mut all: BTreeMap<Vec<u8>, Thing> =
        others.map(|expected| (expected.path, expected.what)).collect();
    all.extend(
        fold::History::follow(&log).before.into_iter().map(|before| (before.path, before.what)),
    );
    Ok(all.into_iter().map(|(path, what)| Expected { path, what }).collect())
}

/// A name and the directories above it.
fn with_parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at]).chain([path])
}

/// The directories of a program: the run directory, whose name is "", then further ones.
pub type Directories = Vec<(String, PathBuf)>;

/// A directory, and what is missing in it.
pub struct Part {
    /// Its name, with the colon behind it; "" is the run directory.
    prefix: String,
    directory: PathBuf,
    /// Missing files.
    pub todo: Todo,
}

impl Part {
    /// The name of something that is missing.
    pub fn shown(&self, missing: &Missing) -> String {
        format!("{}{}", self.prefix, missing.describe())
    }

    /// Its name; "" is the run directory.
    pub fn name(&self) -> String {
        self.prefix.trim_end_matches(':').into()
    }

    /// The option that names another directory.
    fn option(&self) -> String {
        match &*self.name() {
            "" => "--dir".into(),
            name => format!("--mount {name}=DIR"),
        }
    }

    fn check(&self) -> Result<()> {
        let (shown, option) = (self.directory.display(), self.option());
        if !self.todo.in_the_way.is_empty() {
            let said = words::list_some(&self.todo.in_the_way, SHOWN);
            let message = format!("{shown} cannot be prepared: {said}");
            return Err(Error::input(message).help(format!(
                "remove it, or choose an empty directory with {option}; nothing was made"
            )));
        }
        // Of a directory that is yet to be made, that above it tells the room.
        let there = self.directory.ancestors().find(|path| path.is_dir());
        match self.todo.lacks_room(there.unwrap_or(Path::new("."))) {
            Some(why) => Err(Error::input(format!("{shown} cannot be prepared: {why}"))
                .help(format!("choose another directory with {option}; nothing was made"))),
            None => Ok(()),
        }
    }
}

/// Looks into each directory for what is expected there.
fn parts(directories: &Directories, expected: &[Expected]) -> Result<Vec<Part>> {
    let mut inside: Vec<Vec<Expected>> = vec![Vec::new(); directories.len()];
    for one in expected {
        let found = prefixed(&one.path).and_then(|(name, rest)| {
            let at = directories.iter().position(|(known, _)| known.as_bytes() == name)?;
            Some((at, rest))
        });
        let (at, path) = found.unwrap_or((0, &one.path));
        inside[at].push(Expected { path: path.into(), what: one.what.clone() });
    }
    let part = |((name, directory), expected): (&(String, PathBuf), Vec<Expected>)| {
        let todo = Todo::compare(directory, &expected).map_err(|error| {
            Error::input(format!("cannot look at {}: {error}", directory.display()))
        })?;
        let prefix = if name.is_empty() { String::new() } else { format!("{name}:") };
        Ok(Part { prefix, directory: directory.clone(), todo })
    };
    directories.iter().zip(inside).map(part).collect()
}

/// Missing files by directory, if they can be made there.
///
/// # Errors
/// Something else has a name, or there is no room. Nothing was made.
pub fn missing(directories: &Directories, expected: &[Expected]) -> Result<Vec<Part>> {
    let parts = parts(directories, expected)?;
    parts.iter().try_for_each(Part::check)?;
    Ok(parts)
}

/// Says that the program uses names that are not there, or files that are too short, and how they are made.
pub fn tell_missing(plan: &Plan, directories: &Directories, expected: &[Expected]) {
    let Ok(parts) = parts(directories, expected) else { return };
    let mut all = parts.iter().flat_map(|part| part.todo.things.iter().map(move |one| (part, one)));
    let Some((part, first)) = all.next() else { return };
    let more = all.count();
    let name = part.shown(first);
    let problem = match first.has_bytes {
        Some(has) => {
            let needs = has.saturating_add(first.new_bytes());
            format!("reads beyond the end of a file: {name} has {has} of {needs} bytes")
        }
        None => format!("uses a name that does not exist: {name}"),
    };
    let others = match more {
        0 => String::new(),
        more => format!(", and {} like it", words::count(more, "other")),
    };
    let fix = match verifies(plan) {
        // Its data would be wrong.
        true => "read with verify=true only what a run with verify=true has written",
        false => "add --prepare to create what is missing",
    };
    console::note(&format!("the program {problem}{others}; {fix}"));
}

/// The program may verify data that it reads.
fn verifies(plan: &Plan) -> bool {
    let asked = plan.options.iter().filter_map(|options| options.verify);
    let mut values = asked.map(|operand| match operand.source() {
        Source::Const(number) => plan.consts[number as usize].as_condition() == Ok(true),
        _ => true,
    });
    values.any(|may_be| may_be)
}

/// A sentence on the files that a program uses and never makes; `None` without any.
pub fn describe_expected(expected: &[Expected]) -> Option<String> {
    let first = expected.iter().max_by_key(|one| matches!(one.what, Thing::File { .. }))?;
    let is_file = matches!(first.what, Thing::File { .. });
    let (verb, noun) = if is_file { ("reads", "file") } else { ("uses", "name") };
    let name = String::from_utf8_lossy(&first.path);
    let (others, them) = match expected.len() - 1 {
        0 => (String::new(), "it"),
        more => (format!(", and {} like it", words::count(more, "other")), "them"),
    };
    Some(format!(
        "the program {verb} a {noun} that it never makes: {name}{others}; --prepare creates {them}"
    ))
}

/// Makes what is missing.
///
/// # Errors
/// Something cannot be made; what was made before stays.
pub fn make(parts: &[Part], seed: u64) -> Result<()> {
    for (part, at) in parts.iter().zip(0..) {
        // A file of the same name in another directory has other data.
        part.todo.make(&part.directory, seed ^ (at << 56), stop::requested).map_err(|why| {
            Error::failed(format!("cannot prepare {}: {why}", part.directory.display()))
                .help("what was made so far is kept; prepare again once the reason is gone")
        })?;
    }
    Ok(())
}

/// Nothing is missing anywhere.
pub fn is_complete(parts: &[Part]) -> bool {
    parts.iter().all(|part| part.todo.things.is_empty())
}

/// "2 directories and 5 files, 102 KiB".
pub fn sum(parts: &[Part]) -> String {
    let all = || parts.iter().flat_map(|part| &part.todo.things);
    let count = |is: fn(&Thing) -> bool| all().filter(|one| is(&one.expected.what)).count();
    let directories = count(|what| *what == Thing::Directory);
    let links = count(|what| matches!(what, Thing::Link(_)));
    let files = all().count() - directories - links;
    let linked = format!("{links} symbolic {}", words::plural(links as u64, "link"));
    let kinds = [
        (links, linked),
        (directories, words::count(directories, "directory")),
        (files, words::count(files, "file")),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0).map(|(_, kind)| kind);
    let bytes = parts.iter().map(|part| part.todo.bytes()).fold(0, u64::saturating_add);
    let bytes = if bytes == 0 { String::new() } else { format!(", {}", format_bytes(bytes)) };
    words::list(kinds) + &bytes
}
