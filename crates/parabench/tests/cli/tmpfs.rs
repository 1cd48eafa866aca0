//! Small file systems, in memory and in a file: for full, read-only and odd disks. Needs root.

use crate::scene::skip;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in a file, mounted by a loop device; unmounted at the end.
pub struct Image {
    path: PathBuf,
}

impl Image {
    /// Makes an ext4 of 64 MiB in `image` and mounts it on an existing folder; `None`, said aloud,
    /// if it cannot.
    pub fn mount(image: &Path, path: &Path) -> Option<Image> {
        Image::of("mkfs.ext4 -q -F", 64, image, path)
    }

    /// The same with another program that makes the file system, and a size in MiB.
    pub fn of(mkfs: &str, size_mib: u64, image: &Path, path: &Path) -> Option<Image> {
        let mut words = mkfs.split_whitespace();
        let mut make = Command::new(words.next().expect("a program"));
        let made =
            std::fs::File::create(image).and_then(|file| file.set_len(size_mib << 20)).is_ok()
                && run(make.args(words).arg(image))
                && run(Command::new("mount").args(["-o", "loop"]).arg(image).arg(path));
        made.then(|| Image { path: path.to_path_buf() }).or_else(|| {
            skip(&format!("{mkfs}: it cannot be made and mounted here (are you root?)"));
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
