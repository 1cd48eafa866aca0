//! The progress line of a run, on standard error:
//!
//! ```text
//! run 2 of 30 (block=4k) - read - 43 % of 2,000,000 operations - 208,043 ops/s - 812 MiB/s - 12 s - about 16 s left
//! ```
//!
//! At a terminal the parent of the ranks draws it once in a second, and it is gone at the end. In a pipe, a
//! file or a batch job it is a whole line `progress: ...` every 10 s; of an MPI job, rank 0 writes it. With
//! `--progress json` it is a JSON line twice in a second ([`super::stream`]).
//!
//! Work after the end of the ranks has a line at a terminal if it takes longer than a second.

use super::args::{ProgressForm, Results};
use super::stream;
use crate::console;
use engine::comm::{Progress, Sample};
use engine::supervise::without_signals;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::units::{format_bytes, significant};
use mpi::launcher;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks at the ranks, and before the first line.
const PERIOD: Duration = Duration::from_secs(1);
/// Time between two lines of a log, and before the first.
const LOG_PERIOD: Duration = Duration::from_secs(10);
/// Time between two JSON lines, and before the first sample.
const JSON_PERIOD: Duration = Duration::from_millis(500);
/// Characters of a label or a point.
const NAME_CHARS: usize = 40;
/// Smallest share of the operations from which the remaining time is estimated.
const LEAST_SHARE: f64 = 0.02;

/// Where the line goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Nowhere,
    Terminal,
    /// Standard error that is a pipe or a file.
    Log,
    /// A program reads standard error.
    Json,
}

impl Target {
    fn find(results: &Results) -> Target {
        let is_first = || launcher::job().is_none_or(|job| job.rank == 0);
        match (results.progress, results.quiet) {
            (ProgressForm::Json, _) if is_first() => Target::Json,
            (ProgressForm::Json, _) | (_, true) => Target::Nowhere,
            _ if console::is_watched() => Target::Terminal,
            _ if is_first() => Target::Log,
            _ => Target::Nowhere,
        }
    }
}

/// Time between two looks at the ranks; `None` if nobody sees the line.
pub fn watch_period(results: &Results) -> Option<Duration> {
    match Target::find(results) {
        Target::Nowhere => None,
        Target::Terminal => Some(PERIOD),
        Target::Log => Some(LOG_PERIOD),
        Target::Json => Some(JSON_PERIOD),
    }
}

/// Executions of a sweep.
struct Executions {
    all: u64,
    /// Finished by an earlier process.
    earlier: u64,
    /// Begun by this process.
    begun: u64,
    /// Parameter point of the current one.
    point: String,
    /// When the current one began.
    since: Duration,
}

/// The line of a run, or of a sweep with the execution in front.
pub struct Bar {
    /// Hidden if nothing is drawn; it measures the time all the same.
    bar: ProgressBar,
    target: Target,
    /// When a log gets its next line.
    next: Duration,
    /// The sample before, for rates.
    before: Sample,
    executions: Option<Executions>,
}

impl Bar {
    /// Draws nothing yet. `executions`: largest number of executions, of a sweep.
    pub fn new(executions: Option<u64>, results: &Results) -> Bar {
        let target = Target::find(results);
        if target == Target::Json {
            stream::start(executions.unwrap_or(1));
        }
        Bar::to(target, executions)
    }

    fn to(target: Target, executions: Option<u64>) -> Bar {
        let (point, since) = (String::new(), Duration::ZERO);
        let executions =
            executions.map(|all| Executions { all, earlier: 0, begun: 0, point, since });
        Bar {
            bar: drawn(target != Target::Terminal).unwrap_or_else(ProgressBar::hidden),
            target,
            next: LOG_PERIOD,
            before: Sample::default(),
            executions,
        }
    }

    /// An execution begins, of a sweep at a point of the grid. Short executions are never looked at: a line between
    /// them shows where the sweep is.
    pub fn begin(&mut self, point: &str) {
        self.before = Sample::default();
        let now = self.bar.elapsed();
        let Some(executions) = &mut self.executions else { return };
        executions.begun += 1;
        (executions.point, executions.since) = (shorten(point), now);
        if self.target == Target::Json {
            stream::execution(executions.number(), point);
        } else if now >= PERIOD && self.is_due(now) {
            self.write(self.line(None, now));
        }
    }

    /// A log gets a line every ten seconds.
    fn is_due(&mut self, now: Duration) -> bool {
        let is_due = self.target != Target::Log || now >= self.next;
        if is_due {
            self.next = now + LOG_PERIOD;
        }
        is_due
    }

    /// An earlier process has executed one.
    pub fn count_earlier(&mut self) {
        self.executions.iter_mut().for_each(|executions| executions.earlier += 1);
    }

