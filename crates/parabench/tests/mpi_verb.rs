//! `parabench mpi build` and `parabench mpi info`, with every MPI and without any.

#[allow(dead_code)] // this uses a part of it
#[path = "cli/scene.rs"]
mod scene;
#[path = "../../mpi/testing/mod.rs"]
mod testing;

use scene::{PARABENCH, install};
use serde_json::Value;
use std::process::{Command, Output};
use testing::{LIMIT, Mpi};

/// What the library and the MPI-IO of an MPI are called.
fn names(mpi: &Mpi) -> (&'static str, &'static str) {
    if mpi.name == "openmpi" { ("Open MPI v", "OMPIO") } else { ("MPICH ", "ROMIO") }
}

fn told(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn info_tells_the_mpi_alone_and_under_its_launcher() {
    for mpi in testing::all() {
        let (library, mpi_io) = names(&mpi);
        let alone = mpi.command(PARABENCH).args(["mpi", "info", "--format", "json"]).run(LIMIT);
        assert!(alone.success(), "{alone}");
        let facts = &told(&alone.stdout)["mpi"];
        assert!(facts["library"].as_str().is_some_and(|name| name.starts_with(library)), "{alone}");
        assert_eq!((&facts["mpi_io"], &facts["ranks"]), (&mpi_io.into(), &1.into()), "{alone}");
        let standard = facts["standard"].as_str().and_then(|version| version.parse::<f64>().ok());
        assert!(standard.is_some_and(|version| version >= 3.0), "{alone}");
        assert!(facts["thread_level"].as_str().is_some_and(|level| level != "unknown"));
        assert_eq!(facts["shim"].as_str(), mpi.shim().to_str());
        let launched = mpi.launch(3, PARABENCH).args(["mpi", "info"]).run(LIMIT);
        assert!(launched.success(), "{launched}");
        let lines: Vec<&str> = launched.stdout.lines().collect();
        let ranks: Vec<_> = lines.iter().filter(|line| line.starts_with("ranks")).collect();
        assert_eq!(ranks, [&"ranks         3"], "{launched}");
        assert!(lines[0].contains(library), "{launched}");
    }
}

#[test]
fn a_shim_is_compiled_for_every_mpi_and_used() {
    for mpi in testing::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let shim = folder.path().join("own.so");
        let build = |mpicc: &str| {
            let mut command = Command::new(PARABENCH);
            command.args(["mpi", "build", "--mpicc", mpicc, "-o"]).arg(&shim);
            command.output().expect("it runs")
        };
        let built = build(&mpi.mpicc.to_string_lossy());
        assert!(built.status.success(), "{built:?}");
        assert!(String::from_utf8_lossy(&built.stdout).contains(names(&mpi).0), "{built:?}");
        let info = mpi.command(PARABENCH).args(["mpi", "info", "--format", "json"]);
        let ended = info.env("PARABENCH_MPI_SHIM", &shim).run(LIMIT);
        assert_eq!(told(&ended.stdout)["mpi"]["shim"].as_str(), shim.to_str(), "{ended}");
        // A compiler that fails leaves what is there.
        let failed = build("false");
        assert_eq!(failed.status.code(), Some(2), "{failed:?}");
        assert!(shim.is_file());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
    }
}

/// The binary in a folder of its own, where its shim lies beside it.
fn installed(folder: &std::path::Path) -> std::path::PathBuf {
    let binary = folder.join("parabench");
    install(PARABENCH.as_ref(), &binary);
    binary
}

