//! What differs between the sweep that began and the one that the command line asks for, in words.
//!
//! ```text
//! --reps was 3, now it is 4; parameter n was 5, now it is 6
//! ```

use crate::error::{Error, Result};
use model::run::{Header, Node, Param, ProgramFile};
use model::sweep::{Cell, Sweep};

/// Differences that one message names.
const DIFFERENCES_MAX: usize = 5;

/// Refuses to go on with what is not the sweep that began.
pub fn check(began: &Header, now: &Header) -> Result<()> {
    let mut found = differences(began, now);
    if found.is_empty() {
        return Ok(());
    }
    let more = found.len().saturating_sub(DIFFERENCES_MAX);
    found.truncate(DIFFERENCES_MAX);
    if more > 0 {
        found.push(format!("{more} more differences"));
    }
    let message = format!("--resume: this is not the sweep that began: {}", found.join("; "));
    let undo = match (&began.job, &now.job) {
        (None, Some(_)) => "start it without mpiexec, srun and --mpi",
        _ if library(began) == library(now) => "undo the difference",
        _ => {
            "start it with the mpiexec of the MPI that it began with, and the shim of that one \
             (PARABENCH_MPI_SHIM=FILE; parabench mpi info tells which is used)"
        }
    };
    Err(Error::input(message)
        .help(format!("{undo}, or start another sweep with a new folder and --out")))
}

/// Everything that differs, in words.
fn differences(began: &Header, now: &Header) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut compare = |name: &str, began: String, now: String| {
        if began != now {
            found.push(format!("{name} was {}, now it is {}", shown(&began), shown(&now)));
        }
    };
    compare("the version of Parabench", began.parabench.clone(), now.parabench.clone());
    compare("--backend", began.backend.clone(), now.backend.clone());
    compare("--seed", began.seed.to_string(), now.seed.to_string());
    let same_start = began.job.is_some() == now.job.is_some();
    match same_start {
        true => compare("the MPI job", job(began), job(now)),
        false => compare("it", start(began), start(now)),
    }
    if began.job.is_some() && now.job.is_some() {
        compare("the MPI library", library(began), library(now));
    }
    let (none, other) = (Sweep::default(), Sweep::default());
    let (a, b) = (began.sweep.as_ref().unwrap_or(&none), now.sweep.as_ref().unwrap_or(&other));
    compare("the grid", grid(a), grid(b));
    compare("--reps", a.reps.to_string(), b.reps.to_string());
    compare("--warm-up", a.warm_up.to_string(), b.warm_up.to_string());
    compare("--settle", seconds(a.settle_ns), seconds(b.settle_ns));
    compare("--until-ci", percent(a.until_ci), percent(b.until_ci));
    // Of another grid every point differs.
    if grid(a) == grid(b) {
        for (name, a, b) in pairs(&parameters(began, a), &parameters(now, b)) {
            compare(&format!("parameter {name}"), a, b);
        }
        for (name, a, b) in pairs(&ranks(a), &ranks(b)) {
            if same_start {
                compare(&name, a, b);
            }
        }
    }
    let options = |sweep: &Sweep| sweep.rest.clone().unwrap_or_default().options;
    for (name, a, b) in pairs(&options(a), &options(b)) {
        compare(&name, a, b);
    }
    found.extend(changed_files(&began.program.files, &now.program.files));
    let other_plan = |(a, b): (&Cell, &Cell)| !a.plan.is_empty() && a.plan != b.plan;
    if found.is_empty() && a.cells.iter().zip(&b.cells).any(other_plan) {
        found.push(
            "the program has become another one although its text is the same: look at the \
             environment variables that it reads, and at the groups"
                .into(),
        );
    }
    found
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "not given" } else { value }
}

/// How the ranks were started.
fn start(header: &Header) -> String {
    let ranks = header.ranks;
    let plural = if ranks == 1 { "" } else { "s" };
    match &header.job {
        Some(_) => format!("an MPI job of {ranks} rank{plural}"),
        None => "started without a launcher (mpiexec or srun)".into(),
    }
}

/// Machines and ranks of an MPI job: hosts may change, their number not.
fn job(header: &Header) -> String {
    let ranks = |node: &Node| node.spans();
    match &header.job {
        None => "none".into(),
        Some(job) => {
            let all: Vec<String> = job.nodes.iter().map(ranks).collect();
            let plural = if job.nodes.len() == 1 { "" } else { "s" };
            format!("ranks {} on {} node{plural}", all.join(" | "), job.nodes.len())
        }
    }
}

/// The rates of a sweep are those of one MPI library, name and version.
fn library(header: &Header) -> String {
    header.job.as_ref().map_or(String::new(), |job| job.mpi.clone())
}

