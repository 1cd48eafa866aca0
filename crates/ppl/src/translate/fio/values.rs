//! Options of a job of fio whose values have a form of their own: sizes, places, data.
//!
//! ```text
//! bssplit=4k/10:64k/50:32k/40       mix { 10: $n = 4k; 50: $n = 64k; 40: $n = 32k; }
//! random_distribution=zipf:1.2      perm(zipf($count, 1.2), $count)
//! verify=crc32c                     verify=true, and the files are read again
//! buffer_compress_percentage=60     compress=2.5
//! ```
//!
//! fio spreads what its distributions give over the file by a hash, unless a centre is named; a
//! permutation does that here.

use super::given::Given;
use crate::foreign::command::size;
use crate::translate::page::bytes;

/// Bytes of a call if nothing names them.
const BLOCK: u64 = 4096;

/// More sizes than this are not translated.
const MAX_SIZES: usize = 64;

/// Sizes and how many of a hundred calls have each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sizes(Vec<(u64, u64)>);

impl Sizes {
    /// All calls are of this size.
    pub(crate) fn one(bytes: u64) -> Sizes {
        Sizes(vec![(bytes, 100)])
    }

    /// Sizes for reads and writes of a job.
    pub(crate) fn given(given: &Given<'_>) -> [Sizes; 2] {
        let blocks = given.read(&["bs", "blocksize"], Sizes::of_blocks);
        let split = given.read(&["bssplit"], Sizes::of_split);
        split.or(blocks).unwrap_or([BLOCK, BLOCK].map(Sizes::one))
    }

    /// Sizes for reads and writes from `bs=4k`, `bs=4k,64k` or `bs=,64k`.
    pub(crate) fn of_blocks(text: &str) -> Option<[Sizes; 2]> {
        let one = |part: &str| Some(Sizes::one(size(part).filter(|bytes| *bytes > 0)?));
        match text.strip_prefix(',') {
            Some(rest) => Some([Sizes::one(BLOCK), one(rest.split(',').next()?.trim())?]),
            None => read_and_write(text, one),
        }
    }

    /// Sizes for reads and writes from `bssplit=4k/10:64k/90` or `bssplit=4k/10:64k/90,8k/100`.
    pub(crate) fn of_split(text: &str) -> Option<[Sizes; 2]> {
        read_and_write(text, split)
    }

    pub(crate) fn smallest(&self) -> u64 {
        self.0.iter().map(|part| part.0).min().unwrap_or(1)
    }

    pub(crate) fn largest(&self) -> u64 {
        self.0.iter().map(|part| part.0).max().unwrap_or(1)
    }

    /// Bytes of a call in the mean.
    pub(crate) fn mean(&self) -> u64 {
        let (sum, parts) = self.0.iter().fold((0u128, 0u128), |(sum, parts), (bytes, part)| {
            (sum + u128::from(*bytes) * u128::from(*part), parts + u128::from(*part))
        });
        (sum / parts.max(1)).max(1) as u64
    }

    /// The statement that draws a size, if there are several, and the expression that is it.
    pub(crate) fn drawn(&self) -> (Option<String>, String) {
        if let [(only, _)] = self.0[..] {
            return (None, bytes(only));
        }
        let rows = self.0.iter().map(|(size, part)| format!("{part}: $n = {};", bytes(*size)));
        (Some(format!("mix {{ {} }}", rows.collect::<Vec<_>>().join(" "))), "$n".to_string())
    }
}

