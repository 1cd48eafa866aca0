//! `repeat ... until` and `mix`: how often things are done. In virtual time, so that the limit
//! falls where it is put.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use serde_json::Value;

fn on_mem(text: &str) -> Value {
    let scene = Scene::new().file("x.ppl", text);
    run_object(&scene.parabench("run x.ppl -n 2 --backend mem --format json").exits(0))
}

fn count(run: &Value, label: &str, op: &str) -> u64 {
    let all = run["rows"].as_array().expect("rows").iter();
    let own = all.filter(|row| row["label"] == label && row["op"] == op);
    own.map(|row| row["count"].as_u64().expect("a number")).sum()
}

/// Rank 0 takes 1 ms for an iteration, rank 1 5 ms: 10 and 2 of them begin within 9.5 ms.
const WORK: &str = "{ if ($$rank == 0) compute(1ms); else compute(5ms); mkdir(\"d-$$rank-$i\"); }";

#[test]
fn members_stop_at_the_limit_and_level_makes_them_equal() {
    for (loop_, early, late) in [
        ("repeat $i 1000 until 9.5ms", 12, 0),
        ("repeat $i 1000 until 9.5ms level", 12, 8),
        ("repeat $i 4 until 9.5ms level", 6, 2),
        ("repeat $i 2 until 1s level", 4, 0),
        ("repeat $i 0 until 1s level", 0, 0),
        ("repeat $i 2..20 step 3 until 1s", 12, 0),
        ("repeat $i [7, 8, 9] until 1s level", 6, 0),
    ] {
        let loop_ = loop_.replace("$i [", "$i in [");
        let run = on_mem(&format!("time[\"w\"] {loop_} {WORK}"));
        let (until, both) =
            (if late > 0 || loop_.contains("level") { "w/until" } else { "w" }, "w/wear-out");
        assert_eq!(
            (count(&run, until, "mkdir"), count(&run, both, "mkdir")),
            (early, late),
            "{loop_}"
        );
    }
}

#[test]
fn a_loop_with_a_limit_is_left_in_order() {
    let text = "define proc some($n) {\n\
                repeat $i 1000 until 1s level { mkdir(\"p-$$rank-$i\"); if ($i == $n) break; }\n\
                repeat $i 10 until 1s { rmdir(\"p-$$rank-$i\"); if ($i == 0) return; }\n\
                }\n\
                time[\"a\"] some(1 + $$rank); barrier; time[\"b\"] stat(\".\");";
    let run = on_mem(text);
    // The break ends the loop of a member; the others need not reach more than it has.
    assert_eq!(count(&run, "a/until", "mkdir"), 2 + 3);
    assert_eq!(count(&run, "a", "rmdir"), 2);
    assert_eq!(count(&run, "b", "stat"), 2);
}

#[test]
fn both_rates_are_told() {
    let text = "time[\"w\"] repeat $i 1000 until 9.5ms level { if ($$rank == 1) compute(4ms); compute(1ms); \
                write(\"f-$$rank-$i\", 64k); }";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl -n 2 --backend mem").exits(0);
    done.out_has("w, write: ").out_has("up to the limit (").out_has("with the wear-out");
}

/// IOR's bandwidth: all bytes by the time from the first open to the last close.
#[test]
fn the_rate_over_all_of_the_label_stands_beside_them() {
    let text = "param $n = 1000;\n\
                time[\"w\"] { $h = fopen(\"f-$$rank\", \"w\"); repeat $i $n until 9.5ms level {\n\
                compute(1ms + $$rank * 4ms); fwrite($h, 64k); }\n\
                compute(20ms); fsync($h); fclose($h); }";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl -n 2 --backend mem --format json").exits(0));
    let [one] = &run["limited"].as_array().expect("a list")[..] else { panic!("{run}") };
    let busy = |label: &str| {
        let all = run["labels"].as_array().expect("labels").iter();
        let own: Vec<_> = all.filter(|row| row["label"] == label).collect();
        own[0]["busy_ns"].as_f64().expect("a time")
    };
    let bytes = 20.0 * 65_536.0;
    assert_eq!((&one["label"], &one["op"]), (&"w".into(), &"fwrite".into()));
    assert_eq!(one["bytes"].as_f64(), Some(bytes));
    let rate = bytes / 1_048_576.0 / (busy("w") / 1e9);
    assert!((one["mib_s"].as_f64().expect("a rate") / rate - 1.0).abs() < 1e-9, "{one}");
    assert_eq!(one["limit_mib_s"], row(&run, "w/until", "fwrite")["mib_s"]);
    scene.parabench("run x.ppl -n 2 --backend mem").exits(0).out_has("over all of w (");
    // What a sweep says first is that rate, not the one of a part.
    let swept = scene.parabench(
        "run x.ppl -n 2 --backend mem --sweep n=900,1000 --reps 2 --out r --html r.html --quiet",
    );
    swept.exits(0);
    let told = scene.parabench("report r").exits(0);
    told.out_has("\nw: fwrite\n");
    scene.parabench("report r --data d").exits(0);
    let page = scene.text("r.html");
    assert!(page.contains("<h3>Bandwidth over n<") && page.contains(">w: fwrite: "), "{page}");
    assert!(!page.contains(">w/until: fwrite: "), "no headline of a part");
    let headline = scene.text("d/bandwidth-over-n.csv");
    assert!(headline.contains("w: fwrite") && !headline.contains("w/until"), "{headline}");
}

#[test]
fn a_mix_draws_by_weight() {
    let text = "param $w = 60;\n\
                repeat 10000 mix { $w: stat(\".\"); 0: sync; 30: { readdir(\".\"); } 10: statfs(\".\"); }";
    let run = on_mem(text);
    let all = ["stat", "readdir", "statfs"].map(|op| count(&run, "", op));
    assert_eq!(all.iter().sum::<u64>(), 20_000);
    // Five standard deviations of a binomial distribution of 20,000 at most.
    for (count, expected) in all.into_iter().zip([12_000u64, 6_000, 2_000]) {
        assert!(count.abs_diff(expected) < 350, "{all:?}");
    }
    assert!(run["rows"].as_array().expect("rows").iter().all(|row| row["op"] != "sync"));
    assert_eq!(row(&run, "", "stat")["count"], all[0]);
    assert_eq!(run["rows"], on_mem(text)["rows"], "the same seed draws the same");
}
