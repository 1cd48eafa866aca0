//! Starting MPI processes: which launcher belongs to the shim's MPI, and a launcher as a
//! child process that ends with us and can be sent signals.

use crate::shim::Shim;
use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

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
}

impl Launched {
    /// Starts it in a process group of its own, so that a Ctrl-C of the terminal reaches it
    /// once only, through us.
    pub fn start(mut command: Command) -> io::Result<Launched> {
        command.process_group(0);
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
        Ok(Launched { child: command.spawn()? })
    }

    /// Sends it a signal. One that has ended gets none.
    pub fn signal(&mut self, signal: i32) {
        if let Ok(None) = self.child.try_wait() {
            // SAFETY: no pointers; the process has not been waited for, so its number is its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
