//! `parabench job`: submit scripts.

use crate::scene::Scene;
use std::process::Command;

const PROGRAM: &str = "param $n = 3;\nrepeat $n write(\"f-$$rank\", 4k);\n";

fn scene() -> Scene {
    Scene::new().file("x.ppl", PROGRAM)
}

/// What the script of each batch system has to say.
const SCHEDULERS: [(&str, &[&str]); 4] = [
    (
        "slurm",
        &[
            "# Submit it: sbatch x.sh\n",
            "#SBATCH --job-name=x\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n",
            "#SBATCH --time=01:20:00\n",
            "# 60 s before the limit the ranks get SIGTERM. Slurm may send it a minute earlier.\n\
             #SBATCH --signal=TERM@60\n",
            "out=results-\"${SLURM_JOB_ID:-0}\"\n",
            "srun parabench run x.ppl 'n=5' --reps 1 --out \"$out\"\n",
        ],
    ),
    (
        "pbs",
        &[
            "# Submit it: qsub x.sh\n",
            "#PBS -l select=2:ncpus=3:mpiprocs=3\n#PBS -l place=scatter\n#PBS -l walltime=01:20:00\n",
            "mpiexec -n 6 parabench run x.ppl 'n=5' --reps 1 --out \"$out\"\n",
        ],
    ),
    (
        "lsf",
        &[
            "# Submit it: bsub < x.sh\n",
            "#BSUB -n 6\n#BSUB -R \"span[ptile=3]\"\n#BSUB -W 1:20\n",
            "#BSUB -wt 1 -wa TERM\n",
            "mpiexec -n 6 parabench run x.ppl 'n=5' --reps 1 --out \"$out\"\n",
        ],
    ),
    (
        "flux",
        &[
            "# Submit it: flux batch x.sh\n",
            "#flux: --nodes=2\n#flux: --nslots=6\n#flux: --time-limit=4800s\n",
            "flux run --nodes=2 --ntasks=6 --signal=SIGTERM@60s parabench run x.ppl 'n=5' --reps 1",
        ],
    ),
];

#[test]
fn every_batch_system_gets_a_script_that_a_shell_reads() {
    for (scheduler, parts) in SCHEDULERS {
        let scene = scene();
        let line = format!(
            "job x.ppl n=5 --nodes 2 --ranks-per-node 3 --time 1h20m --scheduler {scheduler} \
             --module openmpi/4.1 -o x.sh -- --reps 1"
        );
        scene.parabench(&line).exits(0).err_has("note: submit it: ");
        let text = scene.text("x.sh");
        assert!(
            text.starts_with("#!/bin/bash\n# Parabench: x.ppl with 6 ranks: 2 x 3 ("),
            "{text}"
        );
        for part in parts.iter().chain(&["module load openmpi/4.1 || exit 1\n\nset -eu\n"]) {
            assert!(text.contains(part), "{scheduler}: expected {part:?} in\n{text}");
        }
        let read = Command::new("bash").arg("-n").arg(scene.path("x.sh")).status();
        assert!(read.expect("bash starts").success(), "{text}");
    }
}

/// A job must not be told to end when it begins.
#[test]
fn the_signal_before_the_limit_leaves_time_to_run() {
    let scene = scene();
    for (scheduler, time, parts) in [
        ("slurm", "1m", &["--signal=TERM@6\n"][..]),
        ("slurm", "90s", &["--signal=TERM@9\n"]),
        ("slurm", "2m", &["--signal=TERM@12\n"]),
        ("slurm", "1h", &["--signal=TERM@60\n"]),
        ("slurm", "1-00:00:00", &["--time=24:00:00\n"]),
        ("slurm", "2-3:30", &["--time=51:30:00\n"]),
        ("flux", "2m", &["--signal=SIGTERM@12s "]),
        ("lsf", "2m", &["# At the limit the ranks get SIGINT, SIGTERM and SIGKILL.\n"]),
        ("lsf", "3m", &["#BSUB -wt 1 -wa TERM\n"]),
    ] {
        let line =
            format!("job x.ppl --nodes 1 --ranks-per-node 2 --time {time} --scheduler {scheduler}");
        let done = scene.parabench(&line).exits(0);
        parts.iter().for_each(|part| assert!(done.out.contains(part), "{part}: {}", done.out));
        let is_warned = done.err.contains("warning: Slurm may send SIGTERM up to a minute earlier");
        assert_eq!(is_warned, scheduler == "slurm" && time.ends_with(['m', 's']), "{}", done.err);
        assert!(time == "3m" || !done.out.contains("-wt 1"), "{}", done.out);
    }
}

