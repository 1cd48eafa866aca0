//! Options of `run` that say what happens before and after the ranks' work.

use crate::scene::{Running, Scene, kill};
use crate::testing::{self, Mpi};
use crate::{under, with};

const INT: i32 = 2;
const USR1: i32 = 10;
const PROGRAM: &str = "time[\"w\"] write(\"f-$$rank\", 4k);";
const WRITES: &str = "write(\"started-$$rank\", 1);";

#[test]
fn a_job_writes_its_page_and_leaves_nothing_else() {
    for mpi in testing::all() {
        let line = "run x.ppl --html page.html -n 3";
        let starts: [fn(&Mpi, &Scene, &str) -> crate::scene::Call; 2] = [
            |mpi, scene, line| under(mpi, 3, scene, line),
            |mpi, scene, line| with(mpi, scene, &format!("{line} --mpi")),
        ];
        for start in starts {
            let scene = Scene::new().file("x.ppl", PROGRAM);
            start(&mpi, &scene, line).run().exits(0).out_has("   ok\n");
            assert_eq!(scene.names("."), ["page.html", "x.ppl"], "under {}", mpi.name);
            let page = scene.text("page.html");
            for part in ["<!DOCTYPE html>", "<dt>ranks</dt><dd>3</dd>", "id=\"figures\"", "write("]
            {
                assert!(page.contains(part), "{part} under {}", mpi.name);
            }
            // Events of all ranks are in it, and are kept where the run is stored.
            start(&mpi, &scene, &format!("{line} --out r --quiet")).run().exits(0);
            assert_eq!(crate::figures::events(&scene, "r").len(), 3, "under {}", mpi.name);
            start(&mpi, &scene, "run x.ppl -n 3 --html no/page.html")
                .run()
                .exits(2)
                .err_has("there is no folder no");
        }
    }
}

/// The process that the job says is to be told.
fn invited(running: &Running) -> i32 {
    let word = || {
        let heard = running.heard();
        let rest = heard.split_once("kill -USR1 ")?.1.split_once('\n')?.0.trim().to_string();
        rest.parse().ok()
    };
    running.until("the invitation", || word().is_some());
    word().expect("a process number")
}

#[test]
fn a_job_that_waits_starts_when_rank_0_is_told() {
    for mpi in testing::all() {
        let line = "run x.ppl --wait --dir d --keep";
        let direct = |scene: &Scene| under(&mpi, 3, scene, line).start();
        let parent = |scene: &Scene| with(&mpi, scene, &format!("{line} -n 3 --mpi")).start();
        for start in [&direct as &dyn Fn(&Scene) -> Running, &parent] {
            let scene = Scene::new().file("x.ppl", WRITES);
            let running = start(&scene);
            let rank_0 = invited(&running);
            assert_eq!(scene.names("d"), [".parabench"], "under {}", mpi.name);
            kill(rank_0, USR1);
            running.finish().exits(0);
            let all = [".parabench", "started-0", "started-1", "started-2"];
            assert_eq!(scene.names("d"), all, "under {}", mpi.name);
        }
    }
}

#[test]
fn a_job_that_waits_can_be_interrupted() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let running = with(&mpi, &scene, "run x.ppl --wait -n 3 --mpi").start();
        invited(&running);
        running.signal(INT);
        running.finish().exits(130);
        assert_eq!(scene.names("."), ["x.ppl"], "under {}", mpi.name);
    }
}
