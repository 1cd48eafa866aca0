//! A small interpreter of plans that writes the same lines as the one of trees.

use super::tree::{MAX_LINES, shortened};
use model::evaluate::{self, Frame};
use model::plan::{
    Args, BinaryOp, Instr, Internal, LoopCode, NO_SLOT, Operand, Pc, Piece, Plan, Slot, Source,
};
use model::value::Eval;
use model::{Op, Value, limits, value};

/// What one rank does; see [`super::tree::trace`].
pub fn trace(plan: &Plan, rank: u32) -> Vec<String> {
    let (mut lines, last) = run(plan, rank);
    lines.push(match last {
        Ok(last) => last.into(),
        Err(_) => "error".into(),
    });
    lines
}

/// What one rank does, and how it ends.
pub fn run(plan: &Plan, rank: u32) -> (Vec<String>, Eval<&'static str>) {
    let mut machine = Machine {
        plan,
        rank,
        pc: 0,
        temps: Default::default(),
        arguments: Vec::new(),
        values: vec![Value::Unset; plan.globals.len()],
        base: plan.globals.len(),
        calls: Vec::new(),
        groups: Vec::new(),
        handles: 0,
        lines: Vec::new(),
    };
    let last = loop {
        if machine.lines.len() >= MAX_LINES {
            break Ok("cut");
        }
        match machine.step() {
            Ok(true) => {}
            Ok(false) => break Ok("end"),
            Err(error) => break Err(error),
        }
    };
    (machine.lines, last)
}

struct Machine<'a> {
    plan: &'a Plan,
    rank: u32,
    pc: Pc,
    temps: [Value; 2],
    arguments: Vec<Value>,
    values: Vec<Value>,
    base: usize,
    calls: Vec<(Pc, usize)>,
    groups: Vec<(u32, u32)>,
    handles: u64,
    lines: Vec<String>,
}

impl<'p> Frame<'p> for Machine<'p> {
    fn plan(&self) -> &'p Plan {
        self.plan
    }

    fn ready(&mut self, _: Pc, operand: Operand, place: usize) -> Eval<()> {
        if let Source::Template(_) = operand.source() {
            self.temps[place] = self.value(operand)?;
        }
        Ok(())
    }

    fn peek(&self, operand: Operand, place: usize) -> &Value {
        match operand.source() {
            Source::Slot(slot) => self.get(slot),
            Source::Const(index) => &self.plan.consts[index as usize],
            Source::Template(_) => &self.temps[place],
            Source::Absent => &Value::Unset,
        }
    }

    fn variable(&mut self, slot: Slot) -> &mut Value {
        let at = self.at(slot);
        &mut self.values[at]
    }

    fn set(&mut self, slot: Slot, value: Value) {
        let at = self.at(slot);
        self.values[at] = value;
    }

    fn internal(&mut self, _: Pc, dst: Slot, what: Internal) -> Eval<()> {
        let value = self.internal_value(what);
        self.set(dst, value);
        Ok(())
    }

    fn state(&mut self, code: &LoopCode) -> &mut [Value] {
        let at = self.at(code.state);
        &mut self.values[at..at + 3]
    }

    fn arguments(&mut self) -> &mut Vec<Value> {
        &mut self.arguments
    }
}

