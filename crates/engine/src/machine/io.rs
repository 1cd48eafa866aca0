//! Calls between clock readings, and what becomes of their results.

use super::handles::Handles;
use super::labels::Labels;
use super::mpi_io::Shared;
use super::options::OptionStack;
use super::shares::counted;
use super::task;
use super::text::PathText;
use super::traffic::Traffic;
use super::{Settings, fault::Fault, lock, note};
use crate::backend::{Act, Backend, Over};
use crate::call::{Call, Fd, Reply};
use crate::clock::Clock;
use crate::record::{Recorder, Spot, Timing};
use crate::stop;
use model::event::{FLAG_EXPECTED, FLAG_FAILED, FLAG_SHORT, FLAG_UNPLACED, NO_ID};
use model::pattern::Run;
use model::plan::Pc;
use model::value::Outcome;
use model::{Event, Op, Part, Value, errno};

/// Everything an operation touches but values.
pub(super) struct Io<'c, B> {
    pub(super) backend: B,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) handles: Handles,
    pub(super) labels: Labels,
    pub(super) options: OptionStack,
    /// Patterns as this rank uses them with MPI files.
    pub(super) patterns: Shared,
    /// What the back-end says about the first failed call of the running operation.
    pub(super) detail: Option<String>,
    /// Paths of the running operation.
    pub(super) paths: [PathText; 2],
    /// Text of the label that is entered.
    pub(super) label_text: Vec<u8>,
    /// Operations so far: the next event's number.
    pub(super) operations: u64,
    /// Names that the running `readdir` has found, where the program wants them.
    pub(super) names: Vec<Value>,
    /// What became of the last operation.
    pub(super) outcome: Outcome,
    /// The lock that the running operation waits for.
    pub(super) wanted_lock: Option<lock::Wanted>,
    /// Remarks: bits of [`super::note`].
    pub(super) notes: u32,
    pub(super) traffic: Traffic,
    pub(super) settings: &'c Settings,
    pub(super) keeps_events: bool,
    /// Where the running operation moves its bytes, for its event.
    pub(super) touched: Touched,
}

/// What an event tells of the place of its bytes besides an offset.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// See [`Event::extents`].
    pub(super) extents: u32,
    /// See [`Event::pieces`].
    pub(super) pieces: u32,
    /// It cannot be told.
    pub(super) unknown: bool,
    /// What was appended, in order.
    appended: Vec<Run>,
}

/// One call and the two clock readings around it.
#[derive(Clone, Copy)]
pub(super) struct Shot {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) reply: Reply,
}

impl Shot {
    /// Time between the readings, and the later one. Where time went backward the call took
    /// none, and is counted.
    #[inline(always)]
    fn took(self, backward: &mut u32) -> (u64, u64) {
        match self.end_ns.checked_sub(self.start_ns) {
            Some(ns) => (ns, self.end_ns),
            None => (went_backward(backward), self.start_ns),
        }
    }
}

/// Inlined, so that the count stays in a register; the call of nothing says that it is seldom.
#[inline(always)]
fn went_backward(backward: &mut u32) -> u64 {
    #[cold]
    fn seldom() {}
    seldom();
    *backward = backward.saturating_add(1);
    0
}

/// Executes a call between two clock readings. Nothing else happens there.
#[inline(always)]
pub(super) fn timed<B: Backend>(backend: &mut B, clock: &Clock, call: Call<'_>) -> Shot {
    if let Err(errno) = backend.prepare(&call) {
        let now_ns = clock.now();
        return Shot { start_ns: now_ns, end_ns: now_ns, reply: -Reply::from(errno) };
    }
    let start_ns = clock.now();
    let reply = backend.issue(call);
    let end_ns = clock.now();
    Shot { start_ns, end_ns, reply }
}

/// Executes a call right after another one, whose end is its start: nothing stands between the
/// readings here either. Only for calls without a path, which need no preparation.
#[inline(always)]
pub(super) fn timed_next<B: Backend>(
    backend: &mut B,
    clock: &Clock,
    last: Shot,
    call: Call<'_>,
) -> Shot {
    let reply = backend.issue(call);
    Shot { start_ns: last.end_ns, end_ns: clock.now(), reply }
}

