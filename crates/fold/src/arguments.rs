//! The arguments of a statement that are neither names nor open files.

use super::facts::Facts;
use super::logged::Logged;
use super::statement::Arg;
use model::Event;
use model::Op;
use model::errno;
use model::event::{
    FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_KEEPS_SIZE, FLAG_UNPLACED, rename_word,
};
use model::op::{Param, ParamKind};

/// The arguments of one statement.
pub struct Arguments<'a> {
    /// The operation.
    pub entry: &'a Logged,
    /// Which.
    pub op: Op,
    /// Facts from the program's text.
    pub told: Facts,
    /// The file is a directory, as far as the run shows.
    pub is_directory: bool,
    /// Numbers so far.
    pub numbers: Vec<i64>,
    /// Arguments so far.
    pub args: Vec<Arg>,
}

impl Arguments<'_> {
    /// Adds an argument that is neither a name nor an open file; whether the run does not tell it.
    /// `None`: there is no way to write it.
    pub fn other(&mut self, param: &Param, placed: bool) -> Option<bool> {
        let (event, default) = (&self.entry.event, param.default);
        match param.kind {
            ParamKind::Flags | ParamKind::MpiMode => {
                self.args.push(Arg::Flags(self.entry.open_flags()));
            }
            ParamKind::Size | ParamKind::Offset if self.op == Op::Copy => self.part(param.name)?,
            ParamKind::Size | ParamKind::Offset if self.op == Op::Freflink => {
                self.shared(param.name)?;
            }
            ParamKind::Size | ParamKind::Pattern => {
                self.bytes(event.requested_bytes, Arg::Bytes)?
            }
            ParamKind::Sizes => self.bytes(event.requested_bytes, Arg::List)?,
            ParamKind::Offset if self.op == Op::Fcopy => self.place_of_copy(param.name)?,
            ParamKind::Offset if self.has_offset(default.is_none(), placed) => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Offset if self.op == Op::Fallocate => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Collective => self.args.extend(self.told.way.word().map(Arg::Word)),
            ParamKind::Word(_) if self.word(param).is_some() => {
                self.args.extend(self.word(param).map(Arg::Word));
            }
            _ if default.is_some() => {}
            ParamKind::Mode => return Some(self.mode()),
            // Those that were set have one name, those that were not there another.
            ParamKind::Attribute if errno::name(event.errno) == "ENODATA" => {
                return self.guess(Arg::Word("user.absent"));
            }
            ParamKind::Attribute => return self.guess(Arg::Word("user.name")),
            ParamKind::Word(words) => match words.first() {
                Some(&"shared") => return self.guess(Arg::Word("exclusive")),
                _ => return self.guess(Arg::Word("normal")),
            },
            _ => return None,
        }
        Some(false)
    }

    /// Where a copy reads or writes, unless it goes on.
    fn place_of_copy(&mut self, name: &'static str) -> Option<()> {
        let event = &self.entry.event;
        let (goes_on, bytes) = match name {
            "from_off" => (FLAG_FROM_POSITION, event.from_bytes),
            _ => (FLAG_AT_POSITION, event.offset_bytes),
        };
        if event.flags & goes_on != 0 {
            return Some(());
        }
        let follows = self.op.row().params.get(self.args.len()).is_some_and(|it| it.name == name);
        self.bytes(bytes, if follows { Arg::Bytes } else { Arg::Keyed(name) })
    }

    /// The part of a file that is copied, as far as the program names one.
    fn part(&mut self, name: &'static str) -> Option<()> {
        let Event { requested_bytes, from_bytes, offset_bytes, .. } = self.entry.event;
        match name {
            _ if self.args.len() >= self.told.arguments => Some(()),
            "n" => self.bytes(requested_bytes, Arg::Bytes),
            "from_off" => self.bytes(from_bytes, Arg::Bytes),
            _ => self.bytes(offset_bytes, Arg::Bytes),
        }
    }

    /// The word of a parameter, as far as it is known.
    fn word(&self, param: &Param) -> Option<&'static str> {
        let event = &self.entry.event;
        let of_log = match self.op {
            Op::Rename => rename_word(event.requested_bytes),
            _ => (event.flags & FLAG_KEEPS_SIZE != 0).then_some("keep"),
        };
        self.told.word(self.op, param).or(of_log)
    }

    /// Bytes that a file shares with another one; left out if that is the whole file.
    fn shared(&mut self, name: &'static str) -> Option<()> {
        let Event { requested_bytes, from_bytes, offset_bytes, .. } = self.entry.event;
        if (requested_bytes, from_bytes, offset_bytes) == (0, 0, 0) {
            return Some(());
        }
        let bytes = match name {
            "n" => requested_bytes,
            "from_off" => from_bytes,
            _ => offset_bytes,
        };
        self.bytes(bytes, Arg::Bytes)
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

    /// The mode; true if the run does not tell it.
    fn mode(&mut self) -> bool {
        let told = u16::try_from(self.entry.event.requested_bytes).ok();
        let usual = if self.is_directory { 0o755 } else { 0o644 };
        self.args.push(Arg::Mode(told.unwrap_or(usual)));
        told.is_none()
    }

    fn guess(&mut self, arg: Arg) -> Option<bool> {
        self.args.push(arg);
        Some(true)
    }
}
