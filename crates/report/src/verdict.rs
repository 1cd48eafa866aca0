//! What the evidence of a run says against its figures: marks with reasons.
//!
//! A mark that counts gives exit code 3 under `--strict`; the others are remarks. Each rule is a
//! function from the run to at most one mark, so that a run made by anybody (an imported trace
//! too) is judged alike. The list for users is docs/verdicts.md.

mod client;
mod data;
mod labels;
mod machine;
mod mpi;
mod run;

use model::run::{Mark, Run, Storage};

/// One rule: a mark, or nothing where the run gives no reason.
type Rule = fn(&Run) -> Option<Mark>;

/// All rules; their marks stand in this order.
const RULES: [Rule; 30] = [
    run::failed,
    run::short,
    run::dropped_events,
    run::option_without_effect,
    run::too_short,
    run::clock_cost,
    run::clock_skew,
    run::clock_backward,
    run::clock_drift,
    run::suspended,
    data::memory_storage,
    machine::loop_device,
    machine::unlike_mounts,
    data::cached_reads,
    data::unfetched_reads,
    data::unstable_writes,
    data::warm_names,
    data::serial_queue,
    data::null_engine,
    data::unknown_zeros,
    mpi::lost_bytes,
    mpi::holes,
    mpi::hang,
    machine::starved,
    machine::stolen_time,
    machine::throttled,
    client::saturated,
    client::crowded,
    client::unequal_work,
    client::rate_not_reached,
];

/// Judges a run.
pub fn marks(run: &Run) -> Vec<Mark> {
    RULES.iter().filter_map(|rule| rule(run)).collect()
}

/// A mark that counts.
fn counts(code: &str, seen: String, advice: &str) -> Option<Mark> {
    Some(Mark { code: code.into(), counts: true, seen, advice: advice.into(), executions: None })
}

/// A remark.
fn remark(code: &str, seen: String, advice: &str) -> Option<Mark> {
    Some(Mark { code: code.into(), counts: false, seen, advice: advice.into(), executions: None })
}

/// Virtual time costs nothing and measures nothing: there is nothing to mistrust in it.
fn is_virtual(run: &Run) -> bool {
    run.run.evidence.clock == "virtual"
}

/// Whether the run met real storage: neither the memory of a simulation nor nothing at all.
fn has_storage(run: &Run) -> bool {
    !matches!(run.run.backend.as_str(), "mem" | "null")
}

/// Some of the bytes read went through MPI-IO, which opens its files as it wants.
fn reads_by_mpi(run: &Run) -> bool {
    run.rows.iter().any(|row| row.bytes > 0 && matches!(row.op.as_str(), "pread" | "pfread"))
}

/// What keeps the files in main memory, if something does: a file system (tmpfs) or a device below
/// it (ram disk).
fn in_memory(run: &Run) -> Option<&str> {
    memory_of(&run.run.host.storage)
}

/// The same of a file system and the devices below it.
fn memory_of(storage: &Storage) -> Option<&str> {
    let Storage { file_system, devices, .. } = storage;
    let is_memory = matches!(&**file_system, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs");
    let device = devices.iter().find(|device| device.kind == "memory");
    is_memory.then_some(&**file_system).or(device.map(|device| &*device.name))
}

/// Rank time: the run's duration once for every rank, nanoseconds.
fn rank_time_ns(run: &Run) -> f64 {
    run.run.duration_wall_ns as f64 * f64::from(run.run.ranks.max(1))
}

#[cfg(test)]
mod tests;
