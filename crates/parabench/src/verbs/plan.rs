//! `parabench plan`: what a run will do, without touching the disk.
//!
//! ```text
//! budget of rank 0, about
//!   write  1280  131072000 bytes  about (± 30; ± 3 MiB)
//!   writes 125 MiB (± 3 MiB), makes 1280 files (± 30), 1280 (± 30) names at one time
//!   needs 125 MiB (± 3 MiB) of storage and 100 KiB of buffers
//! ```

use crate::args::{ProgramArgs, TextFormat};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::program;
use crate::rehearse::rehearse;
use clap::Args;
use engine::config::Config;
use engine::supervise::{Calls, list_calls};
use model::op::Class;
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
/// Operations by kind, bytes, files and directories of all ranks, found by rehearsing the program on files in
/// memory. With -v also the flat code and the figures per rank, with --ops the first system calls of a rank.
#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    program: ProgramArgs,

    /// Number of ranks
    #[arg(short = 'n', long, default_value_t = 1,
          value_parser = crate::args::ranks)]
    ranks: u32,

    /// Number of machines, on which the ranks are one after the other
    #[arg(long, default_value_t = 1, value_name = "N",
          value_parser = crate::args::ranks)]
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

    /// Print the flat code and the budget of each kind of ranks
    #[arg(short, long)]
    verbose: bool,
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
            TextFormat::Text => self.render_text(&plan, &rehearsal, calls.as_ref()),
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

    /// The work of all ranks together, and the requested calls; with -v the code before.
    fn render_text(
        &self,
        plan: &model::Plan,
        rehearsal: &Rehearsal,
        calls: Option<&Calls>,
    ) -> String {
        let mut out = String::new();
        if self.verbose {
            render_details(&mut out, plan, rehearsal);
        }
        render_budget(&mut out, plan, rehearsal);
        calls.into_iter().for_each(|calls| list(&mut out, calls));
        if !self.verbose {
            out.push_str("more: -v   system calls: --ops 20\n");
        }
        out
    }

    /// The first calls, found by executing the plan on files in memory.
    fn calls(&self, plan: &model::Plan, count: usize) -> Result<Calls> {
        let ranks = self.rank..self.rank + 1;
        list_calls(plan, &Config::default(), ranks, count)
            .map_err(|error| Error::failed(error.to_string()))
    }
}

/// Figures of one rank, or of all ranks together.
struct Budget {
    figures: RankFigures,
    exact: bool,
    /// Its storage at the fullest is exact.
    footprint_exact: bool,
}

impl Budget {
    fn of_rank(rank: &RankFigures, rehearsal: &Rehearsal) -> Budget {
        let exact = rehearsal.is_exact();
        Budget { figures: rank.clone(), exact, footprint_exact: exact }
    }

    fn of_all(rehearsal: &Rehearsal) -> Budget {
        let exact = rehearsal.is_exact();
        let mut figures = RankFigures { peaks: rehearsal.peaks.clone(), ..RankFigures::default() };
        for (ranks, one) in &rehearsal.ranks {
            add(&mut figures, one, u64::from(ranks.end.saturating_sub(ranks.start)));
        }
        Budget { figures, exact, footprint_exact: exact && !rehearsal.peak_about }
    }

    /// The sum over directories: no less than what lies in all of them at any time.
    fn footprint(&self) -> Peak {
        Peak::all(&self.figures.peaks)
    }

    /// "about " before needs that are no more than that, unless the title says it of all figures.
    fn about(&self) -> &'static str {
        if self.footprint_exact || !self.exact { "" } else { "about " }
    }

    /// Bytes moved by operations of a class, and how far they may be off.
    fn moved(&self, class: Class) -> (u64, u64) {
        let ops = self.figures.ops.iter().filter(|(op, _)| op.row().class == class);
        ops.fold((0, 0), |(bytes, spread): (u64, u64), (_, op)| {
            (bytes.saturating_add(op.bytes), spread.saturating_add(op.spread_bytes))
        })
    }
}

