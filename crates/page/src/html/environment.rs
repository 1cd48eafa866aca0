//! What made a run: its command, machine and options; and its data to take along.

use super::frame::base64;
use crate::svg::value_text;
use model::run::{Run, Trace};
use report::chart::Unit;
use report::machines::{self, kernels, name_storage, unlike_storage};
use report::markup::{Markup, element};
use report::table::facts;
use report::text::safe_word;

/// Kind of the run, its ranks, where it ran and when it began.
pub fn kicker(run: &Run) -> String {
    let header = &run.run;
    let started = header.started.replace('T', " ").replace('Z', " UTC");
    let kind = match &header.trace {
        None => "Parabench run",
        Some(Trace { recorded: Some(_), .. }) => "Recorded run",
        Some(_) => "Imported run",
    };
    let place = if header.trace.is_some() { String::new() } else { machines::short_storage(run) };
    let parts = [kind, &facts::size(run), &place, &started];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// Logs of an import whose command is shown.
const LOGS: usize = 8;

/// The command that makes such a run again, as far as a run knows it.
pub fn command(run: &Run) -> Option<String> {
    let executed = || run.run.command.iter().map(String::as_str).collect();
    let words: Vec<&str> = match &run.run.trace {
        Some(trace) => traced(trace)?,
        None => executed(),
    };
    let (before, words) = match words.iter().position(|word| *word == "parabench") {
        Some(at) if at > 0 => (as_ranks(run), &words[at..]),
        _ => (String::new(), &words[..]),
    };
    let words: Vec<String> = words.iter().copied().map(safe_word).collect();
    (!words.is_empty()).then(|| before + &words.join(" "))
}

/// The ranks do not know how the launcher that started them was called.
fn as_ranks(run: &Run) -> String {
    let hosts = run.run.job.as_ref().map_or(1, |job| job.nodes.len());
    let on = if hosts > 1 { format!(" on {hosts} hosts") } else { String::new() };
    format!("as ranks of an MPI job of {} ranks{on}: ", run.run.ranks)
}

/// The command that imports such logs or records such a run again; none where it is unknown: rules
/// of the user's own, a run of Parabench as a log, standard input.
fn traced(trace: &Trace) -> Option<Vec<&str>> {
    let words: Vec<&str> = match &trace.recorded {
        Some(recorded) => {
            let command = recorded.command.iter().map(String::as_str);
            let options = recorded.options.iter().map(String::as_str);
            ["record"].into_iter().chain(options).chain(["--"]).chain(command).collect()
        }
        None => {
            let logs: Vec<&str> = trace.logs.iter().map(|log| &*log.name).collect();
            let is_known = !matches!(&*trace.format, "" | "rules" | "parabench" | "preload");
            if !is_known || logs.is_empty() || logs.len() > LOGS || logs.contains(&"-") {
                return None;
            }
            ["import", "--as", &trace.format].into_iter().chain(logs).collect()
        }
    };
    Some(["parabench"].into_iter().chain(words).collect())
}

/// Where it ran: rates mean nothing without it.
fn place(run: &Run) -> [(&'static str, String); 2] {
    let hosts = machines::hosts(run);
    let name = if hosts == run.run.host.name { "host" } else { "hosts" };
    [(name, hosts), ("storage", machines::storage(run))]
}

/// The machine, the directory, the run.
pub fn environment(run: &Run) -> Markup {
    let (header, host, evidence) = (&run.run, &run.run.host, &run.run.evidence);
    let memory = (host.memory_bytes > 0).then(|| value_text(host.memory_bytes as f64, Unit::Bytes));
    let processors = match host.cpus {
        0 => host.cpu.clone(),
        cpus => format!("{cpus} x {}", host.cpu),
    };
    let params = header.params.iter().map(|param| format!("{} = {}", param.name, param.value));
    let further = host.directories.iter().map(|further| {
        let scratch = if further.scratch { " (scratch)" } else { "" };
        let storage = name_storage(&further.storage);
        let storage = storage.map_or(String::new(), |storage| format!(": {storage}"));
        format!("{} = {}{scratch}{storage}", further.name, further.directory)
    });
    let unlike = unlike_storage(run).into_iter().map(|unlike| unlike.text);
    let storage_bytes = |bytes: Option<u64>| {
        bytes.map_or("unknown".into(), |bytes| value_text(bytes as f64, Unit::Bytes))
    };
    let exit_code = match header.exit_code {
        0 => String::new(),
        code => code.to_string(),
    };
    let [host_name, storage] = place(run);
    list(&[
        ("program", header.program.name.clone()),
        ("outcome", header.outcome.clone()),
        ("time of the command", facts::duration(run).unwrap_or_default()),
        ("ranks", header.ranks.to_string()),
        host_name,
        storage,
        ("exit code", exit_code),
        ("evidence", facts::facts(run).join(" · ")),
        ("processors", processors),
        ("memory", memory.unwrap_or_default()),
        ("kernel", host.kernel.clone()),
        ("run directory", host.directory.clone()),
        ("mount options", host.storage.mount_options.clone()),
        ("further directories", further.collect::<Vec<_>>().join(", ")),
        ("back-end", header.backend.clone()),
        ("communicator", header.comm.clone()),
        ("kernels", header.job.as_ref().and_then(kernels).unwrap_or_default()),
        ("unlike mounts", unlike.collect::<Vec<_>>().join("; ")),
        ("fetched from storage", storage_bytes(evidence.storage_read_bytes)),
        ("sent to storage", storage_bytes(evidence.storage_write_bytes)),
        ("parameters", params.collect::<Vec<_>>().join(", ")),
        ("started", header.started.clone()),
        ("Parabench", header.parabench.clone()),
        ("run format", run.version.to_string()),
    ])
}

/// Terms and what is known of them; unknown ones are left out.
fn list(facts: &[(&str, String)]) -> Markup {
    let known = facts.iter().filter(|(_, text)| !text.is_empty());
    let line = |(term, text): &(&str, String)| {
        [element("dt").text(term), element("dd").text(text)].into_iter().collect::<Markup>()
    };
    element("dl").class("facts").all(known.map(line)).into()
}

/// Bytes of data that a page carries at most.
const DATA_BYTES: usize = 1 << 18;

/// The run as files to save: JSON without events, rows as CSV.
pub fn data(run: &Run) -> Markup {
    let mut csv = Vec::new();
    // Writing into memory cannot fail.
    let _ = report::csv::rows(run, &mut csv);
    let json = report::json::to_string(run).into_bytes();
    let files = [("run.json", "application/json", json), ("rows.csv", "text/csv", csv)];
    let link = |(name, kind, bytes): &(&str, &str, Vec<u8>)| {
        let line = element("li");
        if bytes.len() > DATA_BYTES {
            return line.text(format!(
                "{name} is too large for a page: parabench report --format json or csv"
            ));
        }
        let href = format!("data:{kind};base64,{}", base64(bytes));
        line.with(
            element("a").attr("download", name).attr("href", href).text(format!("Save {name}")),
        )
    };
    element("ul").all(files.iter().map(link)).into()
}
