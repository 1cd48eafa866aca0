//! Values to places: any finite numbers in, 0 to 1 out.

use report::chart::{Axis, Unit};
use report::text::grouped;

/// Larger numbers are drawn at this one: differences of two stay finite.
const LIMIT: f64 = 1e300;

/// A range of values on an axis. `lo < hi`, both finite; above 0 if logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at the left or lower end.
    pub lo: f64,
    /// The value at the right or upper end.
    pub hi: f64,
    /// Logarithmic.
    pub log: bool,
}

impl Scale {
    /// The range of the values that fit the axis, widened if they are all the same.
    /// With `from_zero` a linear axis of values that are not negative starts at 0.
    pub fn over(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Scale {
        let usable = values.filter_map(|value| usable(value, log));
        let (mut lo, mut hi) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        if lo > hi {
            (lo, hi) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if from_zero && !log && lo > 0.0 {
            lo = 0.0;
        }
        if log { log_range(lo, hi) } else { linear_range(lo, hi) }
    }

    /// Position of a value; values outside are at the ends. `None`: not on this axis.
    pub fn place(&self, value: f64) -> Option<f64> {
        let value = usable(value, self.log)?;
        let part = match self.log {
            true => (value.ln() - self.lo.ln()) / (self.hi.ln() - self.lo.ln()),
            false => (value - self.lo) / (self.hi - self.lo),
        };
        Some(if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 })
    }
}

/// The value as it can be drawn.
fn usable(value: f64, log: bool) -> Option<f64> {
    (!value.is_nan() && (!log || value > 0.0))
        .then(|| if log { value.clamp(1.0 / LIMIT, LIMIT) } else { value.clamp(-LIMIT, LIMIT) })
}

fn linear_range(lo: f64, hi: f64) -> Scale {
    let size = lo.abs().max(hi.abs());
    let (lo, hi) = match hi - lo {
        _ if size < 1.0 / LIMIT => (0.0, 1.0),
        // Nearer to one another than their digits tell.
        span if span > size * 1e-12 => (lo, hi),
        _ => (lo - size * 0.5, hi + size * 0.5),
    };
    Scale { lo, hi, log: false }
}

fn log_range(lo: f64, hi: f64) -> Scale {
    let (lo, hi) = if hi / lo > 1.0 + 1e-9 { (lo, hi) } else { (lo / 2.0, hi * 2.0) };
    Scale { lo, hi, log: true }
}

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

fn linear(axis: &Axis, scale: &Scale, wanted: usize) -> Ticks {
    let ((name, size), step) = step(axis, scale, wanted);
    let decimals = decimals(step / size);
    let first = (scale.lo / step - 1e-9).ceil();
    let values = (0..=2 * wanted).map(|n| (first + n as f64) * step);
    let inside = values.take_while(|value| *value <= scale.hi + step * 1e-6);
    let ticks = inside.filter_map(|value| {
        Some(Tick { at: scale.place(value)?, text: plain(value / size, decimals) })
    });
    Ticks { title: title(axis, name), ticks: ticks.collect() }
}

/// The unit of the axis and the distance of its ticks, in the base unit.
fn step(axis: &Axis, scale: &Scale, wanted: usize) -> ((&'static str, f64), f64) {
    let unit = suited(axis.unit, scale.lo.abs().max(scale.hi.abs()));
    let rough = (scale.hi - scale.lo) / wanted as f64;
    let step = match axis.unit {
        Unit::Bytes if rough >= 1.0 => 2f64.powf((rough.log2() - 1e-9).ceil()),
        Unit::Bytes | Unit::Count | Unit::Rank => nice(rough).max(1.0),
        _ => nice(rough / unit.1) * unit.1,
    };
    (unit, step)
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

/// The unit for numbers up to `largest`, and how much of the base unit it is; "" for none.
fn suited(unit: Unit, largest: f64) -> (&'static str, f64) {
    match (unit.measure(), unit) {
        (Some(measure), _) => measure.unit(largest * (1.0 + 1e-9)),
        (None, Unit::Share) => ("%", 0.01),
        _ => ("", 1.0),
    }
}

/// A number with fixed decimals, its thousands grouped; powers of ten where that would be long.
fn plain(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e9 || (value != 0.0 && value.abs() < 1e-6) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let text = format!("{value:.decimals$}");
    let text = if text.trim_start_matches('-').bytes().all(|b| matches!(b, b'0' | b'.')) {
        text.trim_start_matches('-').to_string()
    } else {
        text
    };
    grouped(text)
}

/// A number with three significant digits, zeros at its end left out.
pub fn short(value: f64) -> String {
    let whole_digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let text = plain(value, (2 - whole_digits).clamp(0, 8) as usize);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A value with its unit, three significant digits: `4 KiB`, `1.25 ms`, `35.5 MiB/s`, `12 %`.
pub(crate) fn value_text(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let (name, size) = suited(unit, value);
    match unit {
        Unit::Count | Unit::Rank if value.fract() == 0.0 => plain(value, 0),
        _ => format!("{} {name}", short(value / size)).trim_end().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_hold_their_values() {
        for (values, log, from_zero, lo, hi) in [
            (vec![], false, false, 0.0, 1.0),
            (vec![], true, false, 1.0, 10.0),
            (vec![0.0, 0.0], false, true, 0.0, 1.0),
            (vec![4.0, 8.0], false, true, 0.0, 8.0),
            (vec![4.0, 8.0], false, false, 4.0, 8.0),
            (vec![-4.0, 8.0], false, true, -4.0, 8.0),
            (vec![8.0], false, false, 4.0, 12.0),
            (vec![8.0], true, true, 4.0, 16.0),
            (vec![0.0, -1.0, 8.0, 16.0], true, true, 8.0, 16.0),
            (vec![f64::NAN, f64::INFINITY], false, true, 0.0, LIMIT),
        ] {
            let scale = Scale::over(values.iter().copied(), log, from_zero);
            assert_eq!(scale, Scale { lo, hi, log }, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn any_value_has_a_place_or_none(
            values in prop::collection::vec(any::<f64>(), 0..20), log: bool, zero: bool,
        ) {
            let scale = Scale::over(values.iter().copied(), log, zero);
            prop_assert!(scale.lo < scale.hi && scale.lo.is_finite() && scale.hi.is_finite());
            for value in values {
                let place = scale.place(value);
                prop_assert_eq!(place.is_none(), value.is_nan() || log && value <= 0.0);
                prop_assert!(place.is_none_or(|place| (0.0..=1.0).contains(&place)));
            }
        }
    }

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
            (
                Unit::Count,
                false,
                0.0,
                250_000.0,
                "x: 0 | 50,000 | 100,000 | 150,000 | 200,000 | 250,000",
            ),
            (Unit::None, false, -3.0, 3.0, "x: -2 | 0 | 2"),
        ] {
            assert_eq!(drawn(unit, log, lo, hi), expected);
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
        }
    }

    #[test]
    fn values_are_short_and_have_units() {
        for (value, unit, text) in [
            (4096.0, Unit::Bytes, "4 KiB"),
            (1.5 * 1048576.0, Unit::Bytes, "1.5 MiB"),
            (0.0, Unit::Bytes, "0 B"),
            (1_250_000.0, Unit::Nanoseconds, "1.25 ms"),
            (999.0, Unit::Nanoseconds, "999 ns"),
            (35.512, Unit::MibPerSecond, "35.5 MiB/s"),
            (1023.0, Unit::MibPerSecond, "1,023 MiB/s"),
            (4608.0, Unit::MibPerSecond, "4.5 GiB/s"),
            (0.5, Unit::MibPerSecond, "512 KiB/s"),
            (0.123, Unit::Share, "12.3 %"),
            (1_234_567.0, Unit::Count, "1,234,567"),
            (7.0, Unit::Rank, "7"),
            (250_000.0, Unit::PerSecond, "250 kop/s"),
            (1e300, Unit::None, "1e300"),
            (-0.0, Unit::None, "0"),
            (f64::NAN, Unit::None, "-"),
        ] {
            assert_eq!(value_text(value, unit), text, "{value} {unit:?}");
        }
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(plain(1234.0, 0), "1,234");
        assert_eq!(plain(-12345.67, 1), "-12,345.7");
        assert_eq!(plain(-0.001, 1), "0.0");
        assert_eq!(plain(2e12, 0), "2e12");
    }
}
