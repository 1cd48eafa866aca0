//! Random numbers: the same seed gives the same numbers, everywhere.
//!
//! | stream | seeded by | used by |
//! |---|---|---|
//! | [`RankRng`] | seed, rank | `$$rand`, `rand`, `normal`, `exp`, `zipf`, `empirical` |
//! | [`RankRng::of_schedule`] | seed, rank, schedule | arrivals of `with (rate=...)` |
//! | [`common_rand`] | seed, member set, site, occurrence | `$$crand` |
//! | [`Permutation`] | seed, length | `perm`, random patterns |
//!
//! Golden values in the tests hold the numbers still across versions of the
//! crates that make them.

use model::RankSet;
use model::function::{check_exponential, check_gamma, check_normal, check_uniform, check_zipf};
pub(crate) use model::permutation::mix;
pub use model::permutation::{Permutation, perm};
use model::value::{Eval, EvalError};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma, StandardNormal, Zipf};

/// The random numbers of one rank: a ChaCha stream of its own (8 rounds), so
/// that the streams of different ranks never overlap.
#[derive(Clone, Debug)]
pub struct RankRng {
    stream: ChaCha8Rng,
}

impl RankRng {
    /// The stream of a rank.
    pub fn new(seed: u64, rank: u32) -> RankRng {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(u64::from(rank));
        RankRng { stream }
    }

    /// The stream of a rank's `nth` schedule of arrivals: the rank's own stream is not touched.
    pub fn of_schedule(seed: u64, rank: u32, nth: u32) -> RankRng {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream((u64::from(nth) + 1) << 32 | u64::from(rank));
        RankRng { stream }
    }

    /// An exponential number with mean 1.
    pub(crate) fn exponential_of_1(&mut self) -> f64 {
        Exp1.sample(&mut self.stream)
    }

    /// `$$rand`: 32 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u32 {
        self.stream.next_u32()
    }

    /// `rand(a, b)`: an integer in `a..=b`, every one equally likely.
    pub fn uniform(&mut self, a: i64, b: i64) -> Eval<i64> {
        check_uniform(a, b)?;
        Ok(self.stream.random_range(a..=b))
    }

    /// `normal(mean, sd)`: Gaussian.
    pub fn normal(&mut self, mean: f64, sd: f64) -> Eval<f64> {
        check_normal(mean, sd)?;
        let deviate: f64 = StandardNormal.sample(&mut self.stream);
        Ok(mean + sd * deviate)
    }

    /// `exp(mean)`: exponential, as gaps between Poisson arrivals are.
    pub fn exponential(&mut self, mean: f64) -> Eval<f64> {
        check_exponential(mean)?;
        let deviate: f64 = Exp1.sample(&mut self.stream);
        Ok(mean * deviate)
    }

    /// `gamma(mean, shape)`: gamma with this mean.
    pub fn gamma(&mut self, mean: f64, shape: f64) -> Eval<f64> {
        check_gamma(mean, shape)?;
        let beyond = |_| EvalError::Range("gamma(mean, shape)", format!("gamma({mean}, {shape})"));
        let law = Gamma::new(shape, 1.0 / shape).map_err(beyond)?;
        Ok(mean * law.sample(&mut self.stream))
    }

    /// `empirical(list)`: a number from 0 to below `end`, as likely as any other.
    pub fn below(&mut self, end: f64) -> f64 {
        self.stream.random::<f64>() * end
    }

    /// `zipf(n, theta)`: an integer in `0..n`, `k` with a probability proportional to
    /// `1 / (k + 1)^theta`. Rejection-inversion (Hörmann and Derflinger 1996): no tables.
    pub fn zipf(&mut self, n: i64, theta: f64) -> Eval<i64> {
        check_zipf(n, theta)?;
        let law = Zipf::new(n as f64, theta);
        let beyond = |_| EvalError::Range("zipf(n, theta)", format!("zipf({n}, {theta})"));
        let drawn: f64 = law.map_err(beyond)?.sample(&mut self.stream);
        Ok((drawn as i64 - 1).clamp(0, n - 1))
    }
}

