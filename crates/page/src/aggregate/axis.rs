//! Columns of time and bands of ranks: which counter a value belongs to. Values outside are
//! counted at the edge, so that a damaged table cannot reach beyond.

/// Point of a sweep and repetition. Each execution has a clock of its own.
pub type Execution = (u32, u32);

/// Columns of equal width over a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeBins {
    /// Begin of the first column, nanoseconds since the start of the execution.
    pub start_ns: u64,
    /// Width of a column, at least 1.
    pub width_ns: u64,
    /// Number of columns, at least 1.
    pub count: usize,
}

impl TimeBins {
    /// Columns that hold everything from `start_ns` to `end_ns`, at most `most` of them.
    pub fn over(start_ns: u64, end_ns: u64, most: usize) -> TimeBins {
        let span_ns = end_ns.saturating_sub(start_ns).saturating_add(1);
        let width_ns = span_ns.div_ceil(most as u64).max(1);
        let count = span_ns.div_ceil(width_ns).clamp(1, most as u64) as usize;
        TimeBins { start_ns, width_ns, count }
    }

    /// The same in a number of columns that is a power of two, so that halves of them are columns, too. They are
    /// so wide that rounding their width up leaves less than 2 % of them behind the end.
    pub fn in_powers(start_ns: u64, end_ns: u64, most: usize) -> TimeBins {
        let span_ns = end_ns.saturating_sub(start_ns).saturating_add(1);
        let count = 1u64 << (span_ns / 64).clamp(1, most as u64).ilog2();
        TimeBins { start_ns, width_ns: span_ns.div_ceil(count).max(1), count: count as usize }
    }

    /// Pairs of columns as one, `times` times; the number of columns is a power of two.
    pub fn halved(self, times: u32) -> TimeBins {
        let width_ns = self.width_ns.saturating_mul(1 << times);
        TimeBins { width_ns, count: (self.count >> times).max(1), ..self }
    }

    /// The column of a time.
    #[inline]
    pub fn of(&self, ns: u64) -> usize {
        let at = ns.saturating_sub(self.start_ns) / self.width_ns;
        at.min(self.count as u64 - 1) as usize
    }

    /// Begin of a column, or end of the last one.
    pub fn edge_ns(&self, column: usize) -> u64 {
        self.start_ns.saturating_add(self.width_ns.saturating_mul(column as u64))
    }

    /// Gives `add` the share of `amount` that falls into each column between two times, as if
    /// it had come evenly. The shares add up to `amount`.
    #[inline]
    pub fn spread(&self, start_ns: u64, end_ns: u64, amount: u64, mut add: impl FnMut(usize, u64)) {
        let (first, last) = (self.of(start_ns), self.of(end_ns));
        if first >= last {
            return add(first, amount);
        }
        let span_ns = u128::from(end_ns - start_ns);
        let mut given = 0;
        for column in first..last {
            let until_ns = u128::from(self.edge_ns(column + 1).saturating_sub(start_ns));
            let due = (u128::from(amount) * until_ns.min(span_ns) / span_ns) as u64;
            add(column, due - given);
            given = due;
        }
        add(last, amount - given);
    }
}

/// Neighbouring ranks as bands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bands {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Number of bands, at least 1.
    pub count: usize,
}

impl Bands {
    /// At most `most` bands of nearly equal size.
    pub fn over(ranks: u32, most: usize) -> Bands {
        let ranks = ranks.max(1);
        Bands { ranks, count: most.min(ranks as usize).max(1) }
    }

    /// The band of a rank.
    #[inline]
    pub fn of(&self, rank: u32) -> usize {
        let rank = u64::from(rank.min(self.ranks - 1));
        (rank * self.count as u64 / u64::from(self.ranks)) as usize
    }

    /// First rank of a band; of the band after the last one the number of ranks.
    pub fn first(&self, band: usize) -> u32 {
        // The smallest rank that `of` puts there.
        (band as u64 * u64::from(self.ranks)).div_ceil(self.count as u64) as u32
    }

    /// Ranks in a band.
    pub fn size(&self, band: usize) -> u32 {
        self.first(band + 1) - self.first(band)
    }

    /// "rank 3" or "ranks 8-15".
    pub fn name(&self, band: usize) -> String {
        match (self.first(band), self.first(band + 1).saturating_sub(1)) {
            (first, last) if first == last => format!("rank {first}"),
            (first, last) => format!("ranks {first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_add_up_and_stand_in_order(
            span in (any::<u64>(), any::<u64>()), event in (any::<u64>(), any::<u64>()),
            amount in any::<u64>(), most in 1usize..300,
        ) {
            let bins = TimeBins::over(span.0.min(span.1), span.0.max(span.1), most);
            let mut shares = Vec::new();
            let (start, end) = (event.0.min(event.1), event.0.max(event.1));
            bins.spread(start, end, amount, |column, share| shares.push((column, share)));
            prop_assert_eq!(shares.iter().map(|share| u128::from(share.1)).sum::<u128>(), u128::from(amount));
            prop_assert!(shares.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(shares.last().unwrap().0 < bins.count && bins.count <= most);
        }

        #[test]
        fn every_rank_lies_in_its_band(ranks in 1u32..3000, most in 1usize..1200, rank in any::<u32>()) {
            let bands = Bands::over(ranks, most);
            let rank = rank % ranks;
            let band = bands.of(rank);
            prop_assert!(bands.first(band) <= rank && rank < bands.first(band + 1));
            prop_assert_eq!((0..bands.count).map(|band| bands.size(band)).sum::<u32>(), ranks);
        }
    }

    #[test]
    fn an_even_operation_is_spread_evenly() {
        let bins = TimeBins::over(100, 499, 4);
        assert_eq!((bins.width_ns, bins.count), (100, 4));
        let mut shares = vec![0; 4];
        bins.spread(150, 350, 1000, |column, share| shares[column] += share);
        assert_eq!(shares, [250, 500, 250, 0]);
    }

    #[test]
    fn bands_have_names() {
        let bands = Bands::over(5, 2);
        assert_eq!([bands.name(0), bands.name(1)], ["ranks 0-2", "ranks 3-4"]);
        assert_eq!(Bands::over(3, 8).name(2), "rank 2");
    }
}
