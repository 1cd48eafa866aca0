//! Texts of other languages and tools, pasted in where a program is expected: one diagnostic says
//! what each is, and offers the same in PPL. `foreign/NAME` is a text as its tool takes it,
//! `foreign/NAME.ppl` the program that is offered; `UPDATE_GOLDEN=1` writes it.

use ppl::source::NoIncludes;
use ppl::{Binding, Diagnostic, Severity, compile};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Endings of the texts, and what such a text is called.
const KINDS: &[(&str, &str)] = &[("fio", "a fio job file"), ("line", " command line")];

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn found(text: &str) -> Vec<Diagnostic> {
    compile("text", text.as_bytes().to_vec(), &mut NoIncludes, &Binding::new(4)).diagnostics
}

fn is_foreign(text: &str) -> bool {
    found(text).iter().any(|diagnostic| diagnostic.code.as_str() == "E0004")
}

/// The program below the first line of the help.
fn offered(diagnostic: &Diagnostic) -> Option<String> {
    let help = diagnostic.help.as_deref().unwrap_or("");
    let (lead, program) = help.split_once(":\n")?;
    assert!(lead.ends_with("in PPL"), "{lead}");
    Some(format!("{program}\n"))
}

#[test]
fn each_text_gives_one_diagnostic_with_a_program_that_compiles() {
    let mut seen = 0;
    for path in files(&folder("tests/foreign")).iter().filter(|path| ending(path) != "ppl") {
        let text = fs::read_to_string(path).expect("the text is readable");
        let name = name(path);
        let diagnostics = found(&text);
        let [only] = &diagnostics[..] else { panic!("{name}: {diagnostics:#?}") };
        let kind = KINDS.iter().find(|row| row.0 == ending(path)).expect("a kind").1;
        assert_eq!(only.code.as_str(), "E0004", "{name}");
        let ending = format!("{kind}, not a PPL program");
        assert!(only.message.starts_with("this is a"), "{name}: {}", only.message);
        assert!(only.message.ends_with(&ending), "{name}: {}", only.message);
        assert!(only.span.start < only.span.end, "{name}: a line is marked");
        let program = offered(only).unwrap_or_else(|| panic!("{name}: {only:?}"));
        check(path, &program);
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} texts were translated");
}

/// The program has no mistake, no warning, and is the stored one.
fn check(text: &Path, program: &str) {
    let stored = text.with_file_name(format!("{}.ppl", name(text)));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&stored, program).expect("the folder is writable");
    }
    let golden = fs::read_to_string(&stored).unwrap_or_default();
    assert_eq!(program, golden, "{}", stored.display());
    assert_eq!(found(program), [], "{}\n{program}", text.display());
    assert_eq!(ppl::format(program).0, program, "{}", text.display());
}

fn programs(folder: &Path, texts: &mut Vec<(String, String)>) {
    for path in files(folder) {
        if path.is_dir() {
            programs(&path, texts);
        } else if ending(&path) == "ppl" {
            texts.push((name(&path), fs::read_to_string(&path).expect("the program is readable")));
        }
    }
}

/// Programs are never taken for something else, whatever line of them is missing, and neither are
/// those of the suite, which have mistakes of all kinds.
#[test]
fn programs_with_mistakes_stay_programs() {
    let mut texts = Vec::new();
    for path in ["../../programs", "../../examples", "tests/suite", "tests/foreign"] {
        programs(&folder(path), &mut texts);
    }
    assert!(texts.len() > 40, "only {} programs were found", texts.len());
    for (name, text) in &texts {
        for (number, line) in text.lines().enumerate() {
            let rest = text.replacen(line, "", 1);
            assert!(!is_foreign(&rest), "{name} without line {}", number + 1);
        }
        assert!(!is_foreign(text), "{name}");
        assert!(!is_foreign(&format!("{text}\n) (\n")), "{name} and a mistake");
    }
}

