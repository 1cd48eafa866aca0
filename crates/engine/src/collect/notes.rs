//! The evidence in sentences: lost figures, hints of MPI files that are not in effect, verified data, and which
//! control of the page cache worked.

use crate::verify::Kind;
use model::merge::merge_all;
use model::run::{CacheControl, LabelEvidence, MpiFileFacts, VerifiedData};
use model::units::{format_bytes, significant};
use model::words::times;
use std::collections::BTreeMap;

/// Figures that did not fit into the ranks' files.
pub(super) fn lost_figures(figures: u64) -> String {
    format!("{figures} figures were lost because the ranks' files could not grow: a disk is full")
}

/// Sentences that a run shows at most.
const SHOWN: usize = 8;

/// A sentence for each hint that was ignored or changed, by what the library says of the file. A
/// library that says nothing at all is not asked.
pub(super) fn ignored_hints<'f>(files: impl Iterator<Item = &'f MpiFileFacts>) -> Vec<String> {
    let mut sentences = Vec::new();
    for file in files.filter(|file| !file.effective_hints.is_empty()) {
        let effective: BTreeMap<&str, &str> =
            file.effective_hints.split(';').filter_map(|pair| pair.split_once('=')).collect();
        for (key, value) in model::hints::parse(&file.requested_hints).unwrap_or_default() {
            let sentence = match effective.get(key) {
                Some(found) if *found == value => continue,
                Some(found) => format!("the hint {key}={value} is not in effect: it is {found}"),
                None => {
                    format!("the hint {key}={value} is not in effect: the MPI library ignored it")
                }
            };
            if !sentences.contains(&sentence) && sentences.len() < SHOWN {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

/// `verify=true: 1 GiB filled (0.05 ns/B), 1 GiB checked (0.04 ns/B), ...`; nothing where nothing was
/// verified. `rank_ns`: the time of all ranks together.
pub(super) fn verified_data(labels: &[LabelEvidence], rank_ns: u64) -> Option<String> {
    let mut told = labels.iter().filter_map(|label| label.verified.as_ref()).peekable();
    told.peek()?;
    let all = told.fold(VerifiedData::default(), |sum, one| VerifiedData {
        filled_bytes: sum.filled_bytes.saturating_add(one.filled_bytes),
        fill_ns: sum.fill_ns.saturating_add(one.fill_ns),
        checked_bytes: sum.checked_bytes.saturating_add(one.checked_bytes),
        check_ns: sum.check_ns.saturating_add(one.check_ns),
        zero_bytes: sum.zero_bytes.saturating_add(one.zero_bytes),
        zero_places: sum.zero_places + one.zero_places,
        zeros: Vec::new(),
        wrong_zeros: sum.wrong_zeros + one.wrong_zeros,
        wrong_older: sum.wrong_older + one.wrong_older,
        wrong_other: sum.wrong_other + one.wrong_other,
    });
    let mut parts = Vec::new();
    parts.extend(amount(all.filled_bytes, all.fill_ns, "filled"));
    parts.extend(amount(all.checked_bytes, all.check_ns, "checked"));
    let spent_ns = all.fill_ns.saturating_add(all.check_ns);
    if rank_ns > 0 && spent_ns > 0 {
        let percent = 100.0 * spent_ns as f64 / rank_ns as f64;
        parts.push(format!("{} % of the ranks' time, in no operation", significant(percent)));
    }
    if all.zero_bytes > 0 {
        let bytes = format_bytes(all.zero_bytes);
        parts.push(format!(
            "{bytes} were zeros where the reading rank knows of no write (holes, or data of others that is lost)"
        ));
    }
    let counts = [all.wrong_zeros, all.wrong_older, all.wrong_other];
    let wrong = Kind::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
    let wrong: Vec<String> =
        wrong.map(|(kind, count)| format!("{count} {}", kind.name())).collect();
    parts.push(match (wrong.is_empty(), all.checked_bytes) {
        (true, 0) => "nothing was read to be checked".to_string(),
        (true, _) if all.zero_bytes > 0 => "no other byte was wrong".to_string(),
        (true, _) => "nothing was wrong".to_string(),
        (false, _) => format!("WRONG PLACES: {}", wrong.join(", ")),
    });
    Some(format!("verify=true: {}", parts.join(", ")))
}

fn amount(bytes: u64, ns: u64, what: &str) -> Option<String> {
    let cost = match ns {
        0 => String::new(),
        ns => format!(" ({} ns/B)", significant(ns as f64 / bytes.max(1) as f64)),
    };
    (bytes > 0).then(|| format!("{} {what}{cost}", format_bytes(bytes)))
}

/// A sentence for each that was used: `dropcaches`, `fadvise` and `direct=true`.
pub(super) fn cache_control(labels: &[LabelEvidence]) -> impl Iterator<Item = String> {
    let all: CacheControl = merge_all(labels.iter().filter_map(|label| label.cache_control));
    let refused = (all.drops_refused > 0).then(|| {
        let times = times(all.drops_refused);
        format!("dropcaches: DID NOT HAPPEN ({times} refused): the page cache kept its content")
    });
    let dropped = dropped("dropcaches", all.drops, all.drop_kept_bytes, all.drop_looked_bytes);
    let advice = (all.advised, all.advice_kept_bytes, all.advice_looked_bytes);
    let advised = self::dropped("fadvise \"dontneed\"", advice.0, advice.1, advice.2);
    [refused, dropped, advised, direct(labels)].into_iter().flatten()
}

/// `kept` bytes of the sampled files stayed in the page cache, of `looked`; 0 if the kernel does not report it.
fn dropped(what: &str, count: u64, kept: u64, looked: u64) -> Option<String> {
    let (kept_text, looked_text) = (format_bytes(kept), format_bytes(looked));
    let left = match (looked, kept) {
        (0, _) => "how much stayed in the page cache is unknown".into(),
        (_, 0) => format!("nothing of the sampled files ({looked_text}) is left in the page cache"),
        _ => format!(
            "{kept_text} of the sampled files ({looked_text}) stayed in the page cache. Dirty pages, mapped \
             pages and tmpfs cannot be dropped; call fsync first"
        ),
    };
    (count > 0).then(|| format!("{what}: done {}, and {left}", times(count)))
}

/// Labels with direct reads only: bytes read, and bytes fetched from storage meanwhile.
fn direct(labels: &[LabelEvidence]) -> Option<String> {
    let is_direct = |label: &&LabelEvidence| {
        label.read_bytes > 0 && label.direct_read_bytes == label.read_bytes
    };
    let figures = labels.iter().filter(is_direct).filter_map(|label| {
        let holes = label.hole_bytes.min(label.mapped_bytes);
        Some(vec![label.read_bytes, label.fetched_bytes?, holes, label.mapped_bytes])
    });
    let [read, fetched, holes, mapped] = merge_all(figures).try_into().ok()?;
    // Nothing is fetched of holes.
    let empty = if mapped == 0 { 0.0 } else { holes as f64 / mapped as f64 };
    let least = if empty > 0.0 { read - read / 8 } else { read / 2 };
    let source = match fetched as f64 >= read as f64 * (1.0 - empty) / 2.0 {
        true => "storage",
        false => "memory nevertheless",
    };
    let (of_holes, of_files) = (format_bytes(holes), format_bytes(mapped));
    let came = match fetched >= least {
        true => "all came from storage".to_string(),
        false if empty > 0.0 => format!(
            "{of_holes} of the sampled files ({of_files}) are holes, which need no storage; the rest came \
             from {source}"
        ),
        false => "the rest came from memory nevertheless".to_string(),
    };
    let (read, fetched) = (format_bytes(read), format_bytes(fetched.min(read)));
    Some(format!("direct=true: {read} read, {fetched} fetched from storage: {came}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(requested: &str, effective: &str) -> MpiFileFacts {
        MpiFileFacts {
            requested_hints: requested.into(),
            effective_hints: effective.into(),
            ..MpiFileFacts::default()
        }
    }

    #[test]
    fn what_is_not_in_effect_is_said_once() {
        let files = [
            file("cb_nodes=2;nonsense=1;striping_factor=8", "cb_nodes=2;striping_factor=1"),
            file("nonsense=1", "cb_nodes=2"),
            file("nonsense=2", ""),
            file("", "cb_nodes=2"),
        ];
        assert_eq!(
            ignored_hints(files.iter()),
            [
                "the hint nonsense=1 is not in effect: the MPI library ignored it",
                "the hint striping_factor=8 is not in effect: it is 1",
            ]
        );
        assert_eq!(ignored_hints([].into_iter()), Vec::<String>::new());
    }

    #[test]
    fn what_was_verified_is_one_sentence() {
        let label = |verified: VerifiedData| LabelEvidence {
            verified: Some(verified),
            ..LabelEvidence::default()
        };
        assert_eq!(verified_data(&[LabelEvidence::default()], 1), None);
        let zeros =
            VerifiedData { checked_bytes: 8192, zero_bytes: 4096, ..VerifiedData::default() };
        assert_eq!(
            verified_data(&[label(zeros)], 1).as_deref(),
            Some(
                "verify=true: 8 KiB checked, 4 KiB were zeros where the reading rank knows of no write \
                 (holes, or data of others that is lost), no other byte was wrong"
            )
        );
        let wrote = VerifiedData { filled_bytes: 4096, fill_ns: 2048, ..VerifiedData::default() };
        let read = VerifiedData {
            checked_bytes: 8192,
            zero_bytes: 1024,
            wrong_zeros: 2,
            wrong_other: 1,
            ..VerifiedData::default()
        };
        assert_eq!(
            verified_data(&[label(wrote), label(read)], 20_480).as_deref(),
            Some(
                "verify=true: 4 KiB filled (0.5 ns/B), 8 KiB checked, 10 % of the ranks' time, in no \
                 operation, 1 KiB were zeros where the reading rank knows of no write (holes, or data of \
                 others that is lost), WRONG PLACES: 2 zeros, 1 other"
            )
        );
    }

    fn said(control: CacheControl) -> Vec<String> {
        let label = LabelEvidence { cache_control: Some(control), ..LabelEvidence::default() };
        cache_control(&[label]).collect()
    }

    #[test]
    fn each_control_says_what_came_of_it() {
        assert_eq!(cache_control(&[LabelEvidence::default()]).count(), 0);
        let control = CacheControl {
            drops: 1,
            drops_refused: 2,
            drop_looked_bytes: 4096,
            advised: 3,
            advice_looked_bytes: 8192,
            advice_kept_bytes: 4096,
            ..CacheControl::default()
        };
        assert_eq!(
            said(control),
            [
                "dropcaches: DID NOT HAPPEN (2 times refused): the page cache kept its content",
                "dropcaches: done once, and nothing of the sampled files (4 KiB) is left in the page cache",
                "fadvise \"dontneed\": done 3 times, and 4 KiB of the sampled files (8 KiB) stayed in the page \
                 cache. Dirty pages, mapped pages and tmpfs cannot be dropped; call fsync first",
            ]
        );
        let unknown = said(CacheControl { drops: 1, ..CacheControl::default() });
        assert_eq!(
            unknown,
            ["dropcaches: done once, and how much stayed in the page cache is unknown"]
        );
    }

    #[test]
    fn direct_reads_of_holes_ask_no_storage() {
        let label = |fetched| LabelEvidence {
            read_bytes: 8192,
            direct_read_bytes: 8192,
            fetched_bytes: Some(fetched),
            mapped_bytes: 16384,
            hole_bytes: 12288,
            ..LabelEvidence::default()
        };
        for (fetched, expected) in [
            (
                2048,
                "12 KiB of the sampled files (16 KiB) are holes, which need no storage; the rest came from storage",
            ),
            (4096, "need no storage; the rest came from storage"),
            (512, "need no storage; the rest came from memory nevertheless"),
            (8192, "fetched from storage: all came from storage"),
        ] {
            let said: Vec<String> = cache_control(&[label(fetched)]).collect();
            assert!(said.len() == 1 && said[0].ends_with(expected), "{said:?}");
        }
    }

    #[test]
    fn direct_reads_say_whether_storage_was_asked() {
        let label = |read, direct, fetched| LabelEvidence {
            read_bytes: read,
            direct_read_bytes: direct,
            fetched_bytes: fetched,
            ..LabelEvidence::default()
        };
        for (read, direct, fetched, expected) in [
            (8192, 8192, Some(8192), Some("8 KiB read, 8 KiB fetched from storage: all came")),
            (8192, 8192, Some(0), Some("8 KiB read, 0 B fetched from storage: the rest came")),
            (8192, 4096, Some(8192), None),
            (8192, 8192, None, None),
            (0, 0, Some(0), None),
        ] {
            let said: Vec<String> = cache_control(&[label(read, direct, fetched)]).collect();
            assert_eq!(said.len(), usize::from(expected.is_some()), "{said:?}");
            let found = said.first().is_none_or(|said| said.contains(expected.unwrap_or_default()));
            assert!(found, "{said:?}");
        }
    }
}
