//! What applications do with the results of their operations is the same on every back-end.

use crate::scene::Scene;
use serde_json::Value;

/// Programs whose counts do not depend on which rank comes first.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "a lock that one rank gets",
        "with (expect=\"EEXIST\") $ok = mkdir(\"lock\");
         if ($ok) { write(\"winner\", 4k); assert(errno($ok) == \"\"); }
         else assert(errno($ok) == \"EEXIST\" && $ok == 0);",
    ),
    (
        "a file that is read to its end",
        "write(\"f-$$rank\", 64k);
         $h = fopen(\"f-$$rank\", \"r\"); $sum = 0; $n = fread($h, 10k);
         while ($n > 0) { $sum = $sum + $n; $n = fread($h, 10k); }
         fclose($h); assert($sum == 64k);",
    ),
    (
        "a file that is not there",
        "with (expect=\"ENOENT\") { $h = fopen(\"none-$$rank\", \"r\"); $r = stat(\"none-$$rank\"); }
         if (!$h && !$r && errno($h) == errno($r)) create(\"none-$$rank\");",
    ),
    (
        "names, sizes and times that are drawn and asked for",
        "repeat $i 20 write(\"f-${i:04}-$$rank\", int(exp(4k)));
         assert(exists(\"f-0019-$$rank\") && size(\"gone\") == -1 && $$now >= 0s);
         repeat $e 3 repeat $i 2 stat(\"f-\" + sort([\"0003\", \"0001\"])[perm($i, 2, $e)] + \"-$$rank\");",
    ),
    (
        "mail that is delivered by renaming",
        "mkdir(\"new-$$rank\"); mkdir(\"cur-$$rank\"); $sent = [];
         repeat $i 300 { create(\"new-$$rank/mail-${i:04}-with-a-long-name\"); push($sent, \"mail-${i:04}-with-a-long-name\"); }
         $names = readdir(\"new-$$rank\"); $names = sort($names); assert(len($names) == 300);
         repeat $name in $names rename(\"new-$$rank/$name\", \"cur-$$rank/$name\");
         repeat $i 300 assert($names[$i] == $sent[$i]);
         $sent[0] = \"x\"; assert($names[0] != $sent[0]);
         $left = readdir(\"new-$$rank\"); assert(len($left) == 0 && exists(\"cur-$$rank/\" + $names[299]));
         with (expect=\"ENOENT\") $left = readdir(\"none\"); assert(len($left) == 0);",
    ),
    (
        "positions from the start, from where they are, and from the end",
        "$h = fopen(\"f-$$rank\", \"w+\"); fwrite($h, 64k);
         fseek($h, -16k, SEEK_END); $n = fread($h); assert($n == 16k);
         fseek($h, 8k); fseek($h, -4k, SEEK_CUR); $n = fread($h); assert($n == 60k);
         fseek($h, 10k, SEEK_END); fwrite($h, 1k); assert(size(\"f-$$rank\") == 75k);
         with (expect=\"EINVAL\") $bad = fseek($h, -1m, SEEK_CUR); assert(errno($bad) == \"EINVAL\");
         fseek($h, 0, SEEK_SET); $n = fread($h, 1k); assert($n == 1k); fclose($h);",
    ),
    (
        "ranks of the same value meet",
        "$row = $$rank / 2;
         split ($row) {
             master mkdir(\"row-$row\");
             barrier;
             repeat $i 2 split ($$grank == $i) { write(\"row-$row/f-$$rank-$i\", 1k * $$gsize); barrier; }
             assert(gsum(1) == 2 && gmin($$rank) == $row * 2);
         }
         repeat $bit 2 { $far = ($$rank / 2 ^ $bit) % 2; split ($far) assert(gsum($$rank) == [2, 4, 1, 5][$bit * 2 + $far]); }",
    ),
    (
        "procs that open files, count and give values",
        "$n = 0;
         define proc open_db($p, $mode = \"w+\") { $h = fopen($p, $mode); if (!$h) return -1; global $n = $n + 1; return $h; }
         define proc total($names) { $sum = 0; repeat $f in $names $sum = $sum + size($f); return $sum; }
         repeat $i 5 { $h = open_db(\"db-$$rank-$i\"); $ok = fwrite($h, 1k * $i); assert($ok == 1k * $i); fclose($h); }
         with (expect=\"ENOENT\") $h = open_db(\"none-$$rank\", \"r\");
         assert($h == -1 && $n == 5);
         $sum = total([\"db-$$rank-1\", \"db-$$rank-4\"]); assert($sum == 5k);",
    ),
];

/// Operations, their number, failures and bytes.
fn counts(program: &str, options: &str) -> Vec<(String, Value, Value, Value)> {
    let scene = Scene::new().file("x.ppl", program);
    let run = scene.parabench(&format!("run x.ppl {options} --format json")).exits(0).json();
    let rows = run["rows"].as_array().expect("rows").iter();
    let mut rows: Vec<_> = rows
        .map(|row| {
            let of = |name: &str| row[name].clone();
            (row["op"].to_string(), of("count"), of("failed"), of("bytes"))
        })
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

#[test]
fn results_steer_programs_alike_on_every_back_end() {
    for (name, program) in PROGRAMS {
        let simulated = counts(program, "-n 4 --backend mem");
        assert!(simulated.len() > 1, "{name}");
        assert_eq!(counts(program, "-n 4"), simulated, "{name}");
    }
}
