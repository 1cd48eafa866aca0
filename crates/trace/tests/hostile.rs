//! Logs that mean harm, or are damaged: an error or a counted gap, no panic, no memory without bounds.

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use trace::import::from_inputs;
use trace::{Error, Format, Imported, Options, Rules, Selection, input};

fn imported(log: Vec<u8>, format: Option<Format>) -> Result<Imported, Error> {
    let input = input::decompressed(Box::new(Cursor::new(log)))
        .map_err(|error| Error { message: error.to_string(), help: String::new() })?;
    from_inputs(vec![(PathBuf::from("log"), input)], &Options { format, which: Selection::All })
}

/// Takes every event; gives their number, and that of one kind of gaps.
fn counts(log: String, code: &str) -> (usize, u64) {
    let imported = imported(log.into_bytes(), Some(Format::Strace)).unwrap();
    let gap = imported.facts.gaps.iter().find(|gap| gap.code == code).map_or(0, |gap| gap.count);
    (imported.events.map(Result::unwrap).count(), gap)
}

fn real(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name)).unwrap()
}

#[test]
fn descriptors_that_nobody_closes_are_bounded() {
    let mut log = String::new();
    for fd in 3..100_003 {
        writeln!(log, "1 open(\"/d/f\", O_RDONLY) = {fd}").unwrap();
    }
    // Each child gets a copy of the table when it closes one of them: 10^8 descriptors together.
    for child in 2..1_002 {
        writeln!(log, "1 fork() = {child}\n{child} close(3) = 0").unwrap();
    }
    let (events, unknown) = counts(log, "unknown-descriptors");
    assert_eq!(events, 100_000);
    assert!((800..1_000).contains(&unknown), "{unknown} children were not followed");
}

#[test]
fn names_of_any_depth_and_number_are_followed_or_counted() {
    let deep = "a/".repeat(300_000);
    assert_eq!(counts(format!("stat(\"/{deep}\", 0x7f) = 0\n"), "impossible"), (0, 1));
    let mut log = String::new();
    for number in 0..50_000 {
        let (from, to) = if number % 2 == 0 { ("/d", "/e") } else { ("/e", "/d") };
        writeln!(log, "rename(\"{from}\", \"{to}\") = 0\nstat(\"{to}/{number}\", 0x7f) = 0")
            .unwrap();
    }
    assert_eq!(counts(log, "impossible"), (100_000, 0));
}

#[test]
fn brackets_that_nothing_closes_take_no_time() {
    let open = "<a(".repeat(200_000);
    let log = format!("read(3, {open}\nopen(\"f\", O_RDONLY) = 3\n");
    assert_eq!(counts(log, "cut-calls"), (1, 1));
}

#[test]
fn an_operation_that_never_ends_begins_again_and_again() {
    let begin = r#"{ "date": "2026-11-23T01:53:40.100+0000", "worker_rank": 0, "op_name": "pread", "entry_name": "7", "offset": 0, "length": 1, "is_finished": false, "is_error": false }"#;
    let log = format!("{begin}\n").repeat(20_000);
    let imported = imported(log.into_bytes(), None).unwrap();
    let gap = imported.facts.gaps.iter().find(|gap| gap.code == "cut-calls").unwrap();
    assert_eq!((gap.count, gap.examples.len()), (20_000, 10));
}

#[test]
fn an_empty_log_is_no_log_but_beside_others() {
    let input = |log: &[u8]| input::decompressed(Box::new(Cursor::new(log.to_vec()))).unwrap();
    let options = Options { format: None, which: Selection::All };
    let read = b"8,0 1 1 0.000000001 7 D R 8 + 8 [x]\n8,0 1 1 0.000000002 0 C R 8 + 8 [0]\n";
    let logs = vec![("a".into(), input(b"")), ("b".into(), input(read))];
    assert_eq!(from_inputs(logs, &options).unwrap().events.count(), 1);
    let error = from_inputs(vec![("a".into(), input(b""))], &options).err().unwrap();
    assert_eq!(error.message, "a is in no format that is known");
}

