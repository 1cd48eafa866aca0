//! Options of the command line that this run has no use for: a remark says so.

use super::args::Run;
use engine::config::BackendKind;

/// Options without effect, in sentences. `joined`: a launcher has started this process.
pub fn remarks(run: &Run, joined: bool) -> Vec<String> {
    let Run { directory, results, job, .. } = run;
    let no_directory = run.execution.backend != BackendKind::Posix;
    let nothing_to_force = results.out.is_none() && (no_directory || directory.dir.is_none());
    let of_directories = [
        ("--dir", directory.dir.is_some()),
        ("--against", run.sweep.against.is_some()),
        ("--keep", directory.keep),
        ("--clean", directory.clean),
        ("--confine", directory.confine),
        ("--no-confine", directory.no_confine),
        ("--no-preflight", directory.no_preflight),
    ];
    let force = [("--force", directory.force && nothing_to_force)];
    let starting = [("--mpi", job.mpi), ("--launcher", job.launcher.is_some())];
    let remarks = [
        remark(no_directory, &of_directories, "only the posix back-end uses a directory"),
        remark(true, &force, "neither a directory nor --out is there to be forced"),
        remark(joined, &starting, "a launcher has started the ranks already"),
    ];
    remarks.into_iter().flatten().collect()
}

/// The options among these that were given, and why they do nothing, if that `holds`.
fn remark(holds: bool, options: &[(&str, bool)], why: &str) -> Option<String> {
    let given = options.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    let names = given.collect::<Vec<_>>().join(", ");
    (holds && !names.is_empty()).then(|| format!("without effect: {names}: {why}"))
}
