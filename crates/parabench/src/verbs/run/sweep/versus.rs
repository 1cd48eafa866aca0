//! `--against`, `--against-program`, `--versus`: B, which is compared with what the other options
//! say, A. Both are cells of a sweep whose last dimension has two values.

use super::super::args::Run;
use super::super::directory::Directory;
use super::Sweep;
use crate::error::{Error, Result};
use crate::program::{self, Text};
use crate::results;
use engine::config::BackendKind;
use model::Plan;
use model::sweep::{Dimension, DimensionKind};
use std::path::Path;

/// Blocks if `--reps` does not say.
pub const BLOCKS: u32 = 10;

/// The parts of B that differ from A.
#[derive(Default)]
pub struct Versus {
    /// Its program.
    pub text: Option<Text>,
    /// Its directory.
    pub directory: Option<Directory>,
    /// The difference between A and B; `None`: there is no B.
    pub pair: Option<Dimension>,
}

impl Versus {
    /// Reads B's program or makes its directory; `directory` is A's.
    pub fn open(run: &Run, text: &Text, directory: &Directory) -> Result<Versus> {
        let sweep = &run.sweep;
        if let Some(path) = &sweep.against {
            return against(run, path, directory);
        }
        if let Some(program) = &sweep.against_program {
            let other = program::read(program)?;
            if other.name == program::STDIN {
                let message = "--against-program -: the second program cannot be standard input";
                return Err(Error::input(message).help("store it in a file"));
            }
            let values = [text.name.clone(), other.name.clone()];
            let pair = Some(dimension(DimensionKind::Program, "program", values));
            return Ok(Versus { text: Some(other), pair, ..Versus::default() });
        }
        let Some((name, value)) = &sweep.versus else { return Ok(Versus::default()) };
        let values = [current(run, text, directory, name), value.clone()];
        let pair = Some(dimension(DimensionKind::Param, name, values));
        Ok(Versus { pair, ..Versus::default() })
    }

    /// The same for a run that is to start elsewhere: no directory is opened.
    pub fn foresee(run: &Run, text: &Text, directory: &Directory) -> Result<Versus> {
        match &run.sweep.against {
            Some(path) => Ok(Versus { pair: Some(directories(run, path)), ..Versus::default() }),
            None => Versus::open(run, text, directory),
        }
    }

    /// B's directory if it has one of its own.
    pub fn directory<'a>(&'a self, cell: u32, a: &'a Directory) -> &'a Directory {
        self.directory.as_ref().filter(|_| cell % 2 == 1).unwrap_or(a)
    }

    /// The program of a cell.
    pub fn text<'a>(&'a self, cell: u32, a: &'a Text) -> &'a Text {
        self.text.as_ref().filter(|_| cell % 2 == 1).unwrap_or(a)
    }
}

fn dimension(kind: DimensionKind, name: &str, values: [String; 2]) -> Dimension {
    Dimension { kind, name: name.into(), values: values.to_vec() }
}

/// B's directory has a marker and a lock of its own, and stands apart from A's.
fn against(run: &Run, path: &Path, directory: &Directory) -> Result<Versus> {
    let shown = path.display();
    if run.execution.backend != BackendKind::Posix {
        return Err(Error::input(format!("--against {shown}: this back-end has no directory")));
    }
    let apart = || {
        let (a, b) = (directory.path()?, results::real_path(path).ok()?);
        (!a.starts_with(&b) && !b.starts_with(a)).then_some(())
    };
    if apart().is_none() {
        let message = format!("--against {shown} and --dir lie in one another");
        return Err(Error::input(message).help("choose two directories that stand apart"));
    }
    let other = directory.beside(run, path)?;
    let pair = Some(directories(run, path));
    Ok(Versus { directory: Some(other), pair, ..Versus::default() })
}

fn directories(run: &Run, path: &Path) -> Dimension {
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let a = run.directory.dir.as_deref().map(name).unwrap_or_default();
    dimension(DimensionKind::Directory, "directory", [a, name(path)])
}

/// Refuses to compare a parameter's value with itself, which may be written in another way. `plans`: of
/// A and B, then any.
pub fn refuse_equal<'p>(sweep: &Sweep, mut plans: impl Iterator<Item = &'p Plan>) -> Result<()> {
    let (Some((name, value)), Some(a), Some(b)) = (&sweep.versus, plans.next(), plans.next())
    else {
        return Ok(());
    };
    let of = |plan: &Plan| plan.params.iter().find(|(known, _)| known == name).cloned();
    match of(a).filter(|_| of(a) == of(b)) {
        None => Ok(()),
        Some((_, equal)) => {
            let message =
                format!("--versus {name}={value}: A and B are the same: {name} is {equal}");
            Err(Error::input(message).help(
                "give another value; --against-program with the program itself tells how much two equal \
                 runs differ",
            ))
        }
    }
}

/// The value that a parameter has in A: given, or the program's own.
fn current(run: &Run, text: &Text, directory: &Directory, name: &str) -> String {
    if let Some((_, value)) = run.program.params.iter().find(|(known, _)| known == name) {
        return value.clone();
    }
    // A program that cannot be compiled says why when it is bound.
    let known = run.parameters(text.clone(), directory).unwrap_or_default();
    let value = known.into_iter().find(|(known, _)| known == name).map(|(_, value)| value);
    value.map_or_else(String::new, |value| value.to_string())
}
