//! Emptying the page cache: what was done, and what the run says came of it.

use crate::scene::{PARABENCH, Scene, skip};
use crate::schema::run_object;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const REFUSED: &str = "write(\"f\", 4k); time[\"drop\"] dropcaches; time[\"after\"] read(\"f\");";

/// Of the only label that has tried.
fn control(run: &Value) -> Value {
    let labels = run["run"]["evidence"]["labels"].as_array().expect("labels");
    let mut told = labels.iter().filter(|label| label.get("cache_control").is_some());
    told.next().unwrap_or_else(|| panic!("{labels:#?}"))["cache_control"].clone()
}

#[test]
fn files_that_are_needed_no_more_are_looked_at_afterwards() {
    let text = "$h = fopen(\"f\", \"w+\"); fwrite($h, 1m); fsync($h);\n\
                time[\"clear\"] { fadvise($h, 0, 0, \"dontneed\"); fadvise($h, 0, 4k, \"dontneed\"); \
                fadvise($h, 0, 0, \"random\"); }\nfclose($h);";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    let control = control(&run);
    assert_eq!((&control["advised"], &control["drops"]), (&2.into(), &0.into()), "{control:#}");
    let bytes = |name: &str| control[name].as_u64().expect("a number");
    let (looked, kept) = (bytes("advice_looked_bytes"), bytes("advice_kept_bytes"));
    // Kernels before 6.5 cannot tell; a part of a file is not looked at.
    assert!([0, 1 << 20].contains(&looked) && kept <= looked, "{control:#}");
    if looked > 0 && run["run"]["host"]["storage"]["file_system"] == "ext4" {
        assert_eq!(kept, 0, "clean pages are dropped");
    }
    scene.parabench("run x.ppl -v").exits(0).out_has("fadvise \"dontneed\" 2 times: ");
    let virtual_time =
        run_object(&scene.parabench("run x.ppl --backend mem --format json").exits(0));
    let labels = virtual_time["run"]["evidence"]["labels"].as_array().expect("labels");
    assert!(labels.iter().all(|label| label.get("cache_control").is_none()), "{labels:#?}");
}

#[test]
fn a_page_cache_that_nobody_may_drop_is_said_with_what_to_do_instead() {
    let scene = Scene::on(Path::new("/tmp")).file("x.ppl", REFUSED);
    fs::set_permissions(scene.path("."), fs::Permissions::from_mode(0o777)).expect("chmod");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", PARABENCH];
    let run = |words: &str| {
        let mut command = Command::new("setpriv");
        command.args(nobody).args(words.split_whitespace());
        scene.command(command).run()
    };
    if run("--version").code != Some(0) {
        return skip("nobody cannot start the program here");
    }
    let told = run("run x.ppl --format json").exits(1);
    let object = run_object(&told);
    let control = control(&object);
    assert_eq!(
        (&control["drops_refused"], &control["drops"]),
        (&1.into(), &0.into()),
        "{control:#}"
    );
    let failures = object["run"]["failures"].as_array().expect("failures");
    let message = failures[0]["message"].as_str().expect("a sentence");
    assert!(message.contains("root may drop it") && message.contains("fadvise"), "{message}");
    run("run x.ppl -v").exits(1).out_has("dropcaches: DID NOT HAPPEN (once refused)");
}
