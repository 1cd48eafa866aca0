//! Agreement of the members of a statement, and the open file of a statement.

use super::super::io::Io;
use super::super::rank::Machine;
use super::super::step::Step;
use super::super::tally::{Fault, Flow, Subject, Tally, came};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile};
use crate::comm::{Collective, CollectiveCall, Comm, Members};
use model::Op;

impl<B: Backend> Io<'_, B> {
    /// Whether statements of MPI-IO can be executed.
    pub(super) fn check_mpi(&mut self, op: Op) -> Flow {
        let has_mpi = self.mpi_call_bytes > 0;
        if has_mpi { Ok(()) } else { Err(needs_mpi(op, self.backend.capabilities().name)) }
    }

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
    ) -> Flow {
        self.conclude(step, tally, subject)?;
        self.ended_ns = 0;
        Ok(())
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

#[cold]
fn needs_mpi(op: Op, backend: &str) -> Fault {
    Fault::message(format!(
        "{op} needs MPI, and this run has none (back-end {backend}): start it with mpiexec or \
         --mpi, use the POSIX operations, or leave the statement out with --only"
    ))
}

/// Waits for the members of a collective call on the `number`-th file that they opened; a rank that has ended, or that
/// has come to another statement, releases the others here.
pub(super) fn meet(
    comm: &mut dyn Comm,
    members: &Members,
    step: Step<'_>,
    (file, way): (u32, u16),
) -> Flow {
    if members.ranks.len() < 2 {
        return Ok(());
    }
    let call = CollectiveCall { what: Collective::Op(step.op), file, way };
    came(comm.barrier(members, step.site, Some(call)))
}

/// The way of a call, from what decides which calls of MPI it becomes.
pub(super) fn way(flags: &[bool]) -> u16 {
    flags.iter().fold(0, |way, flag| way << 1 | u16::from(*flag))
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
}

impl<B: Backend> Machine<'_, B> {
    /// The place of the first argument's handle in the table, and its file.
    #[inline(always)]
    pub(super) fn mpi_file(&mut self, step: Step<'_>) -> Flow<(Option<usize>, Option<MpiFile>)> {
        let at = self.io.handles.find(self.env.value(step.site, step.args[0])?)?;
        Ok((at, at.and_then(|at| self.io.handles.mpi_file(at)).map(|(file, ..)| file)))
    }

    /// The same with what is known of it. `None`: a bad one, and the operation is over, on all members alike
    /// because they agreed on the open.
    pub(super) fn opened_mpi_file(&mut self, step: Step<'_>) -> Flow<Option<Opened>> {
        let (at, _) = self.mpi_file(step)?;
        match at.and_then(|at| Some((at, self.io.handles.mpi_file(at)?))) {
            Some((at, (file, members, number))) => {
                Ok(Some(Opened { at, file, members: members.clone(), number }))
            }
            None => self.io.bad_handle(step, at).map(|()| None),
        }
    }
}
