//! Values: what is known of operands, texts and the results of instructions.

use super::abs::{self, Abs, Why};
use super::key::Key;
use super::walk::Walk;
use model::Value;
use model::plan::{Args, Function, Instr, Internal, Operand, Piece, Source};
use std::rc::Rc;

impl Walk<'_, '_> {
    /// An instruction that gives a value.
    pub(super) fn evaluate(&mut self, instr: Instr) {
        let (dst, value) = match instr {
            Instr::Move { dst, src } => (dst, self.abs(src)),
            Instr::Unary { op, dst, a } => (dst, abs::unary(op, &self.abs(a))),
            Instr::Binary { op, dst, a, b } => (dst, abs::binary(op, &self.abs(a), &self.abs(b))),
            Instr::Test { dst, a } => (
                dst,
                match self.abs(a).condition() {
                    Ok(holds) => Abs::Known(Value::Bool(holds)),
                    Err(why) => Abs::Unknown(why),
                },
            ),
            Instr::Internal { what, dst } => (dst, self.internal(what)),
            Instr::List { dst, args } => (dst, self.list(args)),
            Instr::Index { dst, list, index } => (dst, self.index(list, index)),
            Instr::Function { function, dst, args } => (dst, self.function(function, args)),
            _ => return,
        };
        self.set_value(dst, value);
    }

    fn internal(&self, what: Internal) -> Abs {
        let set = self.set();
        let only = |start: u32| match self.ranks.len() {
            1 => Abs::Known(Value::Int(i64::from(self.ranks.start - start))),
            _ => Abs::Member(start),
        };
        match what {
            Internal::Rank => only(0),
            Internal::GroupRank => only(self.first_member()),
            Internal::GroupSize => {
                Abs::Known(Value::Int(set.map_or(1, |set| set.members.len() as i64)))
            }
            Internal::GroupName => {
                let name = self
                    .groups
                    .last()
                    .map(|(_, group)| &self.shared.plan.groups[*group as usize].name);
                Abs::Known(Value::str(name.map_or("", |name| name)))
            }
            _ => Abs::Unknown(Why::Never),
        }
    }

    fn list(&self, args: Args) -> Abs {
        let mut items = Vec::new();
        for operand in &self.shared.plan.args[args.range()] {
            match self.abs(*operand) {
                Abs::Known(value) => items.push(value),
                other => return Abs::Unknown(other.why()),
            }
        }
        abs::known(model::limits::list(items))
    }

    fn index(&self, list: Operand, index: Operand) -> Abs {
        match (self.abs(list), self.abs(index)) {
            (Abs::Known(list), Abs::Known(index)) => abs::known(model::value::index(&list, &index)),
            (Abs::Known(_), other) | (other, _) => Abs::Unknown(other.why()),
        }
    }

    fn function(&self, function: Function, args: Args) -> Abs {
        let values: Vec<Abs> =
            self.shared.plan.args[args.range()].iter().map(|operand| self.abs(*operand)).collect();
        let why = values.iter().filter(|value| !matches!(value, Abs::Known(_))).map(Abs::why).max();
        if !function.row().is_pure() {
            return Abs::Unknown(Why::Never);
        }
        let known = |value: &Abs| match value {
            Abs::Known(value) => Some(value.clone()),
            _ => None,
        };
        let known: Option<Vec<Value>> = values.iter().map(known).collect();
        match known.and_then(|values| function.row().pure(&values, self.shared.plan.seed)) {
            Some(result) => abs::known(result),
            None => Abs::Unknown(why.unwrap_or(Why::Never)),
        }
    }

    /// What is known of an operand.
    pub(super) fn abs(&self, operand: Operand) -> Abs {
        match operand.source() {
            Source::Slot(slot) => self.value(slot),
            Source::Const(index) => Abs::Known(self.shared.plan.consts[index as usize].clone()),
            Source::Template(index) => self.template(index),
            Source::Absent => Abs::Unknown(Why::Never),
        }
    }

    fn template(&self, index: u32) -> Abs {
        let plan = self.shared.plan;
        let template = plan.templates[index as usize];
        let mut key = Key::default();
        for piece in &plan.pieces[template.start as usize..template.end as usize] {
            match *piece {
                Piece::Text { start, end } => {
                    key.push_text(&plan.text[start as usize..end as usize]);
                }
                // The rank stays a mark even where it is known, so that names of
                // different ranks can be compared.
                Piece::Internal(Internal::Rank) => key.push(&Abs::Member(0)),
                Piece::Internal(Internal::GroupRank) => {
                    key.push(&Abs::Member(self.first_member()));
                }
                Piece::Internal(what) => key.push(&self.internal(what)),
                Piece::Value(operand) => key.push(&self.abs(operand)),
            }
        }
        match key.vague.is_none() && key.is_concrete() {
            true => Abs::Known(Value::Str(key.text)),
            false => Abs::Text(Rc::new(key)),
        }
    }

    /// The name that an operand is.
    pub(super) fn key(&self, operand: Operand) -> Key {
        let mut key = match self.abs(operand) {
            Abs::Text(key) => (*key).clone(),
            other => {
                let mut key = Key::default();
                key.push(&other);
                key
            }
        };
        key.normalise(self.shared.directory);
        key
    }
}
