//! Where an axis has ticks and what is written at them: powers of two for bytes, 1-2-5 for the
//! rest, decades on logarithmic axes, whole numbers for things that are counted.

use super::number::{plain, short, suited, value_text};
use super::scale::Scale;
use crate::chart::{Axis, Unit};

/// A position from 0 to 1 and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// What.
    pub text: String,
}

/// An axis ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// Title with the unit of the numbers.
    pub title: String,
    /// In ascending order.
    pub ticks: Vec<Tick>,
}

/// Ticks of an axis, about `wanted` of them, never more than twice as many.
pub fn ticks(axis: &Axis, scale: &Scale, wanted: usize) -> Ticks {
    let wanted = wanted.max(2);
    match scale.log {
        true => logarithmic(axis, scale, wanted),
        false => linear(axis, scale, wanted),
    }
}

/// Extends the upper end of a linear scale to its next tick.
pub fn rounded_up(axis: &Axis, scale: &Scale, wanted: usize) -> Scale {
    let mut scale = *scale;
    if scale.log {
        return scale;
    }
    // A longer axis may have wider steps, whose next tick lies still higher.
    for _ in 0..3 {
        let (_, step) = step(axis, &scale, wanted.max(2));
        let hi = (scale.hi / step - 1e-9).ceil() * step;
        if hi.is_finite() && hi > scale.hi {
            scale.hi = hi;
        }
    }
    scale
}

fn linear(axis: &Axis, scale: &Scale, wanted: usize) -> Ticks {
    let (shown, step) = step(axis, scale, wanted);
    let decimals = decimals(step / shown.size);
    let first = (scale.lo / step - 1e-9).ceil();
    let values = (0..=2 * wanted).map(|n| (first + n as f64) * step);
    let inside = values.take_while(|value| *value <= scale.hi + step * 1e-6);
    let ticks = inside.filter_map(|value| {
        Some(Tick { at: scale.place(value)?, text: plain(value / shown.size, decimals) })
    });
    Ticks { title: title(axis, shown.name), ticks: ticks.collect() }
}

