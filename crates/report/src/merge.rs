//! Executions of a sweep put together to one run.
//!
//! Figures are never added up over executions: every row keeps its cell and repetition. What has
//! no place for them is joined: places in the text, evidence, remarks.

use model::run::{Contention, Evidence, Header, Host, Job, Mark, Noted, Param, Run, Site};
use model::sweep::{Execution, Machines, Sweep};
use std::collections::HashMap;

/// Failed operations that a sweep tells in full; rows count them all.
const FAILURES_MAX: usize = 1000;

/// The run that [`add`] adds executions to: what the runs of all cells share, and what tells them
/// apart. `cells`: the runs as far as they are known before, by number of cell.
pub fn whole(cells: &[&Run], grid: &Sweep) -> Run {
    let Some(first) = cells.first() else { return Run::default() };
    let (mut run, mut sweep) = (Run::clone(first), grid.clone());
    let shared = |param: &Param| cells.iter().all(|cell| cell.run.params.contains(param));
    run.run.params.retain(shared);
    // Those of some points come with their executions.
    let everywhere = |note: &String| cells.iter().all(|one| one.run.evidence.notes.contains(note));
    run.run.evidence.notes.retain(everywhere);
    for (cell, own) in sweep.cells.iter_mut().zip(cells) {
        cell.ranks = own.run.ranks;
        cell.params = own.run.params.clone();
        cell.params.retain(|param| !run.run.params.contains(param));
        cell.host = Some(own.run.host.clone()).filter(|host| *host != run.run.host);
    }
    for file in cells.iter().flat_map(|cell| &cell.run.program.files) {
        if run.run.program.files.iter().all(|known| known.name != file.name) {
            run.run.program.files.push(file.clone());
        }
    }
    run.run.ranks = sweep.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0);
    run.run.sweep = Some(sweep);
    run
}

/// Visits cell and repetition of everything that was measured; removes it where `keep` is false.
pub fn retain_executions(run: &mut Run, mut keep: impl FnMut(&mut u32, &mut u32) -> bool) {
    macro_rules! retain {
        ($($list:expr),*) => {
            $( $list.retain_mut(|one| keep(&mut one.cell, &mut one.repetition)); )*
        };
    }
    let header = &mut run.run;
    retain!(run.rows, run.labels, run.times);
    retain!(header.times_more, header.node_rows, header.node_use, header.shares, header.arrivals);
    retain!(header.failures, header.rank_errors, header.evidence.labels, header.scores);
}

/// Gives everything that an execution measured its cell and repetition, and says so in its header.
pub fn stamp(run: &mut Run, cell: u32, repetition: u32) {
    retain_executions(run, |own_cell, own_repetition| {
        (*own_cell, *own_repetition) = (cell, repetition);
        true
    });
    let header = &mut run.run;
    let execution = Execution {
        cell,
        repetition,
        outcome: header.outcome.clone(),
        duration_wall_ns: header.duration_wall_ns,
        machines: None,
    };
    header.sweep = Some(Sweep { order: vec![execution], ..Sweep::default() });
}

/// Adds a stamped execution; gives the numbers that its sites have in the whole run.
pub fn add(run: &mut Run, execution: Run) -> HashMap<u32, u32> {
    let header = execution.run;
    let order = header.sweep.map(|sweep| sweep.order).unwrap_or_default();
    let place = order.first().map(|at| (at.cell, at.repetition)).unwrap_or_default();
    let elsewhere = elsewhere(&run.run, place.0, (&header.host, header.job.as_ref()));
    run.rows.extend(execution.rows);
    run.labels.extend(execution.labels);
    run.times.extend(execution.times);
    let whole = &mut run.run;
    if whole.comm.is_empty() || header.comm != "solo" {
        whole.comm = header.comm;
    }
    whole.duration_wall_ns = whole.duration_wall_ns.saturating_add(header.duration_wall_ns);
    whole.times_more.extend(header.times_more);
    whole.node_rows.extend(header.node_rows);
    whole.node_use.extend(header.node_use);
    whole.shares.extend(header.shares);
    whole.arrivals.extend(header.arrivals);
    whole.scores.extend(header.scores);
    whole.rank_errors.extend(header.rank_errors);
    let room = FAILURES_MAX.saturating_sub(whole.failures.len());
    whole.failures.extend(header.failures.into_iter().take(room));
    let numbers = add_sites(&mut whole.sites, header.sites);
    let Some(sweep) = &mut whole.sweep else { return numbers };
    let cell = sweep.describe(place.0);
    let name = sweep.describe_execution(place.0, place.1);
    // Of a comparison each side shows its marks.
    let side = if sweep.versus { format!("first at {cell}, ") } else { String::new() };
    let machines = elsewhere.map(|machines| number(&mut sweep.machines, machines));
    sweep.order.extend(order.into_iter().map(|one| Execution { machines, ..one }));
    let executions = sweep.order.len();
    add_notes(&mut whole.evidence, &header.evidence.notes, &name, executions);
    add_evidence(&mut whole.evidence, header.evidence, &name, &side);
    numbers
}