    /// An execution is not needed.
    pub fn skip(&mut self) {
        self.executions.iter_mut().for_each(|executions| {
            executions.all = executions.all.saturating_sub(1);
        });
    }

    /// Draws how far the ranks are, or says that they wait to be started.
    pub fn show(&mut self, progress: &Progress) {
        let now = self.bar.elapsed();
        match progress {
            Progress::Held => {
                let pid = std::process::id();
                console::say(&format!("ready; to start: kill -USR1 {pid}\n"));
            }
            Progress::Alive => {}
            Progress::At(sample) if self.target == Target::Json => {
                let number = self.executions.as_ref().map_or(1, Executions::number);
                stream::sample(number, &self.before, sample, now, self.left(Some(sample), now));
                self.before = sample.clone();
            }
            Progress::At(sample) if self.is_due(now) => {
                let line = self.line(Some(sample), now);
                self.before = sample.clone();
                self.write(line);
            }
            Progress::At(_) => {}
        }
    }

    fn line(&self, sample: Option<&Sample>, now: Duration) -> String {
        let mut parts: Vec<String> = self.executions.iter().map(Executions::describe).collect();
        parts.extend(sample.iter().flat_map(|sample| describe(&self.before, sample)));
        parts.push(describe_seconds(now.as_secs()));
        let left = self.left(sample, now);
        parts.extend(left.map(|left| format!("about {} left", describe_seconds(left.as_secs()))));
        parts.join(" - ")
    }

    fn left(&self, sample: Option<&Sample>, now: Duration) -> Option<Duration> {
        match (&self.executions, sample) {
            (Some(executions), _) => executions.left(now),
            (None, Some(sample)) => left(sample),
            (None, None) => None,
        }
    }

