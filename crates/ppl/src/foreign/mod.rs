//! People who come from elsewhere: words, signs and whole texts of other languages and tools.
//!
//! ```text
//! [global]                          error[E0004]: this is a fio job file, not a PPL program
//! rw=randread            ----->       help: in PPL:
//! bs=4k                                     param $bs = 4k; ...
//! ```
//!
//! What marks a text is a table ([`marks`]), what PPL has for words another ([`words`]). Only texts
//! with mistakes are looked at, so no program that parses is ever taken for something else; and what
//! is offered in place of a text has been compiled.

mod braces;
mod calls;
mod command;
mod dd;
mod elbencho;
mod fio;
mod ior;
mod launcher;
pub(crate) mod loops;
mod marks;
mod mdtest;
mod options;
mod page;
mod shell;
pub(crate) mod words;

use crate::binding::Binding;
use crate::diag::{Code, Diagnostic, has_errors};
use crate::resolve::resolve;
use crate::source::{NoIncludes, Sources};
use crate::{lower, parse};
use marks::{Found, Kind};
use model::plan::Span;

/// So much of a text is looked at.
const MAX_BYTES: usize = 1 << 20;

/// Ranks for which a translation is compiled before it is offered.
const RANKS: u32 = 4;

/// What a text is that has mistakes, if it is none of PPL; `base`: its first position.
#[cold]
pub(crate) fn diagnose(text: &str, base: u32) -> Option<Diagnostic> {
    let text = start_of(text);
    let Found { kind, line } = marks::recognise(text)?;
    let span = Span { start: base + line.start as u32, end: base + line.end as u32 };
    let title = shell::title(text).filter(|_| matches!(kind, Kind::Command | Kind::Shell));
    let name = title.filter(|_| kind == Kind::Command).unwrap_or(kind.name());
    let message = format!("this is {name}, not a PPL program");
    let diagnostic = Diagnostic::new(Code::Foreign, span, message);
    let program = translation(kind, text).and_then(|program| sound(&program));
    Some(diagnostic.help(match program {
        Some(program) => format!("{}in PPL:\n{}", lead(kind, title), program.trim_end()),
        None => instead(kind).into(),
    }))
}

/// The first [`MAX_BYTES`], whole characters.
fn start_of(text: &str) -> &str {
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// What of the text the translation is about; "" for all of it. `title`: of the command in it.
fn lead(kind: Kind, title: Option<&str>) -> String {
    match (kind, title) {
        (Kind::C | Kind::Python, _) => "its I/O calls, each once, ".into(),
        (Kind::Shell, Some(title)) => format!("{title} in it, "),
        _ => String::new(),
    }
}

fn translation(kind: Kind, text: &str) -> Option<String> {
    match kind {
        Kind::FioJob => fio::job_file(text),
        Kind::Command | Kind::Shell => shell::translate(text),
        Kind::C => calls::of_c(text),
        Kind::Python => calls::of_python(text),
        Kind::Strace | Kind::Json | Kind::IorScript | Kind::Rust => None,
    }
}

/// What to do where nothing can be translated.
fn instead(kind: Kind) -> &'static str {
    match kind {
        Kind::Strace => "`parabench import LOG -o DIR` makes a run of it",
        Kind::Json => {
            "programs are text: write(\"file-$$rank\", 4k); `parabench report DIR` shows stored results"
        }
        Kind::FioJob | Kind::Command | Kind::Shell => {
            "write the calls it makes: $h = fopen(\"file-$$rank\", \"w+\"); repeat $i 100 fwrite($h, 4k, $i * 4k);"
        }
        Kind::IorScript => {
            "give its settings as a command line, ior -a POSIX -b 1g -t 4m -F -o file: that is shown in PPL"
        }
        Kind::C | Kind::Python | Kind::Rust => {
            "write the calls alone, without memory and types: write(\"file-$$rank\", 4k);"
        }
    }
}

/// The program in the common style, if it compiles.
fn sound(program: &str) -> Option<String> {
    let mut sources = Sources::default();
    let (root, found) = sources.add("translation", program.as_bytes().to_vec());
    let (ast, mistakes) = parse::parse_plain(&mut sources, root, &mut NoIncludes);
    if has_errors(&found) || has_errors(&mistakes) {
        return None;
    }
    let (facts, twice) = resolve(&ast, &sources);
    let (_, mistakes) = lower::lower(&ast, &facts, &sources, &Binding::new(RANKS));
    (!has_errors(&twice) && !has_errors(&mistakes)).then(|| crate::format(program).0)
}