/// The machines of an execution, if they are not those on which the header says that its cell ran.
fn elsewhere(whole: &Header, cell: u32, own: (&Host, Option<&Job>)) -> Option<Machines> {
    let nodes = own.1.map_or_else(Vec::new, |job| job.nodes.clone());
    let own = Machines { host: own.0.clone(), nodes };
    let here = Machines { host: whole.host.clone(), nodes: whole.nodes_at(cell) };
    (!own.is_like(&here)).then_some(own)
}

/// The place of machines in a list of different ones.
fn number(known: &mut Vec<Machines>, machines: Machines) -> u32 {
    let at = known.iter().position(|one| one.is_like(&machines));
    let at = at.unwrap_or_else(|| {
        known.push(machines);
        known.len() - 1
    });
    at as u32
}

/// One entry per operation and place in the text: plans of different cells number them differently.
pub fn add_sites(sites: &mut Vec<Site>, added: Vec<Site>) -> HashMap<u32, u32> {
    let mut numbers = HashMap::new();
    for site in added {
        let same = |known: &&mut Site| {
            (known.line, known.column) == (site.line, site.column)
                && known.op == site.op
                && known.file == site.file
        };
        let number = match sites.iter_mut().find(same) {
            Some(known) => {
                known.count += site.count;
                known.timed |= site.timed;
                known.busy_ns = known.busy_ns.saturating_add(site.busy_ns);
                known.site
            }
            None => {
                let number = sites.len() as u32;
                sites.push(Site { site: number, ..site.clone() });
                number
            }
        };
        numbers.insert(site.site, number);
    }
    numbers
}

fn add_evidence(whole: &mut Evidence, added: Evidence, name: &str, side: &str) {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a.unwrap_or(0).saturating_add(b?));
    // From here on the sum of all executions, or null if one could not tell.
    let first = whole.clock.is_empty();
    for (known, added) in [
        (&mut whole.storage_read_bytes, added.storage_read_bytes),
        (&mut whole.storage_write_bytes, added.storage_write_bytes),
    ] {
        *known = if first || known.is_some() { sum(*known, added) } else { None };
    }
    whole.clock = added.clock;
    whole.clock_read_ns = whole.clock_read_ns.max(added.clock_read_ns);
    whole.clock_skew_ns = whole.clock_skew_ns.max(added.clock_skew_ns);
    whole.clock_backward = whole.clock_backward.saturating_add(added.clock_backward);
    whole.suspended_ns = whole.suspended_ns.saturating_add(added.suspended_ns);
    let amount = |ppm: Option<f64>| ppm.map_or(-1.0, f64::abs);
    if amount(added.clock_drift_ppm) > amount(whole.clock_drift_ppm) {
        whole.clock_drift_ppm = added.clock_drift_ppm;
    }
    whole.failed += added.failed;
    whole.short += added.short;
    let read_before = whole.program_read_bytes;
    whole.page_cache_share = mean_share(
        (whole.page_cache_share, read_before),
        (added.page_cache_share, added.program_read_bytes),
    );
    whole.cached_at_open_share = mean_share(
        (whole.cached_at_open_share, read_before),
        (added.cached_at_open_share, added.program_read_bytes),
    );
    whole.program_read_bytes = read_before.saturating_add(added.program_read_bytes);
    whole.program_write_bytes = whole.program_write_bytes.saturating_add(added.program_write_bytes);
    whole.labels.extend(added.labels);
    whole.crowded |= added.crowded;
    extend_by_new(&mut whole.mpi_writes, added.mpi_writes);
    let wait_ns = |of: &Option<Contention>| of.as_ref().map(|all| all.longest_wait_ns);
    if wait_ns(&added.contention) > wait_ns(&whole.contention) {
        whole.contention = added.contention;
    }
    whole.cpu_ns = whole.cpu_ns.saturating_add(added.cpu_ns);
    whole.page_faults = whole.page_faults.saturating_add(added.page_faults);
    let faults = &mut whole.storage_page_faults;
    *faults = faults.saturating_add(added.storage_page_faults);
    whole.dropped_events += added.dropped_events;
    whole.event_overhead_ns = whole.event_overhead_ns.saturating_add(added.event_overhead_ns);
    whole.labels_beyond_limit += added.labels_beyond_limit;
    extend_by_new(&mut whole.options_without_effect, added.options_without_effect);
    for mark in added.marks {
        add_mark(&mut whole.marks, mark, name, side);
    }
}

