//! A folded program is executed on files in memory and compared with its log: only what does the same
//! is called lossless.

use super::tally::{Kind, Tally, difference};
use engine::config::{BackendKind, Config};
use engine::record::{EventsConfig, RankRecord};
use engine::supervise::{Outcome, run_sim_among};
use model::event::{Event, FLAG_FAILED, NO_ID};
use model::{Op, Plan, errno};
use ppl::{Binding, Loader};
use std::borrow::Cow;
use std::path::PathBuf;
use trace::fold::{Before, Folded, Included, Kind as There, Log};

/// How far a program does what its log shows.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Operations of the log.
    pub operations: u64,
    /// Opens that are not in the log.
    pub adopted: u64,
    /// Operations that differ, those that are missing or too many included; sums.
    pub tally: Tally,
    /// The first of them.
    pub first: Option<Difference>,
    /// Why the program could not be executed to its end.
    pub failure: Option<String>,
    /// By rank and operation of the log: the line of the text that it comes from.
    pub lines: Vec<Vec<u32>>,
}

/// Two operations that should be the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Rank.
    pub rank: u32,
    /// Number of the operation, from 0.
    pub number: usize,
    /// In the log.
    pub expected: String,
    /// Of the program.
    pub found: String,
}

impl Proof {
    /// The program does the same as its log.
    pub fn is_lossless(&self) -> bool {
        self.tally.differences() == 0 && self.failure.is_none()
    }

    /// It does nearly the same: nothing ends otherwise, numbers of operations and their bytes are
    /// within the bound, a share.
    pub fn is_within(&self, bound: f64) -> bool {
        self.failure.is_none() && self.tally.is_within(bound)
    }
}

/// Executes the text of a folded program among the files that it expects, and compares.
pub fn prove(log: &Log, folded: &Folded) -> Proof {
    let mut proof = Proof {
        operations: log.ranks.iter().map(|rank| rank.len() as u64).sum(),
        adopted: folded.adopted.iter().map(|rank| rank.len() as u64).sum(),
        ..Proof::default()
    };
    match execute(log.ranks.len() as u32, folded) {
        Ok((plan, outcome)) => {
            if !outcome.finished() {
                proof.failure = Some(outcome.ending(&plan));
            }
            for (rank, record) in (0..).zip(&outcome.records) {
                compare(rank, log, folded, &plan, record, &mut proof);
            }
        }
        Err(why) => {
            proof.failure = Some(why);
            let all = log.ranks.iter().flatten();
            all.for_each(|entry| proof.tally.add(Some(&entry.event), None, Some(Kind::Operation)));
        }
    }
    proof
}

/// Executes a program that was changed on so many ranks: nothing may fail that was not expected.
///
/// # Errors
/// What went wrong first.
pub fn try_out(folded: &Folded, ranks: u32) -> Result<(), String> {
    let (plan, outcome) = execute(ranks, folded)?;
    if !outcome.finished() {
        return Err(outcome.ending(&plan));
    }
    for record in &outcome.records {
        if let Some(event) = record.events().find(|event| event.flags & FLAG_FAILED != 0) {
            let path = |id: u32| plan.named(record.path(id).unwrap_or_default());
            let failed = told(&event, path);
            return Err(format!("rank {}: {failed}", record.rank));
        }
    }
    Ok(())
}

fn execute(ranks: u32, folded: &Folded) -> Result<(Plan, Outcome), String> {
    let binding = Binding::new(ranks);
    let text = folded.text.clone().into_bytes();
    let compiled = ppl::compile("folded", text, &mut Parts(&folded.parts), &binding);
    let Some(plan) = compiled.plan else {
        let mistake = compiled.diagnostics.first();
        let mistake = mistake.map_or(String::new(), |found| found.message.clone());
        return Err(format!("the text does not compile: {mistake}"));
    };
    let events = EventsConfig { max_bytes: 1 << 40, expected: 0, sample_every: 1 };
    let mut config = Config {
        directory: PathBuf::from("/folded"),
        backend: BackendKind::Mem,
        events: Some(events),
        ..Config::default()
    };
    config.settings.print_fd = None;
    let before: Vec<(&[u8], Option<u64>)> = folded.before.iter().map(planted).collect();
    let outcome = run_sim_among(&plan, &config, &before, &mut |_| ());
    outcome.map(|outcome| (plan, outcome)).map_err(|error| error.to_string())
}

