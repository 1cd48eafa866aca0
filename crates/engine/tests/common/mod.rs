//! Builds plans by hand: the engine knows no language, so its tests do not either.
#![allow(dead_code)] // every test binary uses a part of it

pub mod plans;
pub mod simulated;

use model::plan::*;
use model::{Op, Plan, Value};
use std::ops::Range;

/// A plan under construction. Instruction n has its place in line n + 1 of a file "test.ppl".
pub struct Build {
    pub plan: Plan,
}

/// A piece of a text.
pub enum P {
    /// Literal text.
    T(&'static str),
    /// A value.
    V(Slot),
    /// An internal variable.
    I(Internal),
}

impl Build {
    pub fn new(ranks: u32) -> Build {
        let world = MemberSet { members: (0..ranks).into(), ..MemberSet::default() };
        Build { plan: Plan { ranks, seed: 42, sets: vec![world], ..Plan::default() } }
    }

    /// A plan from one closure.
    pub fn plan(ranks: u32, body: impl FnOnce(&mut Build)) -> Plan {
        let mut build = Build::new(ranks);
        body(&mut build);
        build.finish()
    }

    pub fn finish(mut self) -> Plan {
        if !self.plan.code.contains(&Instr::Halt) {
            self.push(Instr::Halt);
        }
        let lines = self.plan.code.len() + 1;
        self.plan.spans =
            (0..lines as u32).map(|line| Span { start: line * 2, end: line * 2 + 1 }).collect();
        let text = "x\n".repeat(lines);
        self.plan.files = vec![SourceFile { name: "test.ppl".into(), start: 0, text: text.into() }];
        self.plan
    }

    pub fn push(&mut self, instr: Instr) -> Pc {
        self.plan.code.push(instr);
        self.here() - 1
    }

    pub fn here(&self) -> Pc {
        self.plan.code.len() as Pc
    }

    pub fn global(&mut self, name: &str) -> Slot {
        self.plan.globals.push(name.into());
        Slot(self.plan.globals.len() as u32 - 1)
    }

    pub fn value(&mut self, value: Value) -> Operand {
        self.plan.consts.push(value);
        Operand::constant(self.plan.consts.len() as u32 - 1)
    }

    pub fn int(&mut self, n: i64) -> Operand {
        self.value(Value::Int(n))
    }

    pub fn str(&mut self, text: &str) -> Operand {
        self.value(Value::str(text))
    }

    pub fn text(&mut self, pieces: &[P]) -> Operand {
        let start = self.plan.pieces.len() as u32;
        for piece in pieces {
            let piece = match piece {
                P::T(text) => {
                    let start = self.plan.text.len() as u32;
                    self.plan.text.extend_from_slice(text.as_bytes());
                    Piece::Text { start, end: self.plan.text.len() as u32 }
                }
                P::V(slot) => Piece::Value(Operand::slot(*slot)),
                P::I(what) => Piece::Internal(*what),
            };
            self.plan.pieces.push(piece);
        }
        let end = self.plan.pieces.len() as u32;
        self.plan.templates.push(Template { start, end });
        Operand::template(self.plan.templates.len() as u32 - 1)
    }

    pub fn args(&mut self, operands: &[Operand]) -> Args {
        let start = self.plan.args.len() as u32;
        self.plan.args.extend_from_slice(operands);
        Args { start, len: operands.len() as u32 }
    }

    /// A command; arguments that are left out are absent.
    pub fn op(&mut self, op: Op, operands: &[Operand]) {
        self.op_to(NO_SLOT, op, operands);
    }

    pub fn op_to(&mut self, dst: Slot, op: Op, operands: &[Operand]) {
        let mut all = operands.to_vec();
        all.resize(op.row().params.len(), Operand::ABSENT);
        let args = self.args(&all).start;
        self.push(Instr::Op { op, dst, args });
    }

    pub fn print(&mut self, operands: &[Operand]) {
        let count = self.int(operands.len() as i64);
        let args = self.args(&[&[count][..], operands].concat()).start;
        self.push(Instr::Op { op: Op::Print, dst: NO_SLOT, args });
    }

    /// The variable that takes what a function gives.
    pub fn function(&mut self, function: Function, argument: Operand) -> Slot {
        let (dst, args) = (self.global(""), self.args(&[argument]));
        self.push(Instr::Function { function, dst, args });
        dst
    }

    /// Asserts what a function gives.
    pub fn expect(&mut self, function: Function, argument: Operand, expected: Value) {
        let (expected, equal) = (self.value(expected), self.global(""));
        let found = self.function(function, argument);
        self.binary(equal, Operand::slot(found), BinaryOp::Eq, expected);
        self.op(Op::Assert, &[Operand::slot(equal)]);
    }

    pub fn set(&mut self, dst: Slot, src: Operand) {
        self.push(Instr::Move { dst, src });
    }

