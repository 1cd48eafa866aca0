//! How a file system spreads and copies the data of a directory, as far as a client can ask it: extended attributes
//! that its client makes up, or the command that comes with it.
//!
//! ```text
//! fuse.glusterfs   trusted.glusterfs.pathinfo   (<DISTRIBUTE:vol-dht> (<POSIX(/b/1):host:/b/1/dir> ...
//! ceph             ceph.file.layout             stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data
//! fuse.moosefs     mfsgetgoal                   2
//! ```

use model::run::Layout;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The longest answer that is kept, bytes: of a volume of many bricks the first ones.
const LONGEST: usize = 1000;
/// A file that every marked directory has: some layouts are those of files.
const MARKER: &str = ".parabench";
/// How often a command is asked whether it has ended, and how long apart: two seconds in all.
const POLLS: u32 = 200;
const POLL: Duration = Duration::from_millis(10);

/// A source of layouts.
enum Ask {
    /// An extended attribute of the directory.
    Attribute(&'static str),
    /// An extended attribute of a file in it.
    OfFile(&'static str),
    /// A command with its arguments, the directory last.
    Command(&'static [&'static str]),
}

/// Questions for each file system, by the beginning of its type.
const QUESTIONS: &[(&str, Ask)] = &[
    ("fuse.glusterfs", Ask::Attribute("trusted.glusterfs.pathinfo")),
    ("ceph", Ask::Attribute("ceph.dir.layout")),
    ("ceph", Ask::OfFile("ceph.file.layout")),
    ("fuse.ceph", Ask::Attribute("ceph.dir.layout")),
    ("fuse.ceph", Ask::OfFile("ceph.file.layout")),
    ("fuse.moosefs", Ask::Command(&["mfsgetgoal"])),
    ("lustre", Ask::Command(&["lfs", "getstripe", "-d"])),
    ("beegfs", Ask::Command(&["beegfs-ctl", "--getentryinfo"])),
];

/// The answers of the file system of this type below a directory; none where nobody can be asked.
pub(super) fn describe(file_system: &str, directory: &Path) -> Vec<Layout> {
    let own = QUESTIONS.iter().filter(|(name, _)| file_system.starts_with(name));
    own.filter_map(|(_, ask)| answer(ask, directory)).collect()
}

/// How Lustre spreads a file, in one line; "" where nobody can be asked.
pub fn striping(file: &Path) -> String {
    output(&["lfs", "getstripe"], file).map_or(String::new(), |text| one_line(&text, file))
}

fn answer(ask: &Ask, directory: &Path) -> Option<Layout> {
    let (source, text) = match ask {
        Ask::Attribute(name) => (name, attribute(directory, name)?),
        Ask::OfFile(name) => (name, attribute(&directory.join(MARKER), name)?),
        Ask::Command(words) => (&words[0], output(words, directory)?),
    };
    let text = one_line(&text, directory);
    (!text.is_empty()).then(|| Layout { source: source.to_string(), text })
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 64 << 10];
    let length = rustix::fs::getxattr(path, name, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

/// Standard output of a command; `None` if it fails or takes longer than two seconds, as `mfsgetgoal` does where it
/// cannot reach its master.
fn output(words: &[&str], directory: &Path) -> Option<Vec<u8>> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(directory).stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let has_ended = |_| {
        let is_over = !matches!(child.try_wait(), Ok(None));
        if !is_over {
            sleep(POLL);
        }
        is_over
    };
    if !(0..POLLS).any(has_ended) {
        let _ = child.kill().and_then(|()| child.wait());
        // Its output is not read: a process that it has started may still hold the pipe.
        return None;
    }
    let done = child.wait_with_output().ok().filter(|done| done.status.success())?;
    Some(done.stdout)
}

/// Words apart by one blank, without the directory's name in front and a NUL at the end.
fn one_line(text: &[u8], directory: &Path) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> = text.trim_end_matches('\0').split_whitespace().collect();
    let line = words.join(" ");
    let name = format!("{}:", directory.display());
    let line = line.strip_prefix(&name).unwrap_or(&line).trim();
    let end = (0..=line.len().min(LONGEST)).rev().find(|at| line.is_char_boundary(*at));
    line[..end.unwrap_or(0)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_short_line() {
        let directory = Path::new("/mnt/mfs/d");
        for (text, expected) in [
            ("/mnt/mfs/d: 2\n", "2"),
            ("stripe_count:  1\n  stripe_size: 4\0", "stripe_count: 1 stripe_size: 4"),
            ("", ""),
        ] {
            assert_eq!(one_line(text.as_bytes(), directory), expected);
        }
        assert_eq!(one_line("é".repeat(900).as_bytes(), directory).len(), LONGEST);
    }

    #[test]
    fn a_file_system_that_says_nothing_has_no_layout() {
        assert_eq!(describe("ext4", Path::new("/")), Vec::new());
        assert_eq!(describe("fuse.glusterfs", Path::new("/proc")), Vec::new());
    }

    #[test]
    fn a_command_that_does_not_end_says_nothing() {
        assert_eq!(output(&["sh", "-c", "echo goal; exec sleep 1000"], Path::new("/d")), None);
    }

    /// An attribute of a file that the test made stands for one that a client makes up.
    #[test]
    fn attributes_are_read() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let set = rustix::fs::setxattr(
            folder.path(),
            "user.layout",
            b"stripes=4\0",
            rustix::fs::XattrFlags::empty(),
        );
        if set.is_err() {
            return eprintln!("not tested: this file system has no extended attributes");
        }
        let found = answer(&Ask::Attribute("user.layout"), folder.path());
        assert_eq!(found.map(|layout| layout.text).as_deref(), Some("stripes=4"));
        let said = answer(&Ask::Command(&["echo", "goal"]), Path::new("/d"));
        assert_eq!(said.map(|layout| layout.text).as_deref(), Some("goal /d"));
    }
}
