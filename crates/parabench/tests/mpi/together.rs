//! Calls that all members make together, inside MPI where nobody can be released: members that
//! do not come are found before, and said by name and place.

use crate::death::process;
use crate::scene::{Scene, kill};
use crate::testing::{self, LIMIT};
use crate::{preload, under};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const TERM: i32 = 15;

#[test]
fn members_at_different_calls_end_with_who_waits_where() {
    let text = "time[\"open\"] $h = pfopen(\"f\", \"crw\"); $mine = $$rank;\n\
                if ($mine == 1) pfwrite($h, 4k, 0, \"all\");\n\
                pfclose($h);";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let done = under(&mpi, 3, &scene, "run x.ppl --format json --out r").run().exits(1);
        for run in [done.json(), scene.json("r/run.json")] {
            let errors = run["run"]["rank_errors"].as_array().expect("errors");
            let place = |error: &serde_json::Value| {
                let message = error["message"].as_str().unwrap_or_default();
                let name = message.split(' ').next().unwrap_or_default().to_string();
                (name, error["place"].clone(), message.contains("come to another statement"))
            };
            let places: Vec<_> = errors.iter().map(place).collect();
            let at =
                [("pfclose", "x.ppl:3:1"), ("pfwrite", "x.ppl:2:17"), ("pfclose", "x.ppl:3:1")];
            let expected = at.map(|(name, place)| (name.to_string(), place.into(), true));
            assert_eq!(places, expected, "under {}: {errors:?}", mpi.name);
            assert_eq!(crate::figures::row(&run, "open", "pfopen")["count"], 3);
        }
    }
}

/// Each holds the lock that the other wants; and then one lock that all want in turn.
#[test]
fn locks_that_ranks_hold_from_each_other_end_with_who_waits_where() {
    let text = "write(\"a\", 1); write(\"b\", 1); barrier; $x = fopen(\"a\", \"r+\"); $y = fopen(\"b\", \"r+\");\n\
                repeat 20 { flock($x, \"exclusive\"); fwrite($x, 4k); flock($x, \"unlock\"); } barrier;\n\
                if ($$rank == 0) { flock($x, \"exclusive\"); signal(\"held\"); wait(\"held\", 2); flock($y, \"exclusive\"); }\n\
                else { flock($y, \"exclusive\"); signal(\"held\"); wait(\"held\", 2); flock($x, \"exclusive\"); }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let line = "run x.ppl --format json --timeout 1s";
        let done = under(&mpi, 2, &scene, line).run().exits(1);
        let run = done.json();
        let notes = run["run"]["evidence"]["notes"].to_string();
        let told = "nobody could go on: rank 0 waits for a lock of \\\"b\\\" at x.ppl:3:77, \
                    rank 1 waits for a lock of \\\"a\\\" at x.ppl:4:65";
        assert!(notes.contains(told), "under {}: {notes}", mpi.name);
        assert_eq!(crate::figures::row(&run, "", "flock")["failed"], 0);
    }
}

/// Processes of the binary below a directory.
fn ranks_in(place: &Path) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter(|entry| {
            fs::read_link(entry.path().join("cwd")).is_ok_and(|at| at.starts_with(place))
        })
        .count()
}

/// SIGTERM to the launcher reaches a rank that waits for the others before a collective call.
#[test]
fn a_rank_that_waits_before_a_collective_call_ends_with_the_launcher() {
    let text = "$h = pfopen(\"f\", \"crw\"); stat(\".\"); $mine = $$rank; print \"ready\";\n\
                if ($mine == 0) pfwrite($h, 4k, 0, \"all\");\n\
                repeat 30000 { stat(\".\"); sleep(10ms); }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let place = scene.path(".").canonicalize().expect("the scene");
        let running = under(&mpi, 3, &scene, "run x.ppl --format json --out r").start();
        running.until("all ranks at work", || {
            (0..3).all(|rank| running.said(&format!("[{rank}] ready")))
        });
        running.signal(TERM);
        assert_ne!(running.finish().code, Some(0), "under {}", mpi.name);
        // Launchers may be gone before the ranks, which have minutes to go.
        let since = Instant::now();
        while ranks_in(&place) > 0 {
            assert!(since.elapsed() < LIMIT, "ranks are left under {}", mpi.name);
            std::thread::sleep(Duration::from_millis(10));
        }
        let run = scene.parabench("report r --format json").exits(0).json();
        assert_eq!(crate::figures::row(&run, "", "pfopen")["count"], 3, "under {}", mpi.name);
    }
}

/// One rank is told to stop while it waits for the others, of whom one does not look for messages
/// (a long statement after many short ones): what they have come to together they do together.
#[test]
fn a_rank_that_is_told_to_stop_before_a_collective_call_does_not_strand_the_others() {
    let text = "$h = pfopen(\"f\", \"crw\"); print \"ready\";\n\
                repeat 1000 {\n\
                if ($$rank == 0) { sleep(100ms); repeat 500 stat(\".\"); print \"sleeps\"; sleep(2s); }\n\
                pfwrite($h, 4k, $$rank * 4k, \"all\");\n\
                }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let running = under(&mpi, 3, &scene, "run x.ppl --format json --out r").start();
        running.until("rank 0 sleeps, the others wait", || {
            (1..3).all(|rank| running.said(&format!("[{rank}] ready")))
                && running.said("[0] sleeps")
        });
        kill(process(&scene, 1), TERM);
        assert_ne!(running.finish().code, Some(0), "under {}", mpi.name);
        let run = scene.parabench("report r --format json").exits(0).json();
        assert_eq!(run["run"]["outcome"], "interrupted", "under {}: {run:#}", mpi.name);
        assert_eq!(crate::figures::row(&run, "", "pfwrite")["count"], 3, "under {}", mpi.name);
    }
}

/// Writing takes 5 ms a call; its 4,000 extents would take 20 s.
const SLOW: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at)
{
    usleep(5000);
    return syscall(SYS_pwrite64, fd, bytes, count, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    return pwrite64(fd, bytes, count, at);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    usleep(5000);
    return syscall(SYS_pwritev, fd, parts, count, at, 0);
}
"#;

/// Between the independent extents of one statement a rank looks whether it is to stop: the statement
/// under way is given up, what was measured before is kept.
#[test]
fn a_statement_of_many_extents_ends_when_it_is_told_to() {
    let text = "define pattern {\"many\", 4000, 4096, 0}\n\
                stat(\".\"); time[\"w\"] pwrite(\"f\", \"many\"); stat(\"f\");";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let line = "run x.ppl --dir d --format json --out r";
        let running = preload(&scene, under(&mpi, 2, &scene, line), SLOW).start();
        let written = || fs::metadata(scene.path("d/f")).map_or(0, |file| file.len());
        running.until("some extents written", || written() > 64 * 4096);
        (0..2).for_each(|rank| kill(process(&scene, rank), TERM));
        assert_ne!(running.finish().code, Some(0), "under {}", mpi.name);
        let run = scene.parabench("report r --format json").exits(0).json();
        let what = format!("under {}: {} bytes", mpi.name, written());
        assert_eq!(run["run"]["outcome"], "interrupted", "{what}");
        assert_eq!(crate::figures::row(&run, "", "stat")["count"], 2, "{what}");
        assert!(written() < 2 * 4000 * 4096, "{what}");
    }
}