    fn write(&self, line: String) {
        match self.target {
            Target::Nowhere | Target::Json => {}
            Target::Terminal => self.bar.set_message(line),
            Target::Log => console::say(&format!("progress: {line}\n")),
        }
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Executions {
    /// Number of the current one, from 1.
    fn number(&self) -> u64 {
        self.earlier + self.begun.max(1)
    }

    fn describe(&self) -> String {
        let (number, all) = (self.number(), self.all);
        match self.point.as_str() {
            "" | "all" => format!("run {number} of {all}"),
            point => format!("run {number} of {all} ({point})"),
        }
    }

    /// Remaining time, by the mean of those that this process has finished.
    fn left(&self, now: Duration) -> Option<Duration> {
        let finished = self.begun.checked_sub(1).filter(|finished| *finished > 0)?;
        let remaining = self.all.saturating_sub(self.earlier + finished);
        let all = self.since.mul_f64(remaining as f64 / finished as f64);
        Some(all.saturating_sub(now.saturating_sub(self.since)))
    }
}

/// Label, share and rates since the sample before.
fn describe(before: &Sample, sample: &Sample) -> Vec<String> {
    let Sample { operations, .. } = *sample;
    let mut parts: Vec<String> = sample.label.iter().map(|label| shorten(label)).collect();
    parts.push(match share(sample) {
        Some(share) => {
            let expected = count_operations(sample.expected.unwrap_or(0));
            format!("{} % of {expected}", (share * 100.0).floor())
        }
        None => count_operations(operations),
    });
    let rate = |then: u64, now: u64| rate(before, sample, now.saturating_sub(then));
    let rate_ops = rate(before.operations, operations) as u64;
    parts.push(format!("{} ops/s", HumanCount(rate_ops)));
    if let Some(bytes) = sample.bytes.filter(|bytes| *bytes > 0) {
        parts.push(match rate(before.bytes.unwrap_or(0), bytes) / 1_048_576.0 {
            0.0 => format!("{} so far", format_bytes(bytes)),
            mib_s => format!("{} MiB/s", significant(mib_s)),
        });
    }
    parts.extend(sample.waiting.as_deref().map(model::escape::line));
    parts
}

/// An amount divided by the seconds between two samples.
pub fn rate(before: &Sample, sample: &Sample, amount: u64) -> f64 {
    let passed_s = sample.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
    amount as f64 / passed_s.max(1e-9)
}

/// Done operations divided by expected ones; a share above 1 would be a wrong total.
pub fn share(sample: &Sample) -> Option<f64> {
    let expected = sample.expected.filter(|expected| *expected >= sample.operations)?;
    Some(sample.operations as f64 / expected.max(1) as f64)
}

fn left(sample: &Sample) -> Option<Duration> {
    let share = share(sample).filter(|share| (LEAST_SHARE..1.0).contains(share))?;
    Some(Duration::from_nanos(sample.at_ns).mul_f64(1.0 / share - 1.0))
}

/// "1 operation", "2,000 operations".
fn count_operations(operations: u64) -> String {
    let noun = model::words::plural(operations, "operation");
    format!("{} {noun}", HumanCount(operations))
}

/// "12 s", "3 min 7 s", "2 h 5 min".
fn describe_seconds(all: u64) -> String {
    match (all / 3600, all / 60 % 60, all % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A name of the program's author, escaped and short.
fn shorten(name: &str) -> String {
    model::words::shortened(&model::escape::line(name), NAME_CHARS).into()
}

/// A line on standard error, if that is a terminal.
fn drawn(quiet: bool) -> Option<ProgressBar> {
    if quiet || !console::is_watched() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_msg}");
    Some(bar.with_style(style.expect("a constant that is well-formed")))
}

/// Does `work`, and names it at a terminal if it takes longer than a second. Only while no ranks are at
/// work: a thread looks at the time.
pub fn during<T>(quiet: bool, what: &str, work: impl FnOnce() -> T) -> T {
    let Some(bar) = drawn(quiet) else { return work() };
    thread::scope(|scope| {
        // Dropped with this closure, also if the work panics: then the thread ends.
        let (_over, waits) = channel::<()>();
        let draw = move || {
            while waits.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(format!(
                    "{what} ... {}",
                    describe_seconds(bar.elapsed().as_secs())
                ));
            }
            bar.finish_and_clear();
        };
        // Without the thread the work is done all the same.
        let _ = without_signals(|| thread::Builder::new().spawn_scoped(scope, draw));
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn sample(at_s: u64, operations: u64, expected: Option<u64>, bytes: Option<u64>) -> Sample {
        let label = Some("read".into());
        Sample {
            at_ns: at_s * 1_000_000_000,
            ranks: 4,
            operations,
            expected,
            bytes,
            labels: vec![label.clone(); 4],
            label,
            waiting: None,
        }
    }

    #[test]
    fn a_line_has_phase_share_rates_and_time_left() {
        let mut bar = Bar::to(Target::Nowhere, None);
        bar.before = sample(11, 650_000, Some(2_000_000), Some(10 << 20));
        let now = sample(12, 860_000, Some(2_000_000), Some(822 << 20));
        let line = bar.line(Some(&now), seconds(12));
        assert_eq!(
            line,
            "read - 43 % of 2,000,000 operations - 210,000 ops/s - 812 MiB/s - 12 s - about 15 s left"
        );
        bar.before = now;
        let idle = sample(75, 860_000, Some(2_000_000), Some(822 << 20));
        let line = bar.line(Some(&idle), seconds(75));
        assert!(line.contains("- 0 ops/s - 822 MiB so far - 1 min 15 s -"), "{line}");
        // A share above all would be a wrong total.
        for expected in [None, Some(3)] {
            let line = Bar::to(Target::Nowhere, None)
                .line(Some(&sample(2, 10, expected, None)), seconds(2));
            assert_eq!(line, "read - 10 operations - 5 ops/s - 2 s");
        }
    }

    #[test]
    fn a_sweep_has_execution_point_and_time_left() {
        let mut bar = Bar::to(Target::Nowhere, Some(30));
        bar.begin("block=4k");
        assert_eq!(bar.line(None, seconds(5)), "run 1 of 30 (block=4k) - 5 s");
        let executions = bar.executions.as_mut().expect("a sweep");
        (executions.begun, executions.since) = (11, seconds(100));
        for (now, left) in [(100, "3 min 20 s"), (104, "3 min 16 s"), (400, "0 s")] {
            let line = bar.line(None, seconds(now));
            assert!(line.starts_with("run 11 of 30 (block=4k) - "), "{line}");
            assert!(line.ends_with(&format!(" - about {left} left")), "{line}");
        }
        (0..15).for_each(|_| bar.count_earlier());
        let executions = bar.executions.as_mut().expect("a sweep");
        executions.begun = 6;
        let line = bar.line(None, seconds(100));
        let expected = "run 21 of 30 (block=4k) - 1 min 40 s - about 3 min 20 s left";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_log_has_a_line_every_ten_seconds() {
        let mut log = Bar::to(Target::Log, None);
        let due = (0..3_600).filter(|now_s| log.is_due(seconds(*now_s)));
        assert!(due.eq((10..3_600).step_by(10)));
    }

    #[test]
    fn names_are_escaped_and_short() {
        assert_eq!(shorten("a\u{1b}[31mb"), "a\\x1b[31mb");
        assert_eq!(shorten(&"x".repeat(300)).len(), NAME_CHARS + 3);
    }
}
