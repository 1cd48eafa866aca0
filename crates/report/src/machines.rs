//! The machines of a run and their storage in words, and how the machines of a job differ from the first
//! one: in their kernels, and in what they have below the directories of the run.
//!
//! ```text
//! kernel 6.1.0 on a, c; 5.15.0 on b
//! run directory: ext4 (/dev/sda1 at /data) on a, nfs4 (a:/data at /data) on b
//! fast: mounted with wsize=65536, without wsize=1048576 on b, other than on a
//! ```

use crate::rows::grouped;
use model::run::{Host, Job, Node, NodeUse, Run, Storage};
use model::sweep::{Execution, Machines};
use model::words;
use std::collections::{BTreeSet, HashSet};

/// Machines of a list that are named; the others are counted.
const NAMED: usize = 4;

/// Machines with other storage than the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// They reach the files by another type of file system.
    pub other_type: bool,
    /// The machines and their storage.
    pub text: String,
}

/// The kernels and their machines; `None`: all have the same.
pub fn kernels(job: &Job) -> Option<String> {
    let groups = grouped(job.nodes.iter().map(|node| (&node.kernel, &*node.host)));
    let named =
        groups.iter().map(|(kernel, hosts)| format!("{kernel} on {}", list_once(hosts, NAMED)));
    (groups.len() > 1).then(|| format!("kernel {}", named.collect::<Vec<_>>().join("; ")))
}

/// Storage below a directory that differs from the first machine's.
pub fn unlike_storage(run: &Run) -> Vec<Unlike> {
    let mut all = Vec::new();
    for used in &run.run.node_use {
        let nodes = run.run.nodes_of(used.cell, used.repetition);
        let Some(node) = nodes.get(used.node as usize) else { continue };
        for own in &used.storage {
            let first = first_machine(run, used);
            let known = below(first, &own.name);
            all.push(((&*own.name, &*first.name, known, &own.storage), node.host.clone()));
        }
    }
    type Group<'g> = ((&'g str, &'g str, &'g Storage, &'g Storage), Vec<String>);
    let unlike = |((name, first, known, own), hosts): &Group<'_>| {
        let directory = if name.is_empty() { "run directory" } else { name };
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let difference = difference(known, own, &list_once(&hosts, NAMED), first);
        let other_type = known.file_system != own.file_system;
        Unlike { other_type, text: format!("{directory}: {difference}") }
    };
    grouped(all).iter().map(unlike).collect()
}

/// Names, each once.
fn list_once(names: &[&str], most: usize) -> String {
    let mut seen = HashSet::new();
    words::list_some(names.iter().filter(|name| seen.insert(**name)), most)
}

/// The machine of rank 0 in an execution.
fn first_machine<'r>(run: &'r Run, used: &NodeUse) -> &'r Host {
    let Some(sweep) = &run.run.sweep else { return &run.run.host };
    let elsewhere = sweep.machines_of(used.cell, used.repetition).map(|machines| &machines.host);
    let of_cell = || sweep.cells.get(used.cell as usize)?.host.as_ref();
    elsewhere.or_else(of_cell).unwrap_or(&run.run.host)
}

/// Storage of the first machine below a directory.
fn below<'h>(host: &'h Host, name: &str) -> &'h Storage {
    let further = host.directories.iter().find(|further| further.name == name);
    further.map_or(&host.storage, |further| &further.storage)
}

fn difference(known: &Storage, own: &Storage, hosts: &str, first: &str) -> String {
    let [known_text, own_text] =
        [known, own].map(|storage| name_storage(storage).unwrap_or("nothing known".into()));
    let options = |word: &str, options: Vec<&str>| {
        (!options.is_empty()).then(|| format!("{word} {}", options.join(",")))
    };
    let options =
        [options("with", own.options_beyond(known)), options("without", known.options_beyond(own))];
    let options: Vec<String> = options.into_iter().flatten().collect();
    if known_text != own_text {
        // Options of unlike file systems are not to be compared.
        let alike = known.file_system == own.file_system && !options.is_empty();
        let there = if alike { format!(" {}", options.join(", ")) } else { String::new() };
        return format!("{known_text} on {first}, {own_text}{there} on {hosts}");
    }
    format!("mounted {} on {hosts}, other than on {first}", options.join(", "))
}

/// Machines of an MPI job that are named; the rest is counted.
const NODES_SHOWN: usize = 8;

