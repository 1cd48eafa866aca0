use super::*;
use crate::recorder::tests::{at, heap};
use crate::recorder::{Count, RankRecord, Recorder, State, Usage, layout};
use model::event::NO_ID;
use model::merge::{Merge, merge_all};
use model::plan::LabelKind;
use model::{Op, Part, Plan};

mod merged;
mod reduced;
