//! One behaviour suite over the back-ends, and mem against the kernel.
//!
//! The scripts in `backends/*.txt` run on posix and beneath (in a temporary directory) and on
//! mem. Random sequences of calls must give the same on mem as on the kernel, and, with
//! paths that leave, as beneath. `PROPTEST_CASES=n` runs n new ones.
#![allow(unsafe_code)]
// What a file system lacks is said on standard error, as the test harness says it.
#![allow(clippy::print_stderr)]

#[path = "backends/place.rs"]
mod place;
#[path = "backends/random.rs"]
mod random;
#[path = "backends/script.rs"]
mod script;
#[path = "backends/steps.rs"]
mod steps;

use engine::backend::{Backend, Beneath, Cost, Mem, MemFs, Null, Posix};
use engine::call::{Call, Fd, Lent, Memory, QueueSettings, Queued, Reply, Submitted, Tag, Target};
use engine::clock::Virtual;
use place::{Place, in_directory, mem, own_current_directory};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use steps::{Outcome, Runner, Step};

fn beneath() -> Beneath {
    Beneath::new(Posix::new().expect("posix")).expect("openat2")
}

/// Without the lexical rule: the kernel alone.
fn kernel() -> Posix {
    Posix::new().expect("posix").trusting()
}

fn run_script<B: Backend>(place: Place, backend: B, directory: &str, title: &str, text: &str) {
    let mut runner = Runner::new(backend);
    for line in script::parse(text, directory) {
        let Some(expected) = line.expected(place) else { continue };
        let found = match runner.run(&line.step) {
            // It keeps no bytes.
            Outcome::Bytes(bytes) if place == Place::Mem && bytes.len() + 2 == expected.len() => {
                expected.into()
            }
            found => script::show(&found),
        };
        if found == "EOPNOTSUPP" && expected != found && place != Place::Mem {
            eprintln!("not tested: {title} on {}: {}: {found}", place.name(), line.text);
            return;
        }
        assert_eq!(found, expected, "on {} in {title}: {}", place.name(), line.text);
    }
}

fn run_everywhere(title: &str, text: &str) {
    in_directory(|dir| {
        let posix = Posix::new().expect("posix");
        run_script(Place::Posix, posix, dir.to_str().expect("UTF-8"), title, text);
    });
    in_directory(|dir| {
        let beneath = beneath();
        run_script(Place::Beneath, beneath, dir.to_str().expect("UTF-8"), title, text);
    });
    in_directory(|dir| {
        if let Some(queue) = ByQueue::open(Posix::new().expect("posix")) {
            run_script(Place::Posix, queue, dir.to_str().expect("UTF-8"), title, text);
        }
    });
    in_directory(|dir| {
        if let Some(queue) = ByQueue::open(beneath()) {
            run_script(Place::Beneath, queue, dir.to_str().expect("UTF-8"), title, text);
        }
    });
    run_script(Place::Mem, mem("/run/dir"), "/run/dir", title, text);
}

#[test]
fn scripts_behave_as_written_on_every_back_end() {
    own_current_directory();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/backends");
    let mut scripts = 0;
    for entry in fs::read_dir(folder).expect("the folder of scripts") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            scripts += run_file(&path);
        }
    }
    assert!(scripts >= 20, "found {scripts} scripts");
}

fn run_file(path: &Path) -> usize {
    let text = fs::read_to_string(path).expect("a readable script");
    let name = path.file_name().expect("a name").to_string_lossy();
    let scripts: Vec<&str> = text.split("== ").skip(1).collect();
    for script in &scripts {
        let (title, lines) = script.split_once('\n').expect("a title");
        run_everywhere(&format!("{name}: {title}"), lines);
    }
    scripts.len()
}

