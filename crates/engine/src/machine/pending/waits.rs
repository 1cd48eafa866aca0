//! What waits for operations under way: statements that depend on them.

use super::super::eval::Env;
use super::super::fault::Fault;
use super::super::io::Io;
use super::super::options::Engine;
use super::super::perform::{Step, file};
use crate::backend::Backend;
use model::plan::{Function, Instr};
use model::{Op, errno};

impl<B: Backend> Io<'_, B> {
    /// Waits for all that is under way.
    pub(in super::super) fn finish_all(&mut self) -> Result<(), Fault> {
        while self.pending.under_way > 0 {
            self.turn(1)?;
        }
        Ok(())
    }

    /// Waits for what is under way on a file.
    pub(in super::super) fn finish_file(&mut self, at: usize) -> Result<(), Fault> {
        while self.handles.get(at).under_way > 0 {
            self.turn(1)?;
        }
        Ok(())
    }

    /// An operation is about to be executed while others are under way.
    #[cold]
    pub(in super::super) fn wait_before(
        &mut self,
        step: Step<'_>,
        env: &mut Env<'_>,
    ) -> Result<(), Fault> {
        let queues = matches!(self.options.active().engine, Engine::Uring { .. });
        match step.op {
            // They look for themselves.
            Op::Fread | Op::Fwrite | Op::Fsync | Op::Fdatasync if queues => Ok(()),
            // They go on meanwhile.
            Op::Fopen | Op::Fcreat | Op::Tmpfile => self.go_on(),
            Op::Print | Op::Assert | Op::Sleep | Op::Compute => self.go_on(),
            Op::Fclose
            | Op::Fread
            | Op::Fwrite
            | Op::Fsync
            | Op::Fdatasync
            | Op::Readv
            | Op::Writev
            | Op::Fseek
            | Op::Fstat
            | Op::Ftruncate
            | Op::Fallocate
            | Op::Fadvise => match file(step, env, self)? {
                (Some(at), Some(_)) => self.finish_file(at),
                _ => Ok(()),
            },
            _ => self.finish_all(),
        }
    }

    /// What was submitted is handed over, so that it is under way while the program does other things.
    fn go_on(&mut self) -> Result<(), Fault> {
        if self.pending.fresh.is_empty() { Ok(()) } else { self.turn(0) }
    }

    /// An instruction is about to be executed while operations are under way.
    #[cold]
    pub(in super::super) fn wait_before_instr(&mut self, instr: &Instr) -> Result<(), Fault> {
        let waits = match instr {
            Instr::LabelEnter { .. } | Instr::LabelLeave => true,
            Instr::WithEnter { .. } | Instr::WithLeave => true,
            Instr::Barrier { .. } | Instr::SplitEnter { .. } | Instr::ShareEnd => true,
            Instr::Function { function, .. } => {
                let asks = matches!(function, Function::Size | Function::Exists | Function::Tested);
                asks || function.row().is_collective()
            }
            _ => false,
        };
        if waits { self.finish_all() } else { Ok(()) }
    }
}

/// Why there is no queue, and what to do.
pub(super) fn no_queue(number: i32) -> String {
    let why = match number {
        libc::ENOSYS => {
            "this kernel has no io_uring, or a filter of system calls (seccomp) hides it"
                .to_string()
        }
        libc::EPERM | libc::EACCES => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
            let setting = setting.map(|text| format!(" (it is {})", text.trim()));
            format!(
                "io_uring is forbidden, by the setting kernel.io_uring_disabled{} or by a filter of system \
                 calls (seccomp)",
                setting.unwrap_or_default()
            )
        }
        libc::EINVAL => {
            "the kernel knows none with these options (depth, sqpoll, iopoll)".to_string()
        }
        libc::ENOMEM => "there is not enough memory that may be locked (ulimit -l)".to_string(),
        _ => errno::text(number as u16).to_string(),
    };
    format!(
        "engine=\"uring\" cannot be used here: {why}: {}; engine=\"uring|posix\" makes single calls \
         instead where it cannot",
        errno::name(number as u16)
    )
}

/// The kernel does not take calls any more.
pub(super) fn broken(number: i32) -> String {
    let (name, text) = (errno::name(number as u16), errno::text(number as u16));
    format!("io_uring_enter failed: {name} ({text})")
}
