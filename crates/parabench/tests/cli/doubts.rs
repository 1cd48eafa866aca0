//! Warnings of what cannot be meant, found by rehearsing: W0301, W0302, W0303, W0310, W0311.

use crate::scene::Scene;

/// Options of `check`, program, and what is said: line, code, words of the message.
type Row = (&'static str, &'static str, &'static [(u64, &'static str, &'static str)]);

const ROWS: &[Row] = &[
    // One name for all.
    (
        "",
        "mkdir(\"d\");\nmkdir(\"d-$$rank\");\nmaster mkdir(\"e\");\n\
         with (expect=\"EEXIST\") mkdir(\"f\");\n\
         $h = fopen(\"x\", \"O_WRONLY|O_CREAT|O_EXCL\");\nfclose($h);\n",
        &[(1, "W0301", "4 ranks make the same name \"d\""), (5, "W0301", "all but one will fail")],
    ),
    (
        "",
        "define groups {\"a\":D = 3, \"b\":D = 1};\ngroup \"a\" mkdir(\"d\");\n\
         group \"b\" mkdir(\"e\");\n",
        &[(2, "W0301", "3 ranks")],
    ),
    (
        "",
        "repeat $i 10 mkdir(\"d-$i\");\nrepeat $i 10 mkdir(\"d-$$rank-$i\");\nbarrier;\n",
        &[(1, "W0301", "\"d-*\"")],
    ),
    (
        "",
        "symlink(\"t\", \"s\"); master create(\"t\"); barrier;\nlink(\"t\", \"l\");\nprint $$rank;\n",
        &[(1, "W0301", "\"s\""), (2, "W0301", "\"l\"")],
    ),
    // A program that does not speak of ranks is for one, unless ranks are asked for.
    ("", "mkdir(\"d\"); mkdir(\"e\");\n", &[]),
    ("-n 2", "mkdir(\"d\");\n", &[(1, "W0301", "2 ranks")]),
    // Files of others.
    (
        "",
        "define groups {\"w\":D, \"r\":D};\ngroup \"w\" write(\"f-$$rank\", 4k);\n\
         group \"r\" { read(\"f-$$rank\");\nstat(\"f-$$rank\"); }\n",
        &[
            (
                3,
                "W0302",
                "ranks 2 to 3 use \"f-$$rank\" with their own number, but only ranks 0 to 1",
            ),
            (4, "W0302", "only ranks 0 to 1 make such files"),
        ],
    ),
    (
        "",
        "define groups {\"w\":D, \"r\":D};\ngroup \"w\" write(\"f-$$grank\", 4k);\nbarrier;\n\
         group \"r\" read(\"f-$$grank\");\n",
        &[],
    ),
    ("", "read(\"f-$$rank\");\n", &[]),
    (
        "",
        "if ($$rank > 1) write(\"f-$$rank\", 4k);\nbarrier;\nread(\"f-$$rank\");\n",
        &[(3, "W0302", "ranks 0 to 1 use")],
    ),
    // Names alone, without the rank's number, make no file another's.
    (
        "-n 2",
        "if ($$rank == 0) { $h = fopen(\"f-0\", \"r\"); repeat 2 fread($h, 4k); fclose($h); }\n\
         else { $h = fopen(\"f-1\", \"O_WRONLY|O_CREAT\"); repeat 5 fwrite($h, 1); fclose($h); }\n",
        &[],
    ),
    // Behind the end.
    (
        "",
        "write(\"a-$$rank\", 1k);\n$h = fopen(\"a-$$rank\", \"r\");\nfread($h, 4k);\nfclose($h);\n",
        &[(3, "W0303", "1 read asks for 4 KiB of \"a-$$rank\", to which 1 write brings 1 KiB")],
    ),
    (
        "",
        "write(\"a-$$rank\", 4k);\n$h = fopen(\"a-$$rank\", \"r\");\nrepeat 4 fread($h, 1k);\n\
         fseek($h, 0);\nrepeat 4 fread($h, 1k);\nfread($h, 4k, 0);\nfclose($h);\n\
         read(\"a-$$rank\", 4k);\n",
        &[],
    ),
    (
        "",
        "write(\"a\", 4k); read(\"a\", 1k, 8k);\n",
        &[(1, "W0303", "asks for what lies behind the end of \"a\"")],
    ),
    (
        "",
        "write(\"a-$$rank\", 1k);\nwith (expect=\"short\") {\nread(\"a-$$rank\", 4k);\n\
         $h = fopen(\"a-$$rank\", \"r+\");\nfseek($h, 1k);\nfread($h);\nfclose($h);\n}\n\
         with (expect=\"EIO\") read(\"a-$$rank\", 4k);\n",
        &[(9, "W0303", "asks for 4 KiB of \"a-$$rank\"")],
    ),
    // Nothing left.
    (
        "",
        "$h = fopen(\"a-$$rank\", \"w+\");\nfwrite($h, 4k);\nfread($h);\nfclose($h);\n",
        &[(3, "W0303", "nothing is left to read: the position in \"a-$$rank\" is at its end")],
    ),
    (
        "",
        "$h = fopen(\"a-$$rank\", \"w+\");\nfwrite($h, 4k);\nfseek($h, -1k, SEEK_CUR);\n\
         repeat 2 { fread($h); fseek($h, -2k, SEEK_END); }\nfclose($h);\n",
        &[],
    ),
    // Whoever has asked for a file knows whether it is there.
    (
        "-n 2",
        "if (gall(size(\"f\") > 0)) { $h = pfopen(\"f\", \"w\"); pfclose($h); }\n\
         stat(\"g\"); $h = pfopen(\"g\", \"w\"); pfclose($h);\n",
        &[],
    ),
    // Made by nobody.
    (
        "-n 2",
        "$h = pfopen(\"f\", \"w\");\npfclose($h);\n",
        &[(1, "W0313", "the mode \"w\" does not create \"f\", and nothing before does")],
    ),
    (
        "-n 2",
        "$h = pfopen(\"f\", \"cw\");\npfclose($h);\n$h = pfopen(\"f\", \"rw\");\npfclose($h);\n\
         $h = pfopen(\"g\", \"r\");\npfclose($h);\n$h = pfopen(\"there\", \"rw\");\npfclose($h);\n",
        &[],
    ),
    (
        "-n 2",
        "master { write(\"a\", 4k); mkdir(\"d\"); write(\"d/f\", 4k); rename(\"d\", \"e\"); }\n\
         master { link(\"a\", \"b\"); copy(\"a\", \"c\"); rename(\"a\", \"g\"); symlink(\"c\", \"s\"); }\nbarrier;\n\
         repeat $x in [\"b\", \"c\", \"g\", \"s\", \"e/f\"] { $h = pfopen($x, \"w\"); pfclose($h); }\n\
         with (expect=\"ENOENT\") { $h = pfopen(\"none\", \"w\"); if ($h) pfclose($h); }\n",
        &[],
    ),
    (
        "-n 2",
        "master { write(\"a\", 4k); rename(\"a\", \"b\"); }\nbarrier;\n$h = pfopen(\"a\", \"w\");\n",
        &[(3, "W0313", "the mode \"w\" does not create \"a\", which is gone by then")],
    ),
    // Under another name.
    (
        "-n 1",
        "write(\"a\", 4k);\nrename(\"a\", \"b\");\nread(\"b\", 8k);\nlink(\"b\", \"c\");\nread(\"c\", 8k);\n\
         copy(\"c\", \"d\");\nread(\"d\", 8k);\ndelete(\"d\");\n$h = fopen(\"e\", \"w+\");\nfread($h);\n",
        &[
            (3, "W0303", "1 read asks for 8 KiB of \"b\", to which 1 write brings 4 KiB"),
            (5, "W0303", "1 read asks for 8 KiB of \"c\", to which 1 write brings 4 KiB"),
            (7, "W0303", "1 read asks for 8 KiB of \"d\", to which 1 write brings 4 KiB"),
        ],
    ),
    (
        "",
        "write(\"a-$$rank\", 4k);\nrename(\"a-$$rank\", \"b-$$rank\");\n$h = fopen(\"b-$$rank\", \"r\");\n\
         fread($h);\nfread($h);\nfclose($h);\n",
        &[(5, "W0303", "nothing is left to read: the position in \"b-$$rank\" is at its end")],
    ),
    // The seed decides how much there is.
    (
        "",
        "$n = rand(1, 10);\nwrite(\"a-$$rank\", $n);\nread(\"a-$$rank\", 4k);\n",
        &[(3, "W0303", "\"a-$$rank\"")],
    ),
    // Waits that never end.
    (
        "-n 2",
        "if ($$rank == 0) signal(\"ready\");\nelse wait(\"ready\", 2);\n",
        &[(2, "W0310", "rank 1 waits forever for the signal \"ready\" (1 of 2)")],
    ),
    (
        "",
        "define groups {\"w\":D, \"r\":D};\ngroup \"w\" signal(\"x\");\ngroup \"r\" wait(\"x\");\n",
        &[(3, "W0310", "ranks 2 to 3 wait forever for the signal \"x\" (0 of 1)")],
    ),
    (
        "",
        "define groups {\"w\":D, \"r\":D};\ngroup \"w\" signal(\"x\", group=\"r\");\n\
         group \"r\" wait(\"x\", 2);\n",
        &[],
    ),
    (
        "",
        "define groups {\"w\":D, \"r\":D};\ngroup \"w\" signal(\"x\", to=1, group=\"r\");\n\
         group \"r\" { while ($$grank == 1 && !tested(\"x\", 2)) compute(1ms); }\n",
        &[],
    ),
    ("-n 2", "signal(\"go\", to=1);\nif ($$rank == 1) wait(\"go\", 2);\n", &[]),
    // Nobody is there for a signal: that alone is said, not whom it leaves waiting.
    (
        "-n 2",
        "if ($$rank == 0) signal(\"go\", to=5);\nelse wait(\"go\");\n",
        &[(1, "W0311", "rank 0 cannot give this signal")],
    ),
    ("-n 2", "signal(\"go\", to=5);\n", &[(1, "W0311", "ranks 0 to 1 cannot give this signal")]),
];

#[test]
fn what_cannot_be_meant_is_said_at_its_place() {
    for (options, text, expected) in ROWS {
        let scene = Scene::new().file("x.ppl", text);
        let found =
            scene.parabench(&format!("check x.ppl {options} --format json")).exits(0).json();
        let found = found.as_array().expect("diagnostics");
        let place = |one: &serde_json::Value| {
            let word = |name: &str| one[name].as_str().unwrap_or_default().to_string();
            (one["line"].as_u64().unwrap_or_default(), word("code"), word("message"))
        };
        let found: Vec<_> = found.iter().map(place).collect();
        assert_eq!(found.len(), expected.len(), "{text}\n{found:?}");
        for ((line, code, message), (at, expected, words)) in found.iter().zip(*expected) {
            assert_eq!((line, &**code), (at, *expected), "{text}\n{message}");
            assert!(message.contains(words), "{text}\n{message}");
        }
    }
}

#[test]
fn listing_2_of_the_paper_cannot_succeed_at_three_places() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let scene = Scene::new();
    let done = scene.parabench(&format!("check {root}/listing2.ppl")).exits(0);
    done.err_has("4 ranks make the same name \"env-mpiio-test\"; all but one will fail")
        .err_has("ranks 2 to 3 use \"$$rank\" with their own number, but only ranks 0 to 1 make such files")
        .err_has("100 reads ask for 1000 MiB of \"$$rank\", to which 10 writes bring 100 MiB");
    let done = scene.parabench(&format!("check {root}/listing1.ppl -n 2 --format json")).exits(0);
    let codes = done.json();
    let codes: Vec<_> =
        codes.as_array().expect("diagnostics").iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["W0301", "W0301"]);
}
