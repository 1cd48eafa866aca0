//! How far a run is, in one line on standard error if somebody looks at it:
//!
//! ```text
//! 12 s, in read, 43 % of 2,000,000 operations, 208,043 ops/s, 812 MiB/s, 3 of 4 ranks at work,
//! slowest: rank 2 (31 %), nodes 96 (cn07) to 104 (cn02) MiB/s
//! ```
//!
//! The parent of the ranks draws it once in a second, from what they keep in memory anyway, and takes
//! it away at the end. Under MPI rank 0 writes it, and the `parabench run --mpi` that started the job
//! draws it ([`relay`](super::relay)). Where nobody draws it, as under mpiexec and in batch jobs, rank 0
//! adds whole lines to the log, at growing intervals:
//!
//! ```text
//! progress: 30 s, in read, 43 % of 2,000,000 operations, ...
//! ```
//!
//! What follows the ranks' end has a line at a terminal if it takes longer than a second.

use super::relay;
use crate::console;
use engine::comm::{Progress, Sample, Slowest, Standing};
use engine::supervise::without_signals;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::rehearsal::{RankFigures, Rehearsal};
use model::run::Job;
use model::units::{format_bytes, significant};
use mpi::launcher;
use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks at the ranks, and before the first line.
const PERIOD: Duration = Duration::from_secs(1);
/// Time before the first line of a log.
const LOG_PERIOD: Duration = Duration::from_secs(10);
/// The longest time between two lines of a log.
const LOG_LONGEST: Duration = Duration::from_secs(600);
/// Letters of a label or a point.
const NAME: usize = 40;

/// How often somebody wants to see how far the ranks are.
pub fn watch(quiet: bool) -> Option<Duration> {
    match To::find(quiet) {
        To::Nobody => None,
        To::Terminal | To::Relay => Some(PERIOD),
        To::Log => Some(LOG_PERIOD),
    }
}

/// The line of a run, or of a sweep with what comes before it.
pub struct Bar {
    /// Where nothing is drawn, it tells the time all the same.
    bar: ProgressBar,
    to: To,
    lines: Intervals,
    line: Line,
    executions: Option<Executions>,
    /// Names of the machines of a job, in order of their numbers.
    hosts: Vec<String>,
}

/// Who shows the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Nobody,
    Terminal,
    /// Whoever started the job.
    Relay,
    /// Standard error of rank 0, which a launcher passes on.
    Log,
}

impl To {
    fn find(quiet: bool) -> To {
        match quiet {
            true => To::Nobody,
            false if console::is_watched() => To::Terminal,
            false if relay::is_wanted() => To::Relay,
            false if launcher::job().is_some_and(|job| job.rank == 0) => To::Log,
            false => To::Nobody,
        }
    }
}

/// When a log gets a line: each interval is twice the one before, up to a limit.
struct Intervals {
    next: Duration,
    interval: Duration,
}

impl Intervals {
    fn new() -> Intervals {
        Intervals { next: LOG_PERIOD, interval: LOG_PERIOD }
    }

    fn is_due(&mut self, now: Duration) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.interval = (2 * self.interval).min(LOG_LONGEST);
            self.next = now + self.interval;
        }
        is_due
    }
}

/// Executions of a sweep.
struct Executions {
    begun: u64,
    all: u64,
    point: String,
    /// How long those before this one took.
    done_in: Duration,
}

impl Bar {
    /// Nothing is drawn yet. `executions`: most that there are, of a sweep.
    pub fn new(executions: Option<u64>, quiet: bool, job: Option<&Job>) -> Bar {
        let (point, done_in) = (String::new(), Duration::ZERO);
        let executions = executions.map(|all| Executions { begun: 0, all, point, done_in });
        let nodes = job.map(|job| &job.nodes[..]).unwrap_or_default();
        let hosts = nodes.iter().map(|node| shortened(&node.host)).collect();
        let bar = drawn(quiet).unwrap_or_else(ProgressBar::hidden);
        let (to, lines) = (To::find(quiet), Intervals::new());
        Bar { bar, to, lines, line: Line::default(), executions, hosts }
    }

    fn text(&self, text: String) {
        match self.to {
            To::Nobody => {}
            To::Terminal => self.bar.set_message(text),
            To::Relay => relay::tell(&text),
            To::Log => console::say(&format!("progress: {text}\n")),
        }
    }

    /// An execution begins, of a sweep at a point of the grid.
    pub fn begin(&mut self, rehearsal: &Rehearsal, point: &str) {
        self.line = Line::of(rehearsal);
        let Some(executions) = &mut self.executions else { return };
        executions.begun += 1;
        executions.point = shortened(point);
        executions.done_in = self.bar.elapsed();
        if executions.done_in >= PERIOD && self.to != To::Log {
            let text = executions.text(executions.done_in);
            self.text(text);
        }
    }

