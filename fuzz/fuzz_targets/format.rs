//! Any text: formatting twice is formatting once, and the program stays the same.
#![no_main]

#[path = "../../crates/ppl/tests/dump/mod.rs"]
mod dump;

use libfuzzer_sys::fuzz_target;
use ppl::source::{NoIncludes, Sources};

fn tree(text: &str) -> String {
    let mut sources = Sources::default();
    let (root, _) = sources.add("main", text.as_bytes().to_vec());
    let (ast, _) = ppl::parse(&mut sources, root, &mut NoIncludes);
    dump::dump(&ast, &sources)
}

fuzz_target!(|text: &str| {
    let (formatted, diagnostics) = ppl::format(text);
    if !diagnostics.is_empty() {
        assert_eq!(formatted, text);
        return;
    }
    assert_eq!(tree(text), tree(&formatted), "the program changed:\n{text}\n---\n{formatted}");
    let (again, diagnostics) = ppl::format(&formatted);
    assert_eq!(diagnostics, []);
    assert_eq!(formatted, again, "formatting is not idempotent:\n{text}");
});
