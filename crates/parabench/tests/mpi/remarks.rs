//! What a run under MPI says about itself.

use crate::scene::{PARABENCH, Scene};
use crate::schema::run_object;
use crate::testing;
use crate::{under, with};

fn marks(run: &serde_json::Value) -> Vec<&str> {
    let marks = run["run"]["evidence"]["marks"].as_array().expect("marks");
    marks.iter().map(|mark| mark["code"].as_str().expect("a code")).collect()
}

#[test]
fn more_ranks_than_processors_are_crowded() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "stat(\".\"); barrier;");
        for (ranks, crowded) in [(1, false), (2, true)] {
            // All of them on processor 0.
            let line = ["-c", "0", PARABENCH, "run", "x.ppl", "--format", "json"];
            let launch = mpi.launch(ranks, "taskset").args(line);
            let run = run_object(&scene.command(launch.command).run());
            assert_eq!(marks(&run).contains(&"crowded"), crowded, "under {}: {run:#}", mpi.name);
        }
    }
}

#[test]
fn ranks_that_are_bound_say_to_which_processors() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "stat(\".\"); barrier;");
        let line = ["-c", "0", PARABENCH, "run", "x.ppl", "--format", "markdown", "-v"];
        let launch = mpi.launch(2, "taskset").args(line);
        let done = scene.command(launch.command).run().exits(0);
        assert!(done.out.contains("all ranks on processor 0"), "under {}: {}", mpi.name, done.out);
    }
}

#[test]
fn a_run_says_what_ran_where() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "write(\"f-$$rank\", 4k);");
        let run = run_object(&under(&mpi, 3, &scene, "run x.ppl --format json").run());
        let (job, host) = (&run["run"]["job"], &run["run"]["host"]["name"]);
        let node = &job["nodes"][0];
        assert_eq!(job["nodes"].as_array().map(Vec::len), Some(1), "{job:#}");
        assert!(job["mpi"].as_str().is_some_and(|mpi| mpi.contains("MPI")), "{job:#}");
        assert!(job["launcher"].as_str().is_some_and(|name| name.contains("mpiexec")), "{job:#}");
        assert_eq!((&node["host"], &node["ranks"]), (host, &serde_json::json!([[0, 2]])));
        let [fewest, most] = [0, 1].map(|at| node["rank_cpus"][at].as_u64().expect("a number"));
        let all = node["cpus"].as_u64().expect("a number");
        assert!(1 <= fewest && fewest <= most && most <= all, "{node:#}");
        let table = under(&mpi, 3, &scene, "run x.ppl -v").run().out;
        assert!(table.contains("1 node:") && table.contains("(ranks 0-2)"), "{table}");
    }
}

#[test]
fn direct_is_no_option_of_mpi_io() {
    for mpi in testing::all() {
        let text = "with (direct=true) { $h = pfopen(\"f\", \"crw\"); pfwrite($h, 4k, $$rank * 4k); pfclose($h); }";
        let scene = Scene::new().file("x.ppl", text);
        let run = run_object(&under(&mpi, 2, &scene, "run x.ppl --format json").run());
        let notes = run["run"]["evidence"]["notes"].to_string();
        assert!(
            notes.contains("direct=true does not concern MPI-IO"),
            "under {}: {notes}",
            mpi.name
        );
    }
}

#[test]
fn hints_that_are_not_in_effect_are_named() {
    let text = "with (hints=\"parabench_nonsense=1;romio_cb_write=enable\") pwrite(\"f\", \"p\");\n\
                define pattern \"p\" level 3 = strided(block=1k, count=2);";
    // ROMIO tells which hints are in effect; Open MPI repeats what it was given.
    for mpi in testing::all().into_iter().filter(|mpi| mpi.name == "mpich") {
        let scene = Scene::new().file("x.ppl", text);
        let run = run_object(&under(&mpi, 2, &scene, "run x.ppl --format json").run());
        let notes = run["run"]["evidence"]["notes"].to_string();
        assert!(notes.contains("the hint parabench_nonsense=1 is not in effect"), "{notes}");
        assert!(!notes.contains("romio_cb_write"), "{notes}");
    }
}

#[test]
fn a_plan_lists_calls_of_mpi() {
    let text = "define pattern \"p\" level 3 = strided(block=1k, count=2);\n\
                $h = pfopen(\"f\", \"crw\"); pfwrite($h, \"p\"); pfread($h, 4k, \"ordered\");\n\
                with (depth=2, transfer=2k) pfread($h, 4k, 0); pfsync($h); pfclose($h); pdelete(\"f\");";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("plan x.ppl -n 2 --ops 30 --rank 1").exits(0);
    let calls: Vec<&str> = done.out.lines().filter(|line| line.starts_with("  MPI_")).collect();
    let expected = [
        "  MPI_File_open(\"f\")",
        "  MPI_File_set_view(0, view)",
        "  MPI_File_write_at_all(0, 0, 2048)",
        "  MPI_File_set_view(0, bytes)",
        "  MPI_File_read_ordered(0, 4096)",
        "  MPI_File_iread_at(0, 0, 2048)",
        "  MPI_File_iread_at(0, 2048, 2048)",
        "  MPI_Wait",
        "  MPI_Wait",
        "  MPI_File_sync(0)",
        "  MPI_File_close(0)",
    ];
    assert_eq!(calls, expected, "{}", done.out);
}

