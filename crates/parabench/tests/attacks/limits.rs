//! Limits of the shell, signals at bad moments, and programs that want more than there is.

use crate::scene::{Call, Done, PARABENCH, Running, Scene};
use std::process::Command;
use std::time::{Duration, Instant};

/// A command of a shell; `$P` is the program under test.
fn shell(scene: &Scene, line: &str) -> Call {
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("P", PARABENCH);
    scene.command(command)
}

fn mkfifo(scene: &Scene, name: &str) {
    let made = Command::new("mkfifo").arg(scene.path(name)).status();
    assert!(made.expect("mkfifo runs").success());
}

#[test]
fn a_limit_of_file_sizes_is_a_failed_operation() {
    let scene = Scene::new().file("x.ppl", "write(\"f\", 10m); write(\"g\", 4k);");
    let done = shell(&scene, "ulimit -f 1024; exec $P run x.ppl").run().exits(1);
    done.out_has("EFBIG").out_has("rank 0").out_has("write");
    let done = shell(&scene, "ulimit -f 1024; exec $P run x.ppl --format json").run().exits(1);
    let run = done.json();
    let row = run["rows"].as_array().expect("rows").iter().find(|row| row["op"] == "write");
    let row = row.expect("a row");
    assert_eq!((&row["count"], &row["failed"]), (&2.into(), &1.into()), "{row:#}");
}

/// The deepest program that is accepted, and one level more.
#[test]
fn a_small_stack_is_enough() {
    let nested = |depth: usize| {
        // A block counts too.
        let (open, close) = ("if (1) { ".repeat(depth / 2), "}".repeat(depth / 2));
        format!("{open}create(\"f\");{close}\n$x = {}1{};", "(".repeat(depth), ")".repeat(depth))
    };
    let scene = Scene::new().file("x.ppl", nested(190)).file("deep.ppl", nested(20_000));
    for kib in [64, 128, 256] {
        shell(&scene, &format!("ulimit -s {kib}; exec $P run x.ppl -n 2")).run().exits(0);
        let done = shell(&scene, &format!("ulimit -s {kib}; exec $P check deep.ppl")).run();
        done.exits(2).err_has("E0203");
    }
}

#[test]
fn too_little_memory_has_a_word() {
    // A debug binary is 65 MiB large: below that the kernel does not start it.
    let scene = Scene::new().file("x.ppl", "write(\"f\", 10m);");
    for (option, mib) in [('v', 90), ('v', 110), ('d', 20)] {
        let done =
            shell(&scene, &format!("ulimit -{option} {}; exec $P run x.ppl", mib << 10)).run();
        done.exits(2).err_has(&format!("ulimit -{option}")).err_has("at least 128 MiB");
    }
    let done = shell(&scene, "ulimit -v 300000; exec $P run x.ppl").run();
    assert!(matches!(done.code, Some(0..=2)), "{done:?}");
    assert_eq!(scene.names("."), ["x.ppl"]);
}

#[test]
fn a_million_simulated_ranks_are_weighed_before() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");");
    let line = "ulimit -v 4000000; exec $P run x.ppl --backend mem -n 1000000";
    let done = shell(&scene, line).run().exits(2);
    done.err_has("1000000 simulated ranks need at least").err_has("use fewer ranks");
}

#[test]
fn writes_without_measure_take_no_memory() {
    let scene = Scene::new()
        .file("x.ppl", "print \"begun\"; write(\"f\", 9223372036854775807);")
        .file("y.ppl", "write(\"f\", 1024p); create(\"g\");");
    let done = shell(&scene, "ulimit -v 3000000; exec $P plan y.ppl --ops 5").run().exits(0);
    done.out_has("pwrite64(3, 268435456, 805306368)").out_has("first 5 calls of rank 0");
    let line = "ulimit -v 3000000; exec $P run x.ppl --backend mem --format json";
    let call = shell(&scene, line).start();
    call.until("the first line", || call.said("begun"));
    call.signal(2);
    let run = call.finish().exits(130).json();
    assert_eq!(run["run"]["outcome"], "interrupted");
}

