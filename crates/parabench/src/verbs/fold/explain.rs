//! `parabench fold --explain LINE`: which operations of the run a line of the program stands for.

use crate::console;
use crate::error::{Error, Result};
use crate::folding::{self, Asked, Line, Proof, Stands};
use fold::{Folded, Log};
use model::run::Run;
use std::rc::Rc;

/// Shows them; of a value the lines that use it.
///
/// # Errors
/// There is no such line.
pub fn explain(log: &Rc<Log>, run: &Run, folded: &Rc<Folded>, line: &Line) -> Result<()> {
    let (text, number) = (text_of(folded, line.file.as_deref())?, line.number);
    let Some(shown) = text.lines().nth((number as usize).wrapping_sub(1)) else {
        let (file, lines) = (line.file.as_deref().unwrap_or("the program"), text.lines().count());
        return Err(Error::input(format!("--explain {number}: {file} has {lines} lines")));
    };
    let mut out = format!("{number}: {}\n", shown.trim());
    let data = folded.data.iter().map(|(data, _)| data);
    if let Some(data) = data.into_iter().find(|data| line.file.as_deref() == Some(&data.name)) {
        let heading = data.text.lines().take(number as usize).filter(|line| line.starts_with('['));
        let name = heading.last().and_then(|line| line[1..].split(' ').next());
        let name = name.map(|name| format!("${name}"));
        out.push_str(&name.map_or(String::new(), |name| users(folded, &name, line)));
        return console::print(&out);
    }
    let proof = operations(log, folded, text, line);
    let mut first = proof.of_line.clone();
    first.sort_unstable();
    first.truncate(folding::OF_LINE_MAX);
    for (rank, number) in &first {
        out.push_str(&origin(log, run, *rank, *number));
    }
    let (total, count) = (proof.of_line_total, first.len() as u64);
    let users = value(text, number).filter(|_| total == 0).map(|name| users(folded, &name, line));
    match users.filter(|users| !users.is_empty()) {
        Some(users) => out.push_str(&users),
        None if total == 0 => out.push_str("  no operation of the run\n"),
        None if total > count => out.push_str(&format!("  and {} more\n", total - count)),
        None => {}
    }
    console::print(&out)
}

/// Executes the program: the operations of a line, else those of the statement or proc that it is of.
fn operations(log: &Rc<Log>, folded: &Rc<Folded>, text: &str, line: &Line) -> Proof {
    let proof = folding::prove(log, folded, Some(Asked::line(line)));
    if proof.of_line_total > 0 {
        return proof;
    }
    match folding::stands(text, line.number) {
        Stands::Statement(text) => {
            let marked = with_text(folded, line.file.as_deref(), text);
            folding::prove(log, &Rc::new(marked), Some(Asked::Marked))
        }
        Stands::Proc(lines) => {
            folding::prove(log, folded, Some(Asked::Lines { file: line.file.clone(), lines }))
        }
        Stands::Nothing => proof,
    }
}

/// The program with another text in one of its files.
fn with_text(folded: &Folded, file: Option<&str>, text: String) -> Folded {
    let mut folded = folded.clone();
    match file {
        None => folded.text = text,
        Some(file) => {
            let part = folded.parts.iter_mut().find(|part| part.name == file);
            part.into_iter().for_each(|part| part.text.clone_from(&text));
        }
    }
    folded
}

/// The variable that a line gives a value, also if that begins further above.
fn value(text: &str, number: u32) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(number as usize).collect();
    let start = lines.iter().rposition(|line| !line.starts_with(' '))?;
    let open = lines[start..lines.len() - 1].iter().any(|line| line.contains(';'));
    let rest = lines[start].trim_start_matches("param ").trim_start_matches("global ");
    let (name, rest) = rest.split_at(rest.find(' ')?);
    (!open && name.starts_with('$') && rest.starts_with(" = ")).then(|| name.to_string())
}

/// Lines of the program that use a variable, but for that itself.
fn users(folded: &Folded, name: &str, own: &Line) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let in_text = name.replacen('$', "${", 1);
    let uses = |line: &str| {
        let follows = |at: usize, name: &str| !line[at + name.len()..].starts_with(is_part);
        line.match_indices(name).any(|(at, _)| !line[..at].ends_with('$') && follows(at, name))
            || line.match_indices(&in_text).any(|(at, _)| follows(at, &in_text))
    };
    let parts = folded.parts.iter().map(|part| (Some(&part.name), &part.text));
    let mut out = String::new();
    for (file, text) in std::iter::once((None, &folded.text)).chain(parts) {
        let gives = |line: &str| {
            let line = line.trim_start_matches("param ");
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = "))
        };
        let is_own = |at: u32| own.file.as_ref() == file && own.number == at;
        let lines = (1..).zip(text.lines());
        for (at, line) in lines.filter(|(at, line)| uses(line) && !gives(line) && !is_own(*at)) {
            let file = file.map_or("line", String::as_str);
            out.push_str(&format!("  {file} {at}: {}\n", line.trim()));
        }
    }
    out
}

/// The text of the program, or of a file that stands beside it.
fn text_of<'a>(folded: &'a Folded, file: Option<&str>) -> Result<&'a str> {
    let Some(file) = file else { return Ok(&folded.text) };
    let data = folded.data.iter().map(|(data, _)| data);
    let part = folded.parts.iter().chain(data).find(|part| part.name == file);
    part.map(|part| part.text.as_str()).ok_or_else(|| {
        let names: Vec<&str> = folded.parts.iter().map(|part| part.name.as_str()).collect();
        let help = match names.is_empty() {
            true => {
                "the program is one file; with --split a label each is a file of its own".into()
            }
            false => format!("files of the program: {}", names.join(", ")),
        };
        let found = model::escape::line(file);
        Error::input(format!("--explain {found}: no such file of the program")).help(help)
    })
}

/// One operation of the run, with its line in the log or its number.
fn origin(log: &Log, run: &Run, rank: u32, number: usize) -> String {
    let entry = log.ranks[rank as usize].get(number).unwrap_or_default();
    let logs = run.run.trace.as_ref().map_or(&[][..], |trace| &trace.logs);
    let place = match logs.get(entry.details.log as usize) {
        Some(log) if entry.details.line > 0 => {
            let name = if log.name.is_empty() { "recording" } else { &log.name };
            format!("{name}:{}", entry.details.line)
        }
        _ => format!("operation {number}"),
    };
    format!("  rank {rank}, {place}: {}\n", folding::shown(&entry.event, log))
}
