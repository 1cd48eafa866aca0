//! What ranks do to each other's files: names that several make, files that only
//! others make, more read than was written. Collected over all ranks, told at the end.

use super::key::Key;
use crate::diag::{Code, Diagnostic};
use crate::lower::report::Reports;
use model::plan::{Pc, Plan};
use model::units::format_bytes;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Names that are remembered; in larger programs the rest is not watched.
const MAX_NAMES: usize = 1 << 16;

/// Collects what the ranks do.
#[derive(Default)]
pub(super) struct Watch {
    /// Ranks that are being looked at.
    pub(super) ranks: Range<u32>,
    /// Statements that fail if the name is there.
    exclusive: FxHashMap<Pc, Exclusive>,
    /// Who makes each name, or writes to it.
    names: FxHashMap<u64, Name>,
    /// Statements that need a file to be there.
    needs: FxHashMap<Pc, Need>,
    reads: Vec<Read>,
    /// By skeleton: the only name of it, or none if there are several.
    single: FxHashMap<u32, Option<u64>>,
    /// A file of unknown name is made.
    vague: bool,
}

struct Exclusive {
    name: u64,
    shown: String,
    ranks: u64,
}

#[derive(Default)]
struct Name {
    /// Numbers of the members that make it; all for a name without a rank in it.
    makers: Vec<Range<u32>>,
    /// World ranks of the same.
    ranks: Vec<Range<u32>>,
    /// Bytes that are written to it at most; `None`: not known.
    written: Option<u64>,
    writes: u64,
}

struct Need {
    name: u64,
    skeleton: u32,
    members: Range<u32>,
    ranks: Range<u32>,
    shown: String,
}

struct Read {
    site: Pc,
    name: u64,
    skeleton: u32,
    bytes: u64,
    count: u64,
    shown: String,
}

impl Watch {
    fn members(&self, key: &Key) -> Option<Range<u32>> {
        match key.member {
            Some(start) => {
                Some(self.ranks.start.checked_sub(start)?..self.ranks.end.checked_sub(start)?)
            }
            None => Some(0..u32::MAX),
        }
    }

    /// The name's record, for its makers. `None`: it is not watched.
    fn name(&mut self, key: &Key) -> Option<&mut Name> {
        if key.vague.is_some() {
            self.vague = true;
        }
        if self.vague {
            return None;
        }
        let hash = key.hash();
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(&hash) {
            self.vague = true;
            return None;
        }
        let single = self.single.entry(key.skeleton()).or_insert(Some(hash));
        if *single != Some(hash) {
            *single = None;
        }
        let name =
            self.names.entry(hash).or_insert_with(|| Name { written: Some(0), ..Name::default() });
        Some(name)
    }

    /// A file may be made here.
    pub(super) fn made(&mut self, key: &Key) {
        let (ranks, members) = (self.ranks.clone(), self.members(key));
        let Some(members) = members else {
            self.vague = true;
            return;
        };
        if let Some(name) = self.name(key)
            && name.makers.last() != Some(&members)
        {
            name.makers.push(members);
            name.ranks.push(ranks);
        }
    }

    /// So many bytes are written in so many writes; `None`: an unknown number.
    pub(super) fn written(&mut self, key: &Key, bytes: Option<u64>, writes: u64) {
        let ranks = if key.member.is_some() { 1 } else { self.ranks.len() as u64 };
        if let Some(name) = self.name(key) {
            name.written = match (name.written, bytes) {
                (Some(old), Some(new)) => old.checked_add(new.saturating_mul(ranks)),
                _ => None,
            };
            name.writes = name.writes.saturating_add(writes);
        }
    }

    /// This fails on all ranks but the first that gets here, if they use one name.
    pub(super) fn exclusive(&mut self, site: Pc, key: &Key) {
        if key.member.is_some() || key.vague.is_some() || self.exclusive.len() >= MAX_NAMES {
            return;
        }
        let (name, ranks) = (key.hash(), self.ranks.len() as u64);
        let made = self.exclusive.entry(site).or_insert_with(|| Exclusive {
            name,
            shown: key.shown(),
            ranks: 0,
        });
        // In a loop a rank gets here often; it is the same rank.
        if made.name == name {
            made.ranks = made.ranks.max(ranks);
        }
    }

    /// A class of ranks is done: the next ones are others.
    pub(super) fn next_ranks(&mut self, seen: &mut FxHashMap<Pc, u64>) {
        for (site, made) in &mut self.exclusive {
            let total = seen.entry(*site).or_default();
            *total += std::mem::take(&mut made.ranks);
        }
    }

