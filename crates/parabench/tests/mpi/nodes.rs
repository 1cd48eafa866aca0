//! Several machines: the second one is this machine with a name, memory and folders of its own, in
//! which MPICH's launcher starts ranks as it would through ssh. `SECOND` gives it another name.

use crate::death::process;
use crate::scene::{Call, Done, PARABENCH, Scene, install, kill, skip};
use crate::schema::assert_valid;
use crate::sweeps;
use crate::testing::{self, Mpi};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// `ssh [OPTIONS] HOST COMMAND...`; node-b sources the file `mounts`, if there is one.
const SSH: &str = "#!/bin/sh\n\
    while [ \"${1#-}\" != \"$1\" ]; do shift; done\n\
    shift\n\
    exec unshare -m -u sh -c \"hostname ${SECOND:-node-b}; mount -t tmpfs none /dev/shm; \
    mount -t tmpfs none /run; mount -t tmpfs none $PLACE/hidden; cd $PLACE; test ! -f mounts || . ./mounts; $*\"\n";

const PROGRAM: &str = "param $n = 3;\ntime[\"work\"] repeat $n write(\"f-$$rank\", 64k);\n\
    if ($$node == 1) stat(\"f-$$rank\");\n";

/// Ranks 0 and 1 here, 2 and 3 on node-b, which sees nothing of the folder `hidden`.
fn on_two(mpi: &Mpi, scene: &Scene, line: &str) -> Call {
    let launch = mpi.command(&mpi.mpiexec).args(over_two(scene)).args([PARABENCH]);
    let place = scene.path(".").canonicalize().expect("the scene");
    let call = scene.command(launch.args(line.split_whitespace()).command);
    call.env("PLACE", place.to_str().expect("text"))
}

/// What mpiexec is told for that.
fn over_two(scene: &Scene) -> Vec<String> {
    let place = scene.path(".").canonicalize().expect("the scene");
    let ssh = place.join("ssh");
    fs::write(place.join("ssh.text"), SSH).expect("written");
    install(&place.join("ssh.text"), &ssh);
    fs::create_dir_all(place.join("hidden")).expect("made");
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let hosts = format!("{},127.0.0.2", name.trim());
    let ssh = ssh.to_str().expect("text");
    let words =
        ["-launcher", "ssh", "-launcher-exec", ssh, "-hosts", &hosts, "-ppn", "2", "-n", "4"];
    words.map(String::from).into()
}

/// MPICH, if this user may have namespaces.
fn mpich() -> Option<Mpi> {
    let words = ["-m", "-u", "mount", "-t", "tmpfs", "none", "/mnt"];
    let may = Command::new("unshare").args(words).output().is_ok_and(|done| done.status.success());
    if !may {
        skip("a second host needs namespaces: run the tests as root");
    }
    testing::all().into_iter().find(|mpi| may && mpi.name == "mpich")
}

/// Killed in the fifth of nine executions, and resumed where the second machine is another one.
#[test]
fn executions_keep_their_machines_when_a_sweep_is_resumed_on_others() {
    let Some(mpi) = mpich() else { return };
    let scene = sweeps::scene();
    let line = format!("run x.ppl {} --dir d stop=5 --out r", sweeps::GRID);
    let running = on_two(&mpi, &scene, &line).start();
    sweeps::until_the_fifth(&running, &scene, 4);
    kill(process(&scene, 1), 9);
    running.finish();
    sweeps::running_no_more(&scene);
    fs::write(scene.path("d/go"), "").expect("written");
    let done =
        on_two(&mpi, &scene, "run --resume r --dir d -v").env("SECOND", "node-c").run().exits(0);
    let run = scene.json("r/run.json");
    assert_valid(&run);
    let host = run["run"]["host"]["name"].as_str().expect("a name");
    done.out_has("node-c (ranks 2-3)")
        .out_has(&format!("4 of 9 executions ran on {host} and node-b"));
    let sweep = &run["run"]["sweep"];
    let machines = sweep["machines"].as_array().expect("machines");
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0]["nodes"][1]["host"], "node-b");
    assert_eq!(run["run"]["job"]["nodes"][1]["host"], "node-c");
    let order = sweep["order"].as_array().expect("an order").iter();
    let elsewhere: Vec<Option<u64>> = order.map(|one| one["machines"].as_u64()).collect();
    assert_eq!(elsewhere, [[Some(0); 4].as_slice(), &[None; 5]].concat());
    let table = scene.parabench("report r -v").exits(0).out;
    let rows = table.lines().filter(|line| line.trim_start().starts_with("work: write ("));
    let nodes: Vec<&str> = rows.filter_map(|row| row.split_whitespace().nth(3)).collect();
    assert!(nodes.contains(&"3"), "a point had three machines: {table}");
}

