//! Makes calls, and counts operations: each call is issued between two readings of the clock, and its reply
//! awaited; an operation that has ended is counted and becomes an event. Nothing else issues timed calls, but for
//! transfers that are under way together (`transfer`).

use super::evidence::{Fillings, Traffic};
use super::extents::counted;
use super::handles::Handles;
use super::labels::Labels;
use super::note;
use super::options::OptionStack;
use super::path::{PathText, RUN};
use super::prepare::Settings;
use super::schedule::{Arrivals, NOT_DUE};
use super::step::{FILE_MODE, Step};
use super::tally::{Fault, Flow, STOPPED, Shot, Subject, Tally};
use super::transfer::Queue;
use crate::backend::{Backend, Over};
use crate::call::{Call, Fd, FileCall, Reply, Work};
use crate::clock::Clock;
use crate::recorder::{Count, Recorder, Timing};
use crate::stop;
use crate::verify::{Checked, Findings, ZeroPlace};
use model::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_SHORT, FLAG_UNPLACED, NO_ID};
use model::pattern::Run;
use model::plan::Instr;
use model::value::Outcome;
use model::{Event, Op, Part, Plan, Value, errno};

/// The lock that a rank waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedLock {
    /// When it was first tried.
    pub(super) start_ns: u64,
    /// Locks that all ranks had given back before the last try.
    pub(super) seen: u64,
}

/// Error of a read of wrong bytes, as file systems with checksums report it.
const WRONG: i32 = libc::EBADMSG;

/// Everything an operation touches but values.
pub(super) struct Io<'c> {
    pub(super) backend: Box<dyn Backend + 'c>,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
    pub(super) handles: Handles,
    pub(super) labels: Labels,
    pub(super) options: OptionStack,
    /// The back-end's explanation of the first failed call of the running operation.
    pub(super) detail: Option<String>,
    /// Paths of the running operation.
    pub(super) paths: [PathText; 2],
    /// Text of the label that is entered.
    pub(super) label_text: Vec<u8>,
    /// Operations so far: the next event's number.
    pub(super) operations: u64,
    /// Bytes that they have moved.
    pub(super) moved_bytes: u64,
    /// Names that the running `readdir` has found, where the program wants them.
    pub(super) names: Vec<Value>,
    /// The outcome of the last operation.
    pub(super) outcome: Outcome,
    /// Sizes of the running operation's buffers, if it has several.
    pub(super) sizes: Vec<u64>,
    /// The lock that the running operation waits for.
    pub(super) wanted_lock: Option<WantedLock>,
    /// Operations under way.
    pub(super) queue: Queue,
    /// Remarks: bits of [`super::note`].
    pub(super) notes: u32,
    /// When operations are due.
    pub(super) arrivals: Arrivals,
    /// When the rank's last operation or pause ended; 0: since then it has waited for others, or done
    /// something else that is no statement's own cost.
    pub(super) ended_ns: u64,
    pub(super) traffic: Traffic,
    pub(super) fillings: Fillings,
    /// There are further directories.
    pub(super) several: bool,
    pub(super) settings: &'c Settings,
    pub(super) keeps_events: bool,
    /// The back-end keeps its own account of operations.
    pub(super) accounts: bool,
    /// Then the recorder counts none, unless the program asks for figures of labels.
    counts: bool,
    /// Most bytes of one transfer on an MPI file; 0: there is no MPI.
    pub(super) mpi_call_bytes: u64,
    /// Somebody wants to know every operation: events, the back-end.
    pub(super) watched: bool,
    /// Where the running operation moves its bytes, for its event.
    pub(super) touched: Touched,
}

/// The program calls `seconds`, `count`, `bytes` or `rate`.
fn asks_for_figures(plan: &Plan) -> bool {
    let asks = |instr: &Instr| match instr {
        Instr::Function { function, .. } => function.row().is_of_all_ranks(),
        _ => false,
    };
    plan.code.iter().any(asks)
}

impl<'c> Io<'c> {
    pub(super) fn new(
        mut backend: Box<dyn Backend + 'c>,
        clock: Clock,
        recorder: Recorder,
        settings: &'c Settings,
        plan: &Plan,
    ) -> Self {
        let known = backend.capabilities();
        let accounts = known.accounts;
        Io {
            mpi_call_bytes: known.mpi_call_bytes,
            traffic: Traffic::start(&mut *backend),
            fillings: Fillings::new(clock.passes_by_itself()),
            several: !plan.directories.is_empty(),
            backend,
            clock,
            handles: Handles::default(),
            labels: Labels::new(&settings.only),
            options: OptionStack::new(),
            detail: None,
            paths: [PathText::new(), PathText::new()],
            label_text: Vec::new(),
            operations: 0,
            moved_bytes: 0,
            outcome: Outcome::default(),
            sizes: Vec::new(),
            wanted_lock: None,
            names: Vec::new(),
            queue: Queue::default(),
            notes: 0,
            arrivals: Arrivals::new(),
            ended_ns: 0,
            settings,
            keeps_events: recorder.keeps_events(),
            watched: recorder.keeps_events() || accounts,
            accounts,
            counts: !accounts || asks_for_figures(plan),
            touched: Touched::default(),
            recorder,
        }
    }

