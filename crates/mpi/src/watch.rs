//! Which process of this machine ended first: pidfds (pidfd_open(2), Linux 5.3) of them all,
//! polled together. Launchers that kill the whole job after one process has died do not
//! always tell which one it was.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// What was seen of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of them live.
    Nobody,
    /// This one, by its place in the list, before all others.
    First(usize),
    /// Some: more than one, or others are not watched. Which was the first cannot be told.
    Several,
}

#[derive(Debug)]
struct Watched {
    /// Place in the list that was given.
    at: usize,
    number: i64,
    process: OwnedFd,
}

/// Processes that are watched.
#[derive(Debug)]
pub struct Watch {
    processes: Vec<Watched>,
    /// All that were given: none runs elsewhere, none was gone already.
    whole: bool,
}

impl Watch {
    /// Watches those of the processes that run `binary` on this machine: elsewhere a number
    /// means another process.
    pub fn new(processes: &[i64], binary: &Path) -> Watch {
        let open = |(at, number): (usize, &i64)| {
            let ours = fs::read_link(format!("/proc/{number}/exe")).is_ok_and(|exe| exe == binary);
            let process = open(*number).filter(|_| ours)?;
            Some(Watched { at, number: *number, process })
        };
        let found: Vec<_> = processes.iter().enumerate().filter_map(open).collect();
        Watch { whole: found.len() == processes.len(), processes: found }
    }

    /// Waits until one of them ends, at most so long.
    pub fn wait(&self, timeout: Duration) -> Ended {
        match self.ended(timeout)[..] {
            [] => Ended::Nobody,
            // Asked once more: poll(2) looks at one after the other, and one that it had passed
            // may have ended before this one.
            [first]
                if self.whole
                    && self.ended(Duration::ZERO).len() == 1
                    && !self.others_are_ending(first) =>
            {
                Ended::First(first)
            }
            _ => Ended::Several,
        }
    }

    /// One that was killed before may still be on its way: a launcher sees its connection
    /// close and kills others, which then may be gone first.
    fn others_are_ending(&self, first: usize) -> bool {
        self.processes.iter().any(|watched| watched.at != first && is_ending(watched.number))
    }

    /// Those that have ended, waiting for the first at most so long.
    fn ended(&self, timeout: Duration) -> Vec<usize> {
        let poll =
            |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut polled: Vec<libc::pollfd> =
            self.processes.iter().map(|watched| poll(&watched.process)).collect();
        let timeout_ms = timeout.as_millis().min(60_000) as i32;
        // SAFETY: the array is as long as said.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout_ms) };
        let both = self.processes.iter().zip(&polled);
        both.filter(|(_, polled)| polled.revents != 0).map(|(watched, _)| watched.at).collect()
    }

    /// Nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }
}

fn open(number: i64) -> Option<OwnedFd> {
    let number = libc::pid_t::try_from(number).ok().filter(|number| *number > 0)?;
    // SAFETY: no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    // SAFETY: a new descriptor that belongs to nobody else.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// The kernel has begun to end the process, or it is gone: flag PF_EXITING in /proc/PID/stat
/// (proc_pid_stat(5), field 9; include/linux/sched.h).
fn is_ending(number: i64) -> bool {
    const PF_EXITING: u64 = 4;
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces; state is the first field after it.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = rest.split_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_none_or(|flags| flags & PF_EXITING != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_process_that_ended_first_is_told() {
        let mut children: Vec<_> =
            (0..3).map(|_| Command::new("sleep").arg("600").spawn().expect("sleep")).collect();
        let numbers: Vec<i64> = children.iter().map(|child| i64::from(child.id())).collect();
        let link = |number: i64| fs::read_link(format!("/proc/{number}/exe"));
        // A child is another program from its exec on.
        let own = std::env::current_exe().expect("our path");
        while link(numbers[2]).is_ok_and(|exe| exe == own) {
            std::thread::yield_now();
        }
        let binary = link(numbers[2]).expect("it runs");
        while numbers.iter().any(|number| link(*number).ok().as_ref() != Some(&binary)) {
            std::thread::yield_now();
        }
        let watch = Watch::new(&numbers, &binary);
        let with_one_elsewhere = Watch::new(&[numbers[0], numbers[1], -1], &binary);
        assert_eq!(watch.wait(Duration::ZERO), Ended::Nobody);
        assert!(numbers.iter().all(|number| !is_ending(*number)));
        children[1].kill().expect("it can be killed");
        assert_eq!(watch.wait(Duration::from_secs(60)), Ended::First(1));
        assert!(is_ending(numbers[1]) && !is_ending(numbers[0]), "a zombie is ending");
        assert_eq!(with_one_elsewhere.wait(Duration::ZERO), Ended::Several);
        for child in &mut children {
            let _ = child.kill();
            child.wait().expect("it ends");
        }
        assert_eq!(watch.wait(Duration::ZERO), Ended::Several);
        assert!(Watch::new(&numbers, &binary).is_empty(), "they are gone");
    }
}
