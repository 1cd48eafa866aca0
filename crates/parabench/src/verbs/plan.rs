//! `parabench plan`: what a run will do, without touching the disk.
//!
//! ```text
//! budget of rank 0, about
//!   write  1280  131072000 bytes  about (± 30; ± 3 MiB)
//!   writes 125 MiB (± 3 MiB), makes 1280 files (± 30), 1280 (± 30) names at one time
//!   needs 125 MiB (± 3 MiB) of storage and 100 KiB of buffers
//! ```

use crate::args::{MAX_RANKS, ProgramArgs, TextFormat};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::program;
use crate::rehearse::rehearse;
use clap::Args;
use engine::config::Config;
use engine::supervise::{Calls, list_calls};
use model::op::{Class, Op};
use model::rehearsal::{OpFigures, Peak, RankFigures, Rehearsal};
use model::units::format_bytes;
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;

/// Kinds of ranks that are shown one by one.
const SHOWN: usize = 8;

/// Printed where the rehearsal did not reach the end of the program.
const UP_TO_THERE: &str = "these are the figures up to there";

/// Printed where figures depend on time.
const TIMED: &str = "\nhow often loops with a time limit iterate depends on the speed of the storage: these \
                     figures are those of the rehearsal, on storage of its own\n";

/// Show what a program will do, without touching the disk
///
/// The flat code, then the budget: operations by kind, bytes, files and directories, per rank
/// and in all, found by rehearsing the program on files in memory. With --ops also the first system calls of a rank.
#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    program: ProgramArgs,

    /// Number of ranks
    #[arg(short = 'n', long, default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    ranks: u32,

    /// Number of machines, on which the ranks are one after the other
    #[arg(long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    nodes: u32,

    /// Show the first N system calls of a rank
    #[arg(long, value_name = "N")]
    ops: Option<usize>,

    /// The rank whose calls are shown
    #[arg(long, value_name = "R", requires = "ops", default_value_t = 0)]
    rank: u32,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

impl Plan {
    /// Compiles the program and shows what became of it.
    pub fn execute(self) -> Result<Exit> {
        if self.rank >= self.ranks {
            return Err(Error::input(format!(
                "there is no rank {}: ranks are 0 to {}",
                self.rank,
                self.ranks - 1
            ))
            .help("choose another --rank, or more ranks with -n"));
        }
        if self.nodes > self.ranks {
            let message = format!("--nodes {}: there are {} ranks", self.nodes, self.ranks);
            return Err(
                Error::input(message).help("a machine has a rank or more: more ranks with -n")
            );
        }
        let text = program::read(&self.program.program)?;
        let name = text.name.clone();
        let machines = self.machines();
        let config = Config { machines: machines.clone(), ..Config::default() };
        let ranks = Ranks { count: self.ranks, assumed: false, machines };
        let places = Places::named(&self.program)?;
        let mut compiled = compile::compile(text, &self.program, ranks, places, true);
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &config, true)?;
        compile::show(&compiled, &name);
        let plan = compile::plan(compiled, &name)?;
        let calls = match self.ops {
            Some(count) => Some(self.calls(&plan, count)?),
            None => None,
        };
        let shown = match self.format {
            TextFormat::Text => render_text(&plan, &rehearsal, calls.as_ref()),
            TextFormat::Json => render_json(&name, &plan, &rehearsal, calls.as_ref()),
        };
        console::print(&shown)?;
        Ok(Exit::Success)
    }

    /// The machine of each rank, as launchers fill them.
    fn machines(&self) -> Vec<u32> {
        match self.nodes {
            1 => Vec::new(),
            nodes => (0..u64::from(self.ranks))
                .map(|rank| (rank * u64::from(nodes) / u64::from(self.ranks)) as u32)
                .collect(),
        }
    }

    /// The first calls, found by executing the plan on files in memory.
    fn calls(&self, plan: &model::Plan, count: usize) -> Result<Calls> {
        let ranks = self.rank..self.rank + 1;
        list_calls(plan, &Config::default(), ranks, count)
            .map_err(|error| Error::failed(error.to_string()))
    }
}

/// A figure and how far it may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Estimate {
    value: u64,
    spread: u64,
}

impl Estimate {
    fn add(&mut self, value: u64, spread: u64, ranks: u64) {
        self.value = self.value.saturating_add(value.saturating_mul(ranks));
        self.spread = self.spread.saturating_add(spread.saturating_mul(ranks));
    }