#[test]
fn figures_of_a_machine_that_does_not_see_the_folder_come_by_messages() {
    let Some(mpi) = mpich() else { return };
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let done = on_two(&mpi, &scene, "run x.ppl --events --out hidden/r -v").run().exits(0);
    let done = done.out_has("node-b (ranks 2-3)").out_has("over nodes").out_has("Over nodes:");
    assert_eq!(scene.names("hidden/r"), ["events.parquet", "run.json"]);
    let run = scene.json("hidden/r/run.json");
    assert_valid(&run);
    assert_eq!(run["run"]["events"]["count"], 4 * 3 + 2);
    let rows = run["run"]["node_rows"].as_array().expect("rows of nodes");
    let used = run["run"]["node_use"].as_array().expect("machines");
    let nodes: Vec<Option<u64>> = used.iter().map(|used| used["node"].as_u64()).collect();
    assert_eq!(nodes, [Some(0), Some(1)]);
    assert!(used.iter().all(|used| used["load_after"].is_number() && used["sent_bytes"].is_u64()));
    done.out_has("node-b: load ").out_has(" out");
    // Both have the same below the directory.
    assert!(used.iter().all(|used| used.get("storage").is_none()), "{used:?}");
    let of = |r: &Value| (r["node"].as_u64(), r["op"].to_string(), r["count"].as_u64());
    let mut found: Vec<_> = rows.iter().map(of).collect();
    found.sort();
    let row = |node, op: &str, count| (Some(node), format!("\"{op}\""), Some(count));
    assert_eq!(found, [row(0, "write", 6), row(1, "stat", 2), row(1, "write", 6)]);
}

/// Every rank has written three files when it says so, and then waits for long.
const WAITS: &str = "time[\"work\"] repeat 3 write(\"f-$$rank\", 64k);\nprint \"ready\"; \
    repeat 6000 { stat(\".\"); sleep(10ms); }";

const KILL: i32 = 9;

/// Keeps the memory of node-b when its ranks are gone.
const STAYS: &str = "setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo $! > node\n";

/// A killed job on two machines of which only this one was settled, and the process that keeps the other one.
fn killed_and_settled_here(mpi: &Mpi, line: &str) -> (Scene, String) {
    let scene = Scene::new().file("x.ppl", WAITS).file("mounts", STAYS);
    let running = on_two(mpi, &scene, line).start();
    running
        .until("all ranks at work", || (0..4).all(|rank| running.said(&format!("[{rank}] ready"))));
    let ranks: Vec<i32> = (0..4).map(|rank| process(&scene, rank)).collect();
    running.signal(KILL);
    ranks.iter().for_each(|rank| kill(*rank, KILL));
    running.finish();
    let node = scene.text("node").trim().to_string();
    let since = std::time::Instant::now();
    while scene.parabench("report r --format json").exits(0).json()["run"]["outcome"] != "cut off" {
        assert!(since.elapsed() < testing::LIMIT, "the run is never over");
    }
    for _ in 0..2 {
        let done = scene.parabench("report r --settle").exits(1);
        let done = done.out_has("the records of ranks 2-3 are not here");
        done.out_has("in the memory of node-b");
    }
    let names = scene.names("r");
    let has = |start| names.iter().any(|name: &String| name.starts_with(start));
    assert!(has("parabench-records-") && !has("events"), "{names:?}");
    (scene, node)
}

