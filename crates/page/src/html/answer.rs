//! The first part of a page: the answer in a sentence, three figures, the gravest warnings, the command.

use super::environment::{command, kicker};
use super::frame::note;
use crate::svg::value_text;
use model::Run;
use model::op::Class;
use report::chart::{Unit, View};
use report::compare::Comparison;
use report::fidelity::Fidelity;
use report::machines;
use report::markup::{Element, Markup, element};
use report::rows::{class, once};
use report::rules::{Warning, warnings};
use report::table::{answer, facts, layers};
use report::text::Terminal;

/// Warnings that are shown; the others are counted.
const WARNINGS: usize = 2;

/// The sentence of a run; of a sweep what its main pictures say.
pub fn sentences(run: &Run, main: &[&View]) -> Vec<String> {
    match &run.run.sweep {
        None => vec![answer::sentence(run)],
        Some(_) if main.is_empty() => vec![answer::title(run).join(", ")],
        Some(_) => main.iter().take(1).map(|view| first_sentence(&view.summary)).collect(),
    }
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> String {
    text.find(". ").map_or(text, |at| &text[..=at]).to_string()
}

/// The card of a run; `compared`: its sides where it is an A/B run.
pub fn card(run: &Run, sentences: &[String], compared: Option<&Comparison>) -> Markup {
    let all = warnings(run);
    let list = all.iter().take(WARNINGS).map(|one: &Warning| match one.fix.as_str() {
        "" => one.text.clone(),
        fix => format!("{}. Fix: {fix}", one.text),
    });
    let left = run.run.evidence.marks.len() + run.run.evidence.notes.len();
    let left = left.saturating_sub(all.iter().take(WARNINGS).map(|one| one.marks).sum());
    let more = (left > 0).then(|| {
        let remarks = model::words::plural(left as u64, "remark");
        note(&format!("{left} more {remarks}: under \"More\"."))
    });
    let title = element("h1").text(&run.run.program.name);
    let ended = ended(run);
    [
        Some(element("p").class("kicker").text(kicker(run))),
        Some(title),
        Some(sentence(&sentences[..sentences.len().min(1)])),
        further(sentences),
        jobs(run),
        scores(run),
        Some(compared.map_or_else(|| keys(&run_keys(run)), |found| keys(&sides(found)))),
        warned(list.chain(ended)),
        more,
        command(run).map(command_line),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How a run ended that did not end well, and why in short.
fn ended(run: &Run) -> Option<String> {
    let outcome = answer::outcome(run);
    if matches!(outcome.as_str(), "" | "ok") {
        return None;
    }
    let text = report::table::failures(run, Terminal::default());
    let first = text.lines().next().unwrap_or_default().trim();
    let outcome = format!("Outcome: {outcome}");
    Some(if first.is_empty() { outcome } else { format!("{outcome}: {first}") })
}

fn sentence(sentences: &[String]) -> Element {
    element("p").class("sentence").text(sentences.join(" "))
}

/// Sentences after the first one.
fn further(sentences: &[String]) -> Option<Element> {
    let rest: Vec<Element> =
        sentences.iter().skip(1).map(|text| element("li").text(text)).collect();
    (!rest.is_empty()).then(|| element("ul").class("lines").all(rest))
}

/// What A and B are.
fn sides(found: &Comparison) -> [(String, String); 2] {
    [("A", &found.base), ("B", &found.new)].map(|(name, text)| (name.to_string(), text.clone()))
}

fn warned(all: impl Iterator<Item = String>) -> Option<Element> {
    let all: Vec<Element> = all.map(|text| element("li").text(text)).collect();
    (!all.is_empty()).then(|| element("ul").class("warnings").all(all))
}

fn command_line(command: String) -> Element {
    element("div").class("command").with(element("code").text(command))
}

/// Terms with the three figures that a reader looks for first.
fn keys(entries: &[(String, String)]) -> Element {
    let entry = |(name, text): &(String, String)| {
        element("div").with(element("dt").text(name)).with(element("dd").text(text))
    };
    element("dl").class("keys").all(entries.iter().map(entry))
}

/// The scores of a run, before everything else that is in figures.
fn scores(run: &Run) -> Option<Element> {
    let all = report::table::scores::all(run);
    let entries: Vec<_> = all.into_iter().map(|(name, text)| (name.to_string(), text)).collect();
    (!entries.is_empty()).then(|| keys(&entries))
}

/// Duration, and bytes read and written; operations where none moved.
fn run_keys(run: &Run) -> Vec<(String, String)> {
    let bytes = |wanted: Class| {
        let of_class = once(run).filter(|row| class(&row.op) == wanted);
        of_class.fold(0u64, |sum, row| sum.saturating_add(row.bytes))
    };
    let count = once(run).fold(0u64, |sum, row| sum.saturating_add(row.count));
    let duration = facts::duration(run).unwrap_or_else(|| "unknown".into());
    let duration = match job_time(run) {
        Some(job) => format!("{duration} of {job}"),
        None => duration,
    };
    let moved = [("read", bytes(Class::Read)), ("written", bytes(Class::Write))];
    let moved = moved.into_iter().filter(|(_, bytes)| *bytes > 0);
    let moved =
        moved.map(|(name, bytes)| (name.to_string(), value_text(bytes as f64, Unit::Bytes)));
    let place = match facts::log(run) {
        Some(log) => ("log".to_string(), log),
        None => ("storage".to_string(), machines::short_storage(run)),
    };
    let what = if run.run.trace.is_some() { "duration" } else { "time of the command" };
    let all = [(what.to_string(), duration)].into_iter().chain(moved);
    let all = all.chain([("operations".to_string(), value_text(count as f64, Unit::Count)), place]);
    all.filter(|(_, text)| !text.is_empty()).take(3).collect()
}

/// How long the job of a log ran: its last operation ends before.
fn job_time(run: &Run) -> Option<String> {
    let [log] = &run.run.trace.as_ref()?.logs[..] else { return None };
    Some(model::units::format_ns(log.job.as_ref()?.run_ns as f64))
}

/// The jobs of logs, with their commands.
fn jobs(run: &Run) -> Option<Element> {
    let jobs = layers::jobs(run.run.trace.as_ref()?);
    let items = jobs.iter().map(|job| element("li").text(job));
    (!jobs.is_empty()).then(|| element("ul").class("lines").all(items))
}

/// The card of a comparison.
pub fn of_comparison(found: &Comparison, warnings: &[String]) -> Markup {
    let all = report::compare::answer(found);
    let first = sentence(&all[..all.len().min(1)]);
    let lines = warnings.iter().map(|text| text.trim_start_matches("! ").to_string());
    [
        Some(element("p").class("kicker").text("Parabench comparison")),
        Some(element("h1").text(format!("{} against {}", found.new, found.base))),
        Some(first),
        further(&all),
        Some(keys(&sides(found))),
        warned(lines),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The card of a replay.
pub fn of_fidelity(found: &Fidelity) -> Markup {
    [
        Some(element("p").class("kicker").text("Parabench fidelity")),
        Some(element("h1").text("How faithful the replay is")),
        Some(sentence(std::slice::from_ref(&found.verdict))),
        warned(found.incomplete.iter().map(|says| format!("The recording is incomplete: {says}"))),
    ]
    .into_iter()
    .flatten()
    .collect()
}