    /// The operation sets a size or a position, which its event holds.
    pub(super) fn names(&mut self, offset_bytes: u64, size_bytes: u64) {
        if self.keeps_events {
            self.touched.named = (offset_bytes, size_bytes);
        }
    }

    /// The operation copies from this position of a file, which its event holds.
    pub(super) fn copies_from(&mut self, from_bytes: u64) {
        if self.keeps_events {
            self.touched.from_bytes = from_bytes;
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

    /// An operation of one call is over.
    #[inline(always)]
    pub(super) fn settle(&mut self, step: Step<'_>, shot: Shot, subject: Subject) -> Flow {
        let mut tally = Tally::EMPTY;
        tally.add(Part::Data, shot);
        self.conclude(step, &tally, subject)
    }

    /// An operation is over: counts it.
    #[inline(always)]
    pub(super) fn conclude(&mut self, step: Step<'_>, tally: &Tally, subject: Subject) -> Flow {
        if let Some(checked) = self.backend.take_checked() {
            let tally = self.count_checked(checked, *tally);
            return self.conclude_slow(step, &tally, subject);
        }
        if tally.errno != 0 || tally.short || tally.timing.start_ns == u64::MAX {
            return self.conclude_slow(step, tally, subject);
        }
        self.ended_ns = tally.timing.end_ns;
        if self.watched {
            self.tell(step, tally, subject, false);
        }
        self.count(step, tally);
        if self.watched {
            self.recorder.publish_event();
        }
        self.outcome = Outcome { bytes: tally.done_bytes, errno: 0 };
        self.operations += 1;
        Ok(())
    }

    /// Counts what was filled and checked; an operation that has read wrong bytes has failed.
    #[cold]
    fn count_checked(&mut self, checked: Checked, mut tally: Tally) -> Tally {
        let label = self.labels.id();
        let mut zero_places = checked.findings.zero_places;
        for ZeroPlace { file, path, range } in checked.zeros {
            let is_new = self.recorder.zeros(label, (file, &path), range);
            zero_places -= u64::from(!is_new);
        }
        let Findings { checked_bytes, zero_bytes, counts, .. } = checked.findings;
        let [zeros, older, other] = counts;
        let block = self.labels.traffic(&mut self.recorder, RUN);
        for (count, more) in [
            (Count::Filled, checked.filled_bytes),
            (Count::FillNs, checked.fill_ns),
            (Count::Checked, checked_bytes),
            (Count::CheckNs, checked.check_ns),
            (Count::Zeros, zero_bytes),
            (Count::ZeroPlaces, zero_places),
            (Count::WrongZeros, zeros),
            (Count::WrongOlder, older),
            (Count::WrongOther, other),
        ] {
            self.recorder.count(block, count, more);
        }
        if let Some(text) = checked.findings.text()
            && tally.errno == 0
        {
            tally.fail(WRONG);
            self.detail = Some(text);
        }
        tally
    }

    /// Counts an operation that did not fail. Not where the back-end keeps an account: histograms
    /// of many ranks would take most of the time and memory of a rehearsal.
    #[inline(always)]
    fn count(&mut self, step: Step<'_>, tally: &Tally) {
        let Step { op, site, .. } = step;
        let &Tally { timing, done_bytes, short, .. } = tally;
        self.note_backward(tally.backward);
        self.labels.own_ns += timing.busy_ns;
        self.moved_bytes = self.moved_bytes.saturating_add(done_bytes);
        if !self.counts {
            return;
        }
        let stat = self.labels.stat(&mut self.recorder, op);
        match self.arrivals.due_ns {
            NOT_DUE => self.recorder.done(stat, site, timing, done_bytes, short),
            due_ns => self.recorder.done_due(stat, site, (timing, due_ns), done_bytes, short),
        }
        if op.is_compound() {
            for part in Part::ALL {
                if tally.parts >> part as u8 & 1 != 0 {
                    self.recorder.part(stat, part, tally.parts_ns[part as usize]);
                }
            }
        }
    }

    /// The clock went backward during `calls` calls of the operation.
    #[inline(always)]
    fn note_backward(&mut self, calls: u32) {
        if calls > 0 {
            self.recorder.clock_went_backward(calls.into());
        }
    }

    #[inline(never)]
    fn conclude_slow(&mut self, step: Step<'_>, tally: &Tally, subject: Subject) -> Flow {
        let Step { op, site, .. } = step;
        self.outcome = Outcome { bytes: tally.done_bytes, errno: tally.errno as u16 };
        if tally.errno == STOPPED && stop::requested() {
            return Ok(());
        }
        let mut tally = *tally;
        if tally.timing.start_ns == u64::MAX {
            // No call was made: it happened now and took no time.
            let now_ns = self.clock.now();
            tally.timing = Timing { start_ns: now_ns, end_ns: now_ns, busy_ns: 0 };
        }
        self.ended_ns = tally.timing.end_ns;
        tally.short &= !self.options.active().expects_short;
        let expected = tally.errno != 0
            && (self.options.active().expects(tally.errno)
                || self.is_lacking(step.op, tally.errno, subject));
        if self.watched {
            self.tell(step, &tally, subject, expected);
        }
        if tally.errno == 0 {
            self.count(step, &tally);
        } else {
            let busy_ns = tally.timing.busy_ns;
            self.note_backward(tally.backward);
            self.labels.own_ns += busy_ns;
            let stat = self.labels.stat(&mut self.recorder, op);
            self.recorder.failed(stat, site, busy_ns, expected);
        }
        if self.watched {
            self.recorder.publish_event();
        }
        self.operations += 1;
        if tally.errno != 0 && !expected {
            return self.failed(step, &tally, subject);
        }
        self.detail = None;
        if tally.short && self.settings.strict && self.settings.stop_on_error {
            Err(Fault::message(format!("{op} was short: {} bytes", tally.done_bytes)))
        } else {
            Ok(())
        }
    }

    /// The file system has no such operation, which is remarked.
    fn is_lacking(&mut self, op: Op, errno: i32, subject: Subject) -> bool {
        let bit = note::lacking(op, errno);
        if bit != 0 {
            self.notes |= bit | self.refusing(subject);
        }
        bit != 0
    }

    /// The directories of an operation's files.
    fn refusing(&mut self, subject: Subject) -> u32 {
        let of_path = |at: usize| note::refused_in(self.paths[at].place);
        let handles = &mut self.handles;
        let mut of_handle = |at: usize| note::refused_in(handles.get(at).mode.place);
        match subject {
            Subject::Nothing => note::refused_in(RUN),
            Subject::Path => of_path(0),
            Subject::Paths => of_path(0) | of_path(1),
            Subject::Handle(at) => of_handle(at),
            Subject::Handles { from, to } => of_handle(from) | of_handle(to),
        }
    }

    #[cold]
    fn failed(&mut self, step: Step<'_>, tally: &Tally, subject: Subject) -> Flow {
        let Step { op, site, .. } = step;
        let path = match subject {
            Subject::Nothing => &b""[..],
            Subject::Path | Subject::Paths => self.paths[0].bytes(),
            Subject::Handle(at) | Subject::Handles { to: at, .. } => &self.handles.get(at).path,
        };
        let errno = tally.errno as u16;
        let detail = self.detail.take().unwrap_or_default();
        let facts = (tally.offset_bytes, errno, tally.timing.end_ns);
        self.recorder.failure(site, op, path, facts, &detail);
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
        let open: Vec<_> = self.handles.open().map(|(fd, file)| (fd, file.mode.mapped)).collect();
        for (fd, mapped) in open {
            if mapped {
                self.backend.issue(Call::Unmap { fd });
            }
            self.backend.issue(Call::Close { fd });
        }
    }

    /// An operation on a handle whose open failed, or which is closed: EBADF without a call.
    #[cold]
    pub(super) fn bad_handle(&mut self, step: Step<'_>, at: Option<usize>) -> Flow {
        let subject = at.map_or(Subject::Nothing, Subject::Handle);
        self.refused(step, libc::EBADF, subject)
    }

    /// An operation that fails without a call.
    #[cold]
    pub(super) fn refused(&mut self, step: Step<'_>, errno: i32, subject: Subject) -> Flow {
        let mut tally = Tally::EMPTY;
        tally.fail(errno);
        self.conclude(step, &tally, subject)
    }
}

/// The place of an event's bytes, as far as an offset does not give it.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// See [`Event::extents`].
    pub(super) extents: u32,
    /// See [`Event::pieces`].
    pub(super) pieces: u32,
    /// The place is unknown.
    pub(super) unknown: bool,
    /// See [`Event::from_bytes`].
    pub(super) from_bytes: u64,
    /// Offset and size that it names without moving bytes.
    named: (u64, u64),
    /// Appended extents, in order.
    appended: Vec<Run>,
}

impl Io<'_> {
    /// An operation has ended, for the account of the back-end.
    fn account(&mut self, step: Step<'_>, tally: &Tally, subject: Subject, expected: bool) {
        let Step { op, site, .. } = step;
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

    /// An operation that is over, to who wants to know.
    #[inline(never)]
    fn tell(&mut self, step: Step<'_>, tally: &Tally, subject: Subject, expected: bool) {
        if self.accounts {
            self.account(step, tally, subject, expected);
        }
        if self.keeps_events {
            self.event(step, tally, subject, expected);
        }
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

    #[inline(never)]
    fn event(&mut self, step: Step<'_>, tally: &Tally, subject: Subject, expected: bool) {
        let Step { op, site, .. } = step;
        let Touched { mut extents, mut pieces, unknown, from_bytes, named, .. } = self.touched;
        let mut appended = std::mem::take(&mut self.touched).appended;
        // Others have appended between its calls.
        if appended.len() > 1 {
            pieces = counted(appended.len() as u64);
            extents = self.recorder.extents(u64::from(pieces), &appended);
        }
        let unknown = unknown || pieces > 0 && extents == 0;
        let offset_bytes = appended.first().map_or(tally.offset_bytes, |run| run.offset_bytes);
        appended.clear();
        self.touched.appended = appended;
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

/// A call, or a call on an MPI file.
pub(super) trait Request {
    /// Back-ends explain its errors.
    const EXPLAINED: bool;
    fn prepare(&self, backend: &mut dyn Backend) -> Result<(), i32>;
    fn issue(self, backend: &mut dyn Backend) -> Reply;
}

impl Request for Call<'_> {
    const EXPLAINED: bool = false;

    #[inline(always)]
    fn prepare(&self, backend: &mut dyn Backend) -> Result<(), i32> {
        backend.prepare(self)
    }

    #[inline(always)]
    fn issue(self, backend: &mut dyn Backend) -> Reply {
        backend.issue(self)
    }
}

impl Request for FileCall<'_> {
    const EXPLAINED: bool = true;

    #[inline(always)]
    fn prepare(&self, backend: &mut dyn Backend) -> Result<(), i32> {
        backend.prepare_file(self)
    }

    #[inline(always)]
    fn issue(self, backend: &mut dyn Backend) -> Reply {
        backend.issue_file(self)
    }
}

/// Executes a call between two clock readings. Nothing else happens there.
#[inline(always)]
pub(super) fn timed(backend: &mut dyn Backend, clock: &Clock, call: impl Request) -> Shot {
    if let Err(errno) = call.prepare(backend) {
        return Shot::refused(clock, errno);
    }
    let start_ns = clock.now();
    let reply = call.issue(backend);
    let end_ns = clock.now();
    Shot { start_ns, end_ns, reply }
}

impl Io<'_> {
    /// Makes one of the calls of an operation.
    #[inline(always)]
    pub(super) fn part<R: Request>(&mut self, tally: &mut Tally, part: Part, call: R) -> Reply {
        let shot = timed(&mut *self.backend, &self.clock, call);
        if R::EXPLAINED { self.add_explained(tally, part, shot) } else { tally.add(part, shot) }
    }

    /// Opens one of the paths of the operation.
    pub(super) fn open(&mut self, tally: &mut Tally, at: usize, flags: i32) -> Option<Fd> {
        let shot = timed(&mut *self.backend, &self.clock, open(&self.paths[at], flags));
        let reply = tally.add(Part::Open, shot);
        if reply < 0 {
            self.refused_direct(flags, -reply as i32);
        }
        (reply >= 0).then_some(Fd(reply as i32))
    }

    /// An operation of one call on its paths.
    #[inline(always)]
    pub(super) fn one_on_paths(
        &mut self,
        step: Step<'_>,
        subject: Subject,
        call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
    ) -> Flow {
        let shot = self.shot_on_paths(call);
        self.settle(step, shot, subject)
    }

    /// Makes a call on the paths of the operation.
    #[inline(always)]
    pub(super) fn shot_on_paths(
        &mut self,
        call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
    ) -> Shot {
        let call = call(&self.paths);
        timed(&mut *self.backend, &self.clock, call)
    }

    /// An operation of one call that has no path.
    #[inline(always)]
    pub(super) fn one_call(&mut self, step: Step<'_>, subject: Subject, call: Call<'_>) -> Flow {
        let is_sync = call.work() == Work::Sync;
        let shot = timed(&mut *self.backend, &self.clock, call);
        if is_sync && shot.reply >= 0 {
            match subject {
                Subject::Handle(at) if step.op == Op::Syncfs => {
                    let place = self.handles.get(at).mode.place;
                    self.made_all_stable(place);
                }
                Subject::Handle(at) => self.made_stable(at),
                _ => self.made_all_stable(RUN),
            }
        }
        self.settle(step, shot, subject)
    }
}

#[inline(always)]
pub(super) fn open(path: &PathText, flags: i32) -> Call<'_> {
    Call::Open { path: path.as_c_str(), flags, mode: FILE_MODE }
}