fn extend_by_new<T: PartialEq>(known: &mut Vec<T>, added: Vec<T>) {
    for one in added {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

/// A remark with other figures in every execution is kept once, with the figures of the first and with
/// how many made it. What all say alike, or is said before any execution, needs no such words.
fn add_notes(whole: &mut Evidence, added: &[String], name: &str, executions: usize) {
    for note in added {
        let same = |noted: &&mut Noted| is_same(&noted.text, note);
        if let Some(noted) = whole.noted.iter_mut().find(same) {
            noted.executions += 1;
            noted.is_same &= noted.text == *note;
        } else if whole.notes.iter().all(|known| known != note) {
            let (place, text, first) = (whole.notes.len(), note.clone(), name.to_string());
            whole.notes.push(note.clone());
            whole.noted.push(Noted { place, text, first, executions: 1, is_same: true });
        }
    }
    for noted in &whole.noted {
        let Some(shown) = whole.notes.get_mut(noted.place) else { continue };
        let Noted { text, first, executions: seen, .. } = noted;
        *shown = match noted.is_same && *seen == executions {
            true => text.clone(),
            false if *seen == 1 => format!("at {first}: {text}"),
            false => format!("in {seen} executions, first at {first}: {text}"),
        };
    }
}

/// Mean of two shares by the bytes they are of.
fn mean_share(a: (Option<f64>, u64), b: (Option<f64>, u64)) -> Option<f64> {
    match (a, b) {
        ((Some(a), a_bytes), (Some(b), b_bytes)) if a_bytes + b_bytes > 0 => {
            Some((a * a_bytes as f64 + b * b_bytes as f64) / (a_bytes + b_bytes) as f64)
        }
        ((None, _), (known, _)) | ((known, _), _) => known,
    }
}

/// A mark of each kind stands once, with the first execution it was seen in; with a `side` once
/// among those that begin so.
fn add_mark(marks: &mut Vec<Mark>, mark: Mark, name: &str, side: &str) {
    let same = |known: &&mut Mark| known.code == mark.code && known.seen.starts_with(side);
    match marks.iter_mut().find(same) {
        Some(known) => known.executions = known.executions.map(|count| count + 1),
        None => {
            let seen = format!("first at {name}: {}", mark.seen);
            marks.push(Mark { seen, executions: Some(1), ..mark });
        }
    }
}

/// Remarks that differ only in their numbers say the same.
fn is_same(known: &str, note: &str) -> bool {
    let words = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    words(known) == words(note)
}

/// How a sweep ended, from how its executions did: the worst of all.
pub fn outcome(sweep: &Sweep) -> &'static str {
    const WORDS: [&str; 4] = ["finished", "failed", "interrupted", "cut off"];
    let rank = |outcome: &str| WORDS.iter().position(|word| *word == outcome).unwrap_or(0);
    WORDS[sweep.order.iter().map(|execution| rank(&execution.outcome)).max().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Node, Row};
    use model::sweep::Cell;

    fn execution(cell: u32, repetition: u32, site: u32) -> Run {
        let place = Site { site, op: "write".into(), line: 3, count: 2, ..Site::default() };
        let evidence = Evidence {
            clock: "tsc".into(),
            program_read_bytes: 100,
            page_cache_share: Some(f64::from(repetition)),
            storage_read_bytes: (repetition < 2).then_some(7),
            marks: vec![Mark { code: "cached-reads".into(), ..Mark::default() }],
            notes: vec![format!("{} ranks share 2 processors", repetition + 3)],
            ..Evidence::default()
        };
        let header = Header {
            comm: if repetition == 0 { "local" } else { "solo" }.into(),
            outcome: "finished".into(),
            duration_wall_ns: 10,
            sites: vec![place],
            evidence,
            ..Header::default()
        };
        let mut run = Run { rows: vec![Row::default()], run: header, ..Run::default() };
        stamp(&mut run, cell, repetition);
        run
    }

    #[test]
    fn the_whole_has_what_its_cells_share() {
        let param = |name: &str, value: &str| Param { name: name.into(), value: value.into() };
        let cell = |block: &str, ranks| {
            let params = vec![param("file", "f"), param("block", block)];
            Run { run: Header { params, ranks, ..Header::default() }, ..Run::default() }
        };
        let grid = Sweep { cells: vec![Cell::default(); 2], ..Sweep::default() };
        let run = whole(&[&cell("4k", 2), &cell("64k", 3)], &grid).run;
        assert_eq!((run.ranks, run.params), (3, vec![param("file", "f")]));
        let cells = run.sweep.expect("it is one").cells;
        let own: Vec<_> = cells.iter().map(|cell| (cell.ranks, &cell.params[..])).collect();
        assert_eq!(own, [(2, &[param("block", "4k")][..]), (3, &[param("block", "64k")])]);
    }

    #[test]
    fn executions_become_one_run() {
        let mut run = Run::default();
        run.run.sweep = Some(Sweep::default());
        assert_eq!(add(&mut run, execution(1, 0, 9)), HashMap::from([(9, 0)]));
        assert_eq!(add(&mut run, execution(0, 1, 4)), HashMap::from([(4, 0)]));
        let at: Vec<_> = run.rows.iter().map(|row| (row.cell, row.repetition)).collect();
        assert_eq!(at, [(1, 0), (0, 1)]);
        let header = &run.run;
        assert_eq!((header.comm.as_str(), header.duration_wall_ns), ("local", 20));
        assert_eq!((header.sites.len(), header.sites[0].count), (1, 4));
        let evidence = &header.evidence;
        assert_eq!((evidence.marks.len(), evidence.notes.len()), (1, 1));
        assert_eq!(evidence.marks[0].executions, Some(2));
        assert_eq!((evidence.page_cache_share, evidence.storage_read_bytes), (Some(0.5), Some(14)));
        assert_eq!(header.sweep.as_ref().unwrap().order.len(), 2);
        let note = "in 2 executions, first at repetition 0: 3 ranks share 2 processors";
        assert_eq!(evidence.notes, [note]);
        add(&mut run, execution(0, 2, 4));
        assert_eq!(run.run.evidence.storage_read_bytes, None, "one could not tell");
    }

    /// Three of four executions ran before the sweep was resumed on other machines.
    #[test]
    fn executions_before_a_sweep_was_resumed_elsewhere_keep_their_machines() {
        let job = |hosts: [&str; 2]| {
            let node = |(rank, host): (u32, &str)| Node {
                host: host.into(),
                ranks: vec![[rank, rank]],
                ..Node::default()
            };
            Some(Job { nodes: (0..).zip(hosts).map(node).collect(), ..Job::default() })
        };
        let host = |name: &str| Host { name: name.into(), ..Host::default() };
        let sweep = Sweep { cells: vec![Cell { ranks: 2, ..Cell::default() }], ..Sweep::default() };
        let mut run = Run::default();
        (run.run.host, run.run.job, run.run.sweep) = (host("c"), job(["c", "d"]), Some(sweep));
        for (repetition, hosts) in
            [["a", "b"], ["c", "d"], ["a", "b"], ["c", "b"]].iter().enumerate()
        {
            let mut one = execution(0, repetition as u32, 0);
            (one.run.host, one.run.job) = (host(hosts[0]), job(*hosts));
            add(&mut run, one);
        }
        let sweep = run.run.sweep.as_ref().expect("it is one");
        let machines: Vec<Option<u32>> = sweep.order.iter().map(|one| one.machines).collect();
        assert_eq!(machines, [Some(0), None, Some(0), Some(1)]);
        let hosts: Vec<Vec<&str>> = sweep.machines.iter().map(Machines::hosts).collect();
        assert_eq!(hosts, [["a", "b"], ["c", "b"]]);
        let of = |repetition| run.run.nodes_of(0, repetition)[1].host.clone();
        assert_eq!([of(0), of(1), of(2), of(3)], ["b", "d", "b", "b"]);
    }

    #[test]
    fn the_worst_execution_tells_how_a_sweep_ended() {
        let mut sweep = Sweep::default();
        assert_eq!(outcome(&sweep), "finished");
        for (word, all) in
            [("finished", "finished"), ("interrupted", "interrupted"), ("failed", "interrupted")]
        {
            sweep.order.push(Execution { outcome: word.into(), ..Execution::default() });
            assert_eq!(outcome(&sweep), all);
        }
    }
}
