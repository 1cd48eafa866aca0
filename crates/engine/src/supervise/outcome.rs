//! The result of a run, or why it could not start; and while it runs, how far the ranks of this machine are, which is
//! read from the records that they keep in memory anyway.

use crate::clock::Checked;
use crate::comm::{Activity, End, Sample};
use crate::config::Config;
use crate::recorder::{Live, RankRecord};
use model::plan::{Instr, MemberSet, Pc};
use model::run::Contention;
use model::{Op, Plan};
use std::fs::File;
use std::time::Duration;
use std::{fmt, io};

/// A run that has ended, whatever way.
#[derive(Debug)]
pub struct Outcome {
    /// Communicator: "solo", "local", "sim", "mpi".
    pub comm: &'static str,
    /// Back-end: "posix", "null", "mem".
    pub backend: &'static str,
    /// Clock: "tsc", "monotonic_raw", "monotonic", "virtual".
    pub clock: &'static str,
    /// Median cost of one reading of the clock, nanoseconds.
    pub clock_read_ns: f64,
    /// Largest difference between the clocks of two machines, at the start or at the end.
    pub clock_skew_ns: u64,
    /// Comparison of the clock with the kernel's.
    pub checked: Checked,
    /// Records by rank; a rank whose record cannot be read is missing.
    pub records: Vec<RankRecord>,
    /// How every rank ended, by rank.
    pub ends: Vec<End>,
    /// Why ranks ended that could not say so themselves: killed, lost, record unreadable.
    pub errors: Vec<(u32, String)>,
    /// Ranks that waited for something that could not happen; empty without a deadlock.
    pub deadlock: Vec<Activity>,
    /// Somebody asked the run to stop, or its time was up.
    pub interrupted: bool,
    /// It was the deadline, and nobody before.
    pub timed_out: bool,
    /// Ranks were left behind that cannot be killed: storage does not answer, and whoever touches it hangs, too.
    pub hangs: bool,
    /// Remarks of ranks: bits of [`crate::machine::note`].
    pub notes: u32,
    /// Load of this machine by other processes meanwhile; `None` in virtual time.
    pub contention: Option<Contention>,
}

impl Outcome {
    /// Every rank reached the end of the program.
    pub fn finished(&self) -> bool {
        self.ends.iter().all(|end| *end == End::Finished)
    }

    /// Why not all ranks came to the end of the program, in one sentence: a deadlock, or the first
    /// error.
    pub fn ending(&self, plan: &Plan) -> String {
        let first = self.rank_errors(plan).next();
        let message = self.deadlock_message(plan).or(first);
        message.unwrap_or_else(|| "a rank did not come to its end".into())
    }

    /// The instruction at which the first rank ended before the end of the program.
    pub(crate) fn ended_at(&self) -> Option<Pc> {
        self.records.iter().flat_map(|record| &record.errors).find_map(|(site, _)| *site)
    }

    /// Reasons that ranks recorded for their end, in sentences.
    pub(crate) fn rank_errors<'o>(&'o self, plan: &'o Plan) -> impl Iterator<Item = String> + 'o {
        self.records.iter().flat_map(move |record| {
            record.errors.iter().map(move |(site, message)| {
                let place = site.map_or(String::new(), |site| place(plan, site));
                format!("rank {} ends{place}: {message}", record.rank)
            })
        })
    }