#[test]
fn a_log_that_is_cut_ends_where_it_is_cut() {
    let mut text = Vec::new();
    let whole = input::decompressed(Box::new(Cursor::new(real("duckdb-olap.strace.xz")))).unwrap();
    whole.bytes.take(u64::MAX).read_to_end(&mut text).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&text).unwrap();
    let whole = packed.finish().unwrap();
    let cut = whole[..whole.len() / 2].to_vec();
    let imported = imported(cut, None).unwrap();
    assert!(imported.events.count() > 1_000);
    let gap = imported.facts.gaps.iter().find(|gap| gap.code == "cut-logs").unwrap();
    assert!(gap.examples[0].ends_with("the log ends here"), "{gap:?}");
    assert_eq!(gap.says, "1 log ends in the middle: what came behind is missing");
    let whole = real("dxt.darshan");
    let error = self::imported(whole[..whole.len() / 2].to_vec(), None).err().unwrap();
    assert!(error.message.contains("a region lies behind its end"), "{}", error.message);
}

/// What came before the cut is read, also if it is less than what shows the format.
#[test]
fn a_short_log_that_is_cut_is_read_as_far_as_it_goes() {
    let line = "1 open(\"/d/f\", O_RDONLY) = 3\n";
    let log = line.repeat(200);
    let mut gz = GzEncoder::new(Vec::new(), Compression::none());
    gz.write_all(log.as_bytes()).unwrap();
    let cut = gz.finish().unwrap()[..2_000].to_vec();
    let imported = imported(cut, None).unwrap();
    let codes: Vec<&str> = imported.facts.gaps.iter().map(|gap| gap.code.as_str()).collect();
    assert!(codes.contains(&"cut-logs"), "{codes:?}");
    let events = imported.events.count();
    assert!((1_900 / line.len()..200).contains(&events), "{events}");
}

#[test]
fn a_log_of_which_no_line_is_understood_is_an_error() {
    let message = |log: &[u8], format| imported(log.to_vec(), Some(format)).err().unwrap().message;
    for format in [Format::Strace, Format::FioIolog, Format::Blktrace, Format::DfTracer] {
        assert_eq!(message(b"", format), "log is empty: it holds no call");
        let garbage = "\x01\x02what is this?\nand\nthat\nand more\n";
        let expected = format!(
            "no line of log holds a call as logs of {} do; 4 are in no form that is known: \
             log:1: \\x01\\x02what is this?; log:2: and; log:3: that",
            format.name()
        );
        assert_eq!(message(garbage.as_bytes(), format), expected);
    }
    // A program that did nothing with files has a log all the same.
    for calls in ["1 brk(NULL) = 0x7f\n?\n", "1 +++ exited with 0 +++\n", "--- SIGINT {} ---\n"] {
        let imported = imported(calls.into(), Some(Format::Strace)).unwrap();
        assert_eq!(imported.events.count(), 0, "{calls}");
    }
}

/// Taken to its end, whatever it is.
fn survive(log: Vec<u8>, format: Option<Format>) {
    if let Ok(imported) = imported(log, format) {
        assert!(imported.events.count() < 1_000_000);
    }
}

/// Lines of real calls, and pieces of them.
const PIECES: &[&str] = &[
    "17 ",
    "[pid 18] ",
    "1795253061.790445 ",
    "08:00:00 ",
    "openat(",
    "AT_FDCWD</d>",
    ", ",
    "\"f\"",
    "\"../x\\0\\377\"...",
    "O_RDWR|O_CREAT",
    ") = 3",
    "</d/f>",
    " <0.000012>",
    "\n",
    "read(3",
    "pread64(3",
    "<unfinished ...>",
    "<... read resumed>",
    "clone(flags=CLONE_FILES",
    "= -1 ENOENT (x)",
    "close(3)",
    "dup2(3, 3)",
    "rename(\"a\", \"a/b\")",
    "close_range(0, 4294967295, 0)",
    "execve(\"x\"",
    "+++ exited with 0 +++",
    "+++ superseded by execve in pid 17 +++",
    "[{iov_len=18446744073709551615}]",
    "18446744073709551615",
    "lseek(3, 0, SEEK_SET) = 9223372036854775807",
    "write(3, \"\", 9) = 9223372036854775807",
    "fork() = 17",
    "\n > /usr/lib/libc.so.6(read+0x1) [0x1]\n",
    "\n > /usr/bin/app(load/+0x1) [0x1]\n",
    "\n > ((()+0x [0x\n",
];

