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

pub(crate) use model::permutation::mix;
pub use model::permutation::{Permutation, perm};

use model::RankSet;
use model::function::draw;
use model::value::{Eval, EvalError};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal, Zipf};

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
        draw::uniform(a, b)?;
        Ok(self.stream.random_range(a..=b))
    }

    /// `normal(mean, sd)`: Gaussian.
    pub fn normal(&mut self, mean: f64, sd: f64) -> Eval<f64> {
        draw::normal(mean, sd)?;
        let deviate: f64 = StandardNormal.sample(&mut self.stream);
        Ok(mean + sd * deviate)
    }

    /// `exp(mean)`: exponential, as gaps between Poisson arrivals are.
    pub fn exponential(&mut self, mean: f64) -> Eval<f64> {
        draw::exponential(mean)?;
        let deviate: f64 = Exp1.sample(&mut self.stream);
        Ok(mean * deviate)
    }

    /// `empirical(list)`: a number from 0 to below `end`, as likely as any other.
    pub fn below(&mut self, end: f64) -> f64 {
        self.stream.random::<f64>() * end
    }

    /// `zipf(n, theta)`: an integer in `0..n`, `k` with a probability proportional to
    /// `1 / (k + 1)^theta`. Rejection-inversion (Hörmann and Derflinger 1996): no tables.
    pub fn zipf(&mut self, n: i64, theta: f64) -> Eval<i64> {
        draw::zipf(n, theta)?;
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
mod tests;
