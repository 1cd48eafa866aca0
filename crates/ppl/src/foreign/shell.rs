//! Scripts and command lines: the first line that calls a benchmark, in PPL.

use super::{command, dd, elbencho, fio, ior, mdtest};

/// The program that does what the first known command does.
pub(super) fn translate(text: &str) -> Option<String> {
    let text = joined(text);
    let command = first(&text)?;
    match command.tool.name {
        "fio" => fio::command_line(&command),
        "ior" => ior::translate(&command),
        "mdtest" => mdtest::translate(&command),
        "elbencho" => elbencho::translate(&command),
        _ => dd::translate(&command),
    }
}

/// What the first known command is called.
pub(super) fn title(text: &str) -> Option<&'static str> {
    first(&joined(text)).map(|command| command.tool.title)
}

fn first(text: &str) -> Option<command::Command<'_>> {
    text.lines().find_map(|line| command::find(line.trim()))
}

/// Lines that end with a backslash go on in the next one.
fn joined(text: &str) -> String {
    text.replace("\\\r\n", " ").replace("\\\n", " ")
}