/// Adds the figures of some equal ranks.
fn add(sum: &mut RankFigures, each: &RankFigures, ranks: u64) {
    let add = |sum: &mut u64, each: u64| *sum = sum.saturating_add(each.saturating_mul(ranks));
    for (op, each) in &each.ops {
        let at = sum.ops.binary_search_by_key(op, |entry| entry.0).unwrap_or_else(|at| {
            sum.ops.insert(at, (*op, OpFigures::default()));
            at
        });
        let sum = &mut sum.ops[at].1;
        add(&mut sum.count, each.count);
        add(&mut sum.bytes, each.bytes);
        add(&mut sum.spread_count, each.spread_count);
        add(&mut sum.spread_bytes, each.spread_bytes);
        sum.about |= each.about;
    }
    add(&mut sum.files, each.files);
    add(&mut sum.spread_files, each.spread_files);
    add(&mut sum.directories, each.directories);
    add(&mut sum.spread_directories, each.spread_directories);
    add(&mut sum.buffer_bytes, each.buffer_bytes);
    add(&mut sum.handles, each.handles);
}

/// "125 MiB (± 3 MiB)".
fn bytes((value, spread): (u64, u64)) -> String {
    format_bytes(value) + &within(spread, format_bytes)
}

/// "1280 files (± 30)".
fn count(value: u64, spread: u64, noun: &str) -> String {
    model::words::count(value, noun) + &within(spread, |spread| spread.to_string())
}

fn within(spread: u64, format: impl Fn(u64) -> String) -> String {
    if spread > 0 { format!(" (± {})", format(spread)) } else { String::new() }
}

/// The flat code, and the budget of each kind of ranks.
fn render_details(out: &mut String, plan: &model::Plan, rehearsal: &Rehearsal) {
    out.push_str("code\n");
    for line in ppl::listing(plan).lines() {
        let _ = writeln!(out, "  {line}");
    }
    let kinds = &rehearsal.ranks;
    for (ranks, rank) in kinds.iter().take(SHOWN).filter(|_| plan.ranks > 1) {
        let _ = writeln!(out);
        section(out, &title(ranks), &Budget::of_rank(rank, rehearsal), plan);
    }
    if kinds.len() > SHOWN {
        let _ = writeln!(out, "\nand {} more kinds of ranks", kinds.len() - SHOWN);
    }
    let _ = writeln!(out);
}

/// The work of all ranks together, and how exact it is.
fn render_budget(out: &mut String, plan: &model::Plan, rehearsal: &Rehearsal) {
    let whose = match plan.ranks {
        1 => "rank 0".to_string(),
        ranks => format!("all {ranks} ranks"),
    };
    section(out, &whose, &Budget::of_all(rehearsal), plan);
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
}

fn title(ranks: &Range<u32>) -> String {
    match ranks.end - ranks.start {
        1 => format!("rank {}", ranks.start),
        _ => format!("each of ranks {} to {}", ranks.start, ranks.end - 1),
    }
}

fn section(out: &mut String, title: &str, budget: &Budget, plan: &model::Plan) {
    let figures = &budget.figures;
    let _ = writeln!(out, "budget of {title}{}", if budget.exact { "" } else { ", about" });
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
    moved_and_made(out, budget);
    let (about, peak) = (budget.about(), budget.footprint());
    let storage = bytes((peak.bytes, peak.spread_bytes));
    let needs = [
        (peak.bytes, storage, "storage"),
        (figures.buffer_bytes, format_bytes(figures.buffer_bytes), "buffers"),
    ];
    let needs: Vec<String> = needs
        .iter()
        .filter(|need| need.0 > 0)
        .map(|(_, size, what)| format!("{size} of {what}"))
        .collect();
    if !needs.is_empty() {
        let _ = writeln!(out, "  needs {about}{}", needs.join(" and "));
    }
    let several = !plan.directories.is_empty();
    for (name, peak) in directories(plan).zip(&figures.peaks).filter(|_| several) {
        let name = if name.is_empty() { "the run directory".into() } else { format!("{name}:") };
        let (bytes, files) = (format_bytes(peak.bytes), model::words::count(peak.files, "file"));
        let _ = writeln!(out, "  of that in {name} {about}{bytes}, {files} at one time");
    }
    if figures.handles > 0 {
        let open = model::words::count(figures.handles, "file");
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
fn moved_and_made(out: &mut String, budget: &Budget) {
    let figures = &budget.figures;
    let moved = [("reads", Class::Read), ("writes", Class::Write)];
    let moved = moved.map(|(verb, class)| (verb, budget.moved(class)));
    let moved = moved.iter().filter(|(_, moved)| moved.0 > 0);
    let mut parts: Vec<String> =
        moved.map(|(verb, moved)| format!("{verb} {}", bytes(*moved))).collect();
    let made = [
        (figures.files, figures.spread_files, "file"),
        (figures.directories, figures.spread_directories, "directory"),
    ];
    let made = made.iter().filter(|(made, ..)| *made > 0);
    let made: Vec<String> = made.map(|(made, spread, noun)| count(*made, *spread, noun)).collect();
    if !made.is_empty() {
        parts.push(format!("makes {}", made.join(" and ")));
        let peak = budget.footprint();
        let names = count(peak.files, peak.spread_files, "name");
        parts.push(format!("{}{names} at one time", budget.about()));
    }
    if !parts.is_empty() {
        let _ = writeln!(out, "  {}", parts.join(", "));
    }
}

/// Names of the directories; "" is the run directory.
fn directories(plan: &model::Plan) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(plan.directories.iter().map(|directory| &*directory.name))
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
        let mut object = figures(&Budget::of_rank(rank, rehearsal), plan);
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
        "all": figures(&Budget::of_all(rehearsal), plan),
        "complete": rehearsal.complete,
        "calls": calls,
    });
    model::escape::json(&format!("{object:#}\n")).into_owned()
}