const PARTS: &[&str] = &[
    "[global]",
    "[a b]",
    "[x]",
    "rw=",
    "randrw",
    "write",
    "bs=",
    "size=",
    "numjobs=",
    "4k",
    "0",
    "1",
    "99999999999999999999",
    "100%",
    "-",
    "--",
    "=",
    "runtime=",
    "time_based",
    "filename=",
    "/dev/sda",
    "a:b",
    "../x",
    "nrfiles=",
    "thinktime=",
    "rwmixwrite=",
    "fsync=",
    "stonewall",
    "fio",
    "--name=",
    "--rw=read",
    "ior",
    "-a",
    "MPIIO",
    "-b",
    "-t",
    "-s",
    "-F",
    "-C",
    "-o",
    "-wr",
    "mdtest",
    "-n",
    "-d",
    "-u",
    "elbencho",
    "-N",
    "--direct",
    "--rand",
    "dd",
    "if=",
    "of=",
    "count=",
    "conv=fsync",
    "/dev/zero",
    "#include <x>",
    "int main(",
    "open(",
    "\"f\"",
    "'ü",
    "O_RDWR",
    "|",
    "pwrite(",
    "fd, ",
    "close(fd)",
    ")",
    ";",
    "import os",
    "with open(",
    "for i in range(",
    "):",
    "f.write(",
    "os.stat(",
    "#!/bin/sh",
    "done",
    "{",
    "\"a\":",
    "}",
    "(AT_FDCWD, ",
    ") = 3",
    " <0.1>",
    "\\",
    "$",
    "ü",
    "/*",
    "*/",
];

/// Anything made of what the texts are made of.
fn soup() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec!["", " ", "\n", "\n"]);
    let parts = prop::collection::vec((prop::sample::select(PARTS), blank), 0..40);
    parts.prop_map(|parts| parts.iter().map(|(part, blank)| format!("{part}{blank}")).collect())
}

proptest! {
    /// One diagnostic, in the text, and a program that compiles; whatever the text is.
    #[test]
    fn what_is_offered_always_compiles(text in soup()) {
        let diagnostics = found(&text);
        if let Some(only) = diagnostics.iter().find(|found| found.code.as_str() == "E0004") {
            prop_assert_eq!(diagnostics.len(), 1);
            prop_assert!(text.get(only.span.start as usize..only.span.end as usize).is_some());
            if let Some(program) = offered_of(only) {
                let errors = found(&program);
                let errors: Vec<_> = errors.iter().filter(|e| e.severity() == Severity::Error).collect();
                prop_assert!(errors.is_empty(), "{:?}\n{}", errors, program);
            }
        }
    }
}

fn offered_of(diagnostic: &Diagnostic) -> Option<String> {
    diagnostic
        .help
        .as_deref()
        .filter(|help| help.contains("in PPL:\n"))
        .and_then(|_| offered(diagnostic))
}

/// Code spans of a cell.
fn spans(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The lines of PPL in the manual's table compile.
#[test]
fn the_table_of_the_manual_compiles() {
    let text = fs::read_to_string(folder("../../docs/language.md")).expect("the manual");
    let (_, section) = text.split_once("## Coming from").expect("the section");
    let section = section.split("\n## ").next().unwrap_or("");
    let mut seen = 0;
    for row in section.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let row = row.replace("\\|", "\u{1}");
        let cell = row.split('|').nth(2).expect("two cells").replace('\u{1}', "|");
        for line in spans(&cell) {
            let program = format!("$count = 16;\n$h = fopen(\"data-$$rank\", \"w+\");\n{line}\n");
            assert_eq!(found(&program), [], "{program}");
            seen += 1;
        }
    }
    assert!(seen >= 18, "only {seen} lines were found");
}

/// A text in a language that nobody taught us is a program with mistakes: errors, not one message.
#[test]
fn other_texts_are_programs_with_mistakes() {
    for text in ["Dear all,\nplease measure the disk.\n", "SELECT * FROM runs;\n", "fn main() {}\n"]
    {
        let errors = found(text);
        assert!(errors.iter().any(|found| found.severity() == Severity::Error), "{text}");
        assert!(!is_foreign(text), "{text}");
    }
}
