//! The options of `with`: one row each, with its values and the operations that it changes.
//!
//! ```text
//! with (depth=4) { pfwrite($h, "rows"); stat("a"); }      pfwrite takes it, stat does not
//! ```
//!
//! Checker, lowering, listing, manual and diagnostics read the table. The checker and the engine both
//! ask [`OptionRow::check`] for a value; what an option does is in the engine.

use crate::Op;
use crate::directory;
use crate::errno;
use crate::hints;
use crate::op::{Needs, ParamKind};
use crate::operand::Operand;
use crate::types::Types;
use crate::value::{Eval, EvalError, Value};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The highest `rate`, operations per second.
pub const RATE_MAX: f64 = 1e9;
/// The highest rate of a single rank, operations per second: what is due can be counted while more of it
/// becomes due.
pub const RANK_RATE_MAX: f64 = 1e7;

/// Values that an option accepts.
#[derive(Clone, Debug)]
pub enum Accepts {
    /// A condition.
    Condition,
    /// One of these words.
    Words(&'static [&'static str]),
    /// An integer of a range, and what it counts.
    Number(RangeInclusive<i64>, &'static str),
    /// A ratio from 1 to 100.
    Ratio,
    /// Operations per second, from 0 on.
    Rate,
    /// One of these words, or `file:` and the name of a file beside the program, which the plan holds.
    WordsOrFile(&'static [&'static str]),
    /// The same, or the times themselves: a list of ascending durations, the last of them above 0.
    WordsOrTimes(&'static [&'static str]),
    /// Names of errors, joined by commas.
    Errors,
    /// Hints of MPI-IO, or their name.
    Hints,
    /// The name of a directory, or nothing for the run directory.
    Directory,
}

