//! Executions and their own times by place in the program.
//!
//! Block [`Kind::Sites`]: number of the block's first site, then count and busy time
//! of each of its sites. Only blocks that are needed exist.

use super::area::Area;
use super::layout::{Kind, SITES_PER_BLOCK};

#[derive(Debug)]
pub(super) struct Sites {
    /// Place of the first counter of every run of sites; 0: not there yet.
    blocks: Vec<u32>,
}

impl Sites {
    pub(super) fn new(sites: u32) -> Sites {
        Sites { blocks: vec![0; (sites as usize).div_ceil(SITES_PER_BLOCK)] }
    }

    /// Place of a site's counters; `None`: there is no room for them.
    #[inline(always)]
    pub(super) fn find(&mut self, area: &mut Area, site: u32) -> Option<u32> {
        let (block, within) = (site as usize / SITES_PER_BLOCK, site as usize % SITES_PER_BLOCK);
        let mut at = self.blocks.get(block).copied()?;
        if at == 0 {
            at = self.add_block(area, block)?;
        }
        Some(at + 2 * within as u32)
    }

    #[inline(always)]
    pub(super) fn count(&mut self, area: &mut Area, site: u32, busy_ns: u64) {
        if let Some(at) = self.find(area, site) {
            count(area, at, busy_ns);
        }
    }

    #[cold]
    fn add_block(&mut self, area: &mut Area, block: usize) -> Option<u32> {
        let first = (block * SITES_PER_BLOCK) as u64;
        let at = area.append(Kind::Sites, 1 + 2 * SITES_PER_BLOCK, |words| words[0] = first)?;
        self.blocks[block] = at + 1;
        Some(at + 1)
    }
}

/// Counts an execution at the place that [`Sites::find`] gave.
#[inline(always)]
pub(super) fn count(area: &mut Area, at: u32, busy_ns: u64) {
    let words = area.array::<2>(at);
    words[0] += 1;
    words[1] = words[1].saturating_add(busy_ns);
}
