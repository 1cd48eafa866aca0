//! Values to places: any finite numbers in, 0 to 1 out.

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
}
