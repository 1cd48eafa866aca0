//! The interface of a communicator. Semantics: semantics.md section 4.
//!
//! Also the types that all communicators share: members, collective calls, values of collective functions, counters
//! of signals and of `share`, ends and progress.

use model::permutation::{fnv1a, mix};
use model::plan::{Function, Pc, SetId};
use model::{Op, RankSet, Value};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// Talks to the other ranks of a run.
pub trait Comm {
    /// World rank.
    fn rank(&self) -> u32;

    /// Where this rank runs. Unless a communicator knows better, all ranks share a machine.
    fn place(&self) -> NodePlace {
        NodePlace { node: 0, node_rank: self.rank() }
    }

    /// Waits until all members have come. `site` is where this rank waits, for messages. Before a call that the
    /// members make together it is met only if all came to the same one; communicators without such calls do
    /// as for a barrier.
    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll;

    /// Gives a value to a collective function, waits like a barrier until all members have, and
    /// gets the values of all, in order of the members. An error is a sentence: a member has come
    /// to another statement.
    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        given: (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String>;

    /// Claims the next number of an execution of a `share`: each is given to one member, whichever
    /// asks first. `None`: ask again later. Claims until one gives `claim.numbers` or more, then no
    /// more.
    ///
    /// # Errors
    /// A sentence: why the counter cannot be reached.
    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String>;

    /// All members have met at the end of an execution; before they claim again they meet once more.
    ///
    /// # Errors
    /// A sentence: why the counter cannot be reached.
    fn claims_over(&mut self, _members: &Members, _claim: Claim) -> Result<(), String> {
        Ok(())
    }

    /// Adds 1 to the counter of a signal of a set, or of one member (world rank) of it.
    /// Never waits. An error is a sentence (table full).
    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String>;

    /// Waits until the counter that this rank sees (the set's plus its own) is at least `target`.
    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String>;

    /// Number of file locks that ranks have given back, as far as this rank knows.
    fn locks_given_back(&self) -> u64;

    /// This rank has given a lock of a file back, or may have: those that wait for one try again.
    fn gave_lock_back(&mut self);

    /// Waits, after a lock of the file at `path` was refused, until one was given back since `seen` was
    /// the number of those: then it is worth trying again.
    fn wait_for_lock(&mut self, path: &[u8], seen: u64, site: Pc) -> Poll;

    /// Whether a [`Comm::wait`] for it would be over at once. Never waits.
    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String>;

    /// Why the last [`Poll::Released`]: half a sentence that completes "released: ...".
    fn release_reason(&self) -> String;

    /// Whether this rank may go on. Cheap: asked before every statement.
    fn check(&mut self) -> Check;

    /// This rank stops for good; others do not wait for it any longer.
    fn leave(&mut self, end: End);

    /// In a rehearsal: an iteration of a `repeat` has ended, with `left` more to come. Some are left
    /// out by moving the numbers on. `place`: that of the loop's variables, which no other running loop
    /// has.
    fn iterated(&mut self, _place: u32, _left: u64, _numbers: &mut dyn Numbers) {}

    /// In a rehearsal: an iteration of a `repeat` with a time limit is over. False: it was the last.
    fn iterated_in_time(&mut self) -> bool {
        true
    }

    /// Asked before each instruction by [`crate::machine::Machine::run_in_steps`], once for each execution of it.
    /// `depth`: procs that are running. False: pause before it.
    fn begins(&mut self, _pc: Pc, _depth: usize) -> bool {
        true
    }
}

/// The numbers that a rank counts with.
pub trait Numbers {
    /// All of them, in an order that stays while the rank is in the same loop.
    fn read(&self) -> Vec<i64>;
    /// Sets them.
    fn write(&mut self, numbers: &[i64]);
}

/// Answer to a call that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It is done.
    Ready,
    /// Ask again later with the same arguments.
    Pending,
    /// It can never be done: a rank is gone, the run was interrupted, or everybody waits.
    Released,
}

/// Whether a rank may go on with its next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Yes.
    GoOn,
    /// Give control back; another simulated rank is behind in time.
    Yield,
    /// No: somebody asked the run to stop.
    Interrupted,
}

