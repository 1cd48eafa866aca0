//! Writing and reading with `verify=true` beside the same without: whole labels, filling and checking
//! included.

use crate::Result;
use crate::figure::{Figure, Goal, lower_quartile};
use crate::pairs::ratio;
use crate::product::Scratch;

/// Pairs that count; one more goes before them.
const PAIRS: usize = 10;

/// The same bytes in calls of 4 KiB and of 1 MiB.
fn program(verify: bool) -> String {
    format!(
        "with (verify={verify}) {{ $h = fopen(\"v\", \"w+\"); repeat 64 fwrite($h, 1m); \
         repeat $slice 10 {{ time[\"write 4 KiB\"] repeat $i 16384 fwrite($h, 4k, $i * 4k); \
         time[\"write 1 MiB\"] repeat $i 64 fwrite($h, 1m, $i * 1m); \
         time[\"read 4 KiB\"] repeat $i 16384 fread($h, 4k, $i * 4k); \
         time[\"read 1 MiB\"] repeat $i 64 fread($h, 1m, $i * 1m); }} fclose($h); }}"
    )
}

const LABELS: [(&str, f64, Goal); 4] = [
    ("write 4 KiB", 16384.0, Goal::AtLeast(0.6)),
    ("write 1 MiB", 64.0, Goal::AtLeast(0.6)),
    ("read 4 KiB", 16384.0, Goal::None),
    ("read 1 MiB", 64.0, Goal::None),
];

/// Ratios of the elapsed time without to that with.
pub fn verified(place: &Scratch) -> Result<Vec<Figure>> {
    let mut series = vec![(Vec::new(), Vec::new()); LABELS.len()];
    for pair in 0..=PAIRS {
        let plain = place.run(&program(false), &[])?;
        let verified = place.run(&program(true), &[])?;
        for ((label, calls, _), (raw, product)) in LABELS.iter().zip(&mut series) {
            if pair > 0 {
                raw.push(lower_quartile(&plain.occurrences_ns(label)?) / calls);
                product.push(lower_quartile(&verified.occurrences_ns(label)?) / calls);
            }
        }
    }
    let figures = LABELS.iter().zip(&series).map(|((label, _, goal), (raw, product))| {
        ratio(format!("{label}, verified against not"), raw, product, *goal)
    });
    Ok(figures.collect())
}
