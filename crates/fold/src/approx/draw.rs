//! Numbers that follow no rule -> the distribution that they cannot be told from.
//!
//! A distribution stands for numbers if the test of Kolmogorov and Smirnov does not reject it at the
//! level of 5 %. Of several the one stands that is nearest.

use super::super::regular::gcd;

/// What numbers are drawn from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Draw {
    /// Evenly, both ends included.
    Rand {
        /// Smallest.
        first: i64,
        /// Largest.
        last: i64,
    },
    /// The normal distribution, without what lies below 0.
    Normal {
        /// Its mean.
        mean: i64,
        /// Its standard deviation.
        deviation: i64,
    },
    /// The exponential distribution.
    Exp {
        /// Its mean.
        mean: i64,
    },
    /// Zipf's law.
    Zipf {
        /// Numbers below it.
        number: i64,
        /// Thousandths of the exponent.
        milli: u32,
    },
    /// Each number below this once, by the iteration.
    Perm {
        /// How many.
        number: i64,
        /// Each rank has an order of its own.
        by_rank: bool,
    },
}

impl Draw {
    /// With a base added: what is drawn, the base that is left, the unit.
    pub fn moved(self, base: i64, unit: i64) -> (Draw, i64, i64) {
        match self {
            Draw::Rand { first, last } if base % unit == 0 => {
                let by = base / unit;
                (Draw::Rand { first: first + by, last: last + by }, 0, unit)
            }
            other => (other, base, unit),
        }
    }

    /// An expression; `index` is the variable of the loop.
    pub fn shown(&self, index: &str) -> String {
        match self {
            Draw::Rand { first, last } => format!("rand({first}, {last})"),
            Draw::Normal { mean, deviation } => {
                format!("max(0, round(normal({mean}, {deviation})))")
            }
            Draw::Exp { mean } => format!("int(exp({mean}))"),
            Draw::Zipf { number, milli } => {
                format!("zipf({number}, {})", f64::from(*milli) / 1000.0)
            }
            Draw::Perm { number, by_rank: false } => format!("perm({index}, {number})"),
            Draw::Perm { number, by_rank: true } => format!("perm({index}, {number}, $$rank)"),
        }
    }
}

/// Fewer numbers could come from anything.
const FEW: usize = 32;
/// Distance that 5 % of samples exceed, times the root of their number (Smirnov 1948).
const REJECTED: f64 = 1.358;
/// Most values that Zipf's law is fitted to.
const ZIPF_MAX: i64 = 1 << 16;
/// Smaller exponents are hardly to be told from evenness.
const THETA_MIN: f64 = 0.3;

/// Numbers as multiples of a unit.
#[derive(Debug)]
pub struct Scaled {
    /// What divides all.
    pub unit: i64,
    /// The numbers divided by it, ascending.
    pub sorted: Vec<i64>,
}

impl Scaled {
    /// Divides by the greatest common divisor.
    pub fn of(values: &[i64]) -> Scaled {
        let unit = values.iter().fold(0, |unit, value| gcd(unit, *value)).max(1);
        let mut sorted: Vec<i64> = values.iter().map(|value| value / unit).collect();
        sorted.sort_unstable();
        Scaled { unit, sorted }
    }
}

/// What sizes are drawn from, and its unit; their sum stays within the bound.
pub fn sizes(values: &[i64], bound: f64) -> Option<(Draw, i64)> {
    let (mean, deviation) = moments(values);
    let number = values.len() as f64;
    if values.len() < FEW || mean <= 0.0 || deviation / mean / number.sqrt() > bound {
        return None;
    }
    let scaled = Scaled::of(values);
    let (even, first, last) = even(&scaled);
    let middle = (first + last) as f64 / 2.0 * scaled.unit as f64;
    let is_near = (middle - mean).abs() <= bound * mean;
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let normal = Draw::Normal { mean: mean.round() as i64, deviation: deviation.round() as i64 };
    let normal_below = |v: i64| normal_cdf((v as f64 + 0.5 - mean) / deviation);
    let exp = Draw::Exp { mean: mean.round() as i64 };
    let exp_below = |v: i64| 1.0 - (-((v + 1) as f64) / mean).exp();
    let all = [
        is_near.then_some((even, Draw::Rand { first, last }, scaled.unit)),
        Some((distance(&sorted, exp_below), exp, 1)),
        (deviation >= 1.0).then(|| (distance(&sorted, normal_below), normal, 1)),
    ];
    nearest(all.into_iter().flatten(), values.len())
}

/// What places are drawn from, from the smallest one on, and its unit.
pub fn places(values: &[i64]) -> Option<(Draw, i64)> {
    if values.len() < FEW {
        return None;
    }
    let scaled = Scaled::of(values);
    let (even, first, last) = even(&scaled);
    let zipf = if first == 0 { zipf(&scaled.sorted) } else { None };
    let all = [Some((even, Draw::Rand { first, last }, scaled.unit))];
    let zipf = zipf.map(|(distance, draw)| (distance, draw, scaled.unit));
    nearest(all.into_iter().flatten().chain(zipf), values.len())
}

fn nearest(all: impl Iterator<Item = (f64, Draw, i64)>, number: usize) -> Option<(Draw, i64)> {
    let limit = REJECTED / (number as f64).sqrt();
    let near = all.filter(|(distance, ..)| *distance <= limit);
    near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, draw, unit)| (draw, unit))
}

