//! Text to plan: reads a program and binds it.

use crate::args::ProgramArgs;
use crate::error::Result;
use crate::loader::Includes;
use crate::program;
use ppl::{Binding, Compiled};

/// Reads and compiles a program for so many ranks that run in `directory`
/// (absolute; `None` where there is none yet).
pub fn compile(args: &ProgramArgs, ranks: u32, directory: Option<String>) -> Result<Compiled> {
    let text = program::read(&args.program)?;
    let mut loader = Includes::of(&text.name);
    let binding = Binding { };
    Ok(ppl::compile(&text.name, text.bytes, &mut loader, &binding))
}
