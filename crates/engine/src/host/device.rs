//! The block devices below a directory, from /sys/dev/block: a loop device or a ram disk is not
//! the storage that it seems to be.
//!
//! ```text
//! /data ─▶ dm-0 ─▶ loop3 ─▶ /srv/image ─▶ vda        (slaves, then the file behind the loop)
//! ```

use super::{Mount, mount_of};
use model::run::Device;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Devices of a chain that are followed: a chain that is longer is a loop.
const DEVICES_MAX: usize = 32;

/// File systems whose storage is main memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Names of block devices in main memory begin so: `ram0`, `zram0`, `nullb0` (which keeps nothing).
const MEMORY_NAMES: [&str; 3] = ["ram", "zram", "nullb"];

/// The devices below a directory, from the mounted one down; what cannot be found out is missing.
pub(super) fn devices(directory: &Path, mount: &Mount) -> Vec<Device> {
    let mut found = Vec::new();
    let number = fs::metadata(directory).map(|facts| facts.dev()).unwrap_or(0);
    if let Some(folder) = folder(number).or_else(|| folder_of_source(&mount.source)) {
        follow(&folder, &mut found);
    }
    found
}

/// The folder of a device in /sys; `None` for file systems without one.
fn folder(number: u64) -> Option<PathBuf> {
    let (major, minor) = (libc::major(number), libc::minor(number));
    Path::new(&format!("/sys/dev/block/{major}:{minor}")).canonicalize().ok()
}

/// File systems on several devices (btrfs) have numbers of their own, but name one.
fn folder_of_source(source: &str) -> Option<PathBuf> {
    let facts = fs::metadata(source).ok().filter(|_| source.starts_with("/dev/"))?;
    folder(facts.rdev())
}

fn follow(folder: &Path, found: &mut Vec<Device>) {
    let device = describe(folder);
    if found.len() >= DEVICES_MAX || found.contains(&device) {
        return;
    }
    let file = PathBuf::from(&device.file);
    found.push(device);
    // A partition has the queue and slaves of the whole device.
    let whole = match folder.join("partition").exists() {
        true => folder.parent().unwrap_or(folder),
        false => folder,
    };
    for slave in fs::read_dir(whole.join("slaves")).into_iter().flatten().flatten() {
        if let Ok(slave) = slave.path().canonicalize() {
            follow(&slave, found);
        }
    }
    if !file.as_os_str().is_empty() {
        below_file(&file, found);
    }
}

/// Follows the file behind a loop device to its devices.
fn below_file(file: &Path, found: &mut Vec<Device>) {
    let Some(mount) = mount_of(file) else { return };
    if IN_MEMORY.contains(&mount.file_system.as_str()) {
        let name = mount.file_system;
        return found.push(Device { name, kind: "memory".into(), file: String::new() });
    }
    for device in devices(file, &mount) {
        if !found.contains(&device) {
            found.push(device);
        }
    }
}

fn describe(folder: &Path) -> Device {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_default();
    let file = text("loop/backing_file").trim_end_matches('\n').to_string();
    // The queue of a partition is that of the whole device.
    let rotates = [text("queue/rotational"), text("../queue/rotational")];
    let kind = kind(&name, rotates.iter().any(|text| text.trim() == "1"));
    Device { name, kind: kind.into(), file }
}

fn kind(name: &str, rotates: bool) -> &'static str {
    let is_numbered = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if is_numbered("loop") {
        "loop"
    } else if MEMORY_NAMES.iter().any(|start| is_numbered(start)) {
        "memory"
    } else if rotates {
        "rotating"
    } else {
        "disk"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_name_and_rotation() {
        for (name, rotates, expected) in [
            ("loop3", true, "loop"),
            ("loop3p1", false, "loop"),
            ("ram0", false, "memory"),
            ("zram1", false, "memory"),
            ("nullb0", false, "memory"),
            ("sda", true, "rotating"),
            ("nvme0n1", false, "disk"),
            ("rambus", false, "disk"),
        ] {
            assert_eq!(kind(name, rotates), expected, "{name}");
        }
    }

    #[test]
    fn the_devices_below_this_directory_are_told_once() {
        let here = Path::new(".");
        let found = devices(here, &mount_of(here).expect("/ is a mount"));
        for (at, device) in found.iter().enumerate() {
            assert!(!device.name.is_empty() && !found[..at].contains(device), "{found:?}");
        }
        assert_eq!(devices(Path::new("/proc"), &Mount::default()), Vec::new());
    }
}
