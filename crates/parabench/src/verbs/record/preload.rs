//! Recording with our own library inside the program ([`record`]).

use super::child::Start;
use super::command::Program;
use crate::error::{Error, Result};
use engine::own_folder::OwnFolder;
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::time::{ClockId, clock_gettime};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

/// Beginning of the name of the folder with the library.
const PREFIX: &str = "parabench-library-";
const SECOND_NS: i64 = 1_000_000_000;

/// The library, written out.
pub struct Preload {
    folder: OwnFolder,
    library: PathBuf,
}

impl Preload {
    /// Writes the library to a folder of its own, if the program lets it in.
    pub fn new(program: &Program, out: &Path) -> Result<Preload> {
        let hindrance = record::look(&program.path).map(record::Hindrance::says);
        if let Some(why) = hindrance {
            let shown = program.path.display();
            return Err(Error::input(format!("cannot record {shown} from inside: {why}"))
                .help("strace can: parabench record --via strace -- ..."));
        }
        let cannot = |error| Error::failed(format!("cannot write the recording library: {error}"));
        let folder = executable_folder(out).map_err(cannot)?;
        let library = record::write_library(folder.path()).map_err(cannot)?;
        Ok(Preload { folder, library })
    }

    /// Records a program in a folder.
    pub fn command(&self, program: &Program, folder: &Path) -> Result<Start> {
        let lost = record::write_lost(folder, &program.path);
        lost.map_err(|error| Error::failed(format!("cannot begin the recording: {error}")))?;
        let mut command = Command::new(&program.path);
        command.arg0(&program.words[0]).args(&program.words[1..]);
        let preloaded = env::var("LD_PRELOAD").ok();
        let variables = record::variables(&self.library, folder, epoch_ns(), preloaded.as_deref());
        command.envs(variables);
        Ok(Start { command, is_below: false })
    }
}

impl Drop for Preload {
    fn drop(&mut self) {
        // What stays is a file that does nothing.
        let _ = self.folder.remove_file(record::FILE).and_then(|()| self.folder.remove());
    }
}

/// A folder of its own from which libraries can be loaded: that for temporary files, or beside the
/// run. Memory such as /dev/shm mostly forbids it.
fn executable_folder(out: &Path) -> io::Result<OwnFolder> {
    let beside = std::path::absolute(out)?.parent().unwrap_or(Path::new("/")).to_path_buf();
    let allows = |place: &Path| {
        statvfs(place).is_ok_and(|facts| !facts.f_flag.contains(StatVfsMountFlags::NOEXEC))
    };
    let place = Some(env::temp_dir()).filter(|place| allows(place)).unwrap_or(beside);
    OwnFolder::fresh(&place, PREFIX)
}

/// From the monotonic clock to the time of day, nanoseconds.
fn epoch_ns() -> i64 {
    let ns = |clock| {
        let now = clock_gettime(clock);
        now.tv_sec * SECOND_NS + now.tv_nsec
    };
    ns(ClockId::Realtime) - ns(ClockId::Monotonic)
}
