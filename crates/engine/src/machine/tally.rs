//! Results of calls, operations and statements: one call, the sum of the calls of an operation
//! (times, bytes and the first error), and whether the rank continues.

use crate::call::Reply;
use crate::clock::Clock;
use crate::comm::Poll;
use crate::recorder::Timing;
use crate::stop;
use model::{EvalError, Part};

/// Error of an operation in whose middle the rank was stopped. It is not counted: calls that the
/// kernel interrupts are repeated, so that nothing else gives this error.
pub(super) const STOPPED: i32 = libc::EINTR;

/// One call and the two clock readings around it.
#[derive(Clone, Copy)]
pub(super) struct Shot {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) reply: Reply,
}

impl Shot {
    /// A call that is not made: it fails now and takes no time.
    #[inline(always)]
    pub(super) fn refused(clock: &Clock, errno: i32) -> Shot {
        let now_ns = clock.now();
        Shot { start_ns: now_ns, end_ns: now_ns, reply: -Reply::from(errno) }
    }
}

/// The files of an operation, for messages and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// No file (`sync`).
    Nothing,
    /// The first path.
    Path,
    /// Both paths.
    Paths,
    /// An open file: its place in the table of handles.
    Handle(usize),
    /// Two of them: the one that is read and the one that is written.
    Handles { from: usize, to: usize },
}

/// An operation as far as it has come. Several calls add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) timing: Timing,
    pub(super) parts_ns: [u64; Part::COUNT],
    /// Parts that were executed, one bit each.
    pub(super) parts: u8,
    /// The first error; 0: none.
    pub(super) errno: i32,
    pub(super) offset_bytes: u64,
    pub(super) requested_bytes: u64,
    pub(super) done_bytes: u64,
    pub(super) short: bool,
    /// Calls during which the clock went backward.
    pub(super) backward: u32,
}

impl Tally {
    pub(super) const EMPTY: Tally = Tally {
        timing: Timing { start_ns: u64::MAX, end_ns: 0, busy_ns: 0 },
        parts_ns: [0; Part::COUNT],
        parts: 0,
        errno: 0,
        offset_bytes: 0,
        requested_bytes: 0,
        done_bytes: 0,
        short: false,
        backward: 0,
    };

    /// One call has moved all bytes.
    #[inline(always)]
    pub(super) fn of_one_call(shot: Shot, offset_bytes: u64, bytes: u64) -> Tally {
        let mut tally = Tally::EMPTY;
        (tally.offset_bytes, tally.requested_bytes, tally.done_bytes) =
            (offset_bytes, bytes, bytes);
        tally.add_time(Part::Data, shot);
        tally
    }

    /// Adds a call; an error stays.
    #[inline(always)]
    pub(super) fn add(&mut self, part: Part, shot: Shot) -> Reply {
        self.add_time(part, shot);
        if shot.reply < 0 {
            self.fail(-shot.reply as i32);
        }
        shot.reply
    }

    /// Adds the time of a call.
    #[inline(always)]
    pub(super) fn add_time(&mut self, part: Part, shot: Shot) {
        // Where time went backward the call took none, and is counted.
        let took_ns = shot.end_ns.saturating_sub(shot.start_ns);
        self.backward += u32::from(shot.end_ns < shot.start_ns);
        self.timing.start_ns = self.timing.start_ns.min(shot.start_ns);
        self.timing.end_ns = shot.end_ns.max(shot.start_ns);
        self.timing.busy_ns += took_ns;
        self.parts_ns[part as usize] += took_ns;
        self.parts |= 1 << part as u8;
    }

    /// The operation failed; the first error counts.
    pub(super) fn fail(&mut self, errno: i32) {
        if self.errno == 0 {
            self.errno = errno;
        }
    }
}

/// The rank is to stop, in the middle of an operation.
pub(super) fn is_stopped(tally: &mut Tally) -> bool {
    let stopped = stop::requested();
    if stopped {
        tally.fail(STOPPED);
    }
    stopped
}

/// How a statement ends: the rank goes on, or leaves it.
pub(crate) type Flow<T = ()> = Result<T, Fault>;

/// Why a statement is not executed to its end; the site is known to the execute loop. One word, so that the result of
/// every statement comes back in registers: through memory it costs a failed store forwarding, several
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(Box<Why>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// An expression has no value.
    Eval(EvalError),
    /// A sentence.
    Message(String),
    /// It is no mistake.
    Pause(Pause),
}

/// Why a rank leaves its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// It is at its end.
    Finished,
    /// It goes on later, with the same instruction.
    Pending,
    /// It waits for something that cannot happen.
    Released,
    /// Somebody asked the run to stop.
    Interrupted,
}

impl From<Pause> for Fault {
    fn from(pause: Pause) -> Fault {
        Fault(Box::new(Why::Pause(pause)))
    }
}

impl From<EvalError> for Fault {
    #[cold]
    fn from(error: EvalError) -> Fault {
        Fault(Box::new(Why::Eval(error)))
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault::message(text)
    }
}

impl Fault {
    #[cold]
    pub(super) fn message(text: impl Into<String>) -> Fault {
        Fault(Box::new(Why::Message(text.into())))
    }

    pub(super) fn why(self) -> Why {
        *self.0
    }
}

/// Succeeds if the awaited event has happened; otherwise the rank leaves the statement.
pub(super) fn came(poll: Poll) -> Result<(), Fault> {
    match poll {
        Poll::Ready => Ok(()),
        Poll::Pending => Err(Pause::Pending.into()),
        Poll::Released => Err(Pause::Released.into()),
    }
}
