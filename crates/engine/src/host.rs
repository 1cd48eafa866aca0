//! The machine and the storage below the run directory, for the run's header.

mod device;
pub(crate) mod groups;
mod machine;
mod mounts;
mod usage;

pub use machine::MachineMeter;
pub(crate) use mounts::mounts_below;
pub use mounts::{Mount, mount_of};
pub use usage::{Usage, UsageMeter};

use model::run::{Directory, Host, Storage};
use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

/// The machine and its storage; unknown facts are left empty.
pub fn host(directory: &Path) -> Host {
    let (path, storage) = (directory.to_string_lossy().into_owned(), storage(directory));
    Host { directory: path, storage, ..machine() }
}

/// A directory that a program calls by this name.
pub fn further(name: &str, directory: &Path, scratch: bool) -> Directory {
    let (path, storage) = (directory.to_string_lossy().into_owned(), storage(directory));
    Directory { name: name.into(), directory: path, scratch, storage }
}

/// The storage below a directory.
pub fn storage(directory: &Path) -> Storage {
    let mount = mount_of(directory).unwrap_or_default();
    Storage {
        devices: device::devices(directory, &mount),
        mount: mount.point.to_string_lossy().into_owned(),
        device: mount.source,
        file_system: mount.file_system,
        mount_options: mount.options,
    }
}

/// The machine alone, where no storage is involved.
pub fn machine() -> Host {
    let facts = rustix::system::uname();
    Host {
        name: facts.nodename().to_string_lossy().into_owned(),
        kernel: facts.release().to_string_lossy().into_owned(),
        cpu: cpu_model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        cpus: cpus(),
        memory_bytes: memory("MemTotal").unwrap_or(0),
        ..Host::default()
    }
}

/// Whether /proc/self/io tells which bytes came from storage: only where reads pass
/// the block layer, or a network file system that counts them, in the reader's own name.
/// Not on tmpfs, FUSE, ZFS, or an overlay whose layers cannot be seen.
pub fn page_cache_can_be_told(file_system: &str) -> bool {
    const COUNTED: &[&str] = &[
        "bcachefs", "btrfs", "cifs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "gfs2",
        "iso9660", "jfs", "nfs", "nfs4", "nilfs2", "ntfs3", "ocfs2", "reiserfs", "smb3", "udf",
        "vfat", "xfs",
    ];
    COUNTED.contains(&file_system)
}

fn cpu_model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_string())
        })
    };
    ["model name", "cpu", "Model"].into_iter().find_map(value).unwrap_or_default()
}

/// Processors this process may use.
pub fn cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()).max(1)
}

/// A line of /proc/meminfo in bytes: "MemTotal", "MemAvailable".
pub fn memory(line: &str) -> Option<u64> {
    memory_line(&fs::read_to_string("/proc/meminfo").ok()?, line)
}

fn memory_line(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The time now as RFC 3339 in UTC, to the second: `2026-01-31T12:00:00Z`.
pub fn utc_now() -> String {
    utc(rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec)
}

/// A moment, seconds since 1970, as [`utc_now`].
pub fn utc(seconds: libc::time_t) -> String {
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both structures are borrowed for the call; zeros are a value of the
    // second should the year not fit.
    let t = unsafe {
        libc::gmtime_r(&raw const seconds, parts.as_mut_ptr());
        parts.assume_init()
    };
    let (year, month) = (t.tm_year + 1900, t.tm_mon + 1);
    let (day, hour, minute, second) = (t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let here = host(&std::env::current_dir().expect("a current directory"));
        assert!(!here.kernel.is_empty() && here.cpus >= 1);
        assert!(here.memory_bytes > 1 << 20);
        assert!(here.storage.mount.starts_with('/') && !here.storage.file_system.is_empty());
    }

    #[test]
    fn proc_files_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A CPU @ 2: fast\nmodel name\t: other\n";
        assert_eq!(cpu_model(cpuinfo), "A CPU @ 2: fast");
        assert_eq!(cpu_model(""), "");
        let meminfo = "MemTotal:       16 kB\nMemAvailable:   8 kB\n";
        assert_eq!(memory_line(meminfo, "MemAvailable"), Some(8192));
        assert_eq!(memory_line(meminfo, "Mem"), None);
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_827_696), "2000-02-29T12:34:56Z");
    }
}
