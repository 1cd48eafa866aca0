//! Lists that follow a rule: what repeats is written once, what grows evenly not at all.
//!
//! ```text
//! [0, 0, 0, 7, 7, 7, 3, 3, 3][$i]      $list[$i / 3]      list = [0, 7, 3]
//! [7, 3, 4, 7, 3, 4, 7][$i]            $list[$i % 3]      list = [7, 3, 4]
//! [0, 0, 3, 3, 5, 5, 0, 0, ...][$i]    $list[($i / 2) % 3]
//! [0, 0, 8, 8, 16, 16, 24, 24][$i]     ($i / 2) * 8
//! if ([0, 0, 1, 0, 0, 1][$i] == 1)     if ($i % 3 == 2)
//! ```

/// A list, and the place of a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regular {
    /// The values that are left.
    pub values: Vec<i64>,
    /// An expression.
    pub place: String,
}

impl Regular {
    /// The shortest list that has the value at every place. `place`: an expression.
    fn new(values: Vec<i64>, place: &str) -> Regular {
        let mut list = Regular { values, place: place.to_string() };
        while list.shorten() {}
        list
    }

    fn shorten(&mut self) -> bool {
        if let Some(run) = runs(&self.values) {
            self.values = self.values.iter().step_by(run).copied().collect();
            self.place = format!("{} / {run}", grouped(&self.place));
            return true;
        }
        let cycle = cycle(&self.values);
        let repeats = cycle > 0 && 2 * cycle <= self.values.len();
        if repeats {
            self.values.truncate(cycle);
            self.place = format!("{} % {cycle}", grouped(&self.place));
        }
        repeats
    }

    /// The first value and the growth from place to place, where it is even over three and more.
    fn even(&self) -> Option<(i64, i64)> {
        match self.values[..] {
            [only] => Some((only, 0)),
            [first, _, _, ..] => Some((first, even_step(&self.values)?)),
            _ => None,
        }
    }
}

/// How the values of a list are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// `constant + place * factor`
    Sum { constant: i64, factor: i64, place: String },
    /// A list.
    List(Regular),
}

impl Written {
    /// The shortest way to write values by place, an expression.
    pub fn shortest(values: Vec<i64>, place: &str) -> Written {
        let list = Regular::new(values, place);
        match list.even() {
            Some((constant, factor)) => {
                Written::Sum { constant, factor, place: grouped(&list.place) }
            }
            None => Written::List(list),
        }
    }
}

/// Condition for the places whose value is 1, if all others are 0; `None` if there is no short one.
pub fn condition(values: &[i64], place: &str) -> Option<String> {
    if values.iter().any(|value| !matches!(value, 0 | 1)) {
        return None;
    }
    let Regular { values, place } = Regular::new(values.to_vec(), place);
    let place_of = |wanted: i64| {
        let mut found = (0..).zip(&values).filter(|(_, value)| **value == wanted);
        found.next().map(|(at, _): (usize, _)| (at, found.next().is_none()))
    };
    let (first, other) = (*values.first()?, *values.last()?);
    let (sign, at) = match (place_of(1)?, place_of(0)?) {
        ((at, true), _) => ("==", at),
        (_, (at, true)) => ("!=", at),
        ((at, _), _) if first == 0 && values[at..].iter().all(|value| *value == other) => {
            (">=", at)
        }
        (_, (at, _)) if first == 1 && values[at..].iter().all(|value| *value == other) => ("<", at),
        _ => return None,
    };
    Some(format!("{place} {sign} {at}"))
}

/// As a factor.
pub fn grouped(shown: &str) -> String {
    let is_whole = !shown.contains(' ') || ungrouped(shown) != shown;
    if is_whole { shown.to_string() } else { format!("({shown})") }
}

/// Without the parentheses that hold all of it.
pub fn ungrouped(shown: &str) -> &str {
    let inner = shown.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(shown)
}

/// Fewest changes that show how long runs are of which the last is cut.
const RUNS_MIN: usize = 3;

/// How many neighbours are always the same, at least 2.
fn runs(values: &[i64]) -> Option<usize> {
    let changes = (1..values.len()).filter(|at| values[*at] != values[at - 1]);
    let changes: Vec<usize> = changes.collect();
    let run = changes.iter().fold(0, |run, at| gcd(run, *at as i64));
    let whole = gcd(run, values.len() as i64);
    let run = if changes.len() >= RUNS_MIN { run } else { whole };
    (run > 1 && !changes.is_empty()).then_some(run as usize)
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.saturating_abs() } else { gcd(b, a % b) }
}

/// How much the values grow, if they grow evenly.
pub fn even_step(values: &[i64]) -> Option<i64> {
    let step = values.get(1)?.checked_sub(values[0])?;
    values.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(step)).then_some(step)
}

