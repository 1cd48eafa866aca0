//! Opening and closing MPI files, and what is one call.

use super::super::control::Flow;
use super::super::eval::Env;
use super::super::fault::Fault;
use super::super::io::{Io, Subject, Tally};
use super::super::note;
use super::super::options::Fsync;
use super::super::perform::Step;
use super::{bad_file, meet, opened, timed, way};
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile, MpiMode};
use crate::clock::Clock;
use crate::comm::{Comm, Members, Together};
use model::plan::NO_SLOT;
use model::value::EvalError;
use model::{Op, Part};

/// `$h = pfopen(path, mode)`
pub(super) fn open<B: Backend, C: Comm, K: Clock>(
    step: Step<'_>,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
) -> Result<Flow, Fault> {
    let mode = mode(step, env)?;
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let members = env.scope.members().clone();
    // Who gave another path or mode is told so by the open itself.
    let call = Together { op: step.op, file: 0, way: way(&[io.options.active().atomic]) };
    match meet(comm, &members, step.site, call) {
        Flow::Next => {}
        flow => return Ok(flow),
    }
    let mut tally = Tally::EMPTY;
    let file = open_file(io, mode, &members, &mut tally);
    let position = file.filter(|_| mode.append).map_or(0, |file| end_of(io, file, &members));
    let path_id = io.recorder.path(io.paths[0].bytes());
    let path = io.paths[0].bytes();
    let handle = io.handles.add_mpi(file, members, (mode.write, position), path, path_id);
    if step.dst != NO_SLOT {
        env.set(step.dst, handle);
    }
    io.conclude(step.op, step.site, &tally, Subject::Path).map(|()| Flow::Next)
}

/// Where a file ends that was opened for appending. Nobody goes on, and writes, before all
/// members have asked.
fn end_of<B: Backend, K: Clock>(io: &mut Io<'_, B, K>, file: MpiFile, members: &Members) -> u64 {
    let position = io.backend.issue_file(FileCall::Position { file }).max(0);
    io.most(members, position) as u64
}

fn mode<K: Clock>(step: Step<'_>, env: &mut Env<'_, K>) -> Result<MpiMode, Fault> {
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    MpiMode::parse(&text).ok_or_else(|| {
        let found = format!("\"{}\"", String::from_utf8_lossy(&text));
        EvalError::Type("an MPI open mode (letters of r w c x a)", found).into()
    })
}

/// Opens the file at the first path; `None` on all members if it failed on one.
pub(super) fn open_file<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    mode: MpiMode,
    members: &Members,
    tally: &mut Tally,
) -> Option<MpiFile> {
    if io.options.active().direct {
        io.notes |= note::DIRECT_MPI;
    }
    let path = io.paths[0].as_c_str();
    let call = FileCall::Open { path, mode, members, hints: io.options.hints() };
    let shot = timed(&mut io.backend, &io.clock, call);
    let reply = io.add_file_call(tally, Part::Open, shot);
    // A file that only some have opened cannot be closed, because closing is collective too.
    if io.any_failed(members, tally, "opening it failed on another member of the group") {
        return None;
    }
    let file = MpiFile(reply as i32);
    if io.options.active().atomic {
        let shot = timed(&mut io.backend, &io.clock, FileCall::SetAtomic { file });
        io.add_file_call(tally, Part::Open, shot);
    }
    if let Some(facts) = io.backend.opened_facts(file, members, io.options.hints()) {
        io.recorder.mpi_file(&facts);
    }
    Some(file)
}

/// Closes a file, made stable before where `with (fsync="close")` wants it.
pub(super) fn close_file<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    file: MpiFile,
    writable: bool,
    tally: &mut Tally,
) {
    if writable && io.options.active().fsync == Fsync::Close {
        let shot = timed(&mut io.backend, &io.clock, FileCall::Sync { file });
        io.add_file_call(tally, Part::Sync, shot);
    }
    let shot = timed(&mut io.backend, &io.clock, FileCall::Close { file });
    io.add_file_call(tally, Part::Close, shot);
}

/// pfclose, pfsync, pfsetsize, pfpreallocate, pfseek
pub(super) fn on_file<B: Backend, C: Comm, K: Clock>(
    step: Step<'_>,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
) -> Result<Flow, Fault> {
    let number = match step.args.get(1) {
        Some(operand) => env.size(step.site, *operand)?,
        None => 0,
    };
    let opened = match opened(step, env, io)? {
        Ok(opened) => opened,
        Err(at) => {
            if let (Some(at), Op::Pfclose) = (at, step.op) {
                io.handles.remove(at);
            }
            return bad_file(step, io, at);
        }
    };
    if step.op.is_collective() {
        let stable = step.op == Op::Pfclose && io.options.active().fsync == Fsync::Close;
        let call = Together { op: step.op, file: opened.number, way: way(&[stable]) };
        match meet(comm, &opened.members, step.site, call) {
            Flow::Next => {}
            flow => return Ok(flow),
        }
    }
    let file = opened.file;
    let mut tally = Tally::EMPTY;
    let call = match step.op {
        Op::Pfclose => {
            io.handles.remove(opened.at);
            close_file(io, file, opened.writable, &mut tally);
            if tally.errno == 0 && io.options.active().fsync == Fsync::Close {
                io.made_stable(opened.at);
            }
            let subject = Subject::Handle(opened.at);
            return io.conclude(step.op, step.site, &tally, subject).map(|()| Flow::Next);
        }
        Op::Pfsync => FileCall::Sync { file },
        Op::Pfsetsize => {
            io.handles.get(opened.at).seen_bytes = 0;
            FileCall::SetSize { file, size: number }
        }
        Op::Pfpreallocate => FileCall::Preallocate { file, size: number },
        _ => {
            io.handles.get(opened.at).position = number;
            FileCall::Seek { file, offset: number }
        }
    };
    let shot = timed(&mut io.backend, &io.clock, call);
    let reply = io.add_file_call(&mut tally, Part::Data, shot);
    if step.op == Op::Pfsync && reply >= 0 {
        io.made_stable(opened.at);
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(opened.at)).map(|()| Flow::Next)
}

/// `pdelete(path)`: by member 0.
pub(super) fn delete<B: Backend, K: Clock>(
    step: Step<'_>,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
) -> Result<Flow, Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    if !env.scope.is_master() {
        return Ok(Flow::Next);
    }
    let mut tally = Tally::EMPTY;
    let call = FileCall::Delete { path: io.paths[0].as_c_str() };
    let shot = timed(&mut io.backend, &io.clock, call);
    io.add_file_call(&mut tally, Part::Data, shot);
    io.conclude(step.op, step.site, &tally, Subject::Path).map(|()| Flow::Next)
}
