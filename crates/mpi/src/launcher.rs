//! Launchers of MPI processes: the one that started this process, detected by its environment variables; and one that
//! this process starts. That one ends with this process, and its output is kept apart from that of the ranks.

use engine::clock::monotonic_raw_ns;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A launcher of MPI processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's mpiexec (or PRRTE).
    OpenMpi,
    /// MPICH and its relatives: Hydra and other process managers that speak PMI.
    Pmi,
    /// Slurm's srun.
    Slurm,
}

impl Launcher {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "mpiexec of Open MPI",
            Launcher::Pmi => "mpiexec",
            Launcher::Slurm => "srun",
        }
    }
}

/// Facts that a launcher passes to a process before MPI is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The launcher.
    pub launcher: Launcher,
    /// Its world rank.
    pub rank: u32,
    /// Number of processes; `None` if the launcher does not tell.
    pub ranks: Option<u32>,
}

/// Launchers with the variables of world rank and number of processes, and further variables that
/// must be set; the most specific first. Within an allocation Hydra starts its proxies by srun, so
/// its ranks have Slurm's variables of the proxy. Slurm sets PMI variables, too, and every job
/// script has its allocation variables: only `SLURM_STEP_ID` together with `SLURM_PROCID` means
/// "started by srun".
const SIGNS: &[(Launcher, &str, &str, &[&str])] = &[
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", &["OMPI_COMM_WORLD_SIZE"]),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE", &["MPI_LOCALRANKID", "PMI_SIZE"]),
    (Launcher::Slurm, "SLURM_PROCID", "SLURM_NTASKS", &["SLURM_STEP_ID", "SLURM_NTASKS"]),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE", &["PMI_SIZE"]),
    (Launcher::Pmi, "PMIX_RANK", "PMI_SIZE", &["PMIX_NAMESPACE"]),
];

/// Variables with the way to the launcher: the connection of PMI, the server of PMIx.
const CONNECTIONS: &[&str] = &["PMI_FD", "PMI_PORT", "PMI_CONTROL_FD", "PMIX_NAMESPACE"];

