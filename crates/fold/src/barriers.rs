//! Where all ranks of an MPI job waited for each other, as the log tells it: they wait there in the program, too.
//!
//! ```text
//! rank 0:  write  write  |        | read    what ranks wait in a barrier is no pause of theirs
//! rank 1:  write         |        | read
//! ```

use super::log::{Log, Place};
use super::tree::BARRIERS;
use model::run::TraceBarrier;
use std::collections::HashMap;

/// Barriers that part operations, in order.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    /// By rank, how it comes to each.
    all: Vec<Vec<Coming>>,
    /// The log has several labels: what ranks do between two barriers is an occurrence of one.
    pub end_labels: bool,
}

/// A rank comes to a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coming {
    /// Place of the operation before which.
    pub place: usize,
    /// Number of the shape of barriers behind which the ranks begin with the same operations.
    pub kind: u32,
    /// When, nanoseconds; `None`: it is no rank of the job, and comes with it.
    pub came_ns: Option<u64>,
    /// When all were there, nanoseconds: what it takes then is a pause.
    pub free_ns: u64,
    /// Time waited since its last operation, nanoseconds.
    pub waited_ns: u64,
}

impl Barriers {
    /// Those of a log. What comes behind all operations holds nothing apart, and of several without operations
    /// between them the last one holds apart what all do.
    pub fn find(log: &Log) -> Barriers {
        let ranks = log.ranks.len();
        if ranks < 2 || log.barriers.iter().any(|barrier| barrier.came_ns.len() > ranks) {
            return Barriers::default();
        }
        let mut all: Vec<Vec<Coming>> = Vec::new();
        for barrier in &log.barriers {
            let mut next: Vec<Coming> = (0..ranks).map(|rank| coming(log, barrier, rank)).collect();
            match all.last() {
                Some(last) if last.iter().zip(&next).all(|(a, b)| a.place == b.place) => {
                    let waited = |coming: &Coming| {
                        let in_it =
                            coming.came_ns.map_or(0, |ns| coming.free_ns.saturating_sub(ns));
                        coming.waited_ns + in_it
                    };
                    let before = last.iter().map(waited);
                    next.iter_mut().zip(before).for_each(|(next, ns)| next.waited_ns += ns);
                    all.pop();
                }
                _ => {}
            }
            all.push(next);
        }
        let ends = |barrier: &[Coming]| {
            barrier.iter().zip(&log.ranks).all(|(coming, rank)| coming.place == rank.len())
        };
        all.retain(|barrier| !ends(barrier));
        let begins = |barrier: &Vec<Coming>| barrier.iter().all(|coming| coming.place == 0);
        if all.iter().all(begins) {
            all.clear();
        }
        let end_labels = !all.is_empty() && has_several_labels(log);
        let mut barriers = Barriers { all, end_labels };
        barriers.number_kinds(log);
        barriers
    }

    /// Barriers behind which the ranks begin with the same operations are of one kind.
    fn number_kinds(&mut self, log: &Log) {
        let mut kinds: HashMap<Vec<Option<u8>>, u32> = HashMap::new();
        for at in 0..self.all.len() {
            let next = self.all.get(at + 1);
            let end = |rank: usize| next.map_or(log.ranks[rank].len(), |next| next[rank].place);
            let own = self.all[at].iter().enumerate();
            let begins = own.map(|(rank, coming)| first(log, rank, coming.place, end(rank)));
            let number = BARRIERS.start + 1 + kinds.len() as u32;
            let kind = *kinds.entry(begins.collect()).or_insert(number.min(BARRIERS.end - 1));
            self.all[at].iter_mut().for_each(|coming| coming.kind = kind);
        }
    }

