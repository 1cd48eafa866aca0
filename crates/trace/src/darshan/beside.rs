//! Modules of binary logs without calls: how files lie on storage (LUSTRE), bytes over time (HEATMAP).
//!
//! ```text
//! LUSTRE 1:  id of the file, rank, counts of all targets and servers, first target, stripe size, stripe
//!            count, number of the target of each stripe
//! HEATMAP 1: id of its layer ("heatmap:POSIX"), rank, width of a bin (f64, seconds), count of bins, two
//!            words without meaning, bytes written in each bin, bytes read in each
//! ```
//!
//! Layouts are facts of darshan-lustre-log-format.h and darshan-heatmap-log-format.h.

use super::log::{Binary, Fields, Files, damaged, fill};
use super::segment::{Segment, nanoseconds};
use crate::gaps::{Gap, Gaps};
use crate::selection::Selection;
use model::run::{MovedByRanks, TraceLayout, TraceMoved};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Stripes of a file, and bins of a rank, that are believed.
const STRIPES_MAX: u64 = 1 << 16;
const BINS_MAX: u64 = 1 << 12;
/// Most files whose layouts are listed.
const LAYOUTS_MAX: usize = 10_000;
/// Most groups of neighbouring ranks with bytes over time.
const GROUPS_MAX: u64 = 32;
/// Bins of the time of a job for transfers of MPI-IO.
const ABOVE_BINS: u64 = 240;

impl Binary {
    /// How each file lies on the targets of Lustre.
    pub(crate) fn layouts(
        &self,
        which: &Selection,
        layouts: &mut Vec<TraceLayout>,
        gaps: &mut Gaps,
    ) -> io::Result<()> {
        let (region, 1) = self.header.named("LUSTRE") else { return Ok(()) };
        let mut reader = self.header.open(&self.log, region)?;
        let mut known = Files::default();
        let mut record = [0; 56];
        while fill(&mut reader, &mut record)? {
            let fields = Fields { bytes: &record, big_endian: self.header.big_endian };
            let (id, stripe_bytes, stripes) = (fields.u64(0), fields.u64(40), fields.u64(48));
            if stripes > STRIPES_MAX {
                return Err(damaged("a file on an impossible number of targets"));
            }
            // There is room for one target even where there is none.
            let targets = self.words(&mut reader, stripes.max(1))?;
            let Some(path) = self.paths.get(&id) else { continue };
            if !known.insert(id) || !which.keeps(path) {
                continue;
            }
            if layouts.len() >= LAYOUTS_MAX {
                gaps.add(Gap::Unlisted);
                continue;
            }
            let path = String::from_utf8_lossy(path).into_owned();
            let targets = targets.into_iter().take(stripes as usize).collect();
            layouts.push(TraceLayout { path, stripe_bytes, targets });
        }
        Ok(())
    }

    /// Bytes over time by layer and ranks.
    pub(crate) fn moved(&self, moved: &mut Vec<TraceMoved>) -> io::Result<()> {
        let (region, 1) = self.header.named("HEATMAP") else { return Ok(()) };
        let mut reader = self.header.open(&self.log, region)?;
        let mut layers: BTreeMap<u64, TraceMoved> = BTreeMap::new();
        let mut record = [0; 48];
        while fill(&mut reader, &mut record)? {
            let fields = Fields { bytes: &record, big_endian: self.header.big_endian };
            let (id, rank, bins) = (fields.u64(0), fields.u64(8), fields.u64(24));
            if bins > BINS_MAX || rank >= u64::from(self.owner.ranks.max(1)) {
                return Err(damaged("bytes over time of an impossible rank or length"));
            }
            let bin_ns = nanoseconds(f64::from_bits(fields.u64(16)));
            let (written, read) = (self.words(&mut reader, bins)?, self.words(&mut reader, bins)?);
            let layer = layers.entry(id).or_insert_with(|| self.layer(id, bin_ns));
            // Bins are as wide in all records of a layer; ranks may have one more or less.
            let groups = layer.ranks.len() as u64;
            let group = rank * groups / u64::from(self.owner.ranks.max(1));
            let group = &mut layer.ranks[group as usize];
            add(&mut group.read_bytes, &read);
            add(&mut group.written_bytes, &written);
        }
        moved.extend(layers.into_values().filter(|layer| layer.bin_ns > 0));
        Ok(())
    }

    /// Adds a transfer of MPI-IO to the bytes over time of its layer, in equal parts to the bins that it touches.
    pub(crate) fn add_above(&mut self, segment: &Segment) {
        let bin_ns = self.job.run_ns.div_ceil(ABOVE_BINS).max(1);
        let mut layer =
            self.above.take().unwrap_or_else(|| self.named_layer("MPI-IO".into(), bin_ns));
        let (groups, ranks) = (layer.ranks.len() as u64, u64::from(self.owner.ranks.max(1)));
        let group = self.owner.rank.min(ranks - 1) * groups / ranks;
        let group = &mut layer.ranks[group as usize];
        let bins = if segment.writes { &mut group.written_bytes } else { &mut group.read_bytes };
        let bin = |ns: u64| (ns / bin_ns).min(ABOVE_BINS);
        let (first, last) = (bin(segment.span_ns.0), bin(segment.span_ns.1.max(segment.span_ns.0)));
        bins.resize(bins.len().max(last as usize + 1), 0);
        let count = last - first + 1;
        let before =
            |bins: u64| (u128::from(segment.bytes) * u128::from(bins) / u128::from(count)) as u64;
        for at in 0..count {
            let sum = &mut bins[(first + at) as usize];
            *sum = sum.saturating_add(before(at + 1) - before(at));
        }
        self.above = Some(layer);
    }