    /// "125 MiB (± 3 MiB)".
    fn bytes(self) -> String {
        format!("{}{}", format_bytes(self.value), self.within(format_bytes))
    }

    /// "1280 files (± 30)".
    fn count(self, one: &str, more: &str) -> String {
        let noun = if self.value == 1 { one } else { more };
        format!("{} {noun}{}", self.value, self.within(|spread| spread.to_string()))
    }

    fn within(self, format: impl Fn(u64) -> String) -> String {
        match self.spread {
            0 => String::new(),
            spread => format!(" (± {})", format(spread)),
        }
    }
}

/// Figures of one rank, or of all ranks together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Figures {
    /// By operation, only those that occur.
    ops: Vec<(Op, OpFigures)>,
    read: Estimate,
    written: Estimate,
    files: Estimate,
    directories: Estimate,
    /// Files at the fullest, in the run directory and in the further ones of the plan.
    footprints: Vec<Peak>,
    /// These are exact.
    footprint_exact: bool,
    /// Largest buffers, bytes.
    buffer_bytes: u64,
    /// Most handles open at one time.
    handles: u64,
    /// All figures are exact.
    exact: bool,
}

impl Figures {
    fn of_rank(rank: &RankFigures, rehearsal: &Rehearsal) -> Figures {
        let mut figures = Figures { exact: rehearsal.is_exact(), ..Figures::default() };
        figures.add(rank, 1);
        figures.footprints.clone_from(&rank.peaks);
        figures.footprint_exact = figures.exact;
        figures
    }

    fn of_all(rehearsal: &Rehearsal) -> Figures {
        let mut figures = Figures { exact: rehearsal.is_exact(), ..Figures::default() };
        for (ranks, one) in &rehearsal.ranks {
            figures.add(one, u64::from(ranks.end.saturating_sub(ranks.start)));
        }
        figures.footprints.clone_from(&rehearsal.peaks);
        figures.footprint_exact = figures.exact && !rehearsal.peak_about;
        figures
    }

    /// The sum over directories: no less than what lies in all of them at any time.
    fn footprint(&self) -> Peak {
        Peak::all(&self.footprints)
    }

    fn add(&mut self, rank: &RankFigures, ranks: u64) {
        rank.ops.iter().for_each(|(op, each)| self.add_op(*op, each, ranks));
        self.files.add(rank.files, rank.spread_files, ranks);
        self.directories.add(rank.directories, rank.spread_directories, ranks);
        let add = |sum: &mut u64, each: u64| *sum = sum.saturating_add(each.saturating_mul(ranks));
        add(&mut self.buffer_bytes, rank.buffer_bytes);
        add(&mut self.handles, rank.handles);
    }

    fn add_op(&mut self, op: Op, each: &OpFigures, ranks: u64) {
        match op.row().class {
            Class::Read => self.read.add(each.bytes, each.spread_bytes, ranks),
            Class::Write => self.written.add(each.bytes, each.spread_bytes, ranks),
            _ => {}
        }
        let at = self.ops.binary_search_by_key(&op, |entry| entry.0).unwrap_or_else(|at| {
            self.ops.insert(at, (op, OpFigures::default()));
            at
        });
        let sum = &mut self.ops[at].1;
        let add = |sum: &mut u64, each: u64| *sum = sum.saturating_add(each.saturating_mul(ranks));
        add(&mut sum.count, each.count);
        add(&mut sum.bytes, each.bytes);
        add(&mut sum.spread_count, each.spread_count);
        add(&mut sum.spread_bytes, each.spread_bytes);
        sum.about |= each.about;
    }
}

/// Code, budget and calls for people.
fn render_text(plan: &model::Plan, rehearsal: &Rehearsal, calls: Option<&Calls>) -> String {
    let mut out = String::from("code\n");
    for line in ppl::listing(plan).lines() {
        let _ = writeln!(out, "  {line}");
    }
    let kinds = &rehearsal.ranks;
    for (ranks, rank) in kinds.iter().take(SHOWN) {
        section(&mut out, &title(ranks), &Figures::of_rank(rank, rehearsal), plan);
    }
    if kinds.len() > SHOWN {
        let _ = writeln!(out, "\nand {} more kinds of ranks", kinds.len() - SHOWN);
    }
    if plan.ranks > 1 {
        let all = Figures::of_all(rehearsal);
        section(&mut out, &format!("all {} ranks", plan.ranks), &all, plan);
    }
    if !rehearsal.complete {
        let _ = match &rehearsal.failure {
            Some(why) => {
                writeln!(out, "\nthe program fails in its rehearsal, {why}: {UP_TO_THERE}")
            }
            None => writeln!(out, "\nthe rehearsal ended before the program did: {UP_TO_THERE}"),
        };
    }
    if rehearsal.timed {
        out.push_str(TIMED);
    }
    calls.into_iter().for_each(|calls| list(&mut out, calls));
    out
}

