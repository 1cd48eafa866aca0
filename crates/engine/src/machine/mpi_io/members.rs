//! Agreement of the members of a statement, and the open file of a statement.

use super::super::eval::Env;
use super::super::io::Io;
use super::super::step::Step;
use super::super::tally::{Fault, Flow, Subject, Tally};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile};
use crate::comm::{CollectiveCall, Comm, Members};
use model::Op;
use model::plan::Pc;

/// Whether statements of MPI-IO can be executed.
pub(super) fn check_mpi<B: Backend>(op: Op, io: &mut Io<'_, B>) -> Result<(), Fault> {
    let known = io.backend.capabilities();
    if known.mpi_files { Ok(()) } else { Err(needs_mpi(op, known.name)) }
}

#[cold]
pub(super) fn needs_mpi(op: Op, backend: &str) -> Fault {
    Fault::message(format!(
        "{op} needs MPI, and this run has none (back-end {backend}): start it with mpiexec or \
         --mpi, use the POSIX operations, or leave the statement out with --only"
    ))
}

/// Waits for the members of a collective call; a rank that has ended, or that has come to another
/// statement, releases the others here.
pub(super) fn meet(comm: &mut dyn Comm, members: &Members, site: Pc, call: CollectiveCall) -> Flow {
    match members.ranks.len() {
        0 | 1 => Flow::Next,
        _ => comm.barrier(members, site, Some(call)).into(),
    }
}

/// The way of a call, from what decides which calls of MPI it becomes.
pub(super) fn way(flags: &[bool]) -> u16 {
    flags.iter().fold(0, |way, flag| way << 1 | u16::from(*flag))
}

impl<B: Backend> Io<'_, B> {
    /// The operation fails for a reason that is no call's.
    pub(super) fn fail_file(&mut self, tally: &mut Tally, errno: i32, detail: &str) {
        if tally.errno == 0 {
            tally.fail(errno);
            self.detail = Some(detail.to_string());
        }
    }

    /// Whether the operation failed so far on any member. Not timed; all members ask. Who has
    /// not failed himself fails with the others.
    pub(super) fn any_failed(&mut self, members: &Members, tally: &mut Tally, what: &str) -> bool {
        let failed = self.most(members, i64::from(tally.errno != 0)) > 0;
        if failed {
            self.fail_file(tally, libc::ECANCELED, what);
        }
        failed
    }

    /// An operation is over in which members have asked each other after its calls: that was waiting,
    /// and none of the pause that may follow.
    pub(super) fn conclude_together(
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
    pub(super) fn most(&mut self, members: &Members, value: i64) -> i64 {
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
pub(super) struct Opened {
    /// Its place in the table of handles.
    pub(super) at: usize,
    pub(super) file: MpiFile,
    pub(super) members: Members,
    /// How many files the members had opened before.
    pub(super) number: u32,
    pub(super) writable: bool,
}

/// The file behind the first argument, and its place in the table of handles; `Err`: none, at this
/// place.
#[inline(always)]
pub(super) fn file<B: Backend>(
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
pub(super) fn opened<B: Backend>(
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
pub(super) fn bad_file<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    at: Option<usize>,
) -> Result<Flow, Fault> {
    let mut tally = Tally::EMPTY;
    tally.fail(libc::EBADF);
    let subject = at.map_or(Subject::Nothing, Subject::Handle);
    io.conclude(step.op, step.site, &tally, subject).map(|()| Flow::Next)
}