/// The length of the shortest beginning that the values repeat (Knuth, Morris, Pratt 1977).
fn cycle(values: &[i64]) -> usize {
    let mut borders = vec![0; values.len()];
    let mut border = 0;
    for at in 1..values.len() {
        while border > 0 && values[at] != values[border] {
            border = borders[border - 1];
        }
        border += usize::from(values[at] == values[border]);
        borders[at] = border;
    }
    values.len() - border
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn even_growth_is_found() {
        assert_eq!((even_step(&[5, 7, 9]), even_step(&[5, 7, 8])), (Some(2), None));
    }

    #[test]
    fn the_shortest_cycle_is_found() {
        for (values, expected) in
            [(&[1, 2, 1, 2, 1][..], 2), (&[1, 1, 1], 1), (&[1, 2, 3], 3), (&[1, 1, 2, 1, 1], 3)]
        {
            assert_eq!(cycle(values), expected, "{values:?}");
        }
    }

    #[test]
    fn what_repeats_is_left_out() {
        for (values, left, place) in [
            (&[0, 0, 0, 7, 7, 7, 3, 3, 3][..], &[0, 7, 3][..], "$i / 3"),
            (&[7, 3, 4, 7, 3, 4, 7], &[7, 3, 4], "$i % 3"),
            (&[0, 0, 8, 8, 0, 0, 8, 8], &[0, 8], "($i / 2) % 2"),
            (&[0, 8, 8, 0, 8, 8, 0], &[0, 8, 8], "$i % 3"),
            (&[0, 0, 0, 1, 0, 0, 0, 1], &[0, 0, 0, 1], "$i % 4"),
            (&[5, 1, 5, 1, 6, 1], &[5, 1, 5, 1, 6, 1], "$i"),
            (&[5, 5, 1, 1, 1], &[5, 5, 1, 1, 1], "$i"),
            (&[4, 4, 1, 1, 7, 7, 3], &[4, 1, 7, 3], "$i / 2"),
            (&[4, 4, 4], &[4], "$i % 1"),
            (&[4], &[4], "$i"),
            (&[], &[], "$i"),
        ] {
            let found = Regular::new(values.to_vec(), "$i");
            assert_eq!((&found.values[..], &found.place[..]), (left, place), "{values:?}");
        }
        let found = Regular::new(vec![1, 1, 3, 3, 5, 5], "$$rank * 2 + $i");
        assert_eq!((found.place.as_str(), found.even()), ("($$rank * 2 + $i) / 2", Some((1, 2))));
        assert_eq!(Regular::new(vec![1, 0, 1, 0], "$i").even(), None);
    }

    #[test]
    fn conditions_are_found() {
        for (values, expected) in [
            (&[0, 0, 1, 0, 0][..], Some("$i == 2")),
            (&[1, 1, 0, 1], Some("$i != 2")),
            (&[0, 0, 1, 0, 0, 1, 0], Some("$i % 3 == 2")),
            (&[0, 0, 1, 1, 1], Some("$i >= 2")),
            (&[1, 1, 1, 0, 0], Some("$i < 3")),
            (&[0, 0, 1, 1, 0, 0, 1, 1], Some("($i / 2) % 2 == 1")),
            (&[0, 0, 0, 1, 0, 1, 0, 1], None),
            (&[0, 0, 0, 1, 0, 1, 0, 1, 0, 0], None),
            (&[0, 1, 1, 0, 1, 0, 0], None),
            (&[1, 1, 1], None),
            (&[1, 0, 2, 2], None),
        ] {
            assert_eq!(condition(values, "$i").as_deref(), expected, "{values:?}");
        }
    }

    /// Evaluates the place.
    fn value(list: &Regular, at: usize) -> i64 {
        let place = list.place.replace(['(', ')'], "");
        let mut words = place.split(' ');
        let mut at = words.next().map_or(0, |_| at);
        while let (Some(sign), Some(number)) = (words.next(), words.next()) {
            let number: usize = number.parse().expect("a number");
            at = match sign {
                "/" => at / number,
                "+" => at + number,
                _ => at % number,
            };
        }
        match list.even() {
            Some((first, step)) => first + step * at as i64,
            None => list.values[at],
        }
    }

    proptest! {
        #[test]
        fn every_value_is_what_it_was(
            values in prop::collection::vec(0i64..3, 1..8), run in 1usize..4, rounds in 1usize..4,
            (before, cut) in (0usize..3, 0usize..3)
        ) {
            let one: Vec<i64> =
                values.iter().flat_map(|value| std::iter::repeat_n(*value, run)).collect();
            let mut all = one.repeat(rounds);
            all.drain(..before.min(all.len() - 1));
            all.truncate((all.len() - cut.min(all.len() - 1)).max(1));
            let list = Regular::new(all.clone(), "$i");
            prop_assert!(list.values.len() <= all.len());
            for (at, expected) in all.iter().enumerate() {
                prop_assert_eq!(value(&list, at), *expected, "{:?} in {:?}", all, list);
            }
        }
    }
}