/// The job this process is part of; `None` for a process started by hand. Found once, before
/// MPI closes what the launcher has left open.
pub fn job() -> Option<Job> {
    static JOB: OnceLock<Option<Job>> = OnceLock::new();
    let find = || {
        let is_open = |fd: &str| Path::new("/proc/self/fd").join(fd).symlink_metadata().is_ok();
        job_in(variable, is_open)
    };
    *JOB.get_or_init(find)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The same from given variables. Variables that a shell has inherited from a job that is gone
/// make no job: a rank that there cannot be, no connection to the launcher or a closed one.
pub fn job_in(
    variable: impl Fn(&str) -> Option<String>,
    is_open: impl Fn(&str) -> bool,
) -> Option<Job> {
    let job = job_by_variables(&variable)?;
    let is_left_over =
        job.launcher == Launcher::Pmi && variable("PMI_FD").is_some_and(|fd| !is_open(&fd));
    (is_connected(job, &variable) && !is_left_over).then_some(job)
}

/// The job according to the variables, whether it is true or not.
fn job_by_variables(variable: &impl Fn(&str) -> Option<String>) -> Option<Job> {
    let is_set = |name: &str| variable(name).is_some();
    let (launcher, rank, ranks, _) = SIGNS
        .iter()
        .find(|(_, rank, _, others)| is_set(rank) && others.iter().all(|name| is_set(name)))?;
    let number = |name: &str| variable(name)?.parse().ok();
    let job = Job { launcher: *launcher, rank: number(rank)?, ranks: number(ranks) };
    job.ranks.is_none_or(|ranks| job.rank < ranks).then_some(job)
}

fn is_connected(job: Job, variable: &impl Fn(&str) -> Option<String>) -> bool {
    job.launcher == Launcher::Slurm || CONNECTIONS.iter().any(|name| variable(name).is_some())
}

/// Open MPI can reach this launcher, by the names of the environment's variables: by PMIx; or by the PMI-2 of
/// srun, for which some builds of Open MPI 4 are made. Without, it ends the process with a page of text.
pub(crate) fn serves_open_mpi(
    launcher: Launcher,
    mut variables: impl Iterator<Item = String>,
) -> bool {
    variables.any(|name| {
        let by_pmix = ["PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI"];
        by_pmix.iter().any(|start| name.starts_with(start))
            || name.starts_with("OMPI_COMM_WORLD_")
            || (launcher == Launcher::Slurm && name == "PMI_FD")
    })
}

/// The connection to a launcher that speaks PMI-1, MPICH's wire protocol.
pub(crate) fn pmi_connection() -> Option<i32> {
    job().filter(|job| job.launcher == Launcher::Pmi)?;
    variable("PMI_FD")?.parse().ok()
}

/// A launcher passes on in this time what a process has printed; when the job has ended, it passes on no more.
const FORWARDED: Duration = Duration::from_millis(300);

/// The PMI-1 command that ends a job.
pub(crate) fn abort_command(exit_code: u8) -> String {
    format!("cmd=abort exitcode={exit_code}\n")
}

/// Asks the launcher to end the job, because this process cannot become a rank: the others would
/// wait for it in MPI_Init. Launchers that do not speak PMI-1 end a job when one of its processes
/// fails. Earlier output is passed on first.
pub fn end_job(exit_code: u8) {
    if job().is_none() {
        return;
    }
    thread::sleep(FORWARDED);
    let Some(connection) = pmi_connection() else { return };
    let command = abort_command(exit_code);
    // SAFETY: the pointer and the length belong to the text.
    unsafe { libc::send(connection, command.as_ptr().cast(), command.len(), libc::MSG_NOSIGNAL) };
}

/// The launcher says that this is the first process of its machine.
pub fn is_first_of_machine() -> bool {
    const LOCAL_RANKS: [&str; 3] =
        ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
    LOCAL_RANKS.iter().any(|name| variable(name).is_some_and(|rank| rank == "0"))
}

/// Variables, as `NAME=VALUE`, that claim a job whose launcher cannot be reached: they are
/// inherited, or the launcher is unknown. Empty if there are none.
pub fn inherited() -> Vec<String> {
    inherited_in(variable)
}

fn inherited_in(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let Some(job) = job_by_variables(&variable).filter(|job| !is_connected(*job, &variable)) else {
        return Vec::new();
    };
    let own = SIGNS.iter().filter(|sign| sign.0 == job.launcher);
    let mut names: Vec<&str> = own.flat_map(|(_, rank, ranks, _)| [*rank, *ranks]).collect();
    names.sort_unstable();
    names.dedup();
    let set = names.into_iter().filter_map(|name| Some(format!("{name}={}", variable(name)?)));
    set.collect()
}

/// How far above the library the folder `bin` is looked for: `lib`, `lib/openmpi`,
/// `lib/x86_64-linux-gnu/openmpi/lib` are usual.
const LEVELS: usize = 5;

/// The launcher of the MPI whose shim this process has opened: near the library, else in the search path. `version`:
/// [`crate::Shim::library_version`]. The names with the kind of MPI in them (Debian) come first.
pub fn find_launcher(version: &str) -> Option<PathBuf> {
    let libraries = mapped_libraries();
    let near = libraries.iter().flat_map(|library| library.ancestors().skip(1).take(LEVELS));
    let near = near.map(|folder| folder.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = near.chain(env::split_paths(&path)).collect();
    places.iter().find_map(|place| {
        launcher_names(version).iter().map(|name| place.join(name)).find(|file| file.is_file())
    })
}

/// Names a launcher may have, best first.
fn launcher_names(version: &str) -> &'static [&'static str] {
    if version.starts_with("Open MPI") {
        &["mpiexec.openmpi", "mpiexec", "mpirun"]
    } else if version.starts_with("MPICH") {
        &["mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"]
    } else {
        &["mpiexec", "mpirun"]
    }
}

/// MPI libraries that this process has mapped; opening the shim does that.
fn mapped_libraries() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for path in maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| path) {
        let path = PathBuf::from(format!("/{path}"));
        if is_mpi_library(&path) && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn is_mpi_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|start| name.starts_with(start))
}

/// A launcher at work. It gets SIGTERM when this process ends.
#[derive(Debug)]
pub struct Launched {
    /// The process.
    pub child: Child,
    readers: [JoinHandle<()>; 2],
    last_lines: LastLines,
}

