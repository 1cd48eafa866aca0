//! Which blocks of a file random calls of fio go to.
//!
//! ```text
//! random_distribution=zipf:1.2      perm(zipf($count, 1.2), $count)      few blocks are asked for often
//! ```
//!
//! fio spreads what its distributions give over the file by a hash, unless a centre is named; a
//! permutation does that here.

/// A distribution of blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Places {
    Even,
    /// The exponent.
    Zipf(f64),
    /// The deviation as a part of the file, and the place of the centre.
    Normal(f64, Option<f64>),
    /// Parts of the file: how many of a hundred calls go there, and how many hundredths it has.
    Zones(Vec<(u64, u64)>),
}

impl Places {
    /// `random`, `zipf:1.2`, `normal:20` or `normal:20:0.3`, `zoned:60/10:40/90`.
    pub(super) fn of(text: &str) -> Option<Places> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "random" => Some(Places::Even),
            "zipf" if rest.is_empty() => Some(Places::Zipf(1.1)),
            "zipf" => number(rest).filter(|theta| *theta > 0.0).map(Places::Zipf),
            "normal" => normal(rest),
            "zoned" => zones(rest),
            _ => None,
        }
    }

    /// Calls go to places by chance, so that some may be met again and others never.
    pub(super) fn repeats(&self) -> bool {
        *self != Places::Even
    }

    /// The statements before, and the number of the block from 0 to below `$count`.
    pub(super) fn block(&self) -> (Vec<String>, String) {
        match self {
            Places::Even => (Vec::new(), "rand(0, $count - 1)".into()),
            Places::Zipf(theta) => (Vec::new(), format!("perm(zipf($count, {theta:?}), $count)")),
            Places::Normal(deviation, centre) => {
                let middle = centre.unwrap_or(0.5);
                let drawn = format!("normal($count * {middle:?}, $count * {deviation:.4})");
                let line = format!("$k = min(max(int({drawn}), 0), $count - 1);");
                let block = if centre.is_some() { "$k" } else { "perm($k, $count)" };
                (vec![line], block.into())
            }
            Places::Zones(zones) => {
                let mut from = 0;
                let rows = zones.iter().map(|(calls, part)| {
                    let first = format!("$count * {from} / 100");
                    from += part;
                    format!("{calls}: $k = rand({first}, $count * {from} / 100 - 1);")
                });
                let rows: Vec<String> = rows.collect();
                (vec![format!("mix {{ {} }}", rows.join(" "))], "$k".into())
            }
        }
    }

    /// Each zone of a file of so many blocks has one.
    pub(super) fn fits(&self, blocks: u64) -> bool {
        let Places::Zones(zones) = self else { return true };
        let mut from = 0;
        zones.iter().all(|(_, part)| {
            let first = blocks * from / 100;
            from += part;
            blocks * from / 100 > first
        })
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// fio takes the mean of twelve numbers of the whole range, and adds one of as much as the deviation says,
/// at most half the range: that has this deviation.
fn normal(text: &str) -> Option<Places> {
    let (percent, centre) = match text.split_once(':') {
        Some((percent, centre)) => (percent, Some(number(centre).filter(|at| *at <= 1.0)?)),
        None => (text, None),
    };
    let added = (number(percent).filter(|percent| *percent <= 100.0)? / 100.0).min(0.5);
    Some(Places::Normal((1.0 / 144.0 + added * added / 12.0).sqrt(), centre))
}

/// The same zones for reads and writes.
fn zones(text: &str) -> Option<Places> {
    let zones = text.split(':').map(|zone| {
        let (calls, part) = zone.split_once('/')?;
        Some((calls.trim().parse::<u64>().ok()?, part.trim().parse::<u64>().ok()?))
    });
    let zones: Vec<(u64, u64)> = zones.collect::<Option<_>>()?;
    let sum = |of: fn(&(u64, u64)) -> u64| zones.iter().map(of).fold(0, u64::saturating_add);
    let whole = sum(|zone| zone.0) == 100 && sum(|zone| zone.1) == 100;
    let used: Vec<(u64, u64)> = zones.iter().copied().filter(|zone| zone.1 > 0).collect();
    (whole && used.iter().all(|zone| zone.0 > 0)).then_some(Places::Zones(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_told_by_name() {
        assert_eq!(Places::of("random"), Some(Places::Even));
        assert_eq!(Places::of("zipf:1.2"), Some(Places::Zipf(1.2)));
        for unknown in
            ["pareto:0.2", "zipf:x", "zipf:0", "normal:200", "zoned:50/50:40/50", "zoned_abs:60/1g"]
        {
            assert_eq!(Places::of(unknown), None, "{unknown}");
        }
        let Some(Places::Normal(deviation, centre)) = Places::of("normal:10:0.3") else { panic!() };
        assert!(
            (deviation - 0.0882).abs() < 0.0001 && centre == Some(0.3),
            "{deviation} {centre:?}"
        );
    }

    #[test]
    fn zones_have_a_block_each() {
        let zones = Places::of("zoned:60/10:30/20:10/70").expect("zones");
        assert!(zones.fits(10) && !zones.fits(8));
        assert!(
            zones.block().0[0].contains("30: $k = rand($count * 10 / 100, $count * 30 / 100 - 1);")
        );
    }
}
