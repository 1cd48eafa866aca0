//! Resources: what a rank used (bytes by layer from /proc/self/io (proc(5)), CPU time, and how long it waited for a
//! CPU), and contention for the CPUs of this machine while ranks ran (load, pressure stall information, time stolen by
//! a hypervisor, limits of control groups).
//!
//! Control groups of a process (cgroups(7)): the limits of the group itself and of all groups above it count.

use model::run::Contention;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
        let facts = rusage();
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

/// getrusage(2) of this process.
pub(crate) fn rusage() -> libc::rusage {
    let mut facts = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is writable; zeros are a value should the call fail.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, facts.as_mut_ptr());
        facts.assume_init()
    }
}

/// The growth of a counter; `None` where one of its values is unknown.
fn since(now: Option<u64>, start: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(start?))
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

/// Counters of the machine at two times. It belongs to the supervisor: nothing of it happens in a
/// rank.
#[derive(Debug)]
pub struct MachineMeter {
    start: Contention,
    network: Option<[u64; 2]>,
}

impl MachineMeter {
    /// Counts from now.
    pub fn start() -> MachineMeter {
        MachineMeter { start: now(), network: network() }
    }

    /// Contention since the start; figures that only the ranks know are left empty.
    pub fn used(&self) -> Contention {
        let (start, end) = (&self.start, now());
        Contention {
            load_before: start.load_after,
            load_after: end.load_after,
            pressure_cpu_ns: since(end.pressure_cpu_ns, start.pressure_cpu_ns),
            pressure_io_ns: since(end.pressure_io_ns, start.pressure_io_ns),
            pressure_memory_ns: since(end.pressure_memory_ns, start.pressure_memory_ns),
            busy_ns: since(end.busy_ns, start.busy_ns),
            stolen_ns: since(end.stolen_ns, start.stolen_ns),
            throttled_ns: since(end.throttled_ns, start.throttled_ns),
            ..Contention::default()
        }
    }

    /// Bytes that its network interfaces without the loopback have received and sent since the start;
    /// `None` where that is unknown.
    pub fn network(&self) -> Option<[u64; 2]> {
        let ([received, sent], [more, further]) = (self.network?, network()?);
        Some([more.saturating_sub(received), further.saturating_sub(sent)])
    }
}

/// Bytes that the machine's network interfaces have received and sent, without the loopback.
fn network() -> Option<[u64; 2]> {
    interfaces(&fs::read_to_string("/proc/net/dev").ok()?)
}

/// `eth0: BYTES PACKETS ... (8 words) BYTES ...`, proc(5).
fn interfaces(text: &str) -> Option<[u64; 2]> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let others = lines.filter(|(name, _)| name.trim() != "lo");
    others
        .map(|(_, words)| {
            let number = |at| words.split_whitespace().nth(at)?.parse().ok();
            Some([number(0)?, number(8)?])
        })
        .try_fold([0u64; 2], |sum, own: Option<[u64; 2]>| {
            let [received, sent] = own?;
            Some([sum[0].saturating_add(received), sum[1].saturating_add(sent)])
        })
}

fn now() -> Contention {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let pressure = |of: &str| stalled_ns(&text(&format!("/proc/pressure/{of}")));
    let (busy_ns, stolen_ns) = processors(&text("/proc/stat"), tick_ns()).unzip();
    Contention {
        load_after: text("/proc/loadavg")
            .split_whitespace()
            .next()
            .and_then(|load| load.parse().ok()),
        pressure_cpu_ns: pressure("cpu"),
        pressure_io_ns: pressure("io"),
        pressure_memory_ns: pressure("memory"),
        busy_ns,
        stolen_ns,
        throttled_ns: throttled_ns(&group_folders("cpu")),
        ..Contention::default()
    }
}

