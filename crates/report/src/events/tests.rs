//! Events written and read back, and what must not be read.

use super::columns::GROUP_ROWS;
use super::*;
use crate::StoreError;
use model::event::{Event, FLAG_FAILED, NO_ID};
use model::pattern::Run;
use model::run::{EventExtents, Site};
use model::{Op, Part};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::LazyLock;

const LABELS: [&str; 2] = ["outer", "outer/in \"quotes\", commas\nand lines"];
const PATHS: [&[u8]; 3] = [b"f-0", b"not \xff utf-8\\", "ü".as_bytes()];

fn sites() -> Vec<Site> {
    vec![Site { site: 3, file: "p.ppl".into(), line: 9, ..Site::default() }]
}

fn event(seq: u64) -> Event {
    let mut event = Event {
        seq,
        start_ns: 1_000 * seq,
        end_ns: 1_000 * seq + 600,
        intended_start_ns: 1_000 * seq,
        busy_ns: 550,
        requested_bytes: 4096,
        done_bytes: 4096,
        site: 3,
        label: (seq % 2) as u32,
        path: (seq % 3) as u32,
        path2: NO_ID,
        op: Op::Write as u8,
        ..Event::default()
    };
    event.parts_ns[Part::Open as usize] = 300;
    event.parts_ns[Part::Close as usize] = 250;
    event
}

/// What the ids of an event mean: those of the reader differ from those of the writer.
fn meaning(event: &Event, labels: &[impl AsRef<str>], paths: &[impl AsRef<[u8]>]) -> String {
    let path = |id: u32| paths.get(id as usize).map(|path| path.as_ref().to_vec());
    let label = labels.get(event.label as usize).map(|label| label.as_ref().to_string());
    let numbers = Event { label: 0, path: 0, path2: 0, ..*event };
    format!("{numbers:?} {label:?} {:?} {:?}", path(event.path), path(event.path2))
}

fn origin(rank: usize, host: &str) -> Origin<'_> {
    Origin { rank: rank as u32, host, cell: 7, repetition: 2 }
}

fn write(dir: &Path, ranks: &[Vec<Event>]) -> u64 {
    let mut writer = EventWriter::create(dir, &sites()).unwrap();
    for (rank, events) in ranks.iter().enumerate() {
        let host = format!("node{rank}");
        writer.rank(&origin(rank, &host), &LABELS, &PATHS, events.iter()).unwrap();
    }
    let info = writer.finish().unwrap();
    assert_eq!(info.file, EVENTS_FILE);
    info.count
}

fn assert_comes_back(ranks: &[Vec<Event>]) {
    let dir = tempfile::tempdir().unwrap();
    let count = write(dir.path(), ranks);
    let mut reader = EventReader::open(dir.path()).unwrap();
    assert_eq!(reader.event_count(), count);
    let mut seen = 0;
    for (rank, events) in ranks.iter().enumerate() {
        for written in events {
            let row = reader.next().unwrap().unwrap();
            assert_eq!((row.rank as usize, row.cell, row.repetition), (rank, 7, 2));
            assert_eq!(reader.hosts()[&row.rank], format!("node{rank}"));
            assert_eq!(
                meaning(&row.event, reader.labels(), reader.paths()),
                meaning(written, &LABELS, &PATHS)
            );
            seen += 1;
        }
    }
    assert_eq!((seen, reader.next().is_none()), (count, true));
}

#[test]
fn no_events_are_a_table_too() {
    assert_comes_back(&[]);
    assert_comes_back(&[Vec::new(), Vec::new()]);
}

#[test]
fn events_come_back_over_row_groups() {
    let many: Vec<Event> = (0..GROUP_ROWS as u64 + 10).map(event).collect();
    assert_comes_back(&[many, (0..3).map(event).collect()]);
}

#[test]
fn no_event_ends_before_its_start() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[vec![Event { start_ns: 700, end_ns: 3, ..event(0) }]]);
    let row = EventReader::open(dir.path()).unwrap().next().unwrap().unwrap();
    assert_eq!((row.event.start_ns, row.event.end_ns), (700, 700));
}

/// A file of a hundred events.
static A_HUNDRED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[(0..100).map(event).collect()]);
    fs::read(dir.path().join(EVENTS_FILE)).unwrap()
});