#[test]
fn the_shim_of_another_mpi_is_not_replaced_unasked() {
    let all = testing::all();
    let (Some(one), Some(other)) = (
        all.iter().find(|mpi| mpi.name == "openmpi"),
        all.iter().find(|mpi| mpi.name != "openmpi"),
    ) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let binary = installed(folder.path());
    let build = |mpi: &Mpi, more: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(["mpi", "build", "--mpicc"]).arg(&mpi.mpicc).args(more);
        let output = command.current_dir(folder.path()).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let files = || std::fs::read_dir(folder.path()).expect("readable").count();
    assert_eq!(build(one, &[]).0, Some(0));
    let (code, out, _) = build(one, &[]);
    assert!(code == Some(0) && out.contains(names(one).0), "the same again: {out}");
    let (code, _, err) = build(other, &[]);
    assert_eq!((code, files()), (Some(2), 2), "{err}");
    for part in [names(one).0, names(other).0, "--force", "PARABENCH_MPI_SHIM=FILE"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (code, out, err) = build(other, &["-o", "second.so"]);
    assert!(code == Some(0) && out.contains(names(other).0), "{out}{err}");
    assert!(err.contains("export PARABENCH_MPI_SHIM=/") && err.contains("second.so"), "{err}");
    let (code, out, err) = build(other, &["--force"]);
    assert!(code == Some(0) && out.contains(names(other).0) && err.is_empty(), "{out}{err}");
    let (code, _, err) = build(one, &["-o", "no/such/folder.so"]);
    assert!(code == Some(2) && err.contains("cannot write in its folder"), "{err}");
    assert!(!err.contains("mpicc"), "{err}");
    assert_eq!(files(), 3);
}

/// What is no shim stays, and a folder that cannot be written to is not the compiler's fault.
#[test]
fn a_shim_takes_the_place_of_shims_only() {
    let all = testing::all();
    let Some(mpi) = all.first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let build = |output: &str| {
        let mut command = Command::new(PARABENCH);
        command.args(["mpi", "build", "--mpicc"]).arg(&mpi.mpicc).args(["-o", output]);
        let output = command.current_dir(folder.path()).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("text"), "precious").expect("written");
    std::fs::write(path("empty"), "").expect("written");
    install(PARABENCH.as_ref(), &path("binary"));
    std::os::unix::fs::symlink("text", path("link")).expect("a link");
    std::os::unix::fs::symlink("nothing", path("dangling")).expect("a link");
    for (name, said) in [
        ("text", "-o text: the file that is there is no MPI shim of Parabench"),
        ("binary", "-o binary: the file that is there is no MPI shim of Parabench"),
        ("link", "-o link: expected a file, found a symbolic link"),
        ("dangling", "-o dangling: expected a file, found a symbolic link"),
        (".", "expected a regular file, found something else"),
        ("/proc/shim.so", "-o /proc/shim.so: cannot write in its folder: "),
    ] {
        let (code, err) = build(name);
        assert!(code == Some(2) && err.contains(said) && !err.contains("--mpicc"), "{name}: {err}");
    }
    assert_eq!(std::fs::read(path("text")).expect("readable"), b"precious");
    assert!(path("link").is_symlink() && path("dangling").is_symlink());
    // A shim may go, and so may an empty file.
    assert_eq!([build("empty").0, build("empty").0], [Some(0); 2]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 5);
}

/// Another shim further on may be for another MPI: the job would end for a reason that has nothing to
/// do with the file.
#[test]
fn a_file_beside_the_binary_that_is_no_shim_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = installed(folder.path());
    let shim = folder.path().join(mpi::shim::SHIM_FILE);
    std::fs::write(&shim, "garbage").expect("written");
    let output = Command::new(binary)
        .args(["mpi", "info"])
        .env_remove("PARABENCH_MPI_SHIM")
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = format!(
        "beside the binary ({}): the file that is there is no MPI shim of Parabench",
        shim.display()
    );
    assert!(told.contains(&said), "{told}");
}

fn info_with(shim: &str, format: &str) -> Output {
    let mut command = Command::new(PARABENCH);
    command.args(["mpi", "info", "--format", format]).env("PARABENCH_MPI_SHIM", shim);
    command.output().expect("it runs")
}

#[test]
fn without_mpi_info_says_why_and_nothing_is_wrong() {
    let output = info_with("/no/such/shim.so", "text");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.starts_with("no MPI: "), "{text}");
    for part in ["PARABENCH_MPI_SHIM", "/no/such/shim.so", "no such file", "parabench mpi build"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = info_with("/no/such/shim.so", "json");
    let object = told(&String::from_utf8_lossy(&output.stdout));
    assert!(object["mpi"].is_null() && object["reason"].is_string(), "{object}");
    // A file that is no shim is something wrong.
    let output = info_with(PARABENCH, "json");
    let object = told(&String::from_utf8_lossy(&output.stdout));
    assert!(object["mpi"].is_null() && output.status.code() == Some(1), "{output:?}");
}

/// A copy that was broken off: the dynamic linker would let the process die of SIGBUS.
#[test]
fn a_shim_that_is_cut_off_is_told_alone_and_under_a_launcher() {
    for mpi in testing::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let cut = folder.path().join("cut.so");
        let mut bytes = std::fs::read(mpi.shim()).expect("the shim");
        bytes.truncate(bytes.len() / 2);
        std::fs::write(&cut, bytes).expect("written");
        for (launch, code) in [(mpi.command(PARABENCH), 1), (mpi.launch(2, PARABENCH), 2)] {
            let ended = launch.args(["mpi", "info"]).env("PARABENCH_MPI_SHIM", &cut).run(LIMIT);
            assert_eq!(ended.code(), Some(code), "{ended}");
            assert!(ended.stdout.starts_with("no MPI: "), "{ended}");
            assert_eq!(ended.stdout.matches("is no MPI shim of Parabench").count(), 1, "{ended}");
        }
        let program = folder.path().join("x.ppl");
        std::fs::write(&program, "barrier;").expect("written");
        let launch = mpi.launch(2, PARABENCH).args(["run".as_ref(), program.as_os_str()]);
        let ended = launch.env("PARABENCH_MPI_SHIM", &cut).run(LIMIT);
        assert!(!ended.success() && !ended.hung, "{ended}");
        assert!(ended.stderr.contains("is no MPI shim of Parabench"), "{ended}");
    }
}

/// Not n worlds of one, and not a message of the library's that nobody understands.
#[test]
fn the_shim_of_another_mpi_is_named_under_a_launcher() {
    let all = testing::all();
    for mpi in &all {
        for other in &all {
            if (mpi.name == "openmpi") == (other.name == "openmpi") {
                continue;
            }
            let launch = mpi.launch(2, PARABENCH).args(["mpi", "info"]);
            let ended = launch.env("PARABENCH_MPI_SHIM", other.shim()).run(LIMIT);
            let told = &ended.stdout;
            assert!(!ended.hung && !ended.success(), "{ended}");
            assert_eq!(told.matches("compiled for another MPI").count(), 1, "{ended}");
            assert!(
                told.contains(names(other).0) && told.contains("parabench mpi build"),
                "{ended}"
            );
        }
    }
}
