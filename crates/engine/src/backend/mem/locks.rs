//! Locks of whole files: flock(2).

use super::files::{Done, Files};
use super::fs::MemFs;
use super::node::Ino;
use crate::call::Fd;

/// How an open file holds its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Shared,
    Exclusive,
}

/// Holders of a file's lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Locks {
    shared: u32,
    exclusive: bool,
}

impl Locks {
    fn take(&mut self, lock: Lock) -> Result<(), i32> {
        match lock {
            _ if self.exclusive => return Err(libc::EWOULDBLOCK),
            Lock::Shared => self.shared += 1,
            Lock::Exclusive if self.shared > 0 => return Err(libc::EWOULDBLOCK),
            Lock::Exclusive => self.exclusive = true,
        }
        Ok(())
    }

    fn give_back(&mut self, lock: Lock) {
        match lock {
            Lock::Shared => self.shared -= 1,
            Lock::Exclusive => self.exclusive = false,
        }
    }
}

impl MemFs {
    /// An open file gives its lock back.
    pub(super) fn unlock(&mut self, ino: Ino, held: Option<Lock>) {
        if let Some(lock) = held {
            self.nodes.get_mut(ino).locks.give_back(lock);
        }
    }
}

impl Files {
    /// A virtual clock stands still while a call lasts, so that a lock that others hold is
    /// `EWOULDBLOCK` also without `LOCK_NB`.
    pub(super) fn flock(&mut self, fs: &mut MemFs, fd: Fd, operation: i32) -> Done {
        let wanted = match operation & !libc::LOCK_NB {
            libc::LOCK_SH => Some(Lock::Shared),
            libc::LOCK_EX => Some(Lock::Exclusive),
            libc::LOCK_UN => None,
            _ => return Err(libc::EINVAL),
        };
        if wanted.is_some() && self.readable(fd).is_err() {
            self.writable(fd)?;
        }
        let (ino, held) = self.lock_of(fd)?;
        if *held == wanted {
            return Ok(0);
        }
        // Another kind of lock is no change of the old one, which may be lost (flock(2)).
        fs.unlock(ino, held.take());
        if let Some(lock) = wanted {
            fs.nodes.get_mut(ino).locks.take(lock)?;
        }
        *held = wanted;
        Ok(0)
    }
}