/// Operations that an option changes.
#[derive(Clone, Copy, Debug)]
pub enum Takers {
    /// All I/O.
    Io,
    /// All that takes a path, and `sync` of everything.
    Paths,
    /// These.
    Ops(&'static [Op]),
    /// Those beside the option's word; all of them where the word is unknown.
    Words(&'static [(&'static str, &'static [Op])]),
}

/// An option of `with`.
#[derive(Clone, Debug)]
pub struct OptionRow {
    /// Key of the row.
    pub option: WithOption,
    /// Name in programs.
    pub name: &'static str,
    /// Name and values as a message says what was expected: `depth=a number from 1 to 65536`.
    pub form: &'static str,
    /// Accepted values.
    pub accepts: Accepts,
    /// Values that ask for nothing, as text.
    pub off: &'static [&'static str],
    /// Operations that take it.
    pub takers: Takers,
    /// Operations that look as if they took it.
    pub seeming: &'static [Op],
    /// Advice where nothing takes it.
    pub help: &'static str,
    /// Description for the manual.
    pub doc: &'static str,
}

use Op::*;

/// Operations that choose how a file is opened.
const OPENS: &[Op] = &[Fopen, Fcreat, Write, Append, Read, Create];
/// Operations that open a file to be mapped.
const MAPS: &[Op] = &[Fopen, Fcreat, Tmpfile, Write, Read];
/// Operations that can be under way with others.
const QUEUED: &[Op] = &[Fread, Fwrite, Fsync, Fdatasync];
/// Operations whose data can be left out.
const NULLED: &[Op] = &[Fread, Fwrite, Readv, Writev, Write, Append, Read];
const MPI_OPENS: &[Op] = &[Pfopen, Pwrite, Pread];
/// Operations of MPI-IO that name a file.
const MPI_NAMES: &[Op] = &[Pfopen, Pwrite, Pread, Pdelete];
/// Operations that open a file which may be there from before.
const FINDS: &[Op] = &[Fopen, Read, Copy];
const POSIX_DATA: &[Op] = &[Write, Append, Read];
const DEEP: &[Op] = &[Fread, Fwrite, Fsync, Fdatasync, Pfwrite, Pfread, Pwrite, Pread];
const DATA: &[Op] =
    &[Fread, Fwrite, Fcopy, Write, Append, Read, Copy, Pfwrite, Pfread, Pwrite, Pread];
/// Operations that can be verified.
const VERIFIED: &[Op] =
    &[Fread, Fwrite, Readv, Writev, Write, Append, Read, Pfwrite, Pfread, Pwrite, Pread];
const WRITES: &[Op] = &[Fwrite, Writev, Write, Append, Pfwrite, Pwrite];
const SYNCS: &[Op] = &[Fwrite, Writev, Fcopy, Write, Append, Copy, Pfwrite, Pwrite];
const CLOSES_WRITTEN: &[Op] = &[Fclose, Write, Append, Copy, Pfclose, Pwrite];

macro_rules! options {
    ($( $option:ident $field:ident = $values:literal $accepts:expr, off $off:expr,
        takers $takers:expr, seeming $seeming:expr, help $help:literal, doc $doc:literal; )*) => {
        /// An option of `with`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WithOption { $( #[doc = $doc] $option, )* }

        /// The options of a `with` statement; absent ones are inherited.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Options { $( #[doc = $doc] pub $field: Option<Operand>, )* }

        /// The table, in the order of [`WithOption`].
        pub static OPTIONS: &[OptionRow] = &[ $( OptionRow {
            option: WithOption::$option, name: stringify!($field),
            form: concat!(stringify!($field), "=", $values), accepts: $accepts,
            off: $off, takers: $takers, seeming: $seeming, help: $help, doc: $doc,
        }, )* ];

        impl Options {
            /// The place of an option's value.
            pub fn place(&mut self, option: WithOption) -> &mut Option<Operand> {
                match option { $( WithOption::$option => &mut self.$field, )* }
            }

            /// The options that are given, in the order of the table.
            pub fn given(&self) -> impl Iterator<Item = (WithOption, Operand)> {
                let all = [ $( (WithOption::$option, self.$field), )* ];
                all.into_iter().filter_map(|(option, value)| Some((option, value?)))
            }
        }
    };
}

options! {
    Direct direct = "a condition" Accepts::Condition,
        off &["false", "0"], takers Takers::Ops(OPENS), seeming &[],
        help "O_DIRECT is chosen when a file is opened: put the fopen inside",
        doc "Open with O_DIRECT and use aligned buffers.";
    Engine engine = "\"posix\", \"mmap\", \"uring\", \"uring|posix\" or \"null\""
        Accepts::Words(&["posix", "mmap", "uring", "uring|posix", "null"]),
        off &["posix"],
        takers Takers::Words(&[
            ("mmap", MAPS), ("uring", QUEUED), ("uring|posix", QUEUED), ("null", NULLED),
        ]),
        seeming &[Append, Copy, Fcopy, Read, Readv, Write, Writev],
        help "a file is mapped when it is opened: put the fopen inside; io_uring is for fread, fwrite, fsync \
              and fdatasync; null is for reads and writes outside of MPI-IO; others make their own calls",
        doc "How bytes are moved: by pread and pwrite, by copying them out of and into a mapping of the file, by \
             io_uring, with up to `depth` operations under way (`uring|posix`: by calls where the kernel has \
             none), or not at all: `null` counts reads and writes as done without a call.";
    Fsync fsync = "\"none\", \"close\" or \"op\"" Accepts::Words(&["none", "close", "op"]),
        off &["none"], takers Takers::Words(&[("close", CLOSES_WRITTEN), ("op", SYNCS)]), seeming &[],
        help "\"op\" acts on operations that write, \"close\" on those that close a written file: \
              put the fclose inside",
        doc "When files are synced: never, before every close of a written file, after every write.";
    Filesize filesize = "a number of bytes" Accepts::Number(0..=i64::MAX, "a number of bytes"),
        off &[], takers Takers::Ops(FINDS), seeming &[Write, Append, Create],
        help "it is the size of a file that exists before the program starts: put the fopen, read or copy inside; \
              the size of a written file is an argument, write(\"data\", 1g);",
        doc "The size of files opened inside that exist before the program starts: `--prepare` makes them with it, and \
             `plan` counts reads up to it. A run reads the files as they are.";
    Transfer transfer = "a number of bytes above 0" Accepts::Number(1..=i64::MAX, "a number of bytes"),
        off &[], takers Takers::Ops(DATA), seeming &[],
        help "it cuts operations that read or write data",
        doc "The largest number of bytes of one call; without it the whole request, at most 256 MiB, and 1 MiB for \
             the rest of a file.";
    Data data = "\"random\", \"zero\", \"offset\" or \"file:NAME\""
        Accepts::WordsOrFile(&["random", "zero", "offset"]),
        off &["random"], takers Takers::Ops(WRITES), seeming &[],
        help "it fills the buffers of operations that write data",
        doc "The data that is written. `random`: blocks that all differ. `zero`: zeros. `offset`: a \
             function of the position in the file and the seed, so that every writer of a place \
             writes the same there. `file:NAME`: the bytes of a file beside the program, each at its \
             own position; behind its end it begins again.";
    Compress compress = "a ratio from 1 to 100" Accepts::Ratio,
        off &["1", "1.0"], takers Takers::Ops(WRITES), seeming &[],
        help "it shapes the random data of operations that write",
        doc "Random data of which each block of 4 KiB compresses to its size divided by this.";
    Dedup dedup = "a ratio from 1 to 100" Accepts::Ratio,
        off &["1", "1.0"], takers Takers::Ops(WRITES), seeming &[],
        help "it shapes the random data of operations that write",
        doc "Random data in which one block of 4 KiB of every `dedup` blocks is new; the others \
             repeat earlier blocks.";
    Verify verify = "a condition" Accepts::Condition,
        off &["false", "0"], takers Takers::Ops(VERIFIED), seeming &[Copy, Fcopy],
        help "it is for operations that write or read data",
        doc "Written data holds marks that say where it belongs and who wrote it; every read checks \
             them. A read of wrong bytes fails with EBADMSG.";
    Expect expect = "\"names of errors or short, joined by commas\"" Accepts::Errors,
        off &[""], takers Takers::Io, seeming &[],
        help "put the operations that may fail inside",
        doc "Errors that count as expected instead of failed. `short`: operations that the end of a file cuts short \
             count as whole ones, and nothing asks whether there is more: a short read is one call.";
    Rate rate = "a number of operations per second, such as 1000/s" Accepts::Rate,
        off &["0", "0.0"], takers Takers::Io, seeming &[],
        help "put the operations that are to be due inside",
        doc "The number of operations per second that are due. An operation waits until it is due; \
             one that is late starts at once. Its time counts from when it was due. 0: the operations \
             inside have no schedule.";
    Arrival arrival = "\"fixed\", \"poisson\", \"file:NAME\" or a list of ascending durations"
        Accepts::WordsOrTimes(&["fixed", "poisson"]),
        off &["fixed"], takers Takers::Io, seeming &[],
        help "put the operations that are to be due inside",
        doc "When operations are due. `fixed` (evenly) and `poisson` (random gaps of a Poisson \
             process) need `rate`. A list, or a file beside the program with one time per line, gives \
             the times in seconds; after the last one they begin again.";
    Per per = "\"rank\" or \"group\"" Accepts::Words(&["rank", "group"]),
        off &["rank"], takers Takers::Io, seeming &[],
        help "put the operations that are to be due inside",
        doc "Whether `rate` and `arrival` hold for each rank, or for all members of the active group \
             together.";
    Depth depth = "a number from 1 to 65536" Accepts::Number(1..=65536, "a number of transfers"),
        off &["1"], takers Takers::Ops(DEEP), seeming POSIX_DATA,
        help "several operations are under way with engine=\"uring\" (fread, fwrite, fsync, fdatasync), and \
              several transfers of one operation of MPI-IO: pieces of patterns of levels 0 and 1, and what \
              `transfer` cuts",
        doc "Operations under way at one time with `engine=\"uring\"`; MPI-IO: transfers of one operation.";
    Batch batch = "a number from 1 to 65536" Accepts::Number(1..=65536, "a number of operations"),
        off &[], takers Takers::Ops(QUEUED), seeming &[],
        help "it is for engine=\"uring\": put fread, fwrite, fsync or fdatasync inside",
        doc "With `engine=\"uring\"`: this many operations are submitted together, and this many \
             completions are waited for when `depth` operations are under way. Without `batch` 4 are \
             submitted together, and 1 completion is waited for.";
    Sqpoll sqpoll = "a condition" Accepts::Condition,
        off &["false", "0"], takers Takers::Ops(QUEUED), seeming &[],
        help "it is for engine=\"uring\": put fread, fwrite, fsync or fdatasync inside",
        doc "With `engine=\"uring\"`: a thread of the kernel takes what is submitted, without a system call.";
    Iopoll iopoll = "a condition" Accepts::Condition,
        off &["false", "0"], takers Takers::Ops(&[Fread, Fwrite]), seeming &[],
        help "it is for engine=\"uring\" on files opened with direct=true: put fread or fwrite inside",
        doc "With `engine=\"uring\"`: the device is asked for ends, which needs `direct=true` and a device with \
             queues for that.";
    Atomic atomic = "a condition" Accepts::Condition,
        off &["false", "0"], takers Takers::Ops(MPI_OPENS), seeming &[],
        help "MPI files get atomic mode when they are opened: put the pfopen inside",
        doc "MPI-IO: files opened inside are in atomic mode.";
    Comm comm = "\"group\" or \"self\"" Accepts::Words(&["group", "self"]),
        off &["group"], takers Takers::Ops(MPI_NAMES), seeming &[],
        help "it says who opens an MPI file: put the pfopen inside",
        doc "MPI-IO: who opens the files opened inside, all members of the active group together or each rank its \
             own (MPI_COMM_SELF): a file per process.";
    Hints hints = "\"key=value;key=value\", or the name of define hints" Accepts::Hints,
        off &[""], takers Takers::Ops(MPI_OPENS), seeming &[],
        help "MPI files get hints when they are opened: put the pfopen inside",
        doc "MPI-IO: hints of files opened inside.";
    Dir dir = "\"NAME\" of a directory, or \"\" for the run directory" Accepts::Directory,
        off &[], takers Takers::Paths, seeming &[],
        help "it says where paths begin: put the operations that name files inside",
        doc "The directory in which paths inside begin, one that the command line grants: --mount NAME=DIR.";
}

impl WithOption {
    /// This option's row.
    pub fn row(self) -> &'static OptionRow {
        &OPTIONS[self as usize]
    }
}