    /// A layer in which nothing was moved yet.
    fn layer(&self, id: u64, bin_ns: u64) -> TraceMoved {
        let name = self.paths.get(&id).map_or(&b""[..], |name| &name[..]);
        let name = String::from_utf8_lossy(name.strip_prefix(b"heatmap:").unwrap_or(name));
        self.named_layer(name.into_owned(), bin_ns)
    }

    fn named_layer(&self, layer: String, bin_ns: u64) -> TraceMoved {
        let ranks = u64::from(self.owner.ranks.max(1));
        let groups = ranks.min(GROUPS_MAX);
        // The first rank r with r * groups / ranks = group.
        let first = |group: u64| (group * ranks).div_ceil(groups) as u32;
        let group = |group| MovedByRanks {
            first_rank: first(group),
            last_rank: first(group + 1) - 1,
            ..MovedByRanks::default()
        };
        TraceMoved { layer, bin_ns, ranks: (0..groups).map(group).collect() }
    }

    /// Reads `count` numbers; those below 0 were not recorded.
    fn words(&self, reader: &mut dyn Read, count: u64) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; 8 * count as usize];
        if !bytes.is_empty() && !fill(reader, &mut bytes)? {
            return Err(damaged("a region ends in the middle of a record"));
        }
        let fields = Fields { bytes: &bytes, big_endian: self.header.big_endian };
        let words = (0..count as usize).map(|at| fields.u64(8 * at) as i64);
        Ok(words.map(|word| u64::try_from(word).unwrap_or(0)).collect())
    }
}

fn add(sums: &mut Vec<u64>, bytes: &[u64]) {
    sums.resize(sums.len().max(bytes.len()), 0);
    sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum = sum.saturating_add(*bytes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::darshan::testing::{Form, Module, log};
    use crate::scanner::Scanner;
    use crate::sums::Sums;

    const FILE: u64 = 7;
    const LAYER: u64 = 8;

    fn read(big_endian: bool, modules: &[Module]) -> io::Result<(Sums, Gaps)> {
        let names = [(FILE, "/scratch/out"), (LAYER, "heatmap:POSIX")];
        let log = log(Form::newest(big_endian), 4, &names, modules);
        let (mut sums, mut gaps) = (Sums::default(), Gaps::default());
        let mut binary = Binary::new(Box::new(io::Cursor::new(log)))?;
        while binary.advance(&mut gaps)?.is_some() {}
        binary.sums(&Selection::All, &mut sums, &mut gaps)?;
        Ok((sums, gaps))
    }

    fn lustre(stripes: u64, targets: &[u64]) -> Module {
        let head = [FILE, u64::MAX, 248, 1, 3, 1 << 20, stripes];
        Module { name: "LUSTRE", version: 1, words: [&head[..], targets].concat() }
    }

    fn heatmap(rank: u64, written: &[u64], read: &[u64]) -> Vec<u64> {
        let head = [LAYER, rank, 0.5f64.to_bits(), written.len() as u64, 0, 0];
        [&head[..], written, read].concat()
    }

    #[test]
    fn files_of_lustre_have_their_targets_in_both_byte_orders() {
        for big_endian in [false, true] {
            let (sums, gaps) = read(big_endian, &[lustre(3, &[3, 90, 17])]).expect("a log");
            let path = "/scratch/out".into();
            let expected = TraceLayout { path, stripe_bytes: 1 << 20, targets: vec![3, 90, 17] };
            assert_eq!(sums.layouts, [expected]);
            assert_eq!(gaps.count(Gap::Aggregated), 0);
        }
        let (sums, _) = read(false, &[lustre(0, &[u64::MAX])]).expect("a log");
        assert_eq!(sums.layouts[0].targets, [0; 0]);
        assert!(read(false, &[lustre(1 << 20, &[])]).is_err());
        assert!(read(false, &[lustre(3, &[3])]).is_err());
    }

    #[test]
    fn bytes_over_time_are_added_up_by_ranks() {
        let words = [heatmap(0, &[1, 2], &[4, 0]), heatmap(3, &[8, 16, 32], &[0, 0, u64::MAX])];
        let module = Module { name: "HEATMAP", version: 1, words: words.concat() };
        let (sums, gaps) = read(false, &[module]).expect("a log");
        let [layer] = &sums.moved[..] else { panic!("one layer: {:?}", sums.moved) };
        assert_eq!((&layer.layer[..], layer.bin_ns, layer.ranks.len()), ("POSIX", 500_000_000, 4));
        let group =
            |at: usize| (&layer.ranks[at].written_bytes[..], &layer.ranks[at].read_bytes[..]);
        assert_eq!(group(0), (&[1, 2][..], &[4, 0][..]));
        assert_eq!(group(3), (&[8, 16, 32][..], &[0, 0, 0][..]));
        assert_eq!(gaps.count(Gap::Aggregated), 0);
        for words in [heatmap(4, &[1], &[1]), vec![LAYER, 0, 0, 1 << 40, 0, 0]] {
            assert!(read(false, &[Module { name: "HEATMAP", version: 1, words }]).is_err());
        }
    }

    #[test]
    fn versions_that_came_later_are_said_to_be_left_out() {
        let later = Module { version: 2, ..lustre(1, &[1]) };
        let (sums, gaps) = read(false, &[later]).expect("a log");
        assert_eq!((sums.layouts.len(), gaps.count(Gap::Aggregated)), (0, 1));
    }
}
