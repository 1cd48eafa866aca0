//! Runs plans on files in memory, in virtual time: every figure is exact.

use engine::collect::{Collected, collect};
use engine::comm::End;
use engine::config::{BackendKind, Config};
use engine::supervise::{Outcome, list_calls, run_sim};
use model::Plan;

pub fn config() -> Config {
    Config { directory: "/run".into(), backend: BackendKind::Mem, ..Config::default() }
}

pub fn run(plan: &Plan) -> (Outcome, Collected) {
    run_with(plan, &config())
}

pub fn run_with(plan: &Plan, config: &Config) -> (Outcome, Collected) {
    let outcome = run_sim(plan, config, &[], &mut |_| {}).expect("it starts");
    let collected = collect(&outcome.records, plan);
    (outcome, collected)
}

/// Rows as `label op count failed short bytes mean`.
pub fn rows(collected: &Collected) -> Vec<String> {
    let row = |row: &model::run::Row| {
        let mean = row.mean_ns.unwrap_or(-1.0);
        format!(
            "{:?} {} {} {} {} {} {mean}",
            row.label, row.op, row.count, row.failed, row.short, row.bytes
        )
    };
    collected.rows.iter().map(row).collect()
}

pub fn calls(plan: &Plan) -> Vec<String> {
    let listed = list_calls(plan, &config(), 0..1, 100).expect("it starts");
    listed.ranks.into_iter().flat_map(|(_, lines)| lines).collect()
}

/// The error of a plan for one rank: its line and message.
pub fn error(plan: &Plan) -> String {
    let (outcome, collected) = run(plan);
    assert_eq!(outcome.ends, [End::Failed]);
    let error = &collected.rank_errors[0];
    format!("{}: {}", error.place, error.message)
}
