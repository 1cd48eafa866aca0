//! Makes calls: each is issued between two readings of the clock, and its reply awaited. Nothing else issues
//! timed calls, but for transfers that are under way together (`queue`).

use super::io::Io;
use super::path::{PathText, RUN};
use super::step::{FILE_MODE, Step};
use super::tally::{Flow, Shot, Subject, Tally};
use crate::backend::Backend;
use crate::call::{Call, Fd, FileCall, Reply, Work};
use crate::clock::Clock;
use model::{Op, Part};

/// A call, or a call on an MPI file.
pub(super) trait Request {
    /// Back-ends explain its errors.
    const EXPLAINED: bool;
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32>;
    fn issue<B: Backend>(self, backend: &mut B) -> Reply;
}

impl Request for Call<'_> {
    const EXPLAINED: bool = false;

    #[inline(always)]
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32> {
        backend.prepare(self)
    }

    #[inline(always)]
    fn issue<B: Backend>(self, backend: &mut B) -> Reply {
        backend.issue(self)
    }
}

impl Request for FileCall<'_> {
    const EXPLAINED: bool = true;

    #[inline(always)]
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32> {
        backend.prepare_file(self)
    }

    #[inline(always)]
    fn issue<B: Backend>(self, backend: &mut B) -> Reply {
        backend.issue_file(self)
    }
}

/// Executes a call between two clock readings. Nothing else happens there.
#[inline(always)]
pub(super) fn timed<B: Backend>(backend: &mut B, clock: &Clock, call: impl Request) -> Shot {
    if let Err(errno) = call.prepare(backend) {
        return Shot::refused(clock, errno);
    }
    let start_ns = clock.now();
    let reply = call.issue(backend);
    let end_ns = clock.now();
    Shot { start_ns, end_ns, reply }
}

impl<B: Backend> Io<'_, B> {
    /// Makes one of the calls of an operation.
    #[inline(always)]
    pub(super) fn part<R: Request>(&mut self, tally: &mut Tally, part: Part, call: R) -> Reply {
        let shot = timed(&mut self.backend, &self.clock, call);
        if R::EXPLAINED { self.add_explained(tally, part, shot) } else { tally.add(part, shot) }
    }

    /// Opens one of the paths of the operation.
    pub(super) fn open(&mut self, tally: &mut Tally, at: usize, flags: i32) -> Option<Fd> {
        let shot = timed(&mut self.backend, &self.clock, open(&self.paths[at], flags));
        let reply = tally.add(Part::Open, shot);
        if reply < 0 {
            self.refused_direct(flags, -reply as i32);
        }
        (reply >= 0).then_some(Fd(reply as i32))
    }

    /// An operation of one call on its paths.
    #[inline(always)]
    pub(super) fn one_on_paths(
        &mut self,
        step: Step<'_>,
        subject: Subject,
        call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
    ) -> Flow {
        let shot = self.shot_on_paths(call);
        self.settle(step, shot, subject)
    }

    /// Makes a call on the paths of the operation.
    #[inline(always)]
    pub(super) fn shot_on_paths(
        &mut self,
        call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
    ) -> Shot {
        let call = call(&self.paths);
        timed(&mut self.backend, &self.clock, call)
    }

    /// An operation of one call that has no path.
    #[inline(always)]
    pub(super) fn one_call(&mut self, step: Step<'_>, subject: Subject, call: Call<'_>) -> Flow {
        let is_sync = call.work() == Work::Sync;
        let shot = timed(&mut self.backend, &self.clock, call);
        if is_sync && shot.reply >= 0 {
            match subject {
                Subject::Handle(at) if step.op == Op::Syncfs => {
                    let place = self.handles.get(at).mode.place;
                    self.made_all_stable(place);
                }
                Subject::Handle(at) => self.made_stable(at),
                _ => self.made_all_stable(RUN),
            }
        }
        self.settle(step, shot, subject)
    }
}

#[inline(always)]
pub(super) fn open(path: &PathText, flags: i32) -> Call<'_> {
    Call::Open { path: path.as_c_str(), flags, mode: FILE_MODE }
}
