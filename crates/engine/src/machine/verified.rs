//! Fills what `with (verify=true)` writes and checks what it reads, outside of every clock reading.
//!
//! ```text
//! write   generation and mark, fill │ call │ remember where it lies
//! read                              │ call │ examine, forget what the call cannot show
//! ```
//!
//! Once a program has verified anything, all that it does to files is followed: what others of its
//! statements write, cut and remove is expected then. What is wrong makes its operation fail.

use super::io::Io;
use super::mpi_io::Access;
use super::now;
use super::place::RUN;
use super::prepare::Prepared;
use super::tally::{Shot, Subject, Tally};
use super::task::{Task, Want};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd, Reply};
use crate::record::Count;
use crate::rng::mix;
use crate::verify::{Examiner, Findings, Mark, Memory, State, file_number};
use model::Op;
use std::io;
use std::ops::Range;

/// Error of a read of wrong bytes, as file systems with checksums report it.
pub(super) const WRONG: i32 = libc::EBADMSG;

/// What a rank knows of verified data.
#[derive(Debug, Default)]
pub(super) struct Verified {
    /// The program has verified something, so that everything is followed.
    pub(super) on: bool,
    memory: Memory,
    writer: u32,
    ranks: u32,
    run: u16,
    /// No statement gives a file another name or copies it.
    keeps_names: bool,
    /// No statement gives a file a second name.
    has_one_name: bool,
    /// What `fallocate` does.
    pub(super) mode: i32,
    /// The generation of the write that is made, and where an append begins.
    generation: u32,
    append_at: Option<u64>,
    /// What the running statement of MPI-IO accesses.
    pub(super) access: Access,
    /// How often a write was submitted to be under way with others, or has ended.
    writes: u64,
    /// How often files were changed by operations that were not.
    changes: u64,
}

/// What an operation under way needs to be checked at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    verifies: bool,
    generation: u32,
    writes: u64,
    changes: u64,
    /// The file, and the bytes of a write that is under way.
    number: u64,
    written: (u64, u64),
    /// Another write to some of these bytes was under way too: either may be the last.
    clashes: bool,
}

impl Ahead {
    pub(super) const NONE: Ahead = Ahead {
        verifies: false,
        generation: 0,
        writes: 0,
        changes: 0,
        number: 0,
        written: (0, 0),
        clashes: false,
    };

    /// It is a write to the file of the other one.
    pub(super) fn writes_to(self, other: Ahead) -> bool {
        self.number == other.number && self.written.0 < self.written.1
    }
}

impl Verified {
    pub(super) fn add_to_run(&mut self, execution: u32) {
        self.run = self.run.wrapping_add(execution as u16) & 0xfff;
    }

    fn examiner(&self, number: u64, exact: bool) -> Examiner<'_> {
        Examiner {
            memory: &self.memory,
            number,
            writer: self.writer,
            run: self.run,
            ranks: self.ranks,
            keeps_names: self.keeps_names,
            exact,
        }
    }

    /// The mark of a write to these bytes.
    fn mark(&mut self, number: u64, range: Range<u64>) -> Mark {
        self.generation = self.memory.next_generation(number, range);
        let generation = self.generation;
        Mark { file: number as u32, writer: self.writer, run: self.run, generation }
    }

    /// What lies where a call has written `done` of the bytes that it was given; `marked`: they
    /// describe themselves.
    fn wrote(&mut self, number: u64, range: Range<u64>, reply: Reply, marked: Option<u32>) {
        let state = match marked {
            Some(generation) if self.has_one_name => State::Written(generation),
            Some(_) => State::Unsure,
            None => State::Other,
        };
        match u64::try_from(reply) {
            Ok(done) => self.memory.put(number, range.start..range.start + done, state),
            // Nobody knows how far it came.
            Err(_) => self.memory.put(number, range, doubt(marked)),
        }
    }
}

/// What lies where a write may have come or not.
fn doubt(marked: Option<u32>) -> State {
    if marked.is_some() { State::Unsure } else { State::Other }
}

