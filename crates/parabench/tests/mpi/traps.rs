//! The traps that other tools fell into, under every MPI.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use crate::testing;
use crate::{briefly, under};

/// fsync and metadata latencies survive merging over ranks.
#[test]
fn trap_03_latencies_survive_merging_over_ranks() {
    let text = "time[\"w\"] { $h = fopen(\"f-$$rank\", \"w\"); repeat 5 { fwrite($h, 4k); fsync($h); } \
                fclose($h); repeat 3 stat(\"f-$$rank\"); }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let run = run_object(&under(&mpi, 7, &scene, "run x.ppl --format json --out r").run());
        for (op, count) in [("fsync", 35), ("stat", 21), ("fwrite", 35), ("fopen", 7)] {
            let row = row(&run, "w", op);
            assert_eq!(row["count"], count, "{op} under {}", mpi.name);
            let [min, p50, max] = ["min_ns", "p50_ns", "max_ns"].map(|f| row[f].as_f64().unwrap());
            assert!(0.0 < min && min <= p50 && p50 <= max, "{row}");
        }
        let stored = scene.json("r/run.json");
        let fsync = row(&stored, "w", "fsync");
        assert_eq!(fsync["histogram"]["count"], 35, "under {}", mpi.name);
    }
}

/// The run time is right for every number of ranks.
#[test]
fn trap_05_times_fit_each_other_for_every_number_of_ranks() {
    let text = "repeat 2 time[\"t\", sync] { sleep(3ms); write(\"a-$$rank\", 4k); }";
    for mpi in testing::all() {
        for ranks in [1, 2, 5] {
            let scene = Scene::new().file("x.ppl", text);
            let run = run_object(&under(&mpi, ranks, &scene, "run x.ppl --format json").run());
            let whole_ns = run["run"]["duration_wall_ns"].as_u64().unwrap();
            let times = run["times"].as_array().unwrap();
            assert_eq!(times.len(), 2);
            for time in times {
                let field = |name: &str| time[name].as_u64().unwrap_or_else(|| panic!("{name}"));
                let span_ns = field("last_end_ns") - field("first_start_ns");
                assert_eq!(field("ranks"), u64::from(ranks), "under {}", mpi.name);
                assert!(field("max_ns") >= 3_000_000 && field("max_ns") <= span_ns, "{time}");
                assert!(field("last_end_ns") <= whole_ns, "{time} of {whole_ns}");
            }
        }
    }
}

/// Reordered readers form a permutation: every file is read once, by another rank.
#[test]
fn trap_08_reordered_readers_form_a_permutation() {
    let text = "repeat $k 3 write(\"f-$$rank-$k\", 1000 * $$rank + 100 * $k + 1);\n\
                time[\"r\", sync] { $other = ($$rank + 1) % $$size; repeat $k 3 \
                { $p = perm($k, 3); print $other, $p; read(\"f-$other-$p\"); } }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let done = under(&mpi, 4, &scene, "run x.ppl --format json").run().exits(0);
        let mut read: Vec<&str> = done
            .err
            .lines()
            .filter(|line| line.starts_with('['))
            .map(|line| line.split_once("] ").expect("a print line").1)
            .collect();
        read.sort_unstable();
        let all: Vec<String> =
            (0..4).flat_map(|r| (0..3).map(move |k| format!("{r} {k}"))).collect();
        assert_eq!(read, all, "under {}", mpi.name);
    }
}

/// A parse error ends all ranks, once and with one message.
#[test]
fn trap_30_a_parse_error_does_not_hang_anybody() {
    for mpi in testing::all() {
        let scene =
            Scene::new().file("x.ppl", "writ(1);").file("include.ppl", "include \"x.ppl\";");
        for program in ["x.ppl", "include.ppl", "missing.ppl"] {
            let done = under(&mpi, 4, &scene, &format!("run {program}")).run().exits(2);
            let mut errors: Vec<&str> =
                done.err.lines().filter(|line| line.starts_with("error")).collect();
            let all = errors.len();
            errors.sort_unstable();
            errors.dedup();
            assert!(all > 0 && errors.len() == all, "under {}: {}", mpi.name, done.err);
        }
        briefly(&mpi, 4, &scene, "run x.ppl --nonsense").exits(2);
        let late =
            "if ($$rank == 3) { $x = 1 / ($$rank - 3); } barrier; time[\"t\", sync] stat(\".\");";
        let scene = Scene::new().file("x.ppl", late);
        let done = under(&mpi, 4, &scene, "run x.ppl").run().exits(1);
        done.out_has("division by zero").out_has("x.ppl:1:").out_has("rank 3");
    }
}