/// The files of a program that are not written yet.
struct Parts<'a>(&'a [Included]);

impl Loader for Parts<'_> {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        let part = self.0.iter().find(|part| part.name == path).ok_or("there is no such file")?;
        Ok((part.name.clone(), part.text.clone().into_bytes()))
    }
}

fn planted(before: &Before) -> (&[u8], Option<u64>) {
    let size_bytes = match before.kind {
        There::Directory => None,
        There::File { size_bytes } => Some(size_bytes),
    };
    (&before.path, size_bytes)
}

fn compare(
    rank: u32,
    log: &Log,
    folded: &Folded,
    plan: &Plan,
    record: &RankRecord,
    proof: &mut Proof,
) {
    let expected = &log.ranks[rank as usize];
    let adopted = folded.adopted.get(rank as usize).map_or(&[][..], Vec::as_slice);
    let own = (0u64..).zip(record.events()).filter(|(at, _)| adopted.binary_search(at).is_err());
    let mut own = own.map(|(_, event)| event);
    let mut lines = Vec::with_capacity(expected.len());
    for (number, entry) in expected.iter().enumerate() {
        let found = own.next();
        let line = found.and_then(|event| plan.locate_site(event.site));
        lines.push(line.map_or(0, |(_, line, _)| line as u32));
        let path = |id: u32| plan.named(record.path(id).unwrap_or_default());
        let kind = match &found {
            Some(event) => difference((&entry.event, log), (event, &path)),
            None => Some(Kind::Operation),
        };
        proof.tally.add(Some(&entry.event), found.as_ref(), kind);
        if kind.is_some() {
            proof.first.get_or_insert_with(|| Difference {
                rank,
                number,
                expected: shown(&entry.event, log),
                found: found.map_or("nothing".into(), |event| told(&event, path)),
            });
        }
    }
    let mut more = 0;
    for event in own {
        more += 1;
        proof.tally.add(None, Some(&event), Some(Kind::Operation));
    }
    if more > 0 && proof.first.is_none() {
        let number = expected.len();
        let (expected, found) = ("nothing".into(), format!("{more} more operations"));
        proof.first = Some(Difference { rank, number, expected, found });
    }
    proof.lines.push(lines);
}

/// It moves bytes between memory and a file at a place.
pub(super) fn moves(event: &Event) -> bool {
    let transfers = [Op::Fread, Op::Fwrite, Op::Readv, Op::Writev, Op::Read, Op::Write, Op::Append];
    Op::from_u8(event.op).is_some_and(|op| transfers.contains(&op))
}

/// An operation of a log in one line.
pub fn shown(event: &Event, log: &Log) -> String {
    told(event, |path| log.path(path).into())
}

fn told<'a>(event: &Event, path: impl Fn(u32) -> Cow<'a, [u8]>) -> String {
    let op = Op::from_u8(event.op).map_or("?", Op::name);
    let name = |id: u32| model::escape::line(&String::from_utf8_lossy(&path(id)));
    let mut text = format!("{op} \"{}\"", name(event.path));
    if event.path2 != NO_ID {
        text.push_str(&format!(" \"{}\"", name(event.path2)));
    }
    if moves(event) {
        let (offset, asked, done) = (event.offset_bytes, event.requested_bytes, event.done_bytes);
        text.push_str(&format!(", {done} of {asked} bytes at {offset}"));
    }
    match event.errno {
        0 => text,
        number => format!("{text}: {}", errno::name(number)),
    }
}
