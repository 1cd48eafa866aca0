//! The machine and the storage below the run directory, for the run's header.
//!
//! The mount that a directory lies on is found in /proc/self/mountinfo (proc(5)):
//!
//! ```text
//! 36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
//! id parent dev root point         options    tags...  - type source    options of the file system
//! ```
//!
//! The block devices below it are found in /sys/dev/block: a loop device or a ram disk is not the storage that it
//! seems to be.
//!
//! ```text
//! /data ─▶ dm-0 ─▶ loop3 ─▶ /srv/image ─▶ vda        (slaves, then the file behind the loop)
//! ```

mod layout;
pub(crate) mod usage;

pub use layout::striping;
pub use usage::{MachineMeter, Usage, UsageMeter};

use model::run::{Device, Directory, Host, Storage};
use std::ffi::OsString;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
    let file_system = name_of_type(&mount).to_string();
    Storage {
        devices: devices(directory, &mount),
        layout: layout::describe(&file_system, directory),
        mount: mount.point.to_string_lossy().into_owned(),
        file_system,
        device: mount.source,
        mount_options: mount.options,
    }
}

/// The type of a mounted file system. MooseFS mounts itself as plain "fuse"; its source says who it is.
fn name_of_type(mount: &Mount) -> &str {
    match &*mount.file_system {
        "fuse" if mount.source.starts_with("mfs#") => "fuse.moosefs",
        name => name,
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
pub fn counts_storage_reads(file_system: &str) -> bool {
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

/// A mounted file system, as /proc/self/mountinfo lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Directory on which it is mounted, absolute.
    pub point: PathBuf,
    /// File system type.
    pub file_system: String,
    /// Device, server or another source.
    pub source: String,
    /// Options of the mount, then further ones of the file system.
    pub options: String,
}

/// The mount that an existing path lies on: the longest mount point above it, the
/// latest mount on the same point.
pub fn mount_of(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    find(&fs::read("/proc/self/mountinfo").ok()?, &path)
}

/// Mount points below a directory.
pub(crate) fn mounts_below(directory: &Path) -> Vec<PathBuf> {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = table.split(|byte| *byte == b'\n').filter_map(parse).map(|mount| mount.point);
    points.filter(|point| point != directory && point.starts_with(directory)).collect()
}

fn find(table: &[u8], path: &Path) -> Option<Mount> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().len())
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = unescape(fields.nth(4)?);
    let own = text(fields.next()?);
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = text(rest.next()?);
    let source = text(rest.next()?);
    let more = text(rest.next().unwrap_or_default());
    let known: Vec<&str> = own.split(',').collect();
    let new = more.split(',').filter(|option| !option.is_empty() && !known.contains(option));
    let options = known.iter().copied().chain(new).collect::<Vec<_>>().join(",");
    Some(Mount { point: OsString::from_vec(point).into(), file_system, source, options })
}

fn text(field: &[u8]) -> String {
    OsString::from_vec(unescape(field)).as_os_str().to_string_lossy().into_owned()
}

/// Turns `\040` and the like (three octal digits) back into bytes.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match octal {
            Some(digits) if *byte == b'\\' => {
                let value = digits.iter().fold(0u32, |value, d| value * 8 + u32::from(d - b'0'));
                out.push(value as u8);
                rest = &after[3..];
            }
            _ => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// Devices of a chain that are followed: a chain that is longer is a loop.
const DEVICES_MAX: usize = 32;

/// File systems whose storage is memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Names of block devices in memory begin so: `ram0`, `zram0`, `nullb0` (which keeps nothing).
const MEMORY_NAMES: [&str; 3] = ["ram", "zram", "nullb"];

/// The devices below a directory, from the mounted one down; what cannot be found out is missing.
pub(crate) fn devices(directory: &Path, mount: &Mount) -> Vec<Device> {
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

    const TABLE: &str = "\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
22 21 0:21 / /mnt rw - nfs4 server:/export\\040two rw,vers=4.2
23 21 0:22 / /mnt/a\\040b ro,noexec shared:7 master:1 - tmpfs none ro,size=4k
24 21 0:23 / /mnt/a\\040b rw - xfs /dev/vdb rw
short line
";

    #[test]
    fn the_longest_and_latest_mount_point_wins() {
        for (path, point, file_system) in [
            ("/etc", "/", "ext4"),
            ("/mnt", "/mnt", "nfs4"),
            ("/mntx/y", "/", "ext4"),
            ("/mnt/a b/c", "/mnt/a b", "xfs"),
        ] {
            let mount = find(TABLE.as_bytes(), Path::new(path)).expect("/ is above all");
            assert_eq!(mount.point, Path::new(point), "{path}");
            assert_eq!(mount.file_system, file_system, "{path}");
        }
        let mount = find(TABLE.as_bytes(), Path::new("/mnt")).expect("/ is above all");
        assert_eq!(
            (mount.source.as_str(), mount.options.as_str()),
            ("server:/export two", "rw,vers=4.2")
        );
    }

    #[test]
    fn moosefs_has_its_name() {
        let line = b"90 21 0:52 / /mnt rw shared:9 - fuse mfs#10.0.0.1:9421 rw,user_id=0";
        let mount = parse(line).expect("a mount");
        assert_eq!((name_of_type(&mount), &*mount.source), ("fuse.moosefs", "mfs#10.0.0.1:9421"));
        let other = Mount { source: "/srv".into(), ..mount };
        assert_eq!(name_of_type(&other), "fuse");
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(unescape(br"a\04"), br"a\04");
        assert_eq!(unescape(br"\134x\011"), b"\\x\t");
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_a_mount_or_none(line in "[ -~]{0,80}", more in "[ 0-7/\\\\-]{0,40}") {
            let mount = parse(format!("{line} {more}").as_bytes());
            proptest::prop_assert!(mount.is_none_or(|mount| !mount.options.contains(' ')));
        }
    }

    #[test]
    fn this_directory_lies_on_a_mount() {
        assert!(mount_of(Path::new(".")).is_some());
        assert!(mounts_below(Path::new("/")).iter().any(|point| point == Path::new("/proc")));
    }

    #[test]
    fn kinds_follow_from_name_and_rotation() {
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
    fn the_devices_below_this_directory_are_listed_once() {
        let here = Path::new(".");
        let found = devices(here, &mount_of(here).expect("/ is a mount"));
        for (at, device) in found.iter().enumerate() {
            assert!(!device.name.is_empty() && !found[..at].contains(device), "{found:?}");
        }
        assert_eq!(devices(Path::new("/proc"), &Mount::default()), Vec::new());
    }
}