/// Neither a pipe that nobody writes to nor a device is waited for.
#[test]
fn includes_are_regular_files() {
    let scene = Scene::new();
    mkfifo(&scene, "pipe");
    std::os::unix::fs::symlink("/dev/ptmx", scene.path("device")).expect("a link");
    let folder = scene.path(".").canonicalize().expect("there").display().to_string();
    for (path, why) in [
        ("pipe", "it is no regular file"),
        ("device", "outside of the program's folder"),
        ("/dev/ptmx", "outside of the program's folder"),
        (&format!("{folder}/pipe"), "it is no regular file"),
        (".", "it is a directory"),
        ("nosuch", "there is no such file"),
    ] {
        let scene = &scene;
        std::fs::write(scene.path("x.ppl"), format!("include \"{path}\";")).expect("written");
        for verb in ["run", "check", "plan"] {
            scene.parabench(&format!("{verb} x.ppl")).exits(2).err_has("E0003").err_has(why);
        }
    }
    scene.parabench("check /dev/ptmx").exits(2).err_has("it is no regular file");
    let done = scene.parabench("run x.ppl --include-dir /dev").exits(2);
    done.err_has("there is no such file");
}

/// A diagnostic shows the line it is about: nothing of a file that does not belong to the program.
#[test]
fn includes_do_not_leave_the_programs_folder() {
    let secret = "root:x:0:0:secret words\n";
    let scene = Scene::new()
        .file("secret", secret)
        .file("lib/part.ppl", "create(\"part\");")
        .file("p/below/ok.ppl", "include \"../more.ppl\";")
        .file("p/more.ppl", "create(\"more\");")
        .file("p/ok.ppl", "include \"below/ok.ppl\";")
        .file("p/lib.ppl", "include \"part.ppl\";")
        .file("p/up.ppl", "include \"../secret\";")
        .file("p/link.ppl", "include \"link\";")
        .file("p/hidden.ppl", "include \"below/../../secret\";");
    std::os::unix::fs::symlink("../secret", scene.path("p/link")).expect("a link");
    let absolute = scene.path("secret").display().to_string();
    std::fs::write(scene.path("p/absolute.ppl"), format!("include \"{absolute}\";"))
        .expect("written");
    for name in ["up", "link", "hidden", "absolute"] {
        let done = scene.parabench(&format!("run p/{name}.ppl")).exits(2);
        assert!(!done.err.contains("secret words"), "{}", done.err);
        done.err_has("outside of the program's folder").err_has("--include-dir");
    }
    scene.parabench("check p/ok.ppl").exits(0);
    scene.parabench("check p/lib.ppl").exits(2).err_has("there is no such file");
    scene.parabench("check p/lib.ppl --include-dir lib").exits(0);
    scene.call("check -").input("include \"p/more.ppl\";").run().exits(0);
    let call = shell(&scene, "cd p && exec $P check - ");
    call.input("include \"../lib/part.ppl\";").run().exits(2).err_has("outside of");
}

/// `parabench run <(generate)`.
#[test]
fn a_program_can_come_from_a_pipe() {
    let scene = Scene::new();
    let done = shell(&scene, "$P run <(echo 'create(\"f\"); print \"from a pipe\";')").run();
    done.exits(0).out_has("from a pipe");
}

/// Waits until it rests in a call, and gives it a moment more.
fn at_rest(call: &Running) {
    let stat = format!("/proc/{}/stat", call.pid());
    let rests = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") S "));
    call.until("a rest", rests);
    std::thread::sleep(Duration::from_millis(100));
    call.until("a rest", rests);
}

#[track_caller]
fn interrupted(call: Running, signal: i32) -> Done {
    let since = Instant::now();
    call.signal(signal);
    let done = call.finish().exits(130);
    // Nobody has read or written anything: without a way out this lasts for ever.
    assert!(since.elapsed() < Duration::from_secs(60));
    done
}

