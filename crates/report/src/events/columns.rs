//! The columns of the event table: one row here is one column there, and one line of the
//! table in docs/run-format.md.

use model::event::{Details, Event, NO_ID};
use model::{Op, Part};
use parquet::data_type::ByteArray;
use std::borrow::Cow;
use std::collections::HashMap;

/// Name of the event table in the folder of a run.
pub const EVENTS_FILE: &str = "events.parquet";

/// Key in the file's metadata that tells the format version, [`model::run::VERSION`].
pub(crate) const VERSION_KEY: &str = "parabench.version";

/// Rows in a row group: what writer and reader hold in memory at a time. Parquet allows 2^15
/// groups, hence 2^32 rows.
pub(crate) const GROUP_ROWS: usize = 1 << 17;

/// Where events come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Rank.
    pub rank: u32,
    /// Machine of the rank.
    pub host: &'a str,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
}

/// An event and where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Rank that executed it.
    pub rank: u32,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// The operation.
    pub event: Event,
    /// Figures of the log itself; none in other runs.
    pub details: Details,
}

impl Origin<'_> {
    /// A row without an event.
    pub(crate) fn row(&self) -> EventRow {
        let Origin { rank, cell, repetition, .. } = *self;
        EventRow { rank, cell, repetition, ..EventRow::default() }
    }
}

/// An event with everything its row needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub row: &'a EventRow,
    pub host: &'a ByteArray,
    pub names: &'a Names,
    /// Numbers in the file of the rank's extents.
    pub extents: &'a [i32],
    /// File and line of the event's site.
    pub place: Option<&'a (ByteArray, u32)>,
}

/// Texts that the ids of events mean.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub labels: Vec<ByteArray>,
    pub paths: Vec<PathName>,
    /// Names of calls in logs.
    pub calls: Vec<ByteArray>,
    /// By rank, as far as they were needed.
    pub hosts: HashMap<u32, ByteArray>,
}

/// A path with its number in the file.
#[derive(Clone, Debug)]
pub(crate) struct PathName {
    pub id: i32,
    pub text: ByteArray,
}

