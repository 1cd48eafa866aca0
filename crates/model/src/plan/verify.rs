//! Whether all that a plan refers to is there, so that who executes or shows it need not ask.
//!
//! ```text
//!   7  move  $x = constant 12        of 9 constants: the plan is damaged
//! ```
//!
//! Lowering makes such plans only; this is for plans that come as bytes. Not here: whether values
//! have the types that instructions want, which each execution checks.

use super::{
    Args, GroupId, Instr, LoopCode, NO_SLOT, Op, Operand, Pc, Piece, Plan, Slot, Source, Template,
};
use crate::limits::MAX_LIST_DEPTH;
use crate::value::Value;
use std::ops::Range;

/// Nothing is wrong, or what is, as half a sentence.
type Verified = Result<(), String>;

fn require(holds: bool, wrong: impl FnOnce() -> String) -> Verified {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// A place of a table.
fn within(index: u32, len: usize, what: &str) -> Verified {
    require((index as usize) < len, || format!("it refers to {what} {index} of {len}"))
}

/// A part of a table.
fn part(start: u32, end: u64, len: usize, what: &str) -> Verified {
    let ordered = u64::from(start) <= end && end <= len as u64;
    require(ordered, || format!("it refers to {what} {start} to {end} of {len}"))
}

impl Plan {
    /// Checks that every number in the plan that refers to a part of it does. Takes time in
    /// proportion to the plan.
    ///
    /// # Errors
    /// The first that does not, as half a sentence.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_files()?;
        self.verify_ranks()?;
        let template_locals = self.template_locals()?;
        for (code, locals) in self.regions()? {
            let region = Region { plan: self, template_locals: &template_locals, code, locals };
            region.verify()?;
        }
        Ok(())
    }

    /// The files follow each other.
    fn verify_files(&self) -> Verified {
        let mut end = 0;
        for file in &self.files {
            let length = u32::try_from(file.text.len()).ok();
            let after = length.and_then(|length| file.start.checked_add(length));
            let after = after.filter(|_| file.start >= end);
            end = after.ok_or_else(|| format!("file {:?} is in a wrong place", file.name))?;
        }
        Ok(())
    }

    /// Groups and sets hold ranks of the world, which is the first set.
    fn verify_ranks(&self) -> Verified {
        for members in self.groups.iter().map(|group| &group.members) {
            let known = members.start <= members.end && members.end <= self.ranks;
            require(known, || format!("ranks {members:?} are not among {}", self.ranks))?;
        }
        for set in &self.sets {
            let known = set.members.is_valid(self.ranks);
            require(known, || format!("ranks {:?} are not among {}", set.members, self.ranks))?;
            let classes = set.splits.iter().flat_map(|found| &found.classes).map(|(_, set)| set);
            for inner in set.enter.iter().chain(classes) {
                within(*inner, self.sets.len(), "set")?;
            }
        }
        let world = self.sets.first().is_none_or(|world| world.members == (0..self.ranks));
        require(world, || "the first set is not that of all ranks".into())
    }

    /// For each template, how many slots of its proc it needs. Templates hold earlier ones only.
    fn template_locals(&self) -> Result<Vec<u32>, String> {
        let mut known = Vec::with_capacity(self.templates.len());
        for (at, template) in self.templates.iter().enumerate() {
            let locals = self.locals_of(*template, &known);
            known.push(locals.map_err(|wrong| format!("template {at}: {wrong}"))?);
        }
        Ok(known)
    }

    fn locals_of(&self, template: Template, known: &[u32]) -> Result<u32, String> {
        let Template { start, end } = template;
        part(start, end.into(), self.pieces.len(), "pieces")?;
        let mut most = 0;
        for piece in &self.pieces[start as usize..end as usize] {
            most = most.max(match *piece {
                Piece::Text { start, end } => {
                    part(start, end.into(), self.text.len(), "bytes of text")?;
                    0
                }
                Piece::Value(value) | Piece::Formatted { value, .. } => {
                    self.operand_locals(value, known)?
                }
                Piece::Internal(_) => 0,
            });
        }
        Ok(most)
    }

    /// How many slots of its proc an operand needs.
    fn operand_locals(&self, operand: Operand, templates: &[u32]) -> Result<u32, String> {
        match operand.source() {
            Source::Slot(slot) => self.slot_locals(slot, 1),
            Source::Const(index) => within(index, self.consts.len(), "constant").map(|()| 0),
            Source::Template(index) => {
                within(index, templates.len(), "template").map(|()| templates[index as usize])
            }
            Source::Absent => Ok(0),
        }
    }

    /// The same for `count` slots side by side.
    fn slot_locals(&self, slot: Slot, count: u32) -> Result<u32, String> {
        let first = slot.0 & !Slot::LOCAL;
        if slot.0 & Slot::LOCAL != 0 {
            return first.checked_add(count).ok_or_else(|| "it refers to a wrong slot".into());
        }
        part(first, u64::from(first) + u64::from(count), self.globals.len(), "globals").map(|()| 0)
    }

    /// The code of the program and of each proc, and how many slots it has.
    fn regions(&self) -> Result<Vec<(Range<Pc>, u32)>, String> {
        let end = self.code.len() as Pc;
        require(self.code.len() == self.spans.len(), || "its code has not as many places".into())?;
        require(self.procs.len() == self.locals.len(), || "its procs have no frames".into())?;
        let mut regions = vec![(0..end, 0)];
        for (proc, names) in self.procs.iter().zip(&self.locals) {
            let before = regions.len() - 1;
            let ordered = (regions[before].0.start..end).contains(&proc.entry)
                && (before == 0 || regions[before].0.start < proc.entry);
            let frame = proc.params <= proc.locals && proc.locals as usize == names.len();
            require(ordered && frame, || format!("proc {:?} has no code or frame", proc.name))?;
            regions[before].0.end = proc.entry;
            regions.push((proc.entry..end, proc.locals));
        }
        Ok(regions)
    }
}

