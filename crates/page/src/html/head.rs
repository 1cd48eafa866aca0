//! Head of a page: program, outcome, machine and storage; for the end of the page everything else about machine and run.

use crate::svg::value_text;
use model::op::Class;
use model::run::{Run, Trace};
use report::chart::Unit;
use report::machines::{self, kernels, name_storage, unlike_storage};
use report::markup::{Markup, element};
use report::rows::{class, once};
use report::table::facts;
use report::text::safe_word;

/// Program, command, key figures, facts.
pub fn head(run: &Run) -> Markup {
    let header = &run.run;
    let started = header.started.replace('T', " ").replace('Z', " UTC");
    let command = command(run)
        .map(|command| element("p").class("command").with(element("code").text(command)));
    let kind = match &header.trace {
        None => "Parabench run",
        Some(Trace { recorded: Some(_), .. }) => "Recorded run",
        Some(_) => "Imported run",
    };
    let kicker = [kind, &started].into_iter().filter(|part| !part.is_empty());
    let kicker = kicker.collect::<Vec<_>>().join(" · ");
    element("header")
        .with(element("p").class("kicker").text(kicker))
        .with(element("h1").text(&header.program.name))
        .all(command)
        .with(keys(run))
        .with(list(&place(run)))
        .into()
}

/// Logs of an import whose command is shown.
const LOGS: usize = 8;

/// The command that makes such a run again, as far as a run knows it.
fn command(run: &Run) -> Option<String> {
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

/// The figures that a reader looks for first.
fn keys(run: &Run) -> Markup {
    let header = &run.run;
    let whole = || once(run);
    let count = whole().fold(0u64, |sum, row| sum.saturating_add(row.count));
    let bytes = |wanted: Class| {
        let of_class = whole().filter(|row| class(&row.op) == wanted);
        of_class.fold(0u64, |sum, row| sum.saturating_add(row.bytes)) as f64
    };
    let failed = header.evidence.failed;
    let bad = |is_bad: bool| if is_bad { "bad" } else { "" };
    let entries = [
        ("outcome", bad(header.exit_code != 0), header.outcome.clone()),
        ("duration", "", facts::duration(run).unwrap_or_else(|| "–".into())),
        ("ranks", "", value_text(f64::from(header.ranks), Unit::Count)),
        ("operations", "", value_text(count as f64, Unit::Count)),
        ("failed", bad(failed != 0), value_text(failed as f64, Unit::Count)),
        ("written", "", value_text(bytes(Class::Write), Unit::Bytes)),
        ("read", "", value_text(bytes(Class::Read), Unit::Bytes)),
    ];
    let entry = |(name, class, text): &(&str, &str, String)| {
        element("div").with(element("dt").text(name)).with(element("dd").class(class).text(text))
    };
    element("dl").class("keys").all(entries.iter().map(entry)).into()
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
    list(&[
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
