//! Extended attributes: a path, and the name of an attribute in the namespace `user.`.

use super::driver;
use super::eval::Env;
use super::fault::Fault;
use super::io::Io;
use super::perform::Step;
use super::tally::{Subject, Tally};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::Call;
use model::Op;
use model::value::{Eval, EvalError};

/// Longest value, and names of all attributes of a file (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const MAX_BYTES: usize = 65_536;

/// Executes an operation on attributes.
pub(super) fn run<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    if step.op != Op::Listxattr {
        env.path(step.site, step.args[1], &mut io.paths[1])?;
        check_name(io.paths[1].bytes())?;
    }
    let len = match step.op {
        Op::Setxattr => env.size(step.site, step.args[2])?,
        _ => 0,
    };
    let (path, name) = (io.paths[0].as_c_str(), io.paths[1].as_c_str());
    let call = match step.op {
        Op::Setxattr => {
            // The kernel refuses what is longer by a byte as well as what is longer by far.
            let len = len.min(MAX_BYTES as u64 + 1) as usize;
            let value = buffers.source(io.options.active().data, len, 0);
            value.map(|value| Call::Setxattr { path, name, value })
        }
        Op::Getxattr => buffers.target(MAX_BYTES).map(|buf| Call::Getxattr { path, name, buf }),
        Op::Listxattr => buffers.target(MAX_BYTES).map(|buf| Call::Listxattr { path, buf }),
        _ => Ok(Call::Removexattr { path, name }),
    };
    let Ok(call) = call else {
        let mut tally = Tally::EMPTY;
        tally.fail(libc::ENOMEM);
        return io.conclude(step.op, step.site, &tally, Subject::Path);
    };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// Other namespaces are the system's.
fn check_name(name: &[u8]) -> Eval<()> {
    if name.starts_with(b"user.") {
        return Ok(());
    }
    let found = format!("\"{}\"", String::from_utf8_lossy(name));
    Err(EvalError::Type("the name of an attribute that begins with user.", found))
}