/// The code of the program without its procs, or of a proc.
struct Region<'p> {
    plan: &'p Plan,
    template_locals: &'p [u32],
    code: Range<Pc>,
    /// Slots of its frame.
    locals: u32,
}

impl Region<'_> {
    fn verify(&self) -> Verified {
        for pc in self.code.clone() {
            let instr = &self.plan.code[pc as usize];
            self.instr(pc, instr).map_err(|wrong| format!("instruction {pc}: {wrong}"))?;
        }
        let last = self.code.clone().last().map(|pc| &self.plan.code[pc as usize]);
        let goes_on =
            !matches!(last, None | Some(Instr::Halt | Instr::Return | Instr::Jump { .. }));
        let inside = self.code.end as usize == self.plan.code.len() || !goes_on;
        require(inside, || format!("the code before {} has no end", self.code.end))
    }

    /// Exhaustive: an instruction that is forgotten here does not compile.
    fn instr(&self, pc: Pc, instr: &Instr) -> Verified {
        match *instr {
            Instr::Move { dst, src: a } | Instr::Unary { dst, a, .. } | Instr::Test { dst, a } => {
                self.slot(dst)?;
                self.operand(a)
            }
            Instr::Binary { dst, a, b, .. } | Instr::Index { dst, list: a, index: b } => {
                self.slot(dst)?;
                self.operands(&[a, b])
            }
            Instr::Function { function, dst, args } => {
                self.slot(dst)?;
                let takes = function.row().takes(args.len as usize);
                require(takes, || format!("{function:?} does not take {} arguments", args.len))?;
                self.args(args)
            }
            Instr::List { dst, args } => self.slot(dst).and_then(|()| self.args(args)),
            Instr::SetItem { list, args } => self.change(list, args, 2),
            Instr::Push { list, args } => self.change(list, args, 1),
            Instr::Internal { dst, .. } => self.slot(dst),
            Instr::Jump { to } => self.target(to),
            Instr::JumpIf { cond, to, .. } => self.operand(cond).and_then(|()| self.ahead(pc, to)),
            Instr::Loop { code } => {
                let code = self.repeat(code)?;
                self.ahead(pc, code.body).and_then(|()| self.ahead(pc, code.exit))
            }
            Instr::Next { code } => self.target(self.repeat(code)?.body),
            Instr::Share { count, by } => self.operands(&[count, by]),
            Instr::Claim { dst, exit } => self.slot(dst).and_then(|()| self.ahead(pc, exit)),
            Instr::Limit { end, exit } => self.slot(end).and_then(|()| self.ahead(pc, exit)),
            Instr::LabelEnter { label } => {
                within(label, self.plan.labels.len(), "label")?;
                self.operand(self.plan.labels[label as usize].text)
            }
            Instr::GroupEnter { group, skip } => {
                self.group(group)?;
                self.ahead(pc, skip)
            }
            Instr::SplitEnter { split, value, end } => {
                within(split, self.plan.splits.len(), "split")?;
                for input in &self.plan.splits[split as usize].inputs {
                    self.slot(input.slot)?;
                }
                self.operand(value).and_then(|()| self.ahead(pc, end))
            }
            Instr::Master { skip } => self.ahead(pc, skip),
            Instr::Barrier { group } => group.map_or(Ok(()), |group| self.group(group)),
            Instr::WithEnter { options } => {
                within(options, self.plan.options.len(), "options")?;
                let given = self.plan.options[options as usize].given();
                given.map(|(_, operand)| operand).try_for_each(|operand| self.operand(operand))
            }
            Instr::Op { op, dst, args } => self.op(op, dst, args),
            Instr::CallProc { proc, args } => {
                within(proc, self.plan.procs.len(), "proc")?;
                let params = self.plan.procs[proc as usize].params;
                let found = args.len;
                require(params == found, || format!("it gives {found} of {params} arguments"))?;
                self.args(args)
            }
            Instr::Extent { args } => {
                require((2..=4).contains(&args.len), || "an extent has wrong arguments".into())?;
                self.args(args)
            }
            Instr::LabelLeave
            | Instr::GroupLeave
            | Instr::WithLeave
            | Instr::ShareEnd
            | Instr::Return
            | Instr::Halt => Ok(()),
        }
    }

    fn op(&self, op: Op, dst: Slot, args: u32) -> Verified {
        if dst != NO_SLOT {
            self.slot(dst)?;
        }
        if op != Op::Print {
            return self.args(Args { start: args, len: op.row().params.len() as u32 });
        }
        self.args(Args { start: args, len: 1 })?;
        let count = match self.plan.args[args as usize].source() {
            Source::Const(index) => &self.plan.consts[index as usize],
            _ => &Value::Unset,
        };
        let len = count.as_size().ok().and_then(|count| u32::try_from(count).ok());
        let len = len.ok_or_else(|| "print has no number of values".to_string())?;
        self.args(Args { start: args + 1, len })
    }

    fn slot(&self, slot: Slot) -> Verified {
        self.needs(self.plan.slot_locals(slot, 1)?)
    }

    fn operand(&self, operand: Operand) -> Verified {
        self.needs(self.plan.operand_locals(operand, self.template_locals)?)
    }

    fn operands(&self, operands: &[Operand]) -> Verified {
        operands.iter().try_for_each(|operand| self.operand(*operand))
    }

    fn args(&self, args: Args) -> Verified {
        let end = u64::from(args.start) + u64::from(args.len);
        part(args.start, end, self.plan.args.len(), "arguments")?;
        self.operands(&self.plan.args[args.start as usize..end as usize])
    }

    /// A change of a list: indices and the value.
    fn change(&self, list: Slot, args: Args, least: u32) -> Verified {
        let fits = (least..=MAX_LIST_DEPTH as u32 + 1).contains(&args.len);
        require(fits, || format!("it changes a list by {} indices and values", args.len))?;
        self.slot(list).and_then(|()| self.args(args))
    }

    fn needs(&self, locals: u32) -> Verified {
        let own = self.locals;
        require(locals <= own, || format!("it refers to slot {} of {own}", locals - 1))
    }

    fn repeat(&self, code: u32) -> Result<LoopCode, String> {
        within(code, self.plan.loops.len(), "loop")?;
        let code = self.plan.loops[code as usize];
        self.needs(self.plan.slot_locals(code.state, 3)?)?;
        if code.var != NO_SLOT {
            self.slot(code.var)?;
        }
        self.operands(&[code.from, code.to, code.step])?;
        Ok(code)
    }

    fn group(&self, group: GroupId) -> Verified {
        within(group, self.plan.groups.len(), "group")
    }

    fn target(&self, to: Pc) -> Verified {
        let code = &self.code;
        require(code.contains(&to), || format!("it goes on at {to}, which is not in {code:?}"))
    }

    /// Only `Jump` and `Next` go back: there a rank looks whether it shall stop.
    fn ahead(&self, pc: Pc, to: Pc) -> Verified {
        require(to > pc, || format!("it goes back to {to}"))?;
        self.target(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{
        Classes, Function, Input, Internal, Label, LabelKind, MemberSet, Proc, Span, Split,
    };
    use crate::with::Options;

    /// A plan with one of each table.
    fn plan(main: &[Instr]) -> Plan {
        let local = Operand::slot(Slot::local(0));
        let code = [main, &[Instr::Halt, Instr::Return]].concat();
        let input = Input { slot: SLOT, from: 0, step: 1, count: 2 };
        Plan {
            spans: vec![Span::default(); code.len()],
            procs: vec![Proc {
                name: "p".into(),
                entry: code.len() as Pc - 1,
                params: 1,
                locals: 1,
            }],
            locals: vec![vec!["x".into()]],
            code,
            args: vec![Operand::constant(0), Operand::ABSENT, Operand::slot(Slot(3))],
            consts: vec![Value::Int(1)],
            templates: vec![Template { start: 0, end: 1 }, Template { start: 1, end: 3 }],
            pieces: vec![
                Piece::Value(local),
                Piece::Text { start: 0, end: 2 },
                Piece::Internal(Internal::Rank),
            ],
            text: b"ab".to_vec(),
            loops: vec![LoopCode {
                state: Slot(0),
                var: NO_SLOT,
                from: Operand::constant(0),
                to: Operand::constant(0),
                step: Operand::constant(0),
                counted: true,
                timed: false,
                body: 1,
                exit: 2,
            }],
            labels: vec![Label {
                text: Operand::template(1),
                kind: LabelKind::Wall,
                sync: false,
                part: false,
            }],
            options: vec![Options { depth: Some(Operand::constant(0)), ..Options::default() }],
            globals: vec![String::new(); 4],
            sets: vec![MemberSet { members: (0..2).into(), enter: vec![0], splits: vec![] }],
            splits: vec![Split { inputs: vec![input] }],
            ranks: 2,
            ..Plan::default()
        }
    }

    const SLOT: Slot = Slot(3);

    fn to_set_1() -> Classes {
        Classes { split: 0, case: 0, classes: vec![(7, 1)] }
    }

    #[test]
    fn what_is_there_is_accepted() {
        let a = Operand::template(1);
        let args = Args { start: 0, len: 1 };
        let body = [
            Instr::Loop { code: 0 },
            Instr::Next { code: 0 },
            Instr::Move { dst: SLOT, src: a },
            Instr::List { dst: SLOT, args: Args { start: 0, len: 3 } },
            Instr::LabelEnter { label: 0 },
            Instr::WithEnter { options: 0 },
            Instr::Op { op: Op::Print, dst: NO_SLOT, args: 0 },
            Instr::CallProc { proc: 0, args },
            Instr::Function { function: Function::Abs, dst: SLOT, args },
            Instr::Push { list: SLOT, args },
            Instr::SetItem { list: SLOT, args: Args { start: 0, len: 2 } },
            Instr::SplitEnter { split: 0, value: a, end: 12 },
        ];
        assert_eq!(plan(&body).verify(), Ok(()));
        assert_eq!(Plan::default().verify(), Ok(()));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let a = Operand::constant(0);
        let one = Args { start: 0, len: 1 };
        let rows = [
            (Instr::Move { dst: Slot(4), src: a }, "globals 4 to 5 of 4"),
            (Instr::Move { dst: Slot::local(0), src: a }, "slot 0 of 0"),
            (Instr::Move { dst: NO_SLOT, src: a }, "slot"),
            (Instr::Move { dst: SLOT, src: Operand::constant(1) }, "constant 1 of 1"),
            (Instr::Move { dst: SLOT, src: Operand::template(2) }, "template 2 of 2"),
            // A template of the proc.
            (Instr::Test { dst: SLOT, a: Operand::template(0) }, "slot 0 of 0"),
            (Instr::Push { list: Slot(4), args: one }, "globals 4 to 5 of 4"),
            (Instr::Push { list: SLOT, args: Args::default() }, "0 indices and values"),
            (Instr::SetItem { list: SLOT, args: one }, "1 indices and values"),
            (Instr::Jump { to: 2 }, "goes on at 2"),
            (Instr::JumpIf { cond: a, when: true, to: 0 }, "goes back to 0"),
            (Instr::Master { skip: 9 }, "goes on at 9"),
            (Instr::SplitEnter { split: 1, value: a, end: 1 }, "split 1 of 1"),
            (Instr::SplitEnter { split: 0, value: a, end: 9 }, "goes on at 9"),
            (Instr::Loop { code: 1 }, "loop 1 of 1"),
            (Instr::Loop { code: 0 }, "goes on at 2"),
            (Instr::Barrier { group: Some(0) }, "group 0 of 0"),
            (Instr::LabelEnter { label: 1 }, "label 1 of 1"),
            (Instr::WithEnter { options: 1 }, "options 1 of 1"),
            (Instr::CallProc { proc: 1, args: Args::default() }, "proc 1 of 1"),
            (Instr::CallProc { proc: 0, args: Args::default() }, "0 of 1 arguments"),
            (Instr::List { dst: SLOT, args: Args { start: 1, len: u32::MAX } }, "of 3"),
            (Instr::Op { op: Op::Print, dst: NO_SLOT, args: 1 }, "print"),
            (Instr::Op { op: Op::Link, dst: NO_SLOT, args: 2 }, "arguments 2 to 4 of 3"),
            (
                Instr::Function { function: Function::Abs, dst: SLOT, args: Args::default() },
                "does not take 0 arguments",
            ),
        ];
        for (instr, words) in rows {
            let wrong = plan(&[instr]).verify().expect_err(words);
            assert!(wrong.starts_with("instruction 0: ") && wrong.contains(words), "{wrong}");
        }
    }

    #[test]
    fn tables_fit_each_other() {
        type Damage = (fn(&mut Plan), &'static str);
        let rows: &[Damage] = &[
            (|plan| plan.spans.clear(), "places"),
            (|plan| plan.locals.clear(), "frames"),
            (|plan| plan.locals[0].clear(), "frame"),
            (|plan| plan.procs[0].entry = 99, "proc"),
            (|plan| plan.code[0] = Instr::GroupLeave, "no end"),
            (|plan| plan.sets[0].members = (0..1).into(), "all ranks"),
            (|plan| plan.sets[0].members = (0..3).into(), "not among 2"),
            (|plan| plan.sets[0].enter[0] = 1, "set 1 of 1"),
            (|plan| plan.sets[0].splits.push(to_set_1()), "set 1 of 1"),
            (|plan| plan.templates[0].end = 9, "template 0"),
            (|plan| plan.pieces[1] = Piece::Text { start: 1, end: 3 }, "template 1"),
            (|plan| plan.pieces[0] = Piece::Value(Operand::template(0)), "template 0 of 0"),
        ];
        for (damage, words) in rows {
            let mut plan = plan(&[]);
            damage(&mut plan);
            let wrong = plan.verify().expect_err(words);
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
