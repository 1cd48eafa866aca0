//! A plan for people.
//!
//! ```text
//! code
//!   0  loop ...
//!
//! budget of each of ranks 0 to 3
//!   write     10000   10240000 bytes
//!   reads 0 B, writes 9.77 MiB, makes 10000 files and 0 directories
//! ```

use super::figures::Figures;
use engine::supervise::Calls;
use model::Plan;
use model::rehearsal::{Peak, Rehearsal};
use model::units::format_bytes;
use std::fmt::Write;
use std::ops::Range;

/// Kinds of ranks that are shown one by one.
const SHOWN: usize = 8;

/// Said where the figures are not those of the whole program.
const UP_TO_THERE: &str = "these are the figures up to there";

/// Said where figures depend on time.
const TIMED: &str = "\nhow often loops with a time limit iterate depends on the speed of the storage: these \
                     figures are those of the rehearsal, on storage of its own\n";

/// Code, budget and calls.
pub fn render(plan: &Plan, rehearsal: &Rehearsal, calls: Option<&Calls>) -> String {
    let mut out = String::from("code\n");
    for line in ppl::listing(plan).lines() {
        let _ = writeln!(out, "  {line}");
    }
    let kinds = &rehearsal.ranks;
    for (ranks, rank) in kinds.iter().take(SHOWN) {
        section(&mut out, &title(ranks), &Figures::of(rank, rehearsal), plan);
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

fn section(out: &mut String, title: &str, figures: &Figures, plan: &Plan) {
    let _ = writeln!(out, "\nbudget of {title}{}", if figures.exact { "" } else { ", about" });
    let name = figures.ops.iter().map(|(op, _)| op.name().len()).max().unwrap_or(0);
    let count = figures.ops.iter().map(|(_, op)| op.count).max().unwrap_or(0).to_string().len();
    for (op, sum) in &figures.ops {
        let _ = write!(out, "  {:<name$}  {:>count$}", op.name(), sum.count);
        if sum.bytes > 0 {
            let _ = write!(out, "  {} bytes", sum.bytes);
        }
        if sum.about {
            out.push_str("  about");
        }
        out.push('\n');
    }
    // What is "about" as a whole says so in its title.
    let about = if figures.footprint_exact || !figures.exact { "" } else { "about " };
    let _ = writeln!(
        out,
        "  reads {}, writes {}, makes {} files and {} directories, {about}{} at one time",
        format_bytes(figures.read_bytes),
        format_bytes(figures.written_bytes),
        figures.files,
        figures.directories,
        figures.footprint().files
    );
    let _ = writeln!(
        out,
        "  needs {about}{} of storage and {} of buffers, keeps {} files open between operations",
        format_bytes(figures.footprint().bytes),
        format_bytes(figures.buffer_bytes),
        figures.handles
    );
    for (name, Peak { bytes, files }) in directories(plan, figures) {
        let name = if name.is_empty() { "the run directory".into() } else { format!("{name}:") };
        let bytes = format_bytes(bytes);
        let _ = writeln!(out, "  of that in {name} {about}{bytes}, {files} files at one time");
    }
}

/// What each of several directories needs.
fn directories<'a>(plan: &'a Plan, figures: &Figures) -> Vec<(&'a str, Peak)> {
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
