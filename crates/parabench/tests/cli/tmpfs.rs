//! A small file system in memory, for full and read-only disks. Needs root.

use crate::scene::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted tmpfs; unmounted at the end.
pub struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    /// Mounts one with these options on an existing folder; `None`, said aloud, if it cannot.
    pub fn mount(path: &Path, options: &str) -> Option<Tmpfs> {
        let mut command = Command::new("mount");
        let mount = command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path);
        run(mount).then(|| Tmpfs { path: path.to_path_buf() }).or_else(|| {
            skip("a tmpfs cannot be mounted here (are you root?)");
            None
        })
    }

    /// Nothing can be written any more.
    pub fn make_read_only(&self) {
        assert!(run(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.path)));
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        run(Command::new("umount").arg("-l").arg(&self.path));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