impl Accepts {
    /// Types of which some values are accepted.
    pub fn types(&self) -> Types {
        match self {
            Accepts::Condition => Types::CONDITION,
            Accepts::Number(..) => Types::AS_INT,
            Accepts::Ratio | Accepts::Rate => Types::FLOAT.or(Types::INT).or(Types::STR),
            Accepts::WordsOrTimes(_) => Types::STR.or(Types::LIST),
            Accepts::Words(_)
            | Accepts::WordsOrFile(_)
            | Accepts::Errors
            | Accepts::Hints
            | Accepts::Directory => Types::STR,
        }
    }

    fn takes(&self, value: &Value) -> bool {
        let text = match value {
            Value::Str(text) => std::str::from_utf8(text).ok(),
            _ => None,
        };
        match self {
            Accepts::Condition => value.as_condition().is_ok(),
            Accepts::Words(words) => text.is_some_and(|text| words.contains(&text)),
            Accepts::Number(range, _) => value.as_int().is_ok_and(|n| range.contains(&n)),
            Accepts::Ratio => value.as_float().is_ok_and(|x| (1.0..=100.0).contains(&x)),
            Accepts::WordsOrFile(words) => {
                text.is_some_and(|text| words.contains(&text) || file_named(text).is_some())
            }
            Accepts::WordsOrTimes(words) => match value {
                Value::List(times) => are_times(times),
                _ => text.is_some_and(|text| words.contains(&text)),
            },
            Accepts::Rate => value.as_float().is_ok_and(|x| (0.0..=RATE_MAX).contains(&x)),
            Accepts::Errors => text.is_some_and(|text| error_names(text).all(may_be_expected)),
            Accepts::Hints => text.is_some_and(|text| hints::parse(text).is_ok()),
            Accepts::Directory => {
                text.is_some_and(|text| text.is_empty() || directory::is_name(text.as_bytes()))
            }
        }
    }
}

