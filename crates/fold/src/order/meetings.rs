//! Where ranks meet so that what depends on each other comes in order: at as few places as possible.

use super::super::events::Events;
use super::super::log::{Log, Logged};
use super::super::merged::Place;
use super::super::rounds::Rounds;
use super::Edge;

/// Most times that a rank comes to a meeting, in all, and more of them for each operation: thousands of
/// processes one after another would meet thousands of times, and each of them has to do with few others.
const COMINGS_MAX: usize = 1 << 19;
const COMINGS_EACH: usize = 8;

/// As few meetings as satisfy all edges; each is a place per rank, with the number of the round that it
/// comes before.
pub(super) fn chosen(
    log: &Log,
    edges: &[Edge],
    rounds: &Rounds,
) -> Option<Vec<(usize, Vec<usize>)>> {
    let start_ns = |(rank, place): Place| {
        log.ranks[rank as usize].get(place).map_or(0, |entry| entry.event.start_ns)
    };
    let mut sorted: Vec<(u64, Edge)> =
        edges.iter().map(|edge| (start_ns(edge.to), *edge)).collect();
    sorted.sort_by_key(|(ns, edge)| (*ns, edge.to, edge.from));
    // Later edges end later: no rank may have gone further by then.
    let reached =
        |ns: u64| -> Vec<usize> { log.ranks.iter().map(|rank| rank.begun_before(ns)).collect() };
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut from = vec![0; log.ranks.len()];
    let (mut low, mut high) = (from.clone(), from.clone());
    let (mut pending, mut round) = (false, 0);
    let operations: usize = log.ranks.iter().map(Events::len).sum();
    let comings_max = COMINGS_MAX + operations.saturating_mul(COMINGS_EACH);
    for (ns, edge) in sorted {
        let ((p, i), (q, j)) = (edge.from, edge.to);
        let (p, q) = (p as usize, q as usize);
        if from[p] > i && from[q] <= j {
            // An earlier meeting lies between them.
            continue;
        }
        let own_round = rounds.after(edge.from);
        if pending && (i + 1 > high[p] || j < low[q] || own_round != round) {
            let meeting = choose(log, &low, &high);
            from.clone_from(&meeting);
            all.push((round, meeting));
            if all.len() * log.ranks.len() > comings_max {
                return None;
            }
            (low, pending) = (from.clone(), false);
            if from[p] > i && from[q] <= j {
                continue;
            }
        }
        if !pending {
            (high, round) = (reached(ns), own_round);
            rounds.narrow(round, &mut low, &mut high);
        }
        low[p] = low[p].max(i + 1);
        high[q] = high[q].min(j);
        pending = true;
    }
    if pending {
        all.push((round, choose(log, &low, &high)));
    }
    Some(all)
}

/// The place of every rank within what the edges allow: where another label begins, else after the
/// longest pause; a rank that has no edges meets when the others do.
fn choose(log: &Log, low: &[usize], high: &[usize]) -> Vec<usize> {
    let ready_ns = (0..low.len())
        .filter_map(|rank| Some(log.ranks[rank].get(low[rank].checked_sub(1)?)?.event.end_ns));
    let ready_ns = ready_ns.max().unwrap_or(0);
    let place = |rank: usize| {
        let entries = &log.ranks[rank];
        let (low, high) = (low[rank], high[rank].max(low[rank]));
        let score = |at: usize, before: Option<Logged>, here: Option<Logged>| {
            let Some(here) = here else {
                // Nothing that has begun before has to wait.
                return (1, 1, 0);
            };
            let late = u8::from(here.event.start_ns >= ready_ns);
            let Some(before) = before else { return (u8::from(at == low) + late, late, 0) };
            let label = u8::from(before.event.label != here.event.label);
            let pause = here.event.start_ns.saturating_sub(before.event.end_ns);
            (label + late, late, pause)
        };
        // Pauses far behind the first possible place belong to something else.
        let last = high.min(low.saturating_add(REACH));
        let mut before = low.checked_sub(1).and_then(|at| entries.get(at));
        let mut rest = entries.from(low);
        let scores = (low..=last).map(|at| {
            let here = rest.next();
            (score(at, std::mem::replace(&mut before, here), here), std::cmp::Reverse(at))
        });
        scores.max().map_or(low, |(_, at)| at.0)
    };
    (0..low.len()).map(place).collect()
}

/// Operations that are looked at for a good place to meet.
const REACH: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::super::super::barriers::Barriers;
    use super::super::barriers;
    use super::*;
    use model::Op;
    use model::event::NO_ID;

    /// Each rank reads what the one before it wrote, then does `more` operations of its own.
    fn chain(ranks: u32, more: u64) -> Log {
        let entry = |op: Op, path: u32, start_ns: u64| {
            let mut entry = Logged::default();
            (entry.event.op, entry.event.path, entry.event.path2) = (op as u8, path, NO_ID);
            (entry.event.start_ns, entry.event.end_ns) = (start_ns, start_ns + 1);
            (entry.event.requested_bytes, entry.event.done_bytes) = (8, 8);
            entry
        };
        let rank = |rank: u32| {
            let at = u64::from(rank) * 10_000;
            let own = (0..more).map(|more| entry(Op::Stat, ranks + rank, at + 20 + more));
            let read = rank.checked_sub(1).map(|before| entry(Op::Read, before, at));
            read.into_iter().chain([entry(Op::Write, rank, at + 10)]).chain(own).collect()
        };
        let paths = (0..2 * ranks).map(|path| path.to_string().into_bytes()).collect();
        Log { paths, ranks: (0..ranks).map(rank).collect(), ..Log::default() }
    }

    #[test]
    fn ranks_that_do_little_do_not_meet_thousands_of_times() {
        let meets = |log: &Log| barriers(log, &Barriers::default()).is_some();
        assert!(meets(&chain(40, 0)));
        assert!(!meets(&chain(800, 0)));
        assert!(meets(&chain(800, 100)));
    }
}
