//! The command as a child process: it gets every signal that this process gets, and its end is
//! waited for.

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Origin;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread::{self, JoinHandle};

/// Signals that are passed on.
const PASSED_ON: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
/// What shells add to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended(ExitStatus);

impl Ended {
    /// Its exit code as a shell has it.
    pub fn code(self) -> u8 {
        let by_signal = self.0.signal().map(|signal| BY_SIGNAL + signal);
        self.0.code().or(by_signal).unwrap_or(1) as u8
    }
}

/// What is started: the command itself, or a recorder that has it as its child.
pub struct Start {
    /// How it is called.
    pub command: Command,
    /// The command is a child of what is started.
    pub is_below: bool,
}

/// Executes a command.
pub fn run(mut start: Start) -> Result<Ended> {
    let cannot = |error| {
        let program = start.command.get_program().to_string_lossy().into_owned();
        Error::input(format!("cannot start {program}: {error}"))
    };
    // From here on signals end the command, not this process.
    let signals = SignalsInfo::<WithOrigin>::new(PASSED_ON).map_err(cannot)?;
    engine::limits::restore_file_size_signal(&mut start.command);
    let mut child = start.command.spawn().map_err(|error| {
        let program = start.command.get_program().to_string_lossy().into_owned();
        Error::input(format!("cannot start {program}: {error}"))
    })?;
    let (pid, is_below, handle) = (child.id(), start.is_below, signals.handle());
    let passing = thread::Builder::new().name("signals".into());
    let passing = passing.spawn(move || pass_on(signals, pid, is_below));
    let ended = child.wait();
    handle.close();
    let _ = passing.map(JoinHandle::join);
    ended.map(Ended).map_err(|error| Error::failed(format!("cannot wait for it: {error}")))
}

fn pass_on(mut signals: SignalsInfo<WithOrigin>, pid: u32, is_below: bool) {
    for origin in &mut signals {
        if is_from_terminal(&origin) {
            continue;
        }
        let receiver = if is_below { child_of(pid).unwrap_or(pid) } else { pid };
        let signal = Signal::from_named_raw(origin.signal);
        if let (Some(receiver), Some(signal)) = (Pid::from_raw(receiver as i32), signal) {
            // It may have ended just now.
            let _ = kill_process(receiver, signal);
        }
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
