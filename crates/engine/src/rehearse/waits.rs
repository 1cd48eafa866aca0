//! Waits that never end, and signals for members that a group does not have: the simulated ranks did
//! not get past them.

use super::doubts::in_words;
use crate::comm::End;
use crate::supervise::Outcome;
use model::plan::{Instr, Pc};
use model::rehearsal::{Doubt, DoubtKind};
use model::{Op, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// By statement: the ranks that did not get past it, and why the first of them did not.
type Places = BTreeMap<Pc, (BTreeSet<u32>, String)>;

/// Where a rank has failed, others may wait because of that alone.
pub(super) fn doubts(plan: &Plan, outcome: &Outcome) -> Vec<Doubt> {
    let is_signal =
        |site: Pc| matches!(plan.code.get(site as usize), Some(Instr::Op { op: Op::Signal, .. }));
    let strangers = errors(outcome, |_, site| is_signal(site));
    let mut doubts = describe(&strangers, DoubtKind::NotMember, |who, _, why| {
        format!("{who} cannot give this signal: {why}")
    });
    if outcome.ends.contains(&End::Failed) {
        return doubts;
    }
    let mut stuck = Places::new();
    for waiting in &outcome.deadlock {
        add(&mut stuck, waiting.site, waiting.rank, &waiting.what);
    }
    doubts.extend(describe(&stuck, DoubtKind::NeverMet, |who, one, what| {
        format!("{who} {} forever for {what}", if one { "waits" } else { "wait" })
    }));
    // Nobody is left who could come.
    let is_left = |rank: u32, site: Pc| {
        outcome.ends.get(rank as usize) == Some(&End::Released) && !stuck.contains_key(&site)
    };
    let left = errors(outcome, is_left);
    doubts.extend(describe(&left, DoubtKind::NeverMet, |who, one, why| {
        format!("{who} {} forever: {why}", if one { "waits" } else { "wait" })
    }));
    doubts
}

fn describe(
    places: &Places,
    kind: DoubtKind,
    sentence: impl Fn(&str, bool, &str) -> String,
) -> Vec<Doubt> {
    let doubt = |(site, (ranks, why)): (&Pc, &(BTreeSet<u32>, String))| Doubt {
        kind,
        site: *site,
        message: sentence(&in_words(ranks), ranks.len() == 1, why),
    };
    places.iter().map(doubt).collect()
}

/// The errors of ranks at their statements.
fn errors(outcome: &Outcome, counts: impl Fn(u32, Pc) -> bool) -> Places {
    let mut places = Places::new();
    for record in &outcome.records {
        for (site, message) in &record.errors {
            if let Some(site) = site.filter(|site| counts(record.rank, *site)) {
                add(&mut places, site, record.rank, message);
            }
        }
    }
    places
}

fn add(places: &mut Places, site: Pc, rank: u32, why: &str) {
    let (ranks, _) = places.entry(site).or_insert_with(|| (BTreeSet::new(), why.to_string()));
    ranks.insert(rank);
}
