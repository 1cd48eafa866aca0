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

    #[inline(always)]
    pub(super) fn count(&mut self, area: &mut Area, site: u32, busy_ns: u64) {
        let (block, within) = (site as usize / SITES_PER_BLOCK, site as usize % SITES_PER_BLOCK);
        let Some(mut at) = self.blocks.get(block).copied() else { return };
        if at == 0 {
            let Some(new) = self.add_block(area, block) else { return };
            at = new;
        }
        let words = area.array::<2>(at + 2 * within as u32);
        words[0] += 1;
        words[1] = words[1].saturating_add(busy_ns);
    }

    #[cold]
    fn add_block(&mut self, area: &mut Area, block: usize) -> Option<u32> {
        let first = (block * SITES_PER_BLOCK) as u64;
        let at = area.append(Kind::Sites, 1 + 2 * SITES_PER_BLOCK, |words| words[0] = first)?;
        self.blocks[block] = at + 1;
        Some(at + 1)
    }
}
