//! Any bytes as a log of every format: events, or a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use trace::{Format, Options, Selection, input};

fuzz_target!(|bytes: &[u8]| {
    for format in Format::all() {
        let Ok(input) = input::decompressed(Box::new(Cursor::new(bytes.to_vec()))) else { return };
        let options = Options { format: Some(format), which: Selection::Data };
        if let Ok(imported) = trace::import::from_inputs(vec![("log".into(), input)], &options) {
            let paths = imported.facts.paths.len();
            for traced in imported.events {
                let path = traced.expect("no disk").event.path;
                assert!(path == u32::MAX || (path as usize) < paths);
            }
        }
    }
});