/// The same sequences in every run, so that a test that passed passes; with
/// `PROPTEST_CASES=n`, n new ones.
fn runner() -> TestRunner {
    let config = Config { failure_persistence: None, ..Config::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

/// Runs sequences on `real` and on mem and shows the first difference.
fn compare(leaving: bool, real: impl Fn(&[Step]) -> Vec<Outcome>) {
    own_current_directory();
    let mut runner = runner();
    let result = runner.run(&random::sequences(leaving), |sequence| {
        let (real, simulated) = in_directory(|dir| {
            let path = dir.to_str().expect("UTF-8");
            let steps: Vec<_> = sequence.iter().map(|step| random::placed(step, path)).collect();
            (real(&steps), outcomes(mem(path), &steps))
        });
        let differs =
            real.iter().zip(&simulated).position(|(real, simulated)| !is_alike(real, simulated));
        match differs {
            None => Ok(()),
            Some(at) => {
                let (real, simulated) = (&real[at], &simulated[at]);
                Err(TestCaseError::fail(format!("line {at}: {real:?}, but mem {simulated:?}")))
            }
        }
    });
    if let Err(TestError::Fail(reason, sequence)) = result {
        panic!("{reason}\n{}", steps::show_steps(&sequence));
    }
}

fn outcomes<B: Backend>(backend: B, steps: &[Step]) -> Vec<Outcome> {
    let mut runner = Runner::new(backend);
    steps.iter().map(|step| runner.run(step)).collect()
}

/// Sequences on mem keep no bytes, only their number.
fn is_alike(real: &Outcome, simulated: &Outcome) -> bool {
    match (real, simulated) {
        (Outcome::Bytes(real), Outcome::Bytes(simulated)) => real.len() == simulated.len(),
        (real, simulated) => real == simulated,
    }
}

#[test]
fn mem_does_what_the_kernel_does() {
    compare(false, |steps| outcomes(kernel(), steps));
}

#[test]
fn io_uring_does_what_the_calls_do() {
    own_current_directory();
    let there = in_directory(|_| ByQueue::open(Posix::new().expect("posix")).is_some());
    if there {
        compare(false, |steps| outcomes(ByQueue::open(kernel()).expect("as before"), steps));
    }
}

#[test]
fn mem_refuses_what_is_refused_beneath() {
    compare(true, |steps| outcomes(beneath(), steps));
}

#[test]
fn the_null_back_end_succeeds_in_full() {
    let mut null = Null;
    let fd = null.issue(Call::Open { path: c"a", flags: libc::O_RDONLY, mode: 0 });
    assert!(fd >= 0);
    let fd = Fd(fd as i32);
    let mut buf = [7; 16];
    assert_eq!(null.issue(Call::Pread { fd, buf: &mut buf, offset: 0, rest: false }), 16);
    assert_eq!(null.issue(Call::Pread { fd, buf: &mut buf, offset: 0, rest: true }), 0);
    assert_eq!(null.issue(Call::Pwrite { fd, buf: &buf, offset: 0 }), 16);
    assert_eq!(null.issue(Call::Append { fd, buf: &buf }), 16);
    assert_eq!(null.issue(Call::Unlink { path: c"missing" }), 0);
    assert_eq!(null.issue(Call::Getdents { fd, buf: &mut buf }), 0);
    assert_eq!(null.issue(Call::Close { fd }), 0);
}

#[test]
fn calls_on_mem_take_virtual_time_and_nothing_else() {
    let clock = Virtual::start();
    let cost = Cost {
        open_ns: 100,
        close_ns: 10,
        data_ns: 1_000,
        metadata_ns: 7,
        sync_ns: 50_000,
        bytes_per_us: 1_000,
    };
    let mut mem = Mem::new(MemFs::shared("/run"), clock.clone(), cost);
    let flags = libc::O_CREAT | libc::O_RDWR;
    let fd = Fd(mem.issue(Call::Open { path: c"a", flags, mode: 0o666 }) as i32);
    assert_eq!(clock.now(), 100);
    mem.issue(Call::Pwrite { fd, buf: &[1; 4096], offset: 0 });
    assert_eq!(clock.now(), 100 + 1_000 + 4_096);
    let mut buf = [0; 8192];
    let read = mem.issue(Call::Pread { fd, buf: &mut buf, offset: 4_000, rest: true });
    assert_eq!((read, clock.now()), (96, 5_196 + 1_000 + 96));
    mem.issue(Call::Fsync { fd });
    mem.issue(Call::Stat { path: c"missing" });
    mem.issue(Call::Close { fd });
    assert_eq!(clock.now(), 6_292 + 50_000 + 7 + 10);
}

/// Submits a transfer; its reply if it is over.
fn submit(
    backend: &mut impl Backend,
    tag: u32,
    fd: Fd,
    offset: u64,
    memory: Memory<'_>,
) -> Submitted {
    // SAFETY: the callers keep the memory until all transfers have ended.
    let memory = unsafe { Lent::new(memory) };
    backend.submit(
        Tag(tag),
        Queued { target: Target::File(fd), offset, asked_bytes: memory.parts().1 as u64, memory },
    )
}

/// Waits for what was submitted: replies by tag.
fn replies(backend: &mut impl Backend, submitted: Vec<Submitted>) -> Vec<Reply> {
    let under_way = submitted.iter().filter(|one| **one == Submitted::UnderWay).count();
    backend.hand_over(under_way as u32);
    let mut replies: Vec<(Tag, Reply)> = std::iter::from_fn(|| backend.ended()).collect();
    for (tag, submitted) in submitted.into_iter().enumerate() {
        if let Submitted::Done(reply) = submitted {
            replies.push((Tag(tag as u32), reply));
        }
    }
    replies.sort();
    assert!(replies.iter().enumerate().all(|(at, (tag, _))| tag.0 as usize == at), "{replies:?}");
    replies.into_iter().map(|(_, reply)| reply).collect()
}

/// Writes and reads through a queue on a back-end with an empty directory.
fn queue(mut backend: impl Backend) {
    let flags = libc::O_CREAT | libc::O_RDWR;
    let fd = Fd(backend.issue_prepared(Call::Open { path: c"queued", flags, mode: 0o666 }) as i32);
    let data: Vec<u8> = (0..=255).collect();
    let offsets = [100u64, 0, 200];
    let ends = |at: usize| if at == 2 { 256 } else { offsets[at] as usize + 100 };
    let writes = (0..3).map(|at| {
        let memory = Memory::Write(&data[offsets[at] as usize..ends(at)]);
        submit(&mut backend, at as u32, fd, offsets[at], memory)
    });
    let writes = writes.collect();
    assert_eq!(replies(&mut backend, writes), [100, 100, 56]);
    let mut read = vec![0; 256];
    assert_eq!(backend.issue(Call::Pread { fd, buf: &mut read, offset: 0, rest: false }), 256);
    assert_eq!(read, data);
    let mut parts = [[0; 128], [1; 128]];
    let [first, second] = &mut parts;
    let reads = vec![
        submit(&mut backend, 0, fd, 128, Memory::Read(second)),
        submit(&mut backend, 1, fd, 0, Memory::Read(first)),
        submit(&mut backend, 2, fd, 256, Memory::Read(&mut [])),
        submit(&mut backend, 3, Fd(-1), 0, Memory::Write(&data)),
    ];
    let bad = -Reply::from(libc::EBADF);
    assert_eq!(replies(&mut backend, reads), [128, 128, 0, bad]);
    assert_eq!(parts.concat(), data);
    assert_eq!(backend.ended(), None);
}

trait IssuePrepared: Backend {
    fn issue_prepared(&mut self, call: Call<'_>) -> Reply {
        assert_eq!(self.prepare(&call), Ok(()));
        self.issue(call)
    }
}

impl<B: Backend> IssuePrepared for B {}

/// Calls that a queue takes go through one.
struct ByQueue<B>(B);

impl<B: Backend> ByQueue<B> {
    /// Without io_uring here, `None`, said aloud.
    fn open(mut backend: B) -> Option<ByQueue<B>> {
        let settings = QueueSettings { depth: 4, sqpoll: false, iopoll: false };
        match backend.open_queue(&settings) {
            Ok(()) => Some(ByQueue(backend)),
            Err(errno) => {
                eprintln!("not tested: io_uring cannot be used here: errno {errno}");
                None
            }
        }
    }

    fn queued(&mut self, target: Target, offset: u64, memory: Memory<'_>) -> Reply {
        // SAFETY: the memory stays until the only call under way has ended.
        let memory = unsafe { Lent::new(memory) };
        match self
            .0
            .submit(Tag(7), Queued { target, offset, asked_bytes: memory.parts().1 as u64, memory })
        {
            Submitted::Done(reply) => reply,
            Submitted::UnderWay => {
                self.0.hand_over(1);
                let (tag, reply) = self.0.ended().expect("it is under way");
                assert_eq!(tag, Tag(7));
                reply
            }
        }
    }
}

impl<B: Backend> Backend for ByQueue<B> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.0)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        match call {
            Call::Pread { fd, buf, offset, .. } => {
                self.queued(Target::File(fd), offset, Memory::Read(buf))
            }
            Call::Pwrite { fd, buf, offset } => {
                self.queued(Target::File(fd), offset, Memory::Write(buf))
            }
            Call::Fsync { fd } => {
                self.queued(Target::Sync { fd, data: false }, 0, Memory::Write(&[]))
            }
            Call::Fdatasync { fd } => {
                self.queued(Target::Sync { fd, data: true }, 0, Memory::Write(&[]))
            }
            Call::Close { fd } => {
                self.0.leave_file(fd);
                self.0.issue(call)
            }
            call => self.0.issue(call),
        }
    }
}

