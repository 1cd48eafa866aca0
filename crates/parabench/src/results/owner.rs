//! Whose run it is that has not ended: of a process that still works, or of one
//! that was killed.

use std::fs;
use std::path::Path;

/// Name of the file beside the ranks' files.
pub const OWNER: &str = "owner";

/// This process, in words that name it on this machine until the next start:
/// `host pid start`.
fn describe(pid: u32) -> Option<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // proc(5): the 22nd field is the start time; the second one may hold blanks and ends with `)`.
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    Some(format!("{} {} {pid} {start}", host.trim(), boot.trim()))
}

/// Says that this process owns the folder.
pub fn write(ranks: &Path) -> std::io::Result<()> {
    fs::write(ranks.join(OWNER), describe(std::process::id()).unwrap_or_default())
}

/// The owner ran on this machine and is no more.
pub fn is_gone(ranks: &Path) -> bool {
    let Ok(owner) = fs::read_to_string(ranks.join(OWNER)) else { return false };
    let mut words = owner.split(' ');
    let here = describe(std::process::id()).unwrap_or_default();
    let same_machine = words.next() == here.split(' ').next();
    let pid = words.nth(1).and_then(|pid| pid.parse().ok());
    same_machine && pid.is_some_and(|pid| describe(pid).as_ref() != Some(&owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_owner_is_told_from_a_dead_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_gone(folder.path()), "nobody knows");
        write(folder.path()).unwrap();
        assert!(!is_gone(folder.path()));
        let text = fs::read_to_string(folder.path().join(OWNER)).unwrap();
        let before = text.rsplit_once(' ').unwrap().0;
        fs::write(folder.path().join(OWNER), format!("{before} 1")).unwrap();
        assert!(is_gone(folder.path()), "the same number, another process");
        fs::write(folder.path().join(OWNER), format!("other{text}")).unwrap();
        assert!(!is_gone(folder.path()), "another machine");
    }
}
