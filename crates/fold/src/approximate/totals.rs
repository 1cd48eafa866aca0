//! Sums of a program, compared with those of its log.

use super::groups::Group;
use super::work::{Layer, Part};
use model::run::{TraceFile, TraceModule};
use model::units::format_bytes;
use model::words::count;

/// What the files of a layer are opened, read and written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    files: u128,
    opens: u128,
    reads: u128,
    read_bytes: u128,
    writes: u128,
    written_bytes: u128,
}

impl Totals {
    /// Of a program, with so many ranks.
    pub fn planned(groups: &[Group], layer: Layer, ranks: u32) -> Totals {
        let mut sums = Totals::default();
        for group in groups.iter().filter(|group| group.works[0].layer == layer) {
            // Of equal files one is there.
            let times = (group.files / group.works.len()) as u128;
            let sum = |of: &dyn Fn(&super::Work) -> i128| -> u128 {
                let all = group.works.iter().map(of).sum::<i128>();
                u128::try_from(all).unwrap_or(0) * times
            };
            let transfers = |parts: &[Part]| parts.iter().map(|part| i128::from(part.count)).sum();
            let bytes = |parts: &[Part]| parts.iter().map(Part::bytes).sum();
            sums.files += group.files as u128;
            sums.opens += sum(&|work| i128::from(work.opens) * i128::from(work.members(ranks)));
            sums.reads += sum(&|work| transfers(&work.reads));
            sums.read_bytes += sum(&|work| bytes(&work.reads));
            sums.writes += sum(&|work| transfers(&work.writes));
            sums.written_bytes += sum(&|work| bytes(&work.writes));
        }
        sums
    }

    /// Of a module of the log, without files that are left out.
    pub fn recorded<'a>(
        module: &TraceModule,
        without: impl Iterator<Item = &'a TraceFile>,
    ) -> Totals {
        let known = |number: Option<u64>| u128::from(number.unwrap_or(0));
        let mut sums = Totals {
            files: module.files.into(),
            opens: known(module.count("opens")),
            reads: known(module.count("reads")),
            read_bytes: known(module.amounts.read_bytes),
            writes: known(module.count("writes")),
            written_bytes: known(module.amounts.written_bytes),
        };
        for file in without {
            let less = |sum: &mut u128, number| *sum = sum.saturating_sub(known(number));
            sums.files = sums.files.saturating_sub(1);
            less(&mut sums.opens, file.opens);
            less(&mut sums.reads, file.reads);
            less(&mut sums.read_bytes, file.amounts.read_bytes);
            less(&mut sums.writes, file.writes);
            less(&mut sums.written_bytes, file.amounts.written_bytes);
        }
        sums
    }

    /// "12 files, 12 opens, 40 reads of 1.5 MiB, 3 writes of 10 B"
    pub fn text(&self) -> String {
        let shown = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        let moved = |number: u128, noun: &str, bytes: u128| {
            format!("{} of {}", count(shown(number), noun), format_bytes(shown(bytes)))
        };
        let counted = |number: u128, noun: &str| count(shown(number), noun);
        let mut all = vec![counted(self.files, "file"), counted(self.opens, "open")];
        all.extend((self.reads > 0).then(|| moved(self.reads, "read", self.read_bytes)));
        all.extend((self.writes > 0).then(|| moved(self.writes, "write", self.written_bytes)));
        all.join(", ")
    }

    /// Figures that differ from those of the log.
    pub fn differences(&self, recorded: &Totals) -> Vec<String> {
        let all = [
            ("files", self.files, recorded.files),
            ("opens", self.opens, recorded.opens),
            ("reads", self.reads, recorded.reads),
            ("bytes read", self.read_bytes, recorded.read_bytes),
            ("writes", self.writes, recorded.writes),
            ("bytes written", self.written_bytes, recorded.written_bytes),
        ];
        let other = all.into_iter().filter(|(_, own, logged)| own != logged);
        other.map(|(what, own, logged)| format!("{own} {what} instead of {logged}")).collect()
    }
}
