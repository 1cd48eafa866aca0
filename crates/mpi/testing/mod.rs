//! Runs a binary under every MPI that the tests know. Include it with
//! `#[path = "../testing/mod.rs"] mod testing;` in an integration test here, and
//! `#[path = "../../../mpi/testing/mod.rs"]` in `crates/parabench/tests/NAME/main.rs`.
//!
//! ```text
//! for mpi in testing::all() {
//!     let ended = mpi.launch(4, binary).args(["run", "x.ppl"]).run(LIMIT);
//!     assert!(ended.success(), "{ended}");
//! }
//! ```
//!
//! A missing MPI fails the test and says what to install, unless the variable
//! PARABENCH_TEST_MPI names those to use, such as `openmpi,mpich`. Root and crowded
//! machines are allowed for here, not by the product.
#![allow(dead_code)] // every test binary uses a part of it
#![allow(clippy::print_stdout)] // some are their own harness

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Enough for anything a test does, on a loaded machine too: what takes longer hangs.
pub const LIMIT: Duration = Duration::from_secs(120);

/// One MPI of this machine.
#[derive(Clone, Debug)]
pub struct Mpi {
    /// "openmpi", "mpich" or "pypi".
    pub name: &'static str,
    /// Its compiler.
    pub mpicc: PathBuf,
    /// Its launcher.
    pub mpiexec: PathBuf,
}

/// Name, compiler, launcher and what brings it. "pypi" is MPICH through the standard ABI.
const KNOWN: [(&str, &str, &str, &str); 3] = [
    ("openmpi", "mpicc.openmpi", "mpiexec.openmpi", "the packages openmpi-bin and libopenmpi-dev"),
    ("mpich", "mpicc.mpich", "mpiexec.mpich", "the packages mpich and libmpich-dev"),
    ("pypi", "mpicc_abi", "mpiexec", "a venv target/mpich-venv with the package mpich of PyPI"),
];

/// All MPIs that are to be tested.
pub fn all() -> Vec<Mpi> {
    let wanted = std::env::var("PARABENCH_TEST_MPI").ok();
    let is_wanted = |name: &str| match &wanted {
        None => true,
        Some(list) => list.split(',').any(|word| word.trim() == name),
    };
    KNOWN.iter().filter(|known| is_wanted(known.0)).map(find).collect()
}

/// The directory of this checkout in which `.ci/setup` puts the MPICH of PyPI.
pub fn venv() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpich-venv/bin")
}

fn find((name, mpicc, mpiexec, bring): &(&'static str, &str, &str, &str)) -> Mpi {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = match *name {
        "pypi" => vec![venv()],
        _ => std::env::split_paths(&path).collect(),
    };
    let find = |file: &str| {
        let found = places.iter().map(|place| place.join(file)).find(|file| file.is_file());
        found.unwrap_or_else(|| {
            panic!(
                "the MPI \"{name}\" is not complete: {file} is missing; `make setup` brings {bring}, \
                 or set PARABENCH_TEST_MPI to the MPIs to test"
            )
        })
    };
    Mpi { name, mpicc: find(mpicc), mpiexec: find(mpiexec) }
}

impl Mpi {
    /// Its shim, compiled once per version of the source.
    pub fn shim(&self) -> PathBuf {
        static TURN: AtomicU32 = AtomicU32::new(0);
        let mut hash = DefaultHasher::new();
        (mpi::source::SHIM_SOURCE, &self.mpicc).hash(&mut hash);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let shim = folder.join(format!("shim-{}-{:016x}.so", self.name, hash.finish()));
        if !shim.exists() {
            // Tests run side by side: each compiles for itself, the last rename stays.
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            let own = folder.join(format!("shim-{}-{}-{turn}", self.name, std::process::id()));
            mpi::shim::build_shim(&self.mpicc.to_string_lossy(), &own).expect("the shim compiles");
            fs::rename(&own, &shim).expect("renamed");
        }
        shim
    }

