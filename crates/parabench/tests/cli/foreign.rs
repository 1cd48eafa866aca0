//! Texts of other tools and languages in place of programs: what is said, and that the programs which
//! are offered run. The texts and programs are those of the language's own tests.

use crate::scene::{Scene, root};
use std::fs;

fn folder() -> std::path::PathBuf {
    root().join("crates/ppl/tests/foreign")
}

#[test]
fn a_text_of_another_tool_gives_one_message_with_a_program() {
    let text = fs::read_to_string(folder().join("randread.fio")).unwrap();
    let scene = Scene::new().file("job.fio", &text);
    for verb in ["check", "run", "plan", "fmt"] {
        let done = scene.parabench(&format!("{verb} job.fio")).exits(2);
        done.err_has("error[E0004]: this is a fio job file, not a PPL program")
            .err_has("job.fio:2:1")
            .err_has("`parabench translate FILE -o x.ppl` makes a program of it")
            .err_has("job.fio: 1 error");
    }
    // A parameter is no second mistake.
    scene.parabench("check job.fio bs=4k").exits(2).err_has("job.fio: 1 error");
    let found = scene.parabench("check job.fio --format json").exits(2).json();
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!(found[0]["code"], "E0004");
}

#[test]
fn a_command_line_is_called_after_its_tool() {
    let scene = Scene::new();
    for (line, name) in [
        ("ior -a POSIX -b 1m", "an IOR command line"),
        ("mpirun -np 4 mdtest -n 10", "an mdtest command line"),
        ("fio --name=a --rw=read", "a fio command line"),
        ("dd if=/dev/zero of=x bs=1M count=1", "a shell script or a command line"),
        ("#!/bin/sh\nelbencho -w -s 1m x", "a shell script or a command line"),
    ] {
        scene.call("check -").input(line).run().exits(2).err_has(name);
    }
}

#[test]
fn an_included_text_of_another_tool_is_one_message_too() {
    let text = "#include <fcntl.h>\nint main(void) {\n    int fd = open(\"f\", O_RDWR);\n}\n";
    let scene = Scene::new().file("lib.c", text).file("x.ppl", "include \"lib.c\";\nsync;\n");
    scene.parabench("check x.ppl").exits(2).err_has("lib.c:1:1").err_has("x.ppl: 1 error");
}

/// The program for a command line.
fn offered(line: &str) -> String {
    Scene::new().file("x.line", line).parabench("translate x.line --partial").exits(0).out
}

#[test]
fn a_job_becomes_a_program_and_what_it_leaves_out_is_listed() {
    let text = "[global]\nrw=randread\nbs=4k\nsize=64k\nunknown_option=7\n[a]\n";
    let scene = Scene::new().file("job.fio", text);
    let done = scene.parabench("translate job.fio -o x.ppl --partial").exits(0).out_is("");
    let done = done.err_has("x.ppl: a program made of a fio job file");
    done.err_has("not translated, 1 option:\n  unknown_option=7\n");
    assert!(scene.text("x.ppl").contains("fread($h, $bs, perm($i, $count) * $bs);"));
    scene.parabench("run x.ppl --dir d").exits(0);
    let printed = scene.call("translate - --partial").input(text).run().exits(0);
    assert_eq!(printed.out, scene.text("x.ppl"), "the same to standard output");
    scene.parabench("translate job.fio -o x.ppl").exits(2).err_has("--force");
    scene.parabench("translate job.fio -o x.ppl --force --partial").exits(0);
    scene.parabench("translate job.fio --force").exits(2);
}

/// What the program lacks of the work makes the exit code 1; what is printed or logged is no work.
#[test]
fn a_program_that_lacks_work_is_given_and_fails() {
    let fio = "[a]\nrw=write\nbs=4k\nsize=64k\n";
    let ior = "ior -w -b 64k -t 16k";
    for (text, lacks) in [
        (format!("{fio}description=x\nwrite_lat_log=l\nlog_hist_msec=5\n"), None),
        (format!("{fio}zonemode=zbd\n"), Some("zonemode=zbd")),
        (format!("{fio}numjobs=${{JOBS}}\n"), Some("numjobs=${JOBS}")),
        (format!("{ior} -v -H -O summaryFormat=JSON,summaryFile=x"), None),
        (format!("{ior} -O memoryPerNode=50%"), Some("-O memoryPerNode=50%")),
        (format!("{ior}\nmdtest -n 1 -C"), Some("the command mdtest -n 1 -C")),
        ("mdtest -n 10 -F -C -v".to_string(), None),
        ("mdtest -n 10 -F -C -L -z 2".to_string(), Some("-L")),
    ] {
        let done = Scene::new().call("translate -").input(&text).run();
        let partial = Scene::new().call("translate - --partial").input(&text).run().exits(0);
        assert!(!done.out.is_empty() && done.out == partial.out, "{text}: {done:?}");
        match lacks {
            None => assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{text}"),
            Some(option) => {
                done.exits(1).err_has(option).err_has("--partial").out_has("# not translated: ");
                assert!(!partial.err.contains("--partial"), "{partial:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_translated_is_said() {
    let scene = Scene::new()
        .file("x.ppl", "write(\"f\", 1);")
        .file("x.c", "#include <fcntl.h>\nint main(void) { return 0; }\n")
        .file("x.conf", "TestFile \"f\"\n<Module>\nModuleTurns 3\n</Module>\n");
    scene.parabench("translate x.ppl").exits(2).err_has("no text of a benchmark");
    scene.parabench("translate x.c").exits(2).err_has("a program in another language");
    scene.parabench("translate x.conf").exits(2).err_has("x.conf:3: unknown directive ModuleTurns");
    scene.parabench("translate nosuch").exits(2).err_has("nosuch");
}

/// IOR without -w reads what is there, and so does the program.
#[test]
fn what_is_only_read_is_not_written_before() {
    let own = "ior -F -b 64k -t 16k -o /mnt/f";
    for (write, read) in [("-w -k", "-r -k"), ("-w -k -W", "-R -k"), ("-w -k -R", "-r -R -k")] {
        let scene = Scene::new()
            .file("w.ppl", offered(&format!("{own} {write}")))
            .file("r.ppl", offered(&format!("{own} {read}")));
        scene.parabench("run w.ppl -n 2 --dir d").exits(0);
        let before = fs::read(scene.path("d/f.1")).expect("the file stays");
        let run = scene.parabench("run r.ppl -n 2 --dir d --format json").exits(0).json();
        let ops: Vec<_> =
            run["rows"].as_array().expect("rows").iter().map(|row| &row["op"]).collect();
        assert_eq!(ops, ["fopen", "fread", "fclose"], "{read}");
        assert_eq!(run["run"]["evidence"]["failed"], 0, "{read}");
        assert_eq!(fs::read(scene.path("d/f.1")).expect("it is there"), before, "{read}");
    }
    assert!(offered(&format!("{own} -r")).contains(" --dir /mnt --prepare\n"));
    assert!(!offered(&format!("{own} -R")).contains("--prepare"));
}

#[test]
fn the_programs_that_are_offered_run() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".ppl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mpi = text.contains("pfopen");
        // The files of an earlier run are made on a real file system only.
        let line = match (mpi, text.contains(" --prepare\n")) {
            (true, _) => "run x.ppl -n 4 --dry-run".to_string(),
            (false, true) => "run x.ppl -n 4 --prepare".to_string(),
            (false, false) => "run x.ppl -n 4 --backend mem --strict".to_string(),
        };
        let done = Scene::new().file("x.ppl", &text).parabench(&line);
        assert_eq!(done.code, Some(0), "{name}: {done:#?}");
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} programs were found");
}
