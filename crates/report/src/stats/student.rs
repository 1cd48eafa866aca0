//! Student's t distribution: the interval of a mean.

use super::{Interval, LEAST_FOR_INTERVAL};

/// 95 % confidence interval of a mean; `None` below [`LEAST_FOR_INTERVAL`] values.
pub fn interval_of_mean(n: usize, mean: f64, sd: Option<f64>) -> Option<Interval> {
    let sd = sd.filter(|_| n >= LEAST_FOR_INTERVAL)?;
    let half = quantile(0.975, (n - 1) as f64) * sd / (n as f64).sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

/// The value below which a t-distributed figure lies with probability `p` (0.5 to 1), for
/// `freedom` degrees of freedom. By bisection of [`distribution`].
pub fn quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    while distribution(high, freedom) < p && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let below = distribution(middle, freedom) < p;
        if below { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Probability that a t-distributed figure lies below `t` (Abramowitz & Stegun 26.7.1).
pub fn distribution(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_factor = a * x.ln() + b * (1.0 - x).ln() - log_beta(a, b);
    log_factor.exp() / (a * fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated forwards (Thompson & Barnett 1986, modified Lentz).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let (mut value, mut c, mut d) = (1.0f64, 1.0f64, 0.0f64);
    for step in 1..=500u32 {
        let m = f64::from(step / 2);
        let term = match step % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 + term * d;
        d = 1.0 / if d.abs() < TINY { TINY } else { d };
        c = 1.0 + term / c;
        c = if c.abs() < TINY { TINY } else { c };
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

fn log_beta(a: f64, b: f64) -> f64 {
    log_gamma(a) + log_gamma(b) - log_gamma(a + b)
}

/// Logarithm of the gamma function for x > 0: Stirling's series (DLMF 5.11.1) after shifting the
/// argument up by the recurrence (DLMF 5.5.1).
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series + shift
}
