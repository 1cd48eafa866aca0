//! Opening and closing MPI files, and what is one call.

use super::super::eval::Env;
use super::super::files::Whence;
use super::super::handles::{Handle, Mode};
use super::super::io::Io;
use super::super::options::Fsync;
use super::super::step::Step;
use super::super::tally::{Fault, Flow, Subject, Tally};
use super::super::{driver, note};
use super::members::{Opened, bad_file, check_mpi, meet, opened, way};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile, MpiMode};
use crate::comm::{Collective, CollectiveCall, Comm, Members};
use model::plan::NO_SLOT;
use model::value::{Eval, EvalError};
use model::{Op, Part};

/// `$h = pfopen(path, mode)`
#[inline(never)]
pub(in super::super) fn open<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    let mode = mode(step, env)?;
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let members = match io.options.active().alone {
        true => Members::alone(env.scope.rank),
        false => env.scope.members().clone(),
    };
    // A member that gave another path or mode gets an error from the open itself.
    let call = CollectiveCall {
        what: Collective::Op(step.op),
        file: 0,
        way: way(&[io.options.active().atomic]),
    };
    match meet(comm, &members, step.site, call) {
        Flow::Next => {}
        flow => return Ok(flow),
    }
    let mut tally = Tally::EMPTY;
    let file = open_file(io, mode, &members, &mut tally);
    let position = file.filter(|_| mode.append).map_or(0, |file| end_of(io, file, &members));
    let path_id = io.recorder.path(io.paths[0].bytes());
    let path = io.paths[0].bytes();
    let mode = Mode { writable: mode.write, place: io.paths[0].place, ..Mode::of(0) };
    let handle = io.handles.add_mpi(file, members, (mode, position), path, path_id);
    if step.dst != NO_SLOT {
        env.set(step.dst, handle);
    }
    io.conclude_together(step, &tally, Subject::Path)
}

/// Where a file ends that was opened for appending. Nobody goes on, and writes, before all
/// members have asked.
fn end_of<B: Backend>(io: &mut Io<'_, B>, file: MpiFile, members: &Members) -> u64 {
    let position = io.backend.issue_file(FileCall::Position { file }).max(0);
    io.most(members, position) as u64
}

fn mode(step: Step<'_>, env: &mut Env<'_>) -> Result<MpiMode, Fault> {
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    MpiMode::parse(&text).ok_or_else(|| {
        let found = format!("\"{}\"", String::from_utf8_lossy(&text));
        EvalError::Type("an MPI open mode (letters of r w c x a)", found).into()
    })
}

/// Opens the file at the first path; `None` on all members if it failed on one.
pub(super) fn open_file<B: Backend>(
    io: &mut Io<'_, B>,
    mode: MpiMode,
    members: &Members,
    tally: &mut Tally,
) -> Option<MpiFile> {
    if io.options.active().direct {
        io.notes |= note::DIRECT_MPI;
    }
    let path = io.paths[0].as_c_str();
    let call = FileCall::Open { path, mode, members, hints: io.options.hints() };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    let reply = io.add_explained(tally, Part::Open, shot);
    // A file that only some have opened cannot be closed, because closing is collective too.
    if io.any_failed(members, tally, "opening it failed on another member of the group") {
        return None;
    }
    let file = MpiFile(reply as i32);
    if io.options.active().atomic {
        io.part(tally, Part::Open, FileCall::SetAtomic { file });
    }
    if let Some(facts) = io.backend.opened_facts(file, members, io.options.hints()) {
        io.recorder.mpi_file(&facts);
    }
    Some(file)
}

/// Closes a file, made stable before where `with (fsync="close")` wants it.
pub(super) fn close_file<B: Backend>(
    io: &mut Io<'_, B>,
    file: MpiFile,
    writable: bool,
    tally: &mut Tally,
) {
    if writable && io.options.active().fsync == Fsync::Close {
        io.part(tally, Part::Sync, FileCall::Sync { file });
    }
    io.part(tally, Part::Close, FileCall::Close { file });
}

