//! Resources that a rank used: bytes by layer from /proc/self/io (proc(5)), CPU time, and how long
//! it waited for a CPU.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

/// Use since a meter was started. `None` where the kernel does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes fetched from storage (`read_bytes`).
    pub storage_read_bytes: Option<u64>,
    /// Bytes sent, or to be sent, to storage (`write_bytes`).
    pub storage_write_bytes: Option<u64>,
    /// Bytes that read calls gave (`rchar`).
    pub call_read_bytes: Option<u64>,
    /// Bytes that write calls took (`wchar`).
    pub call_write_bytes: Option<u64>,
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Time in which it could have run, but had no processor (/proc/self/schedstat).
    pub waited_ns: Option<u64>,
    /// How often it lost its processor although it could have run on.
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

    /// Use counts from now again.
    pub fn restart(&mut self) {
        self.start = self.now();
    }

    /// Use since the start.
    pub fn used(&self) -> Usage {
        let (now, start) = (self.now(), &self.start);
        let since = |now: Option<u64>, start: Option<u64>| Some(now?.saturating_sub(start?));
        Usage {
            storage_read_bytes: since(now.storage_read_bytes, start.storage_read_bytes),
            storage_write_bytes: since(now.storage_write_bytes, start.storage_write_bytes),
            call_read_bytes: since(now.call_read_bytes, start.call_read_bytes),
            call_write_bytes: since(now.call_write_bytes, start.call_write_bytes),
            cpu_ns: now.cpu_ns.saturating_sub(start.cpu_ns),
            waited_ns: since(now.waited_ns, start.waited_ns),
            preemptions: now.preemptions.saturating_sub(start.preemptions),
            faults: [0, 1].map(|kind| now.faults[kind].saturating_sub(start.faults[kind])),
        }
    }

    fn now(&self) -> Usage {
        let (cpu_ns, preemptions, faults) = processor();
        let waited_ns = with_text(self.schedule.as_ref(), waited);
        Usage { cpu_ns, preemptions, faults, waited_ns, ..with_text(self.io.as_ref(), parse) }
    }
}

/// Reads a file of /proc; without one, reads "".
fn with_text<T>(file: Option<&File>, read: impl FnOnce(&str) -> T) -> T {
    let mut buf = [0u8; 1024];
    let length = file.and_then(|file| file.read_at(&mut buf, 0).ok()).unwrap_or(0);
    read(std::str::from_utf8(&buf[..length]).unwrap_or_default())
}

/// The second figure of schedstat: nanoseconds on a run queue.
fn waited(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

fn parse(text: &str) -> Usage {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
        line.trim().parse().ok()
    };
    Usage {
        storage_read_bytes: value("read_bytes"),
        storage_write_bytes: value("write_bytes"),
        call_read_bytes: value("rchar"),
        call_write_bytes: value("wchar"),
        ..Usage::default()
    }
}

/// Processor time of this process, its involuntary switches, and its page faults without and with
/// storage: getrusage(2).
fn processor() -> (u64, u64, [u64; 2]) {
    let mut facts = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is writable; zeros are a value should the call fail.
    let facts = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, facts.as_mut_ptr());
        facts.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let cpu_ns = ns(facts.ru_utime) + ns(facts.ru_stime);
    (cpu_ns, facts.ru_nivcsw as u64, [facts.ru_minflt as u64, facts.ru_majflt as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_name() {
        let usage = parse("rchar: 10\nwchar: 20\nsyscr: 1\nread_bytes: 30\nwrite_bytes: 40\n");
        assert_eq!(usage.storage_read_bytes, Some(30));
        assert_eq!(usage.storage_write_bytes, Some(40));
        assert_eq!((usage.call_read_bytes, usage.call_write_bytes), (Some(10), Some(20)));
        assert_eq!(parse("").storage_read_bytes, None);
    }

    #[test]
    fn the_wait_for_a_processor_is_the_second_figure() {
        assert_eq!(waited("119498 3781236 2\n"), Some(3_781_236));
        assert_eq!(waited(""), None);
    }

    #[test]
    fn reading_a_file_is_counted() {
        let meter = UsageMeter::start();
        if meter.io.is_none() {
            eprintln!("not tested: this kernel does not account I/O");
            return;
        }
        let read = std::fs::read("/proc/cpuinfo").expect("/proc is mounted").len() as u64;
        assert!(meter.used().call_read_bytes >= Some(read));
    }
}
