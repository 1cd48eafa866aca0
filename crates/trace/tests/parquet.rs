//! Tables of Parquet: those of Recorder are imported, others are read by rules.

use model::Op;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use trace::{Imported, Options, Rules, Selection, input};

enum Column<'a> {
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float(&'a [f32]),
    /// "-" is null.
    Text(&'a [&'a str]),
}

/// A table in one row group. Of a repeated column each row has one value.
fn table(schema: &str, columns: &[Column<'_>], compression: Compression) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema.clone(), Arc::new(properties)).expect("one");
    let mut group = writer.next_row_group().expect("a group");
    for (column, field) in columns.iter().zip(schema.get_fields()) {
        let mut out = group.next_column().expect("a column").expect("another one");
        let info = field.get_basic_info();
        let repeats = info.repetition() == parquet::basic::Repetition::REPEATED;
        let levels = |rows: usize| (repeats.then(|| vec![1; rows]), repeats.then(|| vec![0; rows]));
        let written = match column {
            Column::Int32(values) => {
                let (def, rep) = levels(values.len());
                out.typed::<Int32Type>().write_batch(values, def.as_deref(), rep.as_deref())
            }
            Column::Int64(values) => out.typed::<Int64Type>().write_batch(values, None, None),
            Column::Float(values) => {
                let (def, rep) = levels(values.len());
                out.typed::<FloatType>().write_batch(values, def.as_deref(), rep.as_deref())
            }
            Column::Text(texts) => {
                let there = texts.iter().filter(|text| **text != "-");
                let values: Vec<ByteArray> = there.map(|text| ByteArray::from(*text)).collect();
                let def: Vec<i16> = texts.iter().map(|text| i16::from(*text != "-")).collect();
                out.typed::<ByteArrayType>().write_batch(&values, Some(&def), None)
            }
        };
        written.expect("values");
        out.close().expect("an end");
    }
    group.close().expect("its end");
    writer.close().expect("the end");
    bytes
}

fn inputs(logs: Vec<(&str, Vec<u8>)>) -> Vec<(PathBuf, input::Input)> {
    let open = |(name, bytes): (&str, Vec<u8>)| {
        let input = input::decompressed(Box::new(Cursor::new(bytes))).expect("an input");
        (PathBuf::from(name), input)
    };
    logs.into_iter().map(open).collect()
}

/// Rank, operation, path, offset, bytes, start and duration in us.
fn shown(imported: Imported) -> Vec<String> {
    let facts = imported.facts;
    let line = |traced: trace::sort::Traced| {
        let event = traced.event;
        let path = facts.paths.get(event.path as usize).map_or(&b""[..], Vec::as_slice);
        format!(
            "{} {} {} @{} {} {}+{}us{}",
            traced.rank,
            Op::from_u8(event.op).expect("an operation"),
            String::from_utf8_lossy(path),
            event.offset_bytes,
            event.done_bytes,
            event.start_ns / 1000,
            event.busy_ns / 1000,
            if event.errno == 0 { "" } else { " failed" },
        )
    };
    imported.events.map(|event| line(event.expect("an event"))).collect()
}

const SCHEMA: &str = "message log {
    REQUIRED INT64 begin (TIMESTAMP(MICROS,true));
    REQUIRED INT32 duration;
    OPTIONAL BYTE_ARRAY op (STRING);
    REQUIRED INT64 pos;
    REQUIRED INT64 bytes;
    OPTIONAL BYTE_ARRAY unasked (STRING);
    OPTIONAL BYTE_ARRAY file (STRING);
    OPTIONAL BYTE_ARRAY why (STRING);
}";

const BEGIN_US: i64 = 1_795_253_061_000_000;

fn columns() -> Vec<Column<'static>> {
    vec![
        Column::Int64(&[BEGIN_US, BEGIN_US + 100, BEGIN_US + 350, BEGIN_US + 400]),
        Column::Int32(&[90, 200, 7, 5]),
        Column::Text(&["write", "read", "unlink", "dance"]),
        Column::Int64(&[0, 8192, 0, 0]),
        Column::Int64(&[65536, 4096, 0, 0]),
        Column::Text(&["x", "-", "y", "z"]),
        Column::Text(&["/d/a", "/d/b c", "/d/old", "/d/a"]),
        Column::Text(&["-", "-", "ENOENT", "-"]),
    ]
}