fn grid(sweep: &Sweep) -> String {
    let one = |dimension: &model::sweep::Dimension| {
        format!("{}={}", dimension.name, dimension.values.join(","))
    };
    sweep.dimensions.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn seconds(ns: u64) -> String {
    format!("{} s", ns as f64 / 1e9)
}

fn percent(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{}%", share * 100.0))
}

/// The number of ranks at each cell.
fn ranks(sweep: &Sweep) -> Vec<Param> {
    let one = |cell: &Cell| Param {
        name: match sweep.dimensions.is_empty() {
            true => "the number of ranks".into(),
            false => format!("the number of ranks at {}", sweep.describe(cell.cell)),
        },
        value: cell.ranks.to_string(),
    };
    sweep.cells.iter().map(one).collect()
}

/// Those that all cells share, and those of each cell one after the other.
fn parameters(header: &Header, sweep: &Sweep) -> Vec<Param> {
    let mut all = header.params.clone();
    for cell in &sweep.cells {
        let at = sweep.describe(cell.cell);
        let named =
            |param: &Param| Param { name: format!("{} at {at}", param.name), ..param.clone() };
        all.extend(cell.params.iter().map(named));
    }
    all
}

/// Values of equal names beside each other; "" where there is none.
fn pairs(a: &[Param], b: &[Param]) -> Vec<(String, String, String)> {
    let value = |of: &[Param], name: &str| {
        of.iter().find(|param| param.name == name).map(|param| param.value.clone())
    };
    let added = b.iter().filter(|param| value(a, &param.name).is_none());
    let names = a.iter().chain(added).map(|param| param.name.clone());
    let both = |name: String| {
        let (a, b) = (value(a, &name), value(b, &name));
        (name, a.unwrap_or_default(), b.unwrap_or_default())
    };
    names.map(both).collect()
}

/// Files of the program by their order: the same program may have another name.
fn changed_files(began: &[ProgramFile], now: &[ProgramFile]) -> Option<String> {
    if began.len() != now.len() {
        return Some(format!("the program had {} files, now it has {}", began.len(), now.len()));
    }
    let (a, b) = began.iter().zip(now).find(|(a, b)| a.text != b.text)?;
    let lines = || a.text.lines().zip(b.text.lines());
    Some(match lines().position(|(a, b)| a != b) {
        Some(at) => {
            let (was, is) = lines().nth(at).unwrap_or_default();
            format!(
                "{} has changed, first in line {}: it was `{}`, now it is `{}`",
                b.name,
                at + 1,
                was.trim(),
                is.trim()
            )
        }
        None => format!(
            "{} has changed: it had {} lines, now it has {}",
            b.name,
            a.text.lines().count(),
            b.text.lines().count()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Job;
    use model::sweep::Rest;

    fn header(change: impl Fn(&mut Header, &mut Sweep)) -> Header {
        let param = |name: &str, value: &str| Param { name: name.into(), value: value.into() };
        let rest = Rest { options: vec![param("--dir", "/d")], ..Rest::default() };
        let cell = Cell { plan: "1".into(), ..Cell::default() };
        let mut sweep = Sweep { reps: 3, cells: vec![cell], rest: Some(rest), ..Sweep::default() };
        let file = |name: &str, text: &str| ProgramFile { name: name.into(), text: text.into() };
        let mut header = Header { seed: 1, params: vec![param("n", "5")], ..Header::default() };
        header.program.files = vec![file("x.ppl", "a;\nb;\n")];
        change(&mut header, &mut sweep);
        Header { sweep: Some(sweep), ..header }
    }

    #[test]
    fn every_difference_is_said() {
        let same = header(|_, _| ());
        assert_eq!(check(&same, &header(|_, _| ())), Ok(()));
        type Change = fn(&mut Header, &mut Sweep);
        let cases: [(Change, &str); 8] = [
            (|h, _| h.seed = 2, "--seed was 1, now it is 2"),
            (|h, _| h.params[0].value = "6".into(), "parameter n was 5, now it is 6"),
            (|h, _| h.params.clear(), "parameter n was 5, now it is not given"),
            (|_, s| s.reps = 4, "--reps was 3, now it is 4"),
            (|_, s| s.settle_ns = 5e8 as u64, "--settle was 0 s, now it is 0.5 s"),
            (
                |h, _| h.program.files[0].text = "a;\nc;\n".into(),
                "x.ppl has changed, first in line 2: it was `b;`, now it is `c;`",
            ),
            (
                |h, _| h.program.files[0].text.push_str("c;\n"),
                "x.ppl has changed: it had 2 lines, now it has 3",
            ),
            (
                |_, s| s.rest.as_mut().expect("a rest").options.clear(),
                "--dir was /d, now it is not given",
            ),
        ];
        for (change, said) in cases {
            let why = check(&same, &header(change)).unwrap_err();
            assert!(why.message.ends_with(said), "{said}: {}", why.message);
            assert!(why.help.is_some_and(|help| help.contains("--out")));
        }
        let under = |mpi: &str| {
            let job = Job { mpi: mpi.into(), ..Job::default() };
            header(|h, _| h.job = Some(job.clone()))
        };
        let why = check(&under("MPICH 4.0.2"), &under("Open MPI v4.1.4")).unwrap_err();
        let said = "the MPI library was MPICH 4.0.2, now it is Open MPI v4.1.4";
        assert!(why.message.ends_with(said), "{}", why.message);
        assert!(why.help.is_some_and(|help| help.contains("PARABENCH_MPI_SHIM")));
        let began = header(|h, _| h.ranks = 1);
        let now = header(|h, _| (h.ranks, h.job) = (2, Some(Job::default())));
        let why = check(&began, &now).unwrap_err();
        let said =
            "it was started without a launcher (mpiexec or srun), now it is an MPI job of 2 ranks";
        assert!(why.message.ends_with(said), "{}", why.message);
        assert!(why.help.is_some_and(|help| help.contains("start it without mpiexec")));
        let job =
            Job { nodes: vec![Node { ranks: vec![[0, 3]], ..Node::default() }], ..Job::default() };
        let other = header(|h, _| (h.ranks, h.job) = (2, Some(job.clone())));
        let why = check(&other, &now).unwrap_err().message;
        assert!(why.contains("the MPI job was ranks 0-3 on 1 node, now"), "{why}");
        let other = header(|_, s| s.cells[0].plan = "2".into());
        let why = check(&same, &other).unwrap_err().message;
        assert!(why.contains("environment variables"), "{why}");
    }
}
