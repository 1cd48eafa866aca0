//! Against values that SciPy 1.17 gave: `scipy.stats.t`, `norm.sf`, `bootstrap(method="percentile",
//! n_resamples=10**6)`, NumPy's mean, median and std(ddof=1), and the formulas written in NumPy.

use super::*;
use proptest::prelude::*;

/// Ten throughputs, the last of a repetition that something disturbed.
const SAMPLE: [f64; 10] = [102.4, 98.7, 101.1, 99.5, 100.2, 97.9, 103.3, 100.8, 99.1, 131.0];

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-10 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn a_sample_is_summed_up() {
    let summary = summarise(&SAMPLE).unwrap();
    assert_eq!((summary.n, summary.outliers), (10, vec![9]));
    close(summary.mean, 103.4);
    close(summary.median, 100.5);
    close(summary.sd.unwrap(), 9.838134421163845);
    let interval = summary.mean_ci95.unwrap();
    close(interval.low, 96.36222259995274);
    close(interval.high, 110.43777740004727);
    let interval = summary.median_ci95.unwrap();
    assert_eq!((interval.low, interval.high), (99.1, 102.4));
}

#[test]
fn students_t_is_that_of_the_tables() {
    for (p, freedom, t) in [
        (0.975, 1, 12.706204736174694),
        (0.975, 4, 2.7764451051977934),
        (0.975, 9, 2.262157162798205),
        (0.975, 99, 1.9842169515864174),
        (0.75, 3, 0.7648923284043444),
    ] {
        close(quantile_of_student(p, freedom), t);
    }
    close(student(1.3, 7), 0.8826160823038114);
    close(student(-2.2, 3), 0.05758597598823534);
}

#[test]
fn tails_of_the_normal_distribution() {
    for (z, p) in [
        (0.0, 0.5),
        (0.5, 0.3085375387259869),
        (1.96, 0.024997895148220435),
        (3.9, 4.8096344017602614e-05),
        (4.1, 2.0657506912546717e-05),
        (8.0, 6.22096057427174e-16),
        (-1.0, 0.8413447460685429),
    ] {
        close(upper_tail(z), p);
    }
}

#[test]
fn five_repetitions_have_an_interval_and_four_have_none() {
    let interval = interval_of_median(&[5.0, 7.0, 1.0, 3.0, 9.0]).unwrap();
    assert_eq!((interval.low, interval.high), (1.0, 9.0));
    let four = summarise(&[1.0, 2.0, 3.0, 100.0]).unwrap();
    assert_eq!((four.mean_ci95, four.median_ci95), (None, None));
    assert!(four.sd.is_some() && four.outliers.is_empty());
    let one = summarise(&[7.0]).unwrap();
    assert_eq!((one.median, one.sd), (7.0, None));
    assert_eq!(summarise(&[]), None);
}

#[test]
fn equal_values_have_no_spread_and_one_other_stands_apart() {
    let equal = summarise(&[0.1 + 0.2; 10]).unwrap();
    assert!(equal.outliers.is_empty());
    let interval = equal.median_ci95.unwrap();
    assert_eq!(interval.relative_half_width(equal.median), Some(0.0));
    let mut one_other = [5.0; 10];
    one_other[6] = 9.0;
    assert_eq!(outliers(&one_other), [6]);
    // Seven say too little of what is usual.
    assert!(outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]).is_empty());
    assert_eq!(interval.relative_half_width(0.0), None);
}

/// Normal samples, the sum of twelve uniform numbers each.
fn clean_sample(random: &mut SplitMix64, n: usize) -> Vec<f64> {
    let uniform = |random: &mut SplitMix64| (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
    (0..n).map(|_| 100.0 + (0..12).map(|_| uniform(random)).sum::<f64>()).collect()
}

#[test]
fn at_most_one_of_a_hundred_clean_samples_has_an_outlier() {
    const SAMPLES: usize = 4_000;
    let mut random = SplitMix64(7);
    for n in (2..=20).chain([25, 30, 50, 100]) {
        let critical = critical_deviates(n);
        let flagged = (0..SAMPLES)
            .filter(|_| !outliers_above(&clean_sample(&mut random, n), &critical).is_empty());
        let share = flagged.count() as f64 / SAMPLES as f64;
        assert!(share <= 0.01, "{share} of the samples of {n}");
        assert!(n >= LEAST_FOR_OUTLIERS || share == 0.0);
    }
}

#[test]
fn outliers_do_not_hide_one_another() {
    let mut random = SplitMix64(8);
    for n in [10, 20, 40] {
        let mut sample = clean_sample(&mut random, n);
        (sample[3], sample[7]) = (120.0, 121.0);
        assert_eq!(outliers(&sample), [3, 7], "{sample:?}");
    }
}

#[test]
fn trends_are_found() {
    let rising = [1.0, 3.0, 2.0, 5.0, 4.0, 6.0, 8.0, 7.0, 9.0, 12.0, 10.0, 11.0];
    let trend = mann_kendall(&rising).unwrap();
    close(trend.tau, 0.8484848484848485);
    close(trend.p, 0.00016227556647604302);
    let ties = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 5.0];
    close(mann_kendall(&ties).unwrap().p, 0.0002270126489975301);
    assert_eq!(mann_kendall(&[1.0; 12]), None);
    assert_eq!(mann_kendall(&rising[..9]), None);
}

