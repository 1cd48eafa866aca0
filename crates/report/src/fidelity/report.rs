//! The report on replays: its fields, its verdict in one sentence, and the first place of each kind of difference.

use super::figures::Scope;
use super::profile::Profile;
use super::stream::{Near, Step, Texts};
use super::tally::{Example, Kind, Tally};
use crate::StoreError;
use crate::gate::GateResult;
use crate::text::{at_least, grouped};
use model::event::{NO_ID, rename_word};
use model::op::Class;
use model::units::Measure;
use model::{Op, Run, errno};
use serde::Serialize;
use std::path::Path;

/// Version of the JSON object.
pub(crate) const VERSION: u32 = 1;

/// A stored run that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Its name in reports: its path.
    pub name: &'a str,
    /// The folder of its event table.
    pub folder: &'a Path,
    /// Its run.json.
    pub run: &'a Run,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The problem, with the name of the run.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        Refused { message: error.to_string(), help: String::new() }
    }
}

/// How faithful replays are.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// Version of this object.
    pub version: u32,
    /// Executions of the original.
    pub originals: Vec<Execution>,
    /// Executions of the replay.
    pub replays: Vec<Execution>,
    /// Names of the first original that have another one in the first replay.
    pub renamed: u64,
    /// The first of them: the name in the original, the one in the replay.
    pub renamed_first: Option<[String; 2]>,
    /// Calls on files that the log of the first original shows and that neither side has as operations.
    pub left_out: Vec<LeftOut>,
    /// What happened and is not in the recording of the first original, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Executions and bytes by operation, of the first original and the first replay.
    pub ops: Vec<OpCounts>,
    /// Times: in all, then by phase in the order of the original.
    pub scopes: Vec<Scope>,
    /// Remarks in sentences.
    pub notes: Vec<String>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
    /// One sentence.
    pub verdict: String,
    /// Profiles of the first original and the first replay, for pictures.
    #[serde(skip)]
    pub(crate) pictured: [Profile; 2],
    /// Names of labels in them.
    #[serde(skip)]
    pub(crate) texts: Vec<(u32, String)>,
}

/// One execution of either side.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Execution {
    /// Its run, and of several executions in it the number of the repetition.
    pub name: String,
    /// Operations.
    pub operations: u64,
    /// Opens outside of every label, besides, that give a rank what another rank of an imported
    /// original had opened: no differences.
    pub adopted: u64,
    /// Writes of the original whose place in the file is not compared, because several ranks append to it.
    #[serde(skip)]
    pub appends: u64,
    /// Share of the bytes read that came from the page cache, 0 to 1; null where it is unknown, as of an import.
    pub page_cache_share: Option<f64>,
    /// The file system or ram disk that kept the files in memory; null: none, or unknown.
    pub memory_storage: Option<String>,
    /// Differences from the first original; `None` for that one itself.
    pub differences: Option<Differences>,
}

/// Calls that are not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The name of the call, or what they have in common.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// Differences between an execution and the original. Units: operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Differences {
    /// Operations that differ in anything, including order, missing and extra.
    pub operations: u64,
    /// In the original alone.
    pub missing: u64,
    /// In the replay alone.
    pub extra: u64,
    /// At another place in the order of their process.
    pub order: u64,
    /// On another file.
    pub names: u64,
    /// On other bytes of the file.
    pub offsets: u64,
    /// With another requested number of bytes.
    pub bytes: u64,
    /// With another result.
    pub results: u64,
    /// Opened with other flags, where both sides know them.
    pub open_flags: u64,
    /// The first of each kind.
    pub firsts: Vec<First>,
}

/// Executions and bytes of one operation on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpCounts {
    /// The operation.
    pub op: &'static str,
    /// Executions in the original.
    pub original_count: u64,
    /// Executions in the replay.
    pub replay_count: u64,
    /// Bytes moved in the original.
    pub original_bytes: u64,
    /// Bytes moved in the replay.
    pub replay_bytes: u64,
}

impl Differences {
    pub(crate) fn new(tally: &Tally, firsts: Vec<First>) -> Differences {
        let count = |kind: Kind| tally.count(kind);
        let ours: u64 = tally.ops.values().map(|counts| counts.count[0]).sum();
        let [missing, extra, order] = [Kind::Missing, Kind::Extra, Kind::Order].map(count);
        let pairs = ours - missing - order;
        Differences {
            operations: missing + extra + order + pairs - tally.equal,
            missing,
            extra,
            order,
            names: count(Kind::Names),
            offsets: count(Kind::Offsets),
            bytes: count(Kind::Bytes),
            results: count(Kind::Results),
            open_flags: count(Kind::OpenFlags),
            firsts,
        }
    }