impl Launched {
    /// Starts it in a process group of its own, so that a Ctrl-C of the terminal reaches it
    /// once only, through us. Its output is passed on by two threads.
    pub fn start(mut command: Command) -> io::Result<Launched> {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: the closure makes one system call that is safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) == 0 {
                    Ok(())
                } else {
                    Err(io::Error::last_os_error())
                }
            });
        }
        let mut child = command.spawn()?;
        let last_lines = LastLines::default();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let readers = [
            pass_on(stdout, Stream::Output, Arc::clone(&last_lines)),
            pass_on(stderr, Stream::Error, Arc::clone(&last_lines)),
        ];
        Ok(Launched { child, readers, last_lines })
    }

    /// The last lines that the launcher printed itself, or a rank to standard error. Called when the launcher has
    /// ended: waits for the rest of its output, but not for a process that keeps the pipe open.
    pub fn last_lines(&self) -> Vec<String> {
        let end_ns = monotonic_raw_ns() + OUTPUT_LIMIT_NS;
        while !self.readers.iter().all(JoinHandle::is_finished) && monotonic_raw_ns() < end_ns {
            thread::sleep(Duration::from_millis(1));
        }
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends it a signal. One that has ended gets none.
    pub fn signal(&mut self, signal: i32) {
        if let Ok(None) = self.child.try_wait() {
            // SAFETY: no pointers; the process has not been waited for, so its number is its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        }
    }
}

/// The last lines of a launcher, which may say why a job ended.
type LastLines = Arc<Mutex<Vec<String>>>;

/// Lines that are kept: MPICH says in eight that a rank was killed.
const KEPT_LINES: usize = 8;
/// How long the output of a launcher that has ended is waited for.
const OUTPUT_LIMIT_NS: u64 = 2_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Error,
}

/// Passes output on by lines. What a launcher adds to standard output goes to standard error: a reader of results
/// does not expect it.
fn pass_on(
    from: Option<impl Read + Send + 'static>,
    stream: Stream,
    last_lines: LastLines,
) -> JoinHandle<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this process waits for the launcher and runs no rank"
    )]
    thread::spawn(move || {
        let Some(mut from) = from.map(BufReader::new) else { return };
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            let text = String::from_utf8_lossy(&line);
            let is_result = stream == Stream::Output && !is_of_launcher(&text);
            // Nobody may read any more; the job goes on.
            let _ = match is_result {
                true => io::stdout().write_all(&line).and_then(|()| io::stdout().flush()),
                false => io::stderr().write_all(&line),
            };
            let text = text.trim_matches(|c: char| "=-".contains(c) || c.is_whitespace());
            if !is_result && !text.is_empty() && !is_progress(text) {
                let mut kept = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(text.into());
                let extra = kept.len().saturating_sub(KEPT_LINES);
                kept.drain(..extra);
            }
            line.clear();
        }
    })
}

/// Lines that MPICH's mpiexec prints to standard output when a rank was killed or has failed.
fn is_of_launcher(line: &str) -> bool {
    const STARTS: [&str; 6] = [
        "=   ",
        "YOUR APPLICATION TERMINATED WITH THE EXIT ",
        "This typically refers to a problem with your application.",
        "Please see the FAQ page for debugging suggestions",
        "[mpiexec@",
        "[proxy:",
    ];
    let is_rule = line.len() > 40 && line.trim_end().bytes().all(|byte| byte == b'=');
    is_rule || STARTS.iter().any(|start| line.starts_with(start))
}

