//! What loops and labels do, from a rehearsal that is ended early: `1,000 x 64 KiB = 62.5 MiB, 1,000 files`.
//!
//! If all ranks at a statement do the same, its figures count one rank; otherwise they count all ranks together. A
//! statement that calls a proc has no figures; the statements of the proc have them.

use crate::analysis::Analysis;
use engine::config::Config;
use engine::rehearse::{Limits, rehearse_within};
use lsp_types::{CodeLens, Command, InlayHint, InlayHintLabel, Range};
use model::plan::{Instr, Span};
use model::rehearsal::{Rehearsal, SiteFigures};
use model::{Op, Plan, units, words};
use ppl::ast::{Expr, Name, Stmt, StmtId};
use ppl::diag::Diagnostic;
use serde_json::json;
use std::collections::{BTreeMap, HashSet};

/// Statements and iterations of all ranks: some milliseconds.
const STEPS: u64 = 1 << 15;

/// Figures of a program from a rehearsal, which may have ended early.
pub(crate) fn rehearse(analysis: &Analysis) -> Option<Rehearsal> {
    let plan = analysis.compiled.plan.as_ref()?;
    let limits = Limits { steps: STEPS, time: None, by_site: true };
    Some(rehearse_within(plan, &Config::default(), true, limits))
}

/// Warnings of the rehearsal.
pub(crate) fn doubts(analysis: &Analysis, rehearsal: &Rehearsal) -> Vec<Diagnostic> {
    let Some(plan) = &analysis.compiled.plan else { return Vec::new() };
    rehearsal.doubts.iter().map(|doubt| ppl::doubts::diagnostic(plan, doubt)).collect()
}

/// Hints behind the heads of loops and labels.
pub(crate) fn hints(analysis: &Analysis, rehearsal: &Rehearsal, range: Range) -> Vec<InlayHint> {
    let text = &analysis.text;
    let Some(figures) = Figures::new(analysis, rehearsal) else { return Vec::new() };
    let (start, end) = (text.offset(range.start) as u32, text.offset(range.end) as u32);
    let wanted = statements(analysis).filter(|one| start <= one.head_end && one.head_end <= end);
    let hint = |one: Governing| {
        let label = figures.describe(one.body)?;
        Some(InlayHint {
            position: text.position(one.head_end as usize),
            label: InlayHintLabel::String(label),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: Some(true),
            data: None,
        })
    };
    let mut all: Vec<InlayHint> = wanted.filter_map(hint).collect();
    all.sort_by_key(|hint| hint.position);
    all
}

/// Lenses above labels; with `commands` also those that run the program.
pub(crate) fn lenses(
    analysis: &Analysis,
    rehearsal: Option<&Rehearsal>,
    uri: &str,
    commands: bool,
) -> Vec<CodeLens> {
    let command = |title: &str, command: &str| Command {
        title: title.into(),
        command: command.into(),
        arguments: Some(vec![json!(uri)]),
    };
    let top = analysis.text.range(0, 0);
    let lens = |range, command| CodeLens { range, command: Some(command), data: None };
    let run = [("Run", "parabench.run"), ("Plan", "parabench.plan")];
    let run = run.iter().filter(|_| commands);
    let mut all: Vec<CodeLens> = run.map(|(title, name)| lens(top, command(title, name))).collect();
    let figures = rehearsal.and_then(|rehearsal| Figures::new(analysis, rehearsal));
    let Some(figures) = figures else { return all };
    let labels = statements(analysis).filter(|one| one.is_label);
    all.extend(labels.filter_map(|one| {
        let shown = figures.describe(one.body)?;
        let start = one.span.start as usize;
        Some(lens(analysis.text.range(start, start), command(&shown, "")))
    }));
    all
}

/// A statement that governs others: a loop or a label.
struct Governing {
    span: Span,
    body: Span,
    /// Where its text before the body ends.
    head_end: u32,
    is_label: bool,
}

fn statements(analysis: &Analysis) -> impl Iterator<Item = Governing> + '_ {
    let ast = &analysis.compiled.ast;
    let governing = move |(stmt, span): (&Stmt, &Span)| {
        let (body, is_label): (StmtId, bool) = match *stmt {
            Stmt::Repeat(number) => (ast.repeats[number as usize].body, false),
            Stmt::Share(number) => (ast.shares[number as usize].body, false),
            Stmt::While(_, body) => (body, false),
            Stmt::Time(number) => (ast.times[number as usize].body, true),
            _ => return None,
        };
        let body = ast.stmt_span(body);
        let head = analysis.slice(Span { start: span.start, end: body.start }).trim_end();
        let head_end = span.start + head.len() as u32;
        Some(Governing { span: *span, body, head_end, is_label })
    };
    let all = ast.stmts.iter().zip(&ast.stmt_spans);
    all.filter(|(_, span)| analysis.is_own(**span)).filter_map(governing)
}

/// Figures of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    bytes: u64,
    files: u64,
}

/// Figures by operation, and whether one of them is an estimate.
type Work = (BTreeMap<Op, Sum>, bool);

/// An operation of the program with its figures.
type Step = (Span, Op, SiteFigures);

/// Figures of each statement.
struct Figures<'a> {
    plan: &'a Plan,
    is_complete: bool,
    /// Numbers of ranks with the same figures, and these in the order of their places.
    ranks: Vec<(u64, Vec<Step>)>,
    /// Places of calls of procs, in order.
    calls: Vec<Span>,
}