fn written(scene: &Scene) -> Value {
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_valid(&run);
    crate::figures::row(&run, "work", "write")["count"].clone()
}

/// A command in the namespaces of node-b.
fn on_node_b(scene: &Scene, node: &str, words: &[&str]) -> Done {
    let mut command = Command::new("nsenter");
    // Files of the directory that we are in would belong to our mounts.
    let place = scene.path(".").canonicalize().expect("the scene");
    command.args(["-t", node, "-m", "-u", "env", "-C"]).arg(place).args(words);
    scene.command(command).run()
}

#[test]
fn a_killed_job_is_settled_on_all_its_machines_one_after_the_other() {
    let Some(mpi) = mpich() else { return };
    for line in [
        "run x.ppl --format json --events --out r",
        "run x.ppl --format json --events --reps 2 --out r",
    ] {
        let (scene, node) = killed_and_settled_here(&mpi, line);
        assert_eq!(written(&scene), 2 * 3, "{line}");
        on_node_b(&scene, &node, &[PARABENCH, "report", "r", "--settle"]).exits(0);
        let events = scene.json("r/run.json")["run"]["events"]["count"].as_u64();
        assert!(written(&scene) == 4 * 3 && events > Some(4 * 3 + 3), "{line}: {events:?}");
        assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "{line}");
        on_node_b(&scene, &node, &["sh", "-c", "ls /dev/shm | grep -c records"]).exits(1);
        testing::send("KILL", &[node.parse().expect("a process")]);
    }
}

#[test]
fn a_killed_job_is_settled_when_the_records_of_other_machines_have_been_copied() {
    let Some(mpi) = mpich() else { return };
    let (scene, node) = killed_and_settled_here(&mpi, "run x.ppl --format json --out r");
    on_node_b(&scene, &node, &["sh", "-c", "cp -r /dev/shm/parabench-records-* r/"]).exits(0);
    testing::send("KILL", &[node.parse().expect("a process")]);
    assert_eq!(written(&scene), 4 * 3);
    scene.parabench("report r --settle").exits(0);
    assert_eq!((written(&scene), scene.names("r")), ((4 * 3).into(), vec!["run.json".into()]));
}

/// Whoever started the job has half of it, and says so however soon it looks.
#[test]
fn what_a_parent_shows_of_a_killed_job_names_the_ranks_of_other_machines() {
    let Some(mpi) = mpich() else { return };
    let scene = Scene::new().file("x.ppl", WAITS);
    let launcher = [mpi.mpiexec.display().to_string(), over_two(&scene).join(" ")].join(" ");
    let place = scene.path(".").canonicalize().expect("the scene");
    let call =
        crate::with(&mpi, &scene, "run x.ppl -n 4 --format json --out r --launcher").word(launcher);
    let running = call.env("PLACE", place.to_str().expect("text")).start();
    running
        .until("all ranks at work", || (0..4).all(|rank| running.said(&format!("[{rank}] ready"))));
    kill(process(&scene, 3), KILL);
    let done = running.finish().exits(1).out_has("the records of ranks 2-3 are not here");
    assert!(!done.out.contains("it lies in memory"), "it lies in r: {}", done.out);
    assert!(!done.out.contains("scratch directory"), "it is gone: {}", done.out);
    let names = scene.names("r");
    assert!(names.iter().any(|name| name.starts_with("parabench-records-")), "open: {names:?}");
    assert!(!scene.names(".").iter().any(|name| name.starts_with("parabench-scratch")));
}

#[test]
fn a_directory_of_the_same_name_is_another_one() {
    let Some(mpi) = mpich() else { return };
    let scene = Scene::new().file("x.ppl", PROGRAM);
    // A run of node-b alone has left its marker there.
    let mounts =
        format!("mkdir hidden/d; env -i {PARABENCH} run x.ppl -n 1 --quiet --dir hidden/d\n");
    let scene = scene.file("mounts", &mounts);
    let done = on_two(&mpi, &scene, "run x.ppl --dir hidden/d").run().exits(2);
    done.err_has("it is another directory (tmpfs) on node-b");
    let mounts = "mount --bind shared shared; mount -o remount,bind,ro shared\n";
    let scene = scene.file("mounts", mounts).file("shared/.parabench", "");
    let done = on_two(&mpi, &scene, "run x.ppl --dir shared").run().exits(2);
    done.err_has("rank 2 cannot write to the run directory").err_has("on node-b");
}