fn figures(budget: &Budget, plan: &model::Plan) -> Value {
    let figures = &budget.figures;
    let ops = figures.ops.iter().map(|(op, sum)| {
        json!({
            "op": op.name(), "count": sum.count, "bytes": sum.bytes, "exact": !sum.about,
            "count_spread": sum.spread_count, "bytes_spread": sum.spread_bytes,
        })
    });
    let footprints = directories(plan)
        .zip(&figures.peaks)
        .map(|(name, peak)| json!({"directory": name, "bytes": peak.bytes, "files": peak.files}));
    let (read, written) = (budget.moved(Class::Read), budget.moved(Class::Write));
    let peak = budget.footprint();
    json!({
        "ops": ops.collect::<Vec<_>>(),
        "read_bytes": read.0,
        "read_bytes_spread": read.1,
        "written_bytes": written.0,
        "written_bytes_spread": written.1,
        "files": figures.files,
        "files_spread": figures.spread_files,
        "directories": figures.directories,
        "directories_spread": figures.spread_directories,
        "footprint_bytes": peak.bytes,
        "footprint_bytes_spread": peak.spread_bytes,
        "footprint_files": peak.files,
        "footprint_files_spread": peak.spread_files,
        "footprint_of": footprints.collect::<Vec<_>>(),
        "footprint_exact": budget.footprint_exact,
        "buffer_bytes": figures.buffer_bytes,
        "handles": figures.handles,
        "exact": budget.exact,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Op;

    fn rank(op: Op, count: u64, bytes: u64) -> RankFigures {
        let figures = OpFigures { count, bytes, spread_count: 1, ..OpFigures::default() };
        RankFigures { ops: vec![(op, figures)], files: 1, ..RankFigures::default() }
    }

    #[test]
    fn figures_add_up_over_ranks() {
        let ranks = vec![(0..3, rank(Op::Write, 2, 10)), (3..5, rank(Op::Read, 1, 7))];
        let peaks = vec![Peak { bytes: 9, files: 1, ..Peak::default() }];
        let rehearsal = Rehearsal { ranks, peaks, complete: true, ..Rehearsal::default() };
        let budget = Budget::of_all(&rehearsal);
        let figures = &budget.figures;
        let moved = [budget.moved(Class::Write).0, budget.moved(Class::Read).0];
        assert_eq!((moved, figures.files), ([30, 14], 5));
        let counts: Vec<_> =
            figures.ops.iter().map(|(op, sum)| (*op, sum.count, sum.spread_count)).collect();
        assert_eq!(counts, [(Op::Write, 6, 3), (Op::Read, 2, 2)]);
        assert_eq!((budget.footprint().bytes, budget.exact), (9, true));
    }

    #[test]
    fn estimates_show_their_spread() {
        assert_eq!(bytes((125 << 20, 3 << 20)), "125 MiB (± 3 MiB)");
        assert_eq!(count(1, 0, "file"), "1 file");
    }
}
