//! Where the ranks of an MPI job waited for each other: what each of them did the same number of times
//! before is the same barrier.

use super::Resolver;
use crate::gaps::Gap;
use crate::record::Record;
use model::run::TraceBarrier;
use std::collections::{BTreeMap, HashMap};

/// Most times that ranks come to barriers, in all, which are listed.
const COMINGS_MAX: u64 = 1 << 18;

/// Barriers by rank.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    ranks: BTreeMap<u32, Vec<Coming>>,
    listed: u64,
    lost: u64,
}

/// A rank comes to a barrier.
#[derive(Clone, Copy, Debug)]
struct Coming {
    came_ns: u64,
    left_ns: u64,
    waited_us: u64,
    /// The machine whose clock these times are of.
    machine: u32,
}

impl Barriers {
    fn add(&mut self, rank: u32, coming: Coming) {
        if self.listed == COMINGS_MAX {
            self.lost += 1;
            return;
        }
        self.listed += 1;
        self.ranks.entry(rank).or_default().push(coming);
    }

    /// Barriers that all ranks of the job reached, and the number of arrivals at others.
    pub fn list(self, job: u32) -> (Vec<TraceBarrier>, u64) {
        let ranks: Vec<Vec<Coming>> = self.ranks.into_values().collect();
        let common = ranks.iter().map(Vec::len).min().filter(|_| ranks.len() == job as usize);
        let at = |number: usize| ranks.iter().map(move |rank| rank[number]);
        let numbers = (0..common.unwrap_or(0)).take_while(|number| all_waited(at(*number)));
        let barrier = |number: usize| TraceBarrier {
            came_ns: at(number).map(|coming| coming.came_ns).collect(),
            left_ns: at(number).map(|coming| coming.left_ns).collect(),
            waited_us: at(number).map(|coming| coming.waited_us).collect(),
        };
        let listed: Vec<TraceBarrier> = numbers.map(barrier).collect();
        let lost = self.listed - u64::from(job) * listed.len() as u64;
        (listed, self.lost + lost)
    }
}

/// Nobody went on before the last one came. Clocks of different machines are not compared.
fn all_waited(comings: impl Iterator<Item = Coming>) -> bool {
    let mut machines: HashMap<u32, (u64, u64)> = HashMap::new();
    for coming in comings {
        let (last, first) = machines.entry(coming.machine).or_insert((0, u64::MAX));
        (*last, *first) = ((*last).max(coming.came_ns), (*first).min(coming.left_ns));
    }
    machines.values().all(|(last_came_ns, first_left_ns)| last_came_ns <= first_left_ns)
}

impl Resolver<'_> {
    /// A thread waits for others of its MPI job. Where that is not all of it, it is a pause.
    pub(crate) fn wait_for_ranks(&mut self, thread: u32, r: &Record<'_>, members: u64) {
        let elapsed_ns = r.elapsed_ns.unwrap_or(0);
        let rank = self.threads.rank_in_job(thread);
        let Some(rank) = rank.filter(|_| members == u64::from(self.threads.job)) else {
            self.gaps.add(Gap::PartMet);
            self.threads.at_mut(thread).waited_ns += elapsed_ns;
            return;
        };
        let came_ns = r.start_ns.saturating_sub(self.origin_ns());
        let waited_ns = std::mem::take(&mut self.threads.at_mut(thread).waited_ns);
        let left_ns = came_ns.saturating_add(elapsed_ns);
        let (waited_us, machine) = (waited_ns / 1000, self.threads.group);
        self.barriers.add(rank, Coming { came_ns, left_ns, waited_us, machine });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_ranks_came_to_as_often_is_one_barrier() {
        let coming = |came_ns: u64, left_ns: u64, machine: u32| Coming {
            came_ns,
            left_ns,
            waited_us: 0,
            machine,
        };
        let all = |ranks: &[&[Coming]], job: u32| {
            let mut barriers = Barriers::default();
            for (rank, comings) in (0..).zip(ranks) {
                comings.iter().for_each(|coming| barriers.add(rank, *coming));
            }
            let (listed, lost) = barriers.list(job);
            (listed.into_iter().map(|barrier| barrier.came_ns).collect::<Vec<_>>(), lost)
        };
        let first = [coming(10, 31, 0), coming(40, 61, 0), coming(70, 80, 0)];
        let second = [coming(30, 32, 0), coming(60, 62, 0)];
        let early = [coming(30, 32, 0), coming(62, 63, 0)];
        let elsewhere = [coming(30, 32, 0), coming(62, 63, 1)];
        let both = vec![vec![10, 30], vec![40, 60]];
        assert_eq!(all(&[&first, &second], 2), (both, 1), "one came once more");
        assert_eq!(all(&[&first, &second], 3), (vec![], 5), "one never came");
        assert_eq!(all(&[&first, &early], 2), (vec![vec![10, 30]], 3), "nobody waited");
        assert_eq!(all(&[&first, &elsewhere], 2).0.len(), 2, "clocks differ");
        assert_eq!(all(&[], 0), (vec![], 0));
    }
}
