//! A folder to try things in, and calls of the program that read like prose:
//!
//! ```text
//! Scene::new().file("x.ppl", "writ(1);").parabench("check x.ppl").exits(2).err_has("E0202");
//! ```

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub const PARABENCH: &str = env!("CARGO_BIN_EXE_parabench");
/// A call that takes longer hangs, and is killed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// A folder of its own, removed at the end.
pub struct Scene {
    folder: TempDir,
}

impl Scene {
    /// An empty folder on the file system that the build lies on.
    pub fn new() -> Scene {
        Scene::on(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// An empty folder below `place`.
    pub fn on(place: &Path) -> Scene {
        let folder = tempfile::Builder::new().prefix("scene-").tempdir_in(place);
        Scene { folder: folder.expect("a temporary folder") }
    }

    /// Puts a file there.
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Scene {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    /// Puts a program there.
    pub fn script(self, name: &str, text: &str) -> Scene {
        let scene = self.file("script.text", text);
        install(&scene.path("script.text"), &scene.path(name));
        fs::remove_file(scene.path("script.text")).expect("removed");
        scene
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// A file as JSON.
    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// Names in a folder, in order.
    pub fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Calls `parabench` with the words of `line`, and waits for its end.
    pub fn parabench(&self, line: &str) -> Done {
        self.call(line).run()
    }

    /// A call of `parabench` that is still to be changed.
    pub fn call(&self, line: &str) -> Call {
        let mut command = Command::new(PARABENCH);
        command.args(line.split_whitespace());
        self.command(command)
    }

    /// Another command in this folder.
    pub fn command(&self, mut command: Command) -> Call {
        command.current_dir(self.folder.path());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "PWD"] {
            command.env_remove(name);
        }
        Call { command, input: Vec::new() }
    }
}

/// Copies a program by a process of its own: a program that this process had open for writing
/// cannot be executed while a child of another thread, between fork and exec, still has it open.
pub fn install(program: &Path, to: &Path) {
    let mut command = Command::new("install");
    let done = command.args(["-m", "755"]).args([program, to]).status();
    assert!(done.expect("install of coreutils").success(), "{}", to.display());
}

/// Runs that a test has killed leave their records in memory, for whoever settles them.
impl Drop for Scene {
    fn drop(&mut self) {
        for folder in records(self.folder.path()) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Folders in memory in which runs of a scene have recorded.
pub fn records(scene: &Path) -> Vec<PathBuf> {
    let Ok(scene) = scene.canonicalize() else { return Vec::new() };
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let is_ours = |folder: &PathBuf| {
        let owner = folder.join("owner");
        if !fs::symlink_metadata(&owner).is_ok_and(|facts| facts.is_file()) {
            return false;
        }
        let owner = fs::read(owner).unwrap_or_default();
        String::from_utf8_lossy(&owner).contains(&*scene.to_string_lossy())
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

/// A call before it is made.
pub struct Call {
    command: Command,
    input: Vec<u8>,
}

impl Call {
    /// Adds one word that may hold blanks.
    pub fn word(mut self, word: impl AsRef<OsStr>) -> Call {
        self.command.arg(word);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(mut self, name: &str, value: &str) -> Call {
        self.command.env(name, value);
        self
    }

    /// Makes this folder the current one.
    pub fn inside(mut self, folder: impl AsRef<Path>) -> Call {
        self.command.current_dir(folder);
        self
    }

    /// What it finds on standard input.
    pub fn input(mut self, text: impl AsRef<[u8]>) -> Call {
        self.input = text.as_ref().to_vec();
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = self.input;
        // It may end without reading its input.
        spawn(move || drop(stdin.write_all(&input)));
        let out = Stream::listen(child.stdout.take().expect("piped"));
        let err = Stream::listen(child.stderr.take().expect("piped"));
        Running { child, out, err, since: Instant::now() }
    }

    /// Starts it and waits for its end.
    pub fn run(self) -> Done {
        self.start().finish()
    }

    /// The same with a terminal as standard error: what came to it, and to standard output.
    pub fn at_terminal(mut self) -> (String, String) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let mode = rustix::fs::Mode::empty();
        let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, mode)
            .expect("opened");
        self.command.env("TERM", "xterm").stdin(Stdio::null());
        let child = self.command.stdout(Stdio::piped()).stderr(slave).spawn().expect("started");
        drop(self.command);
        let reader = spawn(move || {
            let mut seen = Vec::new();
            // The last end that is closed is EIO, not an end of file.
            let _ = fs::File::from(master).read_to_end(&mut seen);
            text(seen)
        });
        let done = child.wait_with_output().expect("it ends");
        (reader.join().expect("read"), text(done.stdout))
    }
}

/// What a stream has said so far, and the thread that listens.
struct Stream {
    heard: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Stream {
    fn listen(mut stream: impl Read + Send + 'static) -> Stream {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heard);
        let listener = spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                shared.lock().expect("no panic").extend(&piece[..count]);
            }
        });
        Stream { heard, listener }
    }

    fn so_far(&self) -> String {
        text(self.heard.lock().expect("no panic").clone())
    }

    fn all(self) -> String {
        self.listener.join().expect("no panic");
        text(self.heard.lock().expect("no panic").clone())
    }
}

/// A call that is under way.
pub struct Running {
    child: Child,
    out: Stream,
    err: Stream,
    since: Instant,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The ranks: its child processes, in order of their ids.
    pub fn ranks(&self) -> Vec<i32> {
        let pid = self.pid();
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        list.unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// What it has said on standard error so far.
    pub fn heard(&self) -> String {
        self.err.so_far()
    }

    /// It has said this on standard error.
    pub fn said(&self, part: &str) -> bool {
        self.heard().contains(part)
    }

    /// Waits until `happened`; the call must not hang.
    pub fn until(&self, what: &str, mut happened: impl FnMut() -> bool) -> &Running {
        while !happened() {
            assert!(self.since.elapsed() < PATIENCE, "{what} never happened");
            sleep(Duration::from_millis(2));
        }
        self
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: i32) -> &Running {
        kill(self.pid(), signal);
        self
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Done {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if self.since.elapsed() > PATIENCE {
                self.child.kill().expect("killed");
                panic!("it hangs: {}", self.err.so_far());
            }
            sleep(Duration::from_millis(2));
        };
        Done { code: status.code(), out: self.out.all(), err: self.err.all() }
    }
}

/// Says, past the test harness, that a test cannot do its work here.
pub fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Sends a signal to a process.
pub fn kill(pid: i32, signal: i32) {
    let number = signal.to_string();
    let done = Command::new("kill").args([&format!("-{number}"), &pid.to_string()]).status();
    assert!(done.expect("kill runs").success(), "signal {signal} to {pid}");
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a text holds a part, wherever its lines were broken: a sentence with a measured time
/// in it is sometimes a word longer.
pub fn holds(text: &str, part: &str) -> bool {
    let flowed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.contains(part) || flowed(text).contains(&flowed(part))
}

/// A call that has ended.
#[derive(Debug)]
pub struct Done {
    /// Exit code; `None`: ended by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Done {
    /// It ended so.
    #[track_caller]
    pub fn exits(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Standard output holds this.
    #[track_caller]
    pub fn out_has(self, part: &str) -> Done {
        assert!(holds(&self.out, part), "no {part:?} in the output:\n{}\n{}", self.out, self.err);
        self
    }

    /// Standard error holds this.
    #[track_caller]
    pub fn err_has(self, part: &str) -> Done {
        assert!(holds(&self.err, part), "no {part:?} in the errors:\n{}\n{}", self.err, self.out);
        self
    }

    /// Standard output is exactly this.
    #[track_caller]
    pub fn out_is(self, all: &str) -> Done {
        assert_eq!(self.out, all, "\n--- err\n{}", self.err);
        self
    }

    /// Standard error is exactly this.
    #[track_caller]
    pub fn err_is(self, all: &str) -> Done {
        assert_eq!(self.err, all, "\n--- out\n{}", self.out);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|why| panic!("{why} in the output:\n{}\n{}", self.out, self.err))
    }
}