/// NAME of `file:NAME`.
pub fn file_named(text: &str) -> Option<&str> {
    text.strip_prefix("file:").filter(|name| !name.is_empty())
}

/// Ascending durations, the last of them above 0.
fn are_times(times: &[Value]) -> bool {
    let mut last_ns = 0;
    let ascends = times.iter().all(|time| {
        let before_ns = std::mem::replace(&mut last_ns, time.as_duration_ns().unwrap_or(0));
        matches!(time, Value::Duration(_)) && before_ns <= last_ns
    });
    ascends && last_ns > 0
}

/// Among the names in the value of `expect`: operations may be short.
pub const SHORT: &str = "short";

/// A name that the value of `expect` may have.
pub fn may_be_expected(name: &str) -> bool {
    name == SHORT || errno::number(name).is_some()
}

/// The names in the value of `expect`.
pub fn error_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

impl OptionRow {
    /// Finds an option by its name in programs.
    pub fn find(name: &str) -> Option<&'static OptionRow> {
        OPTIONS.iter().find(|row| row.name == name)
    }

    /// A value is one of this option.
    ///
    /// # Errors
    /// It is not: what was expected and found.
    pub fn check(&self, value: &Value) -> Eval<()> {
        match value {
            Value::Unset => Err(EvalError::Unset),
            value if self.accepts.takes(value) => Ok(()),
            value => Err(EvalError::Type(self.form, value.describe())),
        }
    }

    /// `op` is executed otherwise with this option; `word`: its value, where that is known.
    pub fn takes(&self, op: Op, word: Option<&str>) -> bool {
        match self.takers {
            Takers::Io => op.row().needs != Needs::Nothing,
            Takers::Paths => {
                let is_path = |kind| matches!(kind, ParamKind::Path | ParamKind::LinkTarget);
                op.row().params.iter().any(|param| is_path(param.kind))
                    || matches!(op, Sync | Syncfs)
            }
            Takers::Ops(ops) => ops.contains(&op),
            Takers::Words(words) => {
                let mut meant = words.iter().filter(|row| word.is_none_or(|word| word == row.0));
                meant.any(|row| row.1.contains(&op))
            }
        }
    }
}