/// `$$crand`: 32 random bits that all members of a set of ranks (world ranks
/// `members`) draw alike at the same site on the same occurrence (from 0),
/// without talking to each other.
pub fn common_rand(seed: u64, members: &RankSet, site: u32, occurrence: u64) -> u32 {
    let [first, end, step, blocks] = members.key().map(u64::from);
    let state = [first << 32 | end, u64::from(site), occurrence]
        .into_iter()
        .chain((blocks > 0).then_some(step << 32 | blocks))
        .fold(mix(seed), |state, word| mix(state ^ mix(word.wrapping_add(0x9e37_79b9_7f4a_7c15))));
    (state >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(seed: u64, rank: u32) -> Vec<u32> {
        let mut rng = RankRng::new(seed, rank);
        (0..4).map(|_| rng.bits()).collect()
    }

    /// Trap 12: same seed, same numbers, in every version.
    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(first(42, 0), GOLDEN_RANK_0);
        assert_eq!(first(42, 1), GOLDEN_RANK_1);
        let mut rng = RankRng::new(42, 0);
        assert_eq!(rng.uniform(-5, 1_000_000), Ok(GOLDEN_UNIFORM));
        assert_eq!(rng.normal(10.0, 2.0), Ok(GOLDEN_NORMAL));
        assert_eq!(rng.exponential(3.0), Ok(GOLDEN_EXP));
        assert_eq!(rng.zipf(1000, 0.9), Ok(GOLDEN_ZIPF));
        assert_eq!(common_rand(42, &(0..4).into(), 17, 0), GOLDEN_COMMON);
        let order: Vec<_> = (0..10).map(|i| perm(i, 10, 42).unwrap()).collect();
        assert_eq!(order, GOLDEN_PERM);
    }

    const GOLDEN_RANK_0: [u32; 4] = [962419617, 2928721845, 628724104, 4081401798];
    const GOLDEN_RANK_1: [u32; 4] = [2378819728, 3078596705, 2774545821, 716874450];
    const GOLDEN_UNIFORM: i64 = 681895;
    const GOLDEN_NORMAL: f64 = 12.668141220463616;
    const GOLDEN_EXP: f64 = 1.9549909234584293;
    const GOLDEN_ZIPF: i64 = 101;
    const GOLDEN_COMMON: u32 = 815877107;
    const GOLDEN_PERM: [i64; 10] = [5, 8, 4, 0, 3, 2, 7, 6, 1, 9];

    #[test]
    fn streams_of_ranks_and_seeds_differ() {
        let mut seen: Vec<Vec<u32>> =
            (0..3).flat_map(|seed| (0..100).map(move |rank| first(seed, rank))).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 300);
    }

    #[test]
    fn common_numbers_depend_on_every_input() {
        let base = common_rand(1, &(0..4).into(), 5, 6);
        assert_eq!(base, common_rand(1, &(0..4).into(), 5, 6));
        for other in [
            common_rand(2, &(0..4).into(), 5, 6),
            common_rand(1, &(1..4).into(), 5, 6),
            common_rand(1, &(0..5).into(), 5, 6),
            common_rand(1, &[0, 2, 4].into_iter().collect(), 5, 6),
            common_rand(1, &[0, 1, 3].into_iter().collect(), 5, 6),
            common_rand(1, &(0..4).into(), 6, 6),
            common_rand(1, &(0..4).into(), 5, 7),
            common_rand(1, &(0..4).into(), 6, 5),
        ] {
            assert_ne!(base, other);
        }
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum()
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        let mut rng = RankRng::new(7, 0);
        let mut counts = [0; 10];
        (0..100_000).for_each(|_| counts[rng.uniform(0, 9).unwrap() as usize] += 1);
        // 9 degrees of freedom: 27.9 is exceeded once in a thousand seeds.
        assert!(chi_square(&counts) < 27.9, "{counts:?}");
        assert_eq!(rng.uniform(3, 3), Ok(3));
        assert!(rng.uniform(i64::MIN, i64::MAX).is_ok());
    }

    #[test]
    fn common_numbers_are_uniform() {
        let mut counts = [0; 16];
        (0..100_000)
            .for_each(|k| counts[(common_rand(3, &(0..2).into(), 1, k) >> 28) as usize] += 1);
        // 15 degrees of freedom, 0.1 %.
        assert!(chi_square(&counts) < 37.7, "{counts:?}");
    }

    /// Trap 10: the mean gap is the mean asked for.
    #[test]
    fn distributions_have_their_moments() {
        const DRAWS: usize = 200_000;
        let mut rng = RankRng::new(1, 0);
        let normal: Vec<f64> = (0..DRAWS).map(|_| rng.normal(5.0, 2.0).unwrap()).collect();
        let exp: Vec<f64> = (0..DRAWS).map(|_| rng.exponential(4.0).unwrap()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / DRAWS as f64;
        let sd = |values: &[f64]| {
            let m = mean(values);
            (values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / DRAWS as f64).sqrt()
        };
        assert!((mean(&normal) - 5.0).abs() < 0.03 && (sd(&normal) - 2.0).abs() < 0.03);
        assert!((mean(&exp) - 4.0).abs() < 0.05 && (sd(&exp) - 4.0).abs() < 0.1);
    }

    #[test]
    fn zipf_follows_its_law() {
        const DRAWS: usize = 200_000;
        let (n, theta) = (10, 1.0);
        let mut rng = RankRng::new(1, 0);
        let mut counts = [0u64; 10];
        (0..DRAWS).for_each(|_| counts[rng.zipf(n, theta).unwrap() as usize] += 1);
        let norm: f64 = (1..=n).map(|k| 1.0 / k as f64).sum();
        for (k, count) in counts.iter().enumerate() {
            let expected = DRAWS as f64 / (k + 1) as f64 / norm;
            assert!((*count as f64 - expected).abs() < 0.05 * expected, "{k}: {count}, {expected}");
        }
        assert_eq!(rng.zipf(1, 2.0), Ok(0));
    }

    #[test]
    fn gamma_has_its_mean_and_deviation() {
        const DRAWS: usize = 200_000;
        for shape in [0.5, 1.5, 9.0] {
            let mut rng = RankRng::new(3, 0);
            let drawn: Vec<f64> = (0..DRAWS).map(|_| rng.gamma(100.0, shape).unwrap()).collect();
            let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
            let square = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / DRAWS as f64;
            assert!((mean - 100.0).abs() < 1.0, "{shape}: {mean}");
            let deviation = 100.0 / f64::sqrt(shape);
            assert!((square.sqrt() - deviation).abs() < 0.02 * deviation, "{shape}: {square}");
        }
        assert_eq!(RankRng::new(0, 0).gamma(0.0, 2.0), Ok(0.0));
    }

    #[test]
    fn arguments_outside_the_range_are_errors() {
        let mut rng = RankRng::new(0, 0);
        assert!(rng.gamma(-1.0, 1.0).is_err() && rng.gamma(1.0, 0.0).is_err());
        assert!(rng.gamma(1.0, f64::NAN).is_err() && rng.gamma(f64::INFINITY, 1.0).is_err());
        assert!(rng.uniform(2, 1).is_err());
        assert!(rng.normal(0.0, -1.0).is_err() && rng.normal(f64::NAN, 1.0).is_err());
        assert!(rng.exponential(-1.0).is_err() && rng.exponential(f64::INFINITY).is_err());
        assert!(rng.zipf(0, 1.0).is_err() && rng.zipf(5, -1.0).is_err());
        assert!(perm(5, 5, 1).is_err() && perm(-1, 5, 1).is_err() && perm(0, 0, 1).is_err());
        assert!(perm(i64::MAX - 1, i64::MAX, 1).is_ok());
        assert_eq!(Permutation::new(0, 1).at(0), None);
        assert!(Permutation::new(u64::MAX, 1).at(u64::MAX - 1).is_some());
    }

    proptest! {
        /// Traps 8 and 9: nothing twice, nothing left out, no memory.
        #[test]
        fn a_permutation_is_bijective(n in 1u64..5000, seed in any::<u64>()) {
            let permutation = Permutation::new(n, seed);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let element = permutation.at(i).unwrap() as usize;
                prop_assert!(!std::mem::replace(&mut seen[element], true));
            }
            prop_assert_eq!(permutation.at(n), None);
        }
    }

    #[test]
    fn every_short_length_is_permuted() {
        for n in 1u64..=300 {
            let permutation = Permutation::new(n, 9);
            let mut all: Vec<_> = (0..n).map(|i| permutation.at(i).unwrap()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn all_orders_of_three_occur_alike() {
        let mut counts = std::collections::BTreeMap::<Vec<i64>, u64>::new();
        for seed in 0..60_000 {
            *counts.entry((0..3).map(|i| perm(i, 3, seed).unwrap()).collect()).or_default() += 1;
        }
        let counts: Vec<u64> = counts.into_values().collect();
        // 5 degrees of freedom, 0.1 %.
        assert!(counts.len() == 6 && chi_square(&counts) < 20.5, "{counts:?}");
    }
}