    /// An execution of a sweep is not needed.
    pub fn skip(&mut self) {
        if let Some(executions) = &mut self.executions {
            executions.all = executions.all.saturating_sub(1);
        }
    }

    /// Draws how far the ranks are, or says that they wait to be started.
    pub fn show(&mut self, progress: &Progress) {
        let sample = match progress {
            Progress::Held => return say_ready(),
            Progress::Alive => return,
            Progress::At(_) if self.to == To::Log && !self.lines.is_due(self.bar.elapsed()) => {
                return;
            }
            Progress::At(sample) => sample,
        };
        let line = self.line.next(sample, &self.hosts);
        let text = match &self.executions {
            Some(executions) => format!("{}: {line}", executions.text(self.bar.elapsed())),
            None => line,
        };
        self.text(text);
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        if self.to == To::Relay {
            relay::tell("");
        }
        self.bar.finish_and_clear();
    }
}

impl Executions {
    /// "execution 3 of 30, block=4k, about 2 min 10 s left".
    fn text(&self, elapsed: Duration) -> String {
        let mut text = format!("execution {} of {}", self.begun, self.all);
        if !self.point.is_empty() && self.point != "all" {
            text += &format!(", {}", self.point);
        }
        let done = self.begun.saturating_sub(1);
        if done > 0 {
            let one = self.done_in.as_secs_f64() / done as f64;
            let own = elapsed.saturating_sub(self.done_in).as_secs_f64();
            let left = (one * self.all.saturating_sub(done) as f64 - own).max(0.0);
            text += &format!(", about {} left", seconds(left as u64));
        }
        text
    }
}

/// What is known of the ranks of one execution.
#[derive(Default)]
struct Line {
    /// Operations of all ranks, if they are known.
    all: Option<u64>,
    /// The sample before, to tell rates.
    before: Sample,
}

impl Line {
    fn of(rehearsal: &Rehearsal) -> Line {
        Line { all: operations(rehearsal), before: Sample::default() }
    }

    /// "slowest: rank 2 (31 %)" if that is behind what all ranks together have done.
    fn slowest(&self, sample: &Sample) -> Option<String> {
        let Slowest { rank, done, all } = sample.all.slowest.filter(|_| sample.running > 1)?;
        let percent = |done: u64, all: u64| (done as f64 / all as f64 * 100.0).floor();
        match self.all {
            Some(of_all) if of_all > 0 && all > 0 => {
                let (own, mean) = (percent(done, all), percent(sample.all.operations, of_all));
                (own < mean).then(|| format!("slowest: rank {rank} ({own} %)"))
            }
            _ => {
                let mean = sample.all.operations / u64::from(sample.running);
                (done < mean).then(|| format!("slowest: rank {rank} ({})", counted(done)))
            }
        }
    }

    /// The line of a sample; its rates are those since the one before.
    fn next(&mut self, sample: &Sample, hosts: &[String]) -> String {
        let before = std::mem::replace(&mut self.before, sample.clone());
        let passed = sample.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / passed.max(1e-9);
        let mut parts = vec![seconds(sample.at_ns / 1_000_000_000)];
        parts.extend(label(sample));
        let (done, of_all) = (sample.all.operations, &before.all);
        parts.push(match self.all {
            Some(all) if all > 0 && done <= all => {
                let share = (done as f64 / all as f64 * 100.0).floor();
                format!("{share} % of {}", counted(all))
            }
            _ => counted(done),
        });
        let per_second = rate(done, of_all.operations);
        parts.push(format!("{} ops/s", HumanCount(per_second as u64)));
        if let Some(bytes) = sample.all.bytes.filter(|bytes| *bytes > 0) {
            let mib_s = rate(bytes, of_all.bytes.unwrap_or(0)) / 1_048_576.0;
            parts.push(match mib_s {
                0.0 => format!("{} so far", format_bytes(bytes)),
                _ => format!("{} MiB/s", significant(mib_s)),
            });
        }
        parts.push(at_work(sample));
        parts.extend(self.slowest(sample));
        parts.extend(nodes(&before, sample, passed, hosts));
        parts.join(", ")
    }
}

