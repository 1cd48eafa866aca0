//! What an access by a pattern moves.

use super::abs::{Abs, Why};
use super::walk::Walk;
use model::pattern::Geometry;
use model::plan::{Operand, Pattern};
use model::{Op, Value};
use std::ops::Range;

/// Instructions spent on a generator, for one member.
const STEPS: u64 = 100_000;

/// Runs of pieces that are looked at, of all members together.
const MAX_RUNS: usize = 1_000_000;

/// What a member moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figures {
    /// All bytes.
    bytes: u64,
    /// Bytes of the largest piece.
    largest_bytes: u64,
}

impl Walk<'_, '_> {
    /// The pattern that an argument names.
    pub(super) fn pattern(&self, operand: Operand) -> Option<&Pattern> {
        let Abs::Known(Value::Str(name)) = self.abs(operand) else { return None };
        self.shared.plan.patterns.iter().find(|pattern| pattern.name.as_bytes() == name)
    }

    /// An access by a pattern, if an argument names one; true: it did.
    pub(super) fn moved_by_pattern(&mut self, op: Op, operand: Operand) -> bool {
        let Some(pattern) = self.pattern(operand).cloned() else { return false };
        let figures = self.pattern_figures(&pattern);
        match figures {
            Ok(figures) => {
                self.moved(op, Some(figures.bytes));
                self.buffer(figures.largest_bytes);
            }
            Err(why) => {
                self.hangs_on(why);
                self.moved(op, None);
            }
        }
        true
    }

    /// Size of the file that a pattern makes, if that is quickly known.
    pub(super) fn pattern_end(&self, operand: Operand) -> Option<u64> {
        let pattern = self.pattern(operand)?;
        let members = self.group_of(pattern).len() as u32;
        let shape = pattern.geometry.shape()?;
        shape.check(members).ok()?;
        let cheap = match &pattern.geometry {
            Geometry::Random(random) => {
                random.count.saturating_mul(members.into()) <= MAX_RUNS as u64
            }
            _ => true,
        };
        cheap.then(|| shape.end_bytes(members))
    }

    /// World ranks of the group that a pattern is cut for.
    pub(super) fn group_of(&self, pattern: &Pattern) -> Range<u32> {
        let plan = self.shared.plan;
        let named = pattern.group.as_ref();
        let named = named.and_then(|name| plan.groups.iter().find(|group| group.name == *name));
        match (named, self.set()) {
            (Some(group), _) => group.members.clone(),
            (None, Some(set)) => set.members.clone(),
            (None, None) => 0..plan.ranks,
        }
    }

    /// The same for all ranks looked at, or why not.
    fn pattern_figures(&self, pattern: &Pattern) -> Result<Figures, Why> {
        let group = self.group_of(pattern);
        let members = group.len() as u32;
        let mut runs_left = MAX_RUNS;
        let mut common: Option<Figures> = None;
        for rank in self.ranks.clone().filter(|rank| group.contains(rank)) {
            let figures = self.figures_of(pattern, rank - group.start, members, &mut runs_left);
            let figures = figures.ok_or(Why::Never)?;
            if common.is_some_and(|common| common != figures) {
                return Err(Why::Rank);
            }
            common = Some(figures);
        }
        common.ok_or(Why::Never)
    }

    fn figures_of(
        &self,
        pattern: &Pattern,
        member: u32,
        members: u32,
        runs_left: &mut usize,
    ) -> Option<Figures> {
        let share = pattern.share(self.shared.plan, member, members, STEPS).ok()?;
        let mut figures = Figures { bytes: 0, largest_bytes: 0 };
        for run in share.runs() {
            *runs_left = runs_left.checked_sub(1)?;
            figures.bytes = figures.bytes.checked_add(run.count * run.length_bytes)?;
            figures.largest_bytes = figures.largest_bytes.max(run.length_bytes);
        }
        Some(figures)
    }
}
