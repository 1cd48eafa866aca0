//! `share`: who executes what, what the report says of it, and what becomes of it when a member is
//! gone. Times are compared in virtual time only.

use crate::scene::{Scene, kill};
use crate::schema::run_object;
use serde_json::Value;

fn scene(text: &str) -> Scene {
    Scene::new().file("x.ppl", text)
}

fn on_mem(ranks: u32, text: &str) -> Value {
    let line = format!("run x.ppl -n {ranks} --backend mem --format json");
    run_object(&scene(text).parabench(&line).exits(0))
}

fn shares(run: &Value) -> &[Value] {
    run["run"]["shares"].as_array().expect("an array")
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} of {value}"))
}

fn parts(share: &Value) -> Vec<u64> {
    let sharers = share["sharers"].as_array().expect("an array");
    sharers.iter().map(|sharer| number(sharer, "indices")).collect()
}

/// Rank 3 takes 10 ms for a piece, the others 1 ms.
const PIECE: &str = "if ($$rank == 3) compute(10ms); else compute(1ms); mkdir(\"d-$i\");";

#[test]
fn a_slow_member_does_not_hold_up_the_others() {
    let equal = on_mem(4, &format!("time[\"w\"] repeat $i $$rank..1000 step 4 {{ {PIECE} }}"));
    let shared = on_mem(4, &format!("time[\"w\"] share $i 1000 {{ {PIECE} }}"));
    // All members at work all the time: 3.1 pieces per millisecond.
    let ideal_ns = 1000.0 / 3.1 * 1e6;
    let took = |run: &Value| number(&run["labels"][0], "busy_ns") as f64 / ideal_ns;
    assert!(took(&equal) > 7.0, "{}", took(&equal));
    assert!((1.0..=1.1).contains(&took(&shared)), "{}", took(&shared));
    let share = &shares(&shared)[0];
    assert_eq!((number(share, "indices"), number(share, "claims")), (1000, 1000));
    let parts = parts(share);
    assert_eq!(parts.iter().sum::<u64>(), 1000);
    assert!(
        parts[3] <= 34 && parts[..3].iter().all(|part| (320..=325).contains(part)),
        "{parts:?}"
    );
    // Until the first member is idle, the rate is that of all members.
    let steady = share["steady_operations"].as_f64().expect("a number");
    let rate = steady * 1e6 / number(share, "steady_ns") as f64;
    assert!((3.05..=3.1).contains(&rate), "{rate}");
    assert_eq!(share["steady_operations"], share["steady_indices"]);
    let idle: u64 = (0..4).map(|rank| number(&share["sharers"][rank], "idle_ns")).sum();
    assert_eq!(number(share, "idle_ns"), idle);
    let tail_ns = number(share, "whole_ns") - number(share, "steady_ns");
    assert!(tail_ns <= 10_100_000 && idle <= 3 * tail_ns, "{tail_ns} {idle}");
}

/// Every index makes a directory: one that comes twice fails, one that is left out lacks.
#[test]
fn every_index_is_executed_once_wherever_the_share_stands() {
    for (text, indices) in [
        ("share $i 100 mkdir(\"d-$i\");", vec![100]),
        ("share $i 100 by 7 mkdir(\"d-$i\");", vec![100]),
        ("share $i 5 by 100 mkdir(\"d-$i\");", vec![5]),
        ("share $i 0 mkdir(\"d-$i\");", vec![0]),
        ("repeat $r 20 share $i 10 by 3 { if ($i == 4) continue; mkdir(\"d-$r-$i\"); }", vec![200]),
        (
            "repeat $r 3 { share $i $r mkdir(\"a-$r-$i\"); share $i 2 mkdir(\"b-$r-$i\"); }",
            vec![3, 6],
        ),
        ("$g = $$rank % 2; split ($g) { share $i 9 mkdir(\"d-$g-$i\"); }", vec![18]),
        (
            "define groups { \"a\":D = 2, \"b\":D = 2 }; group \"b\" { share $i 9 mkdir(\"d-$i\"); }",
            vec![9],
        ),
        ("define proc all($n) { share $i $n mkdir(\"d-$n-$i\"); } all(4); all(6);", vec![10]),
        ("with (engine=\"uring|posix\", depth=4) { share $i 10 write(\"d-$i\", 4k); }", vec![10]),
    ] {
        for line in ["--backend mem", ""] {
            let done =
                scene(text).parabench(&format!("run x.ppl -n 4 {line} --format json")).exits(0);
            let run = run_object(&done);
            let found: Vec<u64> =
                shares(&run).iter().map(|share| number(share, "indices")).collect();
            assert_eq!(found, indices, "{text} {line}");
            let parted = shares(&run)
                .iter()
                .all(|share| parts(share).iter().sum::<u64>() == number(share, "indices"));
            assert!(parted, "{text} {line}");
            let skipped = if text.contains("continue") { 20 } else { 0 };
            let executed: u64 = run["rows"]
                .as_array()
                .expect("rows")
                .iter()
                .filter(|row| row["part_of"].is_null())
                .map(|row| number(row, "count") - number(row, "failed"))
                .sum();
            assert_eq!(executed, indices.iter().sum::<u64>() - skipped, "{text} {line}");
        }
    }
}

