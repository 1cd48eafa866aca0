//! The mount that a directory lies on, from /proc/self/mountinfo (proc(5)).
//!
//! ```text
//! 36 35 98:0 /root /mount\040point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
//! id parent dev root point         options    tags...  - type source    options of the file system
//! ```

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Mount point.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