/// Nanoseconds of a tick of /proc/stat.
fn tick_ns() -> u64 {
    // SAFETY: no pointers.
    1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`
fn stalled_ns(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.rsplit_once("total=")?.1.trim().parse::<u64>().ok()?.checked_mul(1000)
}

/// Time in which all CPUs had work, and how much of it was stolen (proc(5)):
/// `cpu user nice system idle iowait irq softirq steal ...`
fn processors(stat: &str, tick_ns: u64) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = &ticks[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq + steal;
    Some((busy.saturating_mul(tick_ns), steal.saturating_mul(tick_ns)))
}

/// How long the limits of these groups kept their tasks from running; `None`: there are none.
fn throttled_ns(folders: &[PathBuf]) -> Option<u64> {
    let texts =
        folders.iter().filter_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok());
    texts.filter_map(|text| throttled_in(&text)).reduce(u64::saturating_add)
}

/// `throttled_usec` of the second version of control groups, `throttled_time` of the first one.
fn throttled_in(text: &str) -> Option<u64> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    value("throttled_usec").map(|us| us.saturating_mul(1000)).or_else(|| value("throttled_time"))
}

/// Where control groups are mounted.
pub(crate) const ROOT: &str = "/sys/fs/cgroup";

/// Folders of this process's groups for a controller ("memory", "cpu"), in both versions.
pub(crate) fn group_folders(controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_folders_in(Path::new(ROOT), &groups, controller)
}

/// The same by the lines of /proc/self/cgroup.
pub(crate) fn group_folders_in(root: &Path, groups: &str, controller: &str) -> Vec<PathBuf> {
    let found = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or(""), fields.next().unwrap_or("/"));
        let roots = match controllers {
            // Where both versions are mounted, the second one lies in a folder of its own.
            "" => vec![root.to_path_buf(), root.join("unified")],
            names if names.split(',').any(|name| name == controller) => vec![root.join(controller)],
            _ => Vec::new(),
        };
        roots.into_iter().flat_map(|root| upwards(&root, path))
    });
    found.collect()
}

/// A group and all above it.
fn upwards(root: &Path, path: &str) -> Vec<PathBuf> {
    let group = root.join(path.trim_start_matches('/'));
    let up = group.ancestors().take_while(|folder| folder.starts_with(root));
    up.map(Path::to_path_buf).collect()
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

    #[test]
    fn counters_are_read_from_the_kernel_s_texts() {
        let pressure = "some avg10=1.50 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0 total=9\n";
        assert_eq!(stalled_ns(pressure), Some(1_234_000));
        assert_eq!(stalled_ns(""), None);
        let stat = "cpu  10 1 20 500 7 2 3 4 0 0\ncpu0 1 1 1\n";
        assert_eq!(processors(stat, 10), Some((400, 40)));
        assert_eq!(processors("cpu 1 2 3\n", 10), None);
        assert_eq!(throttled_in("nr_throttled 2\nthrottled_usec 5\n"), Some(5000));
        assert_eq!(throttled_in("nr_throttled 2\nthrottled_time 5\n"), Some(5));
        assert_eq!(throttled_in("usage_usec 5\n"), None);
        let heads = "Inter-|   Receive\n face |bytes packets\n";
        let own = "  lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n eth0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
        assert_eq!(interfaces(&format!("{heads}{own}ib0:20 1 0 0 0 0 0 0 30 1\n")), Some([25, 37]));
        assert_eq!(interfaces(heads), Some([0, 0]));
        assert_eq!(interfaces("eth0: 5 1\n"), None);
    }

    #[test]
    fn this_machine_counts_its_load() {
        let used = MachineMeter::start().used();
        assert!(used.load_before.is_some() && used.busy_ns.is_some(), "{used:?}");
    }

    #[test]
    fn a_group_is_below_its_controller_and_those_above_it_count_too() {
        let found = |groups, controller| {
            let folders = group_folders_in(Path::new("/r"), groups, controller);
            folders.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("4:cpu,cpuacct:/job\n2:pids:/x\n", "cpu"), ["/r/cpu/job", "/r/cpu"]);
        assert_eq!(found("0::/a\n", "cpu"), ["/r/a", "/r", "/r/unified/a", "/r/unified"]);
        assert_eq!(found("9:memory:/\n", "cpu"), [""; 0]);
    }
}
