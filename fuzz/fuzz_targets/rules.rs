//! Any bytes as a file of rules, a line `--`, and a log of theirs: events, or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use trace::{Rules, Selection, input};

fuzz_target!(|bytes: &[u8]| {
    let Some(at) = bytes.windows(4).position(|part| part == b"\n--\n") else { return };
    let Ok(text) = std::str::from_utf8(&bytes[..at]) else { return };
    let Ok(rules) = Rules::read(text, "rules") else { return };
    let Ok(log) = input::decompressed(Box::new(Cursor::new(bytes[at + 4..].to_vec()))) else { return };
    if let Ok(imported) = rules.import(vec![("log".into(), log)], Selection::Data) {
        imported.events.for_each(|traced| assert!(traced.is_ok(), "no disk"));
    }
});