    /// `mpiexec -n RANKS BINARY`, to be completed and run.
    pub fn launch(&self, ranks: u32, binary: impl AsRef<OsStr>) -> Launch {
        let mut command = Command::new(&self.mpiexec);
        self.environment(&mut command);
        if self.name == "openmpi" {
            command.arg("--oversubscribe");
        }
        command.arg("-n").arg(ranks.to_string()).arg(binary);
        Launch { mpi: self.name, command }
    }

    /// Any command in the environment of this MPI: a binary that starts mpiexec itself, or alone.
    pub fn command(&self, binary: impl AsRef<OsStr>) -> Launch {
        let mut command = Command::new(binary);
        self.environment(&mut command);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut path: Vec<PathBuf> = std::env::split_paths(&path).collect();
        path.splice(0..0, self.mpiexec.parent().map(Path::to_path_buf));
        command.env("PATH", std::env::join_paths(path).expect("a path list"));
        Launch { mpi: self.name, command }
    }

    fn environment(&self, command: &mut Command) {
        command.env("PARABENCH_MPI_SHIM", self.shim());
        if self.name == "openmpi" {
            command
                .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
                .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
                // Containers forbid process_vm_readv, about which it would complain.
                .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
                .env("OMPI_MCA_orte_tmpdir_base", sessions());
        }
    }
}

/// A new directory for what Open MPI keeps while a job runs, removed when this thread ends. Jobs
/// share one by default, which the first to end removes while another still makes files in it.
fn sessions() -> PathBuf {
    thread_local! {
        static ALL: (TempDir, Cell<u32>) =
            (tempfile::tempdir().expect("a temporary directory"), Cell::new(0));
    }
    ALL.with(|(all, jobs)| {
        jobs.set(jobs.get() + 1);
        let sessions = all.path().join(jobs.get().to_string());
        fs::create_dir(&sessions).expect("an empty directory");
        sessions
    })
}

/// A command under one MPI.
#[derive(Debug)]
pub struct Launch {
    mpi: &'static str,
    /// For arguments, variables and the directory.
    pub command: Command,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    mpi: &'static str,
    /// Of the launcher.
    pub status: ExitStatus,
    /// Of all ranks together.
    pub stdout: String,
    /// Of all ranks together.
    pub stderr: String,
    /// It had to be killed.
    pub hung: bool,
}

impl Launch {
    /// More arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Launch {
        self.command.args(args);
        self
    }

    /// A variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Launch {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end, or kills everything it started when the limit is over.
    pub fn run(self, limit: Duration) -> Ended {
        self.start().end(limit)
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let [stdout, stderr] = [(); 2].map(|()| tempfile::tempfile().expect("a temporary file"));
        let copy = |file: &File| Stdio::from(file.try_clone().expect("a descriptor"));
        self.command.stdin(Stdio::null()).stdout(copy(&stdout)).stderr(copy(&stderr));
        self.command.process_group(0);
        let child = self.command.spawn().expect("the launcher starts");
        Running { mpi: self.mpi, child, outputs: [stdout, stderr] }
    }
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    mpi: &'static str,
    /// The launcher.
    pub child: Child,
    outputs: [File; 2],
}

