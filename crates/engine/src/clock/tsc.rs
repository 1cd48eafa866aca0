//! The time stamp counter of x86, where it is invariant and the kernel trusts it.
//!
//! Readings are not fenced: a system call lies between the two that matter, and
//! a fence would cost as much as the reading. Frequency: measured against
//! `CLOCK_MONOTONIC_RAW`, good to a few parts per million.

use super::{monotonic_raw_ns, nanosleep};
use std::arch::x86_64::{__cpuid, _rdtsc};

const CALIBRATION_NS: u64 = 5_000_000;
const SHIFT: u32 = 32;

/// The calibrated time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tsc {
    origin_ticks: u64,
    /// Nanoseconds per tick times 2^[`SHIFT`].
    mult: u64,
}

/// One moment on both clocks.
#[derive(Clone, Copy)]
struct Moment {
    ticks: u64,
    raw_ns: u64,
}

impl Tsc {
    /// Measures the counter's frequency; it starts at 0 now. `None` where the
    /// counter is not invariant, the kernel has dropped it, or the frequency is absurd.
    pub fn calibrate() -> Option<Tsc> {
        if !is_invariant() || !is_trusted_by_kernel() {
            return None;
        }
        let first = moment();
        nanosleep(CALIBRATION_NS);
        let last = moment();
        let mult = multiplier(last.ticks.checked_sub(first.ticks)?, last.raw_ns - first.raw_ns)?;
        Some(Tsc { origin_ticks: ticks(), mult })
    }

    /// The same clock with its origin moved to now.
    pub fn restarted(self) -> Tsc {
        Tsc { origin_ticks: ticks(), ..self }
    }
}

impl Tsc {
    /// Origin and calibration.
    pub(super) fn to_words(self) -> (u64, u64) {
        (self.origin_ticks, self.mult)
    }

    /// The clock of this origin and calibration; a calibration of 0 is taken as 1 ns per tick.
    pub(super) fn from_words(origin_ticks: u64, mult: u64) -> Tsc {
        Tsc { origin_ticks, mult: if mult == 0 { 1 << SHIFT } else { mult } }
    }

    /// The same clock showing `ns` less.
    pub(super) fn set_back(self, ns: i64) -> Tsc {
        let ticks = (i128::from(ns) << SHIFT) / i128::from(self.mult);
        let origin = (i128::from(self.origin_ticks) + ticks).clamp(0, i128::from(u64::MAX));
        Tsc { origin_ticks: origin as u64, ..self }
    }
}

impl Tsc {
    /// "tsc"
    pub fn name(&self) -> &'static str {
        "tsc"
    }

    /// Nanoseconds since its origin.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        scale(ticks().saturating_sub(self.origin_ticks), self.mult)
    }
}

#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { _rdtsc() }
}

/// Ticks to nanoseconds: one 64 x 64 bit multiplication, no overflow below 584 years.
#[inline(always)]
fn scale(ticks: u64, mult: u64) -> u64 {
    ((u128::from(ticks) * u128::from(mult)) >> SHIFT) as u64
}

/// `None` unless the counter runs between 50 MHz and 20 GHz.
fn multiplier(ticks: u64, ns: u64) -> Option<u64> {
    let mult = ((u128::from(ns) << SHIFT) / u128::from(ticks.max(1))) as u64;
    ((1u64 << SHIFT) / 20..=(1u64 << SHIFT) * 20).contains(&mult).then_some(mult)
}

/// Reads both clocks; of several tries the one that took the fewest ticks.
fn moment() -> Moment {
    let tries = (0..32).map(|_| {
        let before = ticks();
        let raw_ns = monotonic_raw_ns();
        let took = ticks().wrapping_sub(before);
        (took, Moment { ticks: before.wrapping_add(took / 2), raw_ns })
    });
    tries.min_by_key(|found| found.0).map_or(Moment { ticks: 0, raw_ns: 0 }, |found| found.1)
}

/// Intel SDM volume 3, section 18.17.1: CPUID 0x80000007, EDX bit 8.
fn is_invariant() -> bool {
    const LEAF: u32 = 0x8000_0007;
    let (highest, power) = (__cpuid(0x8000_0000), __cpuid(LEAF));
    highest.eax >= LEAF && power.edx & (1 << 8) != 0
}

/// The kernel drops "tsc" from its list when its watchdog finds it unstable. A
/// missing list (a container without /sys) leaves the word of the processor.
fn is_trusted_by_kernel() -> bool {
    let list = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    std::fs::read_to_string(list)
        .map_or(true, |names| names.split_whitespace().any(|name| name == "tsc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_exactly() {
        for (hz, seconds) in [(1_000_000_000u64, 10), (2_600_000_000, 1), (4_000_000_000, 86_400)] {
            let mult = multiplier(hz, 1_000_000_000).unwrap();
            let exact_ns = seconds * 1_000_000_000;
            let error_ns = scale(hz * seconds, mult).abs_diff(exact_ns);
            assert!(error_ns * 100_000_000 <= exact_ns, "{hz} Hz: {error_ns} ns");
        }
    }

    #[test]
    fn an_absurd_frequency_is_refused() {
        assert_eq!(multiplier(0, 1_000_000), None);
        assert_eq!(multiplier(1 << 50, 1_000_000), None);
    }
}
