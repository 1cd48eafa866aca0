//! A measured figure and its line in the table.
//!
//! ```text
//! | pread 4 KiB | 512 ns | 548 ns | 0.934 (0.92 - 0.95) | >= 0.90 |
//! ```

use std::fmt;

/// Head of the table, in Markdown.
pub const HEAD: &str = "\
| figure | raw | Parabench | result | goal |
|---|---:|---:|---:|---:|";

/// What a figure shall be.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// Not smaller than this.
    AtLeast(f64),
    /// Not larger than this.
    AtMost(f64),
    /// There is none: for information.
    None,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The raw loop, with unit; "" without one.
    pub raw: String,
    /// Parabench, with unit.
    pub product: String,
    /// The figure that has a goal.
    pub result: f64,
    /// Smallest and largest of it.
    pub range: Option<(f64, f64)>,
    /// Its unit; "" for a ratio.
    pub unit: &'static str,
    /// What it shall be.
    pub goal: Goal,
}

impl Figure {
    /// One without a raw loop beside it: the median of some runs.
    pub fn measured(name: &str, values: &[f64], unit: &'static str, goal: Goal) -> Figure {
        Figure {
            name: name.into(),
            raw: String::new(),
            product: format!("{}{unit}", three(median(values))),
            result: median(values),
            range: Some(range(values)),
            unit,
            goal,
        }
    }
}

impl Goal {
    /// The result is not as it shall be.
    fn missed(self, result: f64) -> bool {
        match self {
            Goal::AtLeast(goal) => result < goal,
            Goal::AtMost(goal) => result > goal,
            Goal::None => false,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        write!(
            f,
            "| {} | {} | {} | {}{unit}",
            self.name,
            self.raw,
            self.product,
            three(self.result)
        )?;
        if let Some((low, high)) = self.range {
            write!(f, " ({} - {})", three(low), three(high))?;
        }
        match self.goal {
            Goal::AtLeast(goal) => write!(f, " | >= {}{unit}", three(goal))?,
            Goal::AtMost(goal) => write!(f, " | <= {}{unit}", three(goal))?,
            Goal::None => write!(f, " | ")?,
        }
        f.write_str(if self.goal.missed(self.result) { " **missed** |" } else { " |" })
    }
}

/// About three digits.
pub fn three(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The middle one; the mean of the two middle ones.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// A quarter of the values are not larger. What disturbs a loop only makes it slower, so this
/// tells more about the loop and less about the machine's other work than the median does.
pub fn lower_quartile(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 4).copied().unwrap_or(f64::NAN)
}

/// Smallest and largest.
pub fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_quarter_is_below_the_quartile() {
        assert_eq!(lower_quartile(&[5.0, 1.0, 4.0, 2.0, 3.0]), 2.0);
        assert_eq!(lower_quartile(&[7.0]), 7.0);
        assert!(lower_quartile(&[]).is_nan());
    }

    #[test]
    fn a_missed_goal_is_said() {
        let figure = Figure {
            name: "pread".into(),
            raw: "500 ns".into(),
            product: "600 ns".into(),
            result: 0.833,
            range: Some((0.8, 0.9)),
            unit: "",
            goal: Goal::AtLeast(0.9),
        };
        let line = figure.to_string();
        assert_eq!(
            line,
            "| pread | 500 ns | 600 ns | 0.833 (0.800 - 0.900) | >= 0.900 **missed** |"
        );
    }
}
