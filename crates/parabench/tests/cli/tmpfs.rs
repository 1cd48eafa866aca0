//! Small file systems, in memory and in a file: for full, read-only and odd disks. Needs root.

use crate::scene::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An ext4 in a file, mounted by a loop device; unmounted at the end.
pub struct Image {
    path: PathBuf,
}

impl Image {
    /// Makes `image`, a sparse file of 64 MiB, and mounts it on an existing folder; `None`, said
    /// aloud, if it cannot.
    pub fn mount(image: &Path, path: &Path) -> Option<Image> {
        let made = std::fs::File::create(image).and_then(|file| file.set_len(64 << 20)).is_ok()
            && run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image))
            && run(Command::new("mount").args(["-o", "loop"]).arg(image).arg(path));
        made.then(|| Image { path: path.to_path_buf() }).or_else(|| {
            skip("no ext4 can be made and mounted here (are you root?)");
            None
        })
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        run(Command::new("umount").arg(&self.path));
    }
}

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
