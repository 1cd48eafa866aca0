//! The comment at the head of an approximate program: what is as recorded, what is assumed and what is left out.

use super::groups::Group;
use super::work::{Layer, Who, Work};
use super::{Calls, Source, totals};
use crate::fold::Options;
use model::run::TraceAmounts;
use model::units::format_ns;
use model::words::{count, list};

impl Source<'_> {
    /// The comment at the head: what is as recorded, and what is not.
    pub(super) fn head(&self, groups: &[Group], calls: Calls, options: &Options) -> Vec<String> {
        let mut head = options.head.clone();
        head.push("APPROXIMATE: the log has no operations, only sums of each file.".into());
        let layers = [Layer::Mpi, Layer::Posix, Layer::Stdio];
        let mut differences = Vec::new();
        for (layer, module) in layers.iter().filter_map(|it| Some((*it, self.module(*it)?))) {
            let planned = totals::planned(groups, layer, self.ranks);
            let left_out = self.doubled.iter().chain(&self.unused);
            let left_out = left_out.filter(|file| file.module == layer.name());
            let recorded = totals::recorded(module, left_out.copied());
            let sums = format!("As recorded, {}: {}.", layer.name(), totals::text(&planned));
            head.extend((planned != totals::Totals::default()).then_some(sums));
            let other = totals::differences(&planned, &recorded).into_iter();
            differences.extend(other.map(|it| format!("{it} ({})", layer.name())));
        }
        let differ = (!differences.is_empty()).then(|| format!("But: {}.", list(&differences)));
        head.extend(differ);
        head.push(
            "Sizes are the common ones of each file, or means. Order, offsets and labels are made up."
                .into(),
        );
        head.extend(self.assumptions(groups));
        head.extend(self.left_out(calls));
        let prepare = if groups.iter().any(needs_files) { " --prepare" } else { "" };
        head.push(self.how_to_run(options, groups, prepare));
        head
    }

    /// Sentences on what the log does not have.
    fn assumptions(&self, groups: &[Group]) -> Vec<String> {
        let works = || groups.iter().flat_map(|group| &group.works);
        let number = |is: &dyn Fn(&Work) -> bool| works().filter(|work| is(work)).count();
        let dealt = number(&|work| work.who == Who::One(None) && self.ranks > 1);
        let first = number(&|work| matches!(work.who, Who::First(_)));
        let streams = number(&|work| work.layer == Layer::Stdio);
        let own = |work: &Work| work.layer == Layer::Mpi && work.who != Who::All;
        let made_up: usize =
            groups.iter().filter(|group| group.files > group.works.len()).map(|it| it.files).sum();
        let all = [
            (dealt, "dealt out to the ranks in turn: the log does not have their rank"),
            (first, "used by some ranks: the first ones take their place"),
            (streams, "used as streams (STDIO): here each transfer is a call, without a buffer"),
            (number(&own), "opened by MPI-IO on each rank alone (comm=\"self\")"),
            (made_up, "not listed by the run: they have names that are made up, and means"),
        ];
        let said = all.into_iter().filter(|(files, _)| *files > 0);
        said.map(|(files, what)| {
            let verb = if files == 1 { "is" } else { "are" };
            format!("{} {verb} {what}.", count(files, "file"))
        })
        .collect()
    }

    /// Sentences on what the program does not do.
    fn left_out(&self, calls: Calls) -> Vec<String> {
        let posix = |name| self.counter(Layer::Posix, name);
        let known = [
            (posix("seeks").saturating_add(self.counter(Layer::Stdio, "seeks")), "seek"),
            (calls.stats, "stat"),
            (calls.fsyncs, "fsync"),
            (posix("renames"), "rename"),
            (posix("mmaps"), "mmap"),
            (self.counter(Layer::Stdio, "syncs"), "flush of streams"),
            (self.counter(Layer::Mpi, "syncs"), "sync of MPI-IO"),
            (self.counter(Layer::Mpi, "views"), "view"),
        ];
        let calls = known.into_iter().filter(|(calls, _)| *calls > 0);
        let mut left_out: Vec<String> = calls.map(|(calls, noun)| count(calls, noun)).collect();
        let doubled = self.doubled.iter().filter(|file| file.module == Layer::Posix.name()).count();
        left_out.extend(
            (doubled > 0)
                .then(|| format!("what POSIX did to {} for MPI-IO", count(doubled, "file"))),
        );
        let unused = self.unused.len();
        left_out.extend((unused > 0).then(|| count(unused, "file that is not opened")));
        let other = self.trace.modules.iter().filter(|it| Layer::of_module(&it.name).is_none());
        left_out.extend(other.map(|module| format!("calls of {}", module.name)));
        left_out.extend(self.pauses());
        match left_out.is_empty() {
            true => Vec::new(),
            false => vec![format!("Left out: {}.", list(&left_out))],
        }
    }

    /// The time of a rank without I/O.
    fn pauses(&self) -> Option<String> {
        let jobs = self.trace.logs.iter().filter_map(|log| log.job.as_ref());
        let run_ns = jobs.map(|job| job.run_ns).max().filter(|ns| *ns > 0)?;
        let layers = self.trace.modules.iter().filter(|it| Layer::of_module(&it.name).is_some());
        let mut busy = TraceAmounts::default();
        layers.for_each(|module| busy.add(&module.amounts));
        // The time of one layer is part of the other's.
        let doubled = self.doubled.iter().map(|file| file.amounts.busy_ns());
        let busy_ns = busy.busy_ns().saturating_sub(doubled.fold(0, u64::saturating_add));
        let idle = run_ns.saturating_sub(busy_ns / u64::from(self.ranks));
        let [idle, run] = [idle, run_ns].map(|ns| format_ns(ns as f64));
        Some(format!("pauses, {idle} of {run} in the mean of all ranks"))
    }

    fn how_to_run(&self, options: &Options, groups: &[Group], prepare: &str) -> String {
        let name = options.name.as_deref().unwrap_or("FILE");
        let ranks = if self.ranks > 1 { format!(" -n {}", self.ranks) } else { String::new() };
        let is_mpi = groups.iter().any(|group| group.works[0].layer == Layer::Mpi);
        let mpi = if is_mpi { " --mpi" } else { "" };
        format!("Run it: parabench run {name}{ranks}{mpi}{prepare}")
    }
}

/// The program expects files or directories of the group.
fn needs_files(group: &Group) -> bool {
    group
        .works
        .iter()
        .any(|work| work.path.contains('/') || work.writes.is_empty() || work.reads_first)
}
