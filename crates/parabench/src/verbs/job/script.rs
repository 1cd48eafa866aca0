//! The text of a submit script.

use super::scheduler::Request;
use super::{HEAD, Job};
use model::escape;
use std::borrow::Cow;
use std::path::Path;

/// The whole script. `options`: the words after `parabench run`.
pub(crate) fn write(job: &Job, ranks: u32, options: &[String]) -> String {
    let Job { nodes, ranks_per_node, time, scheduler, .. } = *job;
    let request = Request { name: name(&options[0]), nodes, ranks_per_node, time };
    let what = escape::line(&options[0]);
    let file = job.script.as_deref().unwrap_or(Path::new("FILE")).display().to_string();
    let file = escape::line(&quoted(&file));
    let (submit, directives) = (scheduler.submit(), scheduler.directives(&request).join("\n"));
    let (modules, submitted_in) = (modules(job), scheduler.submitted_in());
    let (mpicc, remark) = (quoted(&job.mpicc), scheduler.remark());
    let run = run(job, &scheduler.launcher(&request), options);
    format!(
        r#"{HEAD}{what} with {ranks} ranks: {nodes} x {ranks_per_node} (nodes x ranks per node).
# Submit it: {submit} {file}
{directives}

# The MPI of the site: module avail
{modules}

set -eu
cd "{submitted_in}"

# The library between Parabench and this MPI, compiled by the first job. Remove the file
# when the MPI is another one.
export PARABENCH_MPI_SHIM="$PWD/parabench-mpi.so"
if [ ! -e "$PARABENCH_MPI_SHIM" ]; then
    parabench mpi build --mpicc {mpicc} -o "$PARABENCH_MPI_SHIM"
fi

# The directory of the run is one that all nodes see: --dir D, or a new one here.
# {remark}
{run}

# What was measured, also after a limit or a lost node:
#   parabench report RESULTS
"#
    )
}

/// The program without its folder and ending, in letters that every batch system takes.
fn name(program: &str) -> String {
    let stem = Path::new(program).file_stem().and_then(|stem| stem.to_str());
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    stem.unwrap_or_default().trim_start_matches('@').chars().map(plain).collect()
}

/// Loads the site's MPI. Shell code of sites is not made for `set -eu`, and a shell that is no login shell may not
/// have it.
fn modules(job: &Job) -> String {
    if job.modules.is_empty() {
        return "# module load mpi || exit 1".into();
    }
    let load = |name: &String| format!("\nmodule load {} || exit 1", quoted(name));
    let load: String = job.modules.iter().map(load).collect();
    format!("type module > /dev/null 2>&1 || . /etc/profile{load}")
}

/// The line that starts the run, after the folder for the results, which the number of the job may follow.
fn run(job: &Job, launcher: &str, options: &[String]) -> String {
    let out = job.out.display().to_string();
    let out = if out.starts_with('-') { format!("./{out}") } else { out };
    let out = match out.trim_end_matches('/') {
        "" => &out,
        trimmed => trimmed,
    };
    let out = quoted(out);
    let words: Vec<Cow<'_, str>> = options.iter().map(|word| quoted(word)).collect();
    let run = format!("{launcher} parabench run {}", words.join(" "));
    match job.resume {
        false => format!("out={out}-\"{}\"\n{run} --out \"$out\"", job.scheduler.number()),
        true => format!(
            r#"out={out}
# Submitted again, the sweep goes on with what is missing.
if [ -e "$out/run.json" ]; then store=--resume; else store=--out; fi
{run} "$store" "$out""#
        ),
    }
}

/// A word of the shell. (A command line holds no NUL, which alone cannot be quoted.)
fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or_default()
}
