//! Memory of the process: the system's allocator, with huge pages behind large blocks. Buffers of
//! I/O are not here but in [`crate::buffer`], which maps memory by itself.

use std::alloc::{GlobalAlloc, Layout, System};

/// Blocks of this size and more, bytes: some huge pages of x86-64.
const LARGE: usize = 4 << 20;
const PAGE: usize = 4096;

/// The allocator of the binaries: the system's. The kernel hands memory out page by page as it
/// is touched, which took a fifth of the time of compiling a program of a million statements;
/// behind large blocks it is asked for huge pages. Where its setting is `always` it gives them
/// anyhow, and where it is `never` this changes nothing
/// (`/sys/kernel/mm/transparent_hugepage/enabled`).
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every block is the system allocator's, and what is asked of the kernel changes neither
// its place nor its contents.
unsafe impl GlobalAlloc for Allocator {
    // SAFETY: the caller keeps the contract of the trait, which is the system allocator's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        ask_for_huge_pages(unsafe { System.alloc(layout) }, layout.size())
    }

    // SAFETY: as for `alloc`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller.
        ask_for_huge_pages(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    // SAFETY: as for `alloc`.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller; the block is the system allocator's.
        unsafe { System.dealloc(block, layout) }
    }

    // SAFETY: as for `alloc`.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: by the caller; the block is the system allocator's.
        ask_for_huge_pages(unsafe { System.realloc(block, layout, new_size) }, new_size)
    }
}

/// Gives the block back.
#[inline]
fn ask_for_huge_pages(block: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !block.is_null() {
        advise(block, size);
    }
    block
}

/// For all pages that lie wholly in the block. That the kernel has none is no error.
#[cold]
fn advise(block: *mut u8, size: usize) {
    let skipped = block.align_offset(PAGE);
    let bytes = (size - skipped) / PAGE * PAGE;
    // SAFETY: the pages lie in the block; the advice does not change what they hold.
    unsafe { libc::madvise(block.add(skipped).cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of the mapping that holds an address: proc(5), smaps.
    fn flags_at(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(a, b)| Some((number(a)?, number(b)?))) {
                inside = (start..end).contains(&address);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.to_owned();
            }
        }
        panic!("no mapping holds {address:x}");
    }

    #[test]
    fn large_blocks_get_huge_pages_and_keep_their_contents() {
        let small = Layout::from_size_align(LARGE - 1, 8).unwrap();
        let large = Layout::from_size_align(2 * LARGE + 5, 8).unwrap();
        // SAFETY: sizes are not 0; blocks are used and freed with the layouts they have.
        unsafe {
            let block = Allocator.alloc(small);
            block.write_bytes(7, small.size());
            let block = Allocator.realloc(block, small, large.size());
            assert_eq!((*block, *block.add(small.size() - 1)), (7, 7));
            if std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
                let middle = block as usize + LARGE;
                assert!(flags_at(middle).split(' ').any(|flag| flag == "hg"), "no huge pages");
            }
            Allocator.dealloc(block, large);
            let block = Allocator.alloc_zeroed(large);
            assert_eq!((*block, *block.add(large.size() - 1)), (0, 0));
            Allocator.dealloc(block, large);
        }
    }
}
