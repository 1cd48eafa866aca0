//! Resources that a rank used: bytes by layer from /proc/self/io (proc(5)), CPU time, and how long
//! it waited for a CPU.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

/// Resources that a rank used in its program; `None` where the kernel does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Clock at the start of the program.
    pub start_ns: u64,
    /// Clock at its end.
    pub end_ns: u64,
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Bytes fetched from storage (`read_bytes` of /proc/self/io).
    pub read_bytes: Option<u64>,
    /// Bytes sent, or to be sent, to storage (`write_bytes`).
    pub write_bytes: Option<u64>,
    /// Time in which it could have run, but had no CPU (/proc/self/schedstat).
    pub waited_ns: Option<u64>,
    /// How often it lost its CPU although it could have run on.
    pub preemptions: u64,
    /// Page faults that needed no storage, and those that did.
    pub faults: [u64; 2],
}

/// Reads counters at two times. It keeps the files of /proc/self open, so that it works after
/// confinement; start it in the rank itself, after the fork.
#[derive(Debug)]
pub struct UsageMeter {
    io: Option<File>,
    schedule: Option<File>,
    start: Usage,
}

impl UsageMeter {
    /// Use counts from now.
    pub fn start() -> UsageMeter {
        let mut meter = UsageMeter {
            io: File::open("/proc/self/io").ok(),
            schedule: File::open("/proc/self/schedstat").ok(),
            start: Usage::default(),
        };
        meter.restart();
        meter
    }

    /// Use counts from now.
    pub fn restart(&mut self) {
        self.start = self.now();
    }

    /// Use since the start; the clock of the program is left to the caller.
    pub fn used(&self) -> Usage {
        let (now, start) = (self.now(), &self.start);
        let since = |now: Option<u64>, start: Option<u64>| Some(now?.saturating_sub(start?));
        Usage {
            cpu_ns: now.cpu_ns.saturating_sub(start.cpu_ns),
            read_bytes: since(now.read_bytes, start.read_bytes),
            write_bytes: since(now.write_bytes, start.write_bytes),
            waited_ns: since(now.waited_ns, start.waited_ns),
            preemptions: now.preemptions.saturating_sub(start.preemptions),
            faults: [0, 1].map(|kind| now.faults[kind].saturating_sub(start.faults[kind])),
            ..Usage::default()
        }
    }

    fn now(&self) -> Usage {
        let mut facts = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the structure is writable; zeros are a value should the call fail.
        let facts = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, facts.as_mut_ptr());
            facts.assume_init()
        };
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        let io = text(self.io.as_ref());
        Usage {
            cpu_ns: ns(facts.ru_utime) + ns(facts.ru_stime),
            read_bytes: value(&io, "read_bytes"),
            write_bytes: value(&io, "write_bytes"),
            waited_ns: waited(&text(self.schedule.as_ref())),
            preemptions: facts.ru_nivcsw as u64,
            faults: [facts.ru_minflt as u64, facts.ru_majflt as u64],
            ..Usage::default()
        }
    }
}

/// The text of a file of /proc/self.
fn text(file: Option<&File>) -> String {
    let mut buf = [0u8; 1024];
    let length = file.and_then(|file| file.read_at(&mut buf, 0).ok()).unwrap_or(0);
    String::from_utf8_lossy(&buf[..length]).into_owned()
}

/// The second figure of /proc/self/schedstat.
fn waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// A line of /proc/self/io.
fn value(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 1\nread_bytes: 30\nwrite_bytes: 40\n";
        assert_eq!([value(text, "read_bytes"), value(text, "write_bytes")], [Some(30), Some(40)]);
        assert_eq!(value("", "read_bytes"), None);
    }

    #[test]
    fn the_wait_for_a_processor_is_the_second_figure() {
        assert_eq!(waited("119498 3781236 2\n"), Some(3_781_236));
        assert_eq!(waited(""), None);
    }

    #[test]
    fn the_cpu_is_counted() {
        let meter = UsageMeter::start();
        while meter.used().cpu_ns == 0 {}
    }
}
