//! Real commands are recorded, folded and replayed: the small ones of `make fidelity`, once each.

use crate::scene::root;
use std::process::Command;

#[test]
fn small_commands_fold_without_loss_and_their_replays_do_the_same() {
    let script = root().join("benches/fidelity/measure.py");
    let version = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !version.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: it needs Python 3.11 or newer");
        return;
    }
    let mut command = Command::new("python3");
    command.arg(script).arg("--quick").arg(env!("CARGO_BIN_EXE_parabench"));
    // What is recorded finds its own libraries.
    let done = command.env_remove("LD_LIBRARY_PATH").output().unwrap();
    let (out, err) = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap()).into();
    assert!(done.status.success(), "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    for line in lines {
        let same = line.contains("without loss") && line.ends_with("differs in 0 operations");
        assert!(same || line.contains("skipped"), "{line}");
    }
}
