//! What fio writes, and whether it reads it back.
//!
//! ```text
//! verify=crc32c                       verify=true, and the files are read again
//! buffer_compress_percentage=60       compress=2.5
//! dedupe_percentage=50                dedup=2
//! ```

/// The highest ratio that a program can ask for.
const MAX_RATIO: f64 = 100.0;
/// What repeats as a whole here.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Data {
    pub(super) verify: bool,
    /// What was written is read back at the end.
    pub(super) reads_back: bool,
    /// Options of `with`.
    shaped: Vec<String>,
}

impl Data {
    /// `get` tells the last value of an option; `blocks`: sizes of calls. Also what has no counterpart.
    pub(super) fn of<'s>(
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
    pub(super) fn options(&self) -> Vec<String> {
        match self.verify {
            true => vec!["verify=true".into()],
            false => self.shaped.clone(),
        }
    }
}

/// So many per cent of the bytes are none that have to be stored.
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
