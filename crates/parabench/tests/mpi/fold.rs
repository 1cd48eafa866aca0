//! A run under MPI is folded: statements of MPI-IO become statements of MPI-IO.

use crate::scene::Scene;
use crate::{testing, under};

const PROGRAM: &str = r#"
define pattern "rows" level 3 { repeat $i 8 extent(($i * $$gsize + $$grank) * 64k, 64k); }
define pattern {"blocks", 4, 4k, 1};
define pattern "own" level 0 = segmented(block=1m, count=4);
$h = pfopen("data", "crw");
time["write"] {
    repeat $i 20 pfwrite($h, 1m, ($i * $$size + $$rank) * 1m, "all");
    pfsync($h);
    pfwrite($h, "rows");
}
time["read"] {
    $o = ($$rank + 1) % $$size;
    repeat $i 20 pfread($h, 1m, ($i * $$size + $o) * 1m);
    pfread($h, "rows");
    pfread($h, "blocks");
}
pfseek($h, $$rank * 4k);
repeat 3 pfwrite($h, 1k);
pfwrite($h, 2k, "ordered");
pfwrite($h, 2k, "shared");
pfsetsize($h, 100m);
pfpreallocate($h, 101m);
pfclose($h);
with (comm="self") $own = pfopen("own-$$rank", "cw");
pfwrite($own, "own");
pfwrite($own, 4k, 8m);
pfclose($own);
pwrite("whole", "rows");
pread("whole", "rows");
pdelete("whole");
"#;

#[test]
fn statements_of_mpi_io_become_statements_of_mpi_io() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", PROGRAM);
        under(&mpi, 4, &scene, "run x.ppl --events --out r").run().exits(0);
        // On a busy machine ranks begin at times of their own, which pauses would keep.
        scene.parabench("fold r -o r.ppl --think none").exits(0).err_has("without loss");
        scene.parabench("check r.ppl").exits(0);
        let text = scene.text("r.ppl");
        for part in [
            "define pattern \"extents\" level 3 {",
            "extent(($i * $$gsize + $$grank) * 64k, 64k);",
            "pfopen(\"data\", \"rwc\")",
            ", \"all\");",
            ", \"ordered\");",
            "with (comm=\"self\") $file = pfopen(\"own-$$rank\", \"wc\");",
            "pwrite(\"whole\", \"extents\");",
        ] {
            assert!(text.contains(part), "{}: {part} in\n{text}", mpi.name);
        }
        assert!(text.lines().count() <= 70, "{text}");
        // It does the same, also for those who count: on four ranks, and it runs on three.
        under(&mpi, 4, &scene, "run r.ppl --events --out s").run().exits(0);
        let compared = scene.parabench("fidelity r s --gate operations<=0");
        assert_eq!(compared.code, Some(0), "{}{}\n{text}", compared.out, compared.err);
        under(&mpi, 3, &scene, "run r.ppl").run().exits(0);
    }
}
