//! The text of a submit script.

use super::scheduler::Request;
use super::{HEAD, Job};
use model::escape;
use std::borrow::Cow;
use std::path::Path;

/// A job to be written down.
pub(super) struct Script<'a> {
    pub(super) job: &'a Job,
    pub(super) ranks: u32,
    /// The words after `parabench run`.
    pub(super) options: &'a [String],
}

impl Script<'_> {
    /// The whole script.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![self.head()];
        lines.extend(self.job.scheduler.directives(&self.request()));
        lines.push(String::new());
        lines.extend(self.modules());
        lines.push(format!("\nset -eu\ncd \"{}\"\n", self.job.scheduler.submitted_in()));
        lines.extend(self.shim());
        lines.push(String::new());
        lines.extend(self.run());
        lines.join("\n") + "\n"
    }

    fn request(&self) -> Request {
        let Job { nodes, ranks_per_node, time, .. } = *self.job;
        Request { name: self.name(), nodes, ranks_per_node, time }
    }

    /// The program without its folder and ending, in letters that every batch system takes.
    fn name(&self) -> String {
        let stem = Path::new(&self.options[0]).file_stem().and_then(|stem| stem.to_str());
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        stem.unwrap_or_default().trim_start_matches('@').chars().map(plain).collect()
    }

    fn head(&self) -> String {
        let Job { nodes, ranks_per_node, scheduler, .. } = self.job;
        let file = self.job.script.as_deref().unwrap_or(Path::new("FILE"));
        let (what, submit) = (escape::line(&self.options[0]), scheduler.submit());
        format!(
            "{HEAD}{what} with {} ranks: {nodes} x {ranks_per_node} (nodes x ranks per node).\n\
             # Submit it: {submit} {}",
            self.ranks,
            escape::line(&quoted(&file.display().to_string()))
        )
    }

    /// The site's MPI. Shell code of sites is not made for `set -eu`, and a shell that is no login shell may
    /// not have it.
    fn modules(&self) -> Vec<String> {
        let mut lines = vec!["# The MPI of the site: module avail".to_string()];
        match self.job.modules.is_empty() {
            true => lines.push("# module load mpi || exit 1".into()),
            false => {
                lines.push("type module > /dev/null 2>&1 || . /etc/profile".into());
                let names = self.job.modules.iter();
                lines.extend(names.map(|name| format!("module load {} || exit 1", quoted(name))));
            }
        }
        lines
    }

    /// The library that connects Parabench to the MPI.
    fn shim(&self) -> Vec<String> {
        let mpicc = quoted(&self.job.mpicc);
        vec![
            "# The library between Parabench and this MPI, compiled by the first job. Remove the file".into(),
            "# when the MPI is another one.".into(),
            "export PARABENCH_MPI_SHIM=\"$PWD/parabench-mpi.so\"".into(),
            "if [ ! -e \"$PARABENCH_MPI_SHIM\" ]; then".into(),
            format!("    parabench mpi build --mpicc {mpicc} -o \"$PARABENCH_MPI_SHIM\""),
            "fi".into(),
        ]
    }

    /// The folder for the results, which the number of the job may follow.
    fn out(&self) -> String {
        let out = self.job.out.display().to_string();
        let folder = if out.starts_with('-') { format!("./{out}") } else { out };
        match folder.trim_end_matches('/') {
            "" => folder,
            trimmed => trimmed.into(),
        }
    }

    fn run(&self) -> Vec<String> {
        let scheduler = self.job.scheduler;
        let words: Vec<Cow<'_, str>> = self.options.iter().map(|word| quoted(word)).collect();
        let out = self.out();
        let launcher = scheduler.launcher(&self.request());
        let mut lines = vec![
            "# The directory of the run is one that all nodes see: --dir D, or a new one here."
                .into(),
            format!("# {}", scheduler.remark()),
        ];
        match self.job.resume {
            false => {
                lines.push(format!("out={}-\"{}\"", quoted(&out), scheduler.number()));
                lines.push(format!("{launcher} parabench run {} --out \"$out\"", words.join(" ")));
            }
            true => lines.extend([
                format!("out={}", quoted(&out)),
                "# Submitted again, the sweep goes on with what is missing.".into(),
                "if [ -e \"$out/run.json\" ]; then store=--resume; else store=--out; fi".into(),
                format!("{launcher} parabench run {} \"$store\" \"$out\"", words.join(" ")),
            ]),
        }
        lines.extend([
            "\n# What was measured, also after a limit or a lost node:".into(),
            "#   parabench report RESULTS".into(),
        ]);
        lines
    }
}

/// A word of the shell. (A command line holds no NUL, which alone cannot be quoted.)
fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or_default()
}
