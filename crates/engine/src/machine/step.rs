//! An instruction that is an operation, and arguments that several operations have: open files, and
//! words for numbers of system calls.

use super::eval::Env;
use super::tally::{Fault, Flow};
use model::op::ParamKind;
use model::plan::{Operand, Pc, Slot};
use model::{Op, Value};

/// Permission bits of new files before umask.
pub(super) const FILE_MODE: u32 = 0o666;

/// The instruction that is executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'p> {
    pub(super) op: Op,
    pub(super) site: Pc,
    pub(super) dst: Slot,
    /// As many operands as the operation table has parameters.
    pub(super) args: &'p [Operand],
}

/// Modes of `fallocate`.
pub(super) const RANGES: &[i32] = &[
    libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_ZERO_RANGE,
    libc::FALLOC_FL_COLLAPSE_RANGE,
    libc::FALLOC_FL_INSERT_RANGE,
];
/// Flags of `rename`.
pub(super) const RENAMES: &[u32] = &[libc::RENAME_EXCHANGE, libc::RENAME_NOREPLACE];
/// Operations of `flock`; the kernel never waits: see [`super::files`].
pub(super) const LOCKS: &[i32] =
    &[libc::LOCK_SH | libc::LOCK_NB, libc::LOCK_EX | libc::LOCK_NB, libc::LOCK_UN];
/// Advice of `fadvise`.
pub(super) const ADVICE: &[i32] = &[
    libc::POSIX_FADV_NORMAL,
    libc::POSIX_FADV_RANDOM,
    libc::POSIX_FADV_SEQUENTIAL,
    libc::POSIX_FADV_WILLNEED,
    libc::POSIX_FADV_DONTNEED,
    libc::POSIX_FADV_NOREUSE,
];

/// The number of the word that an argument is; `None`: it is left out.
pub(super) fn chosen<T: Copy>(
    step: Step<'_>,
    env: &mut Env<'_>,
    at: usize,
    numbers: &[T],
) -> Flow<Option<T>> {
    let param = &step.op.row().params[at];
    let ParamKind::Word(words) = param.kind else { return Ok(None) };
    if step.args[at] == Operand::ABSENT {
        return Ok(None);
    }
    let value = env.value(step.site, step.args[at])?;
    let text = match value {
        Value::Str(text) => text.as_slice(),
        _ => b"",
    };
    match words.iter().position(|word| word.as_bytes() == text) {
        Some(found) => Ok(numbers.get(found).copied()),
        None => Err(Fault::message(format!(
            "expected {} as {} of {}, found {}",
            words.join(", "),
            param.name,
            step.op,
            value.describe()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_number_for_every_word() {
        for (op, at, numbers) in [
            (Op::Fallocate, 3, RANGES.len()),
            (Op::Rename, 2, RENAMES.len()),
            (Op::Fadvise, 3, ADVICE.len()),
            (Op::Flock, 1, LOCKS.len()),
        ] {
            let ParamKind::Word(words) = op.row().params[at].kind else { panic!("{op}") };
            assert_eq!(words.len(), numbers, "{op}");
        }
    }
}
