//! Any bytes as the file of a thread that recorded itself: events, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;
use trace::Selection;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("parabench-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    // With a sound header every input gets to the slots.
    let mut file = vec![0; 4096];
    file[..8].copy_from_slice(&0x0002_4345_5242_4150_u64.to_ne_bytes());
    let mut other = file.clone();
    let half = bytes.len() / 2;
    file.extend(&bytes[..half]);
    other[12] = 1;
    other.extend(&bytes[half..]);
    fs::write(folder.join("a.rec"), file).expect("written");
    fs::write(folder.join("b.rec"), other).expect("written");
    let imported = trace::import::from_recordings(&[("".into(), folder)], &Selection::Data);
    let imported = imported.expect("events");
    let paths = imported.facts.paths.len();
    for traced in imported.events {
        let path = traced.expect("no disk").event.path;
        assert!(path == u32::MAX || (path as usize) < paths);
    }
});