/// Type of a column and how its value is taken from an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Int32(fn(&Record<'_>) -> i32),
    Int64(fn(&Record<'_>) -> i64),
    Text(fn(&Record<'_>) -> ByteArray),
    OptionalText(fn(&Record<'_>) -> Option<ByteArray>),
}

/// A column of the event table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name; the unit stands last.
    pub name: &'static str,
    /// Its meaning and unit.
    pub doc: &'static str,
    pub(crate) value: Value,
    /// Puts a number of the column into an event; nothing where it follows from other columns.
    pub(crate) put: Put,
}

/// Puts a number into an event.
type Put = fn(&mut EventRow, u64);

impl Column {
    /// Its type in words of Parquet.
    pub fn type_name(&self) -> &'static str {
        match self.value {
            Value::Int32(_) => "INT32",
            Value::Int64(_) => "INT64",
            Value::Text(_) => "STRING",
            Value::OptionalText(_) => "STRING, may be null",
        }
    }

    /// It holds texts, not numbers.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value, Value::Text(_) | Value::OptionalText(_))
    }

    /// Its line in a Parquet message type.
    pub(crate) fn declaration(&self) -> String {
        let name = self.name;
        match self.value {
            Value::Int32(_) => format!("REQUIRED INT32 {name};"),
            Value::Int64(_) => format!("REQUIRED INT64 {name};"),
            Value::Text(_) => format!("REQUIRED BYTE_ARRAY {name} (STRING);"),
            Value::OptionalText(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        }
    }
}

/// Columns that tables of before imports and of before copies of open files do not have. A missing one
/// is nothing.
pub(crate) const LATER: [&str; 9] = [
    "from_bytes",
    "instance",
    "instance2",
    "file_id",
    "open_flags",
    "call",
    "log",
    "log_line",
    "waited_us",
];

/// The number that means "none" in such a column.
pub(crate) fn nothing(column: &str) -> i64 {
    match column {
        "instance" | "instance2" | "file_id" | "open_flags" => -1,
        _ => 0,
    }
}

/// The text with this id; `None` for [`NO_ID`] and for ids outside the table.
fn text(table: &[ByteArray], id: u32) -> Option<ByteArray> {
    if id == NO_ID { None } else { table.get(id as usize).cloned() }
}

/// The path with this id, as [`text`].
fn path<'a>(record: &Record<'a>, id: u32) -> Option<&'a PathName> {
    if id == NO_ID { None } else { record.names.paths.get(id as usize) }
}

/// The number in the file of the event's extents; -1 for none and for what is outside the table.
fn extents(record: &Record<'_>) -> i32 {
    let at = (record.row.event.extents as usize).checked_sub(1);
    at.and_then(|at| record.extents.get(at)).copied().unwrap_or(-1)
}

/// An empty text where there is none; [`ByteArray::default`] is not one.
fn or_empty(text: Option<ByteArray>) -> ByteArray {
    text.unwrap_or_else(|| ByteArray::from(""))
}

fn op_name(record: &Record<'_>) -> ByteArray {
    ByteArray::from(Op::from_u8(record.row.event.op).map_or("?", Op::name))
}

/// A column and what reading puts back.
const fn both(value: Value, put: Put) -> (Value, Put) {
    (value, put)
}

/// A column of which nothing is put back by number.
const fn shown(value: Value) -> (Value, Put) {
    (value, |_, _| ())
}

/// A field of the event, both ways. Bit patterns are kept: numbers of 2^63 and more, which no file
/// system has, come back.
macro_rules! field {
    ($kind:ident, $as_read:ident; $field:ident $([$at:expr])?: $type:ident) => {
        both(
            Value::$kind(|r| r.row.event.$field $([$at as usize])? as $as_read),
            |row, value| row.event.$field $([$at as usize])? = value as $type,
        )
    };
    (Int32 $($field:tt)*) => { field!(Int32, i32; $($field)*) };
    (Int64 $($field:tt)*) => { field!(Int64, i64; $($field)*) };
}

macro_rules! columns {
    ($( $name:literal $doc:literal $both:expr; )*) => {
        /// The columns in order.
        pub const COLUMNS: &[Column] = &[ $( {
            let (value, put) = $both;
            Column { name: $name, doc: $doc, value, put }
        }, )* ];
    };
}

columns! {
    "cell" "Parameter point of a sweep; 0 without one."
        both(Value::Int32(|r| r.row.cell as i32), |row, value| row.cell = value as u32);
    "repetition" "Repetition within a sweep; 0 without one."
        both(Value::Int32(|r| r.row.repetition as i32), |row, value| row.repetition = value as u32);
    "rank" "Rank that executed the operation."
        both(Value::Int32(|r| r.row.rank as i32), |row, value| row.rank = value as u32);
    "host" "Machine of the rank."
        shown(Value::Text(|r| r.host.clone()));
    "thread" "Thread of the rank; 0 for ranks of Parabench, which have one."
        field!(Int32 thread: u32);
    "seq" "Number of the event on its rank, from 0, in order of start."
        field!(Int64 seq: u64);
    "label" "Label path, `outer/inner`; \"\" outside of all labels."
        shown(Value::Text(|r| or_empty(text(&r.names.labels, r.row.event.label))));
    "site" "Place in the plan; `run.sites` in run.json has the same number."
        field!(Int32 site: u32);
    "file" "Program file of the statement; \"\" if it is not known."
        shown(Value::Text(|r| or_empty(r.place.map(|place| place.0.clone()))));
    "line" "Line in that file, from 1; 0 if it is not known."
        shown(Value::Int32(|r| r.place.map_or(0, |place| place.1 as i32)));
    "op" "Operation, as in `parabench ops`."
        shown(Value::Text(op_name));
    "path_id" "Number of the path in this file, the same for the same text; -1 without a path. Some numbers may be of no event."
        shown(Value::Int32(|r| path(r, r.row.event.path).map_or(-1, |path| path.id)));
    "path" "Path below the run directory; of symlink the text that the link holds, of fcopy and freflink the file that is written. A backslash is written `\\\\`, a byte that is not UTF-8 `\\xHH`."
        shown(Value::OptionalText(|r| path(r, r.row.event.path).map(|path| path.text.clone())));
    "path2_id" "Number of the second path; -1 without one."
        shown(Value::Int32(|r| path(r, r.row.event.path2).map_or(-1, |path| path.id)));
    "path2" "Second path of rename, link, symlink, copy and reflink, of fcopy and freflink the file that is read; else null."
        shown(Value::OptionalText(|r| path(r, r.row.event.path2).map(|path| path.text.clone())));
    "offset_bytes" "Position in the file, of several extents that of the first, of `fseek` the new one; 0 where the operation has none."
        field!(Int64 offset_bytes: u64);
    "from_bytes" "Position in the file that copy, fcopy and freflink read; 0 elsewhere."
        field!(Int64 from_bytes: u64);
    "pieces" "Extents of the file that were asked for, where they are several or a pattern's; else 0."
        field!(Int32 pieces: u32);
    "extents_id" "Which extents: a place in `run.events.extents` of run.json; -1 without."
        // As in an event: from 1, 0 for none.
        both(Value::Int32(extents), |row, value| row.event.extents = (value as u32).wrapping_add(1));
    "requested_bytes" "Bytes asked for, or the size that is set; for \"rest of the file\" the bytes moved; of chmod the mode, 4294967295 where it is unknown; of rename 1: \"noreplace\", 2: \"exchange\"."
        field!(Int64 requested_bytes: u64);
    "done_bytes" "Bytes moved."
        field!(Int64 done_bytes: u64);
    "start_ns" "Clock before the first call, since the start of the execution."
        field!(Int64 start_ns: u64);
    "end_ns" "Clock after the last call, since the start of the execution."
        field!(Int64 end_ns: u64);
    "intended_start_ns" "When the operation was due; start_ns where the program sets no time for it."
        field!(Int64 intended_start_ns: u64);
    "busy_ns" "The operation's own time: the sum of its calls' times."
        field!(Int64 busy_ns: u64);
    "open_ns" "Part of busy_ns: opening. 0 for operations without parts."
        field!(Int64 parts_ns[Part::Open]: u64);
    "view_ns" "Part of busy_ns: setting the file view."
        field!(Int64 parts_ns[Part::View]: u64);
    "data_ns" "Part of busy_ns: moving the bytes."
        field!(Int64 parts_ns[Part::Data]: u64);
    "sync_ns" "Part of busy_ns: making the bytes stable."
        field!(Int64 parts_ns[Part::Sync]: u64);
    "close_ns" "Part of busy_ns: closing."
        field!(Int64 parts_ns[Part::Close]: u64);
    "errno" "Linux error number; 0 for success."
        field!(Int32 errno: u16);
    "flags" "Sum of 1 failed, 2 short (the file ended early), 4 failed as the program expects, 8 nobody knows which bytes of the file were moved, 16 at the position of the open instance, which moved (imported runs only), 32 the program set a time for it: intended_start_ns, 64 as 16, of the file that fcopy reads, 128 allocated without a change of the size (imported runs only)."
        field!(Int32 flags: u8);
    "instance" "Of an imported run, as all that follows: open instance, from its opening to its last close, over duplicates and processes; -1 for operations on names, and in other runs."
        both(Value::Int32(|r| r.row.details.instance as i32), |row, value| row.details.instance = value as u32);
    "instance2" "Open instance that fcopy and freflink read; -1 elsewhere."
        both(Value::Int32(|r| r.row.details.instance2 as i32), |row, value| row.details.instance2 = value as u32);
    "file_id" "The file: the same under all its names, another one for a new file under an old name; -1 where it is unknown."
        both(Value::Int32(|r| r.row.details.file as i32), |row, value| row.details.file = value as u32);
    "open_flags" "Flags of open(2) on Linux, where the operation opens; -1 elsewhere."
        both(Value::Int32(|r| r.row.details.open_flags as i32), |row, value| row.details.open_flags = value as u32);
    "call" "The call in the log, such as `pwrite64`; \"\" without one."
        shown(Value::Text(|r| or_empty(text(&r.names.calls, r.row.details.call))));
    "log" "Which log: a place in `run.trace.logs` of run.json, from 0."
        both(Value::Int32(|r| r.row.details.log as i32), |row, value| row.details.log = value as u32);
    "log_line" "Line of the log, from 1, of a call on two lines the first; 0 without one."
        both(Value::Int64(|r| r.row.details.line as i64), |row, value| row.details.line = value);
    "waited_us" "What the thread waited between its last operation and this one, for a time, a lock, another process or a processor, as far as the log tells; the rest of the pause it computed."
        both(Value::Int64(|r| r.row.details.waited_us as i64), |row, value| row.details.waited_us = value);
}

/// `bytes` as text: a backslash becomes `\\`, a byte that is not UTF-8 `\xHH`.
pub fn encode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\\') => return Cow::Borrowed(text),
        _ => {}
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        out.push_str(&chunk.valid().replace('\\', "\\\\"));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02X}")));
    }
    Cow::Owned(out)
}

/// The bytes that [`encode`] was given; `None` if it cannot have made this text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        rest = if let Some(after) = after.strip_prefix('\\') {
            out.push(b'\\');
            after
        } else {
            let digits = after.strip_prefix('x')?.get(..2)?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            &after[3..]
        };
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(encode("dir/ü-1".as_bytes()), "dir/ü-1");
        assert_eq!(encode(b"a\\b\xff"), "a\\\\b\\xFF");
        for text in ["\\", "\\y", "\\x1", "\\xü"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(bytes in prop::collection::vec(prop::num::u8::ANY, 0..40)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_makes_decoding_panic(text in any::<String>(), slashes in "[\\\\x0-9ü]{0,12}") {
            for text in [text, slashes] {
                if let Some(bytes) = decode(&text) {
                    prop_assert!(bytes.len() <= text.len());
                }
            }
        }
    }
}
