//! What stands around the tables: title, evidence, notes, failures, ends of ranks.

use super::{Paint, Terminal, paint_lines};
use crate::text::{at_least, escape, flow, percent, wrap};
use model::errno;
use model::run::{Evidence, Failure, Host, Job, Node, RankError, Run, Storage, Trace};
use model::sweep::{Execution, Machines};
use model::units::{format_ns, significant};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Labels whose cost of data is told; the rest is counted.
const LABELS_SHOWN: usize = 3;
/// Kinds of failures that are listed; the rest is counted.
const LISTED: usize = 20;
/// Files with wrong bytes that are named; there may be more.
const FILES_NAMED: usize = 5;
/// Ranks besides the first that are named with what was wrong.
const RANKS_NAMED: usize = 3;
/// Machines of an MPI job that are named; the rest is counted.
const NODES_SHOWN: usize = 8;

/// What ran where, how long, and how it ended.
pub fn title(run: &Run, terminal: Terminal) -> String {
    let header = &run.run;
    let ranks = if let Some(sweep) = &header.sweep {
        match (sweep.cells.len(), sweep.order.len()) {
            (1, executions) => format!("{executions} executions"),
            (points, executions) => format!("sweep of {points} points, {executions} executions"),
        }
    } else if header.ranks == 1 {
        "1 rank".into()
    } else {
        format!("{} ranks", header.ranks)
    };
    let mut parts = vec![
        escape(&header.program.name),
        ranks,
        storage(run),
        duration(run).unwrap_or_default(),
        escape(&header.outcome),
    ];
    if header.exit_code != 0 {
        parts.push(format!("exit code {}", header.exit_code));
    }
    parts.retain(|part| !part.is_empty());
    let how = if header.exit_code == 0 { Paint::Heading } else { Paint::Bad };
    paint_lines(&wrap(&parts, " · ", terminal.columns), how, terminal)
}

/// How long the run took; none of a log that tells no times.
pub fn duration(run: &Run) -> Option<String> {
    let ns = run.run.duration_wall_ns;
    (ns > 0 || run.run.trace.is_none()).then(|| format_ns(ns as f64))
}

/// `posix on ext4 (/dev/sda1 at /data) and fast on xfs (/dev/nvme0n1 at /local)`, as far as it is
/// known.
pub fn storage(run: &Run) -> String {
    let backend = escape(&run.run.backend);
    let cells = run.run.sweep.iter().flat_map(|sweep| &sweep.cells);
    let hosts = std::iter::once(&run.run.host).chain(cells.filter_map(|cell| cell.host.as_ref()));
    let all = |host: &Host| {
        let further = host.directories.iter().filter_map(|further| {
            Some(format!("{} on {}", further.name, storage_of(&further.storage)?))
        });
        let all = storage_of(&host.storage).into_iter().chain(further);
        all.map(|place| escape(&place)).collect::<Vec<_>>()
    };
    let mut places: Vec<String> = hosts.flat_map(all).collect();
    let mut seen = BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    if places.is_empty() { backend } else { format!("{backend} on {}", places.join(" and ")) }
}

/// `ext4 (/dev/sda1 at /data)`; `None`: nothing is known.
pub fn storage_of(storage: &Storage) -> Option<String> {
    let Storage { file_system, device, mount, .. } = storage;
    (!file_system.is_empty()).then(|| format!("{file_system} ({device} at {mount})"))
}

/// The line of evidence and the notes below it.
pub fn evidence(run: &Run, terminal: Terminal) -> String {
    let mut lines = vec![wrap(&facts(run), " · ", terminal.columns)];
    for note in &run.run.evidence.notes {
        lines.push(flow(&format!("note: {}", escape(note)), terminal.columns));
    }
    lines.join("\n")
}

