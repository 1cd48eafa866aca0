//! Sums by column of time and place, of which only a limited number is kept: pairs of columns become one until they
//! fit.

use super::quick::QuickMap;

/// A place is a number below 2^40.
const PLACE_BITS: u32 = 40;

/// Sums by column and place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sparse {
    /// Columns now: a power of two.
    columns: usize,
    /// Each is 2^shift of the columns that [`Sparse::add`] is given.
    shift: u32,
    /// Sums at most.
    most: usize,
    sums: QuickMap<u64, u64>,
}

impl Sparse {
    /// Of at most `columns` out of `all` columns, both powers of two, and of at most `most` sums.
    pub fn new(all: usize, columns: usize, most: usize) -> Sparse {
        let shift = all.ilog2().saturating_sub(columns.ilog2());
        Sparse { columns: all >> shift, shift, most, sums: QuickMap::default() }
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds an amount at one of all columns.
    #[inline]
    pub fn add(&mut self, column: usize, place: u64, amount: u64) {
        let key = (column as u64) >> self.shift << PLACE_BITS | place;
        let sum = self.sums.entry(key).or_default();
        *sum = sum.saturating_add(amount);
        while self.sums.len() > self.most && self.columns > 1 {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let old = std::mem::take(&mut self.sums);
        (self.columns, self.shift) = (self.columns / 2, self.shift + 1);
        for (key, amount) in old {
            let place = key & ((1 << PLACE_BITS) - 1);
            let sum = self.sums.entry(key >> PLACE_BITS >> 1 << PLACE_BITS | place).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    /// Place, column and sum of each, in the order of places and then of columns.
    pub fn sorted(&self) -> Vec<(u64, usize, u64)> {
        let parts = |(key, sum): (&u64, &u64)| {
            (key & ((1 << PLACE_BITS) - 1), (key >> PLACE_BITS) as usize, *sum)
        };
        let mut all: Vec<(u64, usize, u64)> = self.sums.iter().map(parts).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_keep_sums() {
        let mut sparse = Sparse::new(1024, 256, 100);
        for at in 0..5000u64 {
            sparse.add((at % 1024) as usize, at % 7, at);
        }
        let all = sparse.sorted();
        assert!(all.len() <= 100 && sparse.columns() == 8, "{} {}", all.len(), sparse.columns());
        assert_eq!(all.iter().map(|one| one.2).sum::<u64>(), 5000 * 4999 / 2);
        for place in 0..7 {
            let sum: u64 = all.iter().filter(|one| one.0 == place).map(|one| one.2).sum();
            assert_eq!(sum, (0..5000).filter(|at| at % 7 == place).sum::<u64>());
        }
    }

    #[test]
    fn sums_do_not_overflow() {
        let mut sparse = Sparse::new(4, 256, 1);
        (0..4).for_each(|column| sparse.add(column, 0, u64::MAX));
        assert_eq!(sparse.sorted(), [(0, 0, u64::MAX)]);
    }
}
