//! Which statement a pause is before.
//!
//! A statement begins with the first of its instructions; a loop, label or group only has its head, and what is inside
//! of it are statements of their own. Positions count the beginnings of statements on all ranks.

use model::plan::{Pc, Plan, Span};
use model::watched::{Statement, Target};

/// The statements of a plan by instruction.
pub(super) struct Statements {
    all: Vec<Statement>,
    /// By instruction: its statement; `None`: of no statement.
    of: Vec<Option<u32>>,
    /// By instruction: its statement begins with it.
    begins: Vec<bool>,
}

impl Statements {
    /// `all`: in any order, those inside of others included.
    pub(super) fn new(plan: &Plan, mut all: Vec<Statement>) -> Statements {
        all.sort_by_key(|one| (one.span.start, std::cmp::Reverse(one.span.end)));
        let of: Vec<Option<u32>> = plan.spans.iter().map(|span| innermost(&all, *span)).collect();
        let mut begun = vec![false; all.len()];
        let begins = of.iter().map(|of| match of {
            Some(one) => !std::mem::replace(&mut begun[*one as usize], true),
            None => false,
        });
        let begins = begins.collect();
        Statements { all, of, begins }
    }

    pub(super) fn begins(&self, pc: Pc) -> bool {
        self.begins.get(pc as usize).is_some_and(|begins| *begins)
    }

    /// The statement of an instruction.
    pub(super) fn at(&self, pc: Pc) -> Option<Statement> {
        let of = *self.of.get(pc as usize)?;
        of.map(|one| self.all[one as usize])
    }
}

/// The innermost statement that holds a span; statements are sorted by their starts, outer ones first.
fn innermost(all: &[Statement], span: Span) -> Option<u32> {
    let after = all.partition_point(|one| one.span.start <= span.start);
    let found = all[..after].iter().rposition(|one| one.span.end >= span.end)?;
    Some(found as u32)
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Here {
    pub(super) rank: u32,
    pub(super) pc: Pc,
    /// Procs that are running.
    pub(super) depth: usize,
}

/// Looks for the statement that is meant.
pub(super) struct Search {
    target: Target,
    statements: Statements,
    /// By statement: it begins on the line that is meant.
    is_on_line: Vec<bool>,
    /// For a step over: the statement at which the rank is, and the number of procs that run there.
    left: Option<(Statement, usize)>,
}

impl Search {
    pub(super) fn new(target: &Target, statements: Statements, plan: &Plan) -> Search {
        let on_line = |one: &Statement| match target {
            Target::Line { file, line, .. } => {
                let place = plan.locate(one.head);
                place.is_some_and(|(name, at, _)| name == file && at == *line)
            }
            _ => false,
        };
        let is_on_line = statements.all.iter().map(on_line).collect();
        Search { target: target.clone(), statements, is_on_line, left: None }
    }

    pub(super) fn statements(&self) -> &Statements {
        &self.statements
    }

    /// A statement begins, `position` others have begun before: pause here?
    pub(super) fn is_found(&mut self, position: u64, here: Here) -> bool {
        match self.target {
            Target::Position { position: wanted } => position >= wanted,
            Target::Next { from } => position > from,
            Target::Rank { from, rank } => position > from && here.rank == rank,
            Target::Line { from, rank, .. } => {
                let is_meant = rank.is_none_or(|rank| rank == here.rank);
                position > from && is_meant && self.is_on_line(here.pc)
            }
            Target::Over { from, rank } => here.rank == rank && self.is_over(position, from, here),
        }
    }

    fn is_on_line(&self, pc: Pc) -> bool {
        let of = self.statements.of.get(pc as usize).copied().flatten();
        of.is_some_and(|one| self.is_on_line[one as usize])
    }

    /// The rank has left the statement at which it was at the position `from`.
    fn is_over(&mut self, position: u64, from: u64, here: Here) -> bool {
        let Some(statement) = self.statements.at(here.pc) else { return false };
        if position <= from {
            self.left = Some((statement, here.depth));
            return false;
        }
        let Some((left, depth)) = self.left else { return true };
        let (outer, inner) = (left.span, statement.span);
        let is_inside = outer.start < inner.start && inner.end <= outer.end;
        here.depth < depth || here.depth == depth && !is_inside
    }
}
