//! The table of internal variables: one row per `$$name`.
//!
//! ```text
//! write("file-$$rank", 1m / $$size);      $$rank is read at run time, $$size is a constant of the plan
//! ```
//!
//! Checker, lowering, listing and manual read it; what a rank reads is in the engine. `$$env(NAME)` is
//! grammar and has no row.

use crate::types::Types;
use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The plan is made for it.
    Bound(Bound),
    /// Read at run time.
    Running(Internal),
}

/// Internal variables that are constants of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Number of ranks.
    Ranks,
    /// Number of machines.
    Nodes,
}

/// On which ranks a value is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// It can differ between any two ranks.
    OfRank,
    /// All members of the active group read the same.
    OfGroup,
    /// The same, if all of them read it equally often.
    OfGroupInStep,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct InternalRow {
    /// Its name without the dollar signs.
    pub name: &'static str,
    /// Where its value comes from.
    pub read: Read,
    /// The type of the value.
    pub types: Types,
    /// On which ranks it is the same.
    pub sameness: Sameness,
    /// A generator of a pattern, which gives the same whenever it is asked, can read it.
    pub in_patterns: bool,
    /// Description for the manual.
    pub doc: &'static str,
}

macro_rules! internals {
    (running { $( $internal:ident $name:literal $types:ident $sameness:ident $in_patterns:literal $doc:literal; )* }
     bound { $( $bound:ident $bound_name:literal $bound_doc:literal; )* }) => {
        /// An internal variable that is read at run time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Internal { $( #[doc = $doc] $internal, )* }

        /// The table: those read at run time in the order of [`Internal`], then the constants.
        pub static INTERNALS: &[InternalRow] = &[
            $( InternalRow {
                name: $name, read: Read::Running(Internal::$internal), types: Types::$types,
                sameness: Sameness::$sameness, in_patterns: $in_patterns, doc: $doc,
            }, )*
            $( InternalRow {
                name: $bound_name, read: Read::Bound(Bound::$bound), types: Types::INT,
                sameness: Sameness::OfGroup, in_patterns: true, doc: $bound_doc,
            }, )*
        ];
    };
}

internals! {
    running {
        Rank "rank" INT OfRank false "The number of this rank, from 0.";
        GroupRank "grank" INT OfRank true "The number of this rank in the active group, from 0.";
        GroupSize "gsize" INT OfGroup true "The number of members of the active group.";
        GroupName "group" STR OfGroup false "The name of the innermost active group; \"\" outside every group.";
        Node "node" INT OfRank false "The number of this rank's machine, from 0.";
        NodeRank "noderank" INT OfRank false "The number of this rank on its machine, from 0.";
        Rand "rand" INT OfRank false "32 random bits of the rank's own stream.";
        CommonRand "crand" INT OfGroupInStep false "32 random bits, the same on all members of the active group.";
        Time "time" INT OfRank false "Whole seconds since the start of the run.";
        Now "now" DURATION OfRank false "The time since the start of the run, as a duration.";
    }
    bound {
        Ranks "size" "The number of ranks.";
        Nodes "nodes" "The number of machines.";
    }
}

impl Internal {
    /// Name, type and manual text of this variable.
    pub fn row(self) -> &'static InternalRow {
        &INTERNALS[self as usize]
    }

    /// Its value can differ between members of the active group.
    pub fn differs_between_ranks(self) -> bool {
        self.row().sameness == Sameness::OfRank
    }
}

impl InternalRow {
    /// The internal variable with this name.
    pub fn find(name: &str) -> Option<&'static InternalRow> {
        INTERNALS.iter().find(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_numbers() {
        for (at, row) in INTERNALS.iter().enumerate() {
            if let Read::Running(internal) = row.read {
                assert_eq!((internal as usize, internal.row().name), (at, row.name));
            }
            assert!(
                row.doc.ends_with('.') && InternalRow::find(row.name).is_some(),
                "{}",
                row.name
            );
        }
    }
}