/// `pfclose($h)`
#[inline(never)]
pub(in super::super) fn close<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    let opened = match opened(step, env, io)? {
        Ok(opened) => opened,
        Err(at) => {
            at.into_iter().for_each(|at| io.handles.remove(at));
            return bad_file(step, io, at);
        }
    };
    let stable = io.options.active().fsync == Fsync::Close;
    match meet_at(step, &opened, stable, comm) {
        Flow::Next => {}
        flow => return Ok(flow),
    }
    let mut tally = Tally::EMPTY;
    io.handles.remove(opened.at);
    close_file(io, opened.file, opened.writable, &mut tally);
    if tally.errno == 0 && stable {
        io.made_stable(opened.at);
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(opened.at)).map(|()| Flow::Next)
}

/// Waits for the members of a collective call on a file.
fn meet_at(step: Step<'_>, opened: &Opened, stable: bool, comm: &mut dyn Comm) -> Flow {
    let call =
        CollectiveCall { what: Collective::Op(step.op), file: opened.number, way: way(&[stable]) };
    meet(comm, &opened.members, step.site, call)
}

/// Makes the call of an operation of one call from the file and the second argument; the state of the
/// handle changes with it.
pub(in super::super) type OneCall = fn(&mut Handle, MpiFile, u64) -> FileCall<'static>;

/// `pfsync($h)`
pub(in super::super) fn sync(_: &mut Handle, file: MpiFile, _: u64) -> FileCall<'static> {
    FileCall::Sync { file }
}

/// `pfsetsize($h, n)`
pub(in super::super) fn set_size(
    handle: &mut Handle,
    file: MpiFile,
    size: u64,
) -> FileCall<'static> {
    handle.seen_bytes = 0;
    FileCall::SetSize { file, size }
}

/// `pfpreallocate($h, n)`
pub(in super::super) fn preallocate(_: &mut Handle, file: MpiFile, size: u64) -> FileCall<'static> {
    FileCall::Preallocate { file, size }
}

/// `pfseek($h, off)`
pub(in super::super) fn seek(handle: &mut Handle, file: MpiFile, offset: u64) -> FileCall<'static> {
    handle.position = offset;
    FileCall::Seek { file, offset }
}

/// The position that a `pfseek` leads to. The end is asked for before the call.
fn sought<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    opened: &Opened,
) -> Eval<u64> {
    let from = Whence::of(step, env);
    let distance = from.distance(step, env)?;
    let base = match from {
        Whence::Start => 0,
        Whence::Current => io.handles.get(opened.at).position as i64,
        Whence::End => io.backend.issue_file(FileCall::Position { file: opened.file }).max(0),
    };
    u64::try_from(base.saturating_add(distance)).map_err(|_| {
        let found = format!("{distance} bytes from byte {base}");
        EvalError::Range("expected a position that is not before the start of the file", found)
    })
}

/// pfsync, pfsetsize, pfpreallocate, pfseek
#[inline(never)]
pub(in super::super) fn on_file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    call: OneCall,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    let number = match step.args.get(1) {
        Some(operand) if step.op != Op::Pfseek => env.size(step.site, *operand)?,
        _ => 0,
    };
    let opened = match opened(step, env, io)? {
        Ok(opened) => opened,
        Err(at) => return bad_file(step, io, at),
    };
    let number = match step.op {
        Op::Pfseek => sought(step, env, io, &opened)?,
        _ => number,
    };
    if step.op.is_collective() {
        match meet_at(step, &opened, false, comm) {
            Flow::Next => {}
            flow => return Ok(flow),
        }
    }
    match step.op {
        Op::Pfseek => io.names(number, 0),
        _ => io.names(0, number),
    }
    let call = call(io.handles.get(opened.at), opened.file, number);
    let makes_stable = matches!(call, FileCall::Sync { .. });
    let mut tally = Tally::EMPTY;
    if io.part(&mut tally, Part::Data, call) >= 0 && makes_stable {
        io.made_stable(opened.at);
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(opened.at)).map(|()| Flow::Next)
}

/// `pdelete(path)`: by member 0, under `with (comm="self")` by each rank.
#[inline(never)]
pub(in super::super) fn delete<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    if !env.scope.is_master() && !io.options.active().alone {
        return Ok(Flow::Next);
    }
    let mut tally = Tally::EMPTY;
    let call = FileCall::Delete { path: io.paths[0].as_c_str() };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    io.add_explained(&mut tally, Part::Data, shot);
    io.conclude(step.op, step.site, &tally, Subject::Path).map(|()| Flow::Next)
}
