//! A command under attack: started with its own group, watched, and nothing of it left.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What runs longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// Ranks notice within this time that their parent is gone.
const TO_LEAVE: Duration = Duration::from_secs(10);
/// All processes of a command carry this variable, with the scene's folder.
const MARK: &str = "ATTACK_SCENE";
/// For all commands: signals reach what they start in the background; `there PATTERN` waits until
/// a file exists.
const PRELUDE: &str = "set -m; there() { for n in $(seq 6000); do compgen -G \"$1\" >&/dev/null && \
                       return; sleep 0.01; done; echo \"$1 never came\"; exit 99; }\n";

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code, or 128 + signal.
    pub code: i32,
    /// Standard output and standard error.
    pub said: String,
}

/// Runs a shell command in `scene`, its output in files of `log`.
///
/// # Errors
/// It hangs, or leaves processes behind; they are ended.
pub fn run(command: &str, scene: &Path, log: &Path) -> Result<Ended, String> {
    let child = start(command, scene, log);
    wait(child, scene, log)
}

/// Starts a shell command.
pub fn start(command: &str, scene: &Path, log: &Path) -> Child {
    let binaries = Path::new(crate::scene::PARABENCH).parent().expect("a folder").to_path_buf();
    let others = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{PRELUDE}{command}")]).current_dir(scene).process_group(0);
    shell.env("PATH", format!("{}:{others}", binaries.display()));
    shell.env(MARK, scene).env("TMPDIR", scene.join("tmp")).env("LC_ALL", "C");
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "PWD", "OLDPWD"] {
        shell.env_remove(name);
    }
    let file = |name: &str| File::create(log.join(name)).expect("a log");
    shell.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
    shell.spawn().expect("bash starts")
}

/// Waits for its end.
///
/// # Errors
/// As [`run`].
pub fn wait(mut child: Child, scene: &Path, log: &Path) -> Result<Ended, String> {
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if since.elapsed() > LIMIT {
            end_all(scene);
            let _ = child.wait();
            return Err(format!("it hangs: ended after {LIMIT:?}\n{}", said(log)));
        }
        sleep(Duration::from_millis(2));
    };
    nobody_stays(scene)?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Ended { code, said: said(log) })
}

fn said(log: &Path) -> String {
    let text = |name: &str| {
        String::from_utf8_lossy(&fs::read(log.join(name)).unwrap_or_default()).into_owned()
    };
    text("out") + &text("err")
}

/// Processes that belong to a scene.
pub fn members(scene: &Path) -> Vec<i32> {
    let mark = format!("{MARK}={}", scene.display());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_member = |pid: &i32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(is_member).collect()
}

fn nobody_stays(scene: &Path) -> Result<(), String> {
    let since = Instant::now();
    while !members(scene).is_empty() {
        if since.elapsed() > TO_LEAVE {
            let count = members(scene).len();
            end_all(scene);
            return Err(format!("{count} processes were left behind"));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn end_all(scene: &Path) {
    for pid in members(scene) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
