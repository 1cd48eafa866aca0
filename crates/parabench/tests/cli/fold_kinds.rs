//! Kinds of applications, as their benchmarks define them: each is folded to a screen of text, and this
//! does at other numbers of ranks what the application does there.

use super::fold::{folded, ran};
use crate::scene::Scene;

/// A program, the ranks that are folded, and others.
struct KindOfApplication {
    what: &'static str,
    program: &'static str,
    ranks: u32,
    /// Numbers of ranks, and how many operations differ there at most. A size that is computed from the
    /// number of ranks is seen at one number only. `None`: the same work is shared out among more ranks,
    /// so each does something else; the text runs.
    others: &'static [(u32, Option<u32>)],
}

const KINDS: &[KindOfApplication] = &[
    KindOfApplication {
        what: "a file per process, as IOR-easy",
        program: r#"
            $r = $$rank;
            $o = ($$rank + 1) % $$size;
            master mkdir("ior-easy");
            barrier;
            time["write"] {
                $f = fopen("ior-easy/file.${r:08}", "O_RDWR|O_CREAT");
                repeat $i 64 fwrite($f, 2m, $i * 2m);
                fsync($f);
                fclose($f);
            }
            barrier;
            time["read"] {
                $f = fopen("ior-easy/file.${o:08}", "r");
                repeat $i 64 fread($f, 2m, $i * 2m);
                fclose($f);
            }
"#,
        ranks: 4,
        others: &[(6, Some(0)), (3, Some(0))],
    },
    KindOfApplication {
        what: "a shared file of odd records, as IOR-hard",
        program: r#"
            $o = ($$rank + 1) % $$size;
            time["write"] {
                $f = fopen("ior-hard", "O_RDWR|O_CREAT");
                repeat $s 200 fwrite($f, 47008, ($s * $$size + $$rank) * 47008);
                fsync($f);
                fclose($f);
            }
            barrier;
            time["read"] {
                $f = fopen("ior-hard", "r");
                repeat $s 200 fread($f, 47008, ($s * $$size + $o) * 47008);
                fclose($f);
            }
"#,
        ranks: 4,
        others: &[(8, Some(0)), (3, Some(0))],
    },
    KindOfApplication {
        what: "directories of their own, as mdtest-easy",
        program: r#"
            $r = $$rank;
            $o = ($$rank + 1) % $$size;
            master mkdir("test-dir.0-0");
            barrier;
            mkdir("test-dir.0-0/mdtest_tree.$r.0");
            time["create"] repeat $i 100 create("test-dir.0-0/mdtest_tree.$r.0/file.mdtest.$r.$i");
            barrier;
            time["stat"] repeat $i 100 stat("test-dir.0-0/mdtest_tree.$o.0/file.mdtest.$o.$i");
            barrier;
            time["remove"] repeat $i 100 delete("test-dir.0-0/mdtest_tree.$r.0/file.mdtest.$r.$i");
            rmdir("test-dir.0-0/mdtest_tree.$r.0");
            barrier;
            master rmdir("test-dir.0-0");
"#,
        ranks: 4,
        others: &[(8, Some(0)), (3, Some(0))],
    },
    KindOfApplication {
        what: "one directory, as mdtest-hard",
        program: r#"
            $r = $$rank;
            $o = ($$rank + 1) % $$size;
            master { mkdir("test-dir.0-0"); mkdir("test-dir.0-0/mdtest_tree.0"); }
            barrier;
            time["create"] repeat $i 100 write("test-dir.0-0/mdtest_tree.0/file.mdtest.$r.$i", 3901);
            barrier;
            time["stat"] repeat $i 100 stat("test-dir.0-0/mdtest_tree.0/file.mdtest.$o.$i");
            barrier;
            time["read"] repeat $i 100 read("test-dir.0-0/mdtest_tree.0/file.mdtest.$o.$i", 3901);
            barrier;
            time["remove"] repeat $i 100 delete("test-dir.0-0/mdtest_tree.0/file.mdtest.$r.$i");
            barrier;
            master { rmdir("test-dir.0-0/mdtest_tree.0"); rmdir("test-dir.0-0"); }
"#,
        ranks: 4,
        others: &[(8, Some(0)), (3, Some(0))],
    },
    KindOfApplication {
        what: "BT-IO, simple",
        program: r#"
            param $n = 12;
            $q = 1;
            while ($q * $q < $$size) $q = $q + 1;
            $m = $n / $q;
            $f = fopen("btio.simple.out", "O_RDWR|O_CREAT");
            repeat $t 4 repeat $c $q {
                $x = ($$rank % $q + $c) % $q * $m;
                $y = ($$rank / $q - $c + $q) % $q * $m;
                repeat $k $m repeat $j $m fwrite($f, 40 * $m, 40 * ($x + $n * ($y + $j + $n * ($c * $m + $k + $n * $t))));
            }
            fclose($f);
"#,
        ranks: 4,
        others: &[(9, None), (2, None)],
    },
    KindOfApplication {
        what: "BT-IO, a file per process",
        program: r#"
            $r = $$rank;
            $f = fopen("btio.epio.out.${r:04}", "w");
            repeat $t 12 repeat $c 2 fwrite($f, 8640);
            fclose($f);
"#,
        ranks: 4,
        others: &[(9, Some(0)), (1, Some(0))],
    },
    KindOfApplication {
        what: "checkpoints and a restart",
        program: r#"
            $r = $$rank;
            repeat $s 6 {
                compute(1ms);
                write("state-$r.new", 64k);
                rename("state-$r.new", "state-$r");
                barrier;
                master write("log-${s:04}", 100);
            }
            barrier;
            time["restart"] { stat("log-0005"); read("state-$r"); }
"#,
        ranks: 4,
        others: &[(5, Some(0)), (2, Some(0))],
    },
    KindOfApplication {
        what: "a checkpoint in one file, as HACC-IO",
        program: r#"
            param $n = 100000;
            $base = 24m + 38 * $n * $$rank;
            master { $f = fopen("state-0", "O_RDWR|O_CREAT"); ftruncate($f, 24m + 38 * $n * $$size); fclose($f); }
            barrier;
            time["checkpoint"] {
                $f = fopen("state-0", "O_WRONLY");
                repeat $a 7 fwrite($f, 4 * $n, $base + 4 * $a * $n);
                fwrite($f, 8 * $n, $base + 28 * $n);
                fwrite($f, 2 * $n, $base + 36 * $n);
                fclose($f);
            }
            barrier;
            time["restart"] {
                $f = fopen("state-0", "r");
                repeat $a 7 fread($f, 4 * $n, $base + 4 * $a * $n);
                fread($f, 8 * $n, $base + 28 * $n);
                fread($f, 2 * $n, $base + 36 * $n);
                fclose($f);
            }
"#,
        ranks: 4,
        others: &[(7, Some(1))],
    },
    KindOfApplication {
        what: "a producer and a consumer",
        program: r#"
            repeat $i 40 {
                if ($$rank == 0) { write("item-$i", 8k); signal("made", to=1); }
                if ($$rank == 1) { wait("made"); read("item-$i", 8k); delete("item-$i"); }
            }
"#,
        ranks: 2,
        others: &[(3, Some(0))],
    },
    KindOfApplication {
        what: "pairs of producers and consumers",
        program: r#"
            $p = $$rank / 2;
            repeat $i 40 {
                if ($$rank % 2 == 0) { write("item-$p-$i", 8k); signal("made", to=$$rank + 1); }
                else { wait("made"); read("item-$p-$i", 8k); delete("item-$p-$i"); }
            }
"#,
        ranks: 4,
        others: &[(8, Some(0)), (2, Some(0))],
    },
];