    /// The deadlock in one sentence: who waits where for what.
    pub fn deadlock_message(&self, plan: &Plan) -> Option<String> {
        const SHOWN: usize = 8;
        if self.deadlock.is_empty() {
            return None;
        }
        let shown = self.deadlock.iter().take(SHOWN).map(|stuck| {
            let place = place(plan, stuck.site);
            format!("rank {} waits for {}{place}", stuck.rank, stuck.what)
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if self.deadlock.len() > SHOWN {
            text.push_str(&format!(", and {} more ranks wait", self.deadlock.len() - SHOWN));
        }
        let waits = |stuck: &Activity| {
            let instr = plan.code.get(stuck.site as usize);
            matches!(instr, Some(Instr::Op { op: Op::Wait, .. }))
        };
        if self.deadlock.iter().any(waits) && plan.sets.len() > 1 {
            text.push_str("; a signal is for those who wait in the group it is given to");
        }
        Some(format!("nobody could go on: {text}"))
    }
}

/// Where an instruction is, " at file:line:column"; "" if that is not known.
fn place(plan: &Plan, site: Pc) -> String {
    plan.locate_site(site)
        .map_or(String::new(), |(file, line, column)| format!(" at {file}:{line}:{column}"))
}

/// Why a run could not start. What was measured before does not exist.
#[derive(Debug)]
pub enum StartError {
    /// A resource of the supervisor.
    Io {
        /// The failed act, as in "cannot ...".
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// A rank could not set itself up.
    Rank {
        /// World rank of the rank that could not start.
        rank: u32,
        /// Why.
        message: String,
    },
    /// The configuration is impossible.
    Config(String),
    /// Somebody asked to stop before the ranks were there.
    Interrupted,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Io { what, error } => write!(f, "cannot {what}: {error}"),
            StartError::Rank { rank, message } => write!(f, "rank {rank} cannot start: {message}"),
            StartError::Config(message) => f.write_str(message),
            StartError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for StartError {}

/// The plan's sets; a plan without any has the world.
pub fn sets(plan: &Plan) -> Vec<MemberSet> {
    match plan.sets.is_empty() {
        true => vec![MemberSet { members: (0..plan.ranks).into(), ..MemberSet::default() }],
        false => plan.sets.clone(),
    }
}

pub(crate) fn check_ranks(plan: &Plan) -> Result<u32, StartError> {
    match plan.ranks {
        0 => Err(StartError::Config("the plan was made for no ranks: expected at least 1".into())),
        ranks => Ok(ranks),
    }
}

/// Storage that answers nothing for this time is named.
const LONG: Duration = Duration::from_secs(5);

/// Reads the records of some ranks once in a period.
pub struct Watch {
    period_ns: u64,
    next_ns: u64,
    expected: Option<u64>,
    ranks: Vec<(u32, Live)>,
    /// Operations at the last look, and since when there are as many.
    still: (u64, u64),
}

impl Watch {
    /// `None` if the configuration asks for no progress.
    pub fn new(ranks: impl IntoIterator<Item = u32>, config: &Config) -> Option<Watch> {
        let period_ns = config.watch?.as_nanos().try_into().unwrap_or(u64::MAX);
        let ranks: Vec<(u32, Live)> =
            ranks.into_iter().map(|rank| (rank, Live::default())).collect();
        let expected = config.expected_operations(ranks.iter().map(|(rank, _)| *rank));
        Some(Watch { period_ns, next_ns: period_ns, expected, ranks, still: (0, 0) })
    }

    /// How far the ranks are at `now_ns`, if it is time to read; `record` opens the record of a rank. A rank
    /// whose record cannot be read counts for nothing, and bytes are then unknown.
    pub fn look(&mut self, now_ns: u64, record: impl Fn(u32) -> Option<File>) -> Option<Sample> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(self.period_ns);
        let ranks = self.ranks.len() as u32;
        let (at_ns, expected) = (now_ns, self.expected);
        let mut sample = Sample { at_ns, ranks, expected, bytes: Some(0), ..Sample::default() };
        for (rank, live) in &mut self.ranks {
            let seen = record(*rank).and_then(|record| live.look(&record).ok());
            let seen = seen.unwrap_or_default();
            let (operations, bytes) = seen.sums.unzip();
            sample.operations = sample.operations.saturating_add(operations.unwrap_or(0));
            sample.bytes = sample.bytes.zip(bytes).map(|(sum, more)| sum.saturating_add(more));
            let label = seen.label.filter(|_| seen.runs);
            sample.labels.push(label.map(|path| String::from_utf8_lossy(&path).into_owned()));
        }
        sample.label = sample.labels.iter().flatten().next().cloned();
        if sample.operations != self.still.0 {
            self.still = (sample.operations, now_ns);
        }
        Some(sample)
    }

    /// How long no operation has ended, if that is long.
    pub fn still_for(&self, now_ns: u64) -> Option<Duration> {
        let still = Duration::from_nanos(now_ns.saturating_sub(self.still.1));
        (still >= LONG).then_some(still)
    }
}
