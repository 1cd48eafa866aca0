//! Differences between the programs of two sides and between their surroundings; the two sides of one run.

use super::design::Side;
use crate::machines::{all_hosts, name_storage};
use crate::merge::retain_executions;
use crate::rules::{Warning, warnings};
use crate::statistics::unfinished;
use model::Run;
use model::permutation::fnv1a;
use model::run::{Header, Job, Mark, Node};
use model::sweep::{DimensionKind, Sweep};
use model::words;
use serde::Serialize;
use std::collections::BTreeSet;

/// A fact that the sides do not share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Name of the fact: "program", "param num", "kernel".
    pub what: String,
    /// In A; several values where its runs differ among themselves.
    pub base: String,
    /// In B.
    pub new: String,
}

impl Difference {
    /// `kernel: 6.1 in A, 6.5 in B`.
    pub fn sentence(&self) -> String {
        let or_none =
            |text: &str| if text.is_empty() { "nothing".to_string() } else { text.into() };
        format!("{}: {} in A, {} in B", self.what, or_none(&self.base), or_none(&self.new))
    }
}

/// A mark that a run of a side carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SideMark {
    /// "A" or "B".
    pub side: &'static str,
    /// Stable short name: "cached-reads".
    pub code: String,
    /// A verdict; else a remark.
    pub counts: bool,
    /// Its sentence, from the first run that has it.
    pub seen: String,
}

/// A warning in short, of the sides that have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Brief {
    /// "A", "B", or both.
    pub sides: Vec<&'static str>,
    pub warning: Warning,
}

/// The warnings of both sides in short, the gravest of either first; what both have is there once.
pub(crate) fn briefs(base: &Side, new: &Side) -> Vec<Brief> {
    let of = |side: &Side| -> Vec<Warning> { side.runs.iter().flat_map(warnings).collect() };
    let (a, b) = (of(base), of(new));
    let longest = a.len().max(b.len());
    let mut briefs: Vec<Brief> = Vec::new();
    for at in 0..longest {
        for (side, warning) in [("A", a.get(at)), ("B", b.get(at))] {
            let Some(warning) = warning else { continue };
            match briefs.iter_mut().find(|brief| brief.warning.text == warning.text) {
                Some(brief) if brief.sides.contains(&side) => {}
                Some(brief) => brief.sides.push(side),
                None => briefs.push(Brief { sides: vec![side], warning: warning.clone() }),
            }
        }
    }
    briefs
}

/// Marks of both sides, each kind once.
pub(crate) fn marks(base: &Side, new: &Side) -> Vec<SideMark> {
    let mut marks: Vec<SideMark> = Vec::new();
    for (side, runs) in [("A", &base.runs), ("B", &new.runs)] {
        for mark in runs.iter().flat_map(|run| &run.run.evidence.marks) {
            if marks.iter().all(|known| known.side != side || known.code != mark.code) {
                let (code, seen) = (mark.code.clone(), mark.seen_in_executions());
                marks.push(SideMark { side, code, counts: mark.counts, seen });
            }
        }
    }
    marks
}

/// Why both sides cannot differ: a run is on both. Measured times never repeat, simulated ones always do.
pub(crate) fn same_runs(base: &Side, new: &Side) -> Option<String> {
    let both = |run: &Run| run.run.backend != "mem" && new.runs.contains(run);
    let same = "the same run is on both sides: it cannot differ from itself";
    base.runs.iter().any(both).then(|| same.to_string())
}

/// Notes on the runs of both sides.
pub(crate) fn notes(base: &Side, new: &Side) -> Vec<String> {
    let sides = [("A", base), ("B", new)];
    let having = |holds: fn(&Run) -> bool| {
        let names = sides.iter().filter(|(_, side)| side.runs.iter().any(holds));
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let stops = |run: &Run| run.run.sweep.as_ref().is_some_and(|sweep| sweep.until_ci.is_some());
    let stopped = having(stops).map(|names| {
        format!(
            "the number of repetitions of {names} depended on their results (--until-ci): p and intervals are \
             slightly too small"
        )
    });
    let bounded = having(|run| run.labels.iter().any(|label| label.busy_is_bound)).map(|names| {
        format!(
            "durations of {names} are upper bounds, so rates of these labels (busy_is_bound in the run) may \
             differ by more or less than shown"
        )
    });
    let runs = base.runs.iter().chain(&new.runs);
    let unfinished: usize = runs.map(|run| unfinished(run).len()).sum();
    let left_out = (unfinished > 0).then(|| {
        format!("left out: {}", words::count(unfinished, "execution that did not finish"))
    });
    stopped.into_iter().chain(bounded).chain(left_out).collect()
}

/// Surroundings alone.
pub(crate) fn surroundings_that_differ(base: &[Run], new: &[Run]) -> Vec<Difference> {
    unlike(base, new, surroundings)
}

/// Facts of one run by name.
type Facts = Vec<(String, String)>;

/// Differences of the programs, which make a comparison senseless, and of the surroundings.
pub(crate) fn differences(base: &[Run], new: &[Run]) -> (Vec<Difference>, Vec<Difference>) {
    (unlike(base, new, program), unlike(base, new, surroundings))
}

fn unlike(base: &[Run], new: &[Run], facts: fn(&Run) -> Facts) -> Vec<Difference> {
    let all = |runs: &[Run]| -> Facts { runs.iter().flat_map(facts).collect() };
    let (a, b) = (all(base), all(new));
    let mut seen = BTreeSet::new();
    let names = a.iter().chain(&b).map(|fact| &fact.0).filter(|name| seen.insert((*name).clone()));
    let names: Vec<String> = names.cloned().collect();
    let values = |facts: &Facts, name: &str| -> BTreeSet<String> {
        facts.iter().filter(|fact| fact.0 == name).map(|fact| fact.1.clone()).collect()
    };
    let pairs = names.into_iter().map(|name| {
        let (ours, theirs) = (values(&a, &name), values(&b, &name));
        (name, ours, theirs)
    });
    let differing = pairs.filter(|(_, ours, theirs)| ours != theirs || ours.len() > 1);
    let list = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" and ");
    differing
        .map(|(what, ours, theirs)| Difference { what, base: list(ours), new: list(theirs) })
        .collect()
}