    /// This fails if the file is not there.
    pub(super) fn needed(&mut self, site: Pc, key: &Key) {
        if key.member.is_none() || key.vague.is_some() || self.needs.len() >= MAX_NAMES {
            return;
        }
        let Some(members) = self.members(key) else { return };
        let ranks = self.ranks.clone();
        let new = || Need {
            name: key.hash(),
            skeleton: key.skeleton(),
            members: members.clone(),
            ranks: ranks.clone(),
            shown: key.shown(),
        };
        let need = self.needs.entry(site).or_insert_with(new);
        if need.name == key.hash() && need.members.end == members.start {
            (need.members.end, need.ranks.end) = (members.end, ranks.end);
        }
    }

    /// So much is asked for from one file, from its start on or from one position.
    pub(super) fn read(&mut self, site: Pc, key: &Key, bytes: u64, count: u64) {
        if key.vague.is_some() || self.reads.len() >= MAX_NAMES {
            return;
        }
        let (name, skeleton, shown) = (key.hash(), key.skeleton(), key.shown());
        self.reads.push(Read { site, name, skeleton, bytes, count, shown });
    }

    /// What cannot succeed.
    pub(super) fn tell(&self, plan: &Plan, exclusive: &FxHashMap<Pc, u64>) -> Vec<Diagnostic> {
        let mut reports = Reports::default();
        let mut sites: Vec<_> = exclusive.iter().filter(|(_, ranks)| **ranks > 1).collect();
        sites.sort_unstable();
        for (site, ranks) in sites {
            if let Some(made) = self.exclusive.get(site) {
                reports.push(collision(plan, *site, &made.shown, *ranks));
            }
        }
        if !self.vague {
            self.tell_needs(plan, &mut reports);
            self.tell_reads(plan, &mut reports);
        }
        reports.finish()
    }

    /// The record of the only name of a skeleton.
    fn only(&self, skeleton: u32, name: u64) -> Option<&Name> {
        let single = self.single.get(&skeleton)?;
        self.names.get(&name).filter(|_| *single == Some(name))
    }

    fn tell_needs(&self, plan: &Plan, reports: &mut Reports) {
        let mut needs: Vec<_> = self.needs.iter().collect();
        needs.sort_unstable_by_key(|(site, _)| **site);
        for (site, need) in needs {
            let Some(name) = self.only(need.skeleton, need.name) else { continue };
            let apart = |makers: &Range<u32>| {
                makers.end <= need.members.start || need.members.end <= makers.start
            };
            if name.makers.is_empty() || !name.makers.iter().all(apart) {
                continue;
            }
            let makers: Vec<String> = name.ranks.iter().map(in_words).collect();
            let message = format!(
                "{} use \"{}\" with their own number, but only {} make such files",
                in_words(&need.ranks),
                need.shown,
                makers.join(", "),
            );
            let help =
                "name the file of the rank that made it, as in \"$other\" with $other computed";
            let span = plan.spans[*site as usize];
            reports.push(Diagnostic::new(Code::NotWritten, span, message).help(help));
        }
    }

    fn tell_reads(&self, plan: &Plan, reports: &mut Reports) {
        let mut told = Vec::new();
        for read in &self.reads {
            let Some(name) = self.only(read.skeleton, read.name) else { continue };
            let Some(written) = name.written.filter(|written| *written > 0) else { continue };
            if read.bytes <= written || told.contains(&read.site) {
                continue;
            }
            told.push(read.site);
            let (reads, writes) = (plural(read.count, "read"), plural(name.writes, "write"));
            let (ask, bring) = (verb(read.count, "ask"), verb(name.writes, "bring"));
            let message = format!(
                "{reads} {ask} for {} of \"{}\", to which {writes} {bring} {}",
                format_bytes(read.bytes),
                read.shown,
                format_bytes(written)
            );
            let help = "reads behind the end of the file move nothing and count as short";
            let span = plan.spans[read.site as usize];
            reports.push(Diagnostic::new(Code::BeyondEnd, span, message).help(help));
        }
    }
}

/// The verb after so many things.
fn verb(count: u64, verb: &str) -> String {
    if count == 1 { format!("{verb}s") } else { verb.into() }
}

fn collision(plan: &Plan, site: Pc, shown: &str, ranks: u64) -> Diagnostic {
    let message = format!("{ranks} ranks make the same name \"{shown}\"; all but one will fail");
    let help = "let one rank do it: master { ... } barrier; or give each rank a name with $$rank; \
                or expect it: with (expect=\"EEXIST\") ...";
    Diagnostic::new(Code::Collision, plan.spans[site as usize], message).help(help)
}

fn in_words(ranks: &Range<u32>) -> String {
    match ranks.len() {
        1 => format!("rank {}", ranks.start),
        _ => format!("ranks {} to {}", ranks.start, ranks.end - 1),
    }
}

fn plural(count: u64, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    }
}