fn moments(values: &[i64]) -> (f64, f64) {
    let number = values.len() as f64;
    let mean = values.iter().map(|v| *v as f64).sum::<f64>() / number;
    let squares = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>();
    (mean, (squares / (number - 1.0).max(1.0)).sqrt())
}

/// The largest difference between how many numbers are at most v, and how likely that is.
fn distance(sorted: &[i64], at_most: impl Fn(i64) -> f64) -> f64 {
    let number = sorted.len() as f64;
    let (mut before, mut largest) = (0.0, 0.0f64);
    for same in sorted.chunk_by(|a, b| a == b) {
        let (value, after) = (same[0], before + same.len() as f64 / number);
        let below = at_most(value.saturating_sub(1));
        largest = largest.max((before - below).abs()).max((after - at_most(value)).abs());
        before = after;
    }
    largest
}

/// How far numbers are from being evenly spread between the smallest and the largest.
fn even(scaled: &Scaled) -> (f64, i64, i64) {
    let (first, last) = (scaled.sorted[0], scaled.sorted[scaled.sorted.len() - 1]);
    let width = (last - first + 1) as f64;
    let at_most = |v: i64| ((v - first + 1) as f64 / width).clamp(0.0, 1.0);
    (distance(&scaled.sorted, at_most), first, last)
}

/// Zipf's law with the exponent that makes the numbers most likely.
fn zipf(sorted: &[i64]) -> Option<(f64, Draw)> {
    let number = sorted[sorted.len() - 1].checked_add(1).filter(|n| (2..=ZIPF_MAX).contains(n))?;
    let logs: Vec<f64> = (1..=number).map(|k| (k as f64).ln()).collect();
    let mean = sorted.iter().map(|v| logs[*v as usize]).sum::<f64>() / sorted.len() as f64;
    // The mean logarithm falls with the exponent.
    let expected = |theta: f64| {
        let weights = logs.iter().map(|log| (-theta * log).exp());
        let (sum, weighted) = weights
            .zip(&logs)
            .fold((0.0, 0.0), |(sum, all), (weight, log)| (sum + weight, all + weight * log));
        weighted / sum
    };
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if expected(middle) > mean { low = middle } else { high = middle }
    }
    let milli = (low * 1000.0).round() as u32;
    let theta = f64::from(milli) / 1000.0;
    let mut below: Vec<f64> = logs.iter().map(|log| (-theta * log).exp()).collect();
    for at in 1..below.len() {
        below[at] += below[at - 1];
    }
    let all = below[below.len() - 1];
    let at_most = |v: i64| if v < 0 { 0.0 } else { below[v as usize] / all };
    (theta >= THETA_MIN).then(|| (distance(sorted, at_most), Draw::Zipf { number, milli }))
}

/// Abramowitz and Stegun 7.1.26; the error is below 2e-7.
fn normal_cdf(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let factors = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let sum = factors.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    let tail = sum * (-z * z).exp() / 2.0;
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evenly spread numbers from 0 to 1, in no order.
    fn shares(number: usize) -> impl Iterator<Item = f64> {
        (0..number)
            .map(move |at| ((at * 7919) % number) as f64 / number as f64 + 0.5 / number as f64)
    }

    #[test]
    fn numbers_are_told_by_their_distribution() {
        let even: Vec<i64> = shares(500).map(|u| 512 * (8 + (u * 64.0) as i64)).collect();
        assert_eq!(sizes(&even, 0.1), Some((Draw::Rand { first: 8, last: 71 }, 512)));
        let exp: Vec<i64> = shares(4000).map(|u| (-(1.0 - u).ln() * 9000.0) as i64).collect();
        assert!(matches!(sizes(&exp, 0.05), Some((Draw::Exp { mean: 8900..9100 }, 1))));
        let normal: Vec<i64> = (0..400)
            .map(|at| {
                5000 + shares(12)
                    .skip(at % 5)
                    .step_by(2 + at % 3)
                    .map(|u| (u * 100.0) as i64)
                    .sum::<i64>()
            })
            .collect();
        assert!(!matches!(sizes(&normal, 0.05), Some((Draw::Exp { .. }, _))));
        // Two sizes, far apart.
        let two: Vec<i64> = (0..100).map(|at| if at % 3 == 0 { 100 } else { 90_000 }).collect();
        assert_eq!(sizes(&two, 0.5), None);
        assert_eq!(sizes(&even[..20], 0.5), None);
    }

    #[test]
    fn places_are_even_or_follow_zipf() {
        let even: Vec<i64> = shares(300).map(|u| 4096 * (u * 100.0) as i64).collect();
        assert_eq!(places(&even), Some((Draw::Rand { first: 0, last: 99 }, 4096)));
        let weights: Vec<f64> = (1..=50).map(|k| 1.0 / f64::from(k)).collect();
        let all: f64 = weights.iter().sum();
        let drawn = |u: f64| {
            let mut left = u * all;
            let found = weights.iter().position(|w| {
                left -= w;
                left < 0.0
            });
            found.unwrap_or(49) as i64 * 8192
        };
        let zipf: Vec<i64> = shares(1000).map(drawn).collect();
        assert!(
            matches!(places(&zipf), Some((Draw::Zipf { number: 50, milli: 950..1050 }, 8192))),
            "{:?}",
            places(&zipf)
        );
    }

    #[test]
    fn the_normal_distribution_is_that_of_tables() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9)] {
            assert!((normal_cdf(x) - expected).abs() < 1e-6, "{x}");
        }
    }
}
