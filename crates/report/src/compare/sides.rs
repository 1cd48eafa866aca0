//! What differs between the programs of two sides, and between their surroundings.

use model::Run;
use model::run::Header;
use serde::Serialize;
use std::collections::BTreeSet;

/// A fact that the sides do not share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which fact: "program", "param num", "kernel".
    pub what: String,
    /// In A; several values where its runs differ among themselves.
    pub base: String,
    /// In B.
    pub new: String,
}

impl Difference {
    /// `kernel: 6.1 in A, 6.5 in B`.
    pub fn sentence(&self) -> String {
        let or_none =
            |text: &str| if text.is_empty() { "nothing".to_string() } else { text.into() };
        format!("{}: {} in A, {} in B", self.what, or_none(&self.base), or_none(&self.new))
    }
}

/// Facts of one run by name.
type Facts = Vec<(String, String)>;

/// Differences that make a comparison senseless, and those of the surroundings.
pub(super) fn differences(base: &[Run], new: &[Run]) -> (Vec<Difference>, Vec<Difference>) {
    (unlike(base, new, program), unlike(base, new, surroundings))
}

fn unlike(base: &[Run], new: &[Run], facts: fn(&Run) -> Facts) -> Vec<Difference> {
    let all = |runs: &[Run]| -> Facts { runs.iter().flat_map(facts).collect() };
    let (a, b) = (all(base), all(new));
    let mut seen = BTreeSet::new();
    let names = a.iter().chain(&b).map(|fact| &fact.0).filter(|name| seen.insert((*name).clone()));
    let names: Vec<String> = names.cloned().collect();
    let values = |facts: &Facts, name: &str| -> BTreeSet<String> {
        facts.iter().filter(|fact| fact.0 == name).map(|fact| fact.1.clone()).collect()
    };
    let pairs = names.into_iter().map(|name| {
        let (ours, theirs) = (values(&a, &name), values(&b, &name));
        (name, ours, theirs)
    });
    let differing = pairs.filter(|(_, ours, theirs)| ours != theirs || ours.len() > 1);
    let list = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" and ");
    differing
        .map(|(what, ours, theirs)| Difference { what, base: list(ours), new: list(theirs) })
        .collect()
}

/// What was executed: text, parameters, ranks, grid.
fn program(run: &Run) -> Facts {
    let header = &run.run;
    let mut facts = vec![("ranks".into(), header.ranks.to_string())];
    for (at, file) in header.program.files.iter().enumerate() {
        // The name may differ: the text is the program.
        facts.push((format!("text of file {}", at + 1), digest(&file.text)));
    }
    for param in &header.params {
        facts.push((format!("parameter {}", param.name), param.value.clone()));
    }
    if let Some(sweep) = &header.sweep {
        for dimension in &sweep.dimensions {
            facts.push((format!("sweep of {}", dimension.name), dimension.values.join(",")));
        }
    }
    facts
}

/// A text in a word: FNV-1a (Fowler, Noll, Vo), 64 bits.
fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let lines = text.lines().count();
    format!("{lines} lines, {:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn surroundings(run: &Run) -> Facts {
    let Header { host, evidence, .. } = &run.run;
    let facts = [
        ("back-end", run.run.backend.clone()),
        ("communicator", run.run.comm.clone()),
        ("version of Parabench", run.run.parabench.clone()),
        ("seed", run.run.seed.to_string()),
        ("host", host.name.clone()),
        ("kernel", host.kernel.clone()),
        ("processor", host.cpu.clone()),
        ("processors", host.cpus.to_string()),
        ("memory", host.memory_bytes.to_string()),
        ("mount point", host.mount.clone()),
        ("device", host.device.clone()),
        ("file system", host.file_system.clone()),
        ("mount options", host.mount_options.clone()),
        ("clock", evidence.clock.clone()),
        ("confinement", evidence.confinement.clone()),
        ("outcome", run.run.outcome.clone()),
    ];
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
