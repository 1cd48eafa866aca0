//! The command as a child process: it gets every signal that this process gets, and its end is
//! waited for, as are the ends of those that it started and left behind.

use crate::console;
use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::process::{self, Pid, Signal, WaitOptions, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Origin;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{self as std_process, Command, ExitStatus};
use std::thread;
use std::time::Duration;

/// Signals that are passed on.
const PASSED_ON: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
/// Shells add this to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;
/// How often it is looked whether processes that were left behind have ended.
const STEP: Duration = Duration::from_millis(20);
/// Looks before a message says what the wait is for.
const SILENT_STEPS: u64 = 100;

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    status: ExitStatus,
    /// Processes that it started and that were still at work when nobody waited any longer.
    pub running: u64,
}

impl Ended {
    /// Its exit code as a shell has it.
    pub fn code(self) -> u8 {
        let by_signal = self.status.signal().map(|signal| BY_SIGNAL + signal);
        self.status.code().or(by_signal).unwrap_or(1) as u8
    }
}

/// The started process: the command itself, or a recorder that has it as its child.
pub struct Start {
    /// How it is called.
    pub command: Command,
    /// The command is a child of what is started.
    pub is_below: bool,
}

/// Executes a command.
pub fn run(mut start: Start) -> Result<Ended> {
    let program = start.command.get_program().to_string_lossy().into_owned();
    let cannot = |error| Error::input(format!("cannot start {program}: {error}"));
    // From here on signals end the command, not this process.
    let all = PASSED_ON.iter().chain([&SIGCHLD]);
    let mut signals = SignalsInfo::<WithOrigin>::new(all).map_err(cannot)?;
    engine::limits::restore_file_size_signal(&mut start.command);
    // Whose parent ends becomes a child of this process, so that its end can be waited for.
    let _ = process::set_child_subreaper(Pid::from_raw(std_process::id() as i32));
    let mut child = start.command.spawn().map_err(cannot)?;
    let mut enough = false;
    let status = loop {
        let ended = child.try_wait();
        let lost = |error| Error::failed(format!("cannot wait for it: {error}"));
        if let Some(status) = ended.map_err(lost)? {
            break status;
        }
        for origin in signals.wait().filter(|origin| origin.signal != SIGCHLD) {
            // Who ends a command does not wait for what it has left behind.
            enough |= !matches!(origin.signal, SIGUSR1 | SIGUSR2);
            if !is_from_terminal(&origin) {
                pass_on(origin.signal, child.id(), start.is_below);
            }
        }
    };
    // strace waits for all that it follows.
    let running = if start.is_below { 0 } else { wait_for_others(&mut signals, enough) };
    Ok(Ended { status, running })
}

/// Waits for processes that the command has left behind until there are none, or a signal says that it is `enough`;
/// gives how many there are then.
fn wait_for_others(signals: &mut SignalsInfo<WithOrigin>, mut enough: bool) -> u64 {
    for step in 0_u64.. {
        enough |= signals.pending().any(|origin| origin.signal != SIGCHLD);
        match process::wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return 0,
            Ok(Some(_)) => continue,
            _ if enough => break,
            _ => thread::sleep(STEP),
        }
        if step == SILENT_STEPS {
            console::note(&format!(
                "the command has ended, {} of its processes have not: they are waited for; Ctrl-C ends the \
                 recording without them",
                children(std_process::id())
            ));
        }
    }
    children(std_process::id())
}

/// Number of processes below one.
fn children(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let below =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let below = below.collect::<String>();
    let numbers = below.split_whitespace().filter_map(|number| number.parse().ok());
    numbers.map(|number| 1 + children(number)).sum()
}

fn pass_on(signal: i32, pid: u32, is_below: bool) {
    let receiver = if is_below { child_of(pid).unwrap_or(pid) } else { pid };
    if let (Some(receiver), Some(signal)) =
        (Pid::from_raw(receiver as i32), Signal::from_named_raw(signal))
    {
        // It may have ended just now.
        let _ = kill_process(receiver, signal);
    }
}

/// The terminal sends Ctrl-C to the command, too.
fn is_from_terminal(origin: &Origin) -> bool {
    matches!(origin.signal, SIGINT | SIGQUIT) && origin.process.is_none()
}

/// The first child of a process.
fn child_of(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
