//! Checks of the finished plan: paths that begin with a directory's name.
//!
//! ```text
//! copy("fast:f", "g");             W0205: `fast` names no directory here
//! stat("fast:../f");               E0308: it leaves the directory
//! ```
//!
//! Only constants are compared: computed names are checked when the program runs.

use crate::diag::{Code, Diagnostic};
use model::Value;
use model::directory::{prefixed, starts_above};
use model::op::ParamKind;
use model::plan::{Instr, Operand, Piece, Plan, Source, Span};

/// Looks through all paths of a plan.
pub(crate) fn check_directories(plan: &Plan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (instr, span) in plan.code.iter().zip(&plan.spans) {
        for path in paths(plan, instr).into_iter().flatten() {
            found.extend(judge(plan, path, *span));
        }
    }
    found
}

/// The operands of an instruction that are paths. The text that a symbolic link holds is none: it
/// names no directory.
fn paths(plan: &Plan, instr: &Instr) -> [Option<Operand>; 2] {
    match instr {
        Instr::Op { op, args, .. } => [0, 1].map(|at| {
            let param = op.row().params.get(at).filter(|param| param.kind == ParamKind::Path);
            param.and_then(|_| plan.args.get(*args as usize + at).copied())
        }),
        Instr::Function { function, args, .. } if function.row().takes_path() => {
            [plan.args.get(args.start as usize).copied(), None]
        }
        _ => [None, None],
    }
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