/// "nodes 96 (cn07) to 104 (cn02) MiB/s": the slowest machine and the fastest one since the sample
/// before, by bytes if any were moved.
fn nodes(before: &Sample, now: &Sample, passed_s: f64, hosts: &[String]) -> Option<String> {
    let grown = |figure: fn(&Standing) -> u64| -> Vec<(u64, u32)> {
        let then = |node| before.nodes.iter().find(|known| known.0 == node).map(|known| &known.1);
        let grown = |(node, standing): &(u32, Standing)| {
            (figure(standing).saturating_sub(then(*node).map_or(0, figure)), *node)
        };
        now.nodes.iter().map(grown).collect()
    };
    let bytes = grown(|standing| standing.bytes.unwrap_or(0));
    let by_bytes = bytes.iter().any(|(bytes, _)| *bytes > 0);
    let grown = if by_bytes { bytes } else { grown(|standing| standing.operations) };
    let (least, most) = (grown.iter().min()?, grown.iter().max()?);
    let shown = |(amount, node): &(u64, u32)| {
        let per_second = *amount as f64 / passed_s.max(1e-9);
        let rate = match by_bytes {
            true => significant(per_second / 1_048_576.0).to_string(),
            false => HumanCount(per_second as u64).to_string(),
        };
        let host = hosts.get(*node as usize).map_or_else(|| node.to_string(), String::clone);
        format!("{rate} ({host})")
    };
    let unit = if by_bytes { "MiB/s" } else { "ops/s" };
    let all = || format!("nodes {} to {} {unit}", shown(least), shown(most));
    (grown.len() > 1).then(all)
}

/// "1 operation", "2,000 operations".
fn counted(operations: u64) -> String {
    let plural = if operations == 1 { "" } else { "s" };
    format!("{} operation{plural}", HumanCount(operations))
}

/// "in read", "in read (3 ranks)" where others are elsewhere.
fn label(sample: &Sample) -> Option<String> {
    let (label, ranks) = sample.all.label.as_ref()?;
    let label = shortened(label);
    Some(match *ranks == sample.running {
        true => format!("in {label}"),
        false if *ranks == 1 => format!("in {label} (1 rank)"),
        false => format!("in {label} ({ranks} ranks)"),
    })
}

/// "4 ranks" that have not ended; "3 of 4 ranks at work" if others wait.
fn at_work(sample: &Sample) -> String {
    let working = sample.running.saturating_sub(sample.waiting);
    match sample.running {
        1 if working == 1 => "1 rank".into(),
        running if working == running => format!("{running} ranks"),
        running => format!("{working} of {running} ranks at work"),
    }
}

/// "12 s", "3 min 7 s", "2 h 5 min".
fn seconds(all: u64) -> String {
    match (all / 3600, all / 60 % 60, all % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A name of the program's author: harmless, and short.
fn shortened(name: &str) -> String {
    let name = model::escape::line(name);
    match name.char_indices().nth(NAME) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name.to_string(),
    }
}

fn say_ready() {
    let pid = std::process::id();
    console::say(&format!("ready; to start: kill -USR1 {pid}\n"));
}

/// A line on standard error, if somebody looks there.
pub fn drawn(quiet: bool) -> Option<ProgressBar> {
    if quiet || !console::is_watched() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg}");
    Some(bar.with_style(style.expect("a constant that is well-formed")))
}

/// Does `work`, and says what it is if it takes longer than a second. Only while no ranks are at
/// work: a thread looks at the time.
pub fn during<T>(quiet: bool, what: &str, work: impl FnOnce() -> T) -> T {
    let Some(bar) = drawn(quiet) else { return work() };
    thread::scope(|scope| {
        // Goes with this closure, also if the work panics: then the thread ends.
        let (_over, waits) = channel::<()>();
        let draw = move || {
            while waits.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(format!("{what} ... {}", seconds(bar.elapsed().as_secs())));
            }
            bar.finish_and_clear();
        };
        // Without the thread the work is done all the same.
        let _ = without_signals(|| thread::Builder::new().spawn_scoped(scope, draw));
        work()
    })
}

