//! What a plan will do, as far as it can be known before: operations, bytes, files,
//! buffers, by rank; and what of it cannot succeed.
//!
//! The plan is walked through with abstract values ([`abs`]). Ranks that go the same way through
//! groups are looked at together; if figures hang on the rank itself, one by one. The
//! number of steps is limited: where it does not suffice, figures are lower bounds.

mod abs;
mod claims;
mod deferred;
mod effect;
mod eval;
mod files;
mod handles;
mod key;
mod loops;
mod mpi;
mod patterns;
mod place;
mod repeat;
mod room;
mod skip;
mod tally;
mod walk;
mod watch;

use crate::diag::Diagnostic;
use claims::Claims;
use model::plan::{Budget, Instr, Pc};
use model::{Op, Plan};
use rustc_hash::FxHashMap;
use std::ops::Range;
use walk::{Exit, Shared, Walk};
use watch::Watch;

/// Instructions looked at, besides twice the program's own.
const STEPS: u64 = 1 << 21;

/// The budget of every rank, and warnings.
type Figures = (Vec<(Range<u32>, Budget)>, Vec<Diagnostic>);

/// Works out the budget. `merges`: see [`crate::lower::Lowered::merges`].
pub(crate) fn budget(plan: &Plan, merges: &[(Pc, Pc)], directory: Option<&str>) -> Figures {
    let together = Attempt::of(plan, merges, directory, classes(plan));
    let all = together.steps.saturating_mul(u64::from(plan.ranks));
    let found = match together.needs_ranks && plan.ranks > 1 && all <= STEPS {
        true => {
            let each = (0..plan.ranks).map(|rank| rank..rank + 1).collect();
            Attempt::of(plan, merges, directory, each).or(together)
        }
        false => together,
    };
    (found.budgets, found.diagnostics)
}

/// One look at all ranks.
struct Attempt {
    budgets: Vec<(Range<u32>, Budget)>,
    diagnostics: Vec<Diagnostic>,
    /// Figures hang on the rank where several were looked at together.
    needs_ranks: bool,
    /// Instructions looked at.
    steps: u64,
}

impl Attempt {
    fn of(
        plan: &Plan,
        merges: &[(Pc, Pc)],
        directory: Option<&str>,
        classes: Vec<Range<u32>>,
    ) -> Attempt {
        let mut shared = Shared {
            plan,
            merges,
            directory,
            seeks: plan
                .code
                .iter()
                .any(|instr| matches!(instr, Instr::Op { op: Op::Fseek | Op::Pfseek, .. })),
            verdicts: vec![None; plan.loops.len()],
            steps: STEPS + 2 * plan.code.len() as u64,
            claims: Claims::new(plan.ranks, classes.len()),
            watch: Watch::default(),
            together: mpi::Together::of(plan),
        };
        let mut attempt = Attempt {
            budgets: Vec::new(),
            diagnostics: Vec::new(),
            needs_ranks: false,
            steps: shared.steps,
        };
        let mut exclusive = FxHashMap::default();
        for ranks in classes {
            if shared.steps == 0 {
                break;
            }
            attempt.needs_ranks |= attempt.class(&mut shared, ranks);
            shared.watch.next_ranks(&mut exclusive);
        }
        attempt.steps -= shared.steps;
        attempt.diagnostics = shared.watch.tell(plan, &exclusive);
        attempt
    }

    /// One class of ranks; whether its figures hang on the rank.
    fn class(&mut self, shared: &mut Shared<'_>, ranks: Range<u32>) -> bool {
        let end = shared.plan.code.len() as Pc;
        let mut walk = Walk::new(shared, ranks.clone());
        let exit = walk.run(0, end);
        debug_assert!(exit != Exit::Left(0));
        walk.finish_handles();
        let own = walk.figures(walk.files.own);
        let all = walk.figures(walk.files.all);
        let needs_ranks = walk.needs_ranks;
        // Files that all of them make are made once: the first rank has them.
        self.push(ranks.start..ranks.start + 1, all);
        if ranks.len() > 1 {
            self.push(ranks.start + 1..ranks.end, own);
        }
        needs_ranks
    }

    /// Adds figures; ranks side by side with the same ones are one entry.
    fn push(&mut self, ranks: Range<u32>, budget: Budget) {
        match self.budgets.last_mut() {
            Some((last, known)) if *known == budget && last.end == ranks.start => {
                last.end = ranks.end;
            }
            _ => self.budgets.push((ranks, budget)),
        }
    }

    /// The ranks that there was no time for have the figures of the other attempt.
    fn or(mut self, other: Attempt) -> Attempt {
        let done = self.budgets.last().map_or(0, |(ranks, _)| ranks.end);
        for (ranks, budget) in other.budgets {
            let rest = ranks.start.max(done)..ranks.end;
            if !rest.is_empty() {
                self.push(rest, budget);
            }
        }
        self
    }
}

/// Ranks that are in the same groups and first in the same groups.
fn classes(plan: &Plan) -> Vec<Range<u32>> {
    let mut cuts = vec![0, plan.ranks];
    let uses_master = plan.code.iter().any(|instr| matches!(instr, Instr::Master { .. }));
    for set in &plan.sets {
        cuts.extend([set.members.start, set.members.end]);
        if uses_master {
            cuts.push(set.members.start + 1);
        }
    }
    cuts.retain(|cut| *cut <= plan.ranks);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

impl Walk<'_, '_> {
    fn figures(&self, totals: room::Totals) -> Budget {
        Budget {
            ops: self.tally.ops(),
            files: totals.files,
            directories: totals.directories,
            footprint_bytes: totals.peak.bytes,
            footprint_files: totals.peak.files,
            buffer_bytes: self.tally.buffer_bytes,
            handles: self.handles.most,
            exact: self.tally.exact && self.tally.files_exact && !self.files.uncounted,
        }
    }

    /// What was asked for through each handle is known at the end.
    fn finish_handles(&mut self) {
        for handle in &self.handles.list {
            if let Some(site) = handle.site {
                self.shared.watch.read(site, &handle.key, handle.asked_bytes, handle.reads);
            }
        }
    }
}