/// A set of ranks as a communicator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// Its number in the plan.
    pub set: SetId,
    /// World ranks.
    pub ranks: RankSet,
}

/// The number of the set of this rank alone, which is in no plan: MPI_COMM_SELF.
pub const ALONE: SetId = SetId::MAX;

impl Members {
    /// A set that holds one rank and has no number in the plan.
    pub fn alone(rank: u32) -> Members {
        Members { set: ALONE, ranks: (rank..rank + 1).into() }
    }

    /// Made by [`Members::alone`].
    pub fn is_alone(&self) -> bool {
        self.set == ALONE
    }
}

/// A collective operation of a set of ranks, other than a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collective {
    /// A call inside MPI.
    Op(Op),
    /// A collective function.
    Function(Function),
}

impl Collective {
    /// Its name in programs, or "the barrier".
    pub fn name(what: Option<Collective>) -> &'static str {
        match what {
            None => "the barrier",
            Some(Collective::Op(op)) => op.name(),
            Some(Collective::Function(function)) => function.row().name,
        }
    }

    /// The wait of a member, in words that complete "rank 3 waits for ...".
    pub fn awaited(what: Option<Collective>) -> String {
        match what {
            Some(_) => format!("the other members of {}", Collective::name(what)),
            None => "a barrier".into(),
        }
    }
}

/// A call that all members of a set make together, and in which nobody can be released (MPI-IO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveCall {
    /// The statement.
    pub what: Collective,
    /// On which file of the set: how many were opened before it. Alike on all members.
    pub file: u32,
    /// In which way: members that differ here would make different calls.
    pub way: u16,
}

impl CollectiveCall {
    /// That of a collective function, which has no file.
    pub fn of_function(function: Function) -> CollectiveCall {
        CollectiveCall { what: Collective::Function(function), file: 0, way: 0 }
    }

    /// A positive number that only equal calls share.
    pub fn key(self) -> i64 {
        let number = match self.what {
            Collective::Op(op) => i64::from(op as u8),
            Collective::Function(function) => 256 + function as i64,
        };
        (number + 1) << 48 | i64::from(self.way) << 32 | i64::from(self.file)
    }
}

/// A counter of signals that is waited for, in words that complete "rank 3 waits for ...".
pub fn awaited_signal(name: &str, count: u64, target: u64) -> String {
    format!("the signal \"{name}\" ({count} of {target})")
}

/// A lock that is waited for, in the same way.
pub fn awaited_lock(path: &str) -> String {
    format!("a lock of \"{path}\"")
}

/// Why a rank was released from a wait. `ended`: the member of the group that has ended, if one has.
pub fn release_reason(what: &str, ended: Option<(u32, End)>) -> String {
    match ended {
        Some((rank, end)) => format!("{what} cannot be met: rank {rank} {}", end.describe()),
        None => format!("{what} cannot be met: every rank that is left waits"),
    }
}

/// Where a rank runs: `$$node` and `$$noderank`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePlace {
    /// Number of its machine, from 0.
    pub node: u32,
    /// Number of this rank on its machine, from 0.
    pub node_rank: u32,
}

/// A waiting rank, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// World rank.
    pub rank: u32,
    /// Where it waits.
    pub site: Pc,
    /// The awaited thing: "a barrier", "the signal \"go\" (2 of 3)".
    pub what: String,
}

/// How a rank ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// It reached the end of the program.
    Finished,
    /// A failed evaluation, or a failed operation under `--on-error stop`.
    Failed,
    /// It was asked to stop.
    Interrupted,
    /// It waited for something that could not come any more.
    Released,
    /// The signal with this number killed its process.
    Killed(i32),
    /// Its process ended without a word.
    #[default]
    Lost,
}

impl End {
    /// In words that complete "rank 3 ...".
    pub fn describe(&self) -> String {
        match self {
            End::Finished => "has finished".into(),
            End::Failed => "has failed".into(),
            End::Interrupted => "was interrupted".into(),
            End::Released => "was released from a wait".into(),
            End::Killed(signal) => format!("was killed by signal {signal}"),
            End::Lost => "ended without a word".into(),
        }
    }
}