/// What an operation works on, for messages and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// No file (`sync`).
    Nothing,
    /// The first path.
    Path,
    /// Both paths.
    Paths,
    /// An open file: its place in the table of handles.
    Handle(usize),
}

/// An operation as far as it has come. Several calls add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) timing: Timing,
    pub(super) parts_ns: [u64; Part::COUNT],
    /// Parts that were executed, one bit each.
    parts: u8,
    /// The first error; 0: none.
    pub(super) errno: i32,
    pub(super) offset_bytes: u64,
    pub(super) requested_bytes: u64,
    pub(super) done_bytes: u64,
    pub(super) short: bool,
    /// Calls during which the clock went backward.
    backward: u32,
}

impl Tally {
    pub(super) const EMPTY: Tally = Tally {
        timing: Timing { start_ns: u64::MAX, end_ns: 0, busy_ns: 0 },
        parts_ns: [0; Part::COUNT],
        parts: 0,
        errno: 0,
        offset_bytes: 0,
        requested_bytes: 0,
        done_bytes: 0,
        short: false,
        backward: 0,
    };

    /// Adds a call; an error stays.
    #[inline(always)]
    pub(super) fn add(&mut self, part: Part, shot: Shot) -> Reply {
        self.add_time(part, shot);
        if shot.reply < 0 {
            self.fail(-shot.reply as i32);
        }
        shot.reply
    }

    /// Adds the time of a call.
    #[inline(always)]
    pub(super) fn add_time(&mut self, part: Part, shot: Shot) {
        let (took_ns, end_ns) = shot.took(&mut self.backward);
        self.timing.start_ns = self.timing.start_ns.min(shot.start_ns);
        self.timing.end_ns = end_ns;
        self.timing.busy_ns += took_ns;
        self.parts_ns[part as usize] += took_ns;
        self.parts |= 1 << part as u8;
    }

    /// The operation failed; the first error counts.
    pub(super) fn fail(&mut self, errno: i32) {
        if self.errno == 0 {
            self.errno = errno;
        }
    }
}

impl<'c, B: Backend> Io<'c, B> {
    pub(super) fn new(
        backend: B,
        clock: Clock,
        recorder: Recorder,
        settings: &'c Settings,
    ) -> Self {
        Io {
            traffic: Traffic::start(&backend),
            backend,
            clock,
            handles: Handles::default(),
            labels: Labels::new(&settings.only),
            options: OptionStack::new(),
            patterns: Shared::default(),
            detail: None,
            paths: [PathText::new(), PathText::new()],
            label_text: Vec::new(),
            operations: 0,
            outcome: Outcome::default(),
            wanted_lock: None,
            names: Vec::new(),
            notes: 0,
            settings,
            keeps_events: recorder.keeps_events(),
            touched: Touched::default(),
            recorder,
        }
    }

    /// Adds a call to the operation; of the first error its explanation is kept.
    pub(super) fn add_explained(&mut self, tally: &mut Tally, part: Part, shot: Shot) -> Reply {
        let first = tally.errno == 0;
        let reply = tally.add(part, shot);
        if reply < 0 && first {
            self.detail = self.backend.explanation().map(str::to_string);
        }
        reply
    }

