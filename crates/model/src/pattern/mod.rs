//! Patterns: which bytes of a shared file each member of a group accesses.
//!
//! A pattern gives, for member g of G members, a list of [`Extent`]s. It is
//! made extent by extent and never stored: a [`Shape`] yields [`Run`]s (equal extents at equal
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

mod blockcyclic;
mod flash;
mod generate;
mod grid;
mod kinds;
mod lattice;
mod mesh;
mod multipartition;
mod nested;
mod random;
mod run;
mod segmented;
mod sequential;
mod share;
mod strided;
mod subarray;
#[cfg(test)]
mod tests;
mod tiled;
mod view;

pub use blockcyclic::BlockCyclic;
pub use flash::{Flash, Output};
pub use generate::{GenerateError, MAX_STEPS, generate};
pub use grid::{balanced, part};
pub use kinds::{Accepts, Argument, Arguments, KINDS, KindRow, Parameter, kind};
pub use lattice::{Dim, Lattice};
pub use mesh::{Mesh, Partition};
pub use multipartition::Multipartition;
pub use nested::Nested;
pub use random::Random;
pub use run::{Extent, Extents, Run, Runs};
pub use segmented::Segmented;
pub use sequential::{Mode, Sequential};
pub use share::Share;
pub use strided::Strided;
pub use subarray::Subarray;
pub use tiled::Tiled;
pub use view::{Datatype, View};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// What a kind promises about the extents of all members together; tests hold it to that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// No byte belongs to two extents.
    pub disjoint: bool,
    /// These bytes, and no others, are accessed. `None`: there are holes, or nobody knows.
    pub covers: Option<Range<u64>>,
}

/// A kind of pattern with its numbers.
///
/// `member` is in `0..members`, and there is at least one. Everything but the two checks, and
/// [`Shape::arguments`], needs `check(members)` to have said yes.
pub trait Shape: fmt::Debug {
    /// Whether the numbers go together, for whatever number of members; if not, a sentence that says why.
    ///
    /// # Errors
    /// For the user: what was expected and what was found.
    fn check_numbers(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether the pattern exists for so many members; if not, a sentence that says why.
    ///
    /// # Errors
    /// For the user: what was expected and what was found.
    fn check(&self, members: u32) -> Result<(), String>;

    /// One past the last byte of all members; `None` if that passes 2^63 - 1.
    fn end(&self, members: u32) -> Option<u64>;

    /// The extents of a member in the order of access, as runs of equal extents.
    fn runs(&self, member: u32, members: u32) -> Runs<'_>;

    /// What holds for the extents of all members together.
    fn promise(&self, members: u32) -> Promise;

    /// The extents of a member in the order of access.
    fn extents(&self, member: u32, members: u32) -> Extents<'_> {
        Extents::of(self.runs(member, members))
    }

    /// Number of extents of a member.
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

    /// The arguments that make this pattern, in the order of [`KINDS`].
    fn arguments(&self) -> Vec<(&'static str, Argument)>;

    /// The same with what follows from the number of members where it was left out.
    fn arguments_of(&self, members: u32) -> Vec<(&'static str, Argument)> {
        let _ = members;
        self.arguments()
    }

    /// The extents of a member as a file view.
    fn view(&self, member: u32, members: u32) -> View {
        View::of_extents(self.extents(member, members))
    }
}

/// A pattern's kind and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // each names its kind, which is documented
pub enum Geometry {
    Segmented(Segmented),
    Sequential(Sequential),
    Strided(Strided),
    Nested(Nested),
    Random(Random),
    Tiled(Tiled),
    Subarray(Subarray),
    BlockCyclic(BlockCyclic),
    Multipartition(Multipartition),
    Flash(Flash),
    Mesh(Mesh),
    /// Extents written in the language: a proc of the plan, see [`generate`].
    Generator {
        /// Index into [`crate::Plan::procs`].
        proc: u32,
    },
}

impl Geometry {
    /// The functions of the kind; `None` for a generator, whose extents only a plan knows
    /// ([`crate::plan::Pattern::share`] serves both).
    pub fn shape(&self) -> Option<&dyn Shape> {
        Some(match self {
            Geometry::Segmented(shape) => shape,
            Geometry::Sequential(shape) => shape,
            Geometry::Strided(shape) => shape,
            Geometry::Nested(shape) => shape,
            Geometry::Random(shape) => shape,
            Geometry::Tiled(shape) => shape,
            Geometry::Subarray(shape) => shape,
            Geometry::BlockCyclic(shape) => shape,
            Geometry::Multipartition(shape) => shape,
            Geometry::Flash(shape) => shape,
            Geometry::Mesh(shape) => shape,
            Geometry::Generator { .. } => return None,
        })
    }

    /// The kind's name in [`KINDS`].
    pub fn kind(&self) -> &'static str {
        match self {
            Geometry::Segmented(_) => "segmented",
            Geometry::Sequential(_) => "sequential",
            Geometry::Strided(_) => "strided",
            Geometry::Nested(_) => "nested",
            Geometry::Random(_) => "random",
            Geometry::Tiled(_) => "tiled",
            Geometry::Subarray(_) => "subarray",
            Geometry::BlockCyclic(_) => "blockcyclic",
            Geometry::Multipartition(_) => "multipartition",
            Geometry::Flash(_) => "flash",
            Geometry::Mesh(_) => "mesh",
            Geometry::Generator { .. } => "extents",
        }
    }
}

impl Geometry {
    /// As it would be written for so many members, with everything that was left out.
    pub fn written(&self, members: u32) -> String {
        self.with_arguments(self.shape().map(|shape| shape.arguments_of(members)))
    }

    fn with_arguments(&self, arguments: Option<Vec<(&'static str, Argument)>>) -> String {
        let written: Vec<String> = arguments
            .unwrap_or_default()
            .iter()
            // Nobody writes an empty list: the argument was left out.
            .filter(|(_, value)| *value != Argument::Numbers(Vec::new()))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match written.is_empty() {
            true => self.kind().into(),
            false => format!("{}({})", self.kind(), written.join(", ")),
        }
    }
}

impl fmt::Display for Geometry {
    /// As it is written in a program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_arguments(self.shape().map(Shape::arguments)))
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