/// The rank to name when others need not wait any longer: the first that ended for a
/// reason of its own, else the first that was itself released.
pub fn blame(ended: impl Iterator<Item = (u32, End)>) -> Option<(u32, End)> {
    let mut released = None;
    for (rank, end) in ended {
        if end != End::Released {
            return Some((rank, end));
        }
        released.get_or_insert((rank, end));
    }
    released
}

/// A report of the supervisor while ranks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The ranks are set up and wait for SIGUSR1; nothing is executed yet.
    Held,
    /// The run goes on.
    Alive,
    /// How far the ranks are.
    At(Sample),
}

/// How far some ranks are: of many ranks only the first are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds since the start.
    pub at_ns: u64,
    /// Number of ranks that were read.
    pub ranks: u32,
    /// Operations that they have done, failed ones included.
    pub operations: u64,
    /// Operations that they will have done at the end; `None` if unknown.
    pub expected: Option<u64>,
    /// Bytes that they have moved; `None` if unknown.
    pub bytes: Option<u64>,
    /// Label path of the first of them that runs.
    pub label: Option<String>,
    /// Label path of each rank that was read, in the order of the ranks; `None`: it is in no label, or has ended.
    pub labels: Vec<Option<String>>,
    /// The rank that waits for storage if no operation has ended for some time: "rank 2 in fsync of d/f for 35 s".
    pub waiting: Option<String>,
}

/// The value of a member for a collective function, with the function and the kind of value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given(pub [i64; 2]);

const INT: i64 = 1;
const FLOAT: i64 = 2;
const DURATION: i64 = 3;
const BOOL: i64 = 4;

impl Given {
    /// `None`: the value is no number and no boolean.
    pub fn new(function: Function, value: &Value) -> Option<Given> {
        let (kind, bits) = match *value {
            Value::Int(n) => (INT, n),
            Value::Float(x) => (FLOAT, x.to_bits() as i64),
            Value::Duration(ns) => (DURATION, ns),
            Value::Bool(is) => (BOOL, i64::from(is)),
            _ => return None,
        };
        Some(Given([(function as i64) << 8 | kind, bits]))
    }

    /// The value; `None`: it was given to something else.
    fn value(self, function: Function) -> Option<Value> {
        let [what, bits] = self.0;
        if what >> 8 != function as i64 {
            return None;
        }
        match what & 0xff {
            INT => Some(Value::Int(bits)),
            FLOAT => Some(Value::Float(f64::from_bits(bits as u64))),
            DURATION => Some(Value::Duration(bits)),
            BOOL => Some(Value::Bool(bits != 0)),
            _ => None,
        }
    }
}

/// The values of all members, in their order.
///
/// # Errors
/// A member has come to another statement: a sentence that names it.
pub fn values(
    function: Function,
    members: &Members,
    given: impl IntoIterator<Item = Given>,
    all: &mut Vec<Value>,
) -> Result<(), String> {
    all.clear();
    for (rank, given) in members.ranks.iter().zip(given) {
        let value = given.value(function).ok_or_else(|| {
            format!("rank {rank} has come to another statement than {}", function.row().name)
        })?;
        all.push(value);
    }
    Ok(())
}

/// The key of a counter, the same in all processes. `to`: world rank of the only receiver.
pub fn signal_key(set: SetId, name: &[u8], to: Option<u32>) -> u64 {
    let start = mix(u64::from(set) << 33 | to.map_or(0, |rank| u64::from(rank) << 1 | 1));
    mix(start ^ fnv1a(name)).max(1)
}

// The counter that a `share` hands indices out of is one 64-bit word for each set of ranks:
//
//     execution of shares by the set, mod 2^16 | next number, 48 bits
//
// A member claims by adding 1. Nobody resets the word between two executions: a member that finds an earlier
// execution in it begins the next with a compare-and-swap. That is safe because a `share` ends with a barrier:
// when a member is in one execution, no other is in the next.

/// Bits of the next number.
const NUMBER_BITS: u32 = 48;
/// Numbers that one execution can hand out. Members go on adding after the last one, once each.
pub const MAX_NUMBERS: u64 = 1 << (NUMBER_BITS - 1);

/// The counter of one execution of a `share`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Number of the execution of a `share` by the members, from 1.
    pub execution: u64,
    /// Numbers it hands out, at most [`MAX_NUMBERS`]; claims that give this or more get nothing.
    pub numbers: u64,
}