/// The program: text, parameters, ranks, grid.
fn program(run: &Run) -> Facts {
    let header = &run.run;
    let mut facts = vec![("ranks".into(), header.ranks.to_string())];
    for (at, file) in header.program.files.iter().enumerate() {
        // The name may differ: the text is the program.
        facts.push((format!("text of file {}", at + 1), digest(&file.text)));
    }
    for param in &header.params {
        facts.push((format!("parameter {}", param.name), param.value.clone()));
    }
    if let Some(sweep) = &header.sweep {
        for dimension in &sweep.dimensions {
            facts.push((format!("sweep of {}", dimension.name), dimension.values.join(",")));
        }
    }
    facts
}

/// A text in a word.
fn digest(text: &str) -> String {
    let lines = words::count(text.lines().count(), "line");
    format!("{lines}, {:016x}", fnv1a(text.as_bytes()))
}

fn surroundings(run: &Run) -> Facts {
    let Header { host, evidence, job, .. } = &run.run;
    let of_job = |fact: fn(&Job) -> String| job.as_ref().map_or(String::new(), fact);
    let facts = [
        ("back-end", run.run.backend.clone()),
        ("communicator", run.run.comm.clone()),
        ("version of Parabench", run.run.parabench.clone()),
        ("seed", run.run.seed.to_string()),
        ("host", hosts(run)),
        ("kernel", host.kernel.clone()),
        ("processor", host.cpu.clone()),
        ("processors", run.run.cpus().to_string()),
        ("MPI", of_job(|job| job.mpi.clone())),
        ("launcher", of_job(|job| job.launcher.clone())),
        ("nodes", of_job(|job| job.nodes.len().to_string())),
        ("ranks per node", of_job(ranks_per_node)),
        ("processors per rank", of_job(processors_per_rank)),
        ("memory", host.memory_bytes.to_string()),
        ("mount point", host.storage.mount.clone()),
        ("device", host.storage.device.clone()),
        ("file system", host.storage.file_system.clone()),
        ("mount options", host.storage.mount_options.clone()),
        ("clock", evidence.clock.clone()),
        ("confinement", evidence.confinement.clone()),
        ("outcome", run.run.outcome.clone()),
    ];
    let further = host.directories.iter().map(|further| {
        let storage = name_storage(&further.storage).unwrap_or_default();
        let facts = format!("{storage}, {}", further.storage.mount_options);
        (format!("directory {}", further.name), facts)
    });
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).chain(further).collect()
}

/// The different numbers, "16" or "8 to 16".
fn span(numbers: impl Iterator<Item = u32> + Clone) -> String {
    match (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0)) {
        (fewest, most) if fewest == most => most.to_string(),
        (fewest, most) => format!("{fewest} to {most}"),
    }
}

/// The machines: their names, or of many a digest of them.
fn hosts(run: &Run) -> String {
    let names = all_hosts(run);
    if names.len() > 8 { digest(&names.join("\n")) } else { names.join(", ") }
}

fn ranks_per_node(job: &Job) -> String {
    span(job.nodes.iter().map(Node::size))
}

fn processors_per_rank(job: &Job) -> String {
    span(job.nodes.iter().flat_map(|node| node.rank_cpus))
}

/// The sides of a run that executed A and B in blocks; `None` for any other run.
pub fn split(run: &Run) -> Option<(Side, Side)> {
    let sweep = run.run.sweep.as_ref()?;
    let pair = sweep.pair()?;
    let side = |which: u32| Side {
        name: match (pair.kind, &pair.values[which as usize]) {
            (DimensionKind::Param | DimensionKind::Ranks | DimensionKind::Nodes, value) => {
                format!("{}={value}", pair.name)
            }
            (DimensionKind::Program | DimensionKind::Directory, value) => value.clone(),
        },
        runs: vec![half(run, sweep, which)],
    };
    Some((side(0), side(1)))
}

/// One side of the run, as a run of its own without the dimension of A and B.
fn half(run: &Run, sweep: &Sweep, which: u32) -> Run {
    let own = |cell: u32| cell % 2 == which;
    let mut half = run.clone();
    retain_executions(&mut half, |cell, _| {
        let is_own = own(*cell);
        *cell /= 2;
        is_own
    });
    let header = &mut half.run;
    let names: Vec<String> = sweep
        .cells
        .iter()
        .filter(|cell| own(cell.cell))
        .map(|cell| sweep.describe(cell.cell))
        .collect();
    let seen = |name: &String, mark: &Mark| mark.seen.starts_with(&format!("first at {name}, "));
    header.evidence.marks.retain(|mark| names.iter().any(|name| seen(name, mark)));
    let mut rest = sweep.clone();
    rest.versus = false;
    rest.dimensions.pop();
    rest.cells.retain(|cell| own(cell.cell));
    rest.cells.iter_mut().for_each(|cell| cell.cell /= 2);
    rest.order.retain(|execution| own(execution.cell));
    rest.order.iter_mut().for_each(|execution| execution.cell /= 2);
    if let Some(host) = rest.cells.first().and_then(|cell| cell.host.clone()) {
        header.host = host;
    }
    header.sweep = Some(rest);
    half
}
