//! The evidence in sentences: lost figures and verified data.

use crate::verify::Kind;
use model::run::{LabelEvidence, VerifiedData};
use model::units::{format_bytes, significant};

/// Figures that did not fit into the ranks' files.
pub(super) fn lost_figures(figures: u64) -> String {
    format!("{figures} figures were lost because the ranks' files could not grow: a disk is full")
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
