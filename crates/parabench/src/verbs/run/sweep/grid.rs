//! The cells of a sweep, every combination of the dimensions' values, and the sides of a comparison (`--against`,
//! `--against-program`, `--versus`): A, and B, which the last dimension tells from A.

use super::super::args::Run;
use super::super::directory::Directory;
use super::super::interrupt::Interrupt;
use super::super::point::Binding;
use super::super::team::Members;
use super::Sweep;
use crate::compile::{self, Ranks};
use crate::error::{Error, Result};
use crate::program::{self, Text};
use crate::results;
use engine::config::BackendKind;
use model::Plan;
use model::sweep::{Dimension, DimensionKind, SharedDevice};
use std::path::Path;

/// Most cells: each has its plan.
const MOST_CELLS: usize = 4096;

/// Dimensions in the order of the options; then ranks, then what `last` is: directories, or A and B.
pub fn dimensions(run: &Run, last: Option<&Dimension>) -> Result<Vec<Dimension>> {
    let sweep = &run.sweep;
    let mut dimensions: Vec<Dimension> = Vec::new();
    for given in &sweep.params {
        let twice = dimensions.iter().any(|known| known.name == given.name);
        if twice || run.program.params.iter().any(|(name, _)| *name == given.name) {
            let message = format!("--sweep {}: the parameter is given twice", given.name);
            return Err(Error::input(message).help("name all its values in one --sweep"));
        }
        let (name, values) = (given.name.clone(), given.values.clone());
        dimensions.push(Dimension { kind: DimensionKind::Param, name, values });
    }
    if let Some(ranks) = &sweep.ranks {
        let values = ranks.0.iter().map(u32::to_string).collect();
        dimensions.push(Dimension { kind: DimensionKind::Ranks, name: "ranks".into(), values });
    }
    if let Some(nodes) = &sweep.nodes {
        let values = nodes.0.iter().map(u32::to_string).collect();
        dimensions.push(Dimension { kind: DimensionKind::Nodes, name: "nodes".into(), values });
    }
    if let Some(last) = last {
        if last.kind == DimensionKind::Param
            && dimensions.iter().any(|known| known.name == last.name)
        {
            let message = format!("--versus {}: --sweep varies this parameter too", last.name);
            return Err(Error::input(message).help("compare two values, or sweep over many"));
        }
        dimensions.push(last.clone());
    }
    let cells = dimensions.iter().fold(1usize, |n, d| n.saturating_mul(d.values.len()));
    if cells > MOST_CELLS {
        let message = format!("the sweep has {cells} points, the limit is {MOST_CELLS}");
        return Err(Error::input(message).help("give fewer values, or make several runs"));
    }
    Ok(dimensions)
}

/// Parameters and ranks of the point with these values.
pub fn binding(run: &Run, dimensions: &[Dimension], values: &[&str]) -> Binding {
    let (program, members) = (run.program.clone(), Members::All);
    let mut binding = Binding { program, ranks: run.ranks, members };
    for (dimension, value) in dimensions.iter().zip(values) {
        match dimension.kind {
            DimensionKind::Param => {
                binding.program.params.retain(|(name, _)| *name != dimension.name);
                binding.program.params.push((dimension.name.clone(), value.to_string()));
            }
            DimensionKind::Ranks => {
                binding.ranks = value.parse().unwrap_or(run.ranks);
                binding.members = Members::First(binding.ranks);
            }
            DimensionKind::Nodes => binding.members = Members::Nodes(value.parse().unwrap_or(1)),
            DimensionKind::Program | DimensionKind::Directory => {}
        }
    }
    binding
}

/// Blocks if `--reps` does not say.
pub const BLOCKS: u32 = 10;

/// Programs and directories of a run, which follow the last dimension: A and B of a comparison, or the directories
/// of a sweep over them.
pub struct Sides {
    texts: Vec<Text>,
    pub directories: Vec<Directory>,
    /// A and B, or the directories; `None`: there is one of each.
    pub last: Option<Dimension>,
}

