//! The line that tells how far an MPI job is: rank 0 writes it on standard error, among what it says
//! otherwise, and the `parabench run --mpi` that started the job takes it out there and draws it. So it
//! gets wherever the launcher passes words on, also from another machine.
//!
//! ```text
//! rank 0 ──"\x1eparabench: 12 s, in read, ..."──▶ launcher ──▶ parabench run --mpi ──▶ terminal
//! ```

use super::progress;
use indicatif::ProgressBar;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Variable that tells rank 0 that somebody looks.
const VARIABLE: &str = "PARABENCH_WATCHED";
/// Before such a line. Names and texts of programs have no control characters where they are shown.
const MARK: &str = "\u{1e}parabench:";
/// News this old have their age beside them.
const OLD: Duration = Duration::from_secs(3);

/// Whoever started this job draws the line.
pub fn is_wanted() -> bool {
    std::env::var_os(VARIABLE).is_some() && mpi::launcher::job().is_some_and(|job| job.rank == 0)
}

/// Rank 0: how far the job is; nothing: the line is to be taken away.
pub fn tell(line: &str) {
    // There is nobody to tell if that fails.
    let _ = io::stderr().lock().write_all(format!("{MARK} {line}\n").as_bytes());
}

/// Draws the line of a job.
#[derive(Clone)]
pub struct Relay {
    drawn: Option<ProgressBar>,
    news: Arc<Mutex<News>>,
}

#[derive(Default)]
struct News {
    line: String,
    /// When it came.
    at: Duration,
    /// Seconds that are shown beside it.
    age_s: u64,
}

impl Relay {
    /// Asks the job for it, if somebody looks at standard error.
    pub fn new(command: &mut std::process::Command, quiet: bool) -> Relay {
        let drawn = progress::drawn(quiet);
        command.env_remove(VARIABLE);
        if drawn.is_some() {
            command.env(VARIABLE, "1");
        }
        Relay { drawn, news: Arc::default() }
    }

    /// Takes a line that tells how far the job is; `false`: it is another one.
    pub fn takes(&self, line: &str) -> bool {
        let Some((_, told)) = line.split_once(MARK) else { return false };
        if let Some(bar) = &self.drawn {
            let line = model::escape::line(told.trim());
            bar.set_message(line.clone());
            *self.news() = News { line, at: bar.elapsed(), age_s: 0 };
        }
        true
    }

    /// Looks at the time: rank 0 says nothing while it is inside of one long call.
    pub fn tick(&self) {
        let Some(bar) = &self.drawn else { return };
        let mut news = self.news();
        let age = bar.elapsed().saturating_sub(news.at);
        if age >= OLD && age.as_secs() > news.age_s && !news.line.is_empty() {
            news.age_s = age.as_secs();
            bar.set_message(format!("{} ({} s ago)", news.line, news.age_s));
        }
    }

    /// Writes something else without breaking the line.
    pub fn beside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.drawn {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.drawn {
            bar.finish_and_clear();
        }
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