impl<'a> Figures<'a> {
    fn new(analysis: &'a Analysis, rehearsal: &Rehearsal) -> Option<Figures<'a>> {
        let plan = analysis.compiled.plan.as_ref()?;
        let ranks = rehearsal.ranks.iter().map(|(ranks, figures)| {
            (u64::from(ranks.end - ranks.start), steps(plan, &figures.sites))
        });
        let (is_complete, calls) = (rehearsal.complete, calls(analysis));
        Some(Figures { plan, is_complete, ranks: ranks.collect(), calls })
    }

    fn describe(&self, body: Span) -> Option<String> {
        let call = self.calls.partition_point(|call| call.start < body.start);
        if self.calls.get(call).is_some_and(|call| call.end <= body.end) {
            return None;
        }
        let ranks = self.ranks.iter().map(|(count, steps)| (*count, work(steps, body)));
        let ranks: Vec<(u64, Work)> = ranks.filter(|(_, (work, _))| !work.is_empty()).collect();
        let first = ranks.first()?.1.clone();
        let count: u64 = ranks.iter().map(|(count, _)| count).sum();
        let are_alike = ranks.iter().all(|(_, work)| work.0 == first.0);
        let about = !self.is_complete || ranks.iter().any(|(_, (_, about))| *about);
        let about = if about { "about " } else { "" };
        Some(match (are_alike, self.plan.ranks) {
            (true, 1) => format!("{about}{}", show(&first.0)),
            (true, _) => format!("{about}{} on {}", show(&first.0), words::count(count, "rank")),
            (false, _) => {
                format!("{about}{} by {}", show(&total(&ranks)), words::count(count, "rank"))
            }
        })
    }
}

fn steps(plan: &Plan, sites: &[SiteFigures]) -> Vec<Step> {
    let step = |figures: &SiteFigures| {
        let span = plan.spans.get(figures.site as usize)?;
        match plan.code.get(figures.site as usize)? {
            Instr::Op { op, .. } if op.is_io() => Some((*span, *op, *figures)),
            _ => None,
        }
    };
    let mut steps: Vec<Step> = sites.iter().filter_map(step).collect();
    steps.sort_by_key(|(span, ..)| *span);
    steps
}

/// Places at which procs are called, in order.
fn calls(analysis: &Analysis) -> Vec<Span> {
    let ast = &analysis.compiled.ast;
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let statements = statements.filter(|(stmt, _)| matches!(stmt, Stmt::Call { .. }));
    let procs: HashSet<Name> = ast.procs.iter().map(|proc| proc.name.0).collect();
    let expressions = ast.exprs.iter().zip(&ast.expr_spans);
    let expressions =
        expressions.filter(|(expr, _)| matches!(expr, Expr::Call(name, _) if procs.contains(name)));
    let spans = statements.map(|(_, span)| *span).chain(expressions.map(|(_, span)| *span));
    let mut calls: Vec<Span> = spans.collect();
    calls.sort();
    calls
}

fn work(steps: &[Step], body: Span) -> Work {
    let mut found = BTreeMap::new();
    let mut about = false;
    let first = steps.partition_point(|(span, ..)| span.start < body.start);
    let inside = steps[first..].iter().take_while(|(span, ..)| span.start < body.end);
    for (_, op, figures) in inside {
        let sum: &mut Sum = found.entry(*op).or_default();
        sum.count += figures.count;
        sum.bytes += figures.bytes;
        sum.files += figures.files;
        about |= figures.about;
    }
    (found, about)
}

fn total(ranks: &[(u64, Work)]) -> BTreeMap<Op, Sum> {
    let mut all = BTreeMap::new();
    for (count, (work, _)) in ranks {
        for (op, sum) in work {
            let to: &mut Sum = all.entry(*op).or_default();
            to.count += count * sum.count;
            to.bytes += count * sum.bytes;
            to.files += count * sum.files;
        }
    }
    all
}

/// Most operations that are named.
const MOST: usize = 3;

fn show(work: &BTreeMap<Op, Sum>) -> String {
    let is_one = work.len() == 1;
    let one = |(op, sum): (&Op, &Sum)| {
        let name = if is_one && sum.bytes > 0 { String::new() } else { format!(" {op}") };
        let count = thousands(sum.count);
        match sum.bytes {
            0 => format!("{count}{name}"),
            bytes if sum.count == 1 => format!("1{name} x {}", units::format_bytes(bytes)),
            bytes if bytes % sum.count == 0 => format!(
                "{count}{name} x {} = {}",
                units::format_bytes(bytes / sum.count),
                units::format_bytes(bytes)
            ),
            bytes => format!("{count}{name}, {}", units::format_bytes(bytes)),
        }
    };
    let mut largest: Vec<(&Op, &Sum)> = work.iter().collect();
    largest.sort_by_key(|(op, sum)| (std::cmp::Reverse((sum.bytes, sum.count)), **op));
    let more = largest.len().saturating_sub(MOST);
    let mut parts: Vec<String> = largest.into_iter().take(MOST).map(one).collect();
    let files: u64 = work.values().map(|sum| sum.files).sum();
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    if files > 0 {
        let noun = words::plural(files, "file");
        parts.push(format!("{} {noun}", thousands(files)));
    }
    parts.join(", ")
}

/// `10,000`
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_like_a_sum() {
        let sum = |count, bytes, files| Sum { count, bytes, files };
        let show = |work: &[(Op, Sum)]| show(&work.iter().copied().collect());
        let written = (Op::Write, sum(1000, 1000 << 16, 1000));
        assert_eq!(show(&[written]), "1,000 x 64 KiB = 62.5 MiB, 1,000 files");
        assert_eq!(show(&[(Op::Stat, sum(1, 0, 0))]), "1 stat");
        let both = [written, (Op::Stat, sum(1_234_567, 0, 0))];
        let expected = "1,000 write x 64 KiB = 62.5 MiB, 1,234,567 stat, 1,000 files";
        assert_eq!(show(&both), expected);
    }
}