/// Without MPI nothing ends in a dry run, and its reads are not short.
#[test]
fn a_dry_run_needs_no_mpi() {
    let text = "define proc p() { $h = pfopen(\"f\", \"crw\"); pfread($h, 1m, 0, \"all\"); pfclose($h); }\n\
                $g = pfopen(\"g\", \"crw\"); pfclose($g); p();";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl -n 2 --dry-run --format json").exits(0);
    assert!(!done.err.contains("W0401"), "{}", done.err);
    let run = done.json();
    assert_eq!(run["run"]["evidence"]["short"], 0, "{run:#}");
    assert_eq!(crate::figures::row(&run, "", "pfread")["bytes"], 2 << 20);
    // Where a rank would end, the first place in the text is named.
    let done = scene.parabench("run x.ppl -n 2 --format json").exits(1);
    assert!(done.err.contains("W0401") && done.err.contains("x.ppl:1:"), "{}", done.err);
}

#[test]
fn a_library_that_fills_holes_is_marked() {
    let text = "define pattern \"p\" level LEVEL { repeat $i 6 extent(($i * $$gsize + $$grank) * 2000, 1000); }\n\
                pwrite(\"f\", \"p\");\n";
    for mpi in testing::all() {
        let filling = if mpi.name == "openmpi" { 1 } else { 2 };
        for level in [0, filling] {
            let scene = Scene::new().file("x.ppl", text.replace("LEVEL", &level.to_string()));
            let run = run_object(&under(&mpi, 2, &scene, "run x.ppl --format json").run());
            let marked = marks(&run).contains(&"mpi-holes");
            let ompio_of_old = run["run"]["job"]["mpi"]
                .as_str()
                .is_some_and(|mpi| mpi.starts_with("Open MPI v4.0"));
            assert_eq!(marked, level == filling && !ompio_of_old, "{}: level {level}", mpi.name);
        }
    }
}

/// What MPI writes is filled as what calls of the system write, at every level and by bytes.
#[test]
fn what_verified_data_of_mpi_files_costs_is_told() {
    let text = "define pattern {\"l0\", 4, 64k, 0}; define pattern {\"l3\", 4, 64k, 3};\n\
        with (verify=true) {\n\
        time[\"l0\"] pwrite(\"a\", \"l0\");\n time[\"l3\"] pwrite(\"b\", \"l3\");\n\
        time[\"deep\"] with (transfer=16k, depth=4) pwrite(\"c\", \"l0\");\n\
        $h = pfopen(\"d\", \"crw\");\n\
        time[\"bytes\"] pfwrite($h, 64k, $$rank * 64k);\n pfclose($h);\n\
        time[\"posix\"] write(\"f-$$rank\", 64k);\n }\n";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let run = run_object(&under(&mpi, 2, &scene, "run x.ppl --format json").run());
        let labels = run["run"]["evidence"]["labels"].as_array().expect("labels");
        let at = |name: &str| {
            let label = labels.iter().find(|label| label["label"] == name);
            label.expect("the label")["verified"].clone()
        };
        for (label, kib) in
            [("l0", 512), ("l3", 512), ("deep", 512), ("bytes", 128), ("posix", 128)]
        {
            let told = at(label);
            assert_eq!(told["filled_bytes"], kib << 10, "{label} under {}: {told}", mpi.name);
            assert!(told["fill_ns"].as_u64().is_some_and(|ns| ns > 0), "{label}: {told}");
        }
        let notes = run["run"]["evidence"]["notes"].to_string();
        assert!(notes.contains("verify=true: 1.75 MiB filled"), "under {}: {notes}", mpi.name);
    }
}

/// The page tells a command that starts as many ranks.
#[test]
fn the_command_of_a_run_has_its_launcher() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "write(\"f-$$rank\", 4k);");
        let run = run_object(&under(&mpi, 3, &scene, "run x.ppl --format json").run());
        let words = ["mpiexec", "-n", "3", "parabench", "run", "x.ppl", "--format", "json"];
        assert_eq!(run["run"]["command"], serde_json::json!(words));
        let run = run_object(&with(&mpi, &scene, "run x.ppl --mpi -n 2 --format json").run());
        let words = ["parabench", "run", "x.ppl", "--mpi", "-n", "2", "--format", "json"];
        assert_eq!(run["run"]["command"], serde_json::json!(words));
    }
}
