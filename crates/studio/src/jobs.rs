//! Runs: `parabench run --progress json` as a process of its own, one at a time.
//!
//! A run in the studio is a run in the shell: the same command with the same process, and nothing of the studio in its
//! ranks. What the process writes is kept as numbered lines of JSON, so that a browser that comes later, or again, reads
//! everything from the start. The run ends with its program, not with the browser.

use crate::answer::Refused;
use axum::http::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// Lines of a run that are kept; of more, half of the samples go.
const LINES_MAX: usize = 4096;
/// Longest line that is kept whole, bytes.
const LINE_MAX: u64 = 64 << 10;
/// Runs whose lines are kept.
const JOBS_MAX: usize = 20;

/// A run that was started here.
pub struct Job {
    /// Its number, from 1.
    pub id: u64,
    /// Folder of its results.
    pub out: String,
    command: Vec<String>,
    lines: Mutex<Lines>,
    changed: watch::Sender<u64>,
    /// Until the process was waited for.
    pid: Mutex<Option<Pid>>,
}

#[derive(Default)]
struct Lines {
    all: VecDeque<(u64, String)>,
    next: u64,
    exit_code: Option<i32>,
}

/// A run for the list.
#[derive(Serialize)]
pub struct Summary {
    id: u64,
    out: String,
    command: Vec<String>,
    exit_code: Option<i32>,
}

/// All runs that were started here.
#[derive(Default)]
pub struct Jobs(Mutex<(u64, VecDeque<Arc<Job>>)>);

impl Jobs {
    /// Starts a process; `words` are its arguments. Refuses while another one measures.
    pub fn start(
        &self,
        program: &Path,
        words: Vec<String>,
        folder: &Path,
        out: String,
    ) -> Result<Arc<Job>, Refused> {
        let mut jobs = self.0.lock().map_err(|_| Refused::failed("the list of runs is lost"))?;
        if jobs.1.iter().any(|job| !job.has_ended()) {
            let why =
                "a run goes on, and two would disturb each other: wait for its end, or stop it";
            return Err(Refused::new(StatusCode::CONFLICT, why));
        }
        let child = Command::new(program)
            .args(&words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| Refused::failed(format!("cannot start the run: {why}")))?;
        jobs.0 += 1;
        let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
        let command = std::iter::once("parabench".into()).chain(words).collect();
        let (lines, changed) = (Mutex::default(), watch::Sender::new(0));
        let job = Arc::new(Job { id: jobs.0, out, command, lines, changed, pid: Mutex::new(pid) });
        jobs.1.push_back(job.clone());
        if jobs.1.len() > JOBS_MAX {
            jobs.1.pop_front();
        }
        tokio::spawn(follow(job.clone(), child));
        Ok(job)
    }

    /// The run with this number.
    pub fn find(&self, id: u64) -> Result<Arc<Job>, Refused> {
        let jobs = self.0.lock().map_err(|_| Refused::failed("the list of runs is lost"))?;
        let job = jobs.1.iter().find(|job| job.id == id).cloned();
        job.ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, format!("there is no run {id}")))
    }

    /// All that are kept, the newest first.
    pub fn list(&self) -> Vec<Summary> {
        let Ok(jobs) = self.0.lock() else { return Vec::new() };
        jobs.1.iter().rev().map(|job| job.summary()).collect()
    }
}

impl Job {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        self.lines().exit_code.is_some()
    }

    /// For the list.
    pub fn summary(&self) -> Summary {
        let exit_code = self.lines().exit_code;
        Summary { id: self.id, out: self.out.clone(), command: self.command.clone(), exit_code }
    }

    /// Interrupts it as Ctrl-C does: what was measured is stored. A second time it ends within seconds.
    pub fn stop(&self) -> Result<(), Refused> {
        let pid = self.pid.lock().map_err(|_| Refused::failed("the process is lost"))?;
        match *pid {
            Some(pid) => kill_process(pid, Signal::INT)
                .map_err(|errno| Refused::failed(format!("cannot stop the run: {errno}"))),
            None => Err(Refused::new(StatusCode::CONFLICT, "the run has ended")),
        }
    }

    /// Lines from this number on, the number after them, and whether more may come.
    pub fn after(&self, next: u64) -> (Vec<String>, u64, bool) {
        let lines = self.lines();
        let new = lines.all.iter().filter(|(number, _)| *number >= next);
        (new.map(|(_, line)| line.clone()).collect(), lines.next, lines.exit_code.is_none())
    }

    /// Is told of every new line.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn add(&self, line: &Value, exit_code: Option<i32>) {
        let mut lines = self.lines();
        let number = lines.next;
        lines.next += 1;
        lines.exit_code = exit_code;
        lines.all.push_back((number, line.to_string()));
        if lines.all.len() > LINES_MAX {
            thin(&mut lines.all);
        }
        drop(lines);
        self.changed.send_replace(number + 1);
    }
}

/// Drops every second sample, and where that is too little, the oldest line.
fn thin(lines: &mut VecDeque<(u64, String)>) {
    let mut is_odd = false;
    lines.retain(|(_, line)| {
        is_odd ^= line.contains(r#""event":"sample""#);
        is_odd || !line.contains(r#""event":"sample""#)
    });
    while lines.len() > LINES_MAX {
        lines.pop_front();
    }
}

/// Keeps what the process writes until it has ended.
async fn follow(job: Arc<Job>, mut child: Child) {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let printed = tokio::spawn(keep(job.clone(), out, false));
    keep(job.clone(), err, true).await;
    let _ = printed.await;
    let status = child.wait().await;
    if let Ok(mut pid) = job.pid.lock() {
        *pid = None;
    }
    let code = status.ok().and_then(|status| status.code()).unwrap_or(-1);
    job.add(&json!({ "event": "exit", "exit_code": code, "out": job.out }), Some(code));
}

/// Keeps the lines of a stream: JSON of the progress as it is, others as messages.
async fn keep(job: Arc<Job>, stream: Option<impl AsyncRead + Unpin>, is_error: bool) {
    let Some(stream) = stream else { return };
    let mut stream = BufReader::new(stream);
    loop {
        let mut bytes = Vec::new();
        match (&mut stream).take(LINE_MAX).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        let progress = Some(text).filter(|text| is_error && text.starts_with('{'));
        let line = progress.and_then(|text| serde_json::from_str(text).ok());
        let event = if is_error { "message" } else { "output" };
        job.add(&line.unwrap_or_else(|| json!({ "event": event, "text": text })), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_lines_samples_go_first() {
        let line = |number: u64| match number % 10 {
            0 => (number, r#"{"event":"message"}"#.to_string()),
            _ => (number, r#"{"event":"sample"}"#.to_string()),
        };
        let mut lines: VecDeque<_> = (0..1000).map(line).collect();
        thin(&mut lines);
        let samples = lines.iter().filter(|(_, line)| line.contains("sample")).count();
        assert_eq!((samples, lines.len() - samples), (450, 100));
    }
}
