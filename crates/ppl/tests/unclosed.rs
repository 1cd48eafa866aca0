//! What is opened and never closed gives one message, which names the place where it was opened: tried with every
//! string, comment, bracket and block of the programs that are shipped.

use ppl::source::{NoIncludes, Span};
use ppl::{Binding, Diagnostic, compile};
use std::fs;
use std::path::{Path, PathBuf};

/// Programs below `folder` that are without a mistake by themselves.
fn programs(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut folders = vec![root];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of programs") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "ppl") {
                let text = fs::read_to_string(&path).expect("a program");
                if mistakes(&text).is_empty() {
                    found.push((path, text));
                }
            }
        }
    }
    found
}

fn mistakes(text: &str) -> Vec<Diagnostic> {
    compile("p", text.as_bytes().to_vec(), &mut NoIncludes, &Binding::new(4)).diagnostics
}

/// A byte and its position.
type Sign = (usize, u8);
/// Beginning and end of a string.
type Literal = (usize, usize);

/// Positions of the signs of a program: outside of strings and comments, and the ends of strings with their beginnings.
fn signs(text: &str) -> (Vec<Sign>, Vec<Literal>) {
    let bytes = text.as_bytes();
    let (mut signs, mut strings) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match bytes[at] {
            b'#' => at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"//") => {
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            b'/' if rest.starts_with(b"/*") => {
                at += text[at..].find("*/").map_or(rest.len(), |end| end + 2);
            }
            b'"' => {
                let start = at;
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                strings.push((start, at));
                at += 1;
            }
            sign => {
                signs.push((at, sign));
                at += 1;
            }
        }
    }
    (signs, strings)
}

fn without(text: &str, at: usize) -> String {
    format!("{}{}", &text[..at], &text[at + 1..])
}

/// One message, and one of its places begins with `opening`.
fn is_one_at(found: &[Diagnostic], text: &str, opening: &str) -> bool {
    let begins = |span: &Span| text[span.start as usize..].starts_with(opening);
    match found {
        [only] => begins(&only.span) || only.related.iter().any(|(span, _)| begins(span)),
        _ => false,
    }
}

#[test]
fn a_string_that_is_not_closed_gives_one_message_where_it_begins() {
    for (path, text) in programs("programs").into_iter().chain(programs("examples")) {
        // A later quote on the line closes it: then the mistake is another one.
        let is_last = |end: usize| !text[end + 1..].lines().next().unwrap_or("").contains('"');
        let (_, strings) = signs(&text);
        for (start, end) in strings.into_iter().filter(|(_, end)| is_last(*end)) {
            let text = without(&text, end);
            let found = mistakes(&text);
            let is_there = matches!(&found[..], [only] if only.span.start as usize == start);
            assert!(is_there, "{path:?} at {start}: {found:#?}");
            assert_eq!(found[0].code.as_str(), "E0102");
        }
    }
}

#[test]
fn a_comment_that_is_not_closed_gives_one_message_where_it_begins() {
    for (path, text) in programs("programs").into_iter().chain(programs("examples")) {
        let (signs, _) = signs(&text);
        let ends = signs.iter().filter(|(_, sign)| *sign == b';').map(|(at, _)| at + 1);
        for at in ends {
            let text = format!("{} /* {}", &text[..at], text[at..].replace("*/", ""));
            let found = mistakes(&text);
            let is_open = |one: &Diagnostic| one.code.as_str() == "E0102";
            // A block around it is not closed either, and that is the same mistake.
            let is_there =
                matches!(&found[..], [only] if is_open(only) && only.span.start as usize == at + 1);
            assert!(is_there, "{path:?} at {at}: {found:#?}");
        }
    }
}

#[test]
fn a_bracket_that_is_not_closed_gives_one_message_that_names_its_beginning() {
    for (path, text) in programs("programs").into_iter().chain(programs("examples")) {
        let (signs, _) = signs(&text);
        for (at, sign) in signs.into_iter().filter(|(_, sign)| b")]}".contains(sign)) {
            let opening = match sign {
                b')' => "(",
                b']' => "[",
                _ => "{",
            };
            let text = without(&text, at);
            let found = mistakes(&text);
            assert!(is_one_at(&found, &text, opening), "{path:?} at {at}: {found:#?}");
        }
    }
}
