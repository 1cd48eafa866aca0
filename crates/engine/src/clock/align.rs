//! Clocks of different machines on one time line: rank 0's.
//!
//! ```text
//! rank r     sent ──────────────▶ received      its own clock
//! rank 0            reads its clock             the reference
//! ```
//!
//! The reference was read somewhere between `sent` and `received`; their middle is off by
//! at most half the round trip, so the shortest of several round trips tells most
//! (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). Two
//! such comparisons, before and after the program, give offset and drift; between them
//! the offset is taken as linear in time.

use serde::{Deserialize, Serialize};

/// One exchange with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Own clock when the question left.
    pub sent_ns: u64,
    /// The reference clock in between.
    pub reference_ns: u64,
    /// Own clock when the answer was there.
    pub received_ns: u64,
}

/// How far a clock is ahead of the reference at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Own clock at that time.
    pub at_ns: u64,
    /// Own clock minus reference clock.
    pub ahead_ns: i64,
    /// The offset is right to half of this.
    pub round_trip_ns: u64,
}

/// The offset that the exchange with the shortest round trip tells; `None` without any.
pub fn offset(exchanges: &[Exchange]) -> Option<Offset> {
    let round_trip_ns = |exchange: &&Exchange| exchange.received_ns.abs_diff(exchange.sent_ns);
    let best = exchanges.iter().min_by_key(round_trip_ns)?;
    let at_ns = best.sent_ns.midpoint(best.received_ns);
    Some(Offset {
        at_ns,
        ahead_ns: at_ns.wrapping_sub(best.reference_ns) as i64,
        round_trip_ns: round_trip_ns(&best),
    })
}

/// How the clock of one rank relates to rank 0's during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// Before the program.
    pub start: Offset,
    /// After it; `None` for a rank that was cut off.
    pub end: Option<Offset>,
}

impl Alignment {
    /// A time of this rank's clock on rank 0's clock; never below 0.
    pub fn aligned(&self, own_ns: u64) -> u64 {
        (i128::from(own_ns) - self.ahead_at(own_ns)).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// The offset at a time of this clock, linear through both comparisons.
    fn ahead_at(&self, own_ns: u64) -> i128 {
        let start = i128::from(self.start.ahead_ns);
        let Some(end) = self.end else { return start };
        let between = i128::from(end.at_ns) - i128::from(self.start.at_ns);
        if between <= 0 {
            return start;
        }
        let passed = i128::from(own_ns) - i128::from(self.start.at_ns);
        start + (i128::from(end.ahead_ns) - start) * passed / between
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A clock that was `ahead_ns` ahead at reference time 0 and runs `ppm` too fast.
    fn read(reference_ns: u64, ahead_ns: i64, ppm: f64) -> u64 {
        (reference_ns as f64 * (1.0 + ppm * 1e-6)) as u64 + ahead_ns as u64
    }

    fn compare(at_ns: u64, delays_ns: &[(u64, u64)], ahead_ns: i64, ppm: f64) -> Offset {
        let exchanges: Vec<Exchange> = delays_ns
            .iter()
            .map(|(there, back)| Exchange {
                sent_ns: read(at_ns - there, ahead_ns, ppm),
                reference_ns: at_ns,
                received_ns: read(at_ns + back, ahead_ns, ppm),
            })
            .collect();
        offset(&exchanges).expect("there are some")
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        assert_eq!(offset(&[]), None);
        let delays = [(9_000, 1_000), (700, 700), (100_000, 2_000)];
        let found = compare(1_000_000, &delays, 5_000_000, 0.0);
        assert_eq!(found, Offset { at_ns: 6_000_000, ahead_ns: 5_000_000, round_trip_ns: 1_400 });
    }

    #[test]
    fn without_a_second_comparison_the_first_one_holds() {
        let start = Offset { at_ns: 10, ahead_ns: -500, round_trip_ns: 0 };
        let cut_off = Alignment { start, end: None };
        assert_eq!((cut_off.aligned(0), cut_off.aligned(1_000)), (500, 1_500));
        let same_time = Alignment { start, end: Some(Offset { ahead_ns: 7, ..start }) };
        assert_eq!(same_time.aligned(0), 500);
        let late = Offset { at_ns: 10, ahead_ns: 500, round_trip_ns: 0 };
        assert_eq!(Alignment { start: late, end: None }.aligned(100), 0, "never before the start");
    }

    proptest! {
        /// Offset and drift are taken out, up to half a round trip.
        #[test]
        fn artificial_offset_and_drift_are_found(
            ahead_ns in 0i64..2_000_000_000,
            ppm in -200.0..200.0f64,
            run_ns in 1_000_000_000u64..3_600_000_000_000,
            there in 500u64..5_000,
            back in 500u64..5_000,
            part in 0.0..1.0f64,
        ) {
            let (first, last) = (1_000_000, 1_000_000 + run_ns);
            let delays = [(there + 9_000, back), (there, back)];
            let alignment = Alignment {
                start: compare(first, &delays, ahead_ns, ppm),
                end: Some(compare(last, &delays, ahead_ns, ppm)),
            };
            let time_ns = first + (run_ns as f64 * part) as u64;
            let found_ns = alignment.aligned(read(time_ns, ahead_ns, ppm));
            let error_ns = found_ns.abs_diff(time_ns);
            prop_assert!(error_ns <= (there + back) / 2 + 3, "{error_ns} ns");
        }
    }
}
