//! An amount over time, in columns that become wider as time goes on.

/// Columns at most.
const COLUMNS: usize = 2048;

/// Amounts by time from 0 on.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    width_ns: u64,
    amounts: Vec<f64>,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width_ns: 1, amounts: Vec::new() }
    }
}

impl Bins {
    /// Spreads an amount evenly from `start` to `end`.
    pub fn add(&mut self, start: u64, end: u64, amount: f64) {
        while end / self.width_ns >= COLUMNS as u64 {
            self.widen();
        }
        let (first, last) = ((start / self.width_ns) as usize, (end / self.width_ns) as usize);
        if last >= self.amounts.len() {
            self.amounts.resize(last + 1, 0.0);
        }
        if first == last {
            self.amounts[first] += amount;
            return;
        }
        for at in first..=last {
            let (low, high) = (at as u64 * self.width_ns, (at as u64 + 1) * self.width_ns);
            let inside = end.min(high) - start.max(low);
            self.amounts[at] += amount * inside as f64 / (end - start) as f64;
        }
    }

    /// All amounts.
    pub fn total(&self) -> f64 {
        self.amounts.iter().sum()
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        self.amounts = self.amounts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// Amounts per nanosecond in so many equal columns from `start` to `end`.
    pub fn rates(&self, start: u64, end: u64, columns: usize) -> Vec<f64> {
        let width = (end - start) as f64 / columns as f64;
        let edge = |at: usize| start as f64 + at as f64 * width;
        let rate = |at: usize| match width > 0.0 {
            true => (self.until(edge(at + 1)) - self.until(edge(at))) / width,
            false => 0.0,
        };
        (0..columns).map(rate).collect()
    }

    /// All up to a time.
    fn until(&self, ns: f64) -> f64 {
        let at = ns / self.width_ns as f64;
        let whole = (at as usize).min(self.amounts.len());
        let part = self.amounts.get(whole).map_or(0.0, |amount| amount * (at - whole as f64));
        self.amounts[..whole].iter().sum::<f64>() + part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_kept_however_wide_columns_become() {
        let mut bins = Bins::default();
        bins.add(0, 4_000, 40.0);
        assert!(bins.rates(0, 4_000, 4).iter().all(|rate| (rate - 0.01).abs() < 1e-9));
        bins.add(10_000_000_000, 10_000_000_000, 2.0);
        assert!(bins.amounts.len() <= COLUMNS);
        assert!((bins.until(1e11) - 42.0).abs() < 1e-9);
        assert_eq!(bins.rates(5, 5, 2), [0.0; 2]);
    }
}
