//! Steps: the operations of all ranks of an MPI job between two barriers. Where each rank does one thing
//! in it, the step is one phase, named after what all do.
//!
//! ```text
//! rank 0:  write out-0  |  read out-1  |     write out-*  |  read out-*
//! rank 1:  write out-1  |  read out-0  |     write out-*  |  read out-*
//! ```

use super::Phase;
use model::run::TraceBarrier;
use std::collections::HashMap;

/// When ranks left the barriers of their job.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    left_ns: Vec<Vec<u64>>,
}

/// The number of a step, and the rank that does it.
pub(crate) type Step = (usize, u64);

impl Steps {
    pub fn of(barriers: &[TraceBarrier]) -> Steps {
        Steps { left_ns: barriers.iter().map(|barrier| barrier.left_ns.clone()).collect() }
    }

    /// In which step a rank of the job is at a time.
    pub fn at(&self, rank: u64, start_ns: u64) -> Option<Step> {
        let rank_at = usize::try_from(rank).ok()?;
        let ranks = self.left_ns.first().map_or(0, Vec::len);
        let left = |barrier: &Vec<u64>| barrier.get(rank_at).is_some_and(|ns| *ns <= start_ns);
        (rank_at < ranks).then(|| (self.left_ns.partition_point(left), rank))
    }
}

/// The phases that all ranks of a step have together, by number of the step: each has one, and all are of one
/// program.
pub(crate) fn united(phases: &[(Option<Step>, Phase)]) -> HashMap<usize, Phase> {
    let mut all: HashMap<usize, (u64, Option<Phase>)> = HashMap::new();
    for (step, phase) in phases {
        let Some((number, rank)) = *step else { continue };
        let (last, whole) = all.entry(number).or_insert((u64::MAX, Some(Phase::default())));
        let again = std::mem::replace(last, rank) == rank;
        *whole = whole.take().filter(|_| !again).and_then(|whole| merge_phases(whole, phase));
    }
    all.into_iter().filter_map(|(number, (_, whole))| Some((number, whole?))).collect()
}

fn merge_phases(mut whole: Phase, phase: &Phase) -> Option<Phase> {
    if whole.count > 0 && whole.program != phase.program {
        return None;
    }
    whole.program = phase.program;
    whole.count += phase.count;
    phase.words.iter().for_each(|word| whole.put(*word));
    Some(whole)
}
