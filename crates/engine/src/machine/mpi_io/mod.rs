//! Statements of MPI-IO become calls on MPI files.
//!
//! What all members have to do together is done in four steps: every expression is
//! evaluated (a rank whose expression has no value ends before anybody waits for it inside
//! MPI), the members meet at a barrier that can be released and find out whether all have come to
//! the same statement, they agree on what a back-end call needs, and then they call. Only the
//! last step is timed.
//!
//! | file | what |
//! |---|---|
//! | `files` | opening, closing, sizes: one call each |
//! | `plan` | which bytes a statement means: patterns, members, views |
//! | `data` | statements that move bytes: what they mean, which ranks have to be there |
//! | `moving` | their calls: for each piece, or over all pieces through a view |
//! | `calls` | one after the other, or several at a time |
//! | `end` | what a read can have moved at most |

mod calls;
mod data;
mod end;
mod files;
mod moving;
mod plan;

pub(super) use data::{transfer, whole_file};
pub(super) use files::{close, delete, on_file, open, preallocate, seek, set_size, sync};
pub(super) use plan::Shared;

use super::control::Flow;
use super::eval::Env;
use super::fault::Fault;
use super::io::Io;
use super::perform::Step;
use super::tally::{Subject, Tally};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile};
use crate::comm::{Comm, Members, Together};
use model::Op;
use model::plan::Pc;

/// Whether statements of MPI-IO can be executed.
fn check_mpi<B: Backend>(op: Op, io: &Io<'_, B>) -> Result<(), Fault> {
    if io.backend.capabilities().mpi_files { Ok(()) } else { Err(needs_mpi(op, io.backend.name())) }
}

#[cold]
fn needs_mpi(op: Op, backend: &str) -> Fault {
    Fault::message(format!(
        "{op} needs MPI, and this run has none (back-end {backend}): start it with mpiexec or \
         --mpi, use the POSIX operations, or leave the statement out with --only"
    ))
}

/// Waits for the members of a collective call; a rank that has ended, or that has come to another
/// statement, releases the others here.
fn meet(comm: &mut dyn Comm, members: &Members, site: Pc, call: Together) -> Flow {
    match members.ranks.len() {
        0 | 1 => Flow::Next,
        _ => comm.meet(members, site, call).into(),
    }
}

/// The way of a call, from what decides which calls of MPI it becomes.
fn way(flags: &[bool]) -> u16 {
    flags.iter().fold(0, |way, flag| way << 1 | u16::from(*flag))
}

impl<B: Backend> Io<'_, B> {
    /// The operation fails for a reason that is no call's.
    fn fail_file(&mut self, tally: &mut Tally, errno: i32, detail: &str) {
        if tally.errno == 0 {
            tally.fail(errno);
            self.detail = Some(detail.to_string());
        }
    }

    /// Whether the operation failed so far on any member. Not timed; all members ask. Who has
    /// not failed himself fails with the others.
    fn any_failed(&mut self, members: &Members, tally: &mut Tally, what: &str) -> bool {
        let failed = self.most(members, i64::from(tally.errno != 0)) > 0;
        if failed {
            self.fail_file(tally, libc::ECANCELED, what);
        }
        failed
    }

    /// An operation is over in which members have asked each other after its calls: that was waiting,
    /// and none of the pause that may follow.
    fn conclude_together(
        &mut self,
        step: Step<'_>,
        tally: &Tally,
        subject: Subject,
    ) -> Result<Flow, Fault> {
        self.conclude(step.op, step.site, tally, subject)?;
        self.ended_ns = 0;
        Ok(Flow::Next)
    }

    /// The largest value of all members; not timed, all members ask.
    fn most(&mut self, members: &Members, value: i64) -> i64 {
        if members.ranks.len() < 2 {
            return value;
        }
        match self.backend.issue_file(FileCall::Most { members, value }) {
            reply if reply < 0 => value,
            most => most,
        }
    }
}

/// An open MPI file with what is known of it.
#[derive(Clone, Debug)]
struct Opened {
    /// Its place in the table of handles.
    at: usize,
    file: MpiFile,
    members: Members,
    /// How many files the members had opened before.
    number: u32,
    writable: bool,
}

/// The file behind the first argument, and its place in the table of handles; `Err`: none, at this
/// place.
#[inline(always)]
fn file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Result<(usize, MpiFile), Option<usize>>, Fault> {
    let Some(at) = io.handles.find(env.value(step.site, step.args[0])?)? else {
        return Ok(Err(None));
    };
    Ok(io.handles.mpi_file(at).map(|(file, ..)| (at, file)).ok_or(Some(at)))
}

/// The same with what is known of it.
fn opened<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Result<Opened, Option<usize>>, Fault> {
    Ok(file(step, env, io)?.and_then(|(at, file)| {
        let writable = io.handles.get(at).mode.writable;
        let (_, members, number) = io.handles.mpi_file(at).ok_or(Some(at))?;
        Ok(Opened { at, file, members: members.clone(), number, writable })
    }))
}

/// An operation on a file whose open failed, or which is closed: EBADF without a call. All
/// members come here alike, because they agreed on the open.
#[cold]
fn bad_file<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    at: Option<usize>,
) -> Result<Flow, Fault> {
    let mut tally = Tally::EMPTY;
    tally.fail(libc::EBADF);
    let subject = at.map_or(Subject::Nothing, Subject::Handle);
    io.conclude(step.op, step.site, &tally, subject).map(|()| Flow::Next)
}
