//! Processes, descriptors and files as a kernel has them: steps become calls, and the operations that
//! these are.

mod descriptors;
mod moves;
mod names;
mod silent;

use crate::files::{Files, parent};
use model::Op;
use model::event::{FLAG_EXPECTED, FLAG_FAILED, NO_ID};
use names::on_name;
use std::collections::BTreeMap;

/// Calls that become operations.
const CALLS: &str = "\
    open openat openat2 creat close close_range dup2 read pread64 readv preadv preadv2 write \
    pwrite64 writev pwritev pwritev2 copy_file_range sendfile splice lseek fsync fdatasync \
    syncfs sync fadvise64 stat lstat newfstatat statx fstat access faccessat faccessat2 \
    truncate ftruncate fallocate unlink unlinkat rmdir mkdir mkdirat rename renameat \
    renameat2 link linkat symlink symlinkat readlink readlinkat getdents64 chmod fchmodat \
    fchmod utimensat statfs fstatfs setxattr fsetxattr getxattr fgetxattr listxattr \
    flistxattr removexattr fremovexattr";
/// Calls that change what others mean, or nothing.
const SILENT: &str = "\
    dup dup3 fcntl-dup fcntl-setfd fcntl-setfl chdir fchdir mmap msync flock exit execve \
    restarted io_uring_enter";
/// Half of all steps open something, so that others find something open.
const OPENS: &str = "\
    open openat openat2 openat creat mkdir fcntl-dup";

const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_TRUNC: u32 = 0o1000;
const O_APPEND: u32 = 0o2000;
const O_DIRECTORY: u32 = 0o200_000;
const O_CLOEXEC: u32 = 0o2_000_000;
const OPEN_FLAGS: &[u32] = &[
    0,
    1,
    2,
    O_CLOEXEC,
    2 | O_CREAT,
    1 | O_CREAT | O_TRUNC,
    1 | O_CREAT | O_EXCL,
    2 | O_APPEND,
    2 | O_CREAT | O_APPEND | O_CLOEXEC,
    1 | O_CREAT | O_APPEND | O_TRUNC,
    O_DIRECTORY,
    O_DIRECTORY | O_CLOEXEC,
    0o40_000,
    0o4_010_000 | 2,
];
const ERRORS: &[(&str, u16)] = &[("EACCES", 13), ("EIO", 5), ("ENOSPC", 28), ("EINTR", 4)];
const FAULTS: &[u16] = &[5, 28];

/// Number of the first thread.
pub const FIRST: u64 = 100;

/// What a thread is to do: which call, and numbers that say on what.
pub type Step = (u8, u16, u16, u16, u16, u8);

/// An operation of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operation {
    pub thread: u64,
    pub op: String,
    pub call: String,
    pub label: Vec<u8>,
    pub path: Vec<u8>,
    pub path2: Vec<u8>,
    pub instance: u32,
    pub instance2: u32,
    pub file: u32,
    pub open_flags: u32,
    pub offset: u64,
    pub from: u64,
    pub requested: u64,
    pub done: u64,
    pub errno: u16,
    pub flags: u8,
    pub start_ns: u64,
    pub elapsed_ns: u64,
    pub busy_ns: u64,
}

/// An operation and the calls that it is; its time is theirs, or none.
#[derive(Clone, Debug)]
pub struct Timed {
    pub operation: Operation,
    pub calls: Vec<usize>,
    pub has_time: bool,
}

