//! Which control of the page cache worked, in words.

use model::run::{CacheControl, LabelEvidence};
use model::units::format_bytes;

/// A sentence for each that was used: `dropcaches`, `fadvise` and `direct=true`.
pub(super) fn sentences(labels: &[LabelEvidence]) -> impl Iterator<Item = String> {
    let told = labels.iter().filter_map(|label| label.cache_control);
    let all = told.fold(CacheControl::default(), |sum, one| CacheControl {
        drops: sum.drops.saturating_add(one.drops),
        drops_refused: sum.drops_refused.saturating_add(one.drops_refused),
        drop_looked_bytes: sum.drop_looked_bytes.saturating_add(one.drop_looked_bytes),
        drop_kept_bytes: sum.drop_kept_bytes.saturating_add(one.drop_kept_bytes),
        advised: sum.advised.saturating_add(one.advised),
        advice_looked_bytes: sum.advice_looked_bytes.saturating_add(one.advice_looked_bytes),
        advice_kept_bytes: sum.advice_kept_bytes.saturating_add(one.advice_kept_bytes),
    });
    [refused(&all), dropped(&all), advised(&all), direct(labels)].into_iter().flatten()
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn refused(all: &CacheControl) -> Option<String> {
    (all.drops_refused > 0).then(|| {
        let times = times(all.drops_refused);
        format!("dropcaches: DID NOT HAPPEN ({times} refused): the page cache kept what it held")
    })
}

fn dropped(all: &CacheControl) -> Option<String> {
    (all.drops > 0).then(|| {
        let files = "the files open then, each once for every rank that had it open";
        let kept = kept((all.drop_kept_bytes, all.drop_looked_bytes), files);
        format!("dropcaches: done {}{kept}", times(all.drops))
    })
}

fn advised(all: &CacheControl) -> Option<String> {
    (all.advised > 0).then(|| {
        let kept = kept((all.advice_kept_bytes, all.advice_looked_bytes), "the files looked at");
        format!("fadvise \"dontneed\": done {}{kept}", times(all.advised))
    })
}

/// `, and of the files looked at (64 MiB) 4 MiB stayed in the page cache: ...`
fn kept((kept, looked): (u64, u64), files: &str) -> String {
    if looked == 0 {
        return ", and nobody can tell what stayed in the page cache".into();
    }
    let why = match kept {
        0 => "",
        _ => {
            ": what is not written to storage yet stays, so fsync it before; so does what is mapped, and \
             what a file system has in main memory alone (tmpfs)"
        }
    };
    let (kept, looked) = (format_bytes(kept), format_bytes(looked));
    format!(", and of {files} ({looked} in all) {kept} stayed in the page cache{why}")
}

/// Of labels whose reads were all direct: what they read, and what was fetched from storage meanwhile.
fn direct(labels: &[LabelEvidence]) -> Option<String> {
    let is_direct = |label: &&LabelEvidence| {
        label.read_bytes > 0 && label.direct_read_bytes == label.read_bytes
    };
    let told = labels.iter().filter(is_direct);
    let told = told.filter_map(|label| {
        let of_holes = [label.hole_bytes, label.mapped_bytes];
        Some([label.read_bytes, label.fetched_bytes?, of_holes[0].min(of_holes[1]), of_holes[1]])
    });
    let add =
        |sum: [u64; 4], one: [u64; 4]| std::array::from_fn(|at| sum[at].saturating_add(one[at]));
    let [read, fetched, holes, mapped] = told.fold([0; 4], add);
    (read > 0).then(|| {
        // Nothing is fetched of what was never written.
        let empty = if mapped == 0 { 0.0 } else { holes as f64 / mapped as f64 };
        let (of_holes, of_files) = (format_bytes(holes), format_bytes(mapped));
        let data = read as f64 * (1.0 - empty);
        let least = if empty > 0.0 { read - read / 8 } else { read / 2 };
        let came = match fetched >= least {
            true => "they came from storage".to_string(),
            false if empty > 0.0 && fetched as f64 >= data / 2.0 => format!(
                "of the files looked at ({of_files}) {of_holes} are holes, of which no storage is asked; \
                 the rest came from storage"
            ),
            false if empty > 0.0 => format!(
                "of the files looked at ({of_files}) {of_holes} are holes, of which no storage is asked; \
                 the rest came from main memory nevertheless"
            ),
            false => "the rest came from main memory nevertheless".to_string(),
        };
        let (read, fetched) = (format_bytes(read), format_bytes(fetched.min(read)));
        format!("direct=true: {read} were read so and {fetched} fetched from storage: {came}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(control: CacheControl) -> Vec<String> {
        let cache_control = Some(control);
        sentences(&[LabelEvidence { cache_control, ..LabelEvidence::default() }]).collect()
    }

    #[test]
    fn each_control_says_what_came_of_it() {
        assert_eq!(sentences(&[LabelEvidence::default()]).count(), 0);
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
                "dropcaches: DID NOT HAPPEN (2 times refused): the page cache kept what it held",
                "dropcaches: done once, and of the files open then, each once for every rank that had it open \
                 (4 KiB in all) 0 B stayed in the page cache",
                "fadvise \"dontneed\": done 3 times, and of the files looked at (8 KiB in all) 4 KiB stayed \
                 in the page cache: what is not written to storage yet stays, so fsync it before; so does \
                 what is mapped, and what a file system has in main memory alone (tmpfs)",
            ]
        );
        let unknown = said(CacheControl { drops: 1, ..CacheControl::default() });
        assert_eq!(
            unknown,
            ["dropcaches: done once, and nobody can tell what stayed in the page cache"]
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
                "(16 KiB) 12 KiB are holes, of which no storage is asked; the rest came from storage",
            ),
            (4096, "asked; the rest came from storage"),
            (512, "asked; the rest came from main memory nevertheless"),
            (8192, "fetched from storage: they came from storage"),
        ] {
            let said: Vec<String> = sentences(&[label(fetched)]).collect();
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
            (
                8192,
                8192,
                Some(8192),
                Some("8 KiB were read so and 8 KiB fetched from storage: they came"),
            ),
            (
                8192,
                8192,
                Some(0),
                Some("8 KiB were read so and 0 B fetched from storage: the rest came"),
            ),
            (8192, 4096, Some(8192), None),
            (8192, 8192, None, None),
            (0, 0, Some(0), None),
        ] {
            let said: Vec<String> = sentences(&[label(read, direct, fetched)]).collect();
            assert_eq!(said.len(), usize::from(expected.is_some()), "{said:?}");
            let found = said.first().is_none_or(|said| said.contains(expected.unwrap_or_default()));
            assert!(found, "{said:?}");
        }
    }
}