#[test]
fn queued_transfers_move_what_calls_move() {
    in_directory(|_| {
        if let Some(ByQueue(posix)) = ByQueue::open(Posix::new().expect("posix")) {
            queue(posix);
        }
    });
    in_directory(|_| queue(Posix::new().expect("posix")));
    in_directory(|_| queue(beneath()));
}

#[test]
fn transfers_under_way_on_mem_end_by_their_times() {
    let clock = Virtual::start();
    let cost = Cost { open_ns: 0, data_ns: 1_000, bytes_per_us: 1_000, ..Cost::default() };
    let mut mem = Mem::new(MemFs::shared("/run"), clock.clone(), cost);
    let flags = libc::O_CREAT | libc::O_RDWR;
    let fd = Fd(mem.issue(Call::Open { path: c"a", flags, mode: 0o666 }) as i32);
    let large = [1; 4096];
    for (tag, len) in [(0, 4096), (1, 10), (2, 500)] {
        let submitted = submit(&mut mem, tag, fd, 0, Memory::Write(&large[..len]));
        assert_eq!((submitted, clock.now()), (Submitted::UnderWay, 0));
    }
    let ends: Vec<(u32, Reply, u64)> = std::iter::from_fn(|| {
        mem.hand_over(1);
        let (tag, reply) = mem.ended()?;
        Some((tag.0, reply, clock.now()))
    })
    .collect();
    assert_eq!(ends, [(1, 10, 1_010), (2, 500, 1_500), (0, 4096, 5_096)]);
}

