//! What came of emptying the page cache.

use serde::{Deserialize, Serialize};

/// What `dropcaches` and `fadvise(..., "dontneed")` came to in a label, over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheControl {
    /// How often the page cache was dropped.
    pub drops: u64,
    /// How often that was refused: it kept what it held.
    pub drops_refused: u64,
    /// Sizes of the ranks' open files (at most 16 each time) when it had been dropped, bytes.
    pub drop_looked_bytes: u64,
    /// What of those stayed in it.
    pub drop_kept_bytes: u64,
    /// How often the kernel was told that a file, or a part of one, is needed no more.
    pub advised: u64,
    /// Sizes of the whole files of which it was told so (a sample), bytes.
    pub advice_looked_bytes: u64,
    /// What of those stayed in the page cache.
    pub advice_kept_bytes: u64,
}
