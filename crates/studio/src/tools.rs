//! Other subcommands of `parabench`, each as a process: pages of runs, comparisons, imports.

use crate::Studio;
use crate::answer::Refused;
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Longest log that is taken, bytes.
pub const LOG_MAX: u64 = 512 << 20;
/// Longest page, bytes.
const PAGE_MAX: u64 = 64 << 20;
/// The longest output of a subcommand, bytes.
const PRINTED_MAX: u64 = 4 << 20;
/// A subcommand that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);
/// Subcommands at a time.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Runs `parabench` with these words in the folder: what it printed, or what it says is wrong.
pub async fn call(studio: &Studio, words: &[&str]) -> Result<String, Refused> {
    call_in(studio.folder.path(), studio, words).await
}

/// The same in a directory.
async fn call_in(directory: &Path, studio: &Studio, words: &[&str]) -> Result<String, Refused> {
    let _turn = TURNS.acquire().await;
    let mut child = Command::new(&studio.program)
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|why| Refused::failed(format!("cannot start parabench: {why}")))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(printed(out), printed(err), child.wait()) };
    let (out, err, status) =
        timeout(PATIENCE, all).await.map_err(|_| Refused::failed("parabench took too long"))?;
    // A run that failed, or a gate, is shown like any other.
    match status.ok().and_then(|status| status.code()) {
        Some(0 | 1 | 3) => Ok(out),
        _ => Err(Refused::input(err.trim().trim_start_matches("error: "))),
    }
}

async fn printed(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut bytes = Vec::new();
    let _ = (&mut stream).take(PRINTED_MAX).read_to_end(&mut bytes).await;
    // The process must not wait for somebody to read the rest.
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The page that a subcommand writes with `--html`.
pub async fn page(studio: &Studio, words: &[&str]) -> Result<String, Refused> {
    let failed = |why: std::io::Error| Refused::failed(format!("cannot make the page: {why}"));
    let place = tempfile::tempdir().map_err(failed)?;
    let file = place.path().join("page.html");
    let file_name = file.to_string_lossy();
    let said = call(studio, &[words, &["--html", &file_name]].concat()).await?;
    let mut text = String::new();
    let read = File::open(&file).and_then(|file| file.take(PAGE_MAX).read_to_string(&mut text));
    read.map_err(|_| Refused::input(said)).map(|_| text)
}

/// The result of an import.
#[derive(Serialize)]
pub struct Imported {
    /// The folder of its run.
    run: String,
    /// The folded program; none if it cannot be folded.
    program: Option<String>,
    /// Why not.
    message: String,
}

/// Stores an uploaded log, makes a run of it, and folds that into a program.
pub async fn import(studio: &Studio, name: &str, body: Body) -> Result<Imported, Refused> {
    let place = tempfile::tempdir()
        .map_err(|why| Refused::failed(format!("there is no place for the log: {why}")))?;
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe: String =
        last.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    // A name that is no option: page and program say it as the reader knows it, without the place.
    let safe = match safe.trim_start_matches(['-', '.']) {
        "" => "log",
        safe => safe,
    };
    receive(body, &place.path().join(safe)).await?;
    studio.folder.make("runs")?;
    let stem = safe.split('.').next().unwrap_or_default();
    let run = studio.folder.free_name("runs/", stem, "")?;
    let out = format!("--out={}", studio.folder.path().join(&run).display());
    call_in(place.path(), studio, &["import", safe, &out]).await?;
    let program = studio.folder.free_name("", stem, ".ppl")?;
    let folded = call(studio, &["fold", &format!("./{run}"), &format!("--out={program}")]).await;
    Ok(match folded {
        Ok(_) => Imported { run, program: Some(program), message: String::new() },
        Err(refused) => Imported { run, program: None, message: refused.message },
    })
}

/// Writes a body to a file, as long as it is not too long.
async fn receive(mut body: Body, log: &Path) -> Result<(), Refused> {
    let failed = |why: std::io::Error| Refused::failed(format!("cannot store the log: {why}"));
    let mut file = File::create_new(log).map_err(failed)?;
    let mut size_bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refused::input("the upload was cut off"))?;
        let Ok(bytes) = frame.into_data() else { continue };
        size_bytes += bytes.len() as u64;
        if size_bytes > LOG_MAX {
            return Err(too_long());
        }
        file.write_all(&bytes).map_err(failed)?;
    }
    Ok(())
}

/// The log is longer than what is taken.
pub fn too_long() -> Refused {
    let message = "the log is longer than 512 MiB: import it with `parabench import` in the shell";
    Refused::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}
