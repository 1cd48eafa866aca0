//! Two machines without a batch system, as docs/clusters.md sets them up: the MPICH of PyPI, a launcher
//! that goes from the first machine to the second. Each is a namespace with a network, a host name
//! and files of its own.
//!
//! ```text
//! node1  10.77.x.1 ─── cable ─── 10.77.x.2  node2
//! home/ (parabench, shim)         home/ is another folder: home2/
//! ```

use crate::scene::{Done, PARABENCH, Scene, install, skip};
use crate::schema::run_object;
use crate::testing::{self, Mpi};
use std::fs;
use std::process::Command;

const WRITES: &str = "time[\"w\"] write(\"f-$$rank\", 4k);";

/// Goes to a machine as ssh does: `launcher [OPTION]... HOST COMMAND...`
const LAUNCHER: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
number=${1##*.}
shift
exec ip netns exec NAME-$number unshare -m -u sh -c "mount --bind HOME2 HOME; hostname node$number; exec $*"
"#;

/// Both machines; they are gone with it.
struct Cluster {
    name: String,
    net: String,
    mpi: Mpi,
    scene: Scene,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for number in [1, 2] {
            let _ = self.ip(&format!("netns del {}-{number}", self.name));
        }
    }
}

impl Cluster {
    /// `None`: this machine does not allow it.
    fn new(number: u8) -> Option<Cluster> {
        let mpi = testing::all().into_iter().find(|mpi| mpi.name == "pypi")?;
        let (name, net) = (format!("pb{}-{number}", std::process::id()), format!("10.77.{number}"));
        let launcher = LAUNCHER.replace("NAME", &name);
        let scene =
            Scene::new().file("x.ppl", WRITES).file("home/bin/a", "").file("home2/bin/a", "");
        let place = |name: &str| scene.path(name).display().to_string();
        let launcher = launcher.replace("HOME2", &place("home2")).replace("HOME", &place("home"));
        let scene = scene.script("launcher", &launcher);
        let cluster = Cluster { name, net, mpi, scene };
        cluster.connect().then_some(cluster)
    }

    fn ip(&self, line: &str) -> bool {
        let words = line.split_whitespace();
        Command::new("ip").args(words).output().is_ok_and(|done| done.status.success())
    }

    fn connect(&self) -> bool {
        let Cluster { name, net, .. } = self;
        let on = |number: u8, line: &str| self.ip(&format!("-n {name}-{number} {line}"));
        let made = [1, 2].iter().all(|number| self.ip(&format!("netns add {name}-{number}")))
            && on(1, &format!("link add cable type veth peer name cable netns {name}-2"));
        made && [1, 2].iter().all(|number| {
            on(*number, &format!("addr add {net}.{number}/24 dev cable"))
                && on(*number, "link set cable up")
                && on(*number, "link set lo up")
        })
    }

    /// parabench and the shim in the home of a machine.
    fn install(&self, home: &str) {
        let bin = self.scene.path(home).join("bin");
        let binary = bin.join("parabench");
        fs::hard_link(PARABENCH, &binary).unwrap_or_else(|_| install(PARABENCH.as_ref(), &binary));
        fs::copy(self.mpi.shim(), bin.join("libparabench_mpi_shim.so")).unwrap();
    }

    /// `mpiexec` on the first machine, with two processes on each.
    fn run(&self, line: &str) -> Done {
        let Cluster { name, net, mpi, scene } = self;
        let launch = format!(
            "hostname node1; PARABENCH_MPI_SHIM={} exec {} -launcher ssh -launcher-exec {} -iface cable -hosts {net}.1,{net}.2 \
             -ppn 2 -n 4 {} {line}",
            scene.path("home/bin/libparabench_mpi_shim.so").display(),
            mpi.mpiexec.display(),
            scene.path("launcher").display(),
            scene.path("home/bin/parabench").display(),
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{name}-1"), "unshare", "-u", "sh", "-c", &launch]);
        scene.command(command).run()
    }
}

/// A cluster with parabench on both machines.
fn cluster(number: u8) -> Option<Cluster> {
    let cluster = Cluster::new(number);
    if cluster.is_none() {
        skip(
            "no namespaces with networks here (are you root? is there ip of iproute2? MPICH of PyPI?)",
        );
    }
    cluster
}

#[test]
fn two_machines_without_a_batch_system_execute_one_run() {
    let Some(cluster) = cluster(1) else { return };
    cluster.install("home");
    cluster.install("home2");
    fs::create_dir(cluster.scene.path("shared")).unwrap();
    let dir = cluster.scene.path("shared");
    let run = run_object(&cluster.run(&format!("run x.ppl --dir {} --format json", dir.display())));
    let nodes = run["run"]["job"]["nodes"].as_array().expect("nodes").iter();
    let hosts: Vec<&str> = nodes.map(|node| node["host"].as_str().expect("a name")).collect();
    assert_eq!(hosts, ["node1", "node2"]);
    assert_eq!(run["run"]["ranks"], 4);
    assert_eq!(
        cluster.scene.names("shared").iter().filter(|name| name.starts_with("f-")).count(),
        4
    );
}

/// The others would wait for its processes for ever.
#[test]
fn a_machine_without_a_shim_ends_the_job_and_is_named() {
    let Some(cluster) = cluster(2) else { return };
    cluster.install("home");
    cluster.install("home2");
    let shim = |home: &str| cluster.scene.path(home).join("bin/libparabench_mpi_shim.so");
    fs::write(shim("home2"), "").unwrap();
    let done = cluster.run("run x.ppl");
    done.exits(2).err_has("node2: no MPI shim could be used").err_has("parabench mpi build");
    fs::copy(shim("home"), shim("home2")).unwrap();
    fs::write(shim("home"), "").unwrap();
    cluster.run("run x.ppl").exits(2).err_has("node1: no MPI shim could be used");
}

#[test]
fn a_directory_that_a_machine_does_not_see_is_told() {
    let Some(cluster) = cluster(3) else { return };
    cluster.install("home");
    cluster.install("home2");
    fs::create_dir(cluster.scene.path("home/data")).unwrap();
    let dir = cluster.scene.path("home/data");
    let done = cluster.run(&format!("run x.ppl --dir {}", dir.display()));
    done.exits(2).err_has("does not see the run directory").err_has("missing on node2");
}