fn title(ranks: &Range<u32>) -> String {
    match ranks.end - ranks.start {
        1 => format!("rank {}", ranks.start),
        _ => format!("each of ranks {} to {}", ranks.start, ranks.end - 1),
    }
}

fn section(out: &mut String, title: &str, figures: &Figures, plan: &model::Plan) {
    let _ = writeln!(out, "\nbudget of {title}{}", if figures.exact { "" } else { ", about" });
    let name = figures.ops.iter().map(|(op, _)| op.name().len()).max().unwrap_or(0);
    let count = figures.ops.iter().map(|(_, op)| op.count).max().unwrap_or(0).to_string().len();
    for (op, sum) in &figures.ops {
        let _ = write!(out, "  {:<name$}  {:>count$}", op.name(), sum.count);
        if sum.bytes > 0 {
            let _ = write!(out, "  {} bytes", sum.bytes);
        }
        out.push_str(&about(sum));
        out.push('\n');
    }
    moved_and_made(out, figures);
    // What is "about" as a whole says so in its title.
    let about = if figures.footprint_exact || !figures.exact { "" } else { "about " };
    let peak = figures.footprint();
    let storage = Estimate { value: peak.bytes, spread: peak.spread_bytes };
    let _ = writeln!(
        out,
        "  needs {about}{} of storage and {} of buffers",
        storage.bytes(),
        format_bytes(figures.buffer_bytes)
    );
    for (name, peak) in directories(plan, figures) {
        let name = if name.is_empty() { "the run directory".into() } else { format!("{name}:") };
        let (bytes, files) = (format_bytes(peak.bytes), peak.files);
        let _ = writeln!(out, "  of that in {name} {about}{bytes}, {files} files at one time");
    }
    if figures.handles > 0 {
        let open = Estimate { value: figures.handles, spread: 0 }.count("file", "files");
        let _ = writeln!(out, "  keeps {open} open between operations");
    }
}

/// "  about (± 30; ± 3 MiB)".
fn about(op: &OpFigures) -> String {
    match (op.about, op.spread_count, op.spread_bytes) {
        (false, ..) => String::new(),
        (true, 0, 0) => "  about".into(),
        (true, count, 0) => format!("  about (± {count})"),
        (true, count, bytes) => format!("  about (± {count}; ± {})", format_bytes(bytes)),
    }
}

/// "reads 3 KiB, writes 120 KiB, makes 30 files and 3 directories, 33 names at one time".
fn moved_and_made(out: &mut String, figures: &Figures) {
    let moved = [("reads", figures.read), ("writes", figures.written)];
    let moved = moved.iter().filter(|(_, moved)| moved.value > 0);
    let mut parts: Vec<String> =
        moved.map(|(verb, moved)| format!("{verb} {}", moved.bytes())).collect();
    let made =
        [(figures.files, "file", "files"), (figures.directories, "directory", "directories")];
    let made = made.iter().filter(|(made, ..)| made.value > 0);
    let made: Vec<String> = made.map(|(made, one, more)| made.count(one, more)).collect();
    if !made.is_empty() {
        parts.push(format!("makes {}", made.join(" and ")));
        let peak = figures.footprint();
        let names = Estimate { value: peak.files, spread: peak.spread_files };
        let about = if figures.footprint_exact || !figures.exact { "" } else { "about " };
        parts.push(format!("{about}{} at one time", names.count("name", "names")));
    }
    if !parts.is_empty() {
        let _ = writeln!(out, "  {}", parts.join(", "));
    }
}

/// Needs of each directory, if there are several.
fn directories<'a>(plan: &'a model::Plan, figures: &Figures) -> Vec<(&'a str, Peak)> {
    let further = plan.directories.iter().map(|directory| &*directory.name);
    let names = std::iter::once("").chain(further).filter(|_| !plan.directories.is_empty());
    names.zip(figures.footprints.iter().copied()).collect()
}

