//! The system calls a rank will make, written as strace writes them.
//!
//! Found by running the plan with simulated ranks on files in memory that start
//! empty: nothing on disk is touched.

use super::outcome::StartError;
use super::sim::{alone, simulate};
use crate::backend::{Backend, Capabilities, Cost, Mem, MemFs};
use crate::buffer::Buffers;
use crate::call::{Call, FileCall, Queued, Reply, Submitted, Tag, Target};
use crate::clock::Virtual;
use crate::comm::{Sample, World};
use crate::config::{BackendKind, Config};
use model::Plan;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// Turns (of up to a million statements) after which a simulation without calls gives up.
const TURNS_WITHOUT_CALLS_MAX: u64 = 1_000_000;

/// The first calls of some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls by rank, each in order.
    pub ranks: Vec<(u32, Vec<String>)>,
    /// Why ranks ended before their program did, in sentences.
    pub errors: Vec<String>,
}

struct Log {
    ranks: Range<u32>,
    count: usize,
    lines: Vec<Vec<String>>,
    /// Ranks that still want lines.
    wanting: usize,
    total: u64,
}

/// The first `count` calls of each of `ranks`.
pub fn list_calls(
    plan: &Plan,
    config: &Config,
    ranks: Range<u32>,
    count: usize,
) -> Result<Calls, StartError> {
    let lines = vec![Vec::new(); ranks.len()];
    let log = Log { wanting: ranks.len(), ranks: ranks.clone(), count, lines, total: 0 };
    let log = Rc::new(RefCell::new(log));
    let mut config = Config { backend: BackendKind::Mem, events: None, ..config.clone() };
    config.settings.print_fd = None;
    let fs = MemFs::shared(&config.directory.to_string_lossy());
    fs.borrow_mut().add(&plan.directories);
    let clock = Virtual::start();
    let backend = |rank: u32, clock: Virtual| {
        let inner = Mem::new(Rc::clone(&fs), clock, Cost::default());
        let (log, under_way) = (Rc::clone(&log), VecDeque::new());
        Logged { inner, rank, log, opened: 0, under_way }
    };
    let (mut seen, mut idle) = (0, 0);
    let mut enough = |world: &World, _: &dyn Fn() -> Sample| {
        let log = log.borrow();
        idle = if log.total == seen { idle + 1 } else { 0 };
        seen = log.total;
        if (log.wanting == 0 || idle > TURNS_WITHOUT_CALLS_MAX) && !world.is_interrupted() {
            world.interrupt();
        }
    };
    let make = (backend, alone);
    let outcome = simulate(plan, &config, clock, Buffers::unfilled(), make, &mut enough, None)?;
    let mut errors: Vec<String> = outcome.deadlock_message(plan).into_iter().collect();
    // Ranks that went on after the last call that is shown were refused everything.
    let whole = log.borrow().wanting > 0;
    errors.extend(outcome.rank_errors(plan).filter(|_| whole));
    let lines = std::mem::take(&mut log.borrow_mut().lines);
    Ok(Calls { ranks: ranks.zip(lines).collect(), errors })
}

/// Writes down the calls of some ranks.
struct Logged {
    inner: Mem,
    rank: u32,
    log: Rc<RefCell<Log>>,
    /// MPI files opened so far.
    opened: Reply,
    /// Transfers under way and their bytes, the oldest first.
    under_way: VecDeque<(Tag, Reply)>,
}

impl Backend for Logged {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.inner)
    }

    fn capabilities(&mut self) -> Capabilities {
        Capabilities { mpi_call_bytes: u64::MAX, ..self.inner.capabilities() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if self.log.borrow().wanting == 0 {
            // What comes now is of no interest, and one statement can make millions of calls.
            return -Reply::from(libc::EIO);
        }
        self.log.borrow_mut().add(self.rank, || call.to_string());
        self.inner.issue(call)
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        use FileCall::{MakeView, Most, Open, Position};
        if !matches!(call, MakeView { .. } | Most { .. } | Position { .. }) {
            self.log.borrow_mut().add(self.rank, || call.to_string());
        }
        self.opened += Reply::from(matches!(call, Open { .. }));
        if matches!(call, Open { .. }) { self.opened - 1 } else { call.done_in_full() }
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        self.log.borrow_mut().add(self.rank, || describe_queued(&call));
        if !matches!(call.target, Target::Mpi { .. }) {
            return self.inner.submit(tag, call);
        }
        self.under_way.push_back((tag, call.memory.parts().1 as Reply));
        Submitted::UnderWay
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        let is_mpi = !self.under_way.is_empty();
        let line = || match is_mpi {
            true => "MPI_Wait".to_string(),
            false => format!("io_uring_enter(wait {wait})"),
        };
        self.log.borrow_mut().add(self.rank, line);
        if is_mpi { 0 } else { self.inner.hand_over(wait) }
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.under_way.pop_front().or_else(|| self.inner.ended())
    }
}

impl Log {
    fn add(&mut self, rank: u32, line: impl FnOnce() -> String) {
        self.total += 1;
        if !self.ranks.contains(&rank) {
            return;
        }
        let lines = &mut self.lines[(rank - self.ranks.start) as usize];
        if lines.len() < self.count {
            lines.push(line());
            self.wanting -= usize::from(lines.len() == self.count);
        }
    }
}

/// A transfer that is started and waited for later, as a line.
fn describe_queued(call: &Queued) -> String {
    let (_, bytes, write) = call.memory.parts();
    let (way, offset) = (if write { "write" } else { "read" }, call.offset);
    match call.target {
        Target::File(fd) => format!("io_uring p{way}64({}, {bytes}, {offset})", fd.0),
        Target::Sync { fd, data: false } => format!("io_uring fsync({})", fd.0),
        Target::Sync { fd, data: true } => format!("io_uring fdatasync({})", fd.0),
        Target::Mpi { file, collective } => {
            let all = if collective { "_all" } else { "" };
            format!("MPI_File_i{way}_at{all}({}, {offset}, {bytes})", file.0)
        }
    }
}
