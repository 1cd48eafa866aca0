//! The machine the figures belong to. No names of hosts or people.

use std::fs;
use std::path::Path;

/// Processor, number of processors, kernel, file system of `directory`.
pub fn describe(directory: &Path) -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}, {processors} processors, Linux {}, {} at {}",
        cpu(),
        read("/proc/sys/kernel/osrelease").trim(),
        file_system(directory),
        directory.parent().unwrap_or(directory).display(),
    )
}

fn cpu() -> String {
    let info = read("/proc/cpuinfo");
    let line = |key: &str| {
        let found = info.lines().find(|line| line.starts_with(key));
        found.and_then(|line| line.split(':').nth(1)).unwrap_or("").trim().to_owned()
    };
    format!("{} (family {}, model {})", line("model name"), line("cpu family"), line("model\t"))
}

/// Type of the mount with the longest path above `directory`.
fn file_system(directory: &Path) -> String {
    let mounts = read("/proc/self/mounts");
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter(|fields| fields.len() > 2 && directory.starts_with(fields[1]))
        .max_by_key(|fields| fields[1].len())
        .map_or_else(String::new, |fields| fields[2].to_owned())
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