/// The unit of the axis and the distance of its ticks, in the base unit.
fn step(axis: &Axis, scale: &Scale, wanted: usize) -> (super::number::Shown, f64) {
    let shown = suited(axis.unit, scale.lo.abs().max(scale.hi.abs()));
    let rough = (scale.hi - scale.lo) / wanted as f64;
    let step = match axis.unit {
        Unit::Bytes if rough >= 1.0 => 2f64.powf((rough.log2() - 1e-9).ceil()),
        Unit::Bytes | Unit::Count | Unit::Rank => nice(rough).max(1.0),
        _ => nice(rough / shown.size) * shown.size,
    };
    (shown, step)
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `rough`.
fn nice(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Decimals that tell neighbours at this distance apart.
fn decimals(step: f64) -> usize {
    let exact = (0..=6).find(|places| {
        let scaled = step * 10f64.powi(*places);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    });
    exact.unwrap_or(6) as usize
}

fn logarithmic(axis: &Axis, scale: &Scale, wanted: usize) -> Ticks {
    let values = if matches!(axis.unit, Unit::Bytes | Unit::MibPerSecond) {
        powers_of_two(scale, wanted)
    } else {
        decades(scale, wanted)
    };
    let has_unit_in_text = !matches!(axis.unit, Unit::Count | Unit::Rank | Unit::None);
    let ticks = values.into_iter().filter_map(|value| {
        let text = if has_unit_in_text { value_text(value, axis.unit) } else { short(value) };
        Some(Tick { at: scale.place(value)?, text })
    });
    Ticks { title: title(axis, ""), ticks: ticks.collect() }
}

/// 2^k at equal distances, of those that come back to whole units soon.
fn powers_of_two(scale: &Scale, wanted: usize) -> Vec<f64> {
    let (lo, hi) = (scale.lo.log2() - 1e-9, scale.hi.log2() + 1e-9);
    let rough = (hi - lo) / wanted as f64;
    let distances = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
    let distance = distances.into_iter().find(|d| *d >= rough).unwrap_or(1000.0);
    let first = (lo / distance).ceil() * distance;
    let powers = (0..=2 * wanted).map(|n| first + n as f64 * distance);
    powers.take_while(|power| *power <= hi).map(f64::exp2).collect()
}

/// 10^k, every one or every few; with 2 and 5 between them where there is room.
fn decades(scale: &Scale, wanted: usize) -> Vec<f64> {
    let (lo, hi) = (scale.lo.log10() - 1e-9, scale.hi.log10() + 1e-9);
    let factors: &[f64] = match (hi - lo) * 3.0 <= wanted as f64 {
        true => &[1.0, 2.0, 5.0],
        false => &[1.0],
    };
    let distance = ((hi - lo) / wanted as f64).ceil().max(1.0);
    let first = if distance > 1.0 { lo.ceil() } else { lo.floor() };
    let mut values = Vec::new();
    for power in (0..=2 * wanted).map(|n| first + n as f64 * distance) {
        values.extend(factors.iter().map(|factor| factor * 10f64.powf(power)));
    }
    values.retain(|value| (lo..=hi).contains(&value.log10()));
    // Within one factor of ten there may be none.
    if values.len() < 2 { vec![scale.lo, scale.hi] } else { values }
}

/// `bandwidth (MiB/s)`.
fn title(axis: &Axis, unit: &str) -> String {
    match (axis.title.is_empty(), unit.is_empty()) {
        (true, _) => unit.to_string(),
        (false, true) => axis.title.clone(),
        (false, false) => format!("{} ({unit})", axis.title),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(unit: Unit, log: bool, lo: f64, hi: f64) -> String {
        let axis = Axis { title: "x".into(), unit, log };
        let scale = Scale::over([lo, hi].into_iter(), log, false);
        let ticks = ticks(&axis, &scale, 5);
        let texts: Vec<String> = ticks.ticks.into_iter().map(|tick| tick.text).collect();
        format!("{}: {}", ticks.title, texts.join(" | "))
    }

    #[test]
    fn ticks_are_round_in_their_unit() {
        for (unit, log, lo, hi, expected) in [
            (Unit::Bytes, false, 0.0, 5e6, "x (MiB): 0 | 1 | 2 | 3 | 4"),
            (Unit::Bytes, false, 0.0, 3e6, "x (MiB): 0 | 1 | 2"),
            (Unit::Bytes, true, 4096.0, 1048576.0, "x: 4 KiB | 16 KiB | 64 KiB | 256 KiB | 1 MiB"),
            (Unit::Nanoseconds, false, 0.0, 1.26e9, "x (s): 0.0 | 0.5 | 1.0"),
            (Unit::Nanoseconds, true, 1e3, 1e9, "x: 1 µs | 100 µs | 10 ms | 1 s"),
            (Unit::Nanoseconds, true, 1.5e3, 1.2e4, "x: 2 µs | 5 µs | 10 µs"),
            (Unit::Nanoseconds, true, 1.5e3, 1.9e3, "x: 1.5 µs | 1.9 µs"),
            (Unit::MibPerSecond, false, 0.0, 480.0, "x (MiB/s): 0 | 100 | 200 | 300 | 400"),
            (
                Unit::MibPerSecond,
                true,
                16.0,
                4096.0,
                "x: 16 MiB/s | 64 MiB/s | 256 MiB/s | 1 GiB/s | 4 GiB/s",
            ),
            (Unit::PerSecond, true, 1e2, 1e5, "x: 100 op/s | 1 kop/s | 10 kop/s | 100 kop/s"),
            (Unit::Share, false, 0.0, 1.0, "x (%): 0 | 20 | 40 | 60 | 80 | 100"),
            (Unit::Rank, false, 0.0, 3.0, "x: 0 | 1 | 2 | 3"),
            (Unit::Count, false, 0.0, 250_000.0, "x (thousand): 0 | 50 | 100 | 150 | 200 | 250"),
            (Unit::None, false, -3.0, 3.0, "x: -2 | 0 | 2"),
        ] {
            assert_eq!(drawn(unit, log, lo, hi), expected);
        }
    }

    #[test]
    fn the_upper_end_becomes_round() {
        let axis = Axis { title: String::new(), unit: Unit::MibPerSecond, log: false };
        for (lo, hi, expected) in [(0.0, 423.0, 500.0), (-5.0, 237.0, 300.0), (0.0, 500.0, 500.0)] {
            assert_eq!(rounded_up(&axis, &Scale { lo, hi, log: false }, 5).hi, expected);
        }
    }

    proptest! {
        #[test]
        fn any_range_has_some_ticks_in_order(lo: f64, hi: f64, log: bool, unit in 0usize..8) {
            let units = [Unit::Bytes, Unit::MibPerSecond, Unit::Nanoseconds, Unit::PerSecond,
                Unit::Count, Unit::Share, Unit::Rank, Unit::None];
            let axis = Axis { title: "x".into(), unit: units[unit], log };
            let scale = Scale::over([lo, hi].into_iter(), log, false);
            let ticks = ticks(&axis, &scale, 5).ticks;
            prop_assert!(ticks.len() <= 33, "{}", ticks.len());
            prop_assert!(ticks.windows(2).all(|pair| pair[0].at <= pair[1].at));
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)));
            let scale = rounded_up(&axis, &scale, 5);
            prop_assert!(scale.hi.is_finite());
        }
    }
}