impl Running {
    /// Waits for its end, or kills everything it started when the limit is over.
    pub fn end(mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        let mut hung = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > deadline && !hung {
                hung = true;
                self.signal_all("KILL");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = self.outputs.each_ref().map(whole);
        Ended { mpi: self.mpi, status, stdout, stderr, hung }
    }

    /// The processes below the launcher, ranks among them, in ascending order.
    pub fn descendants(&self) -> Vec<u32> {
        descendants(self.child.id())
    }

    /// Sends a signal to the launcher, such as "TERM".
    pub fn signal(&self, name: &str) {
        send(name, &[self.child.id()]);
    }

    fn signal_all(&self, name: &str) {
        let mut all = self.descendants();
        all.push(self.child.id());
        send(name, &all);
    }
}

/// Tells a rank its case.
pub const CASE: &str = "PARABENCH_TEST_CASE";
/// The empty directory in which it runs.
pub const PLACE: &str = "PARABENCH_TEST_PLACE";

/// A case: its name, its number of ranks (0: a process started by hand) and what they do.
pub type Case<R> = (&'static str, u32, R);

/// The main function of a test that starts itself under every MPI for each of its cases. As a
/// rank of one it does `be_rank`. `afterwards`: what else there is to do with an MPI. A rank that
/// finds something wrong panics, which ends the job.
pub fn harness<R: Copy>(cases: &[Case<R>], be_rank: fn(R), afterwards: fn(&Mpi, &Path)) {
    if let Ok(name) = std::env::var(CASE) {
        return be_rank(cases.iter().find(|case| case.0 == name).expect("a case").2);
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word));
    let me = std::env::current_exe().expect("this test");
    let all = all();
    let cases = cases.iter().filter(|case| is_wanted(case.0));
    let cases: Vec<(&str, u32)> = cases.map(|(name, ranks, _)| (*name, *ranks)).collect();
    let jobs = all.iter().flat_map(|mpi| cases.iter().map(move |case| (mpi, *case)));
    let jobs = Mutex::new(jobs);
    let work = || loop {
        let next = jobs.lock().expect("no panic in an iterator").next();
        let Some((mpi, (name, ranks))) = next else { break };
        run_case(mpi, name, ranks, &me);
    };
    std::thread::scope(|scope| (0..jobs_at_once()).for_each(|_| drop(scope.spawn(work))));
    if wanted.is_empty() {
        all.iter().for_each(|mpi| afterwards(mpi, &me));
    }
}

/// One for each CPU: ranks of MPICH are busy while they wait.
fn jobs_at_once() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get())
}

fn run_case(mpi: &Mpi, name: &str, ranks: u32, me: &Path) {
    println!("{}: {name}", mpi.name);
    let place = tempfile::tempdir().expect("a temporary directory");
    let launch = match ranks {
        0 => mpi.command(me),
        ranks => mpi.launch(ranks, me),
    };
    let ended = launch.env(CASE, name).env(PLACE, place.path()).run(LIMIT);
    assert!(ended.success(), "{}: {name}: {ended}", mpi.name);
}

/// Compiles C functions that take the place of the C library's where LD_PRELOAD names the result:
/// ways to fail that no program of a user could make happen at will.
pub fn library(folder: &Path, source: &str) -> PathBuf {
    let (text, library) = (folder.join("preload.c"), folder.join("preload.so"));
    fs::write(&text, source).expect("written");
    let mut cc = Command::new("cc");
    let done = cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&text).arg("-ldl").status();
    assert!(done.expect("cc, which Rust links with").success());
    library
}

/// Sends a signal to processes; those that are gone do not matter.
pub fn send(signal: &str, pids: &[u32]) {
    let pids = pids.iter().map(u32::to_string);
    let mut command = Command::new("kill");
    let _ = command.arg(format!("-{signal}")).args(pids).stderr(Stdio::null()).status();
}

/// All processes below one: launchers give their ranks process groups of their own.
fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        parents
            .extend(parent.and_then(|word| word.parse::<u32>().ok()).map(|parent| (pid, parent)));
    }
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|pair| pair.1 == parent).map(|pair| pair.0));
        at += 1;
    }
    found.remove(0);
    found.sort_unstable();
    found
}

/// The offset is shared with the processes that wrote: it has to be read from the start.
fn whole(file: &File) -> String {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; file.metadata().map_or(0, |facts| facts.len()) as usize];
    let _ = file.read_exact_at(&mut bytes, 0);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Ended {
    /// All ranks ended with 0, in time.
    pub fn success(&self) -> bool {
        !self.hung && self.status.success()
    }

    /// The exit code, if it ended by itself.
    pub fn code(&self) -> Option<i32> {
        if self.hung { None } else { self.status.code() }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hung = if self.hung { ", killed at the time limit" } else { "" };
        let signal =
            self.status.signal().map_or(String::new(), |signal| format!(" signal {signal}"));
        write!(
            f,
            "under {}: exit {:?}{signal}{hung}\n--- stdout\n{}\n--- stderr\n{}",
            self.mpi,
            self.status.code(),
            self.stdout,
            self.stderr
        )
    }
}
