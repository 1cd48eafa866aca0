//! Somebody else who may write into the run directory.

use crate::program::NAMES;
use crate::random::Dice;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};

/// What is done between two runs, in words. Only entries of `directory` itself change.
pub fn disturb(dice: &mut Dice, directory: &Path) -> String {
    let mut done = Vec::new();
    for _ in 0..dice.below(3) {
        let [one, two] = [dice.one(&NAMES[..4]), dice.one(&NAMES[..4])];
        let [from, to] = [directory.join(one), directory.join(two)];
        let what = match dice.below(5) {
            0 => symlink("../outside", &from).map(|()| format!("link out at {one}")),
            1 => symlink("../outside/victim", &from).map(|()| format!("link to victim at {one}")),
            2 => fs::create_dir(&from).map(|()| format!("directory {one}")),
            3 => fs::rename(&from, &to).map(|()| format!("{one} moved to {two}")),
            _ => fs::hard_link(directory.join("../outside/shared"), &from)
                .map(|()| format!("hard link to shared at {one}")),
        };
        done.extend(what);
    }
    done.join(", ")
}

/// Exchanges a directory and a link that leaves, as fast as it can, until it is dropped.
pub struct Stranger {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stranger {
    /// Begins in `directory`.
    pub fn start(directory: &Path) -> Stranger {
        let over = Arc::new(AtomicBool::new(false));
        let (seen, directory) = (Arc::clone(&over), directory.to_path_buf());
        let thread = spawn(move || {
            let link = directory.join("way");
            let _ = symlink("../outside", &link);
            while !seen.load(Relaxed) {
                for name in ["a", "b", "l"] {
                    let there = directory.join(name);
                    let _ = renameat_with(CWD, &link, CWD, &there, RenameFlags::EXCHANGE);
                }
            }
        });
        Stranger { over, thread: Some(thread) }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}