/// Formats of lines with words and numbers, and what their logs begin with.
const FIRST_LINES: &[(&str, &str)] = &[
    ("fio-iolog", "fio version 3 iolog\n"),
    ("fio-iolog", "fio version 2 iolog\n"),
    ("fio-log", ""),
    ("blktrace", ""),
    ("dftracer", "[\n"),
    ("recorder", ""),
    ("elbencho", ""),
];

/// Words of such lines, and lines.
const LINES: &[&str] = &[
    "fio version 2 iolog\n",
    "18446744073709551615",
    "99999999999999999999999",
    " ",
    ", ",
    "\n",
    "/d/../f",
    " open\n",
    "7 /d/f open\n",
    " close\n",
    " read 0 18446744073709551615\n",
    " write 18446744073709551615 1\n",
    " wait 18446744073709551615 0\n",
    "1, 18446744073709551615, 0, 18446744073709551615, 18446744073709551615, 0xffffffffffffffff\n",
    "1, 0, 1, 4096\n",
    "8,0 1 1 0.000000001 7 Q W 8 + 8 [x]\n",
    "8,0 1 1 18446744073709551615.999999999 18446744073709551615 D R 18446744073709551615 + 18446744073709551615 [x]\n",
    "8,0 1 1 0.000000000 0 C W 8 + 8 [-99999999]\n",
    "8,0 1 1 0.000000000 0 C R 18446744073709551615 + 18446744073709551615 [0]\n",
    "8,0 1 1 0.000000000 7 Q FWS [x]\n",
    "1.0 1e300 open 0 0 ( /d/f 66 420 )\n",
    "1.0 2.0 read ( 7 0 9223372036854775807 )\n",
    "1.0 2.0 fwrite 0 0 ( 0 9223372036854775807 9223372036854775807 /d/f )\n",
    "1.0 2.0 lseek 0 0 ( /d/f -9223372036854775808 0 )\n",
    "1.0 2.0 close 0 0 ( 9223372036854775807 )\n",
    "1.0 2.0 rename ( a b c d )\n",
    " ( ",
    " )\n",
    r#"{"name":"FH","cat":"dftracer","pid":1,"ph":4,"args":{"name":"/d/../../x","value":"a"}}"#,
    "\n{\"name\":\"CM\",\"cat\":\"dftracer\",\"ph\":4,\"args\":{\"name\":\"time_metric\",\"value\":\"SEC\"}}\n",
    "\n{\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":18446744073709551615,\"ts\":1e300,\"args\":{\"cwd\":\"a\"}}\n",
    "\n{\"name\":\"open64\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":2,\"ts\":9223372036854775807,\"args\":{\"fhash\":\"a\"}}\n",
    "\n{\"name\":\"write\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":3,\"ts\":1,\"dur\":-1,\"args\":{\"fhash\":\"a\",\"ret\":9223372036854775807}}\n",
    "\n{\"name\":\"lseek\",\"cat\":\"POSIX\",\"pid\":1,\"ts\":1.5,\"args\":{\"fname\":\"x\",\"ret\":-5,\"whence\":[1]}}\n",
    "{ \"date\": \"9999-99-99T99:99:99.999-9999\", \"worker_rank\": 16777216, \"op_name\": \"pwrite\",",
    "{ \"date\": \"0000-00-00T00:00:00.000+0000\", \"worker_rank\": -1, \"op_name\": \"openat\",",
    " \"entry_name\": \"18446744073709551615\", \"offset\": 18446744073709551615, \"length\": 18446744073709551615,",
    " \"entry_name\": \"/d/r0\", \"offset\": 0, \"length\": 0,",
    " \"is_finished\": true, \"is_error\": false }\n",
    " \"is_finished\": false, \"is_error\": false }\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(bytes.clone(), None);
        for format in Format::all() {
            survive(bytes.clone(), Some(format));
        }
    }

    #[test]
    fn any_mix_of_pieces_of_calls_is_taken(pieces in prop::collection::vec(0..PIECES.len(), 0..80)) {
        let log: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        survive(log.into_bytes(), Some(Format::Strace));
    }

    #[test]
    fn any_mix_of_pieces_of_lines_is_taken(pieces in prop::collection::vec(0..LINES.len(), 0..60)) {
        let log: String = pieces.into_iter().map(|piece| LINES[piece]).collect();
        for (format, first) in FIRST_LINES {
            survive([first.as_bytes(), log.as_bytes()].concat(), Format::find(format));
        }
    }

    #[test]
    fn any_flipped_byte_of_a_binary_log_is_taken(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut log = real("dxt-simple.darshan");
        // Of the header half of the time: what follows is compressed and checked.
        let at = if byte % 2 == 0 { at.index(360) } else { at.index(log.len()) };
        log[at] = byte;
        survive(log, Some(Format::Darshan));
    }
}

