//! Any text: patterns of a program that compiles give pieces that exist, as far as one looks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/ppl/tests/plans/pieces.rs"]
mod pieces;

fuzz_target!(|text: &str| {
    let ranks = 1 + text.len() as u32 % 17;
    pieces::walk(text, ranks);
    // The corpus has few definitions, so that most texts are read as a part of one too.
    pieces::walk(&format!("define pattern \"p\" level 0 {{ {text} }}"), ranks);
    pieces::walk(&format!("define pattern \"p\" level 3 = {text}"), ranks);
});
