//! Sums of a program by layer, compared with the sums of its log.

use super::groups::Group;
use super::work::{Layer, Part, Work};
use model::run::{TraceFile, TraceModule};
use model::units::format_bytes;
use model::words::count;

/// Names of the sums.
const NAMES: [&str; 6] = ["files", "opens", "reads", "bytes read", "writes", "bytes written"];

/// The sums, as [`NAMES`] has them.
pub type Totals = [u128; 6];

/// Sums of a program with `ranks` ranks.
pub fn planned(groups: &[Group], layer: Layer, ranks: u32) -> Totals {
    let mut sums = Totals::default();
    for group in groups.iter().filter(|group| group.works[0].layer == layer) {
        // Of equal files one is there.
        let times = group.files / group.works.len();
        for work in &group.works {
            let one = of_work(work, ranks);
            sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one * times as u128);
        }
    }
    sums
}

fn of_work(work: &Work, ranks: u32) -> Totals {
    let count = |parts: &[Part]| parts.iter().map(|part| part.count as u128).sum();
    let bytes = |parts: &[Part]| parts.iter().map(|part| part.bytes() as u128).sum();
    let opens = work.opens as u128 * work.members(ranks) as u128;
    let (reads, writes) = (&work.reads, &work.writes);
    [1, opens, count(reads), bytes(reads), count(writes), bytes(writes)]
}

/// Sums of a module of the log, without files that are left out.
pub fn recorded<'a>(module: &TraceModule, without: impl Iterator<Item = &'a TraceFile>) -> Totals {
    let [read, written] = [module.amounts.read_bytes, module.amounts.written_bytes];
    let counts = ["opens", "reads", "writes"].map(|name| module.count(name));
    let [opens, reads, writes] = counts;
    let of = |numbers: [Option<u64>; 6]| numbers.map(|number| u128::from(number.unwrap_or(0)));
    let mut sums = of([Some(module.files), opens, reads, read, writes, written]);
    for file in without {
        let TraceFile { opens, reads, writes, amounts, .. } = file;
        let [read, written] = [amounts.read_bytes, amounts.written_bytes];
        let one = of([Some(1), *opens, *reads, read, *writes, written]);
        sums.iter_mut().zip(one).for_each(|(sum, one)| *sum = sum.saturating_sub(one));
    }
    sums
}

/// "12 files, 12 opens, 40 reads of 1.5 MiB, 3 writes of 10 B"
pub fn text(sums: &Totals) -> String {
    let [files, opens, reads, read, writes, written] =
        sums.map(|sum| u64::try_from(sum).unwrap_or(u64::MAX));
    let moved = |number: u64, noun: &str, bytes: u64| {
        (number > 0).then(|| format!("{} of {}", count(number, noun), format_bytes(bytes)))
    };
    let transfers = [moved(reads, "read", read), moved(writes, "write", written)];
    let all = [Some(count(files, "file")), Some(count(opens, "open"))];
    all.into_iter().chain(transfers).flatten().collect::<Vec<_>>().join(", ")
}

/// Sums of a program that differ from the log's.
pub fn differences(own: &Totals, logged: &Totals) -> Vec<String> {
    let all = NAMES.iter().zip(own.iter().zip(logged));
    let other = all.filter(|(_, (own, logged))| own != logged);
    other.map(|(what, (own, logged))| format!("{own} {what} instead of {logged}")).collect()
}
