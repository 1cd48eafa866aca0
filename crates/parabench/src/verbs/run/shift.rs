//! Jobs on several machines: whether those who read a file had it in the page cache of their machine.
//!
//! Programs shift readers from one node to the next (`@sequential`, IOR's `-C`), so that each reads what
//! another machine wrote. Who wrote what is not followed: the page cache of the reading machine is what
//! such a shift is to get around.

use model::run::LabelEvidence;
use model::units::format_bytes;

/// From this share on the reads were those of main memory.
const HELD_SHARE: f64 = 0.5;

/// Of the files that were looked at when they were opened to be read through the page cache; nothing on
/// one machine, and where none were.
pub fn sentence(machines: usize, labels: &[LabelEvidence]) -> Option<String> {
    let sum =
        |bytes: fn(&LabelEvidence) -> u64| labels.iter().map(bytes).fold(0, u64::saturating_add);
    let (looked, cached) = (sum(|label| label.looked_bytes), sum(|label| label.cached_bytes));
    (machines > 1 && looked > 0).then(|| {
        let is_held = cached as f64 >= HELD_SHARE * looked as f64;
        let came = match is_held {
            true => "most reads measured main memory; if readers were shifted to another node, it did not help",
            false => "most of what was read came from other machines, or from storage",
        };
        format!(
            "page caches of {machines} machines: of the files opened to be read ({} looked at) the reading \
             machine's held {}: {came}",
            format_bytes(looked),
            format_bytes(cached)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_had_the_file_already_are_said() {
        let label = |looked_bytes, cached_bytes| LabelEvidence {
            looked_bytes,
            cached_bytes,
            ..LabelEvidence::default()
        };
        for (machines, labels, expected) in [
            (1, vec![label(4096, 4096)], None),
            (2, vec![label(0, 0)], None),
            (2, vec![], None),
            (2, vec![label(8192, 0), label(8192, 4096)], Some("(16 KiB looked at)")),
            (
                2,
                vec![label(8192, 0)],
                Some("held 0 B: most of what was read came from other machines"),
            ),
            (3, vec![label(8192, 4096)], Some("held 4 KiB: most reads measured main memory")),
        ] {
            let said = sentence(machines, &labels);
            assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
            let has = |part| said.as_ref().is_some_and(|said| said.contains(part));
            assert!(expected.is_none_or(has), "{said:?}");
        }
    }
}
