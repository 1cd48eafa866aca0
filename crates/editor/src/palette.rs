//! What can be put into a program: `parabench/palette`. Statements are listed here; operations, kinds of patterns
//! and programs come from their tables.

use crate::host::Program;
use model::op::{Class, OPS, OpRow};
use ppl::kinds::{KINDS, KindRow};
use serde::Serialize;

/// Something to put into a program.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The heading that it is under.
    pub section: String,
    /// Its name.
    pub name: String,
    /// How it is written.
    pub title: String,
    /// Its effect in a line.
    pub doc: String,
    /// The text of the statement.
    pub text: String,
    /// The same with place holders.
    pub snippet: String,
    /// The text before the body, for statements that can be put around others.
    pub head: Option<String>,
    /// It is a definition: at top level only.
    pub top: bool,
}

/// A statement: its name, its snippet up to the body, whether it has a body, and what it does.
type Row = (&'static str, &'static str, bool, &'static str);

const STATEMENTS: &[Row] = &[
    ("repeat", "repeat $${1:i} ${2:10}", true, "A loop: the variable counts from 0."),
    (
        "repeat range",
        "repeat $${1:i} ${2:10}..${3:100} step ${4:10}",
        true,
        "A loop over a range; its end is not reached.",
    ),
    (
        "repeat in",
        "repeat $${1:x} in ${2:[4k, 64k, 1m]}",
        true,
        "A loop over the elements of a list.",
    ),
    ("repeat until", "repeat ${1:1m} until ${2:30s}", true, "A loop that ends after a time."),
    ("while", "while (${1:true})", true, "A loop while a condition holds."),
    (
        "share",
        "share $${1:i} ${2:100} by ${3:8}",
        true,
        "Each index is executed once, by the rank that asks first.",
    ),
    ("time", "time[\"${1:write}\"]", true, "A label: its operations are a row of the report."),
    (
        "time sync",
        "time[\"${1:write}\", sync]",
        true,
        "A label; all members wait for each other before and after it.",
    ),
    ("group", "group \"${1:writers}\"", true, "Only members of the group execute it."),
    (
        "split",
        "split (${1:\\$\\$rank / 4})",
        true,
        "Members with the same value are the active group inside.",
    ),
    ("master", "master", true, "Only the first member of the active group executes it."),
    ("if", "if (${1:\\$\\$rank == 0})", true, "Executed if a condition holds."),
    ("with", "with (${1:direct=true})", true, "Options of the I/O inside."),
    (
        "mix",
        "mix { 70: ${1:read(\"a\")}; 30: ${2:write(\"b\", 4k)}; }",
        false,
        "One of several statements, by their weights.",
    ),
    ("barrier", "barrier;", false, "All members of the active group wait for each other."),
    ("assignment", "$${1:x} = ${2:1};", false, "Sets a variable."),
    ("break", "break;", false, "Leaves the loop."),
    ("continue", "continue;", false, "Goes on with the next iteration."),
    ("return", "return ${1:0};", false, "Leaves the proc with a value."),
];

const DEFINITIONS: &[Row] = &[
    ("param", "param $${1:num} = ${2:1000};", false, "A value that the command line can give."),
    (
        "define groups",
        "define groups {\"${1:writers}\":D, \"${2:readers}\":D};",
        false,
        "Groups of ranks.",
    ),
    ("define proc", "define proc ${1:name}($${2:file})", true, "Statements that can be called."),
    (
        "define pattern",
        "define pattern \"${1:mine}\" level 0 { repeat $i 100 extent((\\$i * \\$\\$gsize + \\$\\$grank) * 64k, 64k); }",
        false,
        "A pattern of one's own: extents computed in PPL.",
    ),
    (
        "define hints",
        "define hints \"${1:wide}\" = \"${2:striping_factor=8}\";",
        false,
        "Hints of MPI-IO.",
    ),
    ("include", "include \"${1:@lib/temporal}\";", false, "The statements of another file."),
];

/// All entries.
pub fn entries(programs: &[Program]) -> Vec<Entry> {
    let statements = STATEMENTS.iter().map(|row| statement("Statements", row, false));
    let definitions = DEFINITIONS.iter().map(|row| statement("Definitions", row, true));
    let operations = OPS.iter().map(operation);
    let patterns = KINDS.iter().map(pattern);
    let programs = programs.iter().map(program);
    statements.chain(definitions).chain(operations).chain(patterns).chain(programs).collect()
}

/// A snippet as plain text: place holders by what they hold.
pub(crate) fn plain(snippet: &str) -> String {
    let mut text = String::new();
    let mut letters = snippet.chars().peekable();
    let mut holders = 0;
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(_)) => text.extend(letters.next()),
            ('$', Some('{')) => {
                letters.next();
                while letters.next_if(char::is_ascii_digit).is_some() {}
                letters.next_if(|one| *one == ':');
                holders += 1;
            }
            ('$', Some('0')) => {
                letters.next();
            }
            ('}', _) if holders > 0 => holders -= 1,
            (letter, _) => text.push(letter),
        }
    }
    text
}

