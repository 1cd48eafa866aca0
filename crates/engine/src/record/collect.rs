//! Merges the records of all ranks into what a [`model::Run`] holds. Definitions:
//! docs/run-format.md. Linear in what the ranks recorded.
//!
//! ```text
//! record ─▶ Outline ─┐ merge ─▶ Outline of all ─┐
//!                    └──────────────────────────┴▶ Partial ─┐ merge ─▶ Partial of all ─▶ Collected
//! ```
//!
//! Both are merged in any order and any tree with the same result, so ranks without
//! common memory merge along a tree ([`collect_over`]); no message and no rank ever
//! holds more than one label table, one histogram per row and bounded lists.

mod arrivals;
mod busy;
mod cache_control;
mod evidence;
mod failed;
mod hints;
mod outline;
mod partial;
mod places;
mod reduce;
mod shares;
mod times;
mod traffic;
mod verified;

pub use outline::Outline;
pub use partial::Partial;
pub use reduce::{Link, Merge, collect_over, reduce};

use super::RankRecord;
use model::Plan;
use model::run::{
    ArrivalRow, Evidence, Failure, LabelRow, RankError, Row, ShareRow, Site, TimeRow, TimesMore,
};

/// What the ranks of a run measured, merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// Summary, in order of first appearance on rank 0, then on the others.
    pub rows: Vec<Row>,
    /// Labels, in the same order.
    pub labels: Vec<LabelRow>,
    /// Label occurrences over ranks.
    pub times: Vec<TimeRow>,
    /// Occurrences that were not kept one by one.
    pub times_more: Vec<TimesMore>,
    /// Work that was shared, in order of labels and places.
    pub shares: Vec<ShareRow>,
    /// Schedules of arrivals, in the same order.
    pub arrivals: Vec<ArrivalRow>,
    /// Failed operations in full.
    pub failures: Vec<Failure>,
    /// Why ranks did not finish, as they said it themselves.
    pub rank_errors: Vec<RankError>,
    /// Operations by place in the program.
    pub sites: Vec<Site>,
    /// From the start of the run, the zero of all its times, to the latest end that is known.
    pub duration_wall_ns: u64,
    /// The evidence that the records hold; clock, confinement and the rest are the caller's.
    pub evidence: Evidence,
    /// Events that were kept.
    pub events: u64,
    /// Every rank reached the end of the program.
    pub finished: bool,
}

/// Merges records, which may lack ranks. `plan` gives the places of sites.
pub fn collect(ranks: &[RankRecord], plan: &Plan) -> Collected {
    let mut outline = Outline::default();
    for record in ranks {
        outline = outline.merge(Outline::of(record));
    }
    let mut partial = Partial::default();
    for record in ranks {
        partial.add_rank(record, &outline);
    }
    partial.finish(&outline, plan)
}
