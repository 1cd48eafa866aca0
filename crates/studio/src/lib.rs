//! The studio: a server on this machine alone, for a browser in which programs are composed, checked, run and looked at.
//!
//! ```text
//! browser ── guard ── routes ─┬─ folder     programs and runs below one folder
//!                             ├─ jobs       `parabench run`, a process; its progress
//!                             ├─ tools      `parabench report`, `compare`, `import`, `fold`, processes
//!                             └─ language   the language service, the rehearsal
//! ```
//!
//! The server measures nothing and knows no PPL. Text is the only truth: there is no project file.
#![warn(clippy::disallowed_methods)]

mod answer;
mod assets;
mod connections;
mod folder;
mod guard;
mod jobs;
mod language;
mod routes;
mod start;
mod tools;

use connections::{Bounded, Trust};
use folder::Folder;
use guard::Guard;
use jobs::Jobs;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Result;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Stack of threads that parse and rehearse, as `main` has it.
const STACK_BYTES: usize = 256 << 20;
/// Threads that parse and rehearse at a time.
const THREADS_MAX: usize = 32;

/// A program as the browser holds it, maybe not saved.
#[derive(Deserialize)]
pub struct Request {
    /// Name of its file, which need not exist; below the folder of the studio.
    pub name: String,
    /// The text.
    pub text: String,
    /// Values of parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Number of ranks.
    pub ranks: u32,
    /// For a step: where to pause.
    #[serde(default)]
    pub target: Value,
}

/// A language service for one browser tab.
pub trait Session {
    /// Answers a message of the language server protocol.
    fn handle(&mut self, message: Value) -> Vec<Value>;
}

/// The language service and the simulation, which the command line gives to the studio.
pub trait Language: Send + Sync {
    /// A language service for a browser tab.
    fn session(&self) -> Box<dyn Session>;

    /// Executes a program in virtual time: a scene as JSON.
    ///
    /// # Errors
    /// It has mistakes.
    fn see(&self, request: Request) -> std::result::Result<String, String>;

    /// Executes a program up to a statement: the state there as JSON.
    ///
    /// # Errors
    /// It has mistakes, or there is no such statement.
    fn step(&self, request: Request) -> std::result::Result<String, String>;
}

/// Options of the command line.
pub struct Options {
    /// Programs and runs are here and below.
    pub folder: PathBuf,
    /// Directories that runs may use.
    pub directories: Vec<PathBuf>,
    /// 0: a random one.
    pub port: u16,
    /// The binary `parabench`.
    pub program: PathBuf,
    /// Language service and simulation.
    pub language: Box<dyn Language>,
    /// Is called with the address to open: at the start, and with the next one when it was used.
    pub announce: Box<dyn Fn(&str) + Send + Sync>,
}

/// The server's state.
struct Studio {
    folder: Folder,
    directories: Vec<PathBuf>,
    program: PathBuf,
    guard: Guard,
    jobs: Jobs,
    language: Box<dyn Language>,
    announce: Box<dyn Fn(&str) + Send + Sync>,
}

/// Serves until the process ends.
///
/// # Errors
/// The folder cannot be opened, or the port is taken.
pub fn serve(options: Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .max_blocking_threads(THREADS_MAX)
        .build()?;
    runtime.block_on(listen(options))
}

async fn listen(options: Options) -> Result<()> {
    let folder = Folder::open(&options.folder)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    let guard = Guard::new(listener.local_addr()?.port())?;
    (options.announce)(&guard.address());
    let studio = Arc::new(Studio {
        folder,
        directories: options.directories,
        program: options.program,
        guard,
        jobs: Jobs::default(),
        language: options.language,
        announce: options.announce,
    });
    let service = routes::router(studio).into_make_service_with_connect_info::<Trust>();
    axum::serve(Bounded::new(listener), service).await
}
