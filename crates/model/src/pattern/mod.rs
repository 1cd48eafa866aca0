//! Patterns: which bytes of a shared file each member of a group accesses.
//!
//! A pattern gives, for member g of G members, a list of [`Extent`]s. It is
//! made piece by piece and never stored: a [`Shape`] yields [`Run`]s (equal pieces at equal
//! distances), and [`Extents`] walks through them.
//!
//! ```text
//! strided(block=4, count=3), 2 members     offset  0   4   8  12  16  20
//!                                          member  0   1   0   1   0   1
//! ```
//!
//! A [`Geometry`] is one of the kinds; each has a file of its own with its formula. All
//! positions and lengths are bytes. Arithmetic that could pass 2^63 - 1 (the largest
//! position in a file) is refused by [`Shape::check`], before anything runs; all other
//! functions rely on that.
//!
//! Not here: how a program writes patterns down (crate `ppl`), and who executes them.

mod lattice;
mod run;
mod segmented;
mod sequential;
mod strided;
#[cfg(test)]
mod tests;
mod view;

pub use lattice::{Dim, Lattice};
pub use run::{Extent, Extents, Run, Runs};
pub use segmented::Segmented;
pub use sequential::{Mode, Sequential};
pub use strided::Strided;
pub use view::{Datatype, View};

use std::fmt;
use std::ops::Range;

/// What a kind promises about the pieces of all members together; tests hold it to that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// No byte belongs to two pieces.
    pub disjoint: bool,
    /// These bytes, and no others, are accessed. `None`: there are holes, or nobody knows.
    pub covers: Option<Range<u64>>,
}

/// A kind of pattern with its numbers.
///
/// `member` is in `0..members`. Everything but [`Shape::check`] and [`Shape::end`] needs
/// `check(members)` to have said yes.
pub trait Shape: fmt::Debug {
    /// Whether the pattern exists for so many members; if not, a sentence that says why.
    ///
    /// # Errors
    /// For the user: what was expected and what was found.
    fn check(&self, members: u32) -> Result<(), String>;

    /// One past the last byte of all members; `None` if that passes 2^63 - 1.
    fn end(&self, members: u32) -> Option<u64>;

    /// The pieces of a member in the order of access, as runs of equal pieces.
    fn runs(&self, member: u32, members: u32) -> Runs<'_>;

    /// What holds for the pieces of all members together.
    fn promise(&self, members: u32) -> Promise;

    /// The pieces of a member in the order of access.
    fn extents(&self, member: u32, members: u32) -> Extents<'_> {
        Extents::of(self.runs(member, members))
    }

    /// Number of pieces of a member.
    fn count(&self, member: u32, members: u32) -> u64 {
        self.runs(member, members).map(|run| run.count).sum()
    }

    /// Bytes that a member accesses.
    fn bytes(&self, member: u32, members: u32) -> u64 {
        self.runs(member, members).map(|run| run.count * run.length_bytes).sum()
    }

    /// Size of the file: one past the last byte of all members.
    fn end_bytes(&self, members: u32) -> u64 {
        self.end(members).unwrap_or(u64::MAX)
    }

    /// The pieces of a member as a file view.
    fn view(&self, member: u32, members: u32) -> View {
        View::of_extents(self.extents(member, members))
    }
}

/// A pattern's kind and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each names its kind, which is documented
pub enum Geometry {
    Segmented(Segmented),
    Sequential(Sequential),
    Strided(Strided),
}

impl Geometry {
    /// The functions of the kind.
    pub fn shape(&self) -> &dyn Shape {
        match self {
            Geometry::Segmented(shape) => shape,
            Geometry::Sequential(shape) => shape,
            Geometry::Strided(shape) => shape,
        }
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Geometry::Strided(Strided { block_bytes, count, header_bytes, .. }) => {
                write!(f, "strided(block={block_bytes}, count={count}, header={header_bytes})")
            }
            Geometry::Segmented(Segmented { block_bytes, count, header_bytes }) => {
                write!(f, "segmented(block={block_bytes}, count={count}, header={header_bytes})")
            }
            Geometry::Sequential(Sequential { block_bytes, count, header_bytes, .. }) => {
                write!(f, "sequential(block={block_bytes}, count={count}, header={header_bytes})")
            }
        }
    }
}

/// The largest position in a file: `off_t` and `MPI_Offset` have 63 bits.
pub const MAX_OFFSET_BYTES: u64 = i64::MAX as u64;

/// The product of numbers; `None` beyond [`MAX_OFFSET_BYTES`].
pub(crate) fn product(factors: &[u64]) -> Option<u64> {
    if factors.contains(&0) {
        return Some(0);
    }
    let product = factors.iter().try_fold(1u64, |product, factor| product.checked_mul(*factor));
    product.filter(|product| *product <= MAX_OFFSET_BYTES)
}

/// The sum of two numbers; `None` beyond [`MAX_OFFSET_BYTES`].
pub(crate) fn sum(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).filter(|sum| *sum <= MAX_OFFSET_BYTES)
}

/// The sentence for a pattern whose end has no number.
pub(crate) fn fits(end: Option<u64>, members: u32) -> Result<(), String> {
    match end {
        Some(_) => Ok(()),
        None => Err(format!(
            "expected a file of less than 2^63 bytes, but with {members} member{} the pattern \
             reaches further",
            if members == 1 { "" } else { "s" }
        )),
    }
}