impl<B: Backend> Io<'_, B> {
    /// A rank of a plan.
    pub(super) fn verified(mut self, prepared: &Prepared<'_>, rank: u32) -> Self {
        let uses = |ops: &[Op]| prepared.uses(ops);
        let verified = &mut self.verified;
        (verified.writer, verified.ranks) = (rank & 0xf_ffff, prepared.plan.ranks);
        verified.run = self.settings.run_mark & 0xfff;
        verified.memory.has_other_names = uses(&[Op::Link, Op::Symlink, Op::Linkat]);
        verified.has_one_name = !verified.memory.has_other_names;
        let moves_names = &[Op::Rename, Op::Copy, Op::Fcopy, Op::Reflink, Op::Freflink];
        verified.keeps_names = verified.has_one_name && !uses(moves_names);
        self
    }

    /// From now on everything is followed, if the options ask for it and bytes are kept.
    pub(super) fn start_verifying(&mut self) {
        if self.options.active().verify && !self.verified.on {
            self.verified.on = self.backend.capabilities().keeps_data;
            self.watched |= self.verified.on;
        }
    }

    /// The file of an operation.
    pub(super) fn number_of(&mut self, subject: Subject) -> u64 {
        match subject {
            Subject::Handle(at) | Subject::Handles { to: at, .. } => {
                let handle = self.handles.get(at);
                let number = file_number(&handle.path);
                // Files without a name lie in the same directory.
                match handle.mode.nameless {
                    true => mix(number ^ mix(handle.generation() << 32 | at as u64)),
                    false => number,
                }
            }
            Subject::Paths => file_number(self.paths[1].bytes()),
            Subject::Nothing | Subject::Path => file_number(self.paths[0].bytes()),
        }
    }

    /// Makes a call of a task; what is written is filled before.
    #[cold]
    pub(super) fn issue_verified(
        &mut self,
        want: Want,
        task: &Task<'_>,
        buffers: &mut Buffers,
    ) -> io::Result<Shot> {
        let start_ns = self.clock.now();
        let (offset, len) = match want {
            Want::Write { offset, len, .. } => (offset, len),
            Want::Append { len, .. } => {
                let end = self.backend.issue(Call::Seek { fd: task.fd, offset: 0, end: true });
                self.verified.append_at = u64::try_from(end).ok();
                (self.verified.append_at.unwrap_or(0), len)
            }
            _ => return now::issue(want, task.fd, self, buffers),
        };
        self.mark(buffers, task.subject, offset..offset.saturating_add(len as u64));
        let shot = match want {
            Want::Append { .. } => {
                let content = self.options.active().data;
                let buf = buffers.source(content, len, offset)?;
                now::timed(&mut self.backend, &self.clock, Call::Append { fd: task.fd, buf })
            }
            _ => now::issue(want, task.fd, self, buffers)?,
        };
        self.count_filled(len as u64, shot.start_ns.saturating_sub(start_ns));
        Ok(shot)
    }

    /// Marks what is written to these bytes of a file.
    pub(super) fn mark(&mut self, buffers: &mut Buffers, subject: Subject, range: Range<u64>) {
        if self.options.active().verify {
            let number = self.number_of(subject);
            buffers.mark(self.verified.mark(number, range));
        }
    }

    /// The time, if what follows is to be counted as filling.
    pub(super) fn clock_if_verified(&self) -> Option<u64> {
        let verifies = self.verified.on && self.options.active().verify;
        verifies.then(|| self.clock.now())
    }

    /// Bytes were filled since then.
    pub(super) fn filled_since(&mut self, since_ns: Option<u64>, bytes: u64) {
        if let Some(since_ns) = since_ns {
            let ns = self.clock.now().saturating_sub(since_ns);
            self.count_filled(bytes, ns);
        }
    }

    fn count_filled(&mut self, bytes: u64, ns: u64) {
        if self.options.active().verify {
            self.count_all([(Count::Filled, bytes), (Count::FillNs, ns)]);
        }
    }

    fn count_all<const N: usize>(&mut self, counts: [(Count, u64); N]) {
        let block = self.labels.traffic(&mut self.recorder, RUN);
        counts.into_iter().for_each(|(count, more)| {
            self.recorder.count(block, count, more);
        });
    }

    /// Takes what a call of a task has come to.
    #[cold]
    pub(super) fn verify(
        &mut self,
        want: Want,
        shot: Shot,
        task: &mut Task<'_>,
        buffers: &mut Buffers,
    ) {
        let number = self.number_of(task.subject);
        let range = |offset: u64, len: usize| offset..offset.saturating_add(len as u64);
        match want {
            Want::Open { flags } if flags & libc::O_TRUNC != 0 => {
                self.verified_truncated(shot.reply);
            }
            Want::Write { offset, len, .. } => {
                self.wrote_some(number, range(offset, len), shot.reply)
            }
            Want::Append { len, .. } => self.verified_append(number, task.fd, len, shot.reply),
            Want::Read { offset, len, .. } => {
                let moved = usize::try_from(shot.reply).unwrap_or(0);
                let Ok(bytes) = buffers.target(len) else { return };
                let findings = match (moved, shot.reply) {
                    (0, 0) => self.examine_end(number, range(offset, len)),
                    _ => self.examine(number, &bytes[..moved.min(len)], offset),
                };
                self.blame(&mut task.tally, findings, task.subject);
            }
            _ => {}
        }
    }

    /// A call has written some of these bytes.
    pub(super) fn wrote_some(&mut self, number: u64, range: Range<u64>, reply: Reply) {
        let marked = self.options.active().verify.then_some(self.verified.generation);
        self.verified.changes += 1;
        self.verified.wrote(number, range, reply, marked);
    }

    /// Others may append too: what went elsewhere than it says cannot be checked.
    fn verified_append(&mut self, number: u64, fd: Fd, len: usize, reply: Reply) {
        let Some(start) = self.verified.append_at.take() else { return };
        let end = self.backend.position(fd);
        let range = start..start + len as u64;
        match (u64::try_from(reply), end) {
            (Ok(moved), Some(end)) if end != start + moved => {
                let real = end.saturating_sub(moved)..end;
                self.verified.changes += 1;
                self.verified.memory.put(number, real, State::Other);
            }
            _ => self.wrote_some(number, range, reply),
        }
    }

    /// Examines what was read, if it is to be verified.
    pub(super) fn examine(&mut self, number: u64, bytes: &[u8], offset: u64) -> Findings {
        if !self.options.active().verify {
            return Findings::default();
        }
        // What is under way may have been written, or not.
        let exact = self.pending.is_idle();
        let start_ns = self.clock.now();
        let findings = self.verified.examiner(number, exact).examine(bytes, offset);
        let ns = self.clock.now().saturating_sub(start_ns);
        self.count_all([(Count::CheckNs, ns)]);
        findings
    }

    /// The same where the file has ended.
    pub(super) fn examine_end(&mut self, number: u64, range: Range<u64>) -> Findings {
        match self.options.active().verify {
            true => {
                let exact = self.pending.is_idle();
                self.verified.examiner(number, exact).examine_end(range)
            }
            false => Findings::default(),
        }
    }

    /// Where `writev` writes, which it is marked for; of an append that is the end of the file.
    #[cold]
    pub(super) fn place_vector(
        &mut self,
        (op, at, fd): (Op, usize, Fd),
        tally: &mut Tally,
        buffers: &mut Buffers,
    ) -> Option<u64> {
        if op != Op::Writev {
            return None;
        }
        if self.handles.get(at).mode.append {
            let end = self.backend.issue(Call::Seek { fd, offset: 0, end: true });
            tally.offset_bytes = u64::try_from(end).unwrap_or(0);
        }
        let range = tally.offset_bytes..tally.offset_bytes.saturating_add(tally.requested_bytes);
        self.mark(buffers, Subject::Handle(at), range);
        self.clock_if_verified()
    }

    /// What `readv` and `writev` have come to.
    #[cold]
    pub(super) fn verify_vector(
        &mut self,
        (op, at): (Op, usize),
        filling_ns: Option<u64>,
        tally: &mut Tally,
        buffers: &mut Buffers,
    ) {
        let number = self.number_of(Subject::Handle(at));
        let (start, done) = (tally.offset_bytes, tally.done_bytes);
        if op == Op::Writev {
            let ns = filling_ns.map_or(0, |ns| tally.timing.start_ns.saturating_sub(ns));
            self.count_filled(tally.requested_bytes, ns);
            self.wrote_some(number, start..start + done, done as Reply);
            if tally.errno != 0 {
                let rest = start + done..start.saturating_add(tally.requested_bytes);
                let marked = self.options.active().verify.then_some(0);
                self.verified.memory.put(number, rest, doubt(marked));
            }
            return;
        }
        let Ok(bytes) = buffers.target(done as usize) else { return };
        let mut findings = self.examine(number, bytes, start);
        if tally.short {
            findings.add(self.examine_end(number, start + done..start + tally.requested_bytes));
        }
        self.blame(tally, findings, Subject::Handle(at));
    }

    /// Counts what was found; an operation that has read wrong bytes has failed.
    pub(super) fn blame(&mut self, tally: &mut Tally, findings: Findings, subject: Subject) {
        self.found_zeros(&findings, subject);
        let [lost, stale, torn, foreign, corrupted] = findings.counts;
        self.count_all([
            (Count::Checked, findings.checked_bytes),
            (Count::Zeros, findings.zero_bytes),
            (Count::Lost, lost),
            (Count::Stale, stale),
            (Count::Torn, torn),
            (Count::Foreign, foreign),
            (Count::Corrupted, corrupted),
        ]);
        if let Some(text) = findings.text()
            && tally.errno == 0
        {
            tally.fail(WRONG);
            self.detail = Some(text);
        }
    }

    /// Keeps where zeros lie in a file.
    fn found_zeros(&mut self, findings: &Findings, subject: Subject) {
        if findings.zeros.is_empty() {
            return;
        }
        let file = self.number_of(subject);
        let path = match subject {
            Subject::Handle(at) | Subject::Handles { to: at, .. } => &self.handles.get(at).path[..],
            Subject::Nothing | Subject::Path | Subject::Paths => self.paths[0].bytes(),
        };
        let (label, mut places) = (self.labels.id(), findings.zero_places);
        for range in &findings.zeros {
            let is_new = self.recorder.zeros(label, (file, path), range.clone());
            places -= u64::from(!is_new);
        }
        self.count_all([(Count::ZeroPlaces, places)]);
    }

    /// The first path was opened and cut to nothing, if that went well.
    #[cold]
    pub(super) fn verified_truncated(&mut self, reply: Reply) {
        self.verified.changes += 1;
        if reply >= 0 {
            let number = self.number_of(Subject::Path);
            self.verified.memory.clear(number, 0..u64::MAX);
        }
    }

    /// An operation is over that may have changed files otherwise than by writing.
    #[cold]
    pub(super) fn verified_changes(&mut self, op: Op, errno: i32, subject: Subject) {
        const CHANGES: &[Op] = &[
            Op::Truncate,
            Op::Ftruncate,
            Op::Pfsetsize,
            Op::Fallocate,
            Op::Delete,
            Op::Pdelete,
            Op::Rename,
            Op::Copy,
            Op::Fcopy,
            Op::Reflink,
            Op::Freflink,
        ];
        self.verified.changes += u64::from(CHANGES.contains(&op));
        let failed = errno != 0;
        let (offset, size) = self.named;
        let range = |start: u64, end: u64| start..end.max(start);
        match op {
            Op::Truncate | Op::Ftruncate | Op::Pfsetsize | Op::Fallocate if failed => {
                let number = self.number_of(subject);
                self.verified.memory.forget(number);
            }
            Op::Truncate | Op::Ftruncate => {
                let number = self.number_of(subject);
                self.verified.memory.clear(number, range(size, u64::MAX));
            }
            Op::Fallocate => self.verified_allocated(subject, offset, size),
            Op::Pfsetsize => {
                let number = self.number_of(subject);
                self.verified.memory.forget(number);
            }
            Op::Delete | Op::Pdelete if !failed => {
                let number = self.number_of(subject);
                self.verified.memory.clear(number, 0..u64::MAX);
            }
            // A directory may have moved.
            Op::Rename => self.verified.memory.forget_all(),
            Op::Copy | Op::Fcopy | Op::Reflink | Op::Freflink => {
                let number = self.number_of(subject);
                self.verified.memory.forget(number);
            }
            _ => {}
        }
    }

    fn verified_allocated(&mut self, subject: Subject, offset: u64, size: u64) {
        const KEEPS: i32 = libc::FALLOC_FL_KEEP_SIZE;
        const HOLES: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        let number = self.number_of(subject);
        let memory = &mut self.verified.memory;
        match self.verified.mode & !KEEPS {
            0 => {}
            mode if mode & !HOLES == 0 => memory.clear(number, offset..offset.saturating_add(size)),
            // What lies behind has moved, and says that it belongs elsewhere.
            _ => memory.put(number, offset..u64::MAX, State::Other),
        }
    }

    /// An operation is submitted that writes to, or reads from, a file; `others` are under way.
    pub(super) fn verify_ahead<'a>(
        &mut self,
        buffers: &mut Buffers,
        (at, write): (usize, bool),
        range: Range<u64>,
        others: impl Iterator<Item = &'a mut Ahead>,
    ) -> Ahead {
        let number = self.number_of(Subject::Handle(at));
        let mut ahead = Ahead { verifies: self.options.active().verify, number, ..Ahead::NONE };
        if write {
            self.verified.writes += 1;
            ahead.written = (range.start, range.end);
            for other in others.filter(|other| other.number == number) {
                let (start, end) = other.written;
                if start < range.end && range.start < end {
                    (other.clashes, ahead.clashes) = (true, true);
                }
            }
            if !ahead.verifies {
                self.verified.memory.put(number, range.clone(), State::Other);
            }
            self.mark(buffers, Subject::Handle(at), range);
        }
        let Verified { generation, writes, changes, .. } = self.verified;
        Ahead { generation, writes, changes, ..ahead }
    }

    /// A write that was under way has ended, after so many bytes.
    pub(super) fn verify_written(&mut self, ahead: Ahead, done: u64, errno: i32) {
        self.verified.writes += 1;
        let (start, end) = ahead.written;
        let marked = ahead.verifies.then_some(ahead.generation);
        if ahead.clashes || ahead.changes != self.verified.changes {
            self.verified.memory.put(ahead.number, start..end, doubt(marked));
            return;
        }
        self.verified.wrote(ahead.number, start..start + done, done as Reply, marked);
        if errno != 0 {
            self.verified.memory.put(ahead.number, start + done..end, doubt(marked));
        }
    }

    /// A read that was under way has ended. Writes meanwhile may have come before or after it.
    pub(super) fn verify_read(
        &mut self,
        (ahead, writing, at): (Ahead, bool, usize),
        (bytes, offset): (&[u8], u64),
        tally: &mut Tally,
    ) {
        if !ahead.verifies {
            return;
        }
        let number = ahead.number;
        let Verified { writes, changes, .. } = self.verified;
        let exact = !writing && (ahead.writes, ahead.changes) == (writes, changes);
        let start_ns = self.clock.now();
        let mut findings = self.verified.examiner(number, exact).examine(bytes, offset);
        if tally.short && exact {
            let end = offset + bytes.len() as u64..offset + tally.requested_bytes;
            findings.add(self.verified.examiner(number, exact).examine_end(end));
        }
        let ns = self.clock.now().saturating_sub(start_ns);
        self.count_all([(Count::CheckNs, ns)]);
        self.blame(tally, findings, Subject::Handle(at));
    }
}
