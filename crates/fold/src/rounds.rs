//! Where all ranks meet in the log: in barriers, and in operations that they make together. Nothing before on
//! one rank comes after what is behind on another.

use super::barriers::Barriers;
use super::log::Log;
use super::merged::Place;

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
    pub fn part(&self, from: Place, to: Place) -> bool {
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