/// Lines of rank 0 that do not say why a job ended.
fn is_progress(line: &str) -> bool {
    ["progress: ", "note: ", "warning: "].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_tells_rank_and_size() {
        let job = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            };
            job_in(value, |fd| fd == "5")
        };
        let of = |launcher, rank, ranks| Some(Job { launcher, rank, ranks });
        let open_mpi = |server| {
            [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4"), (server, "job")]
        };
        assert_eq!(job(&open_mpi("PMIX_NAMESPACE")), of(Launcher::OpenMpi, 3, Some(4)));
        assert_eq!(job(&open_mpi("OTHER")), None);
        let pmix = [("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "job")];
        assert_eq!(job(&pmix), of(Launcher::Pmi, 1, None));
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PMI_PORT", "host:1")];
        assert_eq!(job(&pmi), of(Launcher::Pmi, 0, Some(2)));
        assert_eq!(job(&pmi[..2]), None);
        assert_eq!(job(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]), None);
        assert_eq!(job(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        let hydra = |fd| [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", fd)];
        assert_eq!(job(&hydra("5")), of(Launcher::Pmi, 1, Some(2)));
        assert_eq!(job(&hydra("6")), None);
        assert_eq!(job(&[]), None);
    }

    #[test]
    fn open_mpi_needs_a_server_of_pmix() {
        for (launcher, name, serves) in [
            (Launcher::Slurm, "SLURM_PROCID", false),
            (Launcher::Slurm, "PMIX_SERVER_URI2", true),
            (Launcher::Slurm, "PMI_FD", true),
            (Launcher::Pmi, "PMI_FD", false),
            (Launcher::Pmi, "PMIX_NAMESPACE", true),
        ] {
            assert_eq!(serves_open_mpi(launcher, [name.to_string()].into_iter()), serves, "{name}");
        }
    }

    #[test]
    fn variables_without_a_launcher_are_named() {
        let inherited = |set: &[(&str, &str)]| {
            inherited_in(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            })
        };
        let pmi = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "5")];
        assert_eq!(inherited(&pmi[..2]), ["PMI_RANK=1", "PMI_SIZE=2"]);
        assert!(inherited(&pmi).is_empty() && inherited(&pmi[..1]).is_empty());
    }

    #[test]
    fn the_environment_tells_the_launcher() {
        for (set, launcher) in [
            (
                vec!["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE"],
                Some(Launcher::OpenMpi),
            ),
            (vec!["PMI_RANK", "PMI_SIZE"], Some(Launcher::Pmi)),
            (
                vec!["SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "PMI_SIZE"],
                Some(Launcher::Slurm),
            ),
            (
                vec![
                    "SLURM_STEP_ID",
                    "SLURM_PROCID",
                    "SLURM_NTASKS",
                    "MPI_LOCALRANKID",
                    "PMI_RANK",
                    "PMI_SIZE",
                ],
                Some(Launcher::Pmi),
            ),
            (vec!["SLURM_PROCID", "SLURM_NTASKS"], None),
            (vec![], None),
        ] {
            let value = |name: &str| {
                let is_size = name.ends_with("SIZE") || name.ends_with("NTASKS");
                set.contains(&name).then(|| if is_size { "2" } else { "1" }.to_string())
            };
            assert_eq!(job_by_variables(&value).map(|job| job.launcher), launcher, "{set:?}");
        }
    }

    #[test]
    fn what_the_launcher_says_is_kept() {
        let mut command = Command::new("sh");
        let banner =
            "=   EXIT CODE: 9\\n=====\\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed";
        let lines = "echo; echo progress: 1 s >&2; echo -- >&2; echo rank 1 was killed >&2";
        command.args(["-c", &format!("printf '{banner}\\n'; {lines}")]);
        let mut launched = Launched::start(command).expect("sh starts");
        launched.child.wait().expect("it ends");
        let mut lines = launched.last_lines();
        lines.sort_unstable();
        let killed = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed";
        assert_eq!(lines, ["EXIT CODE: 9", killed, "rank 1 was killed"]);
        for (line, is) in [("=============== of ours", false), ("{\"a\": 1}", false), ("", false)] {
            assert_eq!(is_of_launcher(line), is, "{line}");
        }
        assert!(is_of_launcher(&format!("{}\n", "=".repeat(83))));
    }

    #[test]
    fn a_launcher_gets_signals_and_its_end_is_told() {
        use std::os::unix::process::ExitStatusExt;
        let mut command = Command::new("sleep");
        command.arg("600");
        let mut launched = Launched::start(command).expect("sleep starts");
        // Not SIGINT, which jobs in the background of a shell ignore.
        launched.signal(libc::SIGTERM);
        assert_eq!(launched.child.wait().expect("it ends").signal(), Some(libc::SIGTERM));
        launched.signal(libc::SIGTERM);
    }

    #[test]
    fn libraries_of_mpi_are_told_from_others() {
        for (path, is) in [
            ("/usr/lib/libmpich.so.12.2.1", true),
            ("/opt/lib/libmpi.so.40", true),
            ("/venv/lib/libmpi_abi.so.1", true),
            ("/usr/lib/libmpi_cxx.so.40", false),
            ("/usr/lib/libm.so.6", false),
        ] {
            assert_eq!(is_mpi_library(Path::new(path)), is, "{path}");
        }
        assert_eq!(launcher_names("Open MPI v4.1.4, package")[0], "mpiexec.openmpi");
        assert_eq!(launcher_names("MPICH Version: 4.0.2")[0], "mpiexec.mpich");
    }
}