#[test]
fn a_script_of_a_sweep_can_be_submitted_again() {
    let line = "job x.ppl --nodes 1 --ranks-per-node 2 --time 20m --resume";
    let text = scene().parabench(&format!("{line} -- --reps 9")).exits(0).out;
    for part in [
        "out=results\n",
        "if [ -e \"$out/run.json\" ]; then store=--resume; else store=--out; fi\n",
        "srun parabench run x.ppl --reps 9 \"$store\" \"$out\"\n",
    ] {
        assert!(text.contains(part), "expected {part:?} in\n{text}");
    }
    scene().parabench(line).exits(2).err_has("no sweep").err_has("-- --sweep");
}

/// With commands of these names that do what those of a site would.
#[test]
fn the_script_makes_the_shim_once_and_starts_the_ranks() {
    let scene = scene();
    let words = "job x.ppl --nodes 1 --ranks-per-node 1 --time 20m -o x.sh --module mpi";
    scene.call(words).word("--dir").word("it's a dir").run().exits(0);
    let mut scene = scene;
    for (name, does) in [
        ("srun", "exec \"$@\"\n"),
        ("parabench", "echo \"$@\" >> called\n[ $1 = run ] || touch \"$PARABENCH_MPI_SHIM\"\n"),
    ] {
        scene = scene.script(name, &format!("#!/bin/sh\n{does}"));
    }
    for _ in 0..2 {
        let path = format!("{}:{}", scene.path(".").display(), std::env::var("PATH").unwrap());
        let mut script = Command::new("bash");
        script.arg("x.sh").current_dir(scene.path(".")).env("PATH", path).env("SLURM_JOB_ID", "17");
        // As the functions of sites are: they use what is not set, and commands in them fail.
        script.env("BASH_FUNC_module%%", "() { false; echo \"$1 $2$NOT_SET\" > loaded; }");
        assert!(script.env_remove("SLURM_SUBMIT_DIR").status().unwrap().success());
    }
    let shim = scene.path(".").canonicalize().unwrap().join("parabench-mpi.so");
    let run = "run x.ppl --dir it's a dir --out results-17\n";
    let built = format!("mpi build --mpicc mpicc -o {}\n", shim.display());
    assert_eq!(scene.text("called"), format!("{built}{run}{run}"));
    assert_eq!(scene.text("loaded"), "load mpi\n");
}

#[test]
fn what_would_fail_after_hours_in_a_queue_is_refused_now() {
    let wrong = [
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 5", "such as 20m, 1h30m or 00:20:00"),
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 10s", "such as 20m, 1h30m or 00:20:00"),
        ("job none.ppl --nodes 2 --ranks-per-node 2 --time 20m", "none.ppl"),
        ("job x.ppl m=2 --nodes 2 --ranks-per-node 2 --time 20m", "no parameter m"),
        ("job bad.ppl --nodes 2 --ranks-per-node 2 --time 20m", "E0"),
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -- --rep 2", "parabench help run"),
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -- --out b", "give --out to job"),
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -- --resume=b", "give --resume to job"),
        (
            "job x.ppl --nodes 2 --ranks-per-node 2 --time 1-2:3:4:5",
            "such as 20m, 1h30m or 00:20:00",
        ),
        (
            "job x.ppl --nodes 90000 --ranks-per-node 90 --time 20m",
            "expected at most 1000000 ranks",
        ),
        ("job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -o x.ppl", "not written by Parabench"),
        (
            "job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -- --sweep-ranks 2,8",
            "--sweep-ranks: 8 ranks, but the MPI job has 4",
        ),
        (
            "job x.ppl --nodes 2 --ranks-per-node 2 --time 20m -- --sweep-nodes 3",
            "--sweep-nodes: 3 machines, but the MPI job has 2",
        ),
    ];
    let scene = scene()
        .file("bad.ppl", "write(\"../f\", 4k);\n")
        .file("mpi.ppl", "$h = pfopen(\"f\", \"crw\"); pfwrite($h, 10); pfclose($h);\n")
        .file("name.ppl", "param $f = \"a\"; time[\"w\"] with (dir=\"fast\") write($f, 4k);\n");
    for (line, part) in wrong {
        scene.parabench(line).exits(2).err_has(part).out_is("");
    }
    let first = "--nodes 2 --ranks-per-node 32 --time 20m";
    let of_the_run = [
        ("x.ppl", "-n 5", "-n 5: the job has 64 ranks"),
        ("x.ppl", "--sweep nosuch=1,2", "nosuch=1: the program has no parameter nosuch"),
        ("x.ppl", "--sweep n=4,x", "at n=x: "),
        ("x.ppl", "nosuch=4", "no parameter nosuch"),
        ("mpi.ppl", "--confine", "the program has to be confined (--confine was given)"),
        ("name.ppl", "--only nosuch", "--only nosuch: the program has no label of this name"),
        ("name.ppl", "--dir d", "the program uses the directory fast, which is not granted"),
        ("x.ppl", "--mpi", "the script starts the ranks"),
        ("x.ppl", "--launcher mpirun", "the script starts the ranks"),
        ("x.ppl", "--against /x/y", "required arguments were not provided:\n  --dir <D>"),
        ("x.ppl", "--against-program none.ppl", "none.ppl"),
        ("x.ppl", "--versus n=3", "A and B are the same: n is 3"),
        ("x.ppl", "--until-ci 2% --reps 3", "--until-ci needs at least"),
        ("-", "", "a job starts when standard input is gone"),
    ];
    for (program, options, part) in of_the_run {
        let line = format!("job {program} {first} -- {options}");
        scene.parabench(&line).exits(2).err_has(part).out_is("");
    }
    let right = ["-n 64", "--sweep n=1,2 --reps 2", "--dir d --against /x/y", "--events max=1m"];
    for options in right {
        scene.parabench(&format!("job x.ppl {first} -- {options}")).exits(0).err_is("");
    }
    assert_eq!(scene.names("."), ["bad.ppl", "mpi.ppl", "name.ppl", "x.ppl"]);
    assert_eq!(scene.text("x.ppl"), PROGRAM);
}