/// Operations of all ranks, if the rehearsal came to the end and their number does not depend on the time
/// that they take: a rehearsal has its own.
fn operations(rehearsal: &Rehearsal) -> Option<u64> {
    let of = |(ranks, rank): &(Range<u32>, RankFigures)| {
        rank.operations().saturating_mul(u64::from(ranks.end - ranks.start))
    };
    (rehearsal.complete && !rehearsal.by_time)
        .then(|| rehearsal.ranks.iter().map(of).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: u64, operations: u64, bytes: Option<u64>) -> Sample {
        let label = Some(("read".into(), 4));
        let all = Standing { operations, bytes, label, slowest: None };
        Sample { at_ns: at_s * 1_000_000_000, all, running: 4, ..Sample::default() }
    }

    #[test]
    fn a_line_tells_share_rates_label_and_ranks() {
        let mut line = Line { all: Some(2_000_000), before: Sample::default() };
        line.next(&sample(11, 650_000, Some(10 << 20)), &[]);
        assert_eq!(
            line.next(&sample(12, 860_000, Some(822 << 20)), &[]),
            "12 s, in read, 43 % of 2,000,000 operations, 210,000 ops/s, 812 MiB/s, 4 ranks"
        );
        let mut idle = Sample { waiting: 3, at_ns: 75_000_000_000, ..line.before.clone() };
        idle.all.label = Some(("read".into(), 1));
        assert_eq!(
            line.next(&idle, &[]),
            "1 min 15 s, in read (1 rank), 43 % of 2,000,000 operations, 0 ops/s, \
             822 MiB so far, 1 of 4 ranks at work"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut line = Line::default();
        let mut sample = Sample { running: 1, ..sample(2, 10, None) };
        sample.all.label = None;
        assert_eq!(line.next(&sample, &[]), "2 s, 10 operations, 5 ops/s, 1 rank");
        // A share above all would be a wrong total.
        let mut line = Line { all: Some(3), before: Sample::default() };
        assert_eq!(line.next(&sample, &[]), "2 s, 10 operations, 5 ops/s, 1 rank");
    }

    #[test]
    fn a_number_that_depends_on_the_time_gives_no_share() {
        let known = Rehearsal { complete: true, ..Rehearsal::default() };
        let timed = Rehearsal { by_time: true, ..known.clone() };
        let unfinished = Rehearsal { complete: false, ..known.clone() };
        let told = [known, timed, unfinished].map(|rehearsal| operations(&rehearsal));
        assert_eq!(told, [Some(0), None, None]);
    }

    #[test]
    fn the_slowest_rank_and_machine_are_named() {
        let of = |operations, bytes| Standing { operations, bytes, ..Standing::default() };
        let at = |at_s, nodes: [Standing; 2], slowest| {
            let mut sample = sample(at_s, nodes[0].operations + nodes[1].operations, None);
            sample.all.slowest = Some(slowest);
            Sample { nodes: (0..).zip(nodes).collect(), ..sample }
        };
        let hosts = ["cn02".to_string(), "cn07".to_string()];
        let mut line = Line { all: Some(1000), before: Sample::default() };
        let slowest = |done, all| Slowest { rank: 3, done, all };
        let told = line.next(&at(1, [of(100, Some(0)), of(60, Some(0))], slowest(20, 250)), &hosts);
        assert!(
            told.ends_with("slowest: rank 3 (8 %), nodes 60 (cn07) to 100 (cn02) ops/s"),
            "{told}"
        );
        let moved = [of(200, Some(8 << 20)), of(120, Some(4 << 20))];
        let told = line.next(&at(3, moved.clone(), slowest(80, 250)), &hosts);
        assert!(told.ends_with("4 ranks, nodes 2 (cn07) to 4 (cn02) MiB/s"), "{told}");
        let mut line = Line::default();
        let told = line.next(&at(3, moved, slowest(70, 0)), &[]);
        assert!(
            told.contains("slowest: rank 3 (70 operations), nodes 1.33 (1) to 2.67 (0)"),
            "{told}"
        );
    }

    #[test]
    fn a_sweep_tells_execution_point_and_rest() {
        let (point, done_in) = ("block=4k".into(), Duration::ZERO);
        let mut executions = Executions { begun: 1, all: 30, point, done_in };
        assert_eq!(executions.text(Duration::from_secs(5)), "execution 1 of 30, block=4k");
        (executions.begun, executions.done_in) = (11, Duration::from_secs(100));
        for (elapsed_s, left) in [(100, "3 min 20 s"), (104, "3 min 16 s"), (400, "0 s")] {
            let text = executions.text(Duration::from_secs(elapsed_s));
            assert_eq!(text, format!("execution 11 of 30, block=4k, about {left} left"));
        }
    }

    #[test]
    fn a_log_gets_lines_at_growing_intervals() {
        let mut lines = Intervals::new();
        let due = (0..4_000).filter(|now_s| lines.is_due(Duration::from_secs(*now_s)));
        assert_eq!(
            due.collect::<Vec<u64>>(),
            [10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030, 3630]
        );
    }

    #[test]
    fn names_are_harmless_and_short() {
        assert_eq!(shortened("a\u{1b}[31mb"), "a\\x1b[31mb");
        assert_eq!(shortened(&"x".repeat(300)).len(), NAME + 3);
    }

    #[test]
    fn work_is_done_once_whoever_looks() {
        assert_eq!(during(true, "nothing", || 7), 7);
    }
}
