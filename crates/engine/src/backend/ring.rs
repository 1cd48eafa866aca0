//! Calls under way together by io_uring: a ring of the kernel for what is submitted, and one for what
//! has ended.
//!
//! Files are opened by others, with all that confinement asks for: the ring is given descriptors only.

use super::resolve::errno;
use crate::call::{Fd, QueueSettings, Queued, Reply, Tag, Target};
use io_uring::{IoUring, opcode, types};
use rustix::process::{Resource, getrlimit};
use std::ops::Range;
use std::time::Duration;

/// Files that the kernel looks up once; others are looked up at every call.
const FIXED_FILES: u32 = 1024;
/// The most that the kernel registers as one buffer, bytes.
const LARGEST_MEMORY: usize = 1 << 30;
/// A polling thread of the kernel sleeps after so long without work, milliseconds.
const SQPOLL_IDLE_MS: u32 = 100;

/// A ring of a rank.
pub(crate) struct Ring {
    ring: IoUring,
    /// By descriptor: the kernel holds it.
    fixed: Vec<bool>,
    /// Addresses that are registered.
    memory: Range<usize>,
    under_way: u32,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// The submission entry of a call. It is a macro because the library names no type that a held file and a
/// descriptor have in common.
macro_rules! entry {
    ($call:expr, $fd:expr, $is_pinned:expr) => {{
        let (call, fd): (&Queued, _) = ($call, $fd);
        let (address, len, write) = call.memory.parts();
        let (bytes, at) = (len as u32, call.offset);
        match (call.target, write, $is_pinned) {
            (Target::Sync { data: false, .. }, ..) => opcode::Fsync::new(fd).build(),
            (Target::Sync { data: true, .. }, ..) => {
                opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build()
            }
            (_, false, true) => opcode::ReadFixed::new(fd, address, bytes, 0).offset(at).build(),
            (_, false, false) => opcode::Read::new(fd, address, bytes).offset(at).build(),
            (_, true, true) => opcode::WriteFixed::new(fd, address, bytes, 0).offset(at).build(),
            (_, true, false) => opcode::Write::new(fd, address, bytes).offset(at).build(),
        }
    }};
}

impl Ring {
    /// Asks the kernel for a ring.
    ///
    /// # Errors
    /// `ENOSYS`, `EPERM` (forbidden), `EINVAL` (an option it does not know), `ENOMEM`.
    pub(crate) fn open(settings: &QueueSettings) -> Result<Ring, i32> {
        let ring = build(settings).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        let files = FIXED_FILES.min(open_files_max());
        // Linux before 5.19 has no empty tables: descriptors then.
        let fixed = ring.submitter().register_files_sparse(files).is_ok();
        let fixed = vec![false; if fixed { files as usize } else { 0 }];
        Ok(Ring { ring, fixed, memory: 0..0, under_way: 0 })
    }

    /// Pins memory. Where the kernel refuses it (RLIMIT_MEMLOCK) it is pinned at every call.
    pub(crate) fn lend_memory(&mut self, memory: &mut [u8]) {
        let submitter = self.ring.submitter();
        if !self.memory.is_empty() {
            // Nothing is under way.
            let _ = submitter.unregister_buffers();
        }
        self.memory = 0..0;
        let (start, len) = (memory.as_mut_ptr(), memory.len());
        let whole = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: the memory stays until other memory is lent, or the ring is closed.
        let pinned =
            len <= LARGEST_MEMORY && unsafe { submitter.register_buffers(&[whole]) }.is_ok();
        if pinned {
            self.memory = start as usize..start as usize + len;
        }
    }

    pub(crate) fn leave_file(&mut self, fd: Fd) {
        if let Some(held) = self.fixed.get_mut(fd.0 as usize).filter(|held| **held) {
            *held = self.ring.submitter().register_files_update(fd.0 as u32, &[-1]).is_err();
        }
    }

    /// The kernel holds the file from now on.
    fn fix(&mut self, fd: Fd) -> bool {
        let Some(held) = self.fixed.get_mut(fd.0 as usize) else { return false };
        if !*held {
            *held = self.ring.submitter().register_files_update(fd.0 as u32, &[fd.0]).is_ok();
        }
        *held
    }

    /// Puts a call into the ring; the kernel sees it when it is handed over.
    pub(crate) fn push(&mut self, tag: Tag, call: &Queued) -> Result<(), i32> {
        let (Target::File(fd) | Target::Sync { fd, .. }) = call.target else {
            return Err(libc::ENOSYS);
        };
        // To io_uring the largest number is the file's own position.
        if call.offset > i64::MAX as u64 {
            return Err(libc::EINVAL);
        }
        let entry = match self.fix(fd) {
            true => entry!(call, types::Fixed(fd.0 as u32), self.is_pinned(call)),
            false => entry!(call, types::Fd(fd.0), self.is_pinned(call)),
        };
        let entry = entry.user_data(u64::from(tag.0));
        // SAFETY: the memory of the call is lent until its end is reaped.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // Full: more may be under way than the ring holds.
            let handed_over = self.hand_over(0);
            if handed_over < 0 {
                return Err(-handed_over as i32);
            }
        }
        self.under_way += 1;
        Ok(())
    }

    fn is_pinned(&self, call: &Queued) -> bool {
        let (address, len, _) = call.memory.parts();
        let start = address as usize;
        self.memory.contains(&start) && start + len <= self.memory.end
    }

    /// Submits the entries of the ring and waits for `wait` completions: one system call, or none with
    /// `sqpoll`.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self, wait: u32) -> Reply {
        match self.ring.submit_and_wait(wait as usize) {
            Ok(taken) => taken as Reply,
            Err(_) => -Reply::from(errno()),
        }
    }

    /// Hands over and waits for one end, but no longer than `ns`. Where the kernel knows no such wait it only
    /// looks.
    pub(crate) fn wait_within(&mut self, ns: u64) -> Reply {
        if !self.ring.params().is_feature_ext_arg() {
            return self.hand_over(0);
        }
        let wait = types::Timespec::from(Duration::from_nanos(ns));
        let wait = types::SubmitArgs::new().timespec(&wait);
        match self.ring.submitter().submit_with_args(1, &wait) {
            Ok(taken) => taken as Reply,
            Err(_) => -Reply::from(errno()),
        }
    }

    #[inline(always)]
    pub(crate) fn ended(&mut self) -> Option<(Tag, Reply)> {
        let end = self.ring.completion().next()?;
        self.under_way -= 1;
        Some((Tag(end.user_data() as u32), Reply::from(end.result())))
    }
}

/// One thread submits and reaps, and asks for ends only when it is in the kernel anyway: fewer
/// interruptions. Older kernels do without.
fn build(settings: &QueueSettings) -> std::io::Result<IoUring> {
    let with = |single: bool, defer: bool| {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(settings.depth.max(2).next_power_of_two());
        if settings.iopoll {
            builder.setup_iopoll();
        }
        if settings.sqpoll {
            builder.setup_sqpoll(SQPOLL_IDLE_MS);
        }
        if single {
            builder.setup_single_issuer();
        }
        if defer {
            builder.setup_defer_taskrun();
        }
        builder.build(settings.depth)
    };
    let is_unknown = |error: &std::io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match with(true, !settings.sqpoll) {
        Err(error) if is_unknown(&error) => with(false, false),
        built => built,
    }
}

/// Descriptors that this process may have.
fn open_files_max() -> u32 {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(u32::MAX)
}