/// As recorder2parquet declares its columns: numbers are repeated, with one value in each row.
fn recorder(rank: i32, functions: &[&str], arguments: &[&[&str]]) -> Vec<u8> {
    let mut schema = String::from(
        "message schema { REPEATED INT32 rank (INTEGER(32,true)); REPEATED INT32 thread_id (INTEGER(32,true));
         REPEATED FLOAT tstart; REPEATED FLOAT tend; OPTIONAL BYTE_ARRAY func_id (UTF8);
         REPEATED INT32 arg_count (INTEGER(32,true));",
    );
    (1..=10).for_each(|at| schema += &format!("OPTIONAL BYTE_ARRAY args_{at} (UTF8);"));
    let rows = functions.len();
    let times = |plus: f32| (0..rows).map(|at| at as f32 * 0.25 + plus).collect::<Vec<f32>>();
    let (starts, ends) = (times(0.0), times(0.125));
    let counts: Vec<i32> = arguments.iter().map(|words| words.len() as i32).collect();
    let words: Vec<Vec<&str>> = (0..10)
        .map(|at| arguments.iter().map(|words| words.get(at).copied().unwrap_or("")).collect())
        .collect();
    let (ranks, threads) = (vec![rank; rows], vec![7; rows]);
    let mut columns = vec![
        Column::Int32(&ranks),
        Column::Int32(&threads),
        Column::Float(&starts),
        Column::Float(&ends),
        Column::Text(functions),
        Column::Int32(&counts),
    ];
    columns.extend(words.iter().map(|words| Column::Text(words)));
    table(&(schema + "}"), &columns, Compression::UNCOMPRESSED)
}

#[test]
fn tables_of_recorder_are_known_by_themselves_and_tell_what_its_text_tells() {
    let one = recorder(
        1,
        &["MPI_File_open", "open", "pwrite64", "lseek", "read", "close"],
        &[
            &["c", "/d/f", "9"],
            &["/d/a file", "66", "420"],
            &["/d/a file", "0x7ffe", "4096", "8192"],
            &["/d/a file", "100", "0"],
            &["/d/a file", "0x7ffe", "10"],
            &["/d/a file"],
        ],
    );
    let zero = recorder(0, &["rename"], &[&["/d/x y", "/d/z"]]);
    let options = Options { format: None, which: Selection::All };
    let logs = inputs(vec![("_parquet/0.parquet", zero), ("_parquet/1.parquet", one)]);
    let imported = trace::import::from_inputs(logs, &options).expect("events");
    assert_eq!(imported.format, trace::Format::Recorder);
    let gap = |code: &str| imported.facts.gaps.iter().find(|gap| gap.code == code);
    assert_eq!(gap("above").expect("MPI").count, 1);
    assert_eq!(gap("single-precision").expect("floats").count, 6);
    assert_eq!(imported.facts.ranks, 2);
    assert_eq!(
        shown(imported),
        [
            "0 rename x y @0 0 0+125000us",
            "1 fopen a file @0 0 250000+125000us",
            "1 fwrite a file @8192 4096 500000+125000us",
            "1 fseek a file @100 0 750000+125000us",
            "1 fread a file @100 10 1000000+125000us",
            "1 fclose a file @0 0 1250000+125000us",
        ]
    );
}

#[test]
fn a_table_of_somebody_else_is_in_no_known_format() {
    let log = table(SCHEMA, &columns(), Compression::SNAPPY);
    let options = Options { format: None, which: Selection::All };
    let error = trace::import::from_inputs(inputs(vec![("x.parquet", log)]), &options).err();
    assert_eq!(error.expect("an error").message, "x.parquet is in no format that is known");
}

#[test]
fn rules_read_tables_as_text_with_tabulators() {
    let rules = r#"
[[rule]]
match = '^begin\t'
[[rule]]
match = '^(?<start>[^\t]*)\t(?<elapsed>\d+)\t(?<operation>\w*)\t(?<offset>\d+)\t(?<size>\d+)\t[^\t]*\t(?<path>[^\t]*)\t(?<error>.*)'
"#;
    let rules = format!("time = '%Y-%m-%d %H:%M:%S%.f %:z'\n{rules}");
    let rules = Rules::read(&rules, "rules.toml").expect("rules");
    let log = table(SCHEMA, &columns(), Compression::SNAPPY);
    let imported = rules.import(inputs(vec![("x.parquet", log)]), Selection::All).expect("events");
    let unfit = imported.facts.gaps.iter().find(|gap| gap.code == "unfit-lines").expect("dance");
    assert_eq!(unfit.count, 1);
    assert_eq!(
        shown(imported),
        [
            "0 fwrite a @0 65536 0+90000000us",
            "0 fread b c @8192 4096 100+200000000us",
            "0 delete old @0 0 350+7000000us failed",
        ]
    );
}

#[test]
fn damaged_tables_are_errors() {
    let whole = recorder(0, &["open", "close"], &[&["/d/f", "66", "420"], &["/d/f"]]);
    let options = Options { format: Some(trace::Format::Recorder), which: Selection::All };
    let read = |bytes: Vec<u8>| {
        let Ok(input) = input::decompressed(Box::new(Cursor::new(bytes))) else { return true };
        match trace::import::from_inputs(vec![("x".into(), input)], &options) {
            Ok(imported) => shown(imported).len() <= 2,
            // No row of a table that can be read need mean anything.
            Err(error) => ["cannot read x", "x is empty", "no line of x"]
                .iter()
                .any(|start| error.message.starts_with(start)),
        }
    };
    for end in 4..whole.len() {
        assert!(read(whole[..end].to_vec()), "cut at {end}");
    }
    for at in 4..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        assert!(read(bytes), "changed at {at}");
    }
}