impl Sides {
    /// Makes or accepts the directories, and reads B's program. `interrupt`: of the run that starts here; without it
    /// the run is to start elsewhere, and no directory is opened.
    pub fn open(run: &Run, text: Text, interrupt: Option<&Interrupt>) -> Result<Sides> {
        let open = |opened: Result<Directory>| {
            opened.inspect(|one| interrupt.iter().for_each(|it| it.before_end(one.leftover())))
        };
        let directory = match interrupt {
            Some(_) => open(Directory::open(run))?,
            None => Directory::unopened(),
        };
        let mut sides = Sides { texts: vec![text], directories: vec![directory], last: None };
        if let Some(dirs) = &run.sweep.dirs {
            for (_, path) in dirs.0.iter().skip(1).filter(|_| interrupt.is_some()) {
                let other = open(another(run, "--sweep-dirs", path, &sides.directories))?;
                sides.directories.push(other);
            }
            let values = dirs.0.iter().map(|(name, _)| name.clone()).collect();
            let (kind, name) = (DimensionKind::Directory, "directory".into());
            sides.last = Some(Dimension { kind, name, values });
        } else if let Some(path) = &run.sweep.against {
            if interrupt.is_some() {
                let other = open(another(run, "--against", path, &sides.directories))?;
                sides.directories.push(other);
            }
            let name = |path: &Path| path.to_string_lossy().into_owned();
            let a = run.directory.dir.as_deref().map(name).unwrap_or_default();
            sides.compare(DimensionKind::Directory, "directory", [a, name(path)]);
        } else if let Some(program) = &run.sweep.against_program {
            let other = program::read(program)?;
            if other.name == program::STDIN {
                let message = "--against-program -: the second program cannot be standard input";
                return Err(Error::input(message).help("store it in a file"));
            }
            let names = [sides.texts[0].name.clone(), other.name.clone()];
            sides.texts.push(other);
            sides.compare(DimensionKind::Program, "program", names);
        } else if let Some((name, value)) = &run.sweep.versus {
            let values = match value.split(',').collect::<Vec<_>>()[..] {
                [b] => [sides.current(run, name)?, b.to_string()],
                [a, b] => [a.to_string(), b.to_string()],
                _ => {
                    let message = format!("--versus {name}={value}: expected A and B, or B alone");
                    return Err(Error::input(message)
                        .help(format!("--sweep {name}={value} measures more values than two")));
                }
            };
            sides.compare(DimensionKind::Param, name, values);
        }
        Ok(sides)
    }

    fn compare(&mut self, kind: DimensionKind, name: &str, values: [String; 2]) {
        self.last = Some(Dimension { kind, name: name.into(), values: values.to_vec() });
    }

    /// How A's and B's directory are treated if they are on one device.
    pub fn shared_device(&self) -> Option<SharedDevice> {
        match &self.directories[..] {
            [a, b] => a.share(b),
            _ => None,
        }
    }

    /// The directory of a cell.
    pub fn directory(&self, cell: u32) -> &Directory {
        &self.directories[cell as usize % self.directories.len()]
    }

    /// The program of a cell.
    pub fn text(&self, cell: u32) -> &Text {
        &self.texts[cell as usize % self.texts.len()]
    }

    /// The cell is the first with its program.
    pub fn is_new_text(&self, cell: u32) -> bool {
        (cell as usize) < self.texts.len()
    }

    /// The value that a parameter has in A: given, or the program's own.
    fn current(&self, run: &Run, name: &str) -> Result<String> {
        if let Some((_, value)) = run.program.params.iter().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        let ranks = Ranks { count: run.ranks, assumed: false, machines: Vec::new() };
        let places = self.directory(0).places(run)?;
        let compiled = compile::compile(self.text(0).clone(), &run.program, ranks, places, false);
        // A program that cannot be compiled says why when it is bound.
        let known = compiled.plan.map(|plan| plan.params).unwrap_or_default();
        let value = known.into_iter().find(|(known, _)| known == name).map(|(_, value)| value);
        Ok(value.map_or_else(String::new, |value| value.to_string()))
    }
}

/// A further directory has a marker and a lock of its own, and stands apart from the others.
fn another(run: &Run, option: &str, path: &Path, known: &[Directory]) -> Result<Directory> {
    let shown = path.display();
    if run.execution.backend != BackendKind::Posix {
        return Err(Error::input(format!("{option} {shown}: this back-end has no directory")));
    }
    let is_apart = |one: &Directory| {
        let (a, b) = (one.path()?, results::real_path(path).ok()?);
        (!a.starts_with(&b) && !b.starts_with(a)).then_some(())
    };
    if let Some(other) = known.iter().find(|one| is_apart(one).is_none()) {
        let other = match (option, other.path()) {
            ("--against", _) | (_, None) => "--dir".to_string(),
            (_, Some(path)) => path.display().to_string(),
        };
        let message = format!("{option} {shown} and {other} lie in one another");
        return Err(Error::input(message).help("choose directories that stand apart"));
    }
    known[0].beside(run, option, path)
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
