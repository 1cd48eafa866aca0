//! What a rank touches but values, and how an operation that is over is counted.

use super::arrivals::{Arrivals, NOT_DUE};
use super::event::Touched;
use super::fillings::Fillings;
use super::handles::Handles;
use super::labels::Labels;
use super::mpi_io::Shared;
use super::options::OptionStack;
use super::place::RUN;
use super::queue::Queue;
use super::tally::{Shot, Subject, Tally};
use super::task;
use super::text::PathText;
use super::traffic::Traffic;
use super::{Settings, fault::Fault, lock, note};
use crate::backend::Backend;
use crate::call::{Call, Reply};
use crate::clock::Clock;
use crate::recorder::{Count, Recorder, StatId, Timing};
use crate::stop;
use crate::verify::{Checked, Findings, ZeroPlace};
use model::plan::Pc;
use model::value::Outcome;
use model::{Op, Part, Plan, Value, errno};

/// Error of a read of wrong bytes, as file systems with checksums report it.
const WRONG: i32 = libc::EBADMSG;

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
    /// Bytes that they have moved.
    pub(super) moved_bytes: u64,
    /// Names that the running `readdir` has found, where the program wants them.
    pub(super) names: Vec<Value>,
    /// What became of the last operation.
    pub(super) outcome: Outcome,
    /// Sizes of the running operation's buffers, if it has several.
    pub(super) sizes: Vec<u64>,
    /// The lock that the running operation waits for.
    pub(super) wanted_lock: Option<lock::Wanted>,
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
    /// The back-end keeps its own account of operations; the recorder counts none.
    pub(super) accounts: bool,
    /// Somebody wants to know every operation: events, the back-end.
    pub(super) watched: bool,
    /// Where the running operation moves its bytes, for its event.
    pub(super) touched: Touched,
    /// Offset and size that the running operation names without moving bytes, for its event.
    pub(super) named: (u64, u64),
}

impl<'c, B: Backend> Io<'c, B> {
    pub(super) fn new(
        backend: B,
        clock: Clock,
        recorder: Recorder,
        settings: &'c Settings,
    ) -> Self {
        let accounts = backend.capabilities().accounts;
        Io {
            traffic: Traffic::start(&backend),
            fillings: Fillings::new(clock.passes_by_itself()),
            several: false,
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
            touched: Touched::default(),
            named: (0, 0),
            recorder,
        }
    }

    /// The same for a plan that may have further directories.
    pub(super) fn among(self, plan: &Plan) -> Self {
        Io { several: !plan.directories.is_empty(), ..self }
    }

    /// The operation sets a size or a position, which its event holds.
    pub(super) fn names(&mut self, offset_bytes: u64, size_bytes: u64) {
        if self.watched {
            self.named = (offset_bytes, size_bytes);
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
        self.ended_ns = end_ns;
        self.count_done(op, site, timing, 0, false);
        if self.watched {
            self.tell_simple(op, site, timing, subject);
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
        if let Some(checked) = self.backend.take_checked() {
            let tally = self.count_checked(checked, *tally);
            return self.conclude_examined(op, site, &tally, subject);
        }
        self.conclude_examined(op, site, tally, subject)
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

    #[inline(always)]
    fn conclude_examined(
        &mut self,
        op: Op,
        site: Pc,
        tally: &Tally,
        subject: Subject,
    ) -> Result<(), Fault> {
        if tally.errno != 0 || tally.short {
            return self.conclude_slow(op, site, tally, subject);
        }
        self.ended_ns = tally.timing.end_ns;
        self.count(op, site, tally);
        if self.watched {
            self.tell(op, site, tally, subject, false);
        }
        self.outcome = Outcome { bytes: tally.done_bytes, errno: 0 };
        self.operations += 1;
        Ok(())
    }

    #[inline(always)]
    fn count(&mut self, op: Op, site: Pc, tally: &Tally) {
        self.note_backward(tally.backward);
        self.labels.own_ns += tally.timing.busy_ns;
        self.moved_bytes += tally.done_bytes;
        let stat = self.count_done(op, site, tally.timing, tally.done_bytes, tally.short);
        if let Some(stat) = stat.filter(|_| op.is_compound()) {
            for part in Part::ALL {
                if tally.parts >> part as u8 & 1 != 0 {
                    self.recorder.part(stat, part, tally.parts_ns[part as usize]);
                }
            }
        }
    }

    /// Counts an operation that did not fail. Not where the back-end keeps an account: histograms
    /// of many ranks would take most of the time and memory of a rehearsal.
    #[inline(always)]
    fn count_done(
        &mut self,
        op: Op,
        site: Pc,
        timing: Timing,
        bytes: u64,
        short: bool,
    ) -> Option<StatId> {
        if self.accounts {
            return None;
        }
        let stat = self.labels.stat(&mut self.recorder, op);
        match self.arrivals.due_ns {
            NOT_DUE => self.recorder.done(stat, site, timing, bytes, short),
            due_ns => self.recorder.done_due(stat, site, (timing, due_ns), bytes, short),
        }
        Some(stat)
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
        self.ended_ns = tally.timing.end_ns;
        tally.short &= !self.options.active().expects_short;
        let expected = tally.errno != 0
            && (self.options.active().expects(tally.errno)
                || self.is_lacking(op, tally.errno, subject));
        if tally.errno == 0 {
            self.count(op, site, &tally);
        } else {
            let busy_ns = tally.timing.busy_ns;
            self.note_backward(tally.backward);
            self.labels.own_ns += busy_ns;
            let stat = self.labels.stat(&mut self.recorder, op);
            self.recorder.failed(stat, site, busy_ns, expected);
        }
        if self.watched {
            self.tell(op, site, &tally, subject, expected);
        }
        self.operations += 1;
        if tally.errno != 0 && !expected {
            return self.failed(op, site, &tally, subject);
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
        let [first, second] = [0, 1].map(|at| note::refused_in(self.paths[at].place));
        match subject {
            Subject::Nothing => note::refused_in(RUN),
            Subject::Path => first,
            Subject::Paths => first | second,
            Subject::Handle(at) => note::refused_in(self.handles.get(at).mode.place),
            Subject::Handles { from, to } => [from, to]
                .map(|at| note::refused_in(self.handles.get(at).mode.place))
                .into_iter()
                .fold(0, |all, bit| all | bit),
        }
    }

    #[cold]
    fn failed(&mut self, op: Op, site: Pc, tally: &Tally, subject: Subject) -> Result<(), Fault> {
        let path = match subject {
            Subject::Nothing => &b""[..],
            Subject::Path | Subject::Paths => self.paths[0].bytes(),
            Subject::Handle(at) | Subject::Handles { to: at, .. } => &self.handles.get(at).path,
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
        let mapped: Vec<_> = self.handles.mapped().collect();
        for fd in mapped {
            self.backend.issue(Call::Unmap { fd });
        }
        let open: Vec<_> = self.handles.open().collect();
        for fd in open {
            self.backend.issue(Call::Close { fd });
        }
    }
}
