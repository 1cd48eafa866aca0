//! `parabench pattern`, and files that ranks write by patterns.

use super::scene::Scene;

const PATTERNS: &str = r#"
define pattern "tiles" level 3 = tiled(nx=2, ny=2, sx=8, sy=6, elem=4, ox=1, oy=1);
define pattern "turns" level 0 = strided(block=10, count=7, header=3);
define pattern "mesh" level 0 = mesh(vertices=33, partition="random");
define pattern "cyclic" level 0 = blockcyclic(sizes=[13, 9], blocks=[2, 4], elem=3);
define pattern "mine" level 0 { repeat $i 5 extent(($i*$$gsize + $$gsize - 1 - $$grank)*11, 11); }
"#;

#[test]
fn coverage_is_said_in_a_sentence_and_drawn() {
    let scene = Scene::new().file("p.ppl", PATTERNS);
    let done = scene.parabench("pattern p.ppl --name turns").exits(0);
    done.out_has("Each byte from 3 to 283 is accessed exactly once.")
        .out_has("The first 3 bytes of the file are left out.")
        .out_has("member against offset in the file");
    scene
        .parabench("pattern p.ppl --name tiles")
        .exits(0)
        .out_has("No holes from 0 to 660.")
        .out_has("Overlaps: 100 bytes are accessed more than once: 28..32");
    scene.parabench("pattern p.ppl --name mine -n 3 --all").exits(0).out_has("22+11 55+11 88+11");
}

#[test]
fn json_and_pictures_hold_the_same() {
    let scene = Scene::new().file("p.ppl", PATTERNS);
    let done =
        scene.parabench("pattern p.ppl --name turns --all --format json --svg m.svg").exits(0);
    let found = &done.json()[0];
    assert_eq!(found["members"][1]["extents"][0], serde_json::json!([13, 10]));
    assert_eq!(found["members"][3]["pieces"], 7);
    assert_eq!(found["coverage"]["exact"], true);
    let svg = scene.text("m.svg");
    assert!(svg.contains("<svg") && svg.contains("offset in the file"));
    assert!(svg.contains("Each byte from 3 to 283 is accessed exactly once."));
}

#[test]
fn what_does_not_exist_is_explained() {
    let scene = Scene::new()
        .file("p.ppl", PATTERNS)
        .file("cube.ppl", "define pattern \"cube\" = multipartition(n=12);")
        .file("none.ppl", "sync;");
    scene.parabench("pattern p.ppl --name tile").exits(2).err_has("the program defines \"tiles\"");
    let done = scene.parabench("pattern cube.ppl -n 3").exits(2);
    done.err_has("expected a square number of members (1, 4, 9, 16, ...), found 3");
    scene.parabench("pattern none.ppl").exits(2).err_has("defines no pattern");
    let kinds = scene.parabench("pattern --kinds").exits(0);
    for row in ppl::kinds::KINDS {
        assert!(kinds.out.contains(&row.signature()), "{}", row.name);
    }
}

#[test]
fn patterns_that_exist_are_shown_beside_those_that_do_not() {
    let scene = Scene::new().file("p.ppl", PATTERNS);
    let done = scene.parabench("pattern p.ppl -n 3").exits(2);
    let done = done.err_has("no pattern \"tiles\" for 3 members").err_has("-n");
    assert_eq!(done.out.matches("pattern \"").count(), 4, "{}", done.out);
    assert!(!done.err.contains("never used"), "{}", done.err);
    assert_eq!(scene.parabench("pattern p.ppl -n 4").exits(0).err, "");
    let json = scene.parabench("pattern p.ppl -n 3 --format json").exits(2).json();
    assert_eq!(json.as_array().map(Vec::len), Some(4));
}

#[test]
fn arguments_that_were_left_out_are_shown() {
    let text = "define pattern \"n\" = nested(block=4k, counts=[4, 2]);";
    let scene = Scene::new().file("p.ppl", text);
    let shown = scene.parabench("pattern p.ppl --format json").exits(0).json();
    let definition = "nested(block=4096, counts=[4, 2], gap=2, shift=4096, header=0)";
    assert_eq!(shown[0]["definition"], definition);
    let plan = scene.parabench("plan p.ppl -n 2 -v").exits(0);
    plan.out_has("nested(block=4096, counts=[4, 2], gap=2, shift=4096, header=0)");
}

/// The statement stands in a library; the name came from the program.
#[test]
fn a_name_that_is_no_pattern_is_told_with_the_call_that_passed_it() {
    let text = "include \"@lib/temporal\";\ndefine pattern \"s\" = strided(block=4k, count=2);\n\
                write(\"f\", 1m);\n$p = \"no\";\nrepeat $i 1 $p = $p + \"such\";\n\
                pattern_read(\"f\", $p, 0);\n";
    let scene = Scene::new().file("p.ppl", text);
    let done = scene.parabench("run p.ppl --backend mem").exits(1);
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "ended at @lib/temporal:",
        "expected the name of a pattern or a number of bytes, found \"nosuch\"; there are \"s\"",
        "(called at p.ppl:6:1)",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

/// Ranks that write a file by a pattern and one that writes it from end to end make the same.
#[test]
fn files_written_by_patterns_hold_what_they_should() {
    let files = [
        ("tiles", 0, 660),
        ("turns", 3, 283),
        ("mesh", 0, 264),
        ("cyclic", 0, 351),
        ("mine", 0, 220),
    ];
    let mut program = format!("{PATTERNS}with (data=\"offset\") {{\n");
    for (name, ..) in files {
        program += &format!(
            "$h = fopen(\"{name}\", \"O_RDWR|O_CREAT\"); fwrite($h, \"{name}\"); barrier;\n\
             fread($h, \"{name}\"); fclose($h);\n"
        );
    }
    program += "master {\n";
    for (name, _, end) in files {
        program += &format!("write(\"{name}-whole\", {end});\n");
    }
    program += "} }\n";
    for ranks in ["-n 4", "-n 4 --confine"] {
        let scene = Scene::new().file("p.ppl", &program);
        let line = format!("run p.ppl {ranks} --dir d --keep --strict --format json");
        let done = scene.parabench(&line);
        let object = done.json();
        assert_eq!(object["run"]["evidence"]["failed"], 0, "{}", done.err);
        assert_eq!(object["run"]["evidence"]["short"], 0);
        for (name, header, _) in files {
            let read = |name: &str| std::fs::read(scene.path(&format!("d/{name}"))).unwrap();
            assert_eq!(read(name)[header..], read(&format!("{name}-whole"))[header..], "{name}");
        }
    }
}

/// One operation and one event for all pieces, on every back-end alike.
#[test]
fn an_access_by_a_pattern_is_one_operation() {
    let program = format!(
        "{PATTERNS}$h = fopen(\"f\", \"O_RDWR|O_CREAT\"); fwrite($h, \"turns\"); barrier;\n\
         fread($h, \"turns\"); fclose($h);"
    );
    for options in ["-n 4", "-n 4 --backend mem", "-n 4 --confine"] {
        let scene = Scene::new().file("p.ppl", &program);
        let object = scene.parabench(&format!("run p.ppl {options} --format json")).exits(0).json();
        let rows = object["rows"].as_array().unwrap();
        for op in ["fwrite", "fread"] {
            let row = rows.iter().find(|row| row["op"] == op).unwrap();
            assert_eq!((&row["count"], &row["bytes"]), (&4.into(), &280.into()), "{options} {op}");
        }
    }
}
