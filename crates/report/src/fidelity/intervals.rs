//! The union of many intervals of time in bounded memory.

/// Intervals that are kept apart.
const MOST: usize = 1 << 14;

/// Intervals, joined where they meet. Of more than [`MOST`] the closest are joined, too.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    joined: Vec<(u64, u64)>,
    new: Vec<(u64, u64)>,
}

impl Intervals {
    /// Adds an interval.
    pub fn add(&mut self, start: u64, end: u64) {
        self.new.push((start, end.max(start)));
        if self.new.len() >= MOST {
            self.join();
        }
    }

    fn join(&mut self) {
        self.joined.append(&mut self.new);
        self.joined = joined(std::mem::take(&mut self.joined), 0);
        if self.joined.len() > MOST {
            let mut gaps: Vec<u64> =
                self.joined.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
            let far = gaps.len() - MOST / 2;
            let close = *gaps.select_nth_unstable(far).1;
            self.joined = joined(std::mem::take(&mut self.joined), close);
        }
    }

    /// All of them, in order and apart.
    pub fn all(&self) -> Vec<(u64, u64)> {
        let mut all = self.clone();
        all.join();
        all.joined
    }

    /// Length of the union.
    pub fn length(&self) -> u64 {
        self.all().iter().map(|(start, end)| end - start).sum()
    }

    /// First start and last end; 0 without any.
    pub fn span(&self) -> (u64, u64) {
        let all = self.all();
        (all.first().map_or(0, |first| first.0), all.last().map_or(0, |last| last.1))
    }
}

/// The same with gaps up to `close` filled.
fn joined(mut all: Vec<(u64, u64)>, close: u64) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match out.last_mut() {
            Some(last) if start <= last.1.saturating_add(close) => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_have_their_length() {
        let mut times = Intervals::default();
        for (start, end) in [(10, 20), (5, 12), (30, 40), (40, 41), (33, 35)] {
            times.add(start, end);
        }
        assert_eq!(times.all(), [(5, 20), (30, 41)]);
        assert_eq!((times.length(), times.span()), (26, (5, 41)));
        assert_eq!(Intervals::default().length(), 0);
    }

    #[test]
    fn many_intervals_stay_few() {
        let mut times = Intervals::default();
        (0..20 * MOST as u64).for_each(|at| times.add(100 * at, 100 * at + 50));
        assert!(times.joined.len() + times.new.len() <= 2 * MOST);
        assert_eq!(times.span(), (0, 100 * (20 * MOST as u64) - 50));
    }
}