    /// A simple operation of one call is over.
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        op: Op,
        site: Pc,
        shot: Shot,
        subject: Subject,
    ) -> Result<(), Fault> {
        if shot.reply < 0 {
            return self.settle_failed(op, site, shot, subject);
        }
        let mut backward = 0;
        let (busy_ns, end_ns) = shot.took(&mut backward);
        self.note_backward(backward);
        let timing = Timing { start_ns: shot.start_ns, end_ns, busy_ns };
        self.labels.own_ns += busy_ns;
        let stat = self.labels.stat(&mut self.recorder, op);
        self.recorder.done(stat, site, timing, 0, false);
        if self.keeps_events {
            self.simple_event(op, site, timing, subject);
        }
        if B::REHEARSES {
            self.rehearsed(op, site, &Tally::EMPTY, subject, false);
        }
        self.outcome = Outcome::default();
        self.operations += 1;
        Ok(())
    }

    /// So many times the clock went backward during the operation.
    #[inline(always)]
    fn note_backward(&mut self, calls: u32) {
        if calls > 0 {
            self.recorder.clock_went_backward(calls.into());
        }
    }

    /// Where a statement is counted now.
    #[inline(always)]
    pub(super) fn spot(&mut self, op: Op, site: Pc) -> Spot {
        let stat = self.labels.stat(&mut self.recorder, op);
        self.recorder.spot(stat, site)
    }

    /// Open, at most one call that moves data, and close have followed each other at once and
    /// not failed: the same as [`Io::conclude`] with their tally.
    #[inline(always)]
    pub(super) fn settle_file(
        &mut self,
        spot: &Spot,
        (open, data, close): (Shot, Option<Shot>, Shot),
    ) {
        let mut backward = 0;
        let mut took_ns = |shot: Shot| shot.took(&mut backward).0;
        let parts = [
            (Part::Open, Some(took_ns(open))),
            (Part::Data, data.map(&mut took_ns)),
            (Part::Close, Some(took_ns(close))),
        ];
        // Where the whole went backward, so did a part of it, which is counted.
        let whole = Shot { start_ns: open.start_ns, ..close };
        let (busy_ns, end_ns) = whole.took(&mut 0);
        self.note_backward(backward);
        let bytes = data.map_or(0, |data| data.reply as u64);
        if data.is_some() {
            self.wrote(bytes);
        }
        let timing = Timing { start_ns: open.start_ns, end_ns, busy_ns };
        self.recorder.done_in_parts(spot, timing, bytes, parts);
        self.labels.own_ns += busy_ns;
        self.outcome = Outcome { bytes, errno: 0 };
        self.operations += 1;
    }

    #[cold]
    fn settle_failed(
        &mut self,
        op: Op,
        site: Pc,
        shot: Shot,
        subject: Subject,
    ) -> Result<(), Fault> {
        let mut tally = Tally::EMPTY;
        tally.add(Part::Data, shot);
        self.conclude_slow(op, site, &tally, subject)
    }

    /// An operation is over: counts it.
    #[inline(always)]
    pub(super) fn conclude(
        &mut self,
        op: Op,
        site: Pc,
        tally: &Tally,
        subject: Subject,
    ) -> Result<(), Fault> {
        if tally.errno != 0 || tally.short {
            return self.conclude_slow(op, site, tally, subject);
        }
        self.count(op, site, tally);
        if self.keeps_events {
            self.event(op, site, tally, subject, false);
        }
        if B::REHEARSES {
            self.rehearsed(op, site, tally, subject, false);
        }
        self.outcome = Outcome { bytes: tally.done_bytes, errno: 0 };
        self.operations += 1;
        Ok(())
    }

    #[inline(always)]
    fn count(&mut self, op: Op, site: Pc, tally: &Tally) {
        self.note_backward(tally.backward);
        self.labels.own_ns += tally.timing.busy_ns;
        let stat = self.labels.stat(&mut self.recorder, op);
        self.recorder.done(stat, site, tally.timing, tally.done_bytes, tally.short);
        if op.is_compound() {
            for part in Part::ALL {
                if tally.parts >> part as u8 & 1 != 0 {
                    self.recorder.part(stat, part, tally.parts_ns[part as usize]);
                }
            }
        }
    }

    #[inline(never)]
    fn conclude_slow(
        &mut self,
        op: Op,
        site: Pc,
        tally: &Tally,
        subject: Subject,
    ) -> Result<(), Fault> {
        self.outcome = Outcome { bytes: tally.done_bytes, errno: tally.errno as u16 };
        if tally.errno == task::STOPPED && stop::requested() {
            return Ok(());
        }
        let mut tally = *tally;
        if tally.timing.start_ns == u64::MAX {
            // No call was made: it happened now and took no time.
            let now_ns = self.clock.now();
            tally.timing = Timing { start_ns: now_ns, end_ns: now_ns, busy_ns: 0 };
        }
        let expected = tally.errno != 0
            && (self.options.active().expects(tally.errno) || self.is_lacking(op, tally.errno));
        if tally.errno == 0 {
            self.count(op, site, &tally);
        } else {
            let busy_ns = tally.timing.busy_ns;
            self.note_backward(tally.backward);
            self.labels.own_ns += busy_ns;
            let stat = self.labels.stat(&mut self.recorder, op);
            self.recorder.failed(stat, site, busy_ns, expected);
        }
        if self.keeps_events {
            self.event(op, site, &tally, subject, expected);
        }
        if B::REHEARSES {
            self.rehearsed(op, site, &tally, subject, expected);
        }
        self.operations += 1;
        if tally.errno != 0 && !expected {
            self.failed(op, site, &tally, subject)
        } else if tally.short && self.settings.strict && self.settings.stop_on_error {
            Err(Fault::message(format!("{op} was short: {} bytes", tally.done_bytes)))
        } else {
            Ok(())
        }
    }

    /// The file system has no such operation, which is remarked.
    fn is_lacking(&mut self, op: Op, errno: i32) -> bool {
        let bit = note::lacking(op, errno);
        self.notes |= bit;
        bit != 0
    }

    /// Tells a rehearsal that an operation is over.
    #[inline(never)]
    fn rehearsed(&mut self, op: Op, site: Pc, tally: &Tally, subject: Subject, expected: bool) {
        let path = match subject {
            Subject::Nothing => &b""[..],
            Subject::Path => self.paths[0].bytes(),
            Subject::Paths => self.paths[1].bytes(),
            Subject::Handle(at) => &self.handles.get(at).path,
        };
        self.backend.rehearse(Act::Over(Over {
            op,
            site,
            path,
            requested_bytes: tally.requested_bytes,
            done_bytes: tally.done_bytes,
            short: tally.short,
            errno: if expected { 0 } else { tally.errno },
        }));
    }

    /// The event of a simple operation that succeeded.
    #[inline(never)]
    fn simple_event(&mut self, op: Op, site: Pc, timing: Timing, subject: Subject) {
        if !self.recorder.chooses_event(self.operations) {
            return;
        }
        let (path, path2) = self.event_paths(subject);
        self.recorder.event(&Event {
            seq: self.operations,
            start_ns: timing.start_ns,
            end_ns: timing.end_ns,
            intended_start_ns: timing.start_ns,
            busy_ns: timing.busy_ns,
            site,
            label: self.labels.id(),
            path,
            path2,
            op: op as u8,
            ..Event::default()
        });
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
        let (offset_bytes, extents, pieces, unknown) = self.take_touched(tally);
        if !self.recorder.chooses_event(self.operations) {
            return;
        }
        let (path, path2) = self.event_paths(subject);
        let with_parts = op.is_compound() || tally.parts.count_ones() > 1;
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        let failed = tally.errno != 0;
        self.recorder.event(&Event {
            seq: self.operations,
            start_ns: tally.timing.start_ns,
            end_ns: tally.timing.end_ns,
            intended_start_ns: tally.timing.start_ns,
            busy_ns: tally.timing.busy_ns,
            offset_bytes,
            requested_bytes: tally.requested_bytes,
            done_bytes: tally.done_bytes,
            parts_ns: if with_parts { tally.parts_ns } else { [0; Part::COUNT] },
            site,
            label: self.labels.id(),
            path,
            path2,
            errno: tally.errno as u16,
            op: op as u8,
            flags: flag(FLAG_FAILED, failed && !expected)
                | flag(FLAG_EXPECTED, expected)
                | flag(FLAG_SHORT, tally.short)
                | flag(FLAG_UNPLACED, unknown),
            thread: 0,
            pieces,
            extents,
        });
    }

    #[cold]
    fn failed(&mut self, op: Op, site: Pc, tally: &Tally, subject: Subject) -> Result<(), Fault> {
        let path = match subject {
            Subject::Nothing => &b""[..],
            Subject::Path | Subject::Paths => self.paths[0].bytes(),
            Subject::Handle(at) => &self.handles.get(at).path,
        };
        let errno = tally.errno as u16;
        let detail = self.detail.take().unwrap_or_default();
        self.recorder.failure_explained(site, op, path, (tally.offset_bytes, errno), &detail);
        if !self.settings.stop_on_error {
            return Ok(());
        }
        let path = String::from_utf8_lossy(path);
        let (name, text) = (errno::name(errno), errno::text(errno));
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        Err(Fault::message(format!(
            "{op} \"{path}\" failed: {name} ({text}){detail}; --on-error stop"
        )))
    }

    /// Closes what the program left open; not timed.
    pub(super) fn close_all(&mut self) {
        let open: Vec<_> = self.handles.open().collect();
        for fd in open {
            self.backend.issue(Call::Close { fd });
        }
    }
}
