//! What it costs to fill what is written: measured of a sample of the calls, outside of every window.
//!
//! ```text
//! fwrite 4k   1 .. 16 of a label: each      then every 64th, which stands for 64
//! fwrite 1m   each
//! ```
//!
//! Reading the clock twice costs more than the stamps of a block, so small fillings are not all measured.
//! Verified data has counts of its own.

use super::io::Io;
use super::place::RUN;
use crate::backend::Backend;
use crate::buffer::{Buffers, Content};
use crate::recorder::{Count, TrafficId};
use std::io;

/// The first of a label are all measured, ...
const FIRST: u64 = 16;
/// ... later one of so many, ...
const EVERY: u64 = 64;
/// ... unless they fill so many bytes.
const LARGE_BYTES: u64 = 64 << 10;

/// Which fillings are measured.
#[derive(Debug)]
pub(super) struct Fillings {
    /// Time passes while the program works.
    on: bool,
    /// Of the label that was the last to write.
    count: u64,
    block: TrafficId,
}

/// A filling that is measured: since when, and for how many it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    start_ns: u64,
    weight: u64,
}

impl Fillings {
    pub(super) fn new(on: bool) -> Fillings {
        Fillings { on, count: 0, block: TrafficId::default() }
    }

    /// For how many the next filling stands; 0: it is not measured.
    #[inline(always)]
    fn weight(&mut self, block: TrafficId, bytes: u64) -> u64 {
        if self.block != block {
            (self.block, self.count) = (block, 0);
        }
        self.count += 1;
        match self.count {
            _ if bytes >= LARGE_BYTES => 1,
            ..=FIRST => 1,
            count if count.is_multiple_of(EVERY) => EVERY,
            _ => 0,
        }
    }
}

impl<B: Backend> Io<'_, B> {
    /// So many bytes are about to be filled.
    #[inline(always)]
    pub(super) fn watch_filling(&mut self, bytes: u64) -> Option<Watch> {
        if !self.fillings.on {
            return None;
        }
        let block = self.labels.traffic(&mut self.recorder, RUN);
        let weight = self.fillings.weight(block, bytes);
        let is_measured = weight > 0 && self.options.active().data != Content::Marked;
        is_measured.then(|| Watch { start_ns: self.clock.now(), weight })
    }

    /// They were filled.
    #[inline(always)]
    pub(super) fn filled(&mut self, watch: Option<Watch>, bytes: u64) {
        if let Some(watch) = watch {
            self.count_filling(watch, bytes);
        }
    }

    #[cold]
    fn count_filling(&mut self, Watch { start_ns, weight }: Watch, bytes: u64) {
        let ns = self.clock.now().saturating_sub(start_ns);
        let block = self.labels.traffic(&mut self.recorder, RUN);
        for (count, more) in [(Count::MadeSample, bytes), (Count::MadeSampleNs, ns)] {
            self.recorder.count(block, count, more.saturating_mul(weight));
        }
    }

    /// What is written at a place of a file.
    #[inline(always)]
    pub(super) fn source<'b>(
        &mut self,
        buffers: &'b mut Buffers,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&'b [u8]> {
        let content = self.options.active().data;
        let watch = self.watch_filling(len as u64);
        let source = buffers.source(content, len, offset_bytes);
        self.filled(watch, len as u64);
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of blocks stand for labels.
    fn weights(of: impl Iterator<Item = (TrafficId, u64)>) -> (u64, u64) {
        let mut fillings = Fillings::new(true);
        let weights = of.map(|(block, bytes)| fillings.weight(block, bytes));
        weights.fold((0, 0), |(sum, measured), weight| {
            (sum + weight, measured + u64::from(weight > 0))
        })
    }

    #[test]
    fn few_of_the_small_ones_stand_for_all_and_large_ones_for_themselves() {
        let label = TrafficId::default();
        assert_eq!(weights((0..16).map(|_| (label, 4096))), (16, 16));
        let (sum, measured) = weights((0..64_000).map(|_| (label, 4096)));
        assert_eq!((sum, measured), (64_000 + FIRST, 1_000 + FIRST));
        assert_eq!(weights((0..1_000).map(|_| (label, LARGE_BYTES))), (1_000, 1_000));
    }
}
