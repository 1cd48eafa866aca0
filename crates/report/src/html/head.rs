//! What ran where, and how it ended; marks, notes and failures.

use crate::chart::Unit;
use crate::markup::{Markup, element};
use crate::once;
use crate::svg::value_text;
use crate::table::{Terminal, remarks};
use crate::text::safe_word;
use model::op::Op;
use model::run::{Run, Trace};

/// Lines of any length: the browser breaks them.
const UNBROKEN: Terminal = Terminal { columns: 1_000_000, color: false };

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
        .with(facts(run))
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

/// How the launcher was called, which started the ranks, nobody has told them.
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
    let whole = || once::rows(run);
    let count = whole().fold(0u64, |sum, row| sum.saturating_add(row.count));
    let bytes = |write: bool| {
        let of_class = whole().filter(|row| {
            let class = Op::find(&row.op).map(|op| op.row().class);
            class == Some(if write { model::op::Class::Write } else { model::op::Class::Read })
        });
        of_class.fold(0u64, |sum, row| sum.saturating_add(row.bytes)) as f64
    };
    let failed = header.evidence.failed;
    let bad = |is_bad: bool| if is_bad { "bad" } else { "" };
    let entries = [
        ("outcome", bad(header.exit_code != 0), header.outcome.clone()),
        ("duration", "", remarks::duration(run).unwrap_or_else(|| "–".into())),
        ("ranks", "", value_text(f64::from(header.ranks), Unit::Count)),
        ("operations", "", value_text(count as f64, Unit::Count)),
        ("failed", bad(failed != 0), value_text(failed as f64, Unit::Count)),
        ("written", "", value_text(bytes(true), Unit::Bytes)),
        ("read", "", value_text(bytes(false), Unit::Bytes)),
    ];
    let entry = |(name, class, text): &(&str, &str, String)| {
        element("div").with(element("dt").text(name)).with(element("dd").class(class).text(text))
    };
    element("dl").class("keys").all(entries.iter().map(entry)).into()
}

/// Where it ran and what is known about the measuring.
fn facts(run: &Run) -> Markup {
    let header = &run.run;
    let host = &header.host;
    let mut facts = vec![
        (if remarks::hosts(run) == host.name { "host" } else { "hosts" }, remarks::hosts(run)),
        ("storage", remarks::storage(run)),
        ("directory", host.directory.clone()),
        ("evidence", remarks::facts(run).join(" · ")),
    ];
    if header.exit_code != 0 {
        facts.push(("exit code", header.exit_code.to_string()));
    }
    super::environment::list(&facts)
}

/// What the evidence says for and against the figures.
pub fn marks(run: &Run) -> Markup {
    let evidence = &run.run.evidence;
    let marks = evidence.marks.iter().map(|mark| {
        let (class, word) = if mark.counts { ("counts", "Verdict") } else { ("", "Remark") };
        element("li")
            .class(class)
            .with(element("b").text(format!("{word}: {}", mark.code)))
            .text(format!(" – {}", mark.seen_in_executions()))
            .with(element("p").text(format!("To do: {}", mark.advice)))
    });
    let notes = evidence.notes.iter().map(|note| element("li").text(note));
    let all: Markup = marks.chain(notes).collect();
    match all.is_empty() {
        true => all,
        false => element("ul").class("marks").attr("id", "marks").with(all).into(),
    }
}

/// Failed operations and ranks that ended early, as on the terminal.
pub fn failures(run: &Run) -> Markup {
    let text = [remarks::failures(run, UNBROKEN), remarks::rank_errors(run, UNBROKEN)].join("\n");
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines: Markup = lines.map(|line| element("li").class("bad").text(line)).collect();
    match lines.is_empty() {
        true => lines,
        false => element("ul").class("lines").with(lines).into(),
    }
}