/// What the evidence says against the figures, and what to do about it.
pub fn marks(run: &Run, terminal: Terminal) -> String {
    let lines = run.run.evidence.marks.iter().map(|mark| {
        let (word, how) = match mark.counts {
            true => ("verdict", Paint::Bad),
            false => ("remark", Paint::Plain),
        };
        let (code, seen) = (escape(&mark.code), escape(&mark.seen_in_executions()));
        let seen = flow(&format!("{word} {code}: {seen}"), terminal.columns);
        let advice = flow(&format!("  to do: {}", escape(&mark.advice)), terminal.columns);
        format!(
            "{}\n{}",
            paint_lines(&seen, how, terminal),
            paint_lines(&advice, Paint::Faint, terminal)
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A run that was cut off does not tell its clock.
fn clock(evidence: &Evidence) -> String {
    if evidence.clock.is_empty() {
        return "clock not told".into();
    }
    let read_ns = significant(evidence.clock_read_ns);
    format!("clock {}, {read_ns} ns per reading", escape(&evidence.clock))
}

/// What is known about the measuring, a few words each.
pub fn facts(run: &Run) -> Vec<String> {
    let evidence = &run.run.evidence;
    if let Some(trace) = &run.run.trace {
        return imported(trace, evidence);
    }
    let mut facts = vec![clock(evidence)];
    facts.extend(page_cache(evidence));
    facts.extend([
        format!("failed {}", evidence.failed),
        format!("short {}", evidence.short),
        format!("seed {}", run.run.seed),
        format!("confinement: {}", escape(&evidence.confinement)),
    ]);
    facts.extend(run.run.job.as_ref().map(job));
    facts.extend(Some(run.run.batch.clone()).filter(|batch| !batch.is_empty()));
    facts.extend(elsewhere(run));
    let rank_time_ns = run.run.duration_wall_ns as f64 * f64::from(run.run.ranks);
    // The meter also counts the start and end of a rank, tens of microseconds.
    if evidence.cpu_ns > 0 && run.run.duration_wall_ns >= 10_000_000 {
        facts
            .push(format!("processor {} per rank", percent(evidence.cpu_ns as f64 / rank_time_ns)));
    }
    facts.extend(filling(run));
    facts.extend(sampled(run));
    facts.extend(defects(evidence));
    facts
}

/// What ran where: `Open MPI v4.1.4, mpiexec of Open MPI, 2 nodes: a (ranks 0-3), b (ranks 4-7)`.
pub fn job(job: &Job) -> String {
    let told = [&job.mpi, &job.launcher, &job.batch].into_iter().filter(|text| !text.is_empty());
    let mut facts: Vec<String> = told.map(|text| escape(text)).collect();
    let shown = job.nodes.iter().take(NODES_SHOWN);
    let node = |node: &Node| {
        let plural = if node.size() == 1 { "" } else { "s" };
        format!("{} (rank{plural} {})", escape(&node.host), node.spans())
    };
    let mut nodes: Vec<String> = shown.map(node).collect();
    if job.nodes.len() > NODES_SHOWN {
        nodes.push(format!("and {} more", job.nodes.len() - NODES_SHOWN));
    }
    facts.push(match job.nodes.len() {
        1 => format!("1 node: {}", nodes.join(", ")),
        count => format!("{count} nodes: {}", nodes.join(", ")),
    });
    facts.extend(binding(job));
    facts.join(", ")
}

/// Executions of a sweep that ran before it was resumed on other machines:
/// `5 of 27 executions ran on a, b`.
pub fn elsewhere(run: &Run) -> Option<String> {
    let sweep = run.run.sweep.as_ref()?;
    let mut groups: Vec<(Vec<&str>, usize)> = Vec::new();
    let of = |execution: &Execution| sweep.machines.get(execution.machines? as usize);
    for machines in sweep.order.iter().filter_map(of) {
        let hosts = machines.hosts();
        match groups.iter_mut().find(|(known, _)| *known == hosts) {
            Some((_, count)) => *count += 1,
            None => groups.push((hosts, 1)),
        }
    }
    let told = groups.iter().map(|(hosts, count)| {
        let noun = if sweep.order.len() == 1 { "execution" } else { "executions" };
        format!("{count} of {} {noun} ran on {}", sweep.order.len(), few(hosts))
    });
    (!groups.is_empty()).then(|| told.collect::<Vec<_>>().join(", "))
}

/// `node1, node2 and 3 more`
fn few(hosts: &[&str]) -> String {
    let shown: Vec<String> =
        hosts.iter().take(NODES_SHOWN).map(|host| escape(host).to_string()).collect();
    match hosts.len().saturating_sub(NODES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Which processors the ranks may use: once, or where machines differ of each.
fn binding(job: &Job) -> Option<String> {
    let first = job.nodes.first()?.binding()?;
    if job.nodes.iter().all(|node| node.binding().as_ref() == Some(&first)) {
        return Some(first);
    }
    let told = |node: &Node| Some(format!("on {} {}", escape(&node.host), node.binding()?));
    let told = job.nodes.iter().take(NODES_SHOWN).filter_map(told);
    Some(told.collect::<Vec<_>>().join("; "))
}

/// The machine, or all machines of a job or of a sweep that was resumed on others: `node1`,
/// `node1, node2, node3`.
pub fn hosts(run: &Run) -> String {
    few(&all_hosts(run))
}

/// All machines that took part, each once.
pub fn all_hosts(run: &Run) -> Vec<&str> {
    let before = run.run.sweep.iter().flat_map(|sweep| &sweep.machines).flat_map(Machines::hosts);
    let nodes = run.run.job.as_ref().map_or(&[][..], |job| &job.nodes);
    let own: Vec<&str> = match nodes {
        [] => vec![&run.run.host.name],
        nodes => nodes.iter().map(|node| &*node.host).collect(),
    };
    let mut seen = HashSet::new();
    before.chain(own).filter(|host| seen.insert(*host)).collect()
}

/// The same of imported logs: others measured.
fn imported(trace: &Trace, evidence: &Evidence) -> Vec<String> {
    let lines = trace.logs.iter().fold(0, |sum: u64, log| sum.saturating_add(log.lines));
    let logs = match &trace.logs[..] {
        [_] => "a log".to_string(),
        logs => format!("{} logs", logs.len()),
    };
    // What is no text has records.
    let unit = if trace.format == "darshan" { "records" } else { "lines" };
    let mut facts = vec![
        format!("imported from {logs} of {}, {lines} {unit}", escape(&trace.format)),
        format!("failed {}", evidence.failed),
        format!("short {}", evidence.short),
    ];
    if !trace.root.is_empty() {
        facts.push(format!("paths below {}", escape(&trace.root)));
    }
    facts
}

/// `filling data 0.21 ns/B, 1.3 % per rank (label "a" 0.2 ns/B, label "b" 0.3 ns/B)`: what it cost to make
/// the data that was written, outside of every operation.
fn filling(run: &Run) -> Option<String> {
    let mut labels: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for label in &run.run.evidence.labels {
        let verified = label.verified.as_ref().map_or(0, |verified| verified.filled_bytes);
        let bytes = label.written_bytes.saturating_sub(verified);
        if let Some(ns) = label.fill_ns.filter(|_| bytes > 0) {
            let sum = labels.entry(&label.label).or_default();
            *sum = (sum.0.saturating_add(ns), sum.1.saturating_add(bytes));
        }
    }
    let add = |sum: (u64, u64), one: &(u64, u64)| {
        (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
    };
    let (ns, bytes) = labels.values().fold((0, 0), add);
    let rank_time_ns = run.run.duration_wall_ns as f64 * f64::from(run.run.ranks);
    (bytes > 0 && rank_time_ns > 0.0).then(|| {
        let (cost, share) = (per_byte((ns, bytes)), percent(ns as f64 / rank_time_ns));
        format!("filling data {cost}, {share} per rank{}", of_labels(&labels))
    })
}

fn per_byte((ns, bytes): (u64, u64)) -> String {
    format!("{} ns/B", significant(ns as f64 / bytes as f64))
}

/// The same of each label, if there are several.
fn of_labels(labels: &BTreeMap<&str, (u64, u64)>) -> String {
    let one = |(label, cost): (&&str, &(u64, u64))| match *label {
        "" => format!("outside of labels {}", per_byte(*cost)),
        label => format!("label \"{}\" {}", escape(label), per_byte(*cost)),
    };
    let mut each: Vec<String> = labels.iter().take(LABELS_SHOWN).map(one).collect();
    if labels.len() > LABELS_SHOWN {
        each.push(format!("and {} more", labels.len() - LABELS_SHOWN));
    }
    if labels.len() > 1 { format!(" ({})", each.join(", ")) } else { String::new() }
}

/// What the event table holds, if that is not everything by choice.
fn sampled(run: &Run) -> Option<String> {
    let events = run.run.events.as_ref().filter(|events| events.sample_every > 1)?;
    Some(format!("events are a sample of 1/{}: {}", events.sample_every, events.count))
}

/// Facts that are worth a word only when they are not zero.
fn defects(evidence: &Evidence) -> impl Iterator<Item = String> {
    let skew = (evidence.clock_skew_ns > 0)
        .then(|| format!("clocks differ by up to {}", format_ns(evidence.clock_skew_ns as f64)));
    let dropped = (evidence.dropped_events > 0)
        .then(|| format!("{} events not kept", evidence.dropped_events));
    let overhead = (evidence.event_overhead_ns > 0)
        .then(|| format!("keeping events took {}", format_ns(evidence.event_overhead_ns as f64)));
    let labels = (evidence.labels_beyond_limit > 0)
        .then(|| format!("{} labels in (more)", evidence.labels_beyond_limit));
    [skew, dropped, overhead, labels].into_iter().flatten()
}

/// A lower bound of nothing says nothing.
fn page_cache(evidence: &Evidence) -> Option<String> {
    Some(match evidence.page_cache_share.filter(|share| share.is_finite()) {
        Some(share) if share <= 0.0 => return None,
        Some(share) => format!("page cache served {} of the bytes read", at_least(share)),
        None if evidence.program_read_bytes == 0 && has_checked(evidence) => {
            "read only by operations that failed".to_string()
        }
        None if evidence.program_read_bytes == 0 => "nothing read".to_string(),
        None if is_direct(evidence) => "all reads were direct".to_string(),
        None => "page cache share cannot be told".to_string(),
    })
}

/// Bytes were read and found to be wrong: those of an operation that failed are in no row.
fn has_checked(evidence: &Evidence) -> bool {
    let verified = evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    verified.into_iter().any(|data| data.checked_bytes > 0)
}

/// Everything was read around the page cache.
fn is_direct(evidence: &Evidence) -> bool {
    let direct = evidence.labels.iter().map(|label| label.direct_read_bytes);
    direct.fold(0, u64::saturating_add) >= evidence.program_read_bytes
}

/// Failed operations, those of one kind and place together.
pub fn failures(run: &Run, terminal: Terminal) -> String {
    let mut kinds: Vec<FailureKind<'_>> = Vec::new();
    for failure in &run.run.failures {
        let same = |kind: &&mut FailureKind<'_>| {
            let first = kind.first;
            (&first.place, &first.op, first.errno) == (&failure.place, &failure.op, failure.errno)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.add(failure),
            None => kinds.push(FailureKind::new(failure)),
        }
    }
    let listed = kinds.iter().take(LISTED);
    let told = |kind: &FailureKind<'_>| flow(&kind.told(run), terminal.columns);
    let mut lines: Vec<String> = listed.map(told).collect();
    if kinds.len() > LISTED {
        lines.push(format!("and {} more kinds of failures", kinds.len() - LISTED));
    }
    paint_lines(&lines.join("\n"), Paint::Bad, terminal)
}

/// Failures of one error at one place.
struct FailureKind<'r> {
    first: &'r Failure,
    count: u64,
    /// Files, those whose bytes were wrong: each has to be looked at.
    files: BTreeSet<&'r str>,
    /// Ranks that saw other wrong bytes of the first one's file: the first failure of each.
    others: Vec<&'r Failure>,
}

impl<'r> FailureKind<'r> {
    fn new(first: &'r Failure) -> FailureKind<'r> {
        FailureKind { first, count: first.occurrences, files: BTreeSet::new(), others: Vec::new() }
    }

    fn add(&mut self, failure: &'r Failure) {
        self.count = self.count.saturating_add(failure.occurrences);
        let is_wrong = errno::name(failure.errno) == "EBADMSG";
        if is_wrong && failure.path != self.first.path {
            self.files.insert(&failure.path);
        } else if is_wrong && self.is_of_another_rank(failure) {
            self.others.push(failure);
        }
    }

    fn is_of_another_rank(&self, failure: &Failure) -> bool {
        let mut known = std::iter::once(self.first).chain(self.others.iter().copied());
        known.all(|known| known.rank != failure.rank)
    }

    /// `; so on rank 2 (corrupted at offset 10000 (1 byte)), and on 3 more ranks`
    fn of_other_ranks(&self) -> String {
        let named = self.others.iter().take(RANKS_NAMED);
        let named = named.map(|one| format!("rank {} ({})", one.rank, escape(reason(one))));
        let named: Vec<String> = named.collect();
        let more = match self.others.len().saturating_sub(RANKS_NAMED) {
            0 => String::new(),
            1 => ", and on 1 more rank".into(),
            more => format!(", and on {more} more ranks"),
        };
        if named.is_empty() { String::new() } else { format!("; so on {}{more}", named.join(", ")) }
    }

    /// `...; also in f-1, f-2, f-3, f-4 and others`
    fn told(&self, run: &Run) -> String {
        let more = if self.files.len() >= FILES_NAMED { " and others" } else { "" };
        let files: Vec<String> =
            self.files.iter().take(FILES_NAMED - 1).map(|file| escape(file).to_string()).collect();
        let also = match files.is_empty() {
            true => String::new(),
            false => format!("; also in {}{more}", files.join(", ")),
        };
        format!("{}{}{also}", failure(run, self.first, self.count), self.of_other_ranks())
    }
}

/// What it says beside the error's name.
fn reason(failure: &Failure) -> &str {
    let name = errno::name(failure.errno);
    let message = failure.message.strip_prefix(name).unwrap_or(&failure.message);
    let message = message.trim_start_matches([':', ' ']);
    if message.is_empty() { errno::text(failure.errno) } else { message }
}

/// `12 x write ENOSPC at p.ppl:9:27 (No space left on device), first: rank 0, f-0, offset 512`; of a sweep
/// `..., first: n=2, repetition 1, rank 0, ...`
fn failure(run: &Run, first: &Failure, count: u64) -> String {
    let sweep = run.run.sweep.as_ref();
    let at = sweep.map(|sweep| sweep.describe_execution(first.cell, first.repetition) + ", ");
    let at = at.map_or(String::new(), |at| escape(&at).to_string());
    let (name, text) = (errno::name(first.errno), reason(first));
    let (op, place) = (escape(&first.op), escape(&first.place));
    let (text, rank, offset) = (escape(text), first.rank, first.offset_bytes);
    let path = if first.path.is_empty() { "(no name)".into() } else { escape(&first.path) };
    format!(
        "{count} x {op} {name} at {place} ({text}), first: {at}rank {rank}, {path}, offset {offset}"
    )
}

/// Ranks that did not finish, those with the same reason together.
pub fn rank_errors(run: &Run, terminal: Terminal) -> String {
    let mut kinds: Vec<Vec<&RankError>> = Vec::new();
    for error in &run.run.rank_errors {
        let same = |kind: &&mut Vec<&RankError>| {
            (&kind[0].place, &kind[0].message) == (&error.place, &error.message)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.push(error),
            None => kinds.push(vec![error]),
        }
    }
    // A process that was ended from outside has no place: others ended because of it.
    kinds.sort_by_key(|kind| !kind[0].place.is_empty());
    let lines = kinds.iter().map(|kind| {
        let RankError { place, message, .. } = kind[0];
        let at = if place.is_empty() { "" } else { " at " };
        let all: BTreeSet<u32> = kind.iter().map(|error| error.rank).collect();
        let ranks = ranks(&all.into_iter().collect::<Vec<_>>());
        let text = format!("{}{ranks} ended{at}{place}: {message}", of_sweep(run, kind));
        paint_lines(&flow(&escape(&text), terminal.columns), Paint::Bad, terminal)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Of a sweep, in which execution: `at n=2, repetition 1: `, `in 3 executions, first at ...: `.
fn of_sweep(run: &Run, errors: &[&RankError]) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    let all: HashSet<(u32, u32)> =
        errors.iter().map(|error| (error.cell, error.repetition)).collect();
    let first = sweep.describe_execution(errors[0].cell, errors[0].repetition);
    match all.len() {
        1 => format!("at {first}: "),
        count => format!("in {count} executions, first at {first}: "),
    }
}

/// `rank 3`, `ranks 0-63, 70`.
fn ranks(ranks: &[u32]) -> String {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let spans = sorted.chunk_by(|a, b| *b == *a + 1).map(|span| match span {
        [only] => only.to_string(),
        span => format!("{}-{}", span[0], span[span.len() - 1]),
    });
    let word = if sorted.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", spans.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_as_spans() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[70, 2, 0, 1, 2]), "ranks 0-2, 70");
    }
}
