//! How many bytes a call of fio moves: one size, or several by chance.
//!
//! ```text
//! bssplit=4k/10:64k/50:32k/40      mix { 10: $n = 4k; 50: $n = 64k; 40: $n = 32k; }
//! ```

use crate::foreign::options::size;
use crate::foreign::page::bytes;

/// More sizes than this are not translated.
const MAX_SIZES: usize = 64;

/// Sizes and how many of a hundred calls have each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes(Vec<(u64, u64)>);

impl Sizes {
    /// All calls are of this size.
    pub(super) fn one(bytes: u64) -> Sizes {
        Sizes(vec![(bytes, 100)])
    }

    /// Of reads and writes: `bs=4k` and `bs=4k,64k`.
    pub(super) fn of_blocks(text: &str) -> Option<[Sizes; 2]> {
        both(text, |part| Some(Sizes::one(size(part).filter(|bytes| *bytes > 0)?)))
    }

    /// Of reads and writes: `bssplit=4k/10:64k/90` and `bssplit=4k/10:64k/90,8k/100`.
    pub(super) fn of_split(text: &str) -> Option<[Sizes; 2]> {
        both(text, split)
    }

    pub(super) fn smallest(&self) -> u64 {
        self.0.iter().map(|part| part.0).min().unwrap_or(1)
    }

    pub(super) fn largest(&self) -> u64 {
        self.0.iter().map(|part| part.0).max().unwrap_or(1)
    }

    /// Bytes of a call in the mean.
    pub(super) fn mean(&self) -> u64 {
        let (sum, parts) = self.0.iter().fold((0u128, 0u128), |(sum, parts), (bytes, part)| {
            (sum + u128::from(*bytes) * u128::from(*part), parts + u128::from(*part))
        });
        (sum / parts.max(1)).max(1) as u64
    }

    /// The statement that draws a size, if there are several, and the expression that is it.
    pub(super) fn drawn(&self) -> (Option<String>, String) {
        if let [(only, _)] = self.0[..] {
            return (None, bytes(only));
        }
        let rows = self.0.iter().map(|(size, part)| format!("{part}: $n = {};", bytes(*size)));
        (Some(format!("mix {{ {} }}", rows.collect::<Vec<_>>().join(" "))), "$n".to_string())
    }
}

/// The first for reads, the second for writes; without one the first holds for both. A third is for trims.
fn both(text: &str, of: impl Fn(&str) -> Option<Sizes>) -> Option<[Sizes; 2]> {
    let mut parts = text.split(',').map(str::trim);
    let first = of(parts.next()?)?;
    let second = match parts.next() {
        None | Some("") => first.clone(),
        Some(second) => of(second)?,
    };
    Some([first, second])
}

/// `4k/10:64k/:32k/40`: those without a number share the rest.
fn split(text: &str) -> Option<Sizes> {
    let mut found: Vec<(u64, Option<u64>)> = Vec::new();
    for part in text.split(':') {
        let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim() {
            "" => None,
            percent => Some(percent.parse::<u64>().ok()?),
        };
        found.push((size(bytes.trim()).filter(|bytes| *bytes > 0)?, percent));
    }
    let known: u64 =
        found.iter().try_fold(0u64, |sum, part| sum.checked_add(part.1.unwrap_or(0)))?;
    let open = found.iter().filter(|part| part.1.is_none()).count() as u64;
    let rest = 100u64.checked_sub(known)? / open.max(1);
    let sizes = found.into_iter().map(|(bytes, percent)| (bytes, percent.unwrap_or(rest)));
    let sizes: Vec<(u64, u64)> = sizes.filter(|part| part.1 > 0).collect();
    (!sizes.is_empty() && sizes.len() <= MAX_SIZES).then_some(Sizes(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_without_a_number_share_the_rest() {
        assert_eq!(
            split("4k/10:64k/:32k/40"),
            Some(Sizes(vec![(4096, 10), (65536, 50), (32768, 40)]))
        );
        assert_eq!(split("4k:8k"), Some(Sizes(vec![(4096, 50), (8192, 50)])));
        assert_eq!((split("4k/60:8k/60"), split("4k/x"), split("0/100")), (None, None, None));
        assert_eq!(split("4k/25:8k/75").map(|sizes| sizes.mean()), Some(7168));
        let [reads, writes] = Sizes::of_split("4k/100,8k/50:16k/50").expect("both");
        assert_eq!((reads, writes.smallest(), writes.largest()), (Sizes::one(4096), 8192, 16384));
        assert_eq!(Sizes::of_blocks("4k,64k"), Some([Sizes::one(4096), Sizes::one(65536)]));
    }
}
