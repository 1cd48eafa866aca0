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
    (0..100_000).for_each(|k| counts[(common_rand(3, &(0..2).into(), 1, k) >> 28) as usize] += 1);
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
fn arguments_outside_the_range_are_errors() {
    let mut rng = RankRng::new(0, 0);
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
