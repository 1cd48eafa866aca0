//! `share`: the indices that this rank claims, and the figures that are recorded of it.
//!
//! ```text
//! begin, claim claim claim ... (nothing left) ─▶ end: a barrier, then all learn when the first of
//!                                                them had nothing to do any more
//! ```
//!
//! Until then all members were at work: the rate of that time is the steady one. What a member had
//! done by then follows from the beginnings of its last two extents of indices; inside one, work is
//! taken to advance evenly.

use super::io::Io;
use super::tally::{Fault, Flow, Pause, came};
use crate::comm::{Claim, Comm, Given, MAX_NUMBERS, Members};
use crate::recorder::ClaimedWork;
use model::Value;
use model::plan::{Function, Pc, SetId};

const MILLI: u64 = 1000;

/// The executions of `share` that a rank is in, and has been in.
#[derive(Debug, Default)]
pub(super) struct WorkClaims {
    /// Executions begun, by set.
    executions: Vec<u64>,
    /// Those that have not ended, the innermost last.
    open: Vec<Open>,
    /// The values of the members at a collective.
    given: Vec<Value>,
}

/// An execution of a `share`.
#[derive(Clone, Debug, Default)]
struct Open {
    set: SetId,
    claim: Claim,
    count: u64,
    by: u64,
    /// Indices of the extent that was claimed last which are left.
    next: u64,
    end: u64,
    claims: u64,
    site: Pc,
    begun: Done,
    /// The work that is recorded already: a rank that is killed leaves the extents that it finished.
    kept: (Done, u64),
    /// The beginnings of the last two extents; then where it had nothing left.
    done: [Done; 3],
    /// At its end: when all members had come, and how long the first of them was idle.
    came_ns: Option<u64>,
    tail_ns: Option<u64>,
}

/// The work of a rank so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    at_ns: u64,
    indices: u64,
    operations: u64,
    bytes: u64,
}

impl WorkClaims {
    /// `share`: evaluated with `count` indices, of which `by` are claimed at a time.
    pub(super) fn begin(
        &mut self,
        members: &Members,
        site: Pc,
        [count, by]: [i64; 2],
        io: &Io<'_>,
    ) -> Flow {
        let wrong = |what: &str, found| {
            Err(Fault::message(format!("share: expected {what}, found {found}")))
        };
        let Ok(count) = u64::try_from(count) else {
            return wrong("a number of indices from 0 on", count);
        };
        let Some(by) = u64::try_from(by).ok().filter(|by| *by > 0) else {
            return wrong("a number of indices after `by` from 1 on", by);
        };
        if self.open.iter().any(|open| open.set == members.set) {
            return Err(Fault::message(
                "share stands inside of a share of the same members, who are at different indices and \
                 cannot meet at its end; take repeat inside, or a share over the product of both counts",
            ));
        }
        let numbers = count.div_ceil(by);
        if numbers > MAX_NUMBERS {
            return Err(Fault::message(format!(
                "share: {numbers} claims are more than the {MAX_NUMBERS} that are possible; claim more \
                 indices at a time (by)"
            )));
        }
        let set = members.set as usize;
        if set >= self.executions.len() {
            self.executions.resize(set + 1, 0);
        }
        self.executions[set] += 1;
        let claim = Claim { execution: self.executions[set], numbers };
        let begun = Done::now(io, 0);
        self.open.push(Open {
            set: members.set,
            claim,
            count,
            by,
            site,
            begun,
            kept: (begun, 0),
            done: [begun; 3],
            ..Open::default()
        });
        Ok(())
    }

    fn innermost(&mut self) -> Flow<&mut Open> {
        self.open.last_mut().ok_or_else(|| Fault::message("a claim stands outside of a share"))
    }

    /// The next index; `None`: all are claimed.
    pub(super) fn claim(
        &mut self,
        members: &Members,
        io: &mut Io<'_>,
        comm: &mut dyn Comm,
    ) -> Flow<Option<i64>> {
        let open = self.innermost()?;
        if open.next == open.end {
            match comm.claim(members, open.claim)? {
                // Another simulated rank is behind in time.
                None => return Err(Pause::Pending.into()),
                Some(number) if number >= open.claim.numbers => {
                    // What is under way belongs to the work.
                    io.finish_all()?;
                    open.done[2] = Done::now(io, open.done[2].indices);
                    return Ok(None);
                }
                Some(number) => open.extend(number, io),
            }
        }
        let index = open.next as i64;
        open.next += 1;
        open.done[2].indices += 1;
        Ok(Some(index))
    }

    /// `share end`. May be asked again.
    pub(super) fn end(
        &mut self,
        members: &Members,
        site: Pc,
        io: &mut Io<'_>,
        comm: &mut dyn Comm,
    ) -> Flow {
        let open = self.innermost()?;
        let came_ns = match open.came_ns {
            Some(came_ns) => came_ns,
            None => {
                came(comm.barrier(members, site, None))?;
                comm.claims_over(members, open.claim)?;
                *open.came_ns.insert(io.clock.now())
            }
        };
        let idle_ns = came_ns.saturating_sub(open.done[2].at_ns);
        let whole_ns = came_ns.saturating_sub(open.begun.at_ns);
        let tail_ns = match open.tail_ns {
            Some(tail_ns) => tail_ns,
            None => self.longest(members, site, idle_ns, comm)?,
        };
        self.innermost()?.tail_ns = Some(tail_ns);
        let group_ns = self.longest(members, site, whole_ns, comm)?;
        self.keep(members, io, [idle_ns, whole_ns, tail_ns, group_ns]);
        Ok(())
    }

