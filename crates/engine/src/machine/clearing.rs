//! Statements that empty the page cache, and what came of them: `dropcaches`, and `fadvise` with
//! `"dontneed"`. The kernel may keep what it was asked to drop (pages that are not written to storage yet,
//! or that somebody has mapped), so some files are looked at afterwards, outside of every reading of the
//! clock.

use super::driver;
use super::eval::Env;
use super::io::Io;
use super::place::RUN;
use super::step::{Step, bad_handle, file};
use super::tally::{Fault, Subject};
use crate::backend::Backend;
use crate::call::{Call, Fd};
use crate::recorder::Count;

/// After one statement no more files are looked at.
const FILES: usize = 16;
/// Advice where the page cache cannot be dropped.
const REFUSED: &str = "the page cache keeps what it has: root may drop it where /proc/sys is writable, which it is \
                       in few containers; without that fsync files and say fadvise($h, 0, 0, \"dontneed\"), read \
                       with (direct=true) {...}, or read what another node wrote";

/// `dropcaches;`
#[cold]
pub(super) fn drop_caches<B: Backend>(step: Step<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    let shot = driver::timed(&mut io.backend, &io.clock, Call::DropCaches {});
    let done = shot.reply >= 0;
    io.count_clearing(if done { Count::Drops } else { Count::DropsRefused }, 1);
    if done {
        let files: Vec<Fd> = io.handles.open_files().take(FILES).collect();
        for fd in files {
            io.look_after(fd, [Count::DropLooked, Count::DropKept]);
        }
    } else {
        io.detail = Some(REFUSED.to_string());
    }
    io.settle(step.op, step.site, shot, Subject::Nothing)
}

/// `fadvise($h, off, n, "dontneed")`
#[cold]
pub(super) fn need_no_more<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    (offset, size): (u64, u64),
) -> Result<(), Fault> {
    let (at, fd) = match file(step, env, io)? {
        (Some(at), Some(fd)) => (at, fd),
        (at, _) => return bad_handle(step, io, at),
    };
    let advice = libc::POSIX_FADV_DONTNEED;
    let call = Call::Fadvise { fd, offset, size, advice };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    if shot.reply >= 0 {
        io.count_clearing(Count::Advised, 1);
        // Of a part of a file nobody says what was kept.
        if (offset, size) == (0, 0) && io.traffic.chooses_advised() {
            io.look_after(fd, [Count::AdviceLooked, Count::AdviceKept]);
        }
    }
    io.settle(step.op, step.site, shot, Subject::Handle(at))
}

impl<B: Backend> Io<'_, B> {
    /// In virtual time there is no page cache.
    fn count_clearing(&mut self, count: Count, more: u64) {
        if self.clock.passes_by_itself() {
            let block = self.labels.traffic(&mut self.recorder, RUN);
            self.recorder.count(block, count, more);
        }
    }

    /// Counts the size of a file, and what of it stayed in the page cache.
    fn look_after(&mut self, fd: Fd, [looked, kept]: [Count; 2]) {
        if let Some(found) = self.backend.look(fd)
            && let Some(cached_bytes) = found.cached_bytes
        {
            self.count_clearing(looked, found.size_bytes);
            self.count_clearing(kept, cached_bytes);
        }
    }
}
