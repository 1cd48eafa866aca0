//! The control groups of this process (cgroups(7)): a limit of the group itself counts, and those
//! of all groups above it.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
pub(crate) const ROOT: &str = "/sys/fs/cgroup";

/// Folders of this process's groups for a controller ("memory", "cpu"), in both versions.
pub(crate) fn folders(controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    folders_in(Path::new(ROOT), &groups, controller)
}

/// The same by the lines of /proc/self/cgroup.
pub(crate) fn folders_in(root: &Path, groups: &str, controller: &str) -> Vec<PathBuf> {
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
    fn a_group_is_below_its_controller_and_those_above_it_count_too() {
        let found = |groups, controller| {
            let folders = folders_in(Path::new("/r"), groups, controller);
            folders.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("4:cpu,cpuacct:/job\n2:pids:/x\n", "cpu"), ["/r/cpu/job", "/r/cpu"]);
        assert_eq!(found("0::/a\n", "cpu"), ["/r/a", "/r", "/r/unified/a", "/r/unified"]);
        assert_eq!(found("9:memory:/\n", "cpu"), [""; 0]);
    }
}
