//! Contention for the CPUs of this machine while ranks ran: load, pressure stall
//! information, time stolen by a hypervisor, limits of control groups.

use super::groups;
use model::run::Contention;
use std::fs;
use std::path::PathBuf;

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
        let since = |end: Option<u64>, start: Option<u64>| Some(end?.saturating_sub(start?));
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
        throttled_ns: throttled_ns(&groups::folders("cpu")),
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

/// Time in which all processors had work, and how much of it was stolen (proc(5)):
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
