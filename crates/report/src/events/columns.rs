//! The columns of the event table: one row here is one column there, and one line of the
//! table in docs/run-format.md.

use super::Origin;
use model::event::{Event, NO_ID};
use model::{Op, Part};
use parquet::data_type::ByteArray;

/// An event with everything its row needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub origin: &'a Origin<'a>,
    pub host: &'a ByteArray,
    pub labels: &'a [ByteArray],
    pub paths: &'a [PathName],
    /// Numbers in the file of the rank's extents.
    pub extents: &'a [i32],
    /// File and line of the event's site.
    pub place: Option<&'a (ByteArray, u32)>,
    pub event: &'a Event,
}

/// A path with its number in the file.
#[derive(Clone, Debug)]
pub(super) struct PathName {
    pub id: i32,
    pub text: ByteArray,
}

/// Type of a column and how its value is taken from an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
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
    /// What it holds.
    pub doc: &'static str,
    pub(super) value: Value,
}

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

    /// Its line in a Parquet message type.
    pub(super) fn declaration(&self) -> String {
        let name = self.name;
        match self.value {
            Value::Int32(_) => format!("REQUIRED INT32 {name};"),
            Value::Int64(_) => format!("REQUIRED INT64 {name};"),
            Value::Text(_) => format!("REQUIRED BYTE_ARRAY {name} (STRING);"),
            Value::OptionalText(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        }
    }
}

/// The text with this id; `None` for [`NO_ID`] and for ids outside the table.
fn text(table: &[ByteArray], id: u32) -> Option<ByteArray> {
    if id == NO_ID { None } else { table.get(id as usize).cloned() }
}

/// The path with this id, as [`text`].
fn path<'a>(record: &Record<'a>, id: u32) -> Option<&'a PathName> {
    if id == NO_ID { None } else { record.paths.get(id as usize) }
}

/// The number in the file of the event's extents; -1 for none and for what is outside the table.
fn extents(record: &Record<'_>) -> i32 {
    let at = (record.event.extents as usize).checked_sub(1);
    at.and_then(|at| record.extents.get(at)).copied().unwrap_or(-1)
}

/// An empty text where there is none; [`ByteArray::default`] is not one.
fn or_empty(text: Option<ByteArray>) -> ByteArray {
    text.unwrap_or_else(|| ByteArray::from(""))
}

fn op_name(record: &Record<'_>) -> ByteArray {
    ByteArray::from(Op::from_u8(record.event.op).map_or("?", Op::name))
}

/// Bit patterns are kept: numbers of 2^63 and more, which no file system has, come back.
fn wide(value: u64) -> i64 {
    value as i64
}

fn narrow(value: u32) -> i32 {
    value as i32
}

macro_rules! columns {
    ($( $name:literal $kind:ident $doc:literal $value:expr; )*) => {
        /// The columns in order.
        pub const COLUMNS: &[Column] =
            &[ $( Column { name: $name, doc: $doc, value: Value::$kind($value) }, )* ];
    };
}

columns! {
    "cell" Int32 "Parameter point of a sweep; 0 without one."
        |r| narrow(r.origin.cell);
    "repetition" Int32 "Repetition within a sweep; 0 without one."
        |r| narrow(r.origin.repetition);
    "rank" Int32 "Rank that executed the operation."
        |r| narrow(r.origin.rank);
    "host" Text "Machine of the rank."
        |r| r.host.clone();
    "thread" Int32 "Thread of the rank; 0 for ranks of Parabench, which have one."
        |r| narrow(r.event.thread);
    "seq" Int64 "Number of the event on its rank, from 0, in order of start."
        |r| wide(r.event.seq);
    "label" Text "Label path, `outer/inner`; \"\" for what stands in no label."
        |r| or_empty(text(r.labels, r.event.label));
    "site" Int32 "Place in the plan; `run.sites` in run.json has the same number."
        |r| narrow(r.event.site);
    "file" Text "Program file of the statement; \"\" if it is not known."
        |r| or_empty(r.place.map(|place| place.0.clone()));
    "line" Int32 "Line in that file, from 1; 0 if it is not known."
        |r| r.place.map_or(0, |place| narrow(place.1));
    "op" Text "Operation, as in `parabench ops`."
        op_name;
    "path_id" Int32 "Number of the path in this file, from 0 in order of first appearance; -1 without a path."
        |r| path(r, r.event.path).map_or(-1, |path| path.id);
    "path" OptionalText "Path below the run directory. A backslash is written `\\\\`, a byte that is not UTF-8 `\\xHH`."
        |r| path(r, r.event.path).map(|path| path.text.clone());
    "path2_id" Int32 "Number of the second path; -1 without one."
        |r| path(r, r.event.path2).map_or(-1, |path| path.id);
    "path2" OptionalText "Second path of rename, link and symlink; else null."
        |r| path(r, r.event.path2).map(|path| path.text.clone());
    "offset_bytes" Int64 "Position in the file, of several extents that of the first; 0 where the operation has none."
        |r| wide(r.event.offset_bytes);
    "pieces" Int32 "Extents of the file that were asked for, where they are several or a pattern's; else 0."
        |r| narrow(r.event.pieces);
    "extents_id" Int32 "Which extents: a place in `run.events.extents` of run.json; -1 without."
        extents;
    "requested_bytes" Int64 "Bytes asked for; for \"rest of the file\" the bytes moved."
        |r| wide(r.event.requested_bytes);
    "done_bytes" Int64 "Bytes moved."
        |r| wide(r.event.done_bytes);
    "start_ns" Int64 "Clock before the first call, since the start of the execution."
        |r| wide(r.event.start_ns);
    "end_ns" Int64 "Clock after the last call, since the start of the execution."
        |r| wide(r.event.end_ns);
    "intended_start_ns" Int64 "When the operation was due; start_ns where the program sets no time for it."
        |r| wide(r.event.intended_start_ns);
    "busy_ns" Int64 "The operation's own time: the sum of its calls' times."
        |r| wide(r.event.busy_ns);
    "open_ns" Int64 "Part of busy_ns: opening. 0 for operations without parts."
        |r| wide(r.event.parts_ns[Part::Open as usize]);
    "view_ns" Int64 "Part of busy_ns: setting the file view."
        |r| wide(r.event.parts_ns[Part::View as usize]);
    "data_ns" Int64 "Part of busy_ns: moving the bytes."
        |r| wide(r.event.parts_ns[Part::Data as usize]);
    "sync_ns" Int64 "Part of busy_ns: making the bytes stable."
        |r| wide(r.event.parts_ns[Part::Sync as usize]);
    "close_ns" Int64 "Part of busy_ns: closing."
        |r| wide(r.event.parts_ns[Part::Close as usize]);
    "errno" Int32 "Linux error number; 0 for success."
        |r| i32::from(r.event.errno);
    "flags" Int32 "Sum of 1 failed, 2 short (the file ended early), 4 failed as the program expects, 8 nobody knows which bytes of the file were moved."
        |r| i32::from(r.event.flags);
}