impl Machine<'_> {
    fn line(&mut self, line: String) {
        self.lines.push(shortened(line));
    }

    fn step(&mut self) -> Eval<bool> {
        let pc = self.pc;
        let instr = self.plan.code[pc as usize];
        self.pc += 1;
        if let Instr::Binary { op, .. } = instr {
            assert!(!matches!(op, BinaryOp::And | BinaryOp::Or));
        }
        if let Some(next) = evaluate::step(self, pc, &instr)? {
            self.pc = next;
            return Ok(true);
        }
        match instr {
            Instr::Halt => return Ok(false),
            Instr::LabelEnter { label } => {
                let text = self.value(self.plan.labels[label as usize].text)?;
                self.line(format!("time {text}"));
            }
            Instr::LabelLeave => self.line("time end".into()),
            Instr::GroupEnter { group, skip } => {
                let inner = self.plan.sets[self.set_id() as usize].enter[group as usize];
                match self.plan.sets[inner as usize].members.contains(self.rank) {
                    true => self.groups.push((inner, group)),
                    false => self.pc = skip,
                }
            }
            Instr::GroupLeave => drop(self.groups.pop()),
            Instr::Master { skip } => {
                if self.plan.sets[self.set_id() as usize].members.first() != Some(self.rank) {
                    self.pc = skip;
                }
            }
            Instr::Barrier { group } => {
                let name = group.map_or("", |group| &self.plan.groups[group as usize].name);
                self.line(format!("barrier {name}").trim_end().to_string());
            }
            Instr::WithEnter { .. } => self.line("with".into()),
            Instr::WithLeave => self.line("with end".into()),
            Instr::Op { op, dst, args } => self.op(op, dst, args)?,
            Instr::CallProc { proc, args } => {
                let mut frame = self.all(args)?;
                let callee = &self.plan.procs[proc as usize];
                frame.resize(callee.locals as usize, Value::Unset);
                self.calls.push((self.pc, self.base));
                self.base = self.values.len();
                self.values.extend(frame);
                self.pc = callee.entry;
            }
            Instr::Extent { .. } => panic!("extents stand in patterns, which nothing calls"),
            Instr::Return => {
                self.values.truncate(self.base);
                (self.pc, self.base) = self.calls.pop().expect("a call");
            }
            other => unreachable!("{other:?} is pure, or not generated"),
        }
        Ok(true)
    }

    fn op(&mut self, op: Op, dst: Slot, args: u32) -> Eval<()> {
        let first = args as usize;
        let operands = match op {
            Op::Print => {
                let count = self.value(self.plan.args[first])?.as_size()? as usize;
                &self.plan.args[first + 1..first + 1 + count]
            }
            _ => &self.plan.args[first..first + op.row().params.len()],
        };
        let mut words = vec![op.name().to_string()];
        for operand in operands {
            words.push(match operand.source() {
                Source::Absent => "-".into(),
                _ => self.value(*operand)?.to_string(),
            });
        }
        self.line(words.join(" "));
        if op == Op::Assert && words[1] == "false" {
            return Err(value::EvalError::Unset);
        }
        if dst != NO_SLOT {
            let value = match op.row().gives_handle() {
                true => Value::Handle(self.handles + 1, 0),
                false => Value::Outcome(value::Outcome { bytes: 4096, errno: 0 }),
            };
            self.handles += u64::from(op.row().gives_handle());
            self.set(dst, value);
        }
        Ok(())
    }

    fn internal_value(&self, what: Internal) -> Value {
        let members = &self.plan.sets[self.set_id() as usize].members;
        Value::Int(match what {
            Internal::Rank => i64::from(self.rank),
            Internal::GroupRank => members.position(self.rank).expect("a member").into(),
            Internal::GroupSize => members.len() as i64,
            Internal::GroupName => {
                let group = self.groups.last().map(|(_, group)| *group);
                let name = group.map_or("", |group| &self.plan.groups[group as usize].name);
                return Value::str(name);
            }
            other => unreachable!("{other:?} is not generated"),
        })
    }

    fn set_id(&self) -> u32 {
        self.groups.last().map_or(0, |(set, _)| *set)
    }

    fn at(&self, slot: Slot) -> usize {
        match slot.0 & Slot::LOCAL {
            0 => slot.0 as usize,
            _ => self.base + (slot.0 & !Slot::LOCAL) as usize,
        }
    }

    fn get(&self, slot: Slot) -> &Value {
        &self.values[self.at(slot)]
    }

    fn all(&mut self, args: Args) -> Eval<Vec<Value>> {
        let operands = self.plan.args[args.range()].to_vec();
        operands.into_iter().map(|operand| self.value(operand)).collect()
    }

    fn value(&self, operand: Operand) -> Eval<Value> {
        match operand.source() {
            Source::Slot(slot) => match self.get(slot) {
                Value::Unset => Err(value::EvalError::Unset),
                value => Ok(value.clone()),
            },
            Source::Const(index) => Ok(self.plan.consts[index as usize].clone()),
            Source::Template(index) => {
                let template = self.plan.templates[index as usize];
                let mut out = Vec::new();
                for piece in &self.plan.pieces[template.start as usize..template.end as usize] {
                    match piece {
                        Piece::Text { start, end } => {
                            out.extend_from_slice(&self.plan.text[*start as usize..*end as usize]);
                        }
                        Piece::Value(operand) => self.value(*operand)?.render(&mut out)?,
                        Piece::Formatted { value, format } => {
                            format.render(&self.value(*value)?, &mut out)?;
                        }
                        Piece::Internal(what) => self.internal_value(*what).render(&mut out)?,
                    }
                }
                limits::check_text(out.len())?;
                Ok(Value::Str(out))
            }
            Source::Absent => Err(value::EvalError::Unset),
        }
    }
}
