//! A stored sweep of which executions are missing: what there is of it, and the folder to go on in.
//!
//! ```text
//! DIR/run.json                          as the sweep left it; `run.sweep.rest` says how to go on
//! DIR/executions-k3Rw9a/000007/         an execution: it stays if it has ended and can be read
//! ```

use super::folder::Folder;
use super::recording::{EXECUTIONS, Found, State, is_made_from, once_let_go};
use super::stored::Stored;
use super::{leftover, recording, sweep};
use crate::console;
use crate::error::{Error, Result};
use ::report::events::{EVENTS_FILE, EventReader};
use ::report::store;
use engine::own_folder::OwnFolder;
use model::run::{Param, Run};
use model::sweep::Rest;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// The sweep in a folder that is to be resumed.
pub enum Begun {
    /// All executions are there.
    Whole(Box<Run>),
    /// Some are missing.
    Rest(Box<Unfinished>),
}

/// Executions of a sweep that is resumed.
#[derive(Default)]
pub struct Earlier {
    /// Those that there are, by cell and repetition.
    pub executions: HashMap<(u32, u32), Run>,
    /// The number of the next.
    pub next: usize,
}

/// A sweep of which executions are missing.
pub struct Unfinished {
    /// The run as it is stored.
    pub run: Run,
    folder: PathBuf,
    found: Found,
    executions: OwnFolder,
}

impl Begun {
    /// Reads what is in a folder. Nothing of the sweep changes. Nobody else resumes it while the value
    /// is there. `is_over`: the user says that nobody is at work on it, where that cannot be seen.
    pub fn open(path: &Path, is_over: bool) -> Result<Begun> {
        let wrong = |why: &str| Error::input(format!("--resume {}: {why}", path.display()));
        let (run, rest) = stored(path, &wrong)?;
        let Some(rest) = rest else { return whole(path, run, &wrong) };
        let folder = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let is_under_way = |found: &Found| found.state == State::UnderWay;
        let found = once_let_go(|| Found::look(&folder, &run.run), is_under_way);
        let executions = executions(&folder, &rest).map_err(|error| {
            wrong(&format!("the executions so far cannot be found: {error}"))
                .help("start the sweep again with another --out")
        })?;
        let is_held = executions.is_held().unwrap_or(false) || !executions.claim().unwrap_or(true);
        if found.state == State::UnderWay || is_held {
            return Err(
                wrong("the sweep is not finished").help("wait for its end, or interrupt it")
            );
        }
        let host = run.run.recording.as_ref().map_or("", |recording| &recording.host);
        if found.state == State::OutOfSight && host != recording::here().host && !is_over {
            return Err(wrong(&format!("only {host} knows whether the sweep is finished"))
                .help(format!("resume it there, or add --force if {host} is not at work on it")));
        }
        // Somebody may have gone on with it and come to the end, until the claim.
        match stored(path, &wrong)? {
            (run, None) => whole(path, run, &wrong),
            (run, Some(_)) => {
                Ok(Begun::Rest(Box::new(Unfinished { run, folder, found, executions })))
            }
        }
    }
}

/// The sweep in a folder, and how it was to go on.
fn stored(path: &Path, wrong: &dyn Fn(&str) -> Error) -> Result<(Run, Option<Rest>)> {
    let run = store::read(path).map_err(|error| {
        wrong(&error.to_string()).help("name the folder that the sweep was started with, --out")
    })?;
    match &run.run.sweep {
        Some(sweep) => {
            let rest = sweep.rest.clone();
            Ok((run, rest))
        }
        None => Err(wrong("it holds a run that is no sweep: there is nothing to go on with")
            .help("start the run again with another --out")),
    }
}

/// A sweep without a rest is whole, or was put together while executions were missing.
fn whole(path: &Path, run: Run, wrong: &dyn Fn(&str) -> Error) -> Result<Begun> {
    // What a kill in the last moment has left.
    leftover::remove_executions(path);
    remove_unfinished_in(path);
    match run.run.outcome.as_str() {
        "cut off" | "interrupted" | "time limit" => {
            Err(wrong("the sweep has ended, and its executions are not kept one by one any more")
                .help("start it again with another --out; `parabench report` prints what there is"))
        }
        _ => Ok(Begun::Whole(Box::new(run))),
    }
}

