//! What lies beside the run directory: taken before a command under attack, compared after it.

use rustix::fs::XattrFlags;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// So much of a file is compared; its size and times say the rest.
const CONTENT_MAX: u64 = 1 << 16;

/// Everything below a folder that a program must leave alone: path to facts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outside(BTreeMap<String, String>);

/// Makes somebody's tree in `folder`: files, a link, an extended attribute, directories.
pub fn plant(folder: &Path) {
    let make = |name: &str| fs::create_dir(folder.join(name)).expect("made");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    make("outside");
    make("outside/dir");
    make("outside/empty");
    write("outside/victim", "somebody's words\n");
    write("outside/dir/inner", "more of them\n");
    write("outside/shared", "words with two names\n");
    fs::hard_link(folder.join("outside/shared"), folder.join("outside/twin")).expect("linked");
    std::os::unix::fs::symlink("victim", folder.join("outside/link")).expect("linked");
    fs::set_permissions(folder.join("outside/victim"), fs::Permissions::from_mode(0o640))
        .expect("a mode");
    // Not every file system has them.
    let _ = rustix::fs::setxattr(
        folder.join("outside/victim"),
        "user.note",
        b"kept",
        XattrFlags::empty(),
    );
}

impl Outside {
    /// Looks at all below `folder` but the entries of it named `but`.
    pub fn of(folder: &Path, but: &[&str]) -> Outside {
        let mut found = BTreeMap::new();
        for name in names(folder).iter().filter(|name| !but.contains(&name.as_str())) {
            look(&folder.join(name), name, &mut found);
        }
        Outside(found)
    }

    /// What is different now, a line each.
    pub fn changes(&self, now: &Outside) -> Vec<String> {
        let gone = self.0.iter().filter(|(path, _)| !now.0.contains_key(*path));
        let gone = gone.map(|(path, _)| format!("{path} is gone"));
        let other = now.0.iter().filter_map(|(path, facts)| match self.0.get(path) {
            None => Some(format!("{path} is new")),
            Some(before) if before != facts => Some(format!("{path}: {before}\n     now {facts}")),
            Some(_) => None,
        });
        gone.chain(other).collect()
    }
}

/// Names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn look(path: &Path, name: &str, found: &mut BTreeMap<String, String>) {
    let Ok(facts) = fs::symlink_metadata(path) else { return };
    let kind = facts.file_type();
    let content = if kind.is_file() {
        let mut bytes = Vec::new();
        let read = fs::File::open(path).map(|file| file.take(CONTENT_MAX).read_to_end(&mut bytes));
        format!("{} bytes {:?} {:?}", facts.size(), read.is_ok(), String::from_utf8_lossy(&bytes))
    } else if kind.is_symlink() {
        format!("-> {:?}", fs::read_link(path).ok())
    } else {
        String::new()
    };
    let mut text = format!(
        "inode {} mode {:o} owner {}:{} modified {}.{:09} attributes {} {content}",
        facts.ino(),
        facts.mode(),
        facts.uid(),
        facts.gid(),
        facts.mtime(),
        facts.mtime_nsec(),
        attributes(path),
    );
    // A name of it elsewhere may go: of a file with several, that is no change outside.
    if kind.is_dir() || facts.nlink() == 1 {
        let [links, s, ns] = [facts.nlink() as i64, facts.ctime(), facts.ctime_nsec()];
        text = format!("links {links} changed {s}.{ns:09} {text}");
    }
    found.insert(name.to_string(), text);
    if kind.is_dir() {
        for inner in names(path) {
            look(&path.join(&inner), &format!("{name}/{inner}"), found);
        }
    }
}

/// Extended attributes with their values.
fn attributes(path: &Path) -> String {
    let mut list = vec![0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list) else { return "none".into() };
    let mut texts: Vec<String> = Vec::new();
    for name in list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 4096];
        let name = std::ffi::OsStr::from_bytes(name);
        let length = rustix::fs::lgetxattr(path, name, &mut value).unwrap_or(0);
        texts.push(format!("{name:?}={:?}", String::from_utf8_lossy(&value[..length])));
    }
    texts.sort();
    texts.join(",")
}

#[test]
fn every_change_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    plant(folder.path());
    let before = Outside::of(folder.path(), &["d"]);
    assert_eq!(before.changes(&Outside::of(folder.path(), &["d"])), [""; 0]);
    fs::create_dir(path("d")).unwrap();
    assert_eq!(before.changes(&Outside::of(folder.path(), &["d"])), [""; 0]);
    fs::hard_link(path("outside/victim"), path("d/hard")).unwrap();
    fs::remove_file(path("outside/dir/inner")).unwrap();
    fs::write(path("outside/empty/new"), "").unwrap();
    let changes = before.changes(&Outside::of(folder.path(), &["d"]));
    let said = |words: &str| changes.iter().any(|line| line.contains(words));
    assert!(said("inner is gone") && said("empty/new is new"), "{changes:?}");
    assert!(said("outside/victim: links 1"), "a changed number of links: {changes:?}");
}
