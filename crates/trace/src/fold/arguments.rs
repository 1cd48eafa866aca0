//! The arguments of a statement that are neither names nor open files.

use super::log::Logged;
use super::shape::Arg;
use super::told::Way;
use model::Op;
use model::event::{FLAG_AT_POSITION, FLAG_UNPLACED, NO_ID};
use model::op::ParamKind;

/// The arguments of one statement.
pub struct Arguments<'a> {
    /// The operation.
    pub entry: &'a Logged,
    /// Which.
    pub op: Op,
    /// Who moves its bytes by MPI-IO.
    pub way: Way,
    /// Numbers so far.
    pub numbers: Vec<i64>,
    /// Arguments so far.
    pub args: Vec<Arg>,
}

impl Arguments<'_> {
    /// Adds an argument that is neither a name nor an open file; whether the run does not tell it.
    /// `None`: there is no way to write it.
    pub fn other(&mut self, kind: ParamKind, default: Option<&str>, placed: bool) -> Option<bool> {
        let event = &self.entry.event;
        match kind {
            ParamKind::Flags | ParamKind::MpiMode => {
                self.args.push(Arg::Flags(match self.entry.details.open_flags {
                    NO_ID => 0,
                    flags => flags,
                }))
            }
            ParamKind::Size if self.op == Op::Copy => {}
            ParamKind::Size | ParamKind::Pattern => {
                self.bytes(event.requested_bytes, Arg::Bytes)?
            }
            ParamKind::Sizes => self.bytes(event.requested_bytes, Arg::List)?,
            ParamKind::Offset if self.has_offset(default.is_none(), placed) => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Offset if self.op == Op::Fallocate => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Collective => self.args.extend(self.way.shown().map(Arg::Fixed)),
            _ if default.is_some() => {}
            ParamKind::Mode => return self.guess("0o644"),
            ParamKind::Attribute => return self.guess("\"user.name\""),
            ParamKind::Word(words) => match words.first() {
                Some(&"shared") => return self.guess("\"exclusive\""),
                _ => return self.guess("\"normal\""),
            },
            _ => return None,
        }
        Some(false)
    }

    fn has_offset(&self, required: bool, placed: bool) -> bool {
        match self.op {
            Op::Fread | Op::Fwrite | Op::Readv | Op::Writev => {
                self.entry.event.flags & FLAG_AT_POSITION == 0
            }
            Op::Pfread | Op::Pfwrite => {
                self.entry.event.flags & (FLAG_AT_POSITION | FLAG_UNPLACED) == 0
            }
            Op::Read | Op::Write => placed,
            _ => required,
        }
    }

    fn bytes(&mut self, bytes: u64, arg: Arg) -> Option<()> {
        self.numbers.push(i64::try_from(bytes).ok()?);
        self.args.push(arg);
        Some(())
    }

    fn guess(&mut self, text: &'static str) -> Option<bool> {
        self.args.push(Arg::Fixed(text));
        Some(true)
    }
}
