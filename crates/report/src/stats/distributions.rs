//! The standard normal and Student's t distribution.

/// Probability that a standard normal figure lies above `z`: half the complementary error
/// function of z / sqrt(2), by its series (Abramowitz & Stegun 7.1.6) and for large arguments by
/// its continued fraction (7.1.14). Relative error below 1e-12.
pub fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 4.0 { 0.5 - density * normal_series(z) } else { density / normal_fraction(z) }
}

/// The z whose upper tail has this probability, at most 0.5; by bisection.
pub fn quantile_of_tail(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 40.0f64);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if upper_tail(middle) > tail { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// z + z^3/3 + z^5/(3·5) + ...
fn normal_series(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum
}

/// z + 1/(z + 2/(z + 3/(z + ...)))
fn normal_fraction(z: f64) -> f64 {
    (1..=100).rev().fold(z, |value, k| z + f64::from(k) / value)
}

/// The value below which a t-distributed figure lies with probability `p` (0.5 to 1), for
/// `freedom` degrees of freedom. By bisection of [`student`].
pub fn quantile_of_student(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    while student(high, freedom) < p && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let below = student(middle, freedom) < p;
        if below { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Probability that a t-distributed figure lies below `t` (Abramowitz & Stegun 26.7.1).
pub fn student(t: f64, freedom: f64) -> f64 {
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
    log_factor.exp() / (a * beta_fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated forwards (Thompson & Barnett 1986, modified Lentz).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
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