/// The options in force that can contradict each other; `None`: it is not known yet, as in a proc, which
/// can be called inside of any `with`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// Files are opened with O_DIRECT.
    pub direct: Option<bool>,
    /// Files that are opened are mapped.
    pub mapped: Option<bool>,
    /// Reads and writes move nothing.
    pub null: Option<bool>,
    /// Data is verified.
    pub verify: Option<bool>,
    /// Operations under way at one time.
    pub depth: Option<u32>,
    /// Operations handed over together; 0: as the engine likes.
    pub batch: Option<u32>,
}

impl InForce {
    /// Outside every `with`.
    pub const DEFAULT: InForce = InForce {
        direct: Some(false),
        mapped: Some(false),
        null: Some(false),
        verify: Some(false),
        depth: Some(1),
        batch: Some(0),
    };

    /// An option is given; `value`: one that its row accepts, if it is known.
    pub fn set(&mut self, option: WithOption, value: Option<&Value>) {
        let on = || value.and_then(|value| value.as_condition().ok());
        let number = || value.and_then(|value| u32::try_from(value.as_int().ok()?).ok());
        let is = |name: &str| value.map(|value| *value == Value::str(name));
        match option {
            WithOption::Direct => self.direct = on(),
            WithOption::Engine => (self.mapped, self.null) = (is("mmap"), is("null")),
            WithOption::Verify => self.verify = on(),
            WithOption::Depth => self.depth = number(),
            WithOption::Batch => self.batch = number(),
            _ => {}
        }
    }

