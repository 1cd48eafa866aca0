//! The bytes that a pattern gives to a member, and the views over them.

use super::super::eval::Env;
use super::super::extents::record;
use super::super::tally::Fault;
use crate::backend::Backend;
use crate::call::{FileCall, ViewId};
use crate::comm::Members;
use crate::recorder::Recorder;
use model::Value;
use model::pattern::{Extents, MAX_STEPS, Run, Runs, Share, View};
use model::plan::{Pattern, Plan};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// The place of a rank among those that share a file: member g of G.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Geometry {
    /// `None`: it calls with the others and has no bytes.
    pub(super) member: Option<u32>,
    pub(super) members: u32,
}

/// A pattern as a statement uses it.
#[derive(Debug)]
pub(super) struct Used<'p> {
    pub(super) pattern: &'p Pattern,
    pub(super) geometry: Geometry,
    plan: &'p Plan,
    /// Its pieces, as runs of equal ones.
    runs: Rc<[Run]>,
    /// Key of what is kept about it.
    key: (usize, Geometry),
}

/// Size of a member's part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) pieces: u64,
    pub(super) bytes: u64,
    /// Its longest piece.
    pub(super) longest_bytes: u64,
    /// Its first byte in the file.
    pub(super) first_offset: u64,
}

/// State of a pattern as one statement uses it.
#[derive(Debug)]
struct Kept {
    runs: Rc<[Run]>,
    facts: Facts,
    /// The view of levels 2 and 3; the number once the back-end has built it.
    view: Option<View>,
    view_id: Option<Result<ViewId, i32>>,
    /// The number by which events refer to its pieces, and how many they are, once an event does.
    recorded: Option<(u32, u32)>,
}

/// The patterns of a rank, computed on first use outside of every timed window.
#[derive(Debug, Default)]
pub(in super::super) struct Shared {
    kept: HashMap<(usize, Geometry), Kept>,
}

impl Used<'_> {
    /// All members call each time.
    pub(super) fn is_collective(&self) -> bool {
        self.pattern.level & 1 != 0
    }

    /// All pieces go in one call.
    pub(super) fn is_whole(&self) -> bool {
        self.pattern.level & 2 != 0
    }

    /// The same as runs of equal pieces.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The pieces of this member in the order of access.
    pub(super) fn extents(&self) -> Extents<Runs<'_>> {
        Extents::of(self.runs.iter().copied())
    }
}

/// The pattern that an argument names; `None`: it is a number.
pub(super) fn pattern_named<'p>(plan: &'p Plan, value: &Value) -> Option<(usize, &'p Pattern)> {
    let Value::Str(name) = value else { return None };
    plan.patterns.iter().enumerate().find(|(_, pattern)| pattern.name.as_bytes() == name)
}

/// A pattern for this rank: geometry of the active group, of the pattern's, or of `group`.
/// Everything that can be wrong with it is found here, before anybody calls.
pub(super) fn used<'p>(
    env: &Env<'p>,
    shared: &mut Shared,
    (index, pattern): (usize, &'p Pattern),
    group: Option<&Members>,
    write: bool,
) -> Result<Used<'p>, Fault> {
    let own = match (&pattern.group, group) {
        (Some(name), None) => Some(group_named(env, name)?),
        _ => None,
    };
    let who = own.as_ref().or(group).unwrap_or(env.scope.members());
    let rank = env.scope.rank;
    let geometry = Geometry { member: who.ranks.position(rank), members: who.ranks.len() as u32 };
    let mut used =
        Used { pattern, geometry, plan: env.plan, runs: Rc::from([]), key: (index, geometry) };
    used.runs = shared.keep(&used, write)?;
    Ok(used)
}

/// All members of a group of the program.
pub(super) fn group_named(env: &Env<'_>, name: &str) -> Result<Members, Fault> {
    let number = env.plan.groups.iter().position(|group| group.name == name);
    number
        .and_then(|number| env.scope.whole_group(env.plan, number as u32))
        .ok_or_else(|| Fault::message(format!("there is no group \"{name}\"")))
}

impl Kept {
    /// A rank without bytes.
    fn nothing() -> Kept {
        let facts = Facts { pieces: 0, bytes: 0, longest_bytes: 0, first_offset: 0 };
        Kept { runs: Rc::from([]), facts, view: None, view_id: None, recorded: None }
    }

    fn of(share: &Share<'_>, whole: bool) -> Kept {
        let runs: Rc<[Run]> = share.runs().filter(|run| run.count > 0).collect();
        let facts = Facts {
            pieces: share.count(),
            bytes: share.bytes(),
            longest_bytes: runs.iter().map(|run| run.length_bytes).max().unwrap_or(0),
            first_offset: runs.first().map_or(0, |run| run.offset_bytes),
        };
        Kept { runs, facts, view: whole.then(|| share.view()), view_id: None, recorded: None }
    }
}

impl Shared {
    /// The pieces of a pattern, worked out on first use.
    fn keep(&mut self, used: &Used<'_>, write: bool) -> Result<Rc<[Run]>, Fault> {
        let name = &used.pattern.name;
        if let Entry::Vacant(free) = self.kept.entry(used.key) {
            let no_pattern = |why: String| Fault::message(format!("the pattern \"{name}\": {why}"));
            let members = used.geometry.members;
            free.insert(match used.geometry.member {
                None => Kept::nothing(),
                Some(member) => {
                    let share = used.pattern.share(used.plan, member, members, MAX_STEPS);
                    Kept::of(&share.map_err(no_pattern)?, used.is_whole())
                }
            });
        }
        let kept = &self.kept[&used.key];
        if write && kept.view.as_ref().is_some_and(|view| view.overlapping) {
            return Err(Fault::message(format!(
                "the pattern \"{name}\" accesses bytes twice; MPI forbids to write through such a \
             view: use level 0 or 1"
            )));
        }
        Ok(kept.runs.clone())
    }

    /// Size of a member's part.
    pub(super) fn facts(&self, used: &Used<'_>) -> Facts {
        self.kept[&used.key].facts
    }

    /// For events: the number of all pieces in the record, and how many they are.
    pub(super) fn recorded(&mut self, used: &Used<'_>, recorder: &mut Recorder) -> (u32, u32) {
        let Some(kept) = self.kept.get_mut(&used.key) else { return (0, 0) };
        let runs = kept.runs.iter().copied();
        *kept.recorded.get_or_insert_with(|| record(recorder, runs, 0))
    }

    /// The built view of levels 2 and 3; `None`: this member sees nothing. Not timed.
    pub(super) fn view<B: Backend>(
        &mut self,
        backend: &mut B,
        used: &Used<'_>,
    ) -> Result<Option<ViewId>, i32> {
        let Some(kept) = self.kept.get_mut(&used.key) else { return Ok(None) };
        let Some(view) = kept.view.as_ref().filter(|_| kept.facts.bytes > 0) else {
            return Ok(None);
        };
        let built = kept.view_id.get_or_insert_with(|| {
            match backend.issue_file(FileCall::MakeView { view }) {
                reply if reply < 0 => Err(-reply as i32),
                reply => Ok(ViewId(reply as i32)),
            }
        });
        built.map(Some)
    }

    /// The view if its memory is in another order than the file.
    pub(super) fn order(&self, used: &Used<'_>) -> Option<ViewId> {
        let kept = self.kept.get(&used.key)?;
        kept.view.as_ref()?.memory.as_ref()?;
        kept.view_id?.ok()
    }
}