    /// By rank, how it comes to each.
    pub fn all(&self) -> &[Vec<Coming>] {
        &self.all
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

fn has_several_labels(log: &Log) -> bool {
    let mut labels = log.ranks.iter().flatten().map(|entry| entry.event.label);
    let first = labels.next();
    labels.any(|label| Some(label) != first)
}

/// The first operation of a rank between two places.
fn first(log: &Log, rank: usize, from: usize, to: usize) -> Option<u8> {
    log.ranks[rank].get(from).filter(|_| from < to).map(|entry| entry.event.op)
}

fn coming(log: &Log, barrier: &TraceBarrier, rank: usize) -> Coming {
    let last = |all: &[u64]| all.iter().copied().max().unwrap_or(0);
    let came_ns = barrier.came_ns.get(rank).copied();
    let left_ns = barrier.left_ns.get(rank).copied().unwrap_or_else(|| last(&barrier.left_ns));
    // Clocks of machines differ: nobody went on before.
    let free_ns = last(&barrier.came_ns).min(left_ns);
    let waited_ns = barrier.waited_us.get(rank).copied().unwrap_or(0).saturating_mul(1000);
    Coming {
        place: log.ranks[rank].begun_before(left_ns),
        kind: BARRIERS.start,
        came_ns,
        free_ns,
        waited_ns,
    }
}

/// Leaves out the barriers' ranks that are not among those that are kept, ascending.
pub fn keep(barriers: &mut Vec<TraceBarrier>, kept: &[u32]) {
    let of =
        |all: &[u64]| kept.iter().filter_map(|rank| all.get(*rank as usize).copied()).collect();
    for barrier in barriers.iter_mut() {
        barrier.came_ns = of(&barrier.came_ns);
        barrier.left_ns = of(&barrier.left_ns);
        barrier.waited_us = of(&barrier.waited_us);
    }
    barriers.retain(|barrier| barrier.came_ns.len() > 1);
}

/// Places where all meet, by rank; each rank has as many.
#[derive(Debug, Default)]
pub struct Rounds {
    ranks: Vec<Vec<Point>>,
}

/// A rank meets all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// Before the operation there, or in it.
    place: usize,
    in_it: bool,
}

impl Rounds {
    /// Those of a log; of its operations none if ranks do not come equally often, or in another order.
    pub fn find(log: &Log, barriers: &Barriers) -> Rounds {
        let before = |rank: usize| {
            let places = barriers.all().iter().map(move |barrier| barrier[rank].place);
            places.map(|place| Point { place, in_it: false })
        };
        let all = |rank: usize| -> Vec<Point> {
            let own = log.ranks[rank].iter().enumerate();
            let own = own.filter(|(_, entry)| log.is_collective_call(entry));
            let own = own.map(|(place, _)| Point { place, in_it: true });
            let mut all: Vec<Point> = before(rank).chain(own).collect();
            all.sort_unstable();
            all
        };
        let ranks: Vec<Vec<Point>> = (0..log.ranks.len()).map(all).collect();
        let kinds = |rank: &[Point]| rank.iter().map(|point| point.in_it).collect::<Vec<_>>();
        match ranks.windows(2).all(|pair| kinds(&pair[0]) == kinds(&pair[1])) {
            true => Rounds { ranks },
            false => {
                Rounds { ranks: (0..log.ranks.len()).map(|rank| before(rank).collect()).collect() }
            }
        }
    }

    /// The numbers of those that are barriers.
    pub fn barriers(&self) -> impl Iterator<Item = usize> + '_ {
        let first = self.ranks.first().into_iter().flatten().enumerate();
        first.filter(|(_, point)| !point.in_it).map(|(round, _)| round)
    }

    /// The next one after a place.
    pub fn after(&self, (rank, place): Place) -> usize {
        let own = self.ranks.get(rank as usize);
        own.map_or(0, |points| points.partition_point(|point| point.place <= place))
    }

    /// One lies between these places.
    pub fn separates(&self, from: Place, to: Place) -> bool {
        let own = self.ranks.get(to.0 as usize);
        own.and_then(|points| points.get(self.after(from))).is_some_and(|point| point.place <= to.1)
    }

    /// Narrows the places of a meeting to those before this round and behind the one before it.
    pub fn narrow(&self, round: usize, low: &mut [usize], high: &mut [usize]) {
        for ((points, low), high) in self.ranks.iter().zip(low).zip(high) {
            if let Some(before) = round.checked_sub(1).and_then(|before| points.get(before)) {
                *low = (*low).max(before.place + usize::from(before.in_it));
            }
            if let Some(point) = points.get(round) {
                *high = (*high).min(point.place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::Events;
    use super::super::logged::Logged;
    use super::*;
    use model::Event;
    use model::event::Details;

    fn log(operations: &[&[u64]], barriers: &[(&[u64], &[u64])]) -> Log {
        let entry = |start_ns: &u64| Logged {
            event: Event { start_ns: *start_ns, end_ns: start_ns + 1, ..Event::default() },
            details: Details::default(),
        };
        let ranks = operations.iter().map(|rank| Events::from_iter(rank.iter().map(entry)));
        let barriers = barriers.iter().map(|(came, left)| TraceBarrier {
            came_ns: came.to_vec(),
            left_ns: left.to_vec(),
            waited_us: vec![0; came.len()],
        });
        Log { ranks: ranks.collect(), barriers: barriers.collect(), ..Log::default() }
    }

    #[test]
    fn barriers_that_part_operations_are_kept() {
        let first = (&[5, 6][..], &[8, 8][..]);
        let (early, late) = ((&[12, 14][..], &[15, 15][..]), (&[16, 19][..], &[20, 20][..]));
        let last = (&[50, 50][..], &[51, 51][..]);
        let log = log(&[&[10, 30], &[11, 13, 40], &[25]], &[first, early, late, last]);
        let all = Barriers::find(&log);
        let places: Vec<Vec<usize>> =
            all.all().iter().map(|barrier| barrier.iter().map(|at| at.place).collect()).collect();
        assert_eq!(places, [[0, 0, 0], [1, 2, 0]]);
        let coming = all.all()[1][0];
        assert_eq!((coming.came_ns, coming.free_ns, coming.waited_ns), (Some(16), 19, 2));
        assert_eq!(all.all()[1][2].came_ns, None, "no rank of the job");
    }

    #[test]
    fn ranks_that_are_left_out_come_no_more() {
        let mut barriers = log(&[], &[(&[1, 2, 3], &[4, 5, 6])]).barriers;
        keep(&mut barriers, &[0, 2]);
        assert_eq!(
            (&barriers[0].came_ns[..], &barriers[0].left_ns[..]),
            (&[1, 3][..], &[4, 6][..])
        );
        keep(&mut barriers, &[1]);
        assert_eq!(barriers, []);
    }
}
