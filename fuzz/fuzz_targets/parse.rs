//! Any bytes: the parser neither panics nor gives places outside of the text.
#![no_main]

#[path = "../../crates/ppl/tests/dump/mod.rs"]
mod dump;

use libfuzzer_sys::fuzz_target;
use ppl::source::{Loader, Sources, Span};

/// Files that include each other, so that loops and chains come up.
struct Files;

impl Loader for Files {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        match path {
            "a" => Ok(("a".into(), b"include \"b\"; sync;".to_vec())),
            "b" => Ok(("b".into(), b"define proc p() { stat(\"x\" }".to_vec())),
            _ => Err("there is no such file".into()),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut sources = Sources::default();
    let (root, _) = sources.add("main", bytes.to_vec());
    let (ast, diagnostics) = ppl::parse(&mut sources, root, &mut Files);
    let inside = |span: Span| {
        let file = sources.file(sources.file_at(span.start));
        let range = (span.start - file.start) as usize..(span.end - file.start) as usize;
        assert!(file.text.get(range).is_some(), "{span:?}");
    };
    ast.expr_spans
        .iter()
        .chain(&ast.stmt_spans)
        .chain(&ast.comments)
        .for_each(|span| inside(*span));
    for diagnostic in &diagnostics {
        inside(diagnostic.span);
        diagnostic.related.iter().for_each(|(span, _)| inside(*span));
        diagnostic.fix.iter().for_each(|(span, _)| inside(*span));
    }
    dump::dump(&ast, &sources);
});
