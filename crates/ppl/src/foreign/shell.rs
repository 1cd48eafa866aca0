//! Scripts and command lines: the first line that calls a benchmark, in PPL.

use super::{command, dd, elbencho, fio, ior, mdtest};

/// The program that does what the first known command does.
pub(super) fn translate(text: &str) -> Option<String> {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let command = text.lines().find_map(|line| command::find(line.trim()))?;
    match command.tool {
        "fio" => fio::command_line(&command),
        "ior" => ior::translate(&command),
        "mdtest" => mdtest::translate(&command),
        "elbencho" => elbencho::translate(&command),
        _ => dd::translate(&command),
    }
}