#[test]
fn kinds_of_applications_are_a_screen_long_and_do_the_same_at_other_numbers_of_ranks() {
    for KindOfApplication { what, program, ranks, others } in KINDS {
        let scene = ran(program, &format!("-n {ranks} --agile"));
        let text = folded(&scene, "r");
        assert!(text.lines().count() <= 40, "{what}:\n{text}");
        let lists = [" = [", " = list("].iter().any(|list| text.contains(list));
        assert!(!lists, "{what} has lists:\n{text}");
        for (others, differ) in *others {
            let run = |program: &str, out: &str| {
                let line = format!("run {program} -n {others} --backend mem --agile --events");
                scene.parabench(&format!("{line} --out {out}-{others}")).exits(0);
            };
            run("x.ppl", "original");
            run("r.ppl", "replay");
            if let Some(differ) = differ {
                let compared = format!("fidelity original-{others} replay-{others}");
                let gated = scene.parabench(&format!("{compared} --gate operations<={differ}"));
                assert_eq!(gated.code, Some(0), "{what} at {others}: {}\n{text}", gated.err);
            }
        }
    }
}

/// A log of strace: processes 101 and later, started by 100 at a second, with their calls.
fn processes(all: &[(u32, &[&str])]) -> Scene {
    let mut lines: Vec<(u32, String)> = Vec::new();
    for (child, (start_ms, calls)) in (101..).zip(all) {
        let forks = format!("clone(child_stack=NULL, flags=SIGCHLD) = {child} <0.000100>");
        lines.push((*start_ms, format!("100 {{}} {forks}")));
        let own =
            (1..).zip(*calls).map(|(at, call)| (start_ms + at, format!("{child} {{}} {call}")));
        lines.extend(own);
        let end = start_ms + calls.len() as u32 + 1;
        lines.push((end, format!("{child} {{}} +++ exited with 0 +++")));
    }
    lines.sort_by_key(|(ms, _)| *ms);
    let lines =
        lines.iter().map(|(ms, line)| line.replace("{}", &format!("1795253061.{ms:03}000")) + "\n");
    let scene = Scene::new().file("app.strace", lines.collect::<String>());
    scene.parabench("import app.strace -o r --all").exits(0);
    scene
}

