//! A plan for programs.

use super::figures::Figures;
use engine::supervise::Calls;
use model::Plan;
use model::rehearsal::Rehearsal;
use serde_json::{Value, json};

/// One object: `program ranks code budget all complete calls`.
pub fn render(name: &str, plan: &Plan, rehearsal: &Rehearsal, calls: Option<&Calls>) -> String {
    let budget = rehearsal.ranks.iter().map(|(ranks, rank)| {
        let mut object = figures(&Figures::of(rank, rehearsal), plan);
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

fn figures(figures: &Figures, plan: &Plan) -> Value {
    let ops = figures.ops.iter().map(|(op, sum)| {
        json!({"op": op.name(), "count": sum.count, "bytes": sum.bytes, "exact": !sum.about})
    });
    let further = plan.directories.iter().map(|directory| &*directory.name);
    let names = std::iter::once("").chain(further);
    let footprints = names
        .zip(&figures.footprints)
        .map(|(name, peak)| json!({"directory": name, "bytes": peak.bytes, "files": peak.files}));
    json!({
        "ops": ops.collect::<Vec<_>>(),
        "read_bytes": figures.read_bytes,
        "written_bytes": figures.written_bytes,
        "files": figures.files,
        "directories": figures.directories,
        "footprint_bytes": figures.footprint().bytes,
        "footprint_files": figures.footprint().files,
        "footprint_of": footprints.collect::<Vec<_>>(),
        "footprint_exact": figures.footprint_exact,
        "buffer_bytes": figures.buffer_bytes,
        "handles": figures.handles,
        "exact": figures.exact,
    })
}
