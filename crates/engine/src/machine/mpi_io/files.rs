//! Opening and closing MPI files, and what is one call.

use super::super::eval::Env;
use super::super::files::Whence;
use super::super::handles::Mode;
use super::super::io::Io;
use super::super::options::Fsync;
use super::super::rank::Machine;
use super::super::step::Step;
use super::super::tally::{Flow, Subject, Tally};
use super::super::{driver, note};
use super::members::{Opened, meet, way};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile, MpiMode};
use crate::comm::{Comm, Members};
use model::plan::NO_SLOT;
use model::value::{Eval, EvalError};
use model::{Op, Part};

impl<B: Backend> Machine<'_, B> {
    /// `$h = pfopen(path, mode)`
    #[inline(never)]
    pub(crate) fn pfopen(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let mode = mode(step, &mut self.env)?;
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        let members = match self.io.options.active().alone {
            true => Members::alone(self.env.scope.rank),
            false => self.env.scope.members().clone(),
        };
        // A member that gave another path or mode gets an error from the open itself.
        meet(comm, &members, step, (0, way(&[self.io.options.active().atomic])))?;
        let mut tally = Tally::EMPTY;
        let file = self.io.open_mpi_file(mode, &members, &mut tally);
        let position =
            file.filter(|_| mode.append).map_or(0, |file| self.io.end_of(file, &members));
        let path_id = self.io.recorder.path(self.io.paths[0].bytes());
        let path = self.io.paths[0].bytes();
        let mode = Mode { writable: mode.write, place: self.io.paths[0].place, ..Mode::of(0) };
        let handle = self.io.handles.add_mpi(file, members, (mode, position), path, path_id);
        if step.dst != NO_SLOT {
            self.env.set(step.dst, handle);
        }
        self.io.conclude_together(step, &tally, Subject::Path)
    }

    /// `pfclose($h)`
    #[inline(never)]
    pub(crate) fn pfclose(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let Some(opened) = self.opened_mpi_file(step)? else {
            if let (Some(at), _) = self.mpi_file(step)? {
                self.io.handles.remove(at);
            }
            return Ok(());
        };
        let stable = self.io.options.active().fsync == Fsync::Close;
        meet(comm, &opened.members, step, (opened.number, way(&[stable])))?;
        let mut tally = Tally::EMPTY;
        let writable = self.io.handles.get(opened.at).mode.writable;
        self.io.handles.remove(opened.at);
        self.io.close_mpi_file(opened.file, writable, &mut tally);
        if tally.errno == 0 && stable {
            self.io.made_stable(opened.at);
        }
        self.io.conclude(step, &tally, Subject::Handle(opened.at))
    }

    /// The position that a `pfseek` leads to. The end is asked for before the call.
    fn sought(&mut self, step: Step<'_>, opened: &Opened) -> Eval<u64> {
        let from = Whence::of(step, &self.env);
        let distance = from.distance(step, &mut self.env)?;
        let base = match from {
            Whence::Start => 0,
            Whence::Current => self.io.handles.get(opened.at).position as i64,
            Whence::End => {
                self.io.backend.issue_file(FileCall::Position { file: opened.file }).max(0)
            }
        };
        u64::try_from(base.saturating_add(distance)).map_err(|_| {
            let found = format!("{distance} bytes from byte {base}");
            EvalError::Range("expected a position that is not before the start of the file", found)
        })
    }

    /// `pfsync($h)`, `pfsetsize($h, n)`, `pfpreallocate($h, n)`, `pfseek($h, off)`: one call.
    #[inline(never)]
    pub(crate) fn on_mpi_file(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let size = match step.op {
            Op::Pfsetsize | Op::Pfpreallocate => self.env.size(step.site, step.args[1])?,
            _ => 0,
        };
        let Some(opened) = self.opened_mpi_file(step)? else { return Ok(()) };
        let Opened { at, file, .. } = opened;
        let offset = if step.op == Op::Pfseek { self.sought(step, &opened)? } else { 0 };
        if step.op.is_collective() {
            meet(comm, &opened.members, step, (opened.number, 0))?;
        }
        self.io.names(offset, size);
        let handle = self.io.handles.get(at);
        let call = match step.op {
            Op::Pfsync => FileCall::Sync { file },
            Op::Pfsetsize => {
                handle.seen_bytes = 0;
                FileCall::SetSize { file, size }
            }
            Op::Pfpreallocate => FileCall::Preallocate { file, size },
            _ => {
                handle.position = offset;
                FileCall::Seek { file, offset }
            }
        };
        let mut tally = Tally::EMPTY;
        if self.io.part(&mut tally, Part::Data, call) >= 0 && step.op == Op::Pfsync {
            self.io.made_stable(at);
        }
        self.io.conclude(step, &tally, Subject::Handle(at))
    }

    /// `pdelete(path)`: by member 0, under `with (comm="self")` by each rank.
    #[inline(never)]
    pub(crate) fn pdelete(&mut self, step: Step<'_>) -> Flow {
        self.io.check_mpi(step.op)?;
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        if !self.env.scope.is_master() && !self.io.options.active().alone {
            return Ok(());
        }
        let mut tally = Tally::EMPTY;
        let call = FileCall::Delete { path: self.io.paths[0].as_c_str() };
        let shot = driver::timed(&mut self.io.backend, &self.io.clock, call);
        self.io.add_explained(&mut tally, Part::Data, shot);
        self.io.conclude(step, &tally, Subject::Path)
    }
}

impl<B: Backend> Io<'_, B> {
    /// Where a file ends that was opened for appending. Nobody goes on, and writes, before all
    /// members have asked.
    fn end_of(&mut self, file: MpiFile, members: &Members) -> u64 {
        let position = self.backend.issue_file(FileCall::Position { file }).max(0);
        self.most(members, position) as u64
    }

    /// Opens the file at the first path; `None` on all members if it failed on one.
    pub(super) fn open_mpi_file(
        &mut self,
        mode: MpiMode,
        members: &Members,
        tally: &mut Tally,
    ) -> Option<MpiFile> {
        if self.options.active().direct {
            self.notes |= note::DIRECT_MPI;
        }
        let path = self.paths[0].as_c_str();
        let call = FileCall::Open { path, mode, members, hints: self.options.hints() };
        let shot = driver::timed(&mut self.backend, &self.clock, call);
        let reply = self.add_explained(tally, Part::Open, shot);
        // A file that only some have opened cannot be closed, because closing is collective too.
        if self.any_failed(members, tally, "opening it failed on another member of the group") {
            return None;
        }
        let file = MpiFile(reply as i32);
        if self.options.active().atomic {
            self.part(tally, Part::Open, FileCall::SetAtomic { file });
        }
        if let Some(facts) = self.backend.opened_facts(file, members, self.options.hints()) {
            self.recorder.mpi_file(&facts);
        }
        Some(file)
    }

    /// Closes a file, made stable before where `with (fsync="close")` wants it.
    pub(super) fn close_mpi_file(&mut self, file: MpiFile, writable: bool, tally: &mut Tally) {
        if writable && self.options.active().fsync == Fsync::Close {
            self.part(tally, Part::Sync, FileCall::Sync { file });
        }
        self.part(tally, Part::Close, FileCall::Close { file });
    }
}

fn mode(step: Step<'_>, env: &mut Env<'_>) -> Flow<MpiMode> {
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    MpiMode::parse(&text).ok_or_else(|| {
        let found = format!("\"{}\"", String::from_utf8_lossy(&text));
        EvalError::Type("an MPI open mode (letters of r w c x a)", found).into()
    })
}
