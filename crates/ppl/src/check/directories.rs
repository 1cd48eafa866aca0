//! Paths that begin with the name of a directory, `NAME:rest`.
//!
//! ```text
//! copy("fast:f", "g");      W0205: `fast` names no directory here
//! stat("fast:../f");        E0308: it leaves the directory
//! ```
//!
//! Only constant beginnings are looked at: what is computed is found when it runs.

use super::proof::paths_of;
use crate::diag::{Code, Diagnostic};
use model::directory::{prefixed, starts_above};
use model::plan::{Operand, Piece, Plan, Source, Span};
use model::{Op, Value};

/// Looks through all paths of a plan.
pub(crate) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (instr, span) in plan.code.iter().zip(&plan.spans) {
        let mut paths = paths_of(plan, instr);
        // A symbolic link holds text, which names no directory.
        if matches!(instr, model::plan::Instr::Op { op: Op::Symlink, .. }) {
            paths[0] = None;
        }
        found.extend(paths.into_iter().flatten().filter_map(|path| judge(plan, path, *span)));
    }
    found
}

fn judge(plan: &Plan, path: Operand, span: Span) -> Option<Diagnostic> {
    let (name, rest) = prefixed(beginning(plan, path)?)?;
    let shown = String::from_utf8_lossy(name);
    let known = plan.directories.iter().any(|directory| directory.name.as_bytes() == name);
    if known && starts_above(rest) {
        let message = format!("expected a path inside the directory {shown}, found `..`");
        let help = "name the file from the directory on, without `..`";
        return Some(Diagnostic::new(Code::LeavesDirectory, span, message).help(help));
    }
    if known {
        return None;
    }
    let message = format!("`{shown}:` names no directory here: it is part of a file's name");
    let help = format!(
        "grant the directory with --mount {shown}=DIR, or write ./{shown}:... for the file"
    );
    Some(Diagnostic::new(Code::NoDirectory, span, message).help(help))
}

/// The text that a path surely begins with.
fn beginning(plan: &Plan, path: Operand) -> Option<&[u8]> {
    match path.source() {
        Source::Const(index) => match plan.consts.get(index as usize)? {
            Value::Str(text) => Some(text),
            _ => None,
        },
        Source::Template(index) => {
            let template = plan.templates.get(index as usize)?;
            match plan.pieces.get(template.start as usize)? {
                Piece::Text { start, end } => plan.text.get(*start as usize..*end as usize),
                _ => None,
            }
        }
        _ => None,
    }
}