/// Rules with a field of every kind.
const RULES: &str = r#"
time = "%H:%M:%S%.f"
[[rule]]
match = '^(?<start>\S*) (?<process>\S*) (?<operation>\S+) (?<handle>\S*) (?<size>\S*) (?<offset>\S*) (?<result>\S*)$'
[[rule]]
match = '^(?<process>\S*) (?<operation>open|rename|stat) (?<path>\S*) (?<path2>\S*) (?<flags>\S*) (?<handle>\S*)$'
"#;

fn by_rules(log: Vec<u8>) -> Result<Imported, Error> {
    let rules = Rules::read(RULES, "rules").unwrap();
    let input = input::decompressed(Box::new(Cursor::new(log))).unwrap();
    rules.import(vec![(PathBuf::from("log"), input)], Selection::All)
}

const RULED: &[&str] = &[
    "01:02:03.5 ",
    "99:99:99 ",
    "1 ",
    "t ",
    "read ",
    "write ",
    "close ",
    "open ",
    "rename ",
    "stat ",
    "mkdir ",
    "3 ",
    "0x7f ",
    "4k ",
    "18446744073709551615 ",
    "-1 ",
    "-9223372036854775808 ",
    "/a ",
    "../../a ",
    "a/b",
    " ",
    "\n",
    "\0",
    "r+ ",
    "O_CREAT|O_EXCL ",
    "\u{1b}[1m",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_is_rules_or_an_error_with_a_place(text in "[\\[\\]a-z_.='\"$#\n(?<>)0-9 ]{0,200}") {
        if let Err(error) = Rules::read(&text, "rules") {
            prop_assert!(error.message.starts_with("rules:"), "{}", error.message);
        }
    }

    #[test]
    fn any_mix_of_fields_is_taken(pieces in prop::collection::vec(0..RULED.len(), 0..80)) {
        let log: String = pieces.into_iter().map(|piece| RULED[piece]).collect();
        match by_rules(log.into_bytes()) {
            Ok(imported) => prop_assert!(imported.events.count() < 1_000),
            Err(error) => prop_assert!(error.message.contains("log"), "{}", error.message),
        }
    }
}

/// A descriptor that is closed makes room for the next one, whatever it is called.
#[test]
fn descriptors_of_any_name_come_and_go() {
    let mut log = String::new();
    for handle in 0..200_000 {
        writeln!(log, "1 open /d/f  r 0x{handle:x}\n01:00:00 1 close 0x{handle:x}   ").unwrap();
    }
    let imported = by_rules(log.into_bytes()).unwrap();
    let codes: Vec<&str> = imported.facts.gaps.iter().map(|gap| gap.code.as_str()).collect();
    assert!(!codes.contains(&"unparsed-lines") && !codes.contains(&"unfit-lines"), "{codes:?}");
    assert_eq!(imported.events.count(), 400_000);
}
