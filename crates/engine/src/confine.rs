//! Confinement by Landlock: after it, this thread and its children can make,
//! change, remove and read files only beneath the directories that were granted.
//!
//! Used for programs that are not proved to stay inside, for directories whose links may lead
//! out, and for `--confine`. Descriptors opened before stay usable. It cannot be undone. It costs
//! time in every call on a name (docs/performance.md), so proved programs run without.
//!
//! Landlock does not stop chmod, utime and rename through symbolic links that
//! leave: [`crate::backend::Guarded`] does, and confined programs run with both.

use crate::backend::beneath::Root;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr,
};
use std::fmt;
use std::os::fd::BorrowedFd;

/// The first version that stops truncation (Linux 6.2).
const NEEDED: ABI = ABI::V3;

/// Why the confinement is not there. Nothing is confined then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfineError {
    /// The kernel has no Landlock, an older one, or it is switched off.
    Unsupported,
    /// The kernel, or a filter of calls (seccomp), has no openat2.
    NoOpenat2,
    /// Another reason, in the kernel's words.
    Refused(String),
}

impl fmt::Display for ConfineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfineError::Unsupported => f.write_str(
                "this kernel cannot confine the program: expected Landlock version 3 \
                 (Linux 6.2, `landlock` in /sys/kernel/security/lsm), found none or an older one; \
                 use paths that are proved to stay inside the run directory, or --no-confine \
                 if you trust the program",
            ),
            ConfineError::NoOpenat2 => f.write_str(
                "this kernel, or a filter of its calls (seccomp), cannot resolve paths beneath a \
                 directory: expected openat2 (Linux 5.6); use paths that are proved to stay inside \
                 the run directory and a directory without links, or --no-confine if you trust \
                 the program",
            ),
            ConfineError::Refused(reason) => {
                write!(f, "the kernel refused to confine the program: {reason}")
            }
        }
    }
}

impl std::error::Error for ConfineError {}

/// What a ruleset of the needed version handles; creating it restricts nothing yet.
fn ruleset() -> Result<landlock::RulesetCreated, ConfineError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(|ruleset| ruleset.create())
        .map_err(|_| ConfineError::Unsupported)
}

/// Whether ranks can be confined here. To be asked before they are started.
pub fn check_support() -> Result<(), ConfineError> {
    Root::current().map_err(|_| ConfineError::NoOpenat2)?;
    ruleset().map(drop)
}

/// Confines the calling thread to what lies beneath the directories, for good.
pub fn confine(directories: &[BorrowedFd<'_>]) -> Result<(), ConfineError> {
    let refused = |error: &dyn fmt::Display| ConfineError::Refused(error.to_string());
    let mut rules = ruleset()?;
    for directory in directories {
        let beneath = PathBeneath::new(directory, AccessFs::from_all(NEEDED));
        rules = rules.add_rule(beneath).map_err(|error| refused(&error))?;
    }
    rules.restrict_self().map(drop).map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, ErrorKind, Write};
    use std::os::fd::AsFd;
    use std::path::Path;

    /// Landlock restricts the calling thread alone, so a thread stands for a rank.
    fn in_confined_thread(inside: &Path, body: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let run = || {
                let inside = File::open(inside).expect("a directory");
                confine(&[inside.as_fd()]).expect("Landlock 3 is there");
                body();
            };
            scope.spawn(run).join().expect("the confined thread ends in order");
        });
    }

    fn refused<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| {
            matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::CrossesDevices)
        })
    }

    #[test]
    fn nothing_outside_can_be_made_changed_removed_or_read() {
        if check_support().is_err() {
            eprintln!("not tested: this kernel has no Landlock");
            return;
        }
        let place = tempfile::tempdir().expect("a temporary directory");
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        fs::create_dir(&inside).expect("mkdir");
        fs::create_dir(&outside).expect("mkdir");
        fs::write(outside.join("victim"), "data").expect("write");
        std::os::unix::fs::symlink(&outside, inside.join("way")).expect("symlink");
        let mut before = File::create(outside.join("before")).expect("create");
        in_confined_thread(&inside, || {
            let victim = outside.join("victim");
            fs::write(inside.join("a"), "x").expect("inside is free");
            fs::rename(inside.join("a"), inside.join("b")).expect("inside is free");
            assert!(refused(fs::write(outside.join("new"), "x")));
            assert!(refused(fs::write(inside.join("way/new"), "x")));
            assert!(refused(fs::rename(inside.join("b"), outside.join("b"))));
            assert!(refused(fs::rename(&victim, inside.join("v"))));
            assert!(refused(fs::hard_link(inside.join("b"), outside.join("b"))));
            assert!(refused(OpenOptions::new().write(true).truncate(true).open(&victim)));
            assert!(refused(fs::remove_file(&victim)));
            assert!(refused(fs::create_dir(outside.join("d"))));
            assert!(refused(fs::read(&victim)));
            assert!(refused(fs::read_dir(&outside)));
            before.write_all(b"still writable").expect("opened before");
        });
        let mut names: Vec<_> =
            fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["before", "victim"]);
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"data");
        assert_eq!(fs::read(outside.join("before")).unwrap(), b"still writable");
    }
}
