//! The tables of the language as a manual: `parabench ops [NAME]`. A test makes docs/operations.md of them.

use crate::text::flow;
use model::function::FUNCTIONS;
use model::internal::INTERNALS;
use model::op::{Class, Needs, OPS, Op, OpRow};
use model::with::OPTIONS;

/// The classes in the order of the manual, with the headings of their chapters.
pub(crate) const CLASSES: [(Class, &str); 7] = [
    (Class::Open, "Opening files"),
    (Class::Read, "Reading"),
    (Class::Write, "Writing"),
    (Class::Sync, "Making data stable"),
    (Class::Close, "Closing files"),
    (Class::Metadata, "Names, attributes, directories"),
    (Class::Control, "Control: no I/O on files, not counted except dropcaches"),
];

/// All operations by class, then the other words of the language, one signature per entry and one line of what it does,
/// for a terminal of `columns`.
pub fn list(columns: usize) -> String {
    let mut out = String::new();
    for (class, heading) in CLASSES {
        out.push_str(&format!("{heading}\n"));
        for row in of_class(class) {
            out.push_str(&format!("  {}\n", signature(row)));
            out.push_str(&paragraph(row.doc, 6, columns));
        }
        out.push('\n');
    }
    for (heading, words) in words() {
        out.push_str(&format!("{heading}\n"));
        for word in words {
            out.push_str(&format!("  {}\n{}", word.form, paragraph(word.doc, 6, columns)));
        }
        out.push('\n');
    }
    out.push_str("`parabench ops NAME` shows one operation in full.\n");
    out
}

/// One operation in full, or the functions, internal variables and options of a name; `name` is a
/// name or an alias in any case. `None`: there is none.
pub fn entry(name: &str, columns: usize) -> Option<String> {
    if let Some(op) = Op::find(name) {
        return Some(operation(op.row(), columns));
    }
    let all = words().into_iter().flat_map(|(_, words)| words);
    let named = all.filter(|word| {
        word.name.eq_ignore_ascii_case(name) || word.form.eq_ignore_ascii_case(name)
    });
    let entries = named.map(|word| format!("{}\n\n{}", word.form, paragraph(word.doc, 2, columns)));
    let entries: Vec<String> = entries.collect();
    (!entries.is_empty()).then(|| entries.join("\n"))
}

/// All names that [`entry`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let words = words().into_iter().flat_map(|(_, words)| words);
    OPS.iter().map(|row| row.name).chain(words.map(|word| word.name))
}

/// A word of the language that is no operation.
pub(crate) struct Word {
    name: &'static str,
    pub(crate) form: String,
    pub(crate) doc: &'static str,
}

/// Functions, internal variables and options, each with the heading of its chapter.
pub(crate) fn words() -> [(&'static str, Vec<Word>); 3] {
    let word = |name, form: &str, doc| Word { name, form: form.into(), doc };
    let functions = FUNCTIONS.iter().map(|row| word(row.name, row.form, row.doc));
    let internals = INTERNALS.iter().map(|row| word(row.name, &format!("$${}", row.name), row.doc));
    let options = OPTIONS.iter().map(|row| word(row.name, row.form, row.doc));
    [
        ("Functions of expressions", functions.collect()),
        ("Internal variables", internals.collect()),
        ("Options of with", options.collect()),
    ]
}

fn operation(row: &OpRow, columns: usize) -> String {
    let mut out = format!("{}\n\n", signature(row));
    out.push_str(&paragraph(row.doc, 2, columns));
    out.push('\n');
    for (term, text) in facts(row) {
        let lines = flow(&text, columns.saturating_sub(13));
        let mut lines = lines.lines().map(str::trim_start);
        out.push_str(&format!("  {term:<10} {}\n", lines.next().unwrap_or_default()));
        lines.for_each(|line| out.push_str(&format!("{:13}{line}\n", "")));
    }
    out
}

pub(crate) fn of_class(class: Class) -> impl Iterator<Item = &'static OpRow> {
    OPS.iter().filter(move |row| row.class == class)
}

/// The signature as it is written: statements without parameters have no brackets.
pub(crate) fn signature(row: &OpRow) -> String {
    if row.params.is_empty() { row.name.to_string() } else { row.signature() }
}

/// Facts about an operation besides its signature and its text.
pub(crate) fn facts(row: &OpRow) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !row.aliases.is_empty() {
        facts.push(("aliases", row.aliases.join(", ")));
    }
    if row.op.is_io() {
        facts.push(("time", row.time.to_string()));
    }
    if !row.parts.is_empty() {
        let names: Vec<_> = row.parts.iter().map(|part| part.name()).collect();
        facts.push(("parts", format!("{}, each also a row of its own", names.join(", "))));
    }
    if !row.op.lacking_errors().is_empty() {
        facts.push(("lacking", row.op.lacking_errors().join(", ")));
    }
    if row.needs == Needs::Mpi {
        facts.push(("needs", "an MPI-IO back-end".to_string()));
    }
    facts.push(("example", row.example.to_string()));
    facts
}

/// `text` broken at blanks, every line indented.
pub(crate) fn paragraph(text: &str, indent: usize, columns: usize) -> String {
    let wrapped = flow(text, columns.saturating_sub(indent));
    wrapped.lines().map(|line| format!("{:indent$}{}\n", "", line.trim_start())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn one_operation_in_full() {
        expect![[r#"
            read(path [, n=all] [, off=0])

              Open a file, read n bytes at off or all to its end, close
              it.

              time       the sum of open, data and close
              parts      open, data, sync, close, each also a row of its
                         own
              example    read("a");
        "#]]
        .assert_eq(&entry("READ", 60).unwrap());
        expect![[r#"
            $h = pfopen(path, mode)

              MPI_File_open by all members of the active group, which agree on its success.
              Modes r w rw c x a combined, for example "crw"; a file is never truncated.

              aliases    pfdopen
              time       MPI_File_open, and MPI_File_set_atomicity under with (atomic=true)
              needs      an MPI-IO back-end
              example    $h = pfopen("data", "crw");
        "#]]
        .assert_eq(&entry("pfdopen", 80).unwrap());
        expect![[r#"
            sync

              Make everything on the file system of the run directory stable; inside of with
              (dir="NAME") on that of NAME.

              time       syncfs of the directory
              example    sync;
        "#]]
        .assert_eq(&entry("sync", 80).unwrap());
        assert_eq!(entry("frobnicate", 80), None);
    }

    #[test]
    fn every_operation_is_listed_once() {
        let list = list(80);
        for row in OPS {
            let line = format!("\n  {}\n", signature(row));
            assert_eq!(list.matches(&line).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn functions_internal_variables_and_options_are_described() {
        expect![[r#"
            perm(i, n [, salt])

              The i-th element of a random order of 0 to n-1, the same on all ranks; another
              order for each salt.
        "#]]
        .assert_eq(&entry("PERM", 80).unwrap());
        expect![[r#"
            $$rank

              The number of this rank, from 0.
        "#]]
        .assert_eq(&entry("$$rank", 80).unwrap());
        for name in names() {
            assert!(entry(name, 80).is_some(), "{name}");
        }
    }

    #[test]
    fn lines_fit_the_terminal() {
        for columns in [60, 80, 100] {
            let wide = list(columns)
                .lines()
                .filter(|l| l.starts_with("      ") && l.len() > columns)
                .count();
            assert_eq!(wide, 0);
        }
    }
}
