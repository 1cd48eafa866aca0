//! Files that the ranks of an imported original share: several append to one, in an order
//! that is not the same twice; or one uses what another one has opened.

use super::stream::{Step, Steps};
use crate::StoreError;
use model::Op;
use model::event::NO_ID;
use model::op::ParamKind;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// `O_APPEND` of open(2).
const O_APPEND: u32 = 0o2000;

/// Names of the original, by numbers of texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    /// Files that several ranks append to, and nobody writes otherwise.
    appended: HashSet<u32>,
    /// Ranks and files that they use but have not opened.
    borrowed: HashSet<(u32, u32)>,
}

impl Shared {
    /// Those of an original.
    pub fn of(steps: Steps) -> Result<Shared, StoreError> {
        let mut appending: HashSet<u32> = HashSet::new();
        let (mut opened, mut used) = (HashSet::new(), HashSet::new());
        // Name: the only rank that writes it, and the instances.
        let mut writers: HashMap<u32, (Option<u32>, HashSet<u32>)> = HashMap::new();
        for step in steps {
            let step = step?;
            let Some(op) = Op::from_u8(step.op).filter(|_| step.errno == 0) else { continue };
            if op == Op::Fopen {
                opened.insert((step.rank, step.name));
                if step.open_flags != NO_ID && step.open_flags & O_APPEND != 0 {
                    appending.insert(step.instance);
                }
            }
            if op.row().params.iter().any(|param| param.kind == ParamKind::Handle) {
                used.insert((step.rank, step.name));
            }
            if writes(&step) && step.done > 0 {
                let known =
                    writers.entry(step.name).or_insert_with(|| (Some(step.rank), HashSet::new()));
                known.0 = known.0.filter(|rank| *rank == step.rank);
                known.1.insert(step.instance);
            }
        }
        appending.remove(&NO_ID);
        let several = writers
            .into_iter()
            .filter(|(_, (rank, instances))| rank.is_none() && instances.is_subset(&appending));
        let appended = several.map(|(name, _)| name).collect();
        Ok(Shared { appended, borrowed: used.difference(&opened).copied().collect() })
    }

    /// Operations as they are compared: nobody asks where appends lie that `left_out` counts.
    pub fn compared(&self, steps: Steps, left_out: &Rc<Cell<u64>>) -> Steps {
        let (appended, left_out) = (self.appended.clone(), Rc::clone(left_out));
        Box::new(steps.map(move |step| {
            let mut step = step?;
            if writes(&step) && !step.unplaced && appended.contains(&step.name) {
                step.unplaced = true;
                left_out.set(left_out.get() + 1);
            }
            Ok(step)
        }))
    }

    /// An open that gives a rank what another one has opened.
    pub fn borrows(&self, step: &Step) -> bool {
        step.op == Op::Fopen as u8
            && step.label == NO_ID
            && self.borrowed.contains(&(step.rank, step.name))
    }
}

fn writes(step: &Step) -> bool {
    [Op::Fwrite, Op::Writev].into_iter().any(|op| step.op == op as u8)
}