#[test]
fn the_others_go_on_when_a_member_is_gone() {
    for (how, why) in
        [("assert(false, \"gone\")", "assertion failed: gone"), ("$x = 1 / ($i - $i)", "zero")]
    {
        let text = format!(
            "share $i 500 {{ if ($$rank == 1) {{ {how}; }} mkdir(\"d-$i\"); sleep(100us); }}"
        );
        let done = scene(&text).parabench("run x.ppl -n 3 --format json").exits(1);
        let run = run_object(&done);
        let share = &shares(&run)[0];
        assert_eq!(number(share, "executions"), 0);
        // The member may have come after all was done.
        let lost = parts(share)[1];
        assert!(lost <= 1, "{share}");
        assert_eq!(number(&run["rows"][0], "count"), 500 - lost);
        if lost == 1 {
            let errors = run["run"]["rank_errors"].to_string();
            assert!(
                errors.contains(why) && errors.contains("the barrier cannot be met"),
                "{errors}"
            );
        }
    }
}

#[test]
fn a_member_that_is_killed_leaves_the_rest_to_the_others() {
    // Where the file is there, the directory was counted.
    let text = "share $i 100 { if ($$rank == 1) { mkdir(\"asleep\"); create(\"counted\"); sleep(1h); } \
                while (!exists(\"asleep\")) sleep(1ms); mkdir(\"d-$i\"); }";
    let scene = scene(text);
    let call = scene.call("run x.ppl -n 3 --dir d --format json").start();
    call.until("the file", || scene.path("d/counted").exists());
    kill(call.ranks()[1], 9);
    let run = run_object(&call.finish().exits(1));
    assert_eq!(number(&run["rows"][0], "count"), 100, "99 indices and the directory");
    assert!(run["run"]["rank_errors"].to_string().contains("the barrier cannot be met"));
}

/// At the limit of `until ... level` members come together, whatever became of one: the run ends in order, and
/// says why.
#[test]
fn a_member_that_is_killed_ends_a_loop_with_a_limit() {
    let text = "time[\"w\"] repeat $i 1g until 2s level { mkdir(\"d-$$rank-$i\"); sleep(1ms); }";
    let scene = scene(text);
    let call = scene.call("run x.ppl -n 3 --dir d --out o").start();
    call.until("the directory", || scene.path("d/d-1-9").exists());
    kill(call.ranks()[1], 9);
    let done = call.finish().exits(1);
    let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason =
        "rank 1 was killed by signal 9, and in `until ... level` all members come together";
    let (killed, others) = (said.find("rank 1 ended: its process was"), said.find(reason));
    assert!(killed.is_some() && killed < others && !said.contains("gmax"), "{said}");
    let run = scene.json("o/run.json");
    assert!(number(&run["rows"][0], "count") > 100, "what was measured is kept");
}

/// What a killed member had finished counts, up to the indices that it claimed last.
#[test]
fn indices_of_a_member_that_is_killed_count() {
    let text = "$n = 0; share $i 100 by 2 { mkdir(\"d-$i\"); $n = $n + 1; \
                if ($$rank == 1 && $n == 7) { mkdir(\"asleep\"); sleep(1h); } \
                if ($$rank != 1) while (!exists(\"asleep\")) sleep(1ms); }";
    let scene = scene(text);
    let call = scene.call("run x.ppl -n 3 --dir d --format json").start();
    call.until("the directory", || scene.path("d/asleep").exists());
    kill(call.ranks()[1], 9);
    let run = run_object(&call.finish().exits(1));
    let share = &shares(&run)[0];
    assert_eq!((number(share, "ranks"), number(share, "indices")), (3, 92 + 6), "{share}");
    assert_eq!((parts(share)[1], number(share, "claims")), (6, 46 + 3), "{share}");
    assert_eq!(number(share, "operations"), 98, "{share}");
}

#[test]
fn the_report_has_both_rates() {
    let text = "time[\"w\"] share $i 40 { if ($$rank == 1) compute(4ms); compute(1ms); write(\"f-$i\", 64k); }";
    let done = scene(text).parabench("run x.ppl -n 2 --backend mem").exits(0);
    done.out_has("steady").out_has("whole").out_has("w (x.ppl:1:11)").out_has("rank 0 33 (idle");
    let plan = scene(text).parabench("plan x.ppl -n 2 -v").exits(0);
    plan.out_has("share      40").out_has("claim      $i").out_has("share end");
}

#[test]
fn repetitions_have_shares_of_their_own() {
    let scene = scene("time[\"w\"] share $i 10 mkdir(\"d-$i\");");
    let run = run_object(
        &scene.parabench("run x.ppl -n 2 --reps 3 --backend mem --format json").exits(0),
    );
    let places: Vec<u64> = shares(&run).iter().map(|share| number(share, "repetition")).collect();
    assert_eq!(places, [0, 1, 2]);
}

/// Its members are at different indices of the outer one: the counter would be that of both.
#[test]
fn a_share_inside_of_one_of_the_same_members_is_refused() {
    let program = "share $i 6 by 2 { share $k 4 { write(\"f-$i-$k\", 4k); } }";
    let scene = Scene::new().file("x.ppl", program);
    for line in ["run x.ppl -n 3 --backend mem", "run x.ppl -n 1", "run x.ppl -n 3"] {
        scene.parabench(line).exits(1).out_has("share stands inside of a share");
    }
}