/// `posix on ext4 (/dev/sda1 at /data) and fast on xfs (/dev/nvme0n1 at /local)`, as far as it is known.
pub fn storage(run: &Run) -> String {
    let (backend, places) = (&run.run.backend, places(run, name_storage));
    match places.is_empty() {
        true => backend.clone(),
        false => format!("{backend} on {}", places.join(" and ")),
    }
}

/// `ext4 /dev/sda1 and fast on xfs /dev/nvme0n1`; the back-end where it has no storage.
pub fn short_storage(run: &Run) -> String {
    let name = |storage: &Storage| {
        let Storage { file_system, device, .. } = storage;
        let device = if device == file_system { "" } else { device };
        (!file_system.is_empty()).then(|| format!("{file_system} {device}").trim_end().to_string())
    };
    let mut parts = places(run, name);
    match run.run.backend.as_str() {
        "posix" if !parts.is_empty() => {}
        backend => parts.insert(0, format!("backend {backend}")),
    }
    parts.join(" and ")
}

/// The storage below all directories of a run, each once.
fn places(run: &Run, name: impl Fn(&Storage) -> Option<String>) -> Vec<String> {
    let cells = run.run.sweep.iter().flat_map(|sweep| &sweep.cells);
    let hosts = std::iter::once(&run.run.host).chain(cells.filter_map(|cell| cell.host.as_ref()));
    let all = |host: &Host| {
        let further = host
            .directories
            .iter()
            .filter_map(|further| Some(format!("{} on {}", further.name, name(&further.storage)?)));
        name(&host.storage).into_iter().chain(further).collect::<Vec<_>>()
    };
    let mut places: Vec<String> = hosts.flat_map(all).collect();
    let mut seen = BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// Characters of a layout in a line.
const LAYOUT_CHARS: usize = 100;

/// `ext4 (/dev/sda1 at /data)`, `fuse.moosefs (mfs#h:9421 at /m), mfsgetgoal: 2`; `None`: nothing is known.
pub fn name_storage(storage: &Storage) -> Option<String> {
    let Storage { file_system, device, mount, layout, .. } = storage;
    let said = layout
        .iter()
        .map(|one| format!(", {}: {}", one.source, words::shortened(&one.text, LAYOUT_CHARS)));
    let said: String = said.collect();
    (!file_system.is_empty()).then(|| format!("{file_system} ({device} at {mount}){said}"))
}

/// `Open MPI v4.1.4, mpiexec of Open MPI, 2 nodes: a (ranks 0-3), b (ranks 4-7)`.
pub fn describe_job(job: &Job) -> String {
    let known = [&job.mpi, &job.launcher, &job.batch].into_iter().filter(|text| !text.is_empty());
    let mut facts: Vec<String> = known.cloned().collect();
    let node = |node: &Node| {
        let ranks = words::plural(node.size().into(), "rank");
        format!("{} ({ranks} {})", node.host, node.spans())
    };
    let nodes: Vec<String> = job.nodes.iter().map(node).collect();
    let count = words::count(nodes.len() as u64, "node");
    facts.push(format!("{count}: {}", words::list_some(&nodes, NODES_SHOWN)));
    facts.extend(binding(job));
    facts.join(", ")
}

/// Processors that the ranks may use: once, or of each machine where they differ.
fn binding(job: &Job) -> Option<String> {
    let first = job.nodes.first()?.binding()?;
    if job.nodes.iter().all(|node| node.binding().as_ref() == Some(&first)) {
        return Some(first);
    }
    let of_node = |node: &Node| Some(format!("on {} {}", node.host, node.binding()?));
    let all = job.nodes.iter().take(NODES_SHOWN).filter_map(of_node);
    Some(all.collect::<Vec<_>>().join("; "))
}

/// Executions of a sweep that ran before it was resumed on other machines:
/// `5 of 27 executions ran on a, b`.
pub fn elsewhere(run: &Run) -> Option<String> {
    let sweep = run.run.sweep.as_ref()?;
    let of = |execution: &Execution| sweep.machines.get(execution.machines? as usize);
    let all = sweep.order.iter().enumerate().filter_map(|(at, one)| Some((of(one)?.hosts(), at)));
    let groups = grouped(all);
    let executions = words::count(sweep.order.len() as u64, "execution");
    let said = groups.iter().map(|(hosts, members)| {
        format!("{} of {executions} ran on {}", members.len(), words::list_some(hosts, NODES_SHOWN))
    });
    (!groups.is_empty()).then(|| said.collect::<Vec<_>>().join(", "))
}

/// The machine, or all machines of a job or of a sweep that was resumed on others: `node1`,
/// `node1, node2, node3`.
pub fn hosts(run: &Run) -> String {
    words::list_some(all_hosts(run), NODES_SHOWN)
}

/// All machines that took part, each once.
pub fn all_hosts(run: &Run) -> Vec<&str> {
    let before = run.run.sweep.iter().flat_map(|sweep| &sweep.machines).flat_map(Machines::hosts);
    let nodes = run.run.job.as_ref().map_or(&[][..], |job| &job.nodes);
    let own: Vec<&str> = match nodes {
        [] => vec![&run.run.host.name],
        nodes => nodes.iter().map(|node| &*node.host).collect(),
    };
    let mut seen = HashSet::new();
    before.chain(own).filter(|host| seen.insert(*host)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Directory, Header, Layout, Node, NodeStorage};

    fn storage(file_system: &str, device: &str, mount_options: &str) -> Storage {
        Storage {
            mount: "/data".into(),
            device: device.into(),
            file_system: file_system.into(),
            mount_options: mount_options.into(),
            ..Storage::default()
        }
    }

    fn job(kernels: &[&str]) -> Job {
        let node = |(at, kernel): (usize, &&str)| Node {
            host: format!("n{at}"),
            kernel: kernel.to_string(),
            ..Node::default()
        };
        Job { nodes: kernels.iter().enumerate().map(node).collect(), ..Job::default() }
    }

    #[test]
    fn kernels_are_told_where_they_differ() {
        assert_eq!(kernels(&job(&["6.1", "6.1"])), None);
        let text = kernels(&job(&["6.1", "5.15", "6.1", "6.1", "6.1", "6.1"]));
        assert_eq!(text.as_deref(), Some("kernel 6.1 on n0, n2, n3, n4 and 1 more; 5.15 on n1"));
    }

    #[test]
    fn machines_with_the_same_other_storage_stand_together() {
        let fast = storage("nfs4", "srv:/x", "rw,wsize=1048576");
        let small = storage("nfs4", "srv:/x", "rw,wsize=65536");
        let further = Directory { name: "fast".into(), storage: fast, ..Directory::default() };
        let host = Host {
            name: "n0".into(),
            storage: storage("ext4", "/dev/sda1", "rw"),
            directories: vec![further],
            ..Host::default()
        };
        let used = |node, name: &str, storage: &Storage| NodeUse {
            node,
            storage: vec![NodeStorage { name: name.into(), storage: storage.clone() }],
            ..NodeUse::default()
        };
        let client = storage("nfs4", "n0:/data", "rw");
        let node_use = vec![
            used(1, "", &client),
            used(2, "", &client),
            used(2, "fast", &small),
            // Another execution of the same.
            used(1, "", &client),
            used(9, "", &client),
        ];
        let job = Some(job(&["", "", ""]));
        let run =
            Run { run: Header { host, job, node_use, ..Header::default() }, ..Run::default() };
        let unlike = |other_type, text: &str| Unlike { other_type, text: text.into() };
        let directory =
            "run directory: ext4 (/dev/sda1 at /data) on n0, nfs4 (n0:/data at /data) on n1 and n2";
        let options =
            "fast: mounted with wsize=65536, without wsize=1048576 on n2, other than on n0";
        assert_eq!(unlike_storage(&run), [unlike(true, directory), unlike(false, options)]);
        assert_eq!(unlike_storage(&Run::default()), []);
    }

    #[test]
    fn other_mounts_of_one_kind_tell_their_options_too() {
        let known = storage("ext4", "/dev/sda1", "rw,relatime");
        let own = Storage { mount: "/mnt".into(), ..storage("ext4", "/dev/sda1", "ro,relatime") };
        assert_eq!(
            difference(&known, &own, "n1", "n0"),
            "ext4 (/dev/sda1 at /data) on n0, ext4 (/dev/sda1 at /mnt) with ro, without rw on n1"
        );
    }

    #[test]
    fn the_layout_is_said_beside_the_storage() {
        let layout = vec![Layout { source: "mfsgetgoal".into(), text: "2".into() }];
        let storage =
            Storage { layout, mount: "/m".into(), ..storage("fuse.moosefs", "mfs#h:9421", "") };
        let expected = "fuse.moosefs (mfs#h:9421 at /m), mfsgetgoal: 2";
        assert_eq!(name_storage(&storage).as_deref(), Some(expected));
    }
}