#[test]
fn a_sweep_over_machines_is_whole_on_all_of_them() {
    let Some(mpi) = mpich() else { return };
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let line = "run x.ppl --sweep-nodes 1,2 --sweep n=2,3 --reps 2 --events --out hidden/r -v";
    on_two(&mpi, &scene, line).run().exits(0).out_has("over nodes");
    let run = scene.json("hidden/r/run.json");
    assert_valid(&run);
    assert_eq!(run["run"]["sweep"]["order"].as_array().map(Vec::len), Some(8));
    // Two ranks and four, two and three times, twice; and two that look at node 1.
    assert_eq!(run["run"]["events"]["count"], 2 * ((2 + 4) * (2 + 3) + 2 * 2));
}

#[test]
fn a_directory_that_a_machine_does_not_see_is_refused_with_its_name() {
    let Some(mpi) = mpich() else { return };
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let done = on_two(&mpi, &scene, "run x.ppl --dir hidden/d").run().exits(2);
    done.err_has("rank 2 does not see the run directory").err_has("it is missing on node-b");
}

#[test]
fn a_machine_that_mounts_the_directory_in_another_way_is_remarked_on() {
    let Some(mpi) = mpich() else { return };
    let mounts = "mount --bind data data; mount -o remount,bind,noatime data\n";
    let scene = Scene::new().file("x.ppl", PROGRAM).file("mounts", mounts).file("data/.keep", "");
    let line = "run x.ppl --dir data --force --no-confine --out r -v";
    let done = on_two(&mpi, &scene, line).run().exits(0);
    done.out_has("remark unlike-mounts: run directory: ").out_has("/data) with noatime");
    let run = scene.json("r/run.json");
    assert_valid(&run);
    let used = &run["run"]["node_use"];
    assert!(used[0].get("storage").is_none(), "{used}");
    let other = &used[1]["storage"][0];
    let options = other["mount_options"].as_str().expect("options").split(',');
    assert!(other["name"] == "" && options.into_iter().any(|one| one == "noatime"), "{other}");
}

/// Programs whose readers go to another node, and what tells where each one goes.
const SHIFTED: &[&str] =
    &["programs/sequential.ppl", "crates/ppl/tests/foreign/ior-files.line.ppl"];

fn tells_who_reads(path: &str) -> Scene {
    let text = fs::read_to_string(crate::scene::root().join(path)).expect("a program");
    Scene::new().file("x.ppl", text + "print $$rank, \"on\", $$node, \"reads of\", $other;\n")
}

/// Ranks that fill node after node: the shift is as large as the first node.
#[test]
fn readers_of_blocks_of_ranks_are_on_another_node() {
    let Some(mpi) = mpich() else { return };
    for path in SHIFTED {
        let done = on_two(&mpi, &tells_who_reads(path), "run x.ppl").run().exits(0);
        for line in
            ["0 on 0 reads of 2", "1 on 0 reads of 3", "2 on 1 reads of 0", "3 on 1 reads of 1"]
        {
            assert!(done.out.contains(line), "{path}: {line}: {}", done.out);
        }
    }
}

/// Ranks that go round: MPICH can take the even and the odd ranks of a machine for those of two.
#[test]
fn readers_of_ranks_in_turn_are_on_another_node() {
    for mpi in testing::all().iter().filter(|mpi| mpi.name == "mpich") {
        for path in SHIFTED {
            let scene = tells_who_reads(path);
            let call = crate::under(mpi, 4, &scene, "run x.ppl");
            let done = call.env("MPIR_CVAR_ODD_EVEN_CLIQUES", "1").run().exits(0);
            for line in ["0 on 0 reads of 1", "1 on 1 reads of 2", "3 on 1 reads of 0"] {
                assert!(done.out.contains(line), "{path}: {line}: {}", done.out);
            }
        }
    }
}
