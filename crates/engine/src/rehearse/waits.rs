//! Waits for other ranks that never end, and signals for members that a group does not have: the
//! simulated ranks did not get past them.

use super::doubts::in_words;
use crate::comm::End;
use crate::supervise::Outcome;
use model::plan::{Instr, Pc};
use model::rehearsal::{Doubt, DoubtKind};
use model::{Op, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// By statement: the ranks that did not get past it, and why the first of them did not.
type Places = BTreeMap<Pc, (BTreeSet<u32>, String)>;

/// What there is to doubt. Where a rank has failed, others may wait because of that alone.
pub(super) fn doubts(plan: &Plan, outcome: &Outcome) -> Vec<Doubt> {
    let mut doubts = told(&strangers(plan, outcome), DoubtKind::NotMember, |who, _, why| {
        format!("{who} cannot give this signal: {why}")
    });
    if !outcome.ends.contains(&End::Failed) {
        doubts.extend(told(&waits(plan, outcome), DoubtKind::NeverMet, |who, one, what| {
            let wait = if one { "waits" } else { "wait" };
            format!("{who} {wait} forever for {what}")
        }));
    }
    doubts
}

fn told(
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

fn waits(plan: &Plan, outcome: &Outcome) -> Places {
    let mut places = Places::new();
    for stuck in &outcome.deadlock {
        let instr = plan.code.get(stuck.site as usize);
        if matches!(instr, Some(Instr::Op { op: Op::Wait, .. } | Instr::Function { .. })) {
            add(&mut places, stuck.site, stuck.rank, &stuck.what);
        }
    }
    places
}

fn strangers(plan: &Plan, outcome: &Outcome) -> Places {
    let mut places = Places::new();
    for record in &outcome.records {
        for (site, message) in &record.errors {
            let instr = site.and_then(|site| plan.code.get(site as usize));
            if let (Some(site), Some(Instr::Op { op: Op::Signal, .. })) = (*site, instr) {
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
