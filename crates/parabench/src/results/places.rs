//! Where each instruction stands, for a run that is cut off: five bytes per
//! instruction, the start of its span and its operation.
//!
//! Written beside the ranks' files by the same version that reads it, at most
//! minutes later; it is no exchange format.

use model::Plan;
use model::op::OPS;
use model::plan::{Instr, Slot, SourceFile, Span};
use model::run::Program;

/// What stands for an instruction that is no operation.
const NO_OP: u8 = u8::MAX;
/// Bytes per instruction.
const RECORD: usize = 5;

/// The places of a plan.
pub fn to_bytes(plan: &Plan) -> Vec<u8> {
    let instructions = plan.code.iter().zip(&plan.spans);
    let records = instructions.flat_map(|(instr, span)| {
        let op = if let Instr::Op { op, .. } = instr { *op as u8 } else { NO_OP };
        let start = span.start.to_le_bytes();
        [start[0], start[1], start[2], start[3], op]
    });
    records.collect()
}

/// A plan that has nothing but places; `None` if the bytes are cut off.
pub fn to_plan(bytes: &[u8], program: &Program) -> Option<Plan> {
    if !bytes.len().is_multiple_of(RECORD) {
        return None;
    }
    let mut plan = Plan { files: files(program), ..Plan::default() };
    for record in bytes.chunks_exact(RECORD) {
        let start = u32::from_le_bytes(record[..4].try_into().expect("four bytes"));
        plan.spans.push(Span { start, end: start });
        let op = OPS.get(usize::from(record[4])).map(|row| row.op);
        plan.code.push(op.map_or(Instr::Halt, |op| Instr::Op { op, dst: Slot(0), args: 0 }));
    }
    Some(plan)
}

/// The files as they lie in the joined text, one position between two of them.
fn files(program: &Program) -> Vec<SourceFile> {
    let mut start = 0;
    let place = |file: &model::run::ProgramFile| {
        let placed = SourceFile { name: file.name.clone(), start, text: file.text.clone().into() };
        start += file.text.len() as u32 + 1;
        placed
    };
    program.files.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Op;
    use model::run::ProgramFile;

    #[test]
    fn places_survive() {
        let file = |name: &str, text: &str| ProgramFile { name: name.into(), text: text.into() };
        let program =
            Program { name: "a".into(), files: vec![file("a", ";\n"), file("b", ";\nsync;")] };
        let code = vec![Instr::Halt, Instr::Op { op: Op::Sync, dst: Slot(7), args: 3 }];
        let spans = vec![Span { start: 0, end: 1 }, Span { start: 5, end: 9 }];
        let bytes = to_bytes(&Plan { code, spans, ..Plan::default() });
        let plan = to_plan(&bytes, &program).unwrap();
        assert!(matches!(plan.code[1], Instr::Op { op: Op::Sync, .. }));
        assert_eq!(plan.locate_site(0), Some(("a", 1, 1)));
        assert_eq!(plan.locate_site(1), Some(("b", 2, 1)));
        assert!(to_plan(&bytes[1..], &program).is_none());
    }
}