/// A descriptor with the name of what is open, and whether that was removed.
#[derive(Clone, Debug)]
pub struct Shown {
    pub number: i64,
    pub name: Vec<u8>,
    pub removed: bool,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Arg {
    Fd(Shown),
    Cwd(Vec<u8>),
    Name(Vec<u8>),
    Buffer(u64),
    Vector(Vec<u64>),
    Word(String),
}

/// A result.
#[derive(Clone, Debug)]
pub enum Gives {
    Number(i64),
    Open(Shown),
    Error(&'static str),
    Restart,
    Nothing,
}

/// A call as strace sees it, times in microseconds.
#[derive(Clone, Debug)]
pub struct Call {
    pub thread: u64,
    pub name: &'static str,
    pub args: Vec<Arg>,
    pub gives: Gives,
    pub start_us: u64,
    pub end_us: u64,
}

/// Calls in the order in which they were felt, and what they are.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub calls: Vec<Call>,
    pub operations: Vec<Timed>,
}

#[derive(Clone, Debug)]
struct Instance {
    path: Vec<u8>,
    file: u32,
    is_directory: bool,
    flags: u32,
    position: Option<u64>,
    references: u32,
    listed: Vec<usize>,
    name: Vec<u8>,
    removed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    instance: usize,
    at_exec: bool,
}

#[derive(Clone, Debug)]
struct Thread {
    number: u64,
    table: usize,
    directory: usize,
    label: Vec<u8>,
    over: bool,
}

/// What is done at a moment.
#[derive(Clone, Copy, Debug)]
enum What {
    Step(&'static str, Step),
    Begin { child: usize, parent: usize, shares: bool },
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    felt_us: u64,
    start_us: u64,
    end_us: u64,
    thread: usize,
    what: What,
}

#[derive(Default)]
struct World {
    run: Run,
    files: Files,
    instances: Vec<Instance>,
    tables: Vec<BTreeMap<i64, Slot>>,
    directories: Vec<Vec<u8>>,
    threads: Vec<Thread>,
}

/// Every call that becomes an operation.
pub fn calls() -> Vec<&'static str> {
    CALLS.split_whitespace().collect()
}

fn called(step: Step) -> &'static str {
    let kind = usize::from(step.1);
    let known: Vec<&str> = match kind % 3 {
        0 => OPENS.split_whitespace().collect(),
        _ => CALLS.split_whitespace().chain(SILENT.split_whitespace()).collect(),
    };
    known[kind / 3 % known.len()]
}

/// When each step happens. Steps begin one after the other; with `overlaps` they may last.
fn schedule(steps: &[Step], threads: &[u8], overlaps: bool) -> Vec<Moment> {
    let mut free_us = vec![10_000];
    let mut over = vec![false];
    let mut clock_us = 10_000;
    let mut moments: Vec<Moment> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let mut add = |free_us: &mut Vec<u64>, thread: usize, what: What, last_us: u64| {
            let start_us = (clock_us + 1000).max(free_us[thread].next_multiple_of(1000) + 1000);
            let end_us = start_us + last_us;
            (clock_us, free_us[thread]) = (start_us, end_us);
            let early = matches!(what, What::Step("close", _));
            let felt_us = if early { start_us } else { end_us };
            moments.push(Moment { felt_us, start_us, end_us, thread, what });
        };
        for byte in threads.iter().filter(|byte| usize::from(**byte) % steps.len() == number) {
            let (child, parent) = (free_us.len(), usize::from(*byte) / 2 % free_us.len());
            let parent = if over[parent] { 0 } else { parent };
            let shares = byte % 2 == 0;
            add(&mut free_us, parent, What::Begin { child, parent, shares }, 100);
            free_us.push(0);
            over.push(false);
        }
        let thread = usize::from(step.0) % free_us.len();
        let thread = if over[thread] { 0 } else { thread };
        let name = called(*step);
        over[thread] |= name == "exit" && thread > 0;
        let lasts = overlaps && step.5 % 3 == 0 && !matches!(name, "execve" | "exit");
        let last_us = if lasts { u64::from(step.5 % 7) * 1000 } else { 0 };
        add(&mut free_us, thread, What::Step(name, *step), last_us + 500 + number as u64 % 400);
    }
    moments.sort_by_key(|moment| moment.felt_us);
    moments
}

/// Executes steps. Of each byte of `threads` a thread or a process begins.
pub fn run(steps: &[Step], threads: &[u8], overlaps: bool) -> Run {
    let mut world = World::default();
    world.tables.push(BTreeMap::new());
    world.directories.push(b"/d".to_vec());
    let label = b"app".to_vec();
    world.threads.push(Thread { number: FIRST, table: 0, directory: 0, label, over: false });
    world.begin();
    for moment in schedule(steps, threads, overlaps) {
        match moment.what {
            What::Begin { child, parent, shares } => world.spawn(moment, child, parent, shares),
            What::Step(name, step) => world.step(&Doing { moment, name, step }),
        }
    }
    world.run
}

/// A step that is executed.
struct Doing {
    moment: Moment,
    name: &'static str,
    step: Step,
}

impl Doing {
    fn a(&self) -> usize {
        usize::from(self.step.2)
    }
    fn b(&self) -> usize {
        usize::from(self.step.3)
    }
    fn c(&self) -> usize {
        usize::from(self.step.4)
    }
    /// The call fails, whatever it is to do.
    fn error(&self) -> Option<(&'static str, u16)> {
        self.c().is_multiple_of(11).then(|| ERRORS[self.c() / 11 % ERRORS.len()])
    }
}

fn word(text: impl ToString) -> Arg {
    Arg::Word(text.to_string())
}

