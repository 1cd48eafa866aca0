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

mod line;

use super::relay;
use crate::console;
use engine::comm::Progress;
use engine::supervise::without_signals;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use line::Line;
use model::rehearsal::Rehearsal;
use model::run::Job;
use mpi::launcher;
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
    /// Before this process.
    earlier: u64,
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
        let executions =
            executions.map(|all| Executions { earlier: 0, begun: 0, all, point, done_in });
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
        if let Some(text) = self.begun(point, self.bar.elapsed()) {
            self.text(text);
        }
    }

    /// What is said of a sweep before an execution: ranks that end soon are never looked at.
    fn begun(&mut self, point: &str, elapsed: Duration) -> Option<String> {
        let executions = self.executions.as_mut()?;
        executions.begun += 1;
        (executions.point, executions.done_in) = (shortened(point), elapsed);
        let is_due = match self.to {
            To::Log => self.lines.is_due(elapsed),
            _ => elapsed >= PERIOD,
        };
        is_due.then(|| executions.text(elapsed))
    }

    /// An execution of a sweep was over before.
    pub fn is_there(&mut self) {
        self.executions.iter_mut().for_each(|executions| executions.earlier += 1);
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
    /// "2 of 30 executions over, now block=4k, about 2 min 10 s left".
    fn text(&self, elapsed: Duration) -> String {
        let done = self.begun.saturating_sub(1);
        let over = self.earlier + done;
        let mut text = format!("{over} of {} executions over", self.all);
        if !self.point.is_empty() && self.point != "all" {
            text += &format!(", now {}", self.point);
        }
        if done > 0 {
            let one = self.done_in.as_secs_f64() / done as f64;
            let own = elapsed.saturating_sub(self.done_in).as_secs_f64();
            let left = (one * self.all.saturating_sub(over) as f64 - own).max(0.0);
            text += &format!(", about {} left", seconds(left as u64));
        }
        text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_tells_execution_point_and_rest() {
        let (point, done_in) = ("block=4k".into(), Duration::ZERO);
        let mut executions = Executions { earlier: 0, begun: 1, all: 30, point, done_in };
        let text = executions.text(Duration::from_secs(5));
        assert_eq!(text, "0 of 30 executions over, now block=4k");
        (executions.begun, executions.done_in) = (11, Duration::from_secs(100));
        for (elapsed_s, left) in [(100, "3 min 20 s"), (104, "3 min 16 s"), (400, "0 s")] {
            let text = executions.text(Duration::from_secs(elapsed_s));
            let said = format!("10 of 30 executions over, now block=4k, about {left} left");
            assert_eq!(text, said);
        }
        (executions.earlier, executions.begun) = (15, 6);
        let text = executions.text(Duration::from_secs(100));
        assert_eq!(text, "20 of 30 executions over, now block=4k, about 3 min 20 s left");
    }

    #[test]
    fn a_log_tells_of_a_sweep_whose_executions_are_short() {
        let mut bar = Bar { to: To::Log, ..Bar::new(Some(4000), true, None) };
        let said = (0..20).filter_map(|at| bar.begun("n=1", Duration::from_secs(9 * at)));
        let said: Vec<String> = said.collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert_eq!(said[0], "2 of 4000 executions over, now n=1, about 9 h 59 min left");
        assert!(
            said[1].starts_with("5 of 4000 ") && said[2].starts_with("10 of 4000 "),
            "{said:?}"
        );
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
