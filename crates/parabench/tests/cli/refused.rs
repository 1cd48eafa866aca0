//! Inputs that must be refused well: programs.

use crate::scene::Scene;

/// The checker refuses `text` with this code, at this place.
#[track_caller]
fn refused(text: &str, code: &str, place: &str) {
    let done = Scene::new().file("x.ppl", text).parabench("check x.ppl").exits(2);
    done.err_has(code).err_has(&format!("x.ppl:{place}"));
}

/// A first word that is neither a subcommand nor a program.
#[test]
fn subcommands_that_do_not_exist() {
    let scene = Scene::new().file("x.ppl", ";");
    for (line, said) in [
        ("chek x.ppl", "a similar subcommand exists: 'check'"),
        ("nosuch", "unrecognized subcommand 'nosuch'"),
        ("missing.ppl", "cannot read the program missing.ppl: there is no such file"),
        ("mpi nosuch", "nosuch"),
    ] {
        scene.parabench(line).exits(2).err_has(said);
    }
    scene.parabench("x.ppl").exits(0);
}

#[test]
fn unknown_words_and_characters() {
    refused("repaet 3 sync;", "E0202", "1:1");
    refused("sync; ~ sync;", "E0101", "1:7");
    refused("print “x”;", "E0101", "1:7");
}

#[test]
fn missing_semicolons_and_brackets_do_not_hide_the_next_mistake() {
    let text = "sync\nstat(\"a\";\nrepeat 3 { sync;\n";
    let done = Scene::new().file("x.ppl", text).parabench("check x.ppl").exits(2);
    done.err_has("x.ppl:1:").err_has("x.ppl:2:").err_has("x.ppl: 3 errors");
}

#[test]
fn undefined_variables_name_the_nearest() {
    let scene = Scene::new().file("x.ppl", "$count = 1; print $coutn;");
    scene.parabench("check x.ppl").exits(2).err_has("E0301").err_has("$count");
}

#[test]
fn wrong_types_and_impossible_figures() {
    refused("write(\"a\", \"many\");", "E0305", "1:12");
    refused("$x = 1 / 0;", "E0307", "1:");
    refused("$x = 9223372036854775807 + 1;", "E0307", "1:");
    refused("$x = 99999999999999999999;", "E0104", "1:6");
    refused("repeat -1 sync;", "E0306", "1:8");
}

#[test]
fn division_by_zero_at_run_time_ends_the_rank_with_its_place() {
    let text = "$n = $$rank - $$rank;\nwrite(\"a\", 1);\n$x = 1 / $n;\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl").exits(1);
    done.out_has("x.ppl:3:").out_has("division by zero").out_has("write");
}

#[test]
fn recursion_without_end() {
    let text = "define proc p($n) { if ($n > 0 - $$rank) p($n + 1); } p(1);";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl").exits(1);
    done.out_has("10000").out_has("x.ppl:1:");
}

#[test]
fn include_loops_and_missing_files() {
    let scene = Scene::new()
        .file("a.ppl", "include \"lib/b.ppl\";")
        .file("lib/b.ppl", "include \"../a.ppl\";")
        .file("c.ppl", "include \"nosuch.ppl\"; include \"lib\";");
    scene.parabench("check a.ppl").exits(2).err_has("E0003").err_has("b.ppl:1:");
    scene.parabench("check c.ppl").exits(2).err_has("no such file").err_has("it is a directory");
}

#[test]
fn a_program_of_300_mb_is_refused_by_a_stated_limit() {
    let scene = Scene::new();
    let file = std::fs::File::create(scene.path("x.ppl")).unwrap();
    file.set_len(300_000_000).unwrap();
    let done = scene.parabench("check x.ppl").exits(2);
    done.err_has("longer than the limit of 268435456 bytes").err_has("repeat");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("{} check - < /dev/zero", crate::scene::PARABENCH)]);
    scene.command(shell).run().exits(2).err_has("268435456");
}

#[test]
fn text_that_is_not_utf8() {
    let scene = Scene::new().file("x.ppl", b"sync;\nwrite(\"\xff\", 1);");
    scene.parabench("check x.ppl").exits(2).err_has("E0001").err_has("byte 13").err_has("line 2");
    scene.parabench("run x.ppl").exits(2).err_has("E0001");
}

#[test]
fn a_directory_as_program() {
    let scene = Scene::new();
    for verb in ["run", "check", "plan", "fmt"] {
        scene.parabench(&format!("{verb} .")).exits(2).err_has("it is a directory, not a program");
    }
}

#[test]
fn a_file_that_may_not_be_read() {
    // Root may read everything; a name that is too long and a file as folder fail for everybody.
    let scene = Scene::new().file("x.ppl", ";");
    scene.parabench(&format!("run {}", "x".repeat(300))).exits(2).err_has("too long");
    scene.parabench("run x.ppl/y.ppl").exits(2).err_has("cannot read the program");
}

#[test]
fn unknown_parameters_name_the_nearest() {
    let scene = Scene::new().file("x.ppl", "param $count = 1; print $count;");
    scene.parabench("run x.ppl coutn=3").exits(2).err_has("E0311").err_has("count");
}

#[test]
fn constant_paths_that_leave() {
    refused("write(\"../a\", 1);", "E0308", "1:");
    refused("read(\"/etc/hostname\");", "E0308", "1:");
    refused("mkdir(\"a/../../b\");", "E0308", "1:");
    refused("symlink(\"/etc\", \"a\");", "E0308", "1:");
}

#[test]
fn a_million_mistakes_are_not_all_told() {
    let text = "writ(1);\n".repeat(100_000);
    let done = Scene::new().file("x.ppl", text).parabench("check x.ppl").exits(2);
    assert!(done.err.len() < 100_000, "{} bytes of messages", done.err.len());
}

#[test]
fn deep_nesting() {
    refused(&"{".repeat(100_000), "E0203", "1:");
    refused(&format!("$x = {}1;", "(".repeat(100_000)), "E0203", "1:");
}

#[test]
fn options_of_other_tools_are_answered_with_the_option_that_is_meant() {
    let scene = Scene::new().file("x.ppl", ";");
    for (options, hint) in [
        ("-np 4", "-n 4"),
        ("-n 4x", "for example -n 4, found \"4x\""),
        ("--ranks=4x", "for example -n 4, found \"4x\""),
        ("--time 30s", "--time-limit 30s"),
        ("--runtime=30", "--time-limit 30s"),
        ("--numjobs=2", "-n 2"),
        ("--bs=4k", "NAME=VALUE"),
        ("-t 1m", "parabench translate"),
        ("-b 1m", "parabench translate"),
    ] {
        scene.parabench(&format!("run x.ppl {options}")).exits(2).err_has(hint);
    }
}

#[test]
fn an_object_store_is_no_directory() {
    let scene = Scene::new().file("x.ppl", ";");
    for address in ["s3://bucket/a", "gs://bucket", "https://host/a"] {
        let done = scene.parabench(&format!("run x.ppl --dir {address}")).exits(2);
        let done = done.err_has("object stores are not supported");
        assert!(!done.err.contains("mkdir"), "{}", done.err);
    }
    scene.parabench("run x.ppl --dir no/such").exits(2).err_has("mkdir -p");
}
