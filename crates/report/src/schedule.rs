//! Order of executions: randomised blocks. Every block executes every cell once, in an
//! order of its own, so that a slow drift of the machine meets all cells alike (Fisher 1935).

use crate::statistics::{Metric, series};
use crate::stats;
use crate::stats::SplitMix64;
use model::Run;

/// Fewest repetitions before a narrow interval ends them.
pub const LEAST_UNTIL_CI: u32 = 10;

/// The random numbers of a block; the same seed gives the same ones.
fn random(seed: u64, block: u64) -> SplitMix64 {
    let mut random = SplitMix64(seed);
    SplitMix64(random.bits() ^ SplitMix64(block).bits())
}

/// The cells `0..count` in the order of a block.
pub fn block(count: u32, seed: u64, block: u64) -> Vec<u32> {
    shuffled(count, &mut random(seed, block))
}

/// The same where cells 2 k and 2 k + 1 are A and B of point k: they follow one another, and a coin
/// tells which comes first. It is thrown for each block alone: that makes the signs of the
/// differences random, whatever the noise (Fisher 1935, section 21).
pub fn pairs(count: u32, seed: u64, block: u64) -> Vec<u32> {
    let mut random = random(seed, block);
    let points = shuffled(count / 2, &mut random);
    let pair = |point: u32| {
        let first = random.below(2) as u32;
        [2 * point + first, 2 * point + 1 - first]
    };
    points.into_iter().flat_map(pair).collect()
}

fn shuffled(count: u32, random: &mut SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    // Fisher and Yates, from the end.
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// The 95 % confidence intervals of the medians of all main figures of a cell reach no further
/// than `share` to either side. Main figures are the times of its labels; without labels the
/// rates, without rates the mean times of its operations.
pub fn is_narrow(run: &Run, cell: u32, share: f64) -> bool {
    let mut all = series(run);
    all.retain(|series| series.cell == cell);
    let order = [Metric::TimeNs, Metric::MibS, Metric::MeanNs];
    let main = order.into_iter().find(|metric| all.iter().any(|s| s.metric == *metric));
    let Some(main) = main else { return true };
    let mut of_main = all.iter().filter(|series| series.metric == main);
    of_main.all(|series| {
        let figures = series.figures();
        let summary = stats::summarise(&figures);
        let width = summary.and_then(|s| s.median_ci95?.relative_half_width(s.median));
        // A figure of 0 every time is as sure as it gets.
        width.map_or(figures.iter().all(|figure| *figure == 0.0), |width| width <= share)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_every_cell_once_in_an_order_of_its_own() {
        let mut orders = std::collections::HashSet::new();
        for number in 0..20 {
            let order = block(6, 42, number);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
            assert_eq!(order, block(6, 42, number), "the same seed");
            orders.insert(order);
        }
        assert!(orders.len() > 15, "{orders:?}");
        assert_ne!(
            (0..5).map(|n| block(6, 1, n)).collect::<Vec<_>>(),
            (0..5).map(|n| block(6, 2, n)).collect::<Vec<_>>()
        );
        assert!(block(0, 1, 1).is_empty());
    }

    #[test]
    fn a_and_b_follow_one_another_and_a_coin_tells_which_comes_first() {
        let firsts = (0..2000).filter(|number| {
            let order = pairs(4, 7, *number);
            assert_eq!(order, pairs(4, 7, *number), "the same seed");
            let points: Vec<u32> = order.iter().map(|cell| cell / 2).collect();
            assert!(points == [0, 0, 1, 1] || points == [1, 1, 0, 0], "{order:?}");
            order[0].is_multiple_of(2)
        });
        let firsts = firsts.count();
        assert!((900..1100).contains(&firsts), "A is first {firsts} times of 2000");
        assert_ne!(
            (0..20).map(|n| pairs(2, 1, n)).collect::<Vec<_>>(),
            (0..20).map(|n| pairs(2, 2, n)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn every_cell_is_first_about_as_often() {
        let firsts = (0..3000).filter(|number| block(3, 7, *number)[0] == 2).count();
        assert!((900..1100).contains(&firsts), "{firsts} of 3000");
    }
}
