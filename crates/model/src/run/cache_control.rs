//! Results of emptying the page cache.

use crate::merged;
use serde::{Deserialize, Serialize};

merged! {
    /// Results of `dropcaches` and `fadvise(..., "dontneed")` in a label, over all ranks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct CacheControl {
        /// How often the page cache was dropped.
        pub drops: u64 => sum,
        /// How often that was refused: it kept what it held.
        pub drops_refused: u64 => sum,
        /// Sizes of the ranks' open files (at most 16 each time) when it had been dropped, bytes.
        pub drop_looked_bytes: u64 => sum,
        /// Bytes of those files that stayed in it.
        pub drop_kept_bytes: u64 => sum,
        /// Number of `fadvise` "dontneed" calls.
        pub advised: u64 => sum,
        /// Sizes of the files of those calls (a sample), bytes.
        pub advice_looked_bytes: u64 => sum,
        /// Bytes of those files that stayed in the page cache.
        pub advice_kept_bytes: u64 => sum,
    }
}
