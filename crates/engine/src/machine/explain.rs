//! Why a rank ended, in words: what was wrong with the statement, and for one in a proc who called it.

use super::execute::arguments;
use super::rank::Machine;
use super::tally::{Fault, Why};
use crate::backend::Backend;
use model::Value;
use model::op::ParamKind;
use model::plan::{Function, Instr, Operand, Pc, Piece, Plan, Slot, Source};
use model::value::EvalError;

/// Calls of procs inside each other that are named.
const CALLERS: usize = 3;
/// Patterns that are named.
const PATTERNS: usize = 8;

impl<B: Backend> Machine<'_, B> {
    /// The sentence for a fault at a site.
    #[cold]
    pub(super) fn explain(&mut self, fault: Fault, site: Pc) -> String {
        let mut text = match fault.why() {
            Why::Message(text) => text,
            Why::Eval(EvalError::Unset) => match self.unset_name(site) {
                Some(name) => format!("the variable ${name} has no value yet: assign one first"),
                None => EvalError::Unset.to_string(),
            },
            Why::Eval(error @ EvalError::Type(..)) => {
                self.no_pattern(site).unwrap_or_else(|| error.to_string())
            }
            Why::Eval(error) => error.to_string(),
        };
        text.push_str(&self.callers());
        text
    }

    /// Why a wait cannot end, in words of the program: it does not say that members meet at the limit of
    /// `until ... level`.
    pub(super) fn released(&self, reason: String, site: Pc) -> String {
        match reason.split_once(" cannot be met: ") {
            Some((_, why)) if self.is_of_limit(site) => {
                format!("{why}, and in `until ... level` all members come together at the limit")
            }
            _ => reason,
        }
    }

    /// The instruction asks what all members of a loop with a time limit have reached.
    fn is_of_limit(&self, site: Pc) -> bool {
        let plan = self.prepared.plan;
        let Some(Instr::Function { function: Function::Gmax, .. }) = plan.code.get(site as usize)
        else {
            return false;
        };
        let limits = plan.code.iter().zip(&plan.spans);
        let limits = limits.filter(|(instr, _)| matches!(instr, Instr::Limit { .. }));
        limits.map(|(_, span)| *span).any(|span| span == plan.spans[site as usize])
    }

    /// The places from which the procs were called that are running, the innermost first.
    fn callers(&self) -> String {
        let plan = self.prepared.plan;
        let places = self.position.callers().take(CALLERS).filter_map(|site| {
            let (file, line, column) = plan.locate_site(site)?;
            Some(format!("{file}:{line}:{column}"))
        });
        let places: Vec<String> = places.collect();
        match places.is_empty() {
            true => String::new(),
            false => format!(" (called at {})", places.join(", from ")),
        }
    }

    /// A text that is neither a number of bytes nor a pattern, where either could stand.
    fn no_pattern(&mut self, site: Pc) -> Option<String> {
        let plan = self.prepared.plan;
        let Instr::Op { op, args, .. } = *plan.code.get(site as usize)? else { return None };
        let at = op.row().params.iter().position(|param| param.kind == ParamKind::Pattern)?;
        let operand = *arguments(plan, op, args).ok()?.get(at)?;
        let Value::Str(name) = self.env.value(site, operand).ok()? else { return None };
        let name = String::from_utf8_lossy(name).into_owned();
        let is_known = plan.patterns.iter().any(|pattern| pattern.name == name);
        if is_known || Value::str(&name).as_int().is_ok() {
            return None;
        }
        let known = plan.patterns.iter().take(PATTERNS).map(|p| format!("\"{}\"", p.name));
        let known = match plan.patterns.is_empty() {
            true => "the program defines none".into(),
            false => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Some(format!(
            "expected the name of a pattern or a number of bytes, found \"{name}\"; {known}"
        ))
    }

    /// The name of a global variable without a value that an instruction reads.
    fn unset_name(&self, site: Pc) -> Option<&str> {
        let plan = self.prepared.plan;
        let unset =
            operands(plan, plan.code.get(site as usize)?).into_iter().find_map(|operand| {
                let Source::Slot(slot) = operand.source() else { return None };
                let global = slot.0 & Slot::LOCAL == 0;
                let value = self.env.values.get(slot.0 as usize)?;
                (global && matches!(value, Value::Unset)).then_some(slot.0)
            })?;
        plan.globals.get(unset as usize).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// The operands an instruction reads, those inside its templates included.
fn operands(plan: &Plan, instr: &Instr) -> Vec<Operand> {
    let direct = match *instr {
        Instr::Move { src: a, .. } | Instr::Unary { a, .. } | Instr::Test { a, .. } => vec![a],
        Instr::Binary { a, b, .. } | Instr::Index { list: a, index: b, .. } => vec![a, b],
        Instr::SetItem { list, args } | Instr::Push { list, args } => {
            [&[Operand::slot(list)], &plan.args[args.range()]].concat()
        }
        Instr::JumpIf { cond, .. } => vec![cond],
        Instr::Function { args, .. } | Instr::List { args, .. } | Instr::CallProc { args, .. } => {
            plan.args[args.range()].to_vec()
        }
        Instr::Loop { code } => {
            let code = &plan.loops[code as usize];
            vec![code.from, code.to, code.step]
        }
        Instr::LabelEnter { label } => vec![plan.labels[label as usize].text],
        Instr::Op { op, args, .. } => {
            arguments(plan, op, args).map(<[Operand]>::to_vec).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let inner = direct.iter().filter_map(|operand| match operand.source() {
        Source::Template(index) => plan.templates.get(index as usize),
        _ => None,
    });
    let pieces = inner.flat_map(|text| &plan.pieces[text.start as usize..text.end as usize]);
    let values = pieces.filter_map(|piece| match piece {
        Piece::Value(operand) | Piece::Formatted { value: operand, .. } => Some(*operand),
        _ => None,
    });
    direct.iter().copied().chain(values).collect()
}