impl Claim {
    /// The word before the first claim.
    pub fn start(self) -> u64 {
        self.execution << NUMBER_BITS
    }

    /// The next execution by the same members.
    pub fn following(self) -> Claim {
        Claim { execution: self.execution + 1, ..self }
    }

    /// The next number, if the word is of this execution.
    pub fn number(self, word: u64) -> Option<u64> {
        let is_of_this = word >> NUMBER_BITS == self.execution & (u64::MAX >> NUMBER_BITS);
        is_of_this.then_some(word & (u64::MAX >> (64 - NUMBER_BITS)))
    }

    /// Claims from a word that all members see.
    pub(crate) fn take(self, word: &AtomicU64) -> u64 {
        let mut seen = word.load(SeqCst);
        while self.number(seen).is_none() {
            match word.compare_exchange_weak(seen, self.start() + 1, SeqCst, SeqCst) {
                Ok(_) => return 0,
                Err(found) => seen = found,
            }
        }
        self.number(word.fetch_add(1, SeqCst)).unwrap_or(self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_failed_is_named_before_those_it_released() {
        let ended = [(0, End::Released), (1, End::Released), (2, End::Failed), (3, End::Finished)];
        assert_eq!(blame(ended.into_iter()), Some((2, End::Failed)));
        assert_eq!(blame([(4, End::Released)].into_iter()), Some((4, End::Released)));
        assert_eq!(blame(std::iter::empty()), None);
    }

    #[test]
    fn what_is_given_arrives_at_the_same_function_only() {
        let members = Members { set: 0, ranks: (4..6).into() };
        let mut all = Vec::new();
        for value in [Value::Int(-3), Value::Float(0.5), Value::Duration(7), Value::Bool(true)] {
            let given = Given::new(Function::Gmax, &value).unwrap();
            values(Function::Gmax, &members, [given, given], &mut all).unwrap();
            assert_eq!(all, [value.clone(), value]);
            let missing = values(Function::Gmin, &members, [given], &mut all);
            assert_eq!(missing, Err("rank 4 has come to another statement than gmin".into()));
        }
        let nothing = values(Function::Gmax, &members, [Given::default()], &mut all);
        assert!(nothing.is_err());
        assert_eq!(Given::new(Function::Gmax, &Value::str("1")), None);
    }

    #[test]
    fn keys_differ_by_set_name_and_member() {
        let keys = [
            signal_key(0, b"a", None),
            signal_key(1, b"a", None),
            signal_key(0, b"b", None),
            signal_key(0, b"", None),
            signal_key(0, b"a", Some(0)),
            signal_key(0, b"a", Some(1)),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys[index + 1..].iter().all(|other| other != one));
            assert_ne!(*one, 0);
        }
    }

    fn claims(word: &AtomicU64, execution: u64, count: usize) -> Vec<u64> {
        let claim = Claim { execution, numbers: 3 };
        (0..count).map(|_| claim.take(word)).collect()
    }

    #[test]
    fn each_execution_begins_at_zero_whatever_was_left() {
        let word = AtomicU64::new(0);
        assert_eq!(claims(&word, 1, 5), [0, 1, 2, 3, 4]);
        assert_eq!(claims(&word, 2, 2), [0, 1]);
        // The number of executions wraps.
        for execution in [0xffff, 0x1_0000, 0x1_0001, 0x2_0000] {
            assert_eq!(claims(&word, execution, 2), [0, 1], "{execution:#x}");
        }
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let word = AtomicU64::new(0);
        for execution in 1..20 {
            let claim = Claim { execution, numbers: 1000 };
            let claimed = || {
                let numbers = std::iter::repeat_with(|| claim.take(&word));
                numbers.take_while(|number| *number < claim.numbers).collect::<Vec<u64>>()
            };
            let mut all: Vec<u64> = std::thread::scope(|scope| {
                let members: Vec<_> = (0..4).map(|_| scope.spawn(claimed)).collect();
                members.into_iter().flat_map(|member| member.join().unwrap()).collect()
            });
            all.sort_unstable();
            assert_eq!(all, (0..1000).collect::<Vec<_>>());
        }
    }
}
