//! A file system of the tests' own whose server can be stopped: storage that does not answer.

use crate::scene::{kill, skip};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A FUSE file system over a folder, which can be stopped.
pub struct Fuse {
    server: Child,
    place: PathBuf,
}

impl Fuse {
    /// Mounts it; where it cannot, says so past the test harness.
    pub fn mount(below: &Path, place: &Path) -> Option<Fuse> {
        Fuse::mount_with(&[], below, place)
    }

    /// The same with options of bindfs.
    pub fn mount_with(options: &[&str], below: &Path, place: &Path) -> Option<Fuse> {
        let mut bindfs = Command::new("bindfs");
        bindfs.arg("-f").args(options).arg(below).arg(place).stdin(Stdio::null());
        let Ok(server) = bindfs.spawn() else {
            skip("no bindfs");
            return None;
        };
        let mut fuse = Fuse { server, place: place.into() };
        for _ in 0..1000 {
            let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
            if mounts.contains(&format!(" {} fuse", place.display())) {
                return Some(fuse);
            }
            if !matches!(fuse.server.try_wait(), Ok(None)) {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        skip("bindfs cannot mount");
        None
    }

    /// Sends a signal to its server.
    pub fn signal(&self, signal: i32) {
        kill(self.server.id() as i32, signal);
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        if matches!(self.server.try_wait(), Ok(None)) {
            self.signal(18);
        }
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
        let _ = self.server.kill().and_then(|()| self.server.wait());
    }
}