impl World {
    fn call(
        &mut self,
        thread: usize,
        name: &'static str,
        us: (u64, u64),
        args: Vec<Arg>,
        gives: Gives,
    ) {
        let thread = self.threads[thread].number;
        self.run.calls.push(Call { thread, name, args, gives, start_us: us.0, end_us: us.1 });
    }

    fn begin(&mut self) {
        let words = vec![
            Arg::Name(b"/usr/bin/app".to_vec()),
            word("[\"app\"]"),
            word("0x7ffc /* 20 vars */"),
        ];
        self.call(0, "execve", (1000, 1100), words, Gives::Number(0));
        self.call(
            0,
            "getcwd",
            (2000, 2100),
            vec![Arg::Name(b"/d".to_vec()), word(4096)],
            Gives::Number(3),
        );
        self.call(0, "pipe2", (3000, 3100), vec![word("[0, 1]"), word(0)], Gives::Number(0));
    }

    fn spawn(&mut self, at: Moment, child: usize, parent: usize, shares: bool) {
        let number = FIRST + child as u64;
        let (name, words) = match (shares, child % 3) {
            (true, _) => (
                "clone3",
                vec![
                    word(
                        "{flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD, child_tid=0x7f, exit_signal=0}",
                    ),
                    word(88),
                ],
            ),
            (false, 0) => ("fork", vec![]),
            (false, 1) => ("vfork", vec![]),
            (false, _) => (
                "clone",
                vec![
                    word("child_stack=NULL"),
                    word("flags=CLONE_CHILD_CLEARTID|SIGCHLD"),
                    word("child_tidptr=0x7f"),
                ],
            ),
        };
        self.call(parent, name, (at.start_us, at.end_us), words, Gives::Number(number as i64));
        let from = self.threads[parent].clone();
        let (table, directory) = if shares {
            (from.table, from.directory)
        } else {
            self.tables.push(self.tables[from.table].clone());
            for slot in self.tables[from.table].values() {
                self.instances[slot.instance].references += 1;
            }
            self.directories.push(self.directories[from.directory].clone());
            (self.tables.len() - 1, self.directories.len() - 1)
        };
        assert_eq!(child, self.threads.len());
        self.threads.push(Thread { number, table, directory, ..from });
    }

    /// The call is made; gives its number.
    fn made(&mut self, doing: &Doing, args: Vec<Arg>, gives: Gives) -> usize {
        self.made_as(doing.name, doing, args, gives)
    }

    fn made_as(
        &mut self,
        name: &'static str,
        doing: &Doing,
        args: Vec<Arg>,
        gives: Gives,
    ) -> usize {
        let us = (doing.moment.start_us, doing.moment.end_us);
        self.call(doing.moment.thread, name, us, args, gives);
        self.run.calls.len() - 1
    }

    fn operation(&mut self, doing: &Doing, op: Op, with: Operation) {
        self.operation_of(doing, op, with, vec![self.run.calls.len() - 1], true);
    }

    fn operation_of(
        &mut self,
        doing: &Doing,
        op: Op,
        with: Operation,
        calls: Vec<usize>,
        has_time: bool,
    ) {
        let thread = &self.threads[doing.moment.thread];
        let (call, op) = (doing.name.to_string(), op.name().to_string());
        let failed = if FAULTS.contains(&with.errno) { FLAG_FAILED } else { FLAG_EXPECTED };
        let flags = with.flags | if with.errno > 0 { failed } else { 0 };
        let (number, label) = (thread.number, thread.label.clone());
        let operation = Operation { thread: number, op, call, label, flags, ..with };
        self.run.operations.push(Timed { operation, calls, has_time });
    }

    fn table(&self, doing: &Doing) -> &BTreeMap<i64, Slot> {
        &self.tables[self.threads[doing.moment.thread].table]
    }

    /// A descriptor that is open, of a directory or a file.
    fn find(
        &self,
        doing: &Doing,
        which: usize,
        is_directory: Option<bool>,
    ) -> Option<(i64, usize)> {
        let fits = |slot: &Slot| {
            is_directory.is_none_or(|is| self.instances[slot.instance].is_directory == is)
        };
        let all: Vec<_> = self.table(doing).iter().filter(|(_, slot)| fits(slot)).collect();
        let (fd, slot) = all.get(which.checked_rem(all.len())?)?;
        Some((**fd, slot.instance))
    }

    fn shown(&self, number: i64, instance: usize) -> Arg {
        Arg::Fd(self.shown_as(number, instance))
    }

    fn shown_as(&self, number: i64, instance: usize) -> Shown {
        let known = &self.instances[instance];
        Shown { number, name: known.name.clone(), removed: known.removed }
    }