    /// How many operations differ in one way.
    pub fn count(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Missing => self.missing,
            Kind::Extra => self.extra,
            Kind::Order => self.order,
            Kind::Names => self.names,
            Kind::Offsets => self.offsets,
            Kind::Bytes => self.bytes,
            Kind::Results => self.results,
            Kind::OpenFlags => self.open_flags,
        }
    }
}

impl Fidelity {
    /// The replay with most differences; of equal ones the first.
    pub(crate) fn worst(&self) -> Option<&Execution> {
        let differing = |one: &&Execution| one.differences.as_ref().map_or(0, |d| d.operations);
        self.replays.iter().rev().max_by_key(differing)
    }
}

/// Whether operations differ, which kinds, and the elapsed time.
pub(crate) fn describe(found: &Fidelity) -> String {
    let (Some(original), Some(worst)) = (found.originals.first(), found.worst()) else {
        return "nothing was compared".into();
    };
    let parts = [Some(operations(found, original, worst)), Some(elapsed(found)), cached(found)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// From this share of cached bytes on, the times of a replay show memory speed.
const CACHED_SHARE: f64 = 0.5;

/// Where the replays' data came from, if that was memory.
fn cached(found: &Fidelity) -> Option<String> {
    let replays = &found.replays;
    let who = if replays.len() > 1 { "the replays" } else { "the replay" };
    if let Some(storage) = replays.iter().find_map(|one| one.memory_storage.as_ref()) {
        return Some(format!("{who} ran in memory ({storage})"));
    }
    let shares = replays.iter().filter_map(|one| one.page_cache_share);
    let most = shares.fold(None, |most: Option<f64>, share| Some(most.unwrap_or(0.0).max(share)));
    let share = most.filter(|share| *share >= CACHED_SHARE)?;
    Some(format!("{who} read {} of the bytes from the page cache", at_least(share)))
}

/// Names of calls that the sentence has.
const LEFT_OUT_NAMED: usize = 3;

/// "2,018 left out: 1,817 fcntl, 150 flock and 51 others".
fn left_out(found: &Fidelity) -> Option<String> {
    let all: u64 = found.left_out.iter().map(|one| one.count).sum();
    let named = found.left_out.iter().take(LEFT_OUT_NAMED);
    let names: Vec<String> =
        named.clone().map(|one| format!("{} {}", grouped(one.count), one.what)).collect();
    let rest = match all - named.map(|one| one.count).sum::<u64>() {
        0 => String::new(),
        rest => format!(" and {} others", grouped(rest)),
    };
    (all > 0).then(|| format!("{} left out: {}{rest}", grouped(all), names.join(", ")))
}

fn operations(found: &Fidelity, original: &Execution, worst: &Execution) -> String {
    let skipped = found.left_out.iter().map(|one| one.count).sum::<u64>();
    let all = grouped(original.operations);
    let differences = worst.differences.clone().unwrap_or_default();
    let one = format!("{} does", worst.name);
    let who = if found.replays.len() > 1 { "each replay does" } else { &one };
    let but = left_out(found).map(|text| format!("; {text}")).unwrap_or_default();
    match differences.operations {
        0 if skipped > 0 => {
            let whole = grouped(original.operations + skipped);
            format!("{who} {all} of the {whole} operations of {}{but}", original.name)
        }
        0 if !found.incomplete.is_empty() => {
            format!("{who} what was recorded of {}, {all} operations", original.name)
        }
        0 => format!("{who} what {} did, all of its {all} operations", original.name),
        n => format!(
            "{} differs from {} in {} of {all} operations{} ({}){but}",
            worst.name,
            original.name,
            grouped(n),
            // Operations that are extra are none of the original's.
            match differences.extra {
                0 => String::new(),
                _ => format!(" there and {} here", grouped(worst.operations)),
            },
            kinds(&differences).join(", ")
        ),
    }
}

/// "3 missing, 1 with another offset".
fn kinds(differences: &Differences) -> Vec<String> {
    let known = Kind::all().map(|kind| (kind, differences.count(kind)));
    let found = known.into_iter().filter(|(_, count)| *count > 0);
    found.map(|(kind, count)| format!("{} {}", grouped(count), kind.words())).collect()
}

fn elapsed(found: &Fidelity) -> String {
    let figures = found.scopes.first().map_or(&[][..], |scope| &scope.figures[..]);
    let figure = figures.iter().find(|figure| figure.name == "elapsed");
    let Some(figure) = figure else { return "how long the original took is unknown".into() };
    let [ours, theirs] = [figure.original, figure.replay].map(Option::unwrap_or_default);
    let time = |ns: f64| Measure::Time.format(ns, 4);
    let several = found.originals.len() + found.replays.len() > 2;
    let medians = if several { " (medians)" } else { "" };
    let took = format!("it took {} instead of {}{medians}", time(theirs), time(ours));
    let Some(error) = figure.error_percent else { return took };
    let spread = figure.spread_percent.map_or_else(
        || "record the original twice to see how much it varies".to_string(),
        |spread| {
            let n = found.originals.len();
            let within = if error.abs() <= spread { "within" } else { "beyond" };
            format!("{within} the {spread:.1} % that {n} originals vary by")
        },
    );
    format!("{took} ({error:+.1} %; {spread})")
}

/// The first operation that differs in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct First {
    /// How it differs.
    pub kind: Kind,
    /// Its rank.
    pub rank: u32,
    /// The original around it.
    pub original: Vec<ShownStep>,
    /// The replay around it.
    pub replay: Vec<ShownStep>,
}

/// An operation as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShownStep {
    /// It is the one that differs, not one around it.
    pub here: bool,
    /// Its number on its rank, from 0.
    pub number: u64,
    /// The operation as text: `fwrite a, 4096 bytes at 0`.
    pub text: String,
    /// Where it stands: `x.ppl:3` or `app.strace:17`; "" if nobody tells.
    pub place: String,
}

