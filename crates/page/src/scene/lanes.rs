//! What each rank did when, besides its operations: phases, waits for others; barriers and signals between ranks.

use model::Plan;
use model::plan::SetId;
use model::watched::{Awaited, Wait, Watched};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Phases, and waits, of all ranks together.
const ITEMS: usize = 20_000;
/// Meetings, and signals.
const MEETINGS: usize = 5_000;

/// A rank.
#[derive(Debug, Serialize)]
pub(super) struct Lane {
    rank: u32,
    end_ns: u64,
    end: &'static str,
    phases: Vec<(u32, u64, u64)>,
    waits: Vec<WaitRow>,
}

#[derive(Debug, Serialize)]
struct WaitRow {
    from_ns: u64,
    to_ns: u64,
    kind: &'static str,
    what: String,
    line: usize,
    for_rank: i64,
    never: bool,
}

/// A barrier or collective that its members passed.
#[derive(Debug, Serialize)]
pub(super) struct Meeting {
    ns: u64,
    kind: &'static str,
    what: String,
    line: usize,
    first_rank: u32,
    last_rank: u32,
    members: u32,
    late_rank: u32,
    spread_ns: u64,
}

/// A signal that a rank got.
#[derive(Debug, Serialize)]
pub(super) struct Signal {
    name: String,
    from_rank: u32,
    given_ns: u64,
    to_rank: u32,
    got_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub labels: Vec<String>,
    pub lanes: Vec<Lane>,
    pub meetings: Vec<Meeting>,
    pub signals: Vec<Signal>,
    /// Items that are not here because there are too many.
    pub left_out: u64,
}

pub(super) fn lanes(plan: &Plan, watched: &Watched) -> Lanes {
    let mut found = Lanes::default();
    let mut lines = Lines { plan, known: HashMap::new() };
    found.add_ranks(watched);
    found.add_waits(watched, &mut lines);
    found.add_meetings(watched, &mut lines);
    found.add_signals(watched);
    found
}

/// Lines of statements, each looked up once.
struct Lines<'p> {
    plan: &'p Plan,
    known: HashMap<u32, usize>,
}

impl Lines<'_> {
    fn at(&mut self, site: u32) -> usize {
        let find = || self.plan.locate_site(site).map_or(0, |(_, line, _)| line);
        *self.known.entry(site).or_insert_with(find)
    }
}

impl Lanes {
    fn add_ranks(&mut self, watched: &Watched) {
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let share = ITEMS / watched.ranks.len().max(1);
        for (rank, one) in (0..).zip(&watched.ranks) {
            let mut phases = Vec::new();
            for (label, start_ns, end_ns) in one.phases.iter().take(share) {
                let Some(path) = one.labels.get(*label as usize) else { continue };
                let number = *numbers.entry(path).or_insert_with(|| {
                    self.labels.push(String::from_utf8_lossy(path).into_owned());
                    self.labels.len() as u32 - 1
                });
                phases.push((number, *start_ns, *end_ns));
            }
            self.left_out += one.phases.len().saturating_sub(share) as u64;
            let (end_ns, end) = (one.end_ns, one.end);
            self.lanes.push(Lane { rank, end_ns, end, phases, waits: Vec::new() });
        }
    }

    fn add_waits(&mut self, watched: &Watched, lines: &mut Lines<'_>) {
        // Who came last did not wait.
        let waits = watched.waits.iter().filter(|wait| wait.never || wait.to_ns > wait.from_ns);
        for (number, wait) in waits.enumerate() {
            let Some(lane) = self.lanes.get_mut(wait.rank as usize) else { continue };
            if number >= ITEMS {
                self.left_out += 1;
                continue;
            }
            let (kind, what) = describe(&wait.what);
            lane.waits.push(WaitRow {
                from_ns: wait.from_ns,
                to_ns: if wait.never { lane.end_ns.max(wait.to_ns) } else { wait.to_ns },
                kind,
                what,
                line: lines.at(wait.site),
                for_rank: wait.for_rank.filter(|rank| *rank != wait.rank).map_or(-1, i64::from),
                never: wait.never,
            });
        }
    }

    fn add_meetings(&mut self, watched: &Watched, lines: &mut Lines<'_>) {
        let mut met: BTreeMap<(SetId, u64), Vec<&Wait>> = BTreeMap::new();
        for wait in &watched.waits {
            if matches!(wait.what, Awaited::Meeting(_)) && !wait.never {
                met.entry((wait.set, wait.meeting)).or_default().push(wait);
            }
        }
        let mut all: Vec<Meeting> = met.values().filter_map(|came| meeting(came, lines)).collect();
        all.sort_by_key(|meeting| (meeting.ns, meeting.first_rank));
        self.left_out += all.len().saturating_sub(MEETINGS) as u64;
        all.truncate(MEETINGS);
        self.meetings = all;
    }

    fn add_signals(&mut self, watched: &Watched) {
        for wait in &watched.waits {
            let (Awaited::Signal(name, _), Some(from_rank)) = (&wait.what, wait.for_rank) else {
                continue;
            };
            if wait.never {
                continue;
            }
            if self.signals.len() >= MEETINGS {
                self.left_out += 1;
                continue;
            }
            self.signals.push(Signal {
                name: String::from_utf8_lossy(name).into_owned(),
                from_rank,
                given_ns: wait.for_ns,
                to_rank: wait.rank,
                got_ns: wait.to_ns,
            });
        }
    }
}

fn meeting(came: &[&Wait], lines: &mut Lines<'_>) -> Option<Meeting> {
    let first = came.first()?;
    let (kind, what) = describe(&first.what);
    let came_ns = || came.iter().map(|wait| wait.from_ns);
    let ranks = || came.iter().map(|wait| wait.rank);
    Some(Meeting {
        ns: came.iter().map(|wait| wait.to_ns).max()?,
        kind: if kind == "collective" { kind } else { "barrier" },
        what,
        line: lines.at(first.site),
        first_rank: ranks().min()?,
        last_rank: ranks().max()?,
        members: came.len() as u32,
        late_rank: first.for_rank?,
        spread_ns: came_ns().max()? - came_ns().min()?,
    })
}

/// The kind of an awaited thing, and the thing in words.
fn describe(what: &Awaited) -> (&'static str, String) {
    match what {
        Awaited::Meeting(None) => ("barrier", "a barrier".into()),
        Awaited::Meeting(Some(name)) => ("collective", (*name).into()),
        Awaited::Signal(name, count) => {
            let name = String::from_utf8_lossy(name);
            ("signal", format!("the signal \"{name}\" (number {count})"))
        }
        Awaited::Lock(path) => ("lock", format!("a lock of \"{}\"", String::from_utf8_lossy(path))),
    }
}
