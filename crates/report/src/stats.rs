//! Figures over repetitions: location, spread, intervals, outliers, drift.
//!
//! The unit is the repetition (one execution of the program), never the event: events of one
//! execution depend on each other. Below [`LEAST_FOR_INTERVAL`] repetitions there is no interval.
//! Everything is deterministic: the bootstrap draws from a fixed seed.
//!
//! | figure | formula |
//! |---|---|
//! | standard deviation | sqrt(sum (x - mean)^2 / (n - 1)) |
//! | interval of the mean | mean ± t(0.975, n - 1) · sd / sqrt(n), Student 1908 |
//! | interval of the median | 2.5 % and 97.5 % of the medians of resamples: percentile bootstrap, Efron & Tibshirani 1993, chapter 13 |
//! | outliers | 0.6745 · abs(x - median) / MAD > 3.5: modified z-score, Iglewicz & Hoaglin 1993, pages 11-12 |
//! | autocorrelation | lag 1: sum (x_i - mean)(x_{i+1} - mean) / sum (x_i - mean)^2, Box & Jenkins 1976, section 2.1.5 |
//! | trend | Mann 1945, Kendall 1975, with the variance corrected for ties |

mod distance;
mod distributions;
mod permutation;
mod sample;

pub use distance::{Distance, distance_between};
pub use distributions::{quantile_of_tail, upper_tail};
pub use permutation::{Counts, scores};
pub use sample::mann_kendall;
pub use sample::{
    LEAST_FOR_INTERVAL, SplitMix64, Summary, lag1_autocorrelation, mean, median, sorted, summarise,
};

#[cfg(test)]
mod tests;