#[test]
fn ranks_share_a_mem_file_system_but_no_descriptors() {
    let fs = MemFs::shared("/run");
    let rank = || Mem::new(fs.clone(), Virtual::start(), Cost::default());
    let (mut one, mut two) = (rank(), rank());
    let flags = libc::O_CREAT | libc::O_RDWR;
    let open = |rank: &mut Mem, path| rank.issue(Call::Open { path, flags, mode: 0o666 });
    let fd = Fd(open(&mut one, c"a") as i32);
    assert_eq!(one.issue(Call::Pwrite { fd, buf: b"shared", offset: 0 }), 6);
    assert_eq!(two.issue(Call::Stat { path: c"a" }), 6);
    assert_eq!(two.issue(Call::Fstat { fd }), -i64::from(libc::EBADF));
    assert!(open(&mut one, c"b") >= 0);
    assert_eq!(two.issue(Call::Unlink { path: c"a" }), 0);
    let mut buf = [0; 9];
    assert_eq!(one.issue(Call::Pread { fd, buf: &mut buf, offset: 0, rest: false }), 6);
    assert_eq!(one.issue(Call::Close { fd }), 0);
    assert_eq!(Fd(open(&mut one, c"c") as i32), fd, "the lowest free number");
}

/// What a stranger's link in the directory leads to.
fn facts(path: &Path) -> (u32, u64, std::time::SystemTime) {
    let facts = fs::metadata(path).expect("it is there");
    (facts.permissions().mode(), facts.len(), facts.modified().expect("a time"))
}

#[test]
fn nothing_outside_changes_through_links_that_leave() {
    own_current_directory();
    in_directory(|dir| {
        let outside = dir.parent().expect("a parent").join("out");
        let victim = outside.join("victim");
        fs::create_dir(&outside).expect("mkdir");
        fs::write(&victim, "precious").expect("write");
        symlink(&victim, "file").expect("symlink");
        symlink("../out", "way").expect("symlink");
        symlink("/proc/self/cwd/../out", "magic").expect("symlink");
        fs::write("mine", "x").expect("write");
        let before = facts(&victim);
        let mut runner = Runner::new(beneath());
        for path in ["file", "way/victim", "magic/victim", "../out/victim"] {
            let path = CString::new(path).expect("no NUL inside");
            for step in [
                Step::Open(0, path.clone(), libc::O_RDONLY, 0),
                Step::Open(0, path.clone(), libc::O_WRONLY | libc::O_TRUNC, 0),
                Step::Stat(path.clone()),
                Step::Access(path.clone()),
                Step::Chmod(path.clone(), 0o777),
                Step::Utime(path.clone()),
                Step::Truncate(path.clone(), 0),
                Step::Statfs(path.clone()),
            ] {
                assert_eq!(runner.run(&step), Outcome::Errno("EXDEV"), "{step:?}");
            }
        }
        let (mine, inside) = (CString::from(c"mine"), CString::from(c"way/victim"));
        for step in [
            Step::Unlink(inside.clone()),
            Step::Rename(mine.clone(), inside.clone()),
            Step::Rename(inside.clone(), mine.clone()),
            Step::Link(mine, c"way/new".into()),
            Step::Link(inside.clone(), c"new".into()),
            Step::Mkdir(c"way/new".into()),
            Step::Rmdir(c"way/new".into()),
            Step::Symlink(c"x".into(), c"way/new".into()),
            Step::Readlink(inside),
        ] {
            assert_eq!(runner.run(&step), Outcome::Errno("EXDEV"), "{step:?}");
        }
        assert_eq!(facts(&victim), before);
        assert_eq!(fs::read_dir(&outside).expect("readdir").count(), 1);
        assert_eq!(runner.run(&Step::Unlink(c"file".into())), Outcome::Number(0));
    });
}