    /// The options that contradict each other for certain, and why.
    pub fn contradiction(&self) -> Option<([WithOption; 2], String)> {
        if self.mapped == Some(true) && self.direct == Some(true) {
            let what = "engine=\"mmap\" and direct=true contradict each other: a mapping shows the \
                        page cache, which O_DIRECT goes around; leave one of them out";
            return Some(([WithOption::Engine, WithOption::Direct], what.into()));
        }
        if self.null == Some(true) && self.verify == Some(true) {
            let what = "engine=\"null\" and verify=true contradict each other: nothing is written that \
                        could be read again; leave one of them out";
            return Some(([WithOption::Engine, WithOption::Verify], what.into()));
        }
        let (batch, depth) = (self.batch?, self.depth?);
        (batch > depth).then(|| {
            let why = format!(
                "batch={batch} is more than depth={depth}: at most {depth} operations are under way \
                 together; give a larger depth or a smaller batch"
            );
            ([WithOption::Batch, WithOption::Depth], why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_take_what_the_table_says() {
        for (name, word, op, takes) in [
            ("direct", None, Fopen, true),
            ("direct", None, Fread, false),
            ("fsync", Some("close"), Fclose, true),
            ("fsync", Some("close"), Fwrite, false),
            ("fsync", Some("op"), Fwrite, true),
            ("fsync", None, Fwrite, true),
            ("depth", None, Write, false),
            ("depth", None, Pwrite, true),
            ("expect", None, Mkdir, true),
            ("expect", None, Print, false),
            ("dir", None, Rename, true),
            ("dir", None, Sync, true),
            ("dir", None, Fwrite, false),
        ] {
            let row = OptionRow::find(name).expect("an option");
            assert_eq!(row.takes(op, word), takes, "{name} {op}");
        }
    }

    #[test]
    fn nothing_seems_to_take_what_it_takes() {
        for row in OPTIONS {
            // One word of an option may be taken where another one is not.
            let takes = |op: Op| match row.takers {
                Takers::Words(words) => words.iter().all(|(_, ops)| ops.contains(&op)),
                _ => row.takes(op, None),
            };
            assert!(!row.seeming.iter().any(|op| takes(*op)), "{}", row.name);
        }
    }

    #[test]
    fn only_what_is_known_contradicts() {
        let mut options = InForce::DEFAULT;
        options.set(WithOption::Batch, Some(&Value::Int(8)));
        let (which, why) = options.contradiction().expect("depth is 1");
        assert_eq!(which, [WithOption::Batch, WithOption::Depth]);
        assert!(why.starts_with("batch=8 is more than depth=1"), "{why}");
        options.set(WithOption::Depth, None);
        assert_eq!(options.contradiction(), None);
        options.set(WithOption::Engine, Some(&Value::str("mmap")));
        assert_eq!(options.contradiction(), None);
        options.set(WithOption::Direct, Some(&Value::Bool(true)));
        assert!(options.contradiction().is_some());
        assert_eq!(InForce::default().contradiction(), None);
    }
}