#[test]
fn neighbours_are_correlated_or_not() {
    close(lag1_autocorrelation(&SAMPLE).unwrap(), -0.059843875559637244);
    assert_eq!(lag1_autocorrelation(&[3.0; 10]), None);
    assert_eq!(lag1_autocorrelation(&[1.0, 2.0]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn intervals_hold_their_figure(sample in prop::collection::vec(1.0f64..1e9, 1..40)) {
        let summary = summarise(&sample).unwrap();
        prop_assert_eq!(summary.median_ci95.is_some(), sample.len() >= LEAST_FOR_INTERVAL);
        for (interval, figure) in
            [(summary.mean_ci95, summary.mean), (summary.median_ci95, summary.median)]
        {
            prop_assert!(interval.is_none_or(|i| i.low <= figure && figure <= i.high));
        }
        let mut reversed = sample.clone();
        reversed.reverse();
        prop_assert_eq!(interval_of_median(&reversed), summary.median_ci95);
    }
}

/// The interval holds the true median in about 95 of 100 samples of a skewed distribution.
#[test]
fn the_interval_keeps_its_promise() {
    let mut random = SplitMix64(1);
    let mut exponential = || -((random.bits() as f64 + 1.0) / 2f64.powi(64)).min(1.0).ln();
    let held = (0..300).filter(|_| {
        let sample: Vec<f64> = (0..15).map(|_| exponential()).collect();
        interval_of_median(&sample).is_some_and(|i| i.low <= 2f64.ln() && 2f64.ln() <= i.high)
    });
    let held = held.count();
    assert!((270..300).contains(&held), "{held} of 300");
}

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

#[test]
fn known_distances() {
    // Below 64 ns each value has a bucket, so that these are exact.
    let cases: [(&[u64], &[u64], f64, f64); 4] = [
        (&[10, 20], &[10, 20, 10, 20], 0.0, 0.0),
        (&[10], &[30], 1.0, 20.0),
        (&[10, 20, 30, 40], &[20, 30, 40, 50], 0.25, 10.0),
        (&[0, 60], &[30, 30], 0.5, 30.0),
    ];
    for (a, b, ks, wasserstein) in cases {
        let found = distance_between(&of(a), &of(b)).unwrap();
        assert!((found.kolmogorov_smirnov - ks).abs() < 1e-12, "{a:?} {b:?} {found:?}");
        assert!((found.wasserstein_ns - wasserstein).abs() < 1e-9, "{a:?} {b:?} {found:?}");
    }
    assert_eq!(distance_between(&of(&[]), &of(&[1])), None);
}

#[test]
fn ties_share_their_ranks() {
    assert_eq!(scores(&[31, 27, 27, 50]), [6, 3, 3, 8]);
    assert_eq!(scores(&[1; 3]), [4, 4, 4]);
    assert!(scores(&[]).is_empty());
}

/// Against going through all choices and all signs one by one.
#[test]
fn counting_agrees_with_going_through_all() {
    for scores in [vec![2, 4, 6, 8, 10, 12, 14], vec![3, 3, 7, 7, 7, 12, 14, 16], vec![5; 6]] {
        let subsets = || 0u32..1 << scores.len();
        let sum = |subset: u32| -> u32 {
            scores.iter().zip(0..).filter(|(_, at)| subset >> at & 1 == 1).map(|s| s.0).sum()
        };
        let share = |of: &[u32], holds: &dyn Fn(u32) -> bool| {
            of.iter().filter(|sum| holds(**sum)).count() as f64 / of.len() as f64
        };
        let any: Vec<u32> = subsets().map(sum).collect();
        let three = subsets().filter(|subset| subset.count_ones() == 3).map(sum);
        let three: Vec<u32> = three.collect();
        for (counts, all) in
            [(Counts::of_signs(&scores), any), (Counts::of_choices(&scores, 3), three)]
        {
            for found in 0..=scores.iter().sum() {
                let lower = share(&all, &|sum| sum <= found);
                let upper = share(&all, &|sum| sum >= found);
                let expected = (2.0 * lower.min(upper)).min(1.0);
                assert!((counts.two_sided(found) - expected).abs() < 1e-14);
            }
        }
    }
}