/// Examples as they are shown, in the order of [`Kind`].
pub(crate) fn first_differences(
    examples: &[Example],
    texts: &Texts,
    runs: [&Run; 2],
) -> Vec<First> {
    let mut sorted: Vec<&Example> = examples.iter().collect();
    sorted.sort_by_key(|example| example.kind);
    let first = |example: &&Example| {
        let side = |at: usize, here: Option<Step>| {
            let shown = Shown { texts, run: runs[at], here };
            shown.around(&example.near[at])
        };
        First {
            kind: example.kind,
            rank: example.rank,
            original: side(0, example.steps[0]),
            replay: side(1, example.steps[1]),
        }
    };
    sorted.iter().map(first).collect()
}

struct Shown<'a> {
    texts: &'a Texts,
    run: &'a Run,
    here: Option<Step>,
}

impl Shown<'_> {
    fn around(&self, near: &Near) -> Vec<ShownStep> {
        near.past.iter().chain(&near.next).map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> ShownStep {
        ShownStep {
            here: self.here == Some(*step),
            number: step.seq,
            text: self.text(step),
            place: self.place(step),
        }
    }

    fn text(&self, step: &Step) -> String {
        let op = Op::from_u8(step.op);
        let mut text = op.map_or("?", Op::name).to_string();
        let copies = op.is_some_and(Op::is_between_files);
        let moves = op.is_some_and(|op| matches!(op.row().class, Class::Read | Class::Write));
        for (sign, name) in [(" ", step.name), (if copies { " from " } else { " to " }, step.name2)]
        {
            if name != NO_ID {
                text.push_str(&format!("{sign}{}", self.texts.shown(name)));
            }
        }
        match (step.asked, step.offset) {
            (0, 0) => {}
            (how, _) if op == Some(Op::Rename) => {
                text.extend(rename_word(how).map(|how| format!(", \"{how}\"")));
            }
            (asked, offset) => text.push_str(&format!(", {asked} bytes at {offset}")),
        }
        if copies {
            text.push_str(&format!(" from {}", step.from));
        }
        match step.errno {
            0 if moves && step.done < step.asked => {
                text.push_str(&format!(": {} moved", step.done))
            }
            0 => {}
            number => text.push_str(&format!(": {}", errno::name(number))),
        }
        text
    }

    fn place(&self, step: &Step) -> String {
        let header = &self.run.run;
        if let Some(trace) = &header.trace {
            let log = trace.logs.get(step.log as usize).filter(|_| step.log_line > 0);
            return log.map_or_else(String::new, |log| format!("{}:{}", log.name, step.log_line));
        }
        let site = header.sites.iter().find(|site| site.site == step.site);
        site.map_or_else(String::new, |site| format!("{}:{}", site.file, site.line))
    }
}