/// A batch system reads what begins with its mark wherever it stands.
#[test]
fn words_with_newlines_do_not_come_into_a_script() {
    let scene = Scene::new().file("a\n#SBATCH -N 9\n.ppl", PROGRAM).file("x.ppl", PROGRAM);
    let job = "job --nodes 1 --ranks-per-node 2 --time 20m";
    let named = scene.call(job).word("a\n#SBATCH -N 9\n.ppl").run();
    named.exits(2).err_has("a\\n#SBATCH -N 9\\n.ppl: expected no line ends").out_is("");
    for word in ["--out=a\nb", "--module=a\nb", "--mpicc=a\nb", "--dir=a\nb", "--script=a\nb"] {
        let done = scene.call(job).word("x.ppl").word(word).run();
        done.exits(2).err_has("expected no line ends").out_is("");
    }
}

#[test]
fn words_that_commands_take_for_options_are_refused_or_paths() {
    let job = "job x.ppl --nodes 1 --ranks-per-node 2 --time 20m";
    for (words, expected) in [
        ("--module=-rf", "--module=-rf: expected a name"),
        ("--module=", "--module=: expected a name"),
        ("--mpicc=-x", "--mpicc=-x: expected a name"),
        ("-- --reps 2 --", "found a second --"),
    ] {
        scene().parabench(&format!("{job} {words}")).exits(2).err_has(expected).out_is("");
    }
    for (words, expected) in [
        ("--out=-x", "out=./-x-\""),
        ("--out=results/", "out=results-\""),
        ("--dir=-d", "run x.ppl --dir ./-d --out"),
    ] {
        scene().parabench(&format!("{job} {words}")).exits(0).out_has(expected);
    }
}

#[test]
fn a_program_that_fails_with_the_ranks_of_the_job_is_told() {
    let scene = Scene::new()
        .file("size.ppl", "$n = gsum(1);\nassert($n == 3);\nwrite(\"f-$$rank\", 4k);\n")
        .file("three.ppl", "assert($$size == 3);\n")
        .file(
            "nodes.ppl",
            "$n = gmax($$node) + 1;\nassert($n == 2);\nassert($$node * 2 + $$noderank == $$rank);\n",
        );
    let job = |name: &str, nodes: u32| {
        scene
            .parabench(&format!("job {name} --nodes {nodes} --ranks-per-node 2 --time 20m"))
            .exits(0)
    };
    let fails = "rank 0 ends at size.ppl:2:1: assertion failed";
    job("size.ppl", 1)
        .err_has("warning: rehearsed with the ranks of the job, the program fails")
        .err_has(fails);
    job("nodes.ppl", 2).err_is("");
    job("nodes.ppl", 3).err_has("nodes.ppl:2:1: assertion failed");
    scene.parabench("plan size.ppl -n 2").exits(0).out_has(fails).out_has("fails in its rehearsal");
    let plan = |nodes| scene.parabench(&format!("plan nodes.ppl -n 4 --nodes {nodes}"));
    assert!(!plan(2).exits(0).out.contains("fails in its rehearsal"));
    plan(1).exits(0).out_has("nodes.ppl:2:1: assertion failed");
    plan(5).exits(2).err_has("--nodes 5: there are 4 ranks");
    // What the number of ranks alone decides is a mistake before.
    let line = "job three.ppl --nodes 1 --ranks-per-node 2 --time 20m";
    scene.parabench(line).exits(2).err_has("three.ppl:1:8").err_has("now $$size is 2");
}
