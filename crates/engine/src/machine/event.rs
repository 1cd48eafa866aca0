//! What is told of an operation that is over besides its counters: its event, and a word to a
//! rehearsal.

use super::arrivals::NOT_DUE;
use super::extents::counted;
use super::io::Io;
use super::tally::{Subject, Tally};
use crate::backend::{Backend, Over};
use crate::call::Fd;
use crate::recorder::Timing;
use model::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_SHORT, FLAG_UNPLACED, NO_ID};
use model::pattern::Run;
use model::plan::Pc;
use model::{Event, Op, Part};

/// What an event tells of the place of its bytes besides an offset.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// See [`Event::extents`].
    pub(super) extents: u32,
    /// See [`Event::pieces`].
    pub(super) pieces: u32,
    /// It cannot be told.
    pub(super) unknown: bool,
    /// See [`Event::from_bytes`].
    pub(super) from_bytes: u64,
    /// What was appended, in order.
    appended: Vec<Run>,
}

impl<B: Backend> Io<'_, B> {
    /// An operation has ended, for the account of the back-end.
    fn account(&mut self, op: Op, site: Pc, tally: &Tally, subject: Subject, expected: bool) {
        let path = match subject {
            Subject::Nothing => &b""[..],
            Subject::Path => self.paths[0].bytes(),
            Subject::Paths => self.paths[1].bytes(),
            Subject::Handle(at) | Subject::Handles { to: at, .. } => &self.handles.get(at).path,
        };
        self.backend.concluded(&Over {
            op,
            label: self.labels.id(),
            site,
            path,
            requested_bytes: tally.requested_bytes,
            done_bytes: tally.done_bytes,
            short: tally.short,
            errno: if expected { 0 } else { tally.errno },
        });
    }

    /// A simple operation that succeeded, to who wants to know.
    #[inline(never)]
    pub(super) fn tell_simple(&mut self, op: Op, site: Pc, timing: Timing, subject: Subject) {
        if self.accounts {
            self.account(op, site, &Tally::EMPTY, subject, false);
        }
        match self.keeps_events {
            true => self.simple_event(op, site, timing, subject),
            false => self.named = (0, 0),
        }
    }

    /// Any other operation.
    #[inline(never)]
    pub(super) fn tell(
        &mut self,
        op: Op,
        site: Pc,
        tally: &Tally,
        subject: Subject,
        expected: bool,
    ) {
        if self.accounts {
            self.account(op, site, tally, subject, expected);
        }
        match self.keeps_events {
            true => self.event(op, site, tally, subject, expected),
            false => self.named = (0, 0),
        }
    }

    /// The event of a simple operation that succeeded.
    #[inline(never)]
    fn simple_event(&mut self, op: Op, site: Pc, timing: Timing, subject: Subject) {
        let (offset_bytes, requested_bytes) = std::mem::take(&mut self.named);
        if !self.recorder.chooses_event(self.operations) {
            return;
        }
        let (path, path2) = self.event_paths(subject);
        let (intended_start_ns, flags) = self.due(timing.start_ns);
        self.recorder.event(&Event {
            seq: self.operations,
            offset_bytes,
            requested_bytes,
            start_ns: timing.start_ns,
            end_ns: timing.end_ns,
            intended_start_ns,
            busy_ns: timing.busy_ns,
            site,
            label: self.labels.id(),
            path,
            path2,
            op: op as u8,
            flags,
            ..Event::default()
        });
    }

    /// When the running operation was due, and the flag that says it.
    fn due(&self, start_ns: u64) -> (u64, u8) {
        match self.arrivals.due_ns {
            NOT_DUE => (start_ns, 0),
            due_ns => (due_ns, FLAG_DUE),
        }
    }

    /// The ids of a subject's paths in the event table.
    #[inline(always)]
    fn event_paths(&mut self, subject: Subject) -> (u32, u32) {
        match subject {
            Subject::Nothing => (NO_ID, NO_ID),
            Subject::Path => (self.recorder.path(self.paths[0].bytes()), NO_ID),
            Subject::Paths => {
                let first = self.recorder.path(self.paths[0].bytes());
                (first, self.recorder.path(self.paths[1].bytes()))
            }
            Subject::Handle(at) => (self.handles.get(at).path_id, NO_ID),
            Subject::Handles { from, to } => {
                (self.handles.get(to).path_id, self.handles.get(from).path_id)
            }
        }
    }

    /// Bytes were appended: finds out where, because no call says it. Not timed.
    #[cold]
    pub(super) fn appended(&mut self, fd: Fd, bytes: u64) {
        let end_bytes = self.backend.position(fd);
        let Some(offset_bytes) = end_bytes.and_then(|end| end.checked_sub(bytes)) else {
            self.touched.unknown = true;
            return;
        };
        match self.touched.appended.last_mut() {
            Some(last) if last.offset_bytes + last.length_bytes == offset_bytes => {
                *last = Run::single(last.offset_bytes, last.length_bytes + bytes);
            }
            _ => self.touched.appended.push(Run::single(offset_bytes, bytes)),
        }
    }

    /// Where the operation began, pieces and their number, and whether that is known.
    fn take_touched(&mut self, tally: &Tally) -> (u64, u32, u32, bool) {
        let Touched { mut extents, mut pieces, unknown, .. } = self.touched;
        let appended = std::mem::take(&mut self.touched.appended);
        // Others have appended between its calls.
        if appended.len() > 1 {
            pieces = counted(appended.len() as u64);
            extents = self.recorder.extents(u64::from(pieces), &appended);
        }
        let offset_bytes = appended.first().map_or(tally.offset_bytes, |run| run.offset_bytes);
        self.touched = Touched { appended, ..Touched::default() };
        self.touched.appended.clear();
        (offset_bytes, extents, pieces, unknown || pieces > 0 && extents == 0)
    }

    #[inline(never)]
    fn event(&mut self, op: Op, site: Pc, tally: &Tally, subject: Subject, expected: bool) {
        let from_bytes = self.touched.from_bytes;
        let (offset_bytes, extents, pieces, unknown) = self.take_touched(tally);
        let named = std::mem::take(&mut self.named);
        if !self.recorder.chooses_event(self.operations) {
            return;
        }
        let (path, path2) = self.event_paths(subject);
        let with_parts = op.is_compound() || tally.parts.count_ones() > 1;
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        let failed = tally.errno != 0;
        let (intended_start_ns, due) = self.due(tally.timing.start_ns);
        self.recorder.event(&Event {
            seq: self.operations,
            start_ns: tally.timing.start_ns,
            end_ns: tally.timing.end_ns,
            intended_start_ns,
            busy_ns: tally.timing.busy_ns,
            offset_bytes: offset_bytes.max(named.0),
            from_bytes,
            requested_bytes: tally.requested_bytes.max(named.1),
            done_bytes: tally.done_bytes,
            parts_ns: if with_parts { tally.parts_ns } else { [0; Part::COUNT] },
            site,
            label: self.labels.id(),
            path,
            path2,
            errno: tally.errno as u16,
            op: op as u8,
            flags: due
                | flag(FLAG_FAILED, failed && !expected)
                | flag(FLAG_EXPECTED, expected)
                | flag(FLAG_SHORT, tally.short)
                | flag(FLAG_UNPLACED, unknown),
            thread: 0,
            pieces,
            extents,
        });
    }
}