fn list(out: &mut String, calls: &Calls) {
    for (rank, lines) in &calls.ranks {
        let _ = writeln!(out, "\nfirst {} calls of rank {rank}", lines.len());
        lines.iter().for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    calls.errors.iter().for_each(|error| {
        let _ = writeln!(out, "  {error}");
    });
}

/// One object for programs: `program ranks code budget all complete calls`.
fn render_json(
    name: &str,
    plan: &model::Plan,
    rehearsal: &Rehearsal,
    calls: Option<&Calls>,
) -> String {
    let budget = rehearsal.ranks.iter().map(|(ranks, rank)| {
        let mut object = figures(&Figures::of_rank(rank, rehearsal), plan);
        object["first_rank"] = json!(ranks.start);
        object["last_rank"] = json!(ranks.end.saturating_sub(1));
        object
    });
    let calls = calls.map(|calls| {
        let ranks = calls.ranks.iter();
        let ranks: Vec<Value> =
            ranks.map(|(rank, lines)| json!({"rank": rank, "calls": lines})).collect();
        json!({"ranks": ranks, "errors": calls.errors})
    });
    let object = json!({
        "program": name,
        "ranks": plan.ranks,
        "code": ppl::listing(plan).lines().collect::<Vec<_>>(),
        "budget": budget.collect::<Vec<_>>(),
        "all": figures(&Figures::of_all(rehearsal), plan),
        "complete": rehearsal.complete,
        "calls": calls,
    });
    model::escape::json(&format!("{object:#}\n")).into_owned()
}

fn figures(figures: &Figures, plan: &model::Plan) -> Value {
    let ops = figures.ops.iter().map(|(op, sum)| {
        json!({
            "op": op.name(), "count": sum.count, "bytes": sum.bytes, "exact": !sum.about,
            "count_spread": sum.spread_count, "bytes_spread": sum.spread_bytes,
        })
    });
    let further = plan.directories.iter().map(|directory| &*directory.name);
    let names = std::iter::once("").chain(further);
    let footprints = names
        .zip(&figures.footprints)
        .map(|(name, peak)| json!({"directory": name, "bytes": peak.bytes, "files": peak.files}));
    let peak = figures.footprint();
    json!({
        "ops": ops.collect::<Vec<_>>(),
        "read_bytes": figures.read.value,
        "read_bytes_spread": figures.read.spread,
        "written_bytes": figures.written.value,
        "written_bytes_spread": figures.written.spread,
        "files": figures.files.value,
        "files_spread": figures.files.spread,
        "directories": figures.directories.value,
        "directories_spread": figures.directories.spread,
        "footprint_bytes": peak.bytes,
        "footprint_bytes_spread": peak.spread_bytes,
        "footprint_files": peak.files,
        "footprint_files_spread": peak.spread_files,
        "footprint_of": footprints.collect::<Vec<_>>(),
        "footprint_exact": figures.footprint_exact,
        "buffer_bytes": figures.buffer_bytes,
        "handles": figures.handles,
        "exact": figures.exact,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(op: Op, count: u64, bytes: u64) -> RankFigures {
        let figures = OpFigures { count, bytes, spread_count: 1, ..OpFigures::default() };
        RankFigures { ops: vec![(op, figures)], files: 1, ..RankFigures::default() }
    }

    #[test]
    fn figures_add_up_over_ranks() {
        let ranks = vec![(0..3, rank(Op::Write, 2, 10)), (3..5, rank(Op::Read, 1, 7))];
        let peaks = vec![Peak { bytes: 9, files: 1, ..Peak::default() }];
        let rehearsal = Rehearsal { ranks, peaks, complete: true, ..Rehearsal::default() };
        let figures = Figures::of_all(&rehearsal);
        let values = [figures.written.value, figures.read.value, figures.files.value];
        assert_eq!(values, [30, 14, 5]);
        let counts: Vec<_> =
            figures.ops.iter().map(|(op, sum)| (*op, sum.count, sum.spread_count)).collect();
        assert_eq!(counts, [(Op::Write, 6, 3), (Op::Read, 2, 2)]);
        assert_eq!((figures.footprint().bytes, figures.exact), (9, true));
    }

    #[test]
    fn estimates_show_their_spread() {
        let bytes = Estimate { value: 125 << 20, spread: 3 << 20 };
        assert_eq!(bytes.bytes(), "125 MiB (± 3 MiB)");
        assert_eq!(Estimate { value: 1, spread: 0 }.count("file", "files"), "1 file");
    }
}