/// No wait is deaf, and none leaves its scratch directory.
#[test]
fn every_wait_can_be_interrupted() {
    for signal in [1, 2, 3, 15] {
        let scene = Scene::new().file("x.ppl", "create(\"f\"); sleep(1h);");
        mkfifo(&scene, "pipe");
        let call = scene.call("run pipe").start();
        at_rest(&call);
        interrupted(call, signal);
        let call = scene.call("run x.ppl").start();
        call.until("a rank", || !call.ranks().is_empty());
        interrupted(call, signal);
        assert_eq!(scene.names("."), ["pipe", "x.ppl"], "signal {signal}");
    }
}

/// Standard output is a pipe that is full: both while ranks print and while the parent does.
#[test]
fn an_unread_pipe_does_not_make_it_deaf() {
    let scene = Scene::new()
        .file("ranks.ppl", "create(\"f\"); while (1) print \"a line that nobody reads\";")
        .file("tables.ppl", "repeat $i 3000 time[\"label-$i\"] create(\"f-$i\");");
    mkfifo(&scene, "out");
    for program in ["ranks", "tables"] {
        // Open for reading and writing, so that it is never closed; nobody reads.
        let call =
            shell(&scene, &format!("exec $P run {program}.ppl --format table -v 1<>out")).start();
        call.until("a scratch directory", || {
            scene.names(".").iter().any(|n| n.starts_with("para"))
        });
        if program == "tables" {
            call.until("its rank", || !call.ranks().is_empty());
            call.until("its end", || call.ranks().is_empty());
        }
        at_rest(&call);
        std::thread::sleep(Duration::from_millis(500));
        interrupted(call, 15);
        assert_eq!(scene.names("."), ["out", "ranks.ppl", "tables.ppl"], "{program}");
    }
}

/// So many definitions were once looked through for each of them.
#[test]
fn a_hundred_thousand_definitions_are_compiled_or_refused() {
    let all = |text: &dyn Fn(usize) -> String| (0..100_000).map(text).collect::<String>();
    let groups = all(&|i| format!("\"g{i}\":D,"));
    let scene = Scene::new()
        .file("params.ppl", all(&|i| format!("param $p{i} = {i};\n")))
        .file("groups.ppl", format!("define groups {{{}}};", groups.trim_end_matches(',')))
        .file("patterns.ppl", all(&|i| format!("define pattern {{\"p{i}\", 10, 1m, 0}};\n")));
    scene.parabench("check params.ppl").exits(0);
    scene.parabench("check groups.ppl").exits(2).err_has("expected at most 256 groups");
    scene.parabench("check patterns.ppl").exits(2).err_has("expected at most 256 patterns");
}

#[test]
fn a_generator_without_end_is_refused_before_the_run() {
    for body in ["while (1) extent($$grank, 1);", "$x = 1; while (1) { $x = $x + 1; }"] {
        let text = format!(
            "define pattern \"p\" level 0 {{ {body} }}\n$h = fcreat(\"f\"); fwrite($h, \"p\");"
        );
        let scene = Scene::new().file("x.ppl", text);
        let done = shell(&scene, "ulimit -v 1000000; exec $P run x.ppl").run().exits(2);
        done.err_has("E0312").err_has("x.ppl:1");
        assert_eq!(scene.names("."), ["x.ppl"]);
    }
}

/// The variables that an MPI launcher sets, in a shell that no launcher has started.
#[test]
fn inherited_variables_of_a_job_are_named() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");");
    for rank in ["0", "1"] {
        let call = |line: &str| scene.call(line).env("PMI_RANK", rank).env("PMI_SIZE", "2");
        let done = call("run x.ppl").run().exits(2);
        done.err_has(&format!("PMI_RANK={rank} PMI_SIZE=2")).err_has("env -u PMI_RANK -u PMI_SIZE");
        call("check x.ppl").run().exits(0).err_has("nothing wrong");
        call("plan x.ppl").run().exits(0).out_has("budget of rank 0");
        call("run x.ppl --backend mem").run().exits(0).out_has("create");
        call("run nosuch.ppl --backend mem").run().exits(2).err_has("nosuch.ppl");
    }
}

#[test]
fn an_empty_name_is_no_program() {
    let scene = Scene::new();
    for line in ["", "run", "check", "plan", "fmt", "pattern"] {
        let done = scene.call(line).word("").run().exits(2);
        assert!(!done.err.is_empty(), "{line}");
    }
}