    pub fn binary(&mut self, dst: Slot, a: Operand, op: BinaryOp, b: Operand) {
        self.push(Instr::Binary { op, dst, a, b });
    }

    pub fn internal(&mut self, dst: Slot, what: Internal) {
        self.push(Instr::Internal { what, dst });
    }

    /// `repeat var count { body }`
    pub fn repeat(&mut self, var: Slot, count: Operand, body: impl FnOnce(&mut Build)) {
        let (zero, one) = (self.int(0), self.int(1));
        self.range(var, [zero, count, one], true, body);
    }

    pub fn range(
        &mut self,
        var: Slot,
        [from, to, step]: [Operand; 3],
        counted: bool,
        body: impl FnOnce(&mut Build),
    ) {
        let state = self.global("");
        self.global("");
        self.global("");
        let code = self.plan.loops.len() as u32;
        let unknown =
            LoopCode { state, var, from, to, step, counted, timed: false, body: 0, exit: 0 };
        self.plan.loops.push(unknown);
        self.push(Instr::Loop { code });
        self.plan.loops[code as usize].body = self.here();
        body(self);
        self.push(Instr::Next { code });
        self.plan.loops[code as usize].exit = self.here();
    }

    pub fn time(&mut self, text: Operand, sync: bool, body: impl FnOnce(&mut Build)) {
        self.label(Label { text, kind: LabelKind::Wall, sync, part: false }, body);
    }

    pub fn label(&mut self, label: Label, body: impl FnOnce(&mut Build)) {
        self.plan.labels.push(label);
        self.push(Instr::LabelEnter { label: self.plan.labels.len() as u32 - 1 });
        body(self);
        self.push(Instr::LabelLeave);
    }

    /// Defines groups; the sets are all intersections of two.
    pub fn groups(&mut self, groups: &[(&str, Range<u32>)]) {
        let ranges: Vec<Range<u32>> = groups.iter().map(|group| group.1.clone()).collect();
        for (name, members) in groups {
            self.plan.groups.push(Group { name: name.to_string(), members: members.clone() });
        }
        let mut at = 0;
        while at < self.plan.sets.len() {
            for range in &ranges {
                let inner = self.plan.sets[at].members.intersection(&range.clone().into());
                let known = self.plan.sets.iter().position(|set| set.members == inner);
                let set = known.unwrap_or_else(|| {
                    self.plan.sets.push(MemberSet { members: inner, ..MemberSet::default() });
                    self.plan.sets.len() - 1
                });
                self.plan.sets[at].enter.push(set as u32);
            }
            at += 1;
        }
    }

    pub fn group(&mut self, group: GroupId, body: impl FnOnce(&mut Build)) {
        let enter = self.push(Instr::GroupEnter { group, skip: 0 });
        body(self);
        let skip = self.push(Instr::GroupLeave) + 1;
        self.plan.code[enter as usize] = Instr::GroupEnter { group, skip };
    }

    pub fn master(&mut self, body: impl FnOnce(&mut Build)) {
        let enter = self.push(Instr::Master { skip: 0 });
        body(self);
        let skip = self.here();
        self.plan.code[enter as usize] = Instr::Master { skip };
    }

    pub fn barrier(&mut self) {
        self.push(Instr::Barrier { group: None });
    }

    /// `if (cond) { body }`
    pub fn when(&mut self, cond: Operand, body: impl FnOnce(&mut Build)) {
        let at = self.push(Instr::Halt);
        body(self);
        let to = self.here();
        self.plan.code[at as usize] = Instr::JumpIf { cond, when: false, to };
    }

    /// `if ($$rank == rank) { body }`
    pub fn on_rank(&mut self, rank: i64, body: impl FnOnce(&mut Build)) {
        let (is, me) = (self.global(""), self.global(""));
        self.internal(me, Internal::Rank);
        let rank = self.int(rank);
        self.binary(is, Operand::slot(me), BinaryOp::Eq, rank);
        self.when(Operand::slot(is), body);
    }

    pub fn with(&mut self, options: Options, body: impl FnOnce(&mut Build)) {
        self.plan.options.push(options);
        self.push(Instr::WithEnter { options: self.plan.options.len() as u32 - 1 });
        body(self);
        self.push(Instr::WithLeave);
    }

    /// A proc; call it before the main program is closed with `halt`.
    pub fn proc(&mut self, name: &str, params: u32, locals: u32, body: impl FnOnce(&mut Build)) {
        let entry = self.here();
        self.plan.procs.push(Proc { name: name.into(), entry, params, locals });
        body(self);
        self.push(Instr::Return);
    }

    pub fn call(&mut self, proc: u32, operands: &[Operand]) {
        let args = self.args(operands);
        self.push(Instr::CallProc { proc, args });
    }

    pub fn halt(&mut self) -> Pc {
        self.push(Instr::Halt)
    }
}