fn any_event() -> impl Strategy<Value = Event> {
    let id = prop_oneof![0u32..2, Just(NO_ID)];
    (
        any::<[u64; 9]>(),
        any::<[u64; Part::COUNT]>(),
        [id.clone(), id.clone(), id],
        any::<(u32, u16, u8)>(),
        0..Op::COUNT,
    )
        .prop_map(|(longs, parts_ns, [label, path, path2], (site, errno, flags), op)| {
            let [
                seq,
                start_ns,
                end_ns,
                intended_start_ns,
                busy_ns,
                offset_bytes,
                from_bytes,
                requested_bytes,
                done_bytes,
            ] = longs;
            let op = op as u8;
            let end_ns = end_ns.max(start_ns);
            Event {
                seq,
                start_ns,
                end_ns,
                intended_start_ns,
                busy_ns,
                offset_bytes,
                from_bytes,
                requested_bytes,
                done_bytes,
                parts_ns,
                site,
                label,
                path,
                path2,
                errno,
                op,
                flags,
                thread: site,
                pieces: site,
                extents: 0,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_event_comes_back(ranks in prop::collection::vec(prop::collection::vec(any_event(), 0..20), 0..4)) {
        assert_comes_back(&ranks);
    }

    #[test]
    fn any_cut_is_an_error(cut in 0.0f64..1.0) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS_FILE);
        let bytes = A_HUNDRED.as_slice();
        fs::write(&path, &bytes[..(cut * bytes.len() as f64) as usize]).unwrap();
        let error = EventReader::open(&path).err().expect("no table");
        prop_assert!(matches!(error, StoreError::Truncated { .. } | StoreError::Foreign { .. }), "{}", error);
    }
}

/// Cells of the first row as any reader of Parquet sees them.
fn first_row(path: &Path) -> Vec<(String, Field)> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    row.into_columns()
}

#[test]
fn the_columns_are_those_that_are_documented() {
    let dir = tempfile::tempdir().unwrap();
    let failed = Event { errno: 28, flags: FLAG_FAILED, path: 1, ..event(4) };
    write(dir.path(), &[vec![failed]]);
    let row = first_row(&dir.path().join(EVENTS_FILE));
    let names: Vec<&str> = row.iter().map(|cell| cell.0.as_str()).collect();
    assert_eq!(names, COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
    let cells: Vec<String> = row.iter().map(|(name, field)| format!("{name}={field}")).collect();
    expect_test::expect![[r#"
        cell=7
        repetition=2
        rank=0
        host="node0"
        thread=0
        seq=4
        label="outer"
        site=3
        file="p.ppl"
        line=9
        op="write"
        path_id=1
        path="not \xFF utf-8\\"
        path2_id=-1
        path2=null
        offset_bytes=0
        from_bytes=0
        pieces=0
        extents_id=-1
        requested_bytes=4096
        done_bytes=4096
        start_ns=4000
        end_ns=4600
        intended_start_ns=4000
        busy_ns=550
        open_ns=300
        view_ns=0
        data_ns=0
        sync_ns=0
        close_ns=250
        errno=28
        flags=1
        instance=-1
        instance2=-1
        file_id=-1
        open_flags=-1
        call=""
        log=0
        log_line=0
        waited_us=0"#]]
    .assert_eq(&cells.join("\n"));
}

#[test]
fn extents_are_numbered_in_the_table_and_again_in_that_of_a_sweep() {
    let extents = |at| EventExtents { pieces: 2, runs: vec![Run::single(at, 8); 2] };
    let of = |number| Event { extents: number, pieces: 2, ..event(0) };
    let (one, all) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut writer = EventWriter::create(one.path(), &sites()).unwrap();
    for (rank, own) in [[extents(1), extents(2)], [extents(2), extents(3)]].iter().enumerate() {
        writer.extents(own);
        let events = [of(1), of(2), of(0), of(9)];
        writer.rank(&origin(rank, "n"), &LABELS, &PATHS, events.iter()).unwrap();
    }
    let info = writer.finish().unwrap();
    assert_eq!(info.extents, [1, 2, 3].map(extents));
    let mut writer = EventWriter::create(all.path(), &sites()).unwrap();
    writer.extents(&[extents(7)]);
    writer.rank(&origin(0, "n"), &LABELS, &PATHS, [of(1)].iter()).unwrap();
    writer.append(one.path(), (1, 1), &HashMap::new(), &info.extents).unwrap();
    assert_eq!(writer.finish().unwrap().extents, [7, 1, 2, 3].map(extents));
    let numbers = |dir: &Path| -> Vec<u32> {
        EventReader::open(dir).unwrap().map(|row| row.unwrap().event.extents).collect()
    };
    assert_eq!(numbers(one.path()), [1, 2, 0, 0, 2, 3, 0, 0]);
    assert_eq!(numbers(all.path()), [1, 2, 3, 0, 0, 3, 4, 0, 0]);
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other");
    for content in ["label,op\n", "PK\x03\x04 something else entirely"] {
        fs::write(&path, content).unwrap();
        assert!(matches!(EventReader::open(&path), Err(StoreError::Foreign { .. })));
    }
    assert!(matches!(EventReader::open(&dir.path().join("none")), Err(StoreError::Missing { .. })));
}

#[test]
fn a_table_that_is_not_finished_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &sites()).unwrap();
    writer.rank(&Origin::default(), &LABELS, &PATHS, [event(0)].iter()).unwrap();
    assert!(!dir.path().join(EVENTS_FILE).exists());
    drop(writer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let error = EventWriter::create(Path::new("/proc/nowhere"), &[]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write /proc/nowhere/events.parquet: "), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_flipped_byte_is_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS_FILE);
        let mut bytes = A_HUNDRED.clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        fs::write(&path, &bytes).unwrap();
        if let Ok(reader) = EventReader::open(&path) {
            prop_assert!(reader.take(1000).count() <= 1000);
        }
    }
}