/// The first for reads, the second for writes; without one the first holds for both. A third is for trims.
fn read_and_write(text: &str, of: impl Fn(&str) -> Option<Sizes>) -> Option<[Sizes; 2]> {
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

/// A distribution of blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
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
    pub(crate) fn of(text: &str) -> Option<Places> {
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
    pub(crate) fn repeats(&self) -> bool {
        *self != Places::Even
    }

    /// The statements before, and the number of the block from 0 to below `$count`.
    pub(crate) fn block(&self) -> (Vec<String>, String) {
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

    /// Each zone has at least one of the file's blocks.
    pub(crate) fn fits(&self, blocks: u64) -> bool {
        let Places::Zones(zones) = self else { return true };
        let mut from = 0;
        zones.iter().all(|(_, part)| {
            let first = blocks * from / 100;
            from += part;
            blocks * from / 100 > first
        })
    }
}

/// Rates of a job.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rates {
    /// Calls per second, reads and writes together.
    pub(crate) sum: Option<u64>,
    /// Per cent of reads, if reads and writes have different rates.
    pub(crate) mix: Option<u64>,
}

impl Rates {
    /// `mean`: bytes of a call.
    pub(crate) fn given(given: &Given<'_>, reads: bool, writes: bool, mean: u64) -> Rates {
        let calls = given.read(&["rate_iops"], |text| both(text, first_size));
        let per_byte = |text: &str| both(text, |part| Some(first_size(part)? / mean));
        let rates = calls.or_else(|| given.read(&["rate"], per_byte)).unwrap_or_default();
        let (first, second) = (rates.first().copied(), rates.get(1).copied());
        let used = [(reads, first), (writes, second.or(first))].into_iter().filter(|of| of.0);
        let sum = used.filter_map(|of| of.1).fold(0, u64::saturating_add);
        // Of two rates each is that of its kind.
        let second = second.filter(|_| reads && writes && sum > 0);
        let mix = second.map(|second| {
            100 - ((second.saturating_mul(100).saturating_add(sum / 2)) / sum).min(100)
        });
        Rates { sum: (sum > 0).then_some(sum), mix }
    }
}

/// Calls per second of `1000` and `2k`, or of `1000,500` for reads and writes; one left out has no limit, for
/// which 0 stands. `None`: it is not understood.
fn both(text: &str, rate: impl Fn(&str) -> Option<u64>) -> Option<Vec<u64>> {
    let number = |text: &str| if text.is_empty() { Some(0) } else { rate(text) };
    let rates: Option<Vec<u64>> = text.split(',').map(|text| number(text.trim())).collect();
    rates.filter(|rates| rates.len() <= 3 && rates.iter().any(|rate| *rate > 0))
}

/// The size in `4k`, or the first of `4k-64k`.
fn first_size(text: &str) -> Option<u64> {
    size(text.split(['-', '/']).next()?.trim())
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

/// The highest ratio that a program can ask for.
const MAX_RATIO: f64 = 100.0;
/// Bytes of a block that `dedup` repeats.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    pub(crate) verify: bool,
    /// Written data is read back at the end.
    pub(crate) reads_back: bool,
    /// Options of `with`.
    shaped: Vec<String>,
}

impl Data {
    /// `get` tells the last value of an option; `blocks`: sizes of calls. Also what has no counterpart.
    pub(crate) fn of<'s>(
        get: impl Fn(&str) -> Option<&'s str>,
        blocks: &[u64],
    ) -> (Data, Vec<String>) {
        let mut left_out = Vec::new();
        let verify = match get("verify") {
            None | Some("0" | "none" | "null") => false,
            Some(text @ ("pattern" | "pattern_hdr")) => {
                left_out.push(format!("verify={text}"));
                false
            }
            Some(_) => true,
        };
        let mut shaped = Vec::new();
        let mut shape = |name: &str, option: Option<String>| {
            let Some(value) = get(name).filter(|value| *value != "0") else { return };
            match option.filter(|_| !verify) {
                Some(option) => shaped.push(option),
                None => left_out.push(format!("{name}={value}")),
            }
        };
        shape("zero_buffers", Some("data=\"zero\"".into()));
        if get("zero_buffers").is_none_or(|value| value == "0") {
            let compress = get("buffer_compress_percentage");
            shape("buffer_compress_percentage", compress.and_then(|text| ratio("compress", text)));
            let whole = blocks.iter().all(|bytes| bytes.is_multiple_of(BLOCK_BYTES));
            let dedup = get("dedupe_percentage").filter(|_| whole);
            shape("dedupe_percentage", dedup.and_then(|text| ratio("dedup", text)));
        }
        let reads_back = verify && get("do_verify") != Some("0");
        (Data { verify, reads_back, shaped }, left_out)
    }

    /// Options of `with` for all that writes or reads.
    pub(crate) fn options(&self) -> Vec<String> {
        match self.verify {
            true => vec!["verify=true".into()],
            false => self.shaped.clone(),
        }
    }
}

/// The ratio for a percentage of bytes that need no storage.
fn ratio(name: &str, percent: &str) -> Option<String> {
    let percent =
        percent.trim_end_matches('%').parse::<u64>().ok().filter(|percent| *percent <= 100)?;
    let ratio = (100.0 / (100.0 - percent as f64)).min(MAX_RATIO);
    let text = format!("{ratio:.3}");
    Some(format!("{name}={}", text.trim_end_matches('0').trim_end_matches('.')))
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
        for (text, sizes) in
            [("4k,64k", [4096, 65536]), (",8k", [4096, 8192]), (",8k,", [4096, 8192])]
        {
            assert_eq!(Sizes::of_blocks(text), Some(sizes.map(Sizes::one)), "{text}");
        }
        assert_eq!((Sizes::of_blocks("4k-8k"), Sizes::of_blocks(",")), (None, None));
    }

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

    #[test]
    fn shares_become_ratios() {
        for (percent, expected) in [
            ("50", "compress=2"),
            ("60", "compress=2.5"),
            ("30", "compress=1.429"),
            ("100", "compress=100"),
        ] {
            assert_eq!(ratio("compress", percent).as_deref(), Some(expected));
        }
        assert_eq!((ratio("dedup", "101"), ratio("dedup", "x")), (None, None));
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let of = |settings: &[(&str, &'static str)], blocks: &[u64]| {
            Data::of(|name| settings.iter().find(|one| one.0 == name).map(|one| one.1), blocks)
        };
        let both = [("buffer_compress_percentage", "50"), ("dedupe_percentage", "50")];
        assert_eq!(of(&both, &[4096]).0.options(), ["compress=2", "dedup=2"]);
        assert_eq!(of(&both, &[1000]).1, ["dedupe_percentage=50"]);
        let verified = [both[0], ("verify", "md5")];
        assert_eq!(of(&verified, &[4096]).1, ["buffer_compress_percentage=50"]);
        assert_eq!(of(&verified, &[4096]).0.options(), ["verify=true"]);
        assert!(!of(&[("verify", "md5"), ("do_verify", "0")], &[4096]).0.reads_back);
    }
}