/// The folder that a sweep says holds its executions; `None` if it cannot be one.
pub(crate) fn executions(folder: &Path, rest: &Rest) -> io::Result<OwnFolder> {
    match is_made_from(&rest.executions, EXECUTIONS) {
        true => OwnFolder::open(&folder.join(&rest.executions)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "no folder of a sweep is named")),
    }
}

/// Options that say where a sweep runs and what it may touch there: whoever resumes it gives them anew.
pub const PLACES: [&str; 12] = [
    "--dir",
    "--sweep-dirs",
    "--mount",
    "--against",
    "--include-dir",
    "--clean",
    "--prepare",
    "--confine",
    "--no-confine",
    "--keep",
    "--force",
    "--no-preflight",
];

/// How to resume a sweep, in a sentence.
pub fn advice(folder: &Path, rest: &Rest) -> String {
    let places = rest.options.iter().filter(|option| PLACES.contains(&&*option.name));
    let words = as_typed(places);
    format!("`parabench run --resume {}{words}` executes what is missing", folder.display())
}

/// Options as they are typed, each behind a blank.
pub fn as_typed<'a>(options: impl Iterator<Item = &'a Param>) -> String {
    let typed = options.map(|Param { name, value }| match value.as_str() {
        "" | "true" => format!(" {name}"),
        _ => format!(" {name} {}", shlex::try_quote(value).unwrap_or_default()),
    });
    typed.collect()
}

impl Unfinished {
    /// How it was to go on.
    pub fn rest(&self) -> Rest {
        self.run.run.sweep.as_ref().and_then(|sweep| sweep.rest.clone()).unwrap_or_default()
    }

    /// The scratch directories that it has left, each in a sentence.
    pub fn left(&self) -> Vec<String> {
        leftover::scratch(&self.run)
    }

    /// The folder to go on in, and what there is. Those that
    /// have not ended or are damaged go: they are missing.
    pub fn take(self) -> Result<(Folder, Earlier)> {
        let Unfinished { run, folder, found, executions } = self;
        let (mut there, mut next, mut places) = (HashMap::new(), 0, HashSet::new());
        for path in sweep::names(executions.path()) {
            match ended(&path) {
                Some(execution) => match sweep::take_place(&run, &mut places, &path, &execution) {
                    Ok(place) => drop(there.insert(place, execution)),
                    Err(why) => console::note(&why),
                },
                None => sweep::remove_one(&executions, &path).map_err(|error| {
                    Error::failed(format!("cannot remove {}: {error}", path.display()))
                        .help("it is no execution that this sweep has made: move it elsewhere")
                })?,
            }
            next = next.max(number(&path) + 1);
        }
        remove_unfinished_in(&folder);
        let found = Found { executions: None, ..found };
        let resumed = Folder {
            path: folder.clone(),
            id: run.run.id.clone(),
            executions: Some(executions),
            replaced: Some(Stored::new(run, folder, found)),
            is_resumed: true,
            ..Folder::default()
        };
        Ok((resumed, Earlier { executions: there, next }))
    }
}

/// Nobody else is at work on the folder. What cannot be removed stays where it is.
fn remove_unfinished_in(folder: &Path) {
    let _ = OwnFolder::open(folder).and_then(|own| leftover::remove_unfinished(&own));
}

fn number(path: &Path) -> usize {
    path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}

/// An execution that has ended by itself and is whole.
fn ended(path: &Path) -> Option<Run> {
    let run = store::read(path).ok()?;
    let by_itself = |outcome: &str| outcome == "finished" || outcome == "failed";
    sweep::place(&run)?;
    let ended = run.run.recording.is_none() && by_itself(&run.run.outcome);
    let has_events = run.run.events.is_none() || is_readable(&path.join(EVENTS_FILE));
    (ended && has_events).then_some(run)
}

/// All events can be read: they are joined with the others at the end.
fn is_readable(events: &Path) -> bool {
    EventReader::open(events).is_ok_and(|events| events.into_iter().all(|event| event.is_ok()))
}
