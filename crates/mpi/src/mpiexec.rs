//! Starting MPI processes: which launcher belongs to the shim's MPI, and a launcher as a
//! child process that ends with us, can be sent signals, and whose own words are told from those of the ranks.

use crate::shim::Shim;
use engine::clock::monotonic_raw_ns;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How far above the library the folder `bin` is looked for: `lib`, `lib/openmpi`,
/// `lib/x86_64-linux-gnu/openmpi/lib` are usual.
const LEVELS: usize = 5;

/// The launcher of the MPI that `shim` was compiled for: near the library, else in the
/// search path. The names with the kind of MPI in them (Debian) come first.
pub fn find(shim: &Shim) -> Option<PathBuf> {
    let version = shim.library_version();
    let libraries = mapped_libraries();
    let near = libraries.iter().flat_map(|library| library.ancestors().skip(1).take(LEVELS));
    let near = near.map(|folder| folder.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = near.chain(env::split_paths(&path)).collect();
    places.iter().find_map(|place| {
        names(&version).iter().map(|name| place.join(name)).find(|file| file.is_file())
    })
}

/// Names a launcher may have, best first.
fn names(version: &str) -> &'static [&'static str] {
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

/// What a launcher said last, as far as it may say why a job ended.
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
        assert_eq!(names("Open MPI v4.1.4, package")[0], "mpiexec.openmpi");
        assert_eq!(names("MPICH Version: 4.0.2")[0], "mpiexec.mpich");
    }
}