fn statement(section: &str, row: &Row, is_definition: bool) -> Entry {
    let (name, written, has_body, doc) = *row;
    let head = plain(written);
    let (title, text, snippet) = match has_body {
        true => {
            (format!("{head} {{ ... }}"), format!("{head} {{}}"), format!("{written} {{\n\t$0\n}}"))
        }
        false => (head.clone(), head.clone(), written.to_string()),
    };
    Entry {
        section: section.into(),
        name: name.into(),
        title,
        doc: doc.into(),
        text,
        snippet,
        head: Some(head).filter(|_| has_body && !is_definition),
        top: is_definition,
    }
}

fn operation(row: &OpRow) -> Entry {
    let class = match row.class {
        Class::Metadata => "files and directories",
        Class::Open => "open",
        Class::Read => "read",
        Class::Write => "write",
        Class::Sync => "sync",
        Class::Close => "close",
        Class::Control => "control",
    };
    Entry {
        section: format!("Operations: {class}"),
        name: row.name.into(),
        title: signature(row),
        doc: row.doc.into(),
        text: row.example.into(),
        snippet: operation_snippet(row),
        head: None,
        top: false,
    }
}

/// The form of an operation; without parameters it has no parentheses.
pub(crate) fn signature(row: &OpRow) -> String {
    if row.params.is_empty() { row.name.to_string() } else { row.signature() }
}

/// `write("${1:path}", ${2:n});`
pub(crate) fn operation_snippet(row: &OpRow) -> String {
    use model::op::ParamKind as K;
    let holder = |(at, param): (usize, &model::op::Param)| {
        let (at, name) = (at + 1, param.name);
        match param.kind {
            K::Path | K::LinkTarget | K::Text | K::Signal | K::Attribute | K::Group => {
                format!("\"${{{at}:{name}}}\"")
            }
            K::Word(words) => format!("\"${{{at}:{}}}\"", words[0]),
            K::Flags => format!("\"${{{at}:r}}\""),
            K::MpiMode => format!("\"${{{at}:cw}}\""),
            K::Handle | K::MpiHandle => format!("$${{{at}:h}}"),
            _ => format!("${{{at}:{name}}}"),
        }
    };
    let required = row.params.iter().filter(|param| param.default.is_none());
    let holders: Vec<String> = required.enumerate().map(holder).collect();
    let result = if row.gives_handle() { "$${9:h} = " } else { "" };
    match holders.is_empty() {
        true if row.params.is_empty() => format!("{}{};", result, row.name),
        true => format!("{}{}($1);", result, row.name),
        false => format!("{}{}({});", result, row.name, holders.join(", ")),
    }
}

fn pattern(row: &KindRow) -> Entry {
    Entry {
        section: "Patterns".into(),
        name: row.name.into(),
        title: row.signature(),
        doc: format!("{} {}", row.doc, row.formula),
        text: row.example.into(),
        snippet: row.example.replace('$', "\\$").replace('}', "\\}"),
        head: None,
        top: true,
    }
}

fn program(program: &Program) -> Entry {
    let text = format!("include \"@{}\";", program.name);
    Entry {
        section: "Programs".into(),
        name: format!("@{}", program.name),
        title: format!("@{}", program.name),
        doc: program.title.clone(),
        snippet: text.clone(),
        text,
        head: None,
        top: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::Outline;

    #[test]
    fn place_holders_become_what_they_hold() {
        assert_eq!(plain("repeat $${1:i} ${2:10} {\n\t$0\n}"), "repeat $i 10 {\n\t\n}");
        assert_eq!(plain("split (${1:\\$\\$rank / 4})"), "split ($$rank / 4)");
    }

    #[test]
    fn every_entry_is_one_statement() {
        for entry in entries(&[]) {
            let in_loop = matches!(&*entry.name, "break" | "continue");
            let text =
                if in_loop { format!("while (true) {{ {} }}", entry.text) } else { entry.text };
            let found = Outline::new(&text);
            assert!(found.complete && !found.items.is_empty(), "{text}: {:?}", found.mistake);
            assert_eq!(found.items[0].is_top, entry.top, "{text}");
            let snippet = plain(&entry.snippet);
            let snippet = if in_loop { format!("while (true) {{ {snippet} }}") } else { snippet };
            let is_whole = Outline::new(&snippet.replace("()", "(1)")).complete;
            assert!(is_whole, "{snippet}");
        }
    }
}
