//! Result folders that cannot be, reports of what is no run, and disks that are full.

use crate::scene::Scene;
use crate::tmpfs::Tmpfs;
use std::fs;

#[test]
fn a_result_folder_that_cannot_be_made_is_wrong_input() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");");
    let done = scene.parabench("run x.ppl --out /proc/parabench").exits(2);
    done.err_has("/proc/parabench").err_has("choose another folder");
    assert_eq!(scene.names("."), ["x.ppl"]);
}

/// A device that never ends, and a pipe that nobody writes to.
#[test]
fn a_report_of_what_is_no_file_ends() {
    let scene = Scene::new();
    let made = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    for wrong in ["/dev/zero", "/dev/null", "pipe"] {
        scene.parabench(&format!("report {wrong}")).exits(2).err_has("not a run of Parabench");
    }
}

/// Neither an empty directory nor half a marker stays.
#[test]
fn a_disk_without_room_for_the_marker_stays_as_it_is() {
    let scene = Scene::new().file("m/x.ppl", "create(\"f\");");
    let program = scene.text("m/x.ppl");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=64k") else { return };
    fs::write(scene.path("m/x.ppl"), program).expect("room");
    fs::create_dir(scene.path("m/d")).expect("room");
    assert!(fs::write(scene.path("m/fill"), vec![1; 1 << 20]).is_err(), "full");
    let call = |line: &str| {
        let mut command = std::process::Command::new(crate::scene::PARABENCH);
        command.args(line.split_whitespace());
        let call = scene.command(command);
        call.run().exits(2).err_has("No space left on device");
    };
    call("run m/x.ppl --dir m/d");
    call("run m/x.ppl --dir m/new");
    assert_eq!(scene.names("m/d"), [""; 0]);
    let shell = format!("cd m && exec {} run x.ppl", crate::scene::PARABENCH);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &shell]);
    scene.command(command).run().exits(2).err_has("No space left on device");
    let names = scene.names("m");
    assert!(!names.iter().any(|name| name.contains("scratch")), "{names:?}");
}