    /// The longest of what the members give.
    fn longest(
        &mut self,
        members: &Members,
        site: Pc,
        own_ns: u64,
        comm: &mut dyn Comm,
    ) -> Flow<u64> {
        let own = Value::Duration(i64::try_from(own_ns).unwrap_or(i64::MAX));
        let given = Given::new(Function::Gmax, &own).unwrap_or_default();
        let met = comm.gather(members, site, (Function::Gmax, given), &mut self.given);
        came(met?)?;
        let all = self.given.iter().filter_map(|value| value.as_duration_ns().ok());
        Ok(all.max().unwrap_or(own_ns))
    }

    /// The execution is over: counts it.
    fn keep(
        &mut self,
        members: &Members,
        io: &mut Io<'_>,
        [idle_ns, whole_ns, tail_ns, group_ns]: [u64; 4],
    ) {
        let Some(mut open) = self.open.pop() else { return };
        let first_idle_ns = (open.begun.at_ns + whole_ns).saturating_sub(tail_ns);
        let steady = open.done_by(first_idle_ns);
        open.record(
            io,
            open.done[2],
            ClaimedWork {
                executions: 1,
                members: members.ranks.len() as u64,
                steady_milli_indices: steady[0],
                steady_milli_operations: steady[1],
                steady_bytes: steady[2] / MILLI,
                idle_ns,
                whole_ns: group_ns,
                steady_ns: group_ns.saturating_sub(tail_ns),
                ..ClaimedWork::default()
            },
        );
    }

    /// The rank ends inside of executions that are not over: what it had of them.
    pub(super) fn cut_off(&mut self, io: &mut Io<'_>) {
        for mut open in std::mem::take(&mut self.open) {
            open.done[2] = Done::now(io, open.done[2].indices);
            open.record(io, open.done[2], ClaimedWork::default());
        }
    }
}

impl Open {
    /// Takes the extent of indices with this number.
    fn extend(&mut self, number: u64, io: &mut Io<'_>) {
        self.record(io, Done::now(io, self.done[2].indices), ClaimedWork::default());
        self.claims += 1;
        self.next = number * self.by;
        self.end = self.next.saturating_add(self.by).min(self.count);
        self.done[0] = self.done[1];
        self.done[1] = Done::now(io, self.done[2].indices);
    }

    /// Indices, operations and bytes done by then, in thousandths.
    fn done_by(&self, at_ns: u64) -> [u64; 3] {
        let [before, last, end] = self.done;
        let (from, to) = if at_ns < last.at_ns { (before, last) } else { (last, end) };
        let span_ns = to.at_ns.saturating_sub(from.at_ns).max(1);
        let part_ns = at_ns.saturating_sub(from.at_ns).min(span_ns);
        let between = |of: fn(&Done) -> u64| {
            let (base, from, to) = (of(&self.begun), of(&from), of(&to));
            let part = u128::from(to - from) * u128::from(MILLI) * u128::from(part_ns);
            ((from - base) * MILLI).saturating_add((part / u128::from(span_ns)) as u64)
        };
        [between(|done| done.indices), between(|done| done.operations), between(|done| done.bytes)]
    }

    /// Records what was done since the last time.
    fn record(&mut self, io: &mut Io<'_>, done: Done, figures: ClaimedWork) {
        let (before, claims) = std::mem::replace(&mut self.kept, (done, self.claims));
        let is_new = (before, claims) != self.kept || figures != ClaimedWork::default();
        if is_new && io.labels.is_selected() {
            io.recorder.claimed(
                io.labels.id(),
                self.site,
                &ClaimedWork {
                    indices: done.indices - before.indices,
                    claims: self.claims - claims,
                    operations: done.operations - before.operations,
                    bytes: done.bytes - before.bytes,
                    ..figures
                },
            );
        }
    }
}

impl Done {
    fn now(io: &Io<'_>, indices: u64) -> Done {
        let at_ns = io.clock.now();
        Done { at_ns, indices, operations: io.operations, bytes: io.moved_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(times_ns: [u64; 3]) -> Open {
        let done =
            |(at_ns, n): (u64, u64)| Done { at_ns, indices: n, operations: 10 + n, bytes: n << 20 };
        let claim = Claim { execution: 1, numbers: 9 };
        let [a, b, c] = times_ns;
        let done = [(a, 4), (b, 8), (c, 10)].map(done);
        let begun = Done { operations: 10, ..Done::default() };
        Open { claim, count: 9, by: 4, claims: 3, begun, done, ..Open::default() }
    }

    #[test]
    fn inside_an_extent_work_advances_evenly() {
        let open = open([100, 200, 300]);
        for (at_ns, milli) in [
            (50, 4000),
            (100, 4000),
            (150, 6000),
            (200, 8000),
            (250, 9000),
            (300, 10_000),
            (900, 10_000),
        ] {
            let [indices, operations, bytes] = open.done_by(at_ns);
            assert_eq!([indices, operations], [milli; 2], "at {at_ns}");
            assert_eq!(bytes, milli << 20, "at {at_ns}");
        }
    }

    #[test]
    fn an_extent_that_took_no_time_is_done() {
        assert_eq!(open([100, 200, 200]).done_by(201)[0], 10_000);
        assert_eq!(open([100, 100, 100]).done_by(100)[0], 8000);
    }
}