const BIG: &[&str] = &[
    "openat(AT_FDCWD, \"/data/big\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>",
    "write(3, \"\"..., 65536) = 65536 <0.000010>",
    "fsync(3) = 0 <0.000010>",
    "close(3) = 0 <0.000010>",
];
const GONE: &[&str] = &["unlink(\"/data/big\") = 0 <0.000010>"];
const OTHER: &[&str] = &[
    "openat(AT_FDCWD, \"/data/other\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>",
    "write(3, \"\"..., 4096) = 4096 <0.000010>",
    "close(3) = 0 <0.000010>",
];

const STAT: &[&str] = &["stat(\"/data\", 0x7f) = 0 <0.000010>"];

/// The text has these parts in this order, and as many barriers.
fn is_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        (_, rest) = rest.split_once(part).unwrap_or_else(|| panic!("{part} in\n{text}"));
    }
    let barriers = parts.iter().filter(|part| **part == "barrier").count();
    assert_eq!(text.matches("barrier").count(), barriers, "{text}");
    assert!(!text.contains("wait("), "{text}");
}

/// Nothing but the order of the processes tells that the third file is written last.
#[test]
fn processes_that_ran_one_after_another_do_so() {
    let scene = processes(&[(0, BIG), (100, GONE), (200, OTHER)]);
    let text = scene.parabench("fold r --think none").exits(0).err_has("without loss").out.clone();
    is_in_order(&text, &["8 operations, 1 rank.", "fsync", "delete(", "fopen(\"other\""]);
    let late = scene.parabench("fold r").exits(0).err_has("without loss").out.clone();
    is_in_order(&late, &["fsync", "(100ms);", "delete(", "(102ms);", "fopen(\"other\""]);
    // Two at a time.
    let scene = processes(&[
        (0, BIG),
        (100, &[GONE, STAT].concat()),
        (101, STAT),
        (200, STAT),
        (201, OTHER),
    ]);
    let text = scene.parabench("fold r --think none").exits(0).err_has("without loss").out.clone();
    let parts = ["2 ranks.", "fsync", "barrier", "delete(", "barrier", "fopen(\"other\""];
    is_in_order(&text, &parts);
    // A process does nothing before it is there.
    let late = scene.parabench("fold r").exits(0).err_has("without loss").out.clone();
    assert!(late.contains("sleep(98ms);") && !late.contains("sleep(0"), "{late}");
    // Those that ran at the same time are free.
    let scene = processes(&[(0, OTHER), (1, BIG), (2, STAT)]);
    let text = scene.parabench("fold r --think none").exits(0).out.clone();
    assert!(!text.contains("barrier") && !text.contains("wait("), "{text}");
}

/// Where the kernel puts what several ranks append at once is not the same twice.
#[test]
fn appends_of_several_ranks_fold_without_loss() {
    let program = "$f = fopen(\"log\", \"a\");
         repeat 8 { compute(rand(1ms, 50ms)); fwrite($f, 100 * ($$rank + 1)); } fclose($f);";
    let scene = ran(program, "-n 3");
    let text = folded(&scene, "r");
    assert!(text.contains("where these 24 writes lie is left to chance"), "{text}");
    // What a rank appends alone is compared.
    let scene = ran(&program.replace("log", "log-$$rank"), "-n 3");
    let text = folded(&scene, "r");
    assert!(!text.contains("chance"), "{text}");
}