    /// Free numbers are given from the lowest on.
    fn number(&self, doing: &Doing) -> i64 {
        (3..).find(|fd| !self.table(doing).contains_key(fd)).unwrap()
    }

    fn set(&mut self, doing: &Doing, fd: i64, slot: Slot) {
        let table = self.threads[doing.moment.thread].table;
        self.instances[slot.instance].references += 1;
        self.tables[table].insert(fd, slot);
    }

    /// Removes a descriptor; the instance, if it ends.
    fn unset(&mut self, doing: &Doing, fd: i64) -> Option<usize> {
        let table = self.threads[doing.moment.thread].table;
        let slot = self.tables[table].remove(&fd)?;
        self.instances[slot.instance].references -= 1;
        (self.instances[slot.instance].references == 0).then_some(slot.instance)
    }

    fn on(&self, instance: usize) -> Operation {
        let known = &self.instances[instance];
        Operation {
            path: known.path.clone(),
            instance: instance as u32,
            file: known.file,
            ..named(b"")
        }
    }

    /// How a name is written: absolute, from the current directory or from an open one.
    fn at(&self, doing: &Doing, path: &[u8], can_be_open: bool) -> Vec<Arg> {
        let directory = &self.directories[self.threads[doing.moment.thread].directory];
        let cwd = Arg::Cwd(directory.clone());
        let name = match doing.c() % 3 {
            0 => path.to_vec(),
            _ if path.starts_with(&[directory, &b"/"[..]].concat()) => {
                path[directory.len() + 1..].to_vec()
            }
            _ => [b"../", &path[3..]].concat(),
        };
        let name = if directory == b"/d" && name.starts_with(b"..") { path.to_vec() } else { name };
        let above = parent(path);
        let open = self.table(doing).iter().find(|(_, slot)| {
            let known = &self.instances[slot.instance];
            known.is_directory && !known.removed && known.name == above
        });
        match open {
            Some((fd, slot)) if can_be_open && doing.c() % 3 == 2 => {
                vec![self.shown(*fd, slot.instance), Arg::Name(path[above.len() + 1..].to_vec())]
            }
            _ if can_be_open => vec![cwd, Arg::Name(name)],
            _ => vec![Arg::Name(name)],
        }
    }

    fn step(&mut self, doing: &Doing) {
        match doing.name {
            "open" | "openat" | "openat2" | "creat" => self.open(doing),
            "close" | "close_range" => self.close(doing),
            "dup" | "dup2" | "dup3" | "fcntl-dup" => self.duplicate(doing),
            "read" | "pread64" | "readv" | "preadv" | "preadv2" => self.transfer(doing, Op::Fread),
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => {
                self.transfer(doing, Op::Fwrite)
            }
            "copy_file_range" | "sendfile" => self.copy(doing),
            "splice" => self.splice(doing),
            "stat" | "lstat" | "newfstatat" | "statx" => self.stat(doing),
            "unlink" | "unlinkat" | "rmdir" => self.remove(doing),
            "mkdir" | "mkdirat" => self.make_directory(doing),
            "rename" | "renameat" | "renameat2" => self.rename(doing),
            "link" | "linkat" => self.link(doing),
            "symlink" | "symlinkat" => self.symlink(doing),
            "sync" => {
                self.made(doing, vec![], Gives::Number(0));
                self.operation(doing, Op::Sync, named(b""));
            }
            name if SILENT.split_whitespace().any(|silent| silent == name) => self.silently(doing),
            name => match on_name(name) {
                Some((op, is_at, rest)) => self.ask(doing, op, is_at, rest),
                None => self.handle(doing),
            },
        }
    }
}

fn named(path: &[u8]) -> Operation {
    Operation {
        path: path.to_vec(),
        instance: NO_ID,
        instance2: NO_ID,
        file: NO_ID,
        open_flags: NO_ID,
        ..Operation::default()
    }
}

fn flags_text(flags: u32) -> String {
    const NAMES: &[(&str, u32)] = &[
        ("O_CREAT", O_CREAT),
        ("O_EXCL", O_EXCL),
        ("O_TRUNC", O_TRUNC),
        ("O_APPEND", O_APPEND),
        ("O_DIRECTORY", O_DIRECTORY),
        ("O_CLOEXEC", O_CLOEXEC),
        ("O_DIRECT", 0o40_000),
        ("O_SYNC", 0o4_010_000),
    ];
    let mut text = ["O_RDONLY", "O_WRONLY", "O_RDWR"][(flags & 3) as usize].to_string();
    for (name, _) in NAMES.iter().filter(|(_, flag)| flags & flag == *flag) {
        text = format!("{text}|{name}");
    }
    text
}
