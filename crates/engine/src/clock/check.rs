//! Was the clock of a run right? It is compared with the kernel's raw clock at both ends of the run.
//!
//! ```text
//! own clock   ├──────────────── run ────────────────┤
//! raw clock   ├──────────────── run ────────────────┤   the difference, divided by the raw time: drift
//! ```
//!
//! A calibration that was disturbed, a guest that moved to another machine and a clock that NTP slews
//! show as drift; a machine that slept shows in `CLOCK_BOOTTIME`, which goes on meanwhile.

use super::real::read_ns;
use super::{Real, monotonic_raw_ns};

/// Readings for one moment, of which the best counts.
const TRIES: usize = 32;
/// A drift is reported if it is known to this accuracy (parts per billion): after 10 ms where the readings at
/// both ends are exact to 100 ns in sum.
const EXACT_PPB: i128 = 10_000;
/// Shorter sleeps are the noise of reading two clocks one after the other.
const SHORTEST_SLEEP_NS: u64 = 1_000_000;

/// Both clocks at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moment {
    own_ns: u64,
    raw_ns: u64,
    /// Largest distance between the readings `own_ns` and `raw_ns`.
    width_ns: u64,
    /// Time that the machine has slept since it was started.
    slept_ns: u64,
}

/// A clock under observation.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    clock: Real,
    start: Moment,
}

/// Drift and sleep of the observed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How much faster the clock ran than the kernel's raw clock, parts per billion; `None` where it
    /// is the raw clock, or the run too short to tell.
    pub drift_ppb: Option<i64>,
    /// Time that the machine slept meanwhile.
    pub suspended_ns: u64,
}

impl Check {
    /// Observes a clock from now on.
    pub fn start(clock: Real) -> Check {
        Check { clock, start: moment(&clock) }
    }

    /// Drift and sleep until now.
    pub fn seen(&self) -> Checked {
        let seen = between(&self.start, &moment(&self.clock));
        Checked { drift_ppb: seen.drift_ppb.filter(|_| !self.clock.is_raw()), ..seen }
    }
}

/// Numbers of which the largest over all machines tell the worst: drift, drift with the other sign,
/// sleep.
pub type Words = [i64; 3];

impl Checked {
    /// As numbers to find the largest of.
    pub fn to_words(self) -> Words {
        let drift = |sign: i64| self.drift_ppb.map_or(i64::MIN, |ppb| ppb.saturating_mul(sign));
        [drift(1), drift(-1), self.suspended_ns.min(i64::MAX as u64) as i64]
    }

    /// The worst of all machines, from the largest of their numbers.
    pub fn from_largest([fast, slow, suspended]: Words) -> Checked {
        let drift = if fast >= slow { fast } else { slow.saturating_neg() };
        Checked {
            drift_ppb: (fast.max(slow) != i64::MIN).then_some(drift),
            suspended_ns: suspended.max(0) as u64,
        }
    }
}

fn moment(clock: &Real) -> Moment {
    let tries = (0..TRIES).map(|_| {
        let before_ns = clock.now();
        let raw_ns = monotonic_raw_ns();
        let after_ns = clock.now();
        let width_ns = after_ns.abs_diff(before_ns);
        Moment { own_ns: before_ns.midpoint(after_ns), raw_ns, width_ns, slept_ns: 0 }
    });
    let best = tries.min_by_key(|moment| moment.width_ns).unwrap_or_default();
    Moment { slept_ns: slept_ns(), ..best }
}

/// `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`.
fn slept_ns() -> u64 {
    let difference = |_| {
        let awake_ns = read_ns(libc::CLOCK_MONOTONIC);
        read_ns(libc::CLOCK_BOOTTIME).saturating_sub(awake_ns)
    };
    (0..TRIES).map(difference).min().unwrap_or(0)
}

fn between(start: &Moment, end: &Moment) -> Checked {
    let passed = |from: u64, to: u64| i128::from(to) - i128::from(from);
    let (own, raw) = (passed(start.own_ns, end.own_ns), passed(start.raw_ns, end.raw_ns));
    let width = i128::from(start.width_ns) + i128::from(end.width_ns);
    let ppb = |ns: i128| ns * 1_000_000_000 / raw.max(1);
    let is_known = raw > 0 && ppb(width) <= EXACT_PPB;
    let slept_ns = end.slept_ns.saturating_sub(start.slept_ns);
    Checked {
        drift_ppb: is_known.then(|| ppb(own - raw).clamp(i64::MIN.into(), i64::MAX.into()) as i64),
        suspended_ns: if slept_ns < SHORTEST_SLEEP_NS { 0 } else { slept_ns },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::best;

    const START: Moment = Moment { own_ns: 500, raw_ns: 7_000, width_ns: 60, slept_ns: 9_000 };

    fn after(own_ns: u64, raw_ns: u64) -> Moment {
        Moment { own_ns: START.own_ns + own_ns, raw_ns: START.raw_ns + raw_ns, ..START }
    }

    #[test]
    fn drift_is_told_where_it_is_known() {
        for (own_ns, raw_ns, drift_ppb) in [
            (1_000_000_000, 1_000_000_000, Some(0)),
            (1_000_100_000, 1_000_000_000, Some(100_000)),
            (999_900_000, 1_000_000_000, Some(-100_000)),
            // 120 ns of 12 ms are 10 ppm.
            (12_000_000, 12_000_000, Some(0)),
            (11_000_000, 11_000_000, None),
            (0, 0, None),
        ] {
            let found = between(&START, &after(own_ns, raw_ns)).drift_ppb;
            assert_eq!(found, drift_ppb, "{own_ns} {raw_ns}");
        }
        // The counter of a guest began anew on another machine.
        let anew = Moment { own_ns: 0, ..after(0, 1_000_000_000) };
        assert_eq!(between(&START, &anew).drift_ppb, Some(-1_000_000_500));
    }

    #[test]
    fn sleep_of_the_machine_is_told() {
        let slept = |ns| Moment { slept_ns: START.slept_ns + ns, ..after(1, 1) };
        assert_eq!(between(&START, &slept(5_000_000_000)).suspended_ns, 5_000_000_000);
        assert_eq!(between(&START, &slept(900_000)).suspended_ns, 0);
    }

    #[test]
    fn the_worst_of_all_machines_counts() {
        let of = |drift_ppb, suspended_ns| Checked { drift_ppb, suspended_ns };
        for (one, other, worst) in [
            (of(Some(5), 0), of(Some(-7), 3), of(Some(-7), 3)),
            (of(Some(9), 4), of(Some(-7), 3), of(Some(9), 4)),
            (of(None, 2), of(Some(0), 1), of(Some(0), 2)),
            (of(None, 0), of(None, 0), of(None, 0)),
        ] {
            let (one, other) = (one.to_words(), other.to_words());
            let largest = [0, 1, 2].map(|at: usize| one[at].max(other[at]));
            assert_eq!(Checked::from_largest(largest), worst);
        }
    }

    #[test]
    fn clocks_of_this_machine_can_be_checked() {
        let raw = Real::raw();
        assert_eq!(Check::start(raw).seen().drift_ppb, None);
        assert_eq!(Check::start(best()).seen().suspended_ns, 0);
    }
}
