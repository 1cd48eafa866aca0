//! Operations that all ranks make together: they meet there, so that nothing before on one rank comes
//! after what is behind on another.

use super::log::Log;
use super::merged::Place;

/// Places of the operations that all make together, by rank; each rank has as many.
#[derive(Debug, Default)]
pub struct Rounds {
    ranks: Vec<Vec<usize>>,
}

impl Rounds {
    /// Those of a log; none if ranks do not come equally often.
    pub fn of(log: &Log) -> Rounds {
        let places = |rank: &super::Events| -> Vec<usize> {
            let all = rank.iter().enumerate();
            all.filter(|(_, entry)| log.is_together(entry)).map(|(place, _)| place).collect()
        };
        let ranks: Vec<Vec<usize>> = log.ranks.iter().map(places).collect();
        let alike = ranks.windows(2).all(|pair| pair[0].len() == pair[1].len());
        if alike { Rounds { ranks } } else { Rounds::default() }
    }

    /// The next one after a place.
    pub fn after(&self, (rank, place): Place) -> usize {
        let own = self.ranks.get(rank as usize);
        own.map_or(0, |places| places.partition_point(|at| *at <= place))
    }

    /// One lies between these places.
    pub fn part(&self, from: Place, to: Place) -> bool {
        let own = self.ranks.get(to.0 as usize);
        own.and_then(|places| places.get(self.after(from))).is_some_and(|at| *at <= to.1)
    }

    /// Narrows the places of a meeting to those before this round and behind the one before it.
    pub fn narrow(&self, round: usize, low: &mut [usize], high: &mut [usize]) {
        for ((places, low), high) in self.ranks.iter().zip(low).zip(high) {
            if let Some(before) = round.checked_sub(1).and_then(|before| places.get(before)) {
                *low = (*low).max(before + 1);
            }
            if let Some(at) = places.get(round) {
                *high = (*high).min(*at);
            }
        }
    }
}
